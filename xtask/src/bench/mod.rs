//! `cargo xtask bench`: how does an area compare with its peers, on this machine and today?
//!
//! The measuring programs are built once per allocator, then ours and theirs take turns for
//! several rounds, so that whatever disturbs the machine disturbs everyone. Medians count, and
//! of them the ratio: absolute figures belong to the machine.

mod areas;
mod budget;
pub(crate) mod callgrind;
mod chart;
mod compare;
mod derived;
mod document;
mod enough;
mod exchange;
mod foreign;
mod machine;
mod measure;
mod nodes;
mod one_area;
mod options;
mod plan;
mod planned;
mod programs;
mod report;
mod row;
mod running;
mod stored;
mod table;

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use self::{
    areas::Area,
    budget::Budget,
    document::{Document, Run},
    options::{Options, usage},
    programs::Programs,
    row::Row,
    stored::Stored,
};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    if options.help {
        println!("{}", usage());
        return Ok(());
    }
    match (options.area.as_str(), areas::find(&options.area)) {
        ("all", _) => measure(areas::ALL, arguments, &options),
        ("report", _) => report::remake(&options.files, options.policies),
        (_, Some(area)) => measure(&[area], arguments, &options),
        ("", None) => bail!("name an area\n\n{}", usage()),
        (other, None) => bail!("no area {other:?}\n\n{}", usage()),
    }
}

fn measure(areas: &[&'static Area], arguments: &[String], options: &Options) -> Result<()> {
    // What is to be compared with must be there: better known now than in an hour.
    let old = options.compare.as_deref().map(Document::read).transpose()?;
    if !areas.iter().any(|area| area.plans.iter().any(|plan| options.wants(plan))) {
        bail!("no workload is called {:?}", options.only.join(" or "));
    }
    running::end_with_us()?;
    let mut run = machine::facts(without_files(arguments), options.quick);
    let mut failed = Vec::new();
    let begun = Instant::now();
    let built = build(areas, options, &mut run, &mut failed)?;
    let building = begun.elapsed();
    let budget = Budget::new(options.speed(areas.len()));
    let mut disturbed = machine::describe(&run);
    let mut exchange = machine::look_at_exchange();
    let mut document = Document { run, rows: Vec::new() };
    let mut refused = Vec::new();
    for (at, (area, programs)) in built.iter().enumerate() {
        let run = &mut document.run;
        machine::describe_area(area, programs, run);
        let share = budget.share(built.len() - at);
        let several = areas.len() > 1;
        let rows = one_area::measure(area, programs, several, share, options, run, &mut failed)?;
        failed.extend(not_measured(area.name, &rows));
        // What was before one area was after another.
        let before = disturbed.take();
        disturbed = machine::look_if_quiet(&format!("after {}", area.name));
        // And so was this.
        let until = machine::look_at_exchange();
        let exchanges: Vec<f64> = exchange.into_iter().chain(until).collect();
        run.exchange.insert(area.name.to_owned(), exchanges);
        exchange = until;
        let both: Vec<String> = before.into_iter().chain(disturbed.clone()).collect();
        if !both.is_empty() {
            run.disturbed.insert(area.name.to_owned(), both);
        }
        table::print(&rows);
        document.rows.extend(rows.iter().map(|row| Stored::new(area.name, row)));
        derived::complete(&mut document.rows);
        table::print_derived(document.rows.iter().filter(|row| row.area == area.name));
        // At once: whoever stops a long run keeps the areas that are done.
        if let Some(file) = &options.json {
            document.write_list(file)?;
        }
        if options.reports() {
            refused = report::write(vec![document.clone()])?;
        }
    }
    failed.extend(refused);
    if let Some(file) = &options.growth_svg {
        chart::write_growth(file, &document.rows)?;
    }
    if options.reports() && (options.policies || options.area == "all") {
        report::draw_policies()?;
    }
    let compared = old.map_or(Ok(()), |old| {
        let whole = options.only.is_empty() && !(options.quick && areas.len() > 1);
        let asked = areas.iter().map(|area| area.name);
        let asked = asked.filter(|area| whole && !one_area::was_cut(&document.run, area));
        say_what_changed(&old, &document, &asked.collect::<Vec<_>>())
    });
    let measuring = budget.elapsed().as_secs();
    println!("time      {measuring} s to measure, after {} s to build", building.as_secs());
    verdict(&failed, compared)
}

/// Whoever started us is told, also where all that could be measured was.
fn verdict(failed: &[String], compared: Result<()>) -> Result<()> {
    failed.iter().for_each(|what| println!("FAILED    {what}"));
    compared?;
    ensure!(failed.is_empty(), "not all of ours could be measured: {}", failed.join("; "));
    Ok(())
}

/// What of ours has no value, and should have one.
fn not_measured(area: &str, rows: &[Row]) -> Vec<String> {
    if rows.iter().all(|row| row.ours.value().is_none()) {
        return vec![format!("{area}: nothing of ours was measured")];
    }
    let failed = |row: &Row| Some(format!("{} of {area}: {}", row.name, row.ours.failure()?));
    rows.iter().filter_map(failed).collect()
}

/// The command as others would type it: where somebody keeps his files is nobody else's business.
fn without_files(arguments: &[String]) -> String {
    let mut command = "cargo xtask bench".to_owned();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" | "--compare" | "--growth-svg" => drop(words.next()),
            word => command.extend([" ", word]),
        }
    }
    command
}

/// Builds all first, so that nothing compiles while something is measured. Of several areas, one
/// that can not be built is left out, and has failed.
fn build(
    areas: &[&'static Area],
    options: &Options,
    run: &mut Run,
    failed: &mut Vec<String>,
) -> Result<Vec<(&'static Area, Programs)>> {
    let mut built = Vec::new();
    for area in areas.iter().filter(|area| area.plans.iter().any(|plan| options.wants(plan))) {
        match Programs::build(area, !options.no_peers) {
            Ok(programs) => built.push((*area, programs)),
            Err(error) if areas.len() > 1 => {
                println!("note      {} is left out: {error:#}", area.name);
                let notes = run.notes.entry(area.name.to_owned()).or_default();
                notes.push(format!("left out: {error:#}"));
                failed.push(format!("{}: {error:#}", area.name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(built)
}

fn say_what_changed(old: &Document, new: &Document, asked: &[&str]) -> Result<()> {
    let changes = compare::changes(&old.rows, &new.rows, asked);
    let (lines, sentence) = compare::table(&changes, table::number);
    println!("\ncompared with {} {}", old.run.commit, old.run.date);
    table::print_aligned(&lines);
    println!("\n{sentence}");
    compare::doubts(old, new).iter().for_each(|doubt| println!("WARNING   {doubt}"));
    if compare::is_worse(&changes) {
        bail!("something is worse than before, beyond the noise");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{row::Series, *};

    fn row(name: &str, ours: Series) -> Row {
        Row {
            name: name.to_owned(),
            unit: "ns/job".to_owned(),
            allocator: plan::Allocator::System,
            apart: false,
            workers: 2,
            better: plan::Better::Smaller,
            ours,
            peers: Default::default(),
            information: Default::default(),
            floor: None,
            target: plan::NONE,
        }
    }

    #[test]
    fn what_of_ours_failed_is_an_error_at_the_end() {
        let (mut measured, mut failed) = (Series::default(), Series::default());
        measured.add(1.0);
        failed.fail("starved".to_owned());
        // One that was not run at all is for a feature that this build does not have.
        let rows = [row("submit", measured), row("late", failed), row("jit", Series::default())];
        assert_eq!(not_measured("kernel", &rows), ["late of kernel: starved"]);
        assert_eq!(not_measured("kernel", &rows[2..]), ["kernel: nothing of ours was measured"]);
        assert_eq!(not_measured("node", &[]), ["node: nothing of ours was measured"]);
        assert!(verdict(&[], Ok(())).is_ok());
        let error = verdict(&["node: it does not build".to_owned()], Ok(())).unwrap_err();
        assert!(error.to_string().contains("node: it does not build"), "{error}");
    }

    #[test]
    fn a_command_is_kept_without_the_files_of_who_ran_it() {
        let typed = "all --json /home/me/new.json --quick --compare ../old.json --report";
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        assert_eq!(without_files(&words), "cargo xtask bench all --quick --report");
    }
}
