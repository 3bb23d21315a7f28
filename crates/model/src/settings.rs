//! Settings in force: what a broker, a topic or a client really runs with, and where each value comes from.

use crate::finding::Scope;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{Display, IntoStaticStr};

/// Settings in force on one broker, topic or client, by their names in Kafka.
pub type SettingsInForce = BTreeMap<String, SettingInForce>;

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSetting", into = "StoredSetting")]
pub struct SettingInForce {
    /// Its value.
    pub value: String,
    /// Where the value comes from.
    pub origin: SettingOrigin,
    /// The default of that version where the value is another one; `None`: it is the default, or was not reported.
    pub default: Option<String>,
}

/// Where the value of a setting in force comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SettingOrigin {
    /// The default of the version; of a topic that of its brokers' version.
    Default,
    /// The broker was started with it; of a topic, its brokers were.
    Static,
    /// Somebody set it while the cluster ran, for brokers; of a topic, for its brokers.
    Dynamic,
    /// It was set for the topic itself.
    Topic,
    /// The client was made with it.
    Client,
    /// The client made it out of others: neither given nor the default.
    Derived,
    /// Not reported.
    Unknown,
}

impl SettingInForce {
    /// A value with where it comes from.
    pub fn new(origin: SettingOrigin, value: impl Into<String>) -> Self {
        Self { value: value.into(), origin, default: None }
    }

    /// The setting with the default of its version, which is kept where it is another one.
    #[must_use]
    pub fn with_default(self, default: Option<String>) -> Self {
        let default = default.filter(|default| *default != self.value);
        Self { default, ..self }
    }

    /// Whether it was set by name, or in the file that the broker was started with.
    pub fn is_set(&self) -> bool {
        use SettingOrigin::{Client, Default, Derived, Dynamic, Static, Topic, Unknown};
        match self.origin {
            Static | Dynamic | Topic | Client => true,
            Default | Derived | Unknown => false,
        }
    }
}

/// A setting that is not the same on both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingDiffers {
    /// The comparison.
    pub scope: Scope,
    /// Whose setting: `brokers`, `topic NAME`, or a load item.
    pub whose: String,
    /// Its name.
    pub setting: String,
    /// On side A; `-` where it does not exist.
    pub a: String,
    /// On side B.
    pub b: String,
    /// The comparison is about it, or it may differ, or it comes with what the comparison is about.
    pub declared: bool,
    /// Why it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyDiffers>,
}

/// Why a setting is not the same on both sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyDiffers {
    /// The comparison sets it, or `may_differ` names it.
    Asked,
    /// It is set on neither side: another version has another default.
    OtherDefault,
    /// It comes with another version, mode, number of brokers, listeners or driver.
    ComesWith,
    /// An unrequested difference.
    NotAsked,
}

/// What Java's machine was started with: the options of a command line, without those that say where files lie and what
/// is run.
pub fn jvm_flags(command_line: &[String]) -> Vec<&str> {
    let mut words = command_line.iter().skip(1).map(String::as_str);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-cp" | "-classpath" | "--class-path" => drop(words.next()),
            // The class that is run, and what it is given.
            _ if !word.starts_with('-') => break,
            _ if word.contains('/') => {}
            _ => found.push(word),
        }
    }
    found
}

/// How one is stored: `["static","4","8"]`, its origin, its value, and the default where the value is another one.
type StoredSetting = (SettingOrigin, String, Option<String>);

impl From<StoredSetting> for SettingInForce {
    fn from((origin, value, default): StoredSetting) -> Self {
        Self { value, origin, default }
    }
}

impl From<SettingInForce> for StoredSetting {
    fn from(SettingInForce { value, origin, default }: SettingInForce) -> Self {
        (origin, value, default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jvm_flags_are_kept_without_paths_and_main_class() {
        let line = "/j/bin/java -Xmx512m -server -Xlog:gc*:file=/w/gc.log:time -Dkafka.logs.dir=/w -cp /k/libs/* \
                    -XX:+UseZGC kafka.Kafka /w/server.properties -x";
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(jvm_flags(&line), ["-Xmx512m", "-server", "-XX:+UseZGC"]);
        assert_eq!(jvm_flags(&[]), [""; 0]);
    }

    #[test]
    fn each_origin_is_kept_with_the_default_where_it_is_another() {
        let text = r#"{"a":["default","1",null],"b":["dynamic","2",null],"c":["static","3","8"],"d":["topic","4",null],"e":["client","5","6"],"f":["derived","7",null]}"#;
        let settings: SettingsInForce = serde_json::from_str(text).expect("settings");
        let is_set: Vec<bool> = settings.values().map(SettingInForce::is_set).collect();
        assert_eq!(is_set, [false, true, true, true, true, false]);
        assert_eq!(settings["c"].default.as_deref(), Some("8"));
        assert_eq!(serde_json::to_string(&settings).expect("JSON"), text);
        let same = SettingInForce::new(SettingOrigin::Static, "8").with_default(Some("8".to_owned()));
        assert_eq!(same.default, None);
    }
}
