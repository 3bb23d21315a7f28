//! Settings by Kafka's names, and options of a JVM. Some of either name classes, files and commands, so what is allowed is
//! listed: by name, or by a form in which a value can be nothing but a number or a switch.

use super::refusal::{KeyPath, Passed};
use crate::driver::{JVM_OPTIONS_MAX, SIZES};
use crate::kafka::{Owner, is_name, written_by_kdyno};
use kdyno_model::plan::{GroupAssignor, java_size};
use kdyno_model::stacks;
use kdyno_scenario::client::{
    ClientSide, FoundJava, JavaType, SettingKind, SupportedSetting, find_java, kafka_number, level, number,
};
use kdyno_scenario::input::{TextPosition, quoted};
use kdyno_scenario::units::Dimension;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Longest word.
const WORD_BYTES_MAX: usize = 100;

/// Settings of brokers and topics whose values are words of Kafka's own. Those of all others are numbers and switches.
const OF_WORDS: [&str; 10] = [
    "cleanup.policy",
    "compression.type",
    "group.coordinator.rebalance.protocols",
    "inter.broker.protocol.version",
    "log.cleanup.policy",
    "log.message.format.version",
    "log.message.timestamp.type",
    "message.format.version",
    "message.timestamp.type",
    "metrics.recording.level",
];

/// Classes of Kafka's own that do no more than they are known for.
const CLASSES: [(&str, &str); 1] =
    [("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector")];

/// Options of a JVM that switch something on or off: collectors, pages of memory, and those with which stacks are whole.
const SWITCHES: [&str; 7] = [
    "UseG1GC",
    "UseParallelGC",
    "UseSerialGC",
    "UseZGC",
    "ZGenerational",
    "AlwaysPreTouch",
    "UseTransparentHugePages",
];

/// Options of a JVM that take a number or a size.
const NUMBERS: [&str; 8] = [
    "ActiveProcessorCount",
    "ConcGCThreads",
    "G1HeapRegionSize",
    "InitiatingHeapOccupancyPercent",
    "MaxDirectMemorySize",
    "MaxGCPauseMillis",
    "MaxMetaspaceSize",
    "ParallelGCThreads",
];

/// Letters, digits and what joins them: neither a path nor a second line.
pub(super) fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ',' | ' ');
    (1..=WORD_BYTES_MAX).contains(&text.len()) && text.chars().all(is_plain)
}

fn is_number_or_switch(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok();
    is_number || matches!(text, "true" | "false")
}

/// Whether the value of a setting of brokers or topics is a number, a switch or a word of Kafka's own.
pub(crate) fn is_plain_setting(name: &str, value: &str) -> bool {
    is_number_or_switch(value)
        || OF_WORDS.contains(&name) && is_word(value)
        || CLASSES.contains(&(name, value))
}

/// Settings of brokers or of topics.
pub(super) fn of_kafka(at: &KeyPath<'_>, config: &BTreeMap<String, String>, owner: Owner) -> Passed {
    config.iter().try_for_each(|(name, value)| {
        let is_allowed = is_plain_setting(name, value);
        let is_free = is_name(name) && written_by_kdyno(name, owner).is_none();
        at.holds(is_allowed && is_free, &format!("sets {} to {}", quoted(name), quoted(value)))
    })
}

/// Options of a JVM.
pub(super) fn jvm(at: &KeyPath<'_>, options: &[String]) -> Passed {
    at.within(options.len(), 0..=JVM_OPTIONS_MAX)?;
    let refused = |option: &&String| !is_jvm_option(option);
    options
        .iter()
        .find(refused)
        .map_or(Ok(()), |option| Err(at.refused(format!("gives the option {} to a JVM", quoted(option)))))
}

fn is_jvm_option(option: &str) -> bool {
    if stacks::JVM_OPTIONS.contains(&option) {
        return true;
    }
    if let Some(size) = SIZES.iter().find_map(|name| option.strip_prefix(name)) {
        return java_size(size).is_some();
    }
    let Some(rest) = option.strip_prefix("-XX:") else { return false };
    match (rest.strip_prefix(['+', '-']), rest.split_once('=')) {
        (Some(switch), _) => SWITCHES.contains(&switch),
        (None, Some((name, value))) => NUMBERS.contains(&name) && java_size(value).is_some(),
        (None, None) => false,
    }
}

/// Settings of a client of kdyno's own under Kafka's names, against the tables that scenarios are read by. Texts are
/// looked at where they are by themselves.
pub(super) fn of_client(at: &KeyPath<'_>, side: ClientSide, named: &[(&'static str, String)]) -> Passed {
    named.iter().try_for_each(|(name, value)| {
        let setting = side.settings().iter().find(|setting| setting.name == *name);
        let fits = setting.is_some_and(|of| of.kind == SettingKind::Text || is_value(of, value));
        at.holds(fits, &format!("sets {} to {}", quoted(name), quoted(value)))
    })
}

/// Settings that are passed on to a Java client.
pub(super) fn of_java(at: &KeyPath<'_>, side: ClientSide, properties: &BTreeMap<String, String>) -> Passed {
    properties.iter().try_for_each(|(name, value)| {
        let is_allowed = match find_java(side, &Scalar::assumed(name, TextPosition::default())) {
            Ok(FoundJava::ActedOn(of)) => is_java_value(of, value),
            Ok(FoundJava::Known(row)) => match row.kind {
                JavaType::List | JavaType::Class | JavaType::Password => false,
                JavaType::Text => is_word(value),
                JavaType::Boolean | JavaType::Int | JavaType::Long | JavaType::Short | JavaType::Double => {
                    row.kind.complaint(value).is_none()
                }
            },
            Ok(FoundJava::Own(_) | FoundJava::Unknown) | Err(_) => false,
        };
        let what = format!("gives a Java client {} as {}", quoted(value), quoted(name));
        at.holds(is_allowed, &what)
    })
}

/// Whether a scenario may give kdyno's own client this value.
fn is_value(of: &SupportedSetting, value: &str) -> bool {
    match of.kind {
        SettingKind::Bytes | SettingKind::Ms | SettingKind::Count => number(of, value).is_ok(),
        SettingKind::Level(levels) => level(levels, value).is_ok(),
        SettingKind::Words(words) => words.contains(&value),
        SettingKind::Text => is_word(value),
    }
}

/// Numbers of Java's may lie outside of what kdyno's own client takes, and of classes it has its own.
fn is_java_value(of: &SupportedSetting, value: &str) -> bool {
    match of.kind {
        SettingKind::Bytes => {
            kafka_number(value, Dimension::Bytes, 1.0).is_ok() || is_number_or_switch(value)
        }
        SettingKind::Ms | SettingKind::Count | SettingKind::Level(_) => is_number_or_switch(value),
        SettingKind::Words(words) => words.contains(&value),
        SettingKind::Text if of.name == "partition.assignment.strategy" => {
            value.split(',').all(|class| GroupAssignor::of(class.trim()).is_some())
        }
        SettingKind::Text => is_word(value),
    }
}
