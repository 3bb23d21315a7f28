//! The load of a run from pods of a real Kubernetes cluster of two nodes, which `make test-kubernetes` starts and ends.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod lab;
mod strimzi;

use common::served_broker::ServedBroker;
use common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, one_line, ran, turns};
use kdyno_kafka_server::null_broker::{FetchAnswer, NullBrokerOptions};
use kdyno_model::evidence::TrialEvidence;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::any::Any;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {dur: 3s, rate: 500/s}
topics:
  perf: {partitions: 2, replicas: 1}
load:
  writers: {produce: perf, clients: 4, rate: $rate, value: 100B}
phases: {warmup: 1s, measure: $dur, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

/// What `make test-kubernetes` says of the cluster.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make test-kubernetes`"))
}

/// A broker that pods reach.
fn broker() -> ServedBroker {
    let listener = TcpListener::bind((variable("KDYNO_TEST_HOST"), 0)).expect("a port that pods reach");
    ServedBroker::start(listener, NullBrokerOptions { partitions: 2, fetch: FetchAnswer::Empty })
}

/// A namespace of this test's own, whose user has the rights that `kdyno kubernetes role` prints and no others.
struct Namespace<'a> {
    place: &'a TestFolder,
    name: String,
    user: PathBuf,
    /// What becomes of a trial that loses a pod.
    lost_workers: &'static str,
    _turn: Box<dyn Any + Sync>,
}

impl<'a> Namespace<'a> {
    fn new(place: &'a TestFolder) -> Self {
        Self::in_turn(place, Box::new(turns::beside_any()))
    }

    /// While no other test uses the cluster.
    fn alone(place: &'a TestFolder) -> Self {
        Self::in_turn(place, Box::new(turns::alone()))
    }

    fn in_turn(place: &'a TestFolder, turn: Box<dyn Any + Sync>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        kubectl(&["create", "namespace", &name]);
        let config = std::fs::read_to_string(variable("KUBECONFIG")).expect("a kubeconfig");
        let user = place
            .file("kubeconfig", &config.replace("user: {token: admin}", "user: {token: admin, as: kdyno}"));
        let role = place.kdyno(&["kubernetes", "role", "--namespace", &name]);
        assert_eq!(role.code, Some(0), "{role:?}");
        let role = place.file("role.json", &role.stdout);
        {
            // The role for nodes is of the whole cluster: two tests at once would both make it.
            static ROLE: Mutex<()> = Mutex::new(());
            let _turn = ROLE.lock().unwrap_or_else(PoisonError::into_inner);
            kubectl(&["apply", "-f", role.to_str().expect("plain path")]);
        }
        kubectl(&["create", "rolebinding", "kdyno", "--role=kdyno", "--user=kdyno", "-n", &name]);
        // Pods cannot be made before it is there.
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end
            && kubectl(&["get", "serviceaccounts", "-o", "name", "-n", &name]).is_empty()
        {
            std::thread::sleep(Duration::from_millis(100));
        }
        Self { place, name, user, lost_workers: "end", _turn: turn }
    }

    /// The file of generators with two pods and what is added.
    fn generators(&self, more: &str) -> String {
        let image = variable("KDYNO_TEST_IMAGE");
        let text = format!(
            "kubernetes: {{namespace: {}, image: '{image}', pods: 2, cpu: 0.1, memory: 256MiB{more}}}\nlost_workers: {}\n",
            self.name, self.lost_workers
        );
        self.place.file("generators.yaml", &text).to_str().expect("plain path").to_owned()
    }

    fn run(&self, broker: &str, more: &str, set: &[&str]) -> Running<'a> {
        self.start(SCENARIO, broker, more, &["--share"], set)
    }

    fn run_of(&self, scenario: &str, broker: &str, more: &str, set: &[&str]) -> Running<'a> {
        self.start(scenario, broker, more, &["--share"], set)
    }

    fn start(&self, scenario: &str, broker: &str, more: &str, how: &[&str], set: &[&str]) -> Running<'a> {
        let scenario = self.place.file("small.yaml", scenario);
        let target = self.place.file(
            "target.yaml",
            &format!(
                "kdyno: 1\ntarget: null\ncluster_id: kdyno-null-broker\nclient: {{bootstrap: [\"{broker}\"]}}\n\
                 guard: {{prefix: kdyno-, caps: {{produce: 1MiB/s}}, allow: [commands]}}\n"
            ),
        );
        let generators = self.generators(more);
        let path = |path: &PathBuf| path.to_str().expect("plain path").to_owned();
        let (scenario, target) = (path(&scenario), path(&target));
        let args = ["run", &scenario, "--target", &target, "--generators", &generators];
        let mut command = self.place.command(&[&args[..], how, set].concat());
        command.env("KUBECONFIG", &self.user);
        self.place.start(command)
    }

    /// What is there of ours.
    fn objects(&self) -> String {
        kubectl(&["get", "jobs,secrets,pods", "-o", "name", "-n", &self.name])
    }

    fn expect_nothing(&self) {
        assert_eq!(self.objects(), "", "left in {}", self.name);
    }

    fn expect_nothing_soon(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.objects().is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
        }
        self.expect_nothing();
    }

    /// What is known of the second pod, by a path of its fields.
    fn second_pod(&self, field: &str) -> String {
        let second = "--selector=batch.kubernetes.io/job-completion-index=1";
        let output = format!("jsonpath={{.items[0].{field}}}");
        kubectl(&["get", "pods", second, "-o", &output, "-n", &self.name])
    }
}

/// As the administrator of the cluster; what it prints.
fn kubectl(args: &[&str]) -> String {
    let output = Command::new("kubectl").args(args).output().expect("kubectl");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn evidence(place: &TestFolder) -> TrialEvidence {
    evidence_of(&place.run_file())
}

fn evidence_of(run_file: &Path) -> TrialEvidence {
    let file = RunFile::open(run_file).expect("the run file");
    let trials = file.trials().expect("its trials");
    assert_eq!(trials.len(), 1);
    file.evidence(trials[0].trial.id).expect("its evidence")
}

#[test]
fn pods_on_two_nodes_share_a_load_and_its_counts_add_up() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let said = namespace.run(&broker.address, "", &[]).wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("the load runs on pod-0, pod-1"), "{said:?}");
    let evidence = evidence(&place);
    let counts = |worker: u16| {
        let own = evidence.totals.iter().find(|totals| totals.id.worker == worker);
        own.expect("totals of each worker").counts.clone()
    };
    let both = [counts(0), counts(1)];
    for counts in &both {
        assert!(counts.offered > 500 && counts.acknowledged == counts.offered, "{counts:?}");
    }
    let facts = &evidence.start.cluster;
    let node = |pod: &str| facts[&format!("generator.{pod}.node")].clone();
    let mut nodes = [node("pod-0"), node("pod-1")];
    nodes.sort();
    assert_eq!(nodes, ["n1", "n2"], "{facts:?}");
    assert_eq!(facts["generator.pod-1.cpus_reserved"], "0.1");
    assert_eq!(facts["generator.pod-1.memory_limit_bytes"], (256_u32 << 20).to_string());
    let details = place.details();
    assert!(details.contains("pod-1") && details.contains("memory limit"), "{details}");
    let acknowledged: u64 = both.iter().map(|counts| counts.acknowledged).sum();
    assert_eq!(broker.stop().records, acknowledged);
    namespace.expect_nothing();
    place.expect_no_processes();
}

#[test]
fn why_pods_do_not_run_is_said_in_the_words_of_the_scheduler() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let failed = |more: &str| -> ProgramOutput {
        let said = namespace.run(&broker.address, more, &[]).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(1), "{said:?}");
        namespace.expect_nothing();
        said
    };
    let said = one_line(&failed(", node_selector: {pool: clients}, wait: 3s").stderr);
    assert!(
        said.contains("waiting for pods: 0 of 2 run, pod 0: it has no node: 0/2 nodes are available"),
        "{said}"
    );
    assert!(said.contains("not all pods ran within 3 s"), "{said}");
    let said = one_line(&failed(", secrets: [{secret: cluster-ca, at: /certs}], wait: 6s").stderr);
    assert!(said.contains("secret \"cluster-ca\" not found"), "{said}");
    let said = one_line(&failed(", context: nowhere").stderr);
    assert!(said.contains("kubeconfig is of no use") && said.contains("nowhere"), "{said}");
    assert!(!place.path().join("kdyno-runs").exists(), "no run began");
    broker.stop();
}

#[test]
fn pods_that_never_fit_are_refused_before_anything_is_made() {
    let place = TestFolder::new();
    let broker = broker();
    let mut namespace = Namespace::new(&place);
    // Listing nodes is a right of the whole cluster.
    namespace.user = variable("KUBECONFIG").into();
    let said = namespace.run(&broker.address, ", node_selector: {pool: clients}", &[]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("do not fit: none of the 2 nodes may run them"), "{words}");
    let many = tools(10, "").replace("count: 2, cpu: 0.1", "count: 100, cpu: 2");
    let said = namespace.run_of(&many, &broker.address, "", &[]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("100 pods with 2 CPUs and 256 MiB each do not fit"), "{words}");
    namespace.expect_nothing();
    broker.stop();
}

/// A scenario whose load is a producer tool in each of two pods. No image with Kafka's own tools is to be had here, so the tool is
/// kdyno's drop-in for `kafka-producer-perf-test`, which prints the same lines.
fn tools(records: u32, more: &str) -> String {
    let image = variable("KDYNO_TEST_IMAGE");
    format!(
        "kdyno: 1\nid: tools\nquestion: Does it work?\ntopics:\n  perf: {{partitions: 2, replicas: 1}}\nload:\n  tool:\n    command: \
         [/kdyno, producer-perf-test, --bootstrap-server, $$(KDYNO_BOOTSTRAP_SERVERS), --topic, $$(KDYNO_TOPIC_perf), \
         --num-records, {records}, --record-size, 100, --throughput, 500{more}]\n    parse: perf-test\n    \
         pods: {{image: '{image}', count: 2, cpu: 0.1, memory: 256MiB}}\n\
         phases: {{warmup: 0s, measure: {{until: tool, within: 90s}}}}\n"
    )
}

#[test]
fn a_tool_in_pods_is_read_from_their_logs_and_added() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let said = namespace.run_of(&tools(5000, ""), &broker.address, "", &[]).wait(RUN_DEADLINE);
    ran(&said);
    let evidence = evidence(&place);
    let last = |series: &str| {
        let own = evidence.probes.iter().filter(|one| one.series == series);
        own.max_by_key(|one| one.at_ns).map(|one| one.value).unwrap_or_else(|| panic!("{series}: {said:?}"))
    };
    assert_eq!(last("command_requests_total"), 10_000.0);
    assert_eq!(last("command_exit_code"), 0.0);
    let per_s = last("command_requests_per_s");
    assert!((500.0..1_100.0).contains(&per_s), "two of 500/s: {per_s}");
    let overlap = last("command_overlap");
    assert!((0.1..=1.0).contains(&overlap), "{overlap}");
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn a_tool_that_fails_in_a_pod_is_a_command_that_failed() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let said =
        namespace.run_of(&tools(10, ", --no-such-option"), &broker.address, "", &[]).wait(RUN_DEADLINE);
    let words = one_line(&said.stderr);
    assert!(words.contains("tool: it ended with exit code 1") && words.contains("pod "), "{said:?}");
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn an_interrupted_run_leaves_no_tool_in_the_cluster() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.run_of(&tools(40_000, ""), &broker.address, "", &[]);
    running.wait_for("· measure");
    let end = Instant::now() + Duration::from_secs(20);
    // The job of the agents is another one.
    while namespace.objects().matches("job.batch/").count() < 2 {
        assert!(Instant::now() < end, "{}", namespace.objects());
        std::thread::sleep(Duration::from_millis(100));
    }
    running.signal(Signal::INT);
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn missing_rights_are_named() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let role = std::fs::read_to_string(place.path().join("role.json")).expect("the role");
    let role: serde_json::Value = serde_json::from_str(&role).expect("JSON");
    for (resource, verb) in [("secrets", "create"), ("jobs", "create"), ("pods", "list")] {
        let mut less = role.clone();
        for rule in less["items"][0]["rules"].as_array_mut().expect("rules") {
            if rule["resources"][0] == resource {
                rule["verbs"].as_array_mut().expect("verbs").retain(|one| one != verb);
            }
        }
        let less = place.file("less.json", &less.to_string());
        kubectl(&["apply", "-f", less.to_str().expect("plain path")]);
        let said = namespace.run(&broker.address, "", &[]).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(1), "{said:?}");
        let words = one_line(&said.stderr);
        assert!(words.contains(&format!("cannot {verb} resource \"{resource}\"")), "{words}");
        assert!(words.contains("kdyno kubernetes role"), "{words}");
        namespace.expect_nothing();
    }
    broker.stop();
}

#[test]
fn an_interrupted_run_leaves_nothing_in_the_cluster() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=60s"]);
    running.wait_for("· measure");
    assert!(namespace.objects().contains("secret/kdyno-"), "{}", namespace.objects());
    running.signal(Signal::INT);
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
    namespace.expect_nothing();
    broker.stop();
}

/// Also where nobody is left to delete them.
#[test]
fn pods_of_a_killed_lab_end_by_themselves() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.run(&broker.address, "", &["--set", "dur=120s"]);
    running.wait_for("· measure");
    running.signal(Signal::KILL);
    running.wait(RUN_DEADLINE);
    let end = Instant::now() + Duration::from_secs(60);
    let running_pods = || {
        kubectl(&[
            "get",
            "pods",
            "-o",
            "name",
            "--field-selector=status.phase=Running",
            "-n",
            &namespace.name,
        ])
    };
    while !running_pods().is_empty() {
        assert!(Instant::now() < end, "still there: {}", running_pods());
        std::thread::sleep(Duration::from_millis(500));
    }
    let file = place.path().join("generators.yaml");
    let clean = |more: &[&str]| {
        let args = [&["kubernetes", "clean", file.to_str().expect("plain path")], more].concat();
        let mut command = place.command(&args);
        command.env("KUBECONFIG", &namespace.user);
        place.start(command).wait(RUN_DEADLINE)
    };
    let listed = clean(&[]);
    assert!(listed.stdout.starts_with("job kdyno-") && listed.stderr.contains("--yes"), "{listed:?}");
    let cleaned = clean(&["--yes"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    namespace.expect_nothing_soon();
    broker.stop();
}
