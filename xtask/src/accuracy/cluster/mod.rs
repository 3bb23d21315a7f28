//! `cargo xtask accuracy-cluster`: comparisons and searches on real brokers whose answer is known (accuracy test 24): a system
//! compared with itself in each of the designs of pairs, a difference that was planted, two searches under a quota.
//!
//! Half an hour and more, so it goes on where it was: what was measured is kept below target/. Printed are p-values, the
//! spread of pairs with its parts, whether the side that runs first has an advantage, and what each design costs for
//! what it shows. From one series no rate of false positives is claimed.

mod designs;
mod pairs;
mod quota;
mod rows;
mod runs;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};

pub use self::rows::PairMaking;
use self::runs::RunSetup;
use crate::bench::setup::{self, Setup, load_average, machine};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Experiment {
    /// A system compared with itself
    Aa,
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
    /// How the pairs of a system compared with itself are made; may be repeated
    #[arg(long, value_enum, default_value = "standing")]
    design: Vec<PairMaking>,
    /// Pairs of each design and load
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(12..=400))]
    pairs: u32,
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
    let is_asked = |part: Experiment| options.part.is_empty() || options.part.contains(&part);
    let (mut rows, mut tables, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for design in options.design.iter().filter(|_| is_asked(Experiment::Aa)) {
        println!("{design:?}: a system compared with itself (load average {})", load_average());
        match designs::measure(*design, &place, options.pairs) {
            Ok(of_design) => rows.extend(of_design),
            Err(error) => failed.push(format!("{design:?}: {error:#}")),
        }
    }
    if !rows.is_empty() {
        tables.push(rows::table(&rows));
    }
    let others: [(Experiment, Measure); 2] =
        [(Experiment::Planted, quota::planted), (Experiment::Searches, quota::searches)];
    for (part, measure) in others.into_iter().filter(|(part, _)| is_asked(*part)) {
        println!("{part:?} (load average {})", load_average());
        match measure(&place) {
            Ok(table) => tables.push(table),
            Err(error) => failed.push(format!("{part:?}: {error:#}")),
        }
    }
    println!("\n{}  load average afterwards: {}", tables.join("\n"), load_average());
    if failed.is_empty() { Ok(()) } else { bail!("could not be measured:\n{}", failed.join("\n")) }
}
