//! The pairs of a stored comparison: their log ratios, and where their spread comes from.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A metric of a case.
pub struct Metric {
    /// Index of the case.
    pub case: u64,
    /// Whose.
    pub subject: &'static str,
    /// Its name after the subject.
    pub name: &'static str,
    /// The sd of pairs that is aimed at, of logarithms.
    pub sd_max: f64,
}

/// One pair.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    start: u64,
    a: Option<f64>,
    b: Option<f64>,
    /// B was the second of the two to run.
    is_b_second: bool,
}

/// The complete pairs of a metric.
pub struct Pairs {
    /// Start of the clusters and ln(B ÷ A) of each, and whether B ran second.
    pairs: Vec<(u64, f64, bool)>,
}

/// Standard deviations whose squares add up to that of a pair.
pub struct Parts {
    /// From one start of the clusters to another.
    pub between: f64,
    /// From pair to pair on one start.
    pub within: f64,
}

impl Pairs {
    /// From the document of `kdyno show --json`.
    pub fn read(document: &Value, metric: &Metric) -> anyhow::Result<Pairs> {
        let trials = document["trials"].as_array().context("the document has no trials")?;
        let findings = document["findings"].as_array().context("the document has no findings")?;
        let mut values = BTreeMap::new();
        for finding in findings {
            let is_it = finding["subject"] == metric.subject && finding["metric"] == metric.name;
            if let (true, Some(trial), Some(value)) =
                (is_it, finding["scope"]["trial"].as_u64(), finding["value"].as_f64())
            {
                values.insert(trial, value);
            }
        }
        let mut pairs: BTreeMap<u64, Pair> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial["case"].as_u64() == Some(metric.case)) {
            let (Some(number), Some(pair)) = (trial["trial"].as_u64(), trial["pair"]["pair"].as_u64()) else {
                continue;
            };
            let of = pairs.entry(pair).or_default();
            of.start = trial["start"].as_u64().context("a trial tells no start")?;
            let value = values.get(&number).copied().filter(|value| *value > 0.0);
            match trial["variant"].as_str() {
                Some("A") => of.a = value,
                Some("B") => {
                    of.b = value;
                    of.is_b_second = trial["pair"]["place"].as_u64() == Some(2);
                }
                _ => {}
            }
        }
        let complete = pairs
            .into_values()
            .filter_map(|pair| Some((pair.start, (pair.b? / pair.a?).ln(), pair.is_b_second)));
        let pairs: Vec<_> = complete.collect();
        ensure!(pairs.len() >= 2, "{}.{} has {} pairs", metric.subject, metric.name, pairs.len());
        Ok(Pairs { pairs })
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    fn logs(&self) -> Vec<f64> {
        self.pairs.iter().map(|(_, log, _)| *log).collect()
    }

    /// Mean of ln(B ÷ A).
    pub fn mean(&self) -> f64 {
        mean(&self.logs())
    }

    /// Standard deviation of ln(B ÷ A).
    pub fn sd(&self) -> f64 {
        variance(&self.logs()).sqrt()
    }

    /// Analysis of variance with the start as the group.
    pub fn parts(&self) -> Parts {
        let mut starts: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (start, log, _) in &self.pairs {
            starts.entry(*start).or_default().push(*log);
        }
        let freedom = self.len().saturating_sub(starts.len()) as f64;
        let squares: f64 = starts.values().map(|of| variance_sum(of)).sum();
        let within = if freedom > 0.0 { squares / freedom } else { f64::NAN };
        let means: Vec<f64> = starts.values().map(|of| mean(of)).collect();
        let each = self.len() as f64 / starts.len() as f64;
        // The variance of a start's mean holds that of its pairs, divided by how many they are.
        let between = (variance(&means) - within / each).max(0.0);
        Parts { between: between.sqrt(), within: within.sqrt() }
    }

    /// Mean of ln(second ÷ first), and its standard error.
    pub fn second_over_first(&self) -> (f64, f64) {
        let logs: Vec<f64> =
            self.pairs.iter().map(|(_, log, is_b_second)| if *is_b_second { *log } else { -log }).collect();
        (mean(&logs), (variance(&logs) / logs.len() as f64).sqrt())
    }

    /// Half of the 95 % interval that the spread between and within starts lets expect (normal law, t for the number
    /// of starts approximated by 2.4 at eight of them); none of a single start.
    pub fn half_width_predicted(&self) -> Option<f64> {
        let starts: std::collections::BTreeSet<u64> = self.pairs.iter().map(|(start, ..)| *start).collect();
        let (count, parts) = (starts.len() as f64, self.parts());
        let each = self.len() as f64 / count;
        let of_start = parts.between.powi(2) + parts.within.powi(2) / each;
        (starts.len() > 1).then(|| 2.4 * (of_start / count).sqrt())
    }

    /// Half of the printed interval of B ÷ A, in logarithms.
    pub fn half_width_achieved(&self, document: &Value, metric: &Metric) -> Option<f64> {
        let ratio = document["findings"].as_array()?.iter().find(|finding| {
            finding["quantity"] == "ratio_b_to_a"
                && finding["subject"] == metric.subject
                && finding["metric"] == metric.name
                && finding["scope"]["kind"] == "comparison"
                && finding["scope"]["case"].as_u64() == Some(metric.case)
        })?;
        let bound = |name: &str| ratio["interval"][name].as_f64().filter(|bound| *bound > 0.0);
        Some((bound("high")? / bound("low")?).ln() / 2.0)
    }
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

    const METRIC: Metric = Metric { case: 0, subject: "writers", name: "acked_per_s", sd_max: 0.05 };

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
        let pairs = Pairs::read(&document([e(0.3), e(0.1), e(-0.1), e(-0.3)]), &METRIC).expect("pairs");
        assert_eq!(pairs.len(), 4);
        assert!(pairs.mean().abs() < 1e-9);
        // Within: 4 deviations of 0.1 on 2 degrees of freedom; means 0.2 and -0.2 with variance 0.08.
        let parts = pairs.parts();
        assert!((parts.within.powi(2) - 0.02).abs() < 1e-9, "{}", parts.within);
        assert!((parts.between.powi(2) - 0.07).abs() < 1e-9, "{}", parts.between);
        // Second ÷ first: 0.3, -0.1, -0.1, 0.3.
        assert!((pairs.second_over_first().0 - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_pair_that_lost_a_trial_does_not_count() {
        let mut document = document([110.0, 100.0, 100.0, 100.0]);
        document["findings"].as_array_mut().expect("an array").remove(0);
        assert_eq!(Pairs::read(&document, &METRIC).expect("pairs").len(), 3);
        assert!(Pairs::read(&json!({"trials": [], "findings": []}), &METRIC).is_err());
    }
}
