//! Load that waits beyond what requests in flight explain, in seconds of the offered load (docs/METHOD.md, Queue
//! seconds).

mod rise;

use crate::evidence::{NS_PER_S, Window, is_open_loop};
use crate::rows::ItemRows;
use crate::steadiness::courses::has_one_rate;
use kdyno_model::sample::Timing;
use rise::Rise;

/// Seconds of load that may wait without a word.
const ALLOWED_S_MIN: f64 = 0.05;

/// Share of the printed p99 that may be waiting.
const ALLOWED_SHARE_OF_P99: f64 = 0.1;

/// So many times what is allowed, and latencies must not be used.
const INVALID_TIMES: f64 = 5.0;

/// Open records that rise to so many times what they were: latencies depend on how long the window was.
const INVALID_RISE: f64 = 1.5;

/// How much longer than `linger.ms` a batch may linger: clients are woken by time once a tick.
const TICK_NS: f64 = 200_000.0;

/// The queue of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpenLoopQueue {
    /// What waited when the window began.
    pub(crate) start_s: f64,
    /// By how much that grew until the window's end.
    pub(crate) growth_s: f64,
    /// What waited when it ended.
    pub(crate) end_s: f64,
    /// Above it latencies are doubtful.
    pub(crate) allowed_s: f64,
    /// It rose for as long as the window lasted, to [`INVALID_RISE`] times what was open at its beginning or more.
    rises_on: bool,
}

impl OpenLoopQueue {
    /// The queue of an item; `None` for a closed loop and where nothing was offered in the window.
    ///
    /// The growth counts only as far as it was there a second before the window's end too: a stall that happens to
    /// fall on the end is no growing queue. Where open records rise throughout the window, requests explain what was open at
    /// its beginning, and no more.
    pub(crate) fn of(item: &ItemRows<'_>, window: Window) -> Option<Self> {
        let offered_per_s = item.tally.offered as f64 / window.seconds();
        if !is_open_loop(item.plan) || offered_per_s <= 0.0 {
            return None;
        }
        let explained = explained_records(item, window);
        let waiting_s = |open: u64| (open as f64 - explained).max(0.0) / offered_per_s;
        let open = item.tally.open.as_slice();
        let (first, last) = (*open.first()?, *open.last()?);
        let (start_s, end_s) = (waiting_s(first), waiting_s(last));
        let before_end = if open.len() > 2 { open[open.len() - 2] } else { last };
        let lasting_s = waiting_s(before_end).min(end_s);
        let p99_s = |timing: Timing| {
            let p99_ns = item.latencies.get(&timing).and_then(|times| times.quantile(0.99).least());
            p99_ns.unwrap_or(0.0) / NS_PER_S as f64
        };
        // While a transaction is committed records wait, and that is no queue that grows.
        let allowed_s = (ALLOWED_SHARE_OF_P99 * p99_s(Timing::Response)).max(p99_s(Timing::Commit));
        let allowed_s = ALLOWED_S_MIN.max(allowed_s);
        let rise = Rise::of(&open[1..]).filter(|_| has_one_rate(item.plan));
        let risen_s = rise.map_or(0.0, |rise| (rise.to - rise.from) / offered_per_s);
        let growth_s = (lasting_s - start_s).max(risen_s);
        let end_s = end_s.max(risen_s);
        let rises_on = risen_s > allowed_s && rise.is_some_and(|rise| rise.to >= INVALID_RISE * rise.from);
        Some(Self { start_s, growth_s, end_s, allowed_s, rises_on })
    }

    /// Whether it is long enough for a word.
    pub(crate) fn is_long(&self) -> bool {
        self.longest_s() > self.allowed_s
    }

    /// Whether latencies depend on it more than on the system.
    pub(crate) fn is_too_long(&self) -> bool {
        self.rises_on || self.longest_s() > INVALID_TIMES * self.allowed_s
    }

    fn longest_s(&self) -> f64 {
        self.start_s.max(self.growth_s)
    }
}

/// Records that are open because they linger, are in a request or wait for the next one, by Little's law:
/// acknowledged/s × (linger + 2 × request + callback), each a mean. What batches lingered beyond `linger.ms` they waited
/// for a request to come free, which is queueing. Where stages are not known (a stream was cut off), a tenth of the
/// responses is taken for the time without a queue.
fn explained_records(item: &ItemRows<'_>, window: Window) -> f64 {
    let per_s = item.tally.windowed.acknowledged as f64 / window.seconds();
    let mean_ns = |timing| item.latencies.get(&timing)?.mean().least();
    let linger_ns_max =
        item.plan.role.as_produce().map_or(0.0, |plan| plan.client.linger_ns as f64) + TICK_NS;
    let staged_ns = || {
        let (linger, request) = (mean_ns(Timing::Linger)?, mean_ns(Timing::Request)?);
        Some(linger.min(linger_ns_max) + 2.0 * request + mean_ns(Timing::Callback)?)
    };
    let quick_ns = || item.latencies.get(&Timing::Response)?.quantile(0.1).exact();
    per_s * staged_ns().or_else(quick_ns).unwrap_or(0.0) / NS_PER_S as f64
}
