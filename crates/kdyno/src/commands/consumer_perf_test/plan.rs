//! The tool's command line as a scenario, and its plan.

use super::properties::{ConsumerProperties, TYPED};
use crate::commands::drop_in_driver::{DropInClient, in_kafkas_unit};
use crate::commands::typed_cluster::{TopicShape, ask_cluster_id, attached, failed, topics_tool};
use crate::commands::written_scenario::{
    WrittenSetting, lines, planned_for_topic, property_notes, setting_meant,
};
use crate::execution::{PlannedExecution, TargetFiles, random_u64};
use crate::failure::Failure;
use kdyno_model::address::is_address;
use kdyno_model::plan::{Plan, Role};
use kdyno_model::properties::Property;
use kdyno_perf_test::consumer::{ConsumerOptions, TopicChoice};
use kdyno_plan::Remark;
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::input::{InputError, TextPosition, listed, quoted};
use kdyno_scenario::security::TakenProperties;
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// What messages call the scenario, and the name of its load item.
const SCENARIO: &str = "consumer-perf-test";
pub(super) const ITEM: &str = "consumer";
/// Most names of matching topics that are listed.
const LISTED_MAX: usize = 5;
/// Groups without a name end in a number below this one.
const GROUPS: u64 = 100_000;

/// Settings that the tool has over those of the user, in its own words or in kdyno's.
const FORCED: &[&str] = &[
    "group.id",
    SOCKET_BUFFER,
    FETCH_SIZE,
    "auto.offset.reset",
    "key.deserializer",
    "value.deserializer",
    CHECK_CRCS,
];
const FETCH_SIZE: &str = "max.partition.fetch.bytes";
const SOCKET_BUFFER: &str = "receive.buffer.bytes";
/// What Kafka's tool sets where nothing is typed.
const SOCKET_BUFFER_USUAL: i32 = 2 * 1024 * 1024;
const CHECK_CRCS: &str = "check.crcs";

/// Refuses settings that are wrong whatever the cluster and the topic are, before these are looked at.
pub(super) fn check_settings(
    options: &ConsumerOptions,
    properties: &ConsumerProperties,
    carrier: &DropInClient,
    target: &Target,
) -> Result<(), Failure> {
    let mut target = target.clone();
    target.attached.topics.insert(SCENARIO.to_owned(), SCENARIO.to_owned());
    plan(options, properties, carrier, (target, TopicShape::UNSEEN)).map(drop)
}

/// Writes the scenario, plans it for the target.
pub(super) fn plan(
    options: &ConsumerOptions,
    properties: &ConsumerProperties,
    carrier: &DropInClient,
    (target, topic): (Target, TopicShape),
) -> Result<PlannedExecution, Failure> {
    let TakenProperties { settings, facts, warnings } =
        carrier.settings(&properties.client, ClientSide::Consume, FORCED);
    let client = client(options, &settings, carrier);
    let text = scenario_text(options, &topic, carrier, &client);
    let (mut plan, remarks) = planned_for_topic((&text, SCENARIO), target, &options.fail_if)
        .map_err(|error| as_given(error, options, &text, &client))?;
    set_endings(&mut plan, options);
    let own = options.socket_buffer_size.filter(|_| !carrier.is_java()).map(|asked| {
        format!(
            "`--socket-buffer-size` has no effect: sockets have the buffers that the system gives them ({asked} requested)"
        )
    });
    Ok(PlannedExecution {
        plan,
        scenario_text: text,
        scenario_path: SCENARIO.to_owned(),
        target_files: TargetFiles::new(),
        remarks: own
            .into_iter()
            .map(Remark::Fact)
            .chain(property_notes(facts, warnings))
            .chain(remarks)
            .collect(),
        resumed: None,
    })
}

/// What no scenario says: a group of the user's, and that the load ends by what is there to be read.
fn set_endings(plan: &mut Plan, options: &ConsumerOptions) {
    let group = options.group.clone().unwrap_or_else(|| format!("perf-consumer-{}", random_u64() % GROUPS));
    for case in plan.every_case_mut() {
        for item in case.load.values_mut() {
            let Role::Consume(consume) = &mut item.role else { continue };
            consume.records_max = Some(u64::try_from(options.records).unwrap_or(0));
            let timeout_ms = u64::try_from(options.timeout_ms).unwrap_or(0);
            consume.idle_ns = Some(timeout_ms.saturating_mul(1_000_000));
            if let Some(of_item) = &mut consume.group {
                of_item.id = Some(group.clone());
            }
        }
    }
}

fn bootstrap(options: &ConsumerOptions) -> Result<Vec<String>, Failure> {
    let typed = options.bootstrap_server.split(',').map(str::trim).filter(|address| !address.is_empty());
    let addresses: Vec<String> = typed.map(str::to_owned).collect();
    match addresses.iter().find(|address| !is_address(address)) {
        _ if addresses.is_empty() => {
            Err(Failure::usage("--bootstrap-server names no broker").hint(ADDRESS_FORM))
        }
        Some(wrong) => {
            let message = format!("--bootstrap-server: {} is not HOST:PORT", quoted(wrong));
            Err(Failure::usage(message).hint(ADDRESS_FORM))
        }
        None => Ok(addresses),
    }
}

/// What was typed of the cluster. Whose it is, and the topic's partitions and replicas, are not known yet.
pub(super) fn typed(options: &ConsumerOptions, properties: &ConsumerProperties) -> Result<Target, Failure> {
    let attached = attached(SCENARIO, bootstrap(options)?, &properties.client, BTreeMap::new());
    Ok(Target { attached, secrets: properties.client.secrets.clone(), notes: Vec::new() })
}

/// Asks the cluster who it is, and of what the topic is made.
pub(super) fn look(
    options: &ConsumerOptions,
    properties: &ConsumerProperties,
    mut target: Target,
) -> Result<(Target, TopicShape), Failure> {
    let Target { attached, secrets, .. } = &mut target;
    let (mut admin, _) = ask_cluster_id(attached, secrets, &|name| properties.variable(name))?;
    let name = match &options.topics {
        TopicChoice::Named(name) => name.clone(),
        TopicChoice::Matching(pattern) => {
            let all = admin.topics(None).map_err(|error| failed(&error, attached))?;
            let names = all.iter().filter(|topic| !topic.internal).map(|topic| topic.name.as_str());
            the_one_that_matches(pattern, names)?
        }
    };
    let found = admin.topics(Some(&[&name])).map_err(|error| failed(&error, attached))?;
    let found = found.iter().find(|topic| topic.name == name && !topic.error.is_error());
    let found = found.ok_or_else(|| {
        Failure::usage(format!("--topic: the cluster shows no topic {}", quoted(&name))).hint(format!(
            "it is not there, or this user may not describe it; {} names those that are",
            topics_tool(attached, "--list")
        ))
    })?;
    let shape = TopicShape::of(found);
    attached.topics.insert(SCENARIO.to_owned(), name);
    Ok((target, shape))
}

/// The one topic whose name matches a pattern as a whole.
fn the_one_that_matches<'n>(pattern: &str, names: impl Iterator<Item = &'n str>) -> Result<String, Failure> {
    let wrong = |why: String| Failure::usage(format!("--include: {}: {why}", quoted(pattern)));
    let regex = Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
        wrong(format!("no regular expression that is supported here: {error}"))
            .hint("look-around, back references and possessive quantifiers of Java's patterns are not")
    })?;
    let mut matching: Vec<&str> = names.filter(|name| regex.is_match(name)).collect();
    matching.sort_unstable();
    match matching.as_slice() {
        [] => Err(wrong("the name of no topic matches".to_owned())),
        [one] => Ok((*one).to_owned()),
        several => {
            let count = several.len();
            let and_more = if count > LISTED_MAX { ", …" } else { "" };
            let names = listed(several.iter().take(LISTED_MAX).copied());
            Err(wrong(format!("{count} topics match: {names}{and_more}"))
                .hint("this command reads one topic: name it with --topic"))
        }
    }
}

/// The consumer's settings: those of the user, and over them what the tool sets itself, as far as the client has it.
fn client<'p>(
    options: &ConsumerOptions,
    settings: &[&'p Property],
    carrier: &DropInClient,
) -> Vec<WrittenSetting<'p>> {
    let of_user = settings.iter().map(|&property| WrittenSetting::given(property));
    let mut of_tool = vec![WrittenSetting::of_command(FETCH_SIZE, &options.fetch_size.to_string())];
    if carrier.is_java() {
        let buffer = options.socket_buffer_size.unwrap_or(SOCKET_BUFFER_USUAL);
        of_tool.push(WrittenSetting::of_command(SOCKET_BUFFER, &buffer.to_string()));
        of_tool.push(WrittenSetting::of_command(CHECK_CRCS, "false"));
    }
    of_user.chain(of_tool).collect()
}

/// What is wrong with a setting is reported at its place in the properties, not in a scenario that the user does not
/// see.
fn as_given(
    error: InputError,
    options: &ConsumerOptions,
    text: &str,
    client: &[WrittenSetting<'_>],
) -> InputError {
    let Some(setting) = setting_meant(&error, text, client) else { return error };
    let is_typed = options.properties.iter().any(|(name, _)| name == setting.name);
    let (file, place) = match (setting.property, &options.config) {
        (None, _) if setting.name == SOCKET_BUFFER => ("--socket-buffer-size".to_owned(), None),
        (None, _) => ("--fetch-size".to_owned(), None),
        (Some(property), Some(path)) if !is_typed => {
            (path.clone(), Some(TextPosition { line: property.line, column: 1 }))
        }
        (Some(_), _) => (TYPED.to_owned(), None),
    };
    InputError { file, place, message: in_kafkas_unit(&error.message), ..error }
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(
    options: &ConsumerOptions,
    topic: &TopicShape,
    carrier: &DropInClient,
    client: &[WrittenSetting<'_>],
) -> String {
    let client = carrier.lines().into_iter().chain([lines(client)]).collect::<Vec<_>>().join("\n");
    let from = if options.from_latest { "latest" } else { "earliest" };
    format!(
        "kdyno: 1
id: {SCENARIO}
question: How fast does one consumer read what a topic holds?
topics:
  {SCENARIO}: {{partitions: {partitions}, replicas: {replicas}}}
load:
  {ITEM}:
    consume: {SCENARIO}
    clients: 1
    from: {from}
    group: {SCENARIO}
    at: 0s
    client:
{client}
phases: {{warmup: 0s, condition: none, measure: 30d, drain: auto}}
show:
  columns: [{ITEM}.fetched_per_s, {ITEM}.fetched_wire_mib_per_s, {ITEM}.rebalances]
",
        partitions = topic.partitions,
        replicas = topic.replicas,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::LoadPlan;
    use kdyno_model::properties::Properties;
    use kdyno_perf_test::consumer::{self, ToolRequest};
    use kdyno_scenario::security::ClientProperties;

    #[test]
    fn a_pattern_selects_the_one_topic_that_it_matches_as_a_whole() {
        let names = ["orders", "orders-2", "payments"];
        let found = |pattern: &str| the_one_that_matches(pattern, names.into_iter());
        assert_eq!(found("pay.*").ok().as_deref(), Some("payments"));
        assert_eq!(found("orders").ok().as_deref(), Some("orders"), "not `orders-2` too");
        assert_eq!(found("x|orders-\\d").ok().as_deref(), Some("orders-2"));
        let reported = |pattern: &str| found(pattern).expect_err("refused").message;
        assert!(reported("order").contains("the name of no topic matches"));
        assert!(
            reported("orders.*").contains("2 topics match: `orders`, `orders-2`"),
            "{}",
            reported("orders.*")
        );
        assert!(reported("(?=pay).*").contains("no regular expression that is supported here"));
    }

    /// What of the plan the two clients have.
    fn planned_for(typed: &str, properties: &str) -> LoadPlan {
        let line = format!("--bootstrap-server b:1 --topic t --num-records 10 {typed}");
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Ok(ToolRequest::Run(options)) = consumer::read(&args) else { panic!("{line}") };
        let carrier = DropInClient::of(&options.driver).map_err(|failure| failure.message).expect("a driver");
        let others = Properties::parse(properties.as_bytes()).expect("properties").properties;
        let properties = ClientProperties { others, ..ClientProperties::default() };
        let TakenProperties { settings, .. } = carrier.settings(&properties, ClientSide::Consume, FORCED);
        let client = client(&options, &settings, &carrier);
        let shape = TopicShape { partitions: 3, replicas: 1 };
        let text = scenario_text(&options, &shape, &carrier, &client);
        let topics = BTreeMap::from([(SCENARIO.to_owned(), "t".to_owned())]);
        let mut attached = attached(SCENARIO, vec!["b:1".to_owned()], &ClientProperties::default(), topics);
        attached.cluster_id = "abc".to_owned();
        let target = Target { attached, secrets: BTreeMap::new(), notes: Vec::new() };
        let planned = planned_for_topic((&text, SCENARIO), target, &[]);
        let (mut plan, _) = planned.map_err(|error| error.to_string()).expect("a plan");
        set_endings(&mut plan, &options);
        plan.cases[0].load[ITEM].clone()
    }

    /// Kafka's own client gets what the tool gives it.
    #[test]
    fn a_java_client_gets_the_tools_settings_over_those_of_the_user() {
        let typed = "check.crcs=true\nmax.poll.records=7\ngroup.id=x\nclient.dns.lookup=use_all_dns_ips\n";
        let item =
            planned_for("--driver java:4.1.1 --group mine --fetch-size 99 --socket-buffer-size 5", typed);
        let java = item.driver.as_java().expect("a Java client");
        let given: Vec<_> =
            java.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("check.crcs", "false"),
            ("client.dns.lookup", "use_all_dns_ips"),
            ("max.partition.fetch.bytes", "99"),
            ("max.poll.records", "7"),
            ("receive.buffer.bytes", "5"),
        ];
        assert_eq!(given, expected);
        let Role::Consume(consume) = &item.role else { panic!("it consumes") };
        assert_eq!((consume.records_max, consume.idle_ns), (Some(10), Some(10_000_000_000)));
        assert_eq!(consume.group.as_ref().and_then(|group| group.id.as_deref()), Some("mine"));
        assert!(planned_for("", "").driver.is_native());
    }
}
