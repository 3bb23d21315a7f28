//! What was really in force.

use crate::in_force;
use crate::input::ReportInput;
use kdyno_model::event::Subject;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ConfigDocument {
    /// Numbers of the trials that ran with it.
    trials: Vec<u32>,
    /// The version of Kafka and how that is known, in words; null: not known.
    kafka: Option<String>,
    /// Each Java that ran.
    java: Vec<JavaDocument>,
    /// Settings of brokers (a broker whose settings are those of the first is left out), topics and clients.
    settings: Vec<SettingsDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JavaDocument {
    /// Whose, e.g. `broker-0`; of several that were started alike with commas between.
    whose: String,
    /// Its version; empty: not known.
    version: String,
    /// What it was started with, paths left out.
    options: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SettingsDocument {
    /// `broker`, `topic` or `client`.
    kind: &'static str,
    /// The broker, the topic's name in the scenario, or the load item.
    whose: String,
    /// By their names in Kafka.
    settings: BTreeMap<String, SettingDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SettingDocument {
    /// Its value.
    value: String,
    /// `default`; `static`: brokers were started with it; `dynamic`: set while they ran; `topic`: set for the topic; `client`:
    /// given to the client; `derived`: the client made it of others; `unknown`.
    origin: String,
    /// The default, where the value is another one and it is known.
    default: Option<String>,
}

pub(super) fn all(input: &ReportInput<'_>) -> Vec<ConfigDocument> {
    let group = |of: &in_force::TrialsInForce<'_>| ConfigDocument {
        trials: of.trials.iter().map(|id| id.0).collect(),
        kafka: of.kafka.clone(),
        java: of.javas.iter().map(java).collect(),
        settings: of.settings.iter().map(settings).collect(),
    };
    in_force::all(input).iter().map(group).collect()
}

fn java(of: &in_force::JavaInForce) -> JavaDocument {
    let in_force::JavaInForce { whose, version, options } = of;
    JavaDocument { whose: whose.clone(), version: version.clone(), options: options.clone() }
}

fn settings((subject, of): (&Subject, &kdyno_model::run::SettingsInForce)) -> SettingsDocument {
    let setting = |(name, setting): (&String, &kdyno_model::run::SettingInForce)| {
        let (value, origin) = (setting.value.clone(), setting.origin.to_string());
        (name.clone(), SettingDocument { value, origin, default: setting.default.clone() })
    };
    let kind = match subject {
        Subject::Topic(_) => "topic",
        Subject::Item(_) => "client",
        _ => "broker",
    };
    SettingsDocument { kind, whose: subject.to_string(), settings: of.iter().map(setting).collect() }
}
