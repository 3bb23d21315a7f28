//! One connection over a link: two sockets, and a pipe in each direction.

use super::link::{Direction, READ_BYTES_MAX};
use super::pipe::{DirectionEnd, Pipe};
use super::tally::Tallies;
use rustix::fd::AsFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::time::Duration;

/// Reads of one socket before another connection has its turn.
const READS_MAX: u32 = 4;

/// State of a connection after it was worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It goes on; there may be more to do at once.
    GoesOn { again: bool },
    /// Both directions have ended, or it is gone.
    Over,
}

/// What a connection needs to pass bytes on.
pub(super) struct PassContext<'w> {
    /// The directions of its link, by the number of the end that sends.
    pub link: &'w mut [Direction; 2],
    pub tallies: &'w mut Tallies,
    /// Read into, then copied to where the bytes wait.
    pub scratch: &'w mut [u8],
    /// Bytes that all connections may hold beyond those that they do.
    pub room: usize,
}

/// A connection: socket 0 was accepted, socket 1 leads to where it goes.
#[derive(Debug)]
pub(super) struct RelayedConnection {
    pub(super) link: usize,
    sockets: [TcpStream; 2],
    /// What comes from socket 0, and from socket 1.
    pipes: [Pipe; 2],
    /// Direction of the link that each pipe takes.
    directions: [usize; 2],
    is_readable: [bool; 2],
    is_writable: [bool; 2],
    /// The pipe's end has been passed on.
    is_over: [bool; 2],
    is_connecting: bool,
    /// The instant for which it is on the list of what is due.
    pub(super) listed_ns: Option<u64>,
    /// Its sockets wait for their direction of the link, or for memory, before they are read.
    is_waiting: [bool; 2],
}

impl RelayedConnection {
    /// Goes on to a port of the loopback address.
    pub(super) fn new(
        (link, from): (usize, usize),
        accepted: TcpStream,
        to: u16,
        windows: [usize; 2],
    ) -> std::io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, to)) {
            // One that is refused at once says so as one that is refused later does.
            Ok(()) | Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::CONNREFUSED) => {}
            Err(error) => return Err(error.into()),
        }
        let onward = TcpStream::from(socket);
        accepted.set_nonblocking(true)?;
        accepted.set_nodelay(true)?;
        onward.set_nodelay(true)?;
        let directions = [from, 1 - from];
        Ok(Self {
            link,
            sockets: [accepted, onward],
            pipes: directions.map(|direction| Pipe::new(windows[direction])),
            directions,
            is_readable: [false; 2],
            is_writable: [false; 2],
            is_over: [false; 2],
            is_connecting: true,
            listed_ns: None,
            is_waiting: [false; 2],
        })
    }

    pub(super) fn sockets(&self) -> &[TcpStream; 2] {
        &self.sockets
    }

    /// A socket has something to read, or takes something again.
    pub(super) fn is_ready(&mut self, socket: usize, can_read: bool, can_write: bool) {
        self.is_readable[socket] |= can_read;
        self.is_writable[socket] |= can_write;
    }

    /// Whether it waits for its link or for memory.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting != [false; 2]
    }

    /// It is to try again.
    pub(super) fn waits_no_more(&mut self) {
        self.is_waiting = [false; 2];
    }

    /// From when on its link takes more of what waits for it; `None`: now.
    pub(super) fn opens_ns(&self, link: &[Direction; 2], now_ns: u64) -> Option<u64> {
        let waiting = [0, 1].into_iter().filter(|from| self.is_waiting[*from]);
        let until = waiting.map(|from| link[self.directions[from]].closed_until_ns(now_ns).unwrap_or(0));
        until.min().filter(|open_ns| *open_ns > 0)
    }

    /// Bytes that it holds.
    pub(super) fn held(&self) -> usize {
        self.pipes.iter().map(Pipe::len).sum()
    }

    /// Gives memory back that it does not need at the moment.
    pub(super) fn shrink(&mut self) {
        self.pipes.iter_mut().for_each(Pipe::shrink);
    }

    /// When it next has something to pass on to a socket that takes it.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        let due = |pipe: usize| {
            let can = self.is_writable[1 - pipe] && !self.is_over[pipe];
            self.pipes[pipe].next_due_ns().filter(|_| can)
        };
        due(0).into_iter().chain(due(1)).min()
    }

    /// Passes on what is due and takes in what has come; `now` returns the time, ns.
    pub(super) fn work(&mut self, now: impl Fn() -> u64, work: &mut PassContext<'_>) -> After {
        if self.is_connecting && !self.is_connected() {
            return if self.is_over[1] { self.reset() } else { After::GoesOn { again: false } };
        }
        let mut again = false;
        for from in [0, 1] {
            if self.pass_on(from, &now, work) {
                return self.reset();
            }
            again |= self.take_in(from, &now, work);
        }
        match self.is_over {
            [true, true] => After::Over,
            _ => After::GoesOn { again },
        }
    }

    /// Whether the way onward is open; where it was refused both directions are over.
    fn is_connected(&mut self) -> bool {
        if !self.is_writable[1] {
            return false;
        }
        match self.sockets[1].take_error() {
            Ok(None) if self.sockets[1].peer_addr().is_ok() => self.is_connecting = false,
            _ => self.is_over = [true; 2],
        }
        !self.is_connecting
    }

    /// Writes what is due of what came from a socket; whether the connection is gone.
    fn pass_on(&mut self, from: usize, now: &impl Fn() -> u64, work: &mut PassContext<'_>) -> bool {
        let (pipe, to) = (&mut self.pipes[from], 1 - from);
        while self.is_writable[to] && !self.is_over[from] {
            let due = pipe.due(now());
            if due.is_empty() {
                break;
            }
            match self.sockets[to].write(due) {
                Ok(count) => {
                    let passed_ns = now();
                    let tallies = &mut *work.tallies;
                    tallies.passed(self.directions[from], count);
                    pipe.passed(count, passed_ns, |late_ns| tallies.late(late_ns));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_writable[to] = false;
                    pipe.hold();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The receiver is gone. The sender learns it as over a real link: by a reset.
                Err(_) => return true,
            }
        }
        match pipe.end_due(now()) {
            Some(DirectionEnd::Fin) if !self.is_over[from] => {
                self.is_over[from] = true;
                // It fails only where the other end is gone already, which reading from it shows.
                let _ = self.sockets[to].shutdown(Shutdown::Write);
                false
            }
            Some(DirectionEnd::Reset) => true,
            _ => false,
        }
    }

    /// Reads what a socket has, as far as its link and its pipe take it; whether there is more at once.
    fn take_in(&mut self, from: usize, now: &impl Fn() -> u64, work: &mut PassContext<'_>) -> bool {
        let direction = self.directions[from];
        for _ in 0..READS_MAX {
            let pipe = &mut self.pipes[from];
            if !self.is_readable[from] || pipe.is_ended() {
                return false;
            }
            let link = &mut work.link[direction];
            let room = pipe.room().min(work.room).min(link.read_bytes_max()).min(READ_BYTES_MAX);
            if link.closed_until_ns(now()).is_some() || work.room == 0 {
                self.is_waiting[from] = true;
                return false;
            }
            if room == 0 {
                // What it holds is passed on first; then it comes here again.
                return false;
            }
            match self.sockets[from].read(&mut work.scratch[..room]) {
                Ok(0) => {
                    let due_ns = link.pass(now(), 0);
                    pipe.end(DirectionEnd::Fin, due_ns);
                }
                Ok(count) => {
                    let due_ns = link.pass(now(), count);
                    pipe.push(&work.scratch[..count], due_ns);
                    work.room -= count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_readable[from] = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    let due_ns = link.pass(now(), 0);
                    pipe.end(DirectionEnd::Reset, due_ns);
                }
            }
        }
        self.is_readable[from]
    }

    /// Ends it so that both ends see a reset, not an end in good order.
    fn reset(&self) -> After {
        for socket in &self.sockets {
            reset(socket);
        }
        After::Over
    }
}

/// Has a socket send a reset when it is closed.
pub(super) fn reset(socket: &TcpStream) {
    // It fails on no socket that is open.
    let _ = rustix::net::sockopt::set_socket_linger(socket.as_fd(), Some(Duration::ZERO));
}
