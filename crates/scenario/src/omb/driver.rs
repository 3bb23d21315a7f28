//! A driver file: how OMB's Kafka client is set, and how the topics are made.

use super::keys::OmbKeys;
use crate::client::{ClientSide, is_of};
use crate::input::{InputError, listed, quoted};
use crate::security::{ClientProperties, PropertiesCommand, TakenProperties, says_how_reached};
use crate::yaml::Scalar;
use kdyno_model::properties::{Properties, Property, trim};

/// Drivers that speak Kafka's protocol: OMB's own, and that of Redpanda's fork.
const KAFKA_DRIVERS: [&str; 2] = ["KafkaBenchmarkDriver", "RedpandaBenchmarkDriver"];
const KEYS: &[&str] = &[
    "name",
    "driverClass",
    "replicationFactor",
    "topicConfig",
    "commonConfig",
    "producerConfig",
    "consumerConfig",
    "reset",
];
const PRODUCER: PropertiesCommand = PropertiesCommand {
    side: ClientSide::Produce,
    sets: &["key.serializer", "value.serializer"],
    with_java: "",
};
const CONSUMER: PropertiesCommand = PropertiesCommand {
    side: ClientSide::Consume,
    sets: &["key.deserializer", "value.deserializer", "group.id"],
    with_java: "",
};
/// Replicas that fit on the most brokers that a local cluster may have.
const REPLICAS_MAX: u32 = 64;

/// A driver file of OMB for Kafka.
#[derive(Debug, Clone)]
pub struct OmbDriver {
    /// Its `name`, as results have it.
    pub name: String,
    /// Settings of how a cluster is reached, by name alone, for their values may be secrets.
    pub reach: Vec<String>,
    /// The addresses of the file; where it is not typed which cluster is meant, a local one is started.
    pub bootstrap: Option<String>,
    pub(super) replicas: u32,
    pub(super) topic: Vec<(String, String)>,
    pub(super) producer: Vec<(String, String)>,
    pub(super) consumer: Vec<(String, String)>,
    /// Where consumers begin.
    pub(super) from: &'static str,
    /// What becomes of keys and settings that are not honoured.
    pub(super) notes: Vec<String>,
}

impl OmbDriver {
    /// Reads a driver file.
    ///
    /// # Errors
    /// What is no driver file of Kafka's client, with its place; the file is named later.
    pub fn read(text: &str) -> Result<Self, InputError> {
        let mut keys = OmbKeys::read(text, "a driver file")?;
        let mut notes = Vec::new();
        let name = keys.text("name")?;
        check_class(&mut keys)?;
        let replicas = replicas(&mut keys)?;
        let mut block = |key: &str| block(keys.take(key)?, key, &mut notes);
        let (topic, common) = (block("topicConfig")?, block("commonConfig")?);
        let (producer, consumer) = (block("producerConfig")?, block("consumerConfig")?);
        if keys.is_set("reset")? {
            notes.push(
                "`reset`: topics of others stay; those of a run are its own and are deleted".to_owned(),
            );
        }
        notes.extend(keys.unknown(KEYS));
        let (reach, common): (Vec<Property>, Vec<Property>) =
            common.into_iter().partition(|property| says_how_reached(&property.name));
        let is_consumers = |property: &&Property| is_of(ClientSide::Consume, &property.name);
        let is_producers =
            |property: &&Property| is_of(ClientSide::Produce, &property.name) || !is_consumers(property);
        let producer = merged(common.iter().filter(is_producers), producer);
        let mut consumer = merged(common.iter().filter(is_consumers), consumer);
        let from = from(&mut consumer)?;
        commits(&mut consumer, &mut notes);
        let (bootstrap, reach): (Vec<Property>, Vec<Property>) =
            reach.into_iter().partition(|property| property.name == "bootstrap.servers");
        notes.extend(left_out("commonConfig", reach.iter().map(|property| property.name.as_str())));
        Ok(Self {
            name,
            bootstrap: bootstrap.first().map(|property| trim(&property.value).to_owned()),
            reach: reach.into_iter().map(|property| property.name).collect(),
            replicas,
            topic: topic
                .into_iter()
                .map(|property| (property.name, trim(&property.value).to_owned()))
                .collect(),
            producer: taken("producerConfig", producer, &PRODUCER, &mut notes),
            consumer: taken("consumerConfig", consumer, &CONSUMER, &mut notes),
            from,
            notes,
        })
    }
}

/// Refuses a driver of another system.
fn check_class(keys: &mut OmbKeys) -> Result<(), InputError> {
    let needs =
        "kdyno measures Kafka: `driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver`";
    let Some(class) = keys.take("driverClass")? else {
        let message = match keys.has("partitionsPerTopic") {
            true => "this is a workload file, not a driver file",
            false => "a driver file has a `driverClass`, and this has none",
        };
        return Err(InputError::whole(message).hint(needs));
    };
    let is_kafka = class.text.rsplit('.').next().is_some_and(|last| KAFKA_DRIVERS.contains(&last));
    match is_kafka {
        true => Ok(()),
        false => {
            let message = format!("`driverClass` {} is the driver of another system", quoted(&class.text));
            Err(InputError::at(class.place, message).hint(needs))
        }
    }
}

fn replicas(keys: &mut OmbKeys) -> Result<u32, InputError> {
    let place = keys.place("replicationFactor");
    match keys.int("replicationFactor", 0)? {
        replicas @ 1..=REPLICAS_MAX => Ok(replicas),
        other => {
            let message = format!("`replicationFactor` is {other}, and not from 1 to {REPLICAS_MAX}");
            Err(InputError { place, ..InputError::whole(message) })
        }
    }
}

/// The properties of a block of the file.
fn block(typed: Option<Scalar>, key: &str, notes: &mut Vec<String>) -> Result<Vec<Property>, InputError> {
    let Some(typed) = typed else { return Ok(Vec::new()) };
    let found = Properties::parse(typed.text.as_bytes())
        .map_err(|error| InputError::at(typed.place, format!("`{key}`: {error}")).hint(error.hint))?;
    notes.extend(found.notes.into_iter().map(|note| format!("`{key}`: {}", note.text)));
    Ok(found.properties)
}

/// Properties of both sides, and over them those of one.
fn merged<'a>(common: impl Iterator<Item = &'a Property>, own: Vec<Property>) -> Vec<Property> {
    let mut all: Vec<Property> =
        common.filter(|property| !own.iter().any(|other| other.name == property.name)).cloned().collect();
    all.extend(own);
    all
}

fn removed(from: &mut Vec<Property>, name: &str) -> Option<String> {
    let at = from.iter().position(|property| property.name == name)?;
    Some(trim(&from.remove(at).value).to_ascii_lowercase())
}

/// Where consumers begin, which here is a key of the load item.
fn from(consumer: &mut Vec<Property>) -> Result<&'static str, InputError> {
    match removed(consumer, "auto.offset.reset").as_deref() {
        None | Some("latest") => Ok("latest"),
        Some("earliest") => Ok("earliest"),
        Some(other) => {
            let message = format!("`consumerConfig`: `auto.offset.reset` {} is not followed", quoted(other));
            Err(InputError::whole(message).hint("`earliest` or `latest`"))
        }
    }
}

/// OMB's consumers commit by themselves where the client does not. Here `enable.auto.commit: false` would commit nothing.
fn commits(consumer: &mut Vec<Property>, notes: &mut Vec<String>) {
    let is_on = removed(consumer, "enable.auto.commit").is_some_and(|value| value == "true");
    if !is_on {
        notes.push(
            "`enable.auto.commit=false`: OMB commits after each poll that returned records; here members commit every \
             `auto.commit.interval.ms`, 5 s unless it is set"
                .to_owned(),
        );
    }
}

/// That these say how a cluster is reached; their values may be secrets.
fn left_out<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names = listed(names);
    (!names.is_empty())
        .then(|| format!("`{key}`: {names} not used: --command-config says how a cluster is reached"))
}

/// What the load takes of settings; the rest is noted.
fn taken(
    key: &str,
    others: Vec<Property>,
    command: &PropertiesCommand,
    notes: &mut Vec<String>,
) -> Vec<(String, String)> {
    let (reach, others): (Vec<Property>, Vec<Property>) =
        others.into_iter().partition(|property| says_how_reached(&property.name));
    notes.extend(left_out(key, reach.iter().map(|property| property.name.as_str())));
    let properties = ClientProperties { others, ..ClientProperties::default() };
    let TakenProperties { settings, facts, warnings } = properties.of_load(command);
    notes.extend(facts.into_iter().chain(warnings).map(|note| format!("`{key}`: {note}")));
    settings.into_iter().map(|property| (property.name.clone(), trim(&property.value).to_owned())).collect()
}
