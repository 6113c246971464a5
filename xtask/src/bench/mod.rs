//! `cargo xtask bench`: how does an area compare with its peers, on this machine and today?
//!
//! The measuring programs are built once per allocator, then ours and theirs take turns for
//! several rounds, so that whatever disturbs the machine disturbs everyone. Medians count, and
//! of them the ratio: absolute figures belong to the machine.

mod areas;
mod callgrind;
mod chart;
mod foreign;
mod machine;
mod measure;
mod nodes;
mod output;
mod plan;
mod programs;
mod row;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::{
    areas::Area,
    plan::{Plan, Speed},
    programs::{Programs, Setting},
    row::Row,
};

const OPTIONS: &str = "\
Options:
  --json <FILE>    write the results as a list of objects
  --growth-svg <FILE>
                   draw how the cost grows, from the workloads growth_<number>
  --quick          three rounds of smaller runs instead of five
  --only <TEXT>    only the workloads whose name contains this; may be repeated
  --no-peers       ours alone
  -h, --help       this";

fn usage() -> String {
    let mut text = "Usage: cargo xtask bench <AREA> [OPTIONS]\n\nAreas:\n".to_owned();
    for area in areas::ALL {
        let names = std::iter::once(area.name).chain(std::iter::repeat(""));
        for (name, line) in names.zip(area.about) {
            text.push_str(&format!("  {name:<15}  {line}\n"));
        }
    }
    format!("{text}\n{OPTIONS}")
}

#[derive(Debug, Default, PartialEq)]
struct Options {
    area: String,
    json: Option<PathBuf>,
    growth_svg: Option<PathBuf>,
    quick: bool,
    only: Vec<String>,
    no_peers: bool,
    help: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => options.json = Some(value()?.into()),
                "--growth-svg" => options.growth_svg = Some(value()?.into()),
                "--only" => options.only.push(value()?.clone()),
                "--quick" => options.quick = true,
                "--no-peers" => options.no_peers = true,
                "-h" | "--help" => options.help = true,
                flag if flag.starts_with('-') => bail!("unknown option {flag}\n\n{}", usage()),
                area if options.area.is_empty() => options.area = area.to_owned(),
                extra => bail!("one area at a time; what is {extra:?}?\n\n{}", usage()),
            }
        }
        Ok(options)
    }

    fn wants(&self, plan: &Plan) -> bool {
        let named = |name: &str| self.only.iter().any(|text| name.contains(text.as_str()));
        self.only.is_empty() || named(plan.workload) || plan.results.iter().any(|row| named(row))
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    if options.help {
        println!("{}", usage());
        return Ok(());
    }
    match (options.area.as_str(), areas::find(&options.area)) {
        (_, Some(area)) => measure(area, &options),
        ("", None) => bail!("name an area\n\n{}", usage()),
        (other, None) => bail!("no area {other:?}\n\n{}", usage()),
    }
}

fn measure(area: &'static Area, options: &Options) -> Result<()> {
    let plans: Vec<&Plan> = area.plans.iter().filter(|plan| options.wants(plan)).collect();
    if plans.is_empty() {
        bail!("no workload is called {:?}", options.only.join(" or "));
    }
    let speed = if options.quick { Speed::Quick } else { Speed::Full };
    let programs = Programs::build(area, !options.no_peers)?;
    machine::describe(area, &programs);

    let mut rows: Vec<Row> = Vec::new();
    for plan in plans {
        for setting in Setting::all(plan.allocators) {
            match setting {
                Setting::Apart(allocator) => eprintln!("{} ({allocator})", plan.workload),
                Setting::Together => eprintln!("{}", plan.workload),
            }
            rows.extend(measure::rows(plan, setting, speed, &programs)?);
        }
    }
    table::print(&rows);
    machine::warn_if_busy("after the last run");
    if let Some(file) = &options.json {
        output::write(file, &options.area, &rows)?;
    }
    if let Some(file) = &options.growth_svg {
        chart::write(file, &rows)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options> {
        Options::parse(&text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_any_order() {
        let options = parse("--quick kernel --json out.json").unwrap();
        assert!(options.quick);
        assert_eq!((options.area.as_str(), options.json), ("kernel", Some("out.json".into())));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert!(parse("kernel --fast").unwrap_err().to_string().contains("--fast"));
        assert!(parse("kernel shard").unwrap_err().to_string().contains("shard"));
        assert!(parse("kernel --json").unwrap_err().to_string().contains("needs a value"));
    }

    #[test]
    fn only_selects_by_part_of_the_name() {
        let options = parse("kernel --only timers_fire --only submit").unwrap();
        let kernel = areas::find("kernel").unwrap();
        let chosen: Vec<&str> =
            kernel.plans.iter().filter(|p| options.wants(p)).map(|p| p.workload).collect();
        assert!(chosen.contains(&"timers") && chosen.contains(&"submit_4"), "{chosen:?}");
        assert!(!chosen.contains(&"spawn_tree"), "{chosen:?}");
    }
}
