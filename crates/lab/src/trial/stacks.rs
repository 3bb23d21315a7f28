//! Samples the stacks of a trial's Java processes in its measure phase: those of the brokers that run on this host, and
//! of clients in Java. Each process is started and stopped by itself, again in each trial.

use super::Execution;
use super::sampler::{RunningSampler, SamplingOutcome, at_once, run};
use crate::clock::{monotonic_ns, relative_ns};
use crate::error::LabError;
use crate::observer::SECOND_NS;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialStacks;
use kdyno_model::sample::{Phase, ProbeReading, series};
use kdyno_model::stacks::{CPU_SAMPLE_MS, FlameKind, Stacks};
use kdyno_model::worker::PhaseSpan;
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::profiler::{Sampled, Sampling};
use std::sync::mpsc::channel;

const MS_PER_S: f64 = 1e3;

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
        let is_kafka = self.context.trial.effective.system.is_kafka();
        let brokers = system.processes().into_iter().filter(|process| process.subject.is_broker());
        let brokers: Vec<ProcessRef> = brokers.filter(|_| is_kafka).collect();
        if brokers.is_empty() && is_kafka {
            let why = "they are no processes that kdyno started on this host";
            self.event(None, EventKind::StacksNotSampled, &Subject::Brokers, why)?;
        }
        let processes = brokers.into_iter().chain(self.sampler.clients.iter().cloned());
        let samplings = processes.map(|ProcessRef { subject, pid, .. }| {
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
            .map_err(LabError::observer)?;
        self.sampler.running = Some(RunningSampler { end, thread });
        Ok(())
    }

    /// Stores what was sampled, ending it where the trial ended early.
    pub(super) fn keep_stacks(&mut self) -> Result<(), LabError> {
        let Some(RunningSampler { end, thread }) = self.sampler.running.take() else { return Ok(()) };
        drop(end);
        // A defect of ours: it is not hidden by going on.
        let outcomes = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for SamplingOutcome { subject, sampled } in outcomes {
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
        let per_s = stacks.total() as f64 / (ns as f64 / SECOND_NS as f64);
        let (series, value) = match kind {
            FlameKind::Alloc if subject.is_broker() => (Some(series::ALLOCATED_BYTES_PER_S_SAMPLED), per_s),
            FlameKind::Cpu => (Some(series::CPU_S_PER_S_SAMPLED), per_s * CPU_SAMPLE_MS as f64 / MS_PER_S),
            _ => (None, per_s),
        };
        let reading = series.filter(|_| ns > 0).map(|series| ProbeReading {
            at_ns: relative_ns(monotonic_ns(), self.t0_ns),
            subject: subject.clone(),
            series: series.to_owned(),
            value,
        });
        let stored = store.stacks(TrialStacks { trial, subject: subject.clone(), kind, stacks });
        let stored = stored.and_then(|()| match reading {
            Some(reading) => store.probe(trial, vec![reading]),
            None => Ok(()),
        });
        Ok(stored.map_err(LabError::from))
    }
}
