//! The worker process: reads its task from the lab, runs one thread per stream, writes what they saw.
//!
//! The end of the control stream ends the process, so a worker never outlives its lab.

use crate::announced::{check_announcement, check_start};
use crate::consume::ConsumeStream;
use crate::event_loop::{EventLoop, LoopError, StreamControl};
use crate::framing::{AfterTask, read_after_task, read_before_task, write_frame};
use crate::groups::ReadGroups;
use crate::java;
use crate::net::monotonic_ns;
use crate::produce::ProduceStream;
use crate::records::{ByteStrings, GivenBySource};
use crate::stream::{Events, Stream, StreamContext, StreamError};
use kdyno_credentials::CredentialsError;
use kdyno_kafka::security::sasl::Login;
use kdyno_kafka::security::{ConnectionSecurity, Hidden};
use kdyno_model::plan::Sasl;
use kdyno_model::sample::StreamTotals;
use kdyno_model::secret::Secret;
use kdyno_model::worker::{
    BeforeTask, FromWorker, JAVA_CONNECTION, PROTOCOL_VERSION, StreamRole, StreamTask, ToWorker, WorkerTask,
};
use mio::Waker;
use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use thiserror::Error;

/// Messages that may wait to be written to the lab: minutes of a hundred streams' samples.
const MESSAGES_MAX: usize = 1 << 16;

/// Why a worker ended without its task being done.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// Talking to the lab failed.
    #[error("the connection to the lab failed: {0}")]
    Lab(#[from] io::Error),
    /// The lab closed the connection before the task was done.
    #[error("the lab is gone")]
    LabGone,
    /// The lab said something out of turn; holds what.
    #[error("the lab said {0}")]
    OutOfTurn(&'static str),
    /// The lab announced T0 when it was over.
    #[error(
        "the start was announced {late_ms} ms too late, so its clients could not begin with those of the other workers"
    )]
    LateStart {
        /// How late, ms by this worker's clock.
        late_ms: u64,
    },
    /// The lab announced a measure phase that cannot begin like that.
    #[error("the measure phase cannot begin at {start_ns} ns from T0: {reason}")]
    Measure {
        /// Where it was announced to begin, ns.
        start_ns: u64,
        /// One lowercase clause: why it cannot.
        reason: String,
    },
    /// An address of the task is no `host:port`.
    #[error("`{0}` is not a host and a port")]
    Address(String),
    /// Brokers cannot be spoken to as the task says.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// A stream failed.
    #[error("stream {name}: {source}")]
    Stream {
        /// The load item of the stream.
        name: String,
        /// What went wrong there.
        source: LoopError,
    },
    /// A thread died; a defect of kdyno.
    #[error("the thread of stream {0} panicked")]
    Panicked(String),
}

/// One stream's thread.
struct RunningStream {
    name: String,
    is_producing: bool,
    control: Sender<StreamControl>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<Result<StreamTotals, LoopError>>>,
}

/// Reports to the main thread that a stream's thread has ended, also when it ended by a panic.
struct TellEnd {
    incoming: Sender<Incoming>,
    index: usize,
}

impl Drop for TellEnd {
    fn drop(&mut self) {
        let _ = self.incoming.send(Incoming::Ended(self.index));
    }
}

/// What the main thread waits for.
enum Incoming {
    Lab(AfterTask),
    LabGone,
    LabFailed(io::Error),
    /// One more stream can start.
    Prepared,
    Ended(usize),
}

/// Runs a worker whose lab is at the other end of `fd`, to the end of its task.
///
/// # Errors
/// When the task cannot be done; the lab got the reason if it still listens.
pub fn main(fd: OwnedFd) -> Result<(), WorkerError> {
    let stream = UnixStream::from(fd);
    let mut reader = stream.try_clone()?;
    let mut writer = BufWriter::new(stream);
    let hello = FromWorker::Hello { protocol: PROTOCOL_VERSION, monotonic_ns: monotonic_ns() };
    write_frame(&mut writer, &hello)?;
    let task = read_task(&mut reader);
    let (out, messages) = sync_channel(MESSAGES_MAX);
    let writing = thread::spawn(move || write_messages(&mut writer, &messages));
    let result = task.and_then(|(task, before)| run(&task, &before, reader, &out));
    let last = match &result {
        Ok(totals) => FromWorker::Done(totals.clone()),
        Err(error) => FromWorker::Failed { message: error.to_string() },
    };
    let _ = out.send(last);
    drop(out);
    match (result, writing.join()) {
        (Err(error), _) => Err(error),
        (Ok(_), Ok(written)) => Ok(written?),
        (Ok(_), Err(_)) => Err(WorkerError::Panicked("writer".to_owned())),
    }
}

/// Values of secrets by name.
type SecretValues = BTreeMap<String, Secret>;

/// What came before the task.
#[derive(Default)]
struct ReceivedInputs {
    secrets: Option<SecretValues>,
    given: GivenBySource,
}

/// The task, and what came before it.
fn read_task(reader: &mut UnixStream) -> Result<(WorkerTask, ReceivedInputs), WorkerError> {
    let mut before = ReceivedInputs::default();
    loop {
        match read_before_task(reader)? {
            Some(BeforeTask::Prepare(task)) => return Ok((*task, before)),
            Some(BeforeTask::Secrets(_)) if before.secrets.is_some() => {
                return Err(WorkerError::OutOfTurn("`secrets` twice"));
            }
            Some(BeforeTask::Secrets(values)) => {
                kdyno_credentials::close_memory();
                before.secrets = Some(values);
            }
            Some(BeforeTask::Given(found)) => {
                let given = ByteStrings::new(found.pieces()).filter(|_| found.is_whole());
                let wrong = WorkerError::OutOfTurn("`given` that is empty, or of another length");
                before.given.insert(found.source, Arc::new(given.ok_or(wrong)?));
            }
            None => return Err(WorkerError::LabGone),
        }
    }
}

/// Writes up to the last message that every worker ends with: a stream that was abandoned may hold the channel
/// longer.
fn write_messages(writer: &mut BufWriter<UnixStream>, messages: &Receiver<FromWorker>) -> io::Result<()> {
    while let Ok(message) = messages.recv() {
        write_frame(writer, &message)?;
        if matches!(message, FromWorker::Done(_) | FromWorker::Failed { .. }) {
            break;
        }
    }
    Ok(())
}

/// Passes the lab's messages on, then its end.
fn read_lab(mut reader: UnixStream, incoming: &Sender<Incoming>) {
    loop {
        let (heard, is_last) = match read_after_task(&mut reader) {
            Ok(Some(message)) => (Incoming::Lab(message), false),
            Ok(None) => (Incoming::LabGone, true),
            Err(error) => (Incoming::LabFailed(error), true),
        };
        if incoming.send(heard).is_err() || is_last {
            return;
        }
    }
}

fn run(
    task: &WorkerTask,
    before: &ReceivedInputs,
    reader: UnixStream,
    out: &SyncSender<FromWorker>,
) -> Result<Vec<StreamTotals>, WorkerError> {
    if task.streams.is_empty() {
        return Err(WorkerError::OutOfTurn("`prepare` with a task without streams"));
    }
    let security = kdyno_credentials::security(&task.security, &|name| before.secrets.as_ref()?.get(name))?;
    let (incoming, messages) = channel();
    let for_lab = incoming.clone();
    thread::spawn(move || read_lab(reader, &for_lab));
    let mut streams = WorkerStreams {
        running: Vec::new(),
        prepared: 0,
        t0_ns: None,
        measure_ns: None,
        is_stopped: false,
        token: token(task, &security),
    };
    let groups = ReadGroups::default();
    let secret = before.secrets.as_ref().and_then(|secrets| secrets.get(JAVA_CONNECTION));
    let java_connection = secret.map(|text| Hidden::new(text.expose().to_vec()));
    let result = task
        .streams
        .iter()
        .enumerate()
        .try_for_each(|(index, stream)| {
            let (given, groups) = (before.given.clone(), groups.clone());
            let java_connection = java_connection.clone().filter(|_| stream.java.is_some());
            streams.running.push(spawn(
                StreamContext { given, groups, java_connection, ..context(task, &security, stream)? },
                index,
                incoming.clone(),
                out.clone(),
            )?);
            Ok(())
        })
        .and_then(|()| streams.supervise(&messages, out));
    if result.is_err() {
        streams.tell(StreamControl::Abandon);
    }
    result
}

/// The streams of a worker and what the lab has said to them.
struct WorkerStreams {
    running: Vec<RunningStream>,
    /// How many of them can start.
    prepared: usize,
    /// T0, ns, once it is given.
    t0_ns: Option<u64>,
    /// Start of the measure phase, ns from T0, once it is announced.
    measure_ns: Option<u64>,
    is_stopped: bool,
    /// Name of the secret that is the token of this login.
    token: Option<(String, Arc<Login>)>,
}

/// The login that has a token, and the name of that secret.
fn token(task: &WorkerTask, security: &ConnectionSecurity) -> Option<(String, Arc<Login>)> {
    let Some(Sasl::OauthBearer { token, .. }) = &task.security.sasl else { return None };
    security.login.clone().map(|login| (token.clone(), login))
}

impl WorkerStreams {
    fn tell(&self, control: StreamControl) {
        for stream in &self.running {
            // A thread that has ended needs no message.
            let _ = stream.control.send(control);
            let _ = stream.waker.wake();
        }
    }

    /// Waits for the streams' end, doing what the lab says meanwhile.
    fn supervise(
        &mut self,
        messages: &Receiver<Incoming>,
        out: &SyncSender<FromWorker>,
    ) -> Result<Vec<StreamTotals>, WorkerError> {
        let mut totals = Vec::new();
        while totals.len() < self.running.len() {
            match messages.recv().unwrap_or(Incoming::LabGone) {
                Incoming::Lab(AfterTask::Said(message)) => self.apply(message)?,
                Incoming::Lab(AfterTask::Secrets(values)) => self.renew(&values)?,
                Incoming::LabGone => return Err(WorkerError::LabGone),
                Incoming::LabFailed(error) => return Err(WorkerError::Lab(error)),
                Incoming::Prepared => {
                    self.prepared += 1;
                    if self.prepared == self.running.len() {
                        // Whether the lab is gone is heard from its end of the socket.
                        let _ = out.send(FromWorker::Prepared);
                    }
                }
                Incoming::Ended(index) => {
                    totals.push(self.ended(index)?);
                    if self.is_load_ended_by(index) {
                        let _ = out.send(FromWorker::LoadEnded);
                    }
                }
            }
        }
        totals.sort_by_key(|totals| totals.id);
        Ok(totals)
    }

    /// Logs in with a newer token from now on.
    fn renew(&self, values: &SecretValues) -> Result<(), WorkerError> {
        let Some((name, login)) = &self.token else { return Ok(()) };
        let Some(newer) = values.get(name) else { return Ok(()) };
        let renewed = login.renew(Hidden::new(newer.expose().to_vec()));
        renewed.map_err(|error| CredentialsError::from(error).into())
    }

    /// Does what the lab says. What comes after a stop does not matter any more.
    fn apply(&mut self, message: ToWorker) -> Result<(), WorkerError> {
        match message {
            ToWorker::Prepare(_) => return Err(WorkerError::OutOfTurn("`prepare` twice")),
            _ if self.is_stopped => {}
            ToWorker::Start { .. } if self.prepared < self.running.len() => {
                return Err(WorkerError::OutOfTurn("`start` before this worker was prepared"));
            }
            ToWorker::Start { .. } if self.t0_ns.is_some() => {
                return Err(WorkerError::OutOfTurn("`start` twice"));
            }
            ToWorker::Start { t0_monotonic_ns } => {
                check_start(t0_monotonic_ns, monotonic_ns())
                    .map_err(|late_ms| WorkerError::LateStart { late_ms })?;
                self.t0_ns = Some(t0_monotonic_ns);
                self.tell(StreamControl::Start(t0_monotonic_ns));
                if let Some(start_ns) = self.measure_ns {
                    self.tell(StreamControl::Measure(start_ns));
                }
            }
            ToWorker::Measure { start_ns } => {
                check_announcement(start_ns, self.measure_ns, self.t0_ns, monotonic_ns())
                    .map_err(|reason| WorkerError::Measure { start_ns, reason })?;
                self.measure_ns = Some(start_ns);
                if self.t0_ns.is_some() {
                    self.tell(StreamControl::Measure(start_ns));
                }
            }
            ToWorker::Drain if self.t0_ns.is_none() => {
                return Err(WorkerError::OutOfTurn("`drain` before `start`"));
            }
            ToWorker::Drain => self.tell(StreamControl::Drain),
            ToWorker::Stop => {
                self.is_stopped = true;
                self.tell(StreamControl::Stop);
            }
        }
        Ok(())
    }

    /// A stream's thread has ended: its totals.
    fn ended(&mut self, index: usize) -> Result<StreamTotals, WorkerError> {
        let ended = &mut self.running[index];
        let name = ended.name.clone();
        match ended.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result.map_err(|source| WorkerError::Stream { name, source }),
            _ => Err(WorkerError::Panicked(name)),
        }
    }

    /// Whether the stream that has ended was the last one that produces, and others are left.
    fn is_load_ended_by(&self, index: usize) -> bool {
        let mut left = self.running.iter().filter(|stream| stream.thread.is_some()).peekable();
        let is_any_left = left.peek().is_some();
        self.running[index].is_producing && is_any_left && left.all(|stream| !stream.is_producing)
    }
}

/// Starts a stream's thread.
fn spawn(
    context: StreamContext,
    index: usize,
    incoming: Sender<Incoming>,
    out: SyncSender<FromWorker>,
) -> Result<RunningStream, WorkerError> {
    let name = context.task.name.clone();
    let failed = |source: LoopError| WorkerError::Stream { name: name.clone(), source };
    let (event_loop, waker) = EventLoop::new().map_err(failed)?;
    let (control, orders) = channel();
    let is_producing = matches!(context.task.role, StreamRole::Produce(_));
    let thread = thread::Builder::new()
        .name(name.clone())
        .spawn(move || {
            let ends = TellEnd { incoming, index };
            let prepared = || {
                let _ = ends.incoming.send(Incoming::Prepared);
            };
            build(context)
                .map_err(LoopError::from)
                .and_then(|mut stream| event_loop.run(stream.as_mut(), &orders, prepared, &out))
        })
        .map_err(WorkerError::Lab)?;
    Ok(RunningStream { name, is_producing, control, waker, thread: Some(thread) })
}

fn build(context: StreamContext) -> Result<Box<dyn Stream>, StreamError> {
    if let Some(java) = context.task.java.clone() {
        return java::stream(&java, context);
    }
    Ok(match context.task.role.clone() {
        StreamRole::Produce(plan) => Box::new(ProduceStream::new(plan, context)?),
        StreamRole::Consume(plan) => Box::new(ConsumeStream::new(&plan, context)),
    })
}

fn context(
    task: &WorkerTask,
    security: &ConnectionSecurity,
    stream: &StreamTask,
) -> Result<StreamContext, WorkerError> {
    let address = |text: &String| {
        let (host, port) = text.rsplit_once(':').ok_or_else(|| WorkerError::Address(text.clone()))?;
        let port = port.parse().map_err(|_| WorkerError::Address(text.clone()))?;
        Ok((host.trim_matches(['[', ']']).to_owned(), port))
    };
    let bootstrap = if stream.bootstrap.is_empty() { &task.bootstrap } else { &stream.bootstrap };
    Ok(StreamContext {
        worker: task.worker,
        run_id: task.run_id,
        seed: stream.seed,
        bootstrap: bootstrap.iter().map(address).collect::<Result<_, WorkerError>>()?,
        client_id_prefix: task.client_id_prefix.clone(),
        wall_offset_ns: task.wall_offset_ns,
        tick_ns: task.tick_ns,
        phases: task.phases,
        has_producers: task.has_producers,
        task: stream.clone(),
        given: GivenBySource::new(),
        groups: ReadGroups::default(),
        security: security.clone(),
        java_connection: None,
        events: Events::default(),
    })
}
