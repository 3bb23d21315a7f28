//! The longest time in which nothing of an item was acknowledged though records waited, by instants.

use crate::evidence::{NS_PER_S, Window, streams_of};
use crate::rows::ItemRows;
use crate::tally::failed;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Grain, Sample, StreamId, Timing};
use std::collections::BTreeMap;

/// Time without an acknowledgement from which that is reported, beyond what a record waits that lingers and is
/// answered, ns.
const STALLED_NS_MIN: u64 = NS_PER_S;

/// An answer takes so many times the median response; it is not counted with more than [`RESPONSE_NS_MAX`], for in a window
/// that mostly stood still the median is the stall's own.
const RESPONSES: u64 = 2;
const RESPONSE_NS_MAX: u64 = 2 * NS_PER_S;

/// Records that must be open at the last full second of it: of a load of a few records a second most instants see none.
const OPEN_MIN: u64 = 10;

/// A time in which nothing was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stall {
    /// When it began, s from T0.
    pub(crate) at_s: f64,
    /// How long it was.
    pub(crate) seconds: f64,
}

/// What an item's rows say of one second.
#[derive(Debug, Clone, Copy, Default)]
struct StallSecond {
    offered: u64,
    /// Records that had an outcome.
    settled: u64,
    /// The first and the last acknowledgement, ns from T0. For a row that has acknowledgements and does not say when
    /// they came: the second's ends.
    acknowledged: Option<(u64, u64)>,
}

impl StallSecond {
    fn acknowledged_in(&mut self, (first, last): (u64, u64)) {
        let known = self.acknowledged.get_or_insert((first, last));
        *known = (known.0.min(first), known.1.max(last));
    }
}

/// The longest of the item's window that is worth reporting.
pub(crate) fn longest(evidence: &TrialEvidence, item: &ItemRows<'_>, window: Window) -> Option<Stall> {
    let linger_ns = item.plan.role.as_produce()?.client.linger_ns;
    let response = item.latencies.get(&Timing::Response);
    // A histogram's value lies below an hour of ns.
    let response_ns = response.and_then(|times| times.quantile(0.5).least()).unwrap_or(0.0) as u64;
    let least_ns = STALLED_NS_MIN + linger_ns + response_ns.saturating_mul(RESPONSES).min(RESPONSE_NS_MAX);
    let streams = streams_of(evidence, item.name);
    let rows = evidence.samples.iter().filter(|row| row.grain == Grain::Second && streams.contains(&row.id));
    let seconds = by_second(rows);
    let ns = |second: u32| u64::from(second) * NS_PER_S;
    let (mut open, mut since_ns) = (0_u64, ns(window.first_second));
    let mut longest: Option<(u64, u64)> = None;
    // Records that were open when the last full second since the last acknowledgement began.
    let mut waiting = 0;
    let mut end = |since_ns: u64, until_ns: u64, waiting: u64| {
        let length_ns = until_ns.saturating_sub(since_ns);
        if length_ns > least_ns && waiting >= OPEN_MIN && longest.is_none_or(|(_, known)| length_ns > known) {
            longest = Some((since_ns, length_ns));
        }
    };
    for second in 0..window.end_second {
        if second >= window.first_second {
            waiting = open;
        }
        let known = seconds.get(&second).copied().unwrap_or_default();
        if let Some((first, last)) = known.acknowledged.filter(|_| second >= window.first_second) {
            end(since_ns, first, waiting);
            since_ns = last.max(since_ns);
        }
        open = open.saturating_add(known.offered).saturating_sub(known.settled);
    }
    end(since_ns, ns(window.end_second), open);
    longest.map(|(at_ns, length_ns)| Stall {
        at_s: at_ns as f64 / NS_PER_S as f64,
        seconds: length_ns as f64 / NS_PER_S as f64,
    })
}

fn by_second<'a>(rows: impl Iterator<Item = &'a Sample>) -> BTreeMap<u32, StallSecond> {
    let mut seconds: BTreeMap<u32, StallSecond> = BTreeMap::new();
    // One of the rows of a stream's second says when its acknowledgements came.
    let mut reported: BTreeMap<(StreamId, u32), (bool, bool)> = BTreeMap::new();
    for row in rows {
        let counts = &row.counts;
        let offered = seconds.entry(row.t0_second).or_default();
        offered.offered = offered.offered.saturating_add(counts.offered);
        let settled = counts.acknowledged.saturating_add(failed(counts)).saturating_add(counts.unresolved);
        let second = seconds.entry(row.written_second).or_default();
        second.settled = second.settled.saturating_add(settled);
        let (has_some, is_reported) = reported.entry((row.id, row.written_second)).or_default();
        *has_some |= counts.acknowledged > 0;
        if let (Some(first), Some(last)) = (counts.first_acknowledged_ns, counts.last_acknowledged_ns) {
            *is_reported = true;
            second.acknowledged_in((first, last));
        }
    }
    for ((_, second), _) in
        reported.into_iter().filter(|(_, (has_some, is_reported))| *has_some && !is_reported)
    {
        let start_ns = u64::from(second) * NS_PER_S;
        seconds.entry(second).or_default().acknowledged_in((start_ns, start_ns + NS_PER_S));
    }
    seconds
}
