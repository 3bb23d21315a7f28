//! Which record of an open loop is due.

use crate::schedule::Schedule;
use crate::stream::LoadClock;

/// The next record that is due by `now_ns`, as an instant of the stream's clock; it is still to be taken.
#[inline]
pub(crate) fn peek_due(
    schedule: &Schedule,
    now_ns: u64,
    clock: LoadClock,
    limit_left: Option<u64>,
) -> Option<u64> {
    let t0 = clock.t0_ns.saturating_add(schedule.peek());
    let is_beyond = t0 >= clock.measure_ns && limit_left == Some(0);
    (t0 <= now_ns && t0 < clock.load_end_ns && !is_beyond).then_some(t0)
}

/// Takes that record.
#[inline]
pub(crate) fn take_due(schedule: &mut Schedule, t0: u64, clock: LoadClock, limit_left: &mut Option<u64>) {
    if t0 >= clock.measure_ns
        && let Some(left) = limit_left
    {
        *left -= 1;
    }
    schedule.advance();
}

/// Takes the next record that is due by `now_ns`.
#[inline]
pub(crate) fn next_due(
    schedule: &mut Schedule,
    now_ns: u64,
    clock: LoadClock,
    limit_left: &mut Option<u64>,
) -> Option<u64> {
    let t0 = peek_due(schedule, now_ns, clock, *limit_left)?;
    take_due(schedule, t0, clock, limit_left);
    Some(t0)
}
