//! What a plan makes of a scenario and its author may not expect: a target in the place of `system`, params without
//! effect, sizes that are easily meant otherwise.

use crate::cases::Chosen;
use crate::choices::{Choices, PlanError};
use crate::comparison::{self, not_judged, smallest_differences};
use crate::sides::different_loads;
use crate::{
    broker_file, cases, claims, client, clusters, consume, driver, group, probe, records, sustained,
    topic_settings,
};
use kdyno_model::grouped::distinct;
use kdyno_model::plan::{CasePlan, Depth, JavaClient, ListedTrial, LoadPlan, Plan, Strategy};
use kdyno_model::units::{count, duration};
use kdyno_model::version;
use kdyno_scenario::Scenario;
use kdyno_scenario::file::ScenarioFile;
use kdyno_scenario::input::{listed, meant, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::values::ParamValues;
use std::collections::{BTreeMap, BTreeSet};

/// Below this a bare number of bytes is more likely a number of KiB, or of records.
const BYTES_LIKELY_MIN: f64 = 1024.0;

/// Something to know before a run, a lowercase sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// What will be so.
    Fact(String),
    /// What would stop the run, spoil it, or be less than was meant.
    Warning(String),
}

/// What to report of a plan that was made of this scenario with these choices.
///
/// # Errors
/// None once [`crate::plan`] has made the plan of the same: the params are laid over each other again.
pub fn remarks(scenario: &Scenario, choices: &Choices, plan: &Plan) -> Result<Vec<Remark>, PlanError> {
    let mut found = replaced(scenario, plan);
    let file = scenario.typed();
    let used = file.params_in(file.values());
    for (name, _) in file.params.iter().filter(|(name, _)| !used.contains(&name.text)) {
        let effect = if varies(&name.text, plan) { "it only labels the cases" } else { "it has no effect" };
        let hint = cases::place_for(&name.text, file).map(|hint| format!("; {hint}")).unwrap_or_default();
        found.push(Remark::Warning(format!("param `{}` is used nowhere: {effect}{hint}", name.text)));
    }
    let chosen = cases::choose(scenario, choices, &[])?;
    let values: Vec<&ParamValues> = chosen.cases.iter().map(|case| &case.values).collect();
    let mut size_remarks = Vec::new();
    for values in &values {
        size_remarks.extend(sizes(file, values)?);
    }
    found.extend(size_remarks.into_iter().chain(client_settings(file, &values)?));
    found.extend(of_sides(scenario, choices)?);
    found = distinct(found);
    found.extend(of_existing_topics(plan));
    found.extend(misspelt_topics(plan).into_iter().chain(shared_topics(plan)).map(Remark::Warning));
    found.extend(topic_settings::unknown(plan).into_iter().map(Remark::Warning));
    found.extend(untested(plan).into_iter().map(Remark::Fact));
    let facts = broker_file::remarks(plan)
        .into_iter()
        .chain(sustained::remark(plan))
        .chain(clusters::remark(plan))
        .chain(consume::remarks(plan))
        .chain(group::remarks(plan))
        .chain(probe::remarks(plan))
        .chain(records::one_per_batch(plan))
        .chain(consume::fetches_wait(plan))
        .chain(records::uncompressed(plan));
    found.extend(facts.map(Remark::Fact));
    let of_consumers = consume::too_slow(plan).into_iter().chain(consume::polls_too_seldom(plan));
    found.extend(of_consumers.map(Remark::Warning));
    found.extend(claims::undecided(plan, scenario).into_iter().map(Remark::Fact));
    found.extend(of_the_answer(scenario, choices, plan, &chosen)?);
    Ok(found)
}

/// What is to be said of settings that a side of a comparison changes.
fn of_sides(scenario: &Scenario, choices: &Choices) -> Result<Vec<Remark>, PlanError> {
    let Some((sides, _)) = comparison::sides(scenario, choices)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (scenario, chosen) in [(&sides.scenario, &sides.chosen), (&sides.scenario_b, &sides.chosen_b)] {
        let values: Vec<&ParamValues> = chosen.cases.iter().map(|case| &case.values).collect();
        found.extend(client_settings(scenario.typed(), &values)?);
    }
    Ok(found)
}

/// A sentence for each release of brokers that is not tested, and for each one of Java clients that is not known.
fn untested(plan: &Plan) -> BTreeSet<String> {
    let release = |case: &CasePlan| version::untested(case.system.release()?);
    let client = |item: &LoadPlan| match &item.driver.as_java()?.client {
        JavaClient::Version(text) => version::unknown(text),
        JavaClient::Home(_) | JavaClient::Source(_) | JavaClient::Jar(_) => None,
    };
    let of_case = |case| release(case).into_iter().chain(case.load.values().filter_map(client));
    plan.every_case().flat_map(of_case).collect()
}

/// What the answer will be able to say, and what it will not.
fn of_the_answer(
    scenario: &Scenario,
    choices: &Choices,
    plan: &Plan,
    chosen: &Chosen,
) -> Result<Vec<Remark>, PlanError> {
    let mut found = Vec::new();
    // What the budget or a cap did is the difference.
    let unbounded = crate::make(scenario, &choices.with_unlimited_time())?;
    found.extend(cut(plan, &unbounded).map(Remark::Fact));
    let file = scenario.typed();
    match &plan.strategy {
        Strategy::List(_) => {
            let judged = claims::judged(scenario, choices, chosen, &plan.cases)?;
            found.extend(judged.untested.into_iter().map(Remark::Fact));
            found.extend(judged.not_judged.into_iter().chain(judged.turned_round).map(Remark::Warning));
            if file.compare.is_some() && file.find.is_some() {
                let fact = "the scenario compares and searches: here its cases are run; `kdyno compare` and `kdyno find` \
                            ask for the rest";
                found.push(Remark::Fact(fact.to_owned()));
            }
            return Ok(found);
        }
        Strategy::Find(_) => {}
        Strategy::Compare(compare) => {
            if plan.cases == compare.b {
                let fact = "both sides are the same: what is found shows what chance alone does";
                found.push(Remark::Fact(fact.to_owned()));
            }
            let differing = plan.cases.iter().zip(&compare.b).flat_map(|(a, b)| different_loads(a, b));
            let differing: BTreeSet<String> = differing.collect();
            found.extend(differing.into_iter().map(|item| {
                Remark::Warning(format!(
                    "the sides offer `{item}` different loads: its latencies say nothing about them"
                ))
            }));
            found.extend(not_judged(scenario, choices, plan).into_iter().map(Remark::Warning));
            let (smallest, beyond) = smallest_differences(plan, compare);
            found.push(Remark::Fact(smallest));
            found.extend(beyond.into_iter().map(Remark::Warning));
        }
    }
    if !file.expect.is_empty() || !file.contrasts.is_empty() {
        let fact = "the scenario's claims and contrasts are of its table of cases: they are not judged here";
        found.push(Remark::Fact(fact.to_owned()));
    }
    Ok(found)
}

/// What the budget, or a target's cap on `time` in its place, has shortened.
fn cut(plan: &Plan, unbounded: &Plan) -> Option<String> {
    let listed = |looks: &[u32]| looks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (&plan.strategy, &unbounded.strategy) {
        (Strategy::List(own), Strategy::List(all)) => {
            let repeats = |list: &[ListedTrial]| list.iter().map(|trial| trial.repeat).max().unwrap_or(0);
            let window =
                |plan: &Plan| plan.cases.iter().map(|case| case.phases.measure_ns).max().unwrap_or(0);
            let fewer =
                (own.len() < all.len()).then(|| format!("{} of {} repeats", repeats(own), repeats(all)));
            let [short, whole] = [plan, unbounded].map(window);
            let shorter = (short < whole)
                .then(|| format!("windows of {} instead of {}", duration(short), duration(whole)));
            let cut: Vec<String> = fewer.into_iter().chain(shorter).collect();
            (!cut.is_empty()).then(|| format!("the budget allows {}", cut.join(", with ")))
        }
        (Strategy::Compare(own), Strategy::Compare(all)) if own.looks != all.looks => {
            let (own, all) = (listed(&own.looks), listed(&all.looks));
            let caps = plan.targets().into_iter().filter_map(|target| target.caps.time_ns).min();
            let who = match plan.budget_ns {
                Some(budget_ns) if caps == Some(budget_ns) => "the target's cap on `time`",
                _ => "the budget",
            };
            Some(format!("{who} allows a look after {own} units of evidence, not after {all}"))
        }
        (Strategy::Find(own), Strategy::Find(all)) if own != all => Some(match plan.depth {
            Depth::Quick if unbounded.depth == Depth::Verdict => {
                "the budget allows a quick look: short trials".to_owned()
            }
            _ => format!("the budget allows {} of {} trials", own.trials_max, all.trials_max),
        }),
        _ => None,
    }
}

fn varies(param: &str, plan: &Plan) -> bool {
    let mut values = plan.cases.iter().map(|case| case.params.get(param));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// That a target takes the place of `system`, and which params mean something only there: those that differ between
/// the plan's cases or were set by hand.
fn replaced(scenario: &Scenario, plan: &Plan) -> Vec<Remark> {
    let file = scenario.typed();
    let Some(first) = plan.cases.first() else { return Vec::new() };
    let Some(target) = first.system.target() else { return Vec::new() };
    if !file.system.given {
        return Vec::new();
    }
    let target = &target.target;
    let meant = |name: &String| varies(name, plan) || plan.changed.contains_key(name);
    let fact = format!("target {target} takes the place of the scenario's `system`, which is not used");
    let without_effect = file.params_in(file.system.values()).into_iter().filter(meant).map(|name| {
        Remark::Warning(format!(
            "param `{name}` is used in `system`, whose place target {target} takes: there it has no effect"
        ))
    });
    std::iter::once(Remark::Fact(fact)).chain(without_effect).collect()
}

/// The remarks without those that name existing topics, for a report to the user who named them.
pub fn of_existing_topics(plan: &Plan) -> Vec<Remark> {
    existing_topics(plan).into_iter().map(Remark::Fact).collect()
}

/// Topics of targets that take the place of those of the scenario.
fn existing_topics(plan: &Plan) -> Vec<String> {
    distinct(plan.every_case().flat_map(|case| {
        let used = case.system.target().into_iter().flat_map(|target| target.topics.iter().map(move |used| (target, used)));
        let used = used.filter(|(_, (address, _))| case.topics.contains_key(*address));
        used.map(|(target, (address, name))| {
            format!(
                "topic `{address}` is the existing topic `{name}` of target {}: it keeps what trials write, and others may write to it",
                target.target
            )
        })
    }))
}

/// Topics of the scenario that share one existing topic: their records mix.
fn shared_topics(plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for case in plan.every_case() {
        let Some(target) = case.system.target() else { continue };
        let mut by_name: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (address, name) in target.topics.iter().filter(|(address, _)| case.topics.contains_key(*address))
        {
            by_name.entry(name).or_default().insert(address);
        }
        found.extend(by_name.into_iter().filter(|(_, of)| of.len() > 1).map(|(name, of)| {
            format!(
                "target {} has one topic, `{name}`, for {}: their records mix",
                target.target,
                listed(of.iter().copied())
            )
        }));
    }
    found
}

/// Topics of targets that replace none of the scenario's, but are written much like one. Others are for other
/// scenarios.
fn misspelt_topics(plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for case in plan.every_case() {
        let Some(target) = case.system.target() else { continue };
        for address in target.topics.keys().filter(|address| !case.topics.contains_key(*address)) {
            let missing = case.topics.keys().filter(|topic| !target.topics.contains_key(*topic));
            if let Some(meant) = meant(address, missing.map(String::as_str)) {
                found.insert(format!(
                    "target {} has an existing topic for `{address}`, which the scenario does not have: did you mean `{meant}`, \
                     for which a topic is made?",
                    target.target
                ));
            }
        }
    }
    found
}

/// Which of the clients' settings have no effect in any case, and which are of other versions' clients in one.
fn client_settings(file: &ScenarioFile, cases: &[&ParamValues]) -> Result<Vec<Remark>, PlanError> {
    let mut found = Vec::new();
    for (name, item) in &file.load {
        let mut idle: Option<Vec<String>> = None;
        let mut of_others = Vec::new();
        let mut unknown = BTreeSet::new();
        for values in cases {
            let reported = client::without_effect(values, &name.text, item)?;
            match &mut idle {
                None => idle = Some(reported),
                Some(idle) => idle.retain(|before| reported.contains(before)),
            }
            of_others.extend(client::of_other_versions(values, &name.text, item)?);
            unknown.extend(driver::unknown(values, &name.text, item)?);
        }
        found.extend(unknown.into_iter().map(Remark::Warning));
        found.extend(idle.into_iter().flatten().chain(of_others).map(Remark::Fact));
    }
    Ok(found)
}

/// Sizes in Kafka's settings that are numbers without a unit of size, and easily meant otherwise: there a number
/// counts bytes, and `k` a thousand of them.
fn sizes(file: &ScenarioFile, values: &ParamValues) -> Result<Vec<Remark>, PlanError> {
    let mut found = Vec::new();
    for (key, typed) in file.values() {
        let is_size = matches!(key.rsplit_once('.'), Some((_, "bytes" | "size" | "memory")));
        if !is_size {
            continue;
        }
        let text = values.text(typed)?;
        let Some(bytes) = units::parse(&text).filter(|quantity| quantity.dimension == Dimension::Plain)
        else {
            continue;
        };
        let from =
            if text == typed.text { String::new() } else { format!(" (from {})", quoted(&typed.text)) };
        let reported = |meant: &str| {
            Remark::Warning(format!(
                "`{key}`{from}: {} is {} bytes{meant}",
                quoted(&text),
                count(bytes.value)
            ))
        };
        let binary = text.strip_suffix(['k', 'M', 'G']).zip(text.chars().last());
        if let Some((number, unit)) = binary {
            let unit = unit.to_ascii_uppercase();
            let Some(meant) = units::parse(&format!("{number}{unit}iB")) else { continue };
            found.push(reported(&format!("; `{number}{unit}iB` is {}", count(meant.value))));
        } else if (2.0..BYTES_LIKELY_MIN).contains(&bytes.value) && !key.ends_with(".min.bytes") {
            found.push(reported(&format!("; `{text}KiB` is {}", count(bytes.value * 1024.0))));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(params: &str, client: &str) -> Scenario {
        let text = format!(
            "kdyno: 1\nid: x\nquestion: why?\nparams: {{{params}}}\nvary: {{size: [1KiB, 2KiB]}}\ntopics: {{t: {{partitions: 1}}}}\n\
             load: {{w: {{produce: t, rate: max, value: $size, client: {{{client}}}}}}}\nphases: {{measure: 1s}}\n"
        );
        Scenario::parse(&text, "x.yaml").expect("a scenario")
    }

    fn warnings(params: &str, client: &str, set: &[(&str, &str)]) -> Vec<String> {
        warnings_of(&scenario(params, client), set)
    }

    fn warnings_of(scenario: &Scenario, set: &[(&str, &str)]) -> Vec<String> {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let choices = Choices { set, ..Choices::default() };
        let plan = crate::plan(scenario, &choices).expect("a plan");
        let notes = remarks(scenario, &choices, &plan).expect("remarks");
        let text = |note| match note {
            Remark::Fact(text) | Remark::Warning(text) => text,
        };
        notes.into_iter().map(text).collect()
    }

    #[test]
    fn sizes_that_are_easily_meant_otherwise_are_doubted_once() {
        assert_eq!(
            warnings("size: 1KiB", "batch.size: 16k", &[]),
            ["`batch.size`: `16k` is 16,000 bytes; `16KiB` is 16,384"]
        );
        assert_eq!(
            warnings("size: 1KiB, batch: 16KiB", "batch.size: $batch", &[("batch", "64")]),
            ["each batch of `w` holds one record: `batch.size` is 64 B, a record has 1 KiB"]
        );
        for clear in ["16KiB", "16KB", "16384", "0", "= 2*8KiB"] {
            assert!(warnings("size: 1KiB", &format!("batch.size: {clear}"), &[]).is_empty(), "{clear}");
        }
        assert!(warnings("size: 1KiB", "linger.ms: 5", &[]).is_empty(), "a duration is no size");
    }

    #[test]
    fn batches_of_one_record_are_reported_with_their_cases() {
        let reported = |client: &str| warnings("size: $s, s: 1KiB", client, &[]);
        assert!(reported("batch.size: 8KiB").is_empty(), "two fit");
        assert_eq!(
            warnings("size: 1KiB", "batch.size: 3KiB", &[]),
            ["each batch of `w` holds one record in 1 of 2 cases: `batch.size` is 3 KiB, a record has 2 KiB"]
        );
    }

    #[test]
    fn fetches_that_wait_as_long_as_they_may_are_reported() {
        let reported = |rate: &str, consumer: &str| {
            let text = format!(
                "kdyno: 1\nid: x\nquestion: why?\ntopics: {{t: {{partitions: 1}}}}\nload:\n  \
                 w: {{produce: t, rate: {rate}, value: 1KiB}}\n  r: {{consume: t, client: {{{consumer}}}}}\n\
                 phases: {{measure: 1s}}\n"
            );
            let reported = warnings_of(&Scenario::parse(&text, "x.yaml").expect("a scenario"), &[]);
            reported.into_iter().filter(|reported| reported.starts_with("each fetch")).collect::<Vec<_>>()
        };
        let found = reported("100/s", "fetch.min.bytes: 1MiB");
        assert!(
            found[0]
                .starts_with("each fetch of `r` waits for 500ms (`fetch.max.wait.ms`): it asks for 1 MiB"),
            "{found:?}"
        );
        for (rate, consumer) in
            [("100/s", ""), ("100/s", "fetch.min.bytes: 16KiB"), ("max", "fetch.min.bytes: 1MiB")]
        {
            assert!(reported(rate, consumer).is_empty(), "{rate} {consumer}");
        }
    }

    #[test]
    fn settings_without_effect_and_of_other_versions_warn_once() {
        assert_eq!(
            warnings("size: $s, s: 1KiB", "client.id: x, retries: 2147483647", &[]),
            [
                "`client.id` of `w` has no effect here: client ids are made of the prefix, the item and the client's number"
            ]
        );
        let reported = warnings("size: $s, s: 1KiB", "defaults: '3.2', enable.metrics.push: false", &[]);
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert!(reported[1].contains("from 3.7 on, not those of 3.2"), "{reported:?}");
        let reported =
            warnings("size: $s, s: 1KiB", "defaults: '4.0', auto.include.jmx.reporter: false", &[]);
        assert!(reported[1].contains("any more from 4.0 on"), "{reported:?}");
        let reported =
            warnings("size: $s, s: 1KiB", "defaults: '3.9', auto.include.jmx.reporter: false", &[]);
        assert_eq!(reported.len(), 1, "{reported:?}");
        let settings = "partitioner.ignore.keys: true, transaction.timeout.ms: 5s";
        assert_eq!(
            warnings("size: $s, s: 1KiB", settings, &[]),
            [
                "`partitioner.ignore.keys` of `w` has no effect here: it has no `key`",
                "`transaction.timeout.ms` of `w` has no effect here: it has no `transactions`",
            ]
        );
        let used = format!("{settings}}}, key: {{uniform: {{of: 9}}}}, transactions: {{every: 1s");
        assert!(warnings("size: $s, s: 1KiB", &used, &[]).is_empty(), "both have something to act on");
    }

    #[test]
    fn a_level_of_a_codec_that_no_case_has_is_reported() {
        let reported = |client: &str| warnings("size: $s, s: 1KiB", client, &[]);
        let idle = "`compression.gzip.level` of `w` has no effect here: its `compression.type` is not `gzip`";
        let both = "compression.zstd.level: 19, compression.gzip.level: -1";
        assert_eq!(reported(&format!("compression.type: zstd, {both}")), [idle]);
        assert_eq!(reported("compression.gzip.level: 9"), [idle], "nothing is compressed");
        assert_eq!(
            reported("defaults: '3.7', compression.type: gzip, compression.gzip.level: 9"),
            ["`compression.gzip.level` of `w`: Kafka's clients know it from 3.8 on, not those of 3.7"]
        );
        let by_case = |codecs: &str| {
            let text = format!(
                "kdyno: 1\nid: x\nquestion: why?\nparams: {{codec: none}}\nvary: {{codec: [{codecs}]}}\n\
                 topics: {{t: {{partitions: 1}}}}\nload:\n  w:\n    produce: t\n    rate: max\n    value: 1KiB\n    \
                 client: {{compression.type: $codec, {both}}}\nphases: {{measure: 1s}}\n"
            );
            warnings_of(&Scenario::parse(&text, "x.yaml").expect("a scenario"), &[])
        };
        assert!(by_case("gzip, zstd").is_empty(), "each is in force in one of the cases");
        assert_eq!(by_case("zstd, snappy"), [idle]);
    }

    #[test]
    fn a_param_that_is_used_nowhere_is_doubted() {
        assert_eq!(
            warnings("size: 1KiB, batch: 16KiB, twice: = 2*batch", "batch.size: 16KiB", &[]),
            [
                "param `batch` is used nowhere: it has no effect; did you mean `batch.size: $batch`?",
                "param `twice` is used nowhere: it has no effect",
            ]
        );
        assert!(warnings("size: $s, s: 1KiB", "acks: all", &[]).is_empty(), "used by way of another param");
    }
}
