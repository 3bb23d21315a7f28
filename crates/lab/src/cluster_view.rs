//! What a cluster's own metadata says of its brokers and of a run's topics, and how that changed between two looks.

use kdyno_kafka::admin::{Admin, ClusterInfo, TopicInfo};
use kdyno_model::event::{EventKind, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Changes of single partitions that one event names; of more it says how many.
const NAMED_MAX: usize = 4;

/// One look.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ClusterView {
    /// Living brokers.
    brokers: BTreeSet<i32>,
    /// By the topic's address in the scenario and the partition's number.
    partitions: BTreeMap<(String, i32), PartitionView>,
}

/// A partition as it was seen.
#[derive(Debug, Clone, PartialEq)]
struct PartitionView {
    /// -1: none.
    leader: i32,
    replicas: usize,
    in_sync: BTreeSet<i32>,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterChange {
    /// What kind of event it is.
    pub kind: EventKind,
    /// Whom it concerns.
    pub subject: Subject,
    /// One lowercase sentence.
    pub detail: String,
}

impl ClusterView {
    /// Asks the cluster, in one request. `topics` maps addresses to real names.
    pub(crate) fn look(
        admin: &mut Admin,
        topics: &BTreeMap<String, String>,
    ) -> kdyno_kafka::admin::Result<Self> {
        let names: Vec<&str> = topics.values().map(String::as_str).collect();
        let (cluster, found) = admin.state(Some(&names))?;
        Ok(Self::of(&cluster, &found, topics))
    }

    /// What an answer says of the run's topics.
    pub(crate) fn of(cluster: &ClusterInfo, found: &[TopicInfo], topics: &BTreeMap<String, String>) -> Self {
        let brokers = cluster.brokers.iter().map(|broker| broker.id).collect();
        Self { brokers, partitions: partitions(topics, found) }
    }

    /// Partitions with fewer replicas in sync than they have.
    pub(crate) fn under_replicated(&self) -> usize {
        self.partitions.values().filter(|partition| partition.in_sync.len() < partition.replicas).count()
    }

    /// What is other than in the look before. A partition that one of them does not know is not judged.
    pub(crate) fn since(&self, before: &Self) -> Vec<ClusterChange> {
        let mut changes = Vec::new();
        let gone = before.brokers.difference(&self.brokers).map(|id| (id, "left the cluster"));
        let back = self.brokers.difference(&before.brokers).map(|id| (id, "joined the cluster"));
        for (id, what) in gone.chain(back) {
            let subject = Subject::Broker(id.unsigned_abs());
            let detail = format!("broker {id} {what}");
            changes.push(ClusterChange { kind: EventKind::BrokersChanged, subject, detail });
        }
        let both =
            || self.partitions.iter().filter_map(|(key, now)| Some((key, before.partitions.get(key)?, now)));
        let moved =
            both().filter(|(_, before, now)| before.leader != now.leader).map(|(key, before, now)| {
                (
                    key,
                    format!(
                        "partition {} from broker {} to {}",
                        key.1,
                        named(before.leader),
                        named(now.leader)
                    ),
                )
            });
        changes.extend(by_topic(EventKind::LeaderMoved, "leaders moved", moved));
        let shrunk = both().filter_map(|(key, before, now)| differing(key, &before.in_sync, &now.in_sync));
        changes.extend(by_topic(EventKind::IsrShrunk, "replicas fell out of sync", shrunk));
        let expanded = both().filter_map(|(key, before, now)| differing(key, &now.in_sync, &before.in_sync));
        changes.extend(by_topic(EventKind::IsrExpanded, "replicas are in sync again", expanded));
        changes
    }
}

fn partitions(
    topics: &BTreeMap<String, String>,
    found: &[TopicInfo],
) -> BTreeMap<(String, i32), PartitionView> {
    let of_topic = |topic: &TopicInfo| {
        let address =
            topics.iter().find(|(_, name)| **name == topic.name).map(|(address, _)| address.clone());
        let partitions = topic.partitions.iter().map(|partition| {
            let seen = PartitionView {
                leader: partition.leader,
                replicas: partition.replicas.len(),
                in_sync: partition.isr.iter().copied().collect(),
            };
            (partition.id, seen)
        });
        let partitions: Vec<_> = partitions.collect();
        address.map(|address| {
            partitions.into_iter().map(move |(id, seen)| ((address.clone(), id), seen)).collect::<Vec<_>>()
        })
    };
    found.iter().filter_map(of_topic).flatten().collect()
}

fn named(leader: i32) -> String {
    if leader < 0 { "none".to_owned() } else { leader.to_string() }
}

/// The partition and the brokers that are in `more` and not in `fewer`, if there are any.
fn differing<'a>(
    key: &'a (String, i32),
    more: &BTreeSet<i32>,
    fewer: &BTreeSet<i32>,
) -> Option<(&'a (String, i32), String)> {
    let brokers: Vec<String> = more.difference(fewer).map(ToString::to_string).collect();
    (!brokers.is_empty()).then(|| (key, format!("partition {} on broker {}", key.1, brokers.join(", "))))
}

/// One event for each topic.
fn by_topic<'a>(
    kind: EventKind,
    what: &str,
    found: impl Iterator<Item = (&'a (String, i32), String)>,
) -> Vec<ClusterChange> {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((topic, _), change) in found {
        topics.entry(topic).or_default().push(change);
    }
    let change = |(topic, changes): (&str, Vec<String>)| {
        let mut detail = format!("{what}: {}", changes[..changes.len().min(NAMED_MAX)].join("; "));
        if changes.len() > NAMED_MAX {
            let _ = write!(detail, "; and {} more partitions", changes.len() - NAMED_MAX);
        }
        ClusterChange { kind, subject: Subject::Topic(topic.to_owned()), detail }
    };
    topics.into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::admin::PartitionInfo;
    use kdyno_kafka::errors::ErrorCode;

    /// Partitions of topic `perf`, each as leader and replicas in sync of three.
    fn view(brokers: &[i32], partitions: &[(i32, &[i32])]) -> ClusterView {
        let partition = |(number, (leader, isr)): (i32, &(i32, &[i32]))| PartitionInfo {
            id: number,
            leader: *leader,
            replicas: vec![0, 1, 2],
            isr: isr.to_vec(),
            error: ErrorCode::NONE,
        };
        let topic = |name: &str| TopicInfo {
            name: name.to_owned(),
            error: ErrorCode::NONE,
            internal: false,
            partitions: (0..).zip(partitions).map(partition).collect(),
        };
        let names = BTreeMap::from([("perf".to_owned(), "kdyno-1-perf-1".to_owned())]);
        ClusterView {
            brokers: brokers.iter().copied().collect(),
            partitions: super::partitions(&names, &[topic("kdyno-1-perf-1"), topic("somebody's")]),
        }
    }

    fn reported(before: &ClusterView, now: &ClusterView) -> Vec<(EventKind, String, String)> {
        let change = |change: ClusterChange| (change.kind, change.subject.to_string(), change.detail);
        now.since(before).into_iter().map(change).collect()
    }

    #[test]
    fn no_change_means_no_event_and_other_topics_are_ignored() {
        let calm = view(&[0, 1, 2], &[(0, &[0, 1, 2]), (1, &[0, 1, 2])]);
        assert_eq!(calm.partitions.len(), 2);
        assert_eq!(calm.under_replicated(), 0);
        assert!(reported(&calm, &calm).is_empty());
    }

    #[test]
    fn a_broker_that_leaves_and_returns_changes_leaders_and_isrs() {
        let calm = view(&[0, 1, 2], &[(0, &[0, 1, 2]), (1, &[0, 1, 2])]);
        let hurt = view(&[0, 2], &[(0, &[0, 2]), (2, &[0, 2])]);
        assert_eq!(hurt.under_replicated(), 2);
        let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let expected = |kind, (subject, detail)| (kind, subject, detail);
        assert_eq!(
            reported(&calm, &hurt),
            [
                expected(EventKind::BrokersChanged, text("broker-1", "broker 1 left the cluster")),
                expected(
                    EventKind::LeaderMoved,
                    text("perf", "leaders moved: partition 1 from broker 1 to 2")
                ),
                expected(
                    EventKind::IsrShrunk,
                    text(
                        "perf",
                        "replicas fell out of sync: partition 0 on broker 1; partition 1 on broker 1"
                    )
                ),
            ]
        );
        let kinds: Vec<EventKind> = reported(&hurt, &calm).into_iter().map(|change| change.0).collect();
        assert_eq!(kinds, [EventKind::BrokersChanged, EventKind::LeaderMoved, EventKind::IsrExpanded]);
    }

    #[test]
    fn a_leaderless_partition_is_named_and_many_changes_are_counted() {
        let led: Vec<(i32, &[i32])> = vec![(0, &[0]); NAMED_MAX + 2];
        let unled: Vec<(i32, &[i32])> = vec![(-1, &[0]); NAMED_MAX + 2];
        let reported = reported(&view(&[0], &led), &view(&[0], &unled));
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(reported[0].2.contains("partition 0 from broker 0 to none"), "{reported:?}");
        assert!(reported[0].2.ends_with("; and 2 more partitions"), "{reported:?}");
    }

    #[test]
    fn a_partition_that_was_not_there_before_is_not_judged() {
        let none = view(&[0], &[]);
        assert!(reported(&none, &view(&[0], &[(0, &[])])).is_empty());
    }
}
