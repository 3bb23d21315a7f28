//! `tls`: what a byte costs the worker in a session of TLS 1.3, as a ratio to what it costs in the open and to what the
//! cipher suite takes by itself. No client that seals what it sends can be cheaper than these two together.

use std::io::Write;
use std::process::Command;

use anyhow::Context;
use tempfile::NamedTempFile;

use super::contest::{Contest, Shown};
use super::floor::POOL_BYTES;
use super::load::BenchLoad;
use super::process::{Background, measured, words};
use super::seal::SUITES;
use super::sender::null_broker;
use super::setup::Setup;

/// What is sent: unique payloads, and `batch.size`.
const LOADS: [(&str, bool, u32); 2] =
    [("128 B pooled, 112 000 B", false, 112_000), ("128 B unique, 16 KiB", true, 16_384)];

/// The ratio that must not be exceeded.
const RATIO_MAX: f64 = 1.3;

fn load(bench: &Setup, at: usize, bootstrap: &str) -> BenchLoad {
    let (_, unique, batch_bytes) = LOADS[at];
    let seconds = if bench.options.quick { 3 } else { 20 };
    BenchLoad { unique, batch_bytes, ..BenchLoad::at_max(bootstrap, "bench", seconds) }
}

/// A null broker that speaks TLS 1.3 with one suite, and the file with its certificate.
fn secured(bench: &Setup, suite: &str) -> anyhow::Result<(Background, NamedTempFile)> {
    let mut command = Command::new(&bench.kdyno);
    command.args(["null-broker", "--port", "0", "--partitions", "6", "--tls", "1.3", "--cipher", suite]);
    let broker = Background::start_until(&mut command, |line| line.starts_with("-----END CERTIFICATE"))?;
    let (_, certificate) = broker.said.split_once('\n').context("the null broker says no certificate")?;
    let mut trusted = NamedTempFile::new()?;
    trusted.write_all(certificate.as_bytes())?;
    Ok((broker, trusted))
}

/// CPU per GB that the suite takes by itself, or with each record copied from a pool first.
fn sealing(bench: &Setup, suite: &str, pool_bytes: usize) -> anyhow::Result<f64> {
    let finished = measured(&mut sealer(bench, suite, pool_bytes))?;
    let sealed: f64 = finished.stdout.trim().parse().context("the sealer prints its bytes")?;
    Ok(finished.cpu_s / (sealed / 1e9))
}

fn sealer(bench: &Setup, suite: &str, pool_bytes: usize) -> Command {
    let mut command = Command::new(&bench.xtask);
    let milliseconds = if bench.options.quick { "500" } else { "2000" };
    command.args(["bench-seal", "--suite", suite, "--pool", &pool_bytes.to_string()]);
    command.args(["--milliseconds", milliseconds]);
    command
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, 0, "127.0.0.1:PORT").command(bench)));
    println!("  sealing: {}", words(&sealer(bench, SUITES[0].0, POOL_BYTES)));
    let named = |(load, ..): (&str, bool, u32)| {
        SUITES.map(|(suite, _)| (format!("{load}, {suite}"), 0.0..=RATIO_MAX))
    };
    let contest = Contest {
        heading: "value, payload, batch.size, suite",
        sides: LOADS.into_iter().flat_map(named).collect(),
        figures: &[
            ("acknowledged/s", Shown::Median),
            ("open", Shown::Spread(3)),
            ("sealing alone", Shown::Spread(3)),
            ("copied, sealed", Shown::Spread(3)),
            ("TLS", Shown::Spread(3)),
            ("ratio", Shown::Judged(2)),
        ],
        group: 1,
        unmeasured: 0,
    };
    let mut open = f64::NAN;
    contest.run(&bench.options, |side, _| {
        let (at, (suite, _)) = (side / SUITES.len(), SUITES[side % SUITES.len()]);
        if side % SUITES.len() == 0 {
            let broker = null_broker(bench, 6)?;
            open = load(bench, at, &broker.first_line).run(bench)?.cpu_s_per_gb()?;
        }
        let alone = sealing(bench, suite, 0)?;
        let copied = sealing(bench, suite, POOL_BYTES)?;
        let (broker, trusted) = secured(bench, suite)?;
        let mut load = load(bench, at, &broker.first_line);
        load.further = vec!["--trust".to_owned(), trusted.path().display().to_string()];
        let outcome = load.run(bench)?;
        let session = outcome.cpu_s_per_gb()?;
        Ok(vec![outcome.number("acked_per_s")?, open, alone, copied, session, session / (open + alone)])
    })?;
    println!("  CPU s per GB of requests; ratio: TLS ÷ (open + sealing), at most {RATIO_MAX}");
    Ok(())
}
