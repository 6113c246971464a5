//! What came out of a plan, and is it what was aimed at?

use std::collections::BTreeMap;

use super::plan::{Allocator, Better, Target};

/// One result of one contestant, over all rounds.
#[derive(Debug, Default, Clone)]
pub(super) struct Series {
    values: Vec<f64>,
    beside: BTreeMap<String, Vec<f64>>,
    /// Why there is no value, if there is none.
    note: Option<String>,
}

impl Series {
    /// Of which no more is known than this.
    pub(super) fn of(value: f64) -> Series {
        Series { values: vec![value], ..Series::default() }
    }

    pub(super) fn add(&mut self, value: f64) {
        self.values.push(value);
    }

    pub(super) fn add_beside(&mut self, name: &str, value: f64) {
        self.beside.entry(name.to_owned()).or_default().push(value);
    }

    /// It failed, in this way.
    pub(super) fn fail(&mut self, why: String) {
        self.note = Some(why);
    }

    /// The median of the rounds that gave a value.
    pub(super) fn value(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| median(&self.values))
    }

    /// How many of them gave one.
    pub(super) fn rounds(&self) -> usize {
        self.values.len()
    }

    /// Why there is no value.
    pub(super) fn failure(&self) -> Option<&str> {
        if self.values.is_empty() { self.note.as_deref() } else { None }
    }

    /// The best round and the worst.
    pub(super) fn extremes(&self, better: Better) -> Option<(f64, f64)> {
        let low = self.values.iter().copied().reduce(f64::min)?;
        let high = self.values.iter().copied().reduce(f64::max)?;
        Some(match better {
            Better::Smaller => (low, high),
            Better::Larger => (high, low),
        })
    }

    /// The distance of the extremes. A single round has none.
    pub(super) fn range(&self) -> Option<f64> {
        range(&self.values)
    }

    /// The same as a share of the median. None of what is not above 0.
    pub(super) fn spread(&self) -> Option<f64> {
        let middle = self.value().filter(|middle| *middle > 0.0)?;
        Some(self.range()? / middle)
    }

    /// The numbers beside the value, as medians.
    pub(super) fn beside(&self) -> BTreeMap<&str, f64> {
        self.beside.iter().map(|(name, values)| (name.as_str(), median(values))).collect()
    }

    /// How far apart their extremes are.
    pub(super) fn beside_ranges(&self) -> BTreeMap<&str, f64> {
        let ranges = self.beside.iter();
        ranges.filter_map(|(name, values)| Some((name.as_str(), range(values)?))).collect()
    }
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) unit: String,
    /// What ours ran under.
    pub(super) allocator: Allocator,
    /// Does everyone have it, and is there another row for another?
    pub(super) apart: bool,
    pub(super) workers: usize,
    pub(super) better: Better,
    /// Without a value where ours was not run, or failed.
    pub(super) ours: Series,
    pub(super) peers: BTreeMap<String, Series>,
    /// Others who do the same work and are no peers.
    pub(super) information: BTreeMap<String, Series>,
    pub(super) floor: Option<f64>,
    pub(super) target: Target,
}

impl Row {
    pub(super) fn best_peer(&self) -> Option<(&str, f64)> {
        self.best_of(&[])
    }

    fn best_of(&self, names: &[&str]) -> Option<(&str, f64)> {
        let asked = |name: &str| names.is_empty() || names.contains(&name);
        let peers = self.peers.iter().filter(|(name, _)| asked(name));
        let values = peers.filter_map(|(name, series)| Some((name.as_str(), series.value()?)));
        match self.better {
            Better::Smaller => values.min_by(|a, b| a.1.total_cmp(&b.1)),
            Better::Larger => values.max_by(|a, b| a.1.total_cmp(&b.1)),
        }
    }

    /// The others from the best to the worst, those that failed last.
    pub(super) fn others_in_order(&self) -> Vec<(&str, &Series)> {
        let mut others: Vec<(&str, &Series)> = self
            .peers
            .iter()
            .chain(&self.information)
            .map(|(name, series)| (name.as_str(), series))
            .collect();
        let cost = |series: &Series| match (series.value(), self.better) {
            (None, _) => f64::INFINITY,
            (Some(value), Better::Smaller) => value,
            (Some(value), Better::Larger) => -value,
        };
        others.sort_by(|a, b| cost(a.1).total_cmp(&cost(b.1)));
        others
    }

    /// Above 1 when ours is better than the best peer. None of what is not above 0: a difference
    /// of two times may be.
    pub(super) fn ratio(&self) -> Option<f64> {
        let (ours, (_, best)) = (self.ours.value()?, self.best_peer()?);
        (ours > 0.0 && best > 0.0).then(|| match self.better {
            Better::Smaller => best / ours,
            Better::Larger => ours / best,
        })
    }

    /// Is ours so many times better than the best of these?
    fn is_better(&self, times: f64, names: &[&str]) -> Option<bool> {
        let (ours, (_, best)) = (self.ours.value()?, self.best_of(names)?);
        Some(match self.better {
            Better::Smaller => ours * times <= best,
            Better::Larger => ours >= best * times,
        })
    }

    /// Is everything aimed at reached? None where nothing is, or nobody to compare with.
    pub(super) fn met(&self) -> Option<bool> {
        let ours = self.ours.value()?;
        let Target { max, min, ratio, against, ahead, of_floor, beside } = self.target;
        let max = max.map(|max| ours <= max);
        let min = min.map(|min| ours >= min);
        let ratio = ratio.and_then(|times| self.is_better(times, against));
        let ahead = ahead.then(|| self.is_better(1.0, &[])).flatten();
        let of_floor = of_floor.and_then(|times| {
            let bound = times * self.floor?;
            Some(match self.better {
                Better::Smaller => ours <= bound,
                Better::Larger => ours >= bound,
            })
        });
        let beside = beside.and_then(|(name, max)| Some(*self.ours.beside().get(name)? <= max));
        [max, min, ratio, ahead, of_floor, beside].into_iter().flatten().reduce(|a, b| a && b)
    }
}

fn range(values: &[f64]) -> Option<f64> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    (values.len() > 1).then_some(high - low)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan::{AHEAD, NONE};

    fn row(better: Better, ours: Series, target: Target) -> Row {
        let mut starved = Series::default();
        starved.fail("starved".to_owned());
        let peers = [("slow", Series::of(100.0)), ("fast", Series::of(10.0)), ("hungry", starved)];
        Row {
            name: "spawn".to_owned(),
            unit: "ns/process".to_owned(),
            allocator: Allocator::System,
            apart: false,
            workers: 2,
            better,
            ours,
            peers: peers.map(|(name, series)| (name.to_owned(), series)).into(),
            information: [("native", Series::of(1.0))]
                .map(|(name, it)| (name.to_owned(), it))
                .into(),
            floor: Some(4.0),
            target,
        }
    }

    #[test]
    fn one_round_has_no_spread_and_what_is_below_zero_only_a_range() {
        let of = |values: &[f64]| {
            let mut series = Series::default();
            values.iter().for_each(|value| series.add(*value));
            (series.range(), series.spread())
        };
        assert_eq!(of(&[4.0]), (None, None));
        assert_eq!(of(&[4.0, 4.0]), (Some(0.0), Some(0.0)));
        assert_eq!(of(&[4.0, 3.0, 5.0]), (Some(2.0), Some(0.5)));
        assert_eq!(of(&[-0.5, -1.0, 0.5]), (Some(1.5), None));
    }

    #[test]
    fn a_ratio_above_one_means_ours_is_better() {
        let cost = row(Better::Smaller, Series::of(5.0), AHEAD);
        assert_eq!((cost.best_peer(), cost.ratio()), (Some(("fast", 10.0)), Some(2.0)));
        let rate = row(Better::Larger, Series::of(50.0), AHEAD);
        assert_eq!((rate.best_peer(), rate.ratio()), (Some(("slow", 100.0)), Some(0.5)));
        assert_eq!((cost.met(), rate.met()), (Some(true), Some(false)));
    }

    #[test]
    fn ahead_of_all_is_more_than_ahead_of_some() {
        let some = Target { against: &["slow"], ..AHEAD };
        assert_eq!(row(Better::Smaller, Series::of(20.0), some).met(), Some(true));
        let all = Target { ahead: true, ..some };
        assert_eq!(row(Better::Smaller, Series::of(20.0), all).met(), Some(false));
        assert_eq!(row(Better::Smaller, Series::of(10.0), all).met(), Some(true));
    }

    #[test]
    fn a_floor_under_a_rate_is_a_target_too() {
        let target = Target { min: Some(300.0), ..AHEAD };
        assert_eq!(row(Better::Larger, Series::of(200.0), target).met(), Some(false));
        assert_eq!(row(Better::Larger, Series::of(300.0), target).met(), Some(true));
    }

    #[test]
    fn so_many_times_the_floor_is_a_target_too() {
        let target = Target { of_floor: Some(1.1), ..NONE };
        assert_eq!(row(Better::Smaller, Series::of(4.3), target).met(), Some(true));
        assert_eq!(row(Better::Smaller, Series::of(4.5), target).met(), Some(false));
    }

    #[test]
    fn who_is_there_for_information_enters_no_ratio() {
        let row = row(Better::Smaller, Series::of(5.0), AHEAD);
        assert!(row.information["native"].value() < row.ours.value());
        assert_eq!((row.best_peer(), row.met()), (Some(("fast", 10.0)), Some(true)));
    }

    #[test]
    fn without_ours_there_is_no_ratio_but_a_best_peer() {
        let row = row(Better::Smaller, Series::default(), AHEAD);
        assert_eq!((row.ratio(), row.met()), (None, None));
        assert_eq!(row.best_peer(), Some(("fast", 10.0)));
    }

    #[test]
    fn who_failed_comes_last_and_says_why() {
        let row = row(Better::Larger, Series::of(1.0), AHEAD);
        let names: Vec<&str> = row.others_in_order().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["slow", "fast", "native", "hungry"]);
        assert_eq!(row.peers["hungry"].failure(), Some("starved"));
    }
}
