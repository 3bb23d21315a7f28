//! The designs of pairs: how two alike sides are set beside each other, and what each design costs for what it tells.

use std::process::Command;

use anyhow::Context;
use clap::ValueEnum;
use serde_json::Value;

use super::duet;
use super::pairs::{Metric, Pairs};
use super::runs::{Place, is_complete};
use super::table::{NOTHING, markdown};

/// How pairs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Design {
    /// Both systems stand and are conditioned once, several pairs on each start, one system loaded at a time
    Standing,
    /// One pair on each start; both systems stand meanwhile, one of them idle
    Restart,
    /// Both systems under the same paced load at once
    Duet,
}

/// Pairs on one start of the clusters, where a start has several.
pub const PAIRS_PER_START: u32 = 2;
/// Fewest starts of which a verdict can be drawn.
const STARTS_MIN: u32 = 6;

/// Metrics of the series, each with the case it is of and the sd of pairs that is aimed at.
pub const METRICS: [Metric; 4] = [
    Metric { case: 0, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    Metric { case: 1, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    Metric { case: 0, subject: "writers", name: "response.p50", sd_max: 0.05 },
    Metric { case: 1, subject: "writers", name: "acked_per_s", sd_max: 0.05 },
];
/// How far the predicted half-width of an interval may lie from the printed one.
const PREDICTED_WITHIN: f64 = 0.25;

/// What a design showed of a metric.
pub struct Row {
    /// The design.
    pub design: Design,
    /// The metric, by its place in [`METRICS`].
    pub metric: usize,
    /// Its pairs.
    pub pairs: Pairs,
    /// Time of a pair with its part of the start, in minutes.
    pub minutes_per_pair: f64,
    /// What kdyno's own comparison printed: p, and half of the interval of ln(B ÷ A).
    pub printed: Option<(f64, f64)>,
}

impl Design {
    fn name(self) -> &'static str {
        match self {
            Design::Standing => "standing",
            Design::Restart => "restart",
            Design::Duet => "duet",
        }
    }

    /// Measures so many pairs, or what is left of them.
    pub fn measure(self, place: &Place, pairs: u32) -> anyhow::Result<Vec<Row>> {
        match self {
            Design::Standing => self.compare(place, pairs.div_ceil(PAIRS_PER_START), PAIRS_PER_START),
            Design::Restart => self.compare(place, pairs, 1),
            Design::Duet => duet::measure(place, pairs),
        }
    }

    /// A comparison by kdyno itself, gone on with where it was interrupted.
    fn compare(self, place: &Place, starts: u32, pairs_per_start: u32) -> anyhow::Result<Vec<Row>> {
        let starts = starts.max(STARTS_MIN);
        let folder = place.folder_of(&format!("{}-{starts}x{pairs_per_start}", self.name()))?;
        let document = match place.run_of(&folder)? {
            Some((_, document)) if is_complete(&document) => document,
            begun => {
                let mut command = Command::new(&place.bench.kdyno);
                command.arg("compare");
                match begun {
                    Some((file, _)) => command.arg("--resume").arg(file),
                    None => command
                        .arg(place.scenarios.join("a-a.yaml"))
                        .args(["--set", &format!("starts={starts}")])
                        .args(["--set", &format!("pairs={pairs_per_start}")])
                        .arg("--out")
                        .arg(&folder),
                };
                place.complete(&mut command, &folder)?
            }
        };
        let minutes_per_pair = minutes_per_pair(&document)?;
        let rows = METRICS.iter().enumerate().map(|(at, metric)| {
            let pairs = Pairs::read(&document, metric)?;
            let printed = printed(&document, metric);
            Ok(Row { design: self, metric: at, pairs, minutes_per_pair, printed })
        });
        rows.collect()
    }
}

/// p and half of the interval of ln(B ÷ A), as the run's own verdict has them.
fn printed(document: &Value, metric: &Metric) -> Option<(f64, f64)> {
    let is_of = |scope: &Value| scope["kind"] == "comparison" && scope["case"] == metric.case;
    let ratio = document["findings"].as_array()?.iter().find(|finding| {
        finding["quantity"] == "ratio_b_to_a"
            && finding["subject"] == metric.subject
            && finding["metric"] == metric.name
            && is_of(&finding["scope"])
    })?;
    let bound = |name: &str| ratio["interval"][name].as_f64().filter(|bound| *bound > 0.0);
    let verdict = document["conclusions"].as_array()?.iter().find(|one| {
        let of = &one["details"]["of"];
        one["kind"] == "verdict"
            && of["subject"] == metric.subject
            && of["metric"] == metric.name
            && is_of(&one["scope"])
    })?;
    let p = verdict["details"]["p"][0].as_f64()?;
    Some((p, (bound("high")? / bound("low")?).ln() / 2.0))
}

/// Time of all sessions ÷ pairs of all cases. Of a session that was cut off, the time up to its last trial's start.
fn minutes_per_pair(document: &Value) -> anyhow::Result<f64> {
    let trials = document["trials"].as_array().context("the document has no trials")?;
    let ns = |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
    let sessions = document["sessions"].as_array().context("the document has no sessions")?;
    let mut total_ns = 0.0;
    for session in sessions {
        let begin = ns(&session["started_unix_ns"]).context("a session tells no start")?;
        let of_session = trials.iter().filter(|trial| trial["session"] == session["session"]);
        let last = of_session.filter_map(|trial| ns(&trial["t0_unix_ns"])).fold(begin, f64::max);
        total_ns += ns(&session["end"]["ended_unix_ns"]).unwrap_or(last) - begin;
    }
    let pairs: std::collections::BTreeSet<(u64, u64)> = trials
        .iter()
        .filter_map(|trial| Some((trial["case"].as_u64()?, trial["pair"]["pair"].as_u64()?)))
        .collect();
    anyhow::ensure!(!pairs.is_empty(), "the document has no pairs");
    Ok(total_ns / 60e9 / pairs.len() as f64)
}

/// The designs side by side, ready for docs/METHOD.md.
pub fn table(rows: &[Row]) -> String {
    let heading = [
        "metric",
        "design",
        "pairs (starts)",
        "B ÷ A",
        "p",
        "sd of pairs",
        "aim",
        "between starts",
        "within a start",
        "second ÷ first",
        "half-width predicted",
        "printed",
        "min per pair",
        "variance × minutes, %² · min",
    ];
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| row.metric);
    markdown(&heading, &sorted.into_iter().map(cells).collect::<Vec<_>>())
}

fn cells(row: &Row) -> Vec<String> {
    let Row { design, metric, pairs, minutes_per_pair, printed } = row;
    let metric = &METRICS[*metric];
    let shown = |value: f64, text: String| if value.is_finite() { text } else { NOTHING.to_owned() };
    let percent = |value: f64| shown(value, format!("{:.1} %", 100.0 * value));
    let missed = |is_missed: bool| if is_missed { " ✗" } else { "" };
    let (parts, (order, error)) = (pairs.parts(), pairs.second_over_first());
    let predicted = pairs.half_width_predicted();
    let is_off = predicted
        .zip(*printed)
        .is_some_and(|(predicted, (_, printed))| (predicted / printed - 1.0).abs() > PREDICTED_WITHIN);
    let nothing = || NOTHING.to_owned();
    let cost = pairs.variance_minutes(*minutes_per_pair);
    let load = if metric.case == 0 { "20k/s" } else { "max" };
    vec![
        format!("{}.{} at {load}", metric.subject, metric.name),
        design.name().to_owned(),
        format!("{} ({})", pairs.len(), pairs.starts()),
        format!("{:.3}", pairs.mean().exp()),
        printed.map_or_else(nothing, |(p, _)| format!("{p:.3}")),
        format!("{}{}", percent(pairs.sd()), missed(pairs.sd() > metric.sd_max)),
        percent(metric.sd_max),
        percent(parts.between),
        percent(parts.within),
        shown(order, format!("{:.3} ± {error:.3}", order.exp())),
        predicted.map_or_else(nothing, |half| format!("{}{}", percent(half), missed(is_off))),
        printed.map_or_else(nothing, |(_, half)| percent(half)),
        format!("{minutes_per_pair:.2}"),
        shown(cost, format!("{cost:.1}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::pairs::Pair;
    use super::*;
    use serde_json::json;

    #[test]
    fn minutes_are_those_of_all_sessions_over_all_pairs() {
        let minute = |minutes: f64| format!("{:.0}", minutes * 60e9);
        let trial = |session, case, pair, at| json!({"session": session, "case": case, "pair": {"pair": pair}, "t0_unix_ns": minute(at)});
        let document = json!({
            "sessions": [
                {"session": 1, "started_unix_ns": minute(0.0), "end": null},
                {"session": 2, "started_unix_ns": minute(100.0), "end": {"ended_unix_ns": minute(106.0)}},
            ],
            "trials": [
                {"session": 1, "case": 0, "pair": null, "t0_unix_ns": minute(1.0)},
                trial(1, 0, 1, 2.0), trial(1, 0, 1, 3.0), trial(2, 0, 2, 101.0), trial(2, 1, 1, 102.0),
            ],
        });
        // 3 min until the first session's last trial, 6 of the second one; three pairs.
        assert!((minutes_per_pair(&document).expect("minutes") - 3.0).abs() < 1e-6);
        assert!(minutes_per_pair(&json!({"sessions": [], "trials": []})).is_err());
    }

    #[test]
    fn p_and_half_width_are_those_of_the_verdict_on_that_case() {
        let verdict = |case, p| {
            json!({"kind": "verdict", "scope": {"kind": "comparison", "case": case},
                "details": {"of": {"subject": "brokers", "metric": "cpu_us_per_record"}, "p": [p, 0.9]}})
        };
        let ratio = |case, high: f64| {
            json!({"quantity": "ratio_b_to_a", "subject": "brokers", "metric": "cpu_us_per_record",
                "scope": {"kind": "comparison", "case": case}, "interval": {"low": 1.0, "high": high}})
        };
        let document = json!({"conclusions": [verdict(0, 0.5), verdict(1, 0.25)],
            "findings": [ratio(0, 1.5), ratio(1, 0.2_f64.exp())]});
        let (p, half) = printed(&document, &METRICS[1]).expect("both");
        assert!((p - 0.25).abs() < 1e-9 && (half - 0.1).abs() < 1e-9, "{p} {half}");
        assert_eq!(printed(&document, &METRICS[2]), None);
    }

    #[test]
    fn aims_that_are_missed_are_marked() {
        let of = |start, log| Pair { start, log, is_b_second: start % 2 == 0 };
        let row = |scale: f64, printed| {
            let logs = [0.01, -0.01, 0.02, -0.02, 0.0, 0.0];
            let pairs = logs.iter().zip(1..).map(|(log, start)| of(start, log * scale)).collect();
            let pairs = Pairs::new(pairs, &METRICS[0]).expect("pairs");
            Row { design: Design::Restart, metric: 0, pairs, minutes_per_pair: 1.5, printed }
        };
        let told = table(&[row(1.0, Some((0.5, 0.0149)))]);
        assert!(told.contains("| restart | 6 (6) | 1.000 | 0.500 | 1.4 % | 2.0 % | 1.4 % | – |"), "{told}");
        assert!(!told.contains('✗'), "{told}");
        let told = table(&[row(2.0, Some((0.5, 0.05)))]);
        assert!(told.contains("| 2.8 % ✗ |") && told.contains("| 3.0 % ✗ | 5.0 % |"), "{told}");
    }
}
