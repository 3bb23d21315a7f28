//! Brokers that are pinned to processors: who shares them with whom.

use std::collections::BTreeSet;

/// Processors that brokers are pinned to, and all brokers that may run on one of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PinnedBrokers {
    pub(super) processors: BTreeSet<u32>,
    pub(super) brokers: usize,
    /// CPU time of these brokers together, in processors.
    used: f64,
}

/// The groups of some brokers, each with its processors and how many processors it used. Brokers whose processors
/// overlap, if only by way of a third one's, are one group; one that is not pinned is in none.
pub(super) fn groups<'a>(brokers: impl Iterator<Item = (&'a [u32], f64)>) -> Vec<PinnedBrokers> {
    let mut groups: Vec<PinnedBrokers> = Vec::new();
    for (processors, used) in brokers.filter(|(processors, _)| !processors.is_empty()) {
        let mut own = PinnedBrokers { processors: processors.iter().copied().collect(), brokers: 1, used };
        let overlapping = groups.extract_if(.., |group| !group.processors.is_disjoint(&own.processors));
        let overlapping: Vec<PinnedBrokers> = overlapping.collect();
        for group in overlapping {
            own.processors.extend(group.processors);
            own.brokers += group.brokers;
            own.used += group.used;
        }
        groups.push(own);
    }
    groups
}

impl PinnedBrokers {
    /// How busy its processors were, at least: with its brokers, and with what the host's programs did beyond what the
    /// other processors can hold (`host_used` of `host_processors`, where that is known).
    pub(super) fn busy_share(&self, host: Option<(f64, f64)>) -> f64 {
        let own = self.processors.len() as f64;
        let here = host.map_or(0.0, |(used, processors)| used - (processors - own).max(0.0));
        self.used.max(here) / own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(brokers: &[(&[u32], f64)]) -> Vec<(Vec<u32>, usize, f64)> {
        let groups = groups(brokers.iter().copied());
        let reported =
            |group: PinnedBrokers| (group.processors.into_iter().collect(), group.brokers, group.used);
        groups.into_iter().map(reported).collect()
    }

    #[test]
    fn brokers_whose_processors_overlap_share_them() {
        assert_eq!(of(&[(&[0], 0.5), (&[1], 0.25)]), [(vec![0], 1, 0.5), (vec![1], 1, 0.25)]);
        assert_eq!(
            of(&[(&[0], 0.5), (&[1], 0.25), (&[0], 0.125)]),
            [(vec![1], 1, 0.25), (vec![0], 2, 0.625)]
        );
        // The third one joins the other two.
        assert_eq!(of(&[(&[0], 0.5), (&[2], 0.25), (&[0, 1, 2], 1.0)]), [(vec![0, 1, 2], 3, 1.75)]);
        assert_eq!(of(&[(&[], 0.5), (&[3, 3], 0.25)]), [(vec![3], 1, 0.25)], "not pinned; named twice");
    }

    #[test]
    fn what_fits_nowhere_else_on_the_host_runs_there_too() {
        let group = groups([([0u32].as_slice(), 0.5)].into_iter()).remove(0);
        assert_eq!(group.busy_share(None), 0.5);
        assert_eq!(
            group.busy_share(Some((1.25, 2.0))),
            0.5,
            "a quarter must run on it, which may be the broker's"
        );
        assert_eq!(group.busy_share(Some((1.875, 2.0))), 0.875);
        assert_eq!(group.busy_share(Some((0.75, 1.0))), 0.75, "there is no other");
    }
}
