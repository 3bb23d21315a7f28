//! Settings in force on both sides of a comparison.

#[path = "../../../model/tests/common/clients.rs"]
mod clients;

use crate::fixture::{RunFixture, comparing, settings as compared};
use kdyno_analysis::comparison::settings;
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{Conclusion, Says, SettingDiffers, Verdict, WhyDiffers, of_kind};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Quantity, Scope, Value};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{
    AttachedPlan, CasePlan, Compression, KeyLaw, KeyPlan, LoadPlan, NullBrokerPlan, OnClusters, Plan,
    ProducePlan, Protocol, Rate, Role, SystemPlan, TransactionsPlan,
};
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce, TrialStart};
use std::collections::BTreeMap;

/// A trial whose broker reported these settings, and not where they come from.
fn start(outcome: &kdyno_model::outcome::TrialOutcome, settings: &[(&str, &str)]) -> TrialStart {
    let unknown = |value: &&str| SettingInForce::new(SettingOrigin::Unknown, *value);
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), unknown(value))).collect();
    with_brokers(outcome, BTreeMap::from([(Subject::Broker(1), settings)]))
}

fn with_brokers(
    outcome: &kdyno_model::outcome::TrialOutcome,
    settings: BTreeMap<Subject, SettingsInForce>,
) -> TrialStart {
    TrialStart {
        trial: outcome.trial.clone(),
        session: 1,
        t0_unix_ns: 0,
        t0_monotonic_ns: 0,
        streams: Vec::new(),
        cluster: BTreeMap::new(),
        command_lines: BTreeMap::new(),
        settings,
    }
}

fn differences(plan: &mut Plan, a: &[(&str, &str)], b: &[(&str, &str)]) -> Judgement {
    let mut run = RunFixture::default();
    run.pairs("writers.acked_per_s", &[1.0]);
    let starts = [start(&run.outcomes[0], a), start(&run.outcomes[1], b)];
    assert_eq!(run.outcomes[0].findings[0].estimate, Value::Is(100.0));
    let of_plan = compared(plan).clone();
    settings(plan, &of_plan, &starts)
}

fn reported(found: &Judgement) -> Vec<(String, String, bool)> {
    let reported = found.conclusions.iter().map(|conclusion| {
        let Conclusion::SettingDiffers(SettingDiffers { whose, setting, a, b, declared, scope, why }) =
            conclusion
        else {
            panic!("{conclusion:?}")
        };
        assert_eq!(*scope, Scope::Comparison { case: 0 });
        assert_eq!(*declared, *why != Some(WhyDiffers::NotAsked));
        (format!("{whose} {setting}"), format!("{a} → {b}"), *declared)
    });
    reported.collect()
}

fn differs(what: &str, values: &str, declared: bool) -> (String, String, bool) {
    (what.to_owned(), values.to_owned(), declared)
}

/// Both sides run the same Kafka.
fn alike() -> Plan {
    let mut plan = comparing(&[], &[8], &[]);
    let system = plan.cases[0].system.clone();
    compared(&mut plan).b[0].system = system;
    plan
}

fn config<'a>(plan: &'a mut Plan, name: &str, value: &str) -> &'a mut Plan {
    let SystemPlan::Local(cluster) = &mut compared(plan).b[0].system else { panic!() };
    cluster.config.insert(name.into(), value.into());
    plan
}

#[test]
fn an_unrequested_difference_makes_the_comparison_invalid() {
    let a = [("num.io.threads", "8"), ("node.id", "1"), ("log.dirs", "/a"), ("same", "1")];
    let b = [("num.io.threads", "4"), ("node.id", "11"), ("log.dirs", "/b"), ("same", "1"), ("new", "2")];
    let found = differences(&mut alike(), &a, &b);
    assert_eq!(
        reported(&found),
        [differs("brokers new", "- → 2", false), differs("brokers num.io.threads", "8 → 4", false)]
    );
    let reported: Vec<_> =
        found.caveats.iter().map(|of| (of.severity, of.scope, of.caveat.clone())).collect();
    let caveat = |setting: &str, a: &str, b: &str| {
        let [whose, setting, a, b] = ["brokers", setting, a, b].map(str::to_owned);
        (
            Severity::Invalid,
            Scope::Comparison { case: 0 },
            Caveat::UndeclaredDifference { whose, setting, a, b },
        )
    };
    assert_eq!(reported, [caveat("new", "-", "2"), caveat("num.io.threads", "8", "4")]);
}

#[test]
fn what_was_asked_for_or_may_differ_is_declared() {
    let (a, b) = ([("num.io.threads", "8"), ("x", "1")], [("num.io.threads", "4"), ("x", "2")]);
    let declared = |plan: &mut Plan| -> Vec<bool> {
        let found = differences(plan, &a, &b);
        let reported = reported(&found);
        assert_eq!(found.caveats.len(), reported.iter().filter(|(.., declared)| !declared).count());
        reported.into_iter().map(|(.., declared)| declared).collect()
    };
    assert_eq!(declared(config(&mut alike(), "num.io.threads", "4")), [true, false]);
    let may_differ = |entry: &str| {
        let mut plan = alike();
        compared(&mut plan).may_differ.push(entry.into());
        declared(&mut plan)
    };
    assert_eq!(may_differ("num.io.threads"), [true, false]);
    assert_eq!(may_differ("system.config.num.io.threads"), [true, false]);
    assert_eq!(may_differ("system.config"), [true, true]);
    assert_eq!(may_differ("system.config.num.io"), [true, false]);
    assert_eq!(may_differ("system.config.num.io.thread"), [false, false]);
    // Defaults of another version come with it; what a side sets does not.
    assert_eq!(declared(&mut comparing(&[], &[8], &[])), [true, true]);
    let mut both = comparing(&[], &[8], &[]);
    config(&mut both, "x", "1");
    let SystemPlan::Local(cluster) = &mut both.cases[0].system else { panic!() };
    cluster.config.insert("x".into(), "1".into());
    assert_eq!(declared(&mut both), [true, false], "both set it alike, and it still differs");
    let mut secured = alike();
    let SystemPlan::Local(cluster) = &mut compared(&mut secured).b[0].system else { panic!() };
    cluster.listeners.internal = Protocol::Ssl;
    assert_eq!(declared(&mut secured), [true, true], "listeners bring settings of theirs");
}

#[test]
fn brokers_that_reported_nothing_are_not_compared() {
    let found = differences(&mut alike(), &[], &[("num.io.threads", "4")]);
    assert_eq!((found.conclusions.len(), found.caveats.len()), (0, 1));
    assert_eq!(found.caveats[0].severity, Severity::Warning, "it is told, and voids nothing");
    assert!(
        matches!(&found.caveats[0].caveat, Caveat::EvidenceOfRuns { detail } if detail.contains("settings"))
    );
}

#[test]
fn a_null_broker_has_no_settings_that_could_differ() {
    let mut plan = alike();
    let null_broker = || SystemPlan::NullBroker(NullBrokerPlan::default());
    compared(&mut plan).b[0].system = null_broker();
    assert_eq!(differences(&mut plan, &[], &[]).caveats.len(), 1, "of the other side's brokers");
    plan.cases[0].system = null_broker();
    compared(&mut plan).b[0].system = null_broker();
    assert_eq!(differences(&mut plan, &[], &[]).caveats, []);
}

/// A target of this name that declares this version.
fn target(name: &str, version: Option<&str>) -> SystemPlan {
    SystemPlan::Attached(AttachedPlan {
        target: name.to_owned(),
        cluster_id: format!("id of {name}"),
        prefix: "kdyno-".to_owned(),
        facts: version.map(|version| ("kafka".to_owned(), version.to_owned())).into_iter().collect(),
        ..AttachedPlan::default()
    })
}

#[test]
fn target_settings_may_differ_with_their_declared_versions() {
    let found = |a: SystemPlan, b: SystemPlan| {
        let mut plan = alike();
        plan.cases[0].system = a;
        compared(&mut plan).b[0].system = b;
        let found = differences(&mut plan, &[("num.io.threads", "8")], &[("num.io.threads", "4")]);
        let declared = reported(&found).iter().map(|(.., declared)| *declared).collect::<Vec<_>>();
        (declared, found.caveats.iter().map(|caveat| caveat.severity).collect::<Vec<_>>())
    };
    let (old, new) = (Some("3.7.2"), Some("4.1.1"));
    assert_eq!(found(target("a", old), target("b", new)), (vec![true], vec![]));
    let undeclared = |severity| (vec![false], vec![severity]);
    // One version has equal defaults: the value was set.
    assert_eq!(found(target("a", new), target("b", new)), undeclared(Severity::Invalid));
    // What is found out has no patch number: two of one line may be the same.
    for versions in [[None, new], [old, None], [None, None], [Some("4.1"), new]] {
        let [a, b] = versions;
        assert_eq!(found(target("a", a), target("b", b)), undeclared(Severity::Warning), "{versions:?}");
    }
    assert_eq!(found(target("a", None), target("a", None)), undeclared(Severity::Invalid), "one cluster");
}

/// What is said of two targets that declare these versions, and whose brokers reported these values of one setting.
fn of_targets(versions: [&str; 2], a: &[SettingInForce], b: &[SettingInForce]) -> Judgement {
    let mut plan = alike();
    plan.cases[0].system = target("a", Some(versions[0]));
    compared(&mut plan).b[0].system = target("b", Some(versions[1]));
    let mut run = RunFixture::default();
    run.pairs("writers.acked_per_s", &[1.0]);
    let reported = |values: &[SettingInForce]| {
        let of_broker =
            |value: &SettingInForce| BTreeMap::from([("num.io.threads".to_owned(), value.clone())]);
        (1..).map(Subject::Broker).zip(values.iter().map(of_broker)).collect()
    };
    let starts = [with_brokers(&run.outcomes[0], reported(a)), with_brokers(&run.outcomes[1], reported(b))];
    let of_plan = compared(&mut plan).clone();
    settings(&plan, &of_plan, &starts)
}

#[test]
fn other_defaults_of_another_version_are_expected_set_ones_not() {
    use SettingOrigin::{Default, Dynamic, Static, Unknown};
    let eight = |of| SettingInForce::new(of, "8");
    let four = |of| SettingInForce::new(of, "4");
    let severities = |versions, a, b| {
        let found = of_targets(versions, &[a], &[b]);
        assert_eq!(found.conclusions.len(), 1);
        found.caveats.iter().map(|of| of.severity).collect::<Vec<_>>()
    };
    let (apart, alike) = (["3.7.2", "4.1.1"], ["4.1.1", "4.1.1"]);
    assert_eq!(severities(apart, eight(Default), four(Default)), []);
    assert_eq!(severities(apart, eight(Unknown), four(Default)), []);
    for set in [eight(Static), eight(Dynamic)] {
        assert_eq!(severities(apart, set.clone(), four(Default)), [Severity::Warning]);
        assert_eq!(severities(alike, set, four(Default)), [Severity::Invalid]);
    }
    assert_eq!(severities(apart, eight(Default), four(Dynamic)), [Severity::Warning]);
    // An equal value is none, wherever it was set.
    assert_eq!(of_targets(apart, &[eight(Static)], &[eight(Default)]), Judgement::default());
}

#[test]
fn brokers_of_one_cluster_should_agree() {
    let of = |value: &str| SettingInForce::new(SettingOrigin::Default, value);
    let found = of_targets(["4.1.1"; 2], &[of("8")], &[of("8"), of("4"), of("2")]);
    assert_eq!(found.conclusions, []);
    let first = "num.io.threads is 8 on broker-1 and 4 on broker-2 of b".to_owned();
    let differ = Caveat::BrokersDiffer { side: "B".into(), settings: 1, first };
    let caveats: Vec<_> = found.caveats.iter().map(|of| (of.severity, &of.caveat)).collect();
    assert_eq!(caveats, [(Severity::Warning, &differ)]);
}

/// What is said of three clusters of each side, on which `num.io.threads` is so.
fn of_several(a: [&str; 3], b: [&str; 3]) -> Judgement {
    let mut plan = alike();
    let on = |side: &str, number: usize| {
        let system = target(&format!("{side}{number}"), Some("4.1.1"));
        vec![CasePlan { system, ..plan.cases[0].clone() }]
    };
    let [(first_a, first_b), second, third] = [1, 2, 3].map(|number| (on("a", number), on("b", number)));
    plan.cases = first_a;
    let of_plan = compared(&mut plan);
    of_plan.b = first_b;
    of_plan.further = [second, third].map(|(a, b)| OnClusters { a, b }).into();
    let of_plan = of_plan.clone();
    let mut run = RunFixture::default();
    run.pairs("writers.acked_per_s", &[1.0; 3]);
    let threads = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]);
    let starts = run.outcomes.iter().zip(threads);
    let starts: Vec<TrialStart> =
        starts.map(|(outcome, threads)| start(outcome, &[("num.io.threads", threads)])).collect();
    settings(&plan, &of_plan, &starts)
}

#[test]
fn settings_of_all_clusters_are_compared() {
    let found = of_several(["8"; 3], ["8", "8", "4"]);
    assert_eq!(reported(&found), [differs("brokers of a3 and b3 num.io.threads", "8 → 4", false)]);
    let first = "num.io.threads is 8 on b1 and 4 on b3".to_owned();
    let differ = Caveat::ClustersDiffer { side: "B".into(), settings: 1, first };
    let caveats: Vec<_> = found.caveats.iter().map(|of| (of.severity, of.caveat.clone())).collect();
    assert!(matches!(caveats[0], (Severity::Invalid, Caveat::UndeclaredDifference { .. })), "{caveats:?}");
    assert_eq!(caveats[1..], [(Severity::Warning, differ)]);
    // What differs everywhere is reported once.
    let found = of_several(["8"; 3], ["4"; 3]);
    assert_eq!(reported(&found), [differs("brokers num.io.threads", "8 → 4", false)]);
    assert_eq!(found.caveats.len(), 1, "{:?}", found.caveats);
    // Alike in each pair, and not from pair to pair.
    let found = of_several(["8", "4", "8"], ["8", "4", "8"]);
    let sides = found.caveats.iter().map(|of| match &of.caveat {
        Caveat::ClustersDiffer { side, .. } => side.as_str(),
        other => panic!("{other:?}"),
    });
    let sides: Vec<&str> = sides.collect();
    assert_eq!((found.conclusions.len(), sides), (0, vec!["A", "B"]));
}

#[test]
fn an_unrequested_difference_leaves_no_verdict() {
    let mut plan = alike();
    plan.strategy = comparing(&["writers.acked_per_s"], &[8], &[]).strategy;
    let system = plan.cases[0].system.clone();
    compared(&mut plan).b[0].system = system;
    let mut run = RunFixture::default();
    run.pairs("writers.acked_per_s", &[1.2; 8]);
    let says = |b: &str| {
        let starts = [start(&run.outcomes[0], &[("x", "1")]), start(&run.outcomes[1], &[("x", b)])];
        let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
        let found = judge(&plan, &trials, &starts, &[], false);
        let says = of_kind::<Verdict>(&found.conclusions).next().expect("a verdict").says.clone();
        let ratio = found.findings.into_iter().find(|finding| finding.quantity == Quantity::RatioBToA);
        (says, ratio.expect("a ratio").is_invalid())
    };
    assert!(matches!(says("1"), (Says::Different { .. }, false)));
    let (voided, is_marked) = says("2");
    let reason = "x of brokers is 1 on side A and 2 on side B, which was not requested";
    assert_eq!((voided, is_marked), (Says::Invalid { reason: reason.into() }, true));
}

/// How records are sent, as Kafka's defaults have it.
pub fn producing() -> ProducePlan {
    clients::produce(Rate::Max { fill: kdyno_model::plan::Fill::Buffer })
}

#[test]
fn client_settings_have_kafkas_names() {
    let produce = producing();
    let item = |produce: &ProducePlan| LoadPlan {
        more_topics: Vec::new(),
        shared_topics: false,
        topic: "t".into(),
        clients: 1,
        zone: None,
        span: Default::default(),
        driver: Default::default(),
        role: Role::Produce(produce.clone()),
    };
    let mut plan = alike();
    plan.cases[0].load.insert("writers".into(), item(&produce));
    let mut other = produce;
    other.client.defaults = "4.3".into();
    other.client.linger_ns = 5_000_000;
    other.client.compression = Compression::Lz4;
    other.client.enable_idempotence = true;
    other.records.key = Some(KeyPlan::Numbered { law: KeyLaw::Uniform, of: 1000, bytes: 8 });
    other.value_bytes = 200;
    other.synchronous = true;
    other.transactions = Some(TransactionsPlan { every_ns: 100_000_000, records: None, abort_share: 0.07 });
    compared(&mut plan).b[0].load.insert("writers".into(), item(&other));
    let found = differences(&mut plan, &[], &[]);
    assert_eq!(
        reported(&found),
        [
            differs("writers compression.lz4.level", "- → 9", true),
            differs("writers compression.type", "none → lz4", true),
            differs("writers enable.idempotence", "false → true", true),
            differs("writers keys", "none → 1,000 of 8 B, uniform", true),
            differs("writers linger.ms", "0 → 5", true),
            differs("writers sending", "async → sync", true),
            differs(
                "writers transactions",
                "none → every 100 ms, 7.00 % aborted, transaction.timeout.ms 60000",
                true
            ),
            differs("writers values", "100 B → 200 B", true)
        ]
    );
}
