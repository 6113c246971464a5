//! What are the numbers at one moment? Collected from many sources, in the order of their families.

use std::time::Duration;

use super::Family;

/// Numbers at one moment, by family.
///
/// Sources are added one after the other, each under a name: [`runtime`](Samples::runtime), and with
/// the features of these names processes, jobs, tasks and shards.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    families: Vec<(&'static Family, Vec<Sample>)>,
}

/// One number, or one distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The values of the family's labels, in their order. Any text.
    pub labels: Vec<String>,
    /// What it is.
    pub value: Value,
}

/// What a sample is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number of things.
    Whole(u64),
    /// A number that may have a fraction.
    Real(f64),
    /// Counts by size.
    Distribution(Distribution),
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Whole(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::Whole(number as u64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

/// In seconds.
impl From<Duration> for Value {
    fn from(time: Duration) -> Value {
        Value::Real(time.as_secs_f64())
    }
}

impl From<Distribution> for Value {
    fn from(distribution: Distribution) -> Value {
        Value::Distribution(distribution)
    }
}

/// Counts by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    bounds: Vec<f64>,
    counts: Vec<u64>,
    sum: f64,
}

impl Distribution {
    /// From upper bounds, the smallest first; how many are within each and no earlier one, with one
    /// more for those above all; and the sum of all.
    ///
    /// # Panics
    /// If there is not one more count than there are bounds.
    pub fn new(bounds: Vec<f64>, counts: Vec<u64>, sum: f64) -> Distribution {
        assert_eq!(
            counts.len(),
            bounds.len() + 1,
            "the last count is for what is above all bounds"
        );
        Distribution { bounds, counts, sum }
    }

    /// Upper bounds, the smallest first.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// How many are within each bound and no earlier one; the last is for those above all.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The sum of all.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

impl Samples {
    /// Nothing yet.
    pub fn new() -> Samples {
        Samples::default()
    }

    /// This family is there, even if it has no numbers now.
    pub fn family(&mut self, family: &'static Family) {
        self.of(family);
    }

    /// Adds a number of a family.
    ///
    /// # Panics
    /// If there is not one value for each label of the family.
    pub fn add(&mut self, family: &'static Family, labels: &[&str], value: impl Into<Value>) {
        let name = family.name;
        assert_eq!(labels.len(), family.labels.len(), "{name} has the labels {:?}", family.labels);
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        self.of(family).push(Sample { labels, value: value.into() });
    }

    /// All families, each with its numbers.
    pub fn families(&self) -> impl Iterator<Item = (&'static Family, &[Sample])> {
        self.families.iter().map(|(family, samples)| (*family, samples.as_slice()))
    }

    fn of(&mut self, family: &'static Family) -> &mut Vec<Sample> {
        // From the end: what comes next is mostly of the family that came last.
        let at = self.families.iter().rposition(|(known, _)| known.name == family.name);
        let at = at.unwrap_or_else(|| {
            self.families.push((family, Vec::new()));
            self.families.len() - 1
        });
        &mut self.families[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::{super::families::kernel, *};

    #[test]
    fn sources_that_come_later_join_the_families_that_are_there() {
        let mut samples = Samples::new();
        for runtime in ["a", "b"] {
            samples.add(&kernel::QUEUED, &[runtime], 1_u64);
            samples.add(&kernel::TIMERS, &[runtime], 2_u64);
        }
        let seen: Vec<_> =
            samples.families().map(|(family, all)| (family.name, all.len())).collect();
        assert_eq!(seen, [(kernel::QUEUED.name, 2), (kernel::TIMERS.name, 2)]);
    }

    #[test]
    #[should_panic(expected = "shiftwork_kernel_queued has the labels")]
    fn a_number_without_its_labels_is_refused() {
        Samples::new().add(&kernel::QUEUED, &[], 1_u64);
    }
}
