//! How do ours and theirs take turns, and what comes out?

use std::{
    collections::BTreeMap,
    io::Read,
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{
    callgrind,
    plan::{Allocator, Method, Plan, Speed, Target},
    programs::{Contestant, Programs},
};

/// No run takes nearly as long; one that does hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// Between two looks whether a run has ended: seldom, so as not to disturb it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One result of one contestant, over all rounds.
#[derive(Debug, Default, Clone)]
pub(super) struct Series {
    values: Vec<f64>,
    beside: BTreeMap<String, Vec<f64>>,
}

impl Series {
    pub(super) fn value(&self) -> f64 {
        median(&self.values)
    }

    /// The distance of the extremes, as a share of the median.
    pub(super) fn spread(&self) -> f64 {
        let extreme = |pick: fn(f64, f64) -> f64| self.values.iter().copied().reduce(pick);
        let (low, high) = (extreme(f64::min).unwrap_or(0.0), extreme(f64::max).unwrap_or(0.0));
        if self.value() > 0.0 { (high - low) / self.value() } else { 0.0 }
    }

    /// The numbers beside the value, as medians.
    pub(super) fn beside(&self) -> BTreeMap<&str, f64> {
        self.beside.iter().map(|(name, values)| (name.as_str(), median(values))).collect()
    }
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) allocator: Allocator,
    pub(super) workers: usize,
    pub(super) ours: Series,
    pub(super) peers: BTreeMap<String, Series>,
    pub(super) floor: Option<f64>,
    pub(super) target: Target,
}

impl Row {
    pub(super) fn best_peer(&self) -> Option<(&str, f64)> {
        self.best_of(&[])
    }

    fn best_of(&self, names: &[&str]) -> Option<(&str, f64)> {
        self.peers
            .iter()
            .filter(|(name, _)| names.is_empty() || names.contains(&name.as_str()))
            .map(|(name, series)| (name.as_str(), series.value()))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Above 1 when ours is better than the best peer.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.best_peer().map(|(_, value)| value / self.ours.value())
    }

    /// Is everything aimed at reached? None where nothing is, or nobody to compare with.
    pub(super) fn met(&self) -> Option<bool> {
        let Target { max, ratio, against, beside } = self.target;
        let max = max.map(|max| self.ours.value() <= max);
        let ratio = ratio.and_then(|ratio| {
            let (_, best) = self.best_of(against)?;
            Some(best / self.ours.value() >= ratio)
        });
        let beside = beside.and_then(|(name, max)| Some(*self.ours.beside().get(name)? <= max));
        [max, ratio, beside].into_iter().flatten().reduce(|a, b| a && b)
    }
}

/// Runs a plan for all rounds.
pub(super) fn rows(
    plan: &Plan,
    allocator: Allocator,
    speed: Speed,
    programs: &Programs,
) -> Result<Vec<Row>> {
    let contestants = programs.contestants(plan.workload, allocator)?;
    let mut results = Results::default();
    match plan.method {
        Method::Clock => {
            for round in 0..speed.rounds() {
                for at in 0..contestants.len() {
                    // Another first each round, so that nobody always follows the same one.
                    let contestant = &contestants[(at + round) % contestants.len()];
                    match clocked(plan, speed, contestant) {
                        Ok(lines) => {
                            for line in lines {
                                results.add(contestant, &line)?;
                            }
                        }
                        // A peer that hangs or crashes loses this round; we may not.
                        Err(error) if !contestant.is_ours() => eprintln!("  left out: {error:#}"),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Method::Instructions { small, large, items_per_scale } => {
            if !callgrind::available() {
                return Ok(Vec::new());
            }
            // The floor spins while it is idle, and every spin counts.
            for contestant in contestants.iter().filter(|one| one.name() != "floor") {
                let count = |size| callgrind::count(contestant, plan, size);
                let extra = count(large)? as f64 - count(small)? as f64;
                let per_item = extra / ((large - small) * items_per_scale) as f64;
                results.insert(contestant, plan.results[0], "instructions/job", per_item);
            }
        }
    }
    Ok(results.into_rows(plan, allocator))
}

fn clocked(plan: &Plan, speed: Speed, contestant: &Contestant) -> Result<Vec<serde_json::Value>> {
    let mut command = quiet(contestant.program().as_os_str());
    command.args(contestant.arguments(plan.workload, plan.workers));
    if speed == Speed::Quick {
        command.args(["--scale", &plan.quick.to_string()]);
    }
    let mut child = command.stderr(Stdio::inherit()).stdout(Stdio::piped()).spawn()?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("{} did not end within {LIMIT:?} in {}", contestant.name(), plan.workload);
        }
        thread::sleep(LOOK_EVERY);
    };
    if !status.success() {
        bail!("{} ended with {status} in {}", contestant.name(), plan.workload);
    }
    // A few lines: they fit the pipe while nobody reads.
    let mut text = String::new();
    child.stdout.take().context("its output was asked for")?.read_to_string(&mut text)?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a result: {line}")))
        .collect()
}

#[derive(Default)]
struct Results(BTreeMap<String, (String, BTreeMap<String, Series>)>);

impl Results {
    fn add(&mut self, contestant: &Contestant, line: &serde_json::Value) -> Result<()> {
        let fields = line.as_object().context("a result is an object")?;
        let text =
            |name: &str| fields.get(name).and_then(|v| v.as_str()).context("no name or unit");
        let value = fields.get("value").and_then(|v| v.as_f64()).context("no value")?;
        let series = self.insert(contestant, text("workload")?, text("unit")?, value);
        for (name, number) in fields.iter().filter(|(name, _)| *name != "value") {
            if let Some(number) = number.as_f64() {
                series.beside.entry(name.clone()).or_default().push(number);
            }
        }
        Ok(())
    }

    fn insert(&mut self, who: &Contestant, row: &str, unit: &str, value: f64) -> &mut Series {
        let empty = || (unit.to_owned(), BTreeMap::new());
        let (_, series) = self.0.entry(row.to_owned()).or_insert_with(empty);
        let series = series.entry(who.name().to_owned()).or_default();
        series.values.push(value);
        series
    }

    fn into_rows(mut self, plan: &Plan, allocator: Allocator) -> Vec<Row> {
        let row = |name: &&str| {
            let (unit, mut series) = self.0.remove(*name)?;
            Some(Row {
                name: name.to_string(),
                unit,
                allocator,
                workers: plan.workers,
                ours: series.remove("ours")?,
                floor: series.remove("floor").map(|floor| floor.value()),
                peers: series,
                target: (plan.target)(name, allocator),
            })
        };
        plan.results.iter().filter_map(row).collect()
    }
}

/// A command that the machine's other work disturbs little: in a scheduling group of its own,
/// with the highest weight, where Linux has such groups and lets us.
fn quiet(program: &std::ffi::OsStr) -> Command {
    const WEIGH: &str = r#"echo -20 > /proc/self/autogroup; exec "$@""#;
    static WORKS: OnceLock<bool> = OnceLock::new();
    let weighed = |program: &std::ffi::OsStr| {
        let mut command = Command::new("setsid");
        command.args(["-w", "sh", "-ec", WEIGH, "sh"]).arg(program);
        command
    };
    let works = WORKS.get_or_init(|| {
        let output = weighed("true".as_ref()).output();
        output.is_ok_and(|output| output.status.success())
    });
    if *works { weighed(program) } else { Command::new(program) }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
