//! What the numbers say, in words: verdicts, searches, claims, contrasts; and under the table which rows differ,
//! apart, what was not steady and what the limit was.
//!
//! One wording for all forms: terminal, page, Markdown and JSON take it from here.

pub mod brokers;
pub mod claims;
pub mod commands;
pub mod components;
pub mod curve;
pub mod demand;
mod differences;
mod form;
pub mod glance;
pub mod headline;
pub mod health;
mod imported;
pub mod inside;
pub mod logs;
pub mod lost;
mod mbeans;
pub mod members;
pub mod notes;
mod prices;
pub mod processes;
mod said;
pub mod search;
mod settings;
pub mod steadiness;
pub mod verdict;
mod waited;
pub(crate) mod words;

use crate::case_table::case_table;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::{digits, units};
pub use form::Answer;
pub(crate) use form::Sentence;
use kdyno_model::conclusion::{Conclusion, WindowParts};
use kdyno_model::finding::{Scope, Value};

/// Every answer of a run, in the order of the report.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    let mut all = verdict::answers(input);
    all.extend(search::answers(input));
    all.extend(claims::answer(input));
    all.extend(claims::contrasts(input));
    all.extend(imported::answer(input));
    all.extend(mbeans::answer(input));
    all
}

/// What became of each claim and threshold, a sentence each.
pub fn claim_sentences(input: &ReportInput<'_>) -> Vec<String> {
    claims::judged(input).map(|one| claims::sentence(one, input).text).collect()
}

/// `The parts of the window lie between: writers.response.p99 18 ms to 24 ms, …`
fn parts_sentence(of: &WindowParts) -> String {
    let parts = of.of.iter().map(|one| {
        let unit = units::of_metric(&one.of.metric);
        let [low, high] =
            [one.low, one.high].map(|value| digits::of_metric(&one.of.metric, Value::Is(value), unit, None));
        format!("{} {low} to {high}", one.of)
    });
    format!("The parts of the window lie between: {}.", parts.collect::<Vec<_>>().join(", "))
}

/// In which settings the sides of each comparison differ.
pub(crate) fn compared_settings(input: &ReportInput<'_>) -> Vec<Sentence> {
    let labels = verdict::labels(input);
    let cases = input.plan().case_numbers();
    let of_case = |case| settings::difference(input.conclusions, Scope::Comparison { case }, &labels);
    cases.filter_map(of_case).collect()
}

/// A conclusion in one sentence, for documents.
pub fn sentence(conclusion: &Conclusion, input: &ReportInput<'_>) -> String {
    match conclusion {
        Conclusion::Steadiness(of) => steadiness::sentence(of),
        Conclusion::Limit(of) => notes::limit_sentence(of),
        Conclusion::Demand(of) => demand::sentence(of),
        Conclusion::Verdict(of) => verdict::sentence(of, &verdict::labels(input)).text,
        Conclusion::Search(of) => search::sentence(of, input).text,
        Conclusion::Claim(of) => claims::sentence(of, input).text,
        Conclusion::ToldApart(of) => {
            let figures = FindingIndex::new(input.findings, input.caveats);
            let table = case_table(input, &figures);
            notes::distinguished(&[of], &|cases| notes::by_row(&table, cases))
        }
        Conclusion::SettingDiffers(of) => settings::sentence(of),
        Conclusion::Members(of) => members::sentence(of),
        Conclusion::Health(of) => health::trial_sentence(of),
        Conclusion::Processes(of) => processes::trial_sentence(of),
        Conclusion::WindowParts(of) => parts_sentence(of),
    }
}
