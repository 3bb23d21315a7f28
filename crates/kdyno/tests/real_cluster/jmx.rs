//! Brokers that expose their metrics over JMX alone are read through the exporter; what is wrong with it is reported
//! once.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder, quick_jvm};
use crate::fixture::{BATCH_HEADER_BYTES, caveats, ended, evidences, figure, files, ran};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Counts, series};
use serde_json::Value;
use std::net::TcpListener;

const PASSWORD: &str = "jmx-is-for-its-owner";
/// One whose properties are not in the order of the broker's, one that is read anyway, and one that no broker has.
const MBEANS: [&str; 3] = [
    "kafka.server:name=LeaderCount,type=ReplicaManager/Value",
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec/Count",
    "kafka.server:type=NoSuch/Value",
];

const LOAD: &str = "\
load: {writers: {produce: perf, clients: 1, rate: 500/s, value: 100B, client: {acks: all}}}
phases: {warmup: 2s, condition: none, measure: 3s, drain: 5s}
";

/// A cluster of one broker without the agent, and a scenario for it as a target.
fn up(place: &TestFolder, port: u16) {
    let option = |name: &str, value: &str| format!("\"-Dcom.sun.management.jmxremote.{name}={value}\"");
    let password = place.file("jmx.password", &format!("monitor {PASSWORD}\n"));
    let access = place.file("jmx.access", "monitor readonly\n");
    let port = port.to_string();
    let mut options = vec![
        option("port", &port),
        option("rmi.port", &port),
        option("host", "127.0.0.1"),
        option("ssl", "false"),
        option("authenticate", "true"),
        option("password.file", password.to_str().expect("plain path")),
        option("access.file", access.to_str().expect("plain path")),
        "\"-Djava.rmi.server.hostname=127.0.0.1\"".to_owned(),
    ];
    options.extend(quick_jvm("newest").iter().map(|option| format!("\"{option}\"")));
    let head = "kdyno: 1\nid: told\nquestion: Does it tell?\ntopics: {perf: {partitions: 1, replicas: 1}}\n";
    let system = format!(
        "system: {{brokers: 1, metrics: none, limits: {{heap: 256MiB}}, jvm: [{}]}}\n",
        options.join(", ")
    );
    place.file("system.yaml", &format!("{head}{system}{LOAD}"));
    place.file("small.yaml", &format!("{head}{LOAD}"));
    place.file("long.yaml", &format!("{head}{}", LOAD.replace("measure: 3s", "measure: 12s")));
    place.file("look.yaml", &format!("{head}{}", LOAD.replace("500/s", "1/s")));
    ended(&place.start(place.command(&["up", "system.yaml"])).wait(RUN_DEADLINE), 0);
}

/// Command lines of every process of this host.
fn command_lines() -> Vec<String> {
    let folders = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let read = |folder: std::fs::DirEntry| std::fs::read(folder.path().join("cmdline")).ok();
    folders.filter_map(read).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ")).collect()
}

/// What a run came to.
struct JmxRun {
    said: ProgramOutput,
    document: Value,
    evidence: TrialEvidence,
}

/// Runs a scenario with a target whose brokers have JMX at this port and a user of this password.
fn run(place: &TestFolder, scenario: &str, port: u16, password: &str) -> JmxRun {
    let own = place.path().to_str().expect("plain path").to_owned();
    let said = place.kdyno(&["cluster", "target", "told"]);
    ended(&said, 0);
    place.file("password", password);
    let secrets = "], secrets: {JMX: {file: password}}}\nguard";
    let mbeans = MBEANS.map(|one| format!("\"{one}\"")).join(", ");
    let metrics = format!(
        "metrics: {{jmx: \"{{host}}:{port}\", username: monitor, password: \"${{JMX}}\", mbeans: [{mbeans}]}}\n"
    );
    let target = said.stdout.replace("]}\nguard", secrets) + &metrics;
    let target = place.file("target.yaml", &target);
    let target = target.to_str().expect("plain path");
    let args = ["run", scenario, "--target", target, "--share", "--yes", "--seed", "1"];
    let mut running = place.start(place.command(&args));
    running.wait_for_process("jmx_prometheus_httpserver");
    let lines = command_lines();
    let exporter = |line: &&String| line.contains("jmx_prometheus_httpserver");
    assert!(lines.iter().any(|line| exporter(&line) && line.contains(&own)), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(PASSWORD)), "{lines:?}");
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    assert!(!said.stdout.contains(PASSWORD) && !said.stderr.contains(PASSWORD), "{said:?}");
    let left: Vec<String> =
        command_lines().iter().filter(exporter).filter(|line| line.contains(&own)).cloned().collect();
    assert_eq!((left, files(place, "broker-0.yaml").len()), (Vec::new(), 0), "they end with the run");
    let document = place.show();
    let stored = std::fs::read(place.run_file()).expect("a run file");
    assert!(!stored.windows(PASSWORD.len()).any(|bytes| bytes == PASSWORD.as_bytes()), "the run file");
    let evidence = evidences(place).remove(0);
    std::fs::remove_file(place.run_file()).expect("a run file");
    JmxRun { said, document, evidence }
}

/// What the broker had counted of a series when it was first asked.
fn first_reported(evidence: &TrialEvidence, series: &str) -> f64 {
    let of_it =
        evidence.probes.iter().filter(|one| one.subject == Subject::Broker(0) && one.series == series);
    of_it.min_by_key(|one| one.at_ns).map_or_else(|| panic!("no {series}"), |one| one.value)
}

/// What all writers of a run counted: records, and bytes of their batches.
fn sent(evidence: &TrialEvidence) -> [f64; 2] {
    let counts =
        |of: fn(&Counts) -> u64| evidence.totals.iter().map(|one| of(&one.counts)).sum::<u64>() as f64;
    [counts(|of| of.acknowledged), counts(|of| of.sent_bytes + of.batches * BATCH_HEADER_BYTES)]
}

fn unread(document: &Value) -> Vec<String> {
    let events = document["events"].as_array().expect("events");
    let unread = events.iter().filter(|event| event["kind"] == "metrics-not-read");
    unread.map(|event| event["detail"].as_str().expect("a detail").to_owned()).collect()
}

#[test]
fn jmx_is_read_and_a_closed_port_or_wrong_password_warns_once() {
    let _turn = with_others();
    let place = TestFolder::new();
    let port = || {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        free.local_addr().expect("its address").port()
    };
    let jmx = port();
    up(&place, jmx);
    let JmxRun { document, evidence, .. } = run(&place, "long.yaml", jmx, PASSWORD);
    assert_eq!(unread(&document), [""; 0]);
    // A busy host puts more of the 6,000 records into one request.
    let requests = figure(&document, "brokers.produce_requests");
    assert!((100.0..=7000.0).contains(&requests), "{requests}");
    assert!(figure(&document, "brokers.produce_total_mean") > 0.0);
    assert!(caveats(&document, "warning").contains(&"brokers-fresh"), "{}", document["caveats"]);
    assert!(figure(&document, "broker-0.heap_used_bytes_max") > 1e6);
    assert!(figure(&document, "brokers.cpu_us_per_record") > 0.0, "the process tells its CPU time");

    // An answer takes the exporter a second and more on a busy host, and the instant of its values is known to half of that. So
    // what the broker counted is compared without a clock: it had taken nothing when it was started, and when the next run
    // asks it all of this one is over; that one has sent a record or two by then.
    let sent = sent(&evidence);
    let [leaders, messages, none] = MBEANS.map(|one| format!("mbean:{one}"));
    assert!(first_reported(&evidence, &leaders) >= 1.0, "it leads the load's partition");
    let both = [messages.as_str(), series::MESSAGES_IN_TOTAL].map(|series| first_reported(&evidence, series));
    assert!((both[0] - both[1]).abs() < 1e-9, "{both:?}");
    assert!(!evidence.probes.iter().any(|one| one.series == none));
    assert!(figure(&document, &format!("broker-0.{leaders}")) >= 1.0);
    let JmxRun { document, evidence, .. } = run(&place, "look.yaml", jmx, PASSWORD);
    let reported =
        [series::MESSAGES_IN_TOTAL, series::BYTES_IN_TOTAL].map(|series| first_reported(&evidence, series));
    for (reported, sent) in reported.into_iter().zip(sent) {
        assert!(sent > 5_000.0 && (reported / sent - 1.0).abs() < 0.01, "told {reported}, sent {sent}");
    }
    assert!(!caveats(&document, "warning").contains(&"brokers-fresh"), "it has carried more than this load");

    let JmxRun { said, document, .. } = run(&place, "small.yaml", jmx, "another");
    let reported = unread(&document);
    assert_eq!(said.stderr.matches("JMX refuses the login").count(), 1, "{said:?}");
    assert!(reported.len() == 1 && reported[0].ends_with("JMX refuses the login"), "{reported:?}");
    let JmxRun { said, document, .. } = run(&place, "small.yaml", port(), PASSWORD);
    assert_eq!(said.stderr.matches("no process listens at the JMX port").count(), 1, "{said:?}");
    let reported = unread(&document);
    assert!(
        reported.len() == 1 && reported[0].ends_with("no process listens at the JMX port"),
        "{reported:?}"
    );
    ended(&place.start(place.command(&["down", "system.yaml"])).wait(RUN_DEADLINE), 0);
    place.expect_no_processes();
}
