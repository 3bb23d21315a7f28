//! What measures kdyno itself: a feature of its own, since it needs crates that the other chores do without.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::accuracy;
use crate::bench::setup::{BenchOptions, Setup};
use crate::bench::{self, against};

#[derive(Debug, Subcommand)]
pub enum Measure {
    /// Known truths on real clocks, a table
    Accuracy {
        /// Tests to run [default: all]
        numbers: Vec<String>,
        /// The program to measure [default: target/release/kdyno]
        #[arg(long, value_name = "PATH")]
        kdyno: Option<PathBuf>,
    },
    /// Known truths on real brokers, half an hour and more; goes on where it was
    AccuracyCluster(accuracy::cluster::ClusterOptions),
    /// Cost and rates beside the floor and the peers, or beside an earlier commit
    Bench(BenchArgs),
    /// Busy until it is killed
    #[command(hide = true)]
    AccuracyBusy {
        #[arg(long)]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Benchmarks to run [default: all; with --against those that can be compared]
    names: Vec<String>,
    /// Short and once: to try the harness
    #[arg(long)]
    quick: bool,
    /// Rounds of every alternation [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: Option<u32>,
    /// The program to measure [default: target/release/kdyno]
    #[arg(long, value_name = "PATH")]
    kdyno: Option<PathBuf>,
    /// Measure this commit, or a program that is built, beside the program, and fail where the program has lost
    #[arg(long, value_name = "COMMIT|PROGRAM")]
    against: Option<String>,
}

/// The exit code.
pub fn run(root: &Path, measure: Measure) -> anyhow::Result<i32> {
    match measure {
        Measure::Accuracy { numbers, kdyno } => accuracy::run(root, &numbers, kdyno)?,
        Measure::AccuracyCluster(options) => accuracy::cluster::run(root, options)?,
        Measure::Bench(args) => return bench(root, args),
        Measure::AccuracyBusy { file } => accuracy::probes::busy(&file)?,
    }
    Ok(0)
}

fn bench(root: &Path, args: BenchArgs) -> anyhow::Result<i32> {
    let rounds = args.rounds.map_or(if args.quick { 1 } else { 5 }, |rounds| rounds as usize);
    let setup = Setup::new(root, BenchOptions { quick: args.quick, rounds }, args.kdyno)?;
    match args.against {
        Some(commit) => against::run(root, &setup, &commit, &args.names).map(i32::from),
        None => bench::run(&setup, &args.names).map(|()| 0),
    }
}
