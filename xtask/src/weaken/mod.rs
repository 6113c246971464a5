//! `cargo xtask models --weaken`: is there a model that fails for each ordering of ours?
//!
//! 1. [`sites`] finds every Acquire, Release, AcqRel and fence in the sources of a crate.
//! 2. [`instrument`] makes one binary of them, in a scratch copy, in which any one can be
//!    weakened at run time.
//! 3. Every model runs unchanged: it must pass, and leaves a list of the sites it comes by.
//! 4. For each site and each single step down, the models that come by run until one fails.

pub(crate) mod instrument;
pub(crate) mod sites;
pub(crate) mod table;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{
    binary::{Binary, Checker, Ending},
    scratch::{self, Deps, Scratch},
    shell,
    subject::Subject,
};
use sites::Site;
use table::{Row, Verdict};

/// For one model in one run. A hang that loom does not see as a deadlock is an error of ours.
const LIMIT: Duration = Duration::from_secs(300);

/// A model that passes when nothing is weakened.
struct Model {
    name: String,
    took: Duration,
    reaches: BTreeSet<usize>,
}

pub(crate) fn run(only: Option<&str>, write: bool, also: Option<&Path>) -> Result<()> {
    let (mut bad, mut tried) = (0, 0);
    let mut tables = String::new();
    for subject in Subject::ALL {
        let sites = find_sites(subject)?;
        if !sites.iter().any(|site| is_chosen(subject, site, only)) {
            continue;
        }
        let rows = weaken(subject, &sites, only)?;
        tried += rows.len();
        bad += rows.iter().filter(|row| !row.verdict.is_fine()).count();
        let table = table::markdown(&rows);
        if write {
            let document = shell::root().join("docs/architecture.md");
            table::write_between_markers(&document, subject.name(), &table)?;
        }
        tables.push_str(&table);
    }
    if let Some(file) = also {
        fs::write(file, &tables).with_context(|| format!("could not write {}", file.display()))?;
    }
    if bad > 0 {
        bail!("{bad} orderings can be weakened, and no model notices");
    }
    if tried == 0 {
        bail!("nothing was weakened: no site fits --only");
    }
    Ok(())
}

/// Weakens the sites of one crate, one after the other.
fn weaken<'a>(subject: Subject, sites: &'a [Site], only: Option<&str>) -> Result<Vec<Row<'a>>> {
    let start = Instant::now();
    let scratch = Scratch::new("weaken", subject, Deps::WithModels)?;
    put_instruments(&scratch, sites)?;
    println!(
        "{subject}: {} sites; building the models, with all of them instrumented",
        sites.len()
    );
    let binary = Binary::build(&scratch, Checker::Loom, "lib")?;
    let models = baseline(&binary, &scratch)?;
    let rows = weaken_each(&binary, &scratch, sites, &models, only)?;

    println!();
    for row in &rows {
        println!("{}", row.line());
    }
    let bad = rows.iter().filter(|row| !row.verdict.is_fine()).count();
    let excused = rows.iter().filter(|row| matches!(row.verdict, Verdict::Excused(_))).count();
    println!(
        "\n{subject}: {} changes, {} caught, {excused} excused, {bad} not caught, in {:.0} s\n",
        rows.len(),
        rows.len() - bad - excused,
        start.elapsed().as_secs_f64()
    );
    Ok(rows)
}

fn is_chosen(subject: Subject, site: &Site, only: Option<&str>) -> bool {
    let place = format!("{subject}/{}:{} {}", site.file.display(), site.line, site.function);
    only.is_none_or(|only| place.contains(only))
}

fn find_sites(subject: Subject) -> Result<Vec<Site>> {
    let mut found = Vec::new();
    for (file, text) in scratch::sources(subject)? {
        if !sites::is_test_file(&file) {
            found.extend(sites::find(&file, &text)?);
        }
    }
    Ok(found)
}

/// Rewrites the copy's sources so that each site can be weakened from outside.
fn put_instruments(scratch: &Scratch, sites: &[Site]) -> Result<()> {
    for (file, text) in scratch::sources(scratch.subject())? {
        let here: Vec<(usize, &Site)> = sites
            .iter()
            .enumerate()
            .filter(|(_, site)| site.file == file && site.excuse.is_none())
            .collect();
        let mut text = instrument::instrument(&text, &here);
        if file == Path::new("src/lib.rs") {
            text.push_str("\nmod weakened;\n");
        }
        scratch.write(&file, &text)?;
    }
    scratch.write(Path::new("src/weakened.rs"), &instrument::module(sites.len()))
}

/// Runs every model as it is, and notes what it comes by.
fn baseline(binary: &Binary, scratch: &Scratch) -> Result<Vec<Model>> {
    let names = binary.list("models")?;
    if names.is_empty() {
        bail!("{} has no models", scratch.subject());
    }
    println!("{} models, first unchanged", names.len());
    let models = in_parallel(&names, |worker, name| {
        let reached = scratch.dir().join(format!("reached-{worker}"));
        let _ = fs::remove_file(&reached);
        let env = [(instrument::REACHED, reached.to_str().context("a path in UTF-8")?)];
        let start = Instant::now();
        match binary.run(name, &env, LIMIT, &log(scratch, worker))? {
            Ending::Passed => {}
            Ending::Failed(said) => bail!("{name} fails with nothing weakened: {said}"),
            Ending::TimedOut => bail!("{name} does not end in {} s", LIMIT.as_secs()),
        }
        let took = start.elapsed();
        let reaches = fs::read_to_string(&reached).unwrap_or_default();
        let reaches = reaches.lines().map(str::parse).collect::<Result<BTreeSet<usize>, _>>()?;
        println!("  {name}: {:.1} s, {} sites", took.as_secs_f64(), reaches.len());
        Ok(Model { name: name.clone(), took, reaches })
    })?;
    Ok(models)
}

fn weaken_each<'a>(
    binary: &Binary,
    scratch: &Scratch,
    sites: &'a [Site],
    models: &[Model],
    only: Option<&str>,
) -> Result<Vec<Row<'a>>> {
    let changes: Vec<(usize, &Site, &'static str)> = sites
        .iter()
        .enumerate()
        .filter(|(_, site)| is_chosen(scratch.subject(), site, only))
        .flat_map(|(n, site)| site.kind.weaker().iter().map(move |weaker| (n, site, *weaker)))
        .collect();
    println!("{} changes to try", changes.len());
    let done = AtomicUsize::new(0);
    in_parallel(&changes, |worker, &(number, site, weaker)| {
        let start = Instant::now();
        let verdict = match &site.excuse {
            Some(reason) => Verdict::Excused(reason.clone()),
            None => try_change(binary, &log(scratch, worker), number, site, weaker, models)?,
        };
        let row = Row { site, weaker, verdict };
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let took = start.elapsed().as_secs_f64();
        println!("[{done}/{}] {:.1} s  {}", changes.len(), took, row.line());
        Ok(row)
    })
}

fn try_change(
    binary: &Binary,
    log: &Path,
    number: usize,
    site: &Site,
    weaker: &str,
    models: &[Model],
) -> Result<Verdict> {
    let mut reaching: Vec<&Model> =
        models.iter().filter(|model| model.reaches.contains(&number)).collect();
    // The model beside the code is the one that should notice; after it, the quickest first.
    let home = module_of(&site.file);
    reaching.sort_by_key(|model| (!model.name.starts_with(&home), model.took, &model.name));
    let choice = format!("{number}={weaker}");
    for model in &reaching {
        match binary.run(&model.name, &[(instrument::CHOICE, &choice)], LIMIT, log)? {
            Ending::Passed => {}
            Ending::Failed(said) => {
                return Ok(Verdict::Caught { model: model.name.clone(), said });
            }
            Ending::TimedOut => return Ok(Verdict::TimedOut(model.name.clone())),
        }
    }
    Ok(Verdict::Survived(reaching.len()))
}

/// `src/strand/state.rs` is the module `strand::state`.
fn module_of(file: &Path) -> String {
    let path = file.strip_prefix("src").unwrap_or(file).with_extension("");
    let names: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .filter(|name| name != "mod")
        .collect();
    format!("{}::", names.join("::"))
}

fn log(scratch: &Scratch, worker: usize) -> PathBuf {
    scratch.dir().join(format!("run-{worker}.log"))
}

/// Applies `work` to all items, as many at a time as there are cores; results in their order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R>)>> = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for worker in 0..cores {
            let (next, results, work) = (&next, &results, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(worker, item);
                    results.lock().expect("no panic under the lock").push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no panic under the lock");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_module() {
        assert_eq!(module_of(Path::new("src/strand/state.rs")), "strand::state::");
        assert_eq!(module_of(Path::new("src/queue/mod.rs")), "queue::");
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = in_parallel(&items, |_, n| Ok(n * 2)).unwrap();
        assert!(doubled.iter().enumerate().all(|(n, twice)| *twice == n * 2));
        assert!(in_parallel(&items, |_, n| if *n == 7 { bail!("seven") } else { Ok(()) }).is_err());
    }
}
