//! Samples the stacks of a trial's Java processes in its measure phase: those of the brokers that run on this host, and of
//! clients in Java. Each process is started and stopped by itself, in each trial anew.

use super::{Execution, is_broker};
use crate::clock::{monotonic_ns, relative_ns, until};
use crate::error::LabError;
use crate::observer::SECOND_NS;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::sample::{Phase, ProbeReading, series};
use kdyno_model::stacks::{FlameKind, Stacks, TrialStacks};
use kdyno_model::worker::{ClientReading, PhaseSpan};
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::profiler::{Sampled, Sampling};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// What a trial knows of the processes that it samples.
#[derive(Default)]
pub(super) struct Sampler {
    /// Java processes of its clients.
    clients: Vec<ProcessRef>,
    /// Those that can be sampled.
    ready: Vec<(Subject, Sampling)>,
    /// From when the measure phase is known to the end.
    running: Option<Running>,
}

struct Running {
    /// Ends it before its time when it is dropped.
    end: Sender<()>,
    thread: JoinHandle<Vec<Outcome>>,
}

/// What came of one process.
struct Outcome {
    subject: Subject,
    /// What was sampled, and for how long, ns; or why it was not, in words.
    sampled: Result<(Sampled, u64), String>,
}

impl Sampler {
    /// A Java process of a worker's clients says its number.
    pub(super) fn hear(&mut self, worker: u16, told: &[ClientReading]) {
        for reading in told.iter().filter(|reading| reading.series == series::JVM_PID) {
            // Numbers of processes are whole and small.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let pid = reading.value as u32;
            self.clients.push(ProcessRef { subject: Subject::Jvm(worker, reading.stream), pid });
        }
    }
}

impl Execution<'_> {
    /// Finds out which processes can be sampled, before anything is measured. Which cannot is an event, and changes nothing.
    pub(super) fn ready_sampler(&mut self) -> Result<(), LabError> {
        let Some(sampling) = self.context.stacks.filter(|_| !self.context.trial.is_conditioning()) else {
            return Ok(());
        };
        let library = match &sampling.library {
            Ok(library) => library,
            Err(why) => return self.event(None, EventKind::StacksNotSampled, &Subject::Brokers, why),
        };
        let system = self.context.system;
        let brokers = system.processes().into_iter().filter(|process| is_broker(&process.subject));
        let brokers: Vec<ProcessRef> = brokers.filter(|_| system.is_kafka()).collect();
        if brokers.is_empty() && system.is_kafka() {
            let why = "they are no processes that kdyno started on this host";
            self.event(None, EventKind::StacksNotSampled, &Subject::Brokers, why)?;
        }
        let processes = brokers.into_iter().chain(self.sampler.clients.iter().cloned());
        let samplings = processes.map(|ProcessRef { subject, pid }| {
            let file = self.context.work_dir.join(format!("stacks-{subject}"));
            let file = std::path::absolute(&file).unwrap_or(file);
            (subject, Sampling { pid, kind: sampling.kind, library: library.clone(), file })
        });
        let samplings: Vec<(Subject, Sampling)> = samplings.collect();
        for ((subject, sampling), tried) in samplings.iter().zip(at_once(&samplings, Sampling::try_out)) {
            match tried {
                Ok(()) => self.sampler.ready.push((subject.clone(), sampling.clone())),
                Err(why) => self.event(None, EventKind::StacksNotSampled, subject, &why)?,
            }
        }
        if self.sampler.ready.is_empty() {
            return Ok(());
        }
        self.event(None, EventKind::StacksSampled, &Subject::Kdyno, &sampling.kind.to_string())
    }

    /// The measure phase is known: from its beginning to its end stacks are sampled.
    pub(super) fn sample_stacks(&mut self, spans: &[PhaseSpan]) -> Result<(), LabError> {
        let measure = spans.iter().find(|span| span.phase == Phase::Measure);
        let Some(measure) = measure.filter(|_| !self.sampler.ready.is_empty()) else { return Ok(()) };
        let samplings = std::mem::take(&mut self.sampler.ready);
        let [start_ns, end_ns] = [measure.start_ns, measure.end_ns].map(|ns| self.t0_ns.saturating_add(ns));
        let (end, orders) = channel();
        let thread = std::thread::Builder::new()
            .name("stacks".to_owned())
            .spawn(move || run(&samplings, (start_ns, end_ns), &orders))
            .map_err(|source| LabError::ObserverStart { source })?;
        self.sampler.running = Some(Running { end, thread });
        Ok(())
    }

    /// Stores what was sampled, ending it where the trial ended early.
    pub(super) fn keep_stacks(&mut self) -> Result<(), LabError> {
        let Some(Running { end, thread }) = self.sampler.running.take() else { return Ok(()) };
        drop(end);
        // A defect of ours: it is not hidden by going on.
        let outcomes = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for Outcome { subject, sampled } in outcomes {
            let kept = sampled.and_then(|(sampled, ns)| self.keep(&subject, sampled, ns));
            match kept {
                Ok(stored) => stored?,
                Err(why) => {
                    let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
                    self.event(Some(at_ns), EventKind::StacksNotSampled, &subject, &why)?;
                }
            }
        }
        Ok(())
    }

    /// The outer error says why there is nothing to store.
    fn keep(&self, subject: &Subject, sampled: Sampled, ns: u64) -> Result<Result<(), LabError>, String> {
        let (store, trial) = (self.context.store, self.context.trial.id);
        let kind = self.context.stacks.map_or(FlameKind::Cpu, |sampling| sampling.kind);
        let text = match sampled {
            Sampled::Jfr(bytes) => {
                return Ok(store.flight_recording(trial, subject, bytes).map_err(LabError::from));
            }
            Sampled::Collapsed(text) => text,
        };
        let stacks = Stacks::read(&text).map_err(|error| format!("what the profiler wrote: {error}"))?;
        let allocated = (kind == FlameKind::Alloc && ns > 0 && is_broker(subject)).then(|| ProbeReading {
            at_ns: relative_ns(monotonic_ns(), self.t0_ns),
            subject: subject.clone(),
            series: series::ALLOCATED_BYTES_PER_S_SAMPLED.to_owned(),
            value: stacks.total() as f64 / (ns as f64 / SECOND_NS as f64),
        });
        let stored = store.stacks(TrialStacks { trial, subject: subject.clone(), kind, stacks });
        let stored = stored.and_then(|()| match allocated {
            Some(reading) => store.probe(trial, vec![reading]),
            None => Ok(()),
        });
        Ok(stored.map_err(LabError::from))
    }
}

/// The thread's side: waits for the beginning and for the end, instants of CLOCK_MONOTONIC in ns.
fn run(
    samplings: &[(Subject, Sampling)],
    (start_ns, end_ns): (u64, u64),
    orders: &Receiver<()>,
) -> Vec<Outcome> {
    if is_told_to_end(start_ns, orders) {
        return Vec::new();
    }
    let most_s = end_ns.saturating_sub(start_ns).div_ceil(SECOND_NS);
    let started = at_once(samplings, |sampling| sampling.start(most_s).map(|()| monotonic_ns()));
    is_told_to_end(end_ns, orders);
    let begun: Vec<(Subject, Result<(Sampling, u64), String>)> = samplings
        .iter()
        .zip(started)
        .map(|((subject, sampling), started)| {
            (subject.clone(), started.map(|started_ns| (sampling.clone(), started_ns)))
        })
        .collect();
    let stop = |begun: &Result<(Sampling, u64), String>| -> Result<(Sampled, u64), String> {
        let (sampling, started_ns) = begun.as_ref().map_err(Clone::clone)?;
        let sampled_ns = monotonic_ns().saturating_sub(*started_ns);
        Ok((sampling.stop()?, sampled_ns))
    };
    let stopped = at_once(&begun, stop);
    begun.into_iter().zip(stopped).map(|((subject, _), sampled)| Outcome { subject, sampled }).collect()
}

/// Waits for an instant; whether it was told to end before.
fn is_told_to_end(at_ns: u64, orders: &Receiver<()>) -> bool {
    orders.recv_timeout(until(at_ns)) != Err(RecvTimeoutError::Timeout)
}

/// Does something with each at the same time; what came of it, in their order.
fn at_once<T: Sync, R: Send>(
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

    fn of_nobody() -> Vec<(Subject, Sampling)> {
        let kind = FlameKind::Cpu;
        let sampling =
            Sampling { pid: u32::MAX, kind, library: "/no/such.so".into(), file: "/no/such/file".into() };
        vec![(Subject::Broker(0), sampling)]
    }

    #[test]
    fn one_that_is_told_to_end_before_it_began_has_sampled_nothing() {
        let (end, orders) = channel();
        drop(end);
        assert!(run(&of_nobody(), (u64::MAX, u64::MAX), &orders).is_empty());
    }

    #[test]
    fn a_process_that_is_gone_says_so_and_nothing_waits_for_it() {
        let (_end, orders) = channel();
        let outcomes = run(&of_nobody(), (0, 0), &orders);
        assert_eq!(outcomes[0].subject, Subject::Broker(0));
        let why = outcomes[0].sampled.as_ref().expect_err("there is no such process");
        assert!(why.ends_with("has ended"), "{why}");
    }

    #[test]
    fn java_processes_are_known_by_what_they_say_and_nothing_else() {
        let mut sampler = Sampler::default();
        let reading =
            |series: &str, value| ClientReading { stream: 2, at_ns: 0, series: series.to_owned(), value };
        sampler.hear(1, &[reading(series::JVM_CPU_S_TOTAL, 0.5), reading(series::JVM_PID, 4711.0)]);
        assert_eq!(sampler.clients, [ProcessRef { subject: Subject::Jvm(1, 2), pid: 4711 }]);
    }
}
