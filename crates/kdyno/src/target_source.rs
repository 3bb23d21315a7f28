//! Where a target comes from: a private file, and the properties file that it names.

use crate::failure::Failure;
use crate::{out, scenario_source};
use kdyno_scenario::generators::Generators;
use kdyno_scenario::input::InputError;
use kdyno_scenario::security::PropertiesFile;
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

/// The hosts that a target file names to carry the load.
pub(crate) fn generators_of(path: &Path) -> Result<Option<Generators>, Failure> {
    Ok(read_file(path)?.generators().cloned())
}

fn read_file(path: &Path) -> Result<TargetFile, Failure> {
    let text = String::from_utf8(scenario_source::read_bytes(path, "target")?)
        .map_err(|_| Failure::usage(format!("the target {} is not UTF-8", path.display())))?;
    refuse_shared(path)?;
    Ok(TargetFile::parse(&text, &path.display().to_string())?)
}

/// Reads a target file, and the properties file it names.
pub(crate) fn read_target(path: &Path) -> Result<Target, Failure> {
    let file = read_file(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let target = match file.properties().map(|name| folder.join(name)) {
        None => file.resolve(None)?,
        Some(path) => with_properties(&path, |properties| file.resolve(Some(properties)))?,
    };
    for note in &target.notes {
        out::note_once(note);
    }
    Ok(target)
}

/// Hands on a Java client's properties file, and what the files that it names begin with.
pub(crate) fn with_properties<T>(
    path: &Path,
    read: impl FnOnce(PropertiesFile<'_>) -> Result<T, InputError>,
) -> Result<T, Failure> {
    with_properties_of(path, &read_properties(path)?, read)
}

/// A properties file's bytes, among which passwords may be.
pub(crate) fn read_properties(path: &Path) -> Result<Vec<u8>, Failure> {
    kdyno_credentials::close_memory();
    scenario_source::read_bytes(path, "properties file")
}

/// Reads bytes that are at hand.
pub(crate) fn with_properties_of<T>(
    path: &Path,
    bytes: &[u8],
    read: impl FnOnce(PropertiesFile<'_>) -> Result<T, InputError>,
) -> Result<T, Failure> {
    Ok(read(PropertiesFile { path, bytes, head: &head })?)
}

/// The first bytes of a file, by which formats of certificates and keys are recognized.
pub(crate) fn head(path: &Path) -> Result<Vec<u8>, String> {
    /// More than any format needs: PEM begins with 11 characters that are always the same.
    const BYTES: u64 = 16;
    scenario_source::first_bytes_of_file(path, BYTES)
}

/// A target file says how to reach somebody's cluster: only its owner need read it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    #[test]
    fn memory_is_closed_before_a_properties_file_is_read() {
        let path = Path::new("/nowhere/client.properties");
        assert!(read_properties(path).is_err());
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
    }
}
