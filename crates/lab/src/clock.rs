//! The two clocks of a run: the monotonic one that everything is measured with, and the wall clock that
//! says when it was.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// CLOCK_MONOTONIC, ns: the clock that everything is measured with.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// CPU time of the thread that asks, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// Wall clock, ns since 1970.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Wall clock minus monotonic clock, ns: what instants that records carry are made with, and read again. It is read
/// once for all, so that setting the wall clock meanwhile does no harm.
pub fn wall_offset_ns() -> i64 {
    unix_ns().cast_signed() - monotonic_ns().cast_signed()
}

/// `instant − t0`, both on CLOCK_MONOTONIC, ns; negative before T0.
pub(crate) fn relative_ns(instant_ns: u64, t0_ns: u64) -> i64 {
    let difference = i128::from(instant_ns) - i128::from(t0_ns);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// How long until `instant_ns` on CLOCK_MONOTONIC; zero when it is past.
pub(crate) fn until(instant_ns: u64) -> Duration {
    Duration::from_nanos(instant_ns.saturating_sub(monotonic_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_t0_is_negative() {
        assert_eq!(relative_ns(5, 8), -3);
        assert_eq!(relative_ns(8, 5), 3);
        assert_eq!(relative_ns(u64::MAX, 0), i64::MAX);
    }

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
        assert_eq!(until(0), Duration::ZERO);
    }
}
