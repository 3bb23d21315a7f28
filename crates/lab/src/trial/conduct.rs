//! From the workers' start to the end: of one trial, or of the two of a duet at once.
//!
//! The two have one T0, and from then on a thread each, with an inbox, observer and workers of their own; what they share
//! is the store and the meeting at which they agree when both are measured. One that is cut short ends alone.

use super::meeting::Seat;
use super::{Execution, TrialContext};
use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::log_ends;
use crate::options::{LiveTrial, RunProgress};
use crate::task::T0_AHEAD_NS;
use kdyno_model::event::Subject;
use kdyno_model::sample::{Phase, ProbeReading, series};
use kdyno_model::worker::{PhaseSpan, ToWorker};
use kdyno_testbed::process::ProcessRef;
use std::sync::mpsc::{Receiver, channel};
use std::thread::ScopedJoinHandle;

/// Runs a trial from its workers' start to their end, or the two of a duet at once; returns of each why it ended before
/// its plan did, if it did.
pub(crate) fn run(
    contexts: &[TrialContext<'_>],
    progress: &mut dyn FnMut(RunProgress),
) -> Result<Vec<Option<LabError>>, LabError> {
    if let [a, b] = contexts {
        return duet([a, b], progress);
    }
    let mut ended = Vec::new();
    for context in contexts {
        let mut executions = [Execution::spawn(context, None)?];
        begin(&mut executions, progress)?;
        let [execution] = executions;
        ended.push(execution.go_on(progress)?.cut_short);
    }
    Ok(ended)
}

/// What came of an execution.
struct ExecutionEnd {
    /// Where its measure phase lay, if it began.
    measured: Option<PhaseSpan>,
    /// Why it ended before its plan did, if it did.
    cut_short: Option<LabError>,
}

impl Execution<'_> {
    /// From T0 to the end.
    fn go_on(mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<ExecutionEnd, LabError> {
        self.listen(progress)?;
        let measured = self.phases.iter().find(|span| span.phase == Phase::Measure).copied();
        Ok(ExecutionEnd { measured, cut_short: self.close(progress)? })
    }
}

/// Both at once. What fails in one is returned when both have ended.
fn duet(
    contexts: [&TrialContext<'_>; 2],
    progress: &mut dyn FnMut(RunProgress),
) -> Result<Vec<Option<LabError>>, LabError> {
    let [of_a, of_b] = Seat::both();
    let mut executions =
        [Execution::spawn(contexts[0], Some(of_a))?, Execution::spawn(contexts[1], Some(of_b))?];
    begin(&mut executions, progress)?;
    let (reported, news) = channel();
    let ended = std::thread::scope(|scope| {
        let threads = executions.into_iter().enumerate().map(|(side, execution)| {
            let reported = reported.clone();
            scope.spawn(move || {
                // The listener is there until both have ended.
                execution.go_on(&mut |what| drop(reported.send((side, what))))
            })
        });
        let threads: Vec<_> = threads.collect();
        drop(reported);
        tell(&news, progress);
        threads.into_iter().map(joined).collect::<Vec<_>>()
    });
    let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (context, other) in contexts.into_iter().zip(ended.iter().rev()) {
        context.store.probe(context.trial.id, measured_at(other.measured))?;
    }
    Ok(ended.into_iter().map(|ended| ended.cut_short).collect())
}

fn joined(thread: ScopedJoinHandle<'_, Result<ExecutionEnd, LabError>>) -> Result<ExecutionEnd, LabError> {
    // A defect of ours: it is not hidden by going on.
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reports what the two sides report, on this thread, until both have ended; their state in one line.
fn tell(news: &Receiver<(usize, RunProgress)>, progress: &mut dyn FnMut(RunProgress)) {
    let mut newest: [Option<LiveTrial>; 2] = [None, None];
    for (side, what) in news {
        let RunProgress::Live(live) = what else {
            progress(what);
            continue;
        };
        newest[side] = Some(*live);
        if let [Some(a), Some(b)] = &newest {
            progress(RunProgress::LiveOfPair(Box::new([a.clone(), b.clone()])));
        }
    }
}

/// When the other side was measured, as readings: both have one T0. None when it was not.
fn measured_at(span: Option<PhaseSpan>) -> Vec<ProbeReading> {
    let Some(span) = span else { return Vec::new() };
    let reading = |(series, at_ns): (&str, u64)| ProbeReading {
        at_ns: i64::try_from(at_ns).unwrap_or(i64::MAX),
        subject: Subject::OtherSide(0),
        series: series.to_owned(),
        value: at_ns as f64 / 1e9,
    };
    let named = [(series::MEASURE_START_S, span.start_ns), (series::MEASURE_END_S, span.end_ns)];
    named.map(reading).to_vec()
}

/// From the workers' start to T0, which is one for all. Where that fails what workers and components wrote is kept.
fn begin(executions: &mut [Execution<'_>], progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
    let stand = executions.iter_mut().try_for_each(|execution| execution.start_components(progress));
    let begun = stand.and_then(|()| observe(executions, progress)).and_then(|()| start(executions, progress));
    if begun.is_err() {
        executions.iter().try_for_each(Execution::keep_logs)?;
    }
    begun
}

/// Starts the observers. Each reads the processes of the others too: what these use is no other program's doing.
fn observe(executions: &mut [Execution<'_>], progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
    let processes: Vec<Vec<ProcessRef>> = executions.iter().map(Execution::processes).collect();
    let sides = executions.len() as u64;
    for (at, execution) in executions.iter_mut().enumerate() {
        let others = processes.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.flat_map(|(_, processes)| processes);
        // Both may be on one cluster that runs on this host.
        let is_own = |process: &&ProcessRef| processes[at].iter().any(|own| own.pid == process.pid);
        let others = others.filter(|process| !is_own(process)).zip(0..);
        let others = others
            .map(|(process, number)| ProcessRef { subject: Subject::OtherSide(number), ..process.clone() });
        let own = processes[at].iter().cloned();
        execution.watch(own.chain(others).collect())?;
        execution.note_unread_settings()?;
        execution.watch_metrics((at as u64, sides), progress)?;
    }
    Ok(())
}

/// Has all clients connect, chooses T0 and starts all workers.
fn start(executions: &mut [Execution<'_>], progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
    executions.iter_mut().try_for_each(|execution| execution.prepare(progress))?;
    executions.iter_mut().try_for_each(Execution::ready_sampler)?;
    let mut log_ends = Vec::new();
    for execution in &mut *executions {
        execution.announce_fixed(progress)?;
        log_ends.push(log_ends::read(execution.context.system, execution.context.topics));
    }
    let mut ahead_ns = T0_AHEAD_NS;
    for execution in &*executions {
        ahead_ns = ahead_ns.max(execution.places.t0_ahead_ns()?);
    }
    let t0_ns = monotonic_ns() + ahead_ns;
    for execution in &mut *executions {
        execution.t0_ns = t0_ns;
        execution.tell_workers(&ToWorker::Start { t0_monotonic_ns: t0_ns })?;
    }
    executions.iter().try_for_each(|execution| execution.places.check_in_time(t0_ns))?;
    let mut started = executions.iter_mut().zip(log_ends);
    started.try_for_each(|(execution, log_ends)| execution.started(log_ends))
}
