//! What a report is made of: everything is handed in, nothing is looked up.

use kdyno_model::finding::{Caveat, Finding, Severity};
use kdyno_model::plan::{Plan, TrialRef};
use kdyno_model::run::{Event, RunEnd, RunHeader, TrialStart};
use kdyno_model::sample::NoiseReading;
use kdyno_model::series::TrialSeries;

/// A caveat with the trial it concerns and what it does to the trial's figures.
pub type TrialCaveat = (TrialRef, Severity, Caveat);

/// One run's evidence, already turned into findings and series.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// What was known before the first trial, with the plan.
    pub header: &'a RunHeader,
    /// How the run ended; `None` when it was cut off.
    pub end: Option<&'a RunEnd>,
    /// The trials that were started, in the order of execution.
    pub trials: &'a [TrialStart],
    /// Events of the run, each with its trial.
    pub events: &'a [(Option<TrialRef>, Event)],
    /// What the noise probe showed before a trial.
    pub noise: &'a [(TrialRef, NoiseReading)],
    /// Every number that may be stated.
    pub findings: &'a [Finding],
    /// Every reason to doubt one.
    pub caveats: &'a [TrialCaveat],
    /// The course of each trial, for the charts.
    pub series: &'a [TrialSeries],
}

impl ReportInput<'_> {
    /// The plan that was executed.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.header.plan
    }
}
