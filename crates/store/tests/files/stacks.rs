//! Sampled stacks come back as they were.

use crate::common::{LATER_TRIAL, TRIAL};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialStacks;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;

fn stacks(broker: u32, text: &str) -> TrialStacks {
    let (subject, kind) = (Subject::Broker(broker), FlameKind::Alloc);
    TrialStacks { trial: TRIAL, subject, kind, stacks: Stacks::read(text).unwrap() }
}

fn write(path: &Path) {
    let writer = RunWriter::create(path, &crate::common::header(), &crate::common::session(1)).unwrap();
    crate::common::write_session(&writer).unwrap();
    writer.stacks(stacks(0, "a;b 1\n")).unwrap();
    writer.stacks(stacks(0, "a;b 7\na;c 5\n")).unwrap();
    writer.stacks(stacks(1, "")).unwrap();
    writer.flight_recording(TRIAL, &Subject::Jvm(0, 2), vec![0xff; 100_000]).unwrap();
    writer.finish(crate::common::end()).unwrap();
}

fn sql(path: &Path, text: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
}

#[test]
fn each_process_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path);
    let file = RunFile::open(&path).unwrap();
    let jvm = Subject::Jvm(0, 2);
    let sampled = file.sampled().unwrap();
    let (broker, kind) = (Subject::Broker, FlameKind::Alloc);
    let expected = [(TRIAL, broker(0), kind), (TRIAL, broker(1), kind), (TRIAL, jvm.clone(), FlameKind::Jfr)];
    assert_eq!(sampled, expected);
    assert_eq!(file.stacks(TRIAL, &broker(0)).unwrap(), Some(stacks(0, "a;b 7\na;c 5\n")), "the later ones");
    assert_eq!(file.stacks(TRIAL, &broker(1)).unwrap(), Some(stacks(1, "")));
    assert_eq!(file.stacks(TRIAL, &broker(2)).unwrap(), None);
    assert_eq!(file.stacks(LATER_TRIAL, &broker(0)).unwrap(), None);
    assert_eq!(file.stacks(TRIAL, &jvm).unwrap(), None, "no graph is drawn of it");
    assert_eq!(file.flight_recording(TRIAL, &jvm).unwrap(), Some(vec![0xff; 100_000]));
    assert_eq!(file.flight_recording(TRIAL, &broker(0)).unwrap(), None);
    crate::common::assert_session(&file).unwrap();
}

#[test]
fn what_is_damaged_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path);
    // A plain form of four bytes that is no stack.
    sql(&path, "UPDATE stacks SET packed = x'000000000478787878' WHERE subject = 'broker-0'");
    let error = RunFile::open(&path).unwrap().stacks(TRIAL, &Subject::Broker(0)).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("no stack with its count"), "{error}");
    sql(&path, "UPDATE stacks SET packed = x'01ffffffff00', kind = 'heat'");
    let file = RunFile::open(&path).unwrap();
    assert!(file.sampled().is_err() && file.stacks(TRIAL, &Subject::Broker(1)).is_err());
}

#[test]
fn those_of_a_trial_that_runs_again_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path);
    let writer = RunWriter::resume(&path, &crate::common::session(2)).unwrap();
    writer.stacks(stacks(0, "a 1\n")).unwrap();
    writer.forget(TRIAL).unwrap();
    writer.stacks(stacks(1, "a 1\n")).unwrap();
    writer.finish(crate::common::end()).unwrap();
    let sampled = RunFile::open(&path).unwrap().sampled().unwrap();
    assert_eq!(sampled, [(TRIAL, Subject::Broker(1), FlameKind::Alloc)]);
}
