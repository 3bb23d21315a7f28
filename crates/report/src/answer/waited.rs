//! Pairs whose sides ran at once: that their brokers waited for a CPU is reported once, with the verdicts, for it
//! limits what these say.

use super::form::Sentence;
use super::words;
use crate::caveats::{is_shown_with_verdicts, waited};
use crate::grid::Tone;
use crate::input::ReportInput;
use kdyno_model::finding::Scope;
use kdyno_model::plan::ComparePlan;

/// Shares of a side's trials, and whether they are of the time in which brokers ran or were ready.
type WaitShares = Vec<(f64, bool)>;

/// What is said of one compared case; `None`: no brokers waited, or it is reported of each trial.
pub(super) fn sentence(input: &ReportInput<'_>, case: u32, labels: &[String; 2]) -> Option<Sentence> {
    let shares = ComparePlan::SIDES.map(|side| of_side(input, case, side));
    let reported = |side: usize| {
        let print = |share: f64| words::percent(share, Some(0.05));
        let range = words::range(shares[side].iter().map(|(share, _)| *share), print)?;
        Some(format!("those of {} for {range}", labels[side]))
    };
    let is_of_ready = shares.iter().flatten().all(|(_, is_of_ready)| *is_of_ready);
    let base = if is_of_ready { "of their runnable time" } else { "of the window (sum of threads)" };
    let (waited, means) = match (reported(0), reported(1)) {
        (None, None) => return None,
        (Some(a), Some(b)) => (
            format!("brokers of both sides waited for a CPU, {a}, {b} {base}"),
            "so the ratio is that of brokers that wait, and each also feels what the other side costs: with CPUs to \
             spare the sides may differ by more or by less",
        ),
        (a, b) => (
            format!("brokers waited for a CPU on one side alone, {} {base}", a.or(b)?),
            "so a part of the difference may be that wait: with CPUs to spare the sides may differ by less",
        ),
    };
    let remedy = "`--design turns`, fewer brokers, a lower rate or more CPUs would show it";
    Some(Sentence::new(Tone::Warn, format!("{waited}; {means} ({remedy}).")))
}

fn of_side(input: &ReportInput<'_>, case: u32, side: &str) -> WaitShares {
    let of_trial = input.caveats.iter().filter(|one| is_shown_with_verdicts(input, one)).filter(|one| {
        let Scope::Trial(id) = one.scope else { return false };
        let trial = input.reported().find(|trial| trial.id == id);
        trial.is_some_and(|trial| trial.case == case && trial.variant.as_deref() == Some(side))
    });
    of_trial.filter_map(|one| waited(&one.caveat)).collect()
}
