//! What a document is made of.

use super::front::Front;
use crate::answer::headline::headline;
use crate::answer::words::capital;
use crate::case_table::case_table;
use crate::figures::Figures;
use crate::input::ReportInput;

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

impl DocumentRun<'_> {
    /// What the run says, a sentence each: how far it came where not to its end, then its answer as on its page.
    pub(super) fn summary(&self) -> Vec<String> {
        let figures = Figures::new(self.input.findings, self.input.caveats);
        let outcome = self.input.outcome(&figures).map(|outcome| format!("{}.", capital(&outcome)));
        let answer = headline(&self.input, &case_table(&self.input, &figures)).sentences;
        let mut all: Vec<String> =
            outcome.into_iter().chain(answer.into_iter().map(|one| one.text)).collect();
        if all.is_empty() {
            all.push("It has no figures.".to_owned());
        }
        all
    }
}
