//! What a document is made of.

use super::front::Front;
use crate::answer::answers;
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
    /// What the run says, a sentence each: verdicts, searches and claims; of one that answers nothing how far it came.
    pub(super) fn summary(&self) -> Vec<String> {
        let sentences = answers(&self.input).into_iter().flat_map(|answer| answer.sentences);
        let mut all: Vec<String> = sentences.map(|sentence| sentence.text).collect();
        let figures = Figures::new(self.input.findings, self.input.caveats);
        if let Some(outcome) = self.input.outcome(&figures) {
            all.insert(0, format!("{}.", crate::answer::words::capital(&outcome)));
        }
        if all.is_empty() {
            all.push("It measures and judges nothing: see its table.".to_owned());
        }
        all
    }
}
