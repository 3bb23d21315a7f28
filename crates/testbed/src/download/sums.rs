//! The files that releases are known to be made of, by their SHA-256. Maven compares what it fetches with checksums
//! that lie next to the files; a person who can change the one can change the other, on a mirror or on the way to it.
//!
//! `sums.txt` has the files of all releases that kdyno names (`scripts/sums.sh` adds what the cache has). For other
//! releases Maven's look is all there is, which is reported.

use super::pom::ReleaseParts;
use crate::digest::sha256;
use crate::error::TestbedError;
use kdyno_model::version::Version;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A line for each file: sum and name.
const KNOWN: &str = include_str!("sums.txt");

/// Sum by the name of the file.
type ChecksumsByFile<'a> = BTreeMap<&'a str, &'a str>;

fn read(text: &str) -> ChecksumsByFile<'_> {
    text.lines().filter_map(|line| line.split_once("  ")).map(|(sum, name)| (name, sum)).collect()
}

/// Makes sure that the files in a folder are those of a known release. An unknown release is reported as such, and what
/// it shares with known ones is checked.
///
/// # Errors
/// A file is another one than is known, or none of the release's; it is named.
pub(super) fn check(
    (version, parts): (&Version, ReleaseParts),
    libs: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), TestbedError> {
    let what = format!("{} {}", parts.product(), version.text);
    let main = format!("{}-{}.jar", parts.main(), version.text);
    check_against(&read(KNOWN), (&what, &main), libs, progress)
}

fn check_against(
    known: &ChecksumsByFile<'_>,
    (what, main): (&str, &str),
    libs: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), TestbedError> {
    let is_known = known.contains_key(main);
    if !is_known {
        progress(&format!(
            "{what} is none of the releases whose files kdyno knows: only the checksums of Maven's repository were compared"
        ));
    }
    for path in files(libs)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = || File::open(&path).and_then(|mut file| sha256(&mut file));
        let found = read().map_err(|e| TestbedError::io("cannot read", &path, e))?;
        let wrong = match known.get(&*name) {
            Some(wanted) if **wanted == found => continue,
            Some(wanted) => format!("{name} has the SHA-256 {found}, not {wanted}"),
            None if is_known => format!("{name} (SHA-256 {found}) is none of its files"),
            None => continue,
        };
        return Err(TestbedError::hinted(
            format!("what Maven delivered is not {what} as it was published: {wrong}"),
            "look where the file comes from: the mirror of the Maven settings, or Maven's local repository, from where it is \
                   to be removed; nothing of it was kept",
        ));
    }
    Ok(())
}

/// What lies in the folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, TestbedError> {
    let listed = folder.read_dir().and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()
    });
    let mut files = listed.map_err(|e| TestbedError::io("cannot read folder", folder, e))?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::KROXYLICIOUS;
    use kdyno_model::version::TESTED;
    use std::cell::RefCell;

    #[test]
    fn all_releases_that_are_named_are_known_line_by_line() {
        let known = read(KNOWN);
        assert_eq!(known.len(), KNOWN.lines().count(), "each line has a sum and a name of its own");
        let is_sum = |sum: &&str| sum.len() == 64 && sum.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        assert!(known.values().all(is_sum));
        for release in TESTED {
            for part in ["kafka_2.13", "kafka-clients"] {
                assert!(known.contains_key(&*format!("{part}-{release}.jar")), "{part} {release}");
            }
        }
        let (major, minor, patch) = super::super::METRICS_AGENT;
        for part in [ReleaseParts::MetricsAgent, ReleaseParts::MetricsExporter] {
            assert!(known.contains_key(&*format!("{}-{major}.{minor}.{patch}.jar", part.main())));
        }
        let (major, minor) = super::super::PROFILER;
        assert!(known.contains_key(&*format!("{}-{major}.{minor}.jar", ReleaseParts::Profiler.main())));
        assert!(known.contains_key(&*format!("{}-{KROXYLICIOUS}.jar", ReleaseParts::Kroxylicious.main())));
    }

    #[test]
    fn another_file_is_refused_and_an_unknown_release_is_reported() {
        let temp = tempfile::tempdir().expect("temp");
        let write = |name: &str, text: &str| std::fs::write(temp.path().join(name), text).expect("written");
        let reported = RefCell::new(Vec::new());
        let check = |known: &ChecksumsByFile<'_>, main: &str| {
            let progress = |text: &str| reported.borrow_mut().push(text.to_owned());
            check_against(known, ("Kafka 1", main), temp.path(), &progress).map_err(|error| error.to_string())
        };
        write("main-1.jar", "main");
        write("shared-2.jar", "shared");
        let sum = |text: &str| sha256(&mut text.as_bytes()).expect("read");
        let (main, shared) = (sum("main"), sum("shared"));
        let mut known =
            ChecksumsByFile::from([("main-1.jar", main.as_str()), ("shared-2.jar", shared.as_str())]);
        check(&known, "main-1.jar").expect("as published");
        assert!(reported.borrow().is_empty());
        write("shared-2.jar", "changed");
        let wrong = check(&known, "main-1.jar").expect_err("another file");
        assert!(wrong.contains("not Kafka 1 as it was published: shared-2.jar has the SHA-256"), "{wrong}");
        let wrong = check(&known, "main-7.jar").expect_err("also of a release that is not known");
        assert!(wrong.contains("shared-2.jar"), "{wrong}");
        write("shared-2.jar", "shared");
        write("more-1.jar", "put beside them");
        let wrong = check(&known, "main-1.jar").expect_err("a file more");
        assert!(wrong.contains("more-1.jar (SHA-256") && wrong.ends_with("is none of its files"), "{wrong}");
        reported.borrow_mut().clear();
        known.remove("main-1.jar");
        check(&known, "main-1.jar").expect("Maven has looked");
        assert!(reported.borrow()[0].starts_with("Kafka 1 is none of the releases"), "{reported:?}");
    }
}
