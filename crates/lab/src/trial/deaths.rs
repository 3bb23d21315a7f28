//! Processes of the system under test that end by themselves in a trial.

use super::Execution;
use crate::clock::{monotonic_ns, relative_ns};
use crate::error::LabError;
use crate::inbox::Stop;
use crate::options::RunProgress;
use crate::output::last_lines;
use kdyno_model::event::EventKind;

impl Execution<'_> {
    /// A process of the system under test, or a component, that has ended is an event at `at_ns`, or before T0 one without a place on
    /// the time line, and the end of its log is kept.
    pub(super) fn tell_dead(
        &mut self,
        at_ns: Option<i64>,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let system = self.context.system;
        let when = if at_ns.is_some() { "in the middle of the trial" } else { "before the load began" };
        for (subject, how) in system.ended().into_iter().chain(self.components.ended()) {
            if self.died.insert(subject.clone()) {
                let tail = self.components.tail(&subject).map(|tail| self.context.private.hide(&tail));
                let lines = tail.as_deref().map(last_lines).unwrap_or_default();
                let detail = format!("{subject} ended {when}: {how}{lines}");
                self.event(at_ns, EventKind::ProcessDied, &subject, &detail)?;
                progress(RunProgress::Warning(detail));
                let tail = tail.unwrap_or_else(|| system.log_tail(&subject).join("\n"));
                self.context.store.log(&subject.to_string(), &tail)?;
            }
        }
        Ok(())
    }

    /// Reports which processes have ended; the trial goes on while a broker is left.
    pub(super) fn look_for_dead(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        self.tell_dead(Some(relative_ns(monotonic_ns(), self.t0_ns)), progress)?;
        if self.has_lost_its_brokers() {
            self.stop(Stop::NoBrokerLeft.into());
        }
        Ok(())
    }

    /// Reports them before T0.
    ///
    /// # Errors
    /// No broker is left.
    pub(super) fn expect_a_broker(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        self.tell_dead(None, progress)?;
        if self.has_lost_its_brokers() { Err(Stop::NoBrokerLeft.into()) } else { Ok(()) }
    }

    fn has_lost_its_brokers(&self) -> bool {
        let processes = self.context.system.processes();
        let brokers = processes.iter().filter(|process| process.subject.is_broker()).count();
        let died = self.died.iter().filter(|subject| subject.is_broker()).count();
        died > 0 && died == brokers
    }
}
