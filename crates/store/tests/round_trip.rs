//! What is written comes back, and a finished run is one file.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod common;

use common::{TRIAL, header, sample, trial_start};
use kdyno_model::finding::Value;
use kdyno_model::plan::TrialRef;
use kdyno_model::sample::ProbeReading;
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Everything that [`common::write_run`] writes.
fn assert_whole(file: &RunFile) {
    assert_eq!(file.header().unwrap(), header());
    assert_eq!(file.trials().unwrap(), [trial_start()]);
    assert_eq!(file.samples(TRIAL).unwrap(), [sample(0), sample(1), sample(2)]);
    let probes: Vec<ProbeReading> = (0..3).flat_map(common::readings).collect();
    assert_eq!(file.probes(TRIAL).unwrap(), probes);
    let events = file.events().unwrap();
    assert_eq!(events[0], (Some(TRIAL), common::event("it was killed")));
    assert_eq!((events[1].0, events[1].1.at_ns), (None, None));
    assert_eq!(file.noise(TRIAL).unwrap(), [common::noise()]);
    assert_eq!(file.totals(TRIAL).unwrap(), [common::totals()]);
    assert_eq!(file.logs().unwrap(), [("broker-0".to_owned(), "java.lang.OutOfMemoryError".to_owned())]);
    assert_eq!(file.findings().unwrap(), common::findings());
    assert_eq!(file.caveats().unwrap(), common::caveats());
}

#[test]
fn a_finished_run_comes_back_from_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run #1?%.kdyno");
    let writer = RunWriter::create(&path, &header()).unwrap();
    common::write_run(&writer).unwrap();
    writer.finish(common::end()).unwrap();
    assert_eq!(names(folder.path()), ["run #1?%.kdyno"]);
    let before = std::fs::read(&path).unwrap();
    let file = RunFile::open(&path).unwrap();
    assert_whole(&file);
    assert_eq!(file.end().unwrap(), Some(common::end()));
    assert!(!file.is_live());
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), before, "reading must not change a finished run");
}

#[test]
fn a_sample_that_arrives_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header()).unwrap();
    writer.trial_started(&trial_start()).unwrap();
    for sequence in [0, 1, 0, 1, 2] {
        writer.sample(TRIAL, sample(sequence)).unwrap();
    }
    let other = TrialRef { case: 0, repeat: 1 };
    writer.sample(other, sample(0)).unwrap();
    writer.finish(common::end()).unwrap();
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.samples(TRIAL).unwrap(), [sample(0), sample(1), sample(2)]);
    assert_eq!(file.samples(other).unwrap(), [sample(0)]);
}

#[test]
fn later_findings_of_a_trial_replace_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header()).unwrap();
    writer.findings(&common::findings(), &common::caveats()).unwrap();
    let mut corrected = common::findings();
    corrected.truncate(1);
    corrected[0].value = Value::Is(f64::NAN);
    writer.findings(&corrected, &[]).unwrap();
    writer.finish(common::end()).unwrap();
    let file = RunFile::open(&path).unwrap();
    corrected[0].value = Value::None;
    assert_eq!(file.findings().unwrap(), corrected);
    assert_eq!(file.caveats().unwrap(), []);
}

#[test]
fn an_existing_file_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    std::fs::write(&path, "mine").unwrap();
    let error = RunWriter::create(&path, &header()).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = RunWriter::create(&folder.path().join("none/run.kdyno"), &header()).unwrap_err();
    assert!(error.to_string().contains("none/run.kdyno"), "{error}");
    assert!(matches!(error, StoreError::Write { .. }));
}

#[test]
fn a_writer_that_is_dropped_leaves_a_whole_file_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header()).unwrap();
    common::write_run(&writer).unwrap();
    drop(writer);
    assert_eq!(names(folder.path()), ["run.kdyno"]);
    let file = RunFile::open(&path).unwrap();
    assert_whole(&file);
    assert_eq!(file.end().unwrap(), None);
}

#[test]
fn a_run_is_live_from_its_head_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.kdyno");
    let writer = RunWriter::create(&path, &header()).unwrap();
    for _ in 0..2 {
        assert!(kdyno_store::list(folder.path()).unwrap().runs[0].live, "nothing but the head is there yet");
    }
    drop(writer);
    assert!(!kdyno_store::list(folder.path()).unwrap().runs[0].live);
}

#[test]
fn a_folder_lists_its_runs_by_age_and_names_what_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, started_unix_ns) in [("b", 1), ("a", 2)] {
        let path = folder.path().join(format!("{name}.kdyno"));
        let head = kdyno_store::RunHeader { started_unix_ns, ..header() };
        let writer = RunWriter::create(&path, &head).unwrap();
        writer.trial_started(&trial_start()).unwrap();
        if name == "a" {
            writer.finish(common::end()).unwrap();
        }
    }
    std::fs::write(folder.path().join("c.kdyno"), "nothing").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "nothing").unwrap();
    let found = kdyno_store::list(folder.path()).unwrap();
    let stems: Vec<_> = found.runs.iter().map(|run| run.path.file_stem().unwrap().to_owned()).collect();
    assert_eq!(stems, ["b", "a"]);
    assert_eq!(found.runs[0].end, None);
    assert_eq!(found.runs[1].end, Some(common::end()));
    assert_eq!((found.runs[1].trials_planned, found.runs[1].trials_started), (1, 1));
    assert_eq!((found.runs[1].scenario.as_str(), found.runs[1].profile.as_str()), ("fixture", "laptop"));
    assert_eq!(found.runs[1].run_id, header().run_id);
    assert_eq!(found.unreadable.len(), 1);
    assert!(matches!(found.unreadable[0].1, StoreError::NotARunFile { .. }));
    assert!(kdyno_store::list(&folder.path().join("none")).unwrap().runs.is_empty());
}
