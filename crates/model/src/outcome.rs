//! What comes of evidence: of a trial, or of anything else that analysis reads.

use crate::caveat::ScopedCaveat;
use crate::conclusion::Conclusion;
use crate::finding::{Finding, Scope};
use crate::run::TrialStart;
use crate::trial::Trial;

/// What came of a trial: all that a strategy may base its next choice on.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// The trial.
    pub trial: Trial,
    /// Number of the session it ran in: clusters of an earlier one are gone.
    pub session: u32,
    /// Its numbers.
    pub findings: Vec<Finding>,
    /// The caveats about them.
    pub caveats: Vec<ScopedCaveat>,
    /// What they say.
    pub conclusions: Vec<Conclusion>,
}

impl TrialOutcome {
    /// A trial of the first session with what was drawn from its evidence.
    pub fn new(trial: Trial, judgement: Judgement) -> Self {
        let Judgement { findings, caveats, conclusions } = judgement;
        Self { trial, session: 1, findings, caveats, conclusions }
    }

    /// A trial that was stored, with what was drawn from its evidence.
    pub fn of_start(start: &TrialStart, judgement: Judgement) -> Self {
        Self { session: start.session, ..Self::new(start.trial.clone(), judgement) }
    }
}

/// What analysis draws from evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// Numbers.
    pub findings: Vec<Finding>,
    /// The caveats about them.
    pub caveats: Vec<ScopedCaveat>,
    /// What they say.
    pub conclusions: Vec<Conclusion>,
}

impl Judgement {
    /// The part that speaks of one scope.
    pub fn of_scope(&self, scope: Scope) -> Self {
        Self {
            findings: self.findings.iter().filter(|one| one.scope == scope).cloned().collect(),
            caveats: self.caveats.iter().filter(|one| one.scope == scope).cloned().collect(),
            conclusions: self.conclusions.iter().filter(|one| one.scope() == scope).cloned().collect(),
        }
    }

    /// Adds what was drawn of something else.
    pub fn extend(&mut self, further: Judgement) {
        self.findings.extend(further.findings);
        self.caveats.extend(further.caveats);
        self.conclusions.extend(further.conclusions);
    }
}
