//! A trial with what was drawn from it, and which of its figures may be used.

use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::Finding;
use kdyno_model::metric::{Address, QUANTILES};
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
    /// The reasons to doubt them.
    pub caveats: &'a [ScopedCaveat],
    /// What they say.
    pub conclusions: &'a [Conclusion],
}

impl<'a> AnalysedTrial<'a> {
    /// A trial that has just ended in a session.
    pub fn of(outcome: &'a TrialOutcome, session: u32) -> Self {
        Self {
            trial: &outcome.trial,
            session,
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
        let speaks = |caveat: &ScopedCaveat| match &caveat.concerns {
            Concern::Everything => true,
            Concern::Latencies { item } => finding.of.subject == *item && timed(&finding.of).is_some(),
            Concern::LatenciesFrom { item, quantile } => {
                let place = |name: &str| QUANTILES.iter().position(|(known, _)| *known == name);
                let is_above = |statistic: &str| statistic == "max" || place(statistic) >= place(quantile);
                finding.of.subject == *item && timed(&finding.of).is_some_and(is_above)
            }
        };
        let invalid = |caveat: &&ScopedCaveat| caveat.severity == Severity::Invalid;
        finding.is_invalid() || self.caveats.iter().filter(invalid).any(speaks)
    }

    /// Why it ended before its plan did.
    pub(crate) fn cut_short(&self) -> Option<&'a str> {
        self.caveats.iter().find_map(|caveat| match &caveat.caveat {
            Caveat::CutShort { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// The statistic of a latency: `p99` of `response.p99`.
fn timed(of: &Address) -> Option<&str> {
    of.metric.split_once('.').map(|(_, statistic)| statistic)
}
