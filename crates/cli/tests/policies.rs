//! Does the policy laboratory measure what it says, and say what is wrong with a trace?

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;

/// Three jobs that arrive together, so that each policy takes them in another order.
const THREE: &str = "\
arrival,duration,priority,estimate
10,1000,1,1000
10,3000,2,3000
10,2000,3,2000
";

/// What a turn costs in virtual time on a single worker, in nanoseconds.
const TURN: u64 = 100;

fn shiftwork(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
    command.arg("policies").args(arguments).env_remove("SHIFTWORK_WORKERS").output().unwrap()
}

#[track_caller]
fn run(arguments: &[&str]) -> String {
    let output = shiftwork(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?} said: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A place for a file of one test.
fn place(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().to_owned()
}

fn trace(name: &str, text: &str) -> String {
    let path = place(name);
    fs::write(&path, text).unwrap();
    path
}

/// The results of a run, as JSON.
#[track_caller]
fn results(name: &str, arguments: &[&str]) -> Vec<Value> {
    let json = place(name);
    run(&[arguments, &["--json", &json]].concat());
    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    document["results"].as_array().unwrap().clone()
}

/// What is known of the one result for a policy, in nanoseconds.
#[track_caller]
fn of(results: &[Value], policy: &str, field: &str) -> u64 {
    let mut of_policy = results.iter().filter(|result| result["policy"] == policy);
    let result = of_policy.next().unwrap();
    assert!(of_policy.next().is_none(), "{policy} is there twice");
    result[field].as_u64().unwrap()
}

#[test]
fn on_one_worker_every_time_is_exact() {
    let trace = trace("three.csv", THREE);
    let arguments = ["--trace", &trace, "--workers", "1", "--balancer", "none", "--slice", "1000"];
    let results = results("three.json", &arguments);
    let ms = |n: u64| n * 1_000_000;
    // The order of the trace: it waits for 1 ms, and for 4 ms.
    assert_eq!(of(&results, "Fcfs", "makespan_ns"), ms(6) + 2 * TURN);
    assert_eq!(of(&results, "Fcfs", "waiting_p50_ns"), ms(1) + TURN);
    assert_eq!(of(&results, "Fcfs", "waiting_p99_ns"), ms(4) + 2 * TURN);
    // The shortest first: 1 ms, and 3 ms.
    assert_eq!(of(&results, "ShortestFirst", "waiting_p50_ns"), ms(1) + TURN);
    assert_eq!(of(&results, "ShortestFirst", "waiting_p99_ns"), ms(3) + 2 * TURN);
    // The last of the trace first: 2 ms, and 5 ms.
    assert_eq!(of(&results, "HighestPriority", "waiting_p50_ns"), ms(2) + TURN);
    assert_eq!(of(&results, "HighestPriority", "waiting_p99_ns"), ms(5) + 2 * TURN);
    // Slices of 1 ms in turn: the jobs take 1, 3 and 2 of them, and end with the 1st, 6th and 5th.
    assert_eq!(of(&results, "MultilevelFeedback", "makespan_ns"), ms(6) + 5 * TURN);
    assert_eq!(of(&results, "MultilevelFeedback", "waiting_p50_ns"), ms(3) + 4 * TURN);
    assert_eq!(of(&results, "MultilevelFeedback", "waiting_p99_ns"), ms(3) + 5 * TURN);
}

#[test]
fn the_table_tells_of_each_pair_and_marks_the_best() {
    let trace = trace("table.csv", THREE);
    let policies = "fcfs,shortest-first";
    let text = run(&["--trace", &trace, "--workers", "1,2", "--policy", policies]);
    let (heading, tables) = text.split_once("\n\n").unwrap();
    assert!(heading.starts_with("3 jobs ("), "{heading}");
    assert!(heading.contains("6.00 ms of work, arriving over 0 ns."), "{heading}");
    assert!(heading.contains("No schedule is shorter than 3.00 ms"), "{heading}");
    let expected = "\
1 worker
policy              balancer        makespan   waiting p50   waiting p99      fairness   utilization
Fcfs                -                6.00 ms       1.00 ms       4.00 ms         0.864       100.0 %
Fcfs                LeastLoaded      6.00 ms       1.00 ms       4.00 ms         0.864       100.0 %
";
    assert!(tables.starts_with(expected), "{tables}");
    assert!(tables.contains("\n2 workers\n"), "{tables}");
    let shortest = "ShortestFirst       -                6.00 ms       1.00 ms       3.00 ms*";
    assert!(tables.contains(shortest), "{tables}");
    // Four balancers and none; and the policy RoundRobin is Fcfs with that balancer.
    assert_eq!(tables.matches("\nFcfs ").count(), 2 * 4, "{tables}");
    assert_eq!(tables.matches("\nShortestFirst ").count(), 2 * 5, "{tables}");
}

#[test]
fn a_job_waits_for_those_it_depends_on_also_if_they_arrive_later() {
    let text = "arrival,duration,dependencies\n100,500,\n0,200,1\n0,300,1 2\n";
    let trace = trace("chain.csv", text);
    let results = results("chain.json", &["--trace", &trace, "--workers", "4", "--resumable"]);
    assert_eq!(results.len(), 22);
    for result in results {
        // From the first arrival, at 0, to 100 + 500 + 200 + 300 µs. All is ready when it starts,
        // but a turn must end before the same worker takes the next: at most 100 ns each.
        let makespan = result["makespan_ns"].as_u64().unwrap();
        assert!((1_100_000..=1_100_500).contains(&makespan), "{result}");
        assert!(result["waiting_p99_ns"].as_u64().unwrap() <= 400, "{result}");
    }
}

/// Simulated workers overlap in virtual time: that is how we look past the machines we have.
#[test]
fn twice_the_workers_take_half_the_time_up_to_1024() {
    let text = format!("arrival,duration\n{}", "0,10000\n".repeat(1_024));
    let trace = trace("doubling.csv", &text);
    let workers = "1,2,4,8,16,32,64,128,256,512,1024";
    let arguments = ["--trace", &trace, "--workers", workers, "--balancer", "none"];
    let results = results("doubling.json", &arguments);
    let policies = ["Fcfs", "HighestPriority", "ShortestFirst", "RoundRobin", "WorkStealing"];
    for policy in policies.into_iter().chain(["MultilevelFeedback"]) {
        let of_policy: Vec<&Value> = results.iter().filter(|of| of["policy"] == policy).collect();
        assert_eq!(of_policy.len(), 11, "{policy}");
        for (power, result) in of_policy.iter().enumerate() {
            assert_eq!(result["workers"], 1 << power);
            let rounds = 1_024 >> power;
            let makespan = result["makespan_ns"].as_u64().unwrap();
            // 10 ms a round, and between two of them what a turn costs.
            let range = rounds * 10_000_000..=rounds * (10_000_000 + 2 * TURN);
            assert!(range.contains(&makespan), "{policy} on {} workers: {makespan}", 1 << power);
        }
    }
}

#[test]
fn every_pair_halves_the_time_with_twice_the_workers() {
    let text = format!("arrival,duration\n{}", "0,10000\n".repeat(128));
    let trace = trace("pairs.csv", &text);
    for result in results("pairs.json", &["--trace", &trace, "--workers", "1,2,64"]) {
        let rounds = 128 / result["workers"].as_u64().unwrap();
        let makespan = result["makespan_ns"].as_u64().unwrap();
        let range = rounds * 10_000_000..=rounds * (10_000_000 + 2 * TURN);
        assert!(range.contains(&makespan), "{result}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result_and_a_written_trace_gives_it_again() {
    let written = place("again.csv");
    for workload in ["uniform", "bursty", "heavy-tailed", "dependent"] {
        let generate = ["--workload", workload, "--jobs", "200", "--seed", "3", "--workers", "4"];
        let arguments = [&generate[..], &["--write-trace", &written]].concat();
        let first = results("first.json", &arguments);
        assert_eq!(first.len(), 22);
        assert_eq!(results("second.json", &generate), first, "{workload}");
        let replay = ["--trace", &written, "--seed", "3", "--workers", "4"];
        assert_eq!(results("third.json", &replay), first, "{workload}");
    }
}

#[test]
fn shares_are_shares_and_no_makespan_beats_the_bound() {
    let json = place("bounds.json");
    run(&["--jobs", "300", "--workload", "dependent", "--workers", "3,16", "--json", &json]);
    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let workload = &document["workload"];
    assert_eq!(workload["jobs"], 300);
    let [work, chain] = ["work_ns", "critical_path_ns"].map(|it| workload[it].as_u64().unwrap());
    for result in document["results"].as_array().unwrap() {
        let workers = result["workers"].as_u64().unwrap();
        assert!(result["makespan_ns"].as_u64().unwrap() >= chain.max(work / workers), "{result}");
        for share in ["fairness", "utilization"] {
            let share = result[share].as_f64().unwrap();
            assert!(share > 0.0 && share <= 1.0, "{result}");
        }
    }
}

#[test]
fn the_chart_is_well_formed_for_one_number_of_workers_and_for_several() {
    let trace = trace("a <b> & \"c\".csv", THREE);
    for workers in ["2", "1,2,8"] {
        let path = place("chart.svg");
        run(&["--trace", &trace, "--workers", workers, "--svg", &path]);
        let svg = fs::read_to_string(&path).unwrap();
        check_well_formed(&svg);
        let expected = ["Makespan", "Waiting", "Fairness", "Utilization", "MultilevelFeedback"];
        for text in expected.into_iter().chain(["LeastLoaded", "a &lt;b&gt; &amp; &quot;c&quot;"]) {
            assert!(svg.contains(text), "{workers} workers: no {text:?}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{workers} workers: {svg}");
    }
}

/// Every element is closed, attributes are quoted, and nothing is left unescaped.
#[track_caller]
fn check_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        assert!(!text.contains('>'), "a bare > in {text:?}");
        for entity in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;"];
            assert!(known.iter().any(|known| entity.starts_with(known)), "a bare & in {text:?}");
        }
        let (tag, after) = tag[1..].split_once('>').expect("a tag that does not end");
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes something else");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "left open: {open:?}");
}

/// The arguments are refused, with a message that contains `expect`.
#[track_caller]
fn check_refused(arguments: &[&str], expect: &str) {
    let output = shiftwork(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} was taken");
    assert!(said.contains(expect), "{arguments:?} said: {said}");
    assert!(!said.contains("panicked"), "{arguments:?} said: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
}

#[test]
fn a_bad_trace_is_refused_with_the_file_the_line_the_field_and_what_to_do() {
    let bad = trace("bad.csv", "arrival,duration\n0,10\n0,soon\n");
    let said = "bad.csv: line 3, field `duration`: `soon` is not a whole number from 1 to";
    check_refused(&["--trace", &bad], said);
    check_refused(&["--trace", &trace("empty.csv", "")], "line 1: it is empty; begin with");
    check_refused(&["--trace", &place("none.csv")], "could not open");
    let long = trace("long.csv", "arrival,duration\n0,1\n0,1\n0,1000000000000\n");
    check_refused(&["--trace", &long], "give a --slice of");
    // Where nothing goes in slices, they do not matter.
    let plain = ["--policy", "fcfs", "--balancer", "none"];
    run(&[&["--trace", &long], &plain[..]].concat());
    check_refused(&[&["--trace", &long, "--resumable"], &plain[..]].concat(), "give a --slice of");
}

#[test]
fn bad_arguments_get_clear_errors() {
    check_refused(&["--workers", "0"], "a number from 1 to 1024");
    check_refused(&["--workers", "1,1025"], "a number from 1 to 1024");
    check_refused(&["--workers", "1,"], "a number from 1 to 1024");
    check_refused(&["--policy", "lottery"], "fcfs, highest-priority, shortest-first");
    check_refused(&["--policy", "round-robin", "--balancer", "fastest"], "use Fcfs with this bal");
    check_refused(&["--jobs", "0"], "--jobs must be from 1 to 1000000");
    check_refused(&["--load", "-1"], "--load must be from 0.01 to 100");
    check_refused(&["--load", "NaN"], "--load must be from 0.01 to 100");
    check_refused(&["--mean", "0"], "--mean must be from 1");
    let late = ["--mean", "1000000000", "--load", "0.01", "--workers", "1"];
    check_refused(&late, "a job would arrive after more than a year");
    check_refused(&["--slice", "0"], "--slice must be at least 1");
    check_refused(&["--levels", "0"], "--levels must be from 1 to 64");
    check_refused(&["--ageing", "-1"], "not negative");
    check_refused(&["--trace", "a.csv", "--load", "1"], "cannot be used with");
    let nowhere = place("nowhere/chart.svg");
    check_refused(&["--jobs", "1", "--svg", &nowhere], "could not write");
}

#[test]
fn the_help_explains_measures_and_the_trace() {
    let help = run(&["--help"]);
    let expected = ["makespan", "Jain's index", "arrival,duration,priority,class", "Examples:"];
    for text in expected {
        assert!(help.contains(text), "no {text:?} in: {help}");
    }
}

/// Rows of bars, each with what it is called, where it begins and how wide it is.
fn bars(svg: &str) -> Vec<(String, f64, f64, String)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let rects = document.descendants().filter(|node| node.has_tag_name("rect"));
    let named = rects.filter_map(|node| {
        let name = node.first_element_child()?.text()?.to_owned();
        let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        Some((node.attribute("y").unwrap().to_owned(), number("x"), number("width"), name))
    });
    named.collect()
}

#[test]
fn a_schedule_is_drawn_with_a_row_for_each_worker_and_a_bar_for_each_job() {
    let (trace, svg) = (trace("gantt.csv", THREE), place("gantt.svg"));
    let one = ["--trace", &trace, "--workers", "1", "--balancer", "none", "--gantt", &svg];
    run(&[&one[..], &["--policy", "shortest-first"]].concat());
    let bars = bars(&fs::read_to_string(&svg).unwrap());
    let order: Vec<&str> = bars.iter().map(|(_, _, _, name)| &name[..5]).collect();
    assert_eq!(order, ["job 1", "job 3", "job 2"]);
    let ends = bars.windows(2).map(|pair| (pair[0].1 + pair[0].2, pair[1].1));
    assert!(ends.into_iter().all(|(end, next)| end <= next + 1e-6), "{bars:?}");
}

#[test]
fn a_schedule_is_the_same_for_the_same_seed_and_shows_turns_of_resumable_jobs() {
    let draw = |name: &str, seed: &str| {
        let svg = place(name);
        let some = ["--jobs", "80", "--workers", "4", "--workload", "dependent"];
        let pair = ["--policy", "multilevel-feedback", "--balancer", "none"];
        run(&[&some[..], &pair, &["--seed", seed, "--gantt", &svg]].concat());
        fs::read_to_string(&svg).unwrap()
    };
    let first = draw("gantt-1.svg", "1");
    assert_eq!(draw("gantt-1-again.svg", "1"), first);
    assert_ne!(draw("gantt-2.svg", "2"), first);
    let mut bars = bars(&first);
    assert!(bars.len() > 80, "{} bars", bars.len());
    bars.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    for pair in bars.windows(2) {
        assert!(pair[0].0 != pair[1].0 || pair[0].1 + pair[0].2 <= pair[1].1 + 1e-6, "{pair:?}");
    }
}

#[test]
fn a_schedule_of_several_pairs_is_refused_with_what_to_give() {
    let svg = place("gantt-refused.svg");
    let output = shiftwork(&["--jobs", "10", "--policy", "fcfs", "--gantt", &svg]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(errors.contains("give one --policy, one --balancer"), "{errors}");
    assert!(!std::path::Path::new(&svg).exists());
}

#[test]
fn a_name_of_a_trace_with_markup_stays_text_in_a_schedule() {
    let (trace, svg) = (trace("<b>&.csv", THREE), place("gantt-markup.svg"));
    let pair = ["--policy", "fcfs", "--balancer", "none", "--workers", "2"];
    run(&[&["--trace", &trace, "--gantt", &svg], &pair[..]].concat());
    let text = fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let said = document.descendants().filter_map(|node| node.text());
    assert!(said.into_iter().any(|text| text.contains("<b>&.csv")), "{text}");
}
