//! Load items that are commands: run, timed, parsed; their failures reported; nothing of them left, whatever is killed.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder, ran, signal};
use crate::document::{self, Document};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;

/// What is measured when commands are all of the load.
const HEAD: &str = "\
kdyno: 1
id: commands
question: What do they take?
params: {n: 3}
system: {kafka: null-broker}
topics: {perf-1: {partitions: 2}}
";

fn run(place: &TestFolder, scenario: &str, more: &[&str]) -> ProgramOutput {
    document::run(place, &format!("{HEAD}{scenario}"), more)
}

/// All commands of one trial do what they are to, one after the other and next to each other.
#[test]
fn commands_are_timed_and_what_they_tell_is_read() {
    let place = TestFolder::new();
    let scenario = r#"load:
  told:
    command: 'sleep 0.2; env | grep -E "^(KDYNO_|EXTRA)" | sort > told.txt; test -s "$$KDYNO_CLIENT_PROPERTIES"'
    environment: {EXTRA: "n is $n"}
  words:
    command: [printf, "elapsed,success,label\n5,true,a b\n15,false,c\nodd\n"]
    after: told
    parse: csv
    labels: {find: a b, none: d}
  file:
    command: 'for i in 1 2 3; do echo "{\"type\":\"Point\",\"metric\":\"http_req_duration\",\"data\":{\"value\":10}}"; done > "$$KDYNO_FOLDER/out.json"; cat /dev/zero | head -c 100000000'
    after: words
    parse: k6-json
    results: out.json
  leaves: {command: 'setsid sleep 600 & echo done', after: file}
phases: {warmup: 0s, measure: {until: leaves, within: 2m}}
fail_if: [words.error_share < 40%, told.duration > 60s]
"#;
    let said = run(&place, scenario, &[]);
    ran(&said);
    place.expect_no_processes();
    let document = Document::of(&said);
    for item in ["told", "words", "file", "leaves"] {
        assert_eq!(document.failure(item), "", "{item}");
        assert_eq!(document.figure(item, "succeeded"), Some(1.0), "{item}");
        assert_eq!(document.figure(item, "exit_code"), Some(0.0), "{item}");
    }
    assert!(document.figure("told", "duration").is_some_and(|took_ns| took_ns >= 0.2e9));
    assert_eq!(document.figure("words", "requests"), Some(2.0));
    assert_eq!(document.figure("words", "error_share"), Some(0.5));
    assert_eq!(document.figure("words", "unparsed_lines"), Some(1.0));
    assert_eq!(document.figure("words", "response.mean"), Some(10e6));
    assert_eq!(
        (document.figure("find", "requests"), document.figure("find", "errors")),
        (Some(1.0), Some(0.0))
    );
    assert_eq!(document.figure("find", "response.mean"), Some(5e6));
    assert_eq!(
        (document.figure("none", "requests"), document.figure("none", "response.mean")),
        (Some(0.0), None)
    );
    assert_eq!(
        (document.figure("file", "requests"), document.figure("file", "errors")),
        (Some(3.0), Some(0.0))
    );
    assert!(document.figure("told", "requests").is_none(), "nothing of it is parsed");
    let reported = std::fs::read_to_string(place.path().join("told.txt")).expect("what it was told");
    for beginning in [
        "EXTRA=n is 3",
        "KDYNO_BOOTSTRAP_SERVERS=127.0.0.1:",
        "KDYNO_ITEM=told",
        "KDYNO_PARAM_n=3",
        "KDYNO_TOPIC_perf_1=kdyno-",
    ] {
        assert!(reported.lines().any(|line| line.starts_with(beginning)), "{beginning}: {reported}");
    }
    let shown = place.kdyno(&["show", "latest"]);
    assert!(["words", "find"].iter().all(|word| shown.stdout.contains(word)), "{shown:?}");
    assert!(place.details().contains("Commands"), "{shown:?}");
    let logs = place.kdyno(&["show", "latest", "--logs"]);
    assert!(logs.stdout.contains("15,false,c"), "{logs:?}");
    let again = place.kdyno(&["rerun", "latest", "--share"]);
    assert!(again.code == Some(2) && again.stderr.contains("the stored plan runs a command"), "{again:?}");
    let trusted = place.start(place.command(&["rerun", "latest", "--share", "--trust"])).wait(RUN_DEADLINE);
    ran(&trusted);
}

/// All commands of one trial fail, each in its own way.
#[test]
fn each_failure_of_a_command_is_reported_and_voids_its_figures() {
    let place = TestFolder::new();
    let scenario = r#"load:
  code: {command: 'echo one; echo two >&2; exit 3'}
  endless: {command: 'trap "" TERM; sleep 600 & sleep 600; sleep 600', timeout: 2s}
  killed: {command: 'kill -9 $$$$'}
  later: {command: [./not-yet], after: code}
  plain: {command: [./plain], after: code}
  garbage: {command: [head, -c, "1000000", /dev/urandom], parse: jtl}
  nothing: {command: ["true"], parse: jtl, results: none.jtl}
  stale: {command: ["true"], parse: jtl, results: STALE}
  seconds: {command: [printf, "timeStamp,elapsed,success\n1760000000,5,true\n"], parse: jtl}
  never: {command: ["true"], after: cut}
  cut: {command: [sleep, "600"]}
phases: {warmup: 0s, measure: {until: endless, within: 1m}}
"#;
    place.file("plain", "#!/bin/sh\n");
    let stale = place.file("stale.jtl", "timeStamp,elapsed,success\n1760000000000,5,true\n");
    let scenario = &scenario.replace("STALE", stale.to_str().expect("plain path"));
    let said = run(&place, scenario, &[]);
    // `plain` and `not-yet` begin after another command, which might have made them.
    assert_eq!(said.code, Some(6), "{said:?}");
    place.expect_no_processes();
    let document = Document::of(&said);
    for (item, words) in [
        ("code", "it ended with exit code 3 after"),
        ("endless", "it did not end within its timeout of 2.00 s and was ended"),
        ("killed", "it was ended by signal 9 after"),
        ("later", "./not-yet cannot be started: No such file or directory"),
        ("plain", "./plain cannot be started: it is not executable (`chmod +x ./plain`)"),
        ("nothing", "its results none.jtl cannot be read: No such file or directory"),
        ("never", "the measure phase ended before it was started"),
        ("cut", "it still ran when the measure phase ended, after"),
    ] {
        assert!(document.failure(item).contains(words), "{item}: {}", document.failure(item));
        assert_ne!(document.figure(item, "succeeded"), Some(1.0), "{item}");
    }
    assert!(document.failure("code").contains("one | two") || document.failure("code").contains("two | one"));
    let garbage = document.failure("garbage");
    assert!(
        garbage.contains("it printed no request that could be read") && garbage.contains("of another form")
    );
    let stale = document.failure("stale");
    assert!(stale.contains("are there before it is started"), "{stale}");
    assert!(document.failure("seconds").contains("when it did not run"), "{}", document.failure("seconds"));
    assert_eq!(document.figure("garbage", "requests"), Some(0.0));
    assert!(document.figure("garbage", "unparsed_lines").is_some_and(|lines| lines > 100.0));
    assert!(said.stderr.contains("exit code 3"), "it is told at once: {said:?}");
}

/// A flood of output without an end, and a program that writes without reading: neither is waited for, nor kept.
#[test]
fn a_run_that_is_killed_leaves_nothing_of_its_commands() {
    let scenario = r#"load:
  flood: {command: 'setsid sh -c "while :; do sleep 1; done" & yes'}
phases: {warmup: 0s, measure: 5m}
"#;
    for whom in ["kdyno", "keeper", "both"] {
        let place = TestFolder::new();
        let path = place.file("commands.yaml", &format!("{HEAD}{scenario}"));
        let args = ["run", path.to_str().expect("plain path"), "--share", "--set", "n=4"];
        let mut running = place.start(place.command(&args));
        running.wait_for_process("while :;");
        match whom {
            "kdyno" => running.signal(Signal::KILL),
            "both" => {
                // Stopped first, so that neither can act on the other's death.
                let both: Vec<u32> =
                    running.processes("keep-command").into_iter().chain([running.pid()]).collect();
                for sent in [Signal::STOP, Signal::KILL] {
                    both.iter().for_each(|pid| signal(*pid, sent));
                }
            }
            _ => {
                running.processes("keep-command").into_iter().for_each(|pid| signal(pid, Signal::KILL));
                running.wait_for("it was ended from outside after");
                assert!(
                    running.processes("while :;").is_empty(),
                    "what the keeper would have ended is ended"
                );
                running.signal(Signal::INT);
                assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
            }
        }
        place.expect_no_processes();
    }
}

#[test]
fn commands_are_judged_in_pairs() {
    let place = TestFolder::new();
    let text = format!(
        "{HEAD}load:\n  import: {{command: ['sleep', '0.$n']}}\n\
         phases: {{warmup: 0s, measure: {{until: import, within: 1m}}}}\n\
         compare: {{A: {{params: {{n: 1}}}}, B: {{params: {{n: 6}}}}}}\n"
    );
    let path = place.file("pairs.yaml", &text);
    let args = ["compare", path.to_str().expect("plain path"), "--share", "--quick", "--json"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    let document = Document::of(&said).0;
    let conclusions = document["conclusions"].to_string();
    assert!(conclusions.contains("import") && conclusions.contains("duration"), "{conclusions}");
    assert!(conclusions.contains("worse"), "half a second more is: {conclusions}");
    place.expect_no_processes();
}

#[test]
fn a_dry_run_shows_what_would_be_run_and_what_is_not_there() {
    let place = TestFolder::new();
    let scenario = "load:\n  import: {command: [./import.sh, 'a b', $n], at: 1s, timeout: 30s}\n  writers: {produce: perf-1, rate: 10/s, value: 10B}\nphases: {warmup: 0s, measure: 5s}\n";
    let path = place.file("dry.yaml", &format!("{HEAD}{scenario}"));
    let path = path.to_str().expect("plain path");
    let dry = place.kdyno(&["run", path, "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let all = format!("{}{}", dry.stdout, dry.stderr);
    for words in [
        "import: command, 1.00 s into the measure phase, at most 30 s",
        "./import.sh 'a b' 3",
        "cannot be started",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
    let said = place.start(place.command(&["run", path, "--share"])).wait(RUN_DEADLINE);
    assert!(
        said.code == Some(1) && said.stderr.contains("load item import: ./import.sh cannot be started"),
        "{said:?}"
    );
    let script = place.file("import.sh", "#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).expect("executable");
    let said = place.start(place.command(&["run", path, "--share"])).wait(RUN_DEADLINE);
    ran(&said);
}
