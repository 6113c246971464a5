//! `shiftwork demo`: what does the scheduler do with a mixed workload?
//!
//! Each part of Shiftwork adds itself here with one module that starts its share of the load and
//! says what came of it (see [`part`]). One runtime runs them all; the main thread watches.

mod census;
mod jobs;
mod part;
mod processes;
mod screen;
mod seen;
mod shards;
mod strands;
mod summary;
mod tasks;
mod view;

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ::node::watch::Watch;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use shiftwork::{
    Discipline, Runtime,
    process::{Processes, block_on},
};

use part::{Part, Stage};
use screen::Screen;
use view::{Canvas, Sample};

use crate::timeline::{self, Timeline};

/// A redraw about so often looks alive and costs nothing to speak of.
const FRAME: Duration = Duration::from_millis(100);
/// Rates are taken over so long. Without a terminal: one line in this time.
const WINDOW: Duration = Duration::from_secs(1);
/// What is still in a turn after this, at the end, is named and left behind.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(crate) struct Options {
    /// How many workers [default: SHIFTWORK_WORKERS, else one per core]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// How long to run; Ctrl-C ends it earlier
    #[arg(long, value_name = "S", default_value = "10", value_parser = parse_seconds,
        allow_negative_numbers = true)]
    seconds: Duration,
    /// In which order strands get their turns
    #[arg(long, value_enum, default_value_t = Order::Stealing)]
    discipline: Order,
    /// Write what ran where to a file that https://ui.perfetto.dev shows
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Let others on this machine watch it, and pause its workers: `shiftwork top`
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// One strict global queue
    Fifo,
    /// A deque per worker, and stealing
    Stealing,
    /// Highest priority first, with ageing
    Priority,
    /// Multi-level feedback: what uses up its slice sinks
    Feedback,
}

impl Order {
    fn discipline(self) -> Discipline {
        match self {
            Order::Fifo => Discipline::Fifo,
            Order::Stealing => Discipline::Stealing,
            Order::Priority => Discipline::Priority { ageing: 1.0 },
            Order::Feedback => {
                Discipline::Feedback { levels: 4, slice: Duration::from_micros(250) }
            }
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .context("could not ask to be told of Ctrl-C")?;
    }
    part::silence_deliberate_panics();
    let timeline = options.timeline.as_deref().map(Timeline::create).transpose()?;

    let reports = Arc::new(Mutex::new(Vec::new()));
    let mut builder = Runtime::builder().name("demo").discipline(options.discipline.discipline());
    if let Some(workers) = options.workers {
        builder = builder.workers(workers);
    }
    if timeline.is_some() {
        builder = builder.record(timeline::EVENTS);
    }
    let runtime = builder
        .on_report({
            let reports = Arc::clone(&reports);
            move |report| reports.lock().expect("nobody panics here").push(report.to_string())
        })
        .build()
        .context("could not start the demo")?;

    let stage = Stage::new(runtime.handle());
    let parts = Arc::new(start_parts(&stage)?);
    let door = |address| Watch::start(address, seen::watched(&stage.handle, &parts));
    let door = options.listen.map(door).transpose().context("--listen")?;
    if let Some(door) = &door {
        eprintln!("watch it: shiftwork top http://{}", door.address());
    }
    let title = title(options, &runtime);
    let last = watch(&title, options.seconds, &runtime, &parts, &interrupted)?;

    // Workers that somebody has paused have to end, too.
    drop(door);
    runtime.resume();
    stage.close();
    let stopped = block_on(runtime.stop_processes(PATIENCE));
    let handle = runtime.handle();
    let end = runtime.shutdown_timeout(PATIENCE);
    let reports = reports.lock().expect("nobody panics here");
    let mut text = summary::text(&last, &parts, &stopped, &reports);
    if let Err(late) = end {
        text.push_str(&format!("\n{late}\n"));
    }
    if let Some(timeline) = timeline {
        text.push('\n');
        text.push_str(&timeline.write(&[("demo", &handle.recording())])?);
    }
    io::stdout().write_all(text.as_bytes()).context("could not write the summary")
}

/// The parts of Shiftwork that exist, each with its share of the load.
fn start_parts(stage: &Stage) -> Result<Vec<Part>> {
    let mut all = strands::start(stage).context("could not start the strands")?;
    let mut add = |kind, parts: Vec<Part>| all.extend(parts.into_iter().map(|part| part.of(kind)));
    add("job", jobs::start(stage).context("could not start the jobs")?);
    add("process", processes::start(stage).context("could not start the processes")?);
    add("task", tasks::start(stage).context("could not start the tasks")?);
    add("shard", shards::start(stage).context("could not start the shards")?);
    Ok(all)
}

/// Shows what happens until the time is over or somebody presses Ctrl-C.
fn watch(
    title: &str,
    length: Duration,
    runtime: &Runtime,
    parts: &[Part],
    interrupted: &AtomicBool,
) -> Result<Sample> {
    let live = io::stdout().is_terminal();
    let colour = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut screen = Screen::new(live);
    let start = runtime.now();
    // The samples of the last while, oldest first: rates are taken over all of it.
    let mut recent = VecDeque::from([Sample::take(Duration::ZERO, runtime, parts)]);
    if !live {
        screen.lines(&[title.to_owned()])?;
    }
    let period = if live { FRAME } else { WINDOW };
    let mut next = period;
    loop {
        let elapsed = runtime.now() - start;
        if elapsed >= length || interrupted.load(Ordering::Relaxed) {
            return Ok(Sample::take(elapsed, runtime, parts));
        }
        if elapsed >= next {
            next += period;
            let now = Sample::take(elapsed, runtime, parts);
            let before = recent.front().expect("at least one sample is kept");
            if live {
                let canvas = Canvas { colour, lines_max: screen.lines_max() };
                screen.redraw(&view::frame(title, length, before, &now, parts, &canvas))?;
            } else {
                screen.lines(&[view::line(before, &now, parts)])?;
            }
            recent.push_back(now);
            while recent.len() > 1 && recent[1].at + WINDOW <= elapsed + period {
                recent.pop_front();
            }
        }
        thread::sleep(FRAME.min(length.saturating_sub(elapsed)).min(period / 5));
    }
}

fn title(options: &Options, runtime: &Runtime) -> String {
    let workers = runtime.worker_count();
    let discipline = options.discipline.to_possible_value().expect("no order is hidden");
    let s = if workers == 1 { "" } else { "s" };
    format!("Shiftwork demo: {workers} worker{s}, {}", discipline.get_name())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if seconds.is_nan() || seconds <= 0.0 {
        return Err("it must be more than 0".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| "it is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(parse_seconds("2.5"), Ok(Duration::from_millis(2500)));
        for bad in ["0", "-1", "NaN", "inf", "1e300", "soon", ""] {
            assert!(parse_seconds(bad).is_err(), "{bad:?} was taken");
        }
    }
}
