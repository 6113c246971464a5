//! The kernel's part of the demo: jobs, strands that yield, hand off, sleep, hog and panic.

use std::{
    hint::black_box,
    sync::{Arc, OnceLock},
    time::Duration,
};

use shiftwork::{JoinError, ScheduleError, Step, Strand};

use super::part::{DELIBERATE, Part, Stage};

pub(crate) fn start(stage: &Stage) -> Result<Vec<Part>, ScheduleError> {
    Ok(vec![
        short_jobs(stage)?,
        yielding(stage)?,
        handing_off(stage)?,
        sleeping(stage)?,
        hog(stage)?,
        panicking(stage)?,
    ])
}

/// Waves of small closures, as a batch computation would submit them.
fn short_jobs(stage: &Stage) -> Result<Part, ScheduleError> {
    const WAVE: usize = 256;
    let (part, tally) = Part::new("short jobs", "jobs");
    let stage = stage.clone();
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(Duration::from_millis(2));
        while !stage.is_closed() {
            clock.tick().await;
            let jobs = (0..WAVE).map(|_| {
                let tally = tally.clone();
                move |_: &mut shiftwork::Turn<'_>| {
                    work(1);
                    tally.add(1);
                }
            });
            if stage.handle.submit_all(jobs).is_err() {
                break;
            }
        }
    })?;
    Ok(part)
}

/// Strands with something to do for many turns, that let others go first after each.
fn yielding(stage: &Stage) -> Result<Part, ScheduleError> {
    const STRANDS: usize = 16;
    const TURNS: u64 = 100;
    let (part, tally) = Part::new("strands that yield", "turns");
    let mut strands = Vec::new();
    for _ in 0..STRANDS {
        let (stage, tally) = (stage.clone(), tally.clone());
        let mut left = TURNS;
        let (strand, _join) = stage.handle.clone().strand().name("yielder").start(move |_| {
            work(10);
            tally.add(1);
            left -= 1;
            if stage.is_closed() {
                Step::End(())
            } else if left == 0 {
                left = TURNS;
                Step::Pause
            } else {
                Step::Yield
            }
        })?;
        strands.push(strand);
    }
    wake_every(stage, Duration::from_millis(200), strands)?;
    Ok(part)
}

/// Two strands that give each other the worker, without a queue between them.
fn handing_off(stage: &Stage) -> Result<Part, ScheduleError> {
    const ROUNDS: u64 = 2_000;
    let (part, tally) = Part::new("two strands handing off", "turns");
    let partner_of_ping = Arc::new(OnceLock::<Strand>::new());
    let player = |partner: Arc<OnceLock<Strand>>, rounds: u64| {
        let (stage, tally) = (stage.clone(), tally.clone());
        let mut left = rounds;
        move |turn: &mut shiftwork::Turn<'_>| {
            tally.add(1);
            left -= 1;
            if stage.is_closed() {
                return Step::End(());
            }
            if left == 0 {
                left = rounds;
            } else if let Some(partner) = partner.get() {
                turn.hand_off(partner);
            }
            Step::Pause
        }
    };
    let ping_body = player(Arc::clone(&partner_of_ping), ROUNDS);
    let (ping, _join) = stage.handle.strand().name("ping").idle(ping_body)?;
    let partner_of_pong = Arc::new(OnceLock::from(ping.clone()));
    // Pong never stops of itself: the rally ends when ping keeps the worker.
    let pong_body = player(partner_of_pong, u64::MAX);
    let (pong, _join) = stage.handle.strand().name("pong").idle(pong_body)?;
    assert!(partner_of_ping.set(pong).is_ok(), "set once, here");
    wake_every(stage, Duration::from_millis(20), vec![ping])?;
    Ok(part)
}

/// Futures that do nothing but wait for a timer, over and over.
fn sleeping(stage: &Stage) -> Result<Part, ScheduleError> {
    const SLEEPERS: u64 = 1_000;
    let (part, tally) = Part::new("1,000 futures on timers", "timers");
    for n in 0..SLEEPERS {
        let (stage, tally) = (stage.clone(), tally.clone());
        stage.handle.clone().spawn(async move {
            // From 5 to 105 ms, all different, so that they drift apart.
            let nap = Duration::from_micros(5_000 + n * 100);
            while !stage.is_closed() {
                stage.handle.sleep(nap).await;
                tally.add(1);
            }
        })?;
    }
    Ok(part)
}

/// A strand with a second of work at a time. It looks at its turn, so nobody notices.
fn hog(stage: &Stage) -> Result<Part, ScheduleError> {
    const MICROS: u64 = 1_000_000;
    let (part, tally) = Part::new("a hog that checks its turn", "turns given back");
    let mut left = MICROS;
    let stage_of_hog = stage.clone();
    let (hog, _join) = stage.handle.strand().name("hog").start(move |turn| {
        while left > 0 && !turn.expired() && !stage_of_hog.is_closed() {
            work(1);
            left -= 1;
        }
        if stage_of_hog.is_closed() {
            return Step::End(());
        }
        if left == 0 {
            left = MICROS;
            return Step::Pause;
        }
        tally.add(1);
        Step::Yield
    })?;
    wake_every(stage, Duration::from_secs(2), vec![hog])?;
    Ok(part)
}

/// A strand that panics now and then, and the one who learns of it.
fn panicking(stage: &Stage) -> Result<Part, ScheduleError> {
    let (part, tally) = Part::new("strands that panic", "contained");
    let stage = stage.clone();
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(Duration::from_millis(500));
        while !stage.is_closed() {
            clock.tick().await;
            let doomed = stage.handle.strand().name("doomed").start(panic_on_purpose);
            let Ok((_strand, join)) = doomed else { break };
            if matches!(join.await, Err(JoinError::Panicked(_))) {
                tally.add(1);
            }
        }
    })?;
    Ok(part)
}

fn panic_on_purpose(_: &mut shiftwork::Turn<'_>) -> Step<()> {
    std::panic::panic_any(DELIBERATE)
}

/// Wakes the strands again and again, until the stage closes.
fn wake_every(stage: &Stage, period: Duration, strands: Vec<Strand>) -> Result<(), ScheduleError> {
    let stage = stage.clone();
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(period);
        while !stage.is_closed() {
            clock.tick().await;
            for strand in &strands {
                if strand.wake().is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// Keeps a core busy for about so many microseconds.
pub(crate) fn work(micros: u32) {
    let mut x = 0x9E37_79B9_u32;
    for _ in 0..micros * 400 {
        x ^= x << 13;
        x ^= x >> 17;
        x = black_box(x ^ (x << 5));
    }
    black_box(x);
}
