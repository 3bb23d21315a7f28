//! States of an attached cluster at which the load on it ends at once: the `abort_if` of its target.

use crate::clock::monotonic_ns;
use kdyno_kafka::admin::{Admin, ClusterInfo, OffsetAt, TopicInfo};
use kdyno_model::plan::{AbortIf, Beyond, WatchedSign};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Longest time for which a look requests the log ends of others, ns: what the metadata says must be seen in time too.
const OTHERS_TIME_NS: u64 = 300_000_000;

/// The conditions of a target and how long each has held.
#[derive(Debug)]
pub(crate) struct AbortWatch {
    conditions: Vec<WatchedCondition>,
    /// Brokers that were there when the run began.
    brokers: BTreeSet<i32>,
    /// Begins the names of the run's own topics.
    prefix: String,
    /// Topics that were there and that the run writes to.
    own: BTreeSet<String>,
    others: Others,
}

#[derive(Debug)]
struct WatchedCondition {
    condition: AbortIf,
    /// Since when it has held without a break, CLOCK_MONOTONIC, ns.
    since_ns: Option<u64>,
}

/// What was seen of the cluster, by what is watched; `None` is not known, and what was not looked at is left out.
type WatchedValues = BTreeMap<&'static str, Option<f64>>;

/// The topics that are not the run's own. One look may not get round all of them: the next one goes on.
#[derive(Debug, Default)]
struct Others {
    topics: BTreeMap<String, ForeignTopic>,
    /// The topic that was asked last, where the rest is still to be asked.
    last: Option<String>,
    /// How often all of them were asked.
    rounds: u32,
}

/// What is known of a topic of others.
#[derive(Debug)]
struct ForeignTopic {
    /// The end of each partition's log.
    ends: BTreeMap<i32, i64>,
    /// When these were requested, CLOCK_MONOTONIC, ns.
    at_ns: u64,
    /// By how much they grew since the time before, records/s.
    per_s: f64,
}

impl Others {
    /// Asks for the ends of these topics, one after the other, for as long as a look may take. Records/s of all of them;
    /// `None` until each could be asked twice.
    fn look(
        &mut self,
        names: &BTreeSet<&str>,
        mut ask: impl FnMut(&str) -> Option<BTreeMap<i32, i64>>,
        clock: impl Fn() -> u64,
    ) -> Option<f64> {
        self.topics.retain(|name, _| names.contains(name.as_str()));
        let end_ns = clock().saturating_add(OTHERS_TIME_NS);
        let last = self.last.clone();
        for name in names.iter().filter(|name| last.as_deref().is_none_or(|last| **name > last)) {
            if clock() >= end_ns {
                return self.per_s();
            }
            // A topic that goes away between the two requests is no reason to end anything.
            if let Some(ends) = ask(name) {
                self.note(name, ends, clock());
            }
            self.last = Some((*name).to_owned());
        }
        self.last = None;
        self.rounds = self.rounds.saturating_add(1);
        self.per_s()
    }

    /// Only partitions that were there before have grown: a topic that appears, or answers again, brought its records
    /// along.
    fn note(&mut self, name: &str, ends: BTreeMap<i32, i64>, at_ns: u64) {
        let per_s = self.topics.get(name).map_or(0.0, |before| {
            let grown = |(id, end): (&i32, &i64)| before.ends.get(id).map(|before| (end - before).max(0));
            let records: i64 = ends.iter().filter_map(grown).sum();
            let seconds = at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
            if seconds > 0.0 { records as f64 / seconds } else { before.per_s }
        });
        self.topics.insert(name.to_owned(), ForeignTopic { ends, at_ns, per_s });
    }

    fn per_s(&self) -> Option<f64> {
        (self.rounds > 1).then(|| self.topics.values().map(|topic| topic.per_s).sum())
    }
}

impl AbortWatch {
    /// `None` when nothing is to be watched. `own` are topics that the run writes to, in addition to those with the
    /// prefix.
    pub(crate) fn of(
        conditions: &[AbortIf],
        brokers: BTreeSet<i32>,
        prefix: &str,
        own: BTreeSet<String>,
    ) -> Option<Self> {
        let held = |condition: &AbortIf| WatchedCondition { condition: condition.clone(), since_ns: None };
        (!conditions.is_empty()).then(|| Self {
            conditions: conditions.iter().map(held).collect(),
            brokers,
            prefix: prefix.to_owned(),
            own,
            others: Others::default(),
        })
    }

    /// Judges a look at `now_ns`, CLOCK_MONOTONIC: the condition that has been reached, in words. What the metadata
    /// says is judged before others' topics are asked, for that may take longer.
    pub(crate) fn reached(
        &mut self,
        cluster: &ClusterInfo,
        topics: &[TopicInfo],
        admin: &mut Admin,
        now_ns: u64,
    ) -> Option<String> {
        let reached = self.judge(&states(&self.brokers, cluster, topics), now_ns);
        if reached.is_some()
            || !self.conditions.iter().any(|held| held.condition.of == WatchedSign::RateOfOthers)
        {
            return reached;
        }
        let of_others = |topic: &&TopicInfo| {
            !topic.internal && !topic.name.starts_with(&self.prefix) && !self.own.contains(&topic.name)
        };
        let names: BTreeSet<&str> =
            topics.iter().filter(of_others).map(|topic| topic.name.as_str()).collect();
        let ask = |name: &str| admin.list_offsets(name, OffsetAt::Latest).ok();
        let per_s = self.others.look(&names, ask, monotonic_ns);
        self.judge(&BTreeMap::from([(WatchedSign::RateOfOthers.into(), per_s)]), monotonic_ns())
    }

    fn judge(&mut self, seen: &WatchedValues, now_ns: u64) -> Option<String> {
        let mut reached = None;
        for held in &mut self.conditions {
            let AbortIf { of, beyond, limit, for_ns, text } = &held.condition;
            let Some(value) = seen.get(<&'static str>::from(*of)).copied() else { continue };
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

/// What one answer says.
fn states(brokers: &BTreeSet<i32>, cluster: &ClusterInfo, topics: &[TopicInfo]) -> WatchedValues {
    let there: BTreeSet<i32> = cluster.brokers.iter().map(|broker| broker.id).collect();
    let partitions = || topics.iter().flat_map(|topic| &topic.partitions);
    let offline = partitions().filter(|partition| partition.leader < 0).count();
    let under = partitions().filter(|partition| partition.isr.len() < partition.replicas.len()).count();
    BTreeMap::from([
        (WatchedSign::OfflineBrokers.into(), Some(brokers.difference(&there).count() as f64)),
        (WatchedSign::OfflinePartitions.into(), Some(offline as f64)),
        (WatchedSign::UnderReplicated.into(), Some(under as f64)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::admin::{BrokerInfo, PartitionInfo};
    use kdyno_kafka::errors::ErrorCode;

    const SECOND: u64 = 1_000_000_000;

    fn watch(of: WatchedSign, beyond: Beyond, limit: f64, for_s: u64) -> AbortWatch {
        let condition = AbortIf { of, beyond, limit, for_ns: for_s * SECOND, text: "a > b".to_owned() };
        AbortWatch::of(&[condition], BTreeSet::from([0, 1]), "kdyno-", BTreeSet::new()).expect("a condition")
    }

    fn seen(of: WatchedSign, value: f64) -> WatchedValues {
        BTreeMap::from([(of.into(), Some(value))])
    }

    #[test]
    fn without_conditions_nothing_is_watched() {
        assert!(AbortWatch::of(&[], BTreeSet::new(), "kdyno-", BTreeSet::new()).is_none());
    }

    #[test]
    fn the_limit_itself_is_not_beyond_it() {
        let mut above = watch(WatchedSign::UnderReplicated, Beyond::Above, 2.0, 0);
        assert_eq!(above.judge(&seen(WatchedSign::UnderReplicated, 2.0), 1), None);
        let reported = above.judge(&seen(WatchedSign::UnderReplicated, 3.0), 2).expect("more than the limit");
        assert_eq!(reported, "`a > b` of the target's abort_if holds (seen: 3)");
        let mut below = watch(WatchedSign::RateOfOthers, Beyond::Below, 100.0, 0);
        let unknown = BTreeMap::from([(WatchedSign::RateOfOthers.into(), None)]);
        assert_eq!(below.judge(&unknown, 1), None, "nothing is known");
        assert_eq!(below.judge(&seen(WatchedSign::RateOfOthers, 100.0), 2), None);
        assert!(below.judge(&seen(WatchedSign::RateOfOthers, 99.0), 3).is_some());
    }

    #[test]
    fn a_condition_must_hold_without_a_break() {
        let mut watch = watch(WatchedSign::OfflineBrokers, Beyond::Above, 0.0, 10);
        let (bad, good) = (seen(WatchedSign::OfflineBrokers, 1.0), seen(WatchedSign::OfflineBrokers, 0.0));
        assert_eq!(watch.judge(&bad, 0), None);
        assert_eq!(watch.judge(&good, 5 * SECOND), None);
        assert_eq!(watch.judge(&bad, 6 * SECOND), None);
        assert_eq!(watch.judge(&bad, 16 * SECOND - 1), None);
        // What is not looked at is not judged.
        assert_eq!(watch.judge(&seen(WatchedSign::RateOfOthers, 0.0), 11 * SECOND), None);
        assert!(watch.judge(&bad, 16 * SECOND).is_some());
    }

    #[test]
    fn states_are_of_all_topics_and_of_brokers_that_were_there() {
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
        let value = |of: WatchedSign| seen[<&'static str>::from(of)];
        assert_eq!(value(WatchedSign::OfflineBrokers), Some(1.0));
        assert_eq!(value(WatchedSign::OfflinePartitions), Some(1.0));
        assert_eq!(value(WatchedSign::UnderReplicated), Some(2.0));
    }

    /// A look at a second, at topics of one partition with these log ends.
    fn look(others: &mut Others, second: u64, ends: &[(&str, i64)]) -> Option<f64> {
        let ends: BTreeMap<&str, i64> = ends.iter().copied().collect();
        let names = ends.keys().copied().collect();
        others.look(&names, |name| Some(BTreeMap::from([(0, ends[name])])), || second * SECOND)
    }

    #[test]
    fn the_rate_of_others_is_the_growth_of_logs_that_existed_before() {
        let mut others = Others::default();
        assert_eq!(look(&mut others, 1, &[("orders", 1000), ("bills", 7)]), None, "nothing to compare with");
        assert_eq!(look(&mut others, 3, &[("orders", 1500), ("bills", 9)]), Some(251.0));
        // Neither a topic that appears nor one that goes has to do with what others send.
        assert_eq!(look(&mut others, 4, &[("orders", 1600), ("copies", 1_000_000)]), Some(100.0));
        assert_eq!(look(&mut others, 5, &[("orders", 1600), ("copies", 1_000_040)]), Some(40.0));
        assert_eq!(look(&mut others, 6, &[("orders", 10), ("copies", 1_000_040)]), Some(0.0), "made anew");
        // One that does not answer once keeps what is known of it.
        let names = BTreeSet::from(["copies", "orders"]);
        others.look(&names, |_| None, || 7 * SECOND);
        assert_eq!(look(&mut others, 8, &[("orders", 10), ("copies", 1_000_060)]), Some(10.0));
    }

    #[test]
    fn a_look_at_many_topics_ends_in_time_and_the_next_one_goes_on() {
        let names: Vec<String> = (0..10).map(|number| format!("topic-{number}")).collect();
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let (now_ns, asked) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
        // Each answer takes 100 ms; all logs grow by 5 records/s.
        let ask = |name: &str| {
            now_ns.set(now_ns.get() + SECOND / 10);
            asked.borrow_mut().push(name.to_owned());
            Some(BTreeMap::from([(0, (now_ns.get() / (SECOND / 5)) as i64)]))
        };
        let mut others = Others::default();
        let rates: Vec<Option<f64>> = (0..8).map(|_| others.look(&names, ask, || now_ns.get())).collect();
        let asked = asked.borrow();
        assert!(asked[..10].iter().map(String::as_str).eq(names.iter().copied()), "{asked:?}");
        assert_eq!(asked.len(), 20, "three topics in each of the looks, one in the last of a round");
        assert!(rates[..7].iter().all(Option::is_none), "{rates:?}");
        assert_eq!(rates[7], Some(50.0));
    }
}
