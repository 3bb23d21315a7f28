//! Whose doing a refusal is: a value set by hand is named by its option, not by the place that uses it.

use crate::choices::{Choices, PlanError};
use kdyno_model::plan::Plan;
use kdyno_scenario::input::{TextPosition, quoted};

/// Where a value set by hand is: nowhere in the scenario. Lines of a text count from 1.
pub(crate) const NOWHERE: TextPosition = TextPosition { line: 0, column: 0 };

/// The option as it was typed, in backquotes.
pub(crate) fn option(name: &str, value: &str) -> String {
    quoted(&format!("--set {name}={value}"))
}

/// The error under the name of the `--set` options without which it would not have come up, and the place
/// in the scenario behind it. Planning is pure and quick, so it is done again (`make`) without each of them.
pub(crate) fn attribute_error(
    error: PlanError,
    scenario_file: &str,
    choices: &Choices,
    make: impl Fn(&Choices) -> Result<Plan, PlanError>,
) -> PlanError {
    if choices.set.is_empty() || !error.file.is_empty() {
        return error;
    }
    let remains_with = |kept: &[usize]| {
        let set = kept.iter().map(|at| choices.set[*at].clone()).collect();
        let outcome = make(&Choices { set, ..choices.clone() });
        outcome.is_err_and(|other| same(&other, &error))
    };
    if remains_with(&[]) {
        return error;
    }
    let named = causes(choices.set.len(), &remains_with);
    let options = named.iter().map(|at| &choices.set[*at]).map(|(name, value)| option(name, value));
    let options: Vec<String> = options.collect();
    let place = error.place.filter(|place| *place != NOWHERE);
    let used = place.map(|place| format!(" (used at {scenario_file}:{}:{})", place.line, place.column));
    PlanError {
        file: options.join(" with "),
        place: None,
        message: error.message + &used.unwrap_or_default(),
        ..error
    }
}

/// The ones of `count` options that the error goes back to: those without which it would not have come up; where
/// several bring it about by themselves, these; else the last ones that do so together.
fn causes(count: usize, remains_with: &dyn Fn(&[usize]) -> bool) -> Vec<usize> {
    let mut left: Vec<usize> = (0..count).collect();
    let without = |all: &[usize], at: usize| -> Vec<usize> {
        all.iter().copied().filter(|other| *other != at).collect()
    };
    let needed: Vec<usize> = (0..count).filter(|at| !remains_with(&without(&left, *at))).collect();
    if !needed.is_empty() {
        return needed;
    }
    let enough: Vec<usize> = (0..count).filter(|at| remains_with(&[*at])).collect();
    if !enough.is_empty() {
        return enough;
    }
    for at in 0..count {
        let fewer = without(&left, at);
        if remains_with(&fewer) {
            left = fewer;
        }
    }
    left
}

/// The mistake at the same place; which case met it first may differ.
fn same(one: &PlanError, other: &PlanError) -> bool {
    let without_case = |error: &PlanError| {
        error.message.split_once(" (case ").map_or(error.message.clone(), |(message, _)| message.to_owned())
    };
    one.place == other.place && without_case(one) == without_case(other)
}
