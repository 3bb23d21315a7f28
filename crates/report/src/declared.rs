//! What scenario and targets declare: it was not measured, and every form says so.

use kdyno_model::plan::Plan;
use std::collections::BTreeMap;

/// The name under which a scenario's declarations are shown.
const ENVIRONMENT: &str = "environment";

/// Facts by who declares them, `environment` or a target, each once.
pub(crate) fn all(plan: &Plan) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    if !plan.environment.is_empty() {
        found.insert(ENVIRONMENT.to_owned(), plan.environment.clone());
    }
    for target in plan.targets() {
        let mut facts = target.facts.clone();
        if let Some(price) = &target.price {
            facts.insert("price per hour".to_owned(), format!("{} {}", price.per_hour, price.currency));
        }
        if !facts.is_empty() {
            found.entry(target.target.clone()).or_default().extend(facts);
        }
    }
    found
}

/// All of it in one line; `None`: nothing is declared.
pub(crate) fn line(plan: &Plan) -> Option<String> {
    let reported = all(plan).into_iter().map(|(of, facts)| {
        let facts: Vec<String> = facts.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{of}: {}", facts.join(", "))
    });
    let reported: Vec<String> = reported.collect();
    (!reported.is_empty()).then(|| format!("Declared, not measured: {}.", reported.join("; ")))
}
