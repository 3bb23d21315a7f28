//! docs/ACCURACY.md: what `make accuracy` showed last.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::table::markdown;
use crate::bench::process::measured;
use crate::bench::setup::{Setup, load_average};

/// Writes the figures, in the order in which the tests ran, below the machine and the program that made them.
pub fn write(root: &Path, bench: &Setup, machine: &str, rows: &[Vec<String>]) -> anyhow::Result<()> {
    let version = measured(Command::new(&bench.kdyno).arg("--version"))?;
    let date = measured(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let path = root.join("docs/ACCURACY.md");
    let text = document(date.stdout.trim(), version.stdout.trim(), machine, rows);
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    println!("  written to docs/ACCURACY.md");
    Ok(())
}

fn document(date: &str, version: &str, machine: &str, rows: &[Vec<String>]) -> String {
    let heading = ["test", "load", "figure", "truth or bare loop", "kdyno", "difference"];
    let table = markdown(&heading, rows);
    format!(
        "# Accuracy\n\
         What kdyno prints on real clocks and sockets where the truth is known: from a formula, from what was sent, from a bare loop that\n\
         ran in the same minute, or from other programs over the same window. Written by `make accuracy`, never by hand; machines differ, and a busy one makes every figure doubtful. The\n\
         exact tests of the same truths run in simulated time (`make test`); [Method](METHOD.md) says what each is and what was measured on\n\
         real brokers (`make accuracy-cluster`).\n\n\
         {date}, {version}; {machine}, afterwards: {}\n\n{table}",
        load_average()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_machine_and_a_row_for_each_figure() {
        let row = ["8", "constant", "lag p50, µs", "103", "114", "1.11 ×"].map(str::to_owned).to_vec();
        let text = document("2026-11-22", "kdyno 0.1.0", "machine: 2 × a processor", &[row]);
        assert!(text.starts_with("# Accuracy\n"));
        assert!(text.contains("2026-11-22, kdyno 0.1.0; machine: 2 × a processor, afterwards: "), "{text}");
        assert!(
            text.ends_with(
                "|---|---|---|---|---|---|\n| 8 | constant | lag p50, µs | 103 | 114 | 1.11 × |\n"
            ),
            "{text}"
        );
    }
}
