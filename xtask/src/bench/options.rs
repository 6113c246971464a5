//! What can be asked of `cargo xtask bench`?

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{
    areas,
    plan::{Plan, Speed},
};

const OPTIONS: &str = "\
  all              every area, one after the other; then the report
  report           tables and charts from stored results: report FILE...

Options:
  --json <FILE>    write the results as a list of rows, each with its run: date, machine, commit,
                   versions
  --compare <FILE> say what got better or worse than in these results, beyond the noise; what is
                   worse makes the exit code 1
  --report         write the tables of docs/performance.md and the charts in docs/charts anew
                   (`all` does, unless --quick, --only or --no-peers make it less than all; with
                   what leaves out a part of an area it is refused)
  --policies       with a report: also the curves of the policies over 4 to 1,024 workers
  --growth-svg <FILE>
                   draw how the cost grows, from the workloads growth_<number>
  --quick          three rounds of smaller runs instead of five; with `all`, two rounds of the
                   workloads that say most; in less than five minutes after building
  --only <TEXT>    only the workloads whose name contains this; may be repeated
  --no-peers       ours alone
  -h, --help       this";

pub(super) fn usage() -> String {
    let mut text = "Usage: cargo xtask bench <AREA>|all|report [OPTIONS]\n\nAreas:\n".to_owned();
    for area in areas::ALL {
        let names = std::iter::once(area.name).chain(std::iter::repeat(""));
        for (name, line) in names.zip(area.about) {
            text.push_str(&format!("  {name:<15}  {line}\n"));
        }
    }
    format!("{text}{OPTIONS}")
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Options {
    /// An area, `all` or `report`.
    pub(super) area: String,
    /// Of `report`.
    pub(super) files: Vec<PathBuf>,
    pub(super) json: Option<PathBuf>,
    pub(super) compare: Option<PathBuf>,
    pub(super) report: bool,
    pub(super) policies: bool,
    pub(super) growth_svg: Option<PathBuf>,
    pub(super) quick: bool,
    pub(super) only: Vec<String>,
    pub(super) no_peers: bool,
    pub(super) help: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => options.json = Some(value()?.into()),
                "--compare" => options.compare = Some(value()?.into()),
                "--report" => options.report = true,
                "--policies" => options.policies = true,
                "--growth-svg" => options.growth_svg = Some(value()?.into()),
                "--only" => options.only.push(value()?.clone()),
                "--quick" => options.quick = true,
                "--no-peers" => options.no_peers = true,
                "-h" | "--help" => options.help = true,
                flag if flag.starts_with('-') => bail!("unknown option {flag}\n\n{}", usage()),
                area if options.area.is_empty() => options.area = area.to_owned(),
                file if options.area == "report" => options.files.push(file.into()),
                extra => bail!("one area at a time; what is {extra:?}?\n\n{}", usage()),
            }
        }
        if let Some(less) = less_than_whole(arguments).filter(|_| options.report) {
            bail!("--report would take everything of an area away but what {less} leaves of it");
        }
        Ok(options)
    }

    pub(super) fn wants(&self, plan: &Plan) -> bool {
        let named = |name: &str| self.only.iter().any(|text| name.contains(text.as_str()));
        self.only.is_empty() || named(plan.workload) || plan.results.iter().any(|row| named(row))
    }

    /// How much of so many areas is measured.
    pub(super) fn speed(&self, areas: usize) -> Speed {
        match (self.quick, areas) {
            (false, _) => Speed::Full,
            (true, 1) => Speed::Quick,
            (true, _) => Speed::Glance,
        }
    }

    /// Is the report written at the end?
    pub(super) fn reports(&self) -> bool {
        let whole = !self.quick && !self.no_peers && self.only.is_empty();
        self.report || (self.area == "all" && whole)
    }
}

/// The word of a command that makes it measure less than whole areas, if there is one: what comes
/// of it may not take the place of whole areas.
pub(super) fn less_than_whole(command: &[impl AsRef<str>]) -> Option<&'static str> {
    let has = |word: &str| command.iter().any(|other| other.as_ref() == word);
    let part = ["--only", "--no-peers"].into_iter().find(|word| has(word));
    // Of one area, quick runs are all that there is, and the report says that they were quick.
    part.or_else(|| (has("all") && has("--quick")).then_some("--quick"))
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
    fn a_report_is_of_files_and_of_a_whole_run() {
        assert_eq!(parse("report a.json b.json").unwrap().files.len(), 2);
        assert!(parse("all").unwrap().reports() && parse("job --report").unwrap().reports());
        for less in ["all --quick", "all --only spawn", "all --no-peers", "job"] {
            assert!(!parse(less).unwrap().reports(), "{less}");
        }
    }

    #[test]
    fn a_part_of_an_area_is_no_report() {
        for part in ["kernel --only submit_1", "kernel --no-peers", "all --quick"] {
            let error = parse(&format!("{part} --report")).unwrap_err().to_string();
            assert!(error.contains("--report would take"), "{part}: {error}");
            assert!(parse(part).is_ok(), "{part}");
        }
        assert!(parse("kernel --quick --report").unwrap().reports());
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
