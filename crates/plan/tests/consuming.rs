//! What a plan makes of load items that consume.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

use kdyno_model::plan::{ConsumePlan, Role, WorkPlan};
use kdyno_plan::{Choices, Note, plan, remarks};
use kdyno_scenario::Scenario;

const MS: u64 = 1_000_000;

/// A scenario of which this is said of the readers; 1,000 records per second are written.
fn text(said: &str) -> String {
    format!(
        "kdyno: 1\nid: base\nquestion: how much?\ntopics: {{t: {{partitions: 2}}}}\n\
         load:\n  writers: {{produce: t, rate: 1k/s, value: 100B}}\n  readers: {{consume: t, {said}}}\n\
         phases: {{warmup: 5s, condition: none, measure: 10s}}\n"
    )
}

fn scenario(said: &str) -> Scenario {
    Scenario::parse_bytes(text(said).as_bytes(), "base.yaml").unwrap()
}

fn readers(said: &str) -> ConsumePlan {
    let plan = plan(&scenario(said), &Choices::default()).unwrap();
    let Role::Consume(readers) = plan.cases[0].load["readers"].role.clone() else {
        panic!("readers consume")
    };
    readers
}

fn refused(said: &str) -> String {
    let scenario = Scenario::parse_bytes(text(said).as_bytes(), "base.yaml");
    match scenario.map(|scenario| plan(&scenario, &Choices::default())) {
        Err(error) => error.to_string(),
        Ok(planned) => planned.expect_err("refused").to_string(),
    }
}

#[test]
fn work_is_what_the_scenario_says() {
    let work = |said: &str| readers(said).work;
    assert_eq!((work("clients: 1"), work("work: 0ms")), (None, None));
    assert_eq!(work("work: 2ms"), Some(WorkPlan::Constant { ns: 2 * MS }));
    assert_eq!(work("work: {exponential: 500us}"), Some(WorkPlan::Exponential { mean_ns: MS / 2 }));
    let zipf = WorkPlan::Zipf { least_ns: MS, most_ns: 1_000 * MS, exponent: 2.0 };
    assert_eq!(work("work: {zipf: {least: 1ms, most: 1s}}"), Some(zipf));
    assert_eq!(readers("clients: 1").poll_records_max, 500);
    assert_eq!(readers("client: {max.poll.records: 7}").poll_records_max, 7);
}

#[test]
fn work_that_cannot_be_is_refused_where_it_stands() {
    for (said, told) in [
        ("work: {exponential: 0ms}", "`exponential`"),
        ("work: {zipf: {least: 2ms, most: 1ms}}", "`most` is less than `least`"),
        ("work: {zipf: {least: 1ns, most: 1s}}", "more than 1000000 times"),
        ("work: {zipf: {least: 1ms, most: 1s, s: 21}}", "`21` is outside 0 to 20"),
        ("work: {normal: 1ms}", "normal"),
        ("work: 1ms, read: header", "read: decode"),
        ("work: 2h", "`work`"),
    ] {
        let error = refused(said);
        assert!(error.contains(told) && error.contains("base.yaml"), "{said}: {error}");
    }
}

#[test]
fn applications_that_cannot_keep_up_are_told_before_the_run() {
    let told = |said: &str| {
        let scenario = scenario(said);
        let choices = Choices::default();
        let plan = plan(&scenario, &choices).unwrap();
        let notes = remarks(&scenario, &choices, &plan).unwrap();
        notes
            .into_iter()
            .filter(|note| matches!(note, Note::Fact(text) if text.contains("lag grows")))
            .count()
    };
    assert_eq!(told("clients: 1, work: 2ms"), 1, "500 of 1,000 a second");
    assert_eq!((told("clients: 3, work: 2ms"), told("clients: 1")), (0, 0));
}
