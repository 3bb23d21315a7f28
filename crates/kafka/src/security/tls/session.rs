//! One TLS session, as the connection wants it.

use super::words;
use crate::session::{SecureSession, SessionError};
use rustls::ClientConnection;
use std::fmt;
use std::io::{self, BufRead, IoSlice, Write};

/// First bytes of a TLS record: change of cipher, alert, handshake, data.
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=23;

/// The client's end.
pub(super) struct TlsSession {
    tls: ClientConnection,
    has_identity: bool,
    has_received: bool,
    /// Something that the peer encrypted could be read.
    has_data: bool,
}

impl TlsSession {
    pub(super) fn new(mut tls: ClientConnection, has_identity: bool) -> Self {
        // What is sent is bounded by the connection, which offers one write's bytes at a time.
        tls.set_buffer_limit(None);
        Self { tls, has_identity, has_received: false, has_data: false }
    }
}

impl fmt::Debug for TlsSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsSession({:?})", self.tls.protocol_version())
    }
}

impl SecureSession for TlsSession {
    fn receive(&mut self, mut ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError> {
        if let Some(first) = ciphertext.first().filter(|_| !self.has_received) {
            if !RECORD_TYPES.contains(first) {
                return Err(words::no_tls());
            }
            self.has_received = true;
        }
        let broken = |error: io::Error| SessionError::Broken(error.to_string());
        while !ciphertext.is_empty() {
            if self.tls.read_tls(&mut ciphertext).map_err(broken)? == 0 {
                // The peer has said that nothing more comes (close_notify): what follows is not for us (RFC 8446, 6.1).
                break;
            }
            let state = self.tls.process_new_packets();
            let state =
                state.map_err(|error| words::session_error(error, self.has_identity, self.has_data))?;
            let mut left = state.plaintext_bytes_to_read();
            self.has_data |= left > 0;
            plaintext.reserve(left);
            let mut reader = self.tls.reader();
            while left > 0 {
                let piece = reader.fill_buf().map_err(broken)?;
                let bytes = piece.len();
                plaintext.extend_from_slice(piece);
                reader.consume(bytes);
                left -= bytes;
            }
        }
        Ok(())
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn agreed(&self) -> Option<String> {
        let suite = self.tls.negotiated_cipher_suite()?.suite();
        Some(words::agreed(self.tls.protocol_version()?, suite))
    }

    fn send(&mut self, plaintext: &[IoSlice<'_>]) {
        // Without a limit all is taken.
        let _ = self.tls.writer().write_vectored(plaintext);
    }

    fn waiting(&mut self) -> usize {
        if !self.tls.wants_write() {
            return 0;
        }
        // All that was read has been processed: this only asks. A session that broke writes nothing.
        self.tls.process_new_packets().map_or(0, |state| state.tls_bytes_to_write())
    }

    fn write_to(&mut self, to: &mut dyn io::Write) -> io::Result<usize> {
        self.tls.write_tls(to)
    }
}
