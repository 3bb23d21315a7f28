//! Everything that a run file holds of one trial: what the store yields and all that analysis reads.

use crate::event::Event;
use crate::run::{Session, TrialStart};
use crate::sample::{NoiseReading, Phase, ProbeReading, Sample, StreamTotals};
use crate::worker::PhaseSpan;

/// One trial's evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialEvidence {
    /// The trial and what was known when its load started.
    pub start: TrialStart,
    /// The session it ran in: the host it ran on.
    pub session: Session,
    /// The phases, in order, gapless from T0, as they were announced; without the measure phase when the trial
    /// ended before it began.
    pub phases: Vec<PhaseSpan>,
    /// Every row, each once.
    pub samples: Vec<Sample>,
    /// Readings of processes and host.
    pub probes: Vec<ProbeReading>,
    /// The streams' totals; empty when the trial was cut off.
    pub totals: Vec<StreamTotals>,
    /// What happened in the trial.
    pub events: Vec<Event>,
    /// Noise probes of the trial.
    pub noise: Vec<NoiseReading>,
}

impl TrialEvidence {
    /// The announced span of a phase.
    pub fn span(&self, phase: Phase) -> Option<PhaseSpan> {
        self.phases.iter().find(|span| span.phase == phase).copied()
    }
}
