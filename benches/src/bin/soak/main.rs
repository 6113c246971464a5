//! Does the scheduler lose or double anything on real threads, given time?
//!
//! `soak --seconds N [--seed S]`. Every discipline under every placement in turn: strands that
//! wake, hand off, submit, yield, panic and end at random, threads outside that do the same,
//! timers, aborts, and workers that are paused and resumed. Wakes are numbered per strand, so
//! that at the end of a round the last one of each must have been seen by a turn; jobs and timers
//! are counted; turns of one strand must not overlap. Whatever does not come to rest is reported
//! instead of waited for. The exit code is 1 if anything was lost, doubled or stuck.
#![allow(
    clippy::disallowed_methods,
    reason = "it plays the outside world: real threads, and the machine's clock"
)]

mod round;
mod world;

use std::{
    hash::{BuildHasher, RandomState},
    process::ExitCode,
    time::{Duration, Instant},
};

use kernel::{Attributes, Discipline, Placement, Runtime, WorkerId};
use progress::Progress;

use crate::{
    round::{Sums, round},
    world::Dice,
};

fn placements() -> [Placement; 6] {
    let by_key = |about: &Attributes| Some(WorkerId::new(about.key? as usize % 2));
    [
        Placement::Any,
        Placement::RoundRobin,
        Placement::LeastLoaded,
        Placement::Fastest,
        Placement::affinity(by_key),
        Placement::IdleFirst,
    ]
}

/// Short rounds, for many shutdowns.
const ROUND: Duration = Duration::from_millis(150);
const SLICE: Duration = Duration::from_micros(200);
const DISCIPLINES: [(&str, Discipline); 4] = [
    ("fifo", Discipline::Fifo),
    ("stealing", Discipline::Stealing),
    ("priority", Discipline::Priority { ageing: 0.1 }),
    ("feedback", Discipline::Feedback { levels: 3, slice: SLICE }),
];

fn arguments() -> Result<(u64, u64), String> {
    let mut words = std::env::args().skip(1);
    let (mut seconds, mut seed) = (60, None);
    while let Some(word) = words.next() {
        let text = words.next().ok_or(format!("{word} needs a number"))?;
        let number = text.parse().map_err(|_| format!("{word} wants a number, not {text:?}"))?;
        match word.as_str() {
            "--seconds" => seconds = number,
            "--seed" => seed = Some(number),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let fresh = || RandomState::new().hash_one(seconds);
    Ok((seconds, seed.unwrap_or_else(fresh)))
}

fn main() -> ExitCode {
    let (seconds, seed) = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("soak: {error}\nusage: soak [--seconds N] [--seed S]");
            return ExitCode::from(2);
        }
    };
    println!("soak: {seconds} s over all disciplines and placements, --seed {seed}");
    let share = Duration::from_secs(seconds) / DISCIPLINES.len() as u32;
    let mut dice = Dice(seed);
    let begun = Instant::now();
    let mut progress = Progress::stderr("seconds").of(seconds);
    let mut table: Vec<Sums> = Vec::new();
    for (name, discipline) in DISCIPLINES {
        let mut sums = Sums::default();
        let until = begun + share * (table.len() as u32 + 1);
        for placement in placements().into_iter().cycle() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() && sums.rounds > 0 {
                break;
            }
            let before = table.iter().map(|sums| sums.wakes).sum::<u64>() + sums.wakes;
            let label = format!("{name}, {placement:?}");
            let mut tell = |wakes| {
                let now = begun.elapsed();
                progress.show(now, now.as_secs(), &format!("{label}, {} wakes", before + wakes));
            };
            let builder = Runtime::builder().workers(2 + dice.below(3)).quantum(SLICE);
            let builder = builder.discipline(discipline).placement(placement).on_report(|_| {});
            sums += round(builder, ROUND.min(left), &mut dice, &mut tell);
        }
        table.push(sums);
    }
    progress.finish();
    finish(&table)
}

fn finish(table: &[Sums]) -> ExitCode {
    println!(
        "\n{:<10}{:>7}{:>12}{:>12}{:>11}{:>9}{:>10}{:>9}{:>9}{:>8}{:>6}{:>8}",
        "",
        "rounds",
        "wakes",
        "turns",
        "jobs",
        "timers",
        "hand-offs",
        "steals",
        "parks",
        "panics",
        "lost",
        "doubled"
    );
    for ((name, _), sums) in DISCIPLINES.iter().zip(table) {
        println!(
            "{name:<10}{:>7}{:>12}{:>12}{:>11}{:>9}{:>10}{:>9}{:>9}{:>8}{:>6}{:>8}",
            sums.rounds,
            sums.wakes,
            sums.turns,
            sums.jobs,
            sums.timers,
            sums.hand_offs,
            sums.steals,
            sums.parks,
            sums.panics,
            sums.lost,
            sums.doubled
        );
    }
    let sum = |of: fn(&Sums) -> u64| table.iter().map(of).sum::<u64>();
    let (wakes, lost, doubled) = (sum(|s| s.wakes), sum(|s| s.lost), sum(|s| s.doubled));
    println!("\nsoak: {wakes} wakes, {lost} lost, {doubled} doubled");
    if lost + doubled == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
