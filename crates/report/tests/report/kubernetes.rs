//! What ran locally as resources of Kubernetes.

use crate::fixture::{RunFixture, run};
use kdyno_model::event::Subject;
use kdyno_model::plan::*;
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce};
use kdyno_model::trial::TrialId;
use kdyno_report::kubernetes::{NOT_RUN, document};

fn text(run: &RunFixture) -> String {
    document(&run.input(), TrialId(1)).expect("a translation")
}

fn cluster(run: &mut RunFixture) -> &mut ClusterPlan {
    match &mut run.trials[0].trial.effective.system {
        SystemPlan::Local(cluster) => cluster,
        other => panic!("the fixture's cluster is local: {other:?}"),
    }
}

fn in_force(settings: &[(&str, SettingOrigin, &str)]) -> SettingsInForce {
    let one = |(name, origin, value): &(&str, SettingOrigin, &str)| {
        ((*name).to_owned(), SettingInForce::new(*origin, *value))
    };
    settings.iter().map(one).collect()
}

#[test]
fn a_cluster_of_a_run_as_resources() {
    let mut run = run();
    let start = &mut run.trials[0];
    start.cluster.insert("settings_added".to_owned(), "log.retention.bytes=1000 auto.x=1".to_owned());
    let broker = in_force(&[
        ("log.dirs", SettingOrigin::Static, "/tmp/kdyno/logs"),
        ("log.retention.bytes", SettingOrigin::Static, "1000"),
        ("num.io.threads", SettingOrigin::Dynamic, "16"),
        ("num.network.threads", SettingOrigin::Default, "3"),
        ("num.replica.fetchers", SettingOrigin::Static, "3"),
        ("ssl.keystore.password", SettingOrigin::Static, "hunter2"),
        ("zookeeper.connect", SettingOrigin::Static, "127.0.0.1:2181"),
    ]);
    let other = in_force(&[("num.io.threads", SettingOrigin::Dynamic, "8")]);
    let topic = in_force(&[
        ("min.insync.replicas", SettingOrigin::Topic, "2"),
        ("partitions", SettingOrigin::Topic, "6"),
        ("retention.ms", SettingOrigin::Static, "1"),
    ]);
    start.settings = [
        (Subject::Broker(0), broker),
        (Subject::Broker(1), other),
        (Subject::Topic("perf".to_owned()), topic),
    ]
    .into();
    let text = text(&run);
    assert!(text.starts_with(NOT_RUN), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("/tmp"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn security_zones_drives_and_java_options_are_kept_or_reported() {
    let mut run = run();
    let link =
        LinkPlan { delay_ns: 500_000, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
    let cluster = cluster(&mut run);
    (cluster.mode, cluster.brokers) = (Mode::KraftCombined, 5);
    cluster.storage = Storage::Dirs(vec!["/mnt/a".into(), "/mnt/b".into()]);
    cluster.jvm_options =
        ["-XX:+UseZGC", "-XX:MaxDirectMemorySize=1g", "-XX:HeapDumpPath=/opt/x", "-Dtoken=hunter2"]
            .map(str::to_owned)
            .to_vec();
    cluster.zones = Some(ZonesPlan {
        brokers: vec!["a".to_owned(), "b".to_owned()],
        clients: Vec::new(),
        link,
        between_brokers: false,
    });
    cluster.listeners = Listeners {
        clients: ClientListener {
            protocol: Protocol::SaslSsl,
            mechanism: Some(Mechanism::ScramSha512),
            tls: TlsVersion::ALL.to_vec(),
            client_certificates: false,
        },
        internal: Protocol::Ssl,
        authorizer: true,
    };
    let text = text(&run);
    assert!(!text.contains("hunter2") && !text.contains("/mnt") && !text.contains("/home"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn each_topic_has_a_name_that_kubernetes_takes_and_its_own() {
    let mut run = run();
    let topics = &mut run.trials[0].trial.effective.topics;
    let plan = topics["perf"].clone();
    topics.insert("Orders_EU".to_owned(), plan.clone());
    topics.insert("orders-eu".to_owned(), plan);
    let text = text(&run);
    for reported in [
        "  name: orders-eu\n",
        "  topicName: \"Orders_EU\"\n",
        "  name: orders-eu-2\n",
        "  topicName: \"orders-eu\"\n",
        "  name: perf\n",
    ] {
        assert!(text.contains(reported), "{reported}: {text}");
    }
}

#[test]
fn a_run_on_another_cluster_is_refused_with_its_reason() {
    let mut run = run();
    let refused =
        |run: &RunFixture, trial| document(&run.input(), TrialId(trial)).expect_err("refused").message;
    assert_eq!(refused(&run, 9), "there is no trial 9: 4 were started");
    run.trials[0].trial.effective.system = SystemPlan::NullBroker(NullBrokerPlan::default());
    assert_eq!(refused(&run, 1), "trial 1 ran on a null broker, which is no Kafka");
}

#[test]
fn words_from_outside_stay_in_their_comments_and_quotes() {
    let mut run = run();
    run.header.plan.scenario = "evil\nkind: Secret".to_owned();
    run.trials[0].trial.label = "x\nkind: Secret".to_owned();
    cluster(&mut run).config.insert("a\": 1\nkind: Secret".to_owned(), "b\nkind: Secret".to_owned());
    let text = text(&run);
    assert!(!text.lines().any(|line| line.starts_with("kind: Secret")), "{text}");
}
