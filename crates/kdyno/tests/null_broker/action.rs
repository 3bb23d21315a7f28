//! The action for GitHub's runners: its script, as a runner starts it.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCENARIO: &str = "\
kdyno: 1
id: action
question: Does the job end as it should?
system: {kafka: null-broker}
topics: {perf: {partitions: 1}}
load: {writers: {produce: perf, rate: 200/s, value: 100B}}
phases: {warmup: 0s, condition: none, measure: 1s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/kdyno")
}

/// A job with these inputs, and nothing else of this program's.
fn job(place: &TestFolder, inputs: &[(&str, &str)]) -> ProgramOutput {
    let kdyno = place.command(&[]);
    let mut script = Command::new(folder().join("measure.sh"));
    script.current_dir(place.path()).envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.env("RUNNER_TEMP", place.path()).env_remove("KDYNO_OUT");
    for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        script.env(file, place.file(file, ""));
    }
    place.file("action.yaml", SCENARIO);
    script.env("INPUT_SCENARIO", "action.yaml").env("INPUT_ARGUMENTS", "--share\n--seed\n1");
    script.envs(inputs.iter().copied());
    place.start(script).wait(RUN_DEADLINE)
}

/// What the job left in a file of the runner's.
fn left(place: &TestFolder, file: &str) -> String {
    std::fs::read_to_string(place.path().join(file)).expect("the runner's file")
}

/// An archive as `make release` packs it; its program starts the one under test.
fn archive(place: &TestFolder) -> PathBuf {
    let program = place.path().join("kdyno-0.1.0-x86_64-linux/kdyno");
    std::fs::create_dir(program.parent().expect("a folder")).expect("made");
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_kdyno"));
    std::fs::write(&program, text).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it can run");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--file", "kdyno.tar.gz", "kdyno-0.1.0-x86_64-linux"]);
    assert!(tar.current_dir(place.path()).status().expect("tar runs").success());
    place.path().join("kdyno.tar.gz")
}

#[test]
fn a_threshold_makes_the_job_red_and_its_evidence_is_kept() {
    let place = TestFolder::new();
    let archive = archive(&place);
    let said = job(
        &place,
        &[
            ("INPUT_KDYNO", archive.to_str().expect("plain path")),
            ("INPUT_FAIL_IF", "writers.acked_per_s > 1/s"),
        ],
    );
    assert_eq!(said.code, Some(3), "{said:?}");
    let output = left(&place, "GITHUB_OUTPUT");
    let results = output.lines().find_map(|line| line.strip_prefix("folder=")).expect("its folder");
    assert!(output.contains("code=3\n"), "{output}");
    let files = std::fs::read_dir(results).expect("results").map(|file| file.expect("an entry").path());
    let endings: BTreeSet<_> =
        files.filter_map(|file| Some(file.extension()?.to_str()?.to_owned())).collect();
    assert!(["html", "kdyno", "xml"].iter().all(|ending| endings.contains(*ending)), "{endings:?}");
    assert!(left(&place, "GITHUB_STEP_SUMMARY").contains("writers.acked_per_s > 1/s"), "{said:?}");
    place.expect_no_processes();
}

#[test]
fn a_wrong_input_is_named_and_nothing_is_begun() {
    let place = TestFolder::new();
    let archive = archive(&place);
    let archive = archive.to_str().expect("plain path");
    let missing = place.path().join("none.tar.gz");
    let no_archive = place.file("text.tar.gz", "no archive");
    let wrong: [(&[(&str, &str)], &str); 6] = [
        (&[("INPUT_KDYNO", missing.to_str().expect("plain path"))], "there is no file"),
        (&[("INPUT_KDYNO", no_archive.to_str().expect("plain path"))], "is no archive of kdyno"),
        (&[("INPUT_KDYNO", archive), ("INPUT_SHA256", "00")], "the sum of"),
        (&[("INPUT_KDYNO", "https://127.0.0.1:1/kdyno.tar.gz")], "needs its sum"),
        (&[("INPUT_KDYNO", "/usr/bin/false")], "does not run here"),
        (&[("PATH", "/usr/bin:/bin")], "kdyno is not in PATH"),
    ];
    for (inputs, words) in wrong {
        let said = job(&place, inputs);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        let error = said.stdout.lines().find(|line| line.starts_with("::error"));
        assert!(error.is_some_and(|line| line.contains(words)), "{words}: {said:?}");
    }
    // What kdyno refuses it explains itself.
    let said = job(&place, &[("INPUT_KDYNO", archive), ("INPUT_FAIL_IF", "writers.speed > 1")]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("writers.speed"), "{said:?}");
    assert_eq!(left(&place, "GITHUB_OUTPUT"), "code=2\n");
    assert_eq!(left(&place, "GITHUB_STEP_SUMMARY"), "");
}

#[test]
fn the_script_has_each_input_of_the_action() {
    let read = |file: &str| std::fs::read_to_string(folder().join(file)).expect("a file of the action");
    let (action, script) = (read("action.yml"), read("measure.sh"));
    let variables = |text: &str| -> BTreeSet<String> {
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let words = text.split(|c: char| !is_name(c)).filter(|word| word.starts_with("INPUT_"));
        words.filter(|word| word.len() > "INPUT_".len()).map(str::to_owned).collect()
    };
    assert_eq!(variables(&action), variables(&script));
    for input in variables(&action) {
        let name = input.trim_start_matches("INPUT_").to_lowercase().replace('_', "-");
        assert!(action.contains(&format!("\n  {name}:\n")), "{name} is no input");
        assert!(action.contains(&format!("{input}: ${{{{ inputs.{name} }}}}")), "{input}");
    }
}
