//! Which policies go with which balancers: what the library takes, and nothing else.

use anyhow::{Result, bail};
use clap::ValueEnum;
use shiftwork::job::{Balancer, Policy, Pool, PoolBuilder, PoolError};

use super::Settings;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// First come, first served
    Fcfs,
    /// The highest priority first
    HighestPriority,
    /// The shortest estimate first
    ShortestFirst,
    /// A FIFO per worker, dealt in turn
    RoundRobin,
    /// A deque per worker, and stealing
    WorkStealing,
    /// Several levels: what uses up its slice sinks
    MultilevelFeedback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BalancerName {
    /// Whoever comes first
    None,
    /// Each worker in turn
    RoundRobin,
    /// The worker with the least to do
    LeastLoaded,
    /// The worker with the shortest turns of late
    Fastest,
    /// The worker that the job names
    Affinity,
}

/// A policy and a balancer that mean something together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) policy: PolicyName,
    pub(crate) balancer: BalancerName,
}

impl Pair {
    /// All pairs of these that mean something; of none, all that there are.
    ///
    /// # Errors
    /// If none of them does, with the reason.
    pub(crate) fn among(
        policies: &[PolicyName],
        balancers: &[BalancerName],
        settings: &Settings,
    ) -> Result<Vec<Pair>> {
        let policies = if policies.is_empty() { PolicyName::value_variants() } else { policies };
        let balancers =
            if balancers.is_empty() { BalancerName::value_variants() } else { balancers };
        let mut pairs = Vec::new();
        let mut refusal = None;
        for policy in policies {
            for balancer in balancers {
                let pair = Pair { policy: *policy, balancer: *balancer };
                match pair.builder(settings).workers(1).simulate(0) {
                    Ok(_) => pairs.push(pair),
                    Err(error @ PoolError::Pair { .. }) => refusal = Some(error),
                    Err(error) => bail!(error),
                }
            }
        }
        if let (true, Some(refusal)) = (pairs.is_empty(), refusal) {
            bail!(refusal);
        }
        pairs.dedup_by(|second, first| second.is_same_as(*first));
        Ok(pairs)
    }

    /// The policy RoundRobin is its own balancer.
    fn is_same_as(self, other: Pair) -> bool {
        self == other || [self, other].iter().all(|pair| pair.policy == PolicyName::RoundRobin)
    }

    /// Whether long jobs are resumable under it: they take their turns in slices.
    pub(crate) fn slices(self, settings: &Settings) -> bool {
        settings.resumable || self.policy == PolicyName::MultilevelFeedback
    }

    /// A pool under this pair.
    pub(crate) fn builder(self, settings: &Settings) -> PoolBuilder {
        let builder = Pool::builder()
            .policy(self.policy(settings))
            .quantum(settings.slice)
            .ageing(settings.ageing);
        match self.balancer() {
            Some(balancer) => builder.balancer(balancer),
            None => builder,
        }
    }

    fn policy(self, settings: &Settings) -> Policy {
        match self.policy {
            PolicyName::Fcfs => Policy::Fcfs,
            PolicyName::HighestPriority => Policy::HighestPriority,
            PolicyName::ShortestFirst => Policy::ShortestFirst,
            PolicyName::RoundRobin => Policy::RoundRobin,
            PolicyName::WorkStealing => Policy::WorkStealing,
            PolicyName::MultilevelFeedback => Policy::MultilevelFeedback {
                queue_count: settings.levels,
                time_slice: settings.slice,
            },
        }
    }

    fn balancer(self) -> Option<Balancer> {
        match self.balancer {
            BalancerName::None => None,
            BalancerName::RoundRobin => Some(Balancer::RoundRobin),
            BalancerName::LeastLoaded => Some(Balancer::LeastLoaded),
            BalancerName::Fastest => Some(Balancer::Fastest),
            BalancerName::Affinity => Some(Balancer::Affinity(None)),
        }
    }

    /// The policy's name, as in the documentation.
    pub(crate) fn policy_name(self) -> &'static str {
        self.policy(&Settings::default()).name()
    }

    /// The balancer's name, as in the documentation.
    pub(crate) fn balancer_name(self) -> Option<&'static str> {
        Some(self.balancer()?.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix in the documentation of the library.
    #[test]
    fn there_are_as_many_pairs_as_the_matrix_has_cells_with_a_meaning() {
        let matrix = include_str!("../../../job/src/matrix.md");
        let cells = matrix.lines().skip(2).flat_map(|row| row.split('|').skip(2));
        let cells = cells.map(str::trim).filter(|cell| !cell.is_empty());
        // What is refused is in italics, and one says that it is the same as its neighbour.
        let meanings = cells.filter(|cell| !cell.starts_with('*') && !cell.starts_with("the same"));
        let pairs = Pair::among(&[], &[], &Settings::default()).unwrap();
        assert_eq!(pairs.len(), meanings.count());
        assert_eq!(pairs.len(), 22);
    }

    #[test]
    fn the_guide_has_the_matrix_of_the_library() {
        let guide = include_str!("../../../../docs/jobs.md");
        assert!(guide.contains(include_str!("../../../job/src/matrix.md").trim()));
    }

    #[test]
    fn a_pair_without_a_meaning_is_refused_with_the_reason() {
        let (policies, balancers) = ([PolicyName::RoundRobin], [BalancerName::Fastest]);
        let error = Pair::among(&policies, &balancers, &Settings::default()).unwrap_err();
        assert!(error.to_string().contains("use Fcfs with this balancer instead"), "{error}");
    }
}
