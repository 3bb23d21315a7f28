//! The agent's side of a session: workers as children of this process, their bytes, their ends, and what is read of them.
//!
//! It starts nothing but `worker` and `null-broker` of its own program. A lab that ends the session, or is gone for too
//! long, takes all of them with it. A connection that breaks does not: the lab may make another one ([`Resumption`]).

use super::WorkerProcess;
use super::child::{ChildPlace, ChildProcess};
use super::delivery::Taken;
use super::outgoing::Outgoing;
use super::session::{
    self, AgentHost, Arrived, BrokerThere, EndedThere, Frame, FromAgent, Greeting, PIECE_BYTES, ToAgent,
    Watched,
};
use crate::clock::monotonic_ns;
use crate::inbox::{self, Inbox};
use crate::logs;
use crate::null_broker::NullBroker;
use crate::observer::{MayGoOn, Observer};
use kdyno_model::event::Subject;
use kdyno_model::plan::{NullBrokerPlan, TlsVersion};
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_testbed::probe::cgroup;
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
use std::sync::mpsc::Receiver;
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

/// How soon the end is seen by who passes readings on, or waits for another connection.
const LOOK: Duration = Duration::from_millis(200);

/// What an agent is started with.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// This program's own executable: workers are started from it.
    pub self_exe: PathBuf,
    /// Where folders of sessions are made.
    pub temp_dir: PathBuf,
    /// Set from outside to end it.
    pub stop: Arc<AtomicBool>,
    /// How long one that listens waits for the first session, to end by itself then, or soon after the last one; `None`: it
    /// serves for ever.
    pub waits_for_first: Option<Duration>,
}

/// Why a lab cannot go on with a session.
pub(super) const NO_SESSION: &str = "has no such session: it has ended, or the agent was started again";

/// Hears who the peer is and what it wants; answers nothing to one that has not the token.
pub(super) fn greet<R: Read + AsFd>(
    reader: &mut Watched<R>,
    writer: &mut impl Write,
    token: Option<&Secret>,
) -> io::Result<Greeting> {
    let greeting = session::read_greeting(reader)?;
    if let Some(token) = token {
        aws_lc_rs::constant_time::verify_slices_are_equal(greeting.token.expose(), token.expose())
            .map_err(|_| denied("its token is not that of this agent".to_owned()))?;
    }
    let version = greeting.version;
    if version != session::VERSION {
        let why = format!("speaks version {} of sessions, not {version}", session::VERSION);
        return refuse(writer, &why);
    }
    reader.is_known();
    Ok(greeting)
}

/// Answers a lab that has the token why it is not served.
pub(super) fn refuse<T>(writer: &mut impl Write, why: &str) -> io::Result<T> {
    writer.write_all(session::note(&FromAgent::Refused { why: why.to_owned() })?.expose())?;
    writer.flush()?;
    Err(denied(format!("a lab was refused: this agent {why}")))
}

fn denied(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The first connection of a session.
pub(super) fn welcome(outgoing: &Outgoing, stream: UnixStream) -> io::Result<()> {
    let welcome = session::note(&FromAgent::Welcome(AgentHost::here()))?;
    outgoing.connect(stream, 0, welcome.expose()).map(drop)
}

/// Another connection of a session, from a lab that has greeted.
pub(super) struct Resumption {
    pub(super) stream: UnixStream,
    /// The lab has got all frames up to this number.
    pub(super) received: u64,
}

/// Serves a lab that was welcomed until it ends the session, is gone for too long, or this program is to end. Where the
/// connection breaks the lab may make others, which come from `again`.
pub(super) fn serve(
    reader: Watched<UnixStream>,
    outgoing: &Arc<Outgoing>,
    again: &Receiver<Resumption>,
    options: &AgentOptions,
) -> io::Result<()> {
    let served = serve_connections(reader, outgoing, again, options);
    let why = match &served {
        Err(error) => Some(format!("has ended the session: {error}")),
        Ok(()) if options.stop.load(Ordering::Relaxed) => Some("was stopped".to_owned()),
        Ok(()) => None,
    };
    // A lab that is gone does not hear it.
    why.into_iter().for_each(|why| outgoing.note_soon(&FromAgent::Refused { why }));
    served
}

fn serve_connections(
    mut reader: Watched<UnixStream>,
    outgoing: &Arc<Outgoing>,
    again: &Receiver<Resumption>,
    options: &AgentOptions,
) -> io::Result<()> {
    // What it carries holds the secrets of runs.
    kdyno_credentials::close_memory();
    let silence = reader.silence();
    let mut session = AgentSession::begin(Arc::clone(outgoing), options)?;
    let mut ended = session.hear_all(&mut reader);
    drop(reader);
    loop {
        let (why, last) = match ended? {
            ConnectionEnd::Over => return Ok(()),
            ConnectionEnd::Broke(why, last) => (why, last),
        };
        outgoing.break_any();
        let next = session.wait_for(again, last + silence);
        let Some(Resumption { stream, received }) = next else {
            if options.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let gone = || io::Error::new(io::ErrorKind::TimedOut, "its lab is gone");
            return Err(outgoing.over().map(io::Error::other).or(why).unwrap_or_else(gone));
        };
        ended = match session.resume(&stream, received) {
            Ok(()) => session.hear_all(&mut Watched::new(stream, None).with_silence(silence)),
            // It broke again before anything was heard, or does not go on where the session is, as one that the lab has given up
            // and that comes late: the next one may.
            Err(error) => {
                let why = Some(error).filter(|error| error.kind() == io::ErrorKind::InvalidData);
                Ok(ConnectionEnd::Broke(why, last))
            }
        };
    }
}

/// What became of a connection.
enum ConnectionEnd {
    /// The lab has ended the session, or this program is to end.
    Over,
    /// It broke, unless it just ended for a reason, and was heard last then.
    Broke(Option<io::Error>, Instant),
}

/// A session; all that it started ends when it is dropped.
struct AgentSession<'o> {
    options: &'o AgentOptions,
    outgoing: Arc<Outgoing>,
    folder: PathBuf,
    workers: BTreeMap<u16, ServedWorker>,
    null_broker: Option<NullBroker>,
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
    fn begin(outgoing: Arc<Outgoing>, options: &'o AgentOptions) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = options.temp_dir.join(format!("kdyno-agent-{}-{number}", std::process::id()));
        folder::create_private(&folder).map_err(io::Error::other)?;
        leftovers::claim(&folder);
        let is_over = Arc::new(AtomicBool::new(false));
        let workers = BTreeMap::new();
        Ok(Self { options, outgoing, folder, workers, null_broker: None, readings: None, is_over })
    }

    /// Does what comes over a connection.
    ///
    /// # Errors
    /// What came is not what a lab says, or the session is over.
    fn hear_all(&mut self, reader: &mut Watched<UnixStream>) -> io::Result<ConnectionEnd> {
        let mut last = Instant::now();
        loop {
            let arrived = match session::read::<ToAgent>(reader) {
                Ok(Some(arrived)) => arrived,
                Ok(None) => return Ok(ConnectionEnd::Broke(None, last)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(error),
                Err(error) => return Ok(ConnectionEnd::Broke(Some(error), last)),
            };
            let read_ns = monotonic_ns();
            last = Instant::now();
            match arrived {
                Arrived::Received(number) => self.outgoing.acknowledged(number)?,
                Arrived::Note(ToAgent::End) => return Ok(ConnectionEnd::Over),
                Arrived::Note(message) => self.obey(message, read_ns)?,
                Arrived::Numbered(number, frame) => match (self.outgoing.take(number), frame) {
                    (Taken::New, Frame::Bytes(worker, bytes)) => self.pass_on(worker, &bytes),
                    (Taken::New, Frame::Message(message)) => self.obey(message, read_ns)?,
                    (Taken::Again, _) => {}
                    (Taken::Gap, _) => return Ok(ConnectionEnd::Broke(None, last)),
                },
            }
            if let Some(why) = self.outgoing.over() {
                return Err(io::Error::other(why));
            }
            if self.options.stop.load(Ordering::Relaxed) {
                return Ok(ConnectionEnd::Over);
            }
        }
    }

    /// Waits for another connection, the newest one; `None`: there is none in time, or the session is over.
    fn wait_for(&self, again: &Receiver<Resumption>, until: Instant) -> Option<Resumption> {
        while Instant::now() < until
            && !self.options.stop.load(Ordering::Relaxed)
            && self.outgoing.over().is_none()
        {
            if let Ok(first) = again.recv_timeout(LOOK) {
                return Some(again.try_iter().last().unwrap_or(first));
            }
        }
        None
    }

    /// Goes on over another connection.
    fn resume(&self, stream: &UnixStream, received: u64) -> io::Result<()> {
        let resumed = session::note(&FromAgent::Resumed { received: self.outgoing.received() })?;
        self.outgoing.connect(stream.try_clone()?, received, resumed.expose()).map(drop)
    }

    fn obey(&mut self, message: ToAgent, read_ns: u64) -> io::Result<()> {
        match message {
            // It has been seen already.
            ToAgent::End => {}
            ToAgent::Clock { asked_ns } => {
                let answered_ns = monotonic_ns();
                self.outgoing.note_soon(&FromAgent::Clock { asked_ns, read_ns, answered_ns });
            }
            ToAgent::Start { worker } => {
                if let Err(why) = self.start(worker) {
                    self.outgoing.message(&FromAgent::Ended(EndedThere {
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
            ToAgent::StartNullBroker { partitions, tls } => {
                // It would take CPU time of the next one.
                self.null_broker = None;
                let started = self.start_null_broker(partitions, tls);
                self.outgoing.message(&FromAgent::NullBroker(Box::new(started)))?;
            }
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
        let (from_worker, outgoing) = (socket.try_clone().map_err(said)?, Arc::clone(&self.outgoing));
        let thread = std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || carry(number, from_worker, child, &outgoing))
            .map_err(said)?;
        self.workers.insert(number, ServedWorker { socket, pid, process, thread });
        Ok(())
    }

    fn start_null_broker(&mut self, partitions: u32, tls: Vec<TlsVersion>) -> Result<BrokerThere, String> {
        let plan = NullBrokerPlan { tls, ..NullBrokerPlan::default() };
        let broker = NullBroker::start(&self.options.self_exe, partitions, &plan, &[])?;
        let broker = self.null_broker.insert(broker);
        Ok(BrokerThere { address: broker.address().to_owned(), security: broker.security().clone() })
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
        let (outgoing, is_over) = (Arc::clone(&self.outgoing), Arc::clone(&self.is_over));
        let thread = std::thread::Builder::new()
            .name("readings".to_owned())
            .spawn(move || pass_readings_on(&inbox, &outgoing, &is_over))?;
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
        // Who waits to say something does not.
        self.outgoing.end("it has ended");
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
fn carry(number: u16, mut from_worker: UnixStream, mut child: ChildProcess, outgoing: &Outgoing) {
    let killed_before = cgroup::memory_kills();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from_worker.read(&mut piece) {
            Ok(count) if count > 0 => {
                if outgoing.bytes(number, &piece[..count]).is_err() {
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
    let (mut status, success, cpu_s) = (end.status, end.success, end.cpu_s);
    if !success && cgroup::memory_kills() > killed_before {
        status.push_str(" for lack of memory");
    }
    // A lab that is gone asks no more.
    let _ = outgoing.message(&FromAgent::Ended(EndedThere { worker: number, status, success, cpu_s, log }));
}

/// Passes on what was read of workers; of this host nothing else is the lab's to know.
fn pass_readings_on(inbox: &Inbox, outgoing: &Outgoing, is_over: &AtomicBool) {
    let is_of_worker = |reading: &ProbeReading| matches!(reading.subject, Subject::Worker(_));
    loop {
        match inbox.hear(LOOK) {
            Some(inbox::Heard::Probes(_, mut readings)) => {
                readings.retain(is_of_worker);
                if outgoing.message(&FromAgent::Readings(readings)).is_err() {
                    return;
                }
            }
            Some(_) => {}
            None if is_over.load(Ordering::Relaxed) => return,
            None => {}
        }
    }
}
