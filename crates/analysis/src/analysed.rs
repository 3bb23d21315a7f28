//! A trial with what was drawn from it, and which of its figures may be used.

use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::{Finding, Value};
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

    /// Whether a figure must not be used and the load queued, whatever else speaks against it: leaving such trials out
    /// would favour the side that did not keep up. Not where the trial is no evidence at all.
    pub(crate) fn is_queued(&self, of: &Address) -> bool {
        self.invalid_by(of).any(is_queue) && !self.is_void(of)
    }

    /// Whether the trial is no evidence at all of a metric: records are gone or counts do not add up.
    pub(crate) fn is_void(&self, of: &Address) -> bool {
        self.invalid_by(of).any(is_void)
    }

    /// A figure as far as it may be used: of a load that queued the bound.
    pub(crate) fn usable(&self, finding: &Finding) -> Option<Value> {
        match finding.estimate {
            Value::None => None,
            estimate if !self.is_invalid(finding) => Some(estimate),
            estimate => bound_by_queue(estimate, self.invalid_by(&finding.of)),
        }
    }

    /// Whether a latency is invalid for the load generator's own delay alone: it is an upper bound of what the system took.
    pub(crate) fn is_at_most(&self, of: &Address) -> bool {
        are_all(self.invalid_by(of), is_own_delay)
    }

    /// Whether a figure must not be used for what the load generator did alone: that says nothing of the system, so to leave
    /// such a trial out is no choice among what the system did.
    pub(crate) fn is_generators_alone(&self, of: &Address) -> bool {
        are_all(self.invalid_by(of), is_of_generator)
    }

    /// The invalid caveats that speak of a metric.
    fn invalid_by<'b>(&self, of: &'b Address) -> impl Iterator<Item = &'a Caveat> + use<'a, 'b> {
        let caveats = self.caveats.iter().filter(|caveat| caveat.severity == Severity::Invalid);
        caveats.filter(move |caveat| caveat.concerns.covers(of)).map(|caveat| &caveat.caveat)
    }

    /// Why it ended before its plan did.
    pub(crate) fn cut_short(&self) -> Option<&'a str> {
        self.caveats.iter().find_map(|caveat| match &caveat.caveat {
            Caveat::CutShort { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// What a figure that must not be used is at least, by the invalid caveats that speak of it: where the load queued, and
/// nothing else speaks against it, it grows for as long as the load lasts. `None`: it says nothing.
pub(crate) fn bound_by_queue<'a>(estimate: Value, causes: impl Iterator<Item = &'a Caveat>) -> Option<Value> {
    let (Value::Is(number) | Value::AtLeast(number)) = estimate else { return None };
    are_all(causes, is_queue).then_some(Value::AtLeast(number))
}

/// Whether there are causes, and all of them are of a kind.
fn are_all<'a>(causes: impl Iterator<Item = &'a Caveat>, kind: fn(&Caveat) -> bool) -> bool {
    let mut causes = causes.peekable();
    causes.peek().is_some() && causes.all(kind)
}

/// More was offered than was carried.
pub(crate) fn is_queue(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::QueueGrowth { .. })
}

/// The load generator's own delay is most of a latency.
fn is_own_delay(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::GeneratorLate { .. } | Caveat::LateEndToEnd { .. })
}

/// Nothing that was counted in the trial can be relied on.
fn is_void(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::Lost { .. } | Caveat::AccountingBroken { .. } | Caveat::SamplesMissing { .. })
}

/// The load generator was late, or had no CPU time left. Brokers that wait for a processor are the system's.
pub(crate) fn is_of_generator(caveat: &Caveat) -> bool {
    match caveat {
        Caveat::WaitedForProcessor { who, .. } => !who.starts_with("broker"),
        Caveat::GeneratorLate { .. }
        | Caveat::ThreadBusy { .. }
        | Caveat::WorkerBusy { .. }
        | Caveat::CalibrationShort { .. }
        | Caveat::ProcessorLimited { .. } => true,
        _ => false,
    }
}
