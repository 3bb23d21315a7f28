//! `floor`: CPU of a thread that only writes into a loopback socket, by slice size. The best slice
//! is the denominator of every cost ratio: no client that uses sockets can be cheaper.

use std::time::Duration;

use super::interrupted;
use super::pipe::cpu_s_per_gb;
use super::setup::{BenchOptions, Setup};
use super::stats::{Series, TextTable};

/// Slice sizes tried.
pub const SLICES_BYTES: [usize; 5] = [16 * 1024, 32 * 1024, 64 * 1024, 112 * 1024, 256 * 1024];

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
            interrupted::check()?;
            series.push(cpu_s_per_gb(slice, POOL_BYTES, length(&bench.options))?);
        }
        Ok(())
    }

    /// The slice with the lowest median, and its figures.
    pub fn best(&self) -> (usize, &Series) {
        let median = |index: &usize| self.series[*index].median();
        let best = (0..SLICES_BYTES.len()).min_by(|one, two| median(one).total_cmp(&median(two)));
        let best = best.unwrap_or(0);
        (SLICES_BYTES[best], &self.series[best])
    }

    /// CPU seconds per GB of the best slice, measured now: a neighbour for a run of the worker.
    pub fn again(&self, bench: &Setup) -> anyhow::Result<f64> {
        cpu_s_per_gb(self.best().0, POOL_BYTES, length(&bench.options))
    }

    /// One row per slice.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new(&["slice", "CPU s per GB", "µs per 136 B"]);
        for (slice, series) in SLICES_BYTES.iter().zip(&self.series) {
            let mark = if *slice == self.best().0 { " ← floor" } else { "" };
            table.row(vec![
                format!("{} KiB{mark}", slice / 1024),
                series.show(3),
                format!("{:.4}", series.median() * 136.0 / 1e3),
            ]);
        }
        table
    }
}

fn length(options: &BenchOptions) -> Duration {
    Duration::from_secs(if options.quick { 1 } else { 6 })
}

/// The benchmark by itself.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let mut floor = Floor::default();
    let mut hot = Series::default();
    for _ in 0..bench.options.rounds {
        floor.round(bench)?;
        hot.push(cpu_s_per_gb(32 * 1024, 32 * 1024, length(&bench.options))?);
    }
    print!("{}", floor.table());
    println!("  for comparison, one hot 32 KiB buffer written again and again: {} s per GB", hot.show(3));
    Ok(())
}
