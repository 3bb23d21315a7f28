//! How two alike sides compare: by kdyno's own comparison, in each of its designs.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;
use clap::ValueEnum;
use kdyno_analysis::statistics::PairedMean;
use kdyno_model::conclusion::Verdict;
use kdyno_model::finding::{Interval, Quantity, Scope, Value};
use kdyno_model::trial::{PairPlace, TrialId};

use super::runs::{RunSetup, Stored, verdicts};
use crate::accuracy::table::{NOTHING, markdown};

/// Fewest starts that a verdict can be drawn from.
const STARTS_MIN: u32 = 6;
/// Pairs on one start of the clusters, where a start has several.
const PAIRS_PER_START: u32 = 2;

/// How pairs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PairMaking {
    /// Both systems stand and are conditioned once, several pairs on each start, one system loaded at a time
    Standing,
    /// One pair on each start; both systems stand meanwhile, one of them idle
    Restart,
    /// Both systems under the same paced load at once
    Duet,
}

/// A metric of a case.
struct CaseMetric {
    case: u32,
    subject: &'static str,
    name: &'static str,
    /// The sd of pairs that is aimed at, of logarithms.
    sd_max: f64,
}

const METRICS: [CaseMetric; 4] = [
    CaseMetric { case: 0, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    CaseMetric { case: 1, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    CaseMetric { case: 0, subject: "writers", name: "response.p50", sd_max: 0.05 },
    CaseMetric { case: 1, subject: "writers", name: "acked_per_s", sd_max: 0.05 },
];

/// Measures so many pairs, or what is left of them, by a comparison that goes on where it was interrupted; its table.
pub fn measure(design: PairMaking, place: &RunSetup, pairs: u32) -> anyhow::Result<String> {
    // Only what has a rate can run at once, and stands in a profile of its own.
    let (profile, loads, pairs_per_start) = match design {
        PairMaking::Standing => ("turns", 2, PAIRS_PER_START),
        PairMaking::Restart => ("turns", 2, 1),
        PairMaking::Duet => ("duet", 1, PAIRS_PER_START),
    };
    let starts = pairs.div_ceil(pairs_per_start).max(STARTS_MIN);
    let folder = place.folder_of(&format!("{design:?}-{starts}x{pairs_per_start}").to_lowercase())?;
    let run = match place.run_of(&folder)? {
        Some(run) if run.is_complete()? => run,
        begun => {
            let mut command = Command::new(&place.bench.kdyno);
            command.arg("compare");
            match begun {
                Some(run) => command.arg("--resume").arg(run.path),
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
    let measured = METRICS.iter().filter(|metric| metric.case < loads);
    let rows = measured.map(|metric| row(metric, &run)).collect::<anyhow::Result<Vec<_>>>()?;
    let name = format!("{design:?}");
    let heading = [
        name.as_str(),
        "units",
        "B ÷ A",
        "p",
        "half-width",
        "sd of pairs",
        "aim",
        "second ÷ first",
        "min per unit",
    ];
    Ok(markdown(&heading, &rows))
}

/// What the run's own verdict says of a metric, and how its pairs spread.
fn row(metric: &CaseMetric, run: &Stored) -> anyhow::Result<Vec<String>> {
    let (trials, judgement) = (run.file.trials()?, run.file.judgement()?);
    let scope = Scope::Comparison { case: metric.case };
    let is_it = |verdict: &&Verdict| {
        verdict.scope == scope && verdict.of.subject == metric.subject && verdict.of.metric == metric.name
    };
    let verdict = verdicts(&judgement).find(is_it).context("the comparison has no such verdict")?;
    let mut values = BTreeMap::new();
    for finding in judgement.findings.iter().filter(|finding| finding.of == verdict.of) {
        if let (Scope::Trial(trial), Quantity::Value, Value::Is(value), false) =
            (finding.scope, finding.quantity, finding.estimate, finding.is_invalid())
        {
            values.insert(trial, value);
        }
    }
    let of_case = trials.iter().filter(|start| start.trial.case == metric.case);
    let places: Vec<(TrialId, PairPlace, bool)> = of_case
        .filter_map(|start| {
            Some((start.trial.id, start.trial.pair?, start.trial.variant.as_deref() == Some("B")))
        })
        .collect();
    let [logs, orders] = pairs(&places, &values);
    let (spread, order) = (PairedMean::of(&logs), PairedMean::of(&orders));
    let sd = spread.map(|mean| mean.standard_error * (logs.len() as f64).sqrt());
    let missed = if sd.is_some_and(|sd| sd > metric.sd_max) { " ✗" } else { "" };
    let half_width = match verdict.ratio.map(|ratio| ratio.interval) {
        Some(Interval::Bounds { low, high, .. }) => Some((high / low).ln() / 2.0),
        _ => None,
    };
    let shown = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let load = if metric.case == 0 { "20k/s" } else { "max" };
    Ok(vec![
        format!("{} at {load}", verdict.of),
        format!("{} ({} pairs)", verdict.n, logs.len()),
        shown(verdict.ratio.map(|ratio| format!("{:.3}", ratio.estimate))),
        shown(verdict.p.map(|(p, _)| format!("{p:.3}"))),
        shown(half_width.map(percent)),
        shown(sd.map(|sd| format!("{}{missed}", percent(sd)))),
        percent(metric.sd_max),
        shown(order.map(|order| format!("{:.3} ± {:.3}", order.estimate.exp(), order.standard_error))),
        shown(verdict.unit_ns.map(|ns| format!("{:.2}", ns as f64 / 60e9))),
    ])
}

/// ln(B ÷ A) and ln(second ÷ first) of the complete pairs.
fn pairs(trials: &[(TrialId, PairPlace, bool)], values: &BTreeMap<TrialId, f64>) -> [Vec<f64>; 2] {
    let mut halves: BTreeMap<u32, [Option<(f64, u8)>; 2]> = BTreeMap::new();
    for (trial, place, is_b) in trials {
        let value = values.get(trial).map(|value| (*value, place.place));
        halves.entry(place.pair).or_default()[usize::from(*is_b)] = value;
    }
    let complete = halves.into_values().filter_map(|[a, b]| {
        let ((a, _), (b, place)) = (a?, b?);
        let log = (b / a).ln();
        Some((log, if place == 2 { log } else { -log }))
    });
    let (logs, orders): (Vec<f64>, Vec<f64>) = complete.unzip();
    [logs, orders]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_lost_a_trial_does_not_count() {
        let trial = |id, pair, place, is_b| (TrialId(id), PairPlace { pair, place }, is_b);
        let trials = [
            trial(1, 1, 1, false),
            trial(2, 1, 2, true),
            trial(3, 2, 1, true),
            trial(4, 2, 2, false),
            trial(5, 3, 1, false),
            trial(6, 3, 2, true),
        ];
        let values = [(1, 100.0), (2, 110.0), (3, 90.0), (4, 100.0), (5, 100.0)];
        let values = values.into_iter().map(|(id, value)| (TrialId(id), value)).collect();
        let [logs, orders] = pairs(&trials, &values);
        assert_eq!(logs, [1.1_f64.ln(), 0.9_f64.ln()]);
        assert_eq!(orders, [1.1_f64.ln(), -0.9_f64.ln()]);
    }
}
