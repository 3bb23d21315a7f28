//! Consumer groups of load items that consume.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// The consumer group that the clients of a load item are members of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPlan {
    /// Its name in the scenario: the clients of all items that name it are members of one group.
    pub name: String,
    /// `group.id`, where it is a group of somebody else's whose commits count; `None`: it is made of the prefix, the run, the
    /// name and the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How members get partitions (`group.protocol`).
    pub protocol: GroupProtocol,
    /// Begins each member's `group.instance.id`, the client's number follows; `None`: members are not static.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// `max.poll.interval.ms`, as ns.
    pub poll_interval_max_ns: u64,
    /// `auto.commit.interval.ms`, as ns; `None`: `enable.auto.commit` is `false`, and nothing is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_commit_ns: Option<u64>,
}

impl GroupPlan {
    /// Its settings under Kafka's names, with values as Kafka has them.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let ms = |ns: u64| (ns / 1_000_000).to_string();
        let mut found = vec![("group.protocol", self.protocol.name().to_owned())];
        match &self.protocol {
            GroupProtocol::Classic { assignors, session_timeout_ns, heartbeat_interval_ns } => {
                let names: Vec<&str> = assignors.iter().map(|assignor| assignor.name()).collect();
                found.push(("partition.assignment.strategy", names.join(",")));
                found.push(("session.timeout.ms", ms(*session_timeout_ns)));
                found.push(("heartbeat.interval.ms", ms(*heartbeat_interval_ns)));
            }
            GroupProtocol::Consumer { assignor } => {
                found.extend(assignor.iter().map(|assignor| ("group.remote.assignor", assignor.clone())));
            }
        }
        found.extend(self.instance_id.iter().map(|prefix| ("group.instance.id", format!("{prefix}-…"))));
        found.push(("max.poll.interval.ms", ms(self.poll_interval_max_ns)));
        found.push(("enable.auto.commit", self.auto_commit_ns.is_some().to_string()));
        found.extend(self.auto_commit_ns.map(|interval_ns| ("auto.commit.interval.ms", ms(interval_ns))));
        found
    }
}

/// How members of a group get partitions, with the settings that only one protocol has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupProtocol {
    /// They agree on an assignor, and one of them assigns.
    Classic {
        /// `partition.assignment.strategy`: the one that is liked best comes first.
        assignors: Vec<GroupAssignor>,
        /// `session.timeout.ms`, as ns.
        session_timeout_ns: u64,
        /// `heartbeat.interval.ms`, as ns.
        heartbeat_interval_ns: u64,
    },
    /// The brokers assign (KIP-848).
    Consumer {
        /// `group.remote.assignor`; `None`: the brokers' first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignor: Option<String>,
    },
}

impl GroupProtocol {
    /// Kafka's word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Classic { .. } => "classic",
            Self::Consumer { .. } => "consumer",
        }
    }
}

/// What assigns partitions to the members of a classic group.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum GroupAssignor {
    /// Each member gets a range of partitions of each topic.
    Range,
    /// All partitions in turn.
    #[serde(rename = "roundrobin")]
    #[strum(serialize = "roundrobin")]
    RoundRobin,
    /// Balanced with few moves; members give up everything before they join.
    Sticky,
    /// The same, and members keep what does not move.
    CooperativeSticky,
}

impl GroupAssignor {
    /// All there are.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// Kafka's word for it, which members agree on.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Java's class, as `partition.assignment.strategy` names it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Range => "org.apache.kafka.clients.consumer.RangeAssignor",
            Self::RoundRobin => "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            Self::Sticky => "org.apache.kafka.clients.consumer.StickyAssignor",
            Self::CooperativeSticky => "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        }
    }

    /// The one of this class, or of this name.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.class() == text || one.name() == text)
    }
}
