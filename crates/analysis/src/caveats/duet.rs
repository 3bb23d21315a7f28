//! Pairs whose two trials run at once.

use super::found::FoundCaveat;
use crate::cpu::is_other_side;
use crate::evidence::cut_short;
use crate::rows::TrialRows;
use kdyno_model::caveat::Caveat;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Phase, series};

/// Share of a trial's measure phase in which that of the other side has to lie too.
const AT_ONCE_SHARE_MIN: f64 = 0.95;

/// Half of a duet whose other half was measured at another time. What ended before its time is reported as that.
pub(super) fn not_at_once(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let evidence = trial.evidence;
    let whole = Some(evidence).filter(|of| of.start.trial.is_of_duet() && cut_short(of).is_none());
    let share = whole.and_then(share_at_once);
    let share = share.filter(|share| *share < AT_ONCE_SHARE_MIN);
    share.map(|share| Caveat::NotAtOnce { share }.into()).into_iter().collect()
}

/// Share of the measure phase in which the other side's lay too, by the readings of it; none when there are none of
/// these. `None`: the trial was not measured.
fn share_at_once(evidence: &TrialEvidence) -> Option<f64> {
    let own = evidence.span(Phase::Measure)?;
    let of_other = evidence.probes.iter().filter(|reading| is_other_side(&reading.subject));
    let reported =
        |name: &str| of_other.clone().find(|reading| reading.series == name).map(|reading| reading.value);
    let other_s = reported(series::MEASURE_START_S).zip(reported(series::MEASURE_END_S));
    let (start_s, end_s) = (own.start_ns as f64 / 1e9, own.end_ns as f64 / 1e9);
    let shared_s = other_s.map_or(0.0, |(from_s, to_s)| (end_s.min(to_s) - start_s.max(from_s)).max(0.0));
    (end_s > start_s).then(|| shared_s / (end_s - start_s))
}
