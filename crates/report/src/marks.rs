//! The marks of figures: signs before a number, explained under the table in which it stands; in a sentence their
//! names.
//!
//! Every table is made of cells (`table::Cell`) and every other text of [`text`], so that a figure's marks come with its
//! text.

use crate::digits;
use kdyno_model::finding::{Finding, Mark};
use std::collections::BTreeSet;

/// The sign that stands before the number, and what it means.
pub fn sign(mark: Mark) -> (&'static str, &'static str) {
    match mark {
        Mark::Invalid => ("!", "must not be used"),
        Mark::Drifting => ("~", "rose or fell throughout the window"),
        Mark::SeveralLevels => ("^", "stayed at several levels in the window"),
        Mark::TooShortToTell => ("?", "the window is too short to tell whether it was steady"),
        Mark::ShortTerm => ("'", "short-term: says nothing about load that goes on for hours"),
        Mark::FewRecords => ("°", "fewer than 100 records lie beyond this quantile"),
        Mark::Backlog => ("#", "holds what the load generator sent at once after it had stood still"),
        Mark::FewSeconds => {
            ("*", "nearly all that lies beyond this quantile comes from three seconds or fewer")
        }
    }
}

/// A finding as printed wherever it stands: its signs, then the number.
pub fn text(finding: &Finding) -> String {
    marked(&finding.marks, digits::text(finding))
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

/// The sign of a number that is only known to be a least one, and what it means.
pub const AT_LEAST: (&str, &str) = (
    "≥",
    "at least this: it falls among records that failed or stayed open, reaches beyond what was seen, or the load queued",
);

/// The signs that stand in some tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs {
    marks: BTreeSet<Mark>,
    at_least: bool,
}

impl Signs {
    /// Adds those of a figure: its marks, and what stands in its text without them, which may be a range.
    pub fn add(&mut self, marks: &BTreeSet<Mark>, text: &str) {
        self.marks.extend(marks);
        self.at_least |= text.split(" – ").any(|end| end.starts_with(AT_LEAST.0));
    }

    /// Adds those of another table.
    pub fn add_all(&mut self, other: &Self) {
        self.marks.extend(&other.marks);
        self.at_least |= other.at_least;
    }

    /// What they mean, in one line; `None` where there are none.
    pub fn legend(&self) -> Option<String> {
        let at_least = self.at_least.then_some(AT_LEAST);
        let signs = self.marks.iter().map(|mark| sign(*mark)).chain(at_least);
        let text = signs.map(|(sign, meaning)| format!("{sign} {meaning}")).collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| text + ".")
    }
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
            Mark::Backlog,
            Mark::FewSeconds,
        ];
        let signs: BTreeSet<&str> = all.map(|mark| sign(mark).0).into_iter().chain([AT_LEAST.0]).collect();
        assert_eq!(signs.len(), all.len() + 1);
        let mut signs = Signs::default();
        signs.add(&all.into_iter().collect(), "4.38 ms");
        let legend = signs.legend().expect("marks");
        assert!(legend.starts_with("! must not be used; ~ ") && legend.ends_with("fewer."), "{legend}");
    }

    #[test]
    fn a_number_that_is_a_least_one_is_explained_wherever_it_stands() {
        for (text, is_told) in
            [("≥ 4.38 ms", true), ("4.38 ms – ≥ 5.02 ms", true), ("4.38 ms – 5.02 ms", false), ("", false)]
        {
            let (mut own, mut all) = (Signs::default(), Signs::default());
            own.add(&BTreeSet::new(), text);
            all.add_all(&own);
            let told = all.legend();
            assert_eq!(told.is_some_and(|text| text.starts_with("≥ at least this: ")), is_told, "{text}");
        }
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
