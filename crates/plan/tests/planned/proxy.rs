//! The proxy between clients and brokers, from a scenario's text to the plan.

use crate::common;
use kdyno_model::plan::{ComponentKind, KROXYLICIOUS, Plan, ProxyPlan, ReadyWhen, StopSignal, Strategy};
use kdyno_plan::{Choices, bytes_to_write_of_trial, check_stored};
use kdyno_scenario::target::TargetFile;

const LOAD: &str = "load: {w: {produce: t, rate: 10/s, value: 10B}}\nphases: {measure: 1m}\n";

fn text(system: &str, more: &str) -> String {
    format!(
        "kdyno: 1\nid: through\nquestion: What does it cost?\nparams: {{p: none}}\n\
         system: {{kafka: 4.1.1, {system}}}\ntopics: {{t: {{partitions: 3}}}}\n{LOAD}{more}"
    )
}

fn planned(system: &str, more: &str) -> Result<Plan, String> {
    common::as_written(&text(system, more))
}

#[test]
fn a_param_makes_cases_with_and_without_one_on_the_same_cluster() {
    let more = "components: {web: {command: [./web]}}\ncases: [{p: none}, {p: kroxylicious}]\n\
                show: {columns: [proxy.cpu_us_per_record, proxy.memory_rss_bytes_max]}\n";
    let plan = planned("proxy: $p", more).expect("a plan");
    let names = |case: usize| {
        plan.cases[case].components.iter().map(|component| component.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((names(0), names(1)), (vec!["web"], vec!["proxy", "web"]), "it stands before all others");
    assert_eq!(plan.cases[0].system, plan.cases[1].system);
    let proxy = &plan.cases[1].components[0];
    assert_eq!(proxy.kind, ComponentKind::Proxy(ProxyPlan::Kroxylicious(KROXYLICIOUS.to_owned())));
    assert_eq!((&proxy.ready, proxy.stop_signal), (&ReadyWhen::Port, StopSignal::Term));
}

#[test]
fn one_of_the_users_own_is_written_as_a_component_is() {
    let proxy = "proxy: {command: './p \"$$KDYNO_PORT\"', environment: {P: $p}, ready: {line: up}, stop: {signal: INT}}";
    let plan = planned(proxy, "").expect("a plan");
    let [proxy] = &plan.cases[0].components[..] else { panic!("one") };
    let words = ["sh", "-c", "./p \"$KDYNO_PORT\""].map(str::to_owned);
    assert_eq!(proxy.kind, ComponentKind::Proxy(ProxyPlan::Command(words.into())));
    assert_eq!((proxy.name.as_str(), proxy.environment["P"].as_str()), ("proxy", "none"));
    assert_eq!((&proxy.ready, proxy.stop_signal), (&ReadyWhen::Line("up".to_owned()), StopSignal::Int));
}

/// It writes nothing itself; and what a run file names is started where it is kdyno's own.
#[test]
fn written_bytes_are_known_and_a_stored_plan_starts_no_other() {
    let own = planned("proxy: kroxylicious", "").expect("a plan");
    let without = planned("proxy: none", "").expect("a plan");
    assert!(bytes_to_write_of_trial(&own.cases[0]).is_some_and(|bytes| bytes > 0));
    assert_eq!(bytes_to_write_of_trial(&own.cases[0]), bytes_to_write_of_trial(&without.cases[0]));
    assert!(check_stored(&own).is_ok());
    let mut other = own.clone();
    other.cases[0].components[0].kind = ComponentKind::Proxy(ProxyPlan::Kroxylicious("../..".to_owned()));
    assert!(check_stored(&other).is_err(), "another release is a word of a stranger's");
    other.clone_from(&own);
    other.cases[0].components[0].name = "x/../..".to_owned();
    assert!(check_stored(&other).is_err(), "its folder has its name");
    let command = planned("proxy: {command: [./p]}", "").expect("a plan");
    let stored = check_stored(&command).expect_err("a run file starts nothing");
    assert!(stored.message.starts_with("the stored plan starts a component: proxy: "), "{stored}");
}

#[test]
fn a_side_of_a_comparison_adds_one() {
    let more = "compare: {A: {system: {proxy: none}}, B: {}, judge: [{of: w.response.p99}]}\n";
    let plan = planned("proxy: kroxylicious", more).expect("a plan");
    let Strategy::Compare(comparison) = &plan.strategy else { panic!("a comparison") };
    assert_eq!((plan.cases[0].components.len(), comparison.b[0].components.len()), (0, 1));
    assert_eq!(plan.cases[0].system, comparison.b[0].system, "on one cluster");
}

#[test]
fn impossible_settings_are_refused_in_place_with_a_hint() {
    for (system, more, words) in [
        ("proxy: kroxylicous", "", "did you mean `kroxylicious`"),
        ("proxy: shotover", "", "any other one is started by its command: `proxy: {command: …}`"),
        ("proxy: {postgres: {}}", "", "a database is no proxy"),
        ("proxy: {comand: [x]}", "", "did you mean `command`"),
        ("proxy: {command: [x], environment: {KDYNO_X: 1}}", "", "`KDYNO_X` cannot be set"),
        (
            "proxy: kroxylicious, zones: {brokers: [a], clients: [b]}",
            "",
            "a proxy and `zones` are not there together",
        ),
        (
            "proxy: kroxylicious, listeners: {clients: {protocol: SSL, certificates: required}}",
            "",
            "Kroxylicious cannot hand on the certificate of a client",
        ),
        (
            "proxy: $p",
            "components: {proxy: {command: [x]}}\n",
            "`proxy` is already the name of what is in line ",
        ),
        ("proxy: none", "show: {columns: [proxy.cpu_percent]}\n", "`proxy` is neither a load item"),
        ("proxy: $p", "show: {columns: [proxy.transactions_per_s]}\n", "is not a metric of `proxy`"),
    ] {
        let error = planned(system, more).expect_err(system);
        assert!(error.starts_with("s.yaml:"), "{error}");
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(
        planned("proxy: none", "components: {proxy: {command: [x]}}\n").is_ok(),
        "a component of that name"
    );
    let null = "kdyno: 1\nid: n\nquestion: q?\nsystem: {kafka: null-broker, proxy: kroxylicious}\n\
                topics: {t: {partitions: 1}}\n";
    let error = common::as_written(&format!("{null}{LOAD}")).expect_err("a null broker");
    assert!(error.contains("a null broker cannot be behind a proxy"), "{error}");
}

#[test]
fn none_is_started_before_a_target() {
    let target = "kdyno: 1\ntarget: theirs\ncluster_id: id\nclient: {bootstrap: [127.0.0.1:9092]}\n";
    let target = TargetFile::parse(target, "t.yaml").expect("read").resolve(None).expect("a target");
    let planned = |system: &str| {
        let choices = Choices { target: Some(target.clone()), ..Choices::default() };
        common::planned(&text(system, ""), &choices)
    };
    let refused = planned("proxy: kroxylicious").expect_err("it is somebody else's");
    assert!(refused.contains("no proxy is started before a target"), "{refused}");
    assert!(planned("proxy: none").is_ok());
}
