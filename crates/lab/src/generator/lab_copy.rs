//! A run file of a lab in a pod on its way here.

use super::lab_host::{LabAnswer, LabAsk, STAYS};
use super::lab_pod::{LabPod, answer, is_set, unexpected};
use super::session::{self, Arrived, Frame, shown};
use crate::error::LabError;
use kdyno_store::StoreError;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How often it is looked whether a disk that was full has room again.
const ROOM_AGAIN: Duration = Duration::from_secs(2);

impl LabPod {
    /// Copies a run file of it to `into`; `false`: it has none of that name, but those that `there` gets. A `stop` that is set
    /// ends the copying; without one it goes on, for it may be the only evidence.
    ///
    /// # Errors
    /// It is not reached, or the copy cannot be written. Nothing stays of the copy.
    pub fn fetch(
        &self,
        name: &str,
        into: &Path,
        there: &mut Vec<String>,
        stop: Option<&AtomicBool>,
    ) -> Result<bool, LabError> {
        let mut copying = Copying { name, part: into.with_extension("part"), furthest: 0, stop };
        let copied = self.insist(STAYS, stop, |heard| self.copy(&mut copying, heard));
        let placed = copied.and_then(|copied| {
            let placed = copied.and_then(|answer| match answer {
                LabAnswer::File { .. } => std::fs::rename(&copying.part, into).map(|()| answer),
                answer => Ok(answer),
            });
            placed.map_err(|error| not_copied(into, &error))
        });
        let answer = placed.inspect_err(|_| {
            let _ = std::fs::remove_file(&copying.part);
        })?;
        match answer {
            LabAnswer::File { .. } => Ok(true),
            LabAnswer::NoFile { there: names } => {
                there.extend(names.iter().map(|name| shown(name)));
                Ok(false)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Copies a run file that nothing else keeps. Where the disk here is full it waits for room, as long as the pod stays, or
    /// until `stop` is set meanwhile; `say` gets that once.
    ///
    /// # Errors
    /// As those of [`Self::fetch`].
    pub fn fetch_only(
        &self,
        name: &str,
        into: &Path,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<bool, LabError> {
        // A run that was stopped is copied too.
        let (until, stopped_before) = (Instant::now() + STAYS, is_set(Some(stop)));
        let may_wait = || Instant::now() < until && is_set(Some(stop)) == stopped_before;
        let mut is_said = false;
        loop {
            match self.fetch(name, into, &mut Vec::new(), None) {
                Err(error @ LabError::Store(StoreError::DiskFull { .. })) if may_wait() => {
                    if !std::mem::replace(&mut is_said, true) {
                        let minutes = STAYS.as_secs() / 60;
                        say(format!(
                            "warning: {error}; its pod keeps it for {minutes} min, and it is copied once there is room"
                        ));
                    }
                }
                copied => return copied,
            }
            std::thread::sleep(ROOM_AGAIN);
        }
    }

    /// The outer error is of the connection, the inner one of the file.
    fn copy(&self, copying: &mut Copying<'_>, heard: &mut Instant) -> Result<io::Result<LabAnswer>, String> {
        let failed = |error: io::Error| error.to_string();
        let mut reader = self.ask(&LabAsk::File { name: copying.name.to_owned() }).map_err(failed)?;
        let answer = answer(&mut reader).map_err(failed)?;
        let LabAnswer::File { bytes } = answer else { return Ok(Ok(answer)) };
        let mut file = match with_room(&copying.part, bytes) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let mut left = bytes;
        while left > 0 {
            if is_set(copying.stop) {
                return Err("the copying was stopped".to_owned());
            }
            let arrived = session::read::<LabAnswer>(&mut reader).map_err(failed)?;
            let Some(Arrived::Numbered(_, Frame::Bytes(_, piece))) = arrived else {
                return Err("the connection ended within the run file".to_owned());
            };
            left = left.checked_sub(piece.expose().len() as u64).ok_or("it sent more than the run file")?;
            // One that breaks at the same place each time is not tried without end.
            if bytes - left > copying.furthest {
                (copying.furthest, *heard) = (bytes - left, Instant::now());
            }
            if let Err(error) = file.write_all(piece.expose()) {
                return Ok(Err(error));
            }
        }
        Ok(file.sync_all().map(|()| answer))
    }
}

/// A run file on its way here.
struct Copying<'a> {
    name: &'a str,
    /// Where it is until all of it has come.
    part: PathBuf,
    /// Most bytes that came at once.
    furthest: u64,
    stop: Option<&'a AtomicBool>,
}

/// A file that gets so many bytes, with room for them where the file system can tell: one that cannot be kept is not carried here.
fn with_room(path: &Path, bytes: u64) -> io::Result<File> {
    let file = File::create(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Err(full @ (Errno::NOSPC | Errno::DQUOT)) => Err(full.into()),
        // Without it a write says so.
        _ => Ok(file),
    }
}

fn not_copied(into: &Path, error: &io::Error) -> LabError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::DiskFull { path: into.to_path_buf() }.into()
        }
        _ => LabError::not_made(into, error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab_pod::tests::{listening, reached_by};
    use super::*;
    use crate::plans;
    use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd};
    use kdyno_store::{RunFile, RunWriter};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_copy_that_is_stopped_on_its_way_leaves_nothing() {
        let (dir, stop) = (tempfile::tempdir().expect("temp dir"), Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&stop);
        let pod = reached_by(move || {
            let (ours, mut theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
            let file = session::note(&LabAnswer::File { bytes: 10 }).map_err(|error| error.to_string())?;
            theirs.write_all(file.expose()).map_err(|error| error.to_string())?;
            asked.store(true, Ordering::Relaxed);
            std::thread::spawn(move || io::copy(&mut theirs, &mut io::sink()));
            Ok(ours)
        });
        let fetched = pod.fetch("a.kdyno", &dir.path().join("a.kdyno"), &mut Vec::new(), Some(&stop));
        assert!(matches!(fetched, Err(LabError::Interrupted)));
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn only_run_files_of_its_folder_are_sent() {
        let lab = listening("true");
        let (runs, copy) = (lab.dir.path().join("runs"), lab.dir.path().join("copy.kdyno"));
        std::fs::write(runs.join("broken.kdyno"), "no run").expect("written");
        std::fs::write(lab.dir.path().join("secret.kdyno"), "hunter2").expect("written");
        for name in ["../secret.kdyno", "none.kdyno", "size", ".."] {
            let mut there = Vec::new();
            assert!(matches!(lab.pod.fetch(name, &copy, &mut there, None), Ok(false)), "{name}");
            assert_eq!(there, ["broken.kdyno"]);
        }
        let error = lab.pod.fetch("broken.kdyno", &copy, &mut Vec::new(), None).expect_err("no run file");
        assert!(error.to_string().starts_with("the lab in the pod "), "{error}");
        assert!(!copy.exists());
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }

    /// A run that goes on.
    fn writer(path: &Path) -> RunWriter {
        let header = RunHeader {
            run_id: 0xab,
            scenario_text: "kdyno: 1".to_owned(),
            scenario_path: "small.yaml".to_owned(),
            plan: plans::plan(Vec::new()),
        };
        let session = Session {
            number: 1,
            started_unix_ns: 1,
            kdyno_version: "0.1.0".to_owned(),
            git_head: None,
            command_line: Vec::new(),
            boot_id: String::new(),
            processors: 1,
            host_facts: Default::default(),
        };
        RunWriter::create(path, &header, &session).expect("a run file")
    }

    #[test]
    fn a_run_file_is_sent_when_whole_and_kept_when_there_is_room() {
        let lab = listening("true");
        let (runs, copy) = (lab.dir.path().join("runs"), lab.dir.path().join("copy.kdyno"));
        let writer = writer(&runs.join("small.kdyno"));
        let error = lab.pod.fetch("small.kdyno", &copy, &mut Vec::new(), None).expect_err("it goes on");
        let words = "the lab in the pod does not send small.kdyno, which is still written: fetch it when its run has ended";
        assert_eq!(error.to_string(), words);
        assert!(!copy.exists());
        let end = SessionEnd { status: RunStatus::Completed, detail: String::new(), ended_unix_ns: 2 };
        writer.finish(end.clone()).expect("written");
        // A disk that is full, once: what was begun there is removed.
        let full = || std::os::unix::fs::symlink("/dev/full", lab.dir.path().join("copy.part"));
        full().expect("a link");
        let error = lab.pod.fetch("small.kdyno", &copy, &mut Vec::new(), None).expect_err("it is full");
        let words = format!("the disk is full: could not write to the run file {}", copy.display());
        assert_eq!(error.to_string(), words);
        full().expect("it was removed");
        let mut said = Vec::new();
        let stop = AtomicBool::new(false);
        let copied = lab.pod.fetch_only("small.kdyno", &copy, &stop, &mut |what| said.push(what));
        assert!(matches!(copied, Ok(true)), "{copied:?}");
        assert_eq!(
            (said.len(), said[0].starts_with(&format!("warning: {words}; its pod keeps it"))),
            (1, true)
        );
        // Ctrl-C ends the waiting for room.
        let full = || std::os::unix::fs::symlink("/dev/full", lab.dir.path().join("again.part"));
        full().expect("a link");
        let mut stopping = |_| {
            full().expect("it was removed");
            stop.store(true, Ordering::Relaxed);
        };
        let again = copy.with_file_name("again.kdyno");
        let copied = lab.pod.fetch_only("small.kdyno", &again, &stop, &mut stopping);
        assert!(matches!(copied, Err(LabError::Store(StoreError::DiskFull { .. }))), "{copied:?}");
        let sessions = RunFile::open(&copy).and_then(|file| file.sessions()).expect("a run file");
        assert_eq!(sessions.into_iter().map(|(_, end)| end).collect::<Vec<_>>(), [Some(end)]);
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }
}
