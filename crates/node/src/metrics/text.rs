//! How are numbers written for Prometheus? Its text format, version 0.0.4.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// What kind of numbers a family holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Numbers of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
}

/// A page of families.
#[derive(Debug, Default)]
pub(super) struct Page(String);

/// A label and its value. Values are our own words, so they need no escaping.
pub(super) type Label<'a> = (&'static str, &'a str);

impl Page {
    pub(super) fn family(&mut self, family: &Family) {
        let Family { name, help, kind } = family;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    pub(super) fn number(&mut self, family: &Family, labels: &[Label<'_>], value: impl Display) {
        self.sample(family.name, "", labels, value);
    }

    pub(super) fn histogram(&mut self, family: &Family, labels: &[Label<'_>], times: &Histogram) {
        let name = family.name;
        let mut count = 0;
        for (bound, sum) in times.cumulated() {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            let labels = [labels, &[("le", &bound)]].concat();
            self.sample(name, "_bucket", &labels, sum);
            count = sum;
        }
        self.sample(name, "_sum", labels, times.seconds());
        self.sample(name, "_count", labels, count);
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let labels: Vec<_> = labels.iter().map(|(key, is)| format!("{key}=\"{is}\"")).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name}{suffix} {value}")),
            false => self.line(format_args!("{name}{suffix}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_page_reads_as_the_format_has_it() {
        let mut page = Page::default();
        let jobs = Family { name: "jobs_total", kind: Kind::Counter, help: "Jobs." };
        page.family(&jobs);
        page.number(&jobs, &[], 3);
        page.number(&jobs, &[("kind", "a"), ("end", "b")], 4);
        let expected = "# HELP jobs_total Jobs.\n# TYPE jobs_total counter\njobs_total 3\n\
                        jobs_total{kind=\"a\",end=\"b\"} 4\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn a_histogram_ends_with_the_sum_of_all() {
        let times = Histogram::default();
        times.note(Duration::from_micros(30));
        times.note(Duration::from_secs(9));
        let mut page = Page::default();
        let family = Family { name: "wait_seconds", kind: Kind::Histogram, help: "Waits." };
        page.histogram(&family, &[("who", "x")], &times);
        let page = page.finish();
        assert!(page.contains("wait_seconds_bucket{who=\"x\",le=\"0.000025\"} 0\n"), "{page}");
        assert!(page.contains("wait_seconds_bucket{who=\"x\",le=\"0.00005\"} 1\n"), "{page}");
        assert!(page.contains("wait_seconds_bucket{who=\"x\",le=\"+Inf\"} 2\n"), "{page}");
        assert!(page.contains("wait_seconds_sum{who=\"x\"} 9.00003\n"), "{page}");
        assert!(page.ends_with("wait_seconds_count{who=\"x\"} 2\n"), "{page}");
    }
}
