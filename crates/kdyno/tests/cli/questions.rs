//! `compare`, `find`, budgets, gates and `--resume` at the command line: what is planned, and what is refused before
//! anything starts.

use crate::common::{ProgramOutput, TestFolder, one_line};

/// A scenario for both questions.
const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {linger: 0ms}
system: {kafka: 4.1.1, mode: kraft, brokers: 1}
topics:
  perf: {partitions: 2, replicas: 1}
load:
  writers: {produce: perf, clients: 1, rate: 100/s, value: 100B, client: {linger.ms: $linger}}
phases: {warmup: 1s, measure: 2s, drain: auto}
show: {columns: [writers.acked_per_s, writers.response.p99]}
";

fn said(args: &[&str]) -> ProgramOutput {
    let place = TestFolder::new();
    let path = place.file("small.yaml", SCENARIO);
    let file = path.to_str().expect("plain path").to_owned();
    let args: Vec<&str> = args.iter().map(|arg| if *arg == "FILE" { file.as_str() } else { *arg }).collect();
    let said = place.kdyno(&args);
    assert!(!place.path().join("kdyno-runs").exists(), "nothing was started");
    place.expect_no_processes();
    said
}

fn refused(args: &[&str], words: &[&str]) {
    let said = said(args);
    assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
    assert_eq!(said.stdout, "", "{args:?}: {said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "{args:?}: no {word:?} in: {}", said.stderr);
    }
}

fn planned(args: &[&str], words: &[&str]) {
    let said = said(args);
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    // Lines are wrapped at the width of the terminal.
    let text = one_line(&said.stdout);
    for word in words {
        assert!(text.contains(word), "{args:?}: no {word:?} in: {}", said.stdout);
    }
}

#[test]
fn a_comparison_prints_sides_evidence_and_length_first() {
    planned(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--dry-run"],
        &[
            "comparison: A is linger=0ms, B is linger=5ms",
            "judged: brokers.cpu_us_per_record (lower is better",
            "evidence: ",
            "time: about ",
        ],
    );
    planned(
        &["compare", "FILE", "--a", "kafka=3.7.2", "--b", "kafka=4.1.1", "--quick", "--dry-run"],
        &[
            "quick look: ",
            "both sides at once, under the same arrivals",
            "is no verdict",
            "system of side B",
            "Apache Kafka 3.7.2",
            "Apache Kafka 4.1.1",
        ],
    );
    planned(
        &["compare", "FILE", "--a", "kafka=3.7.2", "--b", "kafka=4.1.1", "--design", "turns", "--dry-run"],
        &["in drawn order, both sides under the same arrivals"],
    );
    planned(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--design", "duet", "--dry-run"],
        &["both sides at once, under the same arrivals"],
    );
    planned(
        &[
            "compare",
            "FILE",
            "--a",
            "linger=0ms",
            "--b",
            "linger=5ms",
            "--judge",
            "writers.response.p99:10%",
            "--dry-run",
        ],
        &["writers.response.p99 (lower is better, 10"],
    );
}

#[test]
fn a_side_that_is_not_named_is_what_the_scenario_says_of_it() {
    let one_side = ["compare", "upgrade-check", "--a", "kafka=3.9.2", "--dry-run"];
    planned(
        &one_side,
        &["comparison: A is kafka=3.9.2, B is Kafka 4.4.0; to differ: system.kafka: 3.9.2 → 4.4.0"],
    );
}

#[test]
fn a_patch_is_read_from_its_file() {
    let place = TestFolder::new();
    let path = place.file("small.yaml", SCENARIO);
    place.file("b.yaml", "load: {writers: {client: {batch.size: 64KiB}}}\n");
    let file = path.to_str().expect("plain path");
    let said = place.kdyno(&["compare", file, "--a", "linger=0ms", "--b", "@b.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("batch.size=64KiB"), "{said:?}");
    let said = place.kdyno(&["compare", file, "--a", "linger=0ms", "--b", "@gone.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("gone.yaml"), "{said:?}");
}

#[test]
fn a_comparison_that_cannot_be_is_refused() {
    refused(&["compare"], &["nothing was named to compare", "hint:"]);
    for run in ["one.kdyno", "latest"] {
        let why = format!("{run} is a stored run");
        refused(&["compare", run], &[&why, "name a second run", "--course"]);
        refused(&["run", run, "--dry-run"], &[&why, "not a scenario", "kdyno rerun"]);
    }
    refused(&["compare", "FILE"], &["no `compare`", "hint:", "--a"]);
    refused(&["compare", "FILE", "--a", "linger"], &["--a", "`linger` is no change", "hint:"]);
    refused(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--details"],
        &["--details: it is of stored runs", "hint:"],
    );
    refused(&["compare", "FILE", "--a", "lniger=1ms", "--b", "linger=5ms"], &["lniger", "hint:"]);
    refused(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--budget", "1m"],
        &["budget", "hint:"],
    );
    refused(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--budget", "soon"],
        &["--budget"],
    );
    refused(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "linger=5ms", "--judge", "writers.speed:3%"],
        &["writers.speed"],
    );
    refused(
        &["compare", "FILE", "--a", "linger=0ms", "--b", "load.writers.rate=max", "--design", "duet"],
        &["--design duet", "both sides cannot run at once: load item", "hint:", "`turns`"],
    );
    refused(&["compare", "a", "b", "c"], &["3 things were named", "--before"]);
    refused(&["compare", "--before", "one"], &["--after"]);
}

#[test]
fn a_search_prints_its_range_and_conditions_before_it_starts() {
    let search = [
        "find",
        "FILE",
        "--highest",
        "writers.rate",
        "--while",
        "writers.response.p99 <= 20ms",
        "--from",
        "1k/s",
        "--to",
        "50k/s",
    ];
    planned(
        &[&search[..], &["--dry-run"]].concat(),
        &[
            "search: the rate of writers from 1,000/s to 50,000/s while writers.response.p99 <= 20ms",
            "confirmed by ",
        ],
    );
    planned(&[&search[..], &["--quick", "--dry-run"]].concat(), &["quick look: the rate of writers"]);
}

#[test]
fn a_search_that_cannot_be_is_refused() {
    refused(&["find", "FILE", "--while", "writers.response.p99 <= 20ms"], &["--highest"]);
    refused(&["find", "FILE", "--highest", "writers.rate"], &["while"]);
    refused(
        &["find", "FILE", "--highest", "writer.rate", "--while", "writers.response.p99 <= 20ms"],
        &["writer", "hint:"],
    );
    refused(
        &["find", "FILE", "--highest", "writers.rate", "--while", "writers.response.p98 <= 20ms"],
        &["response.p98", "`writers.response.p99`"],
    );
    refused(&["find"], &["SCENARIO"]);
    let ask = ["--highest", "events.rate", "--while", "events.response.p99 <= 20ms"];
    refused(&[&["find", "upgrade-check"], &ask[..]].concat(), &["--side A", "Kafka 3.7.2", "--side B"]);
}

#[test]
fn what_is_resumed_must_be_there_and_unfinished() {
    refused(&["run", "--resume", "gone"], &["there is no run `gone`"]);
    for command in ["run", "compare", "find"] {
        refused(
            &[command, "FILE", "--resume", "gone"],
            &["has its scenario with it", "leave the scenario out"],
        );
        let words = ["there is no run in", "/elsewhere", "`--dir DIR` names another folder"];
        refused(&[command, "--resume", "latest", "--dir", "elsewhere"], &words);
    }
    refused(&["run", "--resume", "gone", "--seed", "3"], &["--seed"]);
    refused(&["run", "--resume", "gone", "--budget", "3m"], &["there is no run `gone`"]);
    refused(
        &["compare", "--resume", "gone", "--b", "kafka=4.1.1"],
        &["--b: a run that is resumed", "--target"],
    );
    refused(&["compare", "--resume", "gone", "--quick"], &["--quick: a run that is resumed"]);
    refused(&["compare", "--resume", "gone", "--design", "duet"], &["--design: a run that is resumed"]);
    refused(&["find", "--resume", "gone"], &["there is no run `gone`"]);
    for option in [
        &["--highest", "writers.rate"][..],
        &["--while", "writers.response.p99 <= 20ms"],
        &["--from", "1k/s"],
        &["--to", "2M/s"],
        &["--within", "1%"],
        &["--each", "1k/s"],
        &["--side", "A"],
        &["--quick"],
    ] {
        let why = format!("{}: a run that is resumed", option[0]);
        refused(&[&["find", "--resume", "gone"], option].concat(), &[&why]);
    }
}

#[test]
fn targets_of_cases_differ_from_targets_of_all() {
    let place = TestFolder::new();
    let path = place.file("small.yaml", SCENARIO);
    let file = path.to_str().expect("plain path");
    for (target, word) in [("x=1,:t.yaml", "selects no case"), ("gone.yaml", "gone.yaml")] {
        place.file("t.yaml", "kdyno: 1\ntarget: t\ncluster_id: aB3xYz0123456789abcdef\nclient: {properties: t.properties}\nguard: {prefix: kdyno-, caps: {produce: 20MiB/s, connections: 200, partitions: 60, time: 30m}}\n");
        place.file("t.properties", "bootstrap.servers=127.0.0.1:9092\n");
        let said = place.kdyno(&["run", file, "--target", target, "--dry-run"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(word), "{said:?}");
    }
}

#[test]
fn a_threshold_needs_no_item_where_one_alone_has_the_metric() {
    let place = TestFolder::new();
    place.file("one.yaml", SCENARIO);
    place.file("two.yaml", &SCENARIO.replace("phases:", "  readers: {consume: perf}\nphases:"));
    let planned = |file: &str, fail_if: &str| {
        place.kdyno(&["run", file, "--fail-if", fail_if, "--dry-run", "--json", "--seed", "1"])
    };
    for (file, fail_if, whole) in [
        ("./one.yaml", "p99 > 50ms", "writers.response.p99 > 50ms"),
        ("./two.yaml", "acked_per_s < 90/s", "writers.acked_per_s < 90/s"),
    ] {
        let said = planned(file, fail_if);
        assert_eq!(said.code, Some(0), "{said:?}");
        let plan: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(plan["claims"][0]["that"], whole, "{said:?}");
    }
    let said = planned("./two.yaml", "p99 > 50ms");
    assert_eq!(said.code, Some(2), "{said:?}");
    for words in
        ["`--fail-if p99 > 50ms`", "did you mean `writers.response.p99` or `readers.end_to_end.p99`?"]
    {
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
}

#[test]
fn a_note_about_a_properties_file_is_printed_once() {
    let place = TestFolder::new();
    let path = place.file("small.yaml", SCENARIO);
    for name in ["one", "two"] {
        let target = format!(
            "kdyno: 1\ntarget: {name}\ncluster_id: aB3xYz0123456789abcde-{name}\nclient: {{properties: t.properties}}\n\
             guard: {{prefix: kdyno-, caps: {{produce: 20MiB/s}}}}\n"
        );
        place.file(&format!("{name}.yaml"), &target);
    }
    place.file("t.properties", "bootstrap.servers=127.0.0.1:9092\nacks=all\n");
    let file = path.to_str().expect("plain path");
    let targets = ["--target", "brokers=1:one.yaml", "--target", "brokers=3:two.yaml", "--dry-run"];
    let said = place.kdyno(&[&["run", file], &targets[..]].concat());
    assert_eq!(said.stderr.matches("`acks`").count(), 1, "{said:?}");
}

#[test]
fn the_help_lists_exit_codes_and_gates() {
    for command in ["run", "compare", "find"] {
        let help = TestFolder::new().kdyno(&[command, "--help"]).stdout;
        for word in ["Exit codes", "--gate", "--budget", "--resume", "--junit", "--format"] {
            assert!(help.contains(word), "{command}: no {word:?} in: {help}");
        }
    }
    let help = TestFolder::new().kdyno(&["find", "--help"]).stdout;
    let help = one_line(&help);
    assert!(help.contains("5, with --gate strict (else 0): loads met them and none was confirmed"), "{help}");
    let help = TestFolder::new().kdyno(&["compare", "--help"]).stdout;
    for word in ["--before", "--after", "--course", "--quick", "no verdict"] {
        assert!(help.contains(word), "no {word:?} in: {help}");
    }
}
