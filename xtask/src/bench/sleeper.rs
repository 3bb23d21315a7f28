//! The bare sleep loop: the best any program can do on this machine that wakes at a fixed tick and releases what is due.
//! And the clocks that it reads.

use anyhow::Context;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

pub const NS_PER_S: u64 = 1_000_000_000;

/// Longest run; bounds the list of lags.
const MAX_RECORDS: u64 = 100_000_000;

/// How late a loop released what was due, and what it took.
pub struct Slept {
    pub p50_ns: f64,
    pub p99_ns: f64,
    /// CPU time ÷ time.
    pub cpu_share: f64,
}

/// Wakes at every tick (absolute deadlines) and takes what is due of a constant schedule.
pub fn run(tick_ns: u64, rate_per_s: u64, seconds: u64) -> anyhow::Result<Slept> {
    let total = rate_per_s.checked_mul(seconds).filter(|total| (1..=MAX_RECORDS).contains(total));
    let total = total.context("rate × seconds is out of bounds")?;
    anyhow::ensure!(tick_ns > 0, "a tick takes time");
    let mut lags_ns: Vec<u64> = Vec::with_capacity(usize::try_from(total)?);
    let cpu_before_s = thread_cpu_s();
    let begin_ns = now_ns() + tick_ns;
    let due_ns = |index: u64| begin_ns + index * NS_PER_S / rate_per_s;
    let mut deadline_ns = begin_ns;
    let mut released = 0;
    while released < total {
        sleep_until(deadline_ns);
        let now_ns = now_ns();
        while released < total && due_ns(released) <= now_ns {
            lags_ns.push(now_ns - due_ns(released));
            released += 1;
        }
        // A missed tick is not made up for: what was due has been taken.
        deadline_ns = (deadline_ns + tick_ns).max(now_ns - now_ns % tick_ns);
    }
    let cpu_share = (thread_cpu_s() - cpu_before_s) / seconds as f64;
    let [p50_ns, p99_ns] = p50_and_p99(&mut lags_ns);
    Ok(Slept { p50_ns, p99_ns, cpu_share })
}

/// p50 and p99 of so many figures, at least one.
pub fn p50_and_p99(figures: &mut [u64]) -> [f64; 2] {
    figures.sort_unstable();
    [0.5, 0.99].map(|share| figures[((figures.len() - 1) as f64 * share) as usize] as f64)
}

/// The host's monotonic clock, the one kdyno reads.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// User plus system of this thread so far, in seconds.
pub fn thread_cpu_s() -> f64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// Sleeps until an instant of the monotonic clock.
pub fn sleep_until(deadline_ns: u64) {
    let request = Timespec {
        tv_sec: i64::try_from(deadline_ns / NS_PER_S).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(deadline_ns % NS_PER_S).unwrap_or(0),
    };
    // Interrupted: the loop looks at the clock anyway.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_few_figures() {
        assert_eq!(p50_and_p99(&mut [7]), [7.0, 7.0]);
        let mut hundred: Vec<u64> = (0..=100).rev().collect();
        assert_eq!(p50_and_p99(&mut hundred), [50.0, 99.0]);
    }

    #[test]
    fn a_loop_without_records_is_refused() {
        assert!(run(200_000, 0, 1).is_err() && run(0, 1_000, 1).is_err());
    }
}
