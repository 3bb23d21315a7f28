//! The thread that looks at the cluster while a trial goes on, once per second, over a connection of its own: what
//! its metadata says of brokers and of the run's topics. On an attached cluster there is nothing else to see it by.
//!
//! It costs one Metadata request of the run's topics per second. For the `abort_if` of a target two of all topics, and,
//! where that watches the rate of others, the end offsets of all other topics as often.

use crate::abort::AbortWatch;
use crate::clock::monotonic_ns;
use crate::cluster_view::{ClusterChange, ClusterView};
use crate::error::LabError;
use crate::inbox::{Heard, Stop};
use kdyno_kafka::admin::{Access, Admin, AdminError};
use kdyno_model::event::{EventKind, Subject};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Distance of looks.
const EVERY: Duration = Duration::from_secs(1);

/// Distance of looks where they may have to end the load: it ends within two seconds of the condition.
const EVERY_FOR_ABORT: Duration = Duration::from_millis(500);

/// Looks in a row without an answer after which the load ends where it must end on a condition: it could not be seen.
const UNSEEN_MAX: u32 = 2;

/// Longest wait for an answer where the load may have to end.
const ANSWER_TIME_MAX_FOR_ABORT: Duration = Duration::from_millis(700);

/// Longest wait for an answer: a broker that is slower has been seen by the load as well.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(3);

/// A running watch; it ends when this is dropped.
pub(crate) struct ClusterWatch {
    /// Nothing is sent: its end asks the thread to end.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread needs.
pub(crate) struct WatchOptions {
    pub(crate) access: Access,
    /// Begins the client id.
    pub(crate) prefix: String,
    /// Addresses to real names.
    pub(crate) topics: BTreeMap<String, String>,
    /// At what the load ends.
    pub(crate) abort: Option<AbortWatch>,
}

impl ClusterWatch {
    /// Begins to look; what changes from one look to the next is reported to the inbox.
    ///
    /// # Errors
    /// The thread does not start.
    pub(crate) fn start(watched: WatchOptions, inbox: SyncSender<Heard>) -> Result<Self, LabError> {
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("cluster-watch".to_owned())
            .spawn(move || ClusterObserver::new(watched, inbox).run(&ended))
            .map_err(LabError::observer)?;
        Ok(Self { alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for ClusterWatch {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it costs the looks and nothing else.
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct ClusterObserver {
    watched: WatchOptions,
    inbox: SyncSender<Heard>,
    admin: Option<Admin>,
    before: Option<ClusterView>,
    /// Looks in a row without an answer.
    unseen: u32,
}

impl ClusterObserver {
    fn new(watched: WatchOptions, inbox: SyncSender<Heard>) -> Self {
        Self { watched, inbox, admin: None, before: None, unseen: 0 }
    }

    fn run(mut self, ended: &Receiver<()>) {
        let every = if self.watched.abort.is_some() { EVERY_FOR_ABORT } else { EVERY };
        loop {
            let begun = Instant::now();
            let changes = self.look();
            // A trial that is over does not listen, and one whose inbox is full has enough to hear: neither may make
            // its end wait for this thread.
            if !changes.is_empty() {
                let _ = self.inbox.try_send(Heard::Cluster(monotonic_ns(), changes));
            }
            match ended.recv_timeout(every.saturating_sub(begun.elapsed())) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// What changed since the last look that was answered.
    fn look(&mut self) -> Vec<ClusterChange> {
        match self.view() {
            Ok(now) => {
                self.unseen = 0;
                let changes = self.before.as_ref().map(|before| now.since(before)).unwrap_or_default();
                self.before = Some(now);
                changes
            }
            Err(error) => {
                self.unseen += 1;
                if self.unseen >= UNSEEN_MAX && self.watched.abort.is_some() {
                    self.stop(format!("what the target's abort_if watches cannot be seen: {error}"));
                }
                if self.unseen > 1 {
                    return Vec::new();
                }
                let detail = format!("the cluster's state could not be requested: {error}");
                vec![ClusterChange { kind: EventKind::MetadataError, subject: Subject::Brokers, detail }]
            }
        }
    }

    fn view(&mut self) -> Result<ClusterView, AdminError> {
        let mut admin = match self.admin.take() {
            Some(admin) => admin,
            None => {
                let client_id = format!("{}watch", self.watched.prefix);
                let limit =
                    if self.watched.abort.is_some() { ANSWER_TIME_MAX_FOR_ABORT } else { ANSWER_TIME_MAX };
                self.watched.access.admin(&client_id, limit)?
            }
        };
        let view = match &mut self.watched.abort {
            None => ClusterView::look(&mut admin, &self.watched.topics)?,
            Some(abort) => {
                let (cluster, topics) = admin.state(None)?;
                if let Some(why) = abort.reached(&cluster, &topics, &mut admin, monotonic_ns()) {
                    self.stop(why);
                }
                ClusterView::of(&cluster, &topics, &self.watched.topics)
            }
        };
        self.admin = Some(admin);
        Ok(view)
    }

    /// The load has to end. The first reason counts.
    fn stop(&self, why: String) {
        // Where there is no room, the next look finds the same: a trial that ends must not wait for this thread.
        let _ = self.inbox.try_send(Heard::Stop(Stop::AbortIf(why)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Inbox;
    use kdyno_model::plan::{AbortIf, Beyond};

    #[test]
    fn a_cluster_that_does_not_answer_is_reported_once() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let unreachable = free.local_addr().expect("its address").to_string();
        drop(free);
        let watched = WatchOptions {
            access: Access::plaintext(vec![unreachable]),
            prefix: "kdyno-".to_owned(),
            topics: BTreeMap::new(),
            abort: None,
        };
        let inbox = Inbox::default();
        let mut looks = ClusterObserver::new(watched, inbox.sender());
        // Without a connection there is nothing to be patient with.
        let reported = looks.look();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert_eq!(reported[0].kind, EventKind::MetadataError);
        assert!(looks.look().is_empty());
    }

    #[test]
    fn a_load_with_an_end_condition_ends_when_it_is_not_watched() {
        let condition = AbortIf {
            of: kdyno_model::plan::WatchedSign::UnderReplicated,
            beyond: Beyond::Above,
            limit: 0.0,
            for_ns: 0,
            text: "under_replicated > 0".to_owned(),
        };
        let watched = WatchOptions {
            access: Access::plaintext(vec!["no address".to_owned()]),
            prefix: "kdyno-".to_owned(),
            topics: BTreeMap::new(),
            abort: AbortWatch::of(
                &[condition],
                std::collections::BTreeSet::new(),
                "kdyno-",
                Default::default(),
            ),
        };
        let inbox = Inbox::default();
        let mut looks = ClusterObserver::new(watched, inbox.sender());
        looks.look();
        assert!(inbox.hear(Duration::ZERO).is_none(), "one look may fail");
        looks.look();
        let heard = inbox.hear(Duration::ZERO);
        assert!(
            matches!(&heard, Some(Heard::Stop(Stop::AbortIf(why))) if why.contains("cannot be seen")),
            "{heard:?}"
        );
    }

    #[test]
    fn a_condition_is_seen_within_two_seconds() {
        // It comes up just after a look, and both requests of the next one take as long as they may.
        assert!(EVERY_FOR_ABORT + 2 * ANSWER_TIME_MAX_FOR_ABORT <= Duration::from_secs(2));
    }

    #[test]
    fn the_watch_ends_when_it_is_dropped() {
        let inbox = Inbox::default();
        let watched = WatchOptions {
            access: Access::plaintext(vec!["no address".to_owned()]),
            prefix: "kdyno-".to_owned(),
            topics: BTreeMap::new(),
            abort: None,
        };
        let watch = ClusterWatch::start(watched, inbox.sender()).expect("a thread");
        assert!(matches!(inbox.hear(Duration::from_secs(60)), Some(Heard::Cluster(..))));
        drop(watch);
    }
}
