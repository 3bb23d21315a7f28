//! How far ahead the start of a measure phase is announced.

use crate::observer::SECOND_NS;
use kdyno_model::worker::MEASURE_AHEAD_NS;

/// Added to [`MEASURE_AHEAD_NS`]: the announcement takes its way to every worker of a busy machine.
const ON_ITS_WAY_NS: u64 = 200_000_000;

/// From the announcement to the instant, at least, ns.
pub(super) const AHEAD_NS: u64 = MEASURE_AHEAD_NS + ON_ITS_WAY_NS;

/// The lead time for the two sides of a duet from the moment at which they agree: the other one's thread has to see it
/// and may be late.
pub(super) const AGREED_AHEAD_NS: u64 = AHEAD_NS + 1_300_000_000;

/// The first whole second that lies `ahead_ns` after `now_ns`, both from T0.
pub(super) fn first_second(now_ns: u64, ahead_ns: u64) -> u64 {
    now_ns.saturating_add(ahead_ns).div_ceil(SECOND_NS) * SECOND_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whole_second_far_enough_ahead_is_announced() {
        for ahead_ns in [AHEAD_NS, AGREED_AHEAD_NS] {
            for now_ns in (0..5 * SECOND_NS).step_by(99_999_999) {
                let start_ns = first_second(now_ns, ahead_ns);
                assert_eq!(start_ns % SECOND_NS, 0);
                assert!(start_ns - now_ns >= ahead_ns, "{now_ns}");
                assert!(start_ns - now_ns < ahead_ns + SECOND_NS, "{now_ns}");
            }
        }
    }
}
