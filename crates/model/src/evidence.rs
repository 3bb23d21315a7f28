//! Everything that a run file holds of one trial: what the store yields and all that analysis reads.

use crate::event::{Event, Subject};
use crate::run::{Session, TrialStart};
use crate::sample::{NoiseReading, Phase, ProbeReading, Sample, StreamTotals};
use crate::stacks::{FlameKind, Stacks};
use crate::trial::TrialId;
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

/// The stacks of one process in the measured window of one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialStacks {
    /// The trial.
    pub trial: TrialId,
    /// The process.
    pub subject: Subject,
    /// What it was sampled for.
    pub kind: FlameKind,
    /// What was seen; of a Flight Recorder's recording nothing.
    pub stacks: Stacks,
}

impl TrialStacks {
    /// Whether the process is a broker.
    pub fn is_of_broker(&self) -> bool {
        self.subject.is_broker()
    }
}
