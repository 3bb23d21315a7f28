//! What a report is made of: everything is handed in, nothing is looked up.

use crate::figures::{FindingIndex, covers};
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::command_metrics;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::{Event, EventKind};
use kdyno_model::evidence::TrialStacks;
use kdyno_model::finding::Finding;
use kdyno_model::metric::Address;
use kdyno_model::plan::{CommandPlan, ComparePlan, OutputFormat, Plan};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd, TrialStart};
use kdyno_model::sample::NoiseReading;
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::{Trial, TrialId};
use std::collections::BTreeSet;

/// One run's evidence, already turned into findings and series.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// What was known before the first trial, with the plan.
    pub header: &'a RunHeader,
    /// The run's sessions in order, each with how it ended; `None` while it goes on, and when it was cut off.
    pub sessions: &'a [(Session, Option<SessionEnd>)],
    /// Somebody is writing it: the run goes on.
    pub is_live: bool,
    /// The trial that goes on in it.
    pub goes_on: Option<TrialId>,
    /// The trials that were started, in the order in which they ran.
    pub trials: &'a [TrialStart],
    /// Events of the run, each with its trial.
    pub events: &'a [(Option<TrialId>, Event)],
    /// What the noise probe showed before a trial.
    pub noise: &'a [(TrialId, NoiseReading)],
    /// Every number that may be stated, of trials, cases and published rows.
    pub findings: &'a [Finding],
    /// Every caveat about them.
    pub caveats: &'a [ScopedCaveat],
    /// What the numbers say: steadiness, limits, verdicts, searches, claims.
    pub conclusions: &'a [Conclusion],
    /// Rates, latencies and CPU time of each trial over time, for the charts.
    pub series: &'a [TrialSeries],
    /// Stacks that were sampled, for the page.
    pub stacks: &'a [TrialStacks],
}

impl<'a> ReportInput<'a> {
    /// The plan that was executed.
    pub(crate) fn plan(&self) -> &'a Plan {
        &self.header.plan
    }

    /// The commands of any case that a figure's subject is, or a label of.
    pub(crate) fn commands_of(&self, subject: &str) -> impl Iterator<Item = &'a CommandPlan> {
        let commands = self.plan().every_case().flat_map(|case| &case.commands);
        commands
            .filter(move |(item, command)| *item == subject || command.labels().any(|label| label == subject))
            .map(|(_, command)| command)
    }

    /// The form in which a command of somebody else's reports a figure by itself; `None`: kdyno measures it.
    pub(crate) fn reported_in(&self, of: &Address) -> Option<OutputFormat> {
        let mut foreign = self.commands_of(&of.subject).filter(|command| command.http.is_none());
        let format = foreign.find_map(|command| command.parse.as_ref())?.format;
        command_metrics::is_reported(&of.metric).then_some(format)
    }

    /// A trial that was started.
    pub(crate) fn trial(&self, id: TrialId) -> Option<&'a Trial> {
        self.trials.iter().map(|start| &start.trial).find(|trial| trial.id == id)
    }

    /// The trials that count, in the order in which they ran; those that only conditioned a cluster are left out.
    pub(crate) fn reported(&self) -> impl Iterator<Item = &'a Trial> + use<'a> {
        self.trials.iter().map(|start| &start.trial).filter(|trial| !trial.is_conditioning())
    }

    /// How many trials only conditioned a cluster, in one line; `None` when there was none.
    pub(crate) fn conditioning_note(&self) -> Option<String> {
        let ran = self.trials.len() - self.reported().count();
        (ran > 0).then(|| {
            let (trials, are) = if ran == 1 { ("trial", "is") } else { ("trials", "are") };
            format!(
                "{ran} conditioning {trials} for freshly started clusters also ran and {are} in no table."
            )
        })
    }

    /// Every case's label; the whole run's is empty.
    pub(crate) fn case_label(&self, case: u32) -> &'a str {
        self.plan().cases.get(case as usize).map_or("", |case| case.label.as_str())
    }

    /// What the sides are called, A first; `None`: it is no comparison.
    pub(crate) fn sides(&self) -> Option<&'a [String; 2]> {
        self.plan().strategy.as_compare().map(|compare| &compare.labels)
    }

    /// A case as its findings are of it: of a comparison with its side (0 is A, 1 is B) and what that is called,
    /// `size=1KiB, A: kafka=3.7.2`.
    pub(crate) fn side_label(&self, case: u32, side: usize) -> String {
        let case = self.case_label(case);
        let Some(labels) = self.sides() else { return case.to_owned() };
        let side = format!("{}: {}", ComparePlan::SIDES[side], labels[side]);
        if case.is_empty() { side } else { format!("{case}, {side}") }
    }

    /// What events of these kinds say, each once.
    pub(crate) fn details_of(&self, kinds: &[EventKind]) -> BTreeSet<&'a str> {
        let events = self.events.iter().filter(|(_, event)| kinds.contains(&event.kind));
        events.map(|(_, event)| event.detail.as_str()).collect()
    }

    /// A trial by its number and, where there are several, its label: `trial 3 (brokers=6 #2)`.
    pub(crate) fn name(&self, id: TrialId) -> String {
        self.trial(id).map_or_else(|| format!("trial {id}"), trial_name)
    }

    /// How the last session ended; `None` while it goes on, and when it was cut off.
    pub(crate) fn end(&self) -> Option<&'a SessionEnd> {
        self.sessions.last().and_then(|(_, end)| end.as_ref())
    }

    /// Trials that have figures of their whole measure phase.
    pub(crate) fn complete(&self, figures: &FindingIndex<'_>) -> usize {
        let has_ended = |trial: &Trial| self.goes_on != Some(trial.id) && !is_cut_short(trial, self.caveats);
        let is_whole = |trial: &Trial| figures.has(trial.id) && has_ended(trial);
        self.reported().filter(|trial| is_whole(trial)).count()
    }

    /// How far the run came, e.g. `interrupted; 1 of 8 trials complete`; `None` when it ran as planned.
    pub(crate) fn outcome(&self, figures: &FindingIndex<'_>) -> Option<String> {
        let complete = self.complete(figures);
        let planned = self.plan().strategy.trials_planned();
        let trials = planned.map_or_else(
            || format!("{complete} trials complete"),
            |planned| format!("{complete} of {planned} trials complete"),
        );
        match self.end() {
            None if self.is_live => Some(format!("the run goes on, these are its figures so far; {trials}")),
            None => Some(format!("no end is stored: the run was cut off; {trials}")),
            Some(SessionEnd { status, detail, .. }) => match status {
                RunStatus::Failed | RunStatus::OutOfTime => {
                    Some(format!("{}; {trials}: {detail}", status_words(*status)))
                }
                RunStatus::Interrupted => Some(format!("{}; {trials}", status_words(*status))),
                RunStatus::Completed => {
                    planned.filter(|planned| complete < *planned as usize).map(|_| trials)
                }
            },
        }
    }
}

/// How a session ended, in words; documents have its code.
pub fn status_words(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::OutOfTime => "out of time",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

/// A trial by its number and, where there are several, its label: `trial 3 (brokers=6 #2)`.
pub(crate) fn trial_name(trial: &Trial) -> String {
    if trial.label.is_empty() {
        format!("trial {}", trial.id)
    } else {
        format!("trial {} ({})", trial.id, trial.label)
    }
}

/// Whether a trial's figures cover less than its planned measure phase.
pub(crate) fn is_cut_short(trial: &Trial, caveats: &[ScopedCaveat]) -> bool {
    caveats.iter().any(|one| matches!(one.caveat, Caveat::CutShort { .. }) && covers(one.scope, trial))
}
