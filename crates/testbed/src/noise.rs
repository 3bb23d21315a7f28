//! One second that shows how quiet the host is: a spin, sleeps, and round trips over loopback.

use crate::error::TestbedError;
use crate::probe::host;
use kdyno_model::sample::NoiseReading;
use rustix::thread::ClockId;
use rustix::time::Timespec;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long each of the three looks takes; together a second.
const SPIN_TIME: Duration = Duration::from_millis(350);
const SLEEP_TIME: Duration = Duration::from_millis(350);
const LOOPBACK_TIME: Duration = Duration::from_millis(300);

/// Iterations of one slice: about a tenth of a millisecond, shorter than a scheduler's slice, so that an interruption
/// is noticed, and far longer than reading the clock takes.
const SPIN_ITERATIONS: u32 = 50_000;
/// Gap between intended wake-ups.
const SLEEP_NS: u64 = 1_000_000;
/// Sleeps of one round. The quieter half of the rounds is what the host can do: what an interruption does to the others is no
/// reason to doubt the load generator less.
const ROUND_SLEEPS: usize = 25;
/// Bound of the samples kept, should the clock or the loopback be absurdly fast.
const SAMPLES_MAX: usize = 100_000;
/// A round trip on the loopback that takes longer is an error, not a sample.
const LOOPBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// Measures for about one second.
///
/// # Errors
/// The loopback interface cannot be used.
pub fn measure() -> Result<NoiseReading, TestbedError> {
    let before = host::cpu().unwrap_or_default();
    let mut spin_ns = spin();
    let mut sleep_late_ns = quiet(&sleeps());
    let mut loopback_ns =
        loopback().map_err(|e| TestbedError::io("cannot use", Path::new("127.0.0.1"), e))?;
    let after = host::cpu().unwrap_or_default();
    let stolen = after.steal.saturating_sub(before.steal);
    let ticks = after.total().saturating_sub(before.total()).max(1);
    let spin_median = quantile(&mut spin_ns, 0.5).max(1);
    let spin_worst = quantile(&mut spin_ns, 1.0).max(1);
    Ok(NoiseReading {
        spin_per_us: f64::from(SPIN_ITERATIONS) * 1_000.0 / spin_median as f64,
        spin_worst_ratio: spin_worst as f64 / spin_median as f64,
        sleep_late_ns_p50: quantile(&mut sleep_late_ns, 0.5),
        sleep_late_ns_p99: quantile(&mut sleep_late_ns, 0.99),
        loopback_ns_p50: quantile(&mut loopback_ns, 0.5),
        loopback_ns_p99: quantile(&mut loopback_ns, 0.99),
        steal_share: stolen as f64 / ticks as f64,
    })
}

/// Times of equal slices of work that stays in registers.
fn spin() -> Vec<u64> {
    let started = Instant::now();
    let mut times = Vec::new();
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    while started.elapsed() < SPIN_TIME && times.len() < SAMPLES_MAX {
        let slice = Instant::now();
        for _ in 0..SPIN_ITERATIONS {
            // xorshift: each step needs the one before, so it can be neither skipped nor vectorised.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        state = black_box(state);
        times.push(nanoseconds(slice.elapsed()));
    }
    times
}

/// Lateness of wake-ups at fixed instants, as the load's own pacer sleeps.
fn sleeps() -> Vec<u64> {
    let now_ns = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        // Both are positive on a monotonic clock.
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let start = now_ns();
    let end = start + nanoseconds(SLEEP_TIME);
    let mut late = Vec::new();
    let mut intended = start + SLEEP_NS;
    while intended < end && late.len() < SAMPLES_MAX {
        let until = Timespec {
            tv_sec: (intended / 1_000_000_000) as i64,
            tv_nsec: (intended % 1_000_000_000) as i64,
        };
        // A signal would end the sleep early and show as lateness 0.
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until);
        let now = now_ns();
        late.push(now.saturating_sub(intended));
        // Instants that were slept through are not due any more: each would repeat the same delay.
        intended += SLEEP_NS * ((now.saturating_sub(intended)) / SLEEP_NS + 1);
    }
    late
}

/// The samples of the quieter half of the rounds, by their sums.
fn quiet(samples: &[u64]) -> Vec<u64> {
    let mut rounds: Vec<&[u64]> = samples.chunks(ROUND_SLEEPS).collect();
    // The last one may be shorter.
    rounds.sort_by_key(|round| round.iter().sum::<u64>() / round.len().max(1) as u64);
    rounds.truncate(rounds.len().div_ceil(2));
    rounds.concat()
}

/// Round trips of one byte to a thread that sends it back.
fn loopback() -> std::io::Result<Vec<u64>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect_timeout(&listener.local_addr()?, LOOPBACK_TIMEOUT)?;
    let (mut far, _) = listener.accept()?;
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOPBACK_TIMEOUT))?;
    }
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        // Ends with the other side's end, or at the time-out.
        while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
    });
    let started = Instant::now();
    let mut times = Vec::new();
    let mut byte = [7];
    while started.elapsed() < LOOPBACK_TIME && times.len() < SAMPLES_MAX {
        let trip = Instant::now();
        near.write_all(&byte)?;
        near.read_exact(&mut byte)?;
        times.push(nanoseconds(trip.elapsed()));
    }
    drop(near);
    // It cannot panic, and its result is nothing.
    let _ = echo.join();
    Ok(times)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The sample at that share of the sorted samples; 0 when there is none.
fn quantile(samples: &mut [u64], share: f64) -> u64 {
    samples.sort_unstable();
    let last = samples.len().saturating_sub(1);
    // The product is at most `last`.
    samples.get((last as f64 * share).round() as usize).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_and_no_samples() {
        assert_eq!(quantile(&mut [], 0.99), 0);
        assert_eq!(quantile(&mut [5], 0.99), 5);
        assert_eq!(quantile(&mut (0..=100).rev().collect::<Vec<_>>(), 0.99), 99);
    }

    #[test]
    fn what_interrupts_some_rounds_is_not_what_the_host_can_do() {
        let mut samples = vec![60; 14 * ROUND_SLEEPS];
        for round in [0, 3, 4, 9, 13] {
            samples[round * ROUND_SLEEPS + 7] = 5_000_000;
        }
        let mut quiet = super::quiet(&samples);
        assert_eq!(quiet.len(), 7 * ROUND_SLEEPS);
        assert_eq!(quantile(&mut quiet, 1.0), 60);
        assert_eq!(super::quiet(&[]), Vec::<u64>::new());
    }

    #[test]
    fn a_reading_holds_together() {
        let reading = measure().expect("loopback");
        assert!(reading.spin_per_us > 1.0 && reading.spin_worst_ratio >= 1.0, "{reading:?}");
        assert!(reading.sleep_late_ns_p50 <= reading.sleep_late_ns_p99);
        assert!(reading.loopback_ns_p50 > 0 && reading.loopback_ns_p50 <= reading.loopback_ns_p99);
        assert!((0.0..=1.0).contains(&reading.steal_share));
    }
}
