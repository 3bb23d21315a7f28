//! The one place where a trial hears of anything: workers, probes, the store's answers, a wish to stop.
//!
//! Every source has a thread that waits for it and sends here; the trial's own thread takes one thing after
//! the other and never polls.

use crate::cluster_view::ClusterChange;
use crate::command_news::CommandNews;
use crate::limit::TimeCap;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_model::worker::FromWorker;
use kdyno_testbed::metrics::UnreadMetrics;
use kdyno_testbed::postgres::Counted;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// What may wait here. A worker sends a few messages per stream and second, so this many mean that the lab
/// does not get on; then the workers' sockets fill up, not our memory.
const MESSAGES_MAX: usize = 4096;

/// Something that a trial hears.
#[derive(Debug)]
pub enum Heard {
    /// From or of a worker, by its number.
    Worker(u16, WorkerNews),
    /// One round of probes, read at this instant of CLOCK_MONOTONIC, ns.
    Probes(u64, Vec<ProbeReading>),
    /// What became of processes that a user named, and when, ns from T0; `None`: before it.
    Named(Option<i64>, Vec<(Subject, String)>),
    /// What was read of the brokers' own metrics, or why nothing was, and when, ns from T0.
    Metrics(i64, Result<Vec<ProbeReading>, UnreadMetrics>),
    /// What was read of the cluster's logs and groups, and what could not be for the first time.
    Logs(Vec<ProbeReading>, Vec<UnreadMetrics>),
    /// What changed in the cluster's metadata, seen at this instant of CLOCK_MONOTONIC, ns.
    Cluster(u64, Vec<ClusterChange>),
    /// What the last seconds showed, for the progress line and the end of the warm-up.
    Recent(Arc<TrialEvidence>),
    /// From a load item that is a command.
    Command(String, CommandNews),
    /// What a component that is a database counted, and when, CLOCK_MONOTONIC, ns.
    Database(String, u64, Counted),
    /// A token was requested again.
    Token(Renewed),
    /// The trial has to end before its plan does.
    Stop(Stop),
}

/// What is heard of a worker.
#[derive(Debug)]
pub enum WorkerNews {
    /// It sent a message.
    Message(FromWorker),
    /// The agent that it is a child of has read what it uses.
    Probes(Vec<ProbeReading>),
    /// Nothing is heard of its host, which may be there all the same: one sentence.
    Suspected(String),
    /// Its end of the socket is closed: it has ended.
    Closed,
    /// What arrived is no message of ours; nothing further is read.
    Broken(String),
}

/// Outcome of a request for a newer token.
pub struct Renewed {
    /// Name of the secret.
    pub name: String,
    /// Its newer value, or why there is none.
    pub value: Result<Secret, String>,
}

impl std::fmt::Debug for Renewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Renewed({})", self.name)
    }
}

/// Why a trial is ended before its plan does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The user requested it.
    Asked,
    /// There is no receiver left, and none will come back.
    NoBrokerLeft,
    /// The target allows no more time.
    TimeCap(TimeCap),
    /// The target wants the load to end: in words, why.
    AbortIf(String),
    /// The thread that looks for all of this, and reads the probes, has failed.
    ObserverGone,
}

/// The receiving end.
#[derive(Debug)]
pub struct Inbox {
    sender: SyncSender<Heard>,
    heard: Receiver<Heard>,
}

impl Default for Inbox {
    fn default() -> Self {
        let (sender, heard) = sync_channel(MESSAGES_MAX);
        Self { sender, heard }
    }
}

impl Inbox {
    /// For a source.
    pub fn sender(&self) -> SyncSender<Heard> {
        self.sender.clone()
    }

    /// The next thing, waiting no longer than `wait`; `None` when there was nothing in that time.
    pub fn hear(&self, wait: Duration) -> Option<Heard> {
        // Never disconnected: a sender lives as long as the inbox.
        self.heard.recv_timeout(wait).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_shows_no_token() {
        let renewed = Renewed { name: "token".to_owned(), value: Ok(Secret::new(b"hunter2".to_vec())) };
        assert_eq!(format!("{:?}", Heard::Token(renewed)), "Token(Renewed(token))");
    }
}
