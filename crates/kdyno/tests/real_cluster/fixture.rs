//! What the runs are started from and read by.
//!
//! Brokers whose speed no test judges have `jvm: QUICK_JVM` in their scenarios, and no agent (`metrics: none`) where nothing is
//! read from it: starting them is most of what these tests wait for.

pub use crate::common::ran;
use crate::common::{ProgramOutput, QUICKLY, RUN_DEADLINE, Running, TestFolder, quick_jvm};
use kdyno_kafka::admin::Admin;
use kdyno_model::conclusion::{Limit, LimitKind, of_kind};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::outcome::Judgement;
use kdyno_model::sample::StreamTotals;
use kdyno_store::RunFile;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::common::{broken_rules, is_matrix};

/// Every one of a long table, or else every sixth.
pub fn some_of<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_matrix() { 1 } else { 6 })
}

/// A small scenario: `brokers` brokers without replication and with a setting that they do not know, a constant
/// load, one reader.
pub fn scenario(brokers: u32, seconds: u32) -> String {
    format!(
        "\
kdyno: 1
id: small
question: Does it work?
params: {{brokers: {brokers}, dur: {seconds}s}}
system: {{kafka: 4.1.1, mode: kraft, brokers: $brokers, limits: {{heap: 256MiB}}, metrics: none, jvm: QUICK_JVM, config: {{num.io.thread: 4}}}}
topics:
  perf: {{partitions: = 2*brokers, replicas: 1}}
load:
  writers: {{produce: perf, clients: 1, rate: 500/s, value: 100B}}
  readers: {{consume: perf, clients: 1}}
phases: {{warmup: 1s, condition: none, measure: $dur, drain: 5s}}
show: {{rows: [brokers], columns: [writers.acked_per_s, writers.response.p99, brokers.cpu_us_per_record]}}
"
    )
}

/// Starts a run of such a scenario.
pub fn start(place: &TestFolder, brokers: u32, seconds: u32) -> Running<'_> {
    start_scenario(place, &scenario(brokers, seconds))
}

/// Starts a run of a scenario.
pub fn start_scenario<'a>(place: &'a TestFolder, text: &str) -> Running<'a> {
    let path = place.file("small.yaml", text);
    place.start(place.command(&[
        "run",
        path.to_str().expect("plain path"),
        "--share",
        "--yes",
        "--seed",
        "1",
    ]))
}

/// Starts a long run and waits until its load is under way.
pub fn start_and_measure(place: &TestFolder, brokers: u32, seconds: u32) -> Running<'_> {
    let mut running = start(place, brokers, seconds);
    running.wait_for("· measure");
    running
}

/// The value of a finding of the first case in the run's document.
pub fn figure(document: &Value, address: &str) -> f64 {
    figure_of(document, 0, address)
}

/// The value of a case's finding.
pub fn figure_of(document: &Value, case: usize, address: &str) -> f64 {
    let (subject, metric) = address.split_once('.').expect("SUBJECT.METRIC");
    let findings = document["findings"].as_array().expect("findings");
    let is_of_case =
        |finding: &&Value| finding["scope"]["kind"] == "case" && finding["scope"]["case"] == case;
    let mut of_case = findings.iter().filter(is_of_case).filter(|finding| finding["quantity"] == "value");
    let found = of_case.find(|finding| finding["subject"] == subject && finding["metric"] == metric);
    let finding = found.unwrap_or_else(|| panic!("no {address} among {} findings", findings.len()));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{address} is no number: {finding}"))
}

/// What was kept of each trial of the run.
pub fn evidences(place: &TestFolder) -> Vec<TrialEvidence> {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let starts = file.trials().expect("its trials");
    starts.iter().map(|start| file.evidence(start.trial.id).expect("evidence")).collect()
}

/// Bytes of a record batch in addition to its records (Kafka documentation, Message Format).
pub const BATCH_HEADER_BYTES: u64 = 61;

/// What was concluded of the run.
pub fn judged(place: &TestFolder) -> Judgement {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    file.judgement().expect("what was concluded")
}

/// What is named as the limit of the only load item.
pub fn named_limit(judgement: &Judgement) -> LimitKind {
    of_kind::<Limit>(&judgement.conclusions).next().expect("a limit").named
}

/// What an item's stream came to in all of a trial.
pub fn totals<'a>(evidence: &'a TrialEvidence, item: &str) -> &'a StreamTotals {
    let stream = evidence.start.streams.iter().find(|stream| stream.name == item).expect("a stream");
    evidence.totals.iter().find(|totals| totals.id == stream.id).expect("its totals")
}

/// Kinds of the run's events, in order.
pub fn event_kinds(document: &Value) -> Vec<String> {
    let events = document["events"].as_array().expect("events");
    events.iter().filter_map(|event| event["kind"].as_str().map(ToOwned::to_owned)).collect()
}

/// Kinds of the run's caveats of a severity.
pub fn caveats<'a>(document: &'a Value, severity: &str) -> Vec<&'a str> {
    let caveats = document["caveats"].as_array().expect("caveats");
    let of_weight = caveats.iter().filter(|caveat| caveat["severity"] == severity);
    of_weight.filter_map(|caveat| caveat["kind"].as_str()).collect()
}

/// What makes figures invalid, apart from load that was sent late since others use this host too.
pub fn invalid_but_for_late_load(document: &Value) -> Vec<&str> {
    let mut kinds = caveats(document, "invalid");
    kinds.retain(|kind| !["generator-late", "late-end-to-end"].contains(kind));
    kinds
}

/// The files of this name in a place.
pub fn files(place: &TestFolder, name: &str) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![place.path().to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(name) {
                found.push(path);
            }
        }
    }
    found
}

/// The line of `kdyno cluster target` that says what may be done.
pub const GUARD_OF_CLUSTER: &str =
    "guard: {prefix: kdyno-, allow: [rate-max, find], abort_if: [offline_partitions > 0 for 1m]}";

/// Starts a cluster of one broker that stays, under a name, whose speed no test judges. `system` has what comes next to its
/// heap in a scenario, such as `kafka: 4.1.1`.
pub fn stand(place: &TestFolder, name: &str, system: &str) {
    let text = format!(
        "kdyno: 1\nid: {name}\nquestion: Does it work?\nsystem: {{limits: {{heap: 256MiB}}, jvm: QUICK_JVM, {system}}}\n\
         topics: {{any: {{partitions: 1}}}}\nload: {{any: {{produce: any, rate: 1/s, value: 1B}}}}\nphases: {{measure: 1s}}\n"
    );
    let path = place.file(&format!("{name}-stands.yaml"), &text);
    let up = place.command(&["up", path.to_str().expect("plain path")]);
    ended(&place.start(up).wait(RUN_DEADLINE), 0);
}

/// Ends it.
pub fn take_down(place: &TestFolder, name: &str) {
    ended(&place.start(place.command(&["cluster", "down", name])).wait(RUN_DEADLINE), 0);
    place.expect_no_processes();
}

/// What is listed of the one cluster that stays here.
fn standing(place: &TestFolder) -> Value {
    let list = place.kdyno(&["cluster", "list", "--json"]);
    let mut list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    list[0].take()
}

/// The properties file that opens it.
pub fn client_properties(place: &TestFolder) -> PathBuf {
    PathBuf::from(standing(place)["client_properties"].as_str().expect("a path"))
}

/// An address of it.
pub fn bootstrap(place: &TestFolder) -> String {
    standing(place)["bootstrap"][0].as_str().expect("an address").to_owned()
}

/// The process of a broker that runs here.
fn broker_pid(place: &TestFolder) -> u32 {
    let brokers = place.processes(0);
    brokers.iter().find(|(_, line)| line.contains("kafka.Kafka")).expect("a broker").0
}

/// A whole collection of the garbage of a broker that runs here, requested by the tool next to its Java.
pub fn collect_garbage(place: &TestFolder) {
    let (line, _) = broker(place);
    let mut tool = Command::new(Path::new(&line[0]).with_file_name("jcmd"));
    tool.args([&broker_pid(place).to_string(), "GC.run"]);
    ended(&place.start(tool).wait(QUICKLY), 0);
}

/// The command line of a broker that runs here, and its class path.
fn broker(place: &TestFolder) -> (Vec<String>, String) {
    let broker = broker_pid(place);
    let process = procfs::process::Process::new(broker.cast_signed()).expect("the broker");
    let line = process.cmdline().expect("its command line");
    let jars = line.iter().skip_while(|word| *word != "-cp").nth(1).expect("a class path").clone();
    (line, jars)
}

/// Where the settings of a broker that runs here lie, and its process.
pub fn settings_of(place: &TestFolder, broker: u32) -> (String, u32) {
    let (processes, file) = (place.processes(0), format!("/broker-{broker}/server.properties"));
    let of = |(pid, line): &(u32, String)| {
        let path = line.split_whitespace().find(|word| word.ends_with(&file))?;
        Some((path.to_owned(), *pid))
    };
    processes.iter().find_map(of).unwrap_or_else(|| panic!("no broker {broker} among {processes:?}"))
}

/// An admin client of the brokers that run here. Kafka's own tools would still be starting on a busy host when the load is
/// over.
pub fn admin(place: &TestFolder) -> Admin {
    Admin::connect(&[address(place)], "test", QUICKLY).expect("a broker")
}

/// Where the first broker that runs here is reached.
pub fn address(place: &TestFolder) -> String {
    let (settings, _) = settings_of(place, 0);
    let settings = std::fs::read_to_string(settings).expect("the settings of a broker");
    let listeners = settings.lines().find_map(|line| line.strip_prefix("advertised.listeners="));
    let address = listeners.and_then(|all| all.split(',').next()?.split("//").nth(1));
    address.expect("an address").to_owned()
}

/// The folder of the Kafka of a broker that runs here.
pub fn kafka_home(place: &TestFolder) -> String {
    let (_, jars) = broker(place);
    jars.strip_suffix("/libs/*").expect("the jars of a folder").to_owned()
}

/// Options of a tool that ends soon. Its classes are those that the brokers of these jars load, for the most part.
fn quick_tool(jars: &str) -> Vec<String> {
    let release = if jars.contains("/4.1.1/") { "4.1.1" } else { "newest" };
    let mut options = quick_jvm(release);
    options.push("-XX:+UseSerialGC".to_owned());
    options
}

/// One of Kafka's own tools, from the jars of a broker that runs here, to its end.
pub fn kafka_tool(place: &TestFolder, class: &str, args: &[&str]) -> ProgramOutput {
    start_kafka_tool(place, class, args).wait(RUN_DEADLINE)
}

/// The same, which goes on.
pub fn start_kafka_tool<'a>(place: &'a TestFolder, class: &str, args: &[&str]) -> Running<'a> {
    let (line, jars) = broker(place);
    let mut tool = Command::new(&line[0]);
    tool.args(quick_tool(&jars)).args(["-cp", jars.as_str(), class]).args(args).current_dir(place.path());
    place.start(tool)
}

/// A program of this name that is one of Kafka's own tools, as its scripts have it.
pub fn kafka_script(place: &TestFolder, path: &Path, class: &str) {
    let (line, jars) = broker(place);
    let options = quick_tool(&jars).join("' '");
    program(path, &format!("exec '{}' '{options}' -cp '{jars}' {class} \"$@\"", line[0]));
}

/// A program that a shell runs.
pub fn program(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it may be run");
}

pub fn ended(said: &ProgramOutput, code: i32) {
    assert_eq!(said.code, Some(code), "{}\n{}", said.stdout, said.stderr);
}
