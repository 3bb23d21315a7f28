//! An agent that ssh starts, and that outlives the connection by which it was started.
//!
//! What ssh starts is a relay ([`serve_stdio`]): it has the connection for its standard input and output, and passes bytes on
//! between it and the agent of the session ([`serve_held`]), a process of its own that nothing of ssh's holds. The first
//! relay starts the agent; that of each other connection finds it by a socket, in a folder that this user alone may enter and
//! that the session's id names. Which of both is wanted says the greeting, so ssh starts the same command each time.
//!
//! The token of the session comes with its first greeting, over ssh's stream. A connection that has another one is no more
//! answered than by TLS.

use super::agent::{AgentOptions, GREETING_DEADLINE, NO_SESSION, greet, refuse};
use super::session::{self, PIECE_BYTES, SILENCE, SessionId, Watched, Wish};
use super::sessions::{Sessions, Slots};
use crate::error::LabError;
use kdyno_model::secret::Secret;
use kdyno_testbed::{folder, leftovers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long the last words of an agent may take to a lab that may be gone.
const LAST_WORDS_DEADLINE: Duration = Duration::from_secs(5);

/// Most connections that have not shown the token yet.
const UNKNOWN_MAX: usize = 4;

/// How soon the end of the session is seen.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Passes on what comes over a stream whose ends know each other, as those of ssh do, and what the agent of its session says,
/// until one of both is gone.
///
/// # Errors
/// It is not spoken to as a lab does, or there is no such agent.
pub fn serve_stdio(input: File, output: File, options: &AgentOptions) -> Result<(), LabError> {
    // What it carries holds the secrets of runs.
    kdyno_credentials::close_memory();
    serve_by_relay(input, output, options).map_err(|error| LabError::Agent { why: error.to_string() })
}

fn serve_by_relay(input: File, output: File, options: &AgentOptions) -> io::Result<()> {
    let mut reader = Watched::new(&input, Some(Instant::now() + GREETING_DEADLINE));
    let greeting = greet(&mut reader, &mut &output, None)?;
    let agent = match greeting.wish {
        Wish::Begin(_) => RelayedAgent::start(&options.self_exe)
            .or_else(|error| refuse(&mut &output, &format!("could not be started: {error}")))?,
        Wish::Resume(id, _) => {
            RelayedAgent::find(&options.temp_dir, &id).or_else(|_| refuse(&mut &output, NO_SESSION))?
        }
    };
    (&agent.stream).write_all(session::greeting(greeting.wish, greeting.token.expose()).expose())?;
    agent.relay(input, output)
}

/// The agent of a session, as its relay has it.
struct RelayedAgent {
    stream: UnixStream,
    /// Its process, where it was started for this connection.
    process: Option<Child>,
}

impl RelayedAgent {
    /// Starts an agent that has none of our streams: who waits for the end of these does not wait for it.
    fn start(self_exe: &Path) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new(self_exe);
        command.args(["agent", "--held"]).stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { stream, process: Some(process) })
    }

    /// Finds the agent of a session that has begun.
    fn find(temp_dir: &Path, id: &SessionId) -> io::Result<Self> {
        // Another user may have made a folder of that name once ours had gone.
        let opened = folder::open_private(&folder_of(temp_dir, id))?;
        Ok(Self { stream: UnixStream::connect(socket_in(&opened))?, process: None })
    }

    /// Both directions on a thread each. What ends one ends the socket, and so the other one, unless it is stuck.
    fn relay(mut self, input: File, output: File) -> io::Result<()> {
        let (mut from_agent, mut to_agent) = (self.stream.try_clone()?, self.stream.try_clone()?);
        let (passed, all_passed) = channel::<()>();
        spawn("from-lab", move || {
            pass_all(input, &mut to_agent);
            let _ = to_agent.shutdown(Shutdown::Both);
        })?;
        spawn("to-lab", move || {
            pass_all(&mut from_agent, output);
            let _ = from_agent.shutdown(Shutdown::Both);
            drop(passed);
        })?;
        wait_for_end(&self.stream)?;
        let _ = all_passed.recv_timeout(LAST_WORDS_DEADLINE);
        // One that goes on becomes a child of the system's.
        if let Some(process) = &mut self.process {
            let _ = process.try_wait();
        }
        Ok(())
    }
}

/// Passes bytes on until there are no more, or the other end takes none.
fn pass_all(mut from: impl Read, mut to: impl Write) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from.read(&mut piece) {
            Ok(count) if count > 0 && to.write_all(&piece[..count]).is_ok() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    // It may hold secrets.
    piece.fill(0);
}

/// Waits until both directions of a socket are closed.
fn wait_for_end(stream: &UnixStream) -> io::Result<()> {
    loop {
        // `poll` always reports that end, without being asked for it.
        match poll(&mut [PollFd::new(stream, PollFlags::empty())], None) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Serves the one session that the lab at the other end of `stream` begins, over this connection and those that go on with it,
/// which come from relays.
///
/// # Errors
/// No session begins, or it ends otherwise than it should.
pub fn serve_held(stream: UnixStream, options: &AgentOptions) -> Result<(), LabError> {
    kdyno_credentials::close_memory();
    // What is sent to ssh's processes on this host does not reach it.
    let _ = rustix::process::setsid();
    serve_one(stream, options).map_err(|error| LabError::Agent { why: error.to_string() })
}

fn serve_one(stream: UnixStream, options: &AgentOptions) -> io::Result<()> {
    let mut reader = until_greeted(&stream)?;
    let greeting = greet(&mut reader, &mut &stream, None)?;
    let Wish::Begin(id) = greeting.wish else { return refuse(&mut &stream, NO_SESSION) };
    // Agents that were killed have left folders.
    leftovers::sweep(&options.temp_dir);
    let place = MeetingPlace::make(&options.temp_dir, &id)
        .or_else(|error| refuse(&mut &stream, &format!("could not make its folder: {error}")))?;
    let options = AgentOptions { temp_dir: place.folder.clone(), ..options.clone() };
    let (sessions, unknown) = (Sessions::new(&options, 1), Slots::new(UNKNOWN_MAX));
    let (sessions, unknown, token) = (&sessions, &unknown, &greeting.token);
    std::thread::scope(|scope| {
        let serve = move || sessions.serve(greeting.wish, reader, stream);
        let session = std::thread::Builder::new().name("session".to_owned()).spawn_scoped(scope, serve)?;
        while !session.is_finished() {
            let _ = poll(&mut [PollFd::new(&place.listener, PollFlags::IN)], Some(&LOOK));
            let Ok((stream, _)) = place.listener.accept() else { continue };
            // One too many is closed without a word.
            let Some(slot) = unknown.take() else { continue };
            let go_on = move || {
                let _slot = slot;
                // A lab that has the token is answered why not; others get no answer.
                let _ = join(sessions, token, stream);
            };
            // Without a thread the connection is closed.
            let _ = std::thread::Builder::new().name("joining".to_owned()).spawn_scoped(scope, go_on);
        }
        // A defect of ours: it is not hidden by going on.
        session.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Hands a connection to the session, if its lab has the token.
fn join(sessions: &Sessions<'_>, token: &Secret, stream: UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut reader = until_greeted(&stream)?;
    let wish = greet(&mut reader, &mut &stream, Some(token))?.wish;
    sessions.serve(wish, reader, stream)
}

/// A stream whose peer has to greet soon.
fn until_greeted(stream: &UnixStream) -> io::Result<Watched<UnixStream>> {
    // A relay that no longer reads would hold the session's threads, and so its end.
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(Watched::new(stream.try_clone()?, Some(Instant::now() + GREETING_DEADLINE)))
}

/// Where the connections of a session find its agent. Its folder, in which the session has its own, is removed when it is dropped.
struct MeetingPlace {
    folder: PathBuf,
    listener: UnixListener,
}

impl MeetingPlace {
    fn make(temp_dir: &Path, id: &SessionId) -> io::Result<Self> {
        let folder = folder_of(temp_dir, id);
        folder::create_private(&folder).map_err(io::Error::other)?;
        leftovers::claim(&folder);
        let listener = listener_in(&folder).inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))?;
        Ok(Self { folder, listener })
    }
}

fn listener_in(folder: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(socket_in(&folder::open_private(folder)?))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Drop for MeetingPlace {
    fn drop(&mut self) {
        // What is left is removed with other leftovers.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The id is random, and no other user knows it before there is the folder.
fn folder_of(temp_dir: &Path, id: &SessionId) -> PathBuf {
    let id = u128::from_be_bytes(*id);
    temp_dir.join(format!("{}agent-{id:032x}", leftovers::FOLDER_PREFIX))
}

/// A short name, whatever the folder's is: an address has room for 107 bytes.
fn socket_in(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/session", folder.as_raw_fd()))
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

#[cfg(test)]
mod tests;
