//! Where a scenario comes from: a file, or what is bundled with the program.

use crate::environment::ENDING;
use crate::failure::Failure;
use crate::out;
use kdyno_model::units::size;
use kdyno_scenario::input::{listed, nearest};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A scenario file that is part of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundled {
    /// Its path under `scenarios/`, without the ending.
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        &[$(Bundled { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".yaml")) }),*]
    };
}

/// All of them; a test compares the list with the folder.
pub(crate) const BUNDLED: &[Bundled] = bundled![
    "first-light",
    "upgrade-check",
    "catch-up",
    "drivers",
    "client-check",
    "reports/folio-41-import",
    "reports/folio-41-kafka",
    "reports/folio-41-users",
    "reports/folio-kraft-both",
    "reports/folio-kraft-import",
    "reports/folio-kraft-kafka",
    "reports/folio-kraft-users",
    "reports/huawei-rate",
    "reports/ibm-fast",
    "reports/ibm-payload",
    "reports/ibm-resilient",
    "reports/ibm-resilient-jobs",
    "reports/ibm-resilient-kubernetes",
    "reports/intel-sla",
];

/// Largest scenario file that is read: people write them by hand.
const SCENARIO_BYTES_MAX: u64 = 1 << 20;

/// Files of a folder that are looked at for one that was meant.
const FILES_LOOKED_AT_MAX: usize = 10_000;

/// A scenario's bytes and where they were found.
#[derive(Debug, Clone)]
pub(crate) struct ScenarioSource {
    /// As typed by its author.
    pub(crate) bytes: Vec<u8>,
    /// File path, or a bundled scenario's name.
    pub(crate) name: String,
}

/// Finds what was named on the command line. A bundled scenario's name always means that one; a file is a path
/// with a `/` or a name that ends in `.yaml`, so that no file can take a bundled scenario's place unseen.
pub(crate) fn find(named: &str) -> Result<ScenarioSource, Failure> {
    if let Some(bundled) = known(named) {
        if Path::new(named).is_file() {
            out::note(&format!("{named} is the bundled scenario; the file of that name is ./{named}"));
        }
        return Ok(ScenarioSource { bytes: bundled.text.into(), name: bundled.name.to_owned() });
    }
    if is_run(named) || is_run_file(Path::new(named)) {
        return Err(Failure::usage(format!("{named} is a stored run, not a scenario"))
            .hint("`kdyno show` prints it, `kdyno rerun` runs its plan again"));
    }
    // No bundled scenario has a dot in its name: another tool's file is read to say what it is.
    if is_scenario_file(named) || (named.contains('.') && Path::new(named).is_file()) {
        let bytes = read_bytes(Path::new(named), "scenario")?;
        return Ok(ScenarioSource { bytes, name: named.to_owned() });
    }
    let failure = unknown(named);
    Err(match file_meant(named) {
        Some(file) => failure.hint(format!("the file of that name is ./{file}")),
        None => failure,
    })
}

/// The file in this folder that a name without `./` means, or one without its ending.
pub(crate) fn file_meant(named: &str) -> Option<String> {
    let is_file = |name: &String| Path::new(name).is_file();
    Some(named.to_owned()).filter(is_file).or_else(|| with_ending(named, &[".yaml", ".yml"]))
}

/// The file whose name goes on with one of these endings.
fn with_ending(path: &str, endings: &[&str]) -> Option<String> {
    let mut names = endings.iter().map(|ending| format!("{path}{ending}"));
    names.find(|name| Path::new(name).is_file())
}

/// Whether it is a file that was named where a scenario may be.
pub(crate) fn is_scenario_file(named: &str) -> bool {
    named.contains('/') || named.ends_with(".yaml") || named.ends_with(".yml")
}

/// Whether it is a run file, whatever it is called.
fn is_run_file(path: &Path) -> bool {
    first_bytes_of_file(path, out::SQLITE_HEAD.len() as u64).is_ok_and(|head| head == out::SQLITE_HEAD)
}

/// Whether a run was named in place of a scenario: its file, or the newest one.
pub(crate) fn is_run(named: &str) -> bool {
    let ending = Path::new(named).extension().and_then(|ending| ending.to_str());
    named == "latest" || ending == Some(ENDING)
}

/// A bundled scenario by its whole name or the last part of it.
pub(crate) fn bundled(named: &str) -> Result<&'static Bundled, Failure> {
    known(named).ok_or_else(|| unknown(named))
}

fn known(named: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == named || last_part(bundled.name) == named)
}

/// Says what is there instead: the nearest bundled scenario, or all of them.
fn unknown(named: &str) -> Failure {
    let names = BUNDLED.iter().map(|bundled| last_part(bundled.name));
    let hint = match nearest(named, names.clone()) {
        Some(name) => format!("did you mean `{name}`? `kdyno scenarios` lists them"),
        None => format!("bundled are {}; a run also takes a file: ./NAME or NAME.yaml", listed(names)),
    };
    Failure::usage(format!("there is no bundled scenario `{named}`")).hint(hint)
}

/// Reads a small file that a user named.
pub(crate) fn read_bytes(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    let bytes = first_bytes(path, SCENARIO_BYTES_MAX + 1).map_err(|error| unreadable(path, what, &error))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        let (shown, most) = (path.display(), size(SCENARIO_BYTES_MAX));
        return Err(Failure::usage(format!("the {what} {shown} has more than the {most} that are read")));
    }
    Ok(bytes)
}

/// The first bytes of a file, at most so many. One more than may be read shows that it is too much, also of a device,
/// which has no size and no end.
fn first_bytes(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a file that is named in another one, and must not be a pipe or a device: what is read would not come
/// again.
///
/// # Errors
/// One lowercase clause about the file.
pub(crate) fn first_bytes_of_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("could not be read: {error}");
    // A pipe without a writer would not even open.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("is no regular file".to_owned());
    }
    first_bytes(path, bytes_max).map_err(failed)
}

/// A file that cannot be read; of a missing one where it was looked for, and what is there instead.
fn unreadable(path: &Path, what: &str, error: &std::io::Error) -> Failure {
    if error.kind() != std::io::ErrorKind::NotFound {
        return Failure::usage(format!("could not read the {what} {}: {error}", path.display()));
    }
    let sought = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let endings: &[&str] = match what {
        "target" => &[".yaml", ".yml", "-target.yaml"],
        _ => &[".yaml", ".yml"],
    };
    let meant = || {
        let named = with_ending(&path.to_string_lossy(), endings).map(PathBuf::from);
        named.or_else(|| Some(path.with_file_name(neighbour(&sought)?)))
    };
    let written = || (what == "scenario").then(|| format!("`kdyno init {}` writes one", path.display()));
    let hint = match sought.parent().filter(|folder| !folder.is_dir()) {
        Some(folder) => Some(format!("there is no folder {}", folder.display())),
        None => meant().map(|path| format!("did you mean `{}`?", path.display())).or_else(written),
    };
    Failure::usage(format!("there is no {what} {}", sought.display())).maybe_hint(hint)
}

/// The nearest name of a file next to a missing one.
fn neighbour(missing: &Path) -> Option<String> {
    let name = missing.file_name()?.to_str()?;
    let neighbours = std::fs::read_dir(missing.parent()?).ok()?.take(FILES_LOOKED_AT_MAX);
    let neighbours = neighbours.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let names: Vec<String> =
        neighbours.filter(|name| Path::new(name).extension() == missing.extension()).collect();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// A scenario's id, which is the last part of its bundled name.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_scenario_of_the_repository_is_bundled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut there = BTreeSet::new();
        for (folder, prefix) in [(root.clone(), ""), (root.join("reports"), "reports/")] {
            for entry in std::fs::read_dir(&folder).expect("the scenarios folder") {
                let name = entry.expect("entry").file_name().into_string().expect("a plain name");
                if let Some(stem) = name.strip_suffix(".yaml") {
                    there.insert(format!("{prefix}{stem}"));
                }
            }
        }
        let bundled: BTreeSet<String> = BUNDLED.iter().map(|bundled| bundled.name.to_owned()).collect();
        assert_eq!(bundled, there);
    }

    #[test]
    fn a_file_without_end_is_not_read_to_its_end() {
        let failure = read_bytes(Path::new("/dev/zero"), "target").expect_err("too much");
        assert_eq!(failure.message, "the target /dev/zero has more than the 1 MiB that are read");
    }

    #[test]
    fn a_file_that_was_named_without_its_ending_is_proposed() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["dev.yaml", "orders-target.yaml", "prod.yml"] {
            std::fs::write(folder.path().join(name), "x").expect("written");
        }
        let hint = |name: &str, what: &str| {
            let failure = read_bytes(&folder.path().join(name), what).expect_err("no such file");
            failure.hint.unwrap_or_default()
        };
        let meant = |name: &str| format!("did you mean `{}`?", folder.path().join(name).display());
        assert_eq!(hint("dev", "target"), meant("dev.yaml"));
        assert_eq!(hint("orders", "target"), meant("orders-target.yaml"));
        assert_eq!(hint("prod", "patch"), meant("prod.yml"));
        assert!(hint("orders", "scenario").starts_with("`kdyno init "), "a target is none");
        let named = folder.path().join("dev").to_string_lossy().into_owned();
        assert_eq!(file_meant(&named), Some(format!("{named}.yaml")));
        assert_eq!(file_meant("no-such-file-here"), None);
    }

    #[test]
    fn a_report_is_found_by_its_short_name_and_a_near_miss_is_named() {
        assert_eq!(bundled("ibm-fast").map(|b| b.name).ok(), Some("reports/ibm-fast"));
        assert_eq!(bundled("reports/ibm-fast").map(|b| b.name).ok(), Some("reports/ibm-fast"));
        let failure = bundled("first-lihgt").expect_err("no such scenario");
        assert!(failure.hint.is_some_and(|hint| hint.contains("`first-light`")));
    }
}
