//! The agent of a session and its relays, as threads of one process.

use super::super::Place;
use super::super::agent_place::AgentPlace;
use super::super::lab_session::LabSession;
use super::super::session::{AgentHost, Arrived, FromAgent, ToAgent};
use super::*;
use crate::inbox::Inbox;
use kdyno_testbed::process::ProcessId;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread::JoinHandle;

const GENEROUS: Duration = Duration::from_secs(60);
const ID: SessionId = [7; 16];
const TOKEN: &[u8] = b"token";

/// Its workers are another program.
fn options(temp_dir: &Path) -> AgentOptions {
    AgentOptions {
        self_exe: "/bin/false".into(),
        temp_dir: temp_dir.to_owned(),
        stop: Arc::default(),
        waits_for_first: None,
    }
}

/// The lab's end of the first connection.
fn held(options: &AgentOptions) -> (UnixStream, JoinHandle<io::Result<()>>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let options = options.clone();
    (ours, std::thread::spawn(move || serve_one(theirs, &options)))
}

/// The lab's end of another connection, which ends as the relay does.
fn relayed(options: &AgentOptions) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let file = || File::from(OwnedFd::from(theirs.try_clone().expect("shared")));
    let (input, output, options) = (file(), file(), options.clone());
    std::thread::spawn(move || {
        let _ = serve_by_relay(input, output, &options);
        let _ = theirs.shutdown(Shutdown::Both);
    });
    ours
}

/// What is answered to a greeting.
fn greeted(mut stream: &UnixStream, wish: Wish, token: &[u8]) -> Option<FromAgent> {
    stream.set_read_timeout(Some(GENEROUS)).expect("a deadline");
    stream.write_all(session::greeting(wish, token).expose()).expect("sent");
    match session::read::<FromAgent>(&mut stream).expect("an answer, or none") {
        Some(Arrived::Note(answer)) => Some(answer),
        Some(_) => panic!("no answer of an agent"),
        None => None,
    }
}

#[test]
fn a_session_goes_on_over_another_relay_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("temp dir");
    // Longer than the address of a socket may be.
    let (sessions, logs) = (dir.path().join("s".repeat(120)), dir.path().join("lab"));
    for folder in [&sessions, &logs] {
        std::fs::create_dir(folder).expect("a folder");
    }
    let old = sessions.join("kdyno-agent-0");
    std::fs::create_dir(&old).expect("a folder");
    leftovers::claim(&old);
    let owner = old.read_dir().expect("a folder").next().expect("its owner").expect("an entry").path();
    let killed = ProcessId { start_ticks: u64::MAX, ..ProcessId::current() };
    std::fs::write(owner, serde_json::to_vec(&killed).expect("text")).expect("written");
    let options = options(&sessions);
    let (stream, thread) = held(&options);
    let cut = stream.try_clone().expect("shared");
    let again = Box::new(move || -> Result<UnixStream, String> { Ok(relayed(&options)) });
    let session = LabSession::open("there", stream, TOKEN, &AgentHost::here(), again).expect("a session");
    cut.shutdown(Shutdown::Both).expect("cut");
    let inbox = Inbox::default();
    // It is started over the next connection, which also brings its end.
    let mut started = AgentPlace::of(&session, &logs).start(3, &inbox.sender()).expect("as if nothing was");
    assert_eq!(started.process.end(GENEROUS).status, "exit status: 1 on generator there");
    drop(session);
    thread.join().expect("no panic").expect("an orderly end");
    assert_eq!(sessions.read_dir().expect("a folder").count(), 0);
}

#[test]
fn without_token_or_folder_a_session_is_not_resumed() {
    let dir = tempfile::tempdir().expect("temp dir");
    let options = options(dir.path());
    let (first, thread) = held(&options);
    assert!(matches!(greeted(&first, Wish::Begin(ID), TOKEN), Some(FromAgent::Welcome(_))));
    let resume = |id, token| greeted(&relayed(&options), Wish::Resume(id, 0), token);
    let is_unknown = |answer| matches!(answer, Some(FromAgent::Refused { why }) if why == NO_SESSION);
    for token in [&b"hunter2"[..], b"", b"token2"] {
        assert!(resume(ID, token).is_none(), "{token:?}");
    }
    assert!(is_unknown(resume([8; 16], TOKEN)));
    let folder = folder_of(dir.path(), &ID);
    assert_eq!(folder.metadata().expect("there").permissions().mode() & 0o777, 0o700);
    let allow = |mode| {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).expect("changed");
    };
    // As if others had made it: they would get the token.
    allow(0o755);
    assert!(is_unknown(resume(ID, TOKEN)));
    allow(0o700);
    if rustix::process::geteuid().is_root() {
        let give = |user| std::os::unix::fs::chown(&folder, Some(user), None).expect("given away");
        give(65534);
        assert!(is_unknown(resume(ID, TOKEN)));
        give(0);
    }
    // The lab that is there was not cut off.
    assert!(matches!(session::read::<FromAgent>(&mut &first), Ok(Some(Arrived::Received(0)))));
    let again = relayed(&options);
    let answer = greeted(&again, Wish::Resume(ID, 0), TOKEN);
    assert!(matches!(answer, Some(FromAgent::Resumed { received: 0 })));
    (&again).write_all(session::note(&ToAgent::End).expect("a note").expose()).expect("sent");
    thread.join().expect("no panic").expect("an orderly end");
    assert!(!folder.exists());
}
