//! How is an area measured, and what is said of what could not be?

use anyhow::Result;

use super::{
    areas::Area,
    budget::Share,
    callgrind,
    document::Run,
    measure::{self, Watch},
    options::Options,
    plan::{Method, Plan, Speed},
    planned,
    programs::{Programs, Setting},
    row::Row,
};

/// How a note begins that names what was left out.
const NO_TIME_FOR: &str = "no time was left for ";

/// Was there no time for all of an area?
pub(super) fn was_cut(run: &Run, area: &str) -> bool {
    run.notes.get(area).into_iter().flatten().any(|note| note.starts_with(NO_TIME_FOR))
}

/// All that is wanted of it, in order.
pub(super) fn measure(
    area: &'static Area,
    programs: &Programs,
    several: bool,
    share: Share,
    options: &Options,
    run: &mut Run,
    failed: &mut Vec<String>,
) -> Result<Vec<Row>> {
    let chosen = chosen(area, share.speed(), options);
    let mut watch = Watch::new(chosen.len(), share);
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let mut uncounted = Vec::new();
    for (plan, setting) in chosen {
        if share.is_over() {
            left_out.push(plan.workload);
            continue;
        }
        if plan.is_counted() && callgrind::missing().is_some() {
            uncounted.extend(plan.results);
            continue;
        }
        match measure::rows(plan, setting, programs, &mut watch) {
            // Ours comes first, and the end came meanwhile.
            Ok(none) if none.is_empty() && share.is_over() => left_out.push(plan.workload),
            Ok(more) => rows.extend(more),
            // One area less is a pity, all areas less is a lost day.
            Err(error) if several => {
                println!("note      {} of {}: {error:#}", plan.workload, area.name);
                let notes = run.notes.entry(area.name.to_owned()).or_default();
                notes.push(format!("{} failed: {error:#}", plan.workload));
                failed.push(format!("{} of {}: {error:#}", plan.workload, area.name));
            }
            Err(error) => return Err(error),
        }
    }
    watch.finish();
    let no_time = (!left_out.is_empty()).then(|| format!("{NO_TIME_FOR}{}", left_out.join(", ")));
    let no_counts = if uncounted.is_empty() { None } else { callgrind::missing() };
    let no_counts = no_counts.map(|why| planned::without(&uncounted, why));
    for note in no_time.into_iter().chain(no_counts) {
        println!("note      {note}");
        run.notes.entry(area.name.to_owned()).or_default().push(note);
    }
    Ok(rows)
}

/// What is run of an area, in order.
fn chosen(area: &'static Area, speed: Speed, options: &Options) -> Vec<(&'static Plan, Setting)> {
    let place = |plan: &Plan| area.glance.iter().position(|name| *name == plan.workload);
    let mut plans: Vec<&Plan> = area.plans.iter().filter(|plan| options.wants(plan)).collect();
    if speed == Speed::Glance {
        plans.retain(|plan| place(plan).is_some() && plan.method == Method::Clock);
        plans.sort_by_key(|plan| place(plan));
    }
    let settings = |plan: &'static Plan| {
        let all = Setting::all(plan.allocators).into_iter();
        let enough = if speed == Speed::Glance { 1 } else { usize::MAX };
        all.take(enough).map(move |setting| (plan, setting))
    };
    plans.into_iter().flat_map(settings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::areas;

    #[test]
    fn a_glance_is_few_workloads_under_one_allocator_each() {
        for area in areas::ALL {
            let options = Options::default();
            let few = chosen(area, Speed::Glance, &options);
            assert_eq!(few[0].0.workload, area.glance[0]);
            assert!(few.len() <= 5, "{}: {}", area.name, few.len());
            assert!(chosen(area, Speed::Full, &options).len() > few.len());
        }
    }

    #[test]
    fn an_area_that_was_cut_is_known_by_its_note() {
        let run = |note: &str| Run {
            notes: [("job".to_owned(), vec![note.to_owned()])].into(),
            ..Run::default()
        };
        assert!(was_cut(&run("no time was left for dag_0, priority"), "job"));
        assert!(!was_cut(&run("no time was left for dag_0"), "node"));
        assert!(!was_cut(&run("without Taskflow: please install g++"), "job"));
    }
}
