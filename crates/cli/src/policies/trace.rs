//! A workload as text: one line per job, and what is wrong with a line that can not be read.
//!
//! ```text
//! arrival,duration,priority,class,estimate,affinity,dependencies
//! 0,1500,,,,,
//! 0,200,2.5,7,250,0,
//! 900,1000,,,,,1 2
//! ```
//!
//! The first line names the columns, in any order; `arrival` and `duration` must be there. Times are
//! whole microseconds. The first job is number 1, and dependencies name the numbers of earlier jobs,
//! with blanks between them: so no cycle can be written down. Empty lines and lines that begin with
//! `#` are skipped.

use std::{
    fmt,
    io::{self, BufWriter, Read, Write},
    time::Duration,
};

use shiftwork::job::CLASSES_MAX;

/// So many jobs a trace can have. Fewer in tests, as below, so that the limits are soon reached.
pub(crate) const JOBS_MAX: usize = if cfg!(test) { 1_000 } else { 1_000_000 };
/// So many dependencies.
const DEPENDENCIES_MAX: usize = if cfg!(test) { 2_000 } else { 10_000_000 };
/// So many bytes.
const BYTES_MAX: u64 = if cfg!(test) { 1 << 20 } else { 256 << 20 };
/// A single time: a year, in microseconds.
const MICROS_MAX: u64 = 365 * 24 * 3600 * 1_000_000;
/// All durations together, and the last arrival: a century. So nanoseconds do not overflow.
const WORK_MAX: u64 = 100 * MICROS_MAX;

/// By the constants below.
const COLUMNS: [&str; 7] =
    ["arrival", "duration", "priority", "class", "estimate", "affinity", "dependencies"];

const ARRIVAL: usize = 0;
const DURATION: usize = 1;
const PRIORITY: usize = 2;
const CLASS: usize = 3;
const ESTIMATE: usize = 4;
const AFFINITY: usize = 5;
const DEPENDENCIES: usize = 6;

/// One job of a workload. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Job {
    pub(crate) arrival: u64,
    pub(crate) duration: u64,
    pub(crate) priority: f64,
    pub(crate) class: Option<u32>,
    pub(crate) estimate: Option<u64>,
    /// A worker; where there are fewer, they are counted around again.
    pub(crate) affinity: Option<u32>,
    /// Indexes of earlier jobs.
    pub(crate) after: Vec<u32>,
}

/// A workload in which each job depends on earlier ones only.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Trace {
    pub(crate) jobs: Vec<Job>,
}

/// A line of a trace that can not be read, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    line: usize,
    field: Option<&'static str>,
    what: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(field) = self.field {
            write!(f, ", field `{field}`")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for BadLine {}

impl Trace {
    /// Reads all of it, up to the limit.
    ///
    /// # Errors
    /// If it can not be read, is too large, or says something that has no meaning.
    pub(crate) fn read(source: impl Read) -> anyhow::Result<Trace> {
        let mut bytes = Vec::new();
        source.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > BYTES_MAX {
            anyhow::bail!("it is larger than {} MiB; replay a part of it", BYTES_MAX >> 20);
        }
        Ok(Trace::parse(&bytes)?)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Trace, BadLine> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| {
            let text = line.trim_ascii();
            !text.is_empty() && !text.starts_with(b"#")
        });
        let Some((line, header)) = lines.next() else {
            let what = format!("it is empty; begin with the line `{}`", COLUMNS.join(","));
            return Err(BadLine { line: 1, field: None, what });
        };
        let columns = columns(line, header)?;
        let (mut jobs, mut dependencies, mut work) = (Vec::new(), 0, 0u64);
        let mut last = line;
        for (line, bytes) in lines {
            last = line;
            let bad = |what: String| BadLine { line, field: None, what };
            if jobs.len() == JOBS_MAX {
                return Err(bad(format!("there are more than {JOBS_MAX} jobs; replay a part")));
            }
            let job = parse_job(line, bytes, &columns, jobs.len())?;
            dependencies += job.after.len();
            if dependencies > DEPENDENCIES_MAX {
                return Err(bad(format!(
                    "there are more than {DEPENDENCIES_MAX} dependencies; replay a part"
                )));
            }
            work += job.duration;
            if work > WORK_MAX {
                return Err(bad("all jobs together take more than a century; check the unit of \
                     `duration`, which is microseconds"
                    .to_owned()));
            }
            jobs.push(job);
        }
        if jobs.is_empty() {
            let what = "there are no jobs below it; add a line for each".to_owned();
            return Err(BadLine { line: last, field: None, what });
        }
        Ok(Trace { jobs })
    }

    /// Writes it, in a form that [`parse`](Trace::parse) reads.
    pub(crate) fn write(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        let field = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        writeln!(to, "{}", COLUMNS.join(","))?;
        for job in &self.jobs {
            let after: Vec<String> = job.after.iter().map(|at| (at + 1).to_string()).collect();
            writeln!(
                to,
                "{},{},{},{},{},{},{}",
                job.arrival,
                job.duration,
                job.priority,
                field(job.class.map(u64::from)),
                field(job.estimate),
                field(job.affinity.map(u64::from)),
                after.join(" "),
            )?;
        }
        to.flush()
    }

    /// When each job can be submitted, in microseconds: at its arrival, but not before those that it
    /// depends on. What comes of it is the same, since it can not start earlier.
    pub(crate) fn submissions(&self) -> Vec<u64> {
        let mut at: Vec<u64> = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let latest = job.after.iter().map(|before| at[*before as usize]).max();
            at.push(job.arrival.max(latest.unwrap_or(0)));
        }
        at
    }

    /// What all jobs take together.
    pub(crate) fn work(&self) -> Duration {
        Duration::from_micros(self.jobs.iter().map(|job| job.duration).sum())
    }

    /// What about a workload is beyond the limits of a trace, if it was not read but made.
    pub(crate) fn excess(&self) -> Option<&'static str> {
        let single = |job: &Job| job.arrival.max(job.duration).max(job.estimate.unwrap_or(0));
        if self.jobs.iter().any(|job| single(job) > MICROS_MAX) {
            return Some("a job would arrive after more than a year, or take as long");
        }
        let work = self.jobs.iter().fold(0, |sum: u64, job| sum.saturating_add(job.duration));
        (work > WORK_MAX).then_some("all jobs together would take more than a century")
    }

    pub(crate) fn first_arrival(&self) -> Duration {
        Duration::from_micros(self.jobs.iter().map(|job| job.arrival).min().unwrap_or(0))
    }

    pub(crate) fn last_arrival(&self) -> Duration {
        Duration::from_micros(self.jobs.iter().map(|job| job.arrival).max().unwrap_or(0))
    }

    pub(crate) fn median_duration(&self) -> Duration {
        let mut all: Vec<u64> = self.jobs.iter().map(|job| job.duration).collect();
        let middle = all.len() / 2;
        Duration::from_micros(*all.select_nth_unstable(middle).1)
    }

    /// From the first arrival to the last end, if there were as many workers as jobs.
    pub(crate) fn critical_path(&self) -> Duration {
        let mut ends: Vec<u64> = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let latest = job.after.iter().map(|before| ends[*before as usize]).max();
            ends.push(job.arrival.max(latest.unwrap_or(0)) + job.duration);
        }
        Duration::from_micros(ends.into_iter().max().unwrap_or(0)) - self.first_arrival()
    }
}

/// Which column of the file holds which field.
type Columns = [Option<usize>; COLUMNS.len()];

fn columns(line: usize, header: &[u8]) -> Result<Columns, BadLine> {
    let bad = |what: String| BadLine { line, field: None, what };
    let header = str::from_utf8(header).map_err(|_| bad("it is not text in UTF-8".to_owned()))?;
    let mut columns: Columns = [None; COLUMNS.len()];
    for (at, name) in header.trim().split(',').map(str::trim).enumerate() {
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            let known = COLUMNS.join(", ");
            return Err(bad(format!("there is no column `{name}`; the columns are {known}")));
        };
        if columns[column].replace(at).is_some() {
            return Err(bad(format!("the column `{name}` is there twice; leave one out")));
        }
    }
    match columns[..2].iter().position(Option::is_none) {
        Some(missing) => Err(bad(format!("the column `{}` is missing; add it", COLUMNS[missing]))),
        None => Ok(columns),
    }
}

/// The fields of one line, by the name of their column.
struct Fields<'a> {
    line: usize,
    fields: Vec<&'a str>,
    columns: &'a Columns,
}

impl<'a> Fields<'a> {
    fn bad(&self, column: usize, what: String) -> BadLine {
        BadLine { line: self.line, field: Some(COLUMNS[column]), what }
    }

    /// What a field says, if it is there and says something.
    fn get(&self, column: usize) -> Option<&'a str> {
        let text = self.fields[self.columns[column]?];
        (!text.is_empty()).then_some(text)
    }

    /// A whole number that is at least `min` and at most `max`.
    fn number(&self, column: usize, min: u64, max: u64) -> Result<Option<u64>, BadLine> {
        let Some(text) = self.get(column) else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|_| !text.starts_with('+'));
        match number {
            Some(number) if (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(self.bad(
                column,
                format!("`{text}` is not a whole number from {min} to {max}; write it in digits"),
            )),
        }
    }
}

fn parse_job(
    line: usize,
    bytes: &[u8],
    columns: &Columns,
    jobs_before: usize,
) -> Result<Job, BadLine> {
    let bad = |what: String| BadLine { line, field: None, what };
    let text = str::from_utf8(bytes).map_err(|_| bad("it is not text in UTF-8".to_owned()))?;
    let fields: Vec<&str> = text.trim().split(',').map(str::trim).collect();
    let wanted = columns.iter().flatten().count();
    if fields.len() != wanted {
        return Err(bad(format!(
            "it has {} fields and the header {wanted}; leave fields empty rather than out",
            fields.len()
        )));
    }
    let fields = Fields { line, fields, columns };
    let required = |column, min| match fields.number(column, min, MICROS_MAX) {
        Ok(Some(number)) => Ok(number),
        Ok(None) => Err(fields.bad(column, "it is empty; give microseconds".to_owned())),
        Err(bad) => Err(bad),
    };
    Ok(Job {
        arrival: required(ARRIVAL, 0)?,
        duration: required(DURATION, 1)?,
        priority: match fields.get(PRIORITY).map(str::parse::<f64>) {
            None => 0.0,
            Some(Ok(priority)) if priority.is_finite() => priority,
            Some(_) => {
                let what = "it is not a finite number; write one, such as 1.5".to_owned();
                return Err(fields.bad(PRIORITY, what));
            }
        },
        class: fields.number(CLASS, 0, u64::from(CLASSES_MAX) - 1)?.map(|class| class as u32),
        estimate: fields.number(ESTIMATE, 1, MICROS_MAX)?,
        affinity: fields.number(AFFINITY, 0, u64::from(u32::MAX))?.map(|worker| worker as u32),
        after: match fields.get(DEPENDENCIES) {
            None => Vec::new(),
            Some(text) => parse_dependencies(&fields, text, jobs_before)?,
        },
    })
}

fn parse_dependencies(
    fields: &Fields<'_>,
    text: &str,
    jobs_before: usize,
) -> Result<Vec<u32>, BadLine> {
    let this = jobs_before + 1;
    let parse = |word: &str| match word.parse::<usize>() {
        Ok(number) if (1..this).contains(&number) => Ok((number - 1) as u32),
        Ok(number) => Err(format!(
            "this is job {this}, and it depends on job {number}; name only jobs that stand above \
             it, counted from 1"
        )),
        Err(_) => Err(format!(
            "`{word}` is not the number of a job; write the numbers with blanks between them"
        )),
    };
    text.split_whitespace()
        .map(|word| parse(word).map_err(|what| fields.bad(DEPENDENCIES, what)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        let said = Trace::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(expect), "{text:?} said: {said}");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let job = |arrival, duration| Job { arrival, duration, ..Job::default() };
        let full = Job {
            priority: -2.5,
            class: Some(4095),
            estimate: Some(9),
            affinity: Some(1023),
            after: vec![0, 1],
            ..job(7, 3)
        };
        let trace = Trace { jobs: vec![job(0, 1), job(5, 2), full] };
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(Trace::parse(&text).unwrap(), trace);
    }

    #[test]
    fn columns_may_be_left_out_and_come_in_any_order() {
        let text = "\u{feff}# of the night shift\r\nduration , arrival\r\n\r\n20, 10\r\n";
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(trace.jobs, [Job { arrival: 10, duration: 20, ..Job::default() }]);
    }

    #[test]
    fn a_bad_line_is_named_with_its_field_and_what_to_do() {
        check_refused("", "line 1: it is empty; begin with the line `arrival,duration,");
        check_refused("arrival,length\n", "line 1: there is no column `length`; the columns are");
        check_refused("arrival\n1\n", "line 1: the column `duration` is missing");
        check_refused("arrival,duration,arrival\n", "line 1: the column `arrival` is there twice");
        check_refused("arrival,duration\n", "line 1: there are no jobs below it");
        let below = |line: &str| format!("arrival,duration,priority,dependencies\n1,1,,\n{line}");
        check_refused(&below("1"), "line 3: it has 1 fields and the header 4");
        check_refused(&below("x,1,,"), "line 3, field `arrival`: `x` is not a whole number");
        check_refused(&below(",1,,"), "line 3, field `arrival`: it is empty; give microseconds");
        check_refused(
            &below("1,0,,"),
            "line 3, field `duration`: `0` is not a whole number from 1",
        );
        check_refused(&below("1,-5,,"), "line 3, field `duration`: `-5` is not");
        check_refused(&below("1,1.5,,"), "line 3, field `duration`: `1.5` is not");
        check_refused(&below("1,99999999999999999999,,"), "line 3, field `duration`");
        check_refused(&below("1,1,NaN,"), "line 3, field `priority`: it is not a finite number");
        check_refused(&below("1,1,inf,"), "line 3, field `priority`");
        check_refused(
            &below("1,1,,2"),
            "line 3, field `dependencies`: this is job 2, and it depen",
        );
        check_refused(&below("1,1,,0"), "name only jobs that stand above it, counted from 1");
        check_refused(&below("1,1,,1;1"), "`1;1` is not the number of a job");
        let class = "arrival,duration,class,estimate,affinity\n1,1,";
        check_refused(&format!("{class}4096,,"), "field `class`: `4096` is not");
        check_refused(&format!("{class},0,"), "field `estimate`: `0` is not");
        check_refused(&format!("{class},,-1"), "field `affinity`: `-1` is not");
        let bad = Trace::parse(b"arrival,duration\n1,\xff\n").unwrap_err();
        assert_eq!(bad.to_string(), "line 2: it is not text in UTF-8");
    }

    #[test]
    fn a_trace_has_limits() {
        let year = format!("1,{MICROS_MAX}\n");
        check_refused(
            &format!("arrival,duration\n{}", year.repeat(101)),
            "line 102: all jobs toge",
        );
        let many = format!("arrival,duration\n{}", "1,1\n".repeat(JOBS_MAX + 1));
        check_refused(&many, "line 1002: there are more than 1000 jobs");
        let tied = format!("arrival,duration,dependencies\n1,1,\n1,1,{}", "1 ".repeat(2_001));
        check_refused(&tied, "line 3: there are more than 2000 dependencies");
        let endless = Trace::read(io::repeat(b'#')).unwrap_err();
        assert!(endless.to_string().contains("larger than 1 MiB"));
    }

    #[test]
    fn no_schedule_beats_the_longest_chain() {
        let text = "arrival,duration,dependencies\n10,5,\n0,5,1\n40,1,\n";
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(trace.submissions(), [10, 10, 40]);
        assert_eq!(trace.critical_path(), Duration::from_micros(41));
        assert_eq!(trace.work(), Duration::from_micros(11));
    }
}
