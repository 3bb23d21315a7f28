//! What clients, topics and Java reported on both sides, and why it differs.

use crate::fixture::{RunFixture, comparing, settings as compared};
use crate::settings::producing;
use kdyno_analysis::comparison::settings;
use kdyno_model::caveat::Severity;
use kdyno_model::conclusion::{Conclusion, WhyDiffers};
use kdyno_model::event::Subject;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{LoadPlan, Plan, Role, SystemPlan, TopicPlan};
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce, TrialStart};
use std::collections::BTreeMap;

type ReportedSettings<'a> = &'a [(Subject, &'a str, SettingOrigin, &'a str)];

fn start(outcome: &TrialOutcome, reported: ReportedSettings<'_>, java: &str, flags: &str) -> TrialStart {
    let mut settings: BTreeMap<Subject, SettingsInForce> = BTreeMap::new();
    for (subject, name, origin, value) in reported {
        let of = settings.entry(subject.clone()).or_default();
        of.insert((*name).to_owned(), SettingInForce::new(*origin, *value));
    }
    let line = format!("/j/bin/java {flags} -cp /libs kafka.Kafka");
    let line = line.split_whitespace().map(str::to_owned).collect();
    TrialStart {
        trial: outcome.trial.clone(),
        session: 1,
        t0_unix_ns: 0,
        t0_monotonic_ns: 0,
        streams: Vec::new(),
        cluster: BTreeMap::from([("java".to_owned(), java.to_owned())]),
        command_lines: BTreeMap::from([(Subject::Broker(0), line)]),
        settings,
    }
}

/// What is said of sides that reported this, with this Java and these options.
fn judged(
    plan: &mut Plan,
    reported: [ReportedSettings<'_>; 2],
    java: [&str; 2],
    flags: [&str; 2],
) -> Judgement {
    let mut run = RunFixture::default();
    run.pairs("writers.acked_per_s", &[1.0]);
    let starts = [0, 1].map(|side| start(&run.outcomes[side], reported[side], java[side], flags[side]));
    let of_plan = compared(plan).clone();
    settings(plan, &of_plan, &starts)
}

fn said(found: &Judgement) -> Vec<(String, WhyDiffers)> {
    let reported = found.conclusions.iter().map(|one| {
        let Conclusion::SettingDiffers(of) = one else { panic!("{one:?}") };
        (format!("{} {}", of.whose, of.setting), of.why.expect("why"))
    });
    reported.collect()
}

fn is(what: &str, why: WhyDiffers) -> (String, WhyDiffers) {
    (what.to_owned(), why)
}

/// Both sides run the same Kafka, and write to a topic.
fn alike() -> Plan {
    let mut plan = comparing(&[], &[8], &[]);
    let topic = TopicPlan { partitions: 1, replicas: 1, config: BTreeMap::new() };
    plan.cases[0].topics.insert("perf".into(), topic);
    let item = LoadPlan {
        more_topics: Vec::new(),
        shared_topics: false,
        topic: "perf".into(),
        clients: 1,
        zone: None,
        span: Default::default(),
        driver: Default::default(),
        role: Role::Produce(producing()),
    };
    plan.cases[0].load.insert("writers".into(), item);
    let case = plan.cases[0].clone();
    compared(&mut plan).b[0] = case;
    plan
}

const JAVA: [&str; 2] = ["17.0.9"; 2];
const FLAGS: [&str; 2] = ["-Xmx1g"; 2];

#[test]
fn clients_differ_as_given_or_by_the_default_of_another_version() {
    use SettingOrigin::{Client, Default, Derived};
    let of = |name, origin, value| (Subject::Item("writers".to_owned()), name, origin, value);
    let a = [of("acks", Client, "1"), of("linger.ms", Default, "0"), of("x", Derived, "1")];
    let b = [of("acks", Default, "all"), of("linger.ms", Default, "5"), of("x", Derived, "2")];
    let found = judged(&mut alike(), [&a, &b], JAVA, FLAGS);
    assert_eq!(
        said(&found),
        [
            is("writers acks", WhyDiffers::Asked),
            is("writers linger.ms", WhyDiffers::OtherDefault),
            is("writers x", WhyDiffers::ComesWith)
        ]
    );
    // The only caveat is that brokers' settings were not reported.
    assert_eq!(found.caveats.len(), 1, "{:?}", found.caveats);
}

#[test]
fn topic_settings_differ_as_requested_or_not_with_their_source() {
    use SettingOrigin::{Default, Static, Topic};
    let of = |name, origin, value| (Subject::Topic("perf".to_owned()), name, origin, value);
    let a = [
        of("max.message.bytes", Topic, "1"),
        of("partitions", Topic, "1"),
        of("retention.ms", Static, "1"),
        of("segment.bytes", Topic, "1"),
    ];
    let b = [
        of("max.message.bytes", Default, "2"),
        of("partitions", Topic, "6"),
        of("retention.ms", Default, "2"),
        of("segment.bytes", Topic, "2"),
    ];
    let mut plan = alike();
    compared(&mut plan).b[0].topics.get_mut("perf").expect("a topic").partitions = 6;
    compared(&mut plan).may_differ.push("topics.perf.config.segment.bytes".into());
    let found = judged(&mut plan, [&a, &b], JAVA, FLAGS);
    assert_eq!(
        said(&found),
        [
            is("topic perf max.message.bytes", WhyDiffers::NotAsked),
            is("topic perf partitions", WhyDiffers::Asked),
            is("topic perf segment.bytes", WhyDiffers::Asked)
        ]
    );
    assert!(found.caveats.iter().all(|of| of.severity == Severity::Warning), "{:?}", found.caveats);
    // By default where another version runs on one side.
    let mut plan = alike();
    let other = comparing(&[], &[8], &[]).strategy;
    let other = other.as_compare().expect("a comparison").b[0].system.clone();
    compared(&mut plan).b[0].system = other;
    let (a, b) = ([of("compression.type", Default, "a")], [of("compression.type", Default, "b")]);
    let found = judged(&mut plan, [&a, &b], JAVA, FLAGS);
    assert_eq!(said(&found), [is("topic perf compression.type", WhyDiffers::OtherDefault)]);
}

#[test]
fn limits_on_one_side_are_reported_as_requested() {
    let limited = "each client may produce 1 MiB/s at each broker";
    for (fact, value, setting) in
        [("cpu_limit", "1.5 CPUs", "brokers CPU limit"), ("quotas", limited, "brokers quotas of clients")]
    {
        let mut plan = alike();
        let mut run = RunFixture::default();
        run.pairs("writers.acked_per_s", &[1.0]);
        let mut starts = [0, 1].map(|side| start(&run.outcomes[side], &[], JAVA[side], FLAGS[side]));
        for (start, limit) in starts.iter_mut().zip(["none", value]) {
            start.cluster.insert(fact.to_owned(), limit.to_owned());
        }
        let of_plan = compared(&mut plan).clone();
        let found = settings(&plan, &of_plan, &starts);
        assert_eq!(said(&found), [is(setting, WhyDiffers::Asked)]);
        // A file of an earlier version has it on no side, and what is known of one side alone is not compared.
        starts[0].cluster.remove(fact);
        assert!(said(&settings(&plan, &of_plan, &starts)).is_empty());
    }
}

#[test]
fn another_java_is_reported_and_requested_only_by_its_options() {
    let why = |plan: &mut Plan| said(&judged(plan, [&[], &[]], ["17.0.9", "21.0.1"], ["-Xmx1g", "-Xmx2g"]));
    assert_eq!(
        why(&mut alike()),
        [is("brokers JVM options", WhyDiffers::NotAsked), is("brokers Java version", WhyDiffers::NotAsked)]
    );
    let mut plan = alike();
    let SystemPlan::Local(cluster) = &mut compared(&mut plan).b[0].system else { panic!("a local one") };
    cluster.heap_bytes *= 2;
    assert_eq!(
        why(&mut plan),
        [is("brokers JVM options", WhyDiffers::Asked), is("brokers Java version", WhyDiffers::NotAsked)]
    );
    assert_eq!(said(&judged(&mut alike(), [&[], &[]], JAVA, FLAGS)), []);
}
