//! Runs that are resumed.

use crate::common::TestFolder;
use crate::{place, store_planned, store_with};
use kdyno_model::outcome::Judgement;
use kdyno_model::run::RunStatus;
use kdyno_plan::Choices;

#[test]
fn a_completed_run_has_nothing_to_resume() {
    let said = place().kdyno(&["run", "--resume", "20261121-10"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("was completed") && said.stderr.contains("kdyno rerun"), "{said:?}");
}

#[test]
fn a_run_that_ran_out_of_time_says_so_and_can_be_resumed() {
    let place = TestFolder::new();
    let nothing = Judgement::default();
    store_with(&place, "20261122-100000-late.kdyno", "late", 1_000, RunStatus::OutOfTime, &nothing);
    let said = place.kdyno(&["runs"]);
    assert!(said.stdout.contains("  out of time  "), "{said:?}");
    // Documents have the code of the run file.
    let document = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&place.kdyno(words).stdout).expect("JSON")
    };
    assert_eq!(document(&["runs", "--json"])[0]["status"], "out_of_time");
    assert_eq!(document(&["show", "latest", "--json"])["status"], "out_of_time");
    let said = place.kdyno(&["run", "--resume", "latest", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn the_time_of_sessions_before_is_gone_from_the_budget() {
    const MINUTE_NS: u64 = 60_000_000_000;
    let place = TestFolder::new();
    let choices = Choices { budget_ns: Some(10 * MINUTE_NS), ..Choices::default() };
    let ended = |status| {
        let (file, nothing) = ("20261122-100000-late.kdyno", Judgement::default());
        let path = place.path().join("kdyno-runs").join(file);
        let _ = std::fs::remove_file(path);
        store_planned(&place, file, ("late", &choices), MINUTE_NS, (status, 10 * MINUTE_NS), &nothing);
    };
    let resume =
        |budget: &[&str]| place.kdyno(&[&["run", "--resume", "latest", "--dry-run"], budget].concat());
    // Nine minutes of ten.
    ended(RunStatus::Interrupted);
    assert_eq!(resume(&[]).code, Some(0));
    for (status, budget, total) in [
        (RunStatus::OutOfTime, &[][..], "10 min"),
        (RunStatus::OutOfTime, &["--budget", "9m"], "9 min"),
        (RunStatus::Interrupted, &["--budget", "9m"], "9 min"),
    ] {
        ended(status);
        let said = resume(budget);
        assert_eq!(said.code, Some(2), "{said:?}");
        let why = format!("took 9 min until now, and a budget of {total} holds no further trial");
        assert!(said.stderr.contains(&why) && said.stderr.contains("`--budget 19m`"), "{said:?}");
        assert_eq!(resume(&["--budget", "12m"]).code, Some(0), "a new total");
    }
}
