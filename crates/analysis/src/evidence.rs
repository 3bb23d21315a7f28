//! What follows at once from one trial's evidence: its load items, and the window in which rates are counted.

use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::generator::LostWorkers;
use kdyno_model::plan::{LoadPlan, Rate, RoleKind};
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{Grain, Phase, ProbeReading, StreamId};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// Values of one series by the instants at which they were read, ns from T0.
pub(crate) type ReadingsByTime = BTreeMap<i64, f64>;

/// Whole seconds of the measure phase, from T0, in which every load item was at work but for those that come and go by
/// plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// First second.
    pub(crate) first_second: u32,
    /// First second after it.
    pub(crate) end_second: u32,
}

impl Window {
    /// Its part in which an item that comes and goes was at work; `None` where there is no whole second of it.
    pub(crate) fn of_item(self, evidence: &TrialEvidence, item: &LoadPlan) -> Option<Self> {
        if item.span.is_whole() {
            return Some(self);
        }
        let measure = evidence.span(Phase::Measure)?;
        let work = item.span.within(measure.end_ns.saturating_sub(measure.start_ns));
        let first = measure.start_ns.saturating_add(work.start).div_ceil(NS_PER_S);
        let end = measure.start_ns.saturating_add(work.end) / NS_PER_S;
        let first_second = self.first_second.max(u32::try_from(first).ok()?);
        let end_second = self.end_second.min(u32::try_from(end).ok()?);
        (first_second < end_second).then_some(Self { first_second, end_second })
    }

    /// Whether a second lies in it.
    pub(crate) fn holds(&self, second: u32) -> bool {
        (self.first_second..self.end_second).contains(&second)
    }

    /// Its length, seconds; at least 1.
    pub(crate) fn seconds(&self) -> f64 {
        f64::from(self.end_second - self.first_second)
    }

    /// Its ends, ns from T0.
    pub(crate) fn ends_ns(&self) -> (i64, i64) {
        let ns = |second: u32| i64::from(second) * NS_PER_S.cast_signed();
        (ns(self.first_second), ns(self.end_second))
    }
}

/// The load items that the trial ran, by address.
pub(crate) fn items(evidence: &TrialEvidence) -> impl Iterator<Item = (&str, &LoadPlan)> {
    evidence.start.trial.effective.load.iter().map(|(name, item)| (name.as_str(), item))
}

/// An item's streams, one per worker; of a probe two.
pub(crate) fn streams_of(evidence: &TrialEvidence, item: &str) -> Vec<StreamId> {
    let streams = evidence.start.streams.iter().filter(|stream| stream.name == item);
    streams.map(|stream| stream.id).collect()
}

/// Load items that fetch.
pub(crate) fn fetching_streams_of(evidence: &TrialEvidence, item: &str) -> Vec<StreamId> {
    let streams = evidence.start.streams.iter().filter(|stream| stream.name == item);
    streams.filter(|stream| stream.role == RoleKind::Consume).map(|stream| stream.id).collect()
}

/// The processes that ended in the trial: one that is reported twice ended once.
pub(crate) fn ended_processes(evidence: &TrialEvidence) -> BTreeSet<&Subject> {
    let died = evidence.events.iter().filter(|event| event.kind == EventKind::ProcessDied);
    died.map(|event| &event.subject).collect()
}

/// Why the trial ended before its plan did, if it did.
pub(crate) fn cut_short(evidence: &TrialEvidence) -> Option<String> {
    let event = evidence.events.iter().find(|event| event.kind == EventKind::CutShort);
    event
        .map(|event| event.detail.clone())
        .or_else(|| lost_and_gone_on(evidence).map(|event| event.detail.clone()))
        .or_else(|| cut_off(evidence).next().map(|_| "not every stream gave its totals".to_owned()))
        .or_else(|| {
            let running = evidence.events.iter().find(|event| is_still_running(event, evidence))?;
            Some(format!("the end of {} was not seen", running.subject))
        })
}

/// The end of a worker on another host, if the trial was to go on without it and did.
pub(crate) fn lost_and_gone_on(evidence: &TrialEvidence) -> Option<&Event> {
    let has_ended_early = evidence.events.iter().any(|event| event.kind == EventKind::CutShort);
    lost(evidence).filter(|_| !has_ended_early)
}

/// The end of a worker on another host, if the trial was to go on without it.
fn lost(evidence: &TrialEvidence) -> Option<&Event> {
    let goes_on = evidence.start.trial.effective.generators.lost_workers == LostWorkers::Report;
    let is_lost = |event: &&Event| {
        event.kind == EventKind::WorkerEnded
            && cut_off(evidence).any(|stream| event.subject == Subject::Worker(stream.id.worker))
    };
    evidence.events.iter().find(is_lost).filter(|_| goes_on)
}

/// The second of t0 from which on a part of the load was missing, where the trial was to go on without it: what was due
/// then is in no figure. `None`: nothing was lost so.
pub(crate) fn whole_until(evidence: &TrialEvidence) -> Option<u32> {
    lost(evidence).map(|_| window(evidence).map_or(0, |window| window.end_second))
}

/// Whether a command was started whose end is unknown.
fn is_still_running(event: &Event, evidence: &TrialEvidence) -> bool {
    let has_end = |other: &Event| {
        other.subject == event.subject
            && matches!(other.kind, EventKind::CommandEnded | EventKind::CommandFailed)
    };
    event.kind == EventKind::CommandStarted && !evidence.events.iter().any(has_end)
}

/// The streams that ended without totals: what they did after their last row is unknown.
fn cut_off(evidence: &TrialEvidence) -> impl Iterator<Item = &StreamInfo> {
    let gave_none = |stream: &&StreamInfo| !evidence.totals.iter().any(|totals| totals.id == stream.id);
    evidence.start.streams.iter().filter(gave_none)
}

/// The aligned window: the whole seconds of the measure phase, without what comes
/// - when the trial was cut short: after the load stopped, or the first stream was cut off; the last second may be
///   incomplete;
/// - after the first item with a record limit has sent its last measured record, or one of its clients has had the
///   outcome of its last one: what comes then is the tail of the stragglers;
/// - after the first item that consumes has ended by itself, with enough records or without any for long enough.
///
/// `None` when no whole second is left.
pub(crate) fn window(evidence: &TrialEvidence) -> Option<Window> {
    let measure = evidence.span(Phase::Measure)?;
    let first_second = u32::try_from(measure.start_ns.div_ceil(NS_PER_S)).ok()?;
    let mut end_second = u32::try_from(measure.end_ns / NS_PER_S).ok()?;
    if cut_short(evidence).is_some() {
        end_second = end_second.min(last_at_work(evidence)?);
    }
    for (name, item) in items(evidence) {
        let ended = limit_reached(evidence, name, item).or_else(|| ended_by_itself(evidence, name, item));
        if let Some(last) = ended {
            end_second = end_second.min(last);
        }
    }
    (first_second < end_second).then_some(Window { first_second, end_second })
}

/// The last second before the load stopped or the first stream was cut off, whichever came first.
///
/// The load stopped with the last second in which something was offered; fetched, where nothing was ever offered; of
/// commands alone, with the last of their readings, or of anything's while one of them went on.
/// Consumers go on for a while after the producers have stopped, and so do outcomes. A stream was cut off in the last
/// second in which it offered; one that consumes, in that of its last row, for an answer without records is work too.
fn last_at_work(evidence: &TrialEvidence) -> Option<u32> {
    let rows = || evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    let offered = rows().filter(|row| row.counts.offered > 0).map(|row| row.t0_second).max();
    let fetched = || rows().filter(|row| row.counts.fetched > 0).map(|row| row.written_second).max();
    let mut last = offered.or_else(fetched).or_else(|| last_reading_of_commands(evidence))?;
    for stream in cut_off(evidence) {
        let own = rows().filter(|row| row.id == stream.id);
        let has_rows = own.clone().next().is_some();
        if !has_rows && items(evidence).any(|(name, item)| name == stream.name && item.span.is_late()) {
            // It had yet to come.
            continue;
        }
        let own_last = match stream.role {
            RoleKind::Produce => own.filter(|row| row.counts.offered > 0).map(|row| row.t0_second).max(),
            RoleKind::Consume | RoleKind::EndToEnd => own.map(|row| row.written_second).max(),
        };
        last = last.min(own_last?);
    }
    Some(last)
}

/// The second of the last reading of any command, users or job. These report what they did when they end; one with an
/// unseen end is known to have gone on while something was read.
fn last_reading_of_commands(evidence: &TrialEvidence) -> Option<u32> {
    let is_running = evidence.events.iter().any(|event| is_still_running(event, evidence));
    let is_meant = |reading: &&ProbeReading| is_running || matches!(reading.subject, Subject::Item(_));
    let readings = evidence.probes.iter().filter(is_meant);
    readings.map(|reading| reading.at_ns).max().and_then(second_of)
}

/// The second that an instant lies in, ns from T0; what was before is in the first one.
fn second_of(at_ns: i64) -> Option<u32> {
    u32::try_from(u64::try_from(at_ns).unwrap_or(0) / NS_PER_S).ok()
}

/// The second in which an item with a record limit reached it, all of its workers together.
fn limit_reached(evidence: &TrialEvidence, name: &str, item: &LoadPlan) -> Option<u32> {
    let limit = item.role.as_produce()?.records_max?;
    let streams = streams_of(evidence, name);
    let offering = || {
        evidence.samples.iter().filter(|row| {
            row.grain == Grain::Second
                && row.phase == Phase::Measure
                && row.counts.offered > 0
                && streams.contains(&row.id)
        })
    };
    let offered = offering().fold(0u64, |sum, row| sum.saturating_add(row.counts.offered));
    if offered < limit {
        return None;
    }
    let last = offering().map(|row| row.t0_second).max()?;
    Some(first_client_done(evidence, &streams).map_or(last, |done| last.min(done)))
}

/// The second in which an item that consumes ended by itself, on the first of its workers.
fn ended_by_itself(evidence: &TrialEvidence, name: &str, item: &LoadPlan) -> Option<u32> {
    item.role.as_consume().filter(|consume| consume.ends_by_itself())?;
    let of_item = |event: &&Event| event.kind == EventKind::ItemEnded && is_item(&event.subject, name);
    evidence.events.iter().filter(of_item).filter_map(|event| event.at_ns).min().and_then(second_of)
}

fn is_item(subject: &Subject, name: &str) -> bool {
    matches!(subject, Subject::Item(item) if item == name)
}

/// The second in which the first client of some streams had its last outcome. Clients begin at T0 or, in an open loop,
/// soon after it, so this is at most as much too early.
fn first_client_done(evidence: &TrialEvidence, streams: &[StreamId]) -> Option<u32> {
    let totals = evidence.totals.iter().filter(|totals| streams.contains(&totals.id));
    let clients = totals.flat_map(|totals| &totals.clients).filter(|client| client.records > 0);
    clients.map(|client| u32::try_from(client.span_ns / NS_PER_S).unwrap_or(u32::MAX)).min()
}

/// Whether each record of the item has a scheduled send time.
pub(crate) fn is_open_loop(item: &LoadPlan) -> bool {
    item.role.as_produce().is_some_and(|plan| matches!(plan.rate, Rate::Open { .. }))
}
