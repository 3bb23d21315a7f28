//! `sender`: what a record costs the worker, against the null broker, as a ratio to the bare writer
//! moving the same bytes just before and just after it: on shared machines the cost of a copy drifts
//! within minutes.

use std::process::Command;

use super::floor::Floor;
use super::load::BenchLoad;
use super::measurement::{BenchFigure, Measurement};
use super::process::{Background, words};
use super::setup::Setup;
use super::stats::{Series, TextTable, thousands};

/// One row: what is sent, and the ratio to the floor that it must not exceed.
struct Config {
    name: &'static str,
    value_bytes: u32,
    unique: bool,
    batch_bytes: u32,
    ratio_max: f64,
}

static CONFIGS: [Config; 5] = [
    Config {
        name: "128 B pooled, 112 000 B",
        value_bytes: 128,
        unique: false,
        batch_bytes: 112_000,
        ratio_max: 1.5,
    },
    Config {
        name: "128 B pooled, 16 KiB",
        value_bytes: 128,
        unique: false,
        batch_bytes: 16_384,
        ratio_max: 2.5,
    },
    Config {
        name: "128 B unique, 112 000 B",
        value_bytes: 128,
        unique: true,
        batch_bytes: 112_000,
        ratio_max: 3.0,
    },
    Config {
        name: "128 B unique, 16 KiB",
        value_bytes: 128,
        unique: true,
        batch_bytes: 16_384,
        ratio_max: 3.0,
    },
    Config {
        name: "1 KiB pooled, 112 000 B",
        value_bytes: 1024,
        unique: false,
        batch_bytes: 112_000,
        ratio_max: 1.3,
    },
];

/// The null broker as a process of its own.
pub fn null_broker(bench: &Setup, partitions: u32) -> anyhow::Result<Background> {
    let mut command = Command::new(&bench.kdyno);
    Background::start(command.args(["null-broker", "--port", "0", "--partitions", &partitions.to_string()]))
}

fn load(bench: &Setup, config: &Config, bootstrap: &str) -> BenchLoad {
    let seconds = if bench.options.quick { 3 } else { 30 };
    BenchLoad {
        value_bytes: config.value_bytes,
        unique: config.unique,
        batch_bytes: config.batch_bytes,
        ..BenchLoad::at_max(bootstrap, "bench", seconds)
    }
}

/// Each configuration against the null broker of this setup.
pub fn measurements(bench: &Setup) -> anyhow::Result<Vec<Measurement<'_>>> {
    let measurement = |config: &'static Config| Measurement {
        name: format!("sender, {}", config.name),
        run: Box::new(move |side| {
            let broker = null_broker(bench, 6)?;
            let outcome = load(bench, config, &broker.first_line).run(side)?;
            Ok(vec![
                BenchFigure::cost("µs CPU per record", outcome.cpu_us_per_record()),
                BenchFigure::rate("acknowledged/s", outcome.number("acked_per_s")?),
            ])
        }),
    };
    Ok(CONFIGS.iter().map(measurement).collect())
}

/// Figures of one configuration over the rounds.
#[derive(Default)]
struct SenderSeries {
    rate: Series,
    cpu_us: Series,
    ratio: Series,
    batch: Series,
    request: Series,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, &CONFIGS[0], "127.0.0.1:PORT").command(bench)));
    let mut floor = Floor::default();
    let mut figures: [SenderSeries; CONFIGS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        floor.round(bench)?;
        for (config, figures) in CONFIGS.iter().zip(&mut figures) {
            let before = floor.again(bench)?;
            let broker = null_broker(bench, 6)?;
            let outcome = load(bench, config, &broker.first_line).run(bench)?;
            drop(broker);
            let neighbours = (before + floor.again(bench)?) / 2.0;
            figures.rate.push(outcome.number("acked_per_s")?);
            figures.cpu_us.push(outcome.cpu_us_per_record());
            let bytes = outcome.number("request_bytes")?;
            figures.ratio.push(outcome.cpu_s / (bytes / 1e9) / neighbours);
            figures.batch.push(outcome.number_or_nan("records_per_batch"));
            figures.request.push(outcome.number_or_nan("bytes_per_request"));
        }
    }
    let mut table = TextTable::new(&[
        "value, payload, batch.size",
        "acknowledged/s",
        "µs CPU per record",
        "records/batch",
        "bytes/request",
        "÷ floor",
        "at most",
    ]);
    for (config, figures) in CONFIGS.iter().zip(&figures) {
        let verdict = if figures.ratio.median() <= config.ratio_max { "" } else { " ✗" };
        table.row(vec![
            config.name.to_owned(),
            thousands(figures.rate.median()),
            figures.cpu_us.show(4),
            thousands(figures.batch.median()),
            thousands(figures.request.median()),
            figures.ratio.show(2),
            format!("{}{verdict}", config.ratio_max),
        ]);
    }
    print!("{}\n{table}", floor.table());
    println!("  each run of the worker is divided by the mean of the floor just before and just after it");
    Ok(())
}
