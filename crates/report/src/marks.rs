//! The marks of figures: signs before a number, explained under the table in which it stands; in a sentence their
//! names.
//!
//! Every table is made of [`Cell`]s or of [`text`], so that a figure's marks come with its text.

use crate::digits;
use kdyno_model::finding::{Finding, Mark};
use std::collections::BTreeSet;

/// A cell of a table: its text and the marks of the figure in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    /// None where it is no figure.
    pub marks: BTreeSet<Mark>,
}

impl Cell {
    /// A figure of a conclusion, which keeps the marks of those that it rests on.
    pub fn figure(marks: &BTreeSet<Mark>, text: String) -> Self {
        Self { text, marks: marks.clone() }
    }

    /// As printed: the signs of its marks, then the text.
    pub fn text(&self) -> String {
        marked(&self.marks, self.text.clone())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, marks: BTreeSet::new() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Finding> for Cell {
    fn from(finding: &Finding) -> Self {
        Self::figure(&finding.marks, digits::text(finding))
    }
}

/// The sign that stands before the number, and what it means.
pub fn sign(mark: Mark) -> (&'static str, &'static str) {
    match mark {
        Mark::Invalid => ("!", "must not be used"),
        Mark::Drifting => ("~", "rose or fell throughout the window"),
        Mark::SeveralLevels => ("^", "stayed at several levels in the window"),
        Mark::TooShortToTell => ("?", "the window is too short to tell whether it was steady"),
        Mark::ShortTerm => ("'", "short-term: says nothing about load that goes on for hours"),
        Mark::FewRecords => ("°", "fewer than 100 records lie beyond this quantile"),
    }
}

/// A finding as printed wherever it stands: its signs, then the number.
pub fn text(finding: &Finding) -> String {
    Cell::from(finding).text()
}

/// Text of a number with the signs of its marks before it.
pub fn marked(marks: &BTreeSet<Mark>, text: String) -> String {
    if marks.is_empty() {
        return text;
    }
    let signs: String = marks.iter().map(|mark| sign(*mark).0).collect();
    format!("{signs} {text}")
}

/// What a sentence ends with whose figures have marks, e.g. `; marked: drifting, few records`; empty without marks.
pub fn clause(marks: &BTreeSet<Mark>) -> String {
    if marks.is_empty() { String::new() } else { format!("; {}", named(marks)) }
}

/// The same of a sentence that stands whatever its figures are marked with: `; it stands, its figures are marked: drifting`.
pub fn clause_that_stands(marks: &BTreeSet<Mark>) -> String {
    if marks.is_empty() { String::new() } else { format!("; it stands, its figures are {}", named(marks)) }
}

fn named(marks: &BTreeSet<Mark>) -> String {
    let names: Vec<String> = marks.iter().map(|mark| mark.to_string().replace('_', " ")).collect();
    format!("marked: {}", names.join(", "))
}

/// What the signs of some marks mean, in one line; `None` without marks.
pub fn legend(marks: &BTreeSet<Mark>) -> Option<String> {
    let meanings = marks.iter().map(|mark| {
        let (sign, meaning) = sign(*mark);
        format!("{sign} {meaning}")
    });
    let text = meanings.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| text + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_is_another_one() {
        let all = [
            Mark::Invalid,
            Mark::Drifting,
            Mark::SeveralLevels,
            Mark::TooShortToTell,
            Mark::ShortTerm,
            Mark::FewRecords,
        ];
        let signs: BTreeSet<&str> = all.map(|mark| sign(mark).0).into_iter().collect();
        assert_eq!(signs.len(), all.len());
        let legend = legend(&all.into_iter().collect()).expect("marks");
        assert!(legend.starts_with("! must not be used; ~ ") && legend.ends_with("quantile."), "{legend}");
    }

    #[test]
    fn a_sentence_names_its_marks_as_the_glossary_does() {
        let marks = BTreeSet::from([Mark::TooShortToTell, Mark::Invalid]);
        assert_eq!(clause(&marks), "; marked: invalid, too short to tell");
        assert_eq!(clause(&BTreeSet::new()) + &clause_that_stands(&BTreeSet::new()), "");
        let stands = clause_that_stands(&BTreeSet::from([Mark::Drifting]));
        assert_eq!(stands, "; it stands, its figures are marked: drifting");
    }
}
