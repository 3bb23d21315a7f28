//! What each broker may use.

use kdyno_model::plan::SystemPlan;
use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;

const TEXT: &str = "\
kdyno: 1
id: limited
question: how much?
params: {cpus: 1.5}
system: {brokers: 1, limits: {cpus: $cpus}}
topics: {t: {partitions: 1}}
load: {writers: {produce: t, rate: max, value: 1KiB}}
phases: {measure: 10s}
";

/// The limit that a text comes to with this value of its param.
fn limit(text: &str, cpus: &str) -> Result<Option<f64>, String> {
    let scenario = Scenario::parse(text, "s.yaml").map_err(|error| error.to_string())?;
    let choices = Choices { set: vec![("cpus".to_owned(), cpus.to_owned())], ..Choices::default() };
    let plan = plan(&scenario, &choices).map_err(|error| error.to_string())?;
    match &plan.cases[0].system {
        SystemPlan::Local(cluster) => Ok(cluster.cpu_limit),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_limit_of_processor_time_may_be_a_param() {
    assert_eq!(limit(TEXT, "1.5"), Ok(Some(1.5)));
    assert_eq!(limit(TEXT, "4"), Ok(Some(4.0)));
    for wrong in ["0.01", "-1", "1GiB", "many"] {
        let reported = limit(TEXT, wrong).expect_err(wrong);
        assert!(reported.contains("cpus"), "{reported}");
    }
}

#[test]
fn without_one_there_is_none() {
    let text = TEXT.replace(", limits: {cpus: $cpus}", "").replace("brokers: 1", "brokers: = ceil(cpus)");
    assert_eq!(limit(&text, "1"), Ok(None));
}
