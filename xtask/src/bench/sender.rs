//! `sender`: what a record costs the worker, against the null broker, as a ratio to the bare writer
//! moving the same bytes just before and just after it: on shared machines the cost of a copy drifts
//! within minutes.

use std::process::Command;

use super::contest::{Contest, Shown};
use super::floor::Floor;
use super::load::{BenchLoad, LoadResult};
use super::process::{Background, words};
use super::setup::Setup;

/// What is sent: its name, bytes of a value, unique payloads, `batch.size`; and the ratio to the floor that it must not exceed.
pub const LOADS: [(&str, u32, bool, u32, f64); 5] = [
    ("128 B pooled, 112 000 B", 128, false, 112_000, 1.5),
    ("128 B pooled, 16 KiB", 128, false, 16_384, 2.5),
    ("128 B unique, 112 000 B", 128, true, 112_000, 3.0),
    ("128 B unique, 16 KiB", 128, true, 16_384, 3.0),
    ("1 KiB pooled, 112 000 B", 1024, false, 112_000, 1.3),
];

/// The null broker as a process of its own.
pub fn null_broker(bench: &Setup, partitions: u32) -> anyhow::Result<Background> {
    let mut command = Command::new(&bench.kdyno);
    Background::start(command.args(["null-broker", "--port", "0", "--partitions", &partitions.to_string()]))
}

fn load(bench: &Setup, at: usize, bootstrap: &str) -> BenchLoad {
    let (_, value_bytes, unique, batch_bytes, _) = LOADS[at];
    let seconds = if bench.options.quick { 3 } else { 30 };
    BenchLoad { value_bytes, unique, batch_bytes, ..BenchLoad::at_max(bootstrap, "bench", seconds) }
}

/// One of the loads by the program of `side`, against the null broker of `bench`.
pub fn measure(bench: &Setup, at: usize, side: &Setup) -> anyhow::Result<LoadResult> {
    let broker = null_broker(bench, 6)?;
    load(bench, at, &broker.first_line).run(side)
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, 0, "127.0.0.1:PORT").command(bench)));
    let contest = Contest {
        heading: "value, payload, batch.size: ÷ floor",
        sides: LOADS.map(|(name, .., ratio)| (format!("{name}: at most {ratio}"), 0.0..=ratio)).into(),
        figures: &[
            ("acknowledged/s", Shown::Median),
            ("µs CPU per record", Shown::Spread(4)),
            ("records/batch", Shown::Median),
            ("bytes/request", Shown::Median),
            ("÷ floor", Shown::Judged(2)),
        ],
        group: 1,
        unmeasured: 0,
    };
    let mut floor = Floor::default();
    contest.run(&bench.options, |at, _| {
        if at == 0 {
            floor.round(bench)?;
        }
        let before = floor.again(bench)?;
        let outcome = measure(bench, at, bench)?;
        let neighbours = (before + floor.again(bench)?) / 2.0;
        Ok(vec![
            outcome.number("acked_per_s")?,
            outcome.cpu_us_per_record()?,
            outcome.number("records_per_batch")?,
            outcome.number("bytes_per_request")?,
            outcome.cpu_s_per_gb()? / neighbours,
        ])
    })?;
    print!("{}", floor.table());
    println!("  each run of the worker is divided by the mean of the floor just before and just after it");
    Ok(())
}
