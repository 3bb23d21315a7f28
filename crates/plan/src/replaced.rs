//! What a target leaves without effect: the scenario's `system`, and the params that mean something only there.

use kdyno_model::plan::{Plan, SystemPlan};
use kdyno_scenario::Scenario;
use kdyno_scenario::file::{CasesFile, ScenarioFile};
use kdyno_scenario::values::references;
use kdyno_scenario::yaml::Typed;
use std::collections::BTreeSet;

/// That a target takes the place of a scenario's `system`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The target's name.
    pub target: String,
    /// Params used in `system`, also by way of others, that differ between the plan's cases or were set by hand: there
    /// they have no effect.
    pub params: Vec<String>,
}

/// What the plan's target takes the place of; `None` without a target, or when the scenario has no `system`.
pub fn replaced(scenario: &Scenario, plan: &Plan) -> Option<Replaced> {
    let first = plan.cases.first()?;
    let SystemPlan::Attached(target) = &first.system else { return None };
    if !scenario.typed().system.given {
        return None;
    }
    let meant = |name: &str| {
        let differs = plan.cases.iter().any(|case| case.params.get(name) != first.params.get(name));
        differs || plan.changed.contains_key(name)
    };
    let params = used_in_system(scenario.typed()).into_iter().filter(|name| meant(name)).collect();
    Some(Replaced { target: target.target.clone(), params })
}

/// Params that `system` inserts, and those that their values insert.
fn used_in_system(file: &ScenarioFile) -> BTreeSet<String> {
    let values = param_values(file);
    // The scenario has been checked: every reference can be read.
    let names = |typed: &Typed| references(typed).unwrap_or_default();
    let mut open: Vec<String> = file.system.values().into_iter().flat_map(names).collect();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        let own = values.iter().filter(|(param, _)| *param == name).flat_map(|(_, value)| names(value));
        let own: Vec<String> = own.collect();
        if found.insert(name) {
            open.extend(own);
        }
    }
    found
}

/// Every value that the scenario gives a param, in whichever profile or case.
fn param_values(file: &ScenarioFile) -> Vec<(&str, &Typed)> {
    let mut found: Vec<(&str, &Typed)> = Vec::new();
    found.extend(file.params.iter().map(|(name, value)| (name.text.as_str(), value)));
    of_cases(&file.cases, &mut found);
    for profile in &file.profiles {
        found.extend(profile.params.iter().map(|(name, value)| (name.text.as_str(), value)));
        of_cases(&profile.cases, &mut found);
    }
    found
}

fn of_cases<'f>(cases: &'f CasesFile, found: &mut Vec<(&'f str, &'f Typed)>) {
    let rows = cases.rows.iter().flatten().flat_map(|row| &row.values);
    found.extend(rows.map(|(name, value)| (name.text.as_str(), value)));
    for (name, values) in cases.vary.iter().flatten() {
        found.extend(values.iter().map(|value| (name.text.as_str(), value)));
    }
}
