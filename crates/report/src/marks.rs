//! Reservations beside a number: one sign for each, explained under the table in which it stands.

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
}
