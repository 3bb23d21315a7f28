//! A command that pods run: its job made, watched, its lines followed, removed.

use super::client::{AWAY_MAX, Connection, Refused, insist};
use super::{LOOK, MANAGER, REMOVED_DEADLINE, STREAM_DEADLINE, gone};
use crate::PodsError;
use crate::command_job::{CommandJob, SeenPod};
use crate::state::{self, PodState};
use futures_util::io::{AsyncRead, AsyncReadExt};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use serde_json::Value;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::time::Instant;
use tokio::io::AsyncWriteExt;

/// How much of a log is read at once.
const PIECE_BYTES: usize = 64 << 10;

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
        connection.call(connection.api::<Job>().create(&create, &object))?;
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

    /// What a pod prints, from its beginning to its end, also where the API server is gone for a while.
    ///
    /// # Errors
    /// There is no right to read it, or no socket for it.
    pub fn follow(&self, pod: &str) -> Result<UnixStream, PodsError> {
        let (api, pod) = (self.connection.api::<Pod>(), pod.to_owned());
        // Whatever else is in the way may pass.
        let tried = LogParams { tail_lines: Some(1), ..LogParams::default() };
        if let Err(refused @ Refused::Forbidden(_)) = self.connection.ask(api.logs(&pod, &tried)) {
            return Err(refused.into());
        }
        let begun = async { Ok(begin(api, pod)) };
        let stream = self.connection.ask_within(STREAM_DEADLINE, begun)?;
        stream.map_err(|error| PodsError::new(format!("its lines cannot be read: {error}")))
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
fn begin(api: Api<Pod>, pod: String) -> std::io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let to = tokio::net::UnixStream::from_std(theirs)?;
    tokio::spawn(copy(api, pod, to));
    Ok(ours)
}

/// A log that breaks off is opened again, and what was read before is passed over. Its end is the first one that was reached
/// after the pod had ended.
async fn copy(api: Api<Pod>, pod: String, mut to: tokio::net::UnixStream) {
    let follow = LogParams { follow: true, ..LogParams::default() };
    let (mut copied, mut vain) = (0, 0);
    while vain < VAIN_MAX {
        let is_over = match api.get_opt(&pod).await {
            Ok(Some(found)) => {
                let found = serde_json::to_value(&found).unwrap_or_default();
                matches!(state::of(&found), PodState::Over(_))
            }
            // It was deleted, and its log with it.
            Ok(None) => return,
            Err(_) => {
                vain += 1;
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        match api.log_stream(&pod, &follow).await {
            Ok(log) => match copy_after(&mut copied, pin!(log), &mut to).await {
                Copied::ToEnd if is_over => return,
                Copied::ToEnd => vain = 0,
                Copied::BrokenOff => vain += 1,
                Copied::Unwanted => return,
            },
            Err(_) => vain += 1,
        }
        tokio::time::sleep(LOOK).await;
    }
}

enum Copied {
    ToEnd,
    BrokenOff,
    /// Its reader is gone.
    Unwanted,
}

/// Copies what comes after so many bytes, and counts them.
async fn copy_after(
    copied: &mut u64,
    mut log: impl AsyncRead + Unpin,
    to: &mut tokio::net::UnixStream,
) -> Copied {
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0_u64;
    loop {
        let count = match log.read(&mut piece).await {
            Ok(0) => return Copied::ToEnd,
            Ok(count) => count,
            Err(_) => return Copied::BrokenOff,
        };
        let known = usize::try_from(copied.saturating_sub(at)).unwrap_or(usize::MAX).min(count);
        at += count as u64;
        if to.write_all(&piece[known..count]).await.is_err() {
            return Copied::Unwanted;
        }
        *copied = at.max(*copied);
    }
}
