//! Where a component is: started here, or one that runs already.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::CasePlan;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_scenario::file::ComponentFile;
use kdyno_scenario::input::{InputError, quoted};
use std::collections::BTreeSet;

/// What `at` says of a component that is started.
const HERE: &str = "here";

/// The address of a component that runs already; `None`: it is started.
///
/// # Errors
/// What is typed is no address.
pub(crate) fn elsewhere(reader: &CaseReader<'_>, file: &ComponentFile) -> Result<Option<String>, PlanError> {
    let at = reader.filled(&file.at, "at")?;
    if at == HERE {
        return Ok(None);
    }
    if !is_http(&at) {
        let message = format!("`at`: {} is neither `{HERE}` nor an address of HTTP", quoted(&at));
        return Err(reader.wrong(&file.at, message).hint("e.g. `http://127.0.0.1:8080`"));
    }
    Ok(Some(at))
}

/// Whether this is an address of HTTP with a host.
pub(crate) fn is_http(address: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.trim_matches('/').is_empty()))
}

/// Refuses sides that both send all of their load to an application that runs already, at the same addresses, where
/// they differ in nothing but `system`: that application stays on the Kafka that it is on, so they would be found alike
/// whatever is compared.
///
/// # Errors
/// They are such sides, in every case.
pub(crate) fn can_differ(a: &[CasePlan], b: &[CasePlan]) -> Result<(), PlanError> {
    let is_blind = |(a, b): (&CasePlan, &CasePlan)| {
        let are_alike = (&a.topics, &a.commands, &a.components) == (&b.topics, &b.commands, &b.components);
        a.system != b.system && a.load.is_empty() && b.load.is_empty() && are_alike
    };
    if !a.iter().zip(b).all(is_blind) {
        return Ok(());
    }
    let mut addresses = BTreeSet::new();
    for command in a.iter().flat_map(|case| case.commands.values()) {
        // A program gets the cluster's address, and so does a component.
        let target = command.http.as_ref().map(HttpLoad::target);
        let Some(target) = target.filter(|target| !target.is_component) else { return Ok(()) };
        addresses.insert(target.address.as_str());
    }
    if addresses.is_empty() {
        return Ok(());
    }
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let message = format!(
        "sides A and B differ in `system` alone, and all load of both goes to {}: the same application on the same Kafka",
        addresses.join(" and ")
    );
    Err(InputError::whole(message).hint(
        "let kdyno start the application (`at: here`), or give each side an address of its own, by a param",
    ))
}
