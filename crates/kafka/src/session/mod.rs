//! The session layer: what is between the frames of a connection and the bytes of its socket.
//!
//! A plain connection has no session: its frames are the bytes. A session (TLS) has bytes of its own. It
//! speaks before the first frame, may have something to send when no frame waits, and makes other bytes of
//! a frame than went in. What a session and its [`Connection`](crate::connection::Connection) owe each other:
//!
//! - The connection gives every byte that was read to [`SecureSession::receive`], in order, however they were cut.
//!   What they carried comes out as plaintext, and frames are looked for only there.
//! - While [`SecureSession::is_handshaking`], frames wait in the connection. The timeout of the first request runs
//!   from the moment the socket was connected, so it bounds the session's handshake as well.
//! - Whenever bytes can be written the connection asks how many are [`SecureSession::waiting`], so an answer of the
//!   handshake, a new key or an alert leaves although no frame is pending. Code that has read from a socket must
//!   therefore offer to write to it as well before it sleeps.
//! - Ciphertext waits in the session and goes from there to the socket, without a copy between. The connection asks
//!   how much it is, and gives the session no more plaintext than one write takes.
//! - [`SecureSession::send`] gets bytes of one request at a time, never of two. A request is written, and its t4
//!   is, when the last byte of the ciphertext of its last byte was written: not when the session took it.
//! - Nothing is sent twice: a session ends with its socket, and the next connection opens another.
//!
//! The methods are those of rustls' buffered API: `read_tls`, `process_new_packets` and `reader` are
//! `receive`, `writer` is `send`, `write_tls` is `write_to`. SASL is no session but part of the
//! [`Handshake`](crate::connection::Handshake): its messages are requests, and frames follow them as before.
//!
//! [`security::tls`](crate::security::tls) is the one session there is, apart from those of tests.

pub(crate) mod gather;

use bytes::Bytes;
use gather::{WRITE_BYTES_MAX, WRITE_SLICES_MAX, advance, gather};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use thiserror::Error;

/// Bytes of ciphertext asked of a socket at once: a TLS record and a little more.
const RECEIVE_BYTES: usize = 32 << 10;
/// The size as long as none filled it: for thousands of clients that get small answers alone.
const RECEIVE_BYTES_FIRST: usize = 8 << 10;

/// Plaintext of a full TLS record. Room for less next to what waits already is left: it would cut a request into small
/// pieces of ciphertext.
const RECORD_BYTES: usize = 16 << 10;

/// Memory that a session keeps of what it received.
const KEPT_BYTES: usize = 32 << 10;

/// One end of a session over one socket.
pub trait SecureSession: fmt::Debug + Send {
    /// Takes bytes of the peer and appends what they carried to `plaintext`.
    ///
    /// # Errors
    /// When the session cannot go on; what is still [`waiting`](Self::waiting) is not sent then.
    fn receive(&mut self, ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError>;
    /// Whether the two ends have not agreed yet, so that nothing can be sent.
    fn is_handshaking(&self) -> bool;
    /// What the two ends agreed upon, in words: version and cipher suite. `None`: not yet, or not reported.
    fn agreed(&self) -> Option<String> {
        None
    }
    /// Takes plaintext to send; only called when the handshake is over.
    fn send(&mut self, plaintext: &[IoSlice<'_>]);
    /// Bytes of ciphertext that wait for [`Self::write_to`].
    fn waiting(&mut self) -> usize;
    /// Offers ciphertext that waits, as one write; how many bytes of it were taken.
    ///
    /// # Errors
    /// The errors of the write, which has taken nothing then.
    fn write_to(&mut self, to: &mut dyn io::Write) -> io::Result<usize>;
}

/// Opens the sessions of a client, one per socket.
pub trait SessionFactory: fmt::Debug + Send + Sync {
    /// The client's end of a session with a host, before its first byte.
    ///
    /// # Errors
    /// When there can be no session with that host.
    fn open(&self, host: &str) -> Result<Box<dyn SecureSession>, SessionError>;
}

/// Why a session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    /// The bytes are not what the session expects; another attempt may do better.
    #[error("the session broke: {0}")]
    Broken(String),
    /// One end does not accept the other, a certificate for instance: another attempt ends in the same way.
    #[error("TLS handshake failed: {0}")]
    Refused(String),
    /// The broker answered plain frames with a TLS alert.
    #[error(
        "the broker's listener requires TLS (SSL or SASL_SSL), and this client has none (security.protocol)"
    )]
    NeedsTls,
}

/// Whether what answers our frames is a TLS alert: a record of type 21 and version 3.x.
pub(crate) fn is_tls_alert(received: &[u8]) -> bool {
    matches!(received, [21, 3, 0..=4, ..])
}

/// A session and its bytes on the way in and out.
#[derive(Debug)]
pub(crate) struct SessionBytes {
    session: Box<dyn SecureSession>,
    /// Where the socket is read into.
    received: Vec<u8>,
    plaintext: Vec<u8>,
    has_received: bool,
    /// Since the session began: plaintext it took, and ciphertext that was written.
    taken_total: u64,
    written_total: u64,
    /// Total of plaintext whose ciphertext is written.
    plaintext_written: u64,
    /// Totals of plaintext and of the ciphertext that carries it, for what is not written yet.
    ends: VecDeque<(u64, u64)>,
}

impl SessionBytes {
    pub(crate) fn new(session: Box<dyn SecureSession>) -> Self {
        Self {
            session,
            received: Vec::new(),
            plaintext: Vec::new(),
            has_received: false,
            taken_total: 0,
            written_total: 0,
            plaintext_written: 0,
            ends: VecDeque::new(),
        }
    }

    /// Makes ciphertext of as many `frames` as one write takes.
    /// `request_end` is the total of plaintext at which the request ends that a byte belongs to.
    fn fill(&mut self, frames: &mut VecDeque<Bytes>, request_end: impl Fn(u64) -> u64) {
        if self.session.is_handshaking() {
            return;
        }
        let mut waiting = self.session.waiting();
        while !frames.is_empty() {
            let room = WRITE_BYTES_MAX.saturating_sub(waiting) / RECORD_BYTES * RECORD_BYTES;
            if room == 0 {
                break;
            }
            let left = request_end(self.taken_total) - self.taken_total;
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
            let (count, bytes) = gather(frames, (left as usize).min(room), &mut slices);
            self.session.send(&slices[..count]);
            advance(frames, bytes);
            self.taken_total += bytes as u64;
            waiting = self.session.waiting();
            self.ends.push_back((self.taken_total, self.written_total + waiting as u64));
        }
    }

    /// Offers what the session wants to say and ciphertext of `frames` as one write; how much was taken, `None` where
    /// nothing waits. `request_end` is the total of plaintext at which the request ends that a byte belongs to.
    pub(crate) fn write_to(
        &mut self,
        frames: &mut VecDeque<Bytes>,
        request_end: impl Fn(u64) -> u64,
        to: &mut dyn io::Write,
    ) -> io::Result<Option<usize>> {
        self.fill(frames, request_end);
        if self.session.waiting() == 0 {
            return Ok(None);
        }
        let bytes = self.session.write_to(to)?;
        self.written_total += bytes as u64;
        while let Some(&(plaintext, ciphertext)) = self.ends.front() {
            if ciphertext > self.written_total {
                break;
            }
            self.plaintext_written = plaintext;
            self.ends.pop_front();
        }
        Ok(Some(bytes))
    }

    /// Total of plaintext whose ciphertext is written.
    pub(crate) fn plaintext_written(&self) -> u64 {
        self.plaintext_written
    }

    /// Gives back the memory of a large response, which has been taken.
    pub(crate) fn shrink(&mut self) {
        if self.plaintext.capacity() > KEPT_BYTES {
            self.plaintext = Vec::new();
        }
    }

    /// Whether the two ends have not agreed yet; then, whether the peer said anything at all.
    pub(crate) fn handshaking(&self) -> Option<bool> {
        self.session.is_handshaking().then_some(self.has_received)
    }

    /// What the two ends agreed upon.
    pub(crate) fn agreed(&self) -> Option<String> {
        self.session.agreed()
    }

    /// Where to read the socket into; never empty.
    pub(crate) fn input_space(&mut self) -> &mut [u8] {
        if self.received.is_empty() {
            self.received.resize(RECEIVE_BYTES_FIRST, 0);
        }
        &mut self.received
    }

    /// Takes `bytes` that were read, and returns the plaintext of them.
    pub(crate) fn receive(&mut self, bytes: usize) -> Result<&[u8], SessionError> {
        self.plaintext.clear();
        self.has_received |= bytes > 0;
        self.session.receive(&self.received[..bytes], &mut self.plaintext)?;
        if bytes == self.received.len() && bytes < RECEIVE_BYTES {
            self.received.resize(RECEIVE_BYTES, 0);
        }
        Ok(&self.plaintext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST_BYTES: u64 = 40 << 10;

    /// A session whose ciphertext is the plaintext.
    #[derive(Debug, Default)]
    struct PlainSession(Vec<u8>);

    impl SecureSession for PlainSession {
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

        fn waiting(&mut self) -> usize {
            self.0.len()
        }

        fn write_to(&mut self, to: &mut dyn io::Write) -> io::Result<usize> {
            let bytes = to.write(&self.0)?;
            self.0.drain(..bytes);
            Ok(bytes)
        }
    }

    /// A socket that takes so many bytes at once, and counts what it was offered.
    struct LimitedSocket {
        takes: usize,
        offered_most: usize,
        taken: Vec<u8>,
    }

    impl io::Write for LimitedSocket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.offered_most = self.offered_most.max(bytes.len());
            let bytes = &bytes[..bytes.len().min(self.takes)];
            self.taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_waits_is_one_writes_bytes_whatever_a_socket_takes() {
        const REQUESTS: u64 = 10;
        let request: Bytes = (0..REQUEST_BYTES).map(|byte| byte as u8).collect();
        for takes in [1_000, 50_000, RECORD_BYTES, usize::MAX] {
            let mut bytes = SessionBytes::new(Box::new(PlainSession::default()));
            let mut frames: VecDeque<Bytes> =
                std::iter::repeat_n(request.clone(), REQUESTS as usize).collect();
            let mut socket = LimitedSocket { takes, offered_most: 0, taken: Vec::new() };
            let request_end = |byte| (byte / REQUEST_BYTES + 1) * REQUEST_BYTES;
            while let Some(taken) = bytes.write_to(&mut frames, request_end, &mut socket).unwrap() {
                assert!(taken > 0 && taken <= takes);
                let complete = socket.taken.len() as u64 / REQUEST_BYTES * REQUEST_BYTES;
                let written = bytes.plaintext_written();
                assert!(complete <= written && written <= socket.taken.len() as u64, "{written}");
            }
            let most = WRITE_BYTES_MAX - RECORD_BYTES..=WRITE_BYTES_MAX;
            assert!(most.contains(&socket.offered_most), "{}", socket.offered_most);
            assert_eq!(socket.taken, request.repeat(REQUESTS as usize));
        }
    }

    #[test]
    fn a_write_that_takes_nothing_leaves_what_waits_as_it_is() {
        let mut bytes = SessionBytes::new(Box::new(PlainSession::default()));
        let mut frames = VecDeque::from([Bytes::from(vec![7; REQUEST_BYTES as usize])]);
        struct FullSocket;
        impl io::Write for FullSocket {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::WouldBlock.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for _ in 0..3 {
            let full = bytes.write_to(&mut frames, |_| REQUEST_BYTES, &mut FullSocket);
            assert_eq!(full.expect_err("full").kind(), io::ErrorKind::WouldBlock);
        }
        let mut taken = Vec::new();
        let all = bytes.write_to(&mut frames, |_| REQUEST_BYTES, &mut taken).unwrap();
        assert_eq!((all, taken.len()), (Some(REQUEST_BYTES as usize), REQUEST_BYTES as usize));
        assert_eq!(bytes.plaintext_written(), REQUEST_BYTES);
    }
}
