//! How two alike sides are compared: by kdyno's own comparison, in each of its designs.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::pairs::{CaseMetric, MetricPairs};
use super::rows::{DesignRow, METRICS, PAIRS_PER_START, PairMaking};
use super::runs::{RunSetup, is_complete};

/// Fewest starts that a verdict can be drawn from.
const STARTS_MIN: u32 = 6;

/// Measures so many pairs, or what is left of them: by a comparison, gone on with where it was interrupted.
pub fn measure(design: PairMaking, place: &RunSetup, pairs: u32) -> anyhow::Result<Vec<DesignRow>> {
    let pairs_per_start = match design {
        PairMaking::Standing | PairMaking::Duet => PAIRS_PER_START,
        PairMaking::Restart => 1,
    };
    // Only what has a rate can run at once, and is in a profile of its own.
    let (profile, loads) = match design {
        PairMaking::Standing | PairMaking::Restart => ("turns", 2),
        PairMaking::Duet => ("duet", 1),
    };
    let starts = pairs.div_ceil(pairs_per_start).max(STARTS_MIN);
    let folder = place.folder_of(&format!("{}-{starts}x{pairs_per_start}", design.name()))?;
    let document = match place.run_of(&folder)? {
        Some((_, document)) if is_complete(&document) => document,
        begun => {
            let mut command = Command::new(&place.bench.kdyno);
            command.arg("compare");
            match begun {
                Some((file, _)) => command.arg("--resume").arg(file),
                None => command
                    .arg(place.scenarios.join("a-a.yaml"))
                    .args(["--profile", profile])
                    .args(["--set", &format!("starts={starts}")])
                    .args(["--set", &format!("pairs={pairs_per_start}")])
                    .arg("--out")
                    .arg(&folder),
            };
            place.complete(&mut command, &folder)?
        }
    };
    let minutes_per_pair = minutes_per_pair(&document)?;
    let measured = METRICS.iter().enumerate().filter(|(_, metric)| metric.case < loads);
    let rows = measured.map(|(at, metric)| {
        let pairs = MetricPairs::read(&document, metric)?;
        let printed = printed(&document, metric);
        Ok(DesignRow { design, metric: at, pairs, minutes_per_pair, printed })
    });
    rows.collect()
}

/// p and half of the interval of ln(B ÷ A), as the run's own verdict has them.
fn printed(document: &Value, metric: &CaseMetric) -> Option<(f64, f64)> {
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

/// Time of all sessions ÷ pairs of all cases. For a session that was cut off, the time up to its last trial's start.
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

#[cfg(test)]
mod tests {
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
}
