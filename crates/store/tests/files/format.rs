//! From the first release on, every format that was ever written is read for ever: one small fixture per version.
//!
//! A fixture is made once, when its version is first released, by
//! `KDYNO_WRITE_FIXTURE=1 cargo test -p kdyno-store --test files format::`, and never again: a test that fails here
//! means that people's run files can no longer be read. It holds one of every kind of event, caveat, unit and scope,
//! because their names are those of the model's enums: renaming one there is what this must notice.

use kdyno_store::{RunFile, RunWriter, StoreError, schema};
use std::fmt::Display;
use std::path::{Path, PathBuf};

fn fixture(version: impl Display) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{version}.kdyno"))
}

/// Looks at a copy: opening must be free to fold, and the fixture free of its traces.
fn with_copy<T>(version: impl Display, look: impl FnOnce(&Path) -> T) -> T {
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
fn formats_3_and_4_are_read_whole() {
    for format in [3, 4] {
        with_copy(format, |path| crate::common::assert_run(&RunFile::open(path).unwrap()).unwrap());
    }
}

/// A file of the same format, from before producers had records of their own, idempotence and transactions: they are
/// read as what producers did then, and what was not counted is 0.
#[test]
fn earlier_files_of_format_3_are_read() {
    with_copy("3-earlier", |path| {
        let file = RunFile::open(path).unwrap();
        let header = file.header().unwrap();
        let start = &file.trials().unwrap()[0];
        for case in header.plan.every_case().chain([&start.trial.effective]) {
            let produce = case.load["writers"].role.as_produce().unwrap();
            assert!(produce.records.is_plain() && !produce.synchronous && produce.transactions.is_none());
            assert!(!produce.client.enable_idempotence && !produce.client.ignore_keys);
        }
        assert_eq!(file.evidence(crate::common::LATER_TRIAL).unwrap().samples, [crate::common::sample(0)]);
        let evidence = file.evidence(crate::common::TRIAL).unwrap();
        assert_eq!(evidence.samples, crate::common::evidence().samples);
        assert_eq!(evidence.totals, crate::common::evidence().totals);
        let counts = &evidence.totals[0].counts;
        assert_eq!((counts.committed, counts.markers, counts.record_bytes, counts.sent_bytes), (0, 0, 0, 0));
    });
}

/// From when `lag` was a time and `lag_records` what is `lag` now: they are read, and not written to.
#[test]
fn metrics_of_format_3_have_their_present_names() {
    let rename = |path: &Path| {
        let text = "UPDATE finding SET metric = 'lag', unit = 'ns' WHERE rowid = (SELECT min(rowid) FROM finding);
            UPDATE run SET plan_json = replace(plan_json, '\"metric\":\"acked_per_s\"', '\"metric\":\"lag_records\"');";
        rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
        let file = RunFile::open(path).unwrap();
        (
            file.judgement().unwrap().findings[0].of.metric.clone(),
            file.header().unwrap().plan.show.columns[0].metric.clone(),
        )
    };
    with_copy(3, |path| {
        assert_eq!(rename(path), ("lag_time".to_owned(), "lag".to_owned()));
        let wanted = StoreError::OldFormat { path: path.to_path_buf(), found: 3 };
        assert_eq!(RunWriter::resume(path, &crate::common::session(2)).unwrap_err(), wanted);
    });
    with_copy(schema::FORMAT_VERSION, |path| {
        assert_eq!(
            rename(path),
            ("lag".to_owned(), "lag_records".to_owned()),
            "a file of now has its own names"
        );
    });
}

#[test]
fn prerelease_formats_are_refused_with_a_commit_that_reads_them() {
    // The first page of files that kdyno wrote then.
    for (found, commit) in [(1, "0b7829f"), (2, "399ba82")] {
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
