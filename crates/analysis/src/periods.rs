//! Stretches of a trial, all load items together, as tools have them that report every few seconds: what was counted in each,
//! and how long it took. Latencies are of records of the measure phase that were acknowledged, or consumed, in the stretch.

use crate::error::AnalysisError;
use crate::evidence::{whole_until, window};
use crate::histogram::LatencyDistribution;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::{Counts, Grain, Phase, Sample, StreamId, Timing};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a stretch has of rows of five seconds, since rows of one second do not have it.
const OF_FIVES: [Timing; 2] = [Timing::ScheduleDelay, Timing::Block];

/// A stretch of whole seconds.
#[derive(Debug, Clone, Default)]
pub struct Period {
    /// How many seconds, 0 before any.
    pub seconds: u32,
    /// What was written in it, of all phases.
    pub counts: Counts,
    /// Service times (t6 − t2).
    pub service: LatencyDistribution,
    /// Response times (t6 − t0).
    pub response: LatencyDistribution,
    /// How late the generator was (t1 − t0).
    pub schedule_delay: LatencyDistribution,
    /// Waits for room in the client's buffer (t2 − t1).
    pub block: LatencyDistribution,
    /// End-to-end latencies (t8 − t0).
    pub end_to_end: LatencyDistribution,
    /// Records that consumers of all groups had not read at its end, of those acknowledged since T0.
    pub backlog: u64,
}

impl Period {
    /// Adds what was written in these seconds from T0. Of single seconds a row has the service time where the plan has tool
    /// lines; the generator's delay and the wait for room are in rows of five.
    ///
    /// # Errors
    /// When a stored histogram is damaged.
    pub fn add(&mut self, evidence: &TrialEvidence, seconds: Range<u32>) -> Result<(), AnalysisError> {
        self.seconds += seconds.end.saturating_sub(seconds.start);
        let rows = || evidence.samples.iter().filter(|row| seconds.contains(&row.written_second));
        for row in rows() {
            match row.grain {
                Grain::Second => {
                    self.counts.add(&row.counts);
                    self.add_timings(row, &[Timing::Service, Timing::Response, Timing::EndToEnd])?;
                }
                Grain::FiveSeconds => self.add_timings(row, &OF_FIVES)?,
                Grain::Phase => {}
            }
        }
        Ok(())
    }

    fn add_timings(&mut self, row: &Sample, timings: &[Timing]) -> Result<(), AnalysisError> {
        if row.phase != Phase::Measure {
            return Ok(());
        }
        for timing in timings {
            let into = match timing {
                Timing::Service => &mut self.service,
                Timing::Response => &mut self.response,
                Timing::ScheduleDelay => &mut self.schedule_delay,
                Timing::Block => &mut self.block,
                _ => &mut self.end_to_end,
            };
            if let Some(bytes) = row.histograms.get(timing) {
                into.add_histogram(bytes)?;
            }
            into.add_sum(row.sums_ns.get(timing).copied().unwrap_or(0));
        }
        Ok(())
    }
}

/// The window in stretches of `length_s` seconds; the last one may be shorter. None without a window. The evidence has to have
/// the rows of five seconds of all streams. `groups`: how many
/// consumer groups read each topic.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn periods(evidence: &TrialEvidence, length_s: u32, groups: u32) -> Result<Vec<Period>, AnalysisError> {
    let Some(window) = window(evidence) else { return Ok(Vec::new()) };
    let starts = (window.first_second..window.end_second).step_by(length_s.max(1) as usize);
    let one = |start: u32| {
        let end = start.saturating_add(length_s.max(1)).min(window.end_second);
        let mut period = Period { backlog: backlog(evidence, end, groups), ..Period::default() };
        period.add(evidence, start..end)?;
        Ok(period)
    };
    let mut all = starts.map(one).collect::<Result<Vec<Period>, AnalysisError>>()?;
    // The last five seconds of the phase are written when it is over.
    let later = |row: &&Sample| row.grain == Grain::FiveSeconds && row.written_second >= window.end_second;
    if let Some(last) = all.last_mut() {
        for row in evidence.samples.iter().filter(later) {
            last.add_timings(row, &OF_FIVES)?;
        }
    }
    Ok(all)
}

/// Latencies of the whole measure phase, at the digits of its rows. Where a part of the load was lost and the trial went
/// on, they are of the window, at the digits of seconds, and the generator's delay of its stretches of five.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn whole(evidence: &TrialEvidence) -> Result<Period, AnalysisError> {
    let mut period = Period::default();
    if whole_until(evidence).is_some() {
        let window = window(evidence).map_or(0..0, |window| window.first_second..window.end_second);
        period.add(evidence, window)?;
        return Ok(period);
    }
    for row in evidence.samples.iter().filter(|row| row.grain == Grain::Phase) {
        let all = [Timing::Service, Timing::Response, Timing::ScheduleDelay, Timing::Block, Timing::EndToEnd];
        period.add_timings(row, &all)?;
    }
    Ok(period)
}

/// What `groups` groups on each topic have to read of what was acknowledged before a second, less what they read.
fn backlog(evidence: &TrialEvidence, end_second: u32, groups: u32) -> u64 {
    let consumers = evidence.start.streams.iter().filter(|stream| stream.role == RoleKind::Consume);
    let consumers: BTreeSet<StreamId> = consumers.map(|stream| stream.id).collect();
    let rows =
        evidence.samples.iter().filter(|row| row.grain == Grain::Second && row.written_second < end_second);
    let (mut acknowledged, mut read) = (0u64, 0u64);
    for row in rows {
        acknowledged = acknowledged.saturating_add(row.counts.acknowledged);
        if consumers.contains(&row.id) {
            read = read.saturating_add(row.counts.fetched);
        }
    }
    acknowledged.saturating_mul(groups.into()).saturating_sub(read)
}
