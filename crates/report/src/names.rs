//! Names for documents, taken from the types themselves, and numbers that a document can hold.

use crate::input::ReportInput;
use kdyno_model::finding::{Scope, Value};
use kdyno_model::plan::{ComparePlan, ParamValue};
use kdyno_model::trial::TrialId;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name of a value of an enum as run files have it, without what the value holds.
pub(crate) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(fields)) => {
            fields.into_iter().next().map_or_else(String::new, |(name, _)| name)
        }
        _ => String::new(),
    }
}

/// A scope taken apart, for columns and fields.
#[derive(Debug, Default)]
pub(crate) struct ScopeParts {
    /// Name of the kind, e.g. `trial`.
    pub kind: String,
    /// For a trial its number.
    pub trial: Option<TrialId>,
    /// For a case, and what is made of its trials, its index in the plan.
    pub case: Option<u32>,
    /// For a comparison's trial or case which side: `A` or `B`.
    pub side: Option<String>,
    /// For a pair which one of the case.
    pub pair: Option<u32>,
    /// For a published row its index.
    pub published_row: Option<u32>,
}

impl ScopeParts {
    pub(crate) fn of(scope: Scope, input: &ReportInput<'_>) -> Self {
        let kind = name_of(&scope);
        let named = |side: usize| Some(ComparePlan::SIDES[side].to_owned());
        match scope {
            Scope::Trial(trial) => {
                let side = input.trial(trial).and_then(|of| of.variant.clone());
                Self { kind, trial: Some(trial), side, ..Self::default() }
            }
            Scope::Case(case) => {
                let side = input.sides().and_then(|_| named(0));
                Self { kind, case: Some(case), side, ..Self::default() }
            }
            // In documents a case like its side A.
            Scope::SideB { case } => Self {
                kind: name_of(&Scope::Case(case)),
                case: Some(case),
                side: named(1),
                ..Self::default()
            },
            Scope::Comparison { case } | Scope::Search { case } => {
                Self { kind, case: Some(case), ..Self::default() }
            }
            Scope::Pair { case, pair } => {
                Self { kind, case: Some(case), pair: Some(pair), ..Self::default() }
            }
            Scope::PublishedRow(row) => Self { kind, published_row: Some(row), ..Self::default() },
            Scope::Run => Self { kind, ..Self::default() },
        }
    }
}

/// A value as a number that a document can hold, and whether the true one is this or more.
pub(crate) fn bounded(value: Value) -> (Option<f64>, bool) {
    match value {
        Value::Is(number) => (finite(number), false),
        Value::AtLeast(number) => (finite(number), number.is_finite()),
        Value::None => (None, false),
    }
}

/// A number that a document can hold; `None` for one that is not finite.
pub(crate) fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

/// Params with their values as they are printed.
pub(crate) fn printed(params: &BTreeMap<String, ParamValue>) -> BTreeMap<String, String> {
    params.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}
