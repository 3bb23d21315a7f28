//! Scenarios, sides and plans by hand, as several files of tests ask for them.
#![allow(dead_code, reason = "each test binary uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

use kdyno_model::plan::{ComparePlan, KafkaSource, Plan, Strategy, SystemPlan};
use kdyno_plan::{Choices, CompareChoices, PlanQuestion, Remark, SideChange, SideChoices, plan, remarks};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::{Target, TargetFile};

pub const BASE: &str = "\
kdyno: 1
id: base
question: how much?
params: {kafka: 3.7.2, rate: 1k/s, spare: 1}
system: {kafka: $kafka, mode: kraft, config: {num.io.threads: 8}}
topics: {t: {partitions: 2}}
load:
  writers: {produce: t, clients: 2, rate: $rate, value: 1KiB, client: {acks: all}}
  readers: {consume: t}
phases: {warmup: 5s, condition: 20s..50s, measure: 10s}
";
pub const MINUTE_NS: u64 = 60_000_000_000;

pub fn set(text: &str) -> SideChange {
    let (name, value) = text.split_once('=').unwrap();
    SideChange::Set { name: name.to_owned(), value: value.to_owned() }
}

pub fn side(changes: &[&str]) -> SideChoices {
    SideChoices { changes: changes.iter().map(|text| set(text)).collect(), ..SideChoices::default() }
}

pub fn comparing(a: &[&str], b: &[&str]) -> CompareChoices {
    CompareChoices { a: side(a), b: side(b), ..CompareChoices::default() }
}

pub fn asking(ask: CompareChoices) -> Choices {
    Choices { ask: PlanQuestion::Compare(ask), ..Choices::default() }
}

/// The plan of a scenario; otherwise what is wrong, and the hint.
pub fn planned(text: &str, choices: &Choices) -> Result<Plan, String> {
    let reported = |error: InputError| format!("{error} | {}", error.hint.as_deref().unwrap_or_default());
    let scenario = Scenario::parse(text, "s.yaml").map_err(reported)?;
    plan(&scenario, choices).map_err(reported)
}

/// The plan of a scenario with nothing chosen.
pub fn as_written(text: &str) -> Result<Plan, String> {
    planned(text, &Choices::default())
}

pub fn compared(text: &str, choices: &Choices) -> (Plan, ComparePlan) {
    let plan = planned(text, choices).unwrap();
    let Strategy::Compare(compare) = plan.strategy.clone() else { panic!("{:?}", plan.strategy) };
    (plan, compare)
}

pub fn facts(text: &str, choices: &Choices) -> (Vec<String>, Vec<String>) {
    let scenario = Scenario::parse(text, "s.yaml").unwrap();
    let plan = plan(&scenario, choices).unwrap();
    let (mut facts, mut warnings) = (Vec::new(), Vec::new());
    for note in remarks(&scenario, choices, &plan).unwrap() {
        match note {
            Remark::Fact(text) => facts.push(text),
            Remark::Warning(text) => warnings.push(text),
        }
    }
    (facts, warnings)
}

pub fn target(name: &str, guard: &str) -> Target {
    let text = format!(
        "kdyno: 1\ntarget: {name}\ncluster_id: id-of-{name}\nclient: {{bootstrap: [127.0.0.1:9092]}}\n{guard}"
    );
    TargetFile::parse(&text, "t.yaml").unwrap().resolve(None).unwrap()
}

/// Where a system's Kafka comes from, or whose it is.
pub fn release(system: &SystemPlan) -> String {
    match system {
        SystemPlan::Local(cluster) => match &cluster.kafka {
            KafkaSource::Release(release) => release.clone(),
            KafkaSource::Home(dir) => format!("home {}", dir.display()),
            KafkaSource::Source(dir) => format!("source {}", dir.display()),
        },
        SystemPlan::Attached(target) => target.target.clone(),
        SystemPlan::NullBroker(_) => "null-broker".to_owned(),
        SystemPlan::Strimzi(_) => "strimzi".to_owned(),
    }
}
