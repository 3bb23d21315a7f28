//! What a document is made of.

use super::front::Front;
use crate::answer::words::capital;
use crate::answer::{headline, verdict};
use crate::case_table::case_table;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::units;

/// A run of a document.
#[derive(Debug)]
pub struct DocumentRun<'a> {
    /// Name of its file.
    pub file: String,
    /// What is stored of it.
    pub input: ReportInput<'a>,
}

/// What a document is made of.
#[derive(Debug)]
pub struct Document<'a> {
    /// What its author says.
    pub front: &'a Front,
    /// The runs, in the order of the document.
    pub runs: &'a [DocumentRun<'a>],
    /// Version of the program that makes it.
    pub kdyno: &'a str,
}

impl Document<'_> {
    /// How many runs it is of: `1 run`, `3 runs`.
    pub(super) fn runs_text(&self) -> String {
        units::plural(u32::try_from(self.runs.len()).unwrap_or(u32::MAX), "run")
    }
}

impl DocumentRun<'_> {
    /// What the run says, a sentence each: how far it came where not to its end, then its answer, and what the verdicts of
    /// each comparison come to together.
    pub(super) fn summary(&self) -> Vec<String> {
        let input = &self.input;
        let figures = FindingIndex::new(input.findings, input.caveats);
        let outcome = input.outcome(&figures).map(|outcome| format!("{}.", capital(&outcome)));
        let answer = headline::whole(input, &case_table(input, &figures)).sentences;
        let in_short = verdict::compared_scopes(input.conclusions).into_iter().filter_map(|scope| {
            Some(headline::of_case(verdict::in_short(input.conclusions, scope)?, scope, input))
        });
        let mut all: Vec<String> =
            outcome.into_iter().chain(answer.into_iter().chain(in_short).map(|one| one.text)).collect();
        if all.is_empty() {
            all.push("It has no figures.".to_owned());
        }
        all
    }
}
