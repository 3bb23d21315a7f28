//! States of an attached cluster at which the load on it ends at once: the `abort_if` of its target.

use kdyno_kafka::admin::{Admin, ClusterInfo, OffsetAt, TopicInfo};
use kdyno_model::plan::{AbortIf, Beyond, Watched};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The conditions of a target and how long each has held.
#[derive(Debug)]
pub(crate) struct AbortWatch {
    conditions: Vec<Held>,
    /// Brokers that were there when the run began.
    brokers: BTreeSet<i32>,
    /// Begins the names of the run's own topics.
    prefix: String,
    /// Records in all other topics, and when that was seen, CLOCK_MONOTONIC, ns.
    others: Option<(u64, f64)>,
}

#[derive(Debug)]
struct Held {
    condition: AbortIf,
    /// Since when it has held without a break, CLOCK_MONOTONIC, ns.
    since_ns: Option<u64>,
}

/// What was seen of the cluster, by what is watched; what is not known is left out.
type Seen = BTreeMap<&'static str, f64>;

impl AbortWatch {
    /// `None` when nothing is to be watched.
    pub(crate) fn of(conditions: &[AbortIf], brokers: BTreeSet<i32>, prefix: &str) -> Option<Self> {
        let held = |condition: &AbortIf| Held { condition: condition.clone(), since_ns: None };
        (!conditions.is_empty()).then(|| Self {
            conditions: conditions.iter().map(held).collect(),
            brokers,
            prefix: prefix.to_owned(),
            others: None,
        })
    }

    /// Judges a look at `now_ns`, CLOCK_MONOTONIC: the condition that has been reached, in words.
    pub(crate) fn reached(
        &mut self,
        cluster: &ClusterInfo,
        topics: &[TopicInfo],
        admin: &mut Admin,
        now_ns: u64,
    ) -> Option<String> {
        let mut seen = states(&self.brokers, cluster, topics);
        if self.conditions.iter().any(|held| held.condition.of == Watched::RateOfOthers) {
            let of_others = |topic: &&TopicInfo| !topic.internal && !topic.name.starts_with(&self.prefix);
            let names = topics.iter().filter(of_others).map(|topic| topic.name.as_str());
            // A topic that goes away between the two requests is no reason to end anything.
            let ends = names.filter_map(|name| admin.list_offsets(name, OffsetAt::Latest).ok());
            let records: i64 = ends.flat_map(BTreeMap::into_values).sum();
            if let Some(rate) = self.rate_of_others(records as f64, now_ns) {
                seen.insert(Watched::RateOfOthers.into(), rate);
            }
        }
        self.judge(&seen, now_ns)
    }

    /// Records/s since the look before; `None` at the first one.
    fn rate_of_others(&mut self, records: f64, now_ns: u64) -> Option<f64> {
        let (before_ns, before) = self.others.replace((now_ns, records))?;
        let seconds = now_ns.saturating_sub(before_ns) as f64 / 1e9;
        (seconds > 0.0).then(|| (records - before).max(0.0) / seconds)
    }

    fn judge(&mut self, seen: &Seen, now_ns: u64) -> Option<String> {
        let mut reached = None;
        for held in &mut self.conditions {
            let AbortIf { of, beyond, limit, for_ns, text } = &held.condition;
            let value = seen.get(<&'static str>::from(*of)).copied();
            let holds = value.is_some_and(|value| match beyond {
                Beyond::Above => value > *limit,
                Beyond::Below => value < *limit,
            });
            if !holds {
                held.since_ns = None;
                continue;
            }
            let since_ns = *held.since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since_ns) >= *for_ns {
                let mut what = format!("`{text}` of the target's abort_if holds");
                if let Some(value) = value {
                    let _ = write!(what, " (seen: {value:.0})");
                }
                reached.get_or_insert(what);
            }
        }
        reached
    }
}

/// What one answer tells.
fn states(brokers: &BTreeSet<i32>, cluster: &ClusterInfo, topics: &[TopicInfo]) -> Seen {
    let there: BTreeSet<i32> = cluster.brokers.iter().map(|broker| broker.id).collect();
    let partitions = || topics.iter().flat_map(|topic| &topic.partitions);
    let offline = partitions().filter(|partition| partition.leader < 0).count();
    let under = partitions().filter(|partition| partition.isr.len() < partition.replicas.len()).count();
    BTreeMap::from([
        (Watched::OfflineBrokers.into(), brokers.difference(&there).count() as f64),
        (Watched::OfflinePartitions.into(), offline as f64),
        (Watched::UnderReplicated.into(), under as f64),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::admin::{BrokerInfo, PartitionInfo};
    use kdyno_kafka::errors::ErrorCode;

    const SECOND: u64 = 1_000_000_000;

    fn watch(of: Watched, beyond: Beyond, limit: f64, for_s: u64) -> AbortWatch {
        let condition = AbortIf { of, beyond, limit, for_ns: for_s * SECOND, text: "a > b".to_owned() };
        AbortWatch::of(&[condition], BTreeSet::from([0, 1]), "kdyno-").expect("a condition")
    }

    fn seen(of: Watched, value: f64) -> Seen {
        BTreeMap::from([(of.into(), value)])
    }

    #[test]
    fn without_conditions_nothing_is_watched() {
        assert!(AbortWatch::of(&[], BTreeSet::new(), "kdyno-").is_none());
    }

    #[test]
    fn the_limit_itself_is_not_beyond_it() {
        let mut above = watch(Watched::UnderReplicated, Beyond::Above, 2.0, 0);
        assert_eq!(above.judge(&seen(Watched::UnderReplicated, 2.0), 1), None);
        let told = above.judge(&seen(Watched::UnderReplicated, 3.0), 2).expect("more than the limit");
        assert_eq!(told, "`a > b` of the target's abort_if holds (seen: 3)");
        let mut below = watch(Watched::RateOfOthers, Beyond::Below, 100.0, 0);
        assert_eq!(below.judge(&Seen::new(), 1), None, "nothing is known");
        assert_eq!(below.judge(&seen(Watched::RateOfOthers, 100.0), 2), None);
        assert!(below.judge(&seen(Watched::RateOfOthers, 99.0), 3).is_some());
    }

    #[test]
    fn a_condition_must_hold_without_a_break() {
        let mut watch = watch(Watched::OfflineBrokers, Beyond::Above, 0.0, 10);
        let (bad, good) = (seen(Watched::OfflineBrokers, 1.0), seen(Watched::OfflineBrokers, 0.0));
        assert_eq!(watch.judge(&bad, 0), None);
        assert_eq!(watch.judge(&good, 5 * SECOND), None);
        assert_eq!(watch.judge(&bad, 6 * SECOND), None);
        assert_eq!(watch.judge(&bad, 16 * SECOND - 1), None);
        assert!(watch.judge(&bad, 16 * SECOND).is_some());
    }

    #[test]
    fn states_are_those_of_all_topics_and_of_brokers_that_were_there() {
        let partition = |leader, isr: &[i32]| PartitionInfo {
            id: 0,
            leader,
            replicas: vec![0, 1],
            isr: isr.to_vec(),
            error: ErrorCode::NONE,
        };
        let topic = |partitions| TopicInfo {
            name: "orders".to_owned(),
            error: ErrorCode::NONE,
            internal: false,
            partitions,
        };
        let broker = |id| BrokerInfo { id, host: "h".to_owned(), port: 1, rack: None };
        let cluster = ClusterInfo { cluster_id: None, controller_id: 0, brokers: vec![broker(0), broker(2)] };
        let topics =
            [topic(vec![partition(0, &[0, 1])]), topic(vec![partition(-1, &[]), partition(0, &[0])])];
        let seen = states(&BTreeSet::from([0, 1]), &cluster, &topics);
        let value = |of: Watched| seen[<&'static str>::from(of)];
        assert_eq!(value(Watched::OfflineBrokers), 1.0);
        assert_eq!(value(Watched::OfflinePartitions), 1.0);
        assert_eq!(value(Watched::UnderReplicated), 2.0);
    }

    #[test]
    fn the_rate_of_others_needs_two_looks_and_is_never_negative() {
        let mut watch = watch(Watched::RateOfOthers, Beyond::Above, 0.0, 0);
        assert_eq!(watch.rate_of_others(1000.0, SECOND), None);
        assert_eq!(watch.rate_of_others(1500.0, 3 * SECOND), Some(250.0));
        assert_eq!(watch.rate_of_others(0.0, 4 * SECOND), Some(0.0), "a topic was deleted");
    }
}
