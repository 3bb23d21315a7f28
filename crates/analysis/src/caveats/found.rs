//! What rules find, and what they look at.

use crate::commands;
use crate::evidence::is_open_loop;
use crate::rows::{Item, Trial};
use kdyno_model::caveat::{Caveat, Concern};
use kdyno_model::event::{Event, EventKind};
use kdyno_model::evidence::TrialEvidence;

/// What a figure is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// How the system does at a given rate.
    Open,
    /// How much it carries: `rate: max`.
    Max,
    /// How much it carries while conditions hold.
    Find,
    /// Whether one side differs from the other.
    Compare,
}

/// What a rule found.
pub(super) struct Found {
    pub(super) caveat: Caveat,
    pub(super) concerns: Concern,
    /// Of one load item: its question; otherwise that of all items, the heaviest weight of them.
    pub(super) question: Option<Question>,
}

impl From<Caveat> for Found {
    fn from(caveat: Caveat) -> Self {
        Self { caveat, concerns: Concern::Everything, question: None }
    }
}

impl Found {
    /// Of one load item.
    pub(super) fn of(item: &Item<'_>, caveat: Caveat) -> Self {
        Self { question: Some(asked_by_rate(item)), ..Self::from(caveat) }
    }

    /// Of a command: it speaks of its figures, and of those of its labels.
    pub(super) fn of_command(evidence: &TrialEvidence, item: &str, caveat: Caveat) -> Self {
        let labels = commands::labels(evidence, item).map(str::to_owned).collect();
        Self::from(caveat).concerning(Concern::Command { item: item.to_owned(), labels })
    }

    /// It speaks of some figures alone.
    pub(super) fn concerning(self, concerns: Concern) -> Self {
        Self { concerns, ..self }
    }
}

/// What the rate of an item asks. Consumers fetch as fast as they can.
pub(super) fn asked_by_rate(item: &Item<'_>) -> Question {
    if is_open_loop(item.plan) { Question::Open } else { Question::Max }
}

/// What a rule says of each load item.
pub(super) fn of_items(trial: &Trial<'_>, rule: impl Fn(&Item<'_>) -> Option<Caveat>) -> Vec<Found> {
    trial.items.iter().filter_map(|item| Some(Found::of(item, rule(item)?))).collect()
}

pub(super) fn events<'a>(trial: &Trial<'a>, kind: EventKind) -> impl Iterator<Item = &'a Event> {
    trial.evidence.events.iter().filter(move |event| event.kind == kind)
}
