//! The worker process: reads its task from the lab, runs one thread per stream, writes what they saw.
//!
//! The end of the control stream ends the process, so a worker never outlives its lab.

use crate::consume::ConsumeStream;
use crate::event_loop::{Control, EventLoop, LoopError};
use crate::framing::{read_frame, write_frame};
use crate::net::monotonic_ns;
use crate::produce::ProduceStream;
use crate::schedule::mix;
use crate::stream::{Events, Stream, StreamContext, StreamError};
use kdyno_model::sample::StreamTotals;
use kdyno_model::worker::{FromWorker, PROTOCOL_VERSION, StreamRole, StreamTask, ToWorker, WorkerTask};
use mio::Waker;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
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
    /// The lab said something out of order.
    #[error("the lab did not send a task")]
    NoTask,
    /// An address of the task is no `host:port`.
    #[error("`{0}` is not a host and a port")]
    Address(String),
    /// A stream failed.
    #[error("stream {name}: {source}")]
    Stream {
        /// The load item.
        name: String,
        /// Why.
        source: LoopError,
    },
    /// A thread died; a defect of kdyno.
    #[error("the thread of stream {0} panicked")]
    Panicked(String),
}

/// One stream's thread.
struct Running {
    name: String,
    is_producing: bool,
    control: Sender<Control>,
    waker: Waker,
    thread: Option<JoinHandle<Result<StreamTotals, LoopError>>>,
}

impl Running {
    fn tell(&self, control: Control) {
        // A thread that has ended needs no telling.
        let _ = self.control.send(control);
        let _ = self.waker.wake();
    }
}

/// Tells the main thread that a stream's thread has ended, also when it ended by a panic.
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
    Lab(ToWorker),
    LabGone,
    Ended(usize),
}

/// Runs a worker whose lab is at the other end of `fd`, to the end of its task.
///
/// # Errors
/// When the task cannot be done; the lab was told why if it still listens.
pub fn main(fd: OwnedFd) -> Result<(), WorkerError> {
    let stream = UnixStream::from(fd);
    let mut reader = stream.try_clone()?;
    let mut writer = BufWriter::new(stream);
    write_frame(&mut writer, &FromWorker::Hello { protocol: PROTOCOL_VERSION })?;
    let Some(ToWorker::Prepare(task)) = read_frame(&mut reader)? else { return Err(WorkerError::NoTask) };
    let (out, messages) = sync_channel(MESSAGES_MAX);
    let writing = thread::spawn(move || write_messages(&mut writer, &messages));
    let result = run(*task, reader, &out);
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

fn write_messages(writer: &mut BufWriter<UnixStream>, messages: &Receiver<FromWorker>) -> io::Result<()> {
    while let Ok(message) = messages.recv() {
        write_frame(writer, &message)?;
    }
    Ok(())
}

/// Passes the lab's messages on, then its end.
fn read_lab(mut reader: UnixStream, incoming: &Sender<Incoming>) {
    while let Ok(Some(message)) = read_frame(&mut reader) {
        if incoming.send(Incoming::Lab(message)).is_err() {
            return;
        }
    }
    let _ = incoming.send(Incoming::LabGone);
}

fn run(
    task: WorkerTask,
    reader: UnixStream,
    out: &SyncSender<FromWorker>,
) -> Result<Vec<StreamTotals>, WorkerError> {
    let (incoming, messages) = channel();
    let for_lab = incoming.clone();
    thread::spawn(move || read_lab(reader, &for_lab));
    let (prepared, all_prepared) = sync_channel(task.streams.len().max(1));
    let mut streams = Vec::new();
    for (index, stream) in task.streams.iter().enumerate() {
        streams.push(spawn(&task, stream, index, incoming.clone(), prepared.clone(), out.clone())?);
    }
    let waiting = streams.len();
    let for_prepared = out.clone();
    thread::spawn(move || {
        if (0..waiting).all(|_| all_prepared.recv().is_ok()) {
            let _ = for_prepared.send(FromWorker::Prepared);
        }
    });
    drop(prepared);
    supervise(&mut streams, &messages)
}

/// Waits for the streams' end, doing what the lab says meanwhile.
fn supervise(
    streams: &mut [Running],
    messages: &Receiver<Incoming>,
) -> Result<Vec<StreamTotals>, WorkerError> {
    let mut totals = Vec::new();
    let mut producing = streams.iter().filter(|stream| stream.is_producing).count();
    while totals.len() < streams.len() {
        match messages.recv().unwrap_or(Incoming::LabGone) {
            Incoming::Lab(ToWorker::Start { t0_monotonic_ns }) => {
                streams.iter().for_each(|stream| stream.tell(Control::Start(t0_monotonic_ns)));
            }
            Incoming::Lab(ToWorker::Stop) => streams.iter().for_each(|stream| stream.tell(Control::Stop)),
            Incoming::Lab(ToWorker::Prepare(_)) => return Err(WorkerError::NoTask),
            Incoming::LabGone => streams.iter().for_each(|stream| stream.tell(Control::Abandon)),
            Incoming::Ended(index) => {
                let ended = &mut streams[index];
                let name = ended.name.clone();
                let was_producing = ended.is_producing;
                let result = ended.thread.take().map(JoinHandle::join);
                match result {
                    Some(Ok(Ok(stream_totals))) => totals.push(stream_totals),
                    Some(Ok(Err(source))) => {
                        streams.iter().for_each(|stream| stream.tell(Control::Abandon));
                        return Err(WorkerError::Stream { name, source });
                    }
                    _ => {
                        streams.iter().for_each(|stream| stream.tell(Control::Abandon));
                        return Err(WorkerError::Panicked(name));
                    }
                }
                producing -= usize::from(was_producing);
                if was_producing && producing == 0 {
                    streams.iter().for_each(|stream| stream.tell(Control::ProducersDone));
                }
            }
        }
    }
    totals.sort_by_key(|stream| stream.stream);
    Ok(totals)
}

/// Starts a stream's thread. Its `Prepared` goes to `prepared`, everything else to `out`.
fn spawn(
    task: &WorkerTask,
    stream: &StreamTask,
    index: usize,
    incoming: Sender<Incoming>,
    prepared: SyncSender<FromWorker>,
    out: SyncSender<FromWorker>,
) -> Result<Running, WorkerError> {
    let name = stream.name.clone();
    let failed = |source: LoopError| WorkerError::Stream { name: name.clone(), source };
    let (event_loop, waker) = EventLoop::new().map_err(failed)?;
    let context = context(task, stream)?;
    let (control, orders) = channel();
    let is_producing = matches!(stream.role, StreamRole::Produce(_));
    let thread = thread::Builder::new()
        .name(stream.name.clone())
        .spawn(move || {
            let _tells_its_end = TellEnd { incoming, index };
            build(context)
                .map_err(LoopError::from)
                .and_then(|mut stream| event_loop.run(stream.as_mut(), &orders, &prepared, &out))
        })
        .map_err(WorkerError::Lab)?;
    Ok(Running { name: stream.name.clone(), is_producing, control, waker, thread: Some(thread) })
}

fn build(context: StreamContext) -> Result<Box<dyn Stream>, StreamError> {
    Ok(match context.task.role.clone() {
        StreamRole::Produce(plan) => Box::new(ProduceStream::new(plan, context)?),
        StreamRole::Consume(plan) => Box::new(ConsumeStream::new(&plan, context)),
    })
}

fn context(task: &WorkerTask, stream: &StreamTask) -> Result<StreamContext, WorkerError> {
    let address = |text: &String| {
        let (host, port) = text.rsplit_once(':').ok_or_else(|| WorkerError::Address(text.clone()))?;
        let port = port.parse().map_err(|_| WorkerError::Address(text.clone()))?;
        Ok((host.trim_matches(['[', ']']).to_owned(), port))
    };
    Ok(StreamContext {
        worker: task.worker,
        run_id: task.run_id,
        seed: mix(task.seed, u64::from(stream.stream)),
        bootstrap: task.bootstrap.iter().map(address).collect::<Result<_, WorkerError>>()?,
        client_id_prefix: task.client_id_prefix.clone(),
        wall_offset_ns: wall_ns() - monotonic_ns() as i64,
        tick_ns: task.tick_ns,
        phases: task.phases.clone(),
        has_producers: task.streams.iter().any(|stream| matches!(stream.role, StreamRole::Produce(_))),
        task: stream.clone(),
        events: Events::default(),
    })
}

fn wall_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
