//! Instants that the lab announces: whether they come in time. Pure.

use kdyno_model::worker::MEASURE_AHEAD_NS;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// How late a worker may learn of T0, ns. It is no measure of a good start: what was due by then counts as sent late, which
/// the caveats about the generator report, and a busy host with few processors may take some hundred milliseconds to give
/// the thread a turn. Beyond it a message was held up, or the clocks of two hosts are not where they were taken to be.
const START_LATE_NS_MAX: u64 = 1_000_000_000;

/// Whether T0 lies ahead, or has just been.
///
/// # Errors
/// It does not; how long ago it was, ms.
pub(crate) fn check_start(t0_ns: u64, now_ns: u64) -> Result<(), u64> {
    let late_ns = now_ns.saturating_sub(t0_ns);
    if late_ns > START_LATE_NS_MAX { Err(late_ns / NS_PER_MS) } else { Ok(()) }
}

/// Whether the measure phase can begin at `start_ns` from T0: no schedule may have come near it.
///
/// # Errors
/// It cannot; why, one lowercase clause.
pub(crate) fn check_announcement(
    start_ns: u64,
    before_ns: Option<u64>,
    t0_ns: Option<u64>,
    now_ns: u64,
) -> Result<(), String> {
    if let Some(before_ns) = before_ns {
        return Err(format!("it was announced before, for {before_ns} ns"));
    }
    if !start_ns.is_multiple_of(NS_PER_S) {
        return Err("that is not on a whole second".to_owned());
    }
    // Before T0 nothing is due.
    let Some(t0_ns) = t0_ns.filter(|t0_ns| *t0_ns <= now_ns) else { return Ok(()) };
    let at_ns = t0_ns.saturating_add(start_ns);
    let ms = |ns: u64| ns / NS_PER_MS;
    match at_ns.checked_sub(now_ns) {
        None => Err(format!("that was {} ms ago", ms(now_ns - at_ns))),
        Some(ahead_ns) if ahead_ns < MEASURE_AHEAD_NS => {
            Err(format!("that is {} ms ahead, and {} are needed", ms(ahead_ns), ms(MEASURE_AHEAD_NS)))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_refused_when_it_is_over() {
        let t0_ns = 100 * NS_PER_S;
        for now_ns in [0, t0_ns, t0_ns + START_LATE_NS_MAX] {
            assert!(check_start(t0_ns, now_ns).is_ok(), "{now_ns}");
        }
        assert_eq!(check_start(t0_ns, t0_ns + START_LATE_NS_MAX + NS_PER_MS), Err(1001));
    }

    #[test]
    fn a_measure_phase_is_announced_once_and_on_a_whole_second() {
        let (t0_ns, now_ns) = (100 * NS_PER_S, 103 * NS_PER_S);
        let check = |start_s: f64| check_announcement((start_s * 1e9) as u64, None, Some(t0_ns), now_ns);
        assert_eq!(check(4.0), Ok(()), "a second ahead");
        assert_eq!(check(1e6), Ok(()));
        let refused = |reported: Result<(), String>, reason: &str| {
            let reported = reported.expect_err("refused");
            assert!(reported.contains(reason), "{reported}");
        };
        refused(check(4.5), "whole second");
        refused(check(2.0), "1000 ms ago");
        refused(check(3.0), "0 ms ahead, and 1000 are needed");
        let later = check_announcement(4 * NS_PER_S, None, Some(t0_ns), now_ns + 1_000_000);
        refused(later, "999 ms ahead");
        refused(check_announcement(9 * NS_PER_S, Some(7), Some(t0_ns), now_ns), "before, for 7 ns");
        // Nothing is due before T0, however near the start is.
        assert_eq!(check_announcement(0, None, Some(t0_ns), t0_ns - 1), Ok(()));
        assert_eq!(check_announcement(0, None, None, now_ns), Ok(()));
        refused(check_announcement(0, None, Some(t0_ns), t0_ns), "0 ms ahead");
    }
}
