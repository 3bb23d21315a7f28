//! The answer as JUnit XML: claims, verdicts and the conditions of a search as test cases, for the tools that know how
//! to show those.
//!
//! Does not hold, worse, no load meets the conditions: a failure. Invalid: an error. No answer: skipped.

use crate::answer::{claims, search, verdict};
use crate::grid::clean;
use crate::input::ReportInput;
use kdyno_model::conclusion::{ClaimSays, Conclusion, MetricRole, Says, SearchOutcome};
use kdyno_model::plan::Depth;

/// How a test case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    Invalid,
    Open,
}

struct TestCase {
    class: &'static str,
    name: String,
    ended: Ended,
    message: String,
}

/// One test suite with everything that the run judged; it is empty when the run judges nothing.
pub fn document(input: &ReportInput<'_>) -> String {
    let cases: Vec<TestCase> = input.conclusions.iter().filter_map(|one| test_case(one, input)).collect();
    let count = |ended: Ended| cases.iter().filter(|case| case.ended == ended).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{}\">\n",
        escaped(&format!("kdyno {}", input.plan().scenario)),
        cases.len(),
        count(Ended::Failed),
        count(Ended::Invalid),
        count(Ended::Open),
    );
    for case in &cases {
        out.push_str(&element(case));
    }
    out + "</testsuite>\n"
}

fn test_case(conclusion: &Conclusion, input: &ReportInput<'_>) -> Option<TestCase> {
    match conclusion {
        Conclusion::Claim(of) => Some(TestCase {
            class: "claim",
            name: claims::claim(of, input).map_or_else(String::new, |claim| claim.text.clone()),
            ended: match of.says {
                ClaimSays::Holds => Ended::Passed,
                ClaimSays::DoesNot => Ended::Failed,
                ClaimSays::CannotTell => Ended::Open,
            },
            message: claims::sentence(of, input).text,
        }),
        Conclusion::Verdict(of) if of.role == MetricRole::Judged => Some(TestCase {
            class: "verdict",
            name: of.of.to_string(),
            ended: match &of.says {
                Says::Different { material: true, worse: true } if of.depth == Depth::Quick => Ended::Open,
                Says::Different { material: true, worse: true } => Ended::Failed,
                Says::Different { .. } | Says::Equivalent => Ended::Passed,
                Says::Inconclusive { .. } | Says::MaybeMaterial { .. } => Ended::Open,
                Says::Invalid { .. } => Ended::Invalid,
            },
            message: verdict::sentence(of, &verdict::labels(input)).text,
        }),
        Conclusion::Search(of) => Some(TestCase {
            class: "sla",
            name: search::conditions(input),
            ended: match of.outcome {
                SearchOutcome::Confirmed { .. } | SearchOutcome::EveryLoadPasses { .. } => Ended::Passed,
                SearchOutcome::EveryLoadFails { .. } => Ended::Failed,
                SearchOutcome::NotConfirmed { .. }
                | SearchOutcome::GeneratorLimit { .. }
                | SearchOutcome::NoFigures { .. }
                | SearchOutcome::Unfinished => Ended::Open,
            },
            message: search::sentence(of, input).text,
        }),
        _ => None,
    }
}

fn element(case: &TestCase) -> String {
    let TestCase { class, name, ended, message } = case;
    let (name, message) = (escaped(name), escaped(message));
    let inside = match ended {
        Ended::Passed => format!("<system-out>{message}</system-out>"),
        Ended::Failed => format!("<failure message=\"{message}\"/>"),
        Ended::Invalid => format!("<error message=\"{message}\"/>"),
        Ended::Open => format!("<skipped message=\"{message}\"/>"),
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
