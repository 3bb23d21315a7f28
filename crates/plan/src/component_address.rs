//! Where a component is: started here, or one that runs already.

use crate::PlanError;
use crate::reader::Reader;
use kdyno_scenario::file::ComponentFile;
use kdyno_scenario::input::quoted;

/// What `at` says of a component that is started.
const HERE: &str = "here";

/// The address of a component that runs already; `None`: it is started.
///
/// # Errors
/// What is typed is no address.
pub(crate) fn elsewhere(reader: &Reader<'_>, file: &ComponentFile) -> Result<Option<String>, PlanError> {
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
