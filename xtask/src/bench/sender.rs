//! `sender`: what a record costs the worker, against the null broker, as a ratio to the bare writer
//! moving the same bytes just before and just after it: on shared machines the cost of a copy drifts
//! within minutes.

use super::floor::Floor;
use super::load::{BenchLoad, NullBrokerProcess, Run};
use super::measurement::{BenchFigure, Measurement};
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

const fn config(
    name: &'static str,
    value_bytes: u32,
    unique: bool,
    batch_bytes: u32,
    ratio_max: f64,
) -> Config {
    Config { name, value_bytes, unique, batch_bytes, ratio_max }
}

static CONFIGS: [Config; 5] = [
    config("128 B pooled, 112 000 B", 128, false, 112_000, 1.5),
    config("128 B pooled, 16 KiB", 128, false, 16_384, 2.5),
    config("128 B unique, 112 000 B", 128, true, 112_000, 3.0),
    config("128 B unique, 16 KiB", 128, true, 16_384, 3.0),
    config("1 KiB pooled, 112 000 B", 1024, false, 112_000, 1.3),
];

impl Config {
    fn load(&self, bench: &Setup) -> BenchLoad {
        let seconds = if bench.options.quick { 3 } else { 30 };
        BenchLoad {
            value_bytes: self.value_bytes,
            unique: self.unique,
            ..BenchLoad::at_max(self.batch_bytes, seconds)
        }
    }

    /// Runs a side's program against the null broker of this setup.
    fn run(&self, bench: &Setup, side: &Setup) -> anyhow::Result<Run> {
        let broker = NullBrokerProcess::start(bench)?;
        self.load(bench).run(side, &broker.target.file)
    }
}

/// Each configuration against the null broker of this setup.
pub fn measurements(bench: &Setup) -> anyhow::Result<Vec<Measurement<'_>>> {
    let measurement = |config: &'static Config| Measurement {
        name: format!("sender, {}", config.name),
        run: Box::new(move |side| {
            let run = config.run(bench, side)?;
            Ok(vec![
                BenchFigure::cost("µs CPU per record", run.figure("workers.cpu_us_per_record")?),
                BenchFigure::rate("acknowledged/s", run.figure("writers.acked_per_s")?),
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
    CONFIGS[0].load(bench).describe();
    let mut floor = Floor::default();
    let mut figures: [SenderSeries; CONFIGS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        floor.round(bench)?;
        for (config, figures) in CONFIGS.iter().zip(&mut figures) {
            let before = floor.again(bench)?;
            let run = config.run(bench, bench)?;
            let neighbours = (before + floor.again(bench)?) / 2.0;
            figures.rate.push(run.figure("writers.acked_per_s")?);
            figures.cpu_us.push(run.figure("workers.cpu_us_per_record")?);
            figures.ratio.push(config.load(bench).cpu_s_per_gb(&run)? / neighbours);
            figures.batch.push(run.figure("writers.records_per_batch")?);
            figures.request.push(run.figure("writers.bytes_per_request")?);
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
