//! The marks of figures: `!` before an invalid number, a footnote behind one with a known problem; in a sentence their names.
//!
//! Every table is made of cells (`table::Cell`) and every other text of [`text`], so that a figure's marks come with its
//! text.

use crate::digits;
use kdyno_model::finding::{Finding, Mark};
use std::collections::BTreeSet;

/// Before a number that is invalid.
const INVALID: &str = "!";
/// Behind a number of a window that was not shown to be in a steady state.
const NOT_STEADY: &str = "ᵃ";
/// Behind a quantile that rests on little, or on what the load generator did.
const TAIL: &str = "ᵇ";

/// The sign of a mark, and what it means. `None`: it holds for nearly every run of minutes, so no number repeats it; documents for
/// programs have it, and a trial's details say why.
fn sign(mark: Mark) -> Option<(&'static str, &'static str)> {
    Some(match mark {
        Mark::Invalid => (INVALID, "invalid"),
        Mark::Drifting => (NOT_STEADY, "rose or fell throughout the window"),
        Mark::SeveralLevels => (NOT_STEADY, "moved between levels in the window"),
        Mark::TooShortToTell => (NOT_STEADY, "window too short to confirm a steady state"),
        Mark::FewRecords => (TAIL, "fewer than 100 records lie beyond this quantile"),
        Mark::Backlog => (TAIL, "includes what the load generator sent at once after a pause"),
        Mark::FewSeconds => (TAIL, "the records beyond this quantile nearly all fall within three seconds"),
        Mark::ShortTerm => return None,
    })
}

/// The footnotes of a number, e.g. `ᵃᵇ`.
pub fn footnotes(marks: &BTreeSet<Mark>) -> String {
    let signs = marks.iter().filter_map(|mark| sign(*mark)).map(|(sign, _)| sign);
    signs.filter(|sign| *sign != INVALID).collect::<BTreeSet<&str>>().into_iter().collect()
}

/// The marks of a number in two or three words; empty where it has none that is shown.
pub fn in_short(marks: &BTreeSet<Mark>) -> String {
    let words = marks.iter().filter_map(|mark| sign(*mark)).map(|(sign, _)| match sign {
        INVALID => "invalid",
        NOT_STEADY => "steady state not confirmed",
        _ => "uncertain tail",
    });
    words.collect::<BTreeSet<&str>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// What the marks of a number mean; empty where it has none that is shown.
pub fn meanings(marks: &BTreeSet<Mark>) -> String {
    let meanings = marks.iter().filter_map(|mark| sign(*mark)).map(|(_, meaning)| meaning);
    meanings.collect::<Vec<_>>().join("; ")
}

/// A finding as printed everywhere: its signs, then the number.
pub fn text(finding: &Finding) -> String {
    marked(&finding.marks, digits::text(finding))
}

/// Text of a number with the signs of its marks.
pub fn marked(marks: &BTreeSet<Mark>, text: String) -> String {
    let text = if marks.contains(&Mark::Invalid) { format!("{INVALID} {text}") } else { text };
    match footnotes(marks) {
        notes if notes.is_empty() => text,
        notes => format!("{text} {notes}"),
    }
}

/// What a sentence ends with whose figures have marks, e.g. `; marked: drifting, few records`; empty without marks.
pub fn clause(marks: &BTreeSet<Mark>) -> String {
    named(marks).map_or_else(String::new, |named| format!("; {named}"))
}

/// The clause of a sentence that is valid whatever its figures are marked with: `; valid although its figures are
/// marked: drifting`.
pub fn validity_clause(marks: &BTreeSet<Mark>) -> String {
    named(marks).map_or_else(String::new, |named| format!("; valid although its figures are {named}"))
}

fn named(marks: &BTreeSet<Mark>) -> Option<String> {
    let shown = marks.iter().filter(|mark| sign(**mark).is_some());
    let name = |mark: &Mark| match mark {
        Mark::TooShortToTell => "windows too short to confirm a steady state".to_owned(),
        _ => mark.to_string().replace('_', " "),
    };
    let names: Vec<String> = shown.map(name).collect();
    (!names.is_empty()).then(|| format!("marked: {}", names.join(", ")))
}

/// The sign of a number that is only known to be a least one, and what it means.
pub const AT_LEAST: (&str, &str) =
    ("≥", "at least: records failed, stayed open or queued for longer than was measured");

/// The signs that are in some tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs {
    marks: BTreeSet<Mark>,
    at_least: bool,
}

impl Signs {
    /// Adds those of a figure: its marks, and what is in its text without them, which may be a range.
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
        self.legend_with(None)
    }

    /// The same; `needed` is the length at which windows that are too short would confirm a steady state, where that is known.
    pub fn legend_with(&self, needed: Option<&str>) -> Option<String> {
        let mut signs: Vec<(&str, String)> = Vec::new();
        for mark in &self.marks {
            let Some((sign, meaning)) = sign(*mark) else { continue };
            let meaning = match needed {
                Some(needed) if *mark == Mark::TooShortToTell => format!("{meaning} ({needed} needed)"),
                _ => meaning.to_owned(),
            };
            match signs.iter_mut().find(|(known, _)| *known == sign) {
                Some((_, meanings)) => meanings.push_str(&format!(", or {meaning}")),
                None => signs.push((sign, meaning)),
            }
        }
        signs.extend(self.at_least.then(|| (AT_LEAST.0, AT_LEAST.1.to_owned())));
        let text = signs.into_iter().map(|(sign, meaning)| format!("{sign} {meaning}"));
        let text = text.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| text + ".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_two_footnotes_at_most() {
        let all = BTreeSet::from([
            Mark::Invalid,
            Mark::Drifting,
            Mark::SeveralLevels,
            Mark::TooShortToTell,
            Mark::ShortTerm,
            Mark::FewRecords,
            Mark::Backlog,
            Mark::FewSeconds,
        ]);
        assert_eq!(marked(&all, "4.38 ms".to_owned()), "! 4.38 ms ᵃᵇ");
        let mut signs = Signs::default();
        signs.add(&all, "4.38 ms");
        let legend = signs.legend().expect("marks");
        assert!(legend.starts_with("! invalid; ᵃ rose or fell throughout the window, or moved"), "{legend}");
        assert_eq!(legend.matches([';']).count(), 2, "{legend}");
    }

    #[test]
    fn a_window_that_is_too_short_has_the_length_that_would_do() {
        let mut signs = Signs::default();
        signs.add(&BTreeSet::from([Mark::TooShortToTell, Mark::FewRecords]), "4.38 ms");
        let legend = signs.legend_with(Some("16 to 372 s")).expect("marks");
        let first = "ᵃ window too short to confirm a steady state (16 to 372 s needed); ᵇ fewer";
        assert!(legend.starts_with(first), "{legend}");
        assert!(!signs.legend().expect("marks").contains("needed"), "where it is not known");
    }

    #[test]
    fn that_a_run_is_short_is_not_repeated_at_each_number() {
        let marks = BTreeSet::from([Mark::ShortTerm]);
        assert_eq!(marked(&marks, "4.38 ms".to_owned()), "4.38 ms");
        assert_eq!(clause(&marks) + &validity_clause(&marks) + &meanings(&marks), "");
    }

    #[test]
    fn a_lower_bound_is_explained_wherever_it_occurs() {
        for (text, is_reported) in
            [("≥ 4.38 ms", true), ("4.38 ms – ≥ 5.02 ms", true), ("4.38 ms – 5.02 ms", false), ("", false)]
        {
            let (mut own, mut all) = (Signs::default(), Signs::default());
            own.add(&BTreeSet::new(), text);
            all.add_all(&own);
            let reported = all.legend();
            assert_eq!(reported.is_some_and(|text| text.starts_with("≥ at least: ")), is_reported, "{text}");
        }
    }

    #[test]
    fn a_sentence_names_its_marks() {
        let marks = BTreeSet::from([Mark::TooShortToTell, Mark::Invalid]);
        assert_eq!(clause(&marks), "; marked: invalid, windows too short to confirm a steady state");
        assert_eq!(clause(&BTreeSet::new()) + &validity_clause(&BTreeSet::new()), "");
        let validity = validity_clause(&BTreeSet::from([Mark::Drifting]));
        assert_eq!(validity, "; valid although its figures are marked: drifting");
    }
}
