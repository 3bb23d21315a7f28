//! The bytes that were read and not yet taken as frames.

use crate::messages::frame_length;
use crate::wire::WireError;
use std::ops::Range;

/// First size of the buffer; it grows to the largest frame received. Most clients get small ones alone, and there may be
/// thousands.
const INPUT_BYTES: usize = 4 << 10;
/// After so many frames it shrinks to the largest of them, if it is more than twice as large.
const SHRINK_EVERY: u32 = 64;

/// A buffer of frames.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    frame_bytes_max: usize,
    /// Frames taken since it was last looked at whether it is too large, and the largest of them.
    frames: u32,
    largest: usize,
}

impl Input {
    /// Empty; frames above `frame_bytes_max` are refused.
    pub(super) fn new(frame_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, frame_bytes_max, frames: 0, largest: 0 }
    }

    pub(super) fn frame_bytes_max(&self) -> usize {
        self.frame_bytes_max
    }

    /// Where to read into; never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.keep_what_is_needed();
        }
        let pending = self.end - self.start;
        let need = match self.pending_frame() {
            Some(length) => (length + 4).max(INPUT_BYTES),
            None => INPUT_BYTES,
        };
        if self.start > 0 && self.bytes.len() - self.start < need {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, pending);
        }
        // A frame's claimed length is not trusted with memory at once: the buffer doubles as bytes come in.
        let grown = need.min((pending * 2).max(INPUT_BYTES));
        if self.bytes.len() < grown || self.end == self.bytes.len() {
            let room = grown.max(self.end + INPUT_BYTES);
            if grown > self.bytes.len() {
                // It has doubled as it is, and for a moment the old one is there too: never more than two of the frame.
                self.bytes.reserve_exact(room - self.bytes.len());
            }
            self.bytes.resize(room, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// What many large frames took is not kept for the small ones that come now. Nothing waits to be taken.
    fn keep_what_is_needed(&mut self) {
        if self.frames < SHRINK_EVERY {
            return;
        }
        let needed = self.largest.max(INPUT_BYTES);
        if self.bytes.len() > 2 * needed {
            self.bytes = vec![0; needed];
        }
        (self.frames, self.largest) = (0, 0);
    }

    /// Notes that `bytes` were read into the space given.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Adds bytes that were read elsewhere.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let (now, later) = bytes.split_at(bytes.len().min(space.len()));
            space[..now.len()].copy_from_slice(now);
            self.advance(now.len());
            bytes = later;
        }
    }

    /// What was read and not taken.
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn pending_frame(&self) -> Option<usize> {
        let prefix = self.bytes.get(self.start..self.end)?.first_chunk::<4>()?;
        frame_length(*prefix, self.frame_bytes_max).ok()
    }

    /// Takes the next complete frame, without its length; where it lies holds until the next call of
    /// [`Self::space`].
    ///
    /// # Errors
    /// When its length is impossible.
    pub(super) fn next_frame(&mut self) -> Result<Option<Range<usize>>, WireError> {
        let pending = &self.bytes[self.start..self.end];
        let Some(prefix) = pending.first_chunk::<4>() else { return Ok(None) };
        let length = frame_length(*prefix, self.frame_bytes_max)?;
        if pending.len() < 4 + length {
            return Ok(None);
        }
        let start = self.start + 4;
        self.start = start + length;
        (self.frames, self.largest) = (self.frames + 1, self.largest.max(4 + length));
        Ok(Some(start..start + length))
    }

    /// Gives back what a large frame took, if no byte waits.
    pub(super) fn shrink(&mut self) {
        if self.start == self.end && self.bytes.len() > INPUT_BYTES {
            (self.start, self.end) = (0, 0);
            self.bytes = Vec::new();
        }
    }

    /// The bytes of a frame that was taken.
    pub(super) fn frame(&self, at: Range<usize>) -> &[u8] {
        &self.bytes[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::peak_bytes;

    #[test]
    fn a_claimed_length_takes_no_memory_before_its_bytes_come() {
        let mut input = Input::new(100 << 20);
        input.push(&(90i32 << 20).to_be_bytes());
        input.space();
        assert!(input.bytes.len() <= 2 * INPUT_BYTES);
    }

    #[test]
    fn a_large_frame_takes_at_most_twice_its_size_while_it_arrives() {
        let part = vec![7; 64 << 10];
        for bytes in [30_000_000, (16 << 20) + 50, (32 << 20) - 4, (32 << 20) + 5_000] {
            let peak = peak_bytes(|| {
                let mut input = Input::new(100 << 20);
                input.push(&(bytes as i32).to_be_bytes());
                let mut left: usize = bytes;
                while left > 0 {
                    let now = left.min(part.len());
                    input.push(&part[..now]);
                    left -= now;
                }
                assert!(input.next_frame().is_ok_and(|frame| frame.is_some()));
            });
            assert!(peak <= 2 * bytes + 2 * INPUT_BYTES, "{peak} for {bytes}");
        }
    }

    /// A consumer that has caught up is never without a request in flight.
    #[test]
    fn the_buffer_shrinks_when_frames_have_become_small() {
        let mut input = Input::new(1 << 22);
        let mut take = |bytes: i32, times: u32| {
            for _ in 0..times {
                input.push(&[&bytes.to_be_bytes()[..], &vec![7; bytes as usize]].concat());
                assert!(input.next_frame().is_ok_and(|frame| frame.is_some()));
                input.space();
            }
            input.bytes.capacity()
        };
        let large = take(1 << 20, SHRINK_EVERY);
        assert!(large >= 1 << 20 && take(1 << 20, SHRINK_EVERY) == large, "it is needed again and again");
        assert_eq!(take(50_000, SHRINK_EVERY - 1), large, "they may come again");
        assert_eq!(take(50_000, 1), 50_004);
        assert_eq!(take(100, SHRINK_EVERY), INPUT_BYTES);
    }

    #[test]
    fn the_memory_of_a_large_frame_is_given_back_once_it_was_taken() {
        let mut input = Input::new(1 << 20);
        let frame = [&(1i32 << 19).to_be_bytes()[..], &[7; 1 << 19]].concat();
        input.push(&frame);
        input.shrink();
        assert!(input.bytes.len() > 1 << 19, "it waits to be taken");
        assert_eq!(input.next_frame(), Ok(Some(4..4 + (1 << 19))));
        input.shrink();
        assert_eq!(input.bytes.capacity(), 0);
        input.push(&frame);
        assert!(input.next_frame().is_ok_and(|frame| frame.is_some()), "and it can be used again");
    }
}
