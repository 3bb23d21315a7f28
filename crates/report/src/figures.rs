//! Findings by their address, and what repeats of a case say together.

use crate::input::TrialCaveat;
use kdyno_model::finding::{Finding, Severity, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{CasePlan, Plan, TrialRef};
use std::collections::{BTreeMap, BTreeSet};

/// Findings, ready to be asked for.
#[derive(Debug)]
pub struct Figures<'a> {
    by_address: BTreeMap<(TrialRef, &'a str, &'a str), (Value, Unit)>,
    invalid: BTreeSet<TrialRef>,
    repeats: BTreeMap<u32, Vec<TrialRef>>,
}

impl<'a> Figures<'a> {
    /// Sorts findings and marks the trials whose figures must not be used.
    #[must_use]
    pub fn new(plan: &Plan, findings: &'a [Finding], caveats: &[TrialCaveat]) -> Self {
        let by_address = findings
            .iter()
            .map(|f| ((f.trial, f.of.subject.as_str(), f.of.metric.as_str()), (f.value, f.unit)))
            .collect();
        let invalid = caveats
            .iter()
            .filter(|(_, severity, _)| *severity == Severity::Invalid)
            .map(|(trial, _, _)| *trial)
            .collect();
        let mut repeats: BTreeMap<u32, Vec<TrialRef>> = BTreeMap::new();
        for trial in &plan.order {
            repeats.entry(trial.case).or_default().push(*trial);
        }
        repeats.values_mut().for_each(|trials| trials.sort());
        Self { by_address, invalid, repeats }
    }

    /// One value of one trial; [`Value::None`] when there is no such finding.
    #[must_use]
    pub fn get(&self, trial: TrialRef, subject: &str, metric: &str) -> Value {
        self.by_address.get(&(trial, subject, metric)).map_or(Value::None, |(value, _)| *value)
    }

    /// The same, printed; the unit is the finding's own.
    #[must_use]
    pub fn text(&self, trial: TrialRef, subject: &str, metric: &str) -> String {
        match self.by_address.get(&(trial, subject, metric)) {
            Some((value, unit)) => crate::units::value(*value, *unit),
            None => crate::units::NOTHING.to_owned(),
        }
    }

    /// Whether a trial's figures must not be used.
    #[must_use]
    pub fn is_invalid(&self, trial: TrialRef) -> bool {
        self.invalid.contains(&trial)
    }

    /// Whether anything was found out about a trial.
    #[must_use]
    pub fn has(&self, trial: TrialRef) -> bool {
        self.by_address.range((trial, "", "")..).next().is_some_and(|((next, _, _), _)| *next == trial)
    }

    /// The trials of a case, by repeat.
    #[must_use]
    pub fn trials(&self, case: u32) -> &[TrialRef] {
        self.repeats.get(&case).map_or(&[], Vec::as_slice)
    }

    /// What the repeats of a case say about one metric. Invalid trials count only when there is no other.
    #[must_use]
    pub fn over_repeats(&self, case: u32, of: &Address) -> Summary {
        let trials = self.trials(case);
        let values = |wanted: bool| -> Vec<Value> {
            let of_kind = trials.iter().filter(|trial| self.is_invalid(**trial) != wanted);
            of_kind
                .map(|trial| self.get(*trial, &of.subject, &of.metric))
                .filter(|value| !matches!(value, Value::None))
                .collect()
        };
        let valid = values(true);
        if valid.is_empty() {
            Summary::new(&values(false), trials.len(), true)
        } else {
            Summary::new(&valid, trials.len(), false)
        }
    }
}

/// Median and range of a value over the repeats of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The median; "at least" when it depends on a value that is only known to be at least something.
    pub median: Value,
    /// Smallest; [`Value::None`] when nothing was counted.
    pub min: Value,
    /// Largest.
    pub max: Value,
    /// Values that count.
    pub counted: usize,
    /// Repeats planned.
    pub planned: usize,
    /// Only invalid trials gave these figures.
    pub invalid: bool,
}

impl Summary {
    fn new(values: &[Value], planned: usize, invalid: bool) -> Self {
        let invalid = invalid && !values.is_empty();
        let counted = values.len();
        let mut lower: Vec<f64> = values.iter().filter_map(|value| lower_bound(*value)).collect();
        let mut upper: Vec<f64> = values.iter().filter_map(|value| upper_bound(*value)).collect();
        lower.sort_by(f64::total_cmp);
        upper.sort_by(f64::total_cmp);
        let pick = |at: fn(&[f64]) -> Option<f64>| match (at(&lower), at(&upper)) {
            (Some(low), Some(high)) if low == high => Value::Is(low),
            (Some(low), _) => Value::AtLeast(low),
            (None, _) => Value::None,
        };
        Self {
            median: pick(median),
            min: pick(|sorted| sorted.first().copied()),
            max: pick(|sorted| sorted.last().copied()),
            counted,
            planned,
            invalid,
        }
    }

    /// The median as a number that may be compared: known exactly, finite, from a valid trial.
    #[must_use]
    pub fn usable(&self) -> Option<f64> {
        match self.median {
            Value::Is(number) if number.is_finite() && !self.invalid => Some(number),
            _ => None,
        }
    }
}

fn lower_bound(value: Value) -> Option<f64> {
    match value {
        Value::Is(number) | Value::AtLeast(number) => Some(number),
        Value::None => None,
    }
}

fn upper_bound(value: Value) -> Option<f64> {
    match value {
        Value::Is(number) => Some(number),
        Value::AtLeast(_) => Some(f64::INFINITY),
        Value::None => None,
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(sorted[middle - 1].midpoint(upper)) }
}

/// A case's label; the only case of a run is called by the word.
#[must_use]
pub fn case_label(case: &CasePlan) -> &str {
    if case.label.is_empty() { "the case" } else { &case.label }
}

/// A trial's label: the case's, and the repeat (from 1) where there is more than one: `brokers=3 #2`.
#[must_use]
pub fn trial_label(plan: &Plan, trial: TrialRef) -> String {
    let case = plan.cases.get(trial.case as usize).map_or("unknown case", case_label);
    let repeats = plan.order.iter().filter(|other| other.case == trial.case).count();
    if repeats > 1 { format!("{case} #{}", trial.repeat + 1) } else { case.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_at_least_only_when_it_depends_on_one() {
        let of = |values: &[Value]| Summary::new(values, values.len(), false);
        let high = of(&[Value::Is(1.0), Value::Is(2.0), Value::AtLeast(9.0)]);
        assert_eq!((high.median, high.min, high.max), (Value::Is(2.0), Value::Is(1.0), Value::AtLeast(9.0)));
        let half = of(&[Value::Is(1.0), Value::AtLeast(9.0)]);
        assert_eq!(half.median, Value::AtLeast(5.0));
        // A low bound may stand for a large value: 2 is no longer known to be the middle.
        let low = of(&[Value::AtLeast(1.0), Value::Is(2.0), Value::Is(3.0)]);
        assert_eq!((low.median, low.min), (Value::AtLeast(2.0), Value::AtLeast(1.0)));
        assert_eq!(of(&[]).median, Value::None);
        assert_eq!(of(&[Value::Is(1.0), Value::Is(4.0)]).median, Value::Is(2.5));
    }
}
