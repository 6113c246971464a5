//! A small kitchen, drawn: two cooks, a waiter who wakes them, and dishes that are handed on.
//!
//! `cargo run --example timeline -- out.json`, then open the file in <https://ui.perfetto.dev>.

use std::{env, error::Error, fs::File, time::Duration};

use shiftwork::{Runtime, Step, Turn, observe::timeline};

fn main() -> Result<(), Box<dyn Error>> {
    // Virtual time: the picture is the same each time.
    let mut kitchen = Runtime::builder().workers(2).record(10_000).simulate(7)?;

    let (oven, _) = kitchen.strand().name("oven").idle(dishes(300))?;
    let mut boards = Vec::new();
    for name in ["cook Ada", "cook Max", "cook Zoe"] {
        let (oven, mut cook) = (oven.clone(), dishes(200));
        let (strand, _) = kitchen.strand().name(name).idle(move |turn| {
            let step = cook(turn);
            // The oven gets the worker next.
            turn.hand_off(&oven);
            step
        })?;
        boards.push(strand);
    }
    for order in 0..9u64 {
        let cook = boards[order as usize % boards.len()].clone();
        kitchen.submit(move |turn| {
            turn.simulate(Duration::from_micros(40));
            let _ = cook.wake();
        })?;
        kitchen.run_for(Duration::from_micros(150));
    }
    kitchen.run();

    let recording = kitchen.recording();
    let turns = timeline::tracks(&recording).iter().map(Vec::len).sum::<usize>();
    match env::args().nth(1) {
        Some(path) => {
            timeline::write(&mut File::create(&path)?, &[("kitchen", &recording)])?;
            println!("{turns} turns in {path}: open it in https://ui.perfetto.dev");
        }
        None => println!("{turns} turns; name a file to have them drawn"),
    }
    Ok(())
}

/// One dish per turn, each for so many microseconds.
fn dishes(micros: u64) -> impl FnMut(&mut Turn<'_>) -> Step<()> + Send + 'static {
    move |turn| {
        turn.simulate(Duration::from_micros(micros));
        Step::Pause
    }
}
