//! Attributes of MBeans that a scenario names.

use kdyno_model::plan::{BrokerMetrics, Plan};
use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;

const LEADERS: &str = "kafka.server:type=ReplicaManager,name=LeaderCount/Value";

fn planned(metrics: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: inside\nquestion: what do brokers say?\nparams: {{of: LeaderCount}}\nsystem:\n  metrics: {metrics}\n\
         topics: {{t: {{partitions: 1}}}}\nload: {{writers: {{produce: t, rate: 1k/s, value: 1KiB}}}}\n\
         phases: {{warmup: 5s, measure: 10s}}\n"
    );
    let scenario = Scenario::parse(&text, "s.yaml").map_err(|error| error.to_string())?;
    plan(&scenario, &Choices::default()).map_err(|error| error.to_string())
}

#[test]
fn they_are_planned_next_to_the_agent() {
    for metrics in [
        format!("{{mbeans: ['{LEADERS}']}}"),
        format!("{{mbeans: ['{}']}}", LEADERS.replace("LeaderCount", "$of")),
    ] {
        let plan = planned(&metrics).unwrap();
        let system = &plan.cases[0].system;
        assert_eq!(system.mbeans(), [LEADERS]);
        assert_eq!(system.cluster().unwrap().metrics, BrokerMetrics::Jmx);
    }
    assert!(planned("none").unwrap().cases[0].system.mbeans().is_empty());
}

#[test]
fn a_wrong_name_is_refused_in_its_place() {
    for (metrics, words) in [
        ("{mbeans: [LeaderCount]}", "s.yaml:6:22: `mbeans`: `LeaderCount` names no attribute"),
        (
            "{mbeans: ['kafka.server:type=*/Value']}",
            "s.yaml:6:22: `mbeans`: `kafka.server:type=*/Value` is a pattern",
        ),
        ("{mbeans: ['a:b=c/d', 'a:b=c/d']}", "`a:b=c/d` is there twice"),
        ("{mbean: ['a:b=c/d']}", "`mbean` is not a key of the metrics of brokers"),
        ("{}", "s.yaml:6:12: the metrics of brokers lacks `mbeans`"),
        ("{mbeans: 'a:b=c/d'}", "`mbeans` takes a list"),
        ("[jmx]", "s.yaml:6:12: "),
    ] {
        let error = planned(metrics).unwrap_err();
        assert!(error.contains(words), "{metrics}: {error}");
    }
}
