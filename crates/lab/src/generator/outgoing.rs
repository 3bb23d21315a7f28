//! The sending end of a session, over all of its connections: what is said is kept by [`Delivery`], and one thread sends it,
//! and each second what has come.
//!
//! Who reads a connection hardly waits for the other direction. The notes that it sends are few and short, are given up
//! where something else is being written for longer than [`NOTE_DEADLINE`], and what is written is waited for only once
//! the socket of the connection has been closed.

use super::delivery::{Delivery, Taken};
use super::session::{self, BEAT, BYTES, MESSAGE};
use kdyno_model::secret::Secret;
use serde::Serialize;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Bytes that may wait for a connection that is there; who says more waits with them.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// How long a note of who reads may wait for the stream, and how often it looks.
const NOTE_DEADLINE: Duration = Duration::from_secs(1);
const NOTE_LOOK: Duration = Duration::from_millis(1);

/// What is said in a session.
#[derive(Default)]
pub(super) struct Outgoing {
    state: Mutex<State>,
    changed: Condvar,
    /// The connection that is written to. Locked before `state`, if both are.
    stream: Mutex<Option<Connection>>,
    /// Its socket, closed to end it while somebody waits for it.
    socket: Mutex<Option<(u64, UnixStream)>>,
}

#[derive(Default)]
struct State {
    delivery: Delivery,
    /// Number of the last connection; the first one has 1.
    connection: u64,
    is_connected: bool,
    /// Why the session is over.
    over: Option<String>,
}

struct Connection {
    number: u64,
    writer: UnixStream,
}

/// Locks what a thread that failed has left whole: nothing that can fail happens while it is locked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outgoing {
    /// Without a connection yet. Its thread ends with the session.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let started = Arc::new(Self::default());
        let sending = Arc::clone(&started);
        std::thread::Builder::new().name("session-send".to_owned()).spawn(move || sending.send_all())?;
        Ok(started)
    }

    /// Goes on over another connection: the peer has got all frames up to `received`; `first` is sent before all else.
    /// Called by who reads it; the number of the connection.
    ///
    /// # Errors
    /// It cannot be written to, or the peer goes on somewhere else: [`io::ErrorKind::InvalidData`].
    pub(super) fn connect(&self, socket: UnixStream, received: u64, first: &[u8]) -> io::Result<u64> {
        let mut stream = locked(&self.stream);
        let mut writer = socket.try_clone()?;
        writer.write_all(first)?;
        let mut state = self.state();
        let resumed = state.delivery.resume(received);
        resumed.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        state.connection += 1;
        state.is_connected = true;
        let number = state.connection;
        *stream = Some(Connection { number, writer });
        *locked(&self.socket) = Some((number, socket));
        self.changed.notify_all();
        Ok(number)
    }

    /// Sends a message, on this connection or on the next one.
    ///
    /// # Errors
    /// The session is over.
    pub(super) fn message(&self, message: &impl Serialize) -> io::Result<()> {
        self.keep(MESSAGE, &[&serde_json::to_vec(message)?])
    }

    /// Sends bytes of a worker, at most [`session::PIECE_BYTES`].
    ///
    /// # Errors
    /// As [`Outgoing::message`].
    pub(super) fn bytes(&self, worker: u16, bytes: &[u8]) -> io::Result<()> {
        self.keep(BYTES, &[&worker.to_be_bytes(), bytes])
    }

    fn keep(&self, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
        let mut state = self.state();
        if state.over.is_none()
            && let Err(why) = state.delivery.keep(kind, parts)
        {
            state.over = Some(why);
        }
        self.changed.notify_all();
        while state.over.is_none() && state.is_connected && state.delivery.unsent_bytes() > UNSENT_BYTES_MAX {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.over.as_ref().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }

    /// Sends a message that is of no use on another connection, when the stream takes it. Without one it is lost.
    pub(super) fn note(&self, message: &impl Serialize) -> io::Result<()> {
        let note = session::note(message)?;
        self.write(locked(&self.stream), None, note.expose());
        Ok(())
    }

    /// Sends a note, unless the stream is written to for too long; for who reads the connection, and for last notes.
    pub(super) fn note_soon(&self, message: &impl Serialize) {
        let Ok(note) = session::note(message) else { return };
        let end = Instant::now() + NOTE_DEADLINE;
        loop {
            let stream = match self.stream.try_lock() {
                Ok(stream) => stream,
                Err(TryLockError::Poisoned(stream)) => stream.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() >= end => return,
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(NOTE_LOOK);
                    continue;
                }
            };
            return self.write(stream, None, note.expose());
        }
    }

    /// A frame of this number has come.
    pub(super) fn take(&self, number: u64) -> Taken {
        let mut state = self.state();
        let taken = state.delivery.take(number);
        if state.delivery.owes() {
            self.changed.notify_all();
        }
        taken
    }

    /// The peer has got all frames up to this number.
    ///
    /// # Errors
    /// It cannot have: [`io::ErrorKind::InvalidData`].
    pub(super) fn acknowledged(&self, number: u64) -> io::Result<()> {
        let acknowledged = self.state().delivery.acknowledged(number);
        acknowledged.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
    }

    /// Number of the last frame that has come, which the peer is sent by who asks.
    pub(super) fn received(&self) -> u64 {
        self.state().delivery.acknowledge()
    }

    /// Ends the connection of this number, if it is the last one; what is kept waits for another one.
    pub(super) fn break_off(&self, connection: u64) {
        let mut socket = locked(&self.socket);
        if let Some((_, socket)) = socket.take_if(|(number, _)| *number == connection) {
            // Who waits to write to it fails, and so leaves the stream.
            let _ = socket.shutdown(Shutdown::Both);
        }
        drop(socket);
        let mut stream = locked(&self.stream);
        drop(stream.take_if(|stream| stream.number == connection));
        let mut state = self.state();
        if state.connection == connection {
            state.is_connected = false;
        }
        self.changed.notify_all();
    }

    /// Ends the connection that there is.
    pub(super) fn break_any(&self) {
        let connection = self.state().connection;
        self.break_off(connection);
    }

    /// Whether there is a connection, as far as is known.
    pub(super) fn is_connected(&self) -> bool {
        self.state().is_connected
    }

    /// The session is over; the first reason counts.
    pub(super) fn end(&self, why: &str) {
        self.state().over.get_or_insert_with(|| why.to_owned());
        self.changed.notify_all();
    }

    /// Why the session is over.
    pub(super) fn over(&self) -> Option<String> {
        self.state().over.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    fn send_all(&self) {
        let mut beat = Instant::now();
        while let Some((connection, frame)) = self.wait_for_next(&mut beat) {
            self.write(locked(&self.stream), Some(connection), frame.expose());
        }
    }

    /// Waits for what is to be sent next, and over which connection; `None`: the session is over.
    fn wait_for_next(&self, beat: &mut Instant) -> Option<(u64, Arc<Secret>)> {
        let mut state = self.state();
        loop {
            if state.over.is_some() {
                return None;
            }
            let now = Instant::now();
            if state.is_connected {
                let connection = state.connection;
                if now >= *beat || state.delivery.owes() {
                    *beat = now + BEAT;
                    return Some((connection, Arc::new(session::received(state.delivery.acknowledge()))));
                }
                if let Some(frame) = state.delivery.next_frame() {
                    // Who said more than a connection takes at once may go on.
                    self.changed.notify_all();
                    return Some((connection, frame));
                }
            }
            let wait = if state.is_connected { beat.saturating_duration_since(now) } else { BEAT };
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes to the connection that there is, or to that of this number alone.
    fn write(&self, mut stream: MutexGuard<'_, Option<Connection>>, connection: Option<u64>, bytes: &[u8]) {
        let current = stream.as_mut();
        let current = current.filter(|current| connection.is_none_or(|number| number == current.number));
        let Some(current) = current else { return };
        let (number, writer) = (current.number, &mut current.writer);
        if writer.write_all(bytes).is_err() {
            drop(stream);
            self.break_off(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::{Arrived, Frame, ToAgent, read};
    use super::*;

    fn connected(outgoing: &Outgoing, received: u64) -> (UnixStream, u64) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let number = outgoing.connect(ours, received, &[]).expect("a connection");
        theirs.set_read_timeout(Some(Duration::from_secs(20))).expect("a deadline");
        (theirs, number)
    }

    /// The next worker that is to be started, and the number of that frame.
    fn started(stream: &mut UnixStream) -> (u64, u16) {
        loop {
            match read(stream).expect("a frame").expect("a frame") {
                Arrived::Numbered(number, Frame::Message(ToAgent::Start { worker })) => {
                    return (number, worker);
                }
                Arrived::Received(_) => {}
                _ => panic!("not sent"),
            }
        }
    }

    #[test]
    fn what_is_said_without_a_connection_is_sent_on_the_next_one() {
        let outgoing = Outgoing::start().expect("a thread");
        let say = |worker| outgoing.message(&ToAgent::Start { worker }).expect("kept");
        say(1);
        let (mut stream, first) = connected(&outgoing, 0);
        say(2);
        assert_eq!((started(&mut stream), started(&mut stream)), ((1, 1), (2, 2)));
        outgoing.break_off(first);
        assert!(!outgoing.is_connected());
        say(3);
        // The peer has lost the second one with the connection.
        let (mut stream, second) = connected(&outgoing, 1);
        assert_eq!((started(&mut stream), started(&mut stream)), ((2, 2), (3, 3)));
        // The end of a connection that is gone is not that of the one that there is.
        outgoing.break_off(first);
        assert!(outgoing.is_connected() && second != first);
        let (other, _theirs) = UnixStream::pair().expect("a pair");
        assert!(outgoing.connect(other, 9, &[]).is_err(), "never made");
        outgoing.end("enough");
        assert_eq!(outgoing.message(&ToAgent::End).expect_err("over").to_string(), "enough");
    }

    #[test]
    fn who_says_more_than_a_connection_takes_waits_until_it_breaks() {
        let outgoing = Outgoing::start().expect("a thread");
        let (stream, number) = connected(&outgoing, 0);
        let saying = Arc::clone(&outgoing);
        let thread = std::thread::spawn(move || {
            let piece = vec![0u8; session::PIECE_BYTES];
            (0..).find_map(|_| saying.bytes(0, &piece).err()).expect("an end").to_string()
        });
        // Without a reader it waits, once so much has been said.
        while outgoing.state().delivery.unsent_bytes() <= UNSENT_BYTES_MAX && outgoing.over().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(100));
        let unsent = outgoing.state().delivery.unsent_bytes();
        assert!(!thread.is_finished() && unsent < UNSENT_BYTES_MAX + 2 * session::PIECE_BYTES, "{unsent}");
        outgoing.break_off(number);
        assert!(thread.join().expect("no panic").starts_with("more than 64 MiB waited"));
        drop(stream);
    }
}
