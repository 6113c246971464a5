//! `shiftwork run`: what does a guest's program return, and how did its tasks fare?

mod entry;
mod file;
mod gantt;
mod guest_log;
mod interrupt;
mod json;
mod options;
mod parse;
mod text;
mod verdict;
mod watch;
mod world;

pub(crate) use options::{ABOUT, Options};

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result};
use shiftwork::{
    Handle, Metrics,
    task::{LoadError, Program, SpawnError, Stats, TaskInfo, TaskResult},
};

use crate::timeline::Timeline;
use gantt::Picture;
use interrupt::Interrupt;
use verdict::Verdict;
use watch::End;
use world::World;

/// What came of a program.
pub(crate) struct Report {
    end: End,
    /// What became of main, unless it had not ended.
    main: Option<TaskResult>,
    /// Every task that ended and is remembered, the oldest first.
    results: Vec<TaskResult>,
    /// Every task that had not ended, the oldest first.
    unfinished: Vec<TaskInfo>,
    stats: Stats,
    metrics: Metrics,
    /// How long it took, by the runtime's clock.
    elapsed: Duration,
    /// Whether main's end was the end of all.
    only_main: bool,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    let verdict = execute(options).unwrap_or_else(|error| {
        eprint!("{}", crate::text::visible(&format!("error: {error:#}\n")));
        refused(&error)
    });
    verdict.into()
}

/// What it means that nothing was run, or that what came of it could not be told.
fn refused(error: &anyhow::Error) -> Verdict {
    let over_a_limit = matches!(error.downcast_ref(), Some(LoadError::Limit(_)))
        || matches!(error.downcast_ref(), Some(SpawnError::TooManyTasks(_)));
    if over_a_limit {
        Verdict::Limit
    } else if error.is::<Unwritten>() {
        Verdict::Failed
    } else {
        Verdict::Usage
    }
}

/// The program was run, and its result could not be written.
#[derive(Debug)]
struct Unwritten;

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("could not write the result")
    }
}

fn execute(options: &Options) -> Result<Verdict> {
    let module = file::read(&options.file)?;
    let mut world = World::new(options)?;
    let handle = Handle::clone(&world);
    let program = Program::load(&world, module, options.for_program())
        .map_err(Options::with_advice)
        .with_context(|| options.file.display().to_string())?;
    let (func, arguments) = entry::choose(&program, options.func.as_deref(), &options.arguments)?;
    // Only now: a file that is there is of an earlier run, and stays if nothing is run.
    let timeline = options.timeline.as_deref().map(Timeline::create).transpose()?;
    let interrupt = Interrupt::listen(&program)?;
    let picture = options.gantt.as_deref().map(Picture::create).transpose()?;
    let start = world.now();
    let main = match program.spawn(&func, arguments) {
        Err(SpawnError::ShutDown) if interrupt.came() => return Ok(Verdict::Interrupted),
        spawned => spawned?,
    };
    let watched = watch::until_the_end(&program, main, options.timeout, options.exit_with_main);
    let (end, main) = world.block_on(watched)?;
    let end = if interrupt.came() { End::Interrupted } else { end };
    let report = Report {
        end,
        main,
        results: program.results(),
        unfinished: program.tasks().into_iter().filter(watch::is_unfinished).collect(),
        stats: program.stats(),
        metrics: world.metrics(),
        elapsed: world.now().saturating_sub(start),
        only_main: options.exit_with_main,
    };
    // What still runs ends without being asked: it has been told of, or nobody wants to know.
    drop(interrupt);
    drop(program);
    world.close();
    tell(&report, options)?;
    if let Some(timeline) = timeline {
        let said = timeline.write(&[("run", &handle.recording())]).context(Unwritten)?;
        // As in `tell`.
        let _ = io::stderr().write_all(said.as_bytes());
    }
    if let Some(picture) = picture {
        picture.draw(options, &handle.recording()).context(Unwritten)?;
    }
    Ok(Verdict::of(&report))
}

/// Writes the result to where the user wants it, and the rest to standard error.
fn tell(report: &Report, options: &Options) -> Result<()> {
    let mut complaints = text::complaints(report, options);
    if options.stats && !options.json {
        complaints.push_str(&text::stats(report));
    }
    // Nobody who could be told is left, if that fails.
    let _ = io::stderr().write_all(crate::text::visible(&complaints).as_bytes());
    let result = if options.json { json::text(report)? } else { text::result(report) };
    let mut stdout = io::stdout().lock();
    match stdout.write_all(result.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(Unwritten),
    }
}
