//! What one sees of a running demo: two samples in, lines of text out.

use std::time::Duration;

use shiftwork::{Handle, Metrics, WorkerState};

use super::{census::Census, jobs, part::Part};
use crate::text::{quantile, thousands};

/// More workers than this would push the rest of the picture off a small terminal.
const WORKERS_SHOWN_MAX: usize = 12;
/// The busiest processes, so many of them.
const BUSIEST_SHOWN_MAX: usize = 5;
const BAR_WIDTH: usize = 16;

/// What a picture is drawn on.
pub(crate) struct Canvas {
    pub(crate) colour: bool,
    pub(crate) lines_max: Option<usize>,
}

/// All that the view knows of one moment.
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) metrics: Metrics,
    pub(crate) states: Vec<WorkerState>,
    pub(crate) counts: Vec<u64>,
    pub(crate) census: Census,
    pub(crate) jobs: shiftwork::job::Metrics,
}

impl Sample {
    pub(crate) fn take(at: Duration, runtime: &Handle, parts: &[Part]) -> Sample {
        Sample {
            at,
            metrics: runtime.metrics(),
            states: runtime.workers(),
            counts: parts.iter().map(Part::count).collect(),
            census: Census::take(runtime),
            jobs: jobs::metrics(runtime),
        }
    }

    /// How many messages processes have sent each other.
    pub(crate) fn messages(&self, parts: &[Part]) -> u64 {
        parts.iter().zip(&self.counts).map(|(part, count)| part.messages(*count)).sum()
    }
}

/// The whole picture, for a terminal.
pub(crate) fn frame(
    title: &str,
    length: Duration,
    before: &Sample,
    now: &Sample,
    parts: &[Part],
    canvas: &Canvas,
) -> Vec<String> {
    let paint = Paint(canvas.colour);
    let (at, length) = (now.at.as_secs_f64(), length.as_secs_f64());
    let mut lines = vec![
        format!("{}  {at:.1} of {length:.0} s", paint.bold(title)),
        String::new(),
        paint.dim("worker  doing                turns/s    steals     parks  busy"),
    ];
    lines.extend(worker_lines(before, now, &paint));
    lines.push(String::new());
    lines.push(paint.dim("part                              so far       per s"));
    let seconds = (now.at - before.at).as_secs_f64();
    for (part, (old, new)) in parts.iter().zip(before.counts.iter().zip(&now.counts)) {
        let per_second = rate(*old, *new, seconds);
        lines.push(format!(
            "{:<28} {:>12} {:>11}  {}",
            part.name,
            thousands(*new),
            thousands(per_second),
            part.unit
        ));
    }
    lines.push(String::new());
    let completed = rate(before.jobs.completed, now.jobs.completed, seconds);
    lines.push(format!("{} jobs/s: {}", thousands(completed), jobs::states(&now.jobs)));
    lines.push(format!("jobs that were ready: {}", jobs::waited(&now.jobs)));
    let messages = rate(before.messages(parts), now.messages(parts), seconds);
    lines.push(format!("{} processes: {}", thousands(now.census.count()), now.census.states()));
    let fullest = now.census.fullest_mailbox();
    lines.push(format!(
        "{} messages/s, {} in mailboxes now{}",
        thousands(messages),
        thousands(now.census.messages_waiting()),
        fullest.map_or_else(String::new, |(name, full)| format!(", most at {name}: {full}")),
    ));
    let waiting = now.metrics.total().waiting;
    let last = [
        format!(
            "waiting for a turn: half under {}, 99 of 100 under {}; {} queued, {} timers",
            quantile(waiting.quantile(0.5)),
            quantile(waiting.quantile(0.99)),
            thousands(now.metrics.queued as u64),
            thousands(now.metrics.timers as u64),
        ),
        paint.dim("Ctrl-C ends it"),
    ];
    // What a small terminal has no room for.
    let room = canvas.lines_max.map_or(usize::MAX, |max| max.saturating_sub(lines.len() + 2));
    lines.extend(busiest_lines(before, now, room, &paint));
    lines.extend(last);
    lines
}

fn worker_lines(before: &Sample, now: &Sample, paint: &Paint) -> Vec<String> {
    let seconds = (now.at - before.at).as_secs_f64();
    let mut lines = Vec::new();
    let workers = now.metrics.workers.iter().zip(&before.metrics.workers);
    for (n, (new, old)) in workers.enumerate().take(WORKERS_SHOWN_MAX) {
        let state = now.states.get(n).map_or_else(String::new, describe);
        let state: String = state.chars().take(18).collect();
        lines.push(format!(
            "{n:>6}  {state:<18} {:>9} {:>9} {:>9}  {}",
            thousands(rate(old.turns, new.turns, seconds)),
            thousands(new.steals),
            thousands(new.parks),
            paint.bar(busy(old.cpu, new.cpu, seconds)),
        ));
    }
    let hidden = now.metrics.workers.len().saturating_sub(WORKERS_SHOWN_MAX);
    if hidden > 0 {
        lines.push(paint.dim(&format!("        and {hidden} more")));
    }
    lines
}

/// The busiest processes, in so many lines at most.
fn busiest_lines(before: &Sample, now: &Sample, room: usize, paint: &Paint) -> Vec<String> {
    /// A blank line on each side, and the heading.
    const AROUND: usize = 3;
    let shown = room.saturating_sub(AROUND).min(BUSIEST_SHOWN_MAX);
    if shown == 0 {
        return Vec::new();
    }
    let seconds = (now.at - before.at).as_secs_f64();
    let heading = "busiest processes state   turns/s        mailbox parent links     age  CPU time";
    let mut lines = vec![String::new(), paint.dim(heading)];
    for busy in now.census.busiest(&before.census).into_iter().take(shown) {
        let name: String = busy.name.chars().take(16).collect();
        let turns = thousands(rate(0, busy.steps, seconds));
        // As wide as the heading, and narrower than a small terminal.
        lines.push(format!(
            "{name:<16}  {:<7} {turns:>7} {:>14} {:>6} {:>5} {:>7} {:>9}",
            busy.state, busy.mailbox, busy.parent, busy.links, busy.age, busy.cpu_time
        ));
    }
    // As many lines each time, so that those below stand still.
    lines.resize(shown + AROUND, String::new());
    lines
}

/// One line, for a log.
pub(crate) fn line(before: &Sample, now: &Sample, parts: &[Part]) -> String {
    let seconds = (now.at - before.at).as_secs_f64();
    let workers = now.metrics.workers.iter().zip(&before.metrics.workers).enumerate();
    let workers: Vec<String> = workers
        .map(|(n, (new, old))| {
            let turns = thousands(rate(old.turns, new.turns, seconds));
            match busy(old.cpu, new.cpu, seconds) {
                Some(share) => format!("worker {n}: {turns} turns/s, {:.0} % busy", share * 100.0),
                None => format!("worker {n}: {turns} turns/s"),
            }
        })
        .collect();
    format!(
        "{:>5.1} s  {}; {} jobs/s; {} processes: {} messages/s, {} in mailboxes",
        now.at.as_secs_f64(),
        workers.join("; "),
        thousands(rate(before.jobs.completed, now.jobs.completed, seconds)),
        thousands(now.census.count()),
        thousands(rate(before.messages(parts), now.messages(parts), seconds)),
        thousands(now.census.messages_waiting()),
    )
}

fn describe(state: &WorkerState) -> String {
    match state {
        WorkerState::Idle => "parked".to_owned(),
        WorkerState::Searching => "looking for work".to_owned(),
        WorkerState::Running(name) => format!("running {name}"),
        WorkerState::Paused => "paused".to_owned(),
        WorkerState::Stopped => "stopped".to_owned(),
        _ => String::new(),
    }
}

fn rate(old: u64, new: u64, seconds: f64) -> u64 {
    if seconds <= 0.0 { 0 } else { (new.saturating_sub(old) as f64 / seconds).round() as u64 }
}

/// The share of the time that a worker's thread was on a core, where the system tells.
fn busy(old: Option<Duration>, new: Option<Duration>, seconds: f64) -> Option<f64> {
    // A thread that had not started yet had used nothing.
    let used = new?.saturating_sub(old.unwrap_or_default()).as_secs_f64();
    (seconds > 0.0).then(|| (used / seconds).clamp(0.0, 1.0))
}

/// Colours, where they are wanted.
struct Paint(bool);

impl Paint {
    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }

    /// A bar with its share: green while there is room, yellow when there is hardly any.
    fn bar(&self, share: Option<f64>) -> String {
        let Some(share) = share else { return "?".to_owned() };
        let filled = (share * BAR_WIDTH as f64).round() as usize;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR_WIDTH - filled));
        let code = if share < 0.9 { "32" } else { "33" };
        format!("{} {:>3.0} %", self.with(code, &bar), share * 100.0)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use shiftwork::{
        Runtime,
        process::{Context, MailboxKind, Processes},
    };

    use super::*;

    #[test]
    fn a_small_terminal_gets_all_but_the_busiest_processes() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let [before, now] = [0, 1].map(|at| Sample::take(Duration::from_secs(at), &runtime, &[]));
        let draw = |lines_max| {
            let canvas = Canvas { colour: false, lines_max };
            frame("title", Duration::from_secs(9), &before, &now, &[], &canvas)
        };
        let busiest = |lines: &[String]| lines.iter().any(|line| line.starts_with("busiest"));
        let whole = draw(None);
        assert!(busiest(&whole));
        assert_eq!(draw(Some(whole.len())), whole);
        let small = draw(Some(whole.len() - BUSIEST_SHOWN_MAX));
        assert!(!busiest(&small) && small.len() < whole.len());
        assert_eq!(small.last(), whole.last());
    }

    /// It takes four turns in the two seconds between the samples, of which the first is timed.
    #[test]
    fn a_busy_process_has_a_row_with_its_state_mailbox_and_ties() {
        let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
        let parent = simulation.spawn_process(|mut ctx: Context<u8>| async move {
            let clerk = |mut ctx: Context<u8>| async move {
                for _ in 0..12 {
                    ctx.receive().await;
                }
                std::future::pending::<()>().await;
            };
            let clerk = ctx.process().name("clerk").mailbox(MailboxKind::Bounded(9)).spawn(clerk);
            ctx.receive().await;
            drop(clerk);
        });
        let parent = parent.unwrap();
        simulation.run_for(Duration::from_millis(1500));
        // Its sixteenth turn is timed, the last of those to come.
        for number in 0..11_u8 {
            simulation.send_to_named("clerk", number).unwrap();
            simulation.run();
        }
        let before = Sample::take(Duration::ZERO, &simulation, &[]);
        for number in 0..4_u8 {
            simulation.send_to_named("clerk", number).unwrap();
            simulation.run();
        }
        let now = Sample::take(Duration::from_secs(2), &simulation, &[]);
        let rows = busiest_lines(&before, &now, 20, &Paint(false));
        assert_eq!(rows.len(), BUSIEST_SHOWN_MAX + 3);
        let row: Vec<&str> = rows[2].split_whitespace().collect();
        let pid = parent.pid().to_string();
        let expected = ["clerk", "idle", "2", "3", "of", "9", &pid, "1", "1.50", "s"];
        assert_eq!(row[..expected.len()], expected, "{rows:#?}");
        // A number and its unit, since a turn was timed.
        assert_eq!(row.len(), expected.len() + 2, "{rows:#?}");
        assert!(rows[3..].iter().all(String::is_empty), "the parent took no turn: {rows:#?}");
    }

    #[test]
    fn a_bar_is_as_full_as_the_worker_is_busy() {
        let bar = Paint(false).bar(Some(0.5));
        assert_eq!(bar.matches('█').count(), BAR_WIDTH / 2);
        assert!(bar.ends_with(" 50 %"));
        assert!(Paint(true).bar(Some(1.0)).starts_with("\x1b[33m"));
        assert_eq!(Paint(true).bar(None), "?");
    }
}
