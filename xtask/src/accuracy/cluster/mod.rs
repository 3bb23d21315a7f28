//! `cargo xtask accuracy-cluster`: a system compared with itself on real brokers, trial after trial (accuracy test 24).
//!
//! Half an hour and more, so it goes on where it was: the run file below target/ keeps what was measured. Printed are
//! the verdicts, the spread of pairs with its parts, and whether who runs first has an advantage. From one series no
//! rate of false positives is claimed.

mod pairs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use self::pairs::{Metric, Pairs};
use crate::bench::process::{measured, words};
use crate::bench::setup::{Options, Setup, machine};
use crate::bench::stats::Table;

/// Metrics of the series, each with the case it is of and the sd of pairs that is aimed at.
const METRICS: [Metric; 4] = [
    Metric { case: 0, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    Metric { case: 1, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    Metric { case: 0, subject: "writers", name: "response.p50", sd_max: 0.05 },
    Metric { case: 1, subject: "writers", name: "acked_per_s", sd_max: 0.05 },
];

/// Runs the series to its end, or goes on with it, and prints what it shows.
pub fn run(root: &Path, kdyno: Option<PathBuf>) -> anyhow::Result<()> {
    let bench = Setup::new(root, Options { quick: false, rounds: 1 }, kdyno)?;
    println!("{}", machine());
    let folder = root.join("target/accuracy-cluster");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new(&bench.kdyno);
    command.arg("compare");
    match run_file(&folder)? {
        Some(file) => command.arg("--resume").arg(file),
        None => command.arg(root.join("xtask/accuracy/a-a.yaml")).arg("--out").arg(&folder),
    };
    println!("{}", words(&command));
    // Its exit code is that of the verdicts: whatever they are, the series is there afterwards.
    let status = command.status().with_context(|| words(&command))?;
    let file = run_file(&folder)?.context("the comparison left no run file")?;
    let shown = measured(Command::new(&bench.kdyno).args(["show", "--json"]).arg(&file))?;
    let document: Value = serde_json::from_str(&shown.stdout).context("kdyno show printed no JSON")?;
    print!("{}", table(&document)?);
    println!("  from {}; the comparison ended with {status}", file.display());
    Ok(())
}

/// The series' run file, if it has begun.
fn run_file(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "kdyno") {
            found.push(path);
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => bail!("several run files in {}\nhint: keep the one to go on with", folder.display()),
    }
}

fn table(document: &Value) -> anyhow::Result<Table> {
    let mut table = Table::new(&[
        "case, metric",
        "pairs",
        "B ÷ A",
        "sd of pairs",
        "aim",
        "sd between starts",
        "sd within a start",
        "second ÷ first",
        "half-width predicted",
        "achieved",
    ]);
    for metric in METRICS {
        let pairs = Pairs::read(document, &metric)?;
        let percent = |value: f64| format!("{:.1} %", 100.0 * value);
        let mark = if pairs.sd() > metric.sd_max { " ✗" } else { "" };
        let parts = pairs.parts();
        table.row(vec![
            format!("{}, {}.{}", metric.case + 1, metric.subject, metric.name),
            pairs.len().to_string(),
            format!("{:.3}", pairs.mean().exp()),
            format!("{}{mark}", percent(pairs.sd())),
            percent(metric.sd_max),
            percent(parts.between),
            percent(parts.within),
            format!("{:.3} ± {:.3}", pairs.second_over_first().0.exp(), pairs.second_over_first().1),
            pairs.half_width_predicted().map_or("–".to_owned(), percent),
            pairs.half_width_achieved(document, &metric).map_or("–".to_owned(), percent),
        ]);
    }
    Ok(table)
}
