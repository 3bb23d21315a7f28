//! The scenario that a line of arguments comes to, and its plan.

use super::payloads::Payloads;
use super::properties::ProducerProperties;
use crate::commands::drop_in_driver::{Carrier, in_kafkas_unit};
use crate::commands::quick::{TopicShape, literal, told_of_properties};
use crate::execution::{Planned, TargetFiles, random_u64};
use crate::failure::Failure;
use crate::given_files;
use kdyno_model::plan::{Plan, Role, ToolLines, ValuesPlan};
use kdyno_model::properties::{Property, trim};
use kdyno_perf_test::producer::{Options, Value};
use kdyno_plan::{Choices, Files, Note};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, Place};
use kdyno_scenario::target::Target;

/// Id of the scenario.
pub(super) const ID: &str = "producer-perf-test";
/// Address of the topic.
pub(super) const TOPIC: &str = "perf";
/// The load item.
pub(super) const ITEM: &str = "writers";

const MAX_BLOCK: &str = "max.block.ms";
/// Java's longest time in an int, ms. In an open loop a record's wait counts from its intended instant: behind a cluster
/// that is slower than the throttle it would come to Java's minute sooner or later, where the tool waits for room record
/// by record and goes on. Kafka's own client waits in `send()`, for which its property is taken as it was given.
const MAX_BLOCK_MS: u64 = i32::MAX as u64;
/// Nobody says how long it takes: the longest phase that there is.
const WITHIN: &str = "30d";

/// Refuses what the client does not carry.
pub(super) fn check_carried(
    options: &Options,
    properties: &ProducerProperties,
    carrier: &Carrier,
) -> Result<(), Failure> {
    let has_transactions = options.transactions_ms(properties.has_transactional_id).is_some();
    if !carrier.is_java() || !has_transactions {
        return Ok(());
    }
    let why = "--driver java does not carry transactions, which --transactional-id, --transaction-duration-ms or the property \
               `transactional.id` asks for";
    Err(Failure::usage(why).hint("leave these out, or take --driver native"))
}

/// Refuses settings that are wrong whatever the cluster and the topic are, before these are looked at.
pub(super) fn check_settings(
    options: &Options,
    client: (&ProducerProperties, &Carrier),
    target: &Target,
) -> Result<(), Failure> {
    // Payloads were looked at already, and those of a file are read again by each plan.
    planned(options, client, (target.clone(), TopicShape::UNSEEN), None).map(drop)
}

/// Writes the scenario and plans it for the target.
pub(super) fn planned(
    options: &Options,
    (properties, carrier): (&ProducerProperties, &Carrier),
    (target, topic): (Target, TopicShape),
    payloads: Option<Payloads>,
) -> Result<Planned, Failure> {
    if options.value == Value::Number && options.records >= u64::from(u32::MAX) {
        return Err(Failure::usage(format!("--payload-monotonic counts up to {} here", u32::MAX - 1))
            .hint("send fewer records, or others"));
    }
    let (settings, notes) = properties.settings(carrier);
    let settings: Vec<Setting<'_>> =
        settings.into_iter().filter_map(|property| Setting::of(property, carrier)).collect();
    let every_ms = options.transactions_ms(properties.has_transactional_id);
    let text =
        scenario_text(options, (&topic, every_ms), payloads.as_ref(), &client_lines(carrier, &settings));
    let (mut plan, remarks) =
        plan(&text, target).map_err(|error| as_given(error, properties, &text, &settings))?;
    plan.every_case_mut().flat_map(|case| case.load.values_mut()).for_each(|item| {
        if let Role::Produce(produce) = &mut item.role {
            produce.tool_lines = Some(ToolLines { warmup_records: options.warmup_records });
            if options.value == Value::Number {
                produce.records.values = ValuesPlan::Numbered;
            }
        }
    });
    Ok(Planned {
        plan,
        scenario_text: text,
        scenario_path: ID.to_owned(),
        target_files: TargetFiles::new(),
        remarks: told_of_properties(&properties.client, notes).chain(remarks).collect(),
        resumed: None,
    })
}

fn plan(text: &str, target: Target) -> Result<(Plan, Vec<Note>), InputError> {
    let scenario = Scenario::parse(text, ID)?;
    let files = Files(given_files::beside);
    let choices = Choices { seed: Some(random_u64()), target: Some(target), files, ..Choices::default() };
    let plan = kdyno_plan::plan(&scenario, &choices)?;
    let mut remarks = kdyno_plan::remarks(&scenario, &choices, &plan)?;
    // The topic was typed, and the names that stand for it and the cluster were not.
    let of_topic = kdyno_plan::of_existing_topics(&plan);
    remarks.retain(|remark| !of_topic.contains(remark));
    Ok((plan, remarks))
}

/// A setting of the producer.
struct Setting<'p> {
    property: &'p Property,
    /// Its line in the scenario.
    line: String,
}

impl<'p> Setting<'p> {
    /// What the scenario has of a property: with kdyno's own client, of how long a record may wait for room it says something
    /// else.
    fn of(property: &'p Property, carrier: &Carrier) -> Option<Self> {
        let line = format!("      {}: {}", property.name, literal(trim(&property.value)));
        (carrier.is_java() || property.name != MAX_BLOCK).then_some(Self { property, line })
    }
}

/// What the scenario says of the client.
fn client_lines(carrier: &Carrier, settings: &[Setting<'_>]) -> String {
    let mut lines = match carrier {
        Carrier::Native => vec![format!("      {MAX_BLOCK}: {MAX_BLOCK_MS}")],
        Carrier::Java(_) => carrier.lines(),
    };
    lines.extend(settings.iter().map(|setting| setting.line.clone()));
    lines.join("\n")
}

/// What is wrong with a setting is told of where it was given, and all else without the place in a scenario that nobody
/// sees.
fn as_given(
    error: InputError,
    properties: &ProducerProperties,
    text: &str,
    settings: &[Setting<'_>],
) -> Failure {
    let place = error.place.map_or(0, |place| place.line as usize);
    let line = text.lines().nth(place.saturating_sub(1)).unwrap_or_default();
    let stands_there = settings.iter().find(|setting| setting.line == line);
    let is_named = |setting: &&Setting<'_>| error.message.contains(&format!("`{}`", setting.property.name));
    match stands_there.or_else(|| settings.iter().find(is_named)) {
        Some(Setting { property, .. }) => {
            let place = Some(Place { line: property.line, column: 1 });
            let message = in_kafkas_unit(&error.message);
            properties.as_given(InputError { place, message, ..error }).into()
        }
        None => InputError { file: String::new(), place: None, ..error }.into(),
    }
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(
    options: &Options,
    (topic, every_ms): (&TopicShape, Option<u64>),
    payloads: Option<&Payloads>,
    client: &str,
) -> String {
    let TopicShape { partitions, replicas } = topic;
    let rate = match options.throughput {
        None => "rate: max".to_owned(),
        Some(per_s) => format!("rate: {per_s}/s\n    arrivals: constant"),
    };
    let value = match (&options.value, payloads) {
        (Value::File(_), Some(Payloads { path, delimiter })) => {
            let path = literal(&path.display().to_string());
            format!("{{file: {{name: {path}, delimiter: {}}}}}", literal(delimiter))
        }
        (Value::Letters(bytes), _) => format!("{bytes}B"),
        // Digits of the largest number: what they have in the mean lies just below.
        _ => format!("{}B", (options.records - 1).checked_ilog10().unwrap_or(0) + 1),
    };
    let transactions = every_ms.map_or(String::new(), |ms| format!("\n    transactions: {{every: {ms}ms}}"));
    format!(
        "kdyno: 1
id: {ID}
question: What does Kafka's own producer tool say of this cluster?
topics:
  {TOPIC}: {{partitions: {partitions}, replicas: {replicas}}}
load:
  {ITEM}:
    produce: {TOPIC}
    {rate}
    value: {value}{transactions}
    client:
{client}
phases: {{warmup: 0s, measure: {{records: {records}, within: {WITHIN}}}, drain: auto}}
show:
  columns: [{ITEM}.acked_per_s, {ITEM}.response.p50, {ITEM}.response.p99, {ITEM}.failed]
",
        records = options.records,
    )
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
