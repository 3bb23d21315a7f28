//! The line that is redrawn while a trial runs.

use crate::grid::{TextOptions, clean, shorten, width};
use crate::units;
use kdyno_model::sample::Phase;
use kdyno_model::series::LiveFigures;
use kdyno_model::trial::TrialId;

/// What is known of the running trial at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveState {
    /// Since T0, ns; since the trial's preparation began while [`Phase::Startup`].
    pub elapsed_ns: u64,
    /// Phase the trial is in.
    pub phase: Phase,
    /// The trial's number.
    pub trial: TrialId,
    /// How many trials are planned; `None` where that is decided on the way.
    pub trials: Option<u32>,
    /// The trial's label; empty when the plan has one trial.
    pub label: String,
    /// What happened in the newest complete second.
    pub figures: LiveFigures,
    /// Expected rest of the run, ns; while the trial drains with the longest that this may take.
    pub remaining_ns: Option<u64>,
}

/// Longest label of a trial.
const LABEL_WIDTH: usize = 24;

/// One line of at most the terminal's width. What does not fit is left out, the least important first.
pub fn live_line(state: &LiveState, options: &TextOptions) -> String {
    fitting(parts(state), options)
}

/// The same of the two trials of a duet, which run at once: of each what was acknowledged and how long it took.
pub fn live_line_of_pair(pair: &[LiveState; 2], options: &TextOptions) -> String {
    let [first, second] = pair;
    let of = first.trials.map_or_else(String::new, |trials| format!("/{trials}"));
    let mut out = vec![
        (0, format!("{} and {}{of}", first.trial, second.trial)),
        (1, format!("{} {}", first.phase, units::duration(first.elapsed_ns))),
    ];
    for state in pair {
        let LiveFigures { acknowledged_per_s, response_ns_p99, failed, .. } = state.figures;
        let failed =
            if failed > 0 { format!(" failed {}", units::count(failed as f64)) } else { String::new() };
        let rate = units::count(acknowledged_per_s as f64);
        let label = shorten(&clean(&state.label), LABEL_WIDTH);
        out.push((0, format!("{label}: {rate}/s p99 {}{failed}", time(response_ns_p99))));
    }
    let is_last = first.trials == Some(first.trial.0.max(second.trial.0));
    out.extend(left(first, is_last).map(|text| (2, text)));
    fitting(out, options)
}

/// What is left of the run. A drain is over when the last record has its outcome, mostly long before its longest time:
/// of the last trial that is a bound, and what stands behind it in an earlier one is not told until the next begins.
fn left(state: &LiveState, is_last: bool) -> Option<String> {
    let left = units::duration(state.remaining_ns?);
    match (state.phase, is_last) {
        (Phase::Drain, true) => Some(format!("at most {left} left")),
        (Phase::Drain, false) => None,
        _ => Some(format!("{left} left")),
    }
}

/// The pieces in one line, without those of the highest rank that do not fit.
fn fitting(mut parts: Vec<(u8, String)>, options: &TextOptions) -> String {
    const SEPARATOR: &str = " · ";
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
    let of = state.trials.map_or_else(String::new, |trials| format!("/{trials}"));
    let mut out = vec![(0, format!("{}{of}", state.trial))];
    if !state.label.is_empty() {
        out.push((4, shorten(&clean(&state.label), LABEL_WIDTH)));
    }
    out.push((1, format!("{} {}", state.phase, units::duration(state.elapsed_ns))));
    if state.phase == Phase::Startup {
        return out;
    }
    let LiveFigures {
        offered_per_s,
        achieved_per_s,
        acknowledged_per_s,
        fetched_per_s,
        lag_records,
        response_ns_p50,
        response_ns_p99,
        open_records,
        failed,
        brokers_cpu_percent,
        workers_cpu_percent,
        java_cpu_percent,
    } = state.figures;
    let count = |number: u64| units::count(number as f64);
    // What is nearly all of the offered rate is not said beside it.
    let differs = |rate: u64| rate.abs_diff(offered_per_s) as f64 >= 0.005 * offered_per_s as f64;
    if offered_per_s > 0 && !differs(acknowledged_per_s) {
        out.push((0, format!("{}/s", count(acknowledged_per_s))));
    } else {
        out.push((0, format!("{} of {}/s", count(acknowledged_per_s), count(offered_per_s))));
    }
    if let Some(fetched) = fetched_per_s {
        out.push((6, format!("handed over {}/s", count(fetched))));
    }
    // Who keeps up is behind by nothing, or by what has just come.
    if let Some(lag) = lag_records.filter(|lag| *lag > fetched_per_s.unwrap_or(0)) {
        out.push((5, format!("lag {}", count(lag))));
    }
    if differs(achieved_per_s) {
        out.push((8, format!("achieved {}/s", count(achieved_per_s))));
    }
    out.push((0, format!("p99 {}", time(response_ns_p99))));
    out.push((5, format!("p50 {}", time(response_ns_p50))));
    out.push((7, format!("open {}", count(open_records))));
    if failed > 0 {
        out.push((0, format!("failed {}", count(failed))));
    }
    if let (Some(brokers), Some(workers)) = (brokers_cpu_percent, workers_cpu_percent) {
        let java = java_cpu_percent.map_or_else(String::new, |java| format!(" java {:.0}", java.max(0.0)));
        let (brokers, workers) = (brokers.max(0.0), workers.max(0.0));
        out.push((3, format!("brokers {brokers:.0} workers {workers:.0}{java} % of one core")));
    }
    out.extend(left(state, state.trials == Some(state.trial.0)).map(|text| (2, text)));
    out
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| units::NOTHING.to_owned(), |ns| units::nanoseconds(ns as f64))
}
