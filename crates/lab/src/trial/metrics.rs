//! The brokers' own metrics, and what the cluster reports of logs and groups, in a trial: from where they are read, and
//! what becomes of them.

use super::Execution;
use crate::clock::{monotonic_ns, relative_ns};
use crate::error::LabError;
use crate::logs_watch::LogsReader;
use crate::metrics_watch::{MetricsWatch, PolledSource};
use crate::options::RunProgress;
use kdyno_model::event::EventKind;
use kdyno_model::sample::ProbeReading;
use kdyno_testbed::metrics::UnreadMetrics;

impl Execution<'_> {
    /// Begins to read them; what cannot be read from the start is reported.
    /// Among trials that run at once this one is `side`, its number and how many there are.
    pub(super) fn watch_metrics(
        &mut self,
        side: (u64, u64),
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let context = self.context;
        let secrets = context.secrets.of(&context.trial.effective);
        let mut readers: Vec<Box<dyn PolledSource>> = Vec::new();
        match context.system.metrics(&secrets) {
            Ok(sources) => {
                readers.extend(sources.into_iter().map(|one| Box::new(one) as Box<dyn PolledSource>))
            }
            Err(unread) => self.unread(None, &unread, progress)?,
        }
        // A null broker has neither logs nor groups. They come last: sizes and lag are those at the window's beginning.
        if context.trial.effective.system.is_kafka() {
            readers.push(Box::new(LogsReader::new(context.watched_logs())));
        }
        self.metrics = MetricsWatch::start(readers, side, &self.inbox.sender());
        Ok(())
    }

    /// Notes which settings the cluster did not report, which the terminal has said already.
    pub(super) fn note_unread_settings(&self) -> Result<(), LabError> {
        let in_force = self.context.in_force;
        for unread in in_force.unread.iter().chain(&in_force.unread_topics) {
            self.event(None, EventKind::SettingsNotRead, &unread.subject, &unread.why)?;
        }
        Ok(())
    }

    /// Keeps what was read of logs and groups. What could not be is reported once in a trial, and stops nothing.
    pub(super) fn keep_logs_read(
        &mut self,
        readings: Vec<ProbeReading>,
        unread: &[UnreadMetrics],
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
        for one in unread {
            progress(RunProgress::Warning(one.why.clone()));
            self.event(Some(at_ns), EventKind::LogsNotRead, &one.subject, &one.why)?;
        }
        Ok(self.context.store.probe(self.context.trial.id, readings)?)
    }

    /// Keeps what was read. That a broker's metrics cannot be read is reported once in a trial, and stops nothing.
    pub(super) fn keep_metrics_read(
        &mut self,
        at_ns: i64,
        found: Result<Vec<ProbeReading>, UnreadMetrics>,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        match found {
            Ok(readings) => Ok(self.context.store.probe(self.context.trial.id, readings)?),
            Err(unread) => self.unread(Some(at_ns), &unread, progress),
        }
    }

    fn unread(
        &mut self,
        at_ns: Option<i64>,
        unread: &UnreadMetrics,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        // That a broker has ended is reported as such.
        let has_ended = self.context.system.ended().contains_key(&unread.subject);
        if has_ended || !self.unread.insert(unread.subject.clone()) {
            return Ok(());
        }
        progress(RunProgress::Warning(unread.why.clone()));
        self.event(at_ns, EventKind::MetricsNotRead, &unread.subject, &unread.why)
    }
}
