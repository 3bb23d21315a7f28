//! The bytes that wait to be written: how many one write takes, and from where.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Most bytes handed to one write. Alternated three times against the null broker, slices of 112 KiB cost
/// 0.074–0.082 s of CPU time per GB and slices of 32 KiB 0.100–0.108; the bare writer of `make bench`
/// finds its floor at 112 KiB as well, and a session of TLS costs more with 32 or 48 KiB of ciphertext at once. Other
/// machines may differ: its table shows the sizes side by side.
pub(crate) const WRITE_BYTES_MAX: usize = 112 << 10;

/// Most pieces handed to one write.
pub(crate) const WRITE_SLICES_MAX: usize = 16;

/// Fills `slices` with the front of `segments`, at most `bytes_max` bytes; returns how many slices are set and
/// how many bytes they have.
pub(crate) fn gather<'a>(
    segments: &'a VecDeque<Bytes>,
    bytes_max: usize,
    slices: &mut [IoSlice<'a>; WRITE_SLICES_MAX],
) -> (usize, usize) {
    let mut left = bytes_max;
    let mut count = 0;
    for segment in segments {
        if left == 0 || count == slices.len() {
            break;
        }
        let take = segment.len().min(left);
        slices[count] = IoSlice::new(&segment[..take]);
        left -= take;
        count += 1;
    }
    (count, bytes_max - left)
}

/// Takes `bytes` from the front of `segments`.
pub(crate) fn advance(segments: &mut VecDeque<Bytes>, mut bytes: usize) {
    while bytes > 0 {
        let Some(front) = segments.front_mut() else { break };
        if bytes < front.len() {
            front.advance(bytes);
            break;
        }
        bytes -= front.len();
        segments.pop_front();
    }
}
