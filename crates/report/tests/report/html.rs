//! The HTML page.

use crate::fixture::{ComparisonEnd, comparison, run, run_of_texts, search};
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::plan::Depth;
use kdyno_model::run::RunStatus;
use kdyno_report::html::{SCRIPT, page};

/// Pages for the eye: `target/tmp/report.html` and others next to it after the tests.
#[test]
fn a_page_of_a_run() {
    let confirmed = SearchOutcome::Confirmed { load_per_s: 92_000.0 };
    let others = [
        ("report", run()),
        ("comparison", comparison(ComparisonEnd::Worse, Depth::Verdict)),
        ("search", search(confirmed)),
    ];
    for (name, run) in others {
        let path = format!("{}/{name}.html", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(path, page(&run.input())).expect("the test's own folder");
    }
    let run = run();
    // Style and pictures change often and are for the eye; the words and tables are pinned here.
    let mut input = run.input();
    input.series = &[];
    let html = page(&input);
    let words = html.split("<body>").nth(1).expect("a body");
    insta::assert_snapshot!(without_pictures(words).replace('>', ">\n"));
}

/// The page without its pictures, which may hold others.
fn without_pictures(html: &str) -> String {
    let mut depth = 0u32;
    let mut out = String::new();
    for part in html.split_inclusive('>') {
        let (text, tag) = part.split_at(part.rfind('<').unwrap_or(part.len()));
        if depth == 0 {
            out.push_str(text);
        }
        match tag {
            tag if tag.starts_with("<svg") => depth += 1,
            "</svg>" => depth -= 1,
            tag if depth == 0 => out.push_str(tag),
            _ => {}
        }
    }
    out
}

#[test]
fn the_end_of_a_session_is_described_in_words() {
    let mut run = run();
    run.sessions[0].1.as_mut().expect("the fixture has an end").status = RunStatus::OutOfTime;
    let html = page(&run.input());
    assert!(html.contains("; out of time ") && !html.contains("out_of_time"), "{html}");
}

#[test]
fn every_text_from_outside_is_escaped() {
    const EVIL: &str = "<script>alert('x')</script>\"&";
    let run = run_of_texts(|| EVIL.to_owned());
    let html = page(&run.input()).replace(SCRIPT, "");
    assert!(!html.contains("<script"), "a text was not escaped");
    assert!(!html.contains("\"&\""), "a text left its attribute");
    assert!(html.matches("&lt;script&gt;").count() > 20);
}

#[test]
fn the_page_loads_nothing() {
    let html = page(&run().input()).replace(SCRIPT, "");
    for forbidden in ["http://", "https://", "<script", "<link", "<img", "url(", "@import", " src="] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    // Links lead to places of the page itself.
    assert!(html.split(" href=").skip(1).all(|rest| rest.starts_with("\"#")), "{html}");
}

#[test]
fn caveats_stand_before_every_figure() {
    let html = page(&run().input());
    let caveat = html.find("Read first").expect("the caveats");
    assert!(caveat < html.find("<table").expect("a table"));
    assert!(caveat < html.find("<svg").expect("a chart"));
}

#[test]
fn what_one_types_looks_so() {
    let html = page(&run().input()).replace(SCRIPT, "");
    assert!(html.contains("<code>phases.warmup</code>"), "{html}");
    assert!(!html.contains('`'), "a backtick is on the page: {html}");
}

#[test]
fn a_run_that_was_cut_off_says_so() {
    let mut run = run();
    run.sessions[0].1 = None;
    assert!(page(&run.input()).contains("the run was cut off; 4 of 4 trials complete"));
    run.goes_on = run.trials.last().map(|start| start.trial.id);
    assert!(page(&run.input()).contains("its figures so far; 3 of 4 trials complete"));
    (run.findings, run.series, run.trials) = (vec![], vec![], vec![]);
    assert!(page(&run.input()).contains("0 of 4 trials complete"));
}

#[test]
fn sizes_of_the_host_have_a_unit() {
    let html = page(&run().input());
    assert!(html.contains("<dt>memory</dt><dd>23.5 GiB</dd>"), "{html}");
    assert!(!html.contains("25276510208"), "a raw size is on the page");
}

#[test]
fn a_single_trial_has_no_label() {
    let mut run = run();
    run.only_one_trial();
    let html = page(&run.input());
    let (results, _) = html.split_once("The plan: systems").expect("the plan behind the results");
    assert!(results.contains(">trial</th><th class=\"words\" scope=\"col\">stream</th>"), "{html}");
    assert!(!results.contains("the case") && !results.contains("brokers=3"), "{html}");
}

#[test]
fn each_session_has_its_host() {
    let mut run = run();
    let (mut second, end) = run.sessions[0].clone();
    second.number = 2;
    second.host_facts.insert("kernel".to_owned(), "6.99".to_owned());
    run.sessions.push((second, end));
    let html = page(&run.input());
    assert!(html.contains("Session 2: host and kdyno") && html.contains("6.99"), "{html}");
    assert!(html.contains("4 trials in 2 sessions"), "{html}");
}
