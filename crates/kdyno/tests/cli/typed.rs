//! What is typed otherwise than kdyno has it: bare numbers, options by the environment, words of other tools, files with
//! several mistakes or of another kind.

use crate::common::{ProgramOutput, QUICKLY, TestFolder, one_line};

const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {brokers: 1, rate: 100/s, dur: 2s, size: 100B}
system: {kafka: 4.1.1, brokers: $brokers}
topics:
  perf: {partitions: 2}
load:
  writers: {produce: perf, rate: $rate, value: $size}
phases: {warmup: 1s, measure: $dur}
show: {columns: [writers.acked_per_s]}
";

/// What is said of a command on a file of the test's own.
fn said(text: &str, args: &[&str]) -> ProgramOutput {
    said_with(text, args, &[])
}

fn said_with(text: &str, args: &[&str], variables: &[(&str, &str)]) -> ProgramOutput {
    let place = TestFolder::new();
    place.file("small.yaml", text);
    let mut command = place.command(args);
    command.envs(variables.iter().copied());
    let said = place.start(command).wait(QUICKLY);
    place.expect_no_processes();
    said
}

fn refused(said: &ProgramOutput, words: &[&str]) {
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "no {word:?} in: {}", said.stderr);
    }
}

/// The plan of a dry run.
fn plan(args: &[&str]) -> serde_json::Value {
    let said = said(SCENARIO, &[args, &["--dry-run", "--json"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn rate_duration_and_size_set_params_and_need_no_unit() {
    let of_options = plan(&["run", "small.yaml", "--rate", "1000", "--duration", "5", "--size", "512"]);
    let expected = serde_json::json!({"rate": "1000/s", "dur": "5s", "size": "512B"});
    assert_eq!(of_options["changed"], expected);
    assert_eq!(of_options["cases"][0]["phases"]["measure_ns"], 5_000_000_000_u64);
    let set = ["--set", "rate=1000", "--set", "dur=5", "--set", "size=512"];
    let of_set = plan(&[&["run", "small.yaml"], &set[..]].concat());
    assert_eq!(of_set["changed"], expected);
    let with_units = plan(&[
        "find",
        "small.yaml",
        "--highest",
        "writers.rate",
        "--while",
        "writers.response.p99 <= 1s",
        "--rate",
        "2k/s",
        "--duration",
        "1m",
    ]);
    assert_eq!(with_units["changed"], serde_json::json!({"rate": "2k/s", "dur": "1m"}));
    let sides = ["--a", "size=50", "--b", "size=60B", "--rate", "20"];
    let compared = plan(&[&["compare", "small.yaml"], &sides[..]].concat());
    assert_eq!(compared["changed"], serde_json::json!({"rate": "20/s"}));
}

#[test]
fn an_option_whose_param_is_not_there_names_those_that_are() {
    let text = SCENARIO.replace("size: 100B", "bytes: 100B").replace("$size", "$bytes");
    let text = text.replace("dur: 2s", "window: 2s").replace("$dur", "$window");
    refused(
        &said(&text, &["run", "small.yaml", "--size", "1KiB"]),
        &[
            "error: --size: the scenario small has no param `size`\n",
            "hint: its params: `brokers`, `rate`, `window`, `bytes`; `--set NAME=VALUE` sets one\n",
        ],
    );
    refused(
        &said(&text, &["compare", "small.yaml", "--duration", "5"]),
        &["has no param `duration` or `dur`"],
    );
    refused(
        &said(SCENARIO, &["run", "small.yaml", "--rate", "fast"]),
        &["error: `--rate fast`: `rate`: `fast` is not a rate", "(used at small.yaml:9:"],
    );
    refused(
        &said(SCENARIO, &["compare", "RUN", "RUN", "--rate", "5"]),
        &["--rate: stored runs have run already"],
    );
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let text = SCENARIO
        .replace("{partitions: 2}", "{partition: 2}")
        .replace("rate: $rate, value: $size", "rate: $rat, value: 100s")
        .replace("measure: $dur", "measur: $dur")
        .replace("writers.acked_per_s", "writers.acked_pers");
    let said = said(&text, &["run", "small.yaml"]);
    refused(
        &said,
        &[
            "error: small.yaml:7:10: `partition` is not a key of the topic\nhint: did you mean `partitions`?\n",
            "error: small.yaml:9:34: `rat` is not a param of this scenario\nhint: did you mean `rate`?\n",
            "error: small.yaml:9:47: `value`: `100s` is a duration, not a size",
            "error: small.yaml:10:22: `measur` is not a key of `phases`\nhint: did you mean `measure`?\n",
            "error: small.yaml:11:18: `acked_pers` is not a metric of `writers`\nhint: did you mean `writers.acked_per_s`?",
        ],
    );
    assert_eq!(said.stderr.matches("error: ").count(), 5, "{}", said.stderr);
}

#[test]
fn at_most_twenty_mistakes_are_printed() {
    let many: String = (0..30).map(|n| format!("zz{n}: 1\n")).collect();
    let said = said(&(SCENARIO.to_owned() + &many), &["run", "small.yaml"]);
    refused(&said, &["small.yaml:12:1: `zz0` is not a key", "\n+ 10 more\n"]);
    assert_eq!(said.stderr.matches("error: ").count(), 20, "{}", said.stderr);
}

#[test]
fn a_file_that_is_no_scenario_is_named_for_what_it_is() {
    let of = |name: &str, text: &str, words: &[&str]| {
        let place = TestFolder::new();
        place.file(name, text);
        let said = place.kdyno(&["run", name]);
        refused(&said, words);
        assert_eq!(said.stderr.matches("error: ").count(), 1, "{}", said.stderr);
    };
    let properties = "bootstrap.servers=a:9092\nacks=all\n";
    of(
        "producer.properties",
        properties,
        &["this is a properties file of Kafka's clients", "`kdyno init --from FILE`"],
    );
    of(
        "omb.yaml",
        "name: x\ntopics: 1\npartitionsPerTopic: 1\nmessageSize: 100\nproducerRate: 10\n",
        &["this is a workload of the OpenMessaging Benchmark", "`kdyno omb --drivers"],
    );
    of("build.yml", "name: x\nsteps: [{run: make}]\n", &["this is no scenario", "hint: `kdyno init`"]);
    of("mine.db", "SQLite format 3\0 and so on", &["is a stored run", "`kdyno show`"]);
}

#[test]
fn what_others_call_it_leads_on() {
    let of = |args: &[&str]| said(SCENARIO, args);
    for args in [&["-v"][..], &["version"], &["--version"]] {
        let said = of(args);
        assert_eq!((said.code, &said.stdout), (Some(0), &of(&["-V"]).stdout), "{args:?}: {said:?}");
        assert!(said.stdout.starts_with("kdyno "), "{said:?}");
    }
    refused(&of(&["first-light"]), &["tip: `kdyno run first-light` runs a scenario"]);
    refused(&of(&["small.yaml"]), &["tip: `kdyno run small.yaml` runs a scenario"]);
    refused(&of(&["latest"]), &["tip: `kdyno show latest`"]);
    refused(&of(&["benchmark"]), &["tip: `kdyno quick` measures a running cluster"]);
    refused(&of(&["up", "small.yaml", "--rate", "5"]), &["'--rate'", "tip: ", "`--set rate=VALUE`"]);
    refused(&of(&["run", "small.yaml", "--brokers", "3"]), &["tip: ", "`--set brokers=VALUE`"]);
    refused(
        &of(&["run", "small.yaml", "--bootstrap-server", "a:1"]),
        &["tip: `kdyno quick` takes", "`--target FILE`"],
    );
    for (args, misleading) in [
        (&["rerun", "latest", "--rate", "5"], "--gate"),
        (&["rerun", "latest", "--duration", "5"], "--sustain"),
    ] {
        assert!(!of(args).stderr.contains(misleading), "{args:?}");
    }
}

#[test]
fn folders_of_runs_are_typed_alike() {
    let place = TestFolder::new();
    std::fs::create_dir(place.path().join("mine")).expect("a folder");
    for args in [&["runs", "mine"][..], &["runs", "--dir", "mine"]] {
        let said = place.kdyno(args);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stderr.contains("/mine\n"), "{said:?}");
    }
    refused(&place.kdyno(&["runs", "mine", "--dir", "mine"]), &["cannot be used with"]);
    for args in [&["serve", "gone"][..], &["serve", "--dir", "gone"], &["runs", "gone"]] {
        refused(&place.kdyno(args), &["error: there is no folder ", "/gone\n", "hint: "]);
    }
}

#[test]
fn options_may_come_from_the_environment() {
    let in_folder = |args: &[&str]| said_with(SCENARIO, args, &[("KDYNO_OUT", "elsewhere")]);
    refused(&in_folder(&["show", "latest"]), &["/elsewhere\n"]);
    let typed = in_folder(&["show", "latest", "--dir", "typed"]);
    refused(&typed, &["/typed\n"]);
    assert!(in_folder(&["runs"]).stderr.contains("/elsewhere\n"));

    refused(&said(SCENARIO, &["quick"]), &["error: no cluster was named", "KDYNO_BOOTSTRAP_SERVER"]);
    let quick = |args: &[&str], variables: &[(&str, &str)]| {
        said_with(SCENARIO, &[&["quick"], args].concat(), variables)
    };
    refused(&quick(&[], &[("KDYNO_BOOTSTRAP_SERVER", "nowhere")]), &["`nowhere` is not HOST:PORT"]);
    let other = ["--bootstrap-server", "typed"];
    refused(&quick(&other, &[("KDYNO_BOOTSTRAP_SERVER", "a:1")]), &["`typed` is not HOST:PORT"]);
    refused(
        &quick(&[], &[("KDYNO_COMMAND_CONFIG", "gone.properties")]),
        &["there is no properties file ", "gone.properties"],
    );
    // A file that was typed may be that of another cluster.
    let typed = quick(&["--command-config", "small.yaml"], &[("KDYNO_BOOTSTRAP_SERVER", "nowhere")]);
    assert!(typed.code != Some(0) && !typed.stderr.contains("nowhere"), "{typed:?}");
    // Nor does a login of the environment go to an address that was typed.
    let typed = quick(&other, &[("KDYNO_COMMAND_CONFIG", "gone.properties")]);
    refused(&typed, &["`typed` is not HOST:PORT"]);
    assert!(!typed.stderr.contains("gone"), "{typed:?}");
    let none = quick(&[], &[("KDYNO_BOOTSTRAP_SERVER", ""), ("KDYNO_COMMAND_CONFIG", "")]);
    refused(&none, &["error: no cluster was named"]);

    for (command, variables) in [
        ("run", &["KDYNO_OUT", "KDYNO_YES"][..]),
        ("quick", &["KDYNO_BOOTSTRAP_SERVER", "KDYNO_COMMAND_CONFIG", "KDYNO_OUT", "KDYNO_YES"]),
        ("show", &["KDYNO_OUT"]),
        ("serve", &["KDYNO_OUT"]),
    ] {
        let help = one_line(&said_with(SCENARIO, &[command, "--help"], &[("KDYNO_OUT", "s3cret")]).stdout);
        for variable in variables {
            assert!(help.contains(&format!("[env: {variable}")), "{command}: no {variable} in {help}");
        }
        assert!(!help.contains("s3cret"), "{help}");
    }
}
