//! The answer as JUnit XML: claims, verdicts and the conditions of a search as test cases, for the tools that know how
//! to show those.
//!
//! Does not hold, worse, no load meets the conditions: a failure. Invalid: an error. No answer: a failure where the gate asks
//! for one, else skipped. These are the parts that the exit code is made of. Whether the run may be used at all is a test case of its own, in every suite: tools
//! take a suite without any for a job that did not run.

use crate::answer::{claims, lost, search, verdict};
use crate::caveats;
use crate::declared;
use crate::grid::clean;
use crate::input::ReportInput;
use crate::judged::{Gate, RunAnswer, invalid_shown, judged, of_claim, of_search, of_verdict};
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::finding::{Finding, Scope};
use std::collections::BTreeMap;

/// How a test case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestCaseResult {
    Passed,
    Failed,
    Invalid,
    Open,
}

impl TestCaseResult {
    fn of(judged: RunAnswer, gate: Gate) -> Self {
        match judged {
            RunAnswer::Invalid => Self::Invalid,
            RunAnswer::Fine => Self::Passed,
            _ if gate.fails(judged) => Self::Failed,
            _ => Self::Open,
        }
    }
}

struct TestCase {
    class: &'static str,
    name: String,
    ended: TestCaseResult,
    message: String,
}

/// One test suite: whether the run's answer may be used, and everything that it judged.
pub fn document(input: &ReportInput<'_>, gate: Gate) -> String {
    let of_conclusions = input.conclusions.iter().filter_map(|one| test_case(one, input, gate));
    let cases: Vec<TestCase> = std::iter::once(evidence(input)).chain(of_conclusions).collect();
    let count = |ended: TestCaseResult| cases.iter().filter(|case| case.ended == ended).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{}\">\n",
        escaped(&format!("kdyno {}{}", input.plan().scenario, of_the_client_alone(input))),
        cases.len(),
        count(TestCaseResult::Failed),
        count(TestCaseResult::Invalid),
        count(TestCaseResult::Open),
    );
    let declared: Vec<String> = declared::all(input.plan()).iter().flat_map(properties).collect();
    if !declared.is_empty() {
        out.push_str(&format!("  <properties>\n{}  </properties>\n", declared.concat()));
    }
    for case in &cases {
        out.push_str(&element(case));
    }
    out + "</testsuite>\n"
}

/// What is declared and was not measured.
fn properties((of, facts): (&String, &BTreeMap<String, String>)) -> Vec<String> {
    let property = |(name, value): (&String, &String)| {
        let name = escaped(&format!("declared.{of}.{name}"));
        format!("    <property name=\"{name}\" value=\"{}\"/>\n", escaped(value))
    };
    facts.iter().map(property).collect()
}

/// What the name of the suite says of a run on a null broker: caveats have no other place here.
fn of_the_client_alone(input: &ReportInput<'_>) -> &'static str {
    let is_null = input.plan().every_case().any(|case| !case.system.is_kafka());
    if is_null { " (null broker: the figures are of the client alone)" } else { "" }
}

/// Whether the run's answer may be used. If it is invalid, no test case passes; if it may be used, the warnings are
/// shown with it.
fn evidence(input: &ReportInput<'_>) -> TestCase {
    let test_case = |ended, message| TestCase { class: "run", name: "evidence".to_owned(), ended, message };
    let caveats = caveats::worded(input);
    if judged(input) != RunAnswer::Invalid {
        let mut warnings: Vec<String> = caveats.iter().map(|one| format!("{}.", one.sentence)).collect();
        // They have no other place here.
        warnings.extend(lost::all(input).map(|sentence| sentence.text));
        return test_case(TestCaseResult::Passed, warnings.join(" "));
    }
    let loss = caveats.into_iter().filter(|one| one.is_loss);
    let loss = loss.map(|one| format!("DATA LOSS: {}.", one.sentence));
    let shown = invalid_shown(input).map(|one| format!("{} is invalid.", figure_of(one, input)));
    let why: Vec<String> = loss.chain(shown).collect();
    let message = if why.is_empty() {
        "A figure that the answer rests on is invalid.".to_owned()
    } else {
        why.join(" ")
    };
    test_case(TestCaseResult::Invalid, message)
}

/// A metric with its case, where there are several.
fn figure_of(one: &Finding, input: &ReportInput<'_>) -> String {
    match one.scope {
        Scope::Case(case) if !input.case_label(case).is_empty() => {
            format!("{} of {}", one.of, input.case_label(case))
        }
        _ => one.of.to_string(),
    }
}

fn test_case(conclusion: &Conclusion, input: &ReportInput<'_>, gate: Gate) -> Option<TestCase> {
    let ended = |judged| TestCaseResult::of(judged, gate);
    match conclusion {
        Conclusion::Claim(of) => {
            let claim = claims::claim(of, input)?;
            Some(TestCase {
                class: if claim.is_threshold { "fail_if" } else { "claim" },
                name: claim.text.clone(),
                ended: ended(of_claim(of, input)),
                message: claims::sentence(of, input).text,
            })
        }
        Conclusion::Verdict(of) if of.role == MetricRole::Judged => Some(TestCase {
            class: "verdict",
            name: of.of.to_string(),
            ended: ended(of_verdict(of)),
            message: verdict::sentence(of, &verdict::labels(input)).text,
        }),
        Conclusion::Search(of) => Some(TestCase {
            class: "sla",
            name: search::conditions(input),
            ended: ended(of_search(of)),
            message: search::sentence(of, input).text,
        }),
        _ => None,
    }
}

fn element(case: &TestCase) -> String {
    let TestCase { class, name, ended, message } = case;
    let (name, message) = (escaped(name), escaped(message));
    let inside = match ended {
        TestCaseResult::Passed => format!("<system-out>{message}</system-out>"),
        TestCaseResult::Failed => format!("<failure message=\"{message}\"/>"),
        TestCaseResult::Invalid => format!("<error message=\"{message}\"/>"),
        TestCaseResult::Open => format!("<skipped message=\"{message}\"/>"),
    };
    format!("  <testcase classname=\"{class}\" name=\"{name}\">{inside}</testcase>\n")
}

/// Text that XML 1.0 can hold, in elements and in attributes.
fn escaped(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
