//! The relay's one thread: waits for sockets and for the next instant at which something is due.
//!
//! Sockets are watched edge by edge: each connection remembers what it can read and write, and is worked on when that
//! changes, when something of it is due, or when its link or memory has room again. A timer of the kernel (timerfd) wakes it, since a
//! time-out of epoll is rounded up by the kernel's slack.

use super::connection::{After, PassContext, RelayedConnection, reset};
use super::link::{Direction, READ_BYTES_MAX};
use super::spec::RelaySpec;
use super::tally::Tallies;
use crate::error::TestbedError;
use kdyno_model::seed::mix;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

const NS_PER_S: u64 = 1_000_000_000;
/// Most connections at once; one more is reset, and counted.
pub const CONNECTIONS_MAX: usize = 8_192;
/// Most bytes that all connections hold together.
const HELD_BYTES_MAX: usize = 512 << 20;
/// Events taken at once.
const EVENTS_MAX: usize = 256;
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// How long no connection is accepted when this process has no more files.
const NO_FILES_NS: u64 = 100_000_000;
/// What the timer's events carry; sockets carry twice their connection's number, and one more for the second socket.
const TIMER: u64 = u64::MAX;
/// Listeners carry this and their place.
const LISTENERS: u64 = 1 << 62;

/// A port where connections come in.
struct RelayListener {
    listener: TcpListener,
    link: usize,
    from: usize,
    to: u16,
}

/// All that the relay knows.
pub(super) struct RelayLoop {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// For when the timer is set.
    set_ns: Option<u64>,
    listening: Vec<RelayListener>,
    /// A listener may have more to accept from then on.
    accept_again_ns: Option<u64>,
    links: Vec<[Direction; 2]>,
    connections: BTreeMap<u64, RelayedConnection>,
    pub(super) connections_max: usize,
    next_number: u64,
    /// Connections by when they have something to pass on; one that is over is passed over.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    /// Connections that have more to do at once.
    again: VecDeque<u64>,
    /// Connections that wait for their link or for memory.
    waiting: Vec<u64>,
    held: usize,
    tallies: Tallies,
    tally_at_ns: u64,
    scratch: Vec<u8>,
}

impl RelayLoop {
    /// Listens at every entry.
    pub(super) fn new(spec: &RelaySpec) -> Result<Self, TestbedError> {
        let failed = |e: rustix::io::Errno| TestbedError::Relay(e.to_string());
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags).map_err(failed)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)
            .map_err(failed)?;
        let mut listening = Vec::new();
        for (link, entry) in
            spec.links.iter().enumerate().flat_map(|(link, of)| of.entries.iter().map(move |e| (link, e)))
        {
            let no_port =
                |e: &dyn std::fmt::Display| TestbedError::Relay(format!("port {}: {e}", entry.listen));
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, entry.listen)).map_err(|e| no_port(&e))?;
            listener.set_nonblocking(true).map_err(|e| no_port(&e))?;
            let data = EventData::new_u64(LISTENERS + listening.len() as u64);
            epoll::add(&epoll, &listener, data, EventFlags::IN | EventFlags::ET).map_err(|e| no_port(&e))?;
            listening.push(RelayListener {
                listener,
                link,
                from: usize::from(entry.from.min(1)),
                to: entry.to,
            });
        }
        let directions = (0u64..)
            .zip(&spec.links)
            .map(|(place, of)| [0, 1].map(|end| Direction::new(of.link, mix(spec.seed, 2 * place + end))));
        Ok(Self {
            epoll,
            timer,
            set_ns: None,
            listening,
            accept_again_ns: None,
            links: directions.collect(),
            connections: BTreeMap::new(),
            connections_max: CONNECTIONS_MAX,
            next_number: 0,
            due: BinaryHeap::new(),
            again: VecDeque::new(),
            waiting: Vec::new(),
            held: 0,
            tallies: Tallies::new(&spec.tally)?,
            tally_at_ns: 0,
            scratch: vec![0; READ_BYTES_MAX],
        })
    }

    /// Relays until the process ends.
    ///
    /// # Errors
    /// The kernel refuses what it never should, or the tally cannot be written.
    pub(super) fn run(mut self) -> Result<std::convert::Infallible, TestbedError> {
        let failed = |e: rustix::io::Errno| TestbedError::Relay(e.to_string());
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            self.set_timer().map_err(failed)?;
            events.clear();
            let time_out = (!self.again.is_empty()).then_some(&NO_TIME);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), time_out) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
            for event in &events {
                self.hear(event.data.u64(), event.flags);
                // What is due comes first.
                self.pass_on_due();
            }
            for _ in 0..self.again.len() {
                self.pass_on_due();
                let next = self.again.pop_front();
                next.into_iter().for_each(|number| self.work(number));
            }
            self.pass_on_due();
            self.wake_waiting();
            self.accept_again();
            self.tally()?;
        }
    }

    fn hear(&mut self, data: u64, flags: EventFlags) {
        if data == TIMER {
            self.set_ns = None;
        } else if data >= LISTENERS {
            self.accept(usize::try_from(data - LISTENERS).unwrap_or(usize::MAX));
        } else {
            let gone = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            let can_read = gone || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
            let can_write = gone || flags.contains(EventFlags::OUT);
            if let Some(connection) = self.connections.get_mut(&(data / 2)) {
                connection.is_ready(usize::from(!data.is_multiple_of(2)), can_read, can_write);
                self.work(data / 2);
            }
        }
    }

    fn accept(&mut self, place: usize) {
        let Some(RelayListener { listener, link, from, to }) = self.listening.get(place) else { return };
        let (link, from, to) = (*link, *from, *to);
        loop {
            let accepted = match listener.accept() {
                Ok((accepted, _)) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) =>
                {
                    continue;
                }
                // No more files: waiting connections stay in the kernel's queue.
                Err(_) => {
                    self.accept_again_ns = Some(now_ns() + NO_FILES_NS);
                    return;
                }
            };
            let windows = [0, 1].map(|end| self.links[link][end].window_bytes());
            let number = self.next_number;
            if self.connections.len() >= self.connections_max {
                reset(&accepted);
                self.tallies.refused();
                continue;
            }
            // What cannot be carried on is closed by being dropped.
            let Ok(connection) = RelayedConnection::new((link, from), accepted, to, windows) else {
                continue;
            };
            let watched = (0u64..).zip(connection.sockets()).try_for_each(|(socket, of)| {
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(&self.epoll, of.as_fd(), EventData::new_u64(2 * number + socket), flags)
            });
            if watched.is_ok() {
                self.next_number += 1;
                self.connections.insert(number, connection);
            }
        }
    }

    /// Works on a connection. What it has more to do at once is put off until others had their turn.
    fn work(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let held = connection.held();
        let mut work = PassContext {
            link: &mut self.links[connection.link],
            tallies: &mut self.tallies,
            scratch: &mut self.scratch,
            room: HELD_BYTES_MAX.saturating_sub(self.held),
        };
        let was_waiting = connection.is_waiting();
        let after = connection.work(now_ns, &mut work);
        self.held = (self.held + connection.held()).saturating_sub(held);
        let After::GoesOn { again } = after else {
            self.held = self.held.saturating_sub(connection.held());
            self.connections.remove(&number);
            return;
        };
        if connection.is_waiting() && !was_waiting {
            self.waiting.push(number);
        }
        if let Some(due_ns) = connection.next_due_ns()
            && connection.listed_ns.is_none_or(|listed_ns| due_ns < listed_ns)
        {
            connection.listed_ns = Some(due_ns);
            self.due.push(Reverse((due_ns, number)));
        }
        if again {
            self.again.push_back(number);
        }
    }

    /// Passes on what is due by now. What becomes due meanwhile waits until sockets had their turn: without a delay a busy
    /// connection would have it always.
    fn pass_on_due(&mut self) {
        let now_ns = now_ns();
        while let Some(number) = self.take_due(now_ns) {
            self.work(number);
        }
    }

    /// Takes the connection from the list that has waited longest of those whose time has come.
    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        loop {
            let Reverse((due_ns, number)) = *self.due.peek()?;
            if due_ns > now_ns {
                return None;
            }
            self.due.pop();
            if let Some(connection) =
                self.connections.get_mut(&number).filter(|of| of.listed_ns == Some(due_ns))
            {
                connection.listed_ns = None;
                return Some(number);
            }
        }
    }

    /// Lets those read again that waited for their link or for memory: who has waited longest comes first, and who was served
    /// goes to the end.
    fn wake_waiting(&mut self) {
        let mut still = Vec::new();
        for number in std::mem::take(&mut self.waiting) {
            let Some(connection) = self.connections.get_mut(&number) else { continue };
            let link = &self.links[connection.link];
            if self.held >= HELD_BYTES_MAX || connection.opens_ns(link, now_ns()).is_some() {
                still.push(number);
                continue;
            }
            connection.waits_no_more();
            self.work(number);
        }
        still.append(&mut self.waiting);
        self.waiting = still;
    }

    /// Writes what happened, once a second, and gives memory back.
    fn tally(&mut self) -> Result<(), TestbedError> {
        let now_ns = now_ns();
        if now_ns < self.tally_at_ns {
            return Ok(());
        }
        self.tally_at_ns = now_ns + NS_PER_S;
        self.connections.values_mut().for_each(RelayedConnection::shrink);
        self.tallies.write(now_ns)
    }

    /// Accepts again after a time without files.
    fn accept_again(&mut self) {
        if self.accept_again_ns.is_some_and(|again_ns| again_ns <= now_ns()) {
            self.accept_again_ns = None;
            (0..self.listening.len()).for_each(|place| self.accept(place));
        }
    }

    /// Sets the timer for the next instant at which something is to be done.
    fn set_timer(&mut self) -> rustix::io::Result<()> {
        let now_ns = now_ns();
        let due = self.due.peek().map(|Reverse((due_ns, _))| *due_ns);
        let open = self.waiting.iter().filter_map(|number| {
            let connection = self.connections.get(number)?;
            connection.opens_ns(&self.links[connection.link], now_ns)
        });
        let wanted = due.into_iter().chain(open).chain(self.accept_again_ns).chain([self.tally_at_ns]).min();
        if wanted == self.set_ns {
            return Ok(());
        }
        self.set_ns = wanted;
        // An instant that is past wakes at once; 0 would mean never.
        let value = wanted.map_or(0, |wanted_ns| wanted_ns.max(1));
        let spec = Itimerspec {
            it_interval: NO_TIME,
            it_value: Timespec {
                tv_sec: i64::try_from(value / NS_PER_S).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(value % NS_PER_S).unwrap_or(0),
            },
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec).map(|_| ())
    }
}

/// CLOCK_MONOTONIC, ns.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * NS_PER_S + now.tv_nsec.cast_unsigned()
}
