//! The one thread: accepts, and gives each connection its turns.

use super::answer::SharedState;
use super::connection::{BUFFER_BYTES, NullBrokerConnection, Turn};
use super::options::{NullBrokerOptions, NullBrokerStats};
use super::tls::NullBrokerTls;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long `stop` may go unseen.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Connections at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 16_384;

/// Memory that connections may hold for unsent answers and unfinished requests, all together; the one that
/// goes beyond is closed.
const HELD_BYTES_MAX: usize = 256 << 20;

/// Events taken from the kernel at a time.
const EVENTS: usize = 1024;

/// How long to leave a listener alone that cannot accept (out of descriptors).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

const LISTENER: Token = Token(usize::MAX);

struct NullBrokerLoop {
    poll: Poll,
    listener: TcpListener,
    tls: Option<NullBrokerTls>,
    broker: SharedState,
    buffer: Vec<u8>,
    connections: BTreeMap<Token, NullBrokerConnection>,
    next_token: usize,
    /// Connections that have more to do without a new event.
    again: VecDeque<Token>,
    /// Connections that hold an answer back.
    held: BTreeSet<(Instant, Token)>,
    /// Memory that connections hold, all together.
    held_bytes: usize,
    accept_at: Option<Instant>,
}

/// Serves until `stop`.
pub(super) fn run(
    listener: std::net::TcpListener,
    options: &NullBrokerOptions,
    tls: Option<NullBrokerTls>,
    stop: &AtomicBool,
) -> io::Result<NullBrokerStats> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(listener);
    let poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut server = NullBrokerLoop {
        poll,
        listener,
        tls,
        broker: SharedState::new(address.ip().to_string(), address.port(), options),
        buffer: vec![0; BUFFER_BYTES],
        connections: BTreeMap::new(),
        next_token: 0,
        again: VecDeque::new(),
        held: BTreeSet::new(),
        held_bytes: 0,
        accept_at: None,
    };
    let mut events = Events::with_capacity(EVENTS);
    while !stop.load(Ordering::Relaxed) {
        server.wait(&mut events)?;
        for event in &events {
            match event.token() {
                LISTENER => server.accept(),
                token => server.event(token, event.is_read_closed() || event.is_error()),
            }
        }
        server.turns_due();
    }
    Ok(server.broker.stats)
}

impl NullBrokerLoop {
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let timeout = if self.again.is_empty() {
            let held = self.held.first().map(|(at, _)| *at);
            let next = [held, self.accept_at].into_iter().flatten().min();
            next.map_or(STOP_CHECK, |at| at.saturating_duration_since(Instant::now()).min(STOP_CHECK))
        } else {
            Duration::ZERO
        };
        match self.poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }

    fn event(&mut self, token: Token, end_is_near: bool) {
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.end_is_near |= end_is_near;
            self.turn(token);
        }
    }

    /// Turns that no event asks for: the rest of long ones, held-back answers, a listener that failed.
    fn turns_due(&mut self) {
        for _ in 0..self.again.len() {
            let Some(token) = self.again.pop_front() else { break };
            if let Some(connection) = self.connections.get_mut(&token) {
                connection.is_queued = false;
                self.turn(token);
            }
        }
        let now = Instant::now();
        while let Some((at, token)) = self.held.first().copied().filter(|(at, _)| *at <= now) {
            self.held.remove(&(at, token));
            self.turn(token);
        }
        if self.accept_at.is_some_and(|at| at <= now) {
            self.accept();
        }
    }

    fn accept(&mut self) {
        self.accept_at = None;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if self.connections.len() < CONNECTIONS_MAX => {
                    if let Err(error) = self.add(stream) {
                        self.note(&error);
                    }
                }
                Ok(_) => self.note(&io::Error::other("too many connections")),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.note(&error);
                    self.accept_at = Some(Instant::now() + ACCEPT_RETRY);
                    return;
                }
            }
        }
    }

    fn add(&mut self, mut stream: mio::net::TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let token = Token(self.next_token);
        self.next_token += 1;
        self.poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        self.broker.stats.connections += 1;
        let tls = self.tls.as_ref().map(NullBrokerTls::open).transpose()?;
        self.connections.insert(token, NullBrokerConnection::new(stream, tls));
        Ok(())
    }

    fn turn(&mut self, token: Token) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let held_before = connection.held_bytes();
        let turn = connection.turn(&mut self.broker, &mut self.buffer, Instant::now());
        self.held_bytes = self.held_bytes - held_before + connection.held_bytes();
        if self.held_bytes > HELD_BYTES_MAX && connection.held_bytes() > 0 {
            self.fail(token, &io::Error::other("connections hold too much memory"));
            return;
        }
        match turn {
            Ok(Turn::Idle) => {}
            Ok(Turn::Again) if connection.is_queued => {}
            Ok(Turn::Again) => {
                connection.is_queued = true;
                self.again.push_back(token);
            }
            Ok(Turn::Until(at)) => {
                self.held.insert((at, token));
            }
            Ok(Turn::Closed) => self.remove(token),
            Err(error) => self.fail(token, &error),
        }
    }

    fn fail(&mut self, token: Token, error: &io::Error) {
        self.note(error);
        self.remove(token);
    }

    fn remove(&mut self, token: Token) {
        if let Some(mut connection) = self.connections.remove(&token) {
            self.held_bytes -= connection.held_bytes();
            // Closing the descriptor ends the registration as well, so a failure here changes nothing.
            let _ = self.poll.registry().deregister(&mut connection.stream);
        }
    }

    fn note(&mut self, error: &io::Error) {
        self.broker.stats.errors += 1;
        self.broker.stats.last_error = Some(error.to_string());
    }
}
