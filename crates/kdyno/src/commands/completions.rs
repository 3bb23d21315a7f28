//! `kdyno completions`: a shell's completion script.

use crate::cli::CompletionsArgs;
use crate::completion::VARIABLE;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use clap_complete::env::Shells;

/// The program, as shells call it.
const NAME: &str = "kdyno";

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    let (shells, shell) = (Shells::builtins(), args.shell.to_string());
    let completer = shells.completer(&shell);
    let completer = completer.ok_or_else(|| Failure::tool(format!("there is no script for {shell}")))?;
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut script).map_err(Failure::tool)?;
    out::data(&script)?;
    Ok(Exit::Done)
}
