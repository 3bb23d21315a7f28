//! How far consumers are behind the end of the log, in records and in time.

use crate::evidence::{NS_PER_S, items, streams_of};
use crate::rows::{ItemRows, TrialRows};
use crate::tally;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::metric;
use kdyno_model::plan::LoadPlan;
use kdyno_model::sample::{CaughtUp, Grain, Phase, Sample, StreamId};
use std::collections::BTreeMap;

/// A consumer that is no further behind has caught up with what is written, s, where its worker did not look more
/// closely: a second is the resolution of rows.
const CAUGHT_UP_S: f64 = 1.0;

/// Where a consumer was when the window ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lag {
    /// Records to the end of the log.
    pub(crate) records: u64,
    /// How long ago the next record to be fetched was acknowledged; `None`: this trial writes nothing to the topic.
    pub(crate) seconds: Option<f64>,
    /// It was acknowledged before T0, so `seconds` is the least it can be.
    pub(crate) is_at_least: bool,
}

/// What the producers of a trial wrote to one topic, second by second.
pub(crate) struct WrittenRecords {
    /// Records acknowledged in each second.
    by_second: BTreeMap<u32, u64>,
    /// Something of this trial writes to it, and the item has all of its partitions.
    is_known: bool,
}

impl WrittenRecords {
    /// Records of the topic that an item consumes. Where members of other items have some of its partitions, it is
    /// unknown what was written to those of this one.
    pub(crate) fn of(evidence: &TrialEvidence, name: &str, consumer: &LoadPlan) -> Self {
        let writes = |item: &LoadPlan| item.topic == consumer.topic && item.role.as_produce().is_some();
        let writers = items(evidence).filter(|(_, item)| writes(item));
        let streams: Vec<StreamId> = writers.flat_map(|(name, _)| streams_of(evidence, name)).collect();
        let mut by_second = BTreeMap::new();
        for row in evidence.samples.iter().filter(|row| row.grain == Grain::Second) {
            if streams.contains(&row.id) {
                let second: &mut u64 = by_second.entry(row.written_second).or_default();
                *second = second.saturating_add(row.counts.acknowledged);
            }
        }
        let has_all = !evidence.start.trial.effective.shares_group(name);
        Self { by_second, is_known: has_all && !streams.is_empty() }
    }

    /// How far a consumer is behind in time when the second `end_second` begins and `records` are left to it. These are
    /// the newest that were written: acknowledgements are counted backwards.
    pub(crate) fn behind(&self, records: u64, end_second: u32) -> Lag {
        let mut lag = Lag { records, seconds: None, is_at_least: false };
        if !self.is_known {
            return lag;
        }
        if records == 0 {
            lag.seconds = Some(0.0);
            return lag;
        }
        let mut left = records;
        for (second, records) in self.by_second.range(..end_second).rev() {
            if left <= *records {
                // Within a second they are taken to come evenly.
                let seconds_after = f64::from(end_second - second - 1);
                lag.seconds = Some(seconds_after + left as f64 / *records as f64);
                return lag;
            }
            left -= records;
        }
        (lag.seconds, lag.is_at_least) = (Some(f64::from(end_second)), true);
        lag
    }
}

impl Lag {
    /// In time, ns.
    pub(crate) fn ns(self) -> Value {
        match self.seconds.map(|seconds| seconds * NS_PER_S as f64) {
            Some(ns) if self.is_at_least => Value::AtLeast(ns),
            Some(ns) => Value::Is(ns),
            None => Value::None,
        }
    }
}

/// The lag of an item that consumes when the window ended; `None` for one that produces, without a window, and where
/// one of its streams did not know by then where the log ends.
pub(crate) fn of(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Option<Lag> {
    let window = item.window.filter(|_| item.plan.role.as_consume().is_some())?;
    let records = item.tally.lag_records.1?;
    Some(WrittenRecords::of(trial.evidence, item.name, item.plan).behind(records, window.end_second))
}

/// A metric of how far a consuming item is behind, or how it caught up; `None`: it is another one.
pub(crate) fn value(trial: &TrialRows<'_>, item: &ItemRows<'_>, name: &str) -> Option<Value> {
    match name {
        "lag_time" => Some(of(trial, item).map_or(Value::None, Lag::ns)),
        "caught_up" => Some(drain(trial, item).map_or(Value::None, |drain| drain.took_ns)),
        metric::DRAINED => {
            let per_s = drain(trial, item).and_then(Drain::records_per_s);
            Some(per_s.into())
        }
        _ => None,
    }
}

/// How a consuming item that came in the measure phase caught up with what was there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Drain {
    /// From when it came until it had caught up, ns: at least as long as it was there, where it never had.
    took_ns: Value,
    /// Records that it was handed in that time.
    records: u64,
}

impl Drain {
    /// Records per second until it had caught up: what was idle afterwards does not count.
    fn records_per_s(self) -> Option<f64> {
        let took_ns = self.took_ns.least().filter(|ns| *ns > 0.0)?;
        Some(self.records as f64 * NS_PER_S as f64 / took_ns)
    }
}

/// For an item that came in the measure phase. It had caught up when its streams had first read all that there was;
/// where they did not say so, at the end of the first second at which it was [no further behind](CAUGHT_UP_S).
fn drain(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Option<Drain> {
    let window = item.window.filter(|_| item.plan.span.is_late() && item.plan.role.as_consume().is_some())?;
    let measure = trial.evidence.span(Phase::Measure)?;
    let came_ns = measure.start_ns.saturating_add(item.plan.span.at_ns.unwrap_or(0));
    let since_ns = |at_ns: u64| at_ns.saturating_sub(came_ns) as f64;
    let end_ns = |second: u32| u64::from(second) * NS_PER_S;
    if trial.evidence.start.trial.effective.shares_group(item.name) {
        return None;
    }
    let streams = streams_of(trial.evidence, item.name);
    let is_own = |row: &&Sample| row.grain == Grain::Second && streams.contains(&row.id);
    let rows: Vec<&Sample> = trial.evidence.samples.iter().filter(is_own).collect();
    let until = |second: u32| {
        let before = rows.iter().filter(|row| row.written_second < second);
        before.fold(0u64, |sum, row| sum.saturating_add(row.counts.fetched))
    };
    let by_rows = first_second_up(trial, item, &streams, &rows);
    // A lag of nothing that came by chance, long after the last seconds were caught up with, says no more.
    let latest_ns = by_rows.map_or(u64::MAX, |second| end_ns(second).saturating_add(NS_PER_S));
    let latest_ns = latest_ns.min(end_ns(window.end_second));
    if let Some(exact) = exact(trial.evidence, &streams).filter(|exact| exact.at_ns <= latest_ns) {
        return Some(Drain { took_ns: Value::Is(since_ns(exact.at_ns)), records: exact.records });
    }
    let is_known = WrittenRecords::of(trial.evidence, item.name, item.plan).is_known;
    is_known.then(|| match by_rows {
        Some(second) => Drain { took_ns: Value::Is(since_ns(end_ns(second))), records: until(second) },
        None => Drain {
            took_ns: Value::AtLeast(since_ns(end_ns(window.end_second))),
            records: until(window.end_second),
        },
    })
}

/// When all streams of an item had caught up by what they say themselves.
fn exact(evidence: &TrialEvidence, streams: &[StreamId]) -> Option<CaughtUp> {
    let of_stream = |id: &StreamId| evidence.totals.iter().find(|totals| totals.id == *id)?.caught_up;
    let each: Option<Vec<CaughtUp>> = streams.iter().map(of_stream).collect();
    each?
        .into_iter()
        .reduce(|a, b| CaughtUp { at_ns: a.at_ns.max(b.at_ns), records: a.records.saturating_add(b.records) })
}

/// The second at whose beginning it was no further behind, by its rows.
fn first_second_up(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    streams: &[StreamId],
    rows: &[&Sample],
) -> Option<u32> {
    let window = item.window?;
    let written = WrittenRecords::of(trial.evidence, item.name, item.plan);
    let is_up = |end_second: &u32| {
        tally::lag_at(streams, || rows.iter().copied(), *end_second)
            .and_then(|records| written.behind(records, *end_second).seconds)
            .is_some_and(|s| s <= CAUGHT_UP_S)
    };
    (window.first_second + 1..=window.end_second).find(is_up)
}
