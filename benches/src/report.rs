//! In what form does a measurement leave the process?
//!
//! One line of JSON per result: `{"workload":…,"who":…,"unit":…,"value":…}` and further numbers
//! beside them. Smaller values are better, except where the unit is so much per second. A value
//! of `null` says that there is none to give, and `"note":…` why.

use std::fmt;

/// One result.
#[derive(Debug, Clone)]
pub struct Line {
    workload: String,
    who: String,
    unit: &'static str,
    value: Result<f64, String>,
    extra: Vec<(&'static str, f64)>,
}

impl Line {
    pub fn new(workload: &str, who: &str, unit: &'static str, value: f64) -> Line {
        Line { workload: workload.into(), who: who.into(), unit, value: Ok(value), extra: vec![] }
    }

    /// A result that could not be had, and why.
    pub fn without(workload: &str, who: &str, unit: &'static str, why: String) -> Line {
        Line { value: Err(why), ..Line::new(workload, who, unit, 0.0) }
    }

    /// Adds a number that explains the value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Line {
        self.extra.push((name, value));
        self
    }

    pub fn value(&self) -> Option<f64> {
        self.value.as_ref().ok().copied()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names are ours: no character in them needs an escape.
        write!(
            f,
            r#"{{"workload":"{}","who":"{}","unit":"{}","value":"#,
            self.workload, self.who, self.unit
        )?;
        match &self.value {
            Ok(value) => write!(f, "{value:.3}")?,
            Err(why) => write!(f, r#"null,"note":"{why}""#)?,
        }
        for (name, value) in &self.extra {
            write!(f, r#","{name}":{value:.3}"#)?;
        }
        f.write_str("}")
    }
}

/// The middle sample, or the mean of the two in the middle. Zero of none.
pub fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    match samples.len() {
        0 => 0.0,
        n if n % 2 == 1 => samples[n / 2],
        n => (samples[n / 2 - 1] + samples[n / 2]) / 2.0,
    }
}

/// The sample that `percent` of all samples do not exceed. Sorts; zero of none.
pub fn percentile(samples: &mut [f64], percent: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let rank = (samples.len() as f64 * percent / 100.0).ceil() as usize;
    samples.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object() {
        let line = Line::new("submit_1", "tokio", "ns/job", 12.5).with("items", 3.0);
        assert_eq!(
            line.to_string(),
            r#"{"workload":"submit_1","who":"tokio","unit":"ns/job","value":12.500,"items":3.000}"#
        );
    }

    #[test]
    fn a_value_that_could_not_be_had_is_null() {
        let line = Line::without("latency_p50", "tokio", "ms", "starved".to_owned());
        assert_eq!(
            line.to_string(),
            r#"{"workload":"latency_p50","who":"tokio","unit":"ms","value":null,"note":"starved"}"#
        );
    }

    #[test]
    fn median_and_percentile_of_few() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
        let mut hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&mut hundred, 99.0), 99.0);
        assert_eq!(percentile(&mut [5.0], 50.0), 5.0);
    }
}
