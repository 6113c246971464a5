//! How do ours and theirs take turns, and what comes out?

use std::{
    collections::BTreeMap,
    error::Error,
    fmt,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use progress::Progress;

use super::{
    budget::{Limit, Share},
    callgrind, enough,
    plan::{Method, Plan, Speed, Standing},
    programs::{Contestant, FLOOR, OURS, OURS_SYSTEM, Programs, Setting},
    row::{Row, Series},
    running::{self, Running},
};

/// A peer that has failed so often, and never done it, is not tried again.
const FAILURES_MAX: usize = 2;

/// Why a peer has no number where the time was over before its turn came.
const NO_TIME: &str = "no time was left for it";

/// Runs a plan for all rounds.
pub(super) fn rows(
    plan: &Plan,
    setting: Setting,
    programs: &Programs,
    watch: &mut Watch,
) -> Result<Vec<Row>> {
    let contestants = programs.contestants(plan.workload, setting)?;
    let mut results = Results::default();
    match plan.method {
        Method::Clock => {
            let share = watch.share;
            let rounds = share.speed().rounds().min(plan.rounds_max);
            let run = |contestant: &Contestant| {
                let limit = share.limit(programs.limit());
                clocked(plan, share.speed(), contestant, programs, limit)
            };
            results = take_turns(plan, rounds, &contestants, watch, run)?;
        }
        Method::Instructions { small, large, items_per_scale } => {
            // The floor spins while it is idle, and every spin counts.
            for contestant in contestants.iter().filter(|one| one.name() != FLOOR) {
                if watch.share.is_over() && !results.rows.is_empty() {
                    results.fail(contestant, plan, NO_TIME);
                    continue;
                }
                watch.doing(plan, 0, contestant);
                let count = |size| callgrind::count(contestant, plan, size);
                let extra = count(large)? as f64 - count(small)? as f64;
                let per_item = extra / ((large - small) * items_per_scale) as f64;
                results.series(contestant, plan.results[0], "instructions/job").add(per_item);
            }
        }
    }
    watch.done += 1;
    Ok(results.into_rows(plan, setting))
}

/// The time for one area ended in the middle of a run.
#[derive(Debug)]
struct Deadline;

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NO_TIME)
    }
}

impl Error for Deadline {}

/// In each round everyone once.
fn take_turns(
    plan: &Plan,
    rounds: usize,
    contestants: &[Contestant],
    watch: &mut Watch,
    mut run: impl FnMut(&Contestant) -> Result<Vec<serde_json::Value>>,
) -> Result<Results> {
    let mut results = Results::default();
    let mut attempts = vec![Attempts::default(); contestants.len()];
    for round in 0..rounds {
        if enough::is_settled(&results.rows, plan) || (round > 0 && watch.share.is_over()) {
            break;
        }
        for at in 0..contestants.len() {
            // Another first each round, so that nobody always follows the same one.
            let at = (at + round) % contestants.len();
            let (contestant, attempts) = (&contestants[at], &mut attempts[at]);
            let out_of_reach = enough::is_out_of_reach(&results.rows, contestant.name(), plan);
            if attempts.is_hopeless() || out_of_reach {
                continue;
            }
            // Ours is the first of the first round: there is something to compare with.
            if watch.share.is_over() && !results.rows.is_empty() {
                if attempts.done == 0 {
                    results.fail(contestant, plan, NO_TIME);
                }
                continue;
            }
            watch.doing(plan, round, contestant);
            match run(contestant) {
                Ok(lines) => {
                    attempts.done += 1;
                    for line in lines {
                        results.add(contestant, &line)?;
                    }
                }
                // Ours too, and nobody is to blame. What has been measured stays.
                Err(error) if error.is::<Deadline>() => {
                    if attempts.done == 0 && !contestant.is_ours() {
                        results.fail(contestant, plan, NO_TIME);
                    }
                    if results.rows.is_empty() {
                        return Ok(results);
                    }
                }
                // A peer that hangs or crashes loses this round; we may not.
                Err(error) if !contestant.is_ours() => {
                    watch.say(&format!("  left out: {error:#}"));
                    attempts.failed += 1;
                    results.fail(contestant, plan, &format!("{error:#}"));
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(results)
}

/// How far it is, for whoever waits.
pub(super) struct Watch {
    progress: Progress,
    share: Share,
    begun: Instant,
    /// Workloads, once per allocator.
    done: u64,
}

impl Watch {
    pub(super) fn new(workloads: usize, share: Share) -> Watch {
        let progress = Progress::stderr("workloads").of(workloads as u64);
        Watch { progress, share, begun: Instant::now(), done: 0 }
    }

    fn doing(&mut self, plan: &Plan, round: usize, contestant: &Contestant) {
        let doing = format!("{}, round {}, {}", plan.workload, round + 1, contestant.name());
        self.progress.show(self.begun.elapsed(), self.done, &doing);
    }

    fn say(&mut self, line: &str) {
        self.progress.say(line);
    }

    pub(super) fn finish(self) {
        self.progress.finish();
    }
}

#[derive(Debug, Default, Clone)]
struct Attempts {
    done: usize,
    failed: usize,
}

impl Attempts {
    fn is_hopeless(&self) -> bool {
        self.done == 0 && self.failed >= FAILURES_MAX
    }
}

fn clocked(
    plan: &Plan,
    speed: Speed,
    contestant: &Contestant,
    programs: &Programs,
    limit: Limit,
) -> Result<Vec<serde_json::Value>> {
    let mut command = running::quiet(contestant.program().as_os_str());
    command.args(contestant.arguments(plan.workload, plan.workers));
    command.envs(programs.environment.iter().cloned());
    if speed.is_small() {
        command.args(["--scale", &plan.quick.to_string()]);
    }
    command.stderr(Stdio::inherit()).stdout(Stdio::piped());
    let Some((status, text)) = Running::start(command)?.output(limit.length)? else {
        if limit.is_deadline {
            return Err(Deadline.into());
        }
        let (who, length) = (contestant.name(), limit.length);
        bail!("{who} did not end within {length:?} in {}", plan.workload);
    };
    if !status.success() {
        bail!("{} {} in {}", contestant.name(), ending(status), plan.workload);
    }
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a result: {line}")))
        .collect()
}

/// A program that the system kills has asked for more memory than there is, as a rule.
fn ending(status: ExitStatus) -> String {
    const SIGKILL: i32 = 9;
    if status.signal() == Some(SIGKILL) {
        "was killed, for want of memory as it seems,".to_owned()
    } else {
        format!("ended with {status}")
    }
}

/// Results by row and contestant.
#[derive(Default)]
struct Results {
    rows: enough::Rows,
    units: BTreeMap<String, String>,
}

impl Results {
    fn add(&mut self, contestant: &Contestant, line: &serde_json::Value) -> Result<()> {
        let fields = line.as_object().context("a result is an object")?;
        let text = |name: &str| fields.get(name).and_then(|v| v.as_str());
        let workload = text("workload").context("no name")?;
        let unit = text("unit").context("no unit")?;
        if let Some(known) = self.units.get(workload)
            && known != unit
        {
            bail!("{} counts {workload} in {unit}, others in {known}", contestant.name());
        }
        let series = self.series(contestant, workload, unit);
        match fields.get("value").context("no value")? {
            serde_json::Value::Null => series.fail(text("note").unwrap_or("failed").to_owned()),
            value => series.add(value.as_f64().context("the value is no number")?),
        }
        for (name, number) in fields.iter().filter(|(name, _)| *name != "value") {
            if let Some(number) = number.as_f64() {
                series.add_beside(name, number);
            }
        }
        Ok(())
    }

    /// In all rows that the plan would have given.
    fn fail(&mut self, contestant: &Contestant, plan: &Plan, why: &str) {
        for row in plan.results {
            self.series(contestant, row, "").fail(why.to_owned());
        }
    }

    fn series(&mut self, who: &Contestant, row: &str, unit: &str) -> &mut Series {
        // Who fails names none.
        if !unit.is_empty() {
            self.units.entry(row.to_owned()).or_insert_with(|| unit.to_owned());
        }
        self.rows.entry(row.to_owned()).or_default().entry(who.name().to_owned()).or_default()
    }

    fn into_rows(mut self, plan: &Plan, setting: Setting) -> Vec<Row> {
        let allocator = setting.of_ours();
        let row = |name: &&str| {
            let mut series = self.rows.remove(*name)?;
            let unit = self.units.remove(*name).unwrap_or_default();
            let mut ours = series.remove(OURS).unwrap_or_default();
            if let Some(value) = series.remove(OURS_SYSTEM).and_then(|series| series.value()) {
                ours.add_beside("system", value);
            }
            let floor = series.remove(FLOOR).and_then(|floor| floor.value());
            let (peers, information) = match plan.others {
                Standing::Peers => (series, BTreeMap::new()),
                Standing::Information => (BTreeMap::new(), series),
            };
            Some(Row {
                name: name.to_string(),
                unit,
                allocator,
                apart: matches!(setting, Setting::Apart(_)),
                workers: plan.workers,
                better: plan.better,
                ours,
                floor,
                peers,
                information,
                target: (plan.target)(name, allocator),
            })
        };
        plan.results.iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests;
