//! Test 7: Poisson arrivals as they were sent. What a real run can show: how many there were, how they
//! spread over whole seconds, and how late they left. The gaps between single records are not kept by a
//! run; their law is tested in simulated time.

use std::time::{SystemTime, UNIX_EPOCH};

use super::row::AccuracyRow;
use crate::bench::load::BenchLoad;
use crate::bench::process::words;
use crate::bench::sender::null_broker;
use crate::bench::setup::Setup;

const RATE_PER_S: u32 = 5_000;
const SECONDS: u32 = 40;
const TICK_US: f64 = 200.0;
const SECONDS_PER_DAY: u64 = 86_400;

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    // The seed is the date, so that no seed is ever chosen for its result.
    let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / SECONDS_PER_DAY;
    let load = |bootstrap: &str| BenchLoad {
        rate: RATE_PER_S.to_string(),
        unique: true,
        further: ["--arrivals", "poisson", "--seed", &day.to_string()].map(str::to_owned).to_vec(),
        ..BenchLoad::at_max(bootstrap, "bench", SECONDS)
    };
    println!("  {}", words(&load("127.0.0.1:PORT").command(bench)));
    let broker = null_broker(bench, 6)?;
    let outcome = load(&broker.first_line).run(bench)?;
    let seconds = SECONDS as usize;
    let whole = |name: &str| -> anyhow::Result<Vec<u64>> {
        Ok(outcome.per_second(name)?.into_iter().take(seconds).collect())
    };
    let (intended, sent) = (whole("offered")?, whole("achieved")?);
    anyhow::ensure!(intended.len() == seconds && sent.len() == seconds, "seconds are missing");
    let test = format!("Poisson {RATE_PER_S}/s");
    let expected = f64::from(RATE_PER_S) * f64::from(SECONDS);
    let offered = outcome.number("offered")?;
    let spread = (2.0 / (f64::from(SECONDS) - 1.0)).sqrt();
    let of_spread = |value: f64| format!("{:+.1} standard errors", (value - 1.0) / spread);
    let dispersion_row = |figure: &str, counts: &[u64]| {
        let value = dispersion(counts);
        let truth = format!("1 ± {spread:.2}");
        AccuracyRow::new(&test, figure, truth, format!("{value:.2}"), of_spread(value))
    };
    let lag_row = |quantile: &str, share: f64| -> anyhow::Result<AccuracyRow> {
        let lag_us = outcome.number(&format!("schedule_delay_ns.{quantile}"))? / 1e3;
        let perfect_us = perfect_lag_us(f64::from(RATE_PER_S), share);
        let figure = format!("lag {quantile}, µs (a loop that wakes without delay, {TICK_US} µs apart)");
        let above = format!("{:+.0} µs", lag_us - perfect_us);
        Ok(AccuracyRow::new(&test, &figure, format!("{perfect_us:.0}"), format!("{lag_us:.0}"), above))
    };
    Ok(vec![
        AccuracyRow::new(
            &test,
            &format!("records in {SECONDS} s"),
            format!("{expected} ± {:.0}", expected.sqrt()),
            format!("{offered}"),
            format!("{:+.1} standard errors", (offered - expected) / expected.sqrt()),
        ),
        dispersion_row("index of dispersion by the second, intended", &intended),
        dispersion_row("index of dispersion by the second, sent", &sent),
        lag_row("p50", 0.5)?,
        lag_row("p99", 0.99)?,
    ])
}

/// Quantile of the lag of Poisson arrivals if the only delay is that releases lie at least a tick apart.
/// Records that come due within a tick of the last release, a = rate × tick of them on average, wait for
/// its end, uniformly. If there are none, with probability e⁻ᵃ, the next record leaves at its instant.
fn perfect_lag_us(rate_per_s: f64, quantile: f64) -> f64 {
    let in_a_tick = rate_per_s * TICK_US / 1e6;
    let none = (-in_a_tick).exp();
    let at_once = none / (in_a_tick + none);
    ((quantile - at_once) / (1.0 - at_once)).max(0.0) * TICK_US
}

/// Variance ÷ mean of counts: 1 for Poisson arrivals, 0 for constant ones.
fn dispersion(counts: &[u64]) -> f64 {
    let number = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / number;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    squares / (number - 1.0) / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispersion_of_counts_worked_out_by_hand() {
        assert!(dispersion(&[7, 7, 7]).abs() < 1e-12);
        // Mean 4, variance (4 + 4 + 0) ÷ 2 = 4.
        assert!((dispersion(&[2, 6, 4]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_lag_of_perfect_releases_between_its_limits() {
        assert!(perfect_lag_us(1.0, 0.5).abs() < 1e-9, "rare records leave at once");
        assert!((perfect_lag_us(1e6, 0.5) - TICK_US / 2.0).abs() < 1e-3, "frequent ones wait uniformly");
        // One in a tick: e⁻¹ ÷ (1 + e⁻¹) = 0.2689 leave at once; (0.5 − 0.2689) ÷ 0.7311 of a tick.
        assert!((perfect_lag_us(5_000.0, 0.5) - 63.2).abs() < 0.1);
    }
}
