//! How are numbers written for Prometheus? Its text format, version 0.0.4.

use std::fmt::Write;

use super::{Distribution, Family, Samples, Value};

impl Samples {
    /// What [`to_text`](Samples::to_text) is, for the header `Content-Type`.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// The page that Prometheus reads. Values of labels are escaped: they may be any text.
    pub fn to_text(&self) -> String {
        let mut page = String::new();
        for (family, samples) in self.families() {
            let Family { name, kind, help, .. } = family;
            page.push_str("# HELP ");
            page.push_str(name);
            page.push(' ');
            escape(&mut page, help, false);
            page.push_str("\n# TYPE ");
            page.push_str(name);
            page.push(' ');
            page.push_str(kind.name());
            page.push('\n');
            for sample in samples {
                let labels = labels(family, &sample.labels);
                match &sample.value {
                    Value::Whole(number) => {
                        line(&mut page, name, "", &labels, Number::Whole(*number))
                    }
                    Value::Real(number) => {
                        line(&mut page, name, "", &labels, Number::Real(*number))
                    }
                    Value::Distribution(all) => distribution(&mut page, name, &labels, all),
                }
            }
        }
        page
    }
}

#[derive(Clone, Copy)]
enum Number {
    Whole(u64),
    Real(f64),
}

/// Labels with their values, as they are between the braces.
fn labels(family: &Family, values: &[String]) -> String {
    let mut text = String::new();
    for (label, value) in family.labels.iter().zip(values) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(label);
        text.push_str("=\"");
        escape(&mut text, value, true);
        text.push('"');
    }
    text
}

fn distribution(page: &mut String, name: &str, labels: &str, all: &Distribution) {
    let mut count = 0;
    let bounds = all.bounds().iter().copied().chain([f64::INFINITY]);
    for (bound, more) in bounds.zip(all.counts()) {
        count += more;
        let mut labels = labels.to_owned();
        if !labels.is_empty() {
            labels.push(',');
        }
        labels.push_str("le=\"");
        real(&mut labels, bound);
        labels.push('"');
        line(page, name, "_bucket", &labels, Number::Whole(count));
    }
    line(page, name, "_sum", labels, Number::Real(all.sum()));
    line(page, name, "_count", labels, Number::Whole(count));
}

fn line(page: &mut String, name: &str, suffix: &str, labels: &str, number: Number) {
    page.push_str(name);
    page.push_str(suffix);
    if !labels.is_empty() {
        page.push('{');
        page.push_str(labels);
        page.push('}');
    }
    page.push(' ');
    match number {
        Number::Whole(number) => write!(page, "{number}").expect("a string takes everything"),
        Number::Real(number) => real(page, number),
    }
    page.push('\n');
}

/// Prometheus reads Go's spelling of what is no number.
fn real(page: &mut String, number: f64) {
    if number.is_infinite() {
        page.push_str(if number > 0.0 { "+Inf" } else { "-Inf" });
    } else {
        write!(page, "{number}").expect("a string takes everything");
    }
}

fn escape(page: &mut String, text: &str, quotes: bool) {
    for c in text.chars() {
        match c {
            '\\' => page.push_str("\\\\"),
            '\n' => page.push_str("\\n"),
            '"' if quotes => page.push_str("\\\""),
            c => page.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Kind, Unit},
        *,
    };

    static JOBS: Family = Family {
        name: "jobs_total",
        kind: Kind::Counter,
        unit: Unit::Count,
        labels: &["kind", "end"],
        help: "Jobs, with a \\ in \"it\".",
    };
    static WAITS: Family = Family {
        name: "wait_seconds",
        kind: Kind::Histogram,
        unit: Unit::Seconds,
        labels: &["who"],
        help: "Waits.",
    };
    static HEAT: Family =
        Family { name: "heat", kind: Kind::Gauge, unit: Unit::Count, labels: &[], help: "Heat." };

    #[test]
    fn a_page_reads_as_the_format_has_it() {
        let mut samples = Samples::new();
        samples.add(&JOBS, &["a", "b"], 3_u64);
        samples.family(&WAITS);
        samples.add(&HEAT, &[], 0.5);
        let expected = "# HELP jobs_total Jobs, with a \\\\ in \"it\".\n# TYPE jobs_total counter\n\
                        jobs_total{kind=\"a\",end=\"b\"} 3\n\
                        # HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n\
                        # HELP heat Heat.\n# TYPE heat gauge\nheat 0.5\n";
        assert_eq!(samples.to_text(), expected);
    }

    #[test]
    fn a_name_can_not_break_out_of_its_quotes() {
        let mut samples = Samples::new();
        samples.add(&JOBS, &["a\"} 1\nevil 2", "\\"], u64::MAX);
        let text = samples.to_text();
        let line = text.lines().nth(2).unwrap();
        assert_eq!(line, r#"jobs_total{kind="a\"} 1\nevil 2",end="\\"} 18446744073709551615"#);
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn what_is_no_number_is_spelt_as_prometheus_reads_it() {
        for (number, text) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (1e-9, "0.000000001"),
        ] {
            let mut samples = Samples::new();
            samples.add(&HEAT, &[], number);
            assert!(samples.to_text().ends_with(&format!("\nheat {text}\n")), "{text}");
        }
    }

    #[test]
    fn a_histogram_is_cumulated_and_ends_with_the_sum_of_all() {
        let mut samples = Samples::new();
        let waits = Distribution::new(vec![0.000_025, 0.5], vec![1, 0, 2], 9.25);
        samples.add(&WAITS, &["x"], waits);
        let text = samples.to_text();
        let lines: Vec<_> = text.lines().skip(2).collect();
        let expected = [
            r#"wait_seconds_bucket{who="x",le="0.000025"} 1"#,
            r#"wait_seconds_bucket{who="x",le="0.5"} 1"#,
            r#"wait_seconds_bucket{who="x",le="+Inf"} 3"#,
            r#"wait_seconds_sum{who="x"} 9.25"#,
            r#"wait_seconds_count{who="x"} 3"#,
        ];
        assert_eq!(lines, expected);
    }
}
