//! Is the picture well-formed, true to the schedule, and bounded?

use kernel::{Recording, Runtime, Step, StrandId, Turn};
use roxmltree::{Document, Node};

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn chart(bars: Vec<Bar>) -> Gantt {
    let row = |name: &str, bars| Row { name: name.to_owned(), bars };
    Gantt {
        title: "A day".to_owned(),
        rows: vec![row("worker 0", bars), row("worker 1", vec![Bar::new(ms(0), ms(9), "x", 0)])],
        kinds: vec![Kind { name: "job".to_owned(), colour: "#0072b2" }],
        ..Gantt::default()
    }
}

/// Place and size of each bar that says what it is, by its row's height.
fn bars(document: &Document<'_>) -> Vec<(String, f64, f64)> {
    let number = |node: &Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let named = |node: &Node<'_, '_>| node.has_tag_name("rect") && node.has_children();
    let place = |node: Node<'_, '_>| {
        (node.attribute("y").unwrap().to_owned(), number(&node, "x"), number(&node, "width"))
    };
    document.descendants().filter(named).map(place).collect()
}

#[track_caller]
fn assert_no_overlap(svg: &str) {
    let document = Document::parse(svg).unwrap();
    let mut bars = bars(&document);
    bars.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    for pair in bars.windows(2) {
        let [(row, x, width), (next_row, next_x, _)] = pair else { unreachable!() };
        assert!(row != next_row || x + width <= next_x + 1e-6, "{pair:?}");
    }
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn bars_lie_where_their_times_are() {
    let svg = chart(vec![Bar::new(ms(2), ms(4), "a", 0), Bar::new(ms(5), ms(10), "b", 0)]).svg();
    let document = Document::parse(&svg).unwrap();
    let bars: Vec<(f64, f64)> = bars(&document).iter().map(|(_, x, w)| (x - NAMES, *w)).collect();
    assert_eq!(bars, [(200.0, 200.0), (500.0, 500.0), (0.0, 900.0)]);
    assert!(svg.contains("a: 2 to 4 ms") && texts(&svg).contains(&"time in ms".to_owned()));
}

#[test]
fn bars_that_overlap_are_cut() {
    let svg = chart(vec![
        Bar::new(ms(0), ms(6), "a", 0),
        Bar::new(ms(4), ms(10), "b", 0),
        Bar::new(ms(4), ms(5), "c", 0),
    ])
    .svg();
    assert_no_overlap(&svg);
}

#[test]
fn markup_in_names_stays_text() {
    let evil = "</title><script>alert(1)</script>&\u{7}\u{1b}[2J";
    let mut chart = chart(vec![Bar::new(ms(0), ms(1), evil, 0)]);
    chart.title = evil.to_owned();
    chart.rows[1].name = "<b>".to_owned();
    chart.kinds[0].name = evil.to_owned();
    let svg = chart.svg();
    let document = Document::parse(&svg).unwrap();
    assert!(document.descendants().all(|node| !node.has_tag_name("script")));
    assert!(texts(&svg).contains(&"<b>".to_owned()));
    let said = evil.replace(['\u{7}', '\u{1b}'], "\u{fffd}");
    assert_eq!(texts(&svg).iter().filter(|text| **text == said).count(), 2);
}

#[test]
fn what_does_not_fit_is_left_out_and_said() {
    let bar = |n: u64| Bar::new(ms(2 * n), ms(2 * n + 1), "x", 0);
    let mut chart = chart((0..BARS_MAX as u64 + 5).map(bar).collect());
    chart.rows[1].bars = vec![Bar::new(ms(0), ms(90), "long", 0)];
    chart.rows.extend((0..ROWS_MAX).map(|_| Row::default()));
    chart.links = vec![Link { from: (0, ms(1)), to: (1, ms(2)) }; LINKS_MAX + 3];
    let svg = chart.svg();
    assert_no_overlap(&svg);
    let texts = texts(&svg);
    let said = |text: &str| assert!(texts.iter().any(|line| line == text), "{text}: {texts:?}");
    said("2 more rows are not drawn.");
    said("6 shorter bars are not drawn.");
    said("3 more lines between bars are not drawn.");
    // The longest are those that are kept.
    assert!(svg.contains("long: 0 to 0.09 s"));
}

#[test]
fn a_bar_without_room_is_left_out_and_said() {
    let bar = |start, end| Bar::new(ms(start), ms(end), "x", 0);
    let svg = chart(vec![bar(0, 5), bar(5, 5), bar(5, 9), bar(9, 9)]).svg();
    assert_no_overlap(&svg);
    assert_eq!(bars(&Document::parse(&svg).unwrap()).len(), 3);
    let said = "2 bars are too thin to be seen and not drawn.".to_owned();
    assert!(texts(&svg).contains(&said), "{:?}", texts(&svg));
}

#[test]
fn nothing_at_all_is_a_picture_too() {
    let svg = Gantt::default().svg();
    assert!(Document::parse(&svg).is_ok(), "{svg}");
}

fn name(strand: Option<StrandId>) -> String {
    strand.map_or("job".to_owned(), |id| format!("strand {id}"))
}

/// Strands that yield and pause, and jobs among them, from a seed.
fn recording(seed: u64) -> Recording {
    let mut simulation = Runtime::builder().workers(3).record(10_000).simulate(seed).unwrap();
    for length in 1..20 {
        let mut turns = 0;
        let body = move |turn: &mut Turn<'_>| {
            turn.simulate(Duration::from_micros(length));
            turns += 1;
            if turns == 5 { Step::End(()) } else { Step::Yield }
        };
        simulation.strand().idle(body).unwrap().0.wake().unwrap();
        simulation.submit(move |turn| turn.simulate(Duration::from_micros(3 * length))).unwrap();
    }
    simulation.run();
    simulation.recording()
}

#[test]
fn a_simulated_run_gives_the_same_picture_for_the_same_seed() {
    for seed in 0..5 {
        let chart = Gantt::of_recording("Strands", &recording(seed), name);
        let svg = chart.svg();
        assert_no_overlap(&svg);
        assert_eq!(svg, Gantt::of_recording("Strands", &recording(seed), name).svg());
        assert_eq!(chart.rows.len(), 3);
        let turns: usize = chart.rows.iter().map(|row| row.bars.len()).sum();
        assert_eq!(turns, 19 * 5 + 19);
        let busy: Duration =
            chart.rows.iter().flat_map(|row| &row.bars).map(|b| b.end - b.start).sum();
        assert!(busy >= Duration::from_micros(190 * 5 + 190 * 3), "{busy:?}");
    }
    assert_ne!(recording(1), recording(2));
}

#[test]
fn a_recording_that_has_lost_its_beginning_says_so() {
    let mut recording = recording(1);
    recording.events.drain(..recording.events.len() / 2);
    recording.dropped = 77;
    let chart = Gantt::of_recording("Strands", &recording, name);
    assert_eq!(chart.notes, ["77 earlier events no longer fitted."]);
    assert_no_overlap(&chart.svg());
}
