//! `kdyno doctor` of this host and of scenarios: forms of output, exit codes, a script that a shell reads.

use crate::common::{RUN_DEADLINE, TestFolder};
use rustix::process::Signal;
use serde_json::Value;

/// All advice in the JSON form of what was asked.
fn advice(place: &TestFolder, args: &[&str]) -> Vec<Value> {
    let said = place.kdyno(&[&["doctor", "--json"], args].concat());
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["format"], 1);
    document["advice"].as_array().expect("a list").clone()
}

fn find<'a>(all: &'a [Value], of: &str, setting: &str) -> &'a Value {
    let is_it = |advice: &&Value| advice["of"] == of && advice["setting"] == setting;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no advice on {setting} of {of} in {all:#?}"))
}

#[test]
fn this_host_is_held_against_what_the_kernel_says() {
    let all = advice(&TestFolder::new(), &[]);
    let map_count = find(&all, "host", "vm.max_map_count");
    let now = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("/proc");
    assert_eq!(map_count["current"], now.trim());
    let is_followed = now.trim().parse::<u32>().expect("a number") >= 262_144;
    assert_eq!(map_count["verdict"], if is_followed { "followed" } else { "not_followed" });
}

#[test]
fn the_exit_code_is_that_of_high_severity_alone() {
    let place = TestFolder::new();
    let said = place.kdyno(&["doctor", "--json"]);
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let all = document["advice"].as_array().expect("a list");
    let is_grave = |advice: &Value| advice["severity"] == "high" && advice["verdict"] == "not_followed";
    assert_eq!(said.code, Some(if all.iter().any(is_grave) { 3 } else { 0 }));
    // With few open files it is always red: the limit is inherited.
    let binary = env!("CARGO_BIN_EXE_kdyno");
    let limited = std::process::Command::new("bash")
        .args(["-c", "ulimit -n 4096 && exec \"$0\" doctor", binary])
        .output()
        .expect("bash");
    let text = String::from_utf8_lossy(&limited.stdout);
    assert_eq!(limited.status.code(), Some(3), "{text}");
    assert!(
        text.starts_with("high    host: open files (ulimit -n) is 4096; recommended: at least 100000"),
        "{text}"
    );
}

#[test]
fn the_script_is_valid_shell_and_does_nothing_unasked() {
    let place = TestFolder::new();
    let said = place.kdyno(&["doctor", "--script"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let path = place.file("changes.sh", &said.stdout);
    let path = path.to_str().expect("plain path");
    let run = |args: &[&str]| std::process::Command::new("sh").args(args).output().expect("sh");
    assert!(run(&["-n", path]).status.success(), "{}", said.stdout);
    let unasked = run(&[path]);
    assert_eq!(unasked.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unasked.stderr).contains("apply|undo"));
}

#[test]
fn no_name_or_value_adds_a_command_to_the_script() {
    let place = TestFolder::new();
    let cases = r#"cases: [{note: "a\necho INJECTED #", replicas: 1}, {note: b, replicas: 3}]"#;
    let scenario = SCENARIO
        .replace("params: {replicas: 3}", "params: {replicas: 3, note: plain}")
        .replace("vary: {replicas: [1, 3]}", cases);
    let path = place.file("hostile.yaml", &scenario);
    let path = path.to_str().expect("plain path");
    for form in [&[][..], &["--script"]] {
        let said = place.kdyno(&[&["doctor", path], form].concat());
        assert!(said.stdout.contains("INJECTED"), "the label is there: {said:?}");
        assert!(!said.stdout.lines().any(|line| line.starts_with("echo INJECTED")), "{}", said.stdout);
        if !form.is_empty() {
            let script = place.file("changes.sh", &said.stdout);
            let ran = std::process::Command::new("sh").arg(script).output().expect("sh");
            let reported = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.code() == Some(2) && !reported.contains("INJECTED"), "{ran:?}");
        }
    }
}

#[test]
fn broker_settings_of_a_scenario_apply_to_its_topics() {
    let place = TestFolder::new();
    let with = SCENARIO.replace("config: {", "config: {min.insync.replicas: 2, ");
    let path = place.file("careful.yaml", &with);
    let all = advice(&place, &[path.to_str().expect("plain path")]);
    let in_sync = find(&all, "replicas=3: topic perf", "min.insync.replicas");
    assert_eq!((&in_sync["current"], &in_sync["verdict"]), (&"2".into(), &"followed".into()));
}

/// One heap that is larger than this host's memory, and sessions into which two heartbeats fit.
#[test]
fn a_heap_beyond_the_memory_and_slow_heartbeats_are_reported() {
    let place = TestFolder::new();
    let memory = std::fs::read_to_string("/proc/meminfo").expect("/proc");
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).expect("a total");
    let kib: u64 = kib.trim().trim_end_matches(" kB").parse().expect("a number");
    let gib = kib / (1 << 20) + 6;
    let with = SCENARIO
        .replace("brokers: 3,", &format!("brokers: 3, limits: {{heap: {gib}GiB}},"))
        .replace("consume: perf,", "consume: perf, group: g, client: {session.timeout.ms: 7s},");
    let path = place.file("large.yaml", &with);
    let path = path.to_str().expect("plain path");
    let all = advice(&place, &[path]);
    let heaps = find(&all, "brokers", "heaps against the host's memory");
    assert_eq!((&heaps["verdict"], &heaps["severity"]), (&"not_followed".into(), &"high".into()), "{heaps}");
    let heartbeats = find(&all, "load readers", "heartbeat.interval.ms");
    assert_eq!(heartbeats["verdict"], "not_followed");
    assert_eq!(heartbeats["recommended"], "at most 2333 (a third of session.timeout.ms, 7000)");
    assert_eq!(place.kdyno(&["doctor", path]).code, Some(3), "of high severity");
}

#[test]
fn of_a_null_broker_nothing_is_said_of_replicas() {
    let place = TestFolder::new();
    let null = "kdyno: 1\nid: null\nquestion: How much?\nsystem: {kafka: null-broker}\ntopics: {perf: {partitions: 4, \
                replicas: 1}}\nload: {writers: {produce: perf, rate: 10/s, value: 100B}}\nphases: {measure: 2s}\n";
    let path = place.file("null.yaml", null);
    let all = advice(&place, &[path.to_str().expect("plain path")]);
    assert!(all.iter().any(|advice| advice["of"] == "load writers"));
    assert!(!all.iter().any(|advice| advice["of"] == "topic perf"), "{all:#?}");
}

/// A scenario with a mistake of each kind.
const SCENARIO: &str = "\
kdyno: 1
id: careless
question: What would a careful person change?
params: {replicas: 3}
vary: {replicas: [1, 3]}
system: {kafka: 4.1.1, mode: kraft, brokers: 3, config: {unclean.leader.election.enable: true}}
topics:
  perf: {partitions: 4, replicas: $replicas}
load:
  writers: {produce: perf, clients: 8, rate: 4/s, value: 100B, client: {acks: 1}}
  readers: {consume: perf, clients: 5}
phases: {warmup: 1s, measure: 2s, drain: auto}
show: {rows: [replicas], columns: [writers.acked_per_s]}
";

#[test]
fn a_scenario_is_looked_at_before_anything_starts() {
    let place = TestFolder::new();
    let path = place.file("careless.yaml", SCENARIO);
    let path = path.to_str().expect("plain path");
    let all = advice(&place, &[path]);
    for (of, setting, current, verdict) in [
        ("brokers", "unclean.leader.election.enable", "true", "not_followed"),
        ("brokers", "num.replica.fetchers", "1", "not_followed"),
        ("topic perf", "partitions", "4", "not_followed"),
        ("replicas=1: topic perf", "replication factor", "1", "not_followed"),
        ("replicas=3: topic perf", "replication factor", "3", "followed"),
        ("load writers", "acks", "1", "not_followed"),
        ("load writers", "each producer", "0.50 records/s", "not_followed"),
        ("load readers", "consumers", "5", "not_followed"),
    ] {
        let found = find(&all, of, setting);
        assert_eq!((&found["current"], &found["verdict"]), (&current.into(), &verdict.into()), "{found:#}");
    }
    let said = place.kdyno(&["doctor", path]);
    assert_eq!(said.code, Some(3), "{said:?}");
    place.expect_no_processes();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = TestFolder::new();
    for (args, word) in [
        (&["doctor", "--data", "/no/such/folder"][..], "is no folder"),
        (&["doctor", "--data", "/proc"], "is no folder for data"),
        (&["doctor", "first-light", "--target", "x.yaml"][..], "cannot be used with"),
        (&["doctor", "no-such-scenario"][..], "no-such-scenario"),
        (&["doctor", "--profile", "big"][..], "required"),
    ] {
        let said = place.kdyno(args);
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.stderr.contains(word), "{args:?}: {said:?}");
    }
}

/// Each figure is shown with the lowest and the highest of several rounds, and no two rounds are alike.
fn expect_spread(measured: &Value, figures: &[&str]) {
    for figure in figures {
        let range = &measured[format!("{figure}_range")];
        let [median, low, high] =
            [&measured[*figure], &range[0], &range[1]].map(|one| one.as_f64().expect("a number"));
        assert!(low <= median && median <= high && low < high, "{figure}: {measured}");
    }
}

#[test]
fn a_disk_is_measured_by_a_file_that_is_removed() {
    let place = TestFolder::new();
    let data = place.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    let said = place.kdyno(&["doctor", "--measure", "--data", "data", "--json"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    assert!(said.stderr.contains("into data for up to 15 s; nothing of it stays"), "{}", said.stderr);
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let measured = &document["measured"][0];
    assert!(measured["write_bytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{measured}");
    assert!(measured["sync_ns_p50"].as_f64() <= measured["sync_ns_p99"].as_f64(), "{measured}");
    assert_eq!(measured["rounds"], 5);
    expect_spread(measured, &["write_bytes_per_s", "sync_ns_p50", "sync_ns_p99"]);
    assert_eq!(std::fs::read_dir(&data).expect("a folder").count(), 0);
}

#[test]
fn the_network_to_another_kdyno_is_measured() {
    let place = TestFolder::new();
    let mut serving = place.start(place.command(&["doctor", "--serve-network", "0"]));
    let address = serving.wait_for_line();
    let address = address.trim();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let said = place.kdyno(&["doctor", "--measure", "--network", address, "--json"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let network = &document["measured_network"];
    for way in ["sent_bytes_per_s", "received_bytes_per_s"] {
        assert!(network[way].as_f64().is_some_and(|rate| rate > 1e6), "{network}");
    }
    assert!(network["round_trip_ns_p50"].as_f64() <= network["round_trip_ns_p99"].as_f64(), "{network}");
    let figures = ["sent_bytes_per_s", "received_bytes_per_s", "round_trip_ns_p50", "round_trip_ns_p99"];
    expect_spread(network, &figures);
    assert_eq!((network["peer"].as_str(), &document["measured"]), (Some(address), &serde_json::json!([])));
    serving.signal(Signal::INT);
    let served = serving.wait(RUN_DEADLINE);
    assert!(
        served.code == Some(0) && served.stderr.contains("measurements: 1; connections that came to none: 0"),
        "{served:?}"
    );
    let said = place.kdyno(&["doctor", "--measure", "--network", address]);
    assert!(said.code == Some(1) && said.stderr.contains("hint: `kdyno doctor --serve-network"), "{said:?}");
    for (args, word) in [
        (&["doctor", "--network", "h:1"][..], "--measure"),
        (&["doctor", "--serve-network", "0", "--measure"], "cannot be used with"),
        (&["doctor", "--serve-network", "here"], "expected a port"),
    ] {
        let said = place.kdyno(args);
        assert!(said.code == Some(2) && said.stderr.contains(word), "{args:?}: {said:?}");
    }
}
