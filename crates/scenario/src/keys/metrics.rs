//! Keys of what is read of brokers' own metrics.

use super::{Key, Section, TEXT, ValueKind, key, needed, section};

/// The words for how brokers' own metrics are read.
pub const BROKER_METRICS: &[&str] = &["jmx", "none"];

const MEANING: &str = "attributes of MBeans that are read too, as `OBJECT/ATTRIBUTE`, e.g. \
                       `kafka.server:type=ReplicaManager,name=LeaderCount/Value`; 50 at most. Each is a series of each broker. An \
                       item of a composite attribute is behind a dot: `HeapMemoryUsage.max`. Patterns are not taken";

/// The map under `metrics` of a system.
pub static MBEANS: Section = section(
    "metrics of brokers",
    "Metrics by the agent, and more of them than kdyno reads anyway.",
    &[needed("mbeans", ValueKind::List(&TEXT), MEANING)],
);

/// Extra MBeans of a target.
pub(super) const TARGET_MBEANS: Key = key("mbeans", ValueKind::List(&TEXT), MEANING);
