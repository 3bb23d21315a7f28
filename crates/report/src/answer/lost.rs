//! Of a comparison that ended before its last look since too many of its pairs were lost: that it did, and why.

use super::form::Sentence;
use crate::caveats;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::caveat::Caveat;
use kdyno_model::finding::Scope;

/// What is said of one compared case; `None`: it ended otherwise.
pub(super) fn sentence(input: &ReportInput<'_>, case: u32) -> Option<Sentence> {
    let mut of_case = input.caveats.iter().filter(|one| one.scope == Scope::Comparison { case });
    of_case.find_map(|one| ended(&one.caveat))
}

fn ended(caveat: &Caveat) -> Option<Sentence> {
    let Caveat::PairsLost { pairs, first, likewise, ended_after: Some(after) } = caveat else { return None };
    let text = format!(
        "the comparison ended after {}, before its last look: {} were lost, and no more are run in their place; the first: \
         {first}{}.",
        units::plural(*after, "pair"),
        units::count(f64::from(*pairs)),
        caveats::likewise(*likewise)
    );
    Some(Sentence::new(Tone::Warn, text))
}
