//! Test 2: every answer comes after a fixed delay. What is printed above the delay is the floor of loopback,
//! scheduler and server, plus what kdyno adds; the bare loop shows the floor.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::row::{AccuracyRow, times};
use crate::bench::load::BenchLoad;
use crate::bench::process::{Background, measured, words};
use crate::bench::setup::Setup;

const DELAYS_US: [u64; 4] = [200, 1_000, 10_000, 100_000];
const RATE_PER_S: u32 = 200;
const SECONDS: u32 = 15;
/// More than are ever unanswered at this rate and the longest delay: the client must not queue by itself.
const IN_FLIGHT: u32 = 100;

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    println!("  {}", words(fake(bench, 200).arg("&")));
    println!("  {}", words(&load("127.0.0.1:PORT").command(bench)));
    println!("  beside: {}", words(echo(bench, 200).arg("&")));
    println!("  beside: {}", words(&bare(bench, "127.0.0.1:PORT")));
    let mut rows = Vec::new();
    for delay_us in DELAYS_US {
        let peer = Background::start(&mut echo(bench, delay_us))?;
        let finished = measured(&mut bare(bench, &peer.first_line))?;
        drop(peer);
        let printed: Value =
            serde_json::from_str(&finished.stdout).context("the bare loop printed no JSON")?;
        let cluster = Background::start(&mut fake(bench, delay_us))?;
        let outcome = load(&cluster.first_line).run(bench)?;
        drop(cluster);
        let lost = outcome.number("failed")? + outcome.number("unresolved")?;
        anyhow::ensure!(lost < 0.5, "{lost} records failed or stayed unresolved");
        for quantile in ["p50", "p99"] {
            let bare_ns =
                printed["response_ns"][quantile].as_f64().context("the bare loop has no quantile")?;
            let kdyno_ns = outcome.number(&format!("response_ns.{quantile}"))?;
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

fn load(bootstrap: &str) -> BenchLoad {
    BenchLoad {
        rate: RATE_PER_S.to_string(),
        unique: true,
        linger_ms: 0,
        further: ["--warmup-seconds", "1", "--in-flight", &IN_FLIGHT.to_string()].map(str::to_owned).to_vec(),
        ..BenchLoad::at_max(bootstrap, "bench", SECONDS)
    }
}

fn fake(bench: &Setup, delay_us: u64) -> Command {
    let mut command = bench.helper("fake-broker");
    command.args(["--delay-us", &delay_us.to_string()]);
    command
}

fn echo(bench: &Setup, delay_us: u64) -> Command {
    let mut command = Command::new(&bench.xtask);
    command.args(["accuracy-echo", "--delay-us", &delay_us.to_string()]);
    command
}

fn bare(bench: &Setup, to: &str) -> Command {
    let mut command = Command::new(&bench.xtask);
    command.args(["accuracy-bare", "--to", to, "--rate", &RATE_PER_S.to_string()]);
    command.args(["--seconds", &SECONDS.to_string()]);
    command
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
