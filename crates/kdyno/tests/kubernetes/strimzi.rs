//! Clusters by Strimzi, against a real API server. Its operator's images and the schemas of its resources are not to be had here:
//! an operator of the test's own starts real brokers as processes, by `kdyno cluster up`, and writes status and secrets as
//! Strimzi's does; and the API server takes whatever is in a resource.

use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, one_line, ran};
use crate::{Namespace, kubectl};
use kdyno_model::properties::Properties;
use kdyno_store::RunFile;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const GROUP: &str = "kafka.strimzi.io";
const OPERATOR: &str = "0.0-test";

/// A namespace in which the user may have clusters by Strimzi, too.
fn namespace(place: &TestFolder) -> Namespace<'_> {
    // First, since it has the turn.
    let namespace = Namespace::new(place);
    let kinds = [("Kafka", "kafkas"), ("KafkaNodePool", "kafkanodepools"), ("KafkaUser", "kafkausers")];
    for (kind, plural) in kinds {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {"spec": any, "status": any}});
        let version = json!({
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        });
        let singular = kind.to_lowercase();
        let names =
            json!({"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular});
        apply(
            place,
            &json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{GROUP}")},
                "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
            }),
        );
        kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.{GROUP}"), "--timeout=30s"]);
    }
    let role = place.kdyno(&["kubernetes", "role", "--strimzi", "--namespace", &namespace.name]);
    apply(place, &serde_json::from_str(&role.stdout).expect("JSON"));
    namespace
}

fn apply(place: &TestFolder, object: &Value) {
    let file = place.file("applied.json", &object.to_string());
    kubectl(&["apply", "--server-side", "--force-conflicts", "-f", file.to_str().expect("plain path")]);
}

/// Starts a run on a cluster by Strimzi.
fn run<'a>(namespace: &Namespace<'a>, more: &str) -> Running<'a> {
    let (place, name) = (namespace.place, &namespace.name);
    let text = format!(
        "kdyno: 1\nid: small\nquestion: Does it work?\nsystem:\n  limits: {{heap: 256MiB}}\n  \
         listeners: {{clients: {{protocol: SSL, certificates: required}}}}\n  strimzi: {{namespace: {name}, wait: 3m}}\n\
         topics: {{perf: {{partitions: 2, replicas: 1}}}}\nload: {{writers: {{produce: perf, rate: 500/s, value: 100B}}}}\n\
         phases: {{warmup: 1s, condition: none, measure: 3s, drain: 5s}}\n{more}show: {{columns: [writers.acked_per_s]}}\n"
    );
    let scenario = place.file("small.yaml", &text);
    let mut command = place.command(&["run", scenario.to_str().expect("plain path"), "--share"]);
    command.env("KUBECONFIG", &namespace.user);
    place.start(command)
}

/// What is there of Strimzi's resources.
fn resources(namespace: &Namespace<'_>) -> String {
    let kinds = format!("kafkas.{GROUP},kafkanodepools.{GROUP},kafkausers.{GROUP}");
    kubectl(&["get", &kinds, "-o", "name", "-n", &namespace.name])
}

fn expect_nothing(namespace: &Namespace<'_>) {
    assert_eq!(resources(namespace), "");
    namespace.expect_nothing();
}

/// Does what Strimzi's operator would until `stop`; the names of the clusters that it saw.
fn operate(namespace: &Namespace<'_>, refusal: Option<&str>, stop: &AtomicBool) -> BTreeSet<String> {
    let (mut seen, mut running) = (BTreeSet::new(), BTreeSet::new());
    let kind = format!("kafkas.{GROUP}");
    // A run that fails its test does not set `stop`.
    let end = Instant::now() + 2 * RUN_DEADLINE;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        let found = kubectl(&["get", &kind, "-o", "json", "-n", &namespace.name]);
        let found: Value = serde_json::from_str(&found).expect("JSON");
        let found = found["items"].as_array().expect("items");
        let name = |kafka: &Value| kafka["metadata"]["name"].as_str().expect("a name").to_owned();
        for kafka in found.iter().filter(|kafka| seen.insert(name(kafka))) {
            match refusal {
                Some(reason) => write_status(namespace, &kind, &name(kafka), &condition("NotReady", reason)),
                None => {
                    start(namespace, kafka, &name(kafka));
                    running.insert(name(kafka));
                }
            }
        }
        let there: BTreeSet<String> = found.iter().map(name).collect();
        for gone in running.difference(&there) {
            down(namespace, gone);
        }
        running.retain(|name| there.contains(name));
        std::thread::sleep(Duration::from_millis(200));
    }
    running.iter().for_each(|name| down(namespace, name));
    seen
}

fn condition(kind: &str, reason: &str) -> Value {
    let one = json!({"type": kind, "status": "True", "reason": reason, "message": "the operator says so"});
    json!({"observedGeneration": 1, "conditions": [one]})
}

fn write_status(namespace: &Namespace<'_>, kind: &str, name: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    let at =
        ["patch", kind, name, "-n", &namespace.name, "--subresource=status", "--type=merge", "-p", &patch];
    kubectl(&at);
}

/// Starts a broker of the release that is asked for, which asks its clients for certificates.
fn start(namespace: &Namespace<'_>, kafka: &Value, name: &str) {
    let place = namespace.place;
    let version = kafka["spec"]["kafka"]["version"].as_str().expect("a version");
    let args = ["cluster", "up", name, "--kafka", version, "--protocol", "SSL", "--client-certificates"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    let list = place.kdyno(&["cluster", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let cluster =
        list.as_array().expect("a list").iter().find(|one| one["name"] == name).expect("the cluster");
    let file = cluster["client_properties"].as_str().expect("a path");
    let properties = Properties::parse(&std::fs::read(file).expect("a file")).expect("properties");
    let of = |key: &str| properties.get(key).unwrap_or_else(|| panic!("no {key}")).to_owned();
    let secret = |name: String, data: Value| {
        let metadata = json!({"name": name, "namespace": namespace.name});
        apply(
            place,
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}),
        );
    };
    secret(format!("{name}-cluster-ca-cert"), json!({"ca.crt": of("ssl.truststore.certificates")}));
    let (chain, key) = (of("ssl.keystore.certificate.chain"), of("ssl.keystore.key"));
    secret(name.to_owned(), json!({"user.crt": chain, "user.key": key}));
    let mut status = condition("Ready", "");
    status["listeners"] = json!([{"name": "clients", "bootstrapServers": cluster["bootstrap"][0]}]);
    status["clusterId"] = cluster["facts"]["cluster_id"].clone();
    status["kafkaVersion"] = json!(version);
    status["operatorLastSuccessfulVersion"] = json!(OPERATOR);
    write_status(namespace, &format!("kafkas.{GROUP}"), name, &status);
    // As somebody would who has this cluster already.
    let file = format!("{name}.properties");
    let at = ["--namespace", &namespace.name, "--user", name, "--out", &file];
    let mut command = place.command(&[&["kubernetes", "properties", name][..], &at].concat());
    command.env("KUBECONFIG", &namespace.user);
    ran(&place.start(command).wait(RUN_DEADLINE));
    let written = std::fs::read(place.path().join(&file)).expect("its properties");
    let written = Properties::parse(&written).expect("properties");
    for key in ["bootstrap.servers", "ssl.truststore.certificates", "ssl.keystore.key"] {
        assert_eq!(written.get(key), properties.get(key), "{key}");
    }
    write_status(namespace, &format!("kafkausers.{GROUP}"), name, &condition("Ready", ""));
}

/// Secrets and brokers go with their cluster.
fn down(namespace: &Namespace<'_>, name: &str) {
    let place = namespace.place;
    kubectl(&["delete", "secret", name, &format!("{name}-cluster-ca-cert"), "-n", &namespace.name]);
    ran(&place.start(place.command(&["cluster", "down", name])).wait(RUN_DEADLINE));
}

/// What a run says while the operator of the test's own is at work, and the clusters that it saw.
fn operated(
    namespace: &Namespace<'_>,
    refusal: Option<&str>,
    running: Running<'_>,
) -> (ProgramOutput, BTreeSet<String>) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let operator = scope.spawn(|| operate(namespace, refusal, &stop));
        let said = running.wait(RUN_DEADLINE);
        stop.store(true, Ordering::Relaxed);
        (said, operator.join().expect("the operator"))
    })
}

#[test]
fn each_trial_has_a_cluster_by_strimzi_of_its_own() {
    let place = TestFolder::new();
    let namespace = namespace(&place);
    let running = run(&namespace, "repeat: 2\nisolation: cluster\n");
    let (said, clusters) = operated(&namespace, None, running);
    ran(&said);
    assert_eq!(clusters.len(), 2, "{clusters:?}");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trials = file.trials().expect("its trials");
    let mut ids = BTreeSet::new();
    for trial in &trials {
        let evidence = file.evidence(trial.trial.id).expect("its evidence");
        let counts = &evidence.totals[0].counts;
        assert!(counts.offered > 500 && counts.acknowledged == counts.offered, "{counts:?}");
        let facts = &evidence.start.cluster;
        assert_eq!((facts["strimzi"].as_str(), facts.get("target")), (OPERATOR, None));
        ids.insert(facts["cluster_id"].clone());
    }
    assert_eq!((trials.len(), ids.len()), (2, 2));
    expect_nothing(&namespace);
    place.expect_no_processes();
}

#[test]
fn what_the_operator_says_is_printed_and_nothing_stays() {
    let place = TestFolder::new();
    let namespace = namespace(&place);
    let (said, _) = operated(&namespace, Some("InvalidResourceException"), run(&namespace, ""));
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("refuses Kafka: InvalidResourceException: the operator says so"), "{words}");
    expect_nothing(&namespace);

    // A word of "Strimzi's operator has not looked at it yet".
    let silent = "looked";
    let mut running = run(&namespace, "");
    running.wait_for(silent);
    running.signal(Signal::INT);
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
    expect_nothing(&namespace);

    let mut running = run(&namespace, "");
    running.wait_for(silent);
    running.signal(Signal::KILL);
    running.wait(RUN_DEADLINE);
    assert!(resources(&namespace).contains("kafkauser."), "{}", resources(&namespace));
    let mut clean = place.command(&["kubernetes", "clean", "--namespace", &namespace.name, "--yes"]);
    clean.env("KUBECONFIG", &namespace.user);
    let cleaned = place.start(clean).wait(RUN_DEADLINE);
    ran(&cleaned);
    assert!(cleaned.stdout.contains("Kafka kdyno-") && cleaned.stdout.contains("KafkaUser"), "{cleaned:?}");
    expect_nothing(&namespace);
}

/// Its brokers ask for certificates, as those of this operator do.
#[test]
fn the_report_runs_in_its_smallest_size() {
    let place = TestFolder::new();
    let namespace = namespace(&place);
    // As of a user whose context names a namespace.
    let config = std::fs::read_to_string(&namespace.user).expect("a kubeconfig");
    let named = format!("user: admin, namespace: {}}}", namespace.name);
    let config = place.file("kubeconfig", &config.replace("user: admin}", &named));
    let set = ["kafka=newest", "protocol=SSL", "certificates=required"].into_iter();
    let args = ["run", "ibm-resilient-kubernetes", "--profile", "smoke", "--gate", "worse", "--share"];
    let args: Vec<&str> = args.into_iter().chain(set.flat_map(|set| ["--set", set])).collect();
    let mut command = place.command(&args);
    command.env("KUBECONFIG", config);
    let (said, clusters) = operated(&namespace, None, place.start(command));
    ran(&said);
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trials = file.trials().expect("its trials");
    let evidence = file.evidence(trials[0].trial.id).expect("its evidence");
    assert!(evidence.totals.iter().any(|totals| totals.counts.acknowledged > 500), "{:?}", evidence.totals);
    expect_nothing(&namespace);
    place.expect_no_processes();
}
