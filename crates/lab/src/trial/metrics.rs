//! The brokers' own metrics in a trial: from where they are read, and what becomes of them.

use super::Execution;
use crate::error::LabError;
use crate::metrics_watch::MetricsWatch;
use crate::options::Progress;
use kdyno_model::event::EventKind;
use kdyno_model::sample::ProbeReading;
use kdyno_testbed::metrics::Unread;

impl Execution<'_> {
    /// Begins to read them; what cannot be read from the start is told.
    pub(super) fn watch_metrics(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        let context = self.context;
        let secrets = context.secrets.of(&context.trial.effective);
        match context.system.metrics(&secrets) {
            Ok(sources) => self.metrics = MetricsWatch::start(sources, &self.inbox.sender()),
            Err(unread) => self.unread(None, &unread, progress)?,
        }
        Ok(())
    }

    /// Keeps what was read. That a broker's metrics cannot be read is told once in a trial, and stops nothing.
    pub(super) fn keep_metrics_read(
        &mut self,
        at_ns: i64,
        found: Result<Vec<ProbeReading>, Unread>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LabError> {
        match found {
            Ok(readings) => Ok(self.context.store.probe(self.context.trial.id, readings)?),
            Err(unread) => self.unread(Some(at_ns), &unread, progress),
        }
    }

    fn unread(
        &mut self,
        at_ns: Option<i64>,
        unread: &Unread,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LabError> {
        // That a broker has ended is told as such.
        let has_ended = self.context.system.ended().contains_key(&unread.subject);
        if has_ended || !self.unread.insert(unread.subject.clone()) {
            return Ok(());
        }
        progress(Progress::Warning(unread.why.clone()));
        self.event(at_ns, EventKind::MetricsNotRead, &unread.subject, &unread.why)
    }
}
