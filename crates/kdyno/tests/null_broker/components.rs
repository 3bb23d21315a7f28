//! Components: started before the load and ended after it, probed, with each other's addresses; their failures
//! reported; nothing of them left, whatever is killed.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder, ran, signal};
use crate::document::{self, Document};
use rustix::process::Signal;
use serde_json::Value;

const HEAD: &str = "\
kdyno: 1
id: beside
question: What stands beside it?
params: {n: 3}
system: {kafka: null-broker}
topics: {perf: {partitions: 2}}
";

/// A load for those scenarios that are about components alone.
const LOAD: &str = "\
load: {writers: {produce: perf, rate: 50/s, value: 10B}}
phases: {warmup: 0s, measure: 3s}
";

fn run(place: &TestFolder, scenario: &str) -> ProgramOutput {
    document::run(place, &format!("{HEAD}{scenario}"), &[])
}

fn kdyno() -> &'static str {
    env!("CARGO_BIN_EXE_kdyno")
}

/// A service that answers over HTTP, another that spins, a third that takes connections; a command that talks to the
/// first by the address that it gets. All of them run before the load, in order.
#[test]
fn services_start_before_the_load_with_addresses_and_probes() {
    let place = TestFolder::new();
    let scenario = format!(
        r#"components:
  web: {{command: '"{kdyno}" serve . --port "$$KDYNO_PORT"', ready: {{http: /}}, stop: {{signal: INT}}}}
  spins:
    command: 'echo "begun beside $$KDYNO_ADDRESS_web"; env | grep -E "^(KDYNO_|EXTRA)" | sort > told.txt; sh -c "while :; do :; done" & wait'
    environment: {{EXTRA: "n is $n"}}
    ready: {{line: begun beside 127}}
  my-port: {{command: ["{kdyno}", null-broker, --port, "0"], ready: started}}
load:
  users:
    command: [bash, -c, 'exec 3<>"/dev/tcp/127.0.0.1/$$KDYNO_PORT_web"; printf "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3; head -n 1 <&3; sleep 2; test -n "$$KDYNO_PORT_my_port"']
phases: {{warmup: 0s, measure: {{until: users, within: 1m}}}}
show: {{columns: [users.duration, spins.cpu_percent, web.memory_rss_bytes_max]}}
fail_if: [spins.cpu_percent < 5%]
"#,
        kdyno = kdyno()
    );
    let said = run(&place, &scenario);
    ran(&said);
    place.expect_no_processes();
    let document = Document::of(&said);
    assert_eq!(document.figure("users", "succeeded"), Some(1.0), "{said:?}");
    let spun = document.figure("spins", "cpu_percent").expect("it was read");
    assert!(spun > 5.0, "its child spins: {spun}");
    assert!(document.figure("web", "memory_rss_bytes_max").is_some_and(|bytes| bytes > 1e6));
    assert!(document.figure("my-port", "cpu_percent").is_some());
    let reported = std::fs::read_to_string(place.path().join("told.txt")).expect("what it was told");
    for beginning in [
        "EXTRA=n is 3",
        "KDYNO_ADDRESS_my_port=127.0.0.1:",
        "KDYNO_ADDRESS_spins=127.0.0.1:",
        "KDYNO_BOOTSTRAP_SERVERS=127.0.0.1:",
        "KDYNO_COMPONENT=spins",
        "KDYNO_PARAM_n=3",
        "KDYNO_PORT=",
        "KDYNO_TOPIC_perf=kdyno-",
    ] {
        assert!(reported.lines().any(|line| line.starts_with(beginning)), "{beginning}: {reported}");
    }
    let details = place.details();
    assert!(details.contains("spins") && details.contains("web"), "{details}");
    let logs = place.kdyno(&["show", "latest", "--logs"]);
    assert!(logs.stdout.contains("begun beside 127.0.0.1:"), "{logs:?}");
    let again = place.kdyno(&["rerun", "latest", "--share"]);
    assert!(again.code == Some(2) && again.stderr.contains("the stored plan "), "{again:?}");
}

/// Each way not to get ready: reported with the last lines, the run ends, and what ran before is ended.
#[test]
fn a_component_that_is_not_ready_ends_the_run_with_its_log() {
    let place = TestFolder::new();
    for (component, words) in [
        (
            "{command: 'echo one; echo two >&2; exit 3'}",
            "component b: it ended before it was ready: exit code 3; its last lines: ",
        ),
        (
            "{command: 'echo waiting; sleep 600', ready_within: 2s}",
            "component b: it was not ready within 2.00 s (when its port takes connections); its last lines: waiting",
        ),
        (
            "{command: [sleep, '600'], ready: {line: never}, ready_within: 1s}",
            "component b: it was not ready within 1.00 s (when it writes \"never\"); it wrote nothing",
        ),
        (
            "{command: 'kill -9 $$$$', ready: {http: /}}",
            "component b: it ended before it was ready: signal 9",
        ),
        ("{command: [./no-such-service]}", "component b: ./no-such-service cannot be started"),
        ("{postgres: {version: 3}}", "component b: PostgreSQL 3 is not installed beneath"),
    ] {
        let scenario = format!(
            "components:\n  a: {{command: [sleep, '600'], ready: started}}\n  b: {component}\n{LOAD}"
        );
        let said = run(&place, &scenario);
        assert_eq!(said.code, Some(1), "{component}: {said:?}");
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
        place.expect_no_processes();
    }
    assert!(place.kdyno(&["show", "latest", "--logs"]).code.is_some());
}

/// One dies in the trial, another floods its output, a third ignores SIGTERM: the trial goes on, and all of it is
/// reported.
#[test]
fn a_dead_component_is_an_event_and_one_that_hangs_is_killed() {
    let place = TestFolder::new();
    let scenario = format!(
        r#"components:
  dies: {{command: 'echo "my last words"; sleep 1.5; exit 7', ready: {{line: words}}}}
  floods: {{command: [yes, a flood], ready: {{line: a flood}}}}
  stays: {{command: 'trap "" TERM; echo up; while :; do sleep 600; done', ready: {{line: up}}, stop: {{within: 300ms}}}}
{LOAD}"#
    );
    let said = run(&place, &scenario);
    ran(&said);
    place.expect_no_processes();
    let words = "dies ended in the middle of the trial: exit code 7; its last lines: my last words";
    assert!(said.stderr.contains(words), "{}", said.stderr);
    assert!(
        said.stderr.contains("stays did not end within 300 ms of SIGTERM and was killed"),
        "{}",
        said.stderr
    );
    let document = Document::of(&said);
    let events = document.0["events"].as_array().expect("events");
    let died: Vec<&Value> = events.iter().filter(|event| event["kind"] == "process-died").collect();
    assert!(died.len() == 1 && died[0]["subject"].to_string().contains("dies"), "{died:?}");
    let caveats = document.0["caveats"].to_string();
    assert!(caveats.contains("process-died"), "{caveats}");
    assert_eq!(document.figure("writers", "failed"), Some(0.0), "the trial went on");
    let logs = place.kdyno(&["show", "latest", "--logs"]);
    assert!(logs.stdout.contains("my last words") && logs.stdout.contains("a flood"), "{logs:?}");
    assert!(logs.stdout.len() < 100_000, "a flood is not kept: {}", logs.stdout.len());
    let memory = document.figure("floods", "memory_rss_bytes_max");
    assert!(memory.is_some_and(|bytes| bytes < 100e6), "{memory:?}");
}

#[test]
fn a_run_that_is_killed_leaves_nothing_of_its_components() {
    let scenario = format!(
        "components: {{service: {{command: 'setsid sh -c \"while :; do sleep 1; done\" & sleep 600', ready: started}}}}\n{}",
        LOAD.replace("3s", "5m")
    );
    for whom in ["kdyno", "keeper"] {
        let place = TestFolder::new();
        let path = place.file("beside.yaml", &format!("{HEAD}{scenario}"));
        let args = ["run", path.to_str().expect("plain path"), "--share"];
        let mut running = place.start(place.command(&args));
        running.wait_for_process("while :;");
        running.wait_for("· measure");
        if whom == "kdyno" {
            running.signal(Signal::KILL);
        } else {
            running.processes("keep-command").into_iter().for_each(|pid| signal(pid, Signal::KILL));
            running.wait_for("service ended in the middle of the trial: its keeper was killed");
            assert!(running.processes("while :;").is_empty(), "what the keeper would have ended is ended");
            running.signal(Signal::INT);
            assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
        }
        place.expect_no_processes();
    }
}

#[test]
fn services_are_compared_and_pairs_with_a_dead_one_are_lost() {
    let place = TestFolder::new();
    let text = format!(
        "{HEAD}components: {{service: {{command: 'sleep 600', ready: started}}}}\n\
         load: {{import: {{command: [sleep, '0.2']}}}}\n\
         phases: {{warmup: 0s, measure: {{until: import, within: 5s}}}}\n\
         compare: {{A: {{}}, B: {{components: {{service: {{command: 'sleep 0.3; exit 1'}}}}}}}}\n"
    );
    let path = place.file("pairs.yaml", &text);
    // Three pairs, the fewest.
    let fixed = ["--share", "--quick", "--budget", "50s", "--json"];
    let args = [&["compare", path.to_str().expect("plain path")][..], &fixed].concat();
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    assert!(said.stdout.contains("lost service"), "{} {}", said.stdout, said.stderr);
    place.expect_no_processes();
}

#[test]
fn a_dry_run_shows_what_would_be_started_and_what_is_not_there() {
    let place = TestFolder::new();
    let scenario = format!(
        "components:\n  inventory: {{command: [./inventory, 'a b', $n], environment: {{LEVEL: warn}}, ready: {{http: /health}}}}\n{LOAD}"
    );
    let path = place.file("dry.yaml", &format!("{HEAD}{scenario}"));
    let dry = place.kdyno(&["run", path.to_str().expect("plain path"), "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let all = format!("{}{}", dry.stdout, dry.stderr);
    for words in [
        "inventory: ready when GET /health is answered, within 1 min",
        "./inventory 'a b' 3",
        "with LEVEL=warn",
        "ended by SIGTERM, killed 10.0 s later",
        "component inventory: ./inventory cannot be started",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
}
