//! The `kdyno` program: arguments in, wiring, progress and exit codes out.
//!
//! `main` reads the arguments, [`commands`] holds one file per command, [`failure`] the exit codes and the
//! one printer of errors. Only this crate prints, reads the environment, handles signals or exits.

mod cli;
mod commands;
mod environment;
mod evidence;
mod execution;
mod failure;
mod git;
mod given_files;
mod looks;
mod moment;
mod out;
mod progress;
mod scenario_source;
mod signals;
mod target_source;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match cli::Cli::try_parse() {
        Ok(cli) => commands::dispatch(cli.command).unwrap_or_else(|failure| {
            failure.print();
            failure.exit
        }),
        Err(usage) => usage_exit(&usage),
    };
    ExitCode::from(exit as u8)
}

/// Prints clap's own message: help and version to standard output, mistakes to standard error.
fn usage_exit(usage: &clap::Error) -> failure::Exit {
    // A reader that has seen enough is no failure.
    let _ = usage.print();
    if usage.use_stderr() { failure::Exit::Usage } else { failure::Exit::Done }
}
