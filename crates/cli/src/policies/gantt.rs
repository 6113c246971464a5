//! One schedule as a picture: which worker ran which job when?

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, bail};
use observe::gantt::{Bar, Gantt, Kind, Link, Row};

use super::{pairs::Pair, replay::Slice, trace::Trace};
use crate::text::{count, precise};

/// From the lowest to the highest.
const SHADES: [&str; 6] = ["#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b"];

/// The one pair and number of workers whose schedule is drawn.
///
/// # Errors
/// If there are several to choose from.
pub(crate) fn only_one(pairs: &[Pair], workers: &[usize]) -> Result<(Pair, usize)> {
    match (pairs, workers) {
        ([pair], [workers]) => Ok((*pair, *workers)),
        _ => bail!(
            "--gantt draws one schedule, and {} under {} of workers were asked for; give one \
             --policy, one --balancer (none is one) and one number of --workers",
            count(pairs.len(), "pair"),
            count(workers.len(), "number"),
        ),
    }
}

/// The schedule that came out.
pub(crate) fn chart(
    source: &str,
    trace: &Trace,
    pair: Pair,
    workers: usize,
    slices: &[Slice],
) -> Gantt {
    let groups = Groups::of(trace);
    let row = |number: usize| Row { name: format!("worker {number}"), bars: Vec::new() };
    let mut rows: Vec<Row> = (0..workers).map(row).collect();
    for slice in slices {
        let job = &trace.jobs[slice.job as usize];
        let name = match job.priority {
            0.0 => format!("job {}", slice.job + 1),
            priority => format!("job {}, priority {priority}", slice.job + 1),
        };
        let bar = Bar::new(slice.start, slice.end, name, groups.kind(slice.job));
        rows[slice.worker].bars.push(bar);
    }
    let end = slices.iter().map(|slice| slice.end).max().unwrap_or_default();
    Gantt {
        title: format!(
            "{} with balancer {} on {}",
            pair.policy_name(),
            pair.balancer_name().unwrap_or("none"),
            count(workers, "worker"),
        ),
        about: format!(
            "{} ({source}), over after {}{}",
            count(trace.jobs.len(), "job"),
            precise(end.saturating_sub(trace.first_arrival())),
            if trace.jobs.iter().any(|job| !job.after.is_empty()) {
                "; lines lead to a job from what it waited for last"
            } else {
                ""
            },
        ),
        rows,
        links: links(trace, slices),
        kinds: groups.kinds,
        notes: Vec::new(),
    }
}

/// To the first turn of each job from the end of what it waited for last.
fn links(trace: &Trace, slices: &[Slice]) -> Vec<Link> {
    let mut first: BTreeMap<u32, (usize, Duration)> = BTreeMap::new();
    let mut last: BTreeMap<u32, (usize, Duration)> = BTreeMap::new();
    for slice in slices {
        first.entry(slice.job).or_insert((slice.worker, slice.start));
        last.insert(slice.job, (slice.worker, slice.end));
    }
    let mut links = Vec::new();
    for (job, to) in &first {
        let after = &trace.jobs[*job as usize].after;
        let ends = after.iter().filter_map(|before| last.get(before));
        links.extend(ends.max_by_key(|(_, end)| *end).map(|from| Link { from: *from, to: *to }));
    }
    links
}

/// Jobs by priority; by class where all have the same one; else all together.
struct Groups {
    kinds: Vec<Kind>,
    of_job: Vec<usize>,
}

impl Groups {
    fn of(trace: &Trace) -> Groups {
        let priorities = trace.jobs.iter().map(|job| job.priority);
        let classes = trace.jobs.iter().map(|job| job.class.map_or(-1.0, f64::from));
        let by_priority = Groups::by("priority", priorities.collect());
        if by_priority.kinds.len() > 1 {
            return by_priority;
        }
        let by_class = Groups::by("class", classes.collect());
        if by_class.kinds.len() > 1 {
            return by_class;
        }
        let kinds = vec![Kind { name: "job".to_owned(), colour: SHADES[3] }];
        Groups { kinds, of_job: vec![0; trace.jobs.len()] }
    }

    /// As many groups as there are shades at most, with about as many values in each.
    fn by(what: &str, values: Vec<f64>) -> Groups {
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let groups = distinct.len().min(SHADES.len());
        let of_value = |value: &f64| {
            let rank = distinct.partition_point(|other| other < value);
            rank * groups / distinct.len()
        };
        let kinds = (0..groups).map(|group| {
            let mut members = distinct.iter().filter(|value| of_value(value) == group);
            let low = members.next().expect("no group is empty");
            let name = match members.next_back() {
                Some(high) => format!("{what} {} to {}", shown(*low), shown(*high)),
                None => format!("{what} {}", shown(*low)),
            };
            Kind { name, colour: SHADES[(group + 1) * SHADES.len() / groups - 1] }
        });
        Groups { kinds: kinds.collect(), of_job: values.iter().map(of_value).collect() }
    }

    fn kind(&self, job: u32) -> usize {
        self.of_job[job as usize]
    }
}

fn shown(value: f64) -> String {
    if value == -1.0 { "none".to_owned() } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_coloured_by_priority_else_by_class_else_alike() {
        let names = |text: &str| -> Vec<String> {
            let trace = Trace::parse(text.as_bytes()).unwrap();
            Groups::of(&trace).kinds.into_iter().map(|kind| kind.name).collect()
        };
        let priorities = names("arrival,duration,priority\n0,1,3\n0,1,1.5\n0,1,3\n");
        assert_eq!(priorities, ["priority 1.5", "priority 3"]);
        let classes = names("arrival,duration,class\n0,1,3\n0,1,\n");
        assert_eq!(classes, ["class none", "class 3"]);
        assert_eq!(names("arrival,duration\n0,1\n0,1\n"), ["job"]);
    }

    #[test]
    fn many_priorities_share_a_few_shades_in_order() {
        let groups = Groups::by("priority", (0..10).map(f64::from).collect());
        assert_eq!(groups.kinds.len(), SHADES.len());
        assert_eq!(groups.kinds[0].name, "priority 0 to 1");
        assert_eq!(groups.kinds[5].colour, SHADES[5]);
        assert!(groups.of_job.is_sorted());
    }
}
