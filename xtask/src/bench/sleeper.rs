//! The bare sleep loop: the best any program can do on this machine that wakes at a fixed tick and
//! releases what is due. A hidden mode of this program.

use anyhow::Context;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde_json::json;

const NS_PER_S: u64 = 1_000_000_000;

/// Longest run; bounds the list of lags.
const MAX_RECORDS: u64 = 100_000_000;

/// Wakes at every tick (absolute deadlines), takes what is due of a constant schedule, and prints
/// how late it was as JSON: `released`, `schedule_delay_ns.p50`, `schedule_delay_ns.p99`.
pub fn run(tick_ns: u64, rate_per_s: u64, seconds: u64) -> anyhow::Result<()> {
    let total = rate_per_s.checked_mul(seconds).filter(|total| (1..=MAX_RECORDS).contains(total));
    let total = total.context("rate × seconds is out of bounds")?;
    anyhow::ensure!(tick_ns > 0, "a tick takes time");
    let mut lags_ns: Vec<u32> = Vec::with_capacity(usize::try_from(total)?);
    let begin_ns = now_ns() + tick_ns;
    let due_ns = |index: u64| begin_ns + index * NS_PER_S / rate_per_s;
    let mut deadline_ns = begin_ns;
    let mut released = 0;
    while released < total {
        sleep_until(deadline_ns);
        let now_ns = now_ns();
        while released < total && due_ns(released) <= now_ns {
            lags_ns.push(u32::try_from(now_ns - due_ns(released)).unwrap_or(u32::MAX));
            released += 1;
        }
        // A missed tick is not made up for: what was due has been taken.
        deadline_ns = (deadline_ns + tick_ns).max(now_ns - now_ns % tick_ns);
    }
    lags_ns.sort_unstable();
    let quantile = |share: f64| lags_ns[((lags_ns.len() - 1) as f64 * share) as usize];
    let lag = json!({"p50": quantile(0.5), "p99": quantile(0.99), "max": quantile(1.0)});
    println!("{}", json!({"released": released, "schedule_delay_ns": lag}));
    Ok(())
}

/// The host's monotonic clock, the one kdyno reads.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// Sleeps until an instant of that clock.
pub fn sleep_until(deadline_ns: u64) {
    let request = Timespec {
        tv_sec: i64::try_from(deadline_ns / NS_PER_S).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(deadline_ns % NS_PER_S).unwrap_or(0),
    };
    // Interrupted: the loop looks at the clock anyway.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
}
