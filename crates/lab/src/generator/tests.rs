//! Both sides of a session in one process, over a socket pair.

use super::agent::{AgentOptions, greet, serve};
use super::lab_session::LabSession;
use super::session::{self, AgentHost, Frame, FromAgent, SessionWriter, Watched};
use crate::inbox::Inbox;
use crate::worker::Worker;
use kdyno_model::secret::Secret;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// An agent whose workers are another program, which takes this token; the lab's end of its stream.
fn agent(
    exe: &str,
    folder: &Path,
    token: Option<&str>,
    silence: Duration,
) -> (UnixStream, JoinHandle<io::Result<()>>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let token = token.map(|text| Secret::new(text.as_bytes().to_vec()));
    let options = AgentOptions {
        self_exe: exe.into(),
        temp_dir: folder.to_owned(),
        stop: Arc::default(),
        waits_for_first: None,
    };
    let thread = std::thread::spawn(move || {
        let mut reader = Watched::new(theirs.try_clone()?, None).with_silence(silence);
        let writer = Arc::new(SessionWriter::new(theirs.try_clone()?));
        let served = greet(&mut reader, &writer, token.as_ref(), || Ok(()))
            .and_then(|()| serve(&mut reader, &writer, &options));
        let _ = theirs.shutdown(std::net::Shutdown::Both);
        served
    });
    (ours, thread)
}

const GENEROUS: Duration = Duration::from_secs(60);

/// What an agent left in the folder of its sessions.
fn left_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count()
}

#[test]
fn the_end_of_a_worker_there_is_reported_as_that_of_one_here() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (sessions, logs) = (dir.path().join("agent"), dir.path().join("lab"));
    for folder in [&sessions, &logs] {
        std::fs::create_dir(folder).expect("a folder");
    }
    let (stream, thread) = agent("/bin/false", &sessions, Some("token"), GENEROUS);
    let session = LabSession::open("there", stream, b"token", &AgentHost::here()).expect("a session");
    assert_eq!((session.clock.offset_ns, session.clock.bound_ns), (0, 0), "the same clock");
    assert!(session.host.is_host_of(&AgentHost::here()) && session.host.processors > 0);
    let inbox = Inbox::default();
    let error = Worker::spawn(&session.place(&logs), 3, inbox.sender()).expect_err("no hello");
    assert!(error.to_string().contains("worker 3 ended (exit status: 1 on generator there)"), "{error}");
    let inbox = Inbox::default();
    let again = Worker::spawn(&session.place(&logs), 3, inbox.sender()).expect_err("a number twice");
    assert!(again.to_string().contains("not started: a session has at most 16 workers"), "{again}");
    drop(session);
    thread.join().expect("no panic").expect("an orderly end");
    assert_eq!(left_in(&sessions), 0);
}

#[test]
fn an_agent_of_another_clock_is_bound_by_what_was_exchanged() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, _) = agent("/bin/false", dir.path(), None, GENEROUS);
    let other = AgentHost { boot_id: "another boot".to_owned(), ..AgentHost::here() };
    let session = LabSession::open("there", stream, &[], &other).expect("a session");
    // It is this clock, and nobody knows that: the truth is 0.
    let clock = session.clock;
    assert!(clock.bound_ns > 0 && clock.offset_ns.unsigned_abs() <= clock.bound_ns, "{clock:?}");
    let t0_ns = crate::clock::monotonic_ns();
    session.check_in_time(t0_ns + 60_000_000_000).expect("long before");
    assert!(session.check_in_time(t0_ns).expect_err("too late").contains("too late"));
}

#[test]
fn a_wrong_token_is_not_answered_and_a_wrong_version_is_named() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, thread) = agent("/bin/false", dir.path(), Some("token"), GENEROUS);
    let error = LabSession::open("there", stream, b"hunter2", &AgentHost::here()).err().expect("refused");
    assert_eq!(error, "it ended the connection without an answer");
    let error = thread.join().expect("no panic").expect_err("refused").to_string();
    assert!(error.contains("token is not that of this agent") && !error.contains("hunter2"), "{error}");
    let (mut stream, thread) = agent("/bin/false", dir.path(), Some("token"), GENEROUS);
    stream.write_all(&[0, 0, 0, 9, 0, 0, 0, 0, 99]).expect("sent");
    stream.write_all(b"token").expect("sent");
    let Ok(Some(Frame::Message(FromAgent::Refused { why }))) = session::read::<FromAgent>(&mut stream) else {
        panic!("a refusal")
    };
    assert_eq!(why, "speaks version 1 of sessions, not 99");
    assert!(thread.join().expect("no panic").is_err());
    assert_eq!(left_in(dir.path()), 0, "no session began");
}

#[test]
fn a_lab_that_is_silent_takes_its_workers_with_it() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, thread) = agent("/bin/false", dir.path(), None, Duration::from_millis(50));
    SessionWriter::new(stream.try_clone().expect("shared")).greeting(&[]).expect("sent");
    let error = thread.join().expect("no panic").expect_err("it was silent");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert_eq!(left_in(dir.path()), 0);
}
