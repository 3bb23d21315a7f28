//! A figure's marks are with it in every form of output.

use crate::answers::with_claims;
use crate::fixture::{ComparisonEnd, RunFixture, comparison, finding, run, search};
use kdyno_model::conclusion::{Conclusion, SearchOutcome, SteadyState};
use kdyno_model::finding::{Finding, Mark, Scope, Value};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::Depth;
use kdyno_report::course::{self, CourseRun};
use kdyno_report::judged::Gate;
use kdyno_report::stored::StoredComparison;
use kdyno_report::terminal::{
    PrintedOnce, TextOptions, answer_alone, config_text, look_text, run_summary, run_table, trial_summary,
};
use kdyno_report::{ReportInput, csv, html, json, junit, markdown};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

const OPTIONS: TextOptions = TextOptions { width: 140, colour: false };
/// A mark with its footnote, and its name in documents.
const MARK: (Mark, &str, &str) = (Mark::SeveralLevels, "ᵃ", "several_levels");
/// Characters between a figure and its footnote at most.
const BEHIND_MAX: usize = 64;
/// What a sentence with such a figure ends with.
const CLAUSE: &str = "marked: several levels.";

/// How a form shows marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Figures in tables, with footnotes behind them; those of a search's curve too.
    Signs { curve: bool },
    /// Sentences, with names at their end.
    Sentences,
    /// The tables of the answer, with footnotes; a sentence that sums up several verdicts names no figure.
    Summary,
    /// The sentences of the answer alone, with names at their end where they have no footnotes.
    Answer,
    /// Numbers for programs, with names in a field of their own.
    Fields,
    /// It has no figure of a window: readings of single seconds.
    Nothing,
}

/// A form of output: its function by module and name, and how it shows marks.
type PrintedForm = (&'static str, fn(&ReportInput<'_>) -> String, Shows);

const FORMS: [PrintedForm; 11] = [
    ("csv::findings", csv::findings, Shows::Fields),
    ("csv::series", csv::series, Shows::Nothing),
    ("html::page", html::page, Shows::Signs { curve: true }),
    // Settings, and no figure.
    ("json::config", |input| json::config(input).to_string(), Shows::Nothing),
    ("json::run", |input| json::run(input).to_string(), Shows::Fields),
    ("junit::document", |input| junit::document(input, Gate::default()), Shows::Sentences),
    ("markdown::block", markdown::block, Shows::Signs { curve: false }),
    ("terminal::answer_alone", |input| answer_alone(input, &OPTIONS), Shows::Answer),
    ("terminal::config_text", |input| config_text(input, &OPTIONS), Shows::Nothing),
    ("terminal::run_summary", |input| run_summary(input, &OPTIONS), Shows::Summary),
    ("terminal::run_table", |input| run_table(input, &OPTIONS), Shows::Signs { curve: true }),
];

/// Every figure of the run bears the mark; caveats, which have numbers without being figures, are left out.
fn marked(mut run: RunFixture) -> RunFixture {
    let marks = BTreeSet::from([MARK.0]);
    run.caveats.clear();
    for one in &mut run.findings {
        one.marks = marks.clone();
    }
    for one in &mut run.conclusions {
        match one {
            Conclusion::Verdict(of) => of.marks = [marks.clone(), marks.clone()],
            Conclusion::Claim(of) => of.marks = [marks.clone(), marks.clone()],
            Conclusion::Search(of) => {
                for point in &mut of.points {
                    point.marks = vec![marks.clone(); point.values.len()];
                }
            }
            Conclusion::Steadiness(_)
            | Conclusion::Limit(_)
            | Conclusion::Demand(_)
            | Conclusion::ToldApart(_)
            | Conclusion::SettingDiffers(_)
            | Conclusion::Members(_)
            | Conclusion::Health(_)
            | Conclusion::Processes(_)
            | Conclusion::WindowParts(_) => {}
        }
    }
    run
}

fn marked_search() -> RunFixture {
    let mut run = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    run.findings.push(finding(Scope::Search { case: 0 }, "writers.highest_per_s", Value::Is(98_412.0)));
    marked(run)
}

/// Places of a figure that are not a part of a longer number, nor an end of an interval.
fn places(text: &str, figure: &str) -> Vec<usize> {
    let is_alone = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + figure.len()..]);
        let part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let is_end = after.starts_with(" – ")
            || after.starts_with('–')
            || before.ends_with(['–', '('])
            || before.ends_with("– ")
            || before.ends_with("from ");
        !before.ends_with(part) && !after.starts_with(|c: char| c.is_ascii_digit()) && !is_end
    };
    text.match_indices(figure).map(|(at, _)| at).filter(is_alone).collect()
}

/// What is read of a page: without its tags and its head, and without the numbers of axes.
fn read_of(text: &str) -> String {
    if !text.starts_with("<!DOCTYPE") {
        return text.to_owned();
    }
    let body = text.split_once("</head>").expect("a head").1;
    let parts = body.split('<').filter(|part| !part.starts_with("text "));
    let parts = parts.map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join("\n")
}

fn assert_signed(form: &str, text: &str, figures: &[&str]) {
    let text = &read_of(text);
    for figure in figures {
        let places = places(text, figure);
        assert!(!places.is_empty(), "{form} does not tell {figure}: {text}");
        for at in places {
            // Its interval, its unit and another column's line end lie between at most.
            let behind: String = text[at + figure.len()..].chars().take(BEHIND_MAX).collect();
            assert!(behind.contains(MARK.1), "{form} tells {figure} without its mark: {text}");
        }
    }
    assert!(text.contains("ᵃ moved between levels"), "{form} does not say what the sign means: {text}");
}

#[test]
fn every_form_of_output_is_in_the_list() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a source file");
    let lib = read(&src.join("lib.rs"));
    let public = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut found = BTreeSet::new();
    for module in public {
        let folder = std::fs::read_dir(src.join(module)).into_iter().flatten();
        let mut files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        files.push(src.join(format!("{module}.rs")));
        files.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "rs"));
        for text in files.iter().map(|path| read(path)) {
            let functions = text.split("\npub fn ").skip(1).filter_map(|text| text.split_once('{'));
            for (head, _) in functions {
                let is_text = head.contains("-> String") || head.contains("-> serde_json::Value");
                if is_text && head.contains("input: &ReportInput") {
                    let name = head.split('(').next().expect("a name");
                    found.insert(format!("{module}::{name}"));
                }
            }
        }
    }
    let listed: BTreeSet<String> = FORMS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(found, listed, "a form of output that no test of marks knows, or one that is gone");
}

#[test]
fn a_figure_in_a_table_has_its_marks_in_every_form() {
    let table = ["59,887", "55,100", "×0.922", "49.2"];
    let verdicts = ["6.42 µs", "7.22 µs", "1.12", "12.3 ms", "12.4 ms", "1.01", "2.20 ms", "1.05"];
    let claims = ["59,900/s", "1.09", "0.54", "×0.92"];
    for (name, form, shows) in FORMS {
        let Shows::Signs { curve } = shows else { continue };
        let reported = |run: RunFixture| form(&run.input());
        assert_signed(name, &reported(marked(run())), &table);
        assert_signed(name, &reported(marked(comparison(ComparisonEnd::Worse, Depth::Verdict))), &verdicts);
        assert_signed(name, &reported(marked(with_claims())), &claims);
        let reported = reported(marked_search());
        assert_signed(name, &reported, &["98,400/s"]);
        // As settings these loads occur elsewhere too.
        for load in ["92,000/s ᵃ", "113,000/s ᵃ"] {
            assert!(reported.contains(load), "{name} tells no {load}: {reported}");
        }
        if curve {
            assert_signed(name, &reported, &["4.10 ms", "31.0 ms", "≥ 2.40 s"]);
        }
    }
    let summary = |run: RunFixture| run_summary(&run.input(), &OPTIONS);
    assert_signed("the summary", &summary(marked(run())), &table);
    assert_signed(
        "the summary",
        &summary(marked(comparison(ComparisonEnd::Worse, Depth::Verdict))),
        &verdicts,
    );
    assert_signed("the summary", &summary(marked_search()), &["98,400/s", "4.10 ms", "31.0 ms", "≥ 2.40 s"]);
    for text in [html::page(&marked(run()).input()), run_table(&marked(run()).input(), &OPTIONS)] {
        assert_signed("the tables of trials", &text, &["54,998/s", "0.710 µs", "13.5 KiB", "812 ms"]);
    }
}

#[test]
fn a_sentence_whose_figures_are_marked_says_so_in_every_form() {
    for run in [marked(comparison(ComparisonEnd::Open, Depth::Quick)), marked(with_claims()), marked_search()]
    {
        for (name, form, shows) in FORMS {
            let text = form(&run.input()).replace("\n  ", " ");
            if ![Shows::Nothing, Shows::Answer, Shows::Summary].contains(&shows) && name != "csv::findings" {
                assert!(text.contains(CLAUSE), "{name}: {text}");
            }
            if shows == Shows::Sentences {
                // One says only whether the run may be used.
                let cases = text.matches("<testcase ").count() - 1;
                assert_eq!(text.matches(CLAUSE).count(), cases, "{name}: {text}");
            }
        }
    }
    let run = marked(comparison(ComparisonEnd::Worse, Depth::Verdict));
    let look = look_text(&run.header.plan, 0, &run.conclusions, &OPTIONS).replace("\n  ", " ");
    assert_eq!(look.matches(CLAUSE).count(), 2, "{look}");
}

#[test]
fn documents_for_programs_have_the_marks_in_a_field() {
    let names = || json!([MARK.2]);
    for run in
        [marked(run()), marked(comparison(ComparisonEnd::Worse, Depth::Verdict)), marked(with_claims())]
    {
        let lines = csv::findings(&run.input());
        let lines: Vec<&str> = lines.split("\r\n").skip(1).filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), run.findings.len());
        // Driver, verdict and its bounds, which come last, have no comma here.
        assert!(lines.iter().all(|line| line.rsplit(',').nth(5) == Some(MARK.2)), "{lines:?}");
        let document = json::run(&run.input());
        let findings = document["findings"].as_array().expect("a list");
        assert!(!findings.is_empty() && findings.iter().all(|one| one["marks"] == names()), "{document}");
        for one in document["conclusions"].as_array().expect("a list") {
            let kind = one["kind"].as_str().expect("a kind");
            if ["verdict", "claim"].contains(&kind) {
                assert_eq!(one["details"]["marks"], json!([[MARK.2], [MARK.2]]), "{one}");
            }
        }
    }
    let document = json::run(&marked_search().input());
    let points: &Json = &document["conclusions"][0]["details"]["points"];
    for point in points.as_array().expect("a list") {
        assert_eq!(point["marks"], json!([[MARK.2], [MARK.2]]), "{point}");
    }
}

#[test]
fn a_course_and_a_comparison_of_stored_runs_have_the_marks() {
    let run = marked(run());
    let of = finding(Scope::Run, "writers.acked_per_s", Value::None).of;
    let course = course::table(&of, &[CourseRun { file: "a.kdyno".to_owned(), input: run.input() }]);
    for text in [course.text(&OPTIONS), course.markdown()] {
        assert_signed("a course", &text, &["59,887/s"]);
    }
    assert_eq!(course.json()[0]["marks"], json!([MARK.2]));

    let run = marked(comparison(ComparisonEnd::Worse, Depth::Verdict));
    let judgement =
        Judgement { findings: run.findings.clone(), caveats: vec![], conclusions: run.conclusions.clone() };
    let labels = ["a.kdyno", "b.kdyno"].map(str::to_owned);
    let stored = StoredComparison { judgement: &judgement, first: &run.input(), labels };
    for text in [stored.text(&OPTIONS), stored.markdown()] {
        assert_signed("stored runs", &text, &["6.42 µs", "7.22 µs", "1.12"]);
    }
    assert_eq!(stored.json()["conclusions"][0]["details"]["marks"], json!([[MARK.2], [MARK.2]]));
}

#[test]
fn a_window_that_is_too_short_says_how_long_would_do() {
    let mut run = run();
    run.findings.iter_mut().for_each(|one| one.marks = BTreeSet::from([Mark::TooShortToTell]));
    for one in &mut run.conclusions {
        if let Conclusion::Steadiness(of) = one {
            of.state = SteadyState::TooShort { needed_s: 30 };
        }
    }
    let input = run.input();
    let forms = [run_summary(&input, &OPTIONS), run_table(&input, &OPTIONS), markdown::block(&input)];
    for text in forms.into_iter().chain([html::page(&input)]) {
        assert!(text.contains("ᵃ window too short to confirm a steady state (30 s needed)"), "{text}");
    }
}

#[test]
fn the_lines_of_a_trial_that_has_just_ended_explain_their_signs() {
    let run = marked(run());
    let text = trial_summary(
        &run.trials[1].trial,
        &run.findings,
        &run.caveats,
        &mut PrintedOnce::default(),
        &OPTIONS,
    );
    assert_signed("a trial's lines", &text, &["55,204/s", "6.10 ms"]);
    let plain = RunFixture { findings: unmarked(&run.findings), ..run };
    let text = trial_summary(
        &plain.trials[1].trial,
        &plain.findings,
        &plain.caveats,
        &mut PrintedOnce::default(),
        &OPTIONS,
    );
    assert!(!text.contains('ᵃ') && !text.contains("levels"), "{text}");
}

fn unmarked(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().map(|one| Finding { marks: BTreeSet::new(), ..one.clone() }).collect()
}

#[test]
fn in_the_page_a_marked_figure_looks_so() {
    let page = html::page(&run().input());
    let drifting = "<td class=\"marked\" title=\"rose or fell throughout the window\">54,998/s ᵃ</td>";
    assert!(page.contains(drifting), "{page}");
    assert!(page.contains("<td class=\"invalid\" title=\"invalid\">! 49.7 ms</td>"), "{page}");
    let page = html::page(&marked_search().input());
    assert!(page.contains("\">92,000/s ᵃ</td>"), "{page}");
}
