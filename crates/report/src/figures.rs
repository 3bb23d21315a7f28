//! Findings by what they speak of.

use kdyno_model::caveat::{Concern, ScopedCaveat, Severity};
use kdyno_model::command_metrics;
use kdyno_model::finding::{Finding, Quantity, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::ComparePlan;
use kdyno_model::trial::{Trial, TrialId};
use std::collections::{BTreeMap, BTreeSet};

/// Findings, ready to be looked up.
#[derive(Debug)]
pub struct FindingIndex<'a> {
    by_address: BTreeMap<(Scope, Quantity, &'a str, &'a str), &'a Finding>,
    /// The caveats for which figures must not be used.
    invalid: Vec<ScopedCaveat>,
    measured: BTreeSet<TrialId>,
}

/// What every load item has one of as soon as a whole second was measured, or a command has ended.
const MEASURED: [&str; 3] = ["offered_per_s", "fetched_per_s", command_metrics::SUCCEEDED];

impl<'a> FindingIndex<'a> {
    /// Sorts findings and notes whose figures must not be used.
    pub fn new(findings: &'a [Finding], caveats: &[ScopedCaveat]) -> Self {
        let by_address = findings
            .iter()
            .map(|one| ((one.scope, one.quantity, one.of.subject.as_str(), one.of.metric.as_str()), one))
            .collect();
        let invalid = caveats.iter().filter(|one| one.severity == Severity::Invalid).cloned();
        let is_measured = |one: &&Finding| MEASURED.contains(&one.of.metric.as_str());
        let measured = findings.iter().filter(is_measured).filter(|one| one.estimate != Value::None);
        let measured = measured.filter_map(|one| match one.scope {
            Scope::Trial(trial) => Some(trial),
            _ => None,
        });
        Self { by_address, invalid: invalid.collect(), measured: measured.collect() }
    }

    /// The finding of a scope about a metric, if there is one.
    pub fn get(&self, scope: Scope, quantity: Quantity, of: &Address) -> Option<&'a Finding> {
        self.find(scope, quantity, &of.subject, &of.metric)
    }

    /// One value of one scope.
    pub fn value(&self, scope: Scope, subject: &str, metric: &str) -> Option<&'a Finding> {
        self.find(scope, Quantity::Value, subject, metric)
    }

    /// One value of one trial.
    pub fn of_trial(&self, trial: TrialId, subject: &str, metric: &str) -> Option<&'a Finding> {
        self.value(Scope::Trial(trial), subject, metric)
    }

    /// Whether a trial has a finding of a metric with a value.
    pub fn is_known(&self, trial: TrialId, subject: &str, metric: &str) -> bool {
        let found = self.of_trial(trial, subject, metric);
        found.is_some_and(|one| one.estimate != Value::None)
    }

    /// Whether a value of a trial is known and above 0, or at least so much.
    pub fn is_above_0(&self, trial: TrialId, subject: &str, metric: &str) -> bool {
        let found = self.of_trial(trial, subject, metric);
        found.and_then(|one| one.estimate.least()).is_some_and(|value| value > 0.0)
    }

    /// Whether none of a trial's figures may be used.
    pub fn is_invalid(&self, trial: &Trial) -> bool {
        let mut whole = self.invalid.iter().filter(|one| one.concerns == Concern::Everything);
        whole.any(|one| covers(one.scope, trial))
    }

    /// Whether a trial has figures: it came as far as its measure phase. Before that nothing but counts is known.
    pub fn has(&self, trial: TrialId) -> bool {
        self.measured.contains(&trial)
    }

    fn find(&self, scope: Scope, quantity: Quantity, subject: &str, metric: &str) -> Option<&'a Finding> {
        self.by_address.get(&(scope, quantity, subject, metric)).copied()
    }
}

/// Whether what is said of a scope concerns a trial.
pub(crate) fn covers(scope: Scope, trial: &Trial) -> bool {
    match scope {
        Scope::Trial(id) => id == trial.id,
        Scope::Case(case) | Scope::Comparison { case } | Scope::Search { case } => case == trial.case,
        Scope::SideB { case } => {
            case == trial.case && trial.variant.as_deref() == Some(ComparePlan::SIDES[1])
        }
        Scope::Pair { case, pair } => {
            case == trial.case && trial.pair.is_some_and(|place| place.pair == pair)
        }
        Scope::PublishedRow(_) => false,
        Scope::Run => true,
    }
}
