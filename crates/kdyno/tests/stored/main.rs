//! Which stored run is meant, and what lies next to it in the folder of runs.

#[path = "../common/mod.rs"]
mod common;
mod planted;
mod publish;
mod resumed;
mod serve;
mod strangers;

use common::{ProgramOutput, TestFolder};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::finding::*;
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::*;
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd};
use kdyno_model::trial::TrialId;
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_store::RunWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Stores a run without trials.
fn store(place: &TestFolder, file: &str, scenario: &str, started_unix_ns: u64) {
    store_with(place, file, scenario, started_unix_ns, RunStatus::Completed, &Judgement::default());
}

/// Stores a run with these conclusions, without the trials.
fn store_with(
    place: &TestFolder,
    file: &str,
    scenario: &str,
    started_unix_ns: u64,
    status: RunStatus,
    judgement: &Judgement,
) {
    let choices = Choices::default();
    store_planned(
        place,
        file,
        (scenario, &choices),
        started_unix_ns,
        (status, started_unix_ns + 1),
        judgement,
    );
}

/// Stores a run of a plan that was made so, and that ended then.
fn store_planned(
    place: &TestFolder,
    file: &str,
    (scenario, choices): (&str, &Choices),
    started_unix_ns: u64,
    (status, ended_unix_ns): (RunStatus, u64),
    judgement: &Judgement,
) {
    let folder = place.path().join("kdyno-runs");
    std::fs::create_dir_all(&folder).expect("a folder of runs");
    let (header, session) = head(scenario, choices, started_unix_ns);
    let writer = RunWriter::create(&folder.join(file), &header, &session).expect("a run file");
    writer.judgement(judgement).expect("findings");
    let end = SessionEnd { status, detail: String::new(), ended_unix_ns };
    writer.finish(end).expect("an end");
}

/// What a run file begins with.
fn head(scenario: &str, choices: &Choices, started_unix_ns: u64) -> (RunHeader, Session) {
    let text = format!(
        "kdyno: 1\nid: {scenario}\nquestion: Does {scenario} work?\nparams: {{rate: 100/s}}\nsystem: {{brokers: 1}}\n\
         topics: {{perf: {{partitions: 1, replicas: 1}}}}\n\
         load: {{writers: {{produce: perf, rate: $rate, value: 100B}}}}\nphases: {{measure: 1s}}\n"
    );
    let parsed = Scenario::parse(&text, "test").expect("a scenario");
    let header = RunHeader {
        run_id: started_unix_ns,
        plan: kdyno_plan::plan(&parsed, choices).expect("a plan"),
        scenario_text: text,
        scenario_path: "test".to_owned(),
    };
    (header, session(started_unix_ns))
}

/// The first session of a run.
fn session(started_unix_ns: u64) -> Session {
    Session {
        number: 1,
        started_unix_ns,
        kdyno_version: "0.1.0".to_owned(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: String::new(),
        processors: 1,
        host_facts: BTreeMap::new(),
    }
}

/// Two readable runs, and newer files that are none.
fn place() -> TestFolder {
    let place = TestFolder::new();
    store(&place, "20261121-100000-one.kdyno", "one", 1_000);
    store(&place, "20261121-110000-two.kdyno", "two", 2_000);
    // A copy that was renamed keeps its time.
    store(&place, "baseline.kdyno", "one", 500);
    place.file("kdyno-runs/20261121-120000-three.kdyno", "no run, but long enough to be looked at closely\n");
    place
}

fn shows(said: &ProgramOutput, question: &str) {
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(question), "{said:?}");
}

#[test]
fn the_latest_is_the_newest_that_can_be_read() {
    let place = place();
    let said = place.kdyno(&["show", "latest"]);
    shows(&said, "Does two work?");
    let warned = said.stderr.lines().filter(|line| line.starts_with("left out: ")).count();
    assert_eq!(warned, 1, "{said:?}");
    assert!(said.stderr.contains("three.kdyno is not a run file of kdyno"), "{said:?}");
    shows(&place.kdyno(&["export", "latest", "--format", "json"]), "Does two work?");
    place.file("kdyno-runs/20261121-130000-four.kdyno", "");
    let said = place.kdyno(&["report", "latest"]);
    shows(&said, "two.html");
    assert!(said.stderr.contains("and 1 more"), "{said:?}");
}

#[test]
fn a_report_is_opened_with_the_desktops_program() {
    let place = place();
    let opener = place.file("xdg-open", "#!/bin/sh\necho \"$1\" >> opened\n");
    let open = |mode| {
        std::fs::set_permissions(&opener, Permissions::from_mode(mode)).expect("a program's mode");
        let mut command = place.command(&["report", "latest", "--open"]);
        command.env("PATH", place.path());
        place.start(command).wait(common::QUICKLY)
    };
    let said = open(0o700);
    shows(&said, "two.html");
    let opened = std::fs::read_to_string(place.path().join("opened")).expect("what was opened");
    assert_eq!(opened, said.stdout, "the page that is printed");
    let said = open(0o600);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr.contains("with xdg-open: ") && said.stderr.contains("hint: open the file"),
        "{said:?}"
    );
}

#[test]
fn where_nothing_can_be_read_there_is_no_latest_run() {
    let place = TestFolder::new();
    std::fs::create_dir(place.path().join("kdyno-runs")).expect("a folder");
    place.file("kdyno-runs/x.kdyno", "no run, but long enough to be looked at closely\n");
    let said = place.kdyno(&["show", "latest"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("left out: ") && said.stderr.contains("error: there is no run in"),
        "{said:?}"
    );
}

#[test]
fn a_scenario_s_name_means_its_newest_run() {
    let place = place();
    let said = place.kdyno(&["show", "one"]);
    shows(&said, "Does one work?");
    assert!(said.stderr.contains("100000-one.kdyno"), "{said:?}");
    let said = place.kdyno(&["show", "first-light"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("`latest`") && said.stderr.contains("`kdyno runs`"), "{said:?}");
}

#[test]
fn the_beginning_of_a_name_is_enough_when_it_is_one_file_s() {
    let place = place();
    shows(&place.kdyno(&["show", "20261121-11"]), "Does two work?");
    let said = place.kdyno(&["show", "20261121-1"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    // One that is no run is reported as such, not as missing.
    let said = place.kdyno(&["show", "20261121-12"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("three.kdyno is not a run file of kdyno"), "{said:?}");
}

#[test]
fn an_unknown_run_is_reported_with_the_nearest_name() {
    let place = TestFolder::new();
    store(&place, "20261121-100000-upgrade-check.kdyno", "upgrade-check", 1_000);
    for (typed, meant) in [
        ("upgrade-chek", "did you mean `upgrade-check`? `latest` is the newest"),
        ("20261121-100000-upgrade-chek", "did you mean `20261121-100000-upgrade-check`? "),
    ] {
        let said = place.kdyno(&["show", typed]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(meant), "{said:?}");
    }
    let said = place.kdyno(&["show", "zzz"]);
    assert!(said.stderr.contains("hint: `latest` is the newest"), "{said:?}");
}

#[test]
fn a_scenario_in_place_of_a_run_is_refused_with_how_to_run_it() {
    let place = place();
    place.file("orders.yaml", "kdyno: 1\nid: orders\nquestion: How many orders?\n");
    let said = place.kdyno(&["show", "orders.yaml"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("orders.yaml is not a run file of kdyno"), "{said:?}");
    assert!(said.stderr.contains("hint: a scenario is run with `kdyno run orders.yaml`"), "{said:?}");
}

/// A run of scenario `rate` with a rate and the CPU time that it cost.
fn measured(place: &TestFolder, number: u32, rate: f64, marks: &[Mark]) {
    measured_with(place, number, rate, marks, Vec::new());
}

fn measured_with(place: &TestFolder, number: u32, rate: f64, marks: &[Mark], caveats: Vec<ScopedCaveat>) {
    let of = |name: &str, unit, value| Finding {
        scope: Scope::Case(0),
        of: Address::parse(name).expect("an address"),
        quantity: Quantity::Value,
        unit,
        estimate: Value::Is(value),
        n: 1,
        range: None,
        interval: Interval::NotResolvable(NotResolvable::OneTrial),
        marks: marks.iter().copied().collect::<BTreeSet<Mark>>(),
    };
    let findings = vec![
        of("writers.acked_per_s", Unit::RecordsPerS, rate),
        of("brokers.cpu_us_per_record", Unit::CpuUsPerRecord, if rate > 0.0 { 1e6 / rate } else { 0.0 }),
    ];
    let judgement = Judgement { findings, caveats, ..Judgement::default() };
    let file = format!("20261122-10000{number}-rate.kdyno");
    store_with(place, &file, "rate", u64::from(number) * 1_000_000_000, RunStatus::Completed, &judgement);
}

#[test]
fn the_list_of_runs_has_the_outcome_of_each() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 50_000.0, &[Mark::Invalid]);
    let said = place.kdyno(&["runs"]);
    let line = |file: &str| said.stdout.lines().find(|line| line.contains(file)).expect("a line").to_owned();
    let (first, second) = (line("20261122-100001-rate"), line("20261122-100002-rate"));
    assert!(first.contains("completed") && !first.contains("completed:"), "{first}");
    assert!(second.contains("completed: invalid figures"), "{second}");
    let said = place.kdyno(&["runs", "--json"]);
    let runs: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!([&runs[0]["answer"], &runs[1]["answer"]], ["fine", "invalid"], "{runs}");
}

#[test]
fn a_history_has_a_row_for_each_run_of_the_scenario_by_time() {
    let place = TestFolder::new();
    measured(&place, 2, 51_000.0, &[Mark::Drifting]);
    measured(&place, 1, 50_000.0, &[]);
    let said = place.kdyno(&["compare", "--course", "writers.acked_per_s", "rate"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (first, second) = (said.stdout.find("50,000/s"), said.stdout.find("51,000/s ᵃ"));
    assert!(first.is_some() && first < second, "{said:?}");
    assert!(said.stdout.contains("rose or fell throughout"), "{said:?}");
    let said = place.kdyno(&["compare", "--course", "writers.acked_per_s", "rate", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(rows[1]["value"], 51_000.0, "{rows}");
    let said = place.kdyno(&["compare", "--course", "writers.speed", "rate"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("none of the 2 runs has a figure of writers.speed"), "{said:?}");
    let said = place.kdyno(&["compare", "--course", "writers.aked_per_s", "rate"]);
    assert!(said.stderr.contains("hint: did you mean `writers.acked_per_s`? "), "{said:?}");
}

#[test]
fn runs_are_shown_next_to_each_other() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 51_000.0, &[Mark::Drifting]);
    let said = place.kdyno(&["show", "20261122-100002", "20261122-100001"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let row = |name: &str| -> String {
        let found = said.stdout.lines().find(|line| line.trim_start().starts_with(name));
        found
            .unwrap_or_else(|| panic!("no row {name}: {said:?}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("file"), "file 20261122-100002-rate.kdyno 20261122-100001-rate.kdyno");
    assert_eq!(row("writers acknowledged"), "writers acknowledged 51,000/s ᵃ 50,000/s");
    assert!(said.stdout.contains("rose or fell throughout"), "{said:?}");
    let said = place.kdyno(&["show", "20261122-100001", "20261122-100002", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["runs"][1]["file"], "20261122-100002-rate.kdyno", "{document}");
    let figure = &document["figures"][0];
    assert_eq!(
        (&figure["metric"], &figure["runs"][1]["value"]),
        (&"writers.acked_per_s".into(), &51_000.0.into())
    );
    let said = place.kdyno(&["show", "20261122-100001", "20261122-100002", "--format", "markdown"]);
    assert!(said.stdout.contains("| writers acknowledged | 50,000/s | 51,000/s ᵃ |"), "{said:?}");
    let said = place.kdyno(&["show", "20261122-100001", "20261122-100002", "--config"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--config is printed of one run, and 2 are named"), "{said:?}");
}

#[test]
fn a_history_without_a_timing_shows_the_response() {
    let place = TestFolder::new();
    let p99 = Finding {
        scope: Scope::Case(0),
        of: Address::parse("writers.response.p99").expect("an address"),
        quantity: Quantity::Value,
        unit: Unit::Ns,
        estimate: Value::Is(5e6),
        n: 1,
        range: None,
        interval: Interval::NotResolvable(NotResolvable::OneTrial),
        marks: BTreeSet::new(),
    };
    // As near by its letters.
    let service = Finding { of: Address::parse("writers.p99.9").expect("an address"), ..p99.clone() };
    let judgement = Judgement { findings: vec![service, p99], ..Judgement::default() };
    store_with(&place, "20261122-100001-rate.kdyno", "rate", 1_000, RunStatus::Completed, &judgement);
    let said = place.kdyno(&["compare", "--course", "writers.p99", "rate"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("error: the run has no figure of writers.p99"), "{said:?}");
    assert!(said.stderr.contains("did you mean `writers.response.p99`? `kdyno export RUN"), "{said:?}");
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let runs = place.path().join("kdyno-runs");
    std::fs::copy(runs.join("20261122-100001-rate.kdyno"), runs.join("copy.kdyno")).expect("a copy");
    for (before, after) in [("20261122-100001", "20261122-100001"), ("20261122-100001", "copy")] {
        let said = place.kdyno(&["compare", before, after]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(
            said.stderr.contains(".kdyno is the same run on both sides") && said.stdout.is_empty(),
            "{said:?}"
        );
    }
}

#[test]
fn two_stored_runs_say_after_the_verdict_what_they_cannot_show() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 40_000.0, &[]);
    let said = place.kdyno(&["compare", "20261122-100001", "20261122-100002"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (warning, figure) = (said.stdout.find("there is no interval"), said.stdout.find("40,000/s"));
    assert!(figure.is_some() && warning > figure, "{said:?}");
    let whole = place.kdyno(&["compare", "20261122-100001", "20261122-100002", "--details"]);
    for (text, is_whole) in [(&said.stdout, false), (&whole.stdout, true)] {
        assert_eq!(text.contains("in no drawn order"), is_whole, "{text}");
    }
    assert!(
        said.stdout.contains("no metric is judged") || said.stdout.contains("No metric is judged"),
        "{said:?}"
    );
    let strict = place.kdyno(&["compare", "20261122-100001", "20261122-100002", "--gate", "strict"]);
    assert_eq!(strict.code, Some(5), "{strict:?}");
    let said = place.kdyno(&["compare", "20261122-100001", "20261122-100002", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&said.stdout).is_ok(), "{said:?}");
}

#[test]
fn runs_of_different_scenarios_are_no_comparison() {
    let place = place();
    measured(&place, 1, 50_000.0, &[]);
    let said = place.kdyno(&["compare", "--before", "20261122-100001", "--after", "20261121-110000"]);
    assert!(said.stdout.contains("measure different things"), "{said:?}");
    assert!(!said.stdout.contains('→') && !said.stdout.contains("took place at different times"), "{said:?}");
    assert_eq!(said.code, Some(6), "{said:?}");
}

#[test]
fn a_run_that_lost_records_is_no_comparison() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let lost = ScopedCaveat {
        scope: Scope::Trial(TrialId(1)),
        severity: Severity::Invalid,
        concerns: Concern::Everything,
        caveat: Caveat::Lost { topic: "perf".to_owned(), acknowledged: 100_000, growth: 99_500 },
    };
    measured_with(&place, 2, 60_000.0, &[], vec![lost]);
    let said = place.kdyno(&["compare", "--before", "20261122-100001", "--after", "20261122-100002"]);
    assert!(said.stdout.starts_with("DATA LOSS: 500 of 100,000 acknowledged records"), "{said:?}");
    let named = "20261122-100002-rate.kdyno lost acknowledged records";
    assert!(said.stdout.replace("\n         ", " ").contains(named), "{said:?}");
    assert_eq!(said.code, Some(6), "{said:?}");
}

#[test]
fn a_figure_of_stored_runs_that_is_zero_decides_nothing() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 0.0, &[]);
    let said = place.kdyno(&["compare", "20261122-100001", "20261122-100002"]);
    assert!(said.stdout.contains("invalid"), "there is no ratio: {said:?}");
    assert!(
        said.stdout.contains("Stored runs, no verdict") && !said.stdout.contains("\nVerdict"),
        "{said:?}"
    );
    assert_eq!(said.code, Some(0), "nothing is judged of them: {said:?}");
}

#[test]
fn options_that_mean_nothing_for_stored_runs_are_refused() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 40_000.0, &[]);
    let runs = ["20261122-100001", "20261122-100002"];
    let refused = [
        (&["--judge", "writers.acked_per_s:3%"][..], "--judge: nothing of stored runs is judged"),
        (&["--junit", "out.xml"], "--junit: nothing of stored runs is judged"),
        (&["--b", "kafka=4.1.1"], "--b: what differs between stored runs"),
        (&["--budget", "25m"], "--budget: stored runs have run already"),
        (&["--sustain", "1h"], "--sustain: stored runs have run already"),
        (&["--quick"], "--quick: stored runs have run already"),
        (&["--dry-run"], "--dry-run: stored runs have run already"),
    ];
    for (options, why) in refused {
        for what in
            [&["compare", runs[0], runs[1]][..], &["compare", "--course", "writers.acked_per_s", "rate"]]
        {
            // A course has no sides to begin with.
            if what[1] == "--course" && options[0] == "--b" {
                continue;
            }
            let said = place.kdyno(&[what, options].concat());
            assert_eq!(said.code, Some(2), "{options:?}: {said:?}");
            assert!(said.stderr.contains(why) && said.stderr.contains("hint: "), "{options:?}: {said:?}");
        }
    }
    assert!(!place.path().join("out.xml").exists());
    let said = place.kdyno(&["compare", runs[0], runs[1], "--format", "markdown"]);
    assert!(said.stdout.starts_with("### 20261122-100001"), "{said:?}");
    assert!(said.stdout.contains("**Stored runs, no verdict**"), "{said:?}");
}

#[test]
fn stored_answers_are_exported_for_pull_requests_and_ci() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let said = place.kdyno(&["export", "latest", "--format", "markdown"]);
    assert!(said.stdout.starts_with("### rate, profile"), "{said:?}");
    let said = place.kdyno(&["export", "latest", "--format", "kubernetes"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stdout.is_empty() && said.stderr.contains("there is no trial 1: 0 were started"),
        "{said:?}"
    );
    let said = place.kdyno(&["export", "latest", "--format", "junit"]);
    assert!(said.stdout.contains("<testsuite name=\"kdyno rate\" tests=\"1\""), "{said:?}");
    let said = place.kdyno(&["show", "latest", "--format", "markdown"]);
    assert!(said.stdout.starts_with("### rate, profile"), "{said:?}");
}
