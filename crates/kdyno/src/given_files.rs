//! Files of keys and values that scenarios name: next to the scenario, or bundled with the program.

use crate::scenario_source::first_bytes_of_file;
use kdyno_model::plan::{GIVEN_BYTES_MAX, GivenFile};
use kdyno_plan::{FoundFile, UnusableSchema, ValuesOfSchema};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Files that are part of the program, for the scenarios that are: names and what they hold.
const BUNDLED: &[(&str, &str)] =
    &[("intel-sla.txt", include_str!("../../../scenarios/reports/intel-sla.txt"))];

/// The file that a scenario calls so: `bundled:NAME`, or what lies next to the scenario.
///
/// # Errors
/// One lowercase clause about the file.
pub(crate) fn next_to(scenario: &str, name: &str) -> Result<FoundFile, String> {
    if name.starts_with(GivenFile::BUNDLED) {
        return Ok(FoundFile { path: name.to_owned(), content: read(name)? });
    }
    let path = Path::new(scenario).parent().unwrap_or(Path::new("")).join(name);
    // By its whole path it is found again from another folder.
    let path = path.canonicalize().map_err(|e| format!("could not be read: {e}"))?;
    let path = path.to_str().ok_or("has a path that is not UTF-8")?.to_owned();
    let content = read(&path)?;
    Ok(FoundFile { path, content })
}

/// The file that a plan names.
///
/// # Errors
/// One lowercase clause about the file.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, String> {
    if let Some(name) = path.strip_prefix(GivenFile::BUNDLED) {
        let found = BUNDLED.iter().find(|(bundled, _)| *bundled == name);
        return found.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| "is not bundled".to_owned());
    }
    first_bytes_of_file(Path::new(path), GIVEN_BYTES_MAX + 1)
}

/// What values a schema gives, as planning asks for it: again and again of the same one, for each case and side.
///
/// # Errors
/// Nothing can be made of it.
pub(crate) fn by_schema(schema: &[u8], id: u32) -> Result<ValuesOfSchema, UnusableSchema> {
    static KNOWN: Mutex<BTreeMap<(Vec<u8>, u32), ValuesOfSchema>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&(schema.to_vec(), id)) {
        return Ok(*found);
    }
    let values = kdyno_avro::values(schema, id).map_err(|error| UnusableSchema {
        why: error.to_string(),
        hint: error.hint_text().map(ToOwned::to_owned),
    })?;
    let found = ValuesOfSchema {
        count: values.len() as u32,
        bytes: values.iter().map(|value| value.len() as u64).sum(),
        bytes_max: values.iter().map(|value| value.len() as u32).max().unwrap_or(0),
    };
    known.insert((schema.to_vec(), id), found);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_next_to_its_scenario_and_again_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        std::fs::write(at("lines.txt"), "a\nb\n").expect("written");
        let found = next_to(&at("scenario.yaml"), "lines.txt").expect("found");
        assert_eq!(found.content, b"a\nb\n");
        assert_eq!(read(&found.path).as_deref(), Ok(b"a\nb\n".as_slice()));
        let none = next_to(&at("scenario.yaml"), "none.txt").expect_err("not there");
        assert!(none.starts_with("could not be read: "), "{none}");
        assert_eq!(next_to(&at("scenario.yaml"), ".").expect_err("a folder"), "is no regular file");
    }

    #[test]
    fn what_a_bundled_scenario_names_is_bundled() {
        let found = next_to("reports/intel-sla", "bundled:intel-sla.txt").expect("bundled");
        assert_eq!(read(&found.path), Ok(found.content));
        assert_eq!(
            next_to("reports/intel-sla", "bundled:/etc/passwd").expect_err("no such"),
            "is not bundled"
        );
    }
}
