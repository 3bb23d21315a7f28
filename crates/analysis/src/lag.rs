//! How far consumers are behind the end of the log, in records and in time.

use crate::evidence::streams_of;
use crate::rows::{Item, Trial};
use kdyno_model::sample::{Grain, StreamId};
use std::collections::BTreeMap;

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

/// The lag of an item that consumes; `None` of one that produces, without a window, and where one of its streams had not
/// been told by then where the log ends.
///
/// The newest `records` that the trial's producers wrote to the topic are those that the consumer has not got: their
/// acknowledgements are counted backwards from the window's end.
pub(crate) fn of(trial: &Trial<'_>, item: &Item<'_>) -> Option<Lag> {
    let window = item.window.filter(|_| item.plan.role.as_produce().is_none())?;
    let records = item.tally.lag_records.1?;
    let mut lag = Lag { records, seconds: None, is_at_least: false };
    let writers = trial.items.iter().filter(|other| other.plan.topic == item.plan.topic);
    let streams: Vec<StreamId> = writers
        .filter(|other| other.plan.role.as_produce().is_some())
        .flat_map(|writer| streams_of(trial.evidence, writer.name))
        .collect();
    if streams.is_empty() {
        return Some(lag);
    }
    if records == 0 {
        lag.seconds = Some(0.0);
        return Some(lag);
    }
    let mut acknowledged: BTreeMap<u32, u64> = BTreeMap::new();
    for row in trial.evidence.samples.iter().filter(|row| row.grain == Grain::Second) {
        if streams.contains(&row.id) && row.written_second < window.end_second {
            let second = acknowledged.entry(row.written_second).or_default();
            *second = second.saturating_add(row.counts.acknowledged);
        }
    }
    let mut left = records;
    for (second, records) in acknowledged.into_iter().rev() {
        if left <= records {
            // Within a second they are taken to come evenly.
            let seconds_after = f64::from(window.end_second - second - 1);
            lag.seconds = Some(seconds_after + left as f64 / records as f64);
            return Some(lag);
        }
        left -= records;
    }
    (lag.seconds, lag.is_at_least) = (Some(f64::from(window.end_second)), true);
    Some(lag)
}
