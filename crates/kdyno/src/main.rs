//! The `kdyno` program: arguments in, wiring, progress and exit codes out.
//!
//! `main` reads the arguments, [`commands`] holds one file per command, [`failure`] the exit codes, [`out`] all that
//! prints. Only this crate prints, reads the environment, handles signals or exits.

mod cli;
mod commands;
mod environment;
mod evidence;
mod execution;
mod failure;
mod gate;
mod given_files;
mod http;
mod looks;
mod metrics_listener;
mod moment;
mod out;
mod progress;
mod scenario_source;
mod serve;
mod signals;
mod target_source;

use clap::FromArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() <= 1 {
        out::note(cli::help::FIRST.trim_end());
        return ExitCode::from(failure::Exit::Usage as u8);
    }
    let exit = match parsed() {
        Ok(cli) => commands::dispatch(cli.command).unwrap_or_else(|failure| {
            out::failure(&failure);
            failure.exit
        }),
        Err(usage) => usage_exit(&with_what_was_meant(usage)),
    };
    ExitCode::from(exit as u8)
}

/// What was typed.
fn parsed() -> Result<cli::Cli, clap::Error> {
    let mut command = cli::help::command();
    let matches = command.clone().try_get_matches()?;
    cli::Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Commands of other tools, and what does the same here. Looking alike is no guide for them.
const MEANT: &[(&[&str], &str)] = &[
    (&["list", "ls", "history"], "`kdyno runs` lists runs, `kdyno scenarios` the bundled scenarios"),
    (&["new", "create", "generate"], "`kdyno init FILE` writes a scenario of your own"),
    (
        &["validate", "check", "lint", "plan", "verify"],
        "`kdyno run FILE --dry-run` checks a scenario and says what would be done; `compare` and `find` take it too",
    ),
];

/// A command that is none of ours, with what does the same here.
fn with_what_was_meant(mut usage: clap::Error) -> clap::Error {
    let typed = match usage.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.clone(),
        _ => return usage,
    };
    // `kdyno cluster ls` means something else.
    let is_first = std::env::args_os().nth(1).is_some_and(|first| first == *typed);
    let meant = MEANT.iter().find(|(words, _)| is_first && words.contains(&typed.as_str()));
    if let Some((_, instead)) = meant {
        usage.remove(ContextKind::SuggestedSubcommand);
        usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(*instead)]));
    }
    usage
}

/// Prints clap's own message and returns how to end after it.
fn usage_exit(usage: &clap::Error) -> failure::Exit {
    out::usage(usage);
    if usage.use_stderr() { failure::Exit::Usage } else { failure::Exit::Done }
}
