//! Is docs/metrics.md what a node tells of itself, all of it and nothing else?
//!
//! The page is made here, from the lists of families. With `SHIFTWORK_WRITE_REFERENCE` it is written
//! (`cargo xtask metrics-docs`); without, it is compared.

mod common;

use std::{collections::BTreeSet, fmt::Write, fs};

use bytes::Bytes;
use common::{MARKET, log, path, result, start_with_logger};
use http::Request;
use node::Node;
use observe::metrics::{Family, LAYERS, Layer};
use serde_json::json;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
/// What stands on the kernel beside shards: a node has none of it.
const NOT_ON_A_NODE: [&str; 3] = ["shiftwork_process_", "shiftwork_job_", "shiftwork_task_"];

fn is_on_node(layer: &&Layer) -> bool {
    !NOT_ON_A_NODE.contains(&layer.prefix)
}

#[test]
fn the_table_has_every_metric() {
    let page = page();
    if std::env::var_os("SHIFTWORK_WRITE_REFERENCE").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(PAGE).unwrap_or_default();
    let at = written.lines().zip(page.lines()).position(|(written, made)| written != made);
    let line = at.unwrap_or_else(|| written.lines().count().min(page.lines().count()));
    assert!(
        written == page,
        "docs/metrics.md is not what there is, from line {} on:\n  {}\nis now\n  {}\n\
         write it anew with `cargo xtask metrics-docs`",
        line + 1,
        written.lines().nth(line).unwrap_or("(the end)"),
        page.lines().nth(line).unwrap_or("(the end)"),
    );
}

/// What a node has at `/metrics`.
fn metrics_of(node: &Node) -> String {
    let page = node.ask(Request::get("/metrics").body(Bytes::new()).unwrap());
    String::from_utf8(page.into_body().into()).unwrap()
}

/// What the page says of each family that it has: the line with its type.
fn types(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect()
}

#[test]
fn a_node_has_every_metric_of_the_table_and_no_other() {
    let node = start_with_logger(|_| {});
    let page = metrics_of(&node);
    let below = LAYERS.iter().filter(is_on_node).flat_map(|layer| layer.families);
    let listed = below.copied().chain(node::metrics());
    let listed: Vec<_> =
        listed.map(|family| format!("{} {}", family.name, family.kind.name())).collect();
    assert_eq!(types(&page), listed.iter().map(String::as_str).collect());
    assert_eq!(page.matches("# TYPE ").count(), listed.len(), "one is there twice");
}

/// The family that a line is a number of.
fn family_of(line: &str) -> &'static Family {
    let (name, _) = line.split_once(['{', ' ']).expect("a name and a number");
    let parts = ["_bucket", "_sum", "_count"];
    let part_of = |family: &Family| {
        name.strip_prefix(family.name).is_some_and(|rest| rest.is_empty() || parts.contains(&rest))
    };
    let below = LAYERS.iter().flat_map(|layer| layer.families).copied();
    let found = below.chain(node::metrics()).find(|family| part_of(family));
    found.unwrap_or_else(|| panic!("{line}: of no family"))
}

#[test]
fn every_metric_of_a_node_that_was_used_has_numbers_and_no_number_comes_twice() {
    let node = start_with_logger(|_| {});
    log(&node, MARKET, 0, [7, 42]);
    result(node.address(), &path(MARKET), "eth_blockNumber", json!([]));
    let page = metrics_of(&node);
    let numbers: Vec<_> = page.lines().filter(|line| !line.starts_with('#')).collect();
    let with_numbers: BTreeSet<_> = numbers.iter().map(|line| family_of(line).name).collect();
    for name in types(&page).iter().filter_map(|line| line.split(' ').next()) {
        // There is no base chain.
        let expected = !name.starts_with("shiftwork_base_chain_");
        assert_eq!(with_numbers.contains(name), expected, "{name}");
    }
    let mut keys = BTreeSet::new();
    for line in numbers {
        let (key, number) = line.rsplit_once(' ').unwrap();
        assert!(keys.insert(key), "{key} comes twice");
        assert!(number.parse::<f64>().is_ok(), "{line}");
        let given = key.split_once('{').map_or(0, |(_, labels)| labels.matches("=\"").count());
        let bounds = usize::from(key.contains("le=\""));
        assert_eq!(given, family_of(line).labels.len() + bounds, "{line}");
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for layer in &LAYERS {
        write!(page, "\n## {}\n\n{}", layer.title, layer.about).unwrap();
        page.push_str(if is_on_node(&layer) { "\n" } else { " A node has none of these.\n" });
        table(&mut page, layer.families.iter().copied());
    }
    page.push_str(OF_THE_NODE);
    table(&mut page, node::metrics());
    page
}

fn table(page: &mut String, families: impl Iterator<Item = &'static Family>) {
    page.push_str("\n| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n");
    for Family { name, kind, labels, help, .. } in families {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        let (kind, labels) = (kind.name(), labels.join(", "));
        writeln!(page, "| `{name}` | {kind} | {labels} | {help} |").unwrap();
    }
}

const INTRODUCTION: &str = "\
# Every metric

This page is made from the lists in the code (`cargo xtask metrics-docs`), and the tests compare it with
them, and the lists with what a node has at `/metrics`.

Names are `shiftwork_<layer>_<what>`. The unit is at the end (`_seconds`, `_bytes`, `_ratio`; what is counted
has none), and after it `_total` if the number only grows. Values of labels are any text, escaped.

On a node they are at `/metrics`, in the format of Prometheus ([node.md](node.md)). In a program of one's own
they are collected into `observe::metrics::Samples`, and leave it as the same text (`Samples::to_text`) or,
with the feature `metrics`, through the recorder that the program has installed for the crate
[`metrics`](https://docs.rs/metrics) (`observe::metrics::Publisher`):

```rust
use shiftwork::{
    Runtime,
    job::Pool,
    observe::metrics::{Publisher, Samples},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::new()?;
    let pool = Pool::on(&runtime);
    let mut publisher = Publisher::new();
    // Then every ten seconds:
    let mut samples = Samples::new();
    samples.runtime(\"tills\", &runtime);
    samples.processes(\"tills\", &runtime);
    samples.jobs(\"builds\", &pool);
    samples.program();
    publisher.publish(&samples);
    Ok(())
}
```

The crate's counters are whole numbers, so counters in seconds are gauges there. Of histograms it is told what is
new, each value as the upper bound of its bucket; of more than a thousand new values about a thousand, in the
same proportions.
";

const OF_THE_NODE: &str = "
## The node

What it serves, its store, and its base chain, if it has one. Only methods that were called have numbers;
all that do not exist are one, `unknown`.
";
