//! A build system: rules as in a makefile, built side by side, and only what has changed.
//!
//! ```text
//!   main.c ──► main.o ──┐
//!   util.h ──┬──►       ├──► app
//!   util.c ──┴► util.o ─┘
//! ```
//!
//! Each rule is a job that runs a command, and depends on the rules that make what it needs. A target
//! is up to date if it is there, and neither its command nor what it needs has changed since: a stamp
//! beside it, a hash of all that, says so. A command that fails fails its rule; what depends on it is
//! not run, and says why. The rest is built all the same.
//!
//! ```text
//! cargo run --example build_system
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::{collections::HashMap, error::Error, fs, path::Path, process::Command, time::Duration};

use shiftwork::job::{self, Batch, Job, JobError, JobId, Node, Policy, Pool};

const RULES: &str = "\
app: main.o util.o
    cat main.o util.o > app
main.o: main.c util.h
    tr a-z A-Z < main.c > main.o
util.o: util.c util.h
    if grep -n oops util.c >&2; then exit 1; fi; tr a-z A-Z < util.c > util.o
manual: util.h
    wc -l < util.h > manual
";

#[derive(Clone)]
struct Rule {
    target: String,
    needs: Vec<String>,
    command: String,
}

/// Lines `target: needs…`, each with a command below it.
fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut rules = Vec::new();
    while let Some(line) = lines.next() {
        let (target, needs) = line.split_once(':').ok_or_else(|| format!("no `:` in `{line}`"))?;
        let command = lines.next().ok_or_else(|| format!("no command for `{target}`"))?;
        let needs = needs.split_whitespace().map(str::to_owned).collect();
        rules.push(Rule { target: target.trim().into(), needs, command: command.trim().into() });
    }
    Ok(rules)
}

/// What a job does: returns what happened, or what went wrong.
fn make(rule: &Rule, dir: &Path) -> Result<&'static str, String> {
    let mut hasher = DefaultHasher::new();
    rule.command.hash(&mut hasher);
    for need in &rule.needs {
        fs::read(dir.join(need)).map_err(|error| format!("{need}: {error}"))?.hash(&mut hasher);
    }
    let stamp = format!("{:x}", hasher.finish());
    let stamp_file = dir.join(format!(".{}.stamp", rule.target));
    let is_there = dir.join(&rule.target).exists();
    if is_there && fs::read_to_string(&stamp_file).is_ok_and(|before| before == stamp) {
        return Ok("up to date");
    }
    let output = Command::new("sh").args(["-c", &rule.command]).current_dir(dir).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}, {}", output.status, said.trim()));
    }
    fs::write(stamp_file, stamp).map_err(|error| error.to_string())?;
    Ok("built")
}

/// Builds all rules. Returns what became of each, in their order.
fn build(rules: &[Rule], dir: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    // As many commands at once as there are cores; what most others wait for comes first. A command
    // takes as long as it takes, and nobody need be told of that.
    let pool = Pool::builder().policy(Policy::HighestPriority).quantum(Duration::from_secs(3600));
    let pool = pool.prioritizer(|job| f64::from(job.successors)).build()?;
    let ids: HashMap<&str, JobId> =
        rules.iter().zip(0..).map(|(rule, n)| (rule.target.as_str(), JobId::new(n))).collect();
    let names: HashMap<JobId, &str> = ids.iter().map(|(name, id)| (*id, *name)).collect();

    let mut batch = Batch::new();
    let mut nodes = Vec::new();
    for rule in rules {
        let (this, there) = (rule.clone(), dir.to_owned());
        let job = Job::fallible(move |_| make(&this, &there)).id(ids[&*rule.target]);
        // By id, so that rules may stand in any order. What no rule makes must be there.
        let before = rule.needs.iter().filter_map(|need| ids.get(&**need).copied());
        nodes.push(batch.add(before.fold(job, Job::after_id)));
    }
    let batch = pool.submit_batch(batch).map_err(|refused| match refused.error() {
        job::Error::Cycle(jobs) => {
            let path: Vec<&str> = jobs.iter().chain(jobs.first()).map(|job| names[job]).collect();
            path.join(" needs ")
        }
        error => error.to_string(),
    })?;
    let outcome = |node: Node<&'static str, String>| match batch.job(node).join() {
        Ok(done) => done.to_owned(),
        Err(JobError::Predecessor { job, .. }) => format!("not run, since {} failed", names[&job]),
        Err(error) => error.to_string(),
    };
    Ok(rules.iter().map(|rule| rule.target.clone()).zip(nodes.into_iter().map(outcome)).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::temp_dir().join(format!("shiftwork-build-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    for source in ["main.c", "util.c", "util.h"] {
        fs::write(dir.join(source), format!("this is {source}\n"))?;
    }
    let show = |title: &str| -> Result<(), Box<dyn Error>> {
        println!("{title}");
        for (target, outcome) in build(&parse(RULES)?, &dir)? {
            println!("  {target:<8} {outcome}");
        }
        Ok(())
    };
    show("at first")?;
    show("again")?;
    fs::write(dir.join("util.c"), "this is better\n")?;
    show("after a change of util.c")?;
    fs::write(dir.join("util.c"), "oops\n")?;
    show("after a mistake in util.c")?;
    Ok(fs::remove_dir_all(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_what_has_changed_and_says_what_it_did_not() {
        let dir = std::env::temp_dir().join(format!("shiftwork-build-test-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        let built = || {
            let outcomes = build(&parse(RULES).unwrap(), &dir).unwrap();
            outcomes.into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>()
        };
        for name in ["main.c", "util.c", "util.h"] {
            write(name, "text\n");
        }
        assert_eq!(built(), ["built"; 4]);
        assert_eq!(built(), ["up to date"; 4]);
        write("util.c", "better\n");
        assert_eq!(built(), ["built", "up to date", "built", "up to date"]);
        assert_eq!(fs::read_to_string(dir.join("app")).unwrap(), "TEXT\nBETTER\n");
        write("util.c", "oops\n");
        let [app, main, util, manual] = built().try_into().unwrap();
        assert_eq!((main, manual), ("up to date".to_owned(), "up to date".to_owned()));
        assert_eq!(app, "not run, since util.o failed");
        assert!(util.starts_with("the job failed: ") && util.ends_with("1:oops"), "{util}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn rules_that_need_each_other_are_refused_by_name() {
        let rules = parse("a: b\n true\nb: c\n true\nc: b\n true\n").unwrap();
        let error = build(&rules, Path::new(".")).unwrap_err().to_string();
        assert!(error == "b needs c needs b" || error == "c needs b needs c", "{error}");
    }
}
