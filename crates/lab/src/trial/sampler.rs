//! The thread that starts and stops sampling stacks, and what it came to.

use crate::clock::{monotonic_ns, until};
use crate::observer::SECOND_NS;
use kdyno_model::event::Subject;
use kdyno_model::sample::series;
use kdyno_model::worker::ClientReading;
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::profiler::{Sampled, Sampling};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

/// What a trial knows of the processes that it samples.
#[derive(Default)]
pub(super) struct StackSampler {
    /// Java processes of its clients.
    pub(super) clients: Vec<ProcessRef>,
    /// Processes that can be sampled.
    pub(super) ready: Vec<(Subject, Sampling)>,
    /// From when the measure phase is known to the end.
    pub(super) running: Option<RunningSampler>,
}

pub(super) struct RunningSampler {
    /// Ends it before its time when it is dropped.
    pub(super) end: Sender<()>,
    pub(super) thread: JoinHandle<Vec<SamplingOutcome>>,
}

/// What came of one process.
pub(super) struct SamplingOutcome {
    pub(super) subject: Subject,
    /// What was sampled, and for how long, ns; or why it was not, in words.
    pub(super) sampled: Result<(Sampled, u64), String>,
}

impl StackSampler {
    /// A Java process of a worker's clients says its number.
    pub(super) fn hear(&mut self, worker: u16, reported: &[ClientReading]) {
        for reading in reported.iter().filter(|reading| reading.series == series::JVM_PID) {
            // Numbers of processes are whole and small.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let pid = reading.value as u32;
            self.clients.push(ProcessRef::new(Subject::Jvm(worker, reading.stream), pid));
        }
    }
}

/// A sampling that runs and since when, ns of CLOCK_MONOTONIC; or why it does not.
type SamplingStart = Result<(Sampling, u64), String>;

/// The thread's side: waits for the beginning and for the end, instants of CLOCK_MONOTONIC in ns.
pub(super) fn run(
    samplings: &[(Subject, Sampling)],
    (start_ns, end_ns): (u64, u64),
    orders: &Receiver<()>,
) -> Vec<SamplingOutcome> {
    if is_asked_to_end(start_ns, orders) {
        return Vec::new();
    }
    let most_s = end_ns.saturating_sub(start_ns).div_ceil(SECOND_NS);
    let started = at_once(samplings, |sampling| sampling.start(most_s).map(|()| monotonic_ns()));
    is_asked_to_end(end_ns, orders);
    let begun: Vec<(Subject, SamplingStart)> = samplings
        .iter()
        .zip(started)
        .map(|((subject, sampling), started)| {
            (subject.clone(), started.map(|started_ns| (sampling.clone(), started_ns)))
        })
        .collect();
    let stop = |begun: &SamplingStart| -> Result<(Sampled, u64), String> {
        let (sampling, started_ns) = begun.as_ref().map_err(Clone::clone)?;
        let sampled_ns = monotonic_ns().saturating_sub(*started_ns);
        Ok((sampling.stop()?, sampled_ns))
    };
    let stopped = at_once(&begun, stop);
    begun
        .into_iter()
        .zip(stopped)
        .map(|((subject, _), sampled)| SamplingOutcome { subject, sampled })
        .collect()
}

/// Waits for an instant; whether it was asked to end before.
fn is_asked_to_end(at_ns: u64, orders: &Receiver<()>) -> bool {
    orders.recv_timeout(until(at_ns)) != Err(RecvTimeoutError::Timeout)
}

/// Does something with each at the same time; what came of it, in their order.
pub(super) fn at_once<T: Sync, R: Send>(
    all: &[(Subject, T)],
    what: impl Fn(&T) -> Result<R, String> + Sync,
) -> Vec<Result<R, String>> {
    let what = &what;
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.iter().map(|(_, one)| scope.spawn(move || what(one))).collect();
        // A defect of ours: it is not hidden by going on.
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::stacks::FlameKind;
    use std::sync::mpsc::channel;

    fn of_none() -> Vec<(Subject, Sampling)> {
        let kind = FlameKind::Cpu;
        let sampling =
            Sampling { pid: u32::MAX, kind, library: "/no/such.so".into(), file: "/no/such/file".into() };
        vec![(Subject::Broker(0), sampling)]
    }

    #[test]
    fn one_that_is_stopped_before_it_began_has_sampled_nothing() {
        let (end, orders) = channel();
        drop(end);
        assert!(run(&of_none(), (u64::MAX, u64::MAX), &orders).is_empty());
    }

    #[test]
    fn a_process_that_is_gone_says_so_and_nothing_waits_for_it() {
        let (_end, orders) = channel();
        let outcomes = run(&of_none(), (0, 0), &orders);
        assert_eq!(outcomes[0].subject, Subject::Broker(0));
        let why = outcomes[0].sampled.as_ref().expect_err("there is no such process");
        assert!(why.ends_with("has ended"), "{why}");
    }

    #[test]
    fn java_processes_are_known_by_what_they_say_and_nothing_else() {
        let mut sampler = StackSampler::default();
        let reading =
            |series: &str, value| ClientReading { stream: 2, at_ns: 0, series: series.to_owned(), value };
        sampler.hear(1, &[reading(series::JVM_CPU_S_TOTAL, 0.5), reading(series::JVM_PID, 4711.0)]);
        assert_eq!(sampler.clients, [ProcessRef::new(Subject::Jvm(1, 2), 4711)]);
    }
}
