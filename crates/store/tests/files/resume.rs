//! A run that was interrupted goes on in its file, in a session of its own.

use crate::common::child::{Killed, child, folder_of_child, wait_for};
use crate::common::{STREAMS, TRIAL, header, sample, session};
use kdyno_model::finding::Scope;
use kdyno_model::run::{Session, SessionEnd, TrialStart};
use kdyno_model::trial::TrialId;
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;

/// The part of a child: writes the session after the last one and one trial in it, without ever ending.
#[test]
fn child_writes_a_session() {
    let Some(folder) = folder_of_child() else { return };
    let path = folder.join("run.kdyno");
    let number = RunFile::open(&path).map_or(0, |file| file.sessions().unwrap().len()) as u32 + 1;
    let writer = if number == 1 {
        RunWriter::create(&path, &header(), &session(1)).unwrap()
    } else {
        RunWriter::resume(&path, &session(number)).unwrap()
    };
    writer.trial_started(&trial_of(number)).unwrap();
    for sequence in 0.. {
        writer.sample(TrialId(number), sample(sequence)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// The trial that [`child_writes_a_session`] writes in a session.
fn trial_of(session: u32) -> TrialStart {
    let mut start = crate::common::trial_start();
    start.session = session;
    start.trial.id = TrialId(session);
    start
}

fn sessions(path: &Path) -> Vec<(Session, Option<SessionEnd>)> {
    RunFile::open(path).unwrap().sessions().unwrap()
}

#[test]
fn every_session_is_kept_when_each_is_killed_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let mut reader = None;
    for number in 1..=2 {
        let mut killed = Killed(child("resume::child_writes_a_session", folder.path()).spawn().unwrap());
        wait_for("the child's commits", || {
            let found = RunFile::open(&path).ok()?.evidence(TrialId(number)).ok()?;
            (found.samples.len() > 20).then_some(())
        });
        let error = RunWriter::resume(&path, &session(number + 1)).unwrap_err();
        assert_eq!(error, StoreError::InUse { path: path.clone() }, "it is being written");
        reader = (number == 2).then(|| RunFile::open(&path).unwrap());
        killed.0.kill().unwrap();
        killed.0.wait().unwrap();
    }
    // The file is in use for as long as something reads it; that is no reason to give up at once.
    let lets_go = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(reader);
    });
    let writer = RunWriter::resume(&path, &session(3)).unwrap();
    lets_go.join().unwrap();
    writer.trial_started(&trial_of(3)).unwrap();
    writer.finish(crate::common::end()).unwrap();

    let cut_off = |number| (session(number), None);
    assert_eq!(sessions(&path), [cut_off(1), cut_off(2), (session(3), Some(crate::common::end()))]);
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.header().unwrap(), header());
    assert_eq!(file.trials().unwrap(), [1, 2, 3].map(trial_of));
    for number in 1..=2 {
        let found = file.evidence(TrialId(number)).unwrap();
        assert_eq!(found.session, session(number));
        assert!(found.samples.len() > 20);
        assert!(found.samples.iter().zip(0..).all(|(row, sequence)| *row == sample(sequence)), "a gap");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["run.kdyno"], "the WAL is folded and the reserve given back");
}

#[test]
fn a_resumed_run_keeps_everything_but_its_joint_conclusions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    crate::common::write_run(&path).unwrap();
    RunWriter::resume(&path, &session(3)).unwrap().finish(crate::common::interrupted()).unwrap();
    let file = RunFile::open(&path).unwrap();
    crate::common::assert_evidence(&file).unwrap();
    let of_trials = crate::common::judgement_where(|scope| matches!(scope, Scope::Trial(_)));
    assert!(of_trials.findings.len() > 2 && of_trials.conclusions.len() == 2, "the fixture has some");
    assert_eq!(file.judgement().unwrap(), of_trials, "a verdict of fewer trials is not the run's");
    let ends: Vec<_> = file.sessions().unwrap().into_iter().map(|(_, end)| end).collect();
    assert_eq!(
        ends,
        [crate::common::interrupted(), crate::common::end(), crate::common::interrupted()].map(Some)
    );
    let found = file.evidence(TRIAL).unwrap();
    assert_eq!(found.samples.iter().filter(|row| row.id == STREAMS[1]).count(), 4);
}

#[test]
fn a_session_that_does_not_follow_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    crate::common::write_run(&path).unwrap();
    let before = sessions(&path);
    for number in [0, 2, 4, u32::MAX] {
        let error = RunWriter::resume(&path, &Session { number, ..session(1) }).unwrap_err();
        assert_eq!(error, StoreError::SessionNumber { path: path.clone(), last: 2, number });
        assert_eq!(sessions(&path), before);
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["run.kdyno"], "neither a WAL nor a reserve");
}

#[test]
fn of_many_that_resume_at_once_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    crate::common::write_run(&path).unwrap();
    let start = std::sync::Barrier::new(4);
    let tried: Vec<_> = std::thread::scope(|scope| {
        let resume = || {
            start.wait();
            RunWriter::resume(&path, &session(3))
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(resume)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (mut writers, errors): (Vec<_>, Vec<_>) = tried.into_iter().partition(Result::is_ok);
    assert_eq!((writers.len(), errors.len()), (1, 3), "{errors:?}");
    writers.pop().unwrap().unwrap().finish(crate::common::end()).unwrap();
    assert_eq!(sessions(&path).len(), 3);
}

#[test]
fn a_repeated_trial_replaces_its_rows_and_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    crate::common::write_session(&writer).unwrap();
    let mut other = crate::common::trial_start();
    other.trial.id = TrialId(TRIAL.0 + 1);
    writer.trial_started(&other).unwrap();
    writer.sample(other.trial.id, sample(0)).unwrap();
    writer.forget(TRIAL).unwrap();
    let kept = writer.evidence(other.trial.id).unwrap();
    assert_eq!(kept.samples.len(), 1);
    assert!(matches!(writer.evidence(TRIAL), Err(StoreError::NoTrial { .. })));
    drop(writer);
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.trials().unwrap().len(), 1);
    assert!(file.events().unwrap().iter().all(|(trial, _)| *trial != Some(TRIAL)));
    let judgement = file.judgement().unwrap();
    let of_trial = Scope::Trial(TRIAL);
    assert!(judgement.findings.iter().all(|finding| finding.scope != of_trial));
    assert!(judgement.caveats.iter().all(|caveat| caveat.scope != of_trial));
    assert!(judgement.conclusions.iter().all(|conclusion| conclusion.scope() != of_trial));
    let whole = crate::common::judgement();
    let others = whole.findings.iter().filter(|finding| finding.scope != of_trial).count();
    assert_eq!(judgement.findings.len(), others, "what is said of other scopes stays");
}
