//! What rules find, and what they look at.

use crate::commands;
use crate::evidence::is_open_loop;
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::caveat::{Caveat, Concern, Degree, Question, ScopedCaveat};
use kdyno_model::event::{Event, EventKind};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::trial::TrialReason;

/// What a rule found.
pub(crate) struct FoundCaveat {
    pub(super) caveat: Caveat,
    pub(super) concerns: Concern,
    /// For one load item: its question; otherwise that of all items, the heaviest weight of them.
    pub(super) question: Option<Question>,
}

impl From<Caveat> for FoundCaveat {
    fn from(caveat: Caveat) -> Self {
        Self { caveat, concerns: Concern::Everything, question: None }
    }
}

impl FoundCaveat {
    /// The scope of one load item.
    pub(crate) fn of(item: &ItemRows<'_>, caveat: Caveat) -> Self {
        Self { question: Some(asked_by_rate(item)), ..Self::from(caveat) }
    }

    /// The scope of a command: its figures, and those of its labels.
    pub(super) fn of_command(evidence: &TrialEvidence, item: &str, caveat: Caveat) -> Self {
        let labels = commands::labels(evidence, item).map(str::to_owned).collect();
        Self::from(caveat).concerning(Concern::Command { item: item.to_owned(), labels })
    }

    /// It speaks of some figures alone.
    pub(crate) fn concerning(self, concerns: Concern) -> Self {
        Self { concerns, ..self }
    }

    /// As heavy as it is in a trial; `None`: it is not reported there.
    pub(crate) fn scoped(self, trial: &TrialRows<'_>, degree: Degree) -> Option<ScopedCaveat> {
        let row = self.caveat.row();
        let asked = self.asked(trial).into_iter();
        let question = asked.max_by_key(|question| row.weight(degree, *question))?;
        let found = ScopedCaveat::new(trial.scope(), question, degree, self.caveat)?;
        Some(ScopedCaveat { concerns: self.concerns, ..found })
    }

    /// What its figures are to show: what the trial was chosen for decides, and where it was only listed, the rate of the load.
    fn asked(&self, trial: &TrialRows<'_>) -> Vec<Question> {
        match (&trial.evidence.start.trial.reason, self.question) {
            (TrialReason::Search { .. }, _) => vec![Question::Find],
            (TrialReason::Pair | TrialReason::Duet, _) => vec![Question::Compare],
            (TrialReason::Listed { .. } | TrialReason::Conditioning, Some(question)) => vec![question],
            (TrialReason::Listed { .. } | TrialReason::Conditioning, None) => {
                let producing = trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
                let asked: Vec<Question> = producing.map(asked_by_rate).collect();
                if asked.is_empty() { vec![Question::Max] } else { asked }
            }
        }
    }
}

/// What the rate of an item asks. Consumers fetch as fast as they can.
pub(super) fn asked_by_rate(item: &ItemRows<'_>) -> Question {
    if is_open_loop(item.plan) { Question::Open } else { Question::Max }
}

/// What a rule says of each load item.
pub(super) fn of_items(
    trial: &TrialRows<'_>,
    rule: impl Fn(&ItemRows<'_>) -> Option<Caveat>,
) -> Vec<FoundCaveat> {
    trial.items.iter().filter_map(|item| Some(FoundCaveat::of(item, rule(item)?))).collect()
}

pub(super) fn events<'a>(trial: &TrialRows<'a>, kind: EventKind) -> impl Iterator<Item = &'a Event> {
    trial.evidence.events.iter().filter(move |event| event.kind == kind)
}
