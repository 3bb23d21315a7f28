//! Where a target comes from: a private file, and the properties file that it names.

use crate::failure::Failure;
use crate::{out, scenario_source};
use kdyno_scenario::target::{Target, TargetFile};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What was typed for a target: its file, and before it what selects the cases that it is for.
pub(crate) fn of_cases(typed: &str) -> (Option<&str>, &str) {
    match typed.split_once(':') {
        Some((cases, file)) if cases.contains('=') && !cases.contains('/') => (Some(cases), file),
        _ => (None, typed),
    }
}

/// Reads a target file, and the properties file it names.
pub(crate) fn read_target(path: &Path) -> Result<Target, Failure> {
    let text = text_of(path, "target")?;
    refuse_shared(path)?;
    let file = TargetFile::parse(&text, &path.display().to_string())?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let properties =
        file.properties().map(|name| text_of(&folder.join(name), "properties file")).transpose()?;
    let target = file.resolve(properties.as_deref())?;
    if !target.ignored_properties.is_empty() {
        out::note(&format!("not read from the properties file: {}", target.ignored_properties.join(", ")));
    }
    Ok(target)
}

/// A target file says how to reach somebody's cluster: nobody else on this host need read it.
fn refuse_shared(path: &Path) -> Result<(), Failure> {
    const OTHERS: u32 = 0o077;
    let mode = std::fs::metadata(path).map_err(Failure::tool)?.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let mode = mode & 0o777;
    Err(Failure::usage(format!("the target {} is open to other users (mode {mode:o})", path.display()))
        .hint(format!("chmod 600 {}", path.display())))
}

fn text_of(path: &Path, what: &str) -> Result<String, Failure> {
    String::from_utf8(scenario_source::read_bytes(path, what)?)
        .map_err(|_| Failure::usage(format!("the {what} {} is not UTF-8", path.display())))
}
