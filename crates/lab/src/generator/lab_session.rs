//! The lab's side of a session with the agent of one host: starts workers there, and is their end of the stream here.

use super::clock::{ClockOffset, Exchange};
use super::session::{
    self, AgentHost, BEAT, EndedThere, Frame, FromAgent, PIECE_BYTES, SessionWriter, ToAgent, Watched, shown,
};
use super::{Place, StartedWorker, WorkerEnd, WorkerProcess};
use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::inbox::{Heard, WorkerNews};
use kdyno_model::event::Subject;
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an agent may take to answer the greeting: ssh has to log in.
const WELCOME_DEADLINE: Duration = Duration::from_secs(30);

/// How long an agent may take to answer anything else.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// Exchanges that find how far its clock is from ours.
pub(super) const EXCHANGES: usize = 64;

/// A session.
pub(super) struct LabSession {
    shared: Arc<Shared>,
    /// The host.
    pub(super) host: AgentHost,
    /// Its clock.
    pub(super) clock: ClockOffset,
    /// The slowest exchange before T0, ns.
    pub(super) round_trip_ns: u64,
}

/// What its threads share.
struct Shared {
    /// Name of the host.
    name: String,
    writer: SessionWriter,
    /// Closed to end all of it.
    socket: UnixStream,
    state: Mutex<SessionState>,
    changed: Condvar,
}

#[derive(Default)]
struct SessionState {
    workers: BTreeMap<u16, WorkerThere>,
    /// The newest answer about its clock.
    exchange: Option<Exchange>,
    /// Why it has ended.
    lost: Option<String>,
}

/// A worker on the host.
struct WorkerThere {
    /// The session's end of the socket pair of which the lab has the other one.
    socket: UnixStream,
    inbox: SyncSender<Heard>,
    ended: Option<EndedThere>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        // What a thread that failed wrote is whole: nothing that can fail happens in between.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is there, the session has ended or the time is over.
    fn wait<T>(
        &self,
        deadline: Duration,
        look: impl Fn(&mut SessionState) -> Option<T>,
    ) -> Result<T, String> {
        let end = Instant::now() + deadline;
        let mut state = self.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if let Some(why) = &state.lost {
                return Err(why.clone());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("its agent did not answer within {} s", deadline.as_secs()));
            }
            state =
                self.changed.wait_timeout(state, left).map_or_else(|e| e.into_inner().0, |(state, _)| state);
        }
    }

    /// Ends the session for all that wait for it; the first reason counts.
    fn lose(&self, why: String) {
        let mut state = self.state();
        state.lost.get_or_insert(why);
        for worker in state.workers.values() {
            let _ = worker.socket.shutdown(Shutdown::Both);
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        self.changed.notify_all();
    }

    fn tell(&self, message: &ToAgent) -> Result<(), String> {
        let told = self.writer.message(message);
        told.map_err(|error| {
            self.state().lost.clone().unwrap_or_else(|| format!("its session broke: {error}"))
        })
    }

    /// Passes on what comes, until the session ends.
    fn read_all(&self, stream: &mut Watched<UnixStream>) {
        loop {
            let read = session::read::<FromAgent>(stream);
            let heard_ns = monotonic_ns();
            match read {
                Ok(Some(Frame::Bytes(worker, bytes))) => self.pass_on(worker, &bytes),
                Ok(Some(Frame::Message(message))) => {
                    if let Err(why) = self.hear(message, heard_ns) {
                        return self.lose(why);
                    }
                }
                Ok(None) => return self.lose("its agent ended the session".to_owned()),
                Err(error) => return self.lose(format!("its session broke: {error}")),
            }
        }
    }

    fn pass_on(&self, worker: u16, bytes: &Secret) {
        let socket = self.state().workers.get(&worker).and_then(|one| one.socket.try_clone().ok());
        // Bytes of a worker that the lab has given up have no reader.
        socket.into_iter().for_each(|mut socket| drop(socket.write_all(bytes.expose())));
    }

    fn hear(&self, message: FromAgent, heard_ns: u64) -> Result<(), String> {
        match message {
            FromAgent::Beat => {}
            FromAgent::Clock { asked_ns, read_ns, answered_ns } => {
                self.state().exchange = Some(Exchange { asked_ns, read_ns, answered_ns, heard_ns });
            }
            FromAgent::Ended(ended) => {
                if let Some(worker) = self.state().workers.get_mut(&ended.worker) {
                    let _ = worker.socket.shutdown(Shutdown::Both);
                    worker.ended = Some(ended);
                }
            }
            FromAgent::Readings(readings) => self.keep(readings),
            FromAgent::Refused { .. } | FromAgent::Welcome(_) => {
                return Err("its agent said something out of turn".to_owned());
            }
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Readings of workers of this session; an agent has nothing to say of others.
    fn keep(&self, readings: Vec<ProbeReading>) {
        let mut of: BTreeMap<u16, Vec<ProbeReading>> = BTreeMap::new();
        for reading in readings {
            if let Subject::Worker(worker) = reading.subject {
                of.entry(worker).or_default().push(reading);
            }
        }
        for (worker, readings) in of {
            let inbox = self.state().workers.get(&worker).map(|one| one.inbox.clone());
            // A trial that is over reads nothing more.
            if let Some(inbox) = inbox {
                let _ = inbox.send(Heard::Worker(worker, WorkerNews::Probes(readings)));
            }
        }
    }

    /// Says each second that the lab is there.
    fn beat(&self) {
        while self.wait(BEAT, |state| state.lost.clone()).is_err_and(|_| self.state().lost.is_none()) {
            if let Err(why) = self.tell(&ToAgent::Beat) {
                return self.lose(why);
            }
        }
    }
}

impl LabSession {
    /// Greets an agent by a stream and finds how far its clock is from ours; `own` is what an agent of this host would
    /// say of it.
    ///
    /// # Errors
    /// One lowercase clause.
    pub(super) fn open(
        name: &str,
        stream: UnixStream,
        token: &[u8],
        own: &AgentHost,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its session could not be opened: {error}");
        let writer = SessionWriter::new(stream.try_clone().map_err(failed)?);
        let until = Instant::now() + WELCOME_DEADLINE;
        let mut reader = Watched::new(stream.try_clone().map_err(failed)?, Some(until));
        // Where it cannot be written what comes says more.
        let greeted = writer.greeting(token);
        let host = match session::read::<FromAgent>(&mut reader) {
            Ok(Some(Frame::Message(FromAgent::Welcome(host)))) => host,
            Ok(Some(Frame::Message(FromAgent::Refused { why }))) => {
                return Err(format!("its agent {}", shown(&why)));
            }
            Ok(None) => return Err("it ended the connection without an answer".to_owned()),
            Ok(Some(_)) => return Err("it did not answer as an agent does".to_owned()),
            Err(error) => {
                return Err(format!(
                    "it did not answer as an agent does: {}",
                    greeted.err().unwrap_or(error)
                ));
            }
        };
        reader.is_known();
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            writer,
            socket: stream,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut opened = Self { shared, host, clock: ClockOffset::default(), round_trip_ns: 0 };
        let (reading, beating) = (Arc::clone(&opened.shared), Arc::clone(&opened.shared));
        spawn("session", move || reading.read_all(&mut reader)).map_err(failed)?;
        spawn("session-beat", move || beating.beat()).map_err(failed)?;
        opened.find_clock(own)?;
        Ok(opened)
    }

    fn find_clock(&mut self, own: &AgentHost) -> Result<(), String> {
        let exchanges = (0..EXCHANGES).map(|_| self.exchange()).collect::<Result<Vec<_>, _>>()?;
        self.round_trip_ns = exchanges.iter().map(Exchange::round_trip_ns).max().unwrap_or(0);
        let found = ClockOffset::of(&exchanges).ok_or("its clock jumped while it was read")?;
        let is_own = self.host.is_on_clock_of(own) && found.may_be_none();
        self.clock = if is_own { ClockOffset::default() } else { found };
        Ok(())
    }

    fn exchange(&self) -> Result<Exchange, String> {
        let asked_ns = self.ask_clock()?;
        self.clock_read(asked_ns)
    }

    /// Asks the agent to read its clock; when that was asked, by ours.
    pub(super) fn ask_clock(&self) -> Result<u64, String> {
        let asked_ns = monotonic_ns();
        self.shared.tell(&ToAgent::Clock { asked_ns }).map(|()| asked_ns)
    }

    /// Waits for what it read.
    pub(super) fn clock_read(&self, asked_ns: u64) -> Result<Exchange, String> {
        let is_answer = |exchange: &mut Exchange| exchange.asked_ns == asked_ns;
        self.shared.wait(ANSWER_DEADLINE, |state| state.exchange.take_if(is_answer))
    }

    /// Whether the agent read its clock before T0, an instant of our clock: what it was sent before had come by then.
    pub(super) fn was_in_time(&self, exchange: &Exchange, t0_ns: u64) -> Result<(), String> {
        let read_ns = exchange.read_ns;
        let late_ns = read_ns.saturating_add(self.clock.bound_ns).saturating_sub(self.clock.theirs(t0_ns));
        if late_ns == 0 {
            Ok(())
        } else {
            Err(format!("it learned of the start {} ms too late", late_ns / 1_000_000))
        }
    }

    /// Workers are read from T0 on, an instant of our clock. An agent that is gone reads nothing.
    pub(super) fn load_starts(&self, t0_ns: u64) {
        let _ = self.shared.tell(&ToAgent::LoadStarts { t0_ns: self.clock.theirs(t0_ns) });
    }

    /// And at the ends of phases, ns from T0.
    pub(super) fn phases_end(&self, ends_ns: &[u64]) {
        let _ = self.shared.tell(&ToAgent::PhasesEnd { ends_ns: ends_ns.to_vec() });
    }

    /// The host as a place of workers; the ends of their logs go to `work_dir`.
    pub(super) fn place<'s>(&'s self, work_dir: &'s Path) -> AgentPlace<'s> {
        AgentPlace { session: self, work_dir }
    }
}

impl Drop for LabSession {
    fn drop(&mut self) {
        self.shared.lose("its session was closed".to_owned());
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// The host of an agent.
pub(crate) struct AgentPlace<'s> {
    session: &'s LabSession,
    work_dir: &'s Path,
}

impl Place for AgentPlace<'_> {
    fn start(&self, number: u16, inbox: &SyncSender<Heard>) -> Result<StartedWorker, LabError> {
        let shared = &self.session.shared;
        let failed = |source| LabError::WorkerStart { number, what: "make a socket pair".to_owned(), source };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let from_lab = theirs.try_clone().map_err(failed)?;
        let worker = WorkerThere { socket: theirs, inbox: inbox.clone(), ended: None };
        shared.state().workers.insert(number, worker);
        let started = shared.tell(&ToAgent::Start { worker: number });
        started.map_err(|why| LabError::Generator { name: shared.name.clone(), why, hint: "" })?;
        let bridge = Arc::clone(shared);
        spawn("session-bridge", move || bridge.carry(number, from_lab)).map_err(failed)?;
        let log = self.work_dir.join(format!("worker-{number}.log"));
        let process = AgentProcess { number, shared: Arc::clone(shared), log };
        Ok(StartedWorker { socket: ours, clock: self.session.clock, process: Box::new(process) })
    }
}

impl Shared {
    /// Carries what the lab says to a worker, then its end.
    fn carry(&self, worker: u16, mut from_lab: UnixStream) {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let told = match from_lab.read(&mut piece) {
                Ok(count) if count > 0 => self.writer.bytes(worker, &piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => {
                    piece.fill(0);
                    let _ = self.tell(&ToAgent::Close { worker });
                    return;
                }
            };
            if let Err(error) = told {
                return self.lose(format!("its session broke: {error}"));
            }
        }
    }
}

/// A worker's process on another host.
struct AgentProcess {
    number: u16,
    shared: Arc<Shared>,
    log: PathBuf,
}

impl std::fmt::Debug for AgentProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {} on {}", self.number, self.shared.name)
    }
}

impl WorkerProcess for AgentProcess {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn log_path(&self) -> &Path {
        &self.log
    }

    fn end(&mut self, deadline: Duration) -> WorkerEnd {
        let number = self.number;
        let ended =
            |state: &mut SessionState| state.workers.get_mut(&number).and_then(|one| one.ended.take());
        let found = self.shared.wait(deadline, ended).or_else(|why| {
            if self.shared.state().lost.is_some() {
                return Err(why);
            }
            self.shared.tell(&ToAgent::Kill { worker: number })?;
            self.shared.wait(ANSWER_DEADLINE, ended)
        });
        let on = &self.shared.name;
        match found {
            Ok(EndedThere { status, success, cpu_s, log, .. }) => {
                // Without it the end is known all the same.
                let _ = std::fs::write(&self.log, log);
                WorkerEnd { status: format!("{} on generator {on}", shown(&status)), success, cpu_s }
            }
            Err(why) => WorkerEnd { status: format!("generator {on}: {why}"), success: false, cpu_s: None },
        }
    }
}
