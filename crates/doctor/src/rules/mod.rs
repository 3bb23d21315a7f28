//! The recommendations, each a row with its reason and its source.

pub(crate) mod brokers;
pub(crate) mod clients;
pub(crate) mod disks;
pub mod host;
mod jvm;
pub(crate) mod topics;

use crate::advice::{Advice, AdviceSeverity, AdviceStatus, SettingChange};

/// Who says so.
pub(crate) mod source {
    /// The tuning guide whose report is the scenario `intel-sla`.
    pub(crate) const INTEL: &str = "Intel, tuning guide for Kafka";
    pub(crate) const KAFKA_HOST: &str = "Apache Kafka documentation, Hardware and OS";
    pub(crate) const KAFKA_BROKER: &str = "Apache Kafka documentation, Broker Configs";
    pub(crate) const KAFKA_TOPIC: &str = "Apache Kafka documentation, Topic Configs";
    pub(crate) const KAFKA_PRODUCER: &str = "Apache Kafka documentation, Producer Configs";
    pub(crate) const KAFKA_JAVADOC: &str = "Apache Kafka Javadoc, KafkaProducer";
    pub(crate) const KAFKA_OPERATIONS: &str = "Apache Kafka documentation, Basic Kafka Operations";
    pub(crate) const KAFKA_CONSUMER_CONFIGS: &str = "Apache Kafka documentation, Consumer Configs";
    pub(crate) const KAFKA_CONSUMER: &str = "Apache Kafka documentation, The Consumer";
    pub(crate) const STRIMZI: &str = "Strimzi documentation, JVM options";
    pub(crate) const CANONICAL: &str = "Canonical, Charmed Apache Kafka, performance tuning";
}

/// What a rule says, whatever it is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reason {
    pub(crate) severity: AdviceSeverity,
    pub(crate) why: &'static str,
    pub(crate) source: &'static str,
}

/// A recommendation compared with a value: `is_followed` is `None` where the value is not known or cannot be read.
pub(crate) fn advice(
    of: &str,
    setting: &str,
    (current, is_followed): (Option<String>, Option<bool>),
    recommended: String,
    reason: Reason,
    change: impl FnOnce(&str) -> Option<SettingChange>,
) -> Advice {
    let verdict = match (&current, is_followed) {
        (Some(_), Some(true)) => AdviceStatus::Followed,
        (Some(_), Some(false)) => AdviceStatus::NotFollowed,
        _ => AdviceStatus::Unknown,
    };
    let change = match verdict {
        AdviceStatus::NotFollowed => change(current.as_deref().unwrap_or_default()),
        AdviceStatus::Followed | AdviceStatus::Unknown => None,
    };
    Advice {
        of: of.to_owned(),
        setting: setting.to_owned(),
        current,
        recommended,
        verdict,
        severity: reason.severity,
        why: reason.why.to_owned(),
        source: reason.source,
        change,
    }
}
