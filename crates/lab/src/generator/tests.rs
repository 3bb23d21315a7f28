//! Both sides of a session in one process, over a socket pair.

use super::Place;
use super::agent::{AgentOptions, NO_SESSION, Resumption, greet, refuse, serve, welcome};
use super::agent_place::AgentPlace;
use super::hosts::TrialPlaces;
use super::lab_session::{EXCHANGES, LabSession};
use super::outgoing::{Outgoing, locked};
use super::resuming::Redial;
use super::session::{self, AgentHost, Arrived, BEAT, FromAgent, ToAgent, Watched, Wish};
use crate::clock::monotonic_ns;
use crate::inbox::Inbox;
use crate::worker::Worker;
use kdyno_model::secret::Secret;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An agent whose workers are another program, which takes this token; the lab's end of its stream.
fn agent(
    exe: &str,
    folder: &Path,
    token: Option<&str>,
    silence: Duration,
) -> (UnixStream, JoinHandle<io::Result<()>>) {
    agent_until(Arc::default(), exe, folder, token, silence)
}

/// One that is stopped by a flag.
fn agent_until(
    stop: Arc<AtomicBool>,
    exe: &str,
    folder: &Path,
    token: Option<&str>,
    silence: Duration,
) -> (UnixStream, JoinHandle<io::Result<()>>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let token = token.map(|text| Secret::new(text.as_bytes().to_vec()));
    let (never, again) = channel();
    let options =
        AgentOptions { self_exe: exe.into(), temp_dir: folder.to_owned(), stop, waits_for_first: None };
    let thread = std::thread::spawn(move || {
        let mut reader = Watched::new(theirs.try_clone()?, None).with_silence(silence);
        let served = greet(&mut reader, &mut &theirs, token.as_ref()).and_then(|_| {
            let outgoing = Outgoing::start()?;
            welcome(&outgoing, theirs.try_clone()?)?;
            serve(reader, &outgoing, &again, &options)
        });
        let _ = theirs.shutdown(Shutdown::Both);
        drop(never);
        served
    });
    (ours, thread)
}

/// How an agent is reached again that is not.
fn never() -> Box<dyn Redial> {
    Box::new(|| -> Result<UnixStream, String> { Err("it is gone".to_owned()) })
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
    let session =
        LabSession::open("there", stream, b"token", &AgentHost::here(), never()).expect("a session");
    assert_eq!((session.clock.offset_ns, session.clock.bound_ns), (0, 0), "the same clock");
    assert!(session.host.is_host_of(&AgentHost::here()) && session.host.processors > 0);
    let inbox = Inbox::default();
    let error = Worker::spawn(&AgentPlace::of(&session, &logs), 3, inbox.sender()).expect_err("no hello");
    assert!(error.to_string().contains("worker 3 ended (exit status: 1 on generator there)"), "{error}");
    let inbox = Inbox::default();
    let again =
        Worker::spawn(&AgentPlace::of(&session, &logs), 3, inbox.sender()).expect_err("a number twice");
    assert!(again.to_string().contains("not started: a session has at most 16 workers"), "{again}");
    let broker = AgentPlace::of(&session, &logs).null_broker(3, Vec::new());
    assert_eq!(broker, Err("the null broker did not say where it listens".to_owned()));
    drop(session);
    thread.join().expect("no panic").expect("an orderly end");
    assert_eq!(left_in(&sessions), 0);
}

#[test]
fn an_agent_of_another_clock_is_bound_by_what_was_exchanged() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, _) = agent("/bin/false", dir.path(), None, GENEROUS);
    let other = AgentHost { boot_id: "another boot".to_owned(), ..AgentHost::here() };
    let session = LabSession::open("there", stream, &[], &other, never()).expect("a session");
    // It is this clock, which the session does not know: the truth is 0.
    let clock = session.clock;
    assert!(clock.bound_ns > 0 && clock.offset_ns.unsigned_abs() <= clock.bound_ns, "{clock:?}");
    let t0_ns = monotonic_ns();
    let read = session.ask_clock().and_then(|asked_ns| session.clock_read(asked_ns)).expect("an answer");
    session.was_in_time(&read, t0_ns + 60_000_000_000).expect("long before");
    assert!(session.was_in_time(&read, t0_ns).expect_err("too late").contains("too late"));
}

/// An agent that reads its clock at once until a session is open, and then takes so long.
fn slow_agent(delay: Duration) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    std::thread::spawn(move || -> io::Result<()> {
        let say = |message: &FromAgent| (&theirs).write_all(session::note(message)?.expose());
        session::read_greeting(&mut &theirs)?;
        say(&FromAgent::Welcome(AgentHost::here()))?;
        let mut asked = 0;
        while let Some(arrived) = session::read(&mut &theirs)? {
            let asked_ns = match arrived {
                Arrived::Note(ToAgent::Clock { asked_ns }) => asked_ns,
                Arrived::Note(ToAgent::End) => break,
                _ => continue,
            };
            asked += 1;
            if asked > EXCHANGES {
                std::thread::sleep(delay);
            }
            let now_ns = monotonic_ns();
            say(&FromAgent::Clock { asked_ns, read_ns: now_ns, answered_ns: now_ns })?;
        }
        Ok(())
    });
    ours
}

#[test]
fn t0_is_as_far_ahead_as_the_slowest_of_many_hosts_needs() {
    const DELAY: Duration = Duration::from_millis(300);
    const HOSTS: u32 = 12;
    let open = |_| {
        LabSession::open("there", slow_agent(DELAY), &[], &AgentHost::here(), never()).expect("a session")
    };
    let places = TrialPlaces::carried_by((0..HOSTS).map(open));
    let begin = Instant::now();
    let ahead_ns = places.t0_ahead_ns().expect("answers");
    assert!(ahead_ns >= 1_000_000_000, "ten round trips: {ahead_ns}");
    places.check_in_time(monotonic_ns() + ahead_ns).expect("all learned of it");
    assert!(begin.elapsed() < DELAY * HOSTS, "one after another: {:?}", begin.elapsed());
}

#[test]
fn a_wrong_token_is_not_answered_and_a_wrong_version_is_named() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, thread) = agent("/bin/false", dir.path(), Some("token"), GENEROUS);
    let error =
        LabSession::open("there", stream, b"hunter2", &AgentHost::here(), never()).err().expect("refused");
    assert_eq!(error, "it ended the connection without an answer");
    let error = thread.join().expect("no panic").expect_err("refused").to_string();
    assert!(error.contains("token is not that of this agent") && !error.contains("hunter2"), "{error}");
    let (mut stream, thread) = agent("/bin/false", dir.path(), Some("token"), GENEROUS);
    let mut greeting = session::greeting(session::Wish::Begin([7; 16]), b"token").expose().to_vec();
    greeting[5..9].copy_from_slice(&99_u32.to_be_bytes());
    stream.write_all(&greeting).expect("sent");
    let Ok(Some(Arrived::Note(FromAgent::Refused { why }))) = session::read::<FromAgent>(&mut stream) else {
        panic!("a refusal")
    };
    assert_eq!(why, "speaks version 3 of sessions, not 99");
    assert!(thread.join().expect("no panic").is_err());
    assert_eq!(left_in(dir.path()), 0, "no session began");
}

#[test]
fn an_agent_that_is_stopped_says_so() {
    let dir = tempfile::tempdir().expect("temp dir");
    let stop = Arc::new(AtomicBool::new(false));
    let (stream, thread) = agent_until(Arc::clone(&stop), "/bin/false", dir.path(), None, GENEROUS);
    let session = LabSession::open("there", stream, &[], &AgentHost::here(), never()).expect("a session");
    stop.store(true, Ordering::Relaxed);
    thread.join().expect("no panic").expect("an orderly end");
    let error = session.ask_clock().and_then(|asked_ns| session.clock_read(asked_ns)).expect_err("over");
    assert_eq!(error, "its agent was stopped");
}

#[test]
fn a_lab_that_is_silent_takes_its_workers_with_it() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (mut stream, thread) = agent("/bin/false", dir.path(), None, Duration::from_millis(50));
    stream.write_all(session::greeting(Wish::Begin([7; 16]), &[]).expose()).expect("sent");
    let error = thread.join().expect("no panic").expect_err("it was silent");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert_eq!(left_in(dir.path()), 0);
}

/// Connections to an agent that goes on with its session where `knows_it` says so: the first one, and how others are made.
fn resumable_agent(
    folder: &Path,
    knows_it: bool,
) -> (UnixStream, Box<dyn Redial>, JoinHandle<io::Result<()>>) {
    let (again, resumptions) = channel();
    let outgoing = Outgoing::start().expect("a thread");
    let options = AgentOptions {
        self_exe: "/bin/false".into(),
        temp_dir: folder.to_owned(),
        stop: Arc::default(),
        waits_for_first: None,
    };
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let serving = Arc::clone(&outgoing);
    let thread = std::thread::spawn(move || {
        let mut reader = Watched::new(theirs.try_clone()?, None).with_silence(GENEROUS);
        greet(&mut reader, &mut &theirs, None)?;
        welcome(&serving, theirs)?;
        let served = serve(reader, &serving, &resumptions, &options);
        serving.break_any();
        served
    });
    let dial = move || -> Result<UnixStream, String> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let (outgoing, again): (_, Sender<Resumption>) = (Arc::clone(&outgoing), again.clone());
        std::thread::spawn(move || -> io::Result<()> {
            let wish = greet(&mut Watched::new(theirs.try_clone()?, None), &mut &theirs, None)?.wish;
            let Wish::Resume(_, received) = wish else { panic!("a session has begun") };
            if !knows_it {
                return refuse(&mut &theirs, NO_SESSION);
            }
            outgoing.break_any();
            again
                .send(Resumption { stream: theirs, received })
                .map_err(|_| io::ErrorKind::NotConnected.into())
        });
        Ok(ours)
    };
    (ours, Box::new(dial), thread)
}

#[test]
fn a_session_goes_on_over_another_connection() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (sessions, logs) = (dir.path().join("agent"), dir.path().join("lab"));
    for folder in [&sessions, &logs] {
        std::fs::create_dir(folder).expect("a folder");
    }
    let (stream, again, thread) = resumable_agent(&sessions, true);
    let cut = stream.try_clone().expect("shared");
    let session = LabSession::open("there", stream, &[], &AgentHost::here(), again).expect("a session");
    let inbox = Inbox::default();
    cut.shutdown(Shutdown::Both).expect("cut");
    // It is started over the next connection, which also brings its end.
    let mut started = AgentPlace::of(&session, &logs).start(3, &inbox.sender()).expect("as if nothing was");
    let end = started.process.end(GENEROUS);
    assert_eq!(end.status, "exit status: 1 on generator there");
    let mut again = AgentPlace::of(&session, &logs).start(4, &inbox.sender()).expect("it goes on");
    assert_eq!(again.process.end(GENEROUS).status, "exit status: 1 on generator there");
    drop(session);
    thread.join().expect("no panic").expect("an orderly end");
    assert_eq!(left_in(&sessions), 0);
}

#[test]
fn a_connection_that_comes_late_ends_no_session() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, again, thread) = resumable_agent(dir.path(), true);
    let again = Arc::new(Mutex::new(again));
    let of_lab = Arc::clone(&again);
    let by_lab = Box::new(move || -> Result<UnixStream, String> { locked(&of_lab).dial() });
    let session = LabSession::open("there", stream, &[], &AgentHost::here(), by_lab).expect("a session");
    let inbox = Inbox::default();
    let mut started = AgentPlace::of(&session, dir.path()).start(3, &inbox.sender()).expect("started");
    assert_eq!(started.process.end(GENEROUS).status, "exit status: 1 on generator there");
    // By then the agent knows that this has come, and keeps it no longer.
    std::thread::sleep(2 * BEAT);
    let mut late = locked(&again).dial().expect("a connection");
    late.set_read_timeout(Some(GENEROUS)).expect("a deadline");
    late.write_all(session::greeting(Wish::Resume([7; 16], 0), &[]).expose()).expect("sent");
    // Until the agent has closed it.
    let _ = late.read_to_end(&mut Vec::new());
    let mut started = AgentPlace::of(&session, dir.path()).start(4, &inbox.sender()).expect("it goes on");
    assert_eq!(started.process.end(GENEROUS).status, "exit status: 1 on generator there");
    drop(session);
    thread.join().expect("no panic").expect("an orderly end");
}

#[test]
fn a_session_that_is_closed_while_it_is_resumed_ends_there_too() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, again, thread) = resumable_agent(dir.path(), true);
    let ((dials, dialled), (closed, is_closed)) = (channel(), channel::<()>());
    let held: Box<dyn Redial> = Box::new(move || {
        let _ = dials.send(());
        // Until its other end is dropped.
        let _ = is_closed.recv();
        again.dial()
    });
    let cut = stream.try_clone().expect("shared");
    let session = LabSession::open("there", stream, &[], &AgentHost::here(), held).expect("a session");
    cut.shutdown(Shutdown::Both).expect("cut");
    dialled.recv_timeout(GENEROUS).expect("it makes another connection");
    drop(session);
    drop(closed);
    thread.join().expect("no panic").expect("an orderly end");
    assert_eq!(left_in(dir.path()), 0);
}

#[test]
fn an_agent_that_has_no_such_session_ends_that_of_the_lab() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (stream, again, _) = resumable_agent(dir.path(), false);
    let cut = stream.try_clone().expect("shared");
    let session = LabSession::open("there", stream, &[], &AgentHost::here(), again).expect("a session");
    let inbox = Inbox::default();
    let mut started = AgentPlace::of(&session, dir.path()).start(3, &inbox.sender()).expect("started");
    cut.shutdown(Shutdown::Both).expect("cut");
    // Its end may have come before.
    let status = started.process.end(GENEROUS).status;
    let error = session.ask_clock().and_then(|asked_ns| session.clock_read(asked_ns)).expect_err("over");
    assert!(error.contains("has no such session"), "{error}; {status}");
}

/// How a host is reached of which it is known that it is gone.
struct Gone;

impl Redial for Gone {
    fn dial(&self) -> Result<UnixStream, String> {
        Err("connection refused".to_owned())
    }

    fn gone(&self) -> Option<String> {
        Some("on node n2 it was deleted".to_owned())
    }
}

#[test]
fn a_host_that_is_gone_for_good_is_tried_once_and_says_why() {
    let dir = tempfile::tempdir().expect("temp dir");
    // The agent waits for another connection as long as one can be made.
    let (stream, _kept, _) = resumable_agent(dir.path(), true);
    let cut = stream.try_clone().expect("shared");
    let session =
        LabSession::open("there", stream, &[], &AgentHost::here(), Box::new(Gone)).expect("a session");
    cut.shutdown(Shutdown::Both).expect("cut");
    let error = session.ask_clock().and_then(|asked_ns| session.clock_read(asked_ns)).expect_err("over");
    assert_eq!(error, "on node n2 it was deleted");
}
