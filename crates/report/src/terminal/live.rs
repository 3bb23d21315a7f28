//! The line that shows the state of a trial while it runs.

use crate::grid::{TextOptions, clean, shorten, shorten_inside, width};
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
/// Fewest columns of a line, which is not wrapped: a terminal that is narrower is hardly one.
const COLUMNS_MIN: usize = 20;

/// A piece of a line with its rank: 0 stays, the highest goes first.
pub(super) type RankedPiece = (u8, String);

/// One line of at most the terminal's width. What does not fit is left out, the least important first.
pub fn live_line(state: &LiveState, options: &TextOptions) -> String {
    let parts = [head(state), rates(state), times(state), used(state), left_parts(state)];
    fitting(parts.concat(), columns(options))
}

/// The columns of a line, those of the terminal even where other text overflows it: what is wrapped cannot be redrawn in place.
pub(super) fn columns(options: &TextOptions) -> usize {
    options.width.max(COLUMNS_MIN)
}

/// The line of the two trials of a duet, which run at once: for each what was acknowledged and how long it took.
pub fn live_line_of_pair(pair: &[LiveState; 2], options: &TextOptions) -> String {
    let mut out = head_of_pair(pair);
    for state in pair {
        out.push((0, format!("{}: {}", label(state), side(state))));
    }
    out.extend(left_of_pair(pair));
    fitting(out, columns(options))
}

/// Which trials of a duet run, and in which phase they are.
pub(super) fn head_of_pair([first, second]: &[LiveState; 2]) -> Vec<RankedPiece> {
    let of = first.trials.map_or_else(String::new, |trials| format!("/{trials}"));
    vec![
        (0, format!("{} and {}{of}", first.trial, second.trial)),
        (1, format!("{} {}", first.phase, units::duration(first.elapsed_ns))),
    ]
}

/// What is left of a run after both trials of a duet.
pub(super) fn left_of_pair([first, second]: &[LiveState; 2]) -> Option<RankedPiece> {
    let is_last = first.trials == Some(first.trial.0.max(second.trial.0));
    left(first, is_last).map(|text| (2, text))
}

/// A trial's label, short and without anything that moves the cursor.
pub(super) fn label(state: &LiveState) -> String {
    shorten_inside(&clean(&state.label), LABEL_WIDTH)
}

/// What one of a duet acknowledges, and how long it takes.
pub(super) fn side(state: &LiveState) -> String {
    let LiveFigures { acknowledged_per_s, response_ns_p99, failed, .. } = state.figures;
    let failed = if failed > 0 { format!(" failed {}", units::count(failed as f64)) } else { String::new() };
    format!("{}/s p99 {}{failed}", units::count(acknowledged_per_s as f64), time(response_ns_p99))
}

/// What is left of the run. A drain is over when the last record has its outcome, mostly long before its longest time:
/// for the last trial that is a bound, and what follows it in an earlier one is not shown until the next begins.
fn left(state: &LiveState, is_last: bool) -> Option<String> {
    let left = units::duration(state.remaining_ns?);
    match (state.phase, is_last) {
        (Phase::Drain, true) => Some(format!("at most {left} left")),
        (Phase::Drain, false) => None,
        _ => Some(format!("{left} left")),
    }
}

/// The pieces in one line, without those of the highest rank that do not fit.
pub(super) fn fitting(mut parts: Vec<RankedPiece>, columns: usize) -> String {
    const SEPARATOR: &str = " · ";
    loop {
        let line = parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(SEPARATOR);
        let least = parts.iter().enumerate().filter(|(_, part)| part.0 > 0).max_by_key(|(_, part)| part.0);
        match least {
            Some((index, _)) if width(&line) > columns => {
                parts.remove(index);
            }
            _ => return shorten(&line, columns),
        }
    }
}

/// Which trial runs, and in which phase it is.
pub(super) fn head(state: &LiveState) -> Vec<RankedPiece> {
    let of = state.trials.map_or_else(String::new, |trials| format!("/{trials}"));
    let mut out = vec![(0, format!("{}{of}", state.trial))];
    if !state.label.is_empty() {
        out.push((4, label(state)));
    }
    out.push((1, format!("{} {}", state.phase, units::duration(state.elapsed_ns))));
    out
}

/// What is left of the run; nothing while it starts.
pub(super) fn left_parts(state: &LiveState) -> Vec<RankedPiece> {
    let is_last = state.trials == Some(state.trial.0);
    let left = left(state, is_last).filter(|_| state.phase != Phase::Startup);
    left.map(|text| (2, text)).into_iter().collect()
}

/// Whether no load item produces or fetches: commands, users and jobs have no rate of records.
fn has_no_records(state: &LiveState) -> bool {
    let of = &state.figures;
    let nothing =
        of.offered_per_s == 0 && of.acknowledged_per_s == 0 && of.open_records == 0 && of.failed == 0;
    nothing && of.fetched_per_s.is_none() && of.response_ns_p99.is_none()
}

/// Rates, and what they were to be; nothing while it starts.
pub(super) fn rates(state: &LiveState) -> Vec<RankedPiece> {
    let LiveFigures { offered_per_s, achieved_per_s, acknowledged_per_s, .. } = state.figures;
    let LiveFigures { fetched_per_s, lag_records, .. } = state.figures;
    if state.phase == Phase::Startup || has_no_records(state) {
        return Vec::new();
    }
    // If it is nearly all of the offered rate that is not printed.
    let differs = |rate: u64| rate.abs_diff(offered_per_s) as f64 >= 0.005 * offered_per_s as f64;
    let is_only_read = offered_per_s == 0 && acknowledged_per_s == 0 && fetched_per_s.is_some();
    let mut out = Vec::new();
    if offered_per_s > 0 && !differs(acknowledged_per_s) {
        out.push((0, format!("{}/s", count(acknowledged_per_s))));
    } else if !is_only_read {
        out.push((0, format!("{} of {}/s", count(acknowledged_per_s), count(offered_per_s))));
    }
    if let Some(fetched) = fetched_per_s {
        out.push((if is_only_read { 0 } else { 6 }, format!("consumed {}/s", count(fetched))));
    }
    // Who keeps up is behind by nothing, or by what has just come.
    if let Some(lag) = lag_records.filter(|lag| *lag > fetched_per_s.unwrap_or(0)) {
        out.push((5, format!("lag {}", count(lag))));
    }
    if differs(achieved_per_s) && !is_only_read {
        out.push((8, format!("achieved {}/s", count(achieved_per_s))));
    }
    out
}

/// Latencies, and records without a good outcome; nothing while it starts.
pub(super) fn times(state: &LiveState) -> Vec<RankedPiece> {
    let LiveFigures { response_ns_p50, response_ns_p99, open_records, failed, .. } = state.figures;
    if state.phase == Phase::Startup || has_no_records(state) {
        return Vec::new();
    }
    let mut out = vec![
        (0, format!("p99 {}", time(response_ns_p99))),
        (5, format!("p50 {}", time(response_ns_p50))),
        (7, format!("open {}", count(open_records))),
    ];
    if failed > 0 {
        out.push((0, format!("failed {}", count(failed))));
    }
    out
}

/// CPU time of brokers and clients; nothing where they are not probed.
pub(super) fn used(state: &LiveState) -> Vec<RankedPiece> {
    let LiveFigures { brokers_cpu_percent, workers_cpu_percent, java_cpu_percent, .. } = state.figures;
    let Some(brokers) = brokers_cpu_percent.filter(|_| state.phase != Phase::Startup) else {
        return Vec::new();
    };
    let Some(workers) = workers_cpu_percent else {
        // No client sends records.
        let alone = format!("CPU of one core: brokers {:.0} %", brokers.max(0.0));
        return if has_no_records(state) { vec![(3, alone)] } else { Vec::new() };
    };
    let java = java_cpu_percent.map_or_else(String::new, |java| format!(", java {:.0} %", java.max(0.0)));
    let (brokers, workers) = (brokers.max(0.0), workers.max(0.0));
    vec![(3, format!("CPU of one core: brokers {brokers:.0} %, workers {workers:.0} %{java}"))]
}

fn count(number: u64) -> String {
    units::count(number as f64)
}

pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| units::NOTHING.to_owned(), |ns| units::nanoseconds(ns as f64))
}
