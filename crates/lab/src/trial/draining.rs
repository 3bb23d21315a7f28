//! When consumers are let end.

use super::Execution;
use crate::clock::monotonic_ns;
use kdyno_model::plan::LoadPlan;
use kdyno_model::sample::Phase;
use kdyno_model::worker::ToWorker;

impl Execution<'_> {
    /// When the last worker's producers have ended, consumers may end too, on whichever worker they are.
    pub(super) fn load_ended(&mut self, worker: u16) {
        if self.producing.remove(&worker) && self.producing.is_empty() {
            // Where producers go sooner, those that read go on to the end of the measure phase.
            let goes_early = |item: &LoadPlan| item.span.until_ns.is_some();
            let is_early = self.context.trial.effective.load.values().any(goes_early);
            let measure = self.phases.iter().find(|span| span.phase == Phase::Measure && is_early);
            self.drain_ns = Some(measure.map_or(0, |span| self.t0_ns.saturating_add(span.end_ns)));
            self.drain_if_due();
        }
    }

    /// Lets consumers fetch what is left and end, once it is time.
    pub(super) fn drain_if_due(&mut self) {
        if self.drain_ns.take_if(|at_ns| *at_ns <= monotonic_ns()).is_some() {
            for worker in &mut self.workers {
                // One that cannot be reached has ended, which is heard of.
                let _ = worker.send(&ToWorker::Drain);
            }
        }
    }
}
