//! Settings of consumers that have an effect in a group alone, and their defaults by Kafka version.

use kdyno_model::plan::{GroupAssignor, GroupPlan, GroupProtocol};
use kdyno_model::version::Version;

const SECOND_NS: u64 = 1_000_000_000;

/// Settings that mean nothing to a consumer without a group.
pub const OF_GROUPS: &[&str] = &[
    "group.protocol",
    "group.remote.assignor",
    "partition.assignment.strategy",
    "group.instance.id",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "enable.auto.commit",
    "auto.commit.interval.ms",
];

/// Settings that only one protocol has, with its word: as in Java, they are refused with the other one.
pub const OF_ONE_PROTOCOL: &[(&str, &str)] = &[
    ("partition.assignment.strategy", "classic"),
    ("session.timeout.ms", "classic"),
    ("heartbeat.interval.ms", "classic"),
    ("group.remote.assignor", "consumer"),
];

/// A member's settings when nothing is typed.
pub fn group_defaults(version: &Version, name: String) -> GroupPlan {
    GroupPlan {
        name,
        id: None,
        protocol: classic_defaults(version),
        instance_id: None,
        poll_interval_max_ns: 300 * SECOND_NS,
        auto_commit_ns: Some(5 * SECOND_NS),
    }
}

/// The classic protocol's settings when nothing is typed. With 3.0 its session became longer (KIP-735), and members offer
/// to assign cooperatively once all do.
pub fn classic_defaults(version: &Version) -> GroupProtocol {
    let is_from_3 = version.at_least(3, 0);
    let assignors: &[GroupAssignor] = if is_from_3 {
        &[GroupAssignor::Range, GroupAssignor::CooperativeSticky]
    } else {
        &[GroupAssignor::Range]
    };
    GroupProtocol::Classic {
        assignors: assignors.to_vec(),
        session_timeout_ns: SECOND_NS * if is_from_3 { 45 } else { 10 },
        heartbeat_interval_ns: 3 * SECOND_NS,
    }
}
