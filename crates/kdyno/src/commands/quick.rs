//! `kdyno quick`: a first figure from a cluster, without a file of ours.
//!
//! It writes the scenario and the target that a careful user would, and runs them as any other: one topic
//! of its own, one producer at a modest constant rate, limits that protect the cluster. How the cluster is reached, and
//! the producer's settings, may come from a file that Kafka's own tools take.

use crate::cli::QuickArgs;
use crate::execution::{Planned, TargetFiles, random_u64};
use crate::failure::Failure;
use crate::target_source::with_properties;
use kdyno_kafka::admin::{AdminError, TopicInfo};
use kdyno_model::address::is_address;
use kdyno_model::plan::{AttachedPlan, Caps, Plan, Protocol};
use kdyno_model::properties::{Property, trim};
use kdyno_plan::{Choices, Note};
use kdyno_scenario::Scenario;
use kdyno_scenario::client::Side;
use kdyno_scenario::input::{InputError, Place, quoted};
use kdyno_scenario::security::{ClientProperties, client_properties};
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use kdyno_scenario::units::{self, Dimension};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the first connection may take.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Caps of a quick look: what a shared cluster bears without anybody noticing.
const CAPS: Caps = Caps {
    produce_bytes_per_s: Some(20 << 20),
    connections: Some(50),
    partitions: Some(60),
    disk_bytes: Some(10 << 30),
    time_ns: Some(10 * 60 * 1_000_000_000),
};

/// Nothing is capped.
const NO_CAPS: Caps =
    Caps { produce_bytes_per_s: None, connections: None, partitions: None, disk_bytes: None, time_ns: None };

/// What messages call the scenario.
const SCENARIO: &str = "quick";

/// Begins the names of topics and client ids.
pub(super) const PREFIX: &str = "kdyno-";

/// Replicas unless another number is asked for, where there are that many brokers.
const REPLICAS: u32 = 3;

/// Looks at the cluster, writes the scenario, plans it.
pub(crate) fn plan(args: &QuickArgs) -> Result<Planned, Failure> {
    let properties = match &args.command_config {
        None => ClientProperties::default(),
        Some(path) => with_properties(path, |file| client_properties(file, &BTreeMap::new()))?,
    };
    let bootstrap = bootstrap(args, &properties)?;
    check(args)?;
    let (settings, notes) = properties.of_load(Side::Produce);
    let (target, topic) = look(args, &bootstrap, &properties)?;
    let client = client(args.acks.as_deref(), &settings);
    let text = scenario_text(args, &topic, &client);
    let (plan, remarks) = planned(&text, target).map_err(|error| as_given(error, args, &text, &client))?;
    Ok(Planned {
        plan,
        scenario_text: text,
        scenario_path: SCENARIO.to_owned(),
        target_files: TargetFiles::new(),
        remarks: told_of_properties(&properties, notes).chain(remarks).collect(),
        resumed: None,
    })
}

/// What is to be told of properties. A name that no client knows is misspelt more likely than meant.
pub(super) fn told_of_properties(
    properties: &ClientProperties,
    notes: Vec<String>,
) -> impl Iterator<Item = Note> + use<> {
    let unknown = properties.notes_of_unknown();
    notes
        .into_iter()
        .map(move |note| if unknown.contains(&note) { Note::Warning(note) } else { Note::Fact(note) })
}

/// Longest measured window: a quick look is no endurance test.
const DURATION_NS_MAX: u64 = 5 * 60 * 1_000_000_000;

/// Reads quantities here, where the message can name the option; the scenario reads them again.
fn check(args: &QuickArgs) -> Result<(), Failure> {
    let option = |name: &str| {
        let name = name.to_owned();
        move |why: String| Failure::usage(format!("--{name}: {why}"))
    };
    units::parse_as(&args.rate, Dimension::PerS).map_err(option("rate"))?;
    units::whole(&args.size, Dimension::Bytes).map_err(option("size"))?;
    let duration_ns = units::whole(&args.duration, Dimension::Ns).map_err(option("duration"))?;
    if duration_ns > DURATION_NS_MAX {
        return Err(Failure::usage(format!("--duration: {} is more than 5m", args.duration))
            .hint("a scenario and a target file run for as long as you like"));
    }
    Ok(())
}

/// Brokers to ask first: those of the command line, else those of the properties file.
fn bootstrap(args: &QuickArgs, properties: &ClientProperties) -> Result<Vec<String>, Failure> {
    let (from, addresses) = match (&args.command_config, args.bootstrap_server.is_empty()) {
        (Some(path), true) => (path.display().to_string(), &properties.bootstrap),
        _ => ("--bootstrap-server".to_owned(), &args.bootstrap_server),
    };
    if addresses.is_empty() {
        return Err(
            Failure::usage(format!("{from} has no `bootstrap.servers`")).hint("name --bootstrap-server")
        );
    }
    match addresses.iter().find(|address| !is_address(address)) {
        Some(wrong) => {
            Err(Failure::usage(format!("{from}: {} is not HOST:PORT", quoted(wrong))).hint(ADDRESS_FORM))
        }
        None => Ok(addresses.clone()),
    }
}

/// A cluster as it is attached to without a target file: nothing capped and nothing allowed.
pub(crate) fn attached(
    target: &str,
    bootstrap: Vec<String>,
    properties: &ClientProperties,
    topics: BTreeMap<String, String>,
) -> AttachedPlan {
    AttachedPlan {
        target: target.to_owned(),
        bootstrap,
        cluster_id: String::new(),
        security: Box::new(properties.security.clone()),
        prefix: PREFIX.to_owned(),
        topics,
        caps: NO_CAPS,
        allow: Vec::new(),
        abort_if: Vec::new(),
        facts: BTreeMap::new(),
        price: None,
        sustain_ns: None,
    }
}

/// Asks the cluster who it is, and of what the topic is or will be made.
fn look(
    args: &QuickArgs,
    bootstrap: &[String],
    properties: &ClientProperties,
) -> Result<(Target, TopicShape), Failure> {
    let topics = args.topic.iter().map(|name| (SCENARIO.to_owned(), name.clone())).collect();
    let mut attached = attached("quick", bootstrap.to_vec(), properties, topics);
    attached.caps = CAPS;
    let protocol = attached.security.protocol;
    let failed = |error: &AdminError| Failure::tool(error).maybe_hint(hint(error, protocol));
    let access = kdyno_lab::access(&attached, &properties.secrets, &|name| std::env::var_os(name))?;
    let client_id = format!("{PREFIX}admin");
    let mut admin = access.admin(&client_id, CONNECT_DEADLINE).map_err(|error| failed(&error))?;
    let cluster = admin.cluster().map_err(|error| failed(&error))?;
    attached.cluster_id = cluster.cluster_id.unwrap_or_default();
    let topic = match &args.topic {
        None => TopicShape {
            partitions: args.partitions,
            replicas: args.replicas.unwrap_or(REPLICAS.min(number(cluster.brokers.len()))),
        },
        Some(name) => {
            let found = admin.topics(Some(&[name])).map_err(|error| failed(&error))?;
            let found = found.iter().find(|topic| topic.name == *name && !topic.error.is_error());
            let found = found.ok_or_else(|| {
                Failure::usage(format!("--topic: the cluster shows no topic {}", quoted(name)))
                    .hint("it is not there, or this user may not describe it")
            })?;
            TopicShape::of(found)
        }
    };
    Ok((Target { attached, secrets: properties.secrets.clone(), notes: Vec::new() }, topic))
}

/// What may be wrong where nothing that speaks Kafka's protocol answered; whatever else goes wrong says so itself.
pub(crate) fn hint(error: &AdminError, protocol: Protocol) -> Option<String> {
    let is_silent = match error {
        AdminError::Unreachable(errors) => return errors.iter().find_map(|error| hint(error, protocol)),
        AdminError::Refused { .. } | AdminError::Resolve { .. } | AdminError::Io { .. } => true,
        AdminError::Timeout { .. } | AdminError::Closed { .. } | AdminError::Wire { .. } => true,
        _ => false,
    };
    is_silent.then(|| format!("is this the address of a {protocol} listener that this host can reach?"))
}

/// The command of Kafka's own tool that does something with a cluster's topics.
pub(super) fn topics_tool(attached: &AttachedPlan, what: &str) -> String {
    let config = if attached.security.is_plaintext() { "" } else { " --command-config FILE" };
    format!("`kafka-topics.sh --bootstrap-server {}{config} {what}`", attached.bootstrap.join(","))
}

/// Of what a topic is made.
#[derive(Clone, Copy)]
pub(super) struct TopicShape {
    pub(super) partitions: u32,
    pub(super) replicas: u32,
}

impl TopicShape {
    /// Of a topic that was not looked at yet: what is wrong with settings is wrong whatever it is.
    pub(super) const UNSEEN: Self = Self { partitions: 1, replicas: 1 };

    /// Of a topic that is there.
    pub(super) fn of(topic: &TopicInfo) -> Self {
        let replicas = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
        Self { partitions: number(topic.partitions.len()), replicas: number(replicas) }
    }
}

/// A number of brokers, partitions or replicas, of which there is one at least.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// Reads and plans the scenario.
fn planned(text: &str, target: Target) -> Result<(Plan, Vec<Note>), InputError> {
    let scenario = Scenario::parse(text, SCENARIO)?;
    let choices = Choices { seed: Some(random_u64()), target: Some(target), ..Choices::default() };
    let plan = kdyno_plan::plan(&scenario, &choices)?;
    let remarks = kdyno_plan::remarks(&scenario, &choices, &plan)?;
    Ok((plan, remarks))
}

/// What is wrong with a setting is told of where it was given, a line of the properties file or `--acks`, not of a scenario
/// that nobody sees: by the line of the scenario that it stands on, or, where something else does not go with it, by its
/// name.
fn as_given(error: InputError, args: &QuickArgs, text: &str, client: &[Setting<'_>]) -> InputError {
    let place = error.place.map_or(0, |place| place.line as usize);
    let line = text.lines().nth(place.saturating_sub(1)).unwrap_or_default();
    let stands_there = client.iter().find(|setting| setting.line == line);
    let is_named = |setting: &&Setting<'_>| error.message.contains(&format!("`{}`", setting.name));
    match (stands_there.or_else(|| client.iter().find(is_named)), &args.command_config) {
        (Some(Setting { property: Some(property), .. }), Some(path)) => {
            let place = Some(Place { line: property.line, column: 1 });
            InputError { file: path.display().to_string(), place, ..error }
        }
        (Some(Setting { name: ACKS, .. }), _) if args.acks.is_some() => {
            InputError { file: "--acks".to_owned(), place: None, ..error }
        }
        _ => error,
    }
}

const ACKS: &str = "acks";

/// A setting of the producer.
struct Setting<'p> {
    name: &'p str,
    /// Its line in the scenario.
    line: String,
    /// Where it comes from, if that is the properties file.
    property: Option<&'p Property>,
}

/// The producer's settings: those of the properties file, and `acks` where the command line or nobody says it.
fn client<'p>(acks: Option<&str>, settings: &[&'p Property]) -> Vec<Setting<'p>> {
    let setting = |name: &'p str, value: &str, property| {
        let line = format!("      {name}: {}", literal(value));
        Setting { name, line, property }
    };
    let of_file = settings.iter().filter(|property| acks.is_none() || property.name != ACKS);
    let mut client: Vec<Setting<'p>> =
        of_file.map(|&property| setting(&property.name, trim(&property.value), Some(property))).collect();
    if acks.is_some() || !settings.iter().any(|property| property.name == ACKS) {
        client.insert(0, setting(ACKS, acks.unwrap_or("all"), None));
    }
    client
}

/// A text in quotes, so that it stays a value, and without params.
pub(crate) fn literal(text: &str) -> String {
    serde_json::Value::from(text.replace('$', "$$")).to_string()
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(args: &QuickArgs, topic: &TopicShape, client: &[Setting<'_>]) -> String {
    let client = client.iter().map(|setting| setting.line.as_str()).collect::<Vec<_>>().join("\n");
    let (rate, value, duration) = (literal(&args.rate), literal(&args.size), literal(&args.duration));
    format!(
        "kdyno: 1
id: quick
question: How soon does this cluster acknowledge a modest, constant load?
topics:
  quick: {{partitions: {partitions}, replicas: {replicas}}}
load:
  writers:
    produce: quick
    clients: 1
    rate: {rate}
    value: {value}
    client:
{client}
phases: {{warmup: 3s, measure: {duration}, drain: auto}}
show:
  columns: [writers.offered_per_s, writers.acked_per_s, writers.response.p50, writers.response.p99, writers.failed]
",
        partitions = topic.partitions,
        replicas = topic.replicas,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::errors::ErrorCode;
    use kdyno_kafka::security::sasl::LoginError;

    #[test]
    fn only_what_does_not_say_itself_what_is_wrong_has_a_hint() {
        let address = || "b:9092".to_owned();
        let silent = AdminError::Refused { address: address() };
        let login = AdminError::Login { address: address(), source: LoginError::NotAsked };
        let denied = AdminError::Broker {
            address: address(),
            api: "Metadata",
            subject: String::new(),
            code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            message: String::new(),
        };
        for error in [login, denied] {
            assert_eq!(hint(&error, Protocol::SaslSsl), None, "{error}");
            assert_eq!(hint(&AdminError::Unreachable(vec![error]), Protocol::SaslSsl), None);
        }
        let told = "is this the address of a SASL_SSL listener that this host can reach?";
        assert_eq!(hint(&silent, Protocol::SaslSsl).as_deref(), Some(told));
        assert_eq!(hint(&AdminError::Unreachable(vec![silent]), Protocol::SaslSsl).as_deref(), Some(told));
    }
}
