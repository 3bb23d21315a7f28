//! A killed writer, a reader next to a living one, a disk that runs full.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]
#![allow(clippy::print_stdout, reason = "a test that cannot run here says so")]

mod common;

use common::child::{CHILD, DEADLINE, Killed, child, folder_of_child, wait_for};
use common::{STREAMS, TRIAL, header, sample, session};
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The part of a child: writes without ever ending.
#[test]
fn child_writes_for_ever() {
    let Some(folder) = folder_of_child() else { return };
    let writer = RunWriter::create(&folder.join("run.kdyno"), &header(), &session(1)).unwrap();
    common::write_session(&writer).unwrap();
    for sequence in 5.. {
        writer.sample(TRIAL, sample(sequence)).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_run_is_readable_while_it_is_written_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let mut killed = Killed(child("child_writes_for_ever", folder.path()).spawn().unwrap());
    // Opening it again and again is also what folds a file that no process holds: the writer must not mind.
    let seen_live = wait_for("the child's commits", || {
        let file = RunFile::open(&path).ok()?;
        let count = file.evidence(TRIAL).ok()?.samples.len();
        (count > 300).then(|| (count, file.is_live(), file.sessions().unwrap()))
    });
    assert!(seen_live.1, "somebody else has it open");
    assert_eq!(seen_live.2, [(session(1), None)]);
    assert!(kdyno_store::list(folder.path()).unwrap().runs[0].live);
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();

    let file = RunFile::open(&path).unwrap();
    assert!(!file.is_live());
    assert_eq!(file.header().unwrap(), header());
    let samples = file.evidence(TRIAL).unwrap().samples;
    assert!(samples.len() >= seen_live.0, "{} after {}", samples.len(), seen_live.0);
    let first_worker = samples.iter().filter(|row| row.id == STREAMS[0]);
    // The fourth row, of five seconds, is summed up by the one of the phase.
    let sequences = (0..).filter(|sequence| *sequence != 3);
    assert!(first_worker.zip(sequences).all(|(found, sequence)| found.sequence == sequence), "a gap");
    assert_eq!(file.sessions().unwrap(), [(session(1), None)]);
    drop(file);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["run.kdyno"], "the WAL is folded and the reserve given back");
}

#[test]
fn a_left_over_wal_is_read_even_where_it_cannot_be_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    common::write_session(&writer).unwrap();
    let copy = tempfile::tempdir().unwrap();
    // A copy of the three files of a living run is what a kill leaves behind.
    wait_for("the first commit", || {
        std::fs::metadata(folder.path().join("run.kdyno-wal")).ok().filter(|wal| wal.len() > 0)
    });
    std::thread::sleep(Duration::from_millis(50));
    for suffix in ["", "-wal"] {
        let name = format!("run.kdyno{suffix}");
        std::fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    writer.finish(common::end()).unwrap();
    let copied = RunFile::open(&copy.path().join("run.kdyno")).unwrap();
    common::assert_session(&copied).unwrap();
    assert_eq!(copied.sessions().unwrap(), [(session(1), None)]);
}

#[test]
fn a_failed_write_is_returned_by_later_calls_and_the_end_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    writer.trial_started(&common::trial_start()).unwrap();
    writer.sample(TRIAL, sample(0)).unwrap();
    // A foreign hand in the file makes the next sample fail, as a broken disk would.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.busy_timeout(DEADLINE).unwrap();
    let count = || other.query_row("SELECT count(*) FROM sample", [], |row| row.get::<_, i64>(0)).unwrap();
    wait_for("the first sample's commit", || (count() == 1).then_some(()));
    other
        .execute_batch(
            "CREATE TRIGGER broken BEFORE INSERT ON sample BEGIN SELECT RAISE(FAIL, 'broken'); END",
        )
        .unwrap();
    drop(other);
    let error = wait_for("the failure", || writer.sample(TRIAL, sample(1)).err());
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
    assert!(error.to_string().contains("broken") && error.to_string().contains("run.kdyno"), "{error}");
    assert_eq!(writer.log("a", "b").unwrap_err(), error);
    assert_eq!(writer.evidence(TRIAL).unwrap_err(), error);
    assert_eq!(writer.failure(), Some(error.clone()));
    assert_eq!(writer.finish(common::end()).unwrap_err(), error);
    rusqlite::Connection::open(&path).unwrap().execute_batch("DROP TRIGGER broken").unwrap();
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.evidence(TRIAL).unwrap().samples, [sample(0)]);
    assert_eq!(file.sessions().unwrap(), [(session(1), Some(common::end()))]);
}

/// A row with bytes that do not deflate.
fn noisy(sequence: u64, random: &mut u64) -> kdyno_model::sample::Sample {
    let mut row = sample(sequence);
    let noise = (0..2000).map(|_| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 56) as u8
    });
    row.histograms.insert(kdyno_model::sample::Timing::Response, noise.collect());
    row
}

/// Somebody takes what is left of a disk, so that only the reserve remains.
fn take_the_rest(folder: &Path) {
    let mut rest = std::fs::File::create(folder.join("rest")).unwrap();
    while std::io::Write::write_all(&mut rest, &[1; 4096]).is_ok() {}
}

/// The part of a child, on a disk of its own of 20 MiB: writes until it is full, then ends.
#[test]
fn child_fills_the_disk() {
    let Some(folder) = folder_of_child() else { return };
    let path = folder.join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    writer.trial_started(&common::trial_start()).unwrap();
    let mut random = 1u64;
    let error = (0..).find_map(|sequence| writer.sample(TRIAL, noisy(sequence, &mut random)).err()).unwrap();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    take_the_rest(&folder);
    // Another run has nowhere to begin, and nothing that could be kept.
    let other = folder.join("other.kdyno");
    let refused = RunWriter::create(&other, &header(), &session(1)).unwrap_err();
    assert!(matches!(refused, StoreError::DiskFull { .. }) && !other.exists(), "{refused}");
    assert!(refused.hint().is_some_and(|hint| !hint.contains("kept")), "{refused}");
    assert_eq!(writer.finish(common::end()).unwrap_err(), error);
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.sessions().unwrap(), [(session(1), Some(common::end()))]);
    let samples = file.evidence(TRIAL).unwrap().samples;
    assert!(samples.len() > 1000, "only {} rows were kept", samples.len());
    assert!(samples.iter().zip(0..).all(|(found, sequence)| found.sequence == sequence), "a gap");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the WAL is folded and the reserve given back: {left:?}");
    std::fs::write(folder.join("../passed"), "").unwrap();
}

/// Runs a child's part with a small disk of its own at `disk`, in a mount namespace, so that the disk
/// vanishes with the child. `then` is shell text between the mount and the child. Where the kernel refuses
/// a namespace, this says so and proves nothing.
fn on_a_small_disk(part: &str, disk: &Path, then: &str) {
    std::fs::create_dir_all(disk).unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size=20m tmpfs "$1" || exit 77
        {then}
        exec "$2" --exact {part} --nocapture"#
    );
    let run = |options: &[&str]| {
        Command::new("unshare")
            .args(options)
            .args(["sh", "-c", &script, "sh"])
            .arg(disk)
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, disk)
            .output()
    };
    let refused = |output: &std::io::Result<std::process::Output>| {
        output.as_ref().map_or(true, |output| !output.status.success() && output.stdout.is_empty())
    };
    let mut output = run(&["-m"]);
    if refused(&output) {
        output = run(&["-rm"]);
    }
    if refused(&output) {
        println!("skipped: this host does not allow a mount namespace");
        return;
    }
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(disk.with_file_name("passed").exists(), "{said}");
}

#[test]
fn on_a_full_disk_the_rows_and_the_end_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    on_a_small_disk("child_fills_the_disk", &folder.path().join("disk"), "");
}

/// The part of a child, on a disk of its own of 20 MiB: makes one file of what a writer left that was killed when the disk was full.
#[test]
fn child_makes_a_file_whole_on_a_full_disk() {
    let Some(folder) = folder_of_child() else { return };
    let at = |name: &str, suffix: &str| folder.join(format!("{name}.kdyno{suffix}"));
    let writer = RunWriter::create(&at("run", ""), &header(), &session(1)).unwrap();
    writer.trial_started(&common::trial_start()).unwrap();
    let mut random = 1u64;
    for sequence in 0..200 {
        writer.sample(TRIAL, noisy(sequence, &mut random)).unwrap();
    }
    let rows = writer.evidence(TRIAL).unwrap().samples;
    let refused = RunFile::make_whole(&at("run", "")).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    // A copy of the files of a living run is what a kill leaves behind.
    for suffix in ["", "-wal", "-shm", "-reserve"] {
        std::fs::copy(at("run", suffix), at("killed", suffix)).unwrap();
    }
    writer.finish(common::end()).unwrap();
    take_the_rest(&folder);
    RunFile::make_whole(&at("killed", "")).unwrap();
    let mut left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["killed.kdyno", "rest", "run.kdyno"]);
    assert_eq!(RunFile::open(&at("killed", "")).unwrap().evidence(TRIAL).unwrap().samples, rows);
    std::fs::write(folder.join("../passed"), "").unwrap();
}

#[test]
fn what_a_writer_left_that_was_killed_on_a_full_disk_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    on_a_small_disk("child_makes_a_file_whole_on_a_full_disk", &folder.path().join("disk"), "");
}

/// The part of a child, on a disk that cannot be written: reads what a killed writer left.
#[test]
fn child_reads_from_a_read_only_disk() {
    let Some(folder) = folder_of_child() else { return };
    assert!(std::fs::write(folder.join("test"), "").is_err(), "the disk can be written");
    let with_wal = RunFile::open(&folder.join("run.kdyno")).unwrap();
    common::assert_session(&with_wal).unwrap();
    let without = RunFile::open(&folder.join("alone.kdyno")).unwrap();
    assert_eq!(without.header().unwrap(), header());
    std::fs::write(folder.join("../passed"), "").unwrap();
}

#[test]
fn what_a_killed_writer_left_is_read_from_a_read_only_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    // Before any row there is no WAL yet, and the file says that it may have one.
    std::fs::copy(&path, folder.path().join("alone.kdyno")).unwrap();
    common::write_session(&writer).unwrap();
    wait_for("the commit", || {
        RunFile::open(&path).ok().filter(|file| !file.judgement().unwrap().caveats.is_empty())
    });
    on_a_small_disk(
        "child_reads_from_a_read_only_disk",
        &folder.path().join("disk"),
        r#"cp "$1"/../run.kdyno* "$1"/../alone.kdyno "$1" && mount -o remount,ro "$1""#,
    );
    writer.finish(common::end()).unwrap();
}
