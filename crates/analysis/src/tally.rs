//! One load item's counts, its workers added up.

use crate::evidence::{NS_PER_S, Window, fetching_streams_of, streams_of, whole_until};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{ClientTotals, Counts, Grain, PartitionTotals, Phase, Sample, StreamId};
use std::collections::BTreeMap;

/// What was counted of one load item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemTally {
    /// Records whose scheduled send time lies in the window.
    pub(crate) offered: u64,
    /// Records without an outcome at the beginning of each second of the window, and at its end; empty without a window.
    pub(crate) open: Vec<u64>,
    /// Consume: records between the consumers and the end of the log when the window began and when it ended, where they
    /// are known.
    pub(crate) lag_records: (Option<u64>, Option<u64>),
    /// Counts written in the window, whatever phase the records belong to; `offered` of it is not used.
    pub(crate) windowed: Counts,
    /// Counts of the records of the measure phase, whenever they were written; without those that were due when a part of
    /// the load had been lost.
    pub(crate) measured: Counts,
    /// All counts of all rows.
    pub(crate) all: Counts,
    /// All counts by the streams' own totals; `None` when a stream gave none.
    pub(crate) totals: Option<Counts>,
    /// Each client's whole run, by the same totals.
    pub(crate) clients: Vec<ClientTotals>,
    /// What was acknowledged of each partition in the measure phase, by the same totals; empty where it was not counted.
    pub(crate) partitions: Vec<PartitionTotals>,
}

/// Records of an item that a worker had acknowledged in the window.
pub(crate) fn acknowledged_by(evidence: &TrialEvidence, item: &str, worker: u16, window: Window) -> u64 {
    let streams = streams_of(evidence, item);
    let is_its = |row: &&Sample| {
        row.grain == Grain::Second && row.id.worker == worker && window.holds(row.written_second)
    };
    let rows = evidence.samples.iter().filter(is_its).filter(|row| streams.contains(&row.id));
    rows.fold(0, |sum, row| sum.saturating_add(row.counts.acknowledged))
}

impl ItemTally {
    /// Adds up an item. `window` as of [`window`](crate::evidence::window).
    pub(crate) fn of(evidence: &TrialEvidence, item: &str, window: Option<Window>) -> Self {
        let streams = streams_of(evidence, item);
        let mut tally = Self::default();
        let end = whole_until(evidence);
        let is_measured =
            |phase: Phase, t0_second: u32| phase == Phase::Measure && end.is_none_or(|end| t0_second < end);
        let rows = || {
            let seconds = evidence.samples.iter().filter(|row| row.grain == Grain::Second);
            seconds.filter(|row| streams.contains(&row.id))
        };
        for row in rows() {
            tally.all.add(&row.counts);
            if is_measured(row.phase, row.t0_second) {
                tally.measured.add(&row.counts);
            }
            if window.is_some_and(|window| window.holds(row.t0_second)) {
                tally.offered = tally.offered.saturating_add(row.counts.offered);
            }
            if window.is_some_and(|window| window.holds(row.written_second)) {
                tally.windowed.add(&row.counts);
            }
        }
        if let Some(window) = window {
            tally.open = open_course(rows(), window);
            let fetching = fetching_streams_of(evidence, item);
            let lag = |second| lag_at(&fetching, rows, second);
            tally.lag_records = (lag(window.first_second), lag(window.end_second));
        }
        // For a stream that was cut off, what was open was not written off.
        let cut_off = streams.iter().filter(|id| !evidence.totals.iter().any(|totals| totals.id == **id));
        let open = cut_off.flat_map(|id| open_of(evidence, *id));
        for open in open.filter(|open| is_measured(open.phase, open.t0_second)) {
            tally.measured.unresolved = tally.measured.unresolved.saturating_add(open.records);
        }
        // In the order of the streams, so that sums of fractions do not depend on who gave them first.
        let given = streams.iter().map(|id| evidence.totals.iter().find(|totals| totals.id == *id));
        if let Some(given) = given.collect::<Option<Vec<_>>>().filter(|given| !given.is_empty()) {
            let mut sum = Counts::default();
            let mut by_topic: BTreeMap<&str, Vec<PartitionTotals>> = BTreeMap::new();
            for totals in given {
                sum.add(&totals.counts);
                tally.clients.extend_from_slice(&totals.clients);
                let stream = evidence.start.streams.iter().find(|stream| stream.id == totals.id);
                let topic = stream.map_or("", |stream| stream.topic.as_str());
                add_partitions(by_topic.entry(topic).or_default(), &totals.partitions);
            }
            tally.totals = Some(sum);
            tally.partitions = by_topic.into_values().flatten().collect();
        }
        tally
    }

    /// Achieved ÷ offered in the window; `None` when nothing was offered.
    pub(crate) fn achieved_share(&self) -> Option<f64> {
        ratio(self.windowed.achieved, self.offered)
    }

    /// Sum over the clients of each one's average over its own whole run, records per second.
    pub(crate) fn sum_of_client_rates_per_s(&self) -> Option<f64> {
        self.totals.as_ref()?;
        let rates = self.clients.iter().filter(|client| client.span_ns > 0);
        Some(rates.map(|client| client.records as f64 * NS_PER_S as f64 / client.span_ns as f64).sum())
    }
}

/// Adds what another stream counted, partition by partition.
fn add_partitions(sum: &mut Vec<PartitionTotals>, more: &[PartitionTotals]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), PartitionTotals::default());
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.records = sum.records.saturating_add(more.records);
        sum.bytes = sum.bytes.saturating_add(more.bytes);
    }
}

/// Time in which all of an item's clients that sent anything were between their first record and their last outcome, divided
/// by that in which any was. `None` where nothing was sent, or it is not reported when they began.
pub(crate) fn overlap_share(clients: &[ClientTotals]) -> Option<f64> {
    let spans = clients.iter().filter(|client| client.span_ns > 0);
    let spans: Option<Vec<(u64, u64)>> = spans
        .map(|client| client.began_ns.map(|began_ns| (began_ns, began_ns.saturating_add(client.span_ns))))
        .collect();
    let spans = spans?;
    let (first, last) = (spans.iter().map(|span| span.0).min()?, spans.iter().map(|span| span.1).max()?);
    let (all_from, all_to) = (spans.iter().map(|span| span.0).max()?, spans.iter().map(|span| span.1).min()?);
    ratio(all_to.saturating_sub(all_from), last - first)
}

/// Records intended before each second of a window, by rows of one item, that had no outcome when it began; and at its end.
fn open_course<'a>(rows: impl Iterator<Item = &'a Sample>, window: Window) -> Vec<u64> {
    // By second: what was offered in those before it and since the one before, and the same of what was settled.
    let instants = (window.end_second - window.first_second) as usize + 1;
    let mut grown = vec![(0u64, 0u64); instants];
    let place = |second: u32| (u64::from(second) + 1).saturating_sub(u64::from(window.first_second)) as usize;
    for row in rows {
        if let Some((offered, _)) = grown.get_mut(place(row.t0_second)) {
            *offered = offered.saturating_add(row.counts.offered);
        }
        if let Some((_, settled)) = grown.get_mut(place(row.written_second)) {
            *settled = settled.saturating_add(self::settled(&row.counts));
        }
    }
    let (mut offered, mut settled) = (0u64, 0u64);
    let open = grown.into_iter().map(|(more_offered, more_settled)| {
        offered = offered.saturating_add(more_offered);
        settled = settled.saturating_add(more_settled);
        offered.saturating_sub(settled)
    });
    open.collect()
}

/// Records between the consumers of some streams and the end of the log when a second began: what each stream said
/// last; `None` where one of them did not know.
pub(crate) fn lag_at<'a, R: Iterator<Item = &'a Sample>>(
    streams: &[StreamId],
    rows: impl Fn() -> R,
    second: u32,
) -> Option<u64> {
    let of_stream = |id: &StreamId| {
        let earlier = || rows().filter(|row| row.id == *id && row.written_second < second);
        let last = earlier().map(|row| row.written_second).max();
        let said = earlier().filter(|row| Some(row.written_second) == last);
        said.filter_map(|row| row.counts.lag_records).reduce(u64::saturating_add)
    };
    streams.iter().map(of_stream).try_fold(0u64, |sum, lag| Some(sum.saturating_add(lag?)))
}

/// Records of one second of t0 whose outcome is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenSecond {
    /// The phase that they belong to.
    pub(crate) phase: Phase,
    /// When they were due, from T0.
    pub(crate) t0_second: u32,
    /// How many.
    pub(crate) records: u64,
    /// What each has waited at least, ns.
    pub(crate) waited_ns: u64,
}

/// What a stream's rows leave open, by second of t0: offered − settled. A stream that ended as it should wrote these
/// records off itself, and nothing is left.
pub(crate) fn open_of(evidence: &TrialEvidence, stream: StreamId) -> Vec<OpenSecond> {
    let mut seconds: BTreeMap<(Phase, u32), (u64, u64)> = BTreeMap::new();
    let rows = || evidence.samples.iter().filter(|row| row.grain == Grain::Second && row.id == stream);
    for row in rows() {
        let (offered, known) = seconds.entry((row.phase, row.t0_second)).or_default();
        *offered = offered.saturating_add(row.counts.offered);
        *known = known.saturating_add(settled(&row.counts)).saturating_add(row.counts.unresolved);
    }
    let last = rows().map(|row| row.written_second).max().unwrap_or(0);
    let open = seconds.into_iter().map(|((phase, t0_second), (offered, known))| OpenSecond {
        phase,
        t0_second,
        records: offered.saturating_sub(known),
        waited_ns: waited_ns(t0_second, last),
    });
    open.filter(|open| open.records > 0).collect()
}

/// What records of a second waited at least for the outcome that a row of a later second has, ns: from the end of
/// the second in which they were intended to the beginning of the one in which the row was written.
pub(crate) fn waited_ns(t0_second: u32, written_second: u32) -> u64 {
    u64::from(written_second.saturating_sub(t0_second).saturating_sub(1)) * NS_PER_S
}

/// Records that had an outcome: acknowledged or failed.
fn settled(counts: &Counts) -> u64 {
    counts.acknowledged.saturating_add(failed(counts))
}

/// Records that failed, for whatever reason.
pub(crate) fn failed(counts: &Counts) -> u64 {
    counts.failed.values().fold(0, |sum, records| sum.saturating_add(*records))
}

/// Records that failed or whose outcome stayed open.
pub(crate) fn unfinished(counts: &Counts) -> u64 {
    failed(counts).saturating_add(counts.unresolved)
}

/// `a ÷ b`; `None` when `b` is 0.
pub(crate) fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}
