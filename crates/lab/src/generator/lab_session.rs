//! The lab's side of a session with the agent of one host: starts workers there, and is their end of the stream here.

use super::clock::{self, ClockOffset, ClockSpan, Exchange};
use super::delivery::Taken;
use super::outgoing::{Outgoing, locked};
use super::resuming::{ConnectionEnd, Redial, Resuming, SUSPICION, greeted};
use super::session::{
    self, AgentHost, Arrived, BEAT, BrokerThere, EndedThere, Frame, FromAgent, SILENCE, SessionId, ToAgent,
    Watched, Wish, shown,
};
use crate::clock::monotonic_ns;
use crate::inbox::{Heard, WorkerNews};
use kdyno_model::event::Subject;
use kdyno_model::plan::TlsVersion;
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an agent may take to answer anything else.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// How long it may take to start a null broker.
const NULL_BROKER_DEADLINE: Duration = Duration::from_secs(20);

/// How long an agent may take to end what it started.
const END_DEADLINE: Duration = Duration::from_secs(2);

/// Why a session is over that nothing has ended.
const CLOSED: &str = "its session was closed";

/// Exchanges that find how far its clock is from ours.
pub(super) const EXCHANGES: usize = 64;

/// A session.
pub(super) struct LabSession {
    pub(super) shared: Arc<Shared>,
    /// The host.
    pub(super) host: AgentHost,
    /// Its clock.
    pub(super) clock: ClockOffset,
    /// The slowest exchange before T0, ns.
    pub(super) round_trip_ns: u64,
}

/// What its threads share.
pub(super) struct Shared {
    /// Name of the host.
    pub(super) name: String,
    pub(super) outgoing: Arc<Outgoing>,
    state: Mutex<SessionState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct SessionState {
    pub(super) workers: BTreeMap<u16, WorkerThere>,
    /// The newest answer about its clock.
    exchange: Option<Exchange>,
    /// How its clock goes, from T0 on.
    watch: ClockWatch,
    /// What became of the null broker that was asked for last.
    null_broker: Option<Result<BrokerThere, String>>,
    /// Why it has ended.
    pub(super) lost: Option<String>,
    /// Nothing is read any more.
    is_over: bool,
}

/// What its clock was asked each second.
#[derive(Default)]
struct ClockWatch {
    /// When it was asked last and has not answered, by our clock; 0: never, or it has.
    asked_ns: u64,
    exchanges: Vec<Exchange>,
}

/// A worker on the host.
pub(super) struct WorkerThere {
    /// The session's end of the socket pair; the lab has the other one.
    pub(super) socket: UnixStream,
    pub(super) inbox: SyncSender<Heard>,
    pub(super) ended: Option<EndedThere>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        locked(&self.state)
    }

    /// Waits until something is there, the session has ended or the time is over.
    pub(super) fn wait<T>(
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
            let now = Instant::now();
            let (left, over) = (end.saturating_duration_since(now), now.saturating_duration_since(end));
            // Without a connection it cannot; then the session goes on soon, or ends.
            if left.is_zero() && (self.outgoing.is_connected() || over >= SILENCE) {
                return Err(format!("its agent did not answer within {} s", deadline.as_secs()));
            }
            let wait = if left.is_zero() { BEAT } else { left };
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the session for all that wait for it; the first reason counts.
    pub(super) fn lose(&self, why: String) {
        let mut state = self.state();
        let why = state.lost.get_or_insert(why).clone();
        for worker in state.workers.values() {
            let _ = worker.socket.shutdown(Shutdown::Both);
        }
        drop(state);
        self.outgoing.end(&why);
        self.outgoing.break_any();
        self.changed.notify_all();
    }

    pub(super) fn tell(&self, message: &ToAgent) -> Result<(), String> {
        self.outgoing.message(message).map_err(|error| self.broke(&error))
    }

    /// Why the session is over.
    fn broke(&self, error: &io::Error) -> String {
        self.state().lost.clone().unwrap_or_else(|| format!("its session broke: {error}"))
    }

    /// Passes on what comes, over one connection after the other, until the session ends.
    fn serve(&self, mut reader: Watched<UnixStream>, mut connection: u64, again: &Resuming) {
        let mut heard = Instant::now();
        let why = loop {
            let broke = match self.read_all(&mut reader, &mut heard) {
                ConnectionEnd::Broke(why) => why,
                ConnectionEnd::Over(why) => break self.cause(why, again),
            };
            self.outgoing.break_off(connection);
            self.changed.notify_all();
            let over = || self.state().lost.clone();
            let suspect = || self.suspect(&broke);
            match again.resume(&self.outgoing, heard, &broke, over, suspect) {
                Ok(resumed) => {
                    (reader, connection) = resumed;
                    heard = Instant::now();
                    // Its end was said when there was no connection.
                    let lost = self.state().lost.clone();
                    if let Some(why) = lost {
                        self.outgoing.note_soon(&ToAgent::End);
                        break why;
                    }
                }
                Err(why) => break why,
            }
        };
        self.lose(why);
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Why the session is over, where what is known of the host says more than its agent did.
    fn cause(&self, why: String, again: &Resuming) -> String {
        let is_closed = self.state().lost.is_some();
        let gone = if is_closed { None } else { again.by.gone() };
        gone.unwrap_or(why)
    }

    /// Says that nothing is heard of the host, which may be there all the same.
    fn suspect(&self, broke: &str) {
        let (silent, lost) = (SUSPICION.as_secs(), SILENCE.as_secs());
        let why = format!(
            "generator {} has not been heard of for {silent} s: {broke}; it is lost after {lost} s",
            self.name
        );
        let first = self.state().workers.first_key_value().map(|(worker, one)| (*worker, one.inbox.clone()));
        if let Some((worker, inbox)) = first {
            let _ = inbox.send(Heard::Worker(worker, WorkerNews::Suspected(why)));
        }
    }

    /// Passes on what comes over a connection; `heard` is when anything did last.
    fn read_all(&self, stream: &mut Watched<UnixStream>, heard: &mut Instant) -> ConnectionEnd {
        loop {
            let read = session::read::<FromAgent>(stream);
            let heard_ns = monotonic_ns();
            let took = match read {
                Ok(Some(Arrived::Note(FromAgent::Refused { why }))) => {
                    return ConnectionEnd::Over(format!("its agent {}", shown(&why)));
                }
                Ok(Some(arrived)) => {
                    *heard = Instant::now();
                    self.take(arrived, heard_ns)
                }
                Ok(None) => return ConnectionEnd::Broke("its agent ended the session".to_owned()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
                Err(error) => return ConnectionEnd::Broke(format!("its session broke: {error}")),
            };
            match took {
                Ok(Taken::New | Taken::Again) => {}
                Ok(Taken::Gap) => return ConnectionEnd::Broke("its connection lost frames".to_owned()),
                Err(why) => return ConnectionEnd::Over(format!("its session broke: {why}")),
            }
        }
    }

    fn take(&self, arrived: Arrived<FromAgent>, heard_ns: u64) -> Result<Taken, String> {
        match arrived {
            Arrived::Received(number) => {
                self.outgoing.acknowledged(number).map_err(|error| error.to_string())?;
            }
            Arrived::Note(message) => self.hear(message, heard_ns)?,
            Arrived::Numbered(number, frame) => match (self.outgoing.take(number), frame) {
                (Taken::New, Frame::Bytes(worker, bytes)) => self.pass_on(worker, &bytes),
                (Taken::New, Frame::Message(message)) => self.hear(message, heard_ns)?,
                (taken, _) => return Ok(taken),
            },
        }
        Ok(Taken::New)
    }

    fn pass_on(&self, worker: u16, bytes: &Secret) {
        let socket = self.state().workers.get(&worker).and_then(|one| one.socket.try_clone().ok());
        // Bytes of a worker that the lab has given up have no reader.
        socket.into_iter().for_each(|mut socket| drop(socket.write_all(bytes.expose())));
    }

    fn hear(&self, message: FromAgent, heard_ns: u64) -> Result<(), String> {
        match message {
            FromAgent::Clock { asked_ns, read_ns, answered_ns } => {
                let exchange = Exchange { asked_ns, read_ns, answered_ns, heard_ns };
                let mut state = self.state();
                if asked_ns > 0 && state.watch.asked_ns == asked_ns {
                    state.watch.asked_ns = 0;
                    state.watch.exchanges.push(exchange);
                } else {
                    state.exchange = Some(exchange);
                }
            }
            FromAgent::Ended(ended) => {
                if let Some(worker) = self.state().workers.get_mut(&ended.worker) {
                    let _ = worker.socket.shutdown(Shutdown::Both);
                    worker.ended = Some(ended);
                }
            }
            FromAgent::Readings(readings) => self.keep(readings),
            FromAgent::NullBroker(started) => self.state().null_broker = Some(*started),
            FromAgent::Refused { .. } | FromAgent::Welcome(_) | FromAgent::Resumed { .. } => {
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

    /// Asks for its clock each second, as long as there is a connection, until the session has ended.
    fn watch_clock(&self) {
        loop {
            self.ask_watched();
            if self.wait(BEAT, |state| state.lost.clone()).is_ok() || self.state().lost.is_some() {
                return;
            }
        }
    }

    /// Asks for its clock; the answer belongs to its course.
    fn ask_watched(&self) {
        let asked_ns = monotonic_ns();
        self.state().watch.asked_ns = asked_ns;
        // Without a connection there is no answer.
        let _ = self.outgoing.note(&ToAgent::Clock { asked_ns });
    }
}

impl LabSession {
    /// Greets an agent by a stream and finds how far its clock is from ours; `own` is what an agent of this host would
    /// say of it. Where the stream breaks `again` makes another one.
    ///
    /// # Errors
    /// One lowercase clause.
    pub(super) fn open(
        name: &str,
        stream: UnixStream,
        token: &[u8],
        own: &AgentHost,
        again: Box<dyn Redial>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its session could not be opened: {error}");
        let mut id = SessionId::default();
        aws_lc_rs::rand::fill(&mut id).map_err(|_| "its session got no random number".to_owned())?;
        let (mut reader, not_greeted) = greeted(&stream, session::greeting(Wish::Begin(id), token).expose())?;
        let host = match session::read::<FromAgent>(&mut reader) {
            Ok(Some(Arrived::Note(FromAgent::Welcome(host)))) => host,
            Ok(Some(Arrived::Note(FromAgent::Refused { why }))) => {
                return Err(format!("its agent {}", shown(&why)));
            }
            Ok(None) => return Err("it ended the connection without an answer".to_owned()),
            Ok(Some(_)) => return Err("it did not answer as an agent does".to_owned()),
            Err(error) => {
                let error = not_greeted.unwrap_or(error);
                return Err(format!("it did not answer as an agent does: {error}"));
            }
        };
        reader.is_known();
        let outgoing = Outgoing::start().map_err(failed)?;
        let connection = outgoing.connect(stream, 0, &[]).map_err(failed)?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { name: name.to_owned(), outgoing, state, changed });
        let mut opened =
            Self { shared: Arc::clone(&shared), host, clock: ClockOffset::default(), round_trip_ns: 0 };
        let again = Resuming { id, token: Secret::new(token.to_vec()), by: again };
        let reader = reader.with_silence(SUSPICION);
        spawn("session", move || shared.serve(reader, connection, &again)).map_err(failed)?;
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
        let asked = self.shared.outgoing.note(&ToAgent::Clock { asked_ns });
        asked.map(|()| asked_ns).map_err(|error| self.shared.broke(&error))
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

    /// Has the agent start a null broker, in the place of one before, and waits until it listens.
    pub(super) fn start_null_broker(
        &self,
        partitions: u32,
        tls: Vec<TlsVersion>,
    ) -> Result<BrokerThere, String> {
        self.shared.tell(&ToAgent::StartNullBroker { partitions, tls })?;
        let started = |state: &mut SessionState| state.null_broker.take();
        self.shared.wait(NULL_BROKER_DEADLINE, started)?.map_err(|why| shown(&why))
    }

    /// Workers are read from T0 on, an instant of our clock, and so is its clock unless it is ours. An agent that is gone
    /// reads nothing.
    pub(super) fn load_starts(&self, t0_ns: u64) {
        let _ = self.shared.tell(&ToAgent::LoadStarts { t0_ns: self.clock.theirs(t0_ns) });
        if self.clock.bound_ns > 0 {
            let watching = Arc::clone(&self.shared);
            // Without it nothing is known of its drift.
            let _ = spawn("session-clock", move || watching.watch_clock());
        }
    }

    /// Asks for its clock once more, if it is not ours; [`LabSession::clock_course`] waits for the answer.
    pub(super) fn ask_course(&self) {
        if self.clock.bound_ns > 0 {
            self.shared.ask_watched();
        }
    }

    /// How its clock has gone since the load began, up to `until_ns` of ours if it was asked since.
    pub(super) fn clock_course(&self, until_ns: u64) -> Vec<ClockSpan> {
        let reaches = |state: &mut SessionState| {
            let last = state.watch.exchanges.last();
            last.is_none_or(|last| last.asked_ns >= until_ns).then_some(())
        };
        // Where there is no answer the course ends before.
        let _ = self.shared.wait(ANSWER_DEADLINE, reaches);
        clock::course(&self.shared.state().watch.exchanges)
    }

    /// And at the ends of phases, ns from T0.
    pub(super) fn phases_end(&self, ends_ns: &[u64]) {
        let _ = self.shared.tell(&ToAgent::PhasesEnd { ends_ns: ends_ns.to_vec() });
    }

    /// Has the agent end what it started, without waiting for it.
    pub(super) fn close(&self) {
        let mut state = self.shared.state();
        if state.lost.is_some() {
            return;
        }
        // It is not to be resumed.
        state.lost = Some(CLOSED.to_owned());
        drop(state);
        // An agent that does not hear of it finds out by itself.
        self.shared.outgoing.note_soon(&ToAgent::End);
    }
}

impl Drop for LabSession {
    /// The agent ends what it started; by the end of the connection it shows that it has.
    fn drop(&mut self) {
        self.close();
        let shared = &self.shared;
        let (end, mut state) = (Instant::now() + END_DEADLINE, shared.state());
        while !state.is_over && shared.outgoing.is_connected() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        shared.lose(CLOSED.to_owned());
    }
}

pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}
