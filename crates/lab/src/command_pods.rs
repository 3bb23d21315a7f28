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
use std::collections::{BTreeMap, BTreeSet};
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
        cut: BTreeMap::new(),
    };
    let name = item.to_owned();
    let wait = move || {
        let PodsEnd { code, made, trouble } = watch.wait(&pods);
        // Pods that still run are not waited for; what has ended is read first, for it is gone with its pod.
        let is_over = made.is_none();
        let mut removed = if is_over { Ok(()) } else { pods.remove() };
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
        let cut = if is_over { cut_lines(&watch.cut) } else { None };
        output.trouble = trouble.or(output.trouble).or(cut).or(removed.err().map(|error| sentence(&error)));
        let _ = inbox.send(Heard::Command(name, CommandNews::Read(Box::new(output))));
    };
    let thread = std::thread::Builder::new().name("pods-of-command".to_owned()).spawn(wait);
    thread.map_err(|error| format!("its pods cannot be watched, so it is not run: {error}"))?;
    Ok((started_ns, Box::new(move || stop.store(true, Ordering::Relaxed))))
}

fn sentence(error: &PodsError) -> String {
    if error.hint.is_empty() { error.to_string() } else { format!("{error} ({})", error.hint) }
}

/// The first pod whose lines are not all there, so that sums would be too small; one lowercase clause.
fn cut_lines(cut: &BTreeMap<u16, Arc<AtomicBool>>) -> Option<String> {
    let (index, _) = cut.iter().find(|(_, is_cut)| is_cut.load(Ordering::Acquire))?;
    Some(format!(
        "pod {index}: its log could not be read to its end, or its node began a new one, so lines of it are missing"
    ))
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
    /// Whether lines of them are missing, once those are read.
    cut: BTreeMap<u16, Arc<AtomicBool>>,
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
                        Some(Ok(())) if self.followed.len() == usize::from(self.count) => {
                            return PodsEnd { code: Some(0), made: None, trouble: None };
                        }
                        Some(Err((code, why))) => return failed(code, why),
                        // A pod whose lines are not read may end.
                        Some(Ok(())) | None => {}
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
                let more = pods.why_not_run().map_or_else(String::new, |why| format!(", {why}"));
                return failed(
                    None,
                    format!("not all pods ran within {} s: {why}{more}", self.wait.as_secs()),
                );
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Begins to read the lines of those that run now.
    fn follow(&mut self, pods: &CommandPods, seen: &[SeenPod]) -> Result<(), String> {
        let runs = |pod: &&SeenPod| pod.state == PodState::Running || pod.exit_code.is_some();
        for pod in seen.iter().filter(runs) {
            // To open a log takes seconds where its node does not answer.
            if self.followed.contains(&pod.index) || self.stop.load(Ordering::Relaxed) {
                continue;
            }
            let lines = pods.follow(&pod.name).map_err(|error| format!("pod {}: {error}", pod.index))?;
            let (reader, sender) = (self.parse.as_ref().map(CommandReader::new), self.sender.clone());
            self.cut.insert(pod.index, lines.is_cut);
            let stream = lines.stream;
            let read = move || read_all(stream, reader, (false, &sender));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_whose_lines_are_missing_is_named() {
        let of = |cut: [bool; 2]| -> BTreeMap<u16, Arc<AtomicBool>> {
            (0..).zip(cut.map(|cut| Arc::new(AtomicBool::new(cut)))).collect()
        };
        assert_eq!(cut_lines(&of([false, false])), None);
        let words = cut_lines(&of([false, true])).expect("the second one");
        assert!(words.starts_with("pod 1: its log"), "{words}");
    }
}
