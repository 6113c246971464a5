//! Two strands pass a ball: by waking each other, and by handing off.
//!
//! A wake puts the other strand in line, and any free worker takes it from there. A hand-off
//! names the strand that *this* worker runs next: no queue, no other thread, a warm cache. So the
//! second is the way to pass a request on to whoever answers it. It is also fair: both players
//! live on one quantum, and a third strand that only wants to count gets its turns between.
//!
//! ```text
//! cargo run --release --example pingpong
//! ```

use std::{
    error::Error,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use shiftwork::{Discipline, Runtime, Step, Strand, Turn};

const PASSES: u64 = 2_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Pass {
    Wake,
    HandOff,
}

/// The table they play at.
#[derive(Default)]
struct Table {
    players: [OnceLock<Strand>; 2],
    passes: AtomicU64,
    over: AtomicBool,
}

/// One turn of a player: plays the ball to the other one, and waits for its return.
fn play(table: &Table, me: usize, pass: Pass, turn: &mut Turn<'_>) -> Step<Duration> {
    let other = table.players[1 - me].get().expect("both have come");
    if table.passes.fetch_add(1, Relaxed) >= PASSES {
        // The game is over; the other player needs one more turn to notice.
        table.over.store(true, Relaxed);
        let _ = other.wake();
        return Step::End(turn.now());
    }
    match pass {
        Pass::HandOff => turn.hand_off(other),
        Pass::Wake => other.wake().expect("the runtime takes work"),
    }
    Step::Pause
}

struct Game {
    per_pass: Duration,
    hand_offs: u64,
    spectator_turns: u64,
}

fn game(workers: usize, pass: Pass) -> Result<Game, Box<dyn Error>> {
    let runtime = Runtime::builder().workers(workers).discipline(Discipline::Stealing).build()?;
    let table = Arc::new(Table::default());

    let mut ends = Vec::new();
    for me in 0..2 {
        let theirs = table.clone();
        let name = ["ping", "pong"][me];
        let made = runtime.strand().name(name).idle(move |turn| play(&theirs, me, pass, turn))?;
        let _ = table.players[me].set(made.0);
        ends.push(made.1);
    }

    // Somebody who is always ready to run, and must not starve.
    let theirs = table.clone();
    let mut turns = 0;
    let (_, mut spectator) = runtime.strand().name("spectator").start(move |_| {
        turns += 1;
        if theirs.over.load(Relaxed) { Step::End(turns) } else { Step::Yield }
    })?;

    let start = runtime.now();
    table.players[0].get().expect("both have come").wake()?;
    let ended = ends[0].join()?.max(ends[1].join()?);
    let game = Game {
        per_pass: (ended - start) / PASSES as u32,
        hand_offs: runtime.metrics().total().hand_offs,
        spectator_turns: spectator.join()?,
    };
    runtime.shutdown();
    Ok(game)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{PASSES} passes between two strands, with a third that always wants to run\n");
    println!("{:<24}{:>12}{:>12}{:>18}", "", "per pass", "hand-offs", "spectator turns");
    for workers in [1, 2] {
        for (name, pass) in [("wake", Pass::Wake), ("hand-off", Pass::HandOff)] {
            let game = game(workers, pass)?;
            println!(
                "{:<24}{:>12?}{:>12}{:>18}",
                format!("{name}, {workers} worker(s)"),
                game.per_pass,
                game.hand_offs,
                game.spectator_turns
            );
        }
    }
    Ok(())
}
