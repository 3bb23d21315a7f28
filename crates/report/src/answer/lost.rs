//! Which pairs of a comparison were left out or count as ties, and why; and that it ended before its last look since
//! too many were lost.

use super::form::Sentence;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::caveat::{Caveat, PairsTied};
use kdyno_model::finding::Scope;

/// What is said of one compared case.
pub(super) fn sentences<'a>(input: &ReportInput<'a>, case: u32) -> impl Iterator<Item = Sentence> + use<'a> {
    let of_case = input.caveats.iter().filter(move |one| one.scope == Scope::Comparison { case });
    of_case.filter_map(|one| text(&one.caveat)).map(|text| Sentence::new(Tone::Warn, text))
}

/// What is said of all compared cases.
pub fn all<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = Sentence> + use<'a> {
    let texts = input.caveats.iter().filter_map(|one| text(&one.caveat));
    texts.map(|text| Sentence::new(Tone::Warn, text))
}

fn text(caveat: &Caveat) -> Option<String> {
    let text = match caveat {
        Caveat::PairsLost { pairs, first, likewise, ended_after: Some(after) } => format!(
            "the comparison ended after {}, before its last look: {} were lost, and no more are run in their place; the first: \
             {first}{}.",
            units::plural(*after, "pair"),
            units::count(f64::from(*pairs)),
            so_more(*likewise)
        ),
        Caveat::PairsLost { pairs, first, likewise, ended_after: None } => format!(
            "left out of the verdict: {}, the first: {first}{}.",
            units::plural(*pairs, "pair"),
            so_more(*likewise)
        ),
        Caveat::PairsTied(PairsTied { metric, pairs, first }) => {
            let pairs = units::plural(*pairs, "pair");
            format!("ties in {metric}, for invalid figures: {pairs}, the first: {first}.")
        }
        _ => return None,
    };
    Some(text)
}

/// What follows the first reason where it is that of others too.
fn so_more(likewise: u32) -> String {
    if likewise == 0 { String::new() } else { format!(", and so {likewise} more") }
}
