//! `kdyno completions`: a shell's completion script.

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::{CommandResult, Exit};
use crate::out;
use clap::CommandFactory;

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kdyno", &mut script);
    out::data(&script)?;
    Ok(Exit::Done)
}
