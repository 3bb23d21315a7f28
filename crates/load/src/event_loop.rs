//! Turns a stream: waits for sockets, the clock and the control channel, and lets the stream act.
//!
//! One thread per stream. It sleeps in `epoll` with a timer file descriptor, because `epoll`'s own time-outs
//! are whole milliseconds.

use crate::net::{RealSockets, monotonic_ns};
use crate::stream::{SocketReadiness, Stream, StreamError};
use kdyno_model::plan::PhasesPlan;
use kdyno_model::sample::StreamTotals;
use kdyno_model::worker::FromWorker;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::Duration;
use thiserror::Error;

const TIMER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// Longest sleep, for a look at the control channel; nothing is scheduled by it.
const SLEEP_MAX: Duration = Duration::from_millis(500);

/// After a stop: how long what is in flight may take to be answered. Less than the lab waits before it ends a
/// worker that does not end by itself, so that the totals are handed in.
const STOP_DRAIN_NS: u64 = 5_000_000_000;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

/// Input of a stream's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamControl {
    /// The load begins at this instant, T0, ns on CLOCK_MONOTONIC.
    Start(u64),
    /// The measure phase begins so much later than T0, ns.
    Measure(u64),
    /// No producer of the trial is left: nothing new will come, catch up and end.
    Drain,
    /// End the load, bring home what is in flight, soon.
    Stop,
    /// End at once: the listener has gone.
    Abandon,
}

/// Why a stream's thread ended early.
#[derive(Debug, Error)]
pub enum LoopError {
    /// The operating system refused something.
    #[error("the event loop failed: {0}")]
    Io(#[from] io::Error),
    /// The stream cannot run.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The thread stood still for so long that records were due before it read when the measure phase begins.
    #[error(
        "it learned {late_ms} ms too late that the measure phase begins, though it was announced in time"
    )]
    MeasureMissed {
        /// From the phase's first instant to the thread's last turn before it learned of it, ms.
        late_ms: u64,
    },
    /// Asked to end at once.
    #[error("the lab is gone")]
    Abandoned,
}

impl From<rustix::io::Errno> for LoopError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

/// The waiting side of a stream's thread.
#[derive(Debug)]
pub struct EventLoop {
    poll: Poll,
    timer: OwnedFd,
    armed_ns: u64,
    sockets: RealSockets,
}

impl EventLoop {
    /// An event loop and what wakes it from another thread.
    ///
    /// # Errors
    /// When the operating system has no more descriptors.
    pub fn new() -> Result<(Self, Arc<Waker>), LoopError> {
        let poll = Poll::new()?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let sockets = RealSockets::new(poll.registry().try_clone()?, Arc::clone(&waker));
        Ok((Self { poll, timer, armed_ns: 0, sockets }, waker))
    }

    /// Runs a stream from its first connection to its last outcome. `prepared` is called when it can start.
    ///
    /// # Errors
    /// When the stream cannot run, the operating system fails, or the control channel says so.
    pub fn run(
        mut self,
        stream: &mut dyn Stream,
        control: &Receiver<StreamControl>,
        prepared: impl Fn(),
        out: &SyncSender<FromWorker>,
    ) -> Result<StreamTotals, LoopError> {
        let mut state = StreamState::Connecting;
        let mut is_prepared = false;
        let mut events = Events::with_capacity(EVENTS_MAX);
        let (mut turned_ns, mut looked_ns) = (0, monotonic_ns());
        loop {
            while let Some(command) = next_control(control)? {
                state = state.apply(command, stream, turned_ns)?;
            }
            let now_ns = monotonic_ns();
            stream.turn(&mut self.sockets);
            turned_ns = monotonic_ns();
            hand_over(stream, state.t0_ns().unwrap_or(now_ns), out)?;
            if let Some(failure) = stream.failure() {
                // What was counted until now is evidence.
                stream.finish(turned_ns);
                hand_over(stream, state.t0_ns().unwrap_or(now_ns), out)?;
                return Err(failure.into());
            }
            match state {
                // Its clients come when their time is there; the start does not wait for them.
                StreamState::Connecting if stream.context().is_late() => {
                    prepared();
                    state = StreamState::Prepared;
                }
                StreamState::Connecting if stream.is_connected()? => {
                    stream.prepare()?;
                    is_prepared = true;
                    state = StreamState::Preparing;
                    // It may have something to ask first.
                    continue;
                }
                StreamState::Preparing if stream.is_ready()? => {
                    prepared();
                    state = StreamState::Prepared;
                }
                StreamState::Running { end_ns, t0_ns } if stream.is_done() || now_ns >= end_ns => {
                    let totals = stream.finish(now_ns);
                    hand_over(stream, t0_ns, out)?;
                    return Ok(totals);
                }
                StreamState::Running { .. } if !is_prepared && stream.is_connected()? => {
                    stream.prepare()?;
                    is_prepared = true;
                    continue;
                }
                _ => {}
            }
            let deadline_ns = stream.next_deadline().unwrap_or(u64::MAX).min(state.end_ns());
            self.wait(deadline_ns, &mut events)?;
            let returned_ns = monotonic_ns();
            let reported_ns = reported_ns(looked_ns, deadline_ns, returned_ns);
            looked_ns = returned_ns;
            let clients = stream.client_count().max(1);
            let sockets = events.iter().filter(|event| event.token().0 < WAKER.0);
            let ready = sockets.map(|event| (event.token().0, event.is_writable()));
            let failed = self.sockets.take_failed().into_iter().map(|id| (id, false));
            for (id, is_writable) in ready.chain(failed) {
                let (client, connection) = (id % clients, id / clients);
                stream.on_ready(
                    client,
                    connection,
                    SocketReadiness { is_writable, reported_ns },
                    &mut self.sockets,
                );
            }
        }
    }

    /// Sleeps until a socket is ready, the deadline is there, or another thread wakes it.
    fn wait(&mut self, deadline_ns: u64, events: &mut Events) -> Result<(), LoopError> {
        let mut timeout = SLEEP_MAX;
        if deadline_ns <= monotonic_ns() {
            timeout = Duration::ZERO;
        } else if deadline_ns != self.armed_ns && deadline_ns != u64::MAX {
            let at = Timespec {
                tv_sec: (deadline_ns / 1_000_000_000) as i64,
                tv_nsec: (deadline_ns % 1_000_000_000) as _,
            };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
            self.armed_ns = deadline_ns;
        }
        match self.poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => Ok(other?),
        }
    }
}

/// From when on it is the loop's own delay that it has not read what is there, ns. It looked at its sockets at
/// `looked_ns`, then had something to do at `deadline_ns`, and learned at `returned_ns` which sockets are ready.
///
/// That is when it learned it, unless it had something to do before: then it should have looked at that instant, and
/// what kept it from it (a CPU that others had, a stop, its own work) is not the cluster's. What came in the
/// meantime is counted as if it had been there at once, so what is left to the cluster is never too much by that.
/// A deadline before the last look was no appointment: the loop went on as soon as it could.
pub fn reported_ns(looked_ns: u64, deadline_ns: u64, returned_ns: u64) -> u64 {
    if deadline_ns > looked_ns { deadline_ns.min(returned_ns) } else { returned_ns }
}

/// What the control channel says next, if anything.
fn next_control(control: &Receiver<StreamControl>) -> Result<Option<StreamControl>, LoopError> {
    match control.try_recv() {
        Ok(StreamControl::Abandon) | Err(TryRecvError::Disconnected) => Err(LoopError::Abandoned),
        Ok(command) => Ok(Some(command)),
        Err(TryRecvError::Empty) => Ok(None),
    }
}

/// How far a stream's thread is.
#[derive(Debug, Clone, Copy)]
enum StreamState {
    Connecting,
    Preparing,
    Prepared,
    /// From the start on; the end is known once the measure phase is announced, or the load stopped.
    Running {
        t0_ns: u64,
        end_ns: u64,
    },
}

impl StreamState {
    fn t0_ns(self) -> Option<u64> {
        match self {
            Self::Running { t0_ns, .. } => Some(t0_ns),
            _ => None,
        }
    }

    fn end_ns(self) -> u64 {
        match self {
            Self::Running { end_ns, .. } => end_ns,
            _ => u64::MAX,
        }
    }

    /// Does what was requested of the stream; its last turn ended at `turned_ns`.
    fn apply(
        self,
        command: StreamControl,
        stream: &mut dyn Stream,
        turned_ns: u64,
    ) -> Result<Self, LoopError> {
        let now_ns = monotonic_ns();
        Ok(match (command, self) {
            (StreamControl::Start(t0_ns), _) => {
                stream.start(t0_ns);
                Self::Running { t0_ns, end_ns: u64::MAX }
            }
            (StreamControl::Measure(start_ns), Self::Running { t0_ns, end_ns }) => {
                let measure_ns = t0_ns.saturating_add(start_ns);
                if turned_ns >= measure_ns {
                    return Err(LoopError::MeasureMissed { late_ms: (turned_ns - measure_ns) / 1_000_000 });
                }
                let PhasesPlan { measure_ns: length_ns, drain_ns, .. } = stream.context().phases;
                stream.measure_begins(start_ns);
                let drained_ns = measure_ns.saturating_add(length_ns).saturating_add(drain_ns);
                Self::Running { t0_ns, end_ns: end_ns.min(drained_ns) }
            }
            (StreamControl::Stop, Self::Running { t0_ns, end_ns }) => {
                stream.stop(now_ns);
                Self::Running { t0_ns, end_ns: end_ns.min(now_ns + STOP_DRAIN_NS) }
            }
            // A stream that has not started has nothing to bring home.
            (StreamControl::Stop, _) => Self::Running { t0_ns: now_ns, end_ns: now_ns },
            (StreamControl::Drain, _) => {
                stream.stop(now_ns);
                self
            }
            (StreamControl::Measure(_) | StreamControl::Abandon, _) => self,
        })
    }
}

/// Hands samples and events on. The channel is deep enough for minutes; a lab that does not read for longer
/// makes this wait, which then shows as schedule delay.
fn hand_over(stream: &mut dyn Stream, t0_ns: u64, out: &SyncSender<FromWorker>) -> Result<(), LoopError> {
    for sample in stream.take_samples() {
        out.send(FromWorker::Sample(Box::new(sample))).map_err(|_| LoopError::Abandoned)?;
    }
    for message in stream.take_messages() {
        out.send(message).map_err(|_| LoopError::Abandoned)?;
    }
    let number = stream.context().task.stream;
    for event in stream.context().events.take(t0_ns, number) {
        out.send(FromWorker::Event(event)).map_err(|_| LoopError::Abandoned)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::reported_ns;

    #[test]
    fn late_events_count_from_when_the_loop_should_have_looked() {
        // Looked last, had something to do, learned.
        assert_eq!(reported_ns(100, 200, 150), 150, "a socket was ready before anything else was due");
        assert_eq!(reported_ns(100, 200, 200), 200);
        assert_eq!(reported_ns(100, 200, 900), 200, "it should have looked at 200");
        assert_eq!(reported_ns(100, u64::MAX, 900), 900, "nothing was due");
        for deadline_ns in [0, 100] {
            assert_eq!(reported_ns(100, deadline_ns, 900), 900, "no appointment that it could have kept");
        }
    }
}
