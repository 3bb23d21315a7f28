//! Answers that wait to be sent, in order.

use std::io::{self, Write};

/// Unsent answers from which on nothing more is taken in: the client does not listen.
const FULL_BYTES: usize = 1 << 20;

/// The queue, as bytes.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    held_from: Option<usize>,
}

impl Outbox {
    /// Where answers are appended.
    pub fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Position of the end, for [`hold_from`](Self::hold_from).
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Keeps what was appended since `position` until [`release`](Self::release).
    pub fn hold_from(&mut self, position: usize) {
        self.held_from = Some(position);
    }

    /// Ends the holding back.
    pub fn release(&mut self) {
        self.held_from = None;
    }

    /// Bytes not sent yet.
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// True when nothing more should be taken in.
    pub fn is_full(&self) -> bool {
        self.unsent() >= FULL_BYTES
    }

    /// Sends what is not held back, as far as `socket` takes it; returns the number of bytes.
    ///
    /// # Errors
    /// The socket failed; that it takes no more at present is none.
    pub fn send(&mut self, socket: &mut impl Write) -> io::Result<usize> {
        let end = self.held_from.unwrap_or(self.bytes.len());
        let before = self.sent;
        while self.sent < end {
            match socket.write(&self.bytes[self.sent..end]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sent = self.sent - before;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(FULL_BYTES);
            self.sent = 0;
        } else if self.sent >= FULL_BYTES && self.held_from.is_none() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(sent)
    }
}
