//! `floor`: CPU of a process that only writes into a loopback socket, by slice size. The best slice
//! is the denominator of every cost ratio: no client that uses sockets can be cheaper.

use std::process::Command;

use anyhow::Context;

use super::process::{Background, measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

/// Slice sizes tried.
const SLICES_BYTES: [usize; 5] = [16 * 1024, 32 * 1024, 64 * 1024, 112 * 1024, 256 * 1024];

/// As large as the payload pool of a worker.
pub const POOL_BYTES: usize = 8 * 1024 * 1024;

/// CPU seconds per GB (10⁹ bytes) by slice, one figure per round.
#[derive(Default)]
pub struct Floor {
    series: [Series; SLICES_BYTES.len()],
}

impl Floor {
    /// Measures every slice once.
    pub fn round(&mut self, bench: &Setup) -> anyhow::Result<()> {
        for (series, slice) in self.series.iter_mut().zip(SLICES_BYTES) {
            series.0.push(cpu_s_per_gb(bench, slice, POOL_BYTES)?);
        }
        Ok(())
    }

    /// The slice with the lowest median.
    fn best(&self) -> usize {
        let medians = self.series.iter().map(Series::median).zip(SLICES_BYTES);
        medians.min_by(|one, two| one.0.total_cmp(&two.0)).map_or(SLICES_BYTES[0], |(_, slice)| slice)
    }

    /// CPU seconds per GB of the best slice, measured now: a neighbour for a run of the worker.
    pub fn again(&self, bench: &Setup) -> anyhow::Result<f64> {
        cpu_s_per_gb(bench, self.best(), POOL_BYTES)
    }

    /// One row per slice.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new(&["slice", "CPU s per GB", "µs per 136 B"]);
        for (slice, series) in SLICES_BYTES.iter().zip(&self.series) {
            let mark = if *slice == self.best() { " ← floor" } else { "" };
            table.row(vec![
                format!("{} KiB{mark}", slice / 1024),
                series.show(3),
                format!("{:.4}", series.median() * 136.0 / 1e3),
            ]);
        }
        table
    }
}

/// Runs one sink and one writer.
fn cpu_s_per_gb(bench: &Setup, slice_bytes: usize, pool_bytes: usize) -> anyhow::Result<f64> {
    let sink = Background::start(Command::new(&bench.xtask).arg("bench-sink"))?;
    let finished = measured(&mut writer(bench, &sink.first_line, slice_bytes, pool_bytes))?;
    let written: f64 = finished.stdout.trim().parse().context("the writer prints its bytes")?;
    Ok(finished.cpu_s / (written / 1e9))
}

fn writer(bench: &Setup, to: &str, slice_bytes: usize, pool_bytes: usize) -> Command {
    let mut command = Command::new(&bench.xtask);
    command.arg("bench-write").args(["--to", to]);
    command.args(["--slice", &slice_bytes.to_string(), "--pool", &pool_bytes.to_string()]);
    command.args(["--milliseconds", if bench.options.quick { "1000" } else { "6000" }]);
    command
}

/// The benchmark by itself.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&writer(bench, "127.0.0.1:PORT", 32 * 1024, POOL_BYTES)));
    let mut floor = Floor::default();
    let mut hot = Series::default();
    for _ in 0..bench.options.rounds {
        floor.round(bench)?;
        hot.0.push(cpu_s_per_gb(bench, 32 * 1024, 32 * 1024)?);
    }
    print!("{}", floor.table());
    println!("  for comparison, one hot 32 KiB buffer written again and again: {} s per GB", hot.show(3));
    Ok(())
}
