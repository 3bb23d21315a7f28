//! Whether the system under test and its surroundings were healthy in a trial: the rules, each with its threshold, what follows
//! from it, what to do, and where it comes from; and what was found by each.

use crate::finding::Scope;
use crate::metric::Unit;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A rule of health. Their order is their weight, the heaviest first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HealthRule {
    /// What was used of the load generator.
    GeneratorBusy,
    /// Processors that the brokers have.
    BrokerProcessors,
    /// Request handlers of a broker.
    RequestHandlersIdle,
    /// Network processors of a broker.
    NetworkProcessorsIdle,
    /// Brokers that ended in a trial.
    BrokersEnded,
    /// Partitions without a leader.
    OfflinePartitions,
    /// Partitions with fewer replicas in sync than they have.
    UnderReplicated,
    /// Replicas that fell out of sync.
    IsrShrinks,
    /// One processor, while the host has others that are idle.
    OneProcessorFull,
    /// Brokers' disks, against a declared limit.
    DiskBandwidth,
    /// Time in which a drive had something to do.
    DriveBusy,
    /// How long a drive takes for a write.
    DriveWriteTime,
    /// How long a drive takes for a read.
    DriveReadTime,
    /// The network, against a declared limit.
    NetworkBandwidth,
    /// How long a broker stood still for a garbage collection.
    GcPause,
    /// Time for which all threads of a broker were stopped.
    Stopped,
    /// Heap that a broker's collections leave in use.
    HeapAfterGc,
    /// TCP segments that were sent again.
    Retransmits,
    /// Packets that an interface had no room for.
    PacketsDropped,
    /// Time in which something waited for memory.
    MemoryPressure,
    /// Memory that is left for programs and page cache.
    MemoryAvailable,
    /// What reading the probes costs.
    ProbesBusy,
}

impl HealthRule {
    /// Every rule, the heaviest first.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Whether it is asked of each of several things in a trial; every other is asked once, of all together or of the worst.
    pub fn is_of_each(self) -> bool {
        matches!(self, Self::DriveBusy | Self::DriveWriteTime | Self::DriveReadTime)
    }

    /// Its row of the table of rules.
    pub fn text(self) -> RuleText {
        RULES[self as usize].1
    }
}

/// What a rule asks and why.
#[derive(Debug, Clone, Copy)]
pub struct RuleText {
    /// What is compared, lowercase.
    pub figure: &'static str,
    /// The value that it must not go beyond.
    pub threshold: HealthThreshold,
    /// The figure's unit.
    pub unit: Unit,
    /// What follows when the rule is broken, a lowercase clause.
    pub consequence: &'static str,
    /// What to do then, a lowercase clause.
    pub next_step: &'static str,
    /// Where the threshold comes from.
    pub source: &'static str,
}

/// Beyond which value a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HealthThreshold {
    /// Above it.
    Above(f64),
    /// Below it.
    Below(f64),
}

impl HealthThreshold {
    /// Whether a figure is beyond it.
    pub fn is_broken_by(self, value: f64) -> bool {
        match self {
            Self::Above(limit) => value > limit,
            Self::Below(limit) => value < limit,
        }
    }
}

const TUNING_GUIDE: &str = "Intel, Kafka tuning guide for Xeon: system health at the SLA point";
const USE_METHOD: &str = "Gregg, Systems Performance: the USE method";
/// They ask for `MaxGCPauseMillis=20`.
const START_SCRIPTS: &str = "five times what Kafka's start scripts ask of the collector";
/// What they expect is next to the names of metrics: idle shares above 0.3, no replica that falls out of sync.
const KAFKA_MONITORING: &str = "Kafka documentation, Monitoring";
const STRIMZI: &str = "Strimzi's example alert rules";
const OWN: &str = "kdyno";

use HealthThreshold::{Above, Below};

/// Every rule in the order of [`HealthRule`].
const RULES: [(HealthRule, RuleText); 22] = [
    (
        HealthRule::GeneratorBusy,
        RuleText {
            figure: "what was used of the load generator: its busiest thread, its highest rate, its host",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "its own waiting is in the latencies, and its rate may be its own limit",
            next_step: "give it more workers or CPUs of its own, or offer less",
            source: TUNING_GUIDE,
        },
    ),
    (
        HealthRule::BrokerProcessors,
        RuleText {
            figure: "broker CPUs in use",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "requests wait for a CPU, and latency grows steeply with every further record",
            next_step: "add CPUs or brokers, or lower the work per record (larger batches, other compression); \
                        what else runs on them counts too",
            source: TUNING_GUIDE,
        },
    ),
    (
        HealthRule::RequestHandlersIdle,
        RuleText {
            figure: "RequestHandlerAvgIdlePercent of a broker",
            threshold: Below(0.3),
            unit: Unit::Ratio,
            consequence: "requests wait in the queue for a handler, and their time grows before any CPU is full",
            next_step: "add CPUs or brokers; where CPUs are idle, raise `num.io.threads`",
            source: KAFKA_MONITORING,
        },
    ),
    (
        HealthRule::NetworkProcessorsIdle,
        RuleText {
            figure: "NetworkProcessorAvgIdlePercent of a broker's busiest listener",
            threshold: Below(0.3),
            unit: Unit::Ratio,
            consequence: "requests wait to be read and answers to be written, which no stage of a request shows",
            next_step: "raise `num.network.threads`, spread the connections over more brokers, or send larger requests",
            source: KAFKA_MONITORING,
        },
    ),
    (
        HealthRule::BrokersEnded,
        RuleText {
            figure: "brokers that ended in the trial",
            threshold: Above(0.0),
            unit: Unit::Count,
            consequence: "what they led moved or was gone, and their own metrics stop before that",
            next_step: "read the end of their logs (`kdyno show RUN --logs`), and repeat the trial",
            source: OWN,
        },
    ),
    (
        HealthRule::OfflinePartitions,
        RuleText {
            figure: "partitions without a leader",
            threshold: Above(0.0),
            unit: Unit::Count,
            consequence: "nothing can be produced to them or fetched from them",
            next_step: "look which brokers are gone, and why, in their logs",
            source: STRIMZI,
        },
    ),
    (
        HealthRule::UnderReplicated,
        RuleText {
            figure: "partitions of a broker with fewer replicas in sync than they have",
            threshold: Above(0.0),
            unit: Unit::Count,
            consequence: "followers do not keep up, and with fewer replicas than `min.insync.replicas` producers fail",
            next_step: "look at the followers' CPUs, disks and network; raise `num.replica.fetchers`, or lower the rate",
            source: STRIMZI,
        },
    ),
    (
        HealthRule::IsrShrinks,
        RuleText {
            figure: "replicas of a broker's partitions that fell out of sync",
            threshold: Above(0.0),
            unit: Unit::Count,
            consequence: "with `acks=all` requests wait up to `replica.lag.time.max.ms` for the one that falls behind",
            next_step: "look at the follower that fell behind: its pauses, its disk, its network",
            source: KAFKA_MONITORING,
        },
    ),
    (
        HealthRule::OneProcessorFull,
        RuleText {
            figure: "the host's busiest CPU, while the mean of all is below 80 %",
            threshold: Above(0.95),
            unit: Unit::Ratio,
            consequence: "something that runs on one CPU alone, a thread or interrupts, holds up the rest",
            next_step: "look which thread it is; spread interrupts over CPUs, or pin what must not meet",
            source: USE_METHOD,
        },
    ),
    (
        HealthRule::DiskBandwidth,
        RuleText {
            figure: "bytes that each broker was given to write, of the limit that is declared",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "writes queue once the page cache is full of dirty pages",
            next_step: "use faster volumes, more brokers, or compression",
            source: TUNING_GUIDE,
        },
    ),
    (
        HealthRule::DriveBusy,
        RuleText {
            figure: "disk utilisation",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "a drive that serves one request at a time has nothing left; one that serves many may have",
            next_step: "look at the time that its reads and writes take; give each broker a drive of its own",
            source: TUNING_GUIDE,
        },
    ),
    (
        HealthRule::DriveWriteTime,
        RuleText {
            figure: "mean disk write await",
            threshold: Above(20e6),
            unit: Unit::Ns,
            consequence: "fsyncs, rolled segments and reads behind them wait for it",
            next_step: "look for other programs on the drive, or use a faster one",
            source: OWN,
        },
    ),
    (
        HealthRule::DriveReadTime,
        RuleText {
            figure: "mean disk read await",
            threshold: Above(20e6),
            unit: Unit::Ns,
            consequence: "consumers that have fallen behind the page cache wait for it, and so do requests queued behind theirs",
            next_step: "give the brokers more memory for the page cache, or a faster drive",
            source: OWN,
        },
    ),
    (
        HealthRule::NetworkBandwidth,
        RuleText {
            figure: "bytes that each broker received or sent, of the limit that is declared",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "segments queue and are dropped",
            next_step: "compress, spread the load over more brokers, or use a faster network",
            source: TUNING_GUIDE,
        },
    ),
    (
        HealthRule::GcPause,
        RuleText {
            figure: "longest pause of a broker for garbage collection",
            threshold: Above(100e6),
            unit: Unit::Ns,
            consequence: "every request of that broker waits so long, and p99.9 or the largest latency shows it",
            next_step: "enlarge the heap, or look which requests allocate so much",
            source: START_SCRIPTS,
        },
    ),
    (
        HealthRule::Stopped,
        RuleText {
            figure: "stop-the-world time of a broker (safepoints, garbage collection included)",
            threshold: Above(0.05),
            unit: Unit::Ratio,
            consequence: "the broker does nothing meanwhile, and what has come waits",
            next_step: "enlarge the heap, or look in its log of garbage collection what stops it",
            source: OWN,
        },
    ),
    (
        HealthRule::HeapAfterGc,
        RuleText {
            figure: "least of a broker's heap that was in use after a collection",
            threshold: Above(0.8),
            unit: Unit::Ratio,
            consequence: "collections come ever more often and free ever less, and at the end the broker fails",
            next_step: "enlarge the heap (`system.limits.heap`), or lower partitions, connections and fetch sizes",
            source: OWN,
        },
    ),
    (
        HealthRule::Retransmits,
        RuleText {
            figure: "TCP segments sent again, of all that were sent, loopback included",
            threshold: Above(0.01),
            unit: Unit::Ratio,
            consequence: "each of them may hold up its connection for 200 ms, the least that Linux waits",
            next_step: "look for a full link, a small receive buffer, or a bad path",
            source: OWN,
        },
    ),
    (
        HealthRule::PacketsDropped,
        RuleText {
            figure: "packets that the kernel dropped on receipt, per second",
            threshold: Above(1.0),
            unit: Unit::Count,
            consequence: "of TCP they come again as retransmissions, with their delay; others may be of protocols that no one \
                          here listens to",
            next_step: "look at `ip -s -s link`; enlarge the interface's rings (`ethtool -G`) and net.core.netdev_max_backlog",
            source: USE_METHOD,
        },
    ),
    (
        HealthRule::MemoryPressure,
        RuleText {
            figure: "memory pressure: time in which something waited for memory",
            threshold: Above(0.01),
            unit: Unit::Ratio,
            consequence: "programs pause while pages are found or read again",
            next_step: "lower heaps, or give the host more memory",
            source: USE_METHOD,
        },
    ),
    (
        HealthRule::MemoryAvailable,
        RuleText {
            figure: "least available memory",
            threshold: Below(0.05),
            unit: Unit::Ratio,
            consequence: "there is no page cache left to serve consumers from, and a process may be ended by the kernel",
            next_step: "lower heaps, or give the host more memory",
            source: OWN,
        },
    ),
    (
        HealthRule::ProbesBusy,
        RuleText {
            figure: "kdyno's own reading of probes, of one CPU",
            threshold: Above(0.02),
            unit: Unit::Ratio,
            consequence: "on a host with few CPUs it is taken from what is measured",
            next_step: "run fewer brokers and workers on this host",
            source: OWN,
        },
    ),
];

/// What the rules of health say of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The trial.
    pub scope: Scope,
    /// Every rule that could be asked, with each thing that it was asked of.
    pub checks: Vec<HealthCheck>,
}

/// A rule that was asked of one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// Which rule.
    pub rule: HealthRule,
    /// Whose value it is: `brokers`, `drive vda`, `host`; for a rule about the worst of several, that one: `broker-1`.
    pub of: String,
    /// The figure in the window, in the rule's unit.
    pub value: f64,
    /// Whether it is beyond the rule's threshold.
    pub is_broken: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_what_why_and_what_next() {
        for (index, rule) in HealthRule::iter().enumerate() {
            assert_eq!(RULES[index].0, rule, "the table has their order");
            let RuleText { figure, consequence, next_step, source, .. } = rule.text();
            for clause in [figure, consequence, next_step] {
                assert!(clause.len() > 10 && !clause.ends_with('.'), "{rule}: {clause}");
            }
            assert!(!source.is_empty(), "{rule}");
        }
    }

    #[test]
    fn at_the_threshold_a_rule_is_not_broken() {
        assert!(
            !HealthThreshold::Above(0.8).is_broken_by(0.8) && HealthThreshold::Above(0.8).is_broken_by(0.81)
        );
        assert!(
            !HealthThreshold::Below(0.3).is_broken_by(0.3) && HealthThreshold::Below(0.3).is_broken_by(0.29)
        );
    }
}
