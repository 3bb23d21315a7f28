//! The agent's side of a session: workers as children of this process, their bytes, their ends, and what is read of them.
//!
//! It starts nothing but `worker` of its own program. A lab that ends the session, or is silent for too long, takes all of
//! its workers with it.

use super::WorkerProcess;
use super::child::{ChildPlace, ChildProcess};
use super::session::{
    self, AgentHost, BEAT, EndedThere, Frame, FromAgent, PIECE_BYTES, SessionWriter, ToAgent, Watched,
};
use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::inbox::{Heard, Inbox};
use crate::logs;
use crate::observer::{MayGoOn, Observer};
use kdyno_model::event::Subject;
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_testbed::probe::named::NamedProcesses;
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::{folder, leftovers};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a peer may take to say who it is.
pub(super) const GREETING_DEADLINE: Duration = Duration::from_secs(5);

/// Most workers of a session.
const WORKERS_MAX: usize = 16;

/// How long a worker may take to exit once its socket is closed.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);

/// How long it is waited for a worker that does not read.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// How soon the thread that passes readings on sees the end.
const LOOK: Duration = Duration::from_millis(200);

/// What an agent is started with.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// This program's own executable, of which workers are started.
    pub self_exe: PathBuf,
    /// Where folders of sessions are made.
    pub temp_dir: PathBuf,
    /// Set from outside to end it.
    pub stop: Arc<AtomicBool>,
    /// How long one that listens waits for the first session, to end by itself then, or soon after the last one; `None`: it
    /// serves for ever.
    pub waits_for_first: Option<Duration>,
}

/// Serves the lab at the other end of a stream whose ends know each other, as those of ssh do, until it ends.
///
/// # Errors
/// The stream breaks, or is not spoken to as a lab does.
pub fn serve_stdio(
    input: impl Read + AsFd,
    output: impl Write + Send + 'static,
    options: &AgentOptions,
) -> Result<(), LabError> {
    let mut reader = Watched::new(input, Some(Instant::now() + GREETING_DEADLINE));
    let writer = Arc::new(SessionWriter::new(output));
    let served =
        greet(&mut reader, &writer, None, || Ok(())).and_then(|()| serve(&mut reader, &writer, options));
    served.map_err(|error| LabError::Agent { why: error.to_string() })
}

/// Hears who the peer is; answers nothing to one that has not the token. `admit` says why a lab that has it is refused.
pub(super) fn greet<R: Read + AsFd, T>(
    reader: &mut Watched<R>,
    writer: &SessionWriter,
    token: Option<&Secret>,
    admit: impl FnOnce() -> Result<T, String>,
) -> io::Result<T> {
    let denied = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, why);
    let (version, given) = session::read_greeting(reader)?;
    if let Some(token) = token {
        aws_lc_rs::constant_time::verify_slices_are_equal(given.expose(), token.expose())
            .map_err(|_| denied("its token is not that of this agent".to_owned()))?;
    }
    let admitted = match version == session::VERSION {
        true => admit(),
        false => Err(format!("speaks version {} of sessions, not {version}", session::VERSION)),
    };
    match admitted {
        Ok(admitted) => {
            reader.is_known();
            writer.message(&FromAgent::Welcome(AgentHost::here()))?;
            Ok(admitted)
        }
        Err(why) => {
            writer.message(&FromAgent::Refused { why: why.clone() })?;
            Err(denied(format!("a lab was refused: this agent {why}")))
        }
    }
}

/// Serves a lab that was greeted until it ends the session, is silent for too long, or this program is to end.
pub(super) fn serve<R: Read + AsFd>(
    reader: &mut Watched<R>,
    writer: &Arc<SessionWriter>,
    options: &AgentOptions,
) -> io::Result<()> {
    // What it carries holds the secrets of runs.
    kdyno_credentials::close_memory();
    let mut session = AgentSession::begin(Arc::clone(writer), options)?;
    while !options.stop.load(Ordering::Relaxed) {
        let frame = session::read::<ToAgent>(reader)?;
        let read_ns = monotonic_ns();
        match frame {
            None => return Ok(()),
            Some(Frame::Bytes(worker, bytes)) => session.pass_on(worker, &bytes),
            Some(Frame::Message(message)) => session.obey(message, read_ns)?,
        }
    }
    Ok(())
}

/// A session; all that it started ends when it is dropped.
struct AgentSession<'o> {
    options: &'o AgentOptions,
    writer: Arc<SessionWriter>,
    folder: PathBuf,
    workers: BTreeMap<u16, ServedWorker>,
    readings: Option<Readings>,
    is_over: Arc<AtomicBool>,
}

struct ServedWorker {
    /// The lab's end of its socket.
    socket: UnixStream,
    pid: u32,
    /// By which it is ended, and no other process that has its number by then.
    process: OwnedFd,
    thread: JoinHandle<()>,
}

/// What reads the workers, and what passes it on.
struct Readings {
    observer: Observer,
    thread: JoinHandle<()>,
}

impl<'o> AgentSession<'o> {
    fn begin(writer: Arc<SessionWriter>, options: &'o AgentOptions) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = options.temp_dir.join(format!("kdyno-agent-{}-{number}", std::process::id()));
        folder::create_private(&folder).map_err(io::Error::other)?;
        leftovers::claim(&folder);
        let is_over = Arc::new(AtomicBool::new(false));
        let (beating, ended) = (Arc::clone(&writer), Arc::clone(&is_over));
        // Not the thread that serves: that may wait for a worker.
        let beat = move || {
            while !ended.load(Ordering::Relaxed) && beating.message(&FromAgent::Beat).is_ok() {
                std::thread::sleep(BEAT);
            }
        };
        std::thread::Builder::new().name("beat".to_owned()).spawn(beat)?;
        Ok(Self { options, writer, folder, workers: BTreeMap::new(), readings: None, is_over })
    }

    fn obey(&mut self, message: ToAgent, read_ns: u64) -> io::Result<()> {
        match message {
            ToAgent::Beat => {}
            ToAgent::Clock { asked_ns } => {
                let answered_ns = monotonic_ns();
                self.writer.message(&FromAgent::Clock { asked_ns, read_ns, answered_ns })?;
            }
            ToAgent::Start { worker } => {
                if let Err(why) = self.start(worker) {
                    self.writer.message(&FromAgent::Ended(EndedThere {
                        worker,
                        status: format!("not started: {why}"),
                        success: false,
                        cpu_s: None,
                        log: String::new(),
                    }))?;
                }
            }
            ToAgent::Close { worker } => {
                if let Some(worker) = self.workers.get(&worker) {
                    let _ = worker.socket.shutdown(Shutdown::Both);
                }
            }
            ToAgent::Kill { worker } => self.workers.get(&worker).into_iter().for_each(ServedWorker::kill),
            ToAgent::LoadStarts { t0_ns } => self.read_from(t0_ns)?,
            ToAgent::PhasesEnd { ends_ns } => {
                if let Some(readings) = &self.readings {
                    readings.observer.phases_end(ends_ns);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, number: u16) -> Result<(), String> {
        if self.workers.len() >= WORKERS_MAX || self.workers.contains_key(&number) {
            return Err(format!("a session has at most {WORKERS_MAX} workers, each number once"));
        }
        let place = ChildPlace { self_exe: &self.options.self_exe, work_dir: &self.folder, hidden: &[] };
        let (socket, child) = place.spawn(number).map_err(|error| error.to_string())?;
        let said = |error: io::Error| error.to_string();
        let pid = child.id();
        let process = Pid::from_raw(pid.cast_signed()).ok_or("it has no number")?;
        let process = pidfd_open(process, PidfdFlags::empty()).map_err(|error| error.to_string())?;
        socket.set_write_timeout(Some(WRITE_DEADLINE)).map_err(said)?;
        let (outgoing, writer) = (socket.try_clone().map_err(said)?, Arc::clone(&self.writer));
        let thread = std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || carry(number, outgoing, child, &writer))
            .map_err(said)?;
        self.workers.insert(number, ServedWorker { socket, pid, process, thread });
        Ok(())
    }

    fn pass_on(&mut self, worker: u16, bytes: &Secret) {
        let Some(worker) = self.workers.get_mut(&worker) else { return };
        // One that does not read is ended by the end of its socket.
        if worker.socket.write_all(bytes.expose()).is_err() {
            let _ = worker.socket.shutdown(Shutdown::Both);
        }
    }

    /// Reads the workers from T0 on, once.
    fn read_from(&mut self, t0_ns: u64) -> io::Result<()> {
        if self.readings.is_some() {
            return Ok(());
        }
        let of_worker =
            |(number, worker): (&u16, &ServedWorker)| ProcessRef::new(Subject::Worker(*number), worker.pid);
        let processes = self.workers.iter().map(of_worker).collect();
        let inbox = Inbox::default();
        let may_go_on = MayGoOn { stop: Arc::default(), time_cap: None };
        let observer = Observer::start(processes, NamedProcesses::default(), may_go_on, inbox.sender());
        let observer = observer.map_err(io::Error::other)?;
        observer.load_starts(t0_ns);
        let (writer, is_over) = (Arc::clone(&self.writer), Arc::clone(&self.is_over));
        let thread = std::thread::Builder::new()
            .name("readings".to_owned())
            .spawn(move || pass_readings_on(&inbox, &writer, &is_over))?;
        self.readings = Some(Readings { observer, thread });
        Ok(())
    }
}

impl ServedWorker {
    fn kill(&self) {
        // It fails only when it has ended.
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }
}

impl Drop for AgentSession<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.workers.values().for_each(ServedWorker::kill);
        for worker in std::mem::take(&mut self.workers).into_values() {
            // Its reader ends also where the worker has left its end to others.
            let _ = worker.socket.shutdown(Shutdown::Both);
            let _ = worker.thread.join();
        }
        if let Some(Readings { observer, thread }) = self.readings.take() {
            observer.finish();
            let _ = thread.join();
        }
        // Its logs have been reported.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Carries what a worker says, then how it ended.
fn carry(number: u16, mut from_worker: UnixStream, mut child: ChildProcess, writer: &SessionWriter) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from_worker.read(&mut piece) {
            Ok(count) if count > 0 => {
                if writer.bytes(number, &piece[..count]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = from_worker.shutdown(Shutdown::Both);
    let end = child.end(EXIT_DEADLINE);
    let log = logs::tail(child.log_path()).unwrap_or_default();
    let (status, success, cpu_s) = (end.status, end.success, end.cpu_s);
    // A lab that is gone asks no more.
    let _ = writer.message(&FromAgent::Ended(EndedThere { worker: number, status, success, cpu_s, log }));
}

/// Passes on what was read of workers; of this host nothing else is the lab's to know.
fn pass_readings_on(inbox: &Inbox, writer: &SessionWriter, is_over: &AtomicBool) {
    let is_of_worker = |reading: &ProbeReading| matches!(reading.subject, Subject::Worker(_));
    loop {
        match inbox.hear(LOOK) {
            Some(Heard::Probes(_, mut readings)) => {
                readings.retain(is_of_worker);
                if writer.message(&FromAgent::Readings(readings)).is_err() {
                    return;
                }
            }
            Some(_) => {}
            None if is_over.load(Ordering::Relaxed) => return,
            None => {}
        }
    }
}
