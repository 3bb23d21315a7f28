//! `tls`: what a byte costs the worker in a session of TLS 1.3, as a ratio to what it costs in the open and to what the
//! cipher suite takes by itself. No client that seals what it sends can be cheaper than these two together.

use std::io::Write;
use std::process::Command;

use anyhow::Context;
use tempfile::NamedTempFile;

use super::floor::POOL_BYTES;
use super::load::BenchLoad;
use super::process::{Background, measured, words};
use super::seal::SUITES;
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::{SeriesOf, TextTable, thousands};

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

/// Figures of one load with one suite over the rounds: rate; CPU s per GB in the open, sealing alone, copied and sealed, in
/// TLS; ratio.
type TlsSeries = SeriesOf<6>;

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, 0, "127.0.0.1:PORT").command(bench)));
    println!("  sealing: {}", words(&sealer(bench, SUITES[0].0, POOL_BYTES)));
    let mut figures: [[TlsSeries; SUITES.len()]; LOADS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for (at, figures) in figures.iter_mut().enumerate() {
            let broker = null_broker(bench, 6)?;
            let open = load(bench, at, &broker.first_line).run(bench)?.cpu_s_per_gb()?;
            drop(broker);
            for ((suite, _), figures) in SUITES.iter().zip(figures) {
                let alone = sealing(bench, suite, 0)?;
                let copied = sealing(bench, suite, POOL_BYTES)?;
                let (broker, trusted) = secured(bench, suite)?;
                let mut load = load(bench, at, &broker.first_line);
                load.further = vec!["--trust".to_owned(), trusted.path().display().to_string()];
                let outcome = load.run(bench)?;
                let (rate, session) = (outcome.number("acked_per_s")?, outcome.cpu_s_per_gb()?);
                figures.push([rate, open, alone, copied, session, session / (open + alone)]);
            }
        }
    }
    print!("{}", table(&figures));
    println!("  CPU s per GB of requests; ratio: TLS ÷ (open + sealing), at most {RATIO_MAX}");
    Ok(())
}

fn table(figures: &[[TlsSeries; SUITES.len()]; LOADS.len()]) -> TextTable {
    let heading = [
        "value, payload, batch.size",
        "suite",
        "acknowledged/s",
        "open",
        "sealing alone",
        "copied, sealed",
        "TLS",
        "ratio",
    ];
    let mut table = TextTable::new(&heading);
    for ((name, ..), figures) in LOADS.iter().zip(figures) {
        for ((suite, _), figures) in SUITES.iter().zip(figures) {
            let [rate, costs @ .., ratio] = &figures.0;
            let verdict = if ratio.median() <= RATIO_MAX { "" } else { " ✗" };
            let mut row = vec![(*name).to_owned(), (*suite).to_owned(), thousands(rate.median())];
            row.extend(costs.iter().map(|cost| cost.show(3)));
            row.push(format!("{}{verdict}", ratio.show(2)));
            table.row(row);
        }
    }
    table
}
