//! 20 000 records a second to the null broker, as scheduled: all of them, how late they are passed on, and the share of a core
//! that it takes. The same of a bare sleep loop.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::load::BenchLoad;
use super::process::{measured, words};
use super::sender::null_broker;
use super::setup::Setup;

/// Records per second.
pub const RATE_PER_S: u32 = 20_000;
const TICK_US: u32 = 200;

/// Median and 99th percentile of the lag, µs, and CPU time ÷ time.
pub type ConstantFigures = [f64; 3];

/// Prints the commands of both.
pub fn describe(bench: &Setup, seconds: u32) {
    println!("  each: {}", words(&load("127.0.0.1:PORT", seconds).command(bench)));
    println!("  beside: {}", words(&sleep_loop(bench, seconds)));
}

/// The program of `side` against the null broker of `bench`; counts that are not exact are an error.
pub fn kdyno(bench: &Setup, side: &Setup, seconds: u32) -> anyhow::Result<ConstantFigures> {
    let broker = null_broker(bench, 6)?;
    let outcome = load(&broker.first_line, seconds).run(side)?;
    let expected = f64::from(RATE_PER_S) * f64::from(seconds);
    let (offered, acknowledged) = (outcome.number("offered")?, outcome.number("acknowledged")?);
    let lost = outcome.number("failed")? + outcome.number("unresolved")?;
    let is_exact = [offered - expected, acknowledged - expected, lost].iter().all(|off| off.abs() < 0.5);
    ensure!(
        is_exact,
        "{expected} due: {offered} offered, {acknowledged} acknowledged, {lost} failed or unresolved"
    );
    let lag_us = |name: &str| outcome.number(name).map(|ns| ns / 1e3);
    let (p50_us, p99_us) = (lag_us("schedule_delay_ns.p50")?, lag_us("schedule_delay_ns.p99")?);
    Ok([p50_us, p99_us, outcome.cpu_s / outcome.number("seconds")?])
}

/// The sleep loop on the same schedule.
pub fn bare(bench: &Setup, seconds: u32) -> anyhow::Result<ConstantFigures> {
    let finished = measured(&mut sleep_loop(bench, seconds))?;
    let printed: Value = serde_json::from_str(&finished.stdout).context("the sleep loop printed no JSON")?;
    let lag_us = |name: &str| {
        let lag_ns = printed["schedule_delay_ns"][name].as_f64();
        lag_ns.map(|ns| ns / 1e3).context("the sleep loop printed no lag")
    };
    Ok([lag_us("p50")?, lag_us("p99")?, finished.cpu_s / finished.wall_s])
}

fn load(bootstrap: &str, seconds: u32) -> BenchLoad {
    BenchLoad { rate: RATE_PER_S.to_string(), unique: true, ..BenchLoad::at_max(bootstrap, "bench", seconds) }
}

fn sleep_loop(bench: &Setup, seconds: u32) -> Command {
    let mut command = Command::new(&bench.xtask);
    command.args(["bench-sleep", "--tick-us", &TICK_US.to_string(), "--rate", &RATE_PER_S.to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command
}
