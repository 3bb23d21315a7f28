//! Loads an agent into a running JVM, as `jcmd` and `jattach` do: a file asks HotSpot to listen on a socket of its own, to
//! which the command is written. No Java is started for it: that would take a core for half a second within the window that
//! is measured.
//!
//! The protocol is HotSpot's `attachListener_posix.cpp`: `1`, the command and three arguments, each ended by a zero; the
//! answer is a number in a line and what the agent says.

use crate::process::of_pid;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a JVM may take to listen, and to answer.
const TIME_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(10);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// The signal by which it learns that somebody asks, as a bit of the masks in `/proc`.
const QUIT_BIT: u64 = 1 << (3 - 1);

/// Has the JVM load the library, or call it again where it is loaded, with these options.
///
/// # Errors
/// In words: it is no JVM, or one of another user, it does not listen, or the library refused.
pub(super) fn load(pid: u32, library: &Path, options: &str) -> Result<(), String> {
    let mut socket = connect(pid)?;
    let said = talk(&mut socket, library, options)
        .map_err(|error| format!("process {pid} did not answer: {error}"))?;
    judge(&said)
}

/// A socket to the JVM, which is asked to listen where it does not yet.
fn connect(pid: u32) -> Result<UnixStream, String> {
    let process = of_pid(pid).ok_or_else(|| format!("process {pid} has ended"))?;
    let status = process.status().map_err(|error| format!("process {pid} is not seen: {error}"))?;
    // What does not catch the signal is ended by it.
    if status.sigcgt & QUIT_BIT == 0 {
        return Err(format!("process {pid} is no JVM that can be attached to"));
    }
    // As the process sees itself: its number in a container, and its own /tmp.
    let inner = status.nspid.as_ref().and_then(|all| all.last()).copied().unwrap_or(status.pid);
    let path = PathBuf::from(format!("/proc/{pid}/root/tmp/.java_pid{inner}"));
    if !is_socket(&path) {
        ask(pid, inner, &path)?;
    }
    let socket = UnixStream::connect(&path);
    let socket = socket.and_then(|socket| {
        socket.set_read_timeout(Some(TIME_MAX))?;
        socket.set_write_timeout(Some(TIME_MAX))?;
        Ok(socket)
    });
    socket.map_err(|error| format!("process {pid} cannot be attached to: {error}"))
}

fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_socket())
}

fn ask(pid: u32, inner: i32, socket: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("process {pid} cannot be asked to listen: {error}");
    let question = PathBuf::from(format!("/proc/{pid}/cwd/.attach_pid{inner}"));
    File::create(&question).map_err(failed)?;
    let asked = i32::try_from(pid).ok().and_then(Pid::from_raw).map_or_else(
        || Err(io::Error::other("it has no number")),
        |pid| kill_process(pid, Signal::QUIT).map_err(io::Error::from),
    );
    let end = Instant::now() + TIME_MAX;
    while asked.is_ok() && !is_socket(socket) && Instant::now() < end {
        sleep(POLL);
    }
    // The JVM does not remove it; one that is left changes nothing.
    let _ = std::fs::remove_file(&question);
    asked.map_err(failed)?;
    if is_socket(socket) {
        return Ok(());
    }
    Err(format!("process {pid} did not listen for {} s", TIME_MAX.as_secs()))
}

fn talk(socket: &mut (impl Read + Write), library: &Path, options: &str) -> io::Result<String> {
    let library = library.to_string_lossy();
    // `true`: the path is whole.
    for part in ["1", "load", library.as_ref(), "true", options] {
        socket.write_all(part.as_bytes())?;
        socket.write_all(&[0])?;
    }
    let mut said = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// The first line is 0 where the JVM could load the library; then comes what the library says, and what it returned.
fn judge(said: &str) -> Result<(), String> {
    let (first, rest) = said.split_once('\n').unwrap_or((said, ""));
    let mut reported = Vec::new();
    let mut returned = None;
    for line in rest.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("return code:") {
            Some(code) => returned = Some(code.trim()),
            None => reported.push(line),
        }
    }
    let reported = reported.join("; ");
    match (first.trim(), returned) {
        ("0", None | Some("0")) => Ok(()),
        _ if !reported.is_empty() => Err(reported),
        (code, returned) => Err(format!("it returned {}", returned.unwrap_or(code))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(judge("0\nreturn code: 0\n\n"), Ok(()));
        assert_eq!(judge("0\n"), Ok(()));
        assert_eq!(judge("0\nreturn code: 200\n"), Err("it returned 200".to_owned()));
        assert_eq!(judge("100\nNo such file: x.so\n"), Err("No such file: x.so".to_owned()));
        assert_eq!(judge("101"), Err("it returned 101".to_owned()));
        assert_eq!(judge(""), Err("it returned ".to_owned()));
    }

    #[test]
    fn what_is_no_jvm_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let reported = load(child.id(), Path::new("/no/such.so"), "status").expect_err("no JVM");
        assert!(reported.ends_with("is no JVM that can be attached to"), "{reported}");
        assert!(child.try_wait().expect("looked at").is_none(), "it goes on");
        child.kill().expect("kill");
        child.wait().expect("wait");
        let reported = load(child.id(), Path::new("/no/such.so"), "status").expect_err("gone");
        assert!(reported.ends_with("has ended"), "{reported}");
    }
}
