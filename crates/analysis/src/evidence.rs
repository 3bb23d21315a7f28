//! What one trial left behind, and the window in which its rates are counted.

use kdyno_model::plan::{CasePlan, LoadPlan, ProducePlan, Rate, Role, TrialRef};
use kdyno_model::run::{Event, StreamInfo, event_kind};
use kdyno_model::sample::{Grain, NoiseReading, Phase, ProbeReading, Sample, StreamTotals};
use kdyno_model::worker::PhaseSpan;

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// Everything that is known of one trial, as the run file keeps it.
#[derive(Debug, Clone, Copy)]
pub struct TrialEvidence<'a> {
    /// The case the trial belongs to.
    pub plan: &'a CasePlan,
    /// Which trial.
    pub trial: TrialRef,
    /// The phases, in order, gapless from 0.
    pub phases: &'a [PhaseSpan],
    /// The streams.
    pub streams: &'a [StreamInfo],
    /// Every row, repeats removed (the run file does that).
    pub samples: &'a [Sample],
    /// Readings of processes and host.
    pub probes: &'a [ProbeReading],
    /// The streams' accounts; empty when the trial was cut off.
    pub totals: &'a [StreamTotals],
    /// What happened in the trial.
    pub events: &'a [Event],
    /// Noise probes of the trial.
    pub noise: &'a [NoiseReading],
    /// Whether an attached cluster runs on the host that the load comes from (see
    /// [`kdyno_model::run::is_attached_here`]).
    pub attached_here: bool,
    /// Processors of the host.
    pub processors: u32,
    /// Event loop threads of all workers together.
    pub worker_threads: u32,
}

/// Whole seconds of the measure phase, from T0, in which every load item was at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First second.
    pub first_second: u32,
    /// First second after it.
    pub end_second: u32,
}

impl Window {
    /// Whether a second lies in it.
    pub fn holds(&self, second: u32) -> bool {
        (self.first_second..self.end_second).contains(&second)
    }

    /// Its length, seconds; at least 1.
    pub fn seconds(&self) -> f64 {
        f64::from(self.end_second - self.first_second)
    }

    /// Its ends, ns from T0.
    pub fn ends_ns(&self) -> (i64, i64) {
        let ns = |second: u32| i64::from(second) * NS_PER_S.cast_signed();
        (ns(self.first_second), ns(self.end_second))
    }
}

impl<'a> TrialEvidence<'a> {
    /// The load items of the plan, by address.
    pub fn items(&self) -> impl Iterator<Item = (&'a str, &'a LoadPlan)> {
        self.plan.load.iter().map(|(name, item)| (name.as_str(), item))
    }

    /// Numbers of an item's streams, one per worker.
    pub fn streams_of(&self, item: &str) -> Vec<u16> {
        self.streams.iter().filter(|stream| stream.name == item).map(|stream| stream.stream).collect()
    }

    /// Why the trial ended before its plan did, if it did.
    pub fn cut_short(&self) -> Option<String> {
        let event = self.events.iter().find(|event| event.kind == event_kind::CUT_SHORT);
        event.map(|event| event.detail.clone()).or_else(|| {
            self.totals.is_empty().then(|| "the streams never gave their final account".to_owned())
        })
    }

    /// The aligned window: the whole seconds of the measure phase, without what comes
    /// - when the trial was cut short: after the load stopped, whose last second may be incomplete;
    /// - after the first item with a record limit has sent its last measured record.
    ///
    /// `None` when no whole second is left.
    pub fn window(&self) -> Option<Window> {
        let measure = self.phases.iter().find(|span| span.phase == Phase::Measure)?;
        let first_second = u32::try_from(measure.start_ns.div_ceil(NS_PER_S)).ok()?;
        let mut end_second = u32::try_from(measure.end_ns / NS_PER_S).ok()?;
        if self.cut_short().is_some() {
            end_second = end_second.min(self.last_at_work()?);
        }
        for (name, item) in self.items() {
            if let Some(last) = self.limit_reached(name, item) {
                end_second = end_second.min(last);
            }
        }
        (first_second < end_second).then_some(Window { first_second, end_second })
    }

    /// The last second in which something was offered; fetched, where nothing was ever offered. Consumers go on
    /// for a while after the producers have stopped, and so do outcomes.
    fn last_at_work(&self) -> Option<u32> {
        let rows = || self.samples.iter().filter(|row| row.grain == Grain::Second);
        let offered = rows().filter(|row| row.counts.offered > 0).map(|row| row.t0_second).max();
        let fetched = || rows().filter(|row| row.counts.fetched > 0).map(|row| row.written_second).max();
        offered.or_else(fetched)
    }

    /// The second in which an item with a record limit reached it.
    fn limit_reached(&self, name: &str, item: &LoadPlan) -> Option<u32> {
        let limit = produce(item)?.records_max?;
        let streams = self.streams_of(name);
        let offering = || {
            self.samples.iter().filter(|row| {
                row.grain == Grain::Second
                    && row.phase == Phase::Measure
                    && row.counts.offered > 0
                    && streams.contains(&row.stream)
            })
        };
        let offered = offering().fold(0u64, |sum, row| sum.saturating_add(row.counts.offered));
        (offered >= limit).then(|| offering().map(|row| row.t0_second).max()).flatten()
    }
}

/// The produce plan of an item that produces.
pub(crate) fn produce(item: &LoadPlan) -> Option<&ProducePlan> {
    match &item.role {
        Role::Produce(plan) => Some(plan),
        Role::Consume(_) => None,
    }
}

/// Whether each record of the item has an intended instant.
pub(crate) fn is_open_loop(plan: &ProducePlan) -> bool {
    matches!(plan.rate, Rate::Open { .. })
}
