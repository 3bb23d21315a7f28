//! Benchmarks that are questions to kdyno itself: scenarios of `xtask/bench`, whose claims, thresholds and verdicts say whether
//! a bound is kept. What is measured, how often and with which interval is kdyno's own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use super::process::words;
use super::setup::Setup;

/// A claim or a threshold does not hold; side B is worse by more than its margin (docs/guide/ci.md).
const NOT_KEPT: [i32; 2] = [3, 4];
/// A claim or a comparison has no answer.
const OPEN: i32 = 5;
/// A figure of the answer is invalid, or records were lost: it takes precedence over a bound that is not kept.
const INVALID: i32 = 6;

/// Runs the scenarios one after the other. All of them are run, also when a bound of one is not kept.
pub fn ask(bench: &Setup, command: &str, names: &[&str]) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for name in names {
        let mut kdyno = question(bench, command, name);
        println!("  {}", words(&kdyno));
        let status = kdyno.status().with_context(|| format!("cannot start {}", words(&kdyno)))?;
        match status.code() {
            Some(0) => {}
            Some(OPEN) => println!("  {name}: not every bound has an answer"),
            Some(INVALID) => failed.push(format!("{name}: a figure is invalid, or records were lost")),
            Some(code) if NOT_KEPT.contains(&code) => failed.push(format!("{name}: a bound is not kept")),
            _ => bail!("{name}: {status}"),
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("{}", failed.join("; ")) }
}

fn question(bench: &Setup, command: &str, name: &str) -> Command {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench").join(format!("{name}.yaml"));
    let mut kdyno = Command::new(&bench.kdyno);
    kdyno.arg(command).arg(file).arg("--out").arg(bench.folder.join("runs"));
    kdyno.args(["--yes", "--no-progress"]);
    if bench.options.quick {
        kdyno.args(["--set", "dur=3s"]);
    }
    if command == "compare" {
        // A quick look is a look at these starts alone, and never ends as worse.
        kdyno.args(if bench.options.quick { &["--quick"][..] } else { &["--gate", "strict"] });
    }
    kdyno
}
