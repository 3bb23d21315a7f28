//! Mistakes at the command line: what is said, and that the exit code is 2 and nothing was started.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};

/// A scenario that is right; tests break one thing of it.
const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {brokers: 1, dur: 2s}
system: {kafka: 4.1.1, mode: kraft, brokers: $brokers}
topics:
  perf: {partitions: 2, replicas: 1}
load:
  writers: {produce: perf, clients: 1, rate: 100/s, value: 100B}
phases: {warmup: 1s, measure: $dur, drain: auto}
show: {rows: [brokers], columns: [writers.acked_per_s]}
";

fn refused(said: &ProgramOutput, words: &[&str]) {
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(said.stdout, "", "data for a mistake: {said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "no {word:?} in: {}", said.stderr);
    }
}

/// Plans a changed scenario; returns what was said and makes sure that nothing was left.
fn planned(from: &str, to: &str) -> ProgramOutput {
    let place = TestFolder::new();
    assert!(SCENARIO.contains(from), "the test means a line that is there");
    let path = place.file("small.yaml", &SCENARIO.replace(from, to));
    let said = place.kdyno(&["run", path.to_str().expect("plain path")]);
    assert!(!place.path().join("kdyno-runs").exists(), "a refused run leaves no folder");
    place.expect_no_processes();
    said
}

#[test]
fn no_command_prints_the_help_and_fails() {
    let said = TestFolder::new().kdyno(&[]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("Usage: kdyno"), "{said:?}");
}

#[test]
fn help_names_every_command_and_gives_examples() {
    let said = TestFolder::new().kdyno(&["--help"]);
    assert_eq!(said.code, Some(0));
    for word in [
        "run",
        "compare",
        "find",
        "quick",
        "cluster",
        "show",
        "export",
        "Examples:",
        "Exit codes:",
        "first-light",
    ] {
        assert!(said.stdout.contains(word), "no {word:?} in: {}", said.stdout);
    }
    for hidden in ["guard", "worker"] {
        let shown = said.stdout.lines().any(|line| line.trim_start().starts_with(hidden));
        assert!(!shown, "{hidden} is not for users");
    }
    let bench = TestFolder::new().kdyno(&["bench-load"]);
    assert_eq!(bench.code, Some(2), "benchmarks have a program of their own: {bench:?}");
}

#[test]
fn the_version_is_printed_with_the_commit_of_a_checkout() {
    let said = TestFolder::new().kdyno(&["--version"]);
    let version = said.stdout.trim().strip_prefix("kdyno ").expect("the program's name");
    let plain = env!("CARGO_PKG_VERSION");
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    match std::fs::read_to_string(checkout.join("logs/HEAD")) {
        Err(_) => assert!(version.starts_with(plain), "{said:?}"),
        // The checkout may have moved on since the build: the commit is one that it had.
        Ok(log) => {
            let commit = version.strip_prefix(plain).expect("the package's version").trim();
            let commit = commit.trim_start_matches('(').trim_end_matches(')');
            let (commit, day) = commit.split_once(' ').expect("its day");
            assert!(commit.len() == 12 && log.contains(commit), "{said:?}");
            let form = day.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
            assert_eq!(form, "0000-00-00", "{said:?}");
        }
    }
}

#[test]
fn the_help_of_quiet_says_how_the_file_is_found() {
    let help = TestFolder::new().kdyno(&["run", "--help"]).stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(
        words.join(" ").contains("`kdyno show latest` shows all of the run, `kdyno runs` names its file"),
        "{help}"
    );
}

#[test]
fn the_help_of_export_says_where_its_columns_are_documented() {
    let said = TestFolder::new().kdyno(&["export", "--help"]);
    assert!(said.stdout.contains("docs/reference/csv.md"), "{said:?}");
}

#[test]
fn commands_of_other_tools_get_the_equivalent_one() {
    let kdyno = |args: &[&str]| TestFolder::new().kdyno(args);
    refused(&kdyno(&["list"]), &["unrecognized subcommand 'list'", "`kdyno runs` lists runs"]);
    assert!(!kdyno(&["list"]).stderr.contains("cluster'"), "it looks alike and is something else");
    refused(&kdyno(&["validate", "x.yaml"]), &["`kdyno run FILE --dry-run` checks a scenario"]);
    assert!(!kdyno(&["cluster", "ls"]).stderr.contains("kdyno runs"), "clusters are meant");
    refused(&kdyno(&["new"]), &["`kdyno init FILE` writes a scenario"]);
    refused(&kdyno(&["fnd"]), &["'find'"]);
}

#[test]
fn an_unknown_option_is_refused() {
    refused(&TestFolder::new().kdyno(&["run", "first-light", "--fast"]), &["error:", "--fast"]);
}

#[test]
fn set_needs_a_name_and_a_value() {
    refused(&TestFolder::new().kdyno(&["run", "first-light", "--set", "brokers"]), &["NAME=VALUE"]);
}

#[test]
fn what_a_set_value_breaks_is_named_by_its_option() {
    let place = TestFolder::new();
    let path = place.file("small.yaml", SCENARIO);
    let file = path.to_str().expect("plain path");
    let run = |set: &str| place.kdyno(&["run", file, "--dry-run", "--set", set]);
    refused(
        &run("dur=12parsecs"),
        &["error: `--set dur=12parsecs`: `measure` (from `$dur`): ", "(used at ", "small.yaml:10:31)"],
    );
    refused(&run("brokers=many"), &["error: `--set brokers=many`: `brokers` (from `$brokers`): "]);
    refused(&run("dir=x"), &["error: `--set dir=x`: `dir` is not a param", "hint:"]);
    place.expect_no_processes();
}

#[test]
fn a_bundled_name_wins_over_a_file_of_the_same_name() {
    let place = TestFolder::new();
    place.file("first-light", SCENARIO);
    place.file("mine", SCENARIO);
    let said = place.kdyno(&["run", "first-light", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("first-light") && said.stderr.contains("./first-light"), "{said:?}");
    let said = place.kdyno(&["run", "./first-light", "--dry-run"]);
    assert!(said.stdout.contains("Does it work?") && !said.stderr.contains("bundled"), "{said:?}");
    refused(
        &place.kdyno(&["run", "mine"]),
        &["no bundled scenario `mine`", "hint: the file of that name is ./mine"],
    );
    let said = place.kdyno(&["scenarios", "mine"]);
    refused(&said, &["no bundled scenario `mine`"]);
    assert!(!said.stderr.contains("./mine"), "only bundled ones are printed: {said:?}");
    let help = place.kdyno(&["run", "--help"]).stdout;
    assert!(help.contains("a path with a `/`"), "{help}");
}

#[test]
fn a_dry_run_without_a_home_prints_the_plan_and_what_is_missing() {
    let place = TestFolder::new();
    for json in [&[][..], &["--json"]] {
        let mut command = place.command(&[&["run", "first-light", "--dry-run"], json].concat());
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_STATE_HOME");
        let said = place.start(command).wait(crate::common::QUICKLY);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("first-light"), "{said:?}");
        let warnings = (said.stdout + &said.stderr).matches("warning: ").count();
        assert_eq!(warnings, 1, "{}", said.stderr);
    }
}

#[test]
fn an_impossible_cluster_is_refused_before_anything_is_fetched() {
    let place = TestFolder::new();
    let up = |args: &[&str]| {
        let mut command = place.command(&[&["cluster", "up"], args].concat());
        command.env("XDG_CACHE_HOME", place.path().join("cache"));
        place.start(command).wait(crate::common::QUICKLY)
    };
    refused(&up(&["--kafka", "2.8.2", "--brokers", "3"]), &["single combined broker", "hint: use 2.8.1"]);
    refused(&up(&["--kafka", "4.1.1", "--mode", "zookeeper=1"]), &["no ZooKeeper mode"]);
    refused(&up(&["--config", "listeners=PLAINTEXT://:1"]), &["broker setting listeners"]);
    refused(
        &up(&["--kafka", "3.4.1", "--protocol", "SASL_SSL"]),
        &["no SCRAM users in its KRaft mode", "from 3.5"],
    );
    refused(&up(&["--acls"]), &["an authorizer needs authenticated clients"]);
    refused(&up(&["--tls", "1.3"]), &["TLS versions and client certificates go with SSL and SASL_SSL"]);
    let said = up(&["--config", "log.retention.bytes=1", "--heap", "1TiB", "--kafka", "0.1"]);
    refused(&said, &["is not a Kafka version"]);
    assert!(!place.path().join("cache").exists(), "nothing was fetched");
    place.expect_no_processes();
}

#[test]
fn a_standing_system_whose_logs_cannot_fit_is_not_started() {
    let place = TestFolder::new();
    // 30 000 replicas of 80 MiB: 2.5 TB.
    let text = SCENARIO.replace("brokers: 1,", "brokers: 3,");
    let text = text.replace("partitions: 2, replicas: 1", "partitions: 10000, replicas: 3");
    let text = text + "vary: {brokers: [3, 4]}\n";
    let path = place.file("small.yaml", &text);
    let mut command = place.command(&["up", path.to_str().expect("plain path")]);
    command.env("XDG_CACHE_HOME", place.path().join("cache"));
    let said = place.start(command).wait(crate::common::QUICKLY);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("30000 replicas of partitions take up to 80.0 MiB each"), "{said:?}");
    let first = "the 2 cases have different systems; only that of the first is started: brokers=3";
    assert!(said.stderr.contains(first), "{said:?}");
    assert!(!place.path().join("cache").exists(), "nothing was fetched");
    place.expect_no_processes();
}

#[test]
fn a_target_file_is_printed_only_for_a_kept_cluster() {
    let said = TestFolder::new().kdyno(&["cluster", "target", "gone"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.stderr.contains("no cluster named gone is running"), "{said:?}");
}

#[test]
fn kraft_that_cannot_replicate_is_refused() {
    refused(
        &planned("kafka: 4.1.1, mode: kraft", "kafka: 2.8.2, mode: {controllers: 1}"),
        &["small.yaml:5:", "single combined broker", "hint: use 2.8.1"],
    );
}

#[test]
fn an_address_that_is_none_is_refused_before_anything_is_tried() {
    let place = TestFolder::new();
    for wrong in ["garbage", "host:", "host:0", "host:99999", "::1:9092", "ok:9092,other", "a b:1", ""] {
        let said = place.kdyno(&["quick", "--bootstrap-server", wrong]);
        refused(&said, &["error: --bootstrap-server: `", "is not HOST:PORT", "hint: HOST:PORT", "brackets"]);
    }
}

#[test]
fn an_unknown_scenario_names_the_nearest_one() {
    refused(
        &TestFolder::new().kdyno(&["run", "first-lihgt"]),
        &["error: there is no bundled scenario `first-lihgt`", "hint:", "`first-light`"],
    );
}

#[test]
fn a_missing_file_is_reported_with_its_folder_and_what_is_there() {
    let place = TestFolder::new();
    place.file("orders.yaml", SCENARIO);
    place.file("order.txt", "the name alone is nearer");
    let sought = |file: &str| format!("error: there is no scenario {}\n", place.path().join(file).display());
    refused(
        &place.kdyno(&["run", "./order.yaml"]),
        &[&sought("order.yaml"), "hint: did you mean `./orders.yaml`?"],
    );
    let said = place.kdyno(&["run", "zebra.yaml"]);
    refused(&said, &[&sought("zebra.yaml")]);
    assert!(!said.stderr.contains("did you mean"), "{said:?}");
    assert!(said.stderr.contains("hint: `kdyno init zebra.yaml` writes one"), "{said:?}");
    refused(
        &place.kdyno(&["run", "gone/order.yaml"]),
        &[
            &sought("gone/order.yaml"),
            &format!("hint: there is no folder {}", place.path().join("gone").display()),
        ],
    );
}

#[test]
fn an_unknown_key_has_a_place_and_the_nearest_known_one() {
    refused(
        &planned("partitions: 2", "partition: 2"),
        &["small.yaml:7:", "partition", "hint:", "`partitions`"],
    );
}

#[test]
fn a_wrong_unit_has_a_place() {
    refused(&planned("value: 100B", "value: 100s"), &["small.yaml:9:", "100s"]);
}

#[test]
fn more_replicas_than_brokers_is_refused() {
    refused(&planned("replicas: 1", "replicas: 3"), &["small.yaml:", "replicas"]);
}

#[test]
fn zookeeper_with_kafka_4_is_refused() {
    refused(
        &planned("mode: kraft", "mode: {zookeeper: 1}"),
        &["small.yaml:5:", "Kafka 4.1 has no ZooKeeper mode"],
    );
}

#[test]
fn a_topic_without_partitions_is_refused() {
    refused(&planned("partitions: 2", "partitions: 0"), &["small.yaml:7:", "partitions"]);
}

#[test]
fn an_unknown_parameter_is_refused() {
    refused(
        &TestFolder::new().kdyno(&["run", "first-light", "--dry-run", "--set", "borkers=1"]),
        &["borkers", "hint:"],
    );
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let place = TestFolder::new();
    refused(&place.kdyno(&["show", "latest"]), &["error: there is no run in"]);
    refused(&place.kdyno(&["export", "2020", "--format", "json"]), &["error: there is no run `2020`"]);
}

#[test]
fn a_file_that_is_no_run_is_a_mistake() {
    let place = TestFolder::new();
    let path = place.file("text.kdyno", "this is no run file, but long enough to be looked at closely\n");
    let said = place.kdyno(&["show", path.to_str().expect("plain path")]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("is not a run file of kdyno"), "{said:?}");
}

#[test]
fn an_empty_folder_has_no_runs() {
    let place = TestFolder::new();
    let said = place.kdyno(&["runs"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(place.kdyno(&["runs", "--json"]).stdout.trim(), "[]");
    refused(&place.kdyno(&["runs", "--dir", "nowhere"]), &["error: there is no folder"]);
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let said = TestFolder::new().kdyno(&["completions", shell]);
        assert_eq!(said.code, Some(0));
        assert!(said.stdout.contains("kdyno"), "{shell}");
    }
    // The script asks the program.
    let place = TestFolder::new();
    let mut asked = place.command(&["--", "kdyno", "run", "first-l"]);
    asked.env("KDYNO_COMPLETE", "fish");
    let said = place.start(asked).wait(RUN_DEADLINE);
    assert_eq!(said.stdout.trim(), "first-light", "{said:?}");
}

#[test]
fn each_command_has_a_manual_page() {
    let place = TestFolder::new();
    let said = place.kdyno(&["man", "man/man1"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let page =
        |name: &str| std::fs::read_to_string(place.path().join("man/man1").join(name)).unwrap_or_default();
    assert!(page("kdyno.1").contains("kdyno\\-run(1)"), "{}", page("kdyno.1"));
    assert!(page("kdyno-run.1").contains("\\fB\\-\\-dry\\-run\\fR"), "{}", page("kdyno-run.1"));
    assert_eq!(page("kdyno-worker.1"), "", "what is no command for people has no page");
    place.file("taken", "");
    let said = place.kdyno(&["man", "taken"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("error: taken: "), "{said:?}");
}

#[test]
fn the_schemas_are_json() {
    for of in ["scenario", "target", "run", "doctor"] {
        let said = TestFolder::new().kdyno(&["schema", of]);
        let schema: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert!(schema.get("$schema").is_some(), "{of}");
    }
}

#[test]
fn a_schema_is_written_where_one_says() {
    let place = TestFolder::new();
    let printed = place.kdyno(&["schema"]).stdout;
    let said = place.kdyno(&["schema", "scenario", "--write", "a.schema.json"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stderr.contains("# yaml-language-server: $schema=a.schema.json"), "{said:?}");
    let written = std::fs::read_to_string(place.path().join("a.schema.json")).expect("the schema");
    assert_eq!(written, printed);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let place = TestFolder::new();
    let binary = env!("CARGO_BIN_EXE_kdyno");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("set -o pipefail; '{binary}' scenarios ibm-fast | head -n 1")]);
    let said = place.start(shell).wait(crate::common::QUICKLY);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.stderr.contains("panicked"), "{said:?}");
}

/// As Kafka's tool: whatever is wrong ends with 1, usage goes to standard error, and names of columns come before anything
/// is connected to.
#[test]
fn the_drop_in_for_the_consumer_tool_fails_as_that_does() {
    let place = TestFolder::new();
    let run = |args: &[&str]| place.kdyno(&[&["consumer-perf-test"], args].concat());
    let full = ["--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--num-records", "1"];
    for (args, words) in [
        (&[][..], "Option "),
        (&["--help"], "--num-records <count>"),
        (&["-h"], "h is not a recognized option\nOption "),
        (
            &full[..4],
            "Exactly one of the following arguments is required: [messages], [num-records]\nOption ",
        ),
    ] {
        let said = run(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{args:?}: {said:?}");
        assert!(said.stderr.contains(words), "{args:?}: {said:?}");
    }
    let unreachable = run(&full);
    assert_eq!(unreachable.code, Some(1), "{unreachable:?}");
    assert!(
        unreachable.stdout.starts_with("start.time, end.time, ") && unreachable.stdout.lines().count() == 1
    );
    assert!(unreachable.stderr.contains("error: "), "{unreachable:?}");
    let wrong = [&full[..], &["--command-property", "security.protocol=PLAIN", "--hide-header"]].concat();
    let said = run(&wrong);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.stderr.contains("`security.protocol`"), "{said:?}");
    // Settings are refused before anybody is asked, behind the names of columns, which the tool prints first.
    let said = run(&[&full[..], &["--command-property", "fetch.min.bytes=x"]].concat());
    assert_eq!((said.code, &said.stdout), (Some(1), &unreachable.stdout), "{said:?}");
    assert!(said.stderr.contains("`fetch.min.bytes`: `x` is not a number of bytes"), "{said:?}");
    assert!(!place.path().join("kdyno-runs").exists(), "nothing was run");
}
