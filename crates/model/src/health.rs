//! Whether the system under test and its surroundings were healthy in a trial: rules with their thresholds, and what was
//! found by each.

use crate::finding::Scope;
pub use crate::health_rules::{HealthRule, HealthThreshold, RuleText};
use serde::{Deserialize, Serialize};

/// What the rules of health say of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The trial.
    pub scope: Scope,
    /// Every rule that could be asked, with each thing that it was asked of.
    pub checks: Vec<HealthCheck>,
}

/// A rule that was asked of one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// Which rule.
    pub rule: HealthRule,
    /// Whose value it is: `brokers`, `drive vda`, `host`; for a rule about the worst of several, that one: `broker-1`.
    pub of: String,
    /// The figure in the window, in the rule's unit.
    pub value: f64,
    /// Whether it is beyond the rule's threshold.
    pub is_broken: bool,
}
