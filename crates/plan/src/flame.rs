//! Whether stacks are sampled while the run measures, and what for.

use crate::cases::Chosen;
use crate::choices::{Choices, PlanError};
use crate::reader::CaseReader;
use kdyno_model::plan::Plan;
use kdyno_model::stacks::{FlameKind, JVM_OPTIONS};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;

/// What was chosen in addition to the scenario, else what it says itself.
pub(crate) fn asked(
    scenario: &Scenario,
    choices: &Choices,
    chosen: &Chosen,
) -> Result<Option<FlameKind>, PlanError> {
    let typed = &scenario.typed().flame;
    let (None, Some(typed)) = (choices.flame, typed) else { return Ok(choices.flame) };
    let mut of_cases = chosen
        .cases
        .iter()
        .map(|case| CaseReader::new(scenario, case).word(typed, "flame", FlameKind::NAMES));
    let first = of_cases.next().transpose()?;
    for other in of_cases {
        if Some(other?) != first {
            let message = "`flame` must not differ between cases";
            return Err(InputError::at(typed.place, message));
        }
    }
    Ok(first.and_then(|word| word.parse().ok()))
}

/// Gives the Java processes of a plan that samples the options with which their stacks are whole; the user's own come
/// after them.
///
/// # Errors
/// Nothing of the plan runs in Java.
pub(crate) fn add_options(plan: &mut Plan) -> Result<(), PlanError> {
    if plan.flame.is_none() {
        return Ok(());
    }
    let mut has_java = false;
    for case in plan.every_case_mut() {
        let drivers = case.load.values_mut().filter_map(|item| Some(&mut item.driver.as_java_mut()?.jvm));
        has_java |= case.system.target().is_some();
        let brokers = case.system.cluster_mut().map(|cluster| &mut cluster.jvm_options);
        let every: Vec<&mut Vec<String>> = drivers.chain(brokers).collect();
        has_java |= !every.is_empty();
        for options in every {
            *options = JVM_OPTIONS.into_iter().map(str::to_owned).chain(options.drain(..)).collect();
        }
    }
    if has_java {
        return Ok(());
    }
    let message = "flame graphs are of brokers and of clients with `driver: java`, and the run has neither";
    Err(InputError::whole(message).hint("docs/reference/flame-graphs.md has a recipe for kdyno's own client"))
}
