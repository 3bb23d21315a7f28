//! What the plan makes of `kafka: null-broker`.

use kdyno_model::plan::{NullBrokerPlan, Plan, SystemPlan, TlsVersion};
use kdyno_plan::{Choices, Next, PlanError, estimate, plan};
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
    assert_eq!(system(""), SystemPlan::NullBroker(NullBrokerPlan::default()));
    let tls = vec![TlsVersion::Tls13];
    let secured = system(", listeners: {clients: {protocol: SSL, tls: 1.3}}");
    assert_eq!(secured, SystemPlan::NullBroker(NullBrokerPlan { tls, ..Default::default() }));
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

/// 1 s of noise probe is most of the overhead of a trial.
#[test]
fn its_trials_write_little_apart_from_the_load() {
    let plan = planned("", "", "{partitions: 3}", WRITERS).unwrap();
    assert_eq!(estimate(&plan).longest_ns, 17_000_000_000);
}

#[test]
fn nothing_is_written() {
    for rate in ["1k/s", "max"] {
        let writers = WRITERS.replace("1k/s", rate);
        let plan = planned("", "", "{partitions: 3}", &writers).unwrap();
        assert_eq!((estimate(&plan).disk_bytes, plan.is_on_null_brokers()), (Some(0), true), "{rate}");
    }
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
fn settings_of_kafka_brokers_alone_are_refused_in_place() {
    let refused = |system: &str| planned("", system, "{partitions: 1}", WRITERS).unwrap_err().to_string();
    for (system, reported) in [
        (", brokers: 3", "a null broker is one broker"),
        (", mode: zookeeper", "a null broker has no `mode`"),
        (", mode: {controllers: 3}", "a null broker has no `mode`"),
        (", storage: memory", "a null broker has no `storage`"),
        (", limits: {heap: 2GiB}", "a null broker has no heap"),
        (", limits: {cpus: 1.5}", "a null broker has no limit of CPU time"),
        (", limits: {pin: [[0]]}", "a null broker has no CPUs of its own"),
        (", jvm: [-Xss1m]", "a null broker has no Java process"),
        (", metrics: {mbeans: ['a:b=c/d']}", "a null broker has no MBeans"),
        (", racks: [a]", "a null broker has no rack"),
        (", config: {num.io.threads: 8}", "a null broker has no settings"),
        (", listeners: {clients: {protocol: SASL_SSL}}", "does not authenticate"),
        (", listeners: {clients: {protocol: SSL, certificates: required}}", "does not authenticate"),
    ] {
        let error = refused(system);
        assert!(error.starts_with("s.yaml:") && error.contains(reported), "{system}: {error}");
    }
    let error = planned("", "", "{partitions: 1, replicas: 3}", WRITERS).unwrap_err().to_string();
    assert!(error.contains("wants 3 replicas, but the cluster has 1 broker"), "{error}");
}

#[test]
fn what_is_read_from_it_is_made_up_and_has_a_size() {
    let of = |kafka: &str, item: &str| {
        let text = format!(
            "kdyno: 1\nid: alone\nquestion: what does the client cost?\nsystem: {{kafka: {kafka}}}\n\
             topics: {{t: {{partitions: 1}}, p: {{partitions: 1}}}}\nload: {{{WRITERS}, {item}}}\n\
             phases: {{warmup: 5s, measure: 10s}}\n"
        );
        plan(&Scenario::parse(&text, "s.yaml").unwrap(), &Choices::default())
    };
    let refused = |kafka: &str, item: &str| of(kafka, item).unwrap_err().to_string();
    let error = refused("null-broker", "readers: {consume: t}");
    assert!(error.contains("`readers` reads, and a null broker has nothing to be read"), "{error}");
    for kafka in ["null-broker", "{null_broker: 1KiB}"] {
        let error = refused(kafka, "readers: {consume: t, group: g}");
        assert!(error.contains("is a group, and a null broker coordinates none"), "{error}");
        let error = refused(kafka, "probe: {end_to_end: p}");
        assert!(error.contains("reads what it has sent"), "{error}");
    }
    let error = refused("{null_broker: 2MiB}", "readers: {consume: t}");
    assert!(error.contains("`null_broker`"), "{error}");
    let made = of("{null_broker: 1KiB}", "readers: {consume: t}").unwrap();
    let wanted = NullBrokerPlan { fetch_value_bytes: Some(1024), ..Default::default() };
    assert_eq!(made.cases[0].system, SystemPlan::NullBroker(wanted));
}
