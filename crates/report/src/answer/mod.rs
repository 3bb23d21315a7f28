//! What the numbers say, in words: verdicts, searches, claims, contrasts; and under the table which rows can be told
//! apart, what was not steady and what the limit was.
//!
//! One wording for all forms: terminal, page, Markdown and JSON take it from here.

pub mod claims;
pub mod curve;
pub mod notes;
pub mod search;
pub mod steadiness;
pub mod verdict;
mod words;

use crate::grid::Tone;
use crate::input::ReportInput;
use curve::Curve;
use kdyno_model::conclusion::Conclusion;

/// The answer to one question of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it is: `Verdict`, `Quick look`, `Throughput at an SLA`, `Claims`.
    pub title: String,
    /// The answer itself, a sentence each.
    pub sentences: Vec<Sentence>,
    /// The figures under it.
    pub table: Option<TextTable>,
    /// How a condition's metric grows with the load, where that was the question.
    pub curve: Option<Curve>,
    /// What has to be said under the figures.
    pub notes: Vec<String>,
}

/// A whole sentence of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// [`Tone::Bad`]: the answer that nobody wants; [`Tone::Warn`]: no answer.
    pub tone: Tone,
    /// Begins with a capital letter and ends with a full stop.
    pub text: String,
}

impl Sentence {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: words::capital(&text.into()) }
    }
}

/// A table of texts, for any printer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    /// Heads of the columns, and whether numbers stand in them.
    pub columns: Vec<(String, bool)>,
    /// One text per column.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(columns: &[(&str, bool)], rows: Vec<Vec<String>>) -> Self {
        Self { columns: columns.iter().map(|(head, number)| ((*head).to_owned(), *number)).collect(), rows }
    }
}

/// Every answer of a run, in the order in which they are told.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    let mut all = verdict::answers(input);
    all.extend(search::answers(input));
    all.extend(claims::answer(input));
    all.extend(claims::contrasts(input));
    all
}

/// A conclusion in one sentence, for documents.
pub fn sentence(conclusion: &Conclusion, input: &ReportInput<'_>) -> String {
    match conclusion {
        Conclusion::Steadiness(of) => steadiness::sentence(of),
        Conclusion::Limit(of) => notes::limit_sentence(of),
        Conclusion::Verdict(of) => verdict::sentence(of, &verdict::labels(input)).text,
        Conclusion::Search(of) => search::sentence(of, input).text,
        Conclusion::Claim(of) => claims::sentence(of, input).text,
        Conclusion::ToldApart(of) => notes::told_apart(of, 1, &|case| Some(case as usize + 1)),
        Conclusion::SettingDiffers(of) => verdict::setting(of),
    }
}
