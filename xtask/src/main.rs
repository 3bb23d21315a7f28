//! The project's own chores, run as `cargo xtask CHORE`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "a command line tool")]

mod accuracy;
mod bench;
mod book;
mod cargo;
mod classes;
mod markdown;
mod messages;
mod programs;
mod release;
mod summary;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use bench::setup::{BenchOptions, Setup};

/// The project's own chores
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check the rules of docs/ARCHITECTURE.md
    Tidy {
        /// Refresh what is generated first
        #[arg(long)]
        write: bool,
    },
    /// Compare the messages made from Kafka's specifications with what is committed
    Messages {
        /// Make them
        #[arg(long)]
        write: bool,
    },
    /// All tests of the workspace, counts on the last line
    Test {
        /// Handed to cargo test; behind `--`, to the test programs
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Known truths on real clocks, a table (build with --release)
    Accuracy {
        /// Tests to run [default: all]
        numbers: Vec<String>,
        /// The program to measure, with the kdyno-bench next to it [default: release/kdyno in the target folder]
        #[arg(long, value_name = "PATH")]
        kdyno: Option<PathBuf>,
    },
    /// Cost and rates compared with the floor and the peers, or with an earlier commit (build with --release)
    Bench(BenchArgs),
    /// All pages in one folder, for mdBook: target/book-source
    Book,
    /// Compile the patches that add a kind to each axis, and count the files that they touch
    Proofs,
    /// An archive of the program, its licences and pages, tried where nothing else is (build with --release)
    Release {
        /// The program to pack [default: release/kdyno in the target folder]
        #[arg(long, value_name = "PATH")]
        kdyno: Option<PathBuf>,
    },
    /// A bare loop that asks an echo
    #[command(hide = true)]
    AccuracyBare {
        #[arg(long)]
        to: String,
        #[arg(long)]
        rate: u64,
        #[arg(long)]
        seconds: u64,
    },
    /// An echo that answers after a delay
    #[command(hide = true)]
    AccuracyEcho {
        #[arg(long)]
        delay_us: u64,
    },
    /// Busy until it is killed
    #[command(hide = true)]
    AccuracyBusy {
        #[arg(long)]
        file: PathBuf,
    },
    /// Where a bare writer's bytes go
    #[command(hide = true)]
    BenchSink,
    /// Sealing by itself
    #[command(hide = true)]
    BenchSeal {
        #[arg(long)]
        suite: String,
        #[arg(long, default_value_t = 0)]
        pool: usize,
        #[arg(long)]
        milliseconds: u64,
    },
    /// A bare sleep loop
    #[command(hide = true)]
    BenchSleep {
        #[arg(long)]
        tick_us: u64,
        #[arg(long)]
        rate: u64,
        #[arg(long)]
        seconds: u64,
    },
    /// A bare writer
    #[command(hide = true)]
    BenchWrite {
        #[arg(long)]
        to: String,
        #[arg(long)]
        slice: usize,
        #[arg(long)]
        pool: usize,
        #[arg(long)]
        milliseconds: u64,
    },
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// Benchmarks to run [default: all; with --against those that can be compared]
    names: Vec<String>,
    /// Short and once: to try the harness
    #[arg(long)]
    quick: bool,
    /// Rounds of every alternation [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: Option<u32>,
    /// The program to measure, with the kdyno-bench next to it [default: release/kdyno in the target folder]
    #[arg(long, value_name = "PATH")]
    kdyno: Option<PathBuf>,
    /// Measure this commit, or a program that is built, next to the program, and fail where the program has lost
    #[arg(long, value_name = "COMMIT|PROGRAM")]
    against: Option<String>,
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<i32> {
    match chore {
        Chore::Tidy { write } => tidy::run(&root()?, write)?,
        Chore::Messages { write } => messages::run(&root()?, write)?,
        Chore::Test { arguments } => return summary::run(&arguments),
        Chore::Accuracy { numbers, kdyno } => accuracy::run(&root()?, &numbers, kdyno)?,
        Chore::Bench(args) => return bench(args),
        Chore::Book => book::run(&root()?)?,
        Chore::Proofs => tidy::proofs::run(&root()?)?,
        Chore::Release { kdyno } => release::run(&root()?, kdyno)?,
        Chore::AccuracyBare { to, rate, seconds } => accuracy::echo::ask(&to, rate, seconds)?,
        Chore::AccuracyEcho { delay_us } => accuracy::echo::serve(delay_us)?,
        Chore::AccuracyBusy { file } => accuracy::probes::busy(&file)?,
        Chore::BenchSink => bench::pipe::sink()?,
        Chore::BenchSeal { suite, pool, milliseconds } => {
            bench::seal::run(&suite, pool, Duration::from_millis(milliseconds))?;
        }
        Chore::BenchSleep { tick_us, rate, seconds } => bench::sleeper::run(tick_us * 1000, rate, seconds)?,
        Chore::BenchWrite { to, slice, pool, milliseconds } => {
            bench::pipe::write(&to, slice, pool, Duration::from_millis(milliseconds))?;
        }
    }
    Ok(0)
}

fn bench(args: BenchArgs) -> anyhow::Result<i32> {
    let rounds = args.rounds.map_or(if args.quick { 1 } else { 5 }, |rounds| rounds as usize);
    let root = root()?;
    let setup = Setup::new(&root, BenchOptions { quick: args.quick, rounds }, args.kdyno)?;
    match args.against {
        Some(commit) => bench::against::run(&root, &setup, &commit, &args.names).map(i32::from),
        None => bench::run(&setup, &args.names).map(|()| 0),
    }
}

/// The workspace's folder: the parent of this package.
fn root() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands below the workspace")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent_and_its_help_is_short() {
        Cli::command().debug_assert();
        let help = Cli::command().render_help().to_string();
        assert!(help.contains("tidy") && !help.contains("bench-sink"), "{help}");
        assert!(help.lines().count() <= 22, "{help}");
    }
}
