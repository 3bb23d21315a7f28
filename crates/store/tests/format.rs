//! Every format that was ever written is read for ever: one small fixture per version.
//!
//! A fixture is made once, when its version is first released, by
//! `KDYNO_WRITE_FIXTURE=1 cargo test -p kdyno-store --test format`, and never again: a test that fails here
//! means that people's run files can no longer be read.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod common;

use common::{TRIAL, header, sample, trial_start};
use kdyno_model::sample::ProbeReading;
use kdyno_store::{RunFile, RunWriter, schema};
use std::path::{Path, PathBuf};

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{version}.kdyno"))
}

#[test]
fn the_fixture_of_this_version_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&made, &header()).unwrap();
    common::write_run(&writer).unwrap();
    writer.finish(common::end()).unwrap();
    let kept = fixture(schema::FORMAT_VERSION);
    if std::env::var_os("KDYNO_WRITE_FIXTURE").is_some() {
        std::fs::copy(&made, &kept).unwrap();
    }
    assert!(kept.exists(), "a new format version needs its fixture");
}

#[test]
fn format_1_is_read() {
    // A copy: opening must be free to fold, and the fixture free of its traces.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    std::fs::copy(fixture(1), &path).unwrap();
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.header().unwrap(), header());
    assert_eq!(file.trials().unwrap(), [trial_start()]);
    assert_eq!(file.samples(TRIAL).unwrap(), [sample(0), sample(1), sample(2)]);
    let probes: Vec<ProbeReading> = (0..3).flat_map(common::readings).collect();
    assert_eq!(file.probes(TRIAL).unwrap(), probes);
    assert_eq!(file.events().unwrap()[0], (Some(TRIAL), common::event("it was killed")));
    assert_eq!(file.noise(TRIAL).unwrap(), [common::noise()]);
    assert_eq!(file.totals(TRIAL).unwrap(), [common::totals()]);
    assert_eq!(file.logs().unwrap().len(), 1);
    assert_eq!(file.findings().unwrap(), common::findings());
    assert_eq!(file.caveats().unwrap(), common::caveats());
    assert_eq!(file.end().unwrap(), Some(common::end()));
}
