//! What is heard of a command of a load item.

use kdyno_analysis::commands::CommandTotals;
use kdyno_testbed::command::CommandExit;

/// What is heard of a command.
#[derive(Debug)]
pub enum CommandNews {
    /// It has ended, and nothing of it is left; `None`: its keeper was ended from outside, and it was killed.
    Exited(Option<CommandExit>),
    /// The last message of it: its figures.
    Read(Box<CommandOutput>),
}

/// Figures that a command reported.
#[derive(Debug, Default)]
pub struct CommandOutput {
    /// The end of its standard output and error, in the order in which they came.
    pub tail: String,
    /// Bytes of both.
    pub bytes: u64,
    /// What was parsed, where something was to be.
    pub reported: Option<CommandTotals>,
    /// Why not all was parsed that was to be, one lowercase clause.
    pub trouble: Option<String>,
}
