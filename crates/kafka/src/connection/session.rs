//! The session layer: what stands between the frames of a connection and the bytes of its socket.
//!
//! A plain connection has no session: its frames are the bytes. A session (TLS) has bytes of its own. It
//! speaks before the first frame, may have something to send when no frame waits, and makes other bytes of
//! a frame than went in. What a session and its [`Connection`](super::Connection) owe each other:
//!
//! - The connection gives every byte that was read to [`Session::receive`], in order, however they were cut.
//!   What they carried comes out as plaintext, and frames are looked for only there.
//! - While [`Session::is_handshaking`], frames wait in the connection. The timeout of the first request runs
//!   from the moment the socket was connected, so it bounds the session's handshake as well.
//! - Whenever bytes can be written the connection asks [`Session::wants_write`] first, so an answer of the
//!   handshake, a new key or an alert leaves although no frame is pending. Whoever has read from a socket must
//!   therefore offer to write to it as well before it sleeps.
//! - [`Session::send`] gets bytes of one request at a time, never of two. A request is written, and its t4
//!   is, when the last byte of the ciphertext of its last byte was written: not when the session took it.
//! - Nothing is sent twice: a session ends with its socket, and the next connection opens another.
//!
//! The methods are those of rustls' buffered API: `read_tls`, `process_new_packets` and `reader` are
//! `receive`, `writer` is `send`, `write_tls` is `write_to`. SASL is no session but part of the
//! [`Handshake`](super::Handshake): its messages are requests, and frames follow them as before.
//!
//! [`security::tls`](crate::security::tls) is the one session there is, besides those of tests.

use super::output::{WRITE_BYTES_MAX, WRITE_SLICES_MAX, advance, gather};
use bytes::Bytes;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use thiserror::Error;

/// Bytes of ciphertext asked of a socket at once: a TLS record and a little more.
const RECEIVE_BYTES: usize = 32 << 10;

/// Room for less than this beside what waits already is left: it would cut a request into small pieces of ciphertext.
const ROOM_BYTES_MIN: usize = 16 << 10;

/// Memory that a session keeps while nothing is on its way.
const KEPT_BYTES: usize = 32 << 10;

/// One end of a session over one socket.
pub trait Session: fmt::Debug + Send {
    /// Takes bytes of the peer and appends what they carried to `plaintext`.
    ///
    /// # Errors
    /// When the session cannot go on; what it still [`wants to write`](Self::wants_write) is not sent then.
    fn receive(&mut self, ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError>;
    /// Whether the two ends have not agreed yet, so that nothing can be sent.
    fn is_handshaking(&self) -> bool;
    /// Takes plaintext to send; only called when the handshake is over.
    fn send(&mut self, plaintext: &[IoSlice<'_>]);
    /// Whether there is ciphertext for [`Self::write_to`].
    fn wants_write(&self) -> bool;
    /// Appends all ciphertext that waits.
    fn write_to(&mut self, ciphertext: &mut Vec<u8>);
}

/// Opens the sessions of a client, one per socket.
pub trait SessionFactory: fmt::Debug + Send + Sync {
    /// The client's end of a session with a host, before its first byte.
    ///
    /// # Errors
    /// When there can be no session with that host.
    fn open(&self, host: &str) -> Result<Box<dyn Session>, SessionError>;
}

/// Why a session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    /// The bytes are not what the session expects; another attempt may do better.
    #[error("the session broke: {0}")]
    Broken(String),
    /// One end does not accept the other, a certificate for instance: another attempt ends in the same way.
    #[error("no session is possible: {0}")]
    Refused(String),
}

/// Whether what answers our frames is a TLS alert: a record of type 21 and version 3.x.
pub(super) fn is_tls_alert(received: &[u8]) -> bool {
    matches!(received, [21, 3, 0..=4, ..])
}

/// What such an alert means.
pub(super) fn tls_expected() -> SessionError {
    let what = "the broker's listener speaks TLS (SSL or SASL_SSL), and we do not (security.protocol)";
    SessionError::Refused(what.to_owned())
}

/// A session and its bytes on the way in and out.
#[derive(Debug)]
pub(super) struct SessionBytes {
    session: Box<dyn Session>,
    /// Where the socket is read into.
    received: Vec<u8>,
    plaintext: Vec<u8>,
    has_received: bool,
    /// Ciphertext to be written, from `start` on.
    outgoing: Vec<u8>,
    start: usize,
    /// Since the session began: plaintext it took, ciphertext it made, and how much of that was written.
    taken_total: u64,
    made_total: u64,
    written_total: u64,
    /// Total of plaintext whose ciphertext is written.
    plaintext_written: u64,
    /// Totals of plaintext and of the ciphertext that carries it, for what is not written yet.
    ends: VecDeque<(u64, u64)>,
}

impl SessionBytes {
    pub(super) fn new(session: Box<dyn Session>) -> Self {
        Self {
            session,
            received: Vec::new(),
            plaintext: Vec::new(),
            has_received: false,
            outgoing: Vec::new(),
            start: 0,
            taken_total: 0,
            made_total: 0,
            written_total: 0,
            plaintext_written: 0,
            ends: VecDeque::new(),
        }
    }

    /// Makes ciphertext of what the session wants to say and of as many `frames` as one write takes.
    /// `request_end` is the total of plaintext at which the request ends that a byte belongs to.
    pub(super) fn fill(&mut self, frames: &mut VecDeque<Bytes>, request_end: impl Fn(u64) -> u64) {
        // What was written makes room once it is as much as what waits: so no byte is moved more than once on average,
        // however little the socket takes at a time.
        if self.start >= self.pending() {
            self.outgoing.drain(..self.start);
            self.start = 0;
        }
        self.collect();
        while !self.session.is_handshaking() && !frames.is_empty() {
            let room = WRITE_BYTES_MAX.saturating_sub(self.pending());
            if room < ROOM_BYTES_MIN {
                break;
            }
            let left = request_end(self.taken_total) - self.taken_total;
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
            let (count, bytes) = gather(frames, (left as usize).min(room), &mut slices);
            self.session.send(&slices[..count]);
            self.taken_total += bytes as u64;
            advance(frames, bytes);
            self.collect();
            self.ends.push_back((self.taken_total, self.made_total));
        }
    }

    fn collect(&mut self) {
        if self.session.wants_write() {
            let before = self.outgoing.len();
            self.session.write_to(&mut self.outgoing);
            self.made_total += (self.outgoing.len() - before) as u64;
        }
    }

    /// Ciphertext that is not written.
    fn pending(&self) -> usize {
        self.outgoing.len() - self.start
    }

    /// What to write next.
    pub(super) fn outgoing(&self) -> &[u8] {
        let pending = &self.outgoing[self.start..];
        &pending[..pending.len().min(WRITE_BYTES_MAX)]
    }

    /// Notes that `bytes` of ciphertext were written. Returns the total of plaintext that left with it.
    pub(super) fn advance_written(&mut self, bytes: usize) -> u64 {
        self.start += bytes;
        self.written_total += bytes as u64;
        while let Some(&(plaintext, ciphertext)) = self.ends.front() {
            if ciphertext > self.written_total {
                break;
            }
            self.plaintext_written = plaintext;
            self.ends.pop_front();
        }
        self.plaintext_written
    }

    /// Gives back the memory of large writes and responses that are over.
    pub(super) fn shrink(&mut self) {
        if self.pending() == 0 && self.outgoing.capacity() > KEPT_BYTES {
            (self.outgoing, self.start) = (Vec::new(), 0);
        }
        // What was received has been taken.
        if self.plaintext.capacity() > KEPT_BYTES {
            self.plaintext = Vec::new();
        }
    }

    /// Whether the two ends have not agreed yet; then, whether the peer said anything at all.
    pub(super) fn handshaking(&self) -> Option<bool> {
        self.session.is_handshaking().then_some(self.has_received)
    }

    /// Where to read the socket into; never empty.
    pub(super) fn input_space(&mut self) -> &mut [u8] {
        self.received.resize(RECEIVE_BYTES, 0);
        &mut self.received
    }

    /// Takes `bytes` that were read, and returns the plaintext of them.
    pub(super) fn receive(&mut self, bytes: usize) -> Result<&[u8], SessionError> {
        self.plaintext.clear();
        self.has_received |= bytes > 0;
        self.session.receive(&self.received[..bytes], &mut self.plaintext)?;
        Ok(&self.plaintext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST_BYTES: u64 = 40 << 10;

    /// A session whose ciphertext is the plaintext.
    #[derive(Debug, Default)]
    struct Open(Vec<u8>);

    impl Session for Open {
        fn receive(&mut self, ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError> {
            plaintext.extend_from_slice(ciphertext);
            Ok(())
        }

        fn is_handshaking(&self) -> bool {
            false
        }

        fn send(&mut self, plaintext: &[IoSlice<'_>]) {
            plaintext.iter().for_each(|slice| self.0.extend_from_slice(slice));
        }

        fn wants_write(&self) -> bool {
            !self.0.is_empty()
        }

        fn write_to(&mut self, ciphertext: &mut Vec<u8>) {
            ciphertext.append(&mut self.0);
        }
    }

    /// Writes so many requests in pieces; the most ciphertext that waited.
    fn write(bytes: &mut SessionBytes, requests: usize) -> usize {
        let request = Bytes::from(vec![7; REQUEST_BYTES as usize]);
        let mut frames: VecDeque<Bytes> = std::iter::repeat_n(request, requests).collect();
        let mut most = 0;
        loop {
            bytes.fill(&mut frames, |byte| (byte / REQUEST_BYTES + 1) * REQUEST_BYTES);
            let waiting = bytes.outgoing().len();
            if waiting == 0 {
                return most;
            }
            most = most.max(bytes.pending());
            assert!(bytes.outgoing.len() <= 2 * WRITE_BYTES_MAX);
            bytes.advance_written(waiting.min(50_000));
        }
    }

    #[test]
    fn what_waits_is_one_writes_bytes_and_their_memory_is_given_back() {
        let mut bytes = SessionBytes::new(Box::new(Open::default()));
        let most = write(&mut bytes, 10);
        assert!((WRITE_BYTES_MAX - ROOM_BYTES_MIN..=WRITE_BYTES_MAX).contains(&most), "{most}");
        assert_eq!(bytes.plaintext_written, 10 * REQUEST_BYTES);
        assert!(bytes.outgoing.capacity() > KEPT_BYTES);
        bytes.shrink();
        assert_eq!(bytes.outgoing.capacity(), 0);
        write(&mut bytes, 1);
        assert_eq!(bytes.plaintext_written, 11 * REQUEST_BYTES, "and it can be used again");
    }

    #[test]
    fn what_is_not_written_yet_is_not_given_back() {
        let mut bytes = SessionBytes::new(Box::new(Open::default()));
        let mut frames = VecDeque::from([Bytes::from(vec![7; REQUEST_BYTES as usize])]);
        bytes.fill(&mut frames, |_| REQUEST_BYTES);
        bytes.advance_written(1);
        bytes.shrink();
        assert_eq!(bytes.outgoing().len() as u64, REQUEST_BYTES - 1);
    }
}
