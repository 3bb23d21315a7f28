//! One measured run per host at a time: two would each measure the other.

use crate::environment::Environment;
use crate::error::TestbedError;
use crate::process::ProcessId;
use crate::small_file;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The lock's file in [`Environment::lock_dir`], one for all users of the host.
const FILE_NAME: &str = "kdyno-host.lock";
/// The note about the holder is a line.
const NOTE_BYTES_MAX: u64 = 4096;

/// Held as long as it lives; the system frees it when its process ends, however that happens.
#[derive(Debug)]
pub struct HostLock {
    // Closing the file frees the lock.
    _file: Option<File>,
    /// Another measured run used the host already, and `share` let us run at the same time: one lowercase phrase that
    /// says which. The run gets a caveat of it.
    pub shared_with_other: Option<String>,
}

/// Who holds the lock.
#[derive(Debug, Serialize, Deserialize)]
struct LockHolder {
    process: ProcessId,
    since_unix_s: u64,
    what: String,
}

impl HostLock {
    /// The same, once no other run holds it: `wait` is called with who does, and says whether to try again.
    ///
    /// # Errors
    /// As [`HostLock::acquire`].
    pub fn acquire_patiently(
        environment: &Environment,
        what: &str,
        share: bool,
        mut wait: impl FnMut(&str) -> bool,
    ) -> Result<Self, TestbedError> {
        loop {
            match Self::acquire(environment, what, share) {
                Err(TestbedError::Busy { message, .. }) if wait(&message) => {}
                taken => return taken,
            }
        }
    }

    /// Takes the host for one measured run, `what` in a few words (the scenario). With `share` a held host is no
    /// error.
    ///
    /// # Errors
    /// Another run holds it; the message names its process and since when. Or the file cannot be made.
    pub fn acquire(environment: &Environment, what: &str, share: bool) -> Result<Self, TestbedError> {
        let path = environment.lock_dir.join(FILE_NAME);
        let mut file = open(&path).map_err(|e| TestbedError::io("cannot open the host's lock", &path, e))?;
        let failed = |e| TestbedError::io("cannot lock", &path, e);
        let alone = match file.try_lock() {
            Ok(()) => {
                // A file of another user can be locked but not written; the message then lacks the details.
                let _ = write_note(&mut file, what);
                true
            }
            Err(TryLockError::WouldBlock) if !share => return Err(busy(&mut file)),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        };
        if !share {
            return Ok(Self { _file: Some(file), shared_with_other: None });
        }
        // Others that share may run with us. It fails next to one that does not share, which may also have come in the
        // instant in which the one lock became the other.
        let shared = match file.try_lock_shared() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        };
        let other = holder(&mut file);
        Ok(Self { _file: shared.then_some(file), shared_with_other: (!alone || !shared).then_some(other) })
    }
}

/// Opens it for writing too where that is allowed: another user's can be locked all the same. One that is there is not created
/// over, which the kernel refuses in a shared folder.
fn open(path: &Path) -> std::io::Result<File> {
    match small_file::open(path, OFlags::RDWR) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => small_file::open(path, OFlags::RDONLY),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            match small_file::open(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
                // Made by somebody else since.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => small_file::open(path, OFlags::RDONLY),
                other => other,
            }
        }
        other => other,
    }
}

fn write_note(file: &mut File, what: &str) -> std::io::Result<()> {
    let since_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let note =
        LockHolder { process: ProcessId::current(), since_unix_s, what: what.chars().take(200).collect() };
    file.set_len(0)?;
    file.write_all(serde_json::to_string(&note)?.as_bytes())?;
    file.rewind()
}

fn busy(file: &mut File) -> TestbedError {
    TestbedError::Busy {
        message: format!("this host is taken by another measured run: {}", holder(file)),
        hint: "wait for it, e.g. --wait 30m, or accept that each disturbs the other: --share".to_string(),
    }
}

/// Who holds the lock, in a few words. If several share it the note names the first, which may have ended since.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // Without the note the message is less informative, no more.
    let _ = file.take(NOTE_BYTES_MAX).read_to_string(&mut text);
    match serde_json::from_str::<LockHolder>(&text) {
        Ok(note) if note.process.is_alive() => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            let minutes = now.saturating_sub(note.since_unix_s) / 60;
            format!("process {} ({}) has been measuring for {minutes} min", note.process.pid, note.what)
        }
        _ => "another process is measuring".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_run_is_refused_with_the_firsts_name() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let first = HostLock::acquire(&environment, "first-light", false).expect("free");
        let error = HostLock::acquire(&environment, "other", false).expect_err("held");
        let pid = std::process::id().to_string();
        assert!(error.to_string().contains(&pid) && error.to_string().contains("first-light"), "{error}");
        let shared = HostLock::acquire(&environment, "other", true).expect("shared");
        assert!(shared.shared_with_other.is_some_and(|other| other.contains("(first-light)")));
        drop(first);
        HostLock::acquire(&environment, "third", false).expect("free again");
    }

    #[test]
    fn a_run_that_waits_takes_the_host_once_it_is_free() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let mut first = Some(HostLock::acquire(&environment, "first-light", false).expect("free"));
        let refused = HostLock::acquire_patiently(&environment, "other", false, |_| false);
        assert!(matches!(refused, Err(TestbedError::Busy { .. })), "{refused:?}");
        let mut asked = Vec::new();
        let taken = HostLock::acquire_patiently(&environment, "other", false, |message| {
            asked.push(message.to_owned());
            drop(first.take());
            asked.len() < 9
        });
        assert!(taken.is_ok() && asked.len() == 1 && asked[0].contains("first-light"), "{asked:?}");
    }

    #[test]
    fn a_file_in_place_of_the_lock_blocks_no_one() {
        use crate::small_file::tests::{in_time, plant_fifo};
        let acquire = |folder: &Path| {
            let environment = Environment::in_folder(folder);
            in_time(move || HostLock::acquire(&environment, "a", false)).map_err(|error| error.to_string())
        };
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join(FILE_NAME);
        plant_fifo(&path);
        let reported = acquire(temp.path()).expect_err("nothing that can be locked");
        assert!(reported.contains(FILE_NAME) && reported.ends_with("it is no regular file"), "{reported}");
        std::fs::remove_file(&path).expect("removed");
        let victim = temp.path().join("victim");
        std::fs::write(&victim, "precious").expect("a file");
        std::fs::hard_link(&victim, &path).expect("a second name");
        assert!(acquire(temp.path()).is_err_and(|reported| reported.ends_with("it has several names")));
        assert_eq!(std::fs::read_to_string(&victim).expect("there"), "precious", "it is not written to");
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        assert!(acquire(temp.path()).is_err_and(|reported| reported.ends_with("it is a link")));
        std::fs::remove_file(&path).expect("removed");
        acquire(temp.path()).expect("free");
    }

    #[test]
    fn sharers_know_of_each_other_and_keep_an_unshared_run_out() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let a = HostLock::acquire(&environment, "a", true).expect("free");
        assert_eq!(a.shared_with_other, None, "nobody else was there");
        let b = HostLock::acquire(&environment, "b", true).expect("shared");
        assert!(b.shared_with_other.as_ref().is_some_and(|other| other.contains("(a)")), "{b:?}");
        assert!(HostLock::acquire(&environment, "c", false).is_err());
        drop(a);
        assert!(HostLock::acquire(&environment, "c", false).is_err(), "b is still there");
        drop(b);
        HostLock::acquire(&environment, "c", false).expect("free again");
    }
}
