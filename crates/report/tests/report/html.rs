//! The HTML page.

use crate::fixture::{run, trial};
use kdyno_model::finding::{Caveat, Severity};
use kdyno_model::run::RunStatus;
use kdyno_report::html::page;

/// A page for the eye: `target/tmp/report.html` after the tests.
#[test]
fn a_page_of_a_run() {
    let run = run();
    let html = page(&run.input());
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/report.html"), &html)
        .expect("the test's own folder");
    // Style and curves change often and are for the eye; the words and tables are pinned here.
    let mut input = run.input();
    input.series = &[];
    let html = page(&input);
    let words = html.split("</style>").nth(1).expect("a body");
    insta::assert_snapshot!(words.replace('>', ">\n"));
}

#[test]
fn every_text_from_outside_is_escaped() {
    const EVIL: &str = "<script>alert('x')</script>\"&";
    let mut run = run();
    let evil = || EVIL.to_owned();
    run.header.scenario_text = evil();
    run.header.scenario_path = evil();
    run.header.kdyno_version = evil();
    run.header.command_line = vec![evil()];
    run.header.git_head = Some(evil());
    run.header.host_facts.insert(evil(), evil());
    let plan = &mut run.header.plan;
    plan.scenario = evil();
    plan.question = evil();
    plan.profile = evil();
    plan.changed.insert(evil(), evil());
    plan.cases[0].label = evil();
    plan.show.rows.push(evil());
    plan.show.columns[0].subject = evil();
    let published = plan.published.as_mut().expect("the fixture has one");
    (published.title, published.date, published.hardware, published.definition) =
        (evil(), evil(), evil(), evil());
    published.rows[0].values.insert(format!("{EVIL}.response.p99"), Some(1.0));
    run.end.status = RunStatus::Failed;
    run.end.detail = evil();
    run.trials[0].cluster.insert(evil(), evil());
    run.trials[0].command_lines.insert(evil(), vec![evil()]);
    let event = &mut run.events[0].1;
    (event.kind, event.subject, event.detail) = (evil(), evil(), evil());
    run.caveats.push((trial(0, 0), Severity::Warning, Caveat::ProcessDied { subject: evil() }));
    run.caveats.push((trial(0, 0), Severity::Warning, Caveat::CutShort { reason: evil() }));
    run.series[0].streams[1].name = evil();
    run.series[0].cpu[0].subject = evil();

    let html = page(&run.input());
    assert!(!html.contains("<script"), "a text was not escaped");
    assert!(!html.contains("\"&\""), "a text left its attribute");
    assert!(html.matches("&lt;script&gt;").count() > 20);
}

#[test]
fn the_page_loads_nothing() {
    let html = page(&run().input());
    for forbidden in ["http://", "https://", "<script", "<link", "<img", "url(", "@import", " src=", " href="]
    {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn caveats_stand_before_every_figure() {
    let html = page(&run().input());
    let caveat = html.find("Read first").expect("the caveats");
    assert!(caveat < html.find("<table").expect("a table"));
    assert!(caveat < html.find("<svg").expect("a chart"));
}

#[test]
fn a_run_that_was_cut_off_says_so() {
    let run = run();
    let mut input = run.input();
    input.end = None;
    assert!(page(&input).contains("The run was cut off"));
    input.findings = &[];
    input.series = &[];
    input.trials = &[];
    assert!(page(&input).contains("4 of them without figures"));
}
