//! How do looks, keys and signals come together on a screen?
//!
//! ```text
//!   asker   --(seen, lost, answered)--+
//!   input   --(key, resized)----------+--> the main thread: model, screen
//!   signals --(ended)-----------------+
//! ```
//!
//! Each is a thread that waits for one thing. The main thread waits for all of them, so that a key
//! is obeyed at once, also while a node does not answer.

use std::{
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use crossterm::event::{self, Event, KeyEvent};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{
    client::Client,
    keys, look,
    model::{Model, Next, Order},
    screen::Screen,
    state::State,
};

/// What can happen.
enum News {
    Looked(Box<Result<State, String>>),
    Answered(Order, Result<(), String>),
    Key(KeyEvent),
    Resized,
    /// By a signal, or because the terminal is gone.
    Ended,
}

pub(crate) fn run(client: Client, mut model: Model, interval: Duration) -> Result<()> {
    // Who can not be reached now was probably not meant: said before the screen is taken.
    model.seen(look(&client)?);
    let (tell, news) = mpsc::channel();
    let (order, orders) = mpsc::channel();
    start("signals", signals(tell.clone()).context("can not listen to signals")?)?;
    let mut screen = Screen::enter().context("can not draw on this terminal")?;
    let to_us = tell.clone();
    start("asker", move || ask(&client, interval, &orders, &to_us))?;
    start("input", move || input(&tell))?;
    loop {
        screen.draw(&model)?;
        // The senders live as long as their threads, and those as long as we do.
        let Ok(first) = news.recv() else { return Ok(()) };
        // What has come meanwhile needs no picture of its own.
        for news in std::iter::once(first).chain(news.try_iter()) {
            match news {
                News::Looked(result) => match *result {
                    Ok(state) => model.seen(state),
                    Err(why) => model.lost(&why),
                },
                News::Answered(order, result) => model.answered(&order, result),
                News::Resized => {}
                News::Ended => return Ok(()),
                News::Key(key) => match keys::action(model.mode, key).map(|it| model.act(it)) {
                    None | Some(Next::Draw) => {}
                    // Who obeys has ended only if we have.
                    Some(Next::Ask(what)) => drop(order.send(what)),
                    Some(Next::Quit) => return Ok(()),
                },
            }
        }
    }
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(body);
    started.with_context(|| format!("can not start the thread {name}"))?;
    Ok(())
}

/// Looks again and again, and at once after it has told the program something.
fn ask(client: &Client, interval: Duration, orders: &Receiver<Order>, tell: &Sender<News>) {
    loop {
        let news = match orders.recv_timeout(interval) {
            Ok(order) => {
                let result = client.order(&order);
                News::Answered(order, result)
            }
            Err(RecvTimeoutError::Timeout) => News::Looked(Box::new(client.look())),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let is_order = matches!(news, News::Answered(..));
        if tell.send(news).is_err() {
            return;
        }
        if is_order && tell.send(News::Looked(Box::new(client.look()))).is_err() {
            return;
        }
    }
}

fn input(tell: &Sender<News>) {
    loop {
        let news = match event::read() {
            Ok(Event::Key(key)) => News::Key(key),
            Ok(Event::Resize(..)) => News::Resized,
            Ok(_) => continue,
            Err(_) => News::Ended,
        };
        let has_ended = matches!(news, News::Ended);
        if tell.send(news).is_err() || has_ended {
            return;
        }
    }
}

fn signals(tell: Sender<News>) -> io::Result<impl FnOnce() + Send + 'static> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    Ok(move || {
        for _ in signals.forever() {
            let _ = tell.send(News::Ended);
        }
    })
}
