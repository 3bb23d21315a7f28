//! Whose doing a refusal is: a value set by hand is named by its option, not by the place that uses it.

use crate::{Choices, PlanError, make};
use kdyno_model::input::quoted;
use kdyno_model::scenario::Scenario;

/// The option as it was typed, in backquotes.
pub(crate) fn option(name: &str, value: &str) -> String {
    quoted(&format!("--set {name}={value}"))
}

/// The error under the name of the `--set` options without which it would not have come up, and the place
/// in the scenario behind it. Planning is pure and quick, so it is done again without each of them.
pub(crate) fn blamed(error: PlanError, scenario: &Scenario, choices: &Choices) -> PlanError {
    if choices.set.is_empty() || !error.file.is_empty() {
        return error;
    }
    let remains_without = |left_out: &dyn Fn(usize) -> bool| {
        let kept = choices.set.iter().enumerate().filter(|(at, _)| !left_out(*at));
        let set = kept.map(|(_, pair)| pair.clone()).collect();
        let outcome = make(scenario, &Choices { set, ..choices.clone() });
        outcome.is_err_and(|other| same(&other, &error))
    };
    if remains_without(&|_| true) {
        return error;
    }
    let alone: Vec<usize> =
        (0..choices.set.len()).filter(|at| !remains_without(&|other| other == *at)).collect();
    let named = choices.set.iter().enumerate().filter(|(at, _)| alone.is_empty() || alone.contains(at));
    let options: Vec<String> = named.map(|(_, (name, value))| option(name, value)).collect();
    let used = error
        .place
        .map(|place| format!(" (used at {}:{}:{})", scenario.file_name(), place.line, place.column));
    PlanError {
        file: options.join(" with "),
        place: None,
        message: error.message + &used.unwrap_or_default(),
        hint: error.hint,
    }
}

/// The same mistake at the same place; which case met it first may differ.
fn same(one: &PlanError, other: &PlanError) -> bool {
    let without_case = |error: &PlanError| {
        error.message.split_once(" (case ").map_or(error.message.clone(), |(message, _)| message.to_owned())
    };
    one.place == other.place && without_case(one) == without_case(other)
}
