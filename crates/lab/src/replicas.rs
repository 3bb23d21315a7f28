//! How many replicas of partitions a system holds.

use kdyno_model::plan::{Isolation, Plan, SystemPlan, TopicPlan};

/// Replicas of partitions that the cluster of a system holds at once: those of its largest case, as often as
/// there are topics at once.
pub(crate) fn partition_replicas(plan: &Plan, system: &SystemPlan) -> u64 {
    let cases = plan.every_case().filter(|case| case.system == *system);
    let sizes = cases.map(|case| case.topics.values().map(replicas).sum::<u64>());
    sizes.max().unwrap_or(1) * topics_at_once(plan)
}

/// Replicas of a topic's partitions.
pub(crate) fn replicas(topic: &TopicPlan) -> u64 {
    u64::from(topic.partitions) * u64::from(topic.replicas)
}

/// How many trials' topics a cluster holds at once: brokers delete those of one trial while the next one runs.
pub(crate) fn topics_at_once(plan: &Plan) -> u64 {
    match plan.isolation {
        Isolation::Topic if plan.strategy.trials_planned() != Some(1) => 2,
        Isolation::Topic | Isolation::Cluster | Isolation::None => 1,
    }
}
