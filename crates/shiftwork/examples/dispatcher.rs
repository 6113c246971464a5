//! Strict priorities starve, ageing cures it: a dispatcher in virtual time.
//!
//! A workshop with one worker. Routine repairs come in at the start of the day; from then on an
//! urgent one comes every few minutes, which is just as many as the worker can do. With strict
//! priorities (an ageing rate of 0) the routine ones wait for as long as urgent ones keep coming.
//! With ageing each arrival starts a little lower than the one before, so whoever waits is passed
//! by fewer and fewer. The table shows what each rate costs whom.
//!
//! Eight hours pass in a few milliseconds: the simulated runtime jumps from event to event.
//!
//! ```text
//! cargo run --example dispatcher
//! ```

use std::{
    error::Error,
    sync::{Arc, Mutex},
    time::Duration,
};

use shiftwork::{Attributes, Discipline, Handle, Runtime, ScheduleError, Step, Timer};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = MINUTE.saturating_mul(8 * 60);
/// A repair takes so long, and so often an urgent one comes in.
const REPAIR: Duration = MINUTE.saturating_mul(6);
const ROUTINE: f64 = 1.0;
const URGENT: f64 = 10.0;
const ROUTINE_COUNT: usize = 8;

/// How long each repair waited before somebody began with it.
#[derive(Default)]
struct Waits {
    routine: Vec<Duration>,
    urgent: Vec<Duration>,
}

type Books = Arc<Mutex<Waits>>;

/// Takes in one repair: a job with a priority.
fn take_in(shop: &Handle, books: &Books, priority: f64) -> Result<(), ScheduleError> {
    let (books, arrived) = (books.clone(), shop.now());
    shop.submit_with(Attributes { priority, ..Attributes::default() }, move |turn| {
        let waited = turn.now() - arrived;
        let mut books = books.lock().unwrap();
        if priority == URGENT { &mut books.urgent } else { &mut books.routine }.push(waited);
        drop(books);
        turn.simulate(REPAIR);
    })
}

/// One day with this ageing rate.
fn day(ageing: f64) -> Result<Waits, Box<dyn Error>> {
    let mut shop =
        Runtime::builder().workers(1).discipline(Discipline::Priority { ageing }).simulate(1)?;
    let books = Books::default();
    for _ in 0..ROUTINE_COUNT {
        take_in(&shop, &books, ROUTINE)?;
    }

    // The front desk: a strand that a timer wakes for every urgent repair. It comes before all
    // repairs, or it could not take in any while the worker is busy.
    let handle: Handle = shop.clone();
    let theirs = books.clone();
    let mut _alarm: Option<Timer> = None;
    let desk = shop.strand().name("front desk").priority(1e9);
    let (desk, _) = desk.start(move |turn| {
        if turn.now() >= DAY {
            return Step::End(());
        }
        take_in(&handle, &theirs, URGENT).expect("the shop is open");
        let me = turn.strand().expect("the desk is a strand");
        _alarm = handle.wake_after(REPAIR, &me).ok();
        Step::Pause
    })?;

    shop.run();
    drop(desk);
    Ok(std::mem::take(&mut *books.lock().unwrap()))
}

fn minutes(waits: &[Duration]) -> (u64, u64) {
    let total: Duration = waits.iter().sum();
    let mean = total / waits.len().max(1) as u32;
    (mean.as_secs() / 60, waits.iter().max().map_or(0, |wait| wait.as_secs() / 60))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("waiting time in minutes, mean and longest, over a day of {} hours\n", 8);
    println!("{:>12}{:>14}{:>10}{:>14}{:>10}", "ageing rate", "urgent", "", "routine", "");
    for ageing in [0.0, 0.1, 0.3, 1.0, 10.0] {
        let waits = day(ageing)?;
        let (urgent, routine) = (minutes(&waits.urgent), minutes(&waits.routine));
        println!(
            "{ageing:>12}{:>14}{:>10}{:>14}{:>10}   {}",
            urgent.0,
            urgent.1,
            routine.0,
            routine.1,
            match ageing {
                0.0 => "strict: routine repairs wait until the urgent ones stop coming",
                10.0 => "so fast that priorities hardly count: first come, first served",
                _ => "",
            }
        );
    }
    Ok(())
}
