//! One pipelined connection, without its socket: segments and bytes in, slices and replies out.
//!
//! Requests are written in order and answered in order (Kafka's rule), so a queue pairs replies with what
//! was asked. A reply whose correlation id is not the expected one poisons the connection.

use crate::messages::frame_length;
use crate::wire::{Reader, WireError};
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Most bytes handed to one write. Alternated three times against the null broker, slices of 112 KiB cost
/// 0.074–0.082 s of processor time per GB and slices of 32 KiB 0.100–0.108; the bare writer of `make bench`
/// finds its floor at 112 KiB as well. Other machines may differ: its table shows the sizes side by side.
pub const WRITE_BYTES_MAX: usize = 112 << 10;

/// Most pieces handed to one write.
pub const WRITE_SLICES_MAX: usize = 16;

/// First size of the input buffer; it grows to the largest frame received.
const INPUT_BYTES: usize = 16 << 10;

/// A request on its way or waiting for its reply.
#[derive(Debug)]
pub struct InFlightRequest<T> {
    /// What the caller said of it.
    pub token: T,
    /// When it was handed over, ns.
    pub sent_ns: u64,
    /// When its last byte was written, ns; `None` while some are left.
    pub written_ns: Option<u64>,
    /// Its size, length prefix included.
    pub bytes: usize,
    correlation_id: i32,
    ends_at: u64,
    is_answered: bool,
}

/// A reply, header's correlation id included.
#[derive(Debug)]
pub struct Reply<'a, T> {
    /// The request it answers.
    pub request: InFlightRequest<T>,
    /// The frame's content.
    pub frame: &'a [u8],
}

/// One connection's queues.
#[derive(Debug)]
pub struct Connection<T> {
    outgoing: VecDeque<Bytes>,
    /// Bytes handed over, and bytes written, since the connection began.
    queued_total: u64,
    written_total: u64,
    waiting: VecDeque<InFlightRequest<T>>,
    /// How many of `waiting`, from the front, are written completely.
    written_count: usize,
    next_correlation_id: i32,
    input: Vec<u8>,
    input_start: usize,
    input_end: usize,
    frame_bytes_max: usize,
}

impl<T> Connection<T> {
    /// An empty connection that refuses frames above `frame_bytes_max`.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self {
            outgoing: VecDeque::new(),
            queued_total: 0,
            written_total: 0,
            waiting: VecDeque::new(),
            written_count: 0,
            next_correlation_id: 0,
            input: Vec::new(),
            input_start: 0,
            input_end: 0,
            frame_bytes_max,
        }
    }

    /// Queues a frame that `encode` appends as segments, returning its size. `is_answered` is false for
    /// requests the broker does not answer (Produce with acks=0).
    pub fn send(
        &mut self,
        token: T,
        is_answered: bool,
        now_ns: u64,
        encode: impl FnOnce(i32, &mut VecDeque<Bytes>) -> usize,
    ) {
        let bytes = encode(self.next_correlation_id, &mut self.outgoing);
        self.queued_total += bytes as u64;
        self.waiting.push_back(InFlightRequest {
            token,
            sent_ns: now_ns,
            written_ns: None,
            bytes,
            correlation_id: self.next_correlation_id,
            ends_at: self.queued_total,
            is_answered,
        });
        self.next_correlation_id = self.next_correlation_id.wrapping_add(1) & i32::MAX;
    }

    /// Requests handed over and not answered (or, where no answer comes, not written).
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// When the longest waiting request was handed over.
    pub fn oldest_sent_ns(&self) -> Option<u64> {
        self.waiting.front().map(|request| request.sent_ns)
    }

    /// Fills `slices` with what to write next, at most [`WRITE_BYTES_MAX`] bytes, and says how many are set.
    pub fn write_slices<'a>(&'a self, slices: &mut [IoSlice<'a>; WRITE_SLICES_MAX]) -> usize {
        let mut left = WRITE_BYTES_MAX;
        let mut count = 0;
        for segment in &self.outgoing {
            if left == 0 || count == slices.len() {
                break;
            }
            let take = segment.len().min(left);
            slices[count] = IoSlice::new(&segment[..take]);
            left -= take;
            count += 1;
        }
        count
    }

    /// Notes that `bytes` were written. True when that completed a request, whose instant is then to be given
    /// with [`Self::stamp_written`].
    pub fn advance_written(&mut self, mut bytes: usize) -> bool {
        self.written_total += bytes as u64;
        while bytes > 0 {
            let Some(front) = self.outgoing.front_mut() else { break };
            if bytes < front.len() {
                front.advance(bytes);
                break;
            }
            bytes -= front.len();
            self.outgoing.pop_front();
        }
        self.waiting.get(self.written_count).is_some_and(|request| request.ends_at <= self.written_total)
    }

    /// Sets the written instant of all requests that are complete and not stamped.
    pub fn stamp_written(&mut self, now_ns: u64) {
        while let Some(request) = self.waiting.get_mut(self.written_count) {
            if request.ends_at > self.written_total {
                break;
            }
            request.written_ns = Some(now_ns);
            self.written_count += 1;
        }
    }

    /// Takes the front request if it is written and no reply will come.
    pub fn take_unanswered(&mut self) -> Option<InFlightRequest<T>> {
        let front = self.waiting.front()?;
        if front.is_answered || self.written_count == 0 {
            return None;
        }
        self.written_count -= 1;
        self.waiting.pop_front()
    }

    /// Where to read into; never empty.
    pub fn input_space(&mut self) -> &mut [u8] {
        if self.input_start == self.input_end {
            (self.input_start, self.input_end) = (0, 0);
        }
        let pending = self.input_end - self.input_start;
        let need = match self.pending_frame() {
            Some(length) => (length + 4).max(INPUT_BYTES),
            None => INPUT_BYTES,
        };
        if self.input_start > 0 && self.input.len() - self.input_start < need {
            self.input.copy_within(self.input_start..self.input_end, 0);
            (self.input_start, self.input_end) = (0, pending);
        }
        // A frame's claimed length is not trusted with memory at once: the buffer doubles as bytes come in.
        let grown = need.min((pending * 2).max(INPUT_BYTES));
        if self.input.len() < grown || self.input_end == self.input.len() {
            self.input.resize(grown.max(self.input_end + INPUT_BYTES), 0);
        }
        &mut self.input[self.input_end..]
    }

    /// Notes that `bytes` were read into the space given.
    pub fn advance_read(&mut self, bytes: usize) {
        self.input_end += bytes;
    }

    fn pending_frame(&self) -> Option<usize> {
        let prefix = self.input.get(self.input_start..self.input_end)?.first_chunk::<4>()?;
        frame_length(*prefix, self.frame_bytes_max).ok()
    }

    /// The next complete reply.
    ///
    /// # Errors
    /// When the peer does not speak the protocol; the connection must then be closed.
    pub fn next_reply(&mut self) -> Result<Option<Reply<'_, T>>, WireError> {
        let pending = &self.input[self.input_start..self.input_end];
        let Some(prefix) = pending.first_chunk::<4>() else { return Ok(None) };
        let length = frame_length(*prefix, self.frame_bytes_max)?;
        if pending.len() < 4 + length {
            return Ok(None);
        }
        let start = self.input_start + 4;
        self.input_start = start + length;
        let frame = &self.input[start..start + length];
        let correlation_id = Reader::new(frame).i32()?;
        let is_expected = self.waiting.front().is_some_and(|request| {
            request.correlation_id == correlation_id && request.is_answered && self.written_count > 0
        });
        if !is_expected {
            return Err(WireError::Invalid("a reply came that nothing was asked for"));
        }
        self.written_count -= 1;
        match self.waiting.pop_front() {
            Some(request) => Ok(Some(Reply { request, frame })),
            None => Ok(None),
        }
    }

    /// Ends the connection: what was not answered, in order, goes back to the caller.
    pub fn close(&mut self) -> VecDeque<InFlightRequest<T>> {
        let lost = std::mem::take(&mut self.waiting);
        *self = Self::new(self.frame_bytes_max);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(correlation_id: i32, payload: &[u8]) -> Bytes {
        let mut out = Vec::new();
        crate::messages::write_frame(&mut out, |out| {
            out.extend_from_slice(&correlation_id.to_be_bytes());
            out.extend_from_slice(payload);
        });
        out.into()
    }

    fn send(connection: &mut Connection<u32>, token: u32, is_answered: bool, payload: &[u8]) {
        connection.send(token, is_answered, 10, |id, out| {
            let bytes = frame(id, payload);
            out.push_back(bytes.clone());
            bytes.len()
        });
    }

    fn write(connection: &mut Connection<u32>, bytes: usize, now_ns: u64) {
        if connection.advance_written(bytes) {
            connection.stamp_written(now_ns);
        }
    }

    fn receive(connection: &mut Connection<u32>, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = connection.input_space();
            let count = space.len().min(bytes.len()).min(7);
            space[..count].copy_from_slice(&bytes[..count]);
            connection.advance_read(count);
            bytes = &bytes[count..];
        }
    }

    #[test]
    fn replies_are_paired_in_order_and_carry_the_written_instant() {
        let mut connection = Connection::new(1 << 20);
        send(&mut connection, 1, true, b"first");
        send(&mut connection, 2, true, b"second");
        write(&mut connection, 5, 20);
        write(&mut connection, 8, 30);
        write(&mut connection, 14, 40);
        receive(&mut connection, &frame(0, b"x"));
        receive(&mut connection, &frame(1, &[7; 40_000]));
        let reply = connection.next_reply().unwrap().unwrap();
        assert_eq!((reply.request.token, reply.request.written_ns), (1, Some(30)));
        let reply = connection.next_reply().unwrap().unwrap();
        assert_eq!((reply.request.token, reply.request.written_ns, reply.frame.len()), (2, Some(40), 40_004));
        assert!(connection.next_reply().unwrap().is_none());
        assert_eq!(connection.in_flight(), 0);
    }

    #[test]
    fn unanswered_requests_are_over_when_written() {
        let mut connection = Connection::new(1 << 20);
        send(&mut connection, 1, false, b"abc");
        send(&mut connection, 2, true, b"abc");
        assert!(connection.take_unanswered().is_none());
        write(&mut connection, 11, 20);
        assert_eq!(connection.take_unanswered().unwrap().token, 1);
        write(&mut connection, 11, 30);
        assert!(connection.take_unanswered().is_none());
        receive(&mut connection, &frame(1, b""));
        assert_eq!(connection.next_reply().unwrap().unwrap().request.token, 2);
    }

    #[test]
    fn strangers_and_impossible_lengths_poison_the_connection() {
        for bytes in [&frame(9, b"")[..], &[0x7f, 0xff, 0xff, 0xff], &[0xff; 4], &[0, 0, 0, 1, 0]] {
            let mut connection: Connection<u32> = Connection::new(1 << 20);
            send(&mut connection, 1, true, b"");
            write(&mut connection, 8, 1);
            receive(&mut connection, bytes);
            assert!(connection.next_reply().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_claimed_length_takes_no_memory_before_its_bytes_come() {
        let mut connection: Connection<u32> = Connection::new(100 << 20);
        receive(&mut connection, &(90i32 << 20).to_be_bytes());
        connection.input_space();
        assert!(connection.input.len() <= 2 * INPUT_BYTES);
        assert_eq!(connection.close().len(), 0);
    }
}
