//! Pairs of figures of two alike sides, and where their spread comes from.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A metric of a case.
pub struct CaseMetric {
    /// Index of the case.
    pub case: u64,
    /// Whose.
    pub subject: &'static str,
    /// Its name after the subject.
    pub name: &'static str,
    /// The sd of pairs that is aimed at, of logarithms.
    pub sd_max: f64,
}

/// One complete pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompletePair {
    /// The start of the clusters that it ran on.
    pub start: u64,
    /// ln(B ÷ A).
    pub log: f64,
    /// B was the second of the two to run; in a duet, to have its workers started.
    pub is_b_second: bool,
}

/// The complete pairs of a metric.
#[derive(Debug)]
pub struct MetricPairs(Vec<CompletePair>);

/// Standard deviations whose squares add up to that of a pair.
pub struct PairDeviations {
    /// From one start of the clusters to another.
    pub between: f64,
    /// From pair to pair on one start; not a number where each start has one pair.
    pub within: f64,
}

/// What was read of a pair so far.
#[derive(Debug, Clone, Copy, Default)]
struct Half {
    start: u64,
    a: Option<f64>,
    b: Option<f64>,
    is_b_second: bool,
}

impl MetricPairs {
    pub(super) fn new(pairs: Vec<CompletePair>, metric: &CaseMetric) -> anyhow::Result<MetricPairs> {
        ensure!(pairs.len() >= 2, "{}.{} has {} pairs", metric.subject, metric.name, pairs.len());
        Ok(MetricPairs(pairs))
    }

    /// From the document of `kdyno show --json`. Pairs with a figure that must not be used are left out, and so are those
    /// that the comparison itself leaves out, and starts with fewer pairs than others.
    pub fn read(document: &Value, metric: &CaseMetric) -> anyhow::Result<MetricPairs> {
        let trials = document["trials"].as_array().context("the document has no trials")?;
        let mut values = figures(document, metric)?;
        for trial in spoilt(document) {
            values.remove(&trial);
        }
        let mut pairs: BTreeMap<u64, Half> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial["case"].as_u64() == Some(metric.case)) {
            let (Some(number), Some(pair)) = (trial["trial"].as_u64(), trial["pair"]["pair"].as_u64()) else {
                continue;
            };
            let of = pairs.entry(pair).or_default();
            of.start = trial["start"].as_u64().context("a trial tells no start")?;
            let value = values.get(&number).copied();
            match trial["variant"].as_str() {
                Some("A") => of.a = value,
                Some("B") => {
                    of.b = value;
                    of.is_b_second = trial["pair"]["place"].as_u64() == Some(2);
                }
                _ => {}
            }
        }
        let complete = pairs.into_values().filter_map(|half| {
            let log = (half.b? / half.a?).ln();
            Some(CompletePair { start: half.start, log, is_b_second: half.is_b_second })
        });
        let mut complete: Vec<CompletePair> = complete.collect();
        let mut of_start: BTreeMap<u64, usize> = BTreeMap::new();
        complete.iter().for_each(|pair| *of_start.entry(pair.start).or_default() += 1);
        let most = of_start.values().copied().max().unwrap_or(0);
        complete.retain(|pair| of_start[&pair.start] == most);
        MetricPairs::new(complete, metric)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn logs(&self) -> Vec<f64> {
        self.0.iter().map(|pair| pair.log).collect()
    }

    /// Mean of ln(B ÷ A).
    pub fn mean(&self) -> f64 {
        mean(&self.logs())
    }

    /// Standard deviation of ln(B ÷ A).
    pub fn sd(&self) -> f64 {
        variance(&self.logs()).sqrt()
    }

    /// ln(B ÷ A) of the pairs of each start.
    fn by_start(&self) -> Vec<Vec<f64>> {
        let mut starts: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for pair in &self.0 {
            starts.entry(pair.start).or_default().push(pair.log);
        }
        starts.into_values().collect()
    }

    /// Starts of the clusters that have pairs.
    pub fn starts(&self) -> usize {
        self.by_start().len()
    }

    /// Variance of a start's mean: the unit of an interval is the start.
    fn variance_of_start(&self) -> f64 {
        let means: Vec<f64> = self.by_start().iter().map(|of| mean(of)).collect();
        variance(&means)
    }

    /// What a design costs for what it shows: variance of a start's mean × minutes of a start, in %² · min. A
    /// comparison's variance is the first divided by the starts, its length the second times them, so designs with less
    /// of this show more in the same time. Not a number with a single start.
    pub fn variance_minutes(&self, minutes_per_pair: f64) -> f64 {
        let each = self.len() as f64 / self.starts() as f64;
        self.variance_of_start() * 1e4 * minutes_per_pair * each
    }

    /// Analysis of variance with the start as the group.
    pub fn parts(&self) -> PairDeviations {
        let starts = self.by_start();
        let freedom = self.len().saturating_sub(starts.len()) as f64;
        let squares: f64 = starts.iter().map(|of| variance_sum(of)).sum();
        let within = if freedom > 0.0 { squares / freedom } else { f64::NAN };
        let each = self.len() as f64 / starts.len() as f64;
        // The variance of a start's mean holds that of its pairs, divided by how many they are. With one pair each they
        // cannot be separated, and all is between.
        let of_pairs = if freedom > 0.0 { within / each } else { 0.0 };
        let between = (self.variance_of_start() - of_pairs).max(0.0);
        PairDeviations { between: between.sqrt(), within: within.sqrt() }
    }

    /// Mean of ln(second ÷ first), and its standard error.
    pub fn second_over_first(&self) -> (f64, f64) {
        let logs: Vec<f64> =
            self.0.iter().map(|pair| if pair.is_b_second { pair.log } else { -pair.log }).collect();
        (mean(&logs), (variance(&logs) / logs.len() as f64).sqrt())
    }

    /// Half of the 95 % interval that the spread between and within starts lets expect (Student's t); none of a single
    /// start.
    pub fn half_width_predicted(&self) -> Option<f64> {
        let starts = self.starts();
        let parts = self.parts();
        let each = self.len() as f64 / starts as f64;
        let within = if parts.within.is_nan() { 0.0 } else { parts.within.powi(2) / each };
        let of_start = parts.between.powi(2) + within;
        (starts > 1).then(|| t_975(starts as f64 - 1.0) * (of_start / starts as f64).sqrt())
    }
}

/// What makes a comparison leave a pair out whatever its figures are.
const SPOILING: [&str; 4] = ["cut-short", "process-died", "unconditioned", "not-at-once"];

/// The trials that spoil their pairs.
fn spoilt(document: &Value) -> impl Iterator<Item = u64> {
    let caveats = document["caveats"].as_array().into_iter().flatten();
    let spoiling =
        caveats.filter(|caveat| caveat["kind"].as_str().is_some_and(|kind| SPOILING.contains(&kind)));
    spoiling.filter_map(|caveat| caveat["scope"]["trial"].as_u64())
}

/// The figures of a metric by trial, those that must not be used left out.
fn figures(document: &Value, metric: &CaseMetric) -> anyhow::Result<BTreeMap<u64, f64>> {
    let findings = document["findings"].as_array().context("the document has no findings")?;
    let mut values = BTreeMap::new();
    for finding in findings {
        let is_it = finding["subject"] == metric.subject && finding["metric"] == metric.name;
        let marks = finding["marks"].as_array();
        let is_invalid = marks.is_some_and(|marks| marks.iter().any(|mark| mark == "invalid"));
        let value = finding["value"].as_f64().filter(|value| *value > 0.0);
        if let (true, false, Some(trial), Some(value)) =
            (is_it, is_invalid, finding["scope"]["trial"].as_u64(), value)
        {
            values.insert(trial, value);
        }
    }
    Ok(values)
}

/// The 97.5 % quantile of Student's t, by the first terms of its expansion about the normal law (Abramowitz and Stegun
/// 26.7.5): within 1 % from 5 degrees of freedom on.
fn t_975(freedom: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let [first, second, third] = [
        (Z.powi(3) + Z) / 4.0,
        (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0,
        (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0,
    ];
    Z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared deviations from the mean.
fn variance_sum(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn variance(values: &[f64]) -> f64 {
    variance_sum(values) / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const METRIC: CaseMetric = CaseMetric { case: 0, subject: "writers", name: "acked_per_s", sd_max: 0.05 };

    /// Two starts with two pairs each: A is 100 throughout, B is as given, and B ran second in the first pair of each.
    fn document(b: [f64; 4]) -> Value {
        let mut trials = Vec::new();
        let mut findings = Vec::new();
        for (index, b) in b.into_iter().enumerate() {
            let pair = index + 1;
            for (place, variant) in
                [(1, if index % 2 == 0 { "A" } else { "B" }), (2, if index % 2 == 0 { "B" } else { "A" })]
            {
                let trial = trials.len() + 1;
                trials.push(json!({"trial": trial, "case": 0, "variant": variant, "start": index / 2 + 1,
                    "pair": {"pair": pair, "place": place}}));
                let value = if variant == "A" { 100.0 } else { b };
                findings
                    .push(json!({"scope": {"trial": trial}, "subject": "writers", "metric": "acked_per_s",
                    "value": value}));
            }
        }
        json!({"trials": trials, "findings": findings})
    }

    #[test]
    fn spread_is_parted_into_starts_and_pairs() {
        let e = |power: f64| 100.0 * power.exp();
        let pairs = MetricPairs::read(&document([e(0.3), e(0.1), e(-0.1), e(-0.3)]), &METRIC).expect("pairs");
        assert_eq!(pairs.len(), 4);
        assert!(pairs.mean().abs() < 1e-9);
        // Within: 4 deviations of 0.1 on 2 degrees of freedom; means 0.2 and -0.2 with variance 0.08.
        let parts = pairs.parts();
        assert!((parts.within.powi(2) - 0.02).abs() < 1e-9, "{}", parts.within);
        assert!((parts.between.powi(2) - 0.07).abs() < 1e-9, "{}", parts.between);
        // Second ÷ first: 0.3, -0.1, -0.1, 0.3.
        assert!((pairs.second_over_first().0 - 0.1).abs() < 1e-9);
        // A start of two pairs of 3 min: 0.08 = 800 %², in 6 min.
        assert!((pairs.variance_minutes(3.0) - 4800.0).abs() < 1e-6);
        // Two starts: t of one degree is 12.7, and the mean's variance is 0.04.
        let predicted = pairs.half_width_predicted().expect("two starts");
        assert!((predicted - t_975(1.0) * 0.2).abs() < 1e-9, "{predicted}");
    }

    #[test]
    fn with_one_pair_of_each_start_all_spread_is_between_them() {
        let of = |start, log| CompletePair { start, log, is_b_second: true };
        let pairs = MetricPairs::new(vec![of(1, 0.1), of(2, -0.1), of(3, 0.0)], &METRIC).expect("pairs");
        assert!((pairs.parts().between - 0.1).abs() < 1e-9 && pairs.parts().within.is_nan());
        assert!((pairs.variance_minutes(2.0) - 200.0).abs() < 1e-6);
        assert!(pairs.half_width_predicted().is_some_and(f64::is_finite));
        assert!(MetricPairs::new(vec![of(1, 0.1)], &METRIC).is_err());
    }

    #[test]
    fn t_is_that_of_the_tables() {
        for (freedom, table) in [(5.0, 2.571), (7.0, 2.365), (15.0, 2.131), (31.0, 2.040)] {
            assert!((t_975(freedom) / table - 1.0).abs() < 0.01, "{freedom}: {}", t_975(freedom));
        }
    }

    #[test]
    fn a_pair_that_lost_a_trial_does_not_count() {
        let whole = document([110.0, 100.0, 100.0, 100.0]);
        let read = |document: &Value| MetricPairs::read(document, &METRIC).map_or(0, |pairs| pairs.len());
        assert_eq!(read(&whole), 4);
        let mut lacking = whole.clone();
        lacking["findings"].as_array_mut().expect("an array").remove(7);
        assert_eq!(read(&lacking), 2, "nor does what is left of its start");
        let mut invalid = whole.clone();
        invalid["findings"][0]["marks"] = json!(["invalid"]);
        assert_eq!(read(&invalid), 2);
        let reported = |kind: &str| {
            let mut document = whole.clone();
            document["caveats"] = json!([{"kind": kind, "scope": {"trial": 5}}]);
            read(&document)
        };
        assert_eq!((reported("not-at-once"), reported("memory-storage")), (2, 4));
        assert!(MetricPairs::read(&json!({"trials": [], "findings": []}), &METRIC).is_err());
    }
}
