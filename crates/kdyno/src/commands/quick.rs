//! `kdyno quick`: a first figure from a cluster, without a file of ours.
//!
//! It writes the scenario and the target that a careful user would, and runs them as any other: one topic
//! of its own, one producer at a modest constant rate, limits that protect the cluster. How the cluster is reached, and
//! the producer's settings, may come from a file that Kafka's own tools take.

use super::drop_in_driver::in_kafkas_unit;
use super::typed_cluster::{TopicShape, ask_cluster_id, attached, failed};
use super::written_scenario::{
    SET_BY_PRODUCERS, Setting, lines, literal, planned, setting_meant, told_of_properties,
};
use crate::cli::QuickArgs;
use crate::execution::{Planned, TargetFiles};
use crate::failure::Failure;
use crate::target_source::with_properties;
use kdyno_model::address::is_address;
use kdyno_model::plan::{Caps, Plan};
use kdyno_model::properties::Property;
use kdyno_plan::Note;
use kdyno_scenario::client::Side;
use kdyno_scenario::input::{InputError, Place, quoted};
use kdyno_scenario::security::{ClientProperties, Command, Taken, client_properties};
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use kdyno_scenario::units::{self, Dimension};
use std::collections::BTreeMap;

/// Caps of a quick look: what a shared cluster bears without anybody noticing.
const CAPS: Caps = Caps {
    produce_bytes_per_s: Some(20 << 20),
    connections: Some(50),
    partitions: Some(60),
    disk_bytes: Some(10 << 30),
    time_ns: Some(10 * 60 * 1_000_000_000),
};

/// What messages call the scenario.
const SCENARIO: &str = "quick";

const COMMAND: Command = Command { side: Side::Produce, sets: SET_BY_PRODUCERS, with_java: "" };
const ACKS: &str = "acks";
/// The default number of replicas, where there are that many brokers.
const REPLICAS: u32 = 3;

/// Looks at the cluster, writes the scenario, plans it.
pub(crate) fn plan(args: &QuickArgs) -> Result<Planned, Failure> {
    let properties = match &args.command_config {
        None => ClientProperties::default(),
        Some(path) => with_properties(path, |file| client_properties(file, &BTreeMap::new()))?,
    };
    let bootstrap = bootstrap(args, &properties)?;
    check(args)?;
    let Taken { settings, facts, warnings } = properties.of_load(&COMMAND);
    let client = client(args.acks.as_deref(), &settings);
    let mut target = target(args, bootstrap, &properties);
    // What is wrong with a setting is reported before the cluster is contacted.
    planned_for(args, &client, (target.clone(), TopicShape::UNSEEN))?;
    let topic = look(args, &mut target)?;
    let (text, plan, remarks) = planned_for(args, &client, (target, topic))?;
    Ok(Planned {
        plan,
        scenario_text: text,
        scenario_path: SCENARIO.to_owned(),
        target_files: TargetFiles::new(),
        remarks: told_of_properties(facts, warnings).chain(remarks).collect(),
        resumed: None,
    })
}

/// Writes the scenario and plans it.
fn planned_for(
    args: &QuickArgs,
    client: &[Setting<'_>],
    (target, topic): (Target, TopicShape),
) -> Result<(String, Plan, Vec<Note>), InputError> {
    let text = scenario_text(args, &topic, client);
    let (plan, remarks) = planned((&text, SCENARIO), target, &args.fail_if.fail_if)
        .map_err(|error| as_given(error, args, &text, client))?;
    Ok((text, plan, remarks))
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

/// The cluster as it was typed, before it was contacted.
fn target(args: &QuickArgs, bootstrap: Vec<String>, properties: &ClientProperties) -> Target {
    let topics = args.topic.iter().map(|name| (SCENARIO.to_owned(), name.clone())).collect();
    let mut attached = attached(SCENARIO, bootstrap, properties, topics);
    attached.caps = CAPS;
    Target { attached, secrets: properties.secrets.clone(), notes: Vec::new() }
}

/// Asks the cluster who it is, and of what the topic is or will be made.
fn look(args: &QuickArgs, target: &mut Target) -> Result<TopicShape, Failure> {
    let Target { attached, secrets, .. } = target;
    let (mut admin, brokers) = ask_cluster_id(attached, secrets, &|name| std::env::var_os(name))?;
    let Some(name) = &args.topic else {
        let replicas = args.replicas.unwrap_or(REPLICAS.min(brokers));
        return Ok(TopicShape { partitions: args.partitions, replicas });
    };
    let found = admin.topics(Some(&[name])).map_err(|error| failed(&error, attached))?;
    let found = found.iter().find(|topic| topic.name == *name && !topic.error.is_error());
    let found = found.ok_or_else(|| {
        Failure::usage(format!("--topic: the cluster shows no topic {}", quoted(name)))
            .hint("it is not there, or this user may not describe it")
    })?;
    Ok(TopicShape::of(found))
}

/// The producer's settings: those of the properties file, and `acks` from the command line or the default.
fn client<'p>(acks: Option<&str>, settings: &[&'p Property]) -> Vec<Setting<'p>> {
    let of_file = settings.iter().filter(|property| acks.is_none() || property.name != ACKS);
    let mut client: Vec<Setting<'p>> = of_file.map(|&property| Setting::given(property)).collect();
    if acks.is_some() || !settings.iter().any(|property| property.name == ACKS) {
        client.insert(0, Setting::of_command(ACKS, acks.unwrap_or("all")));
    }
    client
}

/// What is wrong with a setting is reported at the place where it was given, a line of the properties file or `--acks`,
/// not in a scenario that the user does not see.
fn as_given(error: InputError, args: &QuickArgs, text: &str, client: &[Setting<'_>]) -> InputError {
    match (setting_meant(&error, text, client), &args.command_config) {
        (Some(Setting { property: Some(property), .. }), Some(path)) => {
            let place = Some(Place { line: property.line, column: 1 });
            let message = in_kafkas_unit(&error.message);
            InputError { file: path.display().to_string(), place, message, ..error }
        }
        (Some(Setting { name: ACKS, .. }), _) if args.acks.is_some() => {
            InputError { file: "--acks".to_owned(), place: None, ..error }
        }
        _ => error,
    }
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(args: &QuickArgs, topic: &TopicShape, client: &[Setting<'_>]) -> String {
    let client = lines(client);
    let (rate, value, duration) = (literal(&args.rate), literal(&args.size), literal(&args.duration));
    let flame = args.flame.map(|kind| format!("flame: {kind}\n")).unwrap_or_default();
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
{flame}show:
  columns: [writers.offered_per_s, writers.acked_per_s, writers.response.p50, writers.response.p99, writers.failed]
",
        partitions = topic.partitions,
        replicas = topic.replicas,
    )
}
