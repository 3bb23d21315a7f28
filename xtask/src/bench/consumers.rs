//! `consumers`: what a fetched record costs the worker, by how far it is read, against the null broker, whose log has no end.

use std::process::Command;

use super::load::Load;
use super::process::{Background, words};
use super::setup::Setup;
use super::stats::{Series, Table, thousands};

/// Partitions of the topic: a fetch brings a batch of each.
const PARTITIONS: u32 = 8;

/// How far records are read, records in a batch of 128 B values, and the most CPU per record, µs, where one is asked for.
const ROWS: [(&str, u32, Option<f64>); 5] = [
    ("header", 800, Some(0.04)),
    ("crc", 800, None),
    ("decode", 800, Some(0.10)),
    ("header", 120, None),
    ("decode", 120, None),
];

fn broker(bench: &Setup, records: u32) -> anyhow::Result<Background> {
    let mut command = Command::new(&bench.kdyno);
    command.args(["null-broker", "--port", "0", "--partitions", &PARTITIONS.to_string()]);
    Background::start(command.args(["--fetch-batch", &records.to_string()]))
}

fn load(bench: &Setup, read: &str, bootstrap: &str) -> Load {
    let seconds = if bench.options.quick { 3 } else { 20 };
    Load {
        further: vec!["--consume".to_owned(), read.to_owned()],
        ..Load::at_max(bootstrap, "bench", seconds)
    }
}

/// Figures of one row over the rounds.
#[derive(Default)]
struct Figures {
    rate: Series,
    cpu_us: Series,
    response: Series,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, ROWS[0].0, "127.0.0.1:PORT").command(bench)));
    let mut figures: [Figures; ROWS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for ((read, records, _), figures) in ROWS.iter().zip(&mut figures) {
            let broker = broker(bench, *records)?;
            let outcome = load(bench, read, &broker.first_line).run(bench)?;
            figures.rate.push(outcome.number("fetched_per_s")?);
            figures.cpu_us.push(outcome.cpu_s * 1e6 / outcome.number("fetched")?);
            figures.response.push(outcome.number("bytes_per_request")?);
        }
    }
    let heading =
        ["128 B, read, records/batch", "fetched/s", "µs CPU per record", "bytes/response", "at most"];
    let mut table = Table::new(&heading);
    for ((read, records, cpu_us_max), figures) in ROWS.iter().zip(&figures) {
        let is_met = cpu_us_max.is_none_or(|most| figures.cpu_us.median() <= most);
        let most = cpu_us_max.map_or_else(|| "–".to_owned(), |most| format!("{most}"));
        table.row(vec![
            format!("{read}, {records}"),
            thousands(figures.rate.median()),
            figures.cpu_us.show(4),
            thousands(figures.response.median()),
            if is_met { most } else { format!("{most} ✗") },
        ]);
    }
    print!("{table}");
    Ok(())
}
