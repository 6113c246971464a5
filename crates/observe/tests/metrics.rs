//! Do the numbers of every layer tell what was done?

use std::collections::HashMap;

use kernel::Runtime;
use metrics_util::{
    CompositeKey, MetricKind,
    debugging::{DebugValue, DebuggingRecorder, Snapshotter},
};
use observe::metrics::{
    Distribution, Family, Kind, LAYERS, Publisher, Samples, Unit,
    families::{self, kernel::RUNNING},
};
use process::{Context, Processes};

/// The number of a line, of which this is the beginning.
fn number(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
}

/// Every family that these samples have is in the list of its layer, and all of the layer are there.
fn assert_complete(samples: &Samples, prefix: &str) {
    let layer = LAYERS.iter().find(|layer| layer.prefix == prefix).unwrap();
    let listed: Vec<_> = layer.families.iter().map(|family| family.name).collect();
    let mut seen: Vec<_> = samples.families().map(|(family, _)| family.name).collect();
    seen.sort_by_key(|name| listed.iter().position(|listed| listed == name));
    assert_eq!(seen, listed);
}

#[test]
fn a_runtime_tells_what_its_workers_did() {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    for _ in 0..300 {
        simulation.submit(|_| {}).unwrap();
    }
    let _timer = simulation.spawn(simulation.sleep(std::time::Duration::from_secs(5))).unwrap();
    let mut before = Samples::new();
    before.runtime("tills", &simulation);
    assert_complete(&before, "shiftwork_kernel_");
    assert_eq!(number(&before.to_text(), r#"shiftwork_kernel_queued{runtime="tills"}"#), 301.0);
    simulation.run();
    let mut samples = Samples::new();
    samples.runtime("tills", &simulation);
    let text = samples.to_text();
    let turns = |worker| {
        number(
            &text,
            &format!(r#"shiftwork_kernel_turns_total{{runtime="tills",worker="{worker}"}}"#),
        )
    };
    assert!(turns(0) + turns(1) >= 301.0, "{text}");
    assert_eq!(number(&text, r#"shiftwork_kernel_queued{runtime="tills"}"#), 0.0);
    let states = ["running", "searching", "idle", "paused", "stopped"];
    let state = |state| {
        number(&text, &format!(r#"shiftwork_kernel_workers{{runtime="tills",state="{state}"}}"#))
    };
    assert_eq!(states.map(state).iter().sum::<f64>(), 2.0);
    assert!(number(&text, r#"shiftwork_kernel_running_seconds_count{runtime="tills"}"#) >= 2.0);
}

#[test]
fn processes_are_counted_by_state_with_their_mail() {
    let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
    let spawn = || {
        simulation.spawn_process(|mut ctx: Context<u32>| async move {
            while ctx.receive().await.is_some_and(|message| message > 0) {}
        })
    };
    let (one, two) = (spawn().unwrap(), spawn().unwrap());
    simulation.run();
    one.send(1).unwrap();
    one.send(2).unwrap();
    let text = |simulation: &kernel::Handle| {
        let mut samples = Samples::new();
        samples.processes("mail", simulation);
        assert_complete(&samples, "shiftwork_process_");
        samples.to_text()
    };
    let now = text(&simulation);
    assert_eq!(number(&now, r#"shiftwork_process_processes{runtime="mail",state="ready"}"#), 1.0);
    assert_eq!(number(&now, r#"shiftwork_process_processes{runtime="mail",state="idle"}"#), 1.0);
    assert_eq!(number(&now, r#"shiftwork_process_mailbox_messages{runtime="mail"}"#), 2.0);
    assert_eq!(number(&now, r#"shiftwork_process_mailbox_messages_max{runtime="mail"}"#), 2.0);
    two.send(0).unwrap();
    simulation.run();
    let now = text(&simulation);
    assert_eq!(number(&now, r#"shiftwork_process_processes{runtime="mail",state="idle"}"#), 1.0);
    assert_eq!(number(&now, r#"shiftwork_process_mailbox_messages{runtime="mail"}"#), 0.0);
}

#[test]
fn a_pool_tells_how_its_jobs_ended() {
    let mut pool = job::Pool::builder().workers(1).simulate(1).unwrap();
    for number in 0..3_u32 {
        drop(pool.compute(move || number).unwrap());
    }
    pool.simulation().run();
    let mut samples = Samples::new();
    samples.jobs("builds", &pool);
    assert_complete(&samples, "shiftwork_job_");
    let text = samples.to_text();
    assert_eq!(number(&text, r#"shiftwork_job_scheduled_total{pool="builds"}"#), 3.0);
    assert_eq!(
        number(&text, r#"shiftwork_job_ended_total{pool="builds",outcome="completed"}"#),
        3.0
    );
    assert_eq!(number(&text, r#"shiftwork_job_worker_ended_total{pool="builds",worker="0"}"#), 3.0);
    assert_eq!(number(&text, r#"shiftwork_job_unfinished{pool="builds"}"#), 0.0);
    assert_eq!(number(&text, r#"shiftwork_job_waiting_seconds_count{pool="builds"}"#), 3.0);
    assert!(number(&text, r#"shiftwork_job_waiting_seconds_sum{pool="builds"}"#) > 0.0);
}

#[test]
fn a_program_tells_what_its_tasks_did() {
    let module = wat::parse_str(r#"(module (func (export "main")))"#).unwrap();
    let mut simulation = Runtime::builder().simulate(7).unwrap();
    let program = task::Program::load(&simulation, module, task::Options::default()).unwrap();
    program.spawn("main", task::NO_ARGUMENTS).unwrap();
    simulation.block_on(program.finished()).unwrap();
    let mut samples = Samples::new();
    samples.tasks("guest", &program);
    assert_complete(&samples, "shiftwork_task_");
    let text = samples.to_text();
    assert_eq!(number(&text, r#"shiftwork_task_spawned_total{program="guest"}"#), 1.0);
    assert_eq!(
        number(&text, r#"shiftwork_task_ended_total{program="guest",outcome="completed"}"#),
        1.0
    );
    assert_eq!(number(&text, r#"shiftwork_task_live{program="guest"}"#), 0.0);
}

type Published = HashMap<CompositeKey, (Option<metrics::Unit>, Option<String>, DebugValue)>;

fn published(snapshotter: &Snapshotter) -> Published {
    let all = snapshotter.snapshot().into_vec().into_iter();
    all.map(|(key, unit, help, value)| (key, (unit, help.map(|help| help.to_string()), value)))
        .collect()
}

fn key(
    kind: MetricKind,
    name: &'static str,
    labels: &[(&'static str, &'static str)],
) -> CompositeKey {
    CompositeKey::new(kind, metrics::Key::from_parts(name, labels))
}

#[test]
fn what_is_published_has_the_names_units_and_values_of_the_list() {
    let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
    for _ in 0..1_000 {
        simulation.submit(|_| {}).unwrap();
    }
    simulation.run();
    let mut samples = Samples::new();
    samples.runtime("tills", &simulation);
    samples.program();
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || Publisher::new().publish(&samples));
    let seen = published(&snapshotter);

    let labels = [("runtime", "tills"), ("worker", "0")];
    let turns = &seen[&key(MetricKind::Counter, "shiftwork_kernel_turns_total", &labels)];
    let expected = simulation.metrics().total().turns;
    assert_eq!(turns.2, DebugValue::Counter(expected));
    assert_eq!(turns.0, Some(metrics::Unit::Count));
    assert_eq!(turns.1.as_deref(), Some(families::kernel::TURNS.help));

    let queued = &seen[&key(MetricKind::Gauge, "shiftwork_kernel_queued", &labels[..1])];
    assert_eq!(queued.2, DebugValue::Gauge(0.0.into()));

    // A counter that is no whole number.
    let cpu = &seen[&key(MetricKind::Gauge, "process_cpu_seconds_total", &[])];
    assert_eq!(cpu.0, Some(metrics::Unit::Seconds));

    let running = key(MetricKind::Histogram, "shiftwork_kernel_running_seconds", &labels[..1]);
    let DebugValue::Histogram(values) = &seen[&running].2 else { panic!("{:?}", seen[&running]) };
    assert_eq!(values.len() as u64, simulation.metrics().total().running.count());

    // Nothing but what the samples had.
    let count: usize = samples.families().map(|(_, samples)| samples.len()).sum();
    assert_eq!(seen.len(), count);
}

/// Publishes these counts, and tells how often each value was recorded.
fn recorded(publisher: &mut Publisher, counts: [u64; 3]) -> [usize; 3] {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let mut samples = Samples::new();
    let all = Distribution::new(vec![0.25, 0.5], counts.to_vec(), 1.0);
    samples.add(&RUNNING, &["a"], all);
    publisher.publish_to(&recorder, &samples);
    let seen = published(&snapshotter);
    let Some((.., DebugValue::Histogram(values))) = seen.into_values().next() else {
        panic!("it is registered, even without values")
    };
    let count = |bound: f64| values.iter().filter(|value| value.0 == bound).count();
    let first = count(0.25);
    [first, count(0.5), values.len() - first]
}

#[test]
fn of_a_histogram_only_what_is_new_is_recorded() {
    let mut publisher = Publisher::new();
    assert_eq!(recorded(&mut publisher, [3, 1, 0]), [3, 1, 1]);
    assert_eq!(recorded(&mut publisher, [3, 1, 0]), [0, 0, 0]);
    // What is above all bounds counts as the last of them.
    assert_eq!(recorded(&mut publisher, [4, 1, 2]), [1, 2, 2]);
    // Another runtime has taken the name.
    assert_eq!(recorded(&mut publisher, [2, 0, 0]), [2, 0, 0]);
}

#[test]
fn histogram_that_is_gone_is_forgotten() {
    let mut publisher = Publisher::new();
    assert_eq!(recorded(&mut publisher, [3, 0, 0]), [3, 0, 0]);
    publisher.publish_to(&DebuggingRecorder::new(), &Samples::new());
    assert_eq!(recorded(&mut publisher, [4, 0, 0]), [4, 0, 0], "it is another one");
}

#[test]
fn of_very_many_values_a_few_stand_for_all_and_rare_ones_stay() {
    let mut publisher = Publisher::new();
    let [first, _, others] = recorded(&mut publisher, [900_000_000, 100_000_000, 1]);
    assert_eq!((first, others), (900, 101));
}

#[test]
fn without_a_recorder_nothing_happens() {
    let mut samples = Samples::new();
    samples.program();
    Publisher::new().publish(&samples);
}

#[test]
fn text_of_strangers_reaches_recorders_as_it_is() {
    static FAMILY: Family = Family {
        name: "shiftwork_kernel_strangers",
        kind: Kind::Gauge,
        unit: Unit::Count,
        labels: &["runtime"],
        help: "Strangers.",
    };
    let mut samples = Samples::new();
    samples.add(&FAMILY, &["<b>\"\n\u{1b}[31m"], 1_u64);
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    Publisher::new().publish_to(&recorder, &samples);
    let seen = published(&snapshotter);
    let labels = [("runtime", "<b>\"\n\u{1b}[31m")];
    assert!(seen.contains_key(&key(MetricKind::Gauge, "shiftwork_kernel_strangers", &labels)));
}
