//! How many replicas of partitions a system holds.

use kdyno_model::plan::{Plan, SystemPlan};

/// Replicas of partitions that the cluster of a system holds at once: those of its largest case, as often as
/// there are topics at once.
pub(crate) fn partition_replicas(plan: &Plan, system: &SystemPlan) -> u64 {
    let cases = plan.every_case().filter(|case| case.system == *system);
    let sizes = cases.map(|case| case.topics.values().map(replicas).sum::<u64>());
    sizes.max().unwrap_or(1) * topics_at_once(plan)
}
