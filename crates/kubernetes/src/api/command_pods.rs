//! A command that pods run: its job made, watched, its lines followed, removed.

use super::client::{AWAY_MAX, Connection, Refused, insist};
use super::{LOOK, MANAGER, REMOVED_DEADLINE, STREAM_DEADLINE, event_words, gone};
use crate::PodsError;
use crate::command_job::{CommandJob, PodLines, SeenPod};
use crate::state::{self, PodState};
use futures_util::io::{AsyncRead, AsyncReadExt};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use serde_json::Value;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::io::AsyncWriteExt;

/// How much of a log is read at once.
const PIECE_BYTES: usize = 64 << 10;

/// How much of the beginning of a log is kept: by it a log that a node began afresh is known.
const HEAD_BYTES: usize = 256;

/// How often a log is opened in vain before the rest of it is given up: the API server may be starting again.
const VAIN_MAX: u32 = 200;

/// The pods; removed when dropped.
pub struct CommandPods {
    connection: Connection,
    name: String,
    selector: String,
    is_removed: bool,
}

impl CommandPods {
    /// Makes the job of a command.
    ///
    /// # Errors
    /// The cluster refuses it. Nothing stays of it.
    pub fn start(job: &CommandJob) -> Result<Self, PodsError> {
        let connection = Connection::open(&job.pods)?;
        let object: Job = serde_json::from_value(job.object())
            .map_err(|error| PodsError::new(format!("an object is not as its type: {error}")))?;
        let create = PostParams { dry_run: false, field_manager: Some(MANAGER.to_owned()) };
        let jobs = connection.api::<Job>();
        if let Err(refused) = connection.ask(jobs.create(&create, &object)) {
            // Without an answer it may be there all the same. Its name is of this command, trial and run alone. If this fails too
            // it ends at its deadline.
            let how = DeleteParams::background();
            let _ = connection.ask_within(STREAM_DEADLINE, jobs.delete(&job.name(), &how));
            return Err(refused.into());
        }
        Ok(Self { connection, name: job.name(), selector: job.selector(), is_removed: false })
    }

    /// How far its pods are; those that are not there yet are missing.
    ///
    /// # Errors
    /// The API server does not say.
    pub fn look(&self) -> Result<Vec<SeenPod>, PodsError> {
        let all = ListParams::default().labels(&self.selector);
        let found = self.connection.call(self.connection.api::<Pod>().list(&all))?;
        let read = found.items.iter().filter_map(|pod| serde_json::to_value(pod).ok());
        let seen = |pod: Value| {
            let name = pod["metadata"]["name"].as_str()?.to_owned();
            let (state, exit_code) = (state::of(&pod), state::exit_code(&pod));
            Some(SeenPod { index: state::index(&pod)?, name, state, exit_code })
        };
        Ok(read.filter_map(seen).collect())
    }

    /// What keeps its pods from running, as events say it; `None`: they say nothing, or may not be read.
    pub fn why_not_run(&self) -> Option<String> {
        let events = event_words(&self.connection, &self.name).ok()?;
        state::why_not_run(&events, &self.name)
    }

    /// What a pod prints, from its beginning to its end, also where the API server is gone for a while.
    ///
    /// # Errors
    /// There is no right to read it, or no socket for it.
    pub fn follow(&self, pod: &str) -> Result<PodLines, PodsError> {
        let (api, pod) = (self.connection.api::<Pod>(), pod.to_owned());
        // Whatever else is in the way may pass.
        let tried = LogParams { tail_lines: Some(1), limit_bytes: Some(1), ..LogParams::default() };
        let tried = self.connection.ask_within(STREAM_DEADLINE, api.logs(&pod, &tried));
        if let Err(refused @ Refused::Forbidden(_)) = tried {
            return Err(refused.into());
        }
        let begun = async { Ok(begin(api, pod)) };
        let lines = self.connection.ask_within(STREAM_DEADLINE, begun)?;
        lines.map_err(|error| PodsError::new(format!("its lines cannot be read: {error}")))
    }

    /// Removes them, and waits for their end for a while.
    ///
    /// # Errors
    /// Something may be left.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        let jobs = self.connection.api::<Job>();
        let (until, how) = (Instant::now() + AWAY_MAX, DeleteParams::foreground());
        let deleted = insist(until, || self.connection.ask(jobs.delete(&self.name, &how)));
        gone(deleted).map_err(|error| PodsError {
            why: format!("{error}; job {} may be left", self.name),
            hint: "`kdyno kubernetes clean --yes` removes it",
        })?;
        let end = Instant::now() + REMOVED_DEADLINE;
        while insist(end, || self.connection.ask(jobs.get_opt(&self.name)))?.is_some() {
            if Instant::now() >= end {
                let why = format!("job {} is deleted, and its pods have not ended yet", self.name);
                return Err(PodsError::new(why));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for CommandPods {
    fn drop(&mut self) {
        // Why it failed is the answer of a call before.
        let _ = self.remove();
    }
}

/// Follows a log within the runtime that carries it from then on.
fn begin(api: Api<Pod>, pod: String) -> std::io::Result<PodLines> {
    let (stream, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let mut to = tokio::net::UnixStream::from_std(theirs)?;
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&is_cut);
    tokio::spawn(async move {
        // Before the stream ends, which is when its reader looks.
        cut.store(!copy(&api, &pod, &mut to).await, Ordering::Release);
        drop(to);
    });
    Ok(PodLines { stream, is_cut })
}

/// A log that breaks off is opened again, and what was read before is passed over. Its end is the first one that was reached
/// after the pod had ended. Whether all of it was copied that is wanted.
async fn copy(api: &Api<Pod>, pod: &str, to: &mut tokio::net::UnixStream) -> bool {
    let follow = LogParams { follow: true, ..LogParams::default() };
    let (mut known, mut vain) = (Known::default(), 0);
    while vain < VAIN_MAX {
        let is_over = match api.get_opt(pod).await {
            Ok(Some(found)) => {
                let found = serde_json::to_value(&found).unwrap_or_default();
                matches!(state::of(&found), PodState::Over(_))
            }
            // It was deleted, and its log with it.
            Ok(None) => return false,
            Err(_) => {
                vain += 1;
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        let before = known.bytes;
        let end = match api.log_stream(pod, &follow).await {
            Ok(log) => copy_after(&mut known, pin!(log), to).await,
            Err(_) => LogEnd::BrokenOff,
        };
        match end {
            LogEnd::Reached if is_over => return true,
            LogEnd::Reached => vain = 0,
            LogEnd::BrokenOff if known.bytes > before => vain = 0,
            LogEnd::BrokenOff => vain += 1,
            LogEnd::Unwanted => return true,
            LogEnd::Afresh => return false,
        }
        tokio::time::sleep(LOOK).await;
    }
    false
}

/// What was copied of a log.
#[derive(Default)]
struct Known {
    bytes: u64,
    /// The beginning of it.
    head: Vec<u8>,
}

impl Known {
    /// Whether a piece that begins after so many bytes is what was there before, as far as the beginning says it. Pieces come in
    /// order, so what is not known of the beginning follows what is.
    fn agrees(&mut self, at: u64, piece: &[u8]) -> bool {
        let before = usize::try_from(at).ok().and_then(|at| self.head.get(at..)).unwrap_or_default();
        let both = before.len().min(piece.len());
        let is_same = before[..both] == piece[..both];
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend(piece[both..].iter().take(room));
        is_same
    }
}

#[derive(Debug, PartialEq, Eq)]
enum LogEnd {
    Reached,
    BrokenOff,
    /// Its reader is gone.
    Unwanted,
    /// What was read before is no longer in it: nodes begin a new file when one is large.
    Afresh,
}

/// Copies what comes after what is known, and counts it.
async fn copy_after(
    known: &mut Known,
    mut log: impl AsyncRead + Unpin,
    to: &mut tokio::net::UnixStream,
) -> LogEnd {
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0_u64;
    loop {
        let count = match log.read(&mut piece).await {
            // An API server that is going away may end it so.
            Ok(0) if at < known.bytes => return LogEnd::BrokenOff,
            Ok(0) => return LogEnd::Reached,
            Ok(count) => count,
            Err(_) => return LogEnd::BrokenOff,
        };
        if !known.agrees(at, &piece[..count]) {
            return LogEnd::Afresh;
        }
        let passed = usize::try_from(known.bytes.saturating_sub(at)).unwrap_or(usize::MAX).min(count);
        at += count as u64;
        if to.write_all(&piece[passed..count]).await.is_err() {
            return LogEnd::Unwanted;
        }
        known.bytes = at.max(known.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Reads a log several times; how each ended, and what was copied.
    fn copied(logs: &[&str]) -> (Vec<LogEnd>, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        theirs.set_nonblocking(true).expect("a socket");
        let ends = runtime.block_on(async {
            let mut to = tokio::net::UnixStream::from_std(theirs).expect("a socket");
            let (mut known, mut ends) = (Known::default(), Vec::new());
            for log in logs {
                ends.push(copy_after(&mut known, log.as_bytes(), &mut to).await);
            }
            ends
        });
        let mut came = String::new();
        ours.read_to_string(&mut came).expect("text");
        (ends, came)
    }

    #[test]
    fn no_line_of_a_log_that_is_opened_again_comes_twice() {
        let (ends, came) = copied(&["one\ntw", "one\ntwo\n", "one\ntwo\nthree\n"]);
        assert_eq!(ends, [LogEnd::Reached, LogEnd::Reached, LogEnd::Reached]);
        assert_eq!(came, "one\ntwo\nthree\n");
    }

    #[test]
    fn a_log_that_a_node_began_afresh_is_noticed() {
        let (ends, came) = copied(&["one\ntwo\n", "three\nfour\nfive\n"]);
        assert_eq!((ends, came.as_str()), (vec![LogEnd::Reached, LogEnd::Afresh], "one\ntwo\n"));
        let (ends, _) = copied(&["one\ntwo\n", "one\n"]);
        assert_eq!(ends, [LogEnd::Reached, LogEnd::BrokenOff], "it was longer before");
    }
}
