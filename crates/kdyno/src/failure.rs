//! How a command ends: the exit codes, and what an error says.

use std::fmt::Display;

/// How a command ended. The numbers are the program's contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went as planned.
    Done = 0,
    /// kdyno, or the system under test, failed.
    ToolFailed = 1,
    /// What was typed makes no sense; nothing was started.
    Usage = 2,
    /// A claim does not hold, no load meets the conditions of a search, or advice of high severity is not followed.
    NotMet = 3,
    /// Side B of a comparison is materially worse.
    Worse = 4,
    /// There is no answer.
    Inconclusive = 5,
    /// A figure of the run's answer must not be used, or records were lost.
    Invalid = 6,
    /// Stopped from outside; the evidence was kept.
    Interrupted = 130,
}

/// A command that could not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What the program ends with.
    pub(crate) exit: Exit,
    /// One lowercase sentence: what failed, what was tried, why.
    pub(crate) message: String,
    /// What can be done about it.
    pub(crate) hint: Option<String>,
    /// Further mistakes of the same text.
    pub(crate) more: Vec<Self>,
}

impl Failure {
    /// What ends the program so.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string(), hint: None, more: Vec::new() }
    }

    /// Wrong usage.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something did not work.
    pub(crate) fn tool(message: impl Display) -> Self {
        Self::new(Exit::ToolFailed, message)
    }

    /// The failure with a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure with a hint, where there is one.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// What every command returns.
pub(crate) type CommandResult = Result<Exit, Failure>;
