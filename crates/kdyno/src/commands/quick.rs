//! `kdyno quick`: a first figure from a cluster, without a file of ours.
//!
//! It writes the scenario and the target that a careful user would, and runs them as any other: one topic
//! of its own, one producer at a modest constant rate, limits that protect the cluster. How the cluster is reached, and
//! the producer's settings, may come from a file that Kafka's own tools take.

use super::drop_in_driver::in_kafkas_unit;
use super::typed_cluster::{TopicShape, ask_cluster_id, attached, bootstrap, failed};
use super::written_scenario::{
    SET_BY_PRODUCERS, WrittenSetting, lines, planned, property_notes, setting_meant,
};
use crate::cli::QuickArgs;
use crate::execution::{PlannedExecution, TargetFiles};
use crate::failure::Failure;
use crate::target_source::with_properties;
use kdyno_model::plan::{AbortIf, Beyond, Caps, Plan, WatchedSign};
use kdyno_model::properties::Property;
use kdyno_plan::{FindChoices, PlanQuestion, Remark};
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::input::{InputError, TextPosition, quoted};
use kdyno_scenario::security::{ClientProperties, PropertiesCommand, TakenProperties, client_properties};
use kdyno_scenario::target::Target;
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::literal;
use std::collections::BTreeMap;
use std::path::Path;

/// Values that a quick look produces at most.
const PRODUCE_BYTES_PER_S_MAX: u64 = 20 << 20;

/// Caps of a quick look: what a shared cluster bears without anybody noticing.
pub(super) const CAPS: Caps = Caps {
    produce_bytes_per_s: Some(PRODUCE_BYTES_PER_S_MAX),
    connections: Some(50),
    partitions: Some(60),
    disk_bytes: Some(10 << 30),
    time_ns: Some(10 * 60 * 1_000_000_000),
};

/// Caps of a search: its bound is ten minutes, and the topic of each trial is deleted before the next one, so that the disk
/// holds little at once.
const CAPS_OF_SEARCH: Caps = Caps { disk_bytes: None, time_ns: Some(15 * 60 * 1_000_000_000), ..CAPS };
/// Permission for a search.
const FIND: &str = "find";
/// What is raised.
const HIGHEST: &str = "writers.rate";

/// What messages call the scenario.
const SCENARIO: &str = "quick";

const COMMAND: PropertiesCommand =
    PropertiesCommand { side: ClientSide::Produce, sets: SET_BY_PRODUCERS, with_java: "" };
const ACKS: &str = "acks";
/// What a dry run cannot know.
const NOT_ASKED: &str = "the cluster is not asked: with fewer brokers there are fewer replicas, and an existing topic has \
                         partitions of its own";
/// The default number of replicas, where there are that many brokers.
const REPLICAS: u32 = 3;

/// Looks at the cluster, writes the scenario, plans it.
pub(crate) fn plan(args: &QuickArgs) -> Result<PlannedExecution, Failure> {
    let properties = match &args.command_config {
        None => ClientProperties::default(),
        Some(path) => with_properties(path, |file| client_properties(file, &BTreeMap::new()))?,
    };
    let bootstrap = bootstrap(&args.bootstrap_server, args.command_config.as_deref(), &properties)?;
    check(args)?;
    let TakenProperties { settings, facts, warnings } = properties.of_load(&COMMAND);
    let client = client(args.acks.as_deref(), &settings);
    let mut target = target(args, bootstrap, &properties);
    let topic = match args.dry_run {
        true => TopicShape { partitions: args.partitions, replicas: args.replicas.unwrap_or(REPLICAS) },
        false => {
            // What is wrong with a setting is reported before the cluster is contacted.
            planned_for(args, &client, (target.clone(), TopicShape::UNSEEN))?;
            look(args, &mut target)?
        }
    };
    let (text, plan, mut remarks) = planned_for(args, &client, (target, topic))?;
    remarks.extend(args.dry_run.then(|| Remark::Fact(NOT_ASKED.to_owned())));
    Ok(PlannedExecution {
        plan,
        scenario_text: text,
        scenario_path: SCENARIO.to_owned(),
        target_files: TargetFiles::new(),
        remarks: property_notes(facts, warnings).chain(remarks).collect(),
        resumed: None,
    })
}

/// Writes the scenario and plans it.
fn planned_for(
    args: &QuickArgs,
    client: &[WrittenSetting<'_>],
    (target, topic): (Target, TopicShape),
) -> Result<(String, Plan, Vec<Remark>), InputError> {
    let text = scenario_text(args, &topic, client);
    let (plan, remarks) = planned((&text, SCENARIO), Some(target), &args.fail_if.fail_if, ask(args))
        .map_err(|error| as_given(error, args, &text, client))?;
    Ok((text, plan, remarks))
}

/// A search where a condition was typed.
fn ask(args: &QuickArgs) -> PlanQuestion {
    if args.find.is_empty() {
        return PlanQuestion::Scenario;
    }
    PlanQuestion::Find(FindChoices {
        highest: Some(HIGHEST.to_owned()),
        conditions: args.find.clone(),
        ..FindChoices::default()
    })
}

/// At what the load of a search ends at once.
pub(super) fn abort_if() -> Vec<AbortIf> {
    let at = |of, for_ns, text: &str| AbortIf {
        of,
        beyond: Beyond::Above,
        limit: 0.0,
        for_ns,
        text: text.to_owned(),
    };
    vec![
        at(WatchedSign::OfflineBrokers, 0, "offline_brokers > 0"),
        at(WatchedSign::UnderReplicated, 10_000_000_000, "under_replicated > 0 for 10s"),
    ]
}

/// Longest measured window: a quick look is no endurance test.
const DURATION_NS_MAX: u64 = 5 * 60 * 1_000_000_000;

/// Reads quantities here, where the message can name the option; the scenario reads them again.
fn check(args: &QuickArgs) -> Result<(), Failure> {
    let option = |name: &str| {
        let name = name.to_owned();
        move |why: String| Failure::usage(format!("--{name}: {why}"))
    };
    let rate = units::parse_as(&args.rate, Dimension::PerS).map_err(option("rate"))?;
    let bytes = units::whole(&args.size, Dimension::Bytes).map_err(option("size"))?;
    if !args.find.is_empty() && rate * bytes as f64 >= PRODUCE_BYTES_PER_S_MAX as f64 {
        let message = format!(
            "--rate: {} of {} is not below the 20 MiB/s that a search may reach",
            args.rate, args.size
        );
        return Err(Failure::usage(message)
            .hint("a lower --rate, a smaller --size, or `kdyno find` with a target file"));
    }
    let duration_ns = units::whole(&args.duration, Dimension::Ns).map_err(option("duration"))?;
    if duration_ns > DURATION_NS_MAX {
        return Err(Failure::usage(format!("--duration: {} is more than 5m", args.duration))
            .hint("a scenario and a target file run for as long as you like"));
    }
    Ok(())
}

/// The cluster as it was typed, before it was asked for anything.
fn target(args: &QuickArgs, bootstrap: Vec<String>, properties: &ClientProperties) -> Target {
    let topics = args.topic.iter().map(|name| (SCENARIO.to_owned(), name.clone())).collect();
    let mut attached = attached(SCENARIO, bootstrap, properties, topics);
    attached.caps = CAPS;
    if !args.find.is_empty() {
        (attached.caps, attached.abort_if) = (CAPS_OF_SEARCH, abort_if());
        attached.allow = vec![FIND.to_owned()];
    }
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
fn client<'p>(acks: Option<&str>, settings: &[&'p Property]) -> Vec<WrittenSetting<'p>> {
    let of_file = settings.iter().filter(|property| acks.is_none() || property.name != ACKS);
    let mut client: Vec<WrittenSetting<'p>> =
        of_file.map(|&property| WrittenSetting::given(property)).collect();
    if acks.is_some() || !settings.iter().any(|property| property.name == ACKS) {
        client.insert(0, WrittenSetting::of_command(ACKS, acks.unwrap_or("all")));
    }
    client
}

/// What is wrong with a setting is reported at the place where it was given, a line of the properties file or `--acks`,
/// not in a scenario that the user does not see.
fn as_given(error: InputError, args: &QuickArgs, text: &str, client: &[WrittenSetting<'_>]) -> InputError {
    let by_option =
        |option: &str, error: InputError| InputError { file: option.to_owned(), place: None, ..error };
    if error.file == FIND {
        return by_option("--find", error);
    }
    match (setting_meant(&error, text, client), &args.command_config) {
        (Some(WrittenSetting { property: Some(property), .. }), Some(path)) => {
            at_property(error, path, property)
        }
        (Some(WrittenSetting { name: ACKS, .. }), _) if args.acks.is_some() => by_option("--acks", error),
        _ => error,
    }
}

/// An error about a scenario's setting, at the property that it comes from.
pub(super) fn at_property(error: InputError, path: &Path, property: &Property) -> InputError {
    let place = Some(TextPosition { line: property.line, column: 1 });
    let message = in_kafkas_unit(&error.message);
    InputError { file: path.display().to_string(), place, message, ..error }
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(args: &QuickArgs, topic: &TopicShape, client: &[WrittenSetting<'_>]) -> String {
    let client = lines(client);
    let (rate, value, duration) = (literal(&args.rate), literal(&args.size), literal(&args.duration));
    let flame = args.flame.map(|kind| format!("flame: {kind}\n")).unwrap_or_default();
    format!(
        "kdyno: 1
id: quick
question: {question}
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
        question = match args.find.is_empty() {
            true => "How soon does this cluster acknowledge a modest, constant load?",
            false => "Up to which rate does this cluster hold a condition?",
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use kdyno_model::plan::{Depth, Strategy};

    fn planned_as_typed(more: &[&str]) -> Result<Plan, InputError> {
        let words =
            ["kdyno", "quick", "--bootstrap-server", "h:9092"].into_iter().chain(more.iter().copied());
        let Command::Quick(args) = Cli::parse_from(words).command else { panic!("quick") };
        let target = target(&args, args.bootstrap_server.clone(), &ClientProperties::default());
        let shape = TopicShape { partitions: 3, replicas: 3 };
        planned_for(&args, &client(None, &[]), (target, shape)).map(|(_, plan, _)| plan)
    }

    #[test]
    fn a_search_is_a_quick_look_within_the_caps() {
        let plan = planned_as_typed(&["--find", "p99 <= 50ms", "--rate", "2k/s"]).expect("a plan");
        let Strategy::Find(search) = &plan.strategy else { panic!("a search") };
        assert_eq!(search.conditions[0].text, "writers.response.p99 <= 50ms");
        assert_eq!((search.item.as_str(), plan.depth), ("writers", Depth::Quick));
        assert_eq!((search.from_per_s, search.to_per_s), (2_000.0, 20_480.0), "20 MiB/s of 1 KiB");
        let whole = ["--find", "writers.failed_share <= 1%", "--find", "p99.9 <= 1s"];
        assert!(planned_as_typed(&whole).is_ok());
        assert!(matches!(planned_as_typed(&[]).expect("a plan").strategy, Strategy::List(_)));
    }

    #[test]
    fn a_threshold_need_not_name_the_only_load_item() {
        let typed = ["--fail-if", "p99 > 50ms", "--fail-if", "900/s > acked_per_s"];
        let claims = planned_as_typed(&typed).expect("a plan").claims;
        let that: Vec<&str> = claims.iter().map(|claim| claim.that.as_str()).collect();
        assert_eq!(that, ["writers.response.p99 > 50ms", "900/s > writers.acked_per_s"]);
        let error = planned_as_typed(&["--fail-if", "> 50 ms"]).expect_err("no metric");
        let hint = error.hint.expect("a hint");
        assert!(hint.contains("e.g. `writers.response.p99`"), "{hint}");
    }

    #[test]
    fn a_condition_that_is_none_is_named_by_its_option() {
        for wrong in ["p99", "p99 < 50ms", "writers.acked_per_s >= 5k/s"] {
            let error = planned_as_typed(&["--find", wrong]).expect_err(wrong).to_string();
            assert!(error.starts_with("--find: "), "{error}");
        }
    }

    #[test]
    fn a_search_has_windows_of_its_own() {
        let words =
            ["kdyno", "quick", "--bootstrap-server", "h:1", "--find", "p99 <= 1s", "--duration", "5s"];
        assert!(Cli::try_parse_from(words).is_err());
        assert!(Cli::try_parse_from(&words[..6]).is_ok());
    }
}
