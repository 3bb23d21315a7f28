//! The `kdyno` program: arguments in, wiring, progress and exit codes out.
//!
//! `main` reads the arguments, [`commands`] holds one file per command, [`failure`] the exit codes, [`out`] all that
//! prints. Only this crate prints, reads the environment, handles signals or exits.

mod cli;
mod command_line;
mod commands;
mod completion;
mod environment;
mod evidence;
mod execution;
mod failure;
mod gate;
mod generators;
mod given_files;
mod http;
mod in_kubernetes;
mod looks;
mod meant;
mod metrics_listener;
mod moment;
mod out;
mod progress;
mod scenario_source;
mod serve;
mod signals;
mod target_source;

use clap::FromArgMatches;
use std::process::ExitCode;

fn main() -> ExitCode {
    completion::answer();
    if std::env::args_os().len() <= 1 {
        out::note(cli::help::FIRST.trim_end());
        return ExitCode::from(failure::Exit::Usage as u8);
    }
    let exit = match parsed() {
        Ok(cli) => commands::dispatch(cli.command).unwrap_or_else(|failure| {
            out::failure(&failure);
            failure.exit
        }),
        Err(usage) => {
            let first = std::env::args_os().nth(1).unwrap_or_default();
            usage_exit(&meant::with_what_was_meant(usage, &first.to_string_lossy()))
        }
    };
    ExitCode::from(exit as u8)
}

/// What was typed.
fn parsed() -> Result<cli::Cli, clap::Error> {
    let mut command = cli::help::command();
    let matches = command.clone().try_get_matches()?;
    cli::Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints clap's own message and returns how to end after it.
fn usage_exit(usage: &clap::Error) -> failure::Exit {
    out::usage(usage);
    if usage.use_stderr() { failure::Exit::Usage } else { failure::Exit::Done }
}
