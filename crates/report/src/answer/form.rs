//! What an answer is made of, for any printer.

use super::curve::Curve;
use super::words;
use crate::grid::Tone;

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
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
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
