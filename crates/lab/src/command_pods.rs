//! One command that pods run: its job is made and watched, the lines of each pod are read as those of a command of this host,
//! its end and its figures are sent to the inbox.

use crate::clock::monotonic_ns;
use crate::command::{EndCommand, OutputPiece, gather, read_all};
use crate::command_news::CommandNews;
use crate::inbox::Heard;
use kdyno_analysis::commands::CommandReader;
use kdyno_kubernetes::command_job::{CommandJob, SeenPod, ended};
use kdyno_kubernetes::state::PodState;
use kdyno_kubernetes::{CommandPods, PodsError};
use kdyno_model::plan::{CommandPlan, ParsePlan};
use kdyno_testbed::command::{CommandExit, MadeToEnd};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel};
use std::time::{Duration, Instant};

/// How often it is looked how far the pods are.
const LOOK: Duration = Duration::from_millis(300);

/// How long the API server may be gone meanwhile.
const GONE: Duration = Duration::from_secs(60);

/// Makes the job. Gives the instant, CLOCK_MONOTONIC, ns, and what ends it.
///
/// # Errors
/// The cluster refuses it, one lowercase clause.
pub(crate) fn start(
    item: &str,
    job: &CommandJob,
    plan: &CommandPlan,
    inbox: SyncSender<Heard>,
) -> Result<(u64, EndCommand), String> {
    let started_ns = monotonic_ns();
    let mut pods = CommandPods::start(job).map_err(|error| sentence(&error))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, pieces) = channel();
    let mut watch = Watch {
        parse: plan.parse.clone(),
        count: job.pods.count,
        wait: Duration::from_secs(job.pods.wait_s),
        timeout: Duration::from_nanos(plan.timeout_ns),
        stop: Arc::clone(&stop),
        sender,
        followed: BTreeSet::new(),
    };
    let name = item.to_owned();
    let wait = move || {
        let PodsEnd { code, made, trouble } = watch.wait(&pods);
        // Those that still run are not waited for; what has ended is read first, for it is gone with its pod.
        let mut removed = if made.is_some() { pods.remove() } else { Ok(()) };
        let ended = CommandExit {
            at_ns: monotonic_ns(),
            code,
            signal: None,
            made,
            is_killed: false,
            cpu_s: 0.0,
            left: 0,
        };
        // The inbox lives as long as the trial; when it is gone the message is not needed.
        let _ = inbox.send(Heard::Command(name.clone(), CommandNews::Exited(Some(ended))));
        let mut output = gather(&pieces, watch.followed.len());
        removed = removed.and(pods.remove());
        output.trouble = trouble.or(output.trouble).or(removed.err().map(|error| sentence(&error)));
        let _ = inbox.send(Heard::Command(name, CommandNews::Read(Box::new(output))));
    };
    let thread = std::thread::Builder::new().name("pods-of-command".to_owned()).spawn(wait);
    thread.map_err(|error| format!("its pods cannot be watched, so it is not run: {error}"))?;
    Ok((started_ns, Box::new(move || stop.store(true, Ordering::Relaxed))))
}

fn sentence(error: &PodsError) -> String {
    if error.hint.is_empty() { error.to_string() } else { format!("{error} ({})", error.hint) }
}

/// How the pods ended.
struct PodsEnd {
    code: Option<i32>,
    made: Option<MadeToEnd>,
    /// One lowercase clause.
    trouble: Option<String>,
}

/// What waits for their end.
struct Watch {
    parse: Option<ParsePlan>,
    count: u16,
    wait: Duration,
    timeout: Duration,
    stop: Arc<AtomicBool>,
    sender: Sender<OutputPiece>,
    /// The places of those that ran, whose lines are read.
    followed: BTreeSet<u16>,
}

impl Watch {
    fn wait(&mut self, pods: &CommandPods) -> PodsEnd {
        let began = Instant::now();
        let mut heard = Instant::now();
        let mut waits_for = None;
        let failed = |code, why| PodsEnd { code, made: None, trouble: Some(why) };
        loop {
            match pods.look() {
                Ok(seen) => {
                    heard = Instant::now();
                    if let Err(why) = self.follow(pods, &seen) {
                        return failed(None, why);
                    }
                    match ended(&seen, &self.followed, self.count) {
                        Some(Ok(())) => return PodsEnd { code: Some(0), made: None, trouble: None },
                        Some(Err((code, why))) => return failed(code, why),
                        None => {}
                    }
                    waits_for = self.waits_for(&seen);
                }
                Err(error) if heard.elapsed() >= GONE => return failed(None, sentence(&error)),
                Err(_) => {}
            }
            let made = match self.stop.load(Ordering::Relaxed) {
                true => Some(MadeToEnd::Stopped),
                false => (began.elapsed() >= self.timeout).then_some(MadeToEnd::Timeout),
            };
            if made.is_some() {
                return PodsEnd { code: None, made, trouble: waits_for };
            }
            if let Some(why) = waits_for.take_if(|_| began.elapsed() >= self.wait) {
                return failed(None, format!("not all pods ran within {} s: {why}", self.wait.as_secs()));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Begins to read the lines of those that run now.
    fn follow(&mut self, pods: &CommandPods, seen: &[SeenPod]) -> Result<(), String> {
        let runs = |pod: &&SeenPod| pod.state == PodState::Running || pod.exit_code.is_some();
        for pod in seen.iter().filter(runs) {
            if self.followed.contains(&pod.index) {
                continue;
            }
            let lines = pods.follow(&pod.name).map_err(|error| format!("pod {}: {error}", pod.index))?;
            let (reader, sender) = (self.parse.as_ref().map(CommandReader::new), self.sender.clone());
            let read = move || read_all(lines, reader, (false, &sender));
            let thread = std::thread::Builder::new().name("lines-of-pod".to_owned()).spawn(read);
            thread.map_err(|error| format!("pod {}: its lines cannot be read: {error}", pod.index))?;
            self.followed.insert(pod.index);
        }
        Ok(())
    }

    /// What pods are waited for; `None`: all have run.
    fn waits_for(&self, seen: &[SeenPod]) -> Option<String> {
        let ran = self.followed.len();
        let why = seen.iter().find_map(|pod| match &pod.state {
            PodState::Waiting(Some(why)) => Some(format!(", pod {}: {why}", pod.index)),
            PodState::Waiting(None) | PodState::Running | PodState::Over(_) => None,
        });
        let why = why.unwrap_or_default();
        (ran < usize::from(self.count)).then(|| format!("{ran} of {} ran{why}", self.count))
    }
}
