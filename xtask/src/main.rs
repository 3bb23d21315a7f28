//! The project's own chores, run as `cargo xtask CHORE`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "a command line tool")]

#[cfg(feature = "measure")]
mod accuracy;
mod background;
#[cfg(feature = "measure")]
mod bench;
mod book;
mod cargo;
mod classes;
mod markdown;
#[cfg(feature = "measure")]
mod measure;
mod messages;
mod release;
mod summary;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

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
    /// cargo test for the workspace, counts on the last line
    Test {
        /// Handed to cargo test
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// All pages in one folder, for mdBook: target/book-source
    Book,
    /// An archive of the program, its licences and pages, tried where nothing else is
    Release {
        /// The program to pack [default: release/kdyno in the target folder]
        #[arg(long, value_name = "PATH")]
        kdyno: Option<PathBuf>,
    },
    #[cfg(feature = "measure")]
    #[command(flatten)]
    Measure(measure::Measure),
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
        Chore::Book => book::run(&root()?)?,
        Chore::Release { kdyno } => release::run(&root()?, kdyno)?,
        #[cfg(feature = "measure")]
        Chore::Measure(measure) => return measure::run(&root()?, measure),
    }
    Ok(0)
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
        assert!(help.contains("tidy") && !help.contains("accuracy-busy"), "{help}");
        assert!(help.lines().count() < 20, "{help}");
    }
}
