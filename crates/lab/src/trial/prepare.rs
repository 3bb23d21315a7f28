//! From the workers' start until all clients are connected.

use super::Execution;
use crate::error::LabError;
use crate::inbox::{Heard, WorkerNews};
use crate::options::RunProgress;
use crate::token::Renewal;
use crate::worker::Worker;
use kdyno_model::event::EventKind;
use kdyno_model::worker::{FromWorker, ToWorker};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long all clients together may take to connect and to learn their leaders.
const PREPARE_DEADLINE: Duration = Duration::from_secs(60);

/// How often it is looked meanwhile whether the system is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whether an event says why a client does not get ready.
fn is_trouble(kind: EventKind) -> bool {
    use EventKind::{CoordinatorLost, Disconnected, MetadataError, Refused, Unreachable};
    matches!(kind, CoordinatorLost | Disconnected | MetadataError | Refused | Unreachable)
}

/// What brokers answer that cannot make `__consumer_offsets`.
const NO_COORDINATOR: &str = "COORDINATOR_NOT_AVAILABLE";

/// A worker's clients were not connected in time; `last` is the newest trouble of a client that it reported.
fn not_prepared(number: u16, last: Option<String>) -> LabError {
    let last = last.map_or_else(String::new, |last| format!(": {last}"));
    let hint = match last.contains(NO_COORDINATOR) {
        true => {
            "brokers cannot make the topic of the group's offsets: `offsets.topic.replication.factor` must not exceed the \
             number of brokers"
        }
        false => "do the brokers answer? `kdyno show latest --json` has the events",
    };
    let seconds = PREPARE_DEADLINE.as_secs();
    LabError::hinted(
        format!("worker {number} had not connected all of its clients after {seconds} s{last}"),
        hint,
    )
}

impl Execution<'_> {
    /// Hands the tasks over and waits for the barrier. What happens before T0 is an event without a place on the
    /// trial's time line.
    pub(super) fn prepare(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let token = self.context.system.renew(&self.context.trial.effective)?;
        let mut secrets = self.context.secrets.of(&self.context.trial.effective);
        secrets.extend(self.context.system.secrets());
        if let Some((token, fresh)) = &token {
            secrets.insert(&token.name, fresh);
            let login = self.context.system.access().security.login;
            let renewal = Renewal::start(token.clone(), fresh, login, self.inbox.sender());
            self.renewal = Some(renewal.map_err(LabError::observer)?);
        }
        self.give_secrets(&secrets)?;
        for (worker, planned) in self.workers.iter_mut().zip(&self.context.trial.effective.workers) {
            self.context.given.hand_over(&self.context.trial.effective, planned, worker)?;
            let bootstrap = self.components.bootstrap(self.context.system);
            worker.send(&ToWorker::Prepare(Box::new(self.context.worker_task(planned, bootstrap))))?;
        }
        self.wait_until_prepared(progress)
    }

    /// A system that is gone is no client's failure, and is seen long before the clients give up.
    fn wait_until_prepared(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let mut waiting: BTreeSet<u16> = self.workers.iter().map(Worker::number).collect();
        let end = Instant::now() + PREPARE_DEADLINE;
        let mut look = Instant::now();
        let mut last = None;
        while let Some(&number) = waiting.first() {
            if Instant::now() >= look {
                self.expect_a_broker(progress)?;
                look = Instant::now() + LOOK_EVERY;
            }
            match self.inbox.hear(end.min(look).saturating_duration_since(Instant::now())) {
                Some(Heard::Worker(worker, WorkerNews::Message(FromWorker::Prepared))) => {
                    waiting.remove(&worker);
                }
                Some(Heard::Worker(worker, WorkerNews::Message(FromWorker::Event(event)))) => {
                    self.worker_event(worker, &event, None)?;
                    if is_trouble(event.kind) {
                        last = Some(event.detail);
                    }
                }
                // What a client cost before T0 has no place on the time line.
                Some(Heard::Worker(worker, WorkerNews::Message(FromWorker::Readings(reported)))) => {
                    self.sampler.hear(worker, &reported);
                }
                Some(Heard::Worker(worker, WorkerNews::Message(FromWorker::ClientSettings(reported)))) => {
                    self.keep_settings(worker, reported);
                }
                Some(Heard::Worker(_, WorkerNews::Probes(_))) => {}
                Some(Heard::Worker(_, WorkerNews::Suspected(why))) => progress(RunProgress::Warning(why)),
                Some(Heard::Worker(worker, news)) => return Err(self.gone(worker, news)),
                Some(Heard::Stop(stop)) => return Err(stop.into()),
                Some(Heard::Cluster(_, changes)) => self.cluster_changed(None, changes)?,
                Some(Heard::Named(at_ns, reported)) => self.keep_named(at_ns, reported, progress)?,
                Some(Heard::Token(renewed)) => drop(self.hand_over(&renewed)),
                Some(
                    Heard::Probes(..)
                    | Heard::Metrics(..)
                    | Heard::Logs(..)
                    | Heard::Recent(_)
                    | Heard::Command(..)
                    | Heard::Database(..),
                ) => {}
                None if Instant::now() < end => {}
                None => return Err(not_prepared(number, last)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_coordinator_the_brokers_error_and_setting_are_named() {
        let trouble = |last: Option<&str>| not_prepared(2, last.map(str::to_owned));
        let error = trouble(Some("client 1 finds no coordinator of its group: COORDINATOR_NOT_AVAILABLE"));
        assert_eq!(
            error.to_string(),
            "worker 2 had not connected all of its clients after 60 s: client 1 finds no coordinator of its group: \
             COORDINATOR_NOT_AVAILABLE"
        );
        let hint = error.hint().expect("a hint");
        assert!(
            hint.contains("`offsets.topic.replication.factor` must not exceed the number of brokers"),
            "{hint}"
        );
        for other in [None, Some("client 1: connection refused")] {
            let hint = trouble(other).hint().expect("a hint");
            assert!(hint.starts_with("do the brokers answer?"), "{hint}");
        }
    }
}
