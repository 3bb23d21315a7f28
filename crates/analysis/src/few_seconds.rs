//! Quantiles that rest on few seconds: a tail that is one event says how often such events come, not how the rest went.

use crate::caveats::found::FoundCaveat;
use crate::caveats::load::RECORDS_BEYOND_MIN;
use crate::error::AnalysisError;
use crate::evidence::{Window, streams_of};
use crate::histogram::LatencyDistribution;
use crate::rows::{ItemRows, TrialRows};
use crate::tally::unfinished;
use kdyno_model::caveat::{Caveat, Concern, Degree, FewSeconds, ScopedCaveat};
use kdyno_model::concern::timing;
use kdyno_model::finding::{Finding, Mark, Value};
use kdyno_model::metric::QUANTILES;
use kdyno_model::sample::{Grain, Timing};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A quantile rests on the fewest seconds that hold so much of what lies beyond it.
const HELD_SHARE: f64 = 0.9;

/// On so many at most it rests on few,
const FEW_S_MAX: usize = 3;

/// if the window has so many times as many.
const WINDOW_TIMES_MIN: u32 = 5;

/// Longest window that is looked at, s: its histograms take time to read, and of a longer one three seconds are no quantile's
/// tail but of the highest.
pub(crate) const WINDOW_S_MAX: u32 = 600;

/// The quantile of an item and the seconds that it rests on.
struct QuantileTail {
    quantile: &'static str,
    rank: f64,
    seconds: u32,
    /// The first of them, from T0.
    at_s: u32,
}

/// Marks the quantiles of responses, of consumers end to end, that rest on few seconds, and says on how many the lowest
/// one of each item does.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn judge(
    trial: &TrialRows<'_>,
    findings: &mut [Finding],
) -> Result<Vec<ScopedCaveat>, AnalysisError> {
    let mut caveats = Vec::new();
    for item in &trial.items {
        let (Some(window), headline) = (item.window, headline(item)) else { continue };
        let Some(tail) = tail(trial, item, window, headline)? else { continue };
        for finding in findings.iter_mut().filter(|finding| finding.of.subject == item.name) {
            let of = timing(&finding.of.metric).filter(|(timing, _)| *timing == headline);
            let rank = of.and_then(|(_, name)| QUANTILES.iter().find(|(known, _)| *known == name));
            if rank.is_some_and(|(_, rank)| *rank >= tail.rank) && finding.estimate != Value::None {
                finding.marks.insert(Mark::FewSeconds);
            }
        }
        let QuantileTail { quantile, seconds, at_s, .. } = tail;
        let (item, quantile) = (item.name.to_owned(), quantile.to_owned());
        let concerns = Concern::LatenciesFrom { item: item.clone(), quantile: quantile.clone() };
        let of_s = window.end_second - window.first_second;
        let caveat = Caveat::FewSeconds(FewSeconds { item, quantile, seconds, of_s, at_s });
        caveats.extend(FoundCaveat::from(caveat).concerning(concerns).scoped(trial, Degree::Usual));
    }
    Ok(caveats)
}

/// The timing that rows of seconds hold.
pub(crate) fn headline(item: &ItemRows<'_>) -> Timing {
    if item.plan.role.as_produce().is_some() { Timing::Response } else { Timing::EndToEnd }
}

/// The lowest quantile that rests on few seconds.
fn tail(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    window: Window,
    headline: Timing,
) -> Result<Option<QuantileTail>, AnalysisError> {
    let Some(latencies) = item.latencies.get(&headline) else { return Ok(None) };
    if window.end_second - window.first_second > WINDOW_S_MAX {
        return Ok(None);
    }
    let known = QUANTILES.iter().filter(|(_, rank)| latencies.beyond(*rank) >= RECORDS_BEYOND_MIN);
    let limits: Vec<(&str, f64, f64)> =
        known.filter_map(|(name, rank)| Some((*name, *rank, latencies.quantile(*rank).least()?))).collect();
    if limits.is_empty() {
        return Ok(None);
    }
    let by_second = grouped(trial, item, |second| window.holds(second).then_some(second))?;
    let found = limits.into_iter().find_map(|(quantile, rank, limit_ns)| {
        let beyond = by_second.iter().map(|(second, held)| (*second, held.beyond(limit_ns)));
        let (seconds, at_s) = few(beyond, window)?;
        Some(QuantileTail { quantile, rank, seconds, at_s })
    });
    Ok(found)
}

/// What is known of the records of one second of t0, or of some.
#[derive(Default)]
pub(crate) struct Seconds {
    pub(crate) finished: LatencyDistribution,
    pub(crate) unfinished: u64,
}

impl Seconds {
    fn beyond(&self, limit_ns: f64) -> u64 {
        let slow = self.finished.recorded().filter(|(ns, _)| *ns as f64 >= limit_ns);
        slow.fold(self.unfinished, |sum, (_, records)| sum.saturating_add(records))
    }
}

/// The records of an item by what their second of t0 belongs to; those of seconds that belong to nothing are left out.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn grouped(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    group_of: impl Fn(u32) -> Option<u32>,
) -> Result<BTreeMap<u32, Seconds>, AnalysisError> {
    let (streams, headline) = (streams_of(trial.evidence, item.name), headline(item));
    let mut groups: BTreeMap<u32, Seconds> = BTreeMap::new();
    let rows = trial.evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    for row in rows.filter(|row| streams.contains(&row.id)) {
        let Some(group) = group_of(row.t0_second) else { continue };
        let seconds = groups.entry(group).or_default();
        seconds.unfinished = seconds.unfinished.saturating_add(unfinished(&row.counts));
        if let Some(bytes) = row.histograms.get(&headline) {
            seconds.finished.add_histogram(bytes)?;
        }
    }
    Ok(groups)
}

/// How many seconds hold most of what lies beyond, and the first of them, if they are few.
fn few(beyond: impl Iterator<Item = (u32, u64)>, window: Window) -> Option<(u32, u32)> {
    let mut beyond: Vec<(u32, u64)> = beyond.filter(|(_, records)| *records > 0).collect();
    let all: u64 = beyond.iter().fold(0, |sum, (_, records)| sum.saturating_add(*records));
    beyond.sort_by_key(|(second, records)| (Reverse(*records), *second));
    let mut held = 0_u64;
    let mut first = u32::MAX;
    for (seconds, (second, records)) in (1_u32..).zip(beyond.into_iter().take(FEW_S_MAX)) {
        held = held.saturating_add(records);
        first = first.min(second);
        if held as f64 >= HELD_SHARE * all as f64 {
            let is_few = seconds.saturating_mul(WINDOW_TIMES_MIN) <= window.end_second - window.first_second;
            return is_few.then_some((seconds, first));
        }
    }
    None
}
