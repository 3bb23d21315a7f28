//! A trial with what was drawn from it, and which of its figures may be used.

use crate::marks::is_concerned;
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::Finding;
use kdyno_model::metric::Address;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::trial::Trial;

/// A trial with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct AnalysedTrial<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Number of the session it ran in.
    pub session: u32,
    /// Its numbers.
    pub findings: &'a [Finding],
    /// The caveats about them.
    pub caveats: &'a [ScopedCaveat],
    /// What they say.
    pub conclusions: &'a [Conclusion],
}

impl<'a> AnalysedTrial<'a> {
    /// A trial that has ended.
    pub fn of(outcome: &'a TrialOutcome) -> Self {
        Self {
            trial: &outcome.trial,
            session: outcome.session,
            findings: &outcome.findings,
            caveats: &outcome.caveats,
            conclusions: &outcome.conclusions,
        }
    }

    /// Its figure of a metric.
    pub(crate) fn finding(&self, of: &Address) -> Option<&'a Finding> {
        self.findings.iter().find(|finding| finding.of == *of)
    }

    /// Whether a figure of it must not be used: it is marked so, or an invalid caveat speaks of it.
    pub(crate) fn is_invalid(&self, finding: &Finding) -> bool {
        finding.is_invalid() || self.invalid_by(&finding.of).next().is_some()
    }

    /// Whether a figure must not be used for no other reason than that the load queued: that is the system's own doing,
    /// and leaving such trials out would favour the side that did not keep up.
    pub(crate) fn is_queued(&self, of: &Address) -> bool {
        let mut causes = self.invalid_by(of).peekable();
        causes.peek().is_some() && causes.all(|cause| matches!(cause, Caveat::QueueGrowth { .. }))
    }

    /// The invalid caveats that speak of a metric.
    fn invalid_by<'b>(&self, of: &'b Address) -> impl Iterator<Item = &'a Caveat> + use<'a, 'b> {
        let caveats = self.caveats.iter().filter(|caveat| caveat.severity == Severity::Invalid);
        caveats.filter(move |caveat| is_concerned(&caveat.concerns, of)).map(|caveat| &caveat.caveat)
    }

    /// Why it ended before its plan did.
    pub(crate) fn cut_short(&self) -> Option<&'a str> {
        self.caveats.iter().find_map(|caveat| match &caveat.caveat {
            Caveat::CutShort { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    }
}
