//! Test 2: every answer comes after a fixed delay. What is printed above the delay is the floor of loopback,
//! scheduler and server, plus what kdyno adds; the bare loop shows the floor.

use super::echo;
use super::fake::Fake;
use super::row::{AccuracyRow, times};
use crate::bench::load::BenchLoad;
use crate::bench::setup::Setup;

const DELAYS_US: [u64; 4] = [200, 1_000, 10_000, 100_000];
const RATE_PER_S: u32 = 200;
const SECONDS: u32 = 15;
/// More than are ever unanswered at this rate and the longest delay: the client must not queue by itself.
const IN_FLIGHT: u32 = 100;

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let load = BenchLoad {
        rate: format!("{RATE_PER_S}/s, arrivals: constant"),
        unique: true,
        client: format!(
            "acks: 1, enable.idempotence: false, linger.ms: 0, max.in.flight.requests.per.connection: {IN_FLIGHT}"
        ),
        ..BenchLoad::at_max(112_000, SECONDS)
    };
    load.describe();
    let mut rows = Vec::new();
    for delay_us in DELAYS_US {
        let bare_ns = echo::responses_ns(delay_us * 1_000, RATE_PER_S.into(), SECONDS.into())?;
        let cluster = Fake::late(delay_us)?;
        let run = load.run(bench, &cluster.target.file)?;
        drop(cluster);
        anyhow::ensure!(run.lost()? < 0.5, "{} records failed or stayed unresolved", run.lost()?);
        for (quantile, bare_ns) in ["p50", "p99"].into_iter().zip(bare_ns) {
            let kdyno_ns = run.figure(&format!("writers.response.{quantile}"))?;
            let extra_us = |response_ns: f64| response_ns / 1e3 - delay_us as f64;
            let (bare_us, kdyno_us) = (extra_us(bare_ns), extra_us(kdyno_ns));
            let step_us = step_ns(kdyno_ns as u64) as f64 / 1e3;
            rows.push(AccuracyRow::new(
                &format!("delay {} ms", delay_us as f64 / 1e3),
                &format!("response {quantile} − delay, µs"),
                format!("{bare_us:.0}"),
                format!("{kdyno_us:.0} (steps of {step_us:.1})"),
                times(kdyno_us, bare_us),
            ));
        }
    }
    Ok(rows)
}

/// Width of the bucket that holds a value, at the 3 significant digits of a phase: 2048 buckets to a power
/// of two at first, then half as many to each. A printed quantile is at most this much above the true one.
fn step_ns(value_ns: u64) -> u64 {
    1 << value_ns.max(1).ilog2().saturating_sub(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_as_wide_as_three_digits_allow() {
        assert_eq!(step_ns(0), 1);
        assert_eq!(step_ns(2_047), 1);
        assert_eq!(step_ns(2_048), 2);
        assert_eq!(step_ns(100_000_000), 65_536);
        for value in [5_000, 123_456, 10_000_000] {
            assert!(step_ns(value) * 1_000 <= value, "{value}");
        }
    }
}
