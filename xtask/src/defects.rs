//! `cargo xtask models --defects`: would our tests catch the defects that others shipped?
//!
//! The list is data, in `xtask/defects/*.toml`; the format is described in the README beside it.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use crate::{
    binary::{Binary, Checker, Ending},
    scratch::{Deps, Scratch},
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
    let (all, todo) = (defects.len(), Mutex::new(VecDeque::from(defects)));
    let take = |from: fn(&mut VecDeque<Defect>) -> Option<Defect>| {
        from(&mut todo.lock().expect("no panic under the lock"))
    };
    // A build of one crate leaves a core to spare: two lanes go side by side, in copies of their own. They
    // begin at both ends, so that hardly anything is built by both, and neither waits for the other.
    let bad = thread::scope(|scope| {
        // The second begins with tasks, which stand on most.
        let second =
            scope.spawn(|| Lane::run("defects-2", Deps::WithModels, || take(VecDeque::pop_back)));
        let first = Lane::run("defects", Deps::Apart, || take(VecDeque::pop_front));
        let second = second.join().map_err(|_| anyhow!("one half of the defects panicked"))?;
        anyhow::Ok(first? + second?)
    })?;
    println!("\n{all} defects, {} caught, {bad} not", all - bad);
    if bad > 0 {
        bail!("{bad} seeded defects were not caught");
    }
    Ok(())
}

/// Seeds defects one after the other.
struct Lane {
    /// How many were not caught.
    bad: usize,
    /// A test that is expected to hang: that takes no core, so the next defect is built meanwhile.
    hanging: Option<JoinHandle<bool>>,
}

impl Lane {
    /// How many were not caught?
    fn run(purpose: &str, deps: Deps, next: impl FnMut() -> Option<Defect>) -> Result<usize> {
        let mut lane = Lane { bad: 0, hanging: None };
        let result = lane.seed_all(next, |subject| Place::new(purpose, subject, deps));
        lane.wait_for_hanging()?;
        result.map(|()| lane.bad)
    }

    fn seed_all(
        &mut self,
        mut next: impl FnMut() -> Option<Defect>,
        new_place: impl Fn(Subject) -> Result<Place>,
    ) -> Result<()> {
        let mut place: Option<Place> = None;
        while let Some(defect) = next() {
            if place.as_ref().is_some_and(|place| place.scratch.subject() != defect.subject) {
                // What it has built goes with it.
                self.wait_for_hanging()?;
                place = None;
            }
            let place = match &mut place {
                Some(place) => place,
                none => none.insert(new_place(defect.subject)?),
            };
            let trial = place.seed(defect)?;
            if trial.defect.hangs_after_s.is_some() {
                self.wait_for_hanging()?;
                self.hanging = Some(thread::spawn(move || trial.run()));
            } else {
                self.bad += usize::from(!trial.run());
            }
        }
        self.wait_for_hanging()
    }

    fn wait_for_hanging(&mut self) -> Result<()> {
        if let Some(hanging) = self.hanging.take() {
            let caught = hanging.join().map_err(|_| anyhow!("the run of a defect panicked"))?;
            self.bad += usize::from(!caught);
        }
        Ok(())
    }
}

/// A copy of a crate, and what is known of its tests.
struct Place {
    scratch: Scratch,
    /// The test binaries of sound code, by checker and target.
    sound: BTreeMap<(Checker, String), Binary>,
    /// The tests that a checker, a target and a filter name; all pass on sound code.
    tests: BTreeMap<(Checker, String, String), Vec<String>>,
}

impl Place {
    fn new(purpose: &str, subject: Subject, deps: Deps) -> Result<Place> {
        let scratch = Scratch::new(purpose, subject, deps)?;
        Ok(Place { scratch, sound: BTreeMap::new(), tests: BTreeMap::new() })
    }

    /// Builds the tests of a defect with it, and leaves the copy sound.
    fn seed(&mut self, defect: Defect) -> Result<Trial> {
        let tests = self.tests_that_pass(&defect)?;
        let start = Instant::now();
        let binary = self.build(&defect);
        self.scratch.restore()?;
        let hangs = if defect.hangs_after_s.is_some() { "hanging.log" } else { "run.log" };
        let log = self.scratch.dir().join(hangs);
        Ok(Trial { built: start.elapsed(), defect, tests, binary, log })
    }

    fn build(&self, defect: &Defect) -> Result<Binary> {
        let file = self.scratch.home().join(&defect.file);
        let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        self.scratch.write(&defect.file, &defect.apply(&text)?)?;
        let binary = Binary::build(&self.scratch, defect.checker, defect.target())?;
        match defect.hangs_after_s {
            // The next build would take its place while it runs.
            Some(_) => binary.keep(&self.scratch, &defect.name),
            None => Ok(binary),
        }
    }

    /// The tests that a defect names, after checking that they exist and pass on sound code.
    fn tests_that_pass(&mut self, defect: &Defect) -> Result<Vec<String>> {
        let (checker, target) = (defect.checker, defect.target().to_owned());
        let key = (checker, target.clone(), defect.filter.clone());
        if let Some(tests) = self.tests.get(&key) {
            return Ok(tests.clone());
        }
        let start = Instant::now();
        let binary = match self.sound.entry((checker, target.clone())) {
            Entry::Occupied(built) => built.into_mut(),
            Entry::Vacant(none) => {
                let binary = Binary::build(&self.scratch, checker, &target)?;
                none.insert(binary.keep(&self.scratch, &format!("{checker}-{target}"))?)
            }
        };
        let built = start.elapsed();
        let names = binary.list(&defect.filter)?;
        if names.is_empty() {
            bail!("{}: no test is called {}", defect.name, defect.filter);
        }
        for name in &names {
            match binary.run(name, &[], LIMIT, &self.scratch.dir().join("run.log"))? {
                Ending::Passed => {}
                Ending::Failed(said) => bail!("{name} fails on sound code: {said}"),
                Ending::TimedOut => bail!("{name} does not end in {} s", LIMIT.as_secs()),
            }
        }
        let what = format!("{} {checker} {target} {}", defect.subject, defect.filter);
        println!("{} {what} passes on sound code", times(built, start.elapsed()));
        self.tests.insert(key, names.clone());
        Ok(names)
    }
}

/// A defect that has been seeded, and the tests that should notice.
struct Trial {
    defect: Defect,
    tests: Vec<String>,
    binary: Result<Binary>,
    built: Duration,
    log: PathBuf,
}

impl Trial {
    /// Runs the tests until one fails, and tells. Was the defect caught?
    fn run(self) -> bool {
        let start = Instant::now();
        let Trial { defect, tests, binary, built, log } = self;
        let result = binary.and_then(|binary| first_that_fails(&defect, &tests, &binary, &log));
        let caught = matches!(result, Ok(Some(_)));
        let verdict = match result {
            Ok(Some(test)) => format!("caught by {test}"),
            Ok(None) => format!("SURVIVED: {} passes all the same", defect.filter),
            Err(error) => format!("ERROR: {error:#}"),
        };
        let times = times(built, built + start.elapsed());
        println!(
            "{times} {}/{}: {verdict}\n        never: {}",
            defect.subject, defect.name, defect.never
        );
        caught
    }
}

fn first_that_fails(
    defect: &Defect,
    tests: &[String],
    binary: &Binary,
    log: &Path,
) -> Result<Option<String>> {
    let limit = defect.hangs_after_s.map_or(LIMIT, Duration::from_secs);
    for test in tests {
        match binary.run(test, &[], limit, log)? {
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

fn times(built: Duration, all: Duration) -> String {
    format!("{:>5.1} s, {:>5.1} to build:", all.as_secs_f64(), built.as_secs_f64())
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
