//! `memory`: resident memory of the worker at the maximum rate, from the first minute to the tenth.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::load::{Load, Outcome};
use super::process::{children_of, resident_bytes, tail, words};
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::Table;

const MAX_BYTES: f64 = 100e6;

/// Between looks at the worker.
const PERIOD: Duration = Duration::from_secs(1);

/// The benchmark: ten minutes of unique payloads for growth, then the pool's memory on top.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let minutes = if bench.options.quick { 1 } else { 10 };
    let highest = one(bench, true, minutes)?.max(one(bench, false, 1)?);
    let mark = if highest as f64 <= MAX_BYTES { "" } else { " ✗" };
    println!("  highest {:.1} MB{mark}, at most {:.0} MB", highest as f64 / 1e6, MAX_BYTES / 1e6);
    Ok(())
}

/// One load, printed minute by minute; returns the highest figure in bytes.
fn one(bench: &Setup, unique: bool, minutes: u32) -> anyhow::Result<u64> {
    let broker = null_broker(bench, 6)?;
    let load = Load { unique, ..Load::at_max(&broker.first_line, "bench", minutes * 60) };
    let mut command = load.command(bench);
    println!("  {}", words(&command));
    let samples = watch(&mut command)?;
    let mut table = Table::new(&["minute", "lowest MB", "highest MB"]);
    for minute in 0..u64::from(minutes) {
        let within = samples.iter().filter(|(at, _)| at.as_secs() / 60 == minute).map(|(_, bytes)| *bytes);
        let within: Vec<u64> = within.collect();
        let show = |bytes: Option<&u64>| {
            bytes.map_or("–".to_owned(), |bytes| format!("{:.1}", *bytes as f64 / 1e6))
        };
        table.row(vec![(minute + 1).to_string(), show(within.iter().min()), show(within.iter().max())]);
    }
    print!("{table}");
    Ok(samples.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0))
}

/// Runs the load and samples its worker, the child of the child, until it ends.
fn watch(command: &mut Command) -> anyhow::Result<Vec<(Duration, u64)>> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start {}", words(command)))?;
    let begin = Instant::now();
    let mut samples = Vec::new();
    // Its whole output is one JSON document, less than a pipe holds: it need not be read meanwhile.
    while child.try_wait()?.is_none() {
        let resident = children_of(child.id()).into_iter().filter_map(resident_bytes).max();
        samples.extend(resident.map(|bytes| (begin.elapsed(), bytes)));
        std::thread::sleep(PERIOD);
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{}: {}", words(command), tail(&String::from_utf8_lossy(&output.stderr)));
    }
    let outcome = Outcome::parse(&String::from_utf8_lossy(&output.stdout))?;
    println!("  {:.0} records/s acknowledged", outcome.number("acked_per_s")?);
    if samples.is_empty() {
        bail!("the worker was never seen");
    }
    Ok(samples)
}
