//! What the plan makes of `kafka: null-broker`.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

use kdyno_model::plan::{NullBrokerPlan, Plan, SystemPlan, TlsVersion};
use kdyno_plan::{Choices, Next, PlanError, plan};
use kdyno_scenario::Scenario;

const WRITERS: &str = "writers: {produce: t, rate: 1k/s, value: 1KiB}";

fn planned(head: &str, system: &str, topic: &str, load: &str) -> Result<Plan, PlanError> {
    let text = format!(
        "kdyno: 1\nid: alone\nquestion: what does the client cost?\n{head}system: {{kafka: null-broker{system}}}\n\
         topics: {{t: {topic}}}\nload: {{{load}}}\nphases: {{warmup: 5s, measure: 10s}}\n"
    );
    plan(&Scenario::parse(&text, "s.yaml").unwrap(), &Choices::default())
}

fn system(words: &str) -> SystemPlan {
    planned("", words, "{partitions: 3}", WRITERS).unwrap().cases[0].system.clone()
}

#[test]
fn it_is_a_system_of_its_own_kind_with_or_without_tls() {
    assert_eq!(system(""), SystemPlan::NullBroker(NullBrokerPlan { tls: Vec::new() }));
    let tls = vec![TlsVersion::Tls13];
    let secured = system(", listeners: {clients: {protocol: SSL, tls: 1.3}}");
    assert_eq!(secured, SystemPlan::NullBroker(NullBrokerPlan { tls }));
    let text = serde_json::to_string(&secured).unwrap();
    assert_eq!(serde_json::from_str::<SystemPlan>(&text).unwrap(), secured);
}

/// There are no brokers to be warmed up.
#[test]
fn nothing_is_conditioned() {
    let text = "kdyno: 1\nid: alone\nquestion: what does Kafka cost?\nparams: {of: 4.1.1}\nsystem: {kafka: $of}\n\
                topics: {t: {partitions: 1}}\nload: {writers: {produce: t, rate: 1k/s, value: 1KiB}}\n\
                phases: {warmup: 5s, measure: 10s, condition: 1s..5s}\n";
    let first_conditions = |text: &str| {
        let plan = plan(&Scenario::parse(text, "s.yaml").unwrap(), &Choices::default()).unwrap();
        let Next::Trial(first) = kdyno_plan::next(&plan, &[], 1) else { panic!("a list has trials") };
        first.is_conditioning()
    };
    assert!(first_conditions(text));
    assert!(!first_conditions(&text.replace("4.1.1", "null-broker")));
}

#[test]
fn a_param_chooses_between_kafka_and_none() {
    let text = "kdyno: 1\nid: alone\nquestion: what does Kafka cost?\nparams: {of: 4.1.1}\n\
                cases: [{of: 4.1.1}, {of: null-broker}]\nsystem: {kafka: $of}\ntopics: {t: {partitions: 1}}\n\
                load: {writers: {produce: t, rate: 1k/s, value: 1KiB}}\nphases: {warmup: 5s, measure: 10s}\n";
    let plan = plan(&Scenario::parse(text, "s.yaml").unwrap(), &Choices::default()).unwrap();
    let is_null: Vec<bool> =
        plan.cases.iter().map(|case| matches!(case.system, SystemPlan::NullBroker(_))).collect();
    assert_eq!(is_null, [false, true]);
}

#[test]
fn what_only_brokers_of_kafka_have_is_refused_where_it_stands() {
    let refused = |system: &str| planned("", system, "{partitions: 1}", WRITERS).unwrap_err().to_string();
    for (system, told) in [
        (", brokers: 3", "a null broker is one broker"),
        (", mode: zookeeper", "a null broker has no `mode`"),
        (", mode: {controllers: 3}", "a null broker has no `mode`"),
        (", storage: memory", "a null broker has no `storage`"),
        (", limits: {heap: 2GiB}", "a null broker has no heap"),
        (", limits: {pin: [[0]]}", "a null broker has no processors of its own"),
        (", jvm: [-Xss1m]", "a null broker has no Java process"),
        (", racks: [a]", "a null broker has no rack"),
        (", config: {num.io.threads: 8}", "a null broker has no settings"),
        (", listeners: {clients: {protocol: SASL_SSL}}", "asks nobody who they are"),
        (", listeners: {clients: {protocol: SSL, certificates: required}}", "asks nobody who they are"),
    ] {
        let error = refused(system);
        assert!(error.starts_with("s.yaml:") && error.contains(told), "{system}: {error}");
    }
    let error = planned("", "", "{partitions: 1, replicas: 3}", WRITERS).unwrap_err().to_string();
    assert!(error.contains("wants 3 replicas, but the cluster has 1 broker"), "{error}");
}

#[test]
fn nothing_can_be_read_from_it() {
    for reader in ["readers: {consume: t}", "probe: {end_to_end: p}"] {
        let load = format!("{WRITERS}, {reader}");
        let error = planned("", "", "{partitions: 1}, p: {partitions: 1}", &load).unwrap_err().to_string();
        assert!(error.contains("reads, and a null broker keeps no record"), "{reader}: {error}");
    }
}
