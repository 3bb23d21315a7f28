//! The commands of a trial in every state: those that wait, those that run, those that are over.

use crate::command::EndCommand;
use kdyno_model::plan::{CasePlan, CommandBegins, CommandPlan};
use kdyno_testbed::command::CommandExit;
use std::collections::{BTreeMap, BTreeSet};

/// Between asking for the end of commands and when they are surely gone, ns: their grace, and what is left of them.
pub(super) const GONE_NS: u64 = 20_000_000_000;

/// The commands of a trial in every state.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) waiting: BTreeMap<String, CommandPlan>,
    pub(super) running: BTreeMap<String, StartedCommand>,
    /// Commands that have ended or could not be started.
    pub(super) ended: BTreeSet<String>,
    /// All were asked to end.
    pub(super) are_stopped: bool,
}

/// One that was started, until everything of it was received.
pub(super) struct StartedCommand {
    pub(super) plan: CommandPlan,
    pub(super) started_ns: u64,
    pub(super) end: EndCommand,
    /// How it ended, and what speaks against it.
    pub(super) exit: Option<(Option<CommandExit>, Option<String>)>,
}

impl Commands {
    /// Commands of a case.
    pub(super) fn of(case: &CasePlan) -> Self {
        let mut commands = Self::default();
        commands.waiting.clone_from(&case.commands);
        commands
    }

    /// Whether none is to come and none is to be heard of.
    pub(super) fn are_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Ends them all; none is started any more.
    pub(super) fn stop(&mut self) {
        self.are_stopped = true;
        self.waiting.clear();
        self.running.values().filter(|one| one.exit.is_none()).for_each(|one| (one.end)());
    }

    /// When a command that waits is to be started, ns from the beginning of the measure phase; `None`: not yet known.
    pub(super) fn begins_ns(&self, plan: &CommandPlan) -> Option<u64> {
        match &plan.begins {
            CommandBegins::At(at_ns) => Some(*at_ns),
            CommandBegins::After(before) => self.ended.contains(before).then_some(0),
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.stop();
    }
}
