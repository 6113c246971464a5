//! In what form does a measurement leave the process?
//!
//! One line of JSON per result: `{"workload":…,"who":…,"unit":…,"value":…}` and further numbers
//! beside them. Smaller is better for every value.

use std::fmt;

/// One result.
#[derive(Debug, Clone)]
pub struct Line {
    workload: String,
    who: String,
    unit: &'static str,
    value: f64,
    extra: Vec<(&'static str, f64)>,
}

impl Line {
    pub fn new(workload: &str, who: &str, unit: &'static str, value: f64) -> Line {
        Line { workload: workload.into(), who: who.into(), unit, value, extra: Vec::new() }
    }

    /// Adds a number that explains the value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Line {
        self.extra.push((name, value));
        self
    }

    pub fn value(&self) -> f64 {
        self.value
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names are ours: no character in them needs an escape.
        write!(
            f,
            r#"{{"workload":"{}","who":"{}","unit":"{}","value":{:.3}"#,
            self.workload, self.who, self.unit, self.value
        )?;
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
    fn median_and_percentile_of_few() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
        let mut hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&mut hundred, 99.0), 99.0);
        assert_eq!(percentile(&mut [5.0], 50.0), 5.0);
    }
}
