//! One connection of the fake cluster: frames from bytes, and answers in the order of their requests.

use kdyno_kafka::wire::{FRAME_BYTES_MAX, Result, WireError};
use std::collections::VecDeque;

/// A connection to one broker of a fake cluster; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub(super) u64);

/// An answer's place in the order of its connection.
pub(super) type Slot = u64;

/// What a slot holds.
#[derive(Debug)]
struct SlotEntry {
    slot: Slot,
    /// Bytes of the request: what the peer made this side hold.
    request_bytes: usize,
    answer: Option<QueuedResponse>,
}

/// What leaves when its turn has come.
#[derive(Debug, Default)]
pub(super) struct QueuedResponse {
    /// Empty for requests that are not answered.
    pub bytes: Vec<u8>,
    /// Records that this answer acknowledges.
    pub acknowledged_records: u64,
    /// The connection is closed behind it.
    pub closes: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct FakeConnection {
    pub broker: i32,
    input: Vec<u8>,
    places: VecDeque<SlotEntry>,
    next_slot: Slot,
    held_bytes: usize,
}

impl FakeConnection {
    /// A connection to `broker`.
    pub fn new(broker: i32) -> Self {
        Self { broker, input: Vec::new(), places: VecDeque::new(), next_slot: 0, held_bytes: 0 }
    }

    /// Bytes of requests that are not answered yet, and of unfinished input.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes + self.input.len()
    }

    /// Takes bytes and returns the bodies of the frames they complete, in order.
    ///
    /// # Errors
    /// A frame claims an impossible length.
    pub fn frames(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.input.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut at = 0;
        while let Some(length) = self.input[at..].first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let body = usize::try_from(length)
                .ok()
                .filter(|body| *body <= FRAME_BYTES_MAX)
                .ok_or(WireError::Length { what: "frame", length: length.into() })?;
            let Some(frame) = self.input.get(at + 4..at + 4 + body) else { break };
            frames.push(frame.to_vec());
            at += 4 + body;
        }
        self.input.drain(..at);
        Ok(frames)
    }

    /// Reserves the next answer's place.
    pub fn reserve(&mut self, request_bytes: usize) -> Slot {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.held_bytes += request_bytes;
        self.places.push_back(SlotEntry { slot, request_bytes, answer: None });
        slot
    }

    /// Fills a place.
    pub fn fill(&mut self, slot: Slot, answer: QueuedResponse) {
        let front = self.places.front().map_or(slot, |place| place.slot);
        if let Some(place) = self.places.get_mut(slot.wrapping_sub(front) as usize) {
            place.answer = Some(answer);
        }
    }

    /// The next answer whose turn has come.
    pub fn next_answer(&mut self) -> Option<QueuedResponse> {
        let answer = self.places.front_mut()?.answer.take()?;
        if let Some(place) = self.places.pop_front() {
            self.held_bytes -= place.request_bytes;
        }
        Some(answer)
    }
}
