//! The end of a trial: what is left to be stored of it.

use super::Execution;
use super::command_set::{Commands, GONE_NS};
use super::events::store_event;
use crate::clock::{monotonic_ns, relative_ns, until};
use crate::error::LabError;
use crate::generator::WorkerEnd;
use crate::inbox::{Heard, WorkerNews};
use crate::log_ends;
use crate::options::RunProgress;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::sample::{ProbeReading, series};
use std::time::Duration;

/// Most readings of clocks that are stored at once: those of hours, of many hosts, are more than the store reads back as one.
const CLOCK_READINGS_MAX: usize = 4096;

impl Execution<'_> {
    /// Stores what is left to be stored: who ended since the last reading, the last readings, the workers' cost, what the
    /// logs hold, why it ended early.
    pub(super) fn close(
        mut self,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<Option<LabError>, LabError> {
        // Not a reason to end the trial early any more, for it has ended.
        self.tell_dead(Some(relative_ns(monotonic_ns(), self.t0_ns)), progress)?;
        let (context, t0_ns, ended_ns) = (self.context, self.t0_ns, monotonic_ns());
        // They end in their own time; what they have seen lies in the inbox.
        drop(self.cluster_watch.take());
        if let Some(observer) = self.observer.take() {
            observer.finish();
        }
        std::mem::take(&mut self.metrics).finish();
        // None is left but where the trial was cut short or their time was over.
        self.commands.stop();
        let gone_ns = monotonic_ns() + GONE_NS;
        let wait = |commands: &Commands| if commands.are_over() { Duration::ZERO } else { until(gone_ns) };
        while let Some(heard) = self.inbox.hear(wait(&self.commands)) {
            match heard {
                Heard::Probes(_, readings) => context.store.probe(context.trial.id, readings)?,
                Heard::Metrics(at_ns, found) => self.keep_metrics_read(at_ns, found, progress)?,
                Heard::Logs(readings, unread) => self.keep_logs_read(readings, &unread, progress)?,
                Heard::Cluster(seen_ns, changes) => {
                    self.cluster_changed(Some(relative_ns(seen_ns, t0_ns)), changes)?;
                }
                Heard::Named(at_ns, reported) => self.keep_named(at_ns, reported, progress)?,
                Heard::Command(item, news) => self.hear_command(&item, news, progress)?,
                Heard::Database(component, at_ns, counted) => {
                    self.keep_counted(&component, at_ns, counted)?
                }
                Heard::Worker(_, WorkerNews::Probes(readings)) => {
                    context.store.probe(context.trial.id, readings)?
                }
                Heard::Worker(..) | Heard::Recent(_) | Heard::Token(_) | Heard::Stop(_) => {}
            }
        }
        // The trial would look as if they had never been.
        for item in self.commands.running.keys() {
            self.command_failed(
                item,
                "not all of it was heard when the trial was over, so it has no figures",
                progress,
            )?;
        }
        let courses = self.places.clock_courses(t0_ns, ended_ns);
        for piece in courses.readings().chunks(CLOCK_READINGS_MAX) {
            context.store.probe(context.trial.id, piece.to_vec())?;
        }
        let ways = std::mem::take(&mut self.held_back).known(|from, to| courses.way_error_ns(from, to));
        ways.rows.into_iter().try_for_each(|row| context.store.sample(context.trial.id, row))?;
        context.store.probe(context.trial.id, ways.errors)?;
        self.keep_stacks()?;
        self.end_workers()?;
        self.stop_components(progress)?;
        self.keep_relayed(progress)?;
        self.read_log_ends()?;
        if let Some(reason) = &self.cut_short {
            let at_ns = relative_ns(monotonic_ns(), t0_ns);
            store_event(context, Some(at_ns), EventKind::CutShort, &Subject::Kdyno, &reason.to_string())?;
        }
        Ok(self.cut_short)
    }

    /// Ends the workers, with what they cost and, if they did not end well, what they wrote last.
    fn end_workers(&mut self) -> Result<(), LabError> {
        let (context, t0_ns) = (self.context, self.t0_ns);
        for worker in std::mem::take(&mut self.workers) {
            let (number, log) = (worker.number(), worker.log_path().to_owned());
            let subject = Subject::Worker(number);
            // Only a worker that has said its last word is given time to end by itself.
            let is_done = self.cut_short.is_none() || self.done.contains(&number);
            let end = worker.finish(!is_done);
            let at_ns = relative_ns(monotonic_ns(), t0_ns);
            context.store.probe(context.trial.id, cost(at_ns, &subject, &end))?;
            if !end.success {
                // The end of a lost one is known already.
                if !self.lost.contains(&number) {
                    let detail = format!("{subject} ended with {}", end.status);
                    store_event(context, Some(at_ns), EventKind::WorkerEnded, &subject, &detail)?;
                }
                crate::logs::keep(context.store, context.private, &subject, &log)?;
            }
        }
        Ok(())
    }

    /// Reads how far the logs reach, once nothing more arrives there.
    fn read_log_ends(&self) -> Result<(), LabError> {
        let context = self.context;
        let now_ns = || Some(relative_ns(monotonic_ns(), self.t0_ns));
        if let Some(reason @ LabError::NoBrokerLeft) = &self.cut_short {
            return self.log_unchecked(now_ns(), &reason.to_string());
        }
        match log_ends::read_settled(context.system, context.topics) {
            Ok(Some(ends)) => Ok(context.store.probe(context.trial.id, ends.readings(self.t0_ns))?),
            Ok(None) => self.log_unchecked(now_ns(), &log_ends::still_grew()),
            Err(error) => self.log_unchecked(now_ns(), &error.to_string()),
        }
    }

    /// Keeps what the workers wrote to their standard error, and the components.
    pub(super) fn keep_logs(&self) -> Result<(), LabError> {
        for worker in &self.workers {
            crate::logs::keep(
                self.context.store,
                self.context.private,
                &Subject::Worker(worker.number()),
                worker.log_path(),
            )?;
        }
        self.keep_component_logs()
    }
}

/// A worker's CPU time over its whole life: the tool's own cost.
fn cost(at_ns: i64, subject: &Subject, end: &WorkerEnd) -> Vec<ProbeReading> {
    let Some((user_s, system_s)) = end.cpu_s else { return Vec::new() };
    let named = [(series::CPU_USER_S_AT_EXIT, user_s), (series::CPU_SYSTEM_S_AT_EXIT, system_s)];
    let reading = |(series, value): (&str, f64)| ProbeReading {
        at_ns,
        subject: subject.clone(),
        series: series.to_owned(),
        value,
    };
    named.map(reading).to_vec()
}
