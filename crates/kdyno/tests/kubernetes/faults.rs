//! What goes wrong with pods, with nodes and with the API server while the load runs.

use crate::common::{RUN_DEADLINE, TestFolder, one_line, ran};
use crate::{Namespace, SCENARIO, broker, evidence, evidence_of, kubectl, variable};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::evidence::TrialEvidence;
use kdyno_store::RunFile;
use std::process::Command;
use std::time::{Duration, Instant};

/// Does something to the cluster itself.
fn cluster(args: &[&str]) {
    let output = Command::new(variable("KDYNO_TEST_CLUSTER")).args(args).output().expect("the script");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A part of the cluster that is killed; it is started again when dropped, also by a test that fails.
struct Killed {
    part: &'static str,
    is_started: bool,
}

impl Killed {
    fn kill(part: &'static str) -> Self {
        cluster(&["kill", part]);
        Self { part, is_started: false }
    }

    fn start(mut self) {
        self.is_started = true;
        cluster(&["start", self.part]);
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        if !self.is_started {
            // The test has failed already: a panic here would end all of them.
            let _ = Command::new(variable("KDYNO_TEST_CLUSTER")).args(["start", self.part]).output();
        }
    }
}

/// Records acknowledged, which are all that both workers have offered.
fn acknowledged_by_both(evidence: &TrialEvidence) -> u64 {
    assert_eq!(evidence.totals.len(), 2, "{:?}", evidence.totals);
    let of_one = |counts: &kdyno_model::sample::Counts| {
        assert!(counts.offered > 500 && counts.acknowledged == counts.offered, "{counts:?}");
        counts.acknowledged
    };
    evidence.totals.iter().map(|totals| of_one(&totals.counts)).sum()
}

/// How the only trial was cut short, if it was.
fn cut_short(place: &TestFolder) -> Option<Severity> {
    let judgement = RunFile::open(&place.run_file()).and_then(|file| file.judgement()).expect("findings");
    let mut caveats = judgement.caveats.iter();
    caveats.find(|found| matches!(found.caveat, Caveat::CutShort { .. })).map(|found| found.severity)
}

/// Has the API evict the second pod, as `kubectl drain` does.
fn evict_second_pod(place: &TestFolder, namespace: &Namespace<'_>) {
    let pod = namespace.second_pod("metadata.name");
    let eviction = serde_json::json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace.name},
    });
    let file = place.file("eviction.json", &eviction.to_string());
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", namespace.name);
    kubectl(&["create", "--raw", &path, "-f", file.to_str().expect("plain path")]);
}

#[test]
fn a_pod_that_is_evicted_ends_its_trial_and_its_cause_is_said() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=60s"]);
    running.wait_for("· measure");
    evict_second_pod(&place, &namespace);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("worker 1 ended (generator pod-1: on node n"), "{words}");
    assert!(words.contains("it was deleted (Eviction API: evicting)"), "{words}");
    assert_eq!(cut_short(&place), Some(Severity::Invalid));
    namespace.expect_nothing();
    broker.stop();
}

/// The job neither replaces the pod nor ends the other one.
#[test]
fn a_load_without_an_evicted_pod_goes_on_where_it_is_to() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace { lost_workers: "report", ..Namespace::new(&place) };
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=12s"]);
    running.wait_for("· measure");
    std::thread::sleep(Duration::from_secs(3));
    evict_second_pod(&place, &namespace);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    let words = one_line(&said.stderr);
    assert!(words.contains("it was deleted (Eviction API: evicting)"), "{words}");
    assert!(words.contains("the load goes on without it"), "{words}");
    assert_eq!(cut_short(&place), Some(Severity::Warning));
    let ended: Vec<_> = evidence(&place).totals.iter().map(|totals| totals.id.worker).collect();
    assert_eq!(ended, [0]);
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn a_pod_without_memory_ends_its_trial_and_its_cause_is_said() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=60s"]);
    running.wait_for("· measure");
    cluster(&["fill", &namespace.second_pod("metadata.uid")]);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    // The kernel ends one process of the pod after the other; the lab hears of the worker, or of all at once.
    let words = one_line(&said.stderr);
    let causes = ["for lack of memory on generator pod-1", "it used more than its `memory` and was killed"];
    assert!(causes.iter().any(|cause| words.contains(cause)), "{words}");
    assert_eq!(cut_short(&place), Some(Severity::Invalid));
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn two_runs_in_one_namespace_do_not_meet() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut first = namespace.run(&broker.address, "", &["--set", "dur=10s"]);
    // It has read the files that the next one writes again.
    first.wait_for("pod-0");
    // Two run files of one second would have one name.
    let apart = ["--share", "--out", "second"];
    let second = namespace.start(SCENARIO, &broker.address, "", &apart, &["--set", "dur=10s"]);
    ran(&first.wait(RUN_DEADLINE));
    ran(&second.wait(RUN_DEADLINE));
    let folders = ["kdyno-runs", "second"].map(|folder| place.path().join(folder).read_dir().expect("runs"));
    let files = folders.into_iter().flatten().map(|entry| entry.expect("entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "kdyno"));
    let both: Vec<_> = files.map(|file| acknowledged_by_both(&evidence_of(&file))).collect();
    assert_eq!(both.len(), 2);
    assert_eq!(broker.stop().records, both.iter().sum::<u64>());
    namespace.expect_nothing();
}

#[test]
fn an_api_server_that_is_gone_for_seconds_changes_nothing() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::alone(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=15s"]);
    running.wait_for("· measure");
    Killed::kill("apiserver").start();
    ran(&running.wait(RUN_DEADLINE));
    let acknowledged = acknowledged_by_both(&evidence(&place));
    assert_eq!(cut_short(&place), None);
    assert_eq!(broker.stop().records, acknowledged);
    namespace.expect_nothing();
}

/// A node that is only cut off looks the same, and its load goes on: so it is lost no sooner than others.
#[test]
fn a_node_without_power_is_reported_and_ends_the_trial() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::alone(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=120s"]);
    running.wait_for("· measure");
    let killed = Instant::now();
    let node = Killed::kill("n2");
    running.wait_for("heard");
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    std::thread::sleep(Duration::from_secs(35).saturating_sub(killed.elapsed()));
    // Its pods are gone once it is back, whatever is asked for meanwhile.
    node.start();
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("has not been heard of for 5 s"), "{words}");
    assert!(words.contains("could not be reached again within 30 s"), "{words}");
    assert_eq!(cut_short(&place), Some(Severity::Invalid));
    namespace.expect_nothing_soon();
    broker.stop();
}

/// What policies of the network forbid, until it is dropped.
struct Denied;

impl Denied {
    fn but(port: &str) -> Self {
        cluster(&["deny", port]);
        Self
    }
}

impl Drop for Denied {
    fn drop(&mut self) {
        let allowed = Command::new(variable("KDYNO_TEST_CLUSTER")).arg("allow").output();
        // Where the test has failed already a second panic would end all of them.
        let is_allowed = allowed.is_ok_and(|output| output.status.success());
        assert!(is_allowed || std::thread::panicking(), "policies are left");
    }
}

#[test]
fn pods_that_reach_nothing_but_the_brokers_carry_load() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::alone(&place);
    let (_, port) = broker.address.rsplit_once(':').expect("a port");
    let denied = Denied::but(port);
    ran(&namespace.run(&broker.address, "", &[]).wait(RUN_DEADLINE));
    drop(denied);
    let acknowledged = acknowledged_by_both(&evidence(&place));
    assert_eq!(broker.stop().records, acknowledged);
    namespace.expect_nothing();
}
