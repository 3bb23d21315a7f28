//! `tls`: what a byte costs the worker in a session of TLS 1.3, as a ratio to what it costs in the open and to what the
//! cipher suite takes by itself. No client that seals what it sends can be cheaper than these two together.

use std::time::Duration;

use super::floor::POOL_BYTES;
use super::load::{BenchLoad, NullBrokerProcess};
use super::seal::{self, SUITES};
use super::setup::Setup;
use super::stats::{Series, TextTable, thousands};

/// What is sent: unique payloads, and `batch.size`.
const LOADS: [(&str, bool, u32); 2] =
    [("128 B pooled, 112 000 B", false, 112_000), ("128 B unique, 16 KiB", true, 16_384)];

/// The ratio that must not be exceeded.
const RATIO_MAX: f64 = 1.3;

fn load(bench: &Setup, at: usize) -> BenchLoad {
    let (_, unique, batch_bytes) = LOADS[at];
    let seconds = if bench.options.quick { 3 } else { 20 };
    BenchLoad { unique, ..BenchLoad::at_max(batch_bytes, seconds) }
}

/// CPU per GB that the suite takes by itself, or with each record copied from a pool first.
fn sealing(bench: &Setup, suite: &str, pool_bytes: usize) -> anyhow::Result<f64> {
    let length = Duration::from_millis(if bench.options.quick { 500 } else { 2_000 });
    seal::cpu_s_per_gb(suite, pool_bytes, length)
}

/// Figures of one load with one suite over the rounds.
#[derive(Default)]
struct TlsSeries {
    rate: Series,
    open: Series,
    sealing: Series,
    copied: Series,
    session: Series,
    ratio: Series,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    load(bench, 0).describe();
    let mut figures: [[TlsSeries; SUITES.len()]; LOADS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for (at, figures) in figures.iter_mut().enumerate() {
            let load = load(bench, at);
            let broker = NullBrokerProcess::start(bench)?;
            let open = load.cpu_s_per_gb(&load.run(bench, &broker.target.file)?)?;
            drop(broker);
            for ((suite, _), figures) in SUITES.iter().zip(figures) {
                let alone = sealing(bench, suite, 0)?;
                figures.copied.push(sealing(bench, suite, POOL_BYTES)?);
                let broker = NullBrokerProcess::secured(bench, suite)?;
                let run = load.run(bench, &broker.target.file)?;
                let session = load.cpu_s_per_gb(&run)?;
                figures.rate.push(run.figure("writers.acked_per_s")?);
                figures.open.push(open);
                figures.sealing.push(alone);
                figures.session.push(session);
                figures.ratio.push(session / (open + alone));
            }
        }
    }
    print!("{}", table(&figures));
    println!("  CPU s per GB of batches; ratio: TLS ÷ (open + sealing), at most {RATIO_MAX}");
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
            let verdict = if figures.ratio.median() <= RATIO_MAX { "" } else { " ✗" };
            table.row(vec![
                (*name).to_owned(),
                (*suite).to_owned(),
                thousands(figures.rate.median()),
                figures.open.show(3),
                figures.sealing.show(3),
                figures.copied.show(3),
                figures.session.show(3),
                format!("{}{verdict}", figures.ratio.show(2)),
            ]);
        }
    }
    table
}
