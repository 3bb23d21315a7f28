//! What comparisons and searches say of simulated trials whose truth is known: the test program `verdicts`, all of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::row::AccuracyRow;
use crate::bench::setup::Setup;

/// Begins a row in what the test program prints.
const ROW: &str = "row | ";
/// A row: what was simulated, figure, promise, what was found, difference.
const CELLS: usize = 5;

/// Builds the test program, runs it and collects its rows. The figures depend on neither machine nor clock.
pub fn run(_: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands below the workspace")?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut tests = Command::new(cargo)
        .args(["test", "--quiet", "--release", "--workspace", "--test", "verdicts", "--", "--nocapture"])
        .env("KDYNO_ACCURACY", "full")
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut rows = Vec::new();
    for line in BufReader::new(tests.stdout.take().context("cargo has no output")?).lines() {
        let line = line?;
        if let Some(row) = row(&line) {
            println!("  {}: {}: {} (promised {}) {}", row.test, row.figure, row.kdyno, row.truth, row.says);
            rows.push(row);
        }
    }
    let ended = tests.wait().context("cargo was lost")?;
    ensure!(ended.success(), "a promise is not kept: see above");
    // Tests run side by side, and the order in which they end says nothing.
    rows.sort_by(|one, other| (&one.test, &one.figure).cmp(&(&other.test, &other.figure)));
    Ok(rows)
}

/// The row in a line, which may begin with what the test harness prints of its own.
fn row(line: &str) -> Option<AccuracyRow> {
    let cells: Vec<&str> = line.split_once(ROW)?.1.split(" | ").collect();
    let [test, figure, truth, kdyno, says]: [&str; CELLS] = cells.try_into().ok()?;
    Some(AccuracyRow::new(test, figure, truth.to_owned(), kdyno.to_owned(), says.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_among_what_the_harness_prints() {
        let found =
            row("test compare::alike ... row | drift | found different, % | ≤ 5 | 2.5 | kept").unwrap();
        assert_eq!((found.test.as_str(), found.figure.as_str()), ("drift", "found different, %"));
        assert_eq!((found.truth.as_str(), found.kdyno.as_str(), found.says.as_str()), ("≤ 5", "2.5", "kept"));
        assert!(row("running 3 tests").is_none() && row("row | too | few").is_none());
    }
}
