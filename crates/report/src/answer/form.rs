//! What an answer is made of, for any printer.

use super::curve::Curve;
use super::words;
use crate::grid::Tone;
use crate::table::Table;

/// The answer to one question of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it is: `Verdict`, `Quick look`, `Throughput at an SLA`, `Claims`.
    pub title: String,
    /// The answer itself, a sentence each.
    pub sentences: Vec<Sentence>,
    /// The figures under it.
    pub table: Option<Table>,
    /// How a condition's metric grows with the load, where that was the question.
    pub curve: Option<Curve>,
    /// Notes under the figures, in addition to what their marks mean.
    pub(super) notes: Vec<String>,
}

impl Answer {
    /// Without the table, and without what is said of it.
    pub(crate) fn sentences_alone(self) -> Self {
        Self { table: None, notes: Vec::new(), ..self }
    }

    /// An answer that is a table.
    pub(crate) fn of_table(title: String, table: Table, notes: Vec<String>) -> Self {
        Self { title, sentences: Vec::new(), table: Some(table), curve: None, notes }
    }

    /// Its sentences and notes alone, for a printer that has little room.
    pub fn without_table(self) -> Self {
        Self { table: None, ..self }
    }

    /// The notes, without what marks mean.
    pub(crate) fn notes_alone(&self) -> &[String] {
        &self.notes
    }

    /// What is under the figures: what their marks mean, then the notes. `with_curve`: the figures of the curve are
    /// printed too.
    pub fn notes(&self, with_curve: bool) -> Vec<String> {
        let mut signs = self.table.as_ref().map(Table::signs).unwrap_or_default();
        if let Some(curve) = self.curve.as_ref().filter(|_| with_curve) {
            signs.add_all(&curve.table().signs());
        }
        signs.legend().into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

/// A whole sentence of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// [`Tone::Bad`]: an unwelcome answer; [`Tone::Warn`]: no answer.
    pub tone: Tone,
    /// Begins with a capital letter and ends with a full stop.
    pub text: String,
}

impl Sentence {
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: words::capital(&text.into()) }
    }
}
