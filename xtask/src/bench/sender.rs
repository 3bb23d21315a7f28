//! `sender`: what a record costs the worker, against the null broker, as a ratio to the bare writer
//! moving the same bytes just before and just after it: on shared machines the cost of a copy drifts
//! within minutes.

use std::process::Command;

use super::floor::Floor;
use super::load::BenchLoad;
use super::measurement::{BenchFigure, Measurement};
use super::process::{Background, words};
use super::setup::Setup;
use super::stats::{SeriesOf, TextTable, thousands};

/// One row: what is sent, and the ratio to the floor that it must not exceed.
struct Config {
    name: &'static str,
    value_bytes: u32,
    unique: bool,
    batch_bytes: u32,
    ratio_max: f64,
}

static CONFIGS: [Config; 5] = [
    config("128 B pooled, 112 000 B", 128, false, 112_000, 1.5),
    config("128 B pooled, 16 KiB", 128, false, 16_384, 2.5),
    config("128 B unique, 112 000 B", 128, true, 112_000, 3.0),
    config("128 B unique, 16 KiB", 128, true, 16_384, 3.0),
    config("1 KiB pooled, 112 000 B", 1024, false, 112_000, 1.3),
];

const fn config(
    name: &'static str,
    value_bytes: u32,
    unique: bool,
    batch_bytes: u32,
    ratio_max: f64,
) -> Config {
    Config { name, value_bytes, unique, batch_bytes, ratio_max }
}

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

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, &CONFIGS[0], "127.0.0.1:PORT").command(bench)));
    let mut floor = Floor::default();
    // Rate, µs of CPU per record, records per batch, bytes per request, ratio to the floor.
    let mut figures: [SeriesOf<5>; CONFIGS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        floor.round(bench)?;
        for (config, figures) in CONFIGS.iter().zip(&mut figures) {
            let before = floor.again(bench)?;
            let broker = null_broker(bench, 6)?;
            let outcome = load(bench, config, &broker.first_line).run(bench)?;
            drop(broker);
            let neighbours = (before + floor.again(bench)?) / 2.0;
            figures.push([
                outcome.number("acked_per_s")?,
                outcome.cpu_us_per_record(),
                outcome.number_or_nan("records_per_batch"),
                outcome.number_or_nan("bytes_per_request"),
                outcome.cpu_s_per_gb()? / neighbours,
            ]);
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
        let [rate, cpu_us, batch, request, ratio] = &figures.0;
        let verdict = if ratio.median() <= config.ratio_max { "" } else { " ✗" };
        table.row(vec![
            config.name.to_owned(),
            thousands(rate.median()),
            cpu_us.show(4),
            thousands(batch.median()),
            thousands(request.median()),
            ratio.show(2),
            format!("{}{verdict}", config.ratio_max),
        ]);
    }
    print!("{}\n{table}", floor.table());
    println!("  each run of the worker is divided by the mean of the floor just before and just after it");
    Ok(())
}
