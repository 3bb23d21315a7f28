//! Whether what a worker sent at once, after it had stood still, is in what the cluster is said to have taken.

use super::found::FoundCaveat;
use crate::error::AnalysisError;
use crate::evidence::{is_open_loop, streams_of};
use crate::histogram::LatencyDistribution;
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::caveat::{Caveat, Concern, StoodStill};
use kdyno_model::finding::Value;
use kdyno_model::held_up::HELD_UP_NS;
use kdyno_model::metric::QUANTILES;
use kdyno_model::sample::{Grain, Phase, Sample, StreamId, Timing};
use std::collections::BTreeSet;

/// Share of a quantile by which the backlog has to change it.
const CHANGED_SHARE: f64 = 0.1;

/// What a released backlog is in: t1 or t2 is when it is released, so none of these has the time for which it was held up.
const TIMINGS: [Timing; 3] = [Timing::Service, Timing::Request, Timing::WithoutGenerator];

/// Seconds that the rows of stages are of.
const STRETCH: u32 = 5;

/// For each item the lowest quantile that a released backlog changes, of any item's: they share the cluster.
pub(super) fn stood_still(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let producing =
        || trial.items.iter().filter(|item| is_open_loop(item.plan) && item.plan.driver.shows_requests());
    // A damaged histogram ended the analysis before.
    let backlogs = producing().map(|item| Backlog::of(trial, item)).collect::<Result<Vec<_>, _>>();
    let backlogs: Vec<Backlog> = backlogs.unwrap_or_default();
    let Some(late_ns) = backlogs.iter().filter_map(|one| one.late_ns).max() else { return Vec::new() };
    let stretches: BTreeSet<u32> = backlogs.iter().flat_map(|one| one.stretches.iter().copied()).collect();
    let changed = producing().zip(&backlogs).filter_map(|(item, backlog)| {
        let changed = changed(trial, item, backlog, &stretches).ok()??;
        let (name, quantile) = (item.name.to_owned(), changed.quantile.to_owned());
        let concerns = Concern::ServiceFrom { item: name.clone(), quantile: quantile.clone() };
        let caveat = Caveat::StoodStill(StoodStill {
            item: name,
            quantile,
            late_ns,
            timing: changed.timing.to_string(),
            with_ns: changed.with_ns,
            without_ns: changed.without_ns,
        });
        Some(FoundCaveat::of(item, caveat).concerning(concerns))
    });
    changed.collect()
}

/// What an item's workers sent late, and for how long that was in flight.
#[derive(Debug, Default)]
struct Backlog {
    /// By how much the latest was late; `None`: there is no backlog.
    late_ns: Option<u64>,
    /// The share of the item's records that were as late.
    share: f64,
    /// First seconds of the stretches in which some of it was in flight.
    stretches: BTreeSet<u32>,
}

impl Backlog {
    fn of(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Result<Self, AnalysisError> {
        let mut backlog = Self::default();
        let (mut late, mut all) = (0, 0);
        for stream in streams_of(trial.evidence, item.name) {
            for row in stages(trial, stream) {
                let mut delays = LatencyDistribution::new();
                let Some(bytes) = row.histograms.get(&Timing::ScheduleDelay) else { continue };
                delays.add_histogram(bytes)?;
                all += delays.finished();
                let held_up: Vec<(u64, u64)> = delays.recorded().filter(|(ns, _)| *ns > HELD_UP_NS).collect();
                let Some((most_ns, _)) = held_up.last() else { continue };
                late += held_up.iter().map(|(_, records)| records).sum::<u64>();
                backlog.late_ns = backlog.late_ns.max(Some(*most_ns));
                backlog.stretches.extend(in_flight(trial, stream, row.t0_second)?);
            }
        }
        backlog.share = late as f64 / all.max(1) as f64;
        Ok(backlog)
    }
}

/// The measured rows of a stream that have its stages.
fn stages<'a>(trial: &TrialRows<'a>, stream: StreamId) -> impl Iterator<Item = &'a Sample> {
    let rows = trial.evidence.samples.iter();
    rows.filter(move |row| row.id == stream && row.grain == Grain::FiveSeconds && row.phase == Phase::Measure)
}

/// A stretch with a backlog, and those that follow it until the last record of a second that has some of it was acknowledged.
fn in_flight(trial: &TrialRows<'_>, stream: StreamId, stretch: u32) -> Result<BTreeSet<u32>, AnalysisError> {
    let mut last = stretch;
    let rows = trial.evidence.samples.iter();
    let own = rows.filter(|row| row.id == stream && row.grain == Grain::Second);
    for row in own.filter(|row| (stretch..stretch + STRETCH).contains(&row.t0_second)) {
        let Some(bytes) = row.histograms.get(&Timing::Response) else { continue };
        let mut responses = LatencyDistribution::new();
        responses.add_histogram(bytes)?;
        if responses.recorded().any(|(ns, _)| ns > HELD_UP_NS) {
            last = last.max(row.written_second / STRETCH * STRETCH);
        }
    }
    Ok((stretch..=last).step_by(STRETCH as usize).collect())
}

/// A quantile that is another one without a backlog.
struct Changed {
    quantile: &'static str,
    timing: Timing,
    with_ns: u64,
    without_ns: Option<u64>,
}

/// The lowest quantile that is lower without the stretches in which a backlog was in flight, if any is.
fn changed(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    backlog: &Backlog,
    stretches: &BTreeSet<u32>,
) -> Result<Option<Changed>, AnalysisError> {
    let mut others: Vec<(Timing, LatencyDistribution)> =
        TIMINGS.map(|timing| (timing, LatencyDistribution::new())).into();
    for stream in streams_of(trial.evidence, item.name) {
        for row in stages(trial, stream).filter(|row| !stretches.contains(&row.t0_second)) {
            for (timing, other) in &mut others {
                row.histograms.get(timing).map_or(Ok(()), |bytes| other.add_histogram(bytes))?;
            }
        }
    }
    if others.iter().all(|(_, other)| other.total() == 0) {
        return Ok(alone(item, backlog));
    }
    let lower = |rank: f64, (timing, other): &(Timing, LatencyDistribution)| {
        let (with, without) = (at(item, *timing, rank)?, value(other.quantile(rank))?);
        (1.0 - without / with > CHANGED_SHARE).then_some((*timing, with, without))
    };
    let found = QUANTILES.iter().find_map(|(quantile, rank)| {
        let (timing, with, without) = others.iter().find_map(|one| lower(*rank, one))?;
        Some(Changed { quantile, timing, with_ns: whole(with), without_ns: Some(whole(without)) })
    });
    Ok(found)
}

/// The lowest quantile that the records of a backlog reach, where it was in flight in every stretch.
fn alone(item: &ItemRows<'_>, backlog: &Backlog) -> Option<Changed> {
    let is_reached = |rank: f64| backlog.late_ns.is_some() && 1.0 - rank <= backlog.share;
    let (quantile, rank) = QUANTILES.iter().find(|(_, rank)| is_reached(*rank))?;
    let with_ns = whole(at(item, Timing::Service, *rank)?);
    Some(Changed { quantile, timing: Timing::Service, with_ns, without_ns: None })
}

fn at(item: &ItemRows<'_>, timing: Timing, rank: f64) -> Option<f64> {
    value(item.latencies.get(&timing)?.quantile(rank))
}

/// Among records that were never acknowledged nothing is known.
fn value(value: Value) -> Option<f64> {
    match value {
        Value::Is(ns) if ns > 0.0 => Some(ns),
        _ => None,
    }
}

/// Far below 2⁵³ ns.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(ns: f64) -> u64 {
    ns as u64
}
