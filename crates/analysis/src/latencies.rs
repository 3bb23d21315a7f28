//! One load item's latencies, its workers' rows merged.
//!
//! Records without an acknowledgement count in response and service, which end with the outcome, and in what the response is
//! without the load generator, which is compared with it quantile by quantile; the stages are of those that were
//! acknowledged.
//! The figures of a stream that was killed follow from what its rows leave open. In the end-to-end latency, records
//! count that were acknowledged and never handed over.

use crate::end_to_end;
use crate::error::AnalysisError;
use crate::evidence::{streams_of, whole_until};
use crate::histogram::LatencyDistribution;
use crate::tally::{OpenSecond, open_of, unfinished, waited_ns};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Grain, Phase, Sample, StreamId, Timing};

/// Latencies of an item's measured records; what connecting took is of all of its clients.
///
/// Each stream's row of the whole phase is taken. A stream that was cut off before it wrote that one gives its rows of
/// five seconds and, of what was acknowledged after the last of them was written, its rows of seconds. Those hold the
/// response alone: other timings lack these records.
///
/// Where a part of the load was lost and the trial went on, those rows of longer times are of what was left too: only rows
/// of the seconds before are taken, which hold the response and the end-to-end latency alone.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn measured_latencies(
    evidence: &TrialEvidence,
    item: &str,
    timing: Timing,
) -> Result<LatencyDistribution, AnalysisError> {
    let mut merged = LatencyDistribution::new();
    if Timing::OF_HANDED.contains(&timing) {
        if !end_to_end::is_reported(evidence, item) {
            return Ok(merged);
        }
        if timing == Timing::EndToEnd {
            add_censored(&mut merged, evidence, item);
        }
    }
    let (streams, end) = (streams_of(evidence, item), whole_until(evidence));
    let is_whole = |t0_second: u32| end.is_none_or(|end| t0_second < end);
    if end.is_some() && !is_in_seconds(evidence, &streams, timing) {
        // Without those that were acknowledged, records that failed would be all that there is.
        return Ok(merged);
    }
    for stream in streams {
        // A long trial has hundreds of thousands of rows: they are gone through once for each stream.
        let of_stream: Vec<&Sample> = evidence.samples.iter().filter(|row| row.id == stream).collect();
        let rows = |grain| of_stream.iter().copied().filter(move |row| row.grain == grain);
        // Clients connect in start-up, or where they come later in the measure phase.
        let is_counted = |row: &&Sample| {
            timing == Timing::Connect || row.phase == Phase::Measure && is_whole(row.t0_second)
        };
        let measured = |grain| rows(grain).filter(is_counted);
        add_unfinished(&mut merged, timing, measured(Grain::Second));
        let is_cut_off = !evidence.totals.iter().any(|totals| totals.id == stream);
        if is_cut_off && ends_with_outcome(timing) {
            // It wrote nothing off: what its rows leave open waited at least until the last of them.
            let is_measured = |open: &OpenSecond| open.phase == Phase::Measure && is_whole(open.t0_second);
            let open = open_of(evidence, stream).into_iter().filter(is_measured);
            open.for_each(|open| merged.add_unfinished(open.records, open.waited_ns));
        }
        if end.is_some() && timing != Timing::Connect {
            add_finished(&mut merged, timing, measured(Grain::Second))?;
            continue;
        }
        if measured(Grain::Phase).any(|row| !row.histograms.is_empty()) {
            add_finished(&mut merged, timing, measured(Grain::Phase))?;
            continue;
        }
        // All five-second rows of a stream are written together, after the rows of seconds that they sum up; a time
        // at which nothing was acknowledged leaves none, and no row of a second to sum up either.
        let summed_up = rows(Grain::FiveSeconds).map(|row| row.written_second).max();
        let rest = measured(Grain::Second).filter(|row| Some(row.written_second) > summed_up);
        add_finished(&mut merged, timing, measured(Grain::FiveSeconds).chain(rest))?;
    }
    Ok(merged)
}

/// Whether rows of seconds of some streams hold a timing, or would if there were any.
fn is_in_seconds(evidence: &TrialEvidence, streams: &[StreamId], timing: Timing) -> bool {
    let has_it = |row: &Sample| row.grain == Grain::Second && row.histograms.contains_key(&timing);
    let is_always = matches!(timing, Timing::Response | Timing::EndToEnd | Timing::Connect);
    is_always || evidence.samples.iter().any(|row| has_it(row) && streams.contains(&row.id))
}

/// Adds records that failed or stayed unresolved, which only rows of seconds count.
fn add_unfinished<'a>(
    into: &mut LatencyDistribution,
    timing: Timing,
    rows: impl Iterator<Item = &'a Sample>,
) {
    if ends_with_outcome(timing) {
        rows.for_each(|row| {
            into.add_unfinished(unfinished(&row.counts), waited_ns(row.t0_second, row.written_second));
        });
    }
}

/// Adds records that were acknowledged and never handed over: they waited at least until the item's last row.
fn add_censored(into: &mut LatencyDistribution, evidence: &TrialEvidence, item: &str) {
    let last = end_to_end::last_written(evidence, item);
    for (t0_second, records) in end_to_end::censored(evidence, item).unwrap_or_default() {
        into.add_unfinished(records, waited_ns(t0_second, last));
    }
}

/// Whether a timing ends when the outcome is known, so that records without one count in it.
fn ends_with_outcome(timing: Timing) -> bool {
    matches!(timing, Timing::Response | Timing::Service | Timing::WithoutGenerator)
}

/// Adds the records of some rows that were acknowledged, or handed over.
fn add_finished<'a>(
    into: &mut LatencyDistribution,
    timing: Timing,
    rows: impl Iterator<Item = &'a Sample>,
) -> Result<(), AnalysisError> {
    for row in rows {
        if let Some(bytes) = row.histograms.get(&timing) {
            into.add_histogram(bytes)?;
        }
        into.add_sum(row.sums_ns.get(&timing).copied().unwrap_or(0));
        let Some(below_zero) = timing.below_zero() else { continue };
        if let Some(bytes) = row.histograms.get(&below_zero) {
            into.add_below_zero(bytes)?;
        }
        into.add_sum_below_zero(row.sums_ns.get(&below_zero).copied().unwrap_or(0));
    }
    Ok(())
}
