//! The state of a trial while it goes on: for the progress line, and for the end of its warm-up.

use super::Execution;
use crate::clock::{monotonic_ns, relative_ns};
use crate::error::LabError;
use crate::inbox::Heard;
use crate::observer::SECOND_NS;
use crate::options::{LiveTrial, RunProgress};
use crate::task::{left_ns, phase_at};
use kdyno_analysis::live::RECENT_S;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::PHASE_NS_MAX;
use kdyno_model::worker::phase_spans;
use std::sync::Arc;

impl Execution<'_> {
    /// Asks the store for the newest rows, and during a warm-up that ends by evidence for all of them; the answer comes
    /// through the inbox.
    pub(super) fn ask_for_recent(&mut self, now_ns: u64) -> Result<(), LabError> {
        let second = u32::try_from(now_ns.saturating_sub(self.t0_ns) / SECOND_NS).unwrap_or(u32::MAX);
        let from_second = if self.warmup.is_some() { 0 } else { second.saturating_sub(2 + RECENT_S) };
        let inbox = self.inbox.sender();
        // An inbox that is full has better things to do than progress, and must not hold up the store.
        let reply = Box::new(move |evidence| drop(inbox.try_send(Heard::Recent(Arc::new(evidence)))));
        Ok(self.context.store.recent(self.context.trial.id, from_second, reply)?)
    }

    /// Shows the state of the trial, and ends its warm-up when that has settled.
    pub(super) fn hear_recent(
        &mut self,
        recent: &Arc<TrialEvidence>,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let now_ns = monotonic_ns();
        if let Some(live) = self.live_at(now_ns, recent) {
            progress(RunProgress::Live(Box::new(live)));
        }
        let elapsed_ns = now_ns.saturating_sub(self.t0_ns);
        // Rows of the second that has just ended may be on their way.
        let seconds = u32::try_from(elapsed_ns / SECOND_NS).unwrap_or(u32::MAX).saturating_sub(1);
        let begin = self.warmup.as_mut().and_then(|warmup| warmup.look(recent, seconds, elapsed_ns));
        begin.map_or(Ok(()), |begin| self.end_warmup(begin))
    }

    /// What is left of the trial, ns: of a warm-up without an end the longest time it may take. `None`: its load
    /// ends by a number of records, whenever that is.
    fn left_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let lengths = &self.context.trial.effective.phases;
        if lengths.measure_ns == PHASE_NS_MAX {
            return None;
        }
        if self.warmup.is_none() {
            return Some(left_ns(&self.phases, elapsed_ns));
        }
        Some(left_ns(&phase_spans(lengths, Some(lengths.measure_start_ns())), elapsed_ns))
    }

    /// The state to show: figures of the second before the one that just ended, whose rows are surely there; `None`
    /// before there is such a second.
    fn live_at(&mut self, now_ns: u64, recent: &Arc<TrialEvidence>) -> Option<LiveTrial> {
        let elapsed_ns = now_ns.saturating_sub(self.t0_ns);
        let second = u32::try_from(elapsed_ns / SECOND_NS).ok()?.checked_sub(2)?;
        let figures = self.live.figures(recent, second);
        Some(LiveTrial {
            counted: self.live.counted().clone(),
            counted_ns: (u64::from(second) + 1) * SECOND_NS,
            trial: self.context.trial.id,
            of: self.context.of,
            label: self.context.trial.label.clone(),
            phase: phase_at(&self.phases, relative_ns(now_ns, self.t0_ns)),
            elapsed_ns,
            remaining_ns: self.left_ns(elapsed_ns).map(|left_ns| left_ns + self.context.later_ns),
            figures,
            recent: Arc::clone(recent),
            complete_until: second + 1,
        })
    }
}
