//! The line that is redrawn while a trial runs.

use crate::grid::{TextOptions, clean, shorten, width};
use crate::units;
use kdyno_model::finding::Value;
use kdyno_model::metric::Unit;
use kdyno_model::sample::Phase;

/// What is known at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveState {
    /// Since T0, ns; since the trial's preparation began while [`Phase::Startup`].
    pub elapsed_ns: u64,
    /// Where the trial is.
    pub phase: Phase,
    /// The trial's place in the order of execution, from 1.
    pub trial: u32,
    /// Trials planned.
    pub trials: u32,
    /// The case's label; may be empty.
    pub label: String,
    /// Records offered in the last whole second.
    pub offered_per_s: f64,
    /// Records accepted in it.
    pub achieved_per_s: f64,
    /// Records acknowledged in it.
    pub acknowledged_per_s: f64,
    /// Records fetched in it; `None` without consumers.
    pub fetched_per_s: Option<f64>,
    /// Median response time of the last second, ns.
    pub response_ns_p50: Value,
    /// 99th percentile of the same.
    pub response_ns_p99: Value,
    /// Records offered whose outcome is still open: backlog, buffers and in flight.
    pub open_records: u64,
    /// Records failed so far in this trial.
    pub failed: u64,
    /// All brokers together, percent of one core.
    pub broker_cpu_percent: Option<f64>,
    /// All workers together, percent of one core.
    pub worker_cpu_percent: Option<f64>,
    /// Expected rest of the run, ns.
    pub remaining_ns: Option<u64>,
}

/// One line of at most the terminal's width. What does not fit is left out, the least important first.
#[must_use]
pub fn live_line(state: &LiveState, options: &TextOptions) -> String {
    const SEPARATOR: &str = " · ";
    let mut parts = parts(state);
    loop {
        let line = parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(SEPARATOR);
        let least = parts.iter().enumerate().filter(|(_, part)| part.0 > 0).max_by_key(|(_, part)| part.0);
        match least {
            Some((index, _)) if width(&line) > options.columns() => {
                parts.remove(index);
            }
            _ => return shorten(&line, options.columns()),
        }
    }
}

/// The pieces from left to right, each with its rank: 0 stays, the highest goes first.
fn parts(state: &LiveState) -> Vec<(u8, String)> {
    let mut out = vec![(0, format!("{}/{}", state.trial, state.trials))];
    if !state.label.is_empty() {
        out.push((4, shorten(&clean(&state.label), 24)));
    }
    out.push((1, format!("{} {}", phase_name(state.phase), units::duration(state.elapsed_ns))));
    if state.phase == Phase::Startup {
        return out;
    }
    // A maximum rate offers what it achieves: saying it once is enough.
    let rate = units::count(state.acknowledged_per_s.round());
    if (state.offered_per_s - state.acknowledged_per_s).abs() < 0.005 * state.offered_per_s {
        out.push((0, format!("{rate}/s")));
    } else {
        let offered = units::count(state.offered_per_s.round());
        out.push((0, format!("{rate} of {offered}/s")));
    }
    if let Some(fetched) = state.fetched_per_s {
        out.push((6, format!("fetched {}/s", units::count(fetched.round()))));
    }
    if (state.achieved_per_s - state.offered_per_s).abs() >= 0.005 * state.offered_per_s {
        out.push((8, format!("achieved {}/s", units::count(state.achieved_per_s.round()))));
    }
    out.push((0, format!("p99 {}", units::value(state.response_ns_p99, Unit::Ns))));
    out.push((5, format!("p50 {}", units::value(state.response_ns_p50, Unit::Ns))));
    out.push((7, format!("open {}", units::count(state.open_records as f64))));
    if state.failed > 0 {
        out.push((0, format!("failed {}", units::count(state.failed as f64))));
    }
    if let (Some(broker), Some(worker)) = (state.broker_cpu_percent, state.worker_cpu_percent) {
        out.push((3, format!("brokers {:.0} % worker {:.0} % CPU", broker.max(0.0), worker.max(0.0))));
    }
    if let Some(remaining) = state.remaining_ns {
        out.push((2, format!("{} left", units::duration(remaining))));
    }
    out
}

/// A phase as the reader sees it.
pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "start-up",
        Phase::Warmup => "warm-up",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
    }
}
