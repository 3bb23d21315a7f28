//! One load item's latencies, its workers' rows merged.
//!
//! Records that never came home count in response and service, which end with the outcome; the stages are of
//! those that came home. Those of a stream that was killed are told by what its rows leave open.

use crate::error::AnalysisError;
use crate::evidence::{NS_PER_S, streams_of};
use crate::histogram::Distribution;
use crate::tally::{open_of, unfinished, waited_ns};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Grain, Phase, Sample, Timing};

/// Seconds that a row of [`Grain::FiveSeconds`] covers at most: it begins at a multiple of them from T0, or with its
/// phase, and ends with its phase at the latest.
const FIVE_S: u32 = 5;

/// Latencies of an item's measured records.
///
/// Each stream's row of the whole phase is taken. A stream that was cut off before it wrote that one gives its rows of
/// five seconds and, of what came home after the last of them was written, its rows of seconds. Those hold the response
/// alone: other timings lack these records.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn measured_latencies(
    evidence: &TrialEvidence,
    item: &str,
    timing: Timing,
) -> Result<Distribution, AnalysisError> {
    let mut merged = Distribution::new();
    for stream in streams_of(evidence, item) {
        let rows = |grain| {
            evidence.samples.iter().filter(move |row: &&Sample| row.id == stream && row.grain == grain)
        };
        let measured = |grain| rows(grain).filter(|row| row.phase == Phase::Measure);
        add_unfinished(&mut merged, timing, measured(Grain::Second));
        let is_cut_off = !evidence.totals.iter().any(|totals| totals.id == stream);
        if is_cut_off && ends_with_outcome(timing) {
            // It wrote nothing off: what its rows leave open waited at least until the last of them.
            let open = open_of(evidence, stream).into_iter().filter(|open| open.phase == Phase::Measure);
            open.for_each(|open| merged.add_unfinished(open.records, open.waited_ns));
        }
        if measured(Grain::Phase).any(|row| !row.histograms.is_empty()) {
            add_finished(&mut merged, timing, measured(Grain::Phase))?;
            continue;
        }
        // All five-second rows of a stream are written together, after the rows of seconds that they sum up; a time
        // at which nothing had come home leaves none, and no row of a second to sum up either.
        let summed_up = rows(Grain::FiveSeconds).map(|row| row.written_second).max();
        let rest = measured(Grain::Second).filter(|row| Some(row.written_second) > summed_up);
        add_finished(&mut merged, timing, measured(Grain::FiveSeconds).chain(rest))?;
    }
    Ok(merged)
}

/// Latencies of an item's records whose intended instant lies in the seconds from `first_second` to before
/// `end_second`: the union of their five-second rows, those that are written so far.
///
/// The stretch lies in one phase, that of its first second, and consists of whole rows: either end is a multiple
/// of five seconds from T0 or an end of the phase (rounded up to a whole second).
///
/// # Errors
/// When the stretch cuts through a row, which names the nearest that does not; when a stored histogram is
/// damaged.
pub fn window_latencies(
    evidence: &TrialEvidence,
    item: &str,
    timing: Timing,
    first_second: u32,
    end_second: u32,
) -> Result<Distribution, AnalysisError> {
    let Some((phase, start, end)) = phase_of(evidence, first_second) else { return Ok(Distribution::new()) };
    let nearest = nearest_rows((start, end), (first_second, end_second));
    if nearest != (first_second, end_second) {
        return Err(AnalysisError::CutsRows { first_second, end_second, nearest });
    }
    let streams = streams_of(evidence, item);
    let window = |grain| {
        evidence.samples.iter().filter(move |row: &&Sample| {
            // The first row of a phase is keyed by the multiple of five before the phase began.
            let second = row.t0_second.max(start);
            let is_within = (first_second..end_second).contains(&second);
            row.grain == grain && row.phase == phase && is_within
        })
    };
    let own = |row: &&Sample| streams.contains(&row.id);
    let mut merged = Distribution::new();
    add_unfinished(&mut merged, timing, window(Grain::Second).filter(own));
    add_finished(&mut merged, timing, window(Grain::FiveSeconds).filter(own))?;
    Ok(merged)
}

/// The phase in which a second begins, the last one when it comes later, with its first second and the first after
/// it.
fn phase_of(evidence: &TrialEvidence, second: u32) -> Option<(Phase, u32, u32)> {
    let start_ns = u64::from(second) * NS_PER_S;
    let span = evidence.phases.iter().find(|span| start_ns < span.end_ns).or(evidence.phases.last())?;
    let second = |ns: u64| u32::try_from(ns.div_ceil(NS_PER_S)).unwrap_or(u32::MAX);
    // A damaged file may hold a phase that ends before it begins.
    Some((span.phase, second(span.start_ns), second(span.end_ns.max(span.start_ns))))
}

/// The stretch of whole rows of a phase that is nearest to a wanted one; at least one row.
fn nearest_rows((start, end): (u32, u32), (first, last): (u32, u32)) -> (u32, u32) {
    let below = |second: u32| (second / FIVE_S * FIVE_S).clamp(start, end);
    let above = |second: u32| second.checked_next_multiple_of(FIVE_S).unwrap_or(end).clamp(start, end);
    let nearest = |second: u32| {
        let (below, above) = (below(second), above(second));
        if second.abs_diff(below) <= second.abs_diff(above) { below } else { above }
    };
    let first = nearest(first).min(below(end.saturating_sub(1)));
    (first, nearest(last).max(above(first.saturating_add(1))))
}

/// Adds records that failed or stayed unresolved, which only rows of seconds count.
fn add_unfinished<'a>(into: &mut Distribution, timing: Timing, rows: impl Iterator<Item = &'a Sample>) {
    if ends_with_outcome(timing) {
        rows.for_each(|row| {
            into.add_unfinished(unfinished(&row.counts), waited_ns(row.t0_second, row.written_second));
        });
    }
}

/// Whether a timing ends when the outcome is known, so that records without one count in it.
fn ends_with_outcome(timing: Timing) -> bool {
    matches!(timing, Timing::Response | Timing::Service)
}

/// Adds the records of some rows that came home.
fn add_finished<'a>(
    into: &mut Distribution,
    timing: Timing,
    rows: impl Iterator<Item = &'a Sample>,
) -> Result<(), AnalysisError> {
    for row in rows {
        if let Some(bytes) = row.histograms.get(&timing) {
            into.add_histogram(bytes)?;
        }
        into.add_sum(row.sums_ns.get(&timing).copied().unwrap_or(0));
    }
    Ok(())
}
