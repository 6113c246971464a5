//! Many clients, each with a connection of its own, which asks the next only when it has its answer.
//!
//! They share a thread for every two cores. Real clients are on other machines; with a thread for each,
//! every answer would be a wake and a switch between threads here, and on the cores that the node
//! has, too, that would be more than most answers cost the node.

use std::{
    io::{ErrorKind, Write},
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, net::TcpStream};

use super::http::{self, Answer};

/// A guard against hanging, no more.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// What one client asks, in this order.
pub(super) type Requests<'a> = Box<dyn Iterator<Item = &'a [u8]> + Send + 'a>;

/// Has all clients ask all that they have to ask, side by side. How many milliseconds each answer
/// took, by client.
pub(super) fn ask_all(
    address: SocketAddr,
    clients: Vec<Requests<'_>>,
) -> Result<Vec<Vec<f64>>, String> {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let share = clients.len().div_ceil(cores.div_ceil(2)).max(1);
    let mut clients = clients.into_iter();
    thread::scope(|scope| {
        let mut running = Vec::new();
        while clients.len() > 0 {
            let some = clients.by_ref().take(share).collect();
            running.push(scope.spawn(move || ask(address, some)));
        }
        let mut all = Vec::new();
        for one in running {
            all.extend(one.join().expect("a generator does not panic")?);
        }
        Ok(all)
    })
}

fn ask(address: SocketAddr, clients: Vec<Requests<'_>>) -> Result<Vec<Vec<f64>>, String> {
    let broke = |why: std::io::Error| format!("the connection broke: {why}");
    let mut poll = Poll::new().map_err(broke)?;
    let mut all = Vec::new();
    for (index, requests) in clients.into_iter().enumerate() {
        // Blocking, so that it is there.
        let socket = std::net::TcpStream::connect(address).map_err(broke)?;
        socket.set_nodelay(true).and_then(|()| socket.set_nonblocking(true)).map_err(broke)?;
        let mut socket = TcpStream::from_std(socket);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut socket, Token(index), interest).map_err(broke)?;
        all.push(Client {
            socket,
            requests,
            unsent: &[],
            asked: Instant::now(),
            answer: Answer::default(),
            times: Vec::new(),
        });
    }
    let mut busy = 0;
    for client in &mut all {
        busy += usize::from(client.next().map_err(broke)?);
    }
    let mut events = Events::with_capacity(all.len().max(1));
    while busy > 0 {
        poll.poll(&mut events, Some(SILENCE_MAX)).map_err(broke)?;
        if events.is_empty() {
            return Err("nothing was answered for two minutes".to_owned());
        }
        for event in &events {
            busy -= usize::from(all[event.token().0].go_on()?);
        }
    }
    Ok(all.into_iter().map(|client| client.times).collect())
}

struct Client<'a> {
    socket: TcpStream,
    requests: Requests<'a>,
    /// What the socket has not taken of the request yet.
    unsent: &'a [u8],
    asked: Instant,
    answer: Answer,
    times: Vec<f64>,
}

impl Client<'_> {
    /// Asks the next, if there is one.
    fn next(&mut self) -> std::io::Result<bool> {
        self.answer.clear();
        let Some(request) = self.requests.next() else { return Ok(false) };
        (self.unsent, self.asked) = (request, Instant::now());
        self.send().map(|()| true)
    }

    fn send(&mut self) -> std::io::Result<()> {
        while !self.unsent.is_empty() {
            match self.socket.write(self.unsent) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.unsent = &self.unsent[count..],
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Something can be sent or read. Whether this client has asked all and has all its answers.
    fn go_on(&mut self) -> Result<bool, String> {
        let broke = |why: std::io::Error| format!("the connection broke: {why}");
        self.send().map_err(broke)?;
        loop {
            match self.answer.read(&mut self.socket) {
                Ok(()) => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(why) => return Err(broke(why)),
            }
            if let Some(body) = self.answer.body() {
                http::check(&body)?;
                self.times.push(self.asked.elapsed().as_secs_f64() * 1e3);
                // Nothing more is there to be read: the next answer is told of when it comes.
                return Ok(!self.next().map_err(broke)?);
            }
        }
    }
}
