//! Several stored runs as one document.

use crate::common::TestFolder;
use crate::{measured, store, store_planned, store_with};
use kdyno_model::outcome::Judgement;
use kdyno_model::run::RunStatus;
use kdyno_plan::Choices;

#[test]
fn runs_become_a_document_with_the_author_s_front() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 60_000.0, &[]);
    let front =
        place.file("our.md", "---\ntitle: Two days\ndate: 2026-11-27\nscenarios: rate\n---\nWe measured.\n");
    let front = front.display().to_string();
    let said = place.kdyno(&[
        "report",
        "20261122-100001-rate",
        "20261122-100002-rate",
        "--document",
        &front,
        "-o",
        "two.html",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let page = std::fs::read_to_string(place.path().join("two.html")).expect("the document");
    let files = ["20261122-100001-rate.kdyno", "20261122-100002-rate.kdyno"];
    let has =
        ["Two days", "We measured.", files[0], files[1], "Test register"].map(|words| page.contains(words));
    assert_eq!(has, [true; 5], "{page}");
    // Without runs it is of the newest of each scenario; the ending says how it is written.
    let said = place.kdyno(&["publish", &front, "-o", "newest.md"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = std::fs::read_to_string(place.path().join("newest.md")).expect("the document");
    assert!(text.starts_with("# Two days\n"), "{text}");
    assert_eq!(files.map(|file| text.contains(file)), [false, true], "{text}");
}

#[test]
fn a_document_needs_whole_runs_of_its_listed_scenarios() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let (begun, whole) = ("20261122-100009-rate.kdyno", "20261122-100001-rate.kdyno");
    let nothing = Judgement::default();
    store_with(&place, begun, "rate", 9_000_000_000, RunStatus::Interrupted, &nothing);
    store(&place, "20261122-100010-other.kdyno", "other", 10_000_000_000);
    let front = place.file("our.md", "---\ntitle: Two days\nscenarios: rate\n---\nWe measured.\n");
    let front = front.display().to_string();
    let publish = |runs: &[&str]| {
        let args: Vec<&str> =
            ["publish", &front].into_iter().chain(runs.iter().copied()).chain(["-o", "x.md"]).collect();
        let said = place.kdyno(&args);
        assert_eq!(said.code, Some(0), "{said:?}");
        (said.stderr, std::fs::read_to_string(place.path().join("x.md")).expect("the document"))
    };
    let (said, text) = publish(&[]);
    assert_eq!([whole, begun].map(|file| text.contains(file)), [true, false], "{text}");
    assert!(said.contains("is newer and did not end as planned"), "{said}");
    // One that was changed is passed over, newer as it is.
    let (changed, at) = ("20261122-100012-rate.kdyno", 12_000_000_000);
    let choices = Choices { set: vec![("rate".to_owned(), "200/s".to_owned())], ..Choices::default() };
    store_planned(&place, changed, ("rate", &choices), at, (RunStatus::Completed, at + 1), &nothing);
    let (said, text) = publish(&[]);
    assert_eq!([whole, changed].map(|file| text.contains(file)), [true, false], "{text}");
    assert!(said.contains("is newer and was changed by `--set`"), "{said}");
    // By its own name the other one is taken, and a run of something else with a word.
    let (said, text) = publish(&["20261122-100009", "other"]);
    assert_eq!([whole, begun].map(|file| text.contains(file)), [false, true], "{text}");
    assert!(
        said.contains("is of scenario other, and the front") && !said.contains("is of scenario rate"),
        "{said}"
    );
}

#[test]
fn a_published_report_names_the_runs_that_it_lacks() {
    let place = TestFolder::new();
    store(&place, "20261122-100000-ibm-resilient.kdyno", "ibm-resilient", 1_000_000_000);
    let said = place.kdyno(&["publish", "ibm-2022"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("there is no run of ibm-fast") && said.stderr.contains("`kdyno run ibm-fast`"),
        "{said:?}"
    );
    let said = place.kdyno(&["publish", "reports/ibm-2022", "ibm-resilient"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let page = std::fs::read_to_string(place.path().join("ibm-2022.html")).expect("the document");
    assert!(page.contains("IBM Event Streams performance report"), "{page}");
}

#[test]
fn runs_that_make_no_document_are_refused() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let none = place.file("none.md", "---\ntitle: None\n---\n").display().to_string();
    let broken = place.file("broken.md", "# Title\n").display().to_string();
    let cases: [(&[&str], &str); 6] = [
        (&["publish", "ibm-2023"], "did you mean `ibm-2022`?"),
        (&["publish", "nowhere.md"], "nowhere.md"),
        (&["publish", &broken, "latest"], "it does not begin with a line of three dashes"),
        (&["publish", &none], "no run was named, and the front names no `scenarios`"),
        (&["publish", &none, "latest", "latest"], "is named twice"),
        (&["report", "latest", "rate"], "a page shows one run, not 2"),
    ];
    for (args, words) in cases {
        let said = place.kdyno(args);
        assert!(said.code == Some(2) && said.stderr.contains(words), "{args:?}: {said:?}");
    }
}
