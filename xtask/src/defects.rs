//! `cargo xtask models --defects`: would our tests catch the defects that others shipped?
//!
//! The list is data, in `xtask/defects/*.toml`; the format is described in the README beside it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use crate::{
    binary::{Binary, Checker, Ending},
    scratch::Scratch,
    shell,
    subject::Subject,
};

/// For one test. Longer, and it is an error, unless the defect says that it hangs.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    defect: Vec<Defect>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defect {
    name: String,
    /// The thing that must never happen, in the words of the design.
    never: String,
    /// The crate that has it.
    #[serde(default, rename = "crate")]
    subject: Subject,
    file: PathBuf,
    find: String,
    replace: String,
    checker: Checker,
    target: Option<String>,
    filter: String,
    hangs_after_s: Option<u64>,
}

impl Defect {
    fn target(&self) -> &str {
        match (&self.target, self.checker) {
            (Some(target), _) => target,
            (None, Checker::Shuttle) => "shuttle",
            (None, Checker::Loom | Checker::Plain) => "lib",
        }
    }

    fn apply(&self, text: &str) -> Result<String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            0 => bail!("{} no longer contains the text to change", self.file.display()),
            n => bail!("{} contains the text to change {n} times", self.file.display()),
        }
    }
}

pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let mut defects = read_all(&shell::root().join("xtask/defects"))?;
    let name = |defect: &Defect| format!("{}/{}", defect.subject, defect.name);
    defects.retain(|defect| only.is_none_or(|only| name(defect).contains(only)));
    if defects.is_empty() {
        bail!("there is no such defect in xtask/defects");
    }
    // Those of one test binary together, so that less is built anew.
    defects.sort_by_key(|defect| (defect.subject, defect.checker, defect.target().to_owned()));
    // A build of one crate leaves a core to spare: two go side by side, in copies of their own.
    let (first, second) = defects.split_at(defects.len() / 2);
    let bad = thread::scope(|scope| {
        let second = scope.spawn(|| run_lane("defects-2", second));
        let first = run_lane("defects", first);
        let second = second.join().map_err(|_| anyhow!("one half of the defects panicked"))?;
        anyhow::Ok(first? + second?)
    })?;
    println!("\n{} defects, {} caught, {bad} not", defects.len(), defects.len() - bad);
    if bad > 0 {
        bail!("{bad} seeded defects were not caught");
    }
    Ok(())
}

/// Seeds defects one after the other. How many were not caught?
fn run_lane(purpose: &str, defects: &[Defect]) -> Result<usize> {
    let mut bad = 0;
    for subject in Subject::ALL {
        let of_subject: Vec<&Defect> = defects.iter().filter(|d| d.subject == subject).collect();
        if !of_subject.is_empty() {
            bad += run_all(purpose, subject, &of_subject)?;
        }
    }
    Ok(bad)
}

/// Seeds the defects of one crate. How many were not caught?
fn run_all(purpose: &str, subject: Subject, defects: &[&Defect]) -> Result<usize> {
    let scratch = Scratch::new(purpose, subject)?;
    let tests = tests_that_pass(&scratch, defects)?;
    let mut bad = 0;
    for (at, defect) in defects.iter().enumerate() {
        let start = Instant::now();
        let result = seed(&scratch, defect, &tests[&key(defect)]);
        scratch.restore()?;
        let verdict = match result {
            Ok(Some(test)) => format!("caught by {test}"),
            Ok(None) => {
                bad += 1;
                format!("SURVIVED: {} passes all the same", defect.filter)
            }
            Err(error) => {
                bad += 1;
                format!("ERROR: {error:#}")
            }
        };
        let took = start.elapsed().as_secs_f64();
        let of = format!("{subject} {}/{}", at + 1, defects.len());
        println!("[{of}] {took:.1} s  {}: {verdict}", defect.name);
        println!("        never: {}", defect.never);
    }
    Ok(bad)
}

type Key = (Checker, String, String);

fn key(defect: &Defect) -> Key {
    (defect.checker, defect.target().to_owned(), defect.filter.clone())
}

/// The tests that each defect names, after checking that they exist and pass on sound code.
fn tests_that_pass(scratch: &Scratch, defects: &[&Defect]) -> Result<BTreeMap<Key, Vec<String>>> {
    let mut tests = BTreeMap::new();
    for defect in defects {
        if tests.contains_key(&key(defect)) {
            continue;
        }
        println!("{} {} {}: first on sound code", defect.checker, defect.target(), defect.filter);
        let binary = Binary::build(scratch, defect.checker, defect.target())?;
        let names = binary.list(&defect.filter)?;
        if names.is_empty() {
            bail!("{}: no test is called {}", defect.name, defect.filter);
        }
        for name in &names {
            match binary.run(name, &[], LIMIT, &log(scratch))? {
                Ending::Passed => {}
                Ending::Failed(said) => bail!("{name} fails on sound code: {said}"),
                Ending::TimedOut => bail!("{name} does not end in {} s", LIMIT.as_secs()),
            }
        }
        tests.insert(key(defect), names);
    }
    Ok(tests)
}

/// Applies the defect and runs its tests until one fails, which is returned.
fn seed(scratch: &Scratch, defect: &Defect, tests: &[String]) -> Result<Option<String>> {
    let file = scratch.home().join(&defect.file);
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    scratch.write(&defect.file, &defect.apply(&text)?)?;
    let binary = Binary::build(scratch, defect.checker, defect.target())?;
    let limit = defect.hangs_after_s.map_or(LIMIT, Duration::from_secs);
    for test in tests {
        match binary.run(test, &[], limit, &log(scratch))? {
            Ending::Passed => {}
            Ending::Failed(said) => return Ok(Some(format!("{test} ({said})"))),
            Ending::TimedOut if defect.hangs_after_s.is_some() => {
                return Ok(Some(format!("{test} (it hangs)")));
            }
            Ending::TimedOut => bail!("{test} neither passed nor failed in {} s", limit.as_secs()),
        }
    }
    Ok(None)
}

fn log(scratch: &Scratch) -> PathBuf {
    scratch.dir().join("run.log")
}

fn read_all(dir: &Path) -> Result<Vec<Defect>> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut defects = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let list: List = toml::from_str(&text).with_context(|| file.display().to_string())?;
        defects.extend(list.defect);
    }
    Ok(defects)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the README is the format's documentation, so it must parse.
    fn example() -> Defect {
        let readme = include_str!("../defects/README.md");
        let block = readme.split("```toml").nth(1).unwrap().split("```").next().unwrap();
        toml::from_str::<List>(block).unwrap().defect.remove(0)
    }

    #[test]
    fn the_example_in_the_documentation_parses() {
        let defect = example();
        assert_eq!(defect.checker, Checker::Loom);
        assert_eq!(defect.target(), "lib");
        assert_eq!((defect.subject, defect.hangs_after_s), (Subject::Kernel, None));
    }

    #[test]
    fn a_defect_applies_exactly_once() {
        let defect = example();
        let sound = format!("before\n{}\nafter\n", defect.find);
        let broken = defect.apply(&sound).unwrap();
        assert_eq!(broken, format!("before\n{}\nafter\n", defect.replace));
        let twice = defect.apply(&sound.repeat(2)).unwrap_err().to_string();
        assert!(twice.contains("2 times"));
        let gone = defect.apply(&broken).unwrap_err().to_string();
        assert!(gone.contains("no longer"));
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(toml::from_str::<List>("[[defect]]\nnmae = \"x\"").is_err());
    }

    #[test]
    fn every_listed_defect_parses_and_has_a_name_of_its_own() {
        let defects = read_all(&shell::root().join("xtask/defects")).unwrap();
        let mut names: Vec<_> = defects.iter().map(|defect| &defect.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), defects.len());
    }
}
