//! One socket: what to read, what to drop unread, when to send.

use super::answer::SharedState;
use super::session::{PIECE_BYTES_MAX, RequestSession};
use super::tls::{CIPHERTEXT_BYTES, RECORD_BYTES_MAX, TlsEnd};
use mio::net::TcpStream;
use rustix::net::RecvFlags;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// How much is read at a time.
const READ_BYTES: usize = 1 << 20;

/// Part of the buffer that all connections share: a read behind the beginning of a piece.
pub(super) const BUFFER_BYTES: usize = READ_BYTES + PIECE_BYTES_MAX;

/// From how many skippable bytes on they are dropped by the kernel: below, a copy costs less than a call.
const DISCARD_BYTES_MIN: usize = 16 << 10;

/// How much is read behind a dropped batch: the heads of the next one, not its body, which would be copied
/// for nothing.
const HEADS_BYTES: usize = 1 << 10;

/// Reads of one connection before others get their turn.
const READS_PER_TURN: u32 = 64;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The socket has nothing more to give or takes no more: its next event will report.
    Idle,
    /// Enough for now; more is there.
    Again,
    /// An answer is held back until then.
    Until(Instant),
    /// The peer has closed the connection between two requests.
    Closed,
}

/// What one read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    /// There may be more.
    More,
    /// The socket is empty, and its next bytes make an event.
    Drained,
    /// The peer has closed its side.
    End,
}

/// A connection.
#[derive(Debug)]
pub(super) struct NullBrokerConnection {
    pub stream: TcpStream,
    /// It waits for another turn already.
    pub is_queued: bool,
    /// The end of the stream was announced: a short read does not mean that an event follows.
    pub end_is_near: bool,
    tls: Option<TlsEnd>,
    session: RequestSession,
    /// Bytes read and not consumed: the beginning of a piece or, while paused, everything behind.
    rest: Vec<u8>,
    /// The rest was left because of an answer that has to wait or too many unsent ones.
    is_paused: bool,
    held_until: Option<Instant>,
    /// The last batch was large: read heads and bodies apart.
    large_batches: bool,
}

impl NullBrokerConnection {
    /// A connection just accepted.
    pub fn new(stream: TcpStream, tls: Option<TlsEnd>) -> Self {
        Self {
            stream,
            is_queued: false,
            end_is_near: false,
            tls,
            session: RequestSession::new(),
            rest: Vec::new(),
            is_paused: false,
            held_until: None,
            large_batches: false,
        }
    }

    /// Memory held for this connection, about.
    pub fn held_bytes(&self) -> usize {
        self.rest.len() + self.session.held_bytes()
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// The socket failed or what it gave is no request: the connection is to be closed.
    pub fn turn(&mut self, broker: &mut SharedState, buffer: &mut [u8], now: Instant) -> io::Result<Turn> {
        for _ in 0..READS_PER_TURN {
            if let Some(until) = self.held_until {
                if now < until {
                    self.send(broker)?;
                    return Ok(Turn::Until(until));
                }
                self.held_until = None;
                self.session.outbox.release();
            }
            self.send(broker)?;
            if self.session.outbox.is_full() {
                return Ok(Turn::Idle);
            }
            match self.receive(broker, buffer)? {
                Received::More => {}
                Received::Drained if self.is_paused => {}
                Received::Drained => {
                    self.send(broker)?;
                    return Ok(Turn::Idle);
                }
                Received::End if self.session.is_between_requests() && self.rest.is_empty() => {
                    return Ok(Turn::Closed);
                }
                Received::End => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            }
            if let Some(wait_ms) = self.session.wait_ms.take() {
                self.held_until = Some(now + Duration::from_millis(wait_ms.into()));
            }
        }
        self.send(broker)?;
        Ok(Turn::Again)
    }

    fn send(&mut self, broker: &mut SharedState) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            broker.stats.sent_bytes += self.session.outbox.send(&mut self.stream)? as u64;
            return Ok(());
        };
        // Answers go on waiting in the outbox, where they are counted, while the socket takes no more.
        while tls.flush(&mut self.stream)? {
            let sent = self.session.outbox.send(&mut tls.writer())?;
            if sent == 0 {
                break;
            }
            broker.stats.sent_bytes += sent as u64;
        }
        Ok(())
    }

    fn receive(&mut self, broker: &mut SharedState, buffer: &mut [u8]) -> io::Result<Received> {
        if self.is_paused {
            let rest = std::mem::take(&mut self.rest);
            self.feed(&rest, broker)?;
            return Ok(Received::More);
        }
        if self.tls.is_some() {
            return self.receive_tls(broker, buffer);
        }
        if self.session.skip_ahead() >= DISCARD_BYTES_MIN {
            self.large_batches = true;
            return self.discard(broker, buffer);
        }
        // What is left over goes to the front, so that the piece it begins is in one place.
        let kept = self.rest.len();
        buffer[..kept].copy_from_slice(&self.rest);
        let room = if self.large_batches { HEADS_BYTES } else { READ_BYTES };
        let count = match self.stream.read(&mut buffer[kept..kept + room]) {
            Ok(0) => return Ok(Received::End),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Drained),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::More),
            Err(error) => return Err(error),
        };
        broker.stats.received_bytes += count as u64;
        self.feed(&buffer[..kept + count], broker)?;
        if self.large_batches && count == room {
            // Once small batches follow, they are read together again.
            self.large_batches = self.session.skip_ahead() >= DISCARD_BYTES_MIN;
        }
        Ok(self.after(count, room))
    }

    fn receive_tls(&mut self, broker: &mut SharedState, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(tls) = &mut self.tls else { return Ok(Received::More) };
        let kept = self.rest.len();
        let (plaintext, ciphertext) = buffer.split_at_mut(kept + CIPHERTEXT_BYTES + RECORD_BYTES_MAX);
        plaintext[..kept].copy_from_slice(&self.rest);
        let ciphertext = &mut ciphertext[..CIPHERTEXT_BYTES];
        let (count, filled) = match tls.read(&mut self.stream, ciphertext, &mut plaintext[kept..]) {
            Ok((0, _)) => return Ok(Received::End),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Drained),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::More),
            Err(error) => return Err(error),
        };
        broker.stats.received_bytes += filled as u64;
        self.feed(&plaintext[..kept + filled], broker)?;
        Ok(self.after(count, CIPHERTEXT_BYTES))
    }

    fn feed(&mut self, bytes: &[u8], broker: &mut SharedState) -> io::Result<()> {
        let used = self
            .session
            .feed(bytes, broker)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.is_paused = self.session.is_paused();
        self.rest.clear();
        self.rest.extend_from_slice(&bytes[used..]);
        self.rest.shrink_to(PIECE_BYTES_MAX);
        Ok(())
    }

    /// Has the kernel drop record bytes without copying them (tcp(7), `MSG_TRUNC`).
    fn discard(&mut self, broker: &mut SharedState, buffer: &mut [u8]) -> io::Result<Received> {
        let wanted = self.session.skip_ahead().min(buffer.len());
        match rustix::net::recv(&self.stream, &mut buffer[..wanted], RecvFlags::TRUNC) {
            Ok((_, 0)) => Ok(Received::End),
            Ok((_, count)) => {
                broker.stats.received_bytes += count as u64;
                self.session.skipped(count);
                Ok(self.after(count, wanted))
            }
            Err(rustix::io::Errno::AGAIN) => Ok(Received::Drained),
            Err(rustix::io::Errno::INTR) => Ok(Received::More),
            Err(error) => Err(error.into()),
        }
    }

    /// A read that returned less than requested has emptied the socket (epoll(7), question 9), which saves the
    /// call that would only say so.
    fn after(&self, count: usize, wanted: usize) -> Received {
        if count < wanted && !self.end_is_near { Received::Drained } else { Received::More }
    }
}
