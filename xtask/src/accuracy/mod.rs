//! `cargo xtask accuracy`: what kdyno prints on real clocks and sockets, where the truth is known from a
//! formula or from a bare loop that ran in the same minute.
//!
//! A table and hardly a gate: machines differ, and a busy one makes every figure doubtful. Only what two programs read of one
//! window has to agree. The exact tests of the same truths run in simulated time (`make test`). Numbers are those of the
//! simulated tests. `verdicts` alone needs no clock: its promises are kept or broken on any machine.

mod accounting;
mod delay;
pub mod echo;
mod poisson;
pub mod probes;
mod relay;
mod row;
mod stall;
mod verdicts;
mod written;

use std::path::{Path, PathBuf};

use anyhow::bail;

use self::row::{AccuracyRow, OFF, times};

use crate::bench::constant;
use crate::bench::interrupted;
use crate::bench::setup::{BenchOptions, Setup, load_average, machine};
use crate::bench::stats::TextTable;

/// Length of the loads whose lag is compared with the sleep loop.
const LAG_SECONDS: u32 = 15;

type AccuracyFn = fn(&Setup) -> anyhow::Result<Vec<AccuracyRow>>;

/// Name, what it is about, how to run it.
const TESTS: [(&str, &str, AccuracyFn); 8] = [
    ("1", "a real broker stopped by SIGSTOP, against the formula", stall::run),
    ("2", "answers after a fixed delay, beside a bare loop", delay::run),
    ("7", "Poisson arrivals as they were sent", poisson::run),
    ("8", "constant arrivals, beside a bare sleep loop", lag),
    ("10", "every record accounted for, while the brokers misbehave", accounting::run),
    ("probes", "a busy process and the host, beside pidstat, sar and iostat", probes::run),
    ("relay", "the relay between two zones, beside a bare sleep loop", relay::run),
    ("verdicts", "comparisons and searches on simulated trials whose truth is known", verdicts::run),
];

/// Runs the tests of these names, all when none is given; what they showed is written to docs/ACCURACY.md. Fails if one of
/// them could not run.
pub fn run(root: &Path, numbers: &[String], kdyno: Option<PathBuf>) -> anyhow::Result<()> {
    if let Some(unknown) = numbers.iter().find(|wanted| TESTS.iter().all(|(number, ..)| number != wanted)) {
        let known: Vec<&str> = TESTS.iter().map(|(number, ..)| *number).collect();
        bail!("no accuracy test on real clocks is called {unknown}\nhint: {}", known.join(", "));
    }
    let bench = Setup::new(root, BenchOptions { quick: false, rounds: 1 }, kdyno)?;
    interrupted::watch()?;
    let machine = machine();
    println!("{machine}");
    let mut table = TextTable::new(&["test: figure", "truth or bare loop", "kdyno", "difference"]);
    let (mut ran, mut showed, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (number, about, run) in TESTS {
        if !numbers.is_empty() && !numbers.iter().any(|wanted| wanted == number) {
            continue;
        }
        println!("\n{number}: {about} (load average {})", load_average());
        match run(&bench) {
            Ok(rows) => {
                ran.push(number);
                for row in rows {
                    let what = format!("{number:>2}  {}: {}", row.test, row.figure);
                    showed.push(vec![
                        number.to_owned(),
                        row.test,
                        row.figure,
                        row.truth.clone(),
                        row.kdyno.clone(),
                        row.says.clone(),
                    ]);
                    table.row(vec![what, row.truth, row.kdyno, row.says]);
                }
            }
            Err(error) => {
                interrupted::check()?;
                println!("  {number} could not run: {error:#}");
                failed.push(number);
            }
        }
    }
    println!("\n{table}\n  load average afterwards: {}", load_average());
    if !failed.is_empty() {
        bail!("could not run: {}", failed.join(", "));
    }
    let off = showed.iter().filter(|cells| cells.last().is_some_and(|says| says.ends_with(OFF)));
    let off: Vec<String> = off.map(|cells| cells[2..].join(", ")).collect();
    written::write(root, &bench, &machine, (&TESTS.map(|(number, ..)| number), &ran), showed)?;
    if !off.is_empty() {
        bail!("too far apart: {}", off.join("; "));
    }
    Ok(())
}

/// The schedule of the benchmark `constant`, once, beside the bare loop.
fn lag(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    constant::describe(bench, LAG_SECONDS);
    let bare = constant::bare(bench, LAG_SECONDS)?;
    let kdyno = constant::kdyno(bench, bench, LAG_SECONDS)?;
    let test = format!("constant {}/s", constant::RATE_PER_S);
    let row = |figure: &str, at: usize, decimals: usize| {
        let show = |value: f64| format!("{value:.decimals$}");
        AccuracyRow::new(&test, figure, show(bare[at]), show(kdyno[at]), times(kdyno[at], bare[at]))
    };
    let due = (constant::RATE_PER_S * LAG_SECONDS).to_string();
    Ok(vec![
        row("lag p50, µs", 0, 0),
        row("lag p99, µs", 1, 0),
        row("share of a core", 2, 3),
        // Any other number is an error.
        AccuracyRow::new(&test, "records", due.clone(), due, "exact".to_owned()),
    ])
}
