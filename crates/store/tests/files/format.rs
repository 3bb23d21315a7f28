//! From the first release on, every format that was ever written is read for ever: one small fixture per version.
//!
//! A fixture is made once, when its version is first released, by
//! `KDYNO_WRITE_FIXTURE=1 cargo test -p kdyno-store --test files format::`, and never again: a test that fails here
//! means that people's run files can no longer be read. It holds one of every kind of event, caveat, unit and scope,
//! because their names are those of the model's enums: renaming one there is what this must notice.

use kdyno_store::{RunFile, RunWriter, StoreError, schema};
use std::path::{Path, PathBuf};

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{version}.kdyno"))
}

/// Looks at a copy: opening must be free to fold, and the fixture free of its traces.
fn with_copy<T>(version: u32, look: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    std::fs::copy(fixture(version), &path).unwrap();
    look(&path)
}

#[test]
fn the_fixture_of_this_version_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("run.kdyno");
    crate::common::write_run(&made).unwrap();
    let kept = fixture(schema::FORMAT_VERSION);
    if std::env::var_os("KDYNO_WRITE_FIXTURE").is_some() {
        std::fs::copy(&made, &kept).unwrap();
    }
    assert!(kept.exists(), "a new format version needs its fixture");
}

#[test]
fn this_format_is_read_whole() {
    with_copy(schema::FORMAT_VERSION, |path| {
        crate::common::assert_run(&RunFile::open(path).unwrap()).unwrap()
    });
}

#[test]
fn prerelease_formats_are_refused_with_a_commit_that_reads_them() {
    // The first page of files that kdyno wrote then.
    for (found, commit) in [(1, "0b7829f"), (2, "399ba82"), (3, "6c9430a"), (4, "146ac67")] {
        with_copy(found, |path| is_refused(path, found, commit));
    }
}

fn is_refused(path: &Path, found: u32, commit: &str) {
    let before = std::fs::read(path).unwrap();
    let wanted = StoreError::OldFormat { path: path.to_path_buf(), found };
    assert_eq!(RunFile::open(path).unwrap_err(), wanted);
    assert_eq!(RunWriter::resume(path, &crate::common::session(2)).unwrap_err(), wanted);
    let reported = format!("has format {found}; kdyno at commit {commit} reads and writes it");
    assert!(wanted.to_string().ends_with(&reported), "{wanted}");
    assert_eq!(std::fs::read(path).unwrap(), before, "it must not be touched");
}
