//! `cargo xtask accuracy-cluster`: a comparison and searches on real brokers whose answer is known (accuracy test 24): a
//! difference that was planted, two searches under a quota.
//!
//! What was measured is kept below target/, so it goes on where it was.

mod quota;
mod runs;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};

use self::runs::RunSetup;
use crate::bench::setup::{self, Setup, load_average, machine};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Experiment {
    /// A difference of 5 % on purpose
    Planted,
    /// Two searches under a produce quota
    Searches,
}

/// What the command line says.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// The program to measure [default: release/kdyno in the target folder]
    #[arg(long, value_name = "PATH")]
    kdyno: Option<PathBuf>,
    /// What to measure; may be repeated [default: all]
    #[arg(long, value_enum)]
    part: Vec<Experiment>,
}

/// Measures a part, and shows the result in a table.
type Measure = fn(&RunSetup) -> anyhow::Result<String>;

/// Measures what is requested, or what is left of it, and prints what it shows. What cannot be measured does not keep
/// the rest from being.
pub fn run(root: &Path, options: ClusterOptions) -> anyhow::Result<()> {
    let bench = Setup::new(root, setup::BenchOptions { quick: false, rounds: 1 }, options.kdyno)?;
    println!("{}", machine());
    let place = RunSetup {
        bench,
        scenarios: root.join("xtask/accuracy"),
        folder: root.join("target/accuracy-cluster"),
    };
    let parts: [(Experiment, Measure); 2] =
        [(Experiment::Planted, quota::planted), (Experiment::Searches, quota::searches)];
    let is_asked = |part: Experiment| options.part.is_empty() || options.part.contains(&part);
    let (mut tables, mut failed) = (Vec::new(), Vec::new());
    for (part, measure) in parts.into_iter().filter(|(part, _)| is_asked(*part)) {
        println!("{part:?} (load average {})", load_average());
        match measure(&place) {
            Ok(table) => tables.push(table),
            Err(error) => failed.push(format!("{part:?}: {error:#}")),
        }
    }
    println!("\n{}  load average afterwards: {}", tables.join("\n"), load_average());
    if failed.is_empty() { Ok(()) } else { bail!("could not be measured:\n{}", failed.join("\n")) }
}
