//! The scenario that a line of arguments comes to, and its plan.

use super::payloads::PayloadSource;
use super::properties::ProducerProperties;
use crate::commands::drop_in_driver::{DropInClient, in_kafkas_unit};
use crate::commands::typed_cluster::TopicShape;
use crate::commands::written_scenario::{
    SET_BY_PRODUCERS, WrittenSetting, lines, planned_for_topic, property_notes, setting_meant,
};
use crate::execution::{PlannedExecution, TargetFiles};
use crate::failure::Failure;
use kdyno_model::plan::{Role, ToolLines, ValuesPlan};
use kdyno_perf_test::producer::{ProducerOptions, RecordContent};
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::input::{InputError, TextPosition};
use kdyno_scenario::security::TakenProperties;
use kdyno_scenario::target::Target;
use kdyno_scenario::yaml::literal;

/// Id of the scenario.
pub(super) const ID: &str = "producer-perf-test";
/// Address of the topic.
pub(super) const TOPIC: &str = "perf";
/// The load item.
pub(super) const ITEM: &str = "writers";

const MAX_BLOCK: &str = "max.block.ms";
/// Java's longest time in an int, ms. In an open loop a record's wait counts from its scheduled send time: behind a cluster
/// that is slower than the throttle it would come to Java's minute sooner or later, where the tool waits for room record
/// by record and goes on. Kafka's own client waits in `send()`, for which its property is taken as it was given.
const MAX_BLOCK_MS: u64 = i32::MAX as u64;
/// Its length is not stated: the longest phase that there is.
const WITHIN: &str = "30d";

/// Refuses settings that are wrong whatever the cluster and the topic are, before these are looked at.
pub(super) fn check_settings(
    options: &ProducerOptions,
    client: (&ProducerProperties, &DropInClient),
    target: &Target,
) -> Result<(), Failure> {
    // Payloads were looked at already, and those of a file are read again by each plan.
    planned(options, client, (target.clone(), TopicShape::UNSEEN), None).map(drop)
}

/// Writes the scenario and plans it for the target.
pub(super) fn planned(
    options: &ProducerOptions,
    (properties, carrier): (&ProducerProperties, &DropInClient),
    (target, topic): (Target, TopicShape),
    payloads: Option<PayloadSource>,
) -> Result<PlannedExecution, Failure> {
    if options.value == RecordContent::Number && options.records >= u64::from(u32::MAX) {
        return Err(Failure::usage(format!("--payload-monotonic counts up to {} here", u32::MAX - 1))
            .hint("send fewer records, or others"));
    }
    let TakenProperties { settings, facts, warnings } =
        carrier.settings(&properties.client, ClientSide::Produce, SET_BY_PRODUCERS);
    // How long a record may wait for room differs in the scenario of kdyno's own client.
    let given = settings.into_iter().filter(|property| carrier.is_java() || property.name != MAX_BLOCK);
    let settings: Vec<WrittenSetting<'_>> = given.map(WrittenSetting::given).collect();
    let every_ms = options.transactions_ms(properties.has_transactional_id);
    let text =
        scenario_text(options, (&topic, every_ms), payloads.as_ref(), &client_lines(carrier, &settings));
    let (mut plan, remarks) = planned_for_topic((&text, ID), target, &options.fail_if)
        .map_err(|error| as_given(error, properties, &text, &settings))?;
    plan.every_case_mut().flat_map(|case| case.load.values_mut()).for_each(|item| {
        if let Role::Produce(produce) = &mut item.role {
            produce.tool_lines = Some(ToolLines { warmup_records: options.warmup_records });
            if options.value == RecordContent::Number {
                produce.records.values = ValuesPlan::Numbered;
            }
        }
    });
    Ok(PlannedExecution {
        plan,
        scenario_text: text,
        scenario_path: ID.to_owned(),
        target_files: TargetFiles::new(),
        remarks: property_notes(facts, warnings).chain(remarks).collect(),
        resumed: None,
    })
}

/// What the scenario says of the client.
fn client_lines(carrier: &DropInClient, settings: &[WrittenSetting<'_>]) -> String {
    let mut all = match carrier {
        DropInClient::Native => vec![format!("      {MAX_BLOCK}: {MAX_BLOCK_MS}")],
        DropInClient::Java(_) => carrier.lines(),
    };
    all.extend((!settings.is_empty()).then(|| lines(settings)));
    all.join("\n")
}

/// What is wrong with a setting is reported at the place where it was given, and all else without the place in a
/// scenario that the user does not see.
fn as_given(
    error: InputError,
    properties: &ProducerProperties,
    text: &str,
    settings: &[WrittenSetting<'_>],
) -> Failure {
    match setting_meant(&error, text, settings) {
        Some(WrittenSetting { property: Some(property), .. }) => {
            let place = Some(TextPosition { line: property.line, column: 1 });
            let message = in_kafkas_unit(&error.message);
            properties.as_given(InputError { place, message, ..error }).into()
        }
        // The scenario was not typed; an option that was typed is named.
        _ if error.file == ID => InputError { file: String::new(), place: None, ..error }.into(),
        _ => error.into(),
    }
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(
    options: &ProducerOptions,
    (topic, every_ms): (&TopicShape, Option<u64>),
    payloads: Option<&PayloadSource>,
    client: &str,
) -> String {
    let TopicShape { partitions, replicas } = topic;
    let rate = match options.throughput {
        None => "rate: max".to_owned(),
        Some(per_s) => format!("rate: {per_s}/s\n    arrivals: constant"),
    };
    let value = match (&options.value, payloads) {
        (RecordContent::File(_), Some(PayloadSource { path, delimiter })) => {
            let path = literal(&path.display().to_string());
            format!("{{file: {{name: {path}, delimiter: {}}}}}", literal(delimiter))
        }
        (RecordContent::Letters(bytes), _) => format!("{bytes}B"),
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
