//! A run file of a stranger: no word in it moves the cursor of who reads it, turns the text around it, or is a formula.

use crate::common::{ProgramOutput, QUICKLY, RUN_DEADLINE, TestFolder, ran};
use crate::head;
use kdyno_model::finding::*;
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::ParamValue;
use kdyno_model::run::{RunStatus, SessionEnd};
use kdyno_model::words::is_acted_on;
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_store::RunWriter;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Clears the screen, colours, names the window, rings, goes back on the line, introduces a sequence in one character, and turns
/// text.
const EVIL: &str = "=e\x1b[2J\x1b[35m\x1b]0;x\x07\r\u{9b}1A\u{202e}\u{2066}\u{200f}l";

/// A file's name with it.
fn file(number: u32) -> String {
    format!("20261121-10000{number}-{EVIL}.kdyno")
}

/// A run of this scenario whose words are otherwise all of that kind.
fn plant(place: &TestFolder, number: u32, id: &str) {
    let (mut header, mut session) = head("small", &Choices::default(), u64::from(number) * 1_000_000_000);
    let text = header.scenario_text.replace("{brokers: 1}", "{kafka: null-broker}");
    let scenario = Scenario::parse(&text, "test").expect("a scenario");
    header.plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
    let plan = &mut header.plan;
    plan.scenario = id.to_owned();
    for words in [&mut plan.profile, &mut plan.question, &mut plan.cases[0].label] {
        *words = EVIL.to_owned();
    }
    plan.cases[0].params.insert(EVIL.to_owned(), ParamValue::Text(EVIL.to_owned()));
    header.scenario_path = EVIL.to_owned();
    session.command_line = vec!["kdyno".to_owned(), EVIL.to_owned()];
    session.kdyno_version = EVIL.to_owned();
    session.host_facts = [(EVIL.to_owned(), EVIL.to_owned())].into();
    let finding = Finding {
        scope: Scope::Case(0),
        of: Address::parse("writers.acked_per_s").expect("an address"),
        quantity: Quantity::Value,
        unit: Unit::RecordsPerS,
        estimate: Value::Is(f64::from(number)),
        n: 1,
        range: None,
        interval: Interval::NotResolvable(NotResolvable::OneTrial),
        marks: BTreeSet::new(),
    };
    let folder = place.path().join("kdyno-runs");
    std::fs::create_dir_all(&folder).expect("a folder of runs");
    let writer = RunWriter::create(&folder.join(file(number)), &header, &session).expect("a run file");
    writer.judgement(&Judgement { findings: vec![finding], ..Judgement::default() }).expect("findings");
    writer.log("broker-0", &format!("first line\n\tsecond {EVIL} line")).expect("a log");
    let end = SessionEnd { status: RunStatus::Failed, detail: EVIL.to_owned(), ended_unix_ns: u64::MAX >> 1 };
    writer.finish(end).expect("an end");
}

/// Nothing that would be acted on, but for lines and tabs.
fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| is_acted_on(c) && c != '\n' && c != '\t')
}

fn place() -> TestFolder {
    let place = TestFolder::new();
    (1..=2).for_each(|number| plant(&place, number, EVIL));
    place
}

/// What a command says, which is harmless, and which repeats the words somewhere.
fn said(place: &TestFolder, args: &[&str]) -> ProgramOutput {
    let said = place.kdyno(args);
    assert!(is_harmless(&said.stdout) && is_harmless(&said.stderr), "{args:?}: {said:?}");
    let repeats = |text: &str| text.contains('\u{fffd}') || text.contains("\\u001b[2J");
    assert!(repeats(&said.stdout) || repeats(&said.stderr), "{args:?} repeats nothing: {said:?}");
    said
}

#[test]
fn words_of_a_run_file_are_shown_and_not_acted_on() {
    let place = place();
    let [one, two] = [file(1), file(2)];
    for args in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", &one],
        &["show", &one, "--details"],
        &["show", &one, "--format", "markdown"],
        &["show", &one, "--json"],
        &["show", &one, "--plan"],
        &["show", &one, "--config"],
        &["show", &one, &two],
        &["compare", &one, &two],
        &["compare", "--course", "writers.acked_per_s", &one, &two],
        &["export", &one, "--format", "json"],
        &["export", &one, "--format", "markdown"],
        &["export", &one, "--format", "junit"],
        &["report", &one],
        // What was typed may have come from a list of files.
        &["show", EVIL],
        &["run", EVIL],
        &["runs", EVIL],
        &["show", &one, &format!("--{}", &EVIL[1..])],
    ] {
        said(&place, args);
    }
    let logs = said(&place, &["show", &one, "--logs"]);
    assert!(logs.stdout.contains("first line\n\tsecond =e\u{fffd}[2J"), "{logs:?}");
    let page = place.path().join("kdyno-runs").join(&one).with_extension("html");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(is_harmless(&page) && page.contains("\u{fffd}[2J"), "the page");
    let json = place.kdyno(&["show", &one, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["scenario"], EVIL, "no value is changed");
}

#[test]
fn words_of_a_run_that_is_run_again_are_shown_and_not_acted_on() {
    // With an id of that kind it is not run at all.
    let place = TestFolder::new();
    plant(&place, 1, "small");
    let said = place.start(place.command(&["rerun", &file(1), "--share", "--trust"])).wait(RUN_DEADLINE);
    ran(&said);
    assert!(is_harmless(&said.stdout) && is_harmless(&said.stderr), "{said:?}");
    assert!(said.stderr.contains("trial 1 of 1: =e\u{fffd}[2J"), "{said:?}");
    place.expect_no_processes();
}

#[test]
fn data_stays_as_it_is_in_a_pipe_and_no_field_is_a_formula() {
    let place = place();
    let csv = place.kdyno(&["export", &file(1), "--format", "csv"]).stdout;
    assert!(csv.contains(&format!(",'{EVIL},")) || csv.contains(&format!(",\"'{EVIL}\",")), "{csv:?}");
    assert!(!csv.contains(",="), "{csv:?}");
    // To a terminal it is text.
    let kdyno = place.command(&["export", "latest", "--format", "csv"]);
    let words = std::iter::once(kdyno.get_program()).chain(kdyno.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().expect("plain words")).collect();
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]);
    script.current_dir(place.path()).stdin(Stdio::null()).env("SHELL", "/bin/sh");
    let seen = place.start(script).wait(QUICKLY);
    let shown = seen.stdout.replace("\r\r\n", "\n");
    assert!(seen.code == Some(0) && is_harmless(&shown), "{seen:?}");
    assert!(shown.contains("'=e\u{fffd}[2J"), "{shown:?}");
}
