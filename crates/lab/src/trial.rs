//! One trial: a worker is given its task, started at T0, listened to until it is done.
//!
//! A trial that has begun always ends with its evidence stored and with a reason when it ended early; an
//! error is returned only for what makes the evidence itself impossible (the store) or the trial void
//! before T0.

use crate::clock::{monotonic_ns, relative_ns, unix_ns, until};
use crate::error::LabError;
use crate::limit::TimeCap;
use crate::live::LiveTally;
use crate::options::{Live, Progress};
use crate::private::Private;
use crate::system::System;
use crate::task::{TICK_NS, left_ns, phase_at, phase_spans, streams, trial_seed};
use crate::worker::{Heard, Worker, WorkerEnd};
use kdyno_model::plan::{CasePlan, Plan, Role, SystemPlan, TrialRef};
use kdyno_model::run::{Event, StreamInfo, TrialStart, event_kind};
use kdyno_model::sample::{ProbeReading, Sample, StreamTotals, series};
use kdyno_model::series::SeriesRole;
use kdyno_model::worker::{FromWorker, PhaseSpan, ToWorker, WorkerEvent, WorkerTask};
use kdyno_store::RunWriter;
use kdyno_testbed::probe::Sampler;
use kdyno_testbed::process::ProcessRef;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From the moment every client is ready to T0: long enough for the message to reach the worker and for
/// its threads to wake up.
const T0_AHEAD_NS: u64 = 200_000_000;

/// How long all clients together may take to connect and to learn their leaders.
const PREPARE_DEADLINE: Duration = Duration::from_secs(60);

/// How long after the end of the drain a worker may take to hand in its last rows.
const OVERDUE_NS: u64 = 15_000_000_000;

/// How long a worker may take to end once it was asked to stop: what is in flight may come home, what is
/// not home by then is kept as unresolved.
const STOP_NS: u64 = 10_000_000_000;

/// Longest wait for a message: how soon a stop from outside is seen.
const LISTEN: Duration = Duration::from_millis(50);

/// Distance of probe readings.
const SECOND_NS: u64 = 1_000_000_000;

/// Least distance of the last reading from the one before: processor time is counted in ticks of 10 ms,
/// and over a few of them a share of it would say nothing.
const LAST_PROBE_NS: u64 = 500_000_000;

/// What a trial needs from the run around it.
pub(crate) struct TrialContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) trial: TrialRef,
    /// Place in the order, from 0.
    pub(crate) number: u32,
    pub(crate) run_id: u64,
    pub(crate) system: &'a System,
    /// Topic address to real name.
    pub(crate) topics: &'a BTreeMap<String, String>,
    pub(crate) store: &'a RunWriter,
    pub(crate) self_exe: &'a Path,
    pub(crate) work_dir: &'a Path,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) time_cap: Option<TimeCap>,
    /// What must not be stored.
    pub(crate) private: &'a Private,
}

impl TrialContext<'_> {
    /// Why the run has to end now, if it has to.
    fn must_end(&self) -> Option<Stopping> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Stopping::Asked);
        }
        self.time_cap.filter(TimeCap::is_reached).map(Stopping::TimeCap)
    }
}

/// What a trial showed: the same as was stored, for the figures that are drawn from it. It grows by some
/// 7 MB per stream and hour, as the run file does.
pub(crate) struct TrialRecord {
    pub(crate) phases: Vec<PhaseSpan>,
    pub(crate) streams: Vec<StreamInfo>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) probes: Vec<ProbeReading>,
    pub(crate) events: Vec<Event>,
    pub(crate) totals: Vec<StreamTotals>,
    /// Why it ended before its plan did.
    pub(crate) cut_short: Option<LabError>,
}

/// Runs one trial from the worker's start to its end.
pub(crate) fn run(
    context: &TrialContext<'_>,
    case: &CasePlan,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrialRecord, LabError> {
    let phases = phase_spans(&case.phases);
    let mut worker = Worker::spawn(context.self_exe, 0, context.work_dir)?;
    if let Err(error) = prepare(context, case, &phases, &mut worker) {
        crate::logs::keep(context.store, context.private, "worker-0", worker.log_path())?;
        return Err(error);
    }
    let t0_ns = start(context, case, &phases, &mut worker)?;
    let mut collector = Collector::new(context, case, &phases, t0_ns, worker.pid());
    let cut_short = collector.listen(&mut worker, progress)?;
    collector.close(worker, cut_short)
}

/// Hands the task over and waits for the barrier. What happens before T0 is an event of the run.
fn prepare(
    context: &TrialContext<'_>,
    case: &CasePlan,
    phases: &[PhaseSpan],
    worker: &mut Worker,
) -> Result<(), LabError> {
    let task = WorkerTask {
        worker: 0,
        run_id: context.run_id,
        seed: trial_seed(context.plan.seed, context.trial),
        bootstrap: context.system.bootstrap(),
        client_id_prefix: context.system.prefix().to_owned(),
        phases: phases.to_vec(),
        tick_ns: TICK_NS,
        streams: streams(case, context.topics, cap_bytes_per_s(case)),
    };
    let give_up = || context.must_end().map(LabError::from);
    let mut event = |happened: WorkerEvent| {
        let subject = item_name(case, happened.stream);
        store_event(context, None, &happened.kind, &subject, &happened.detail).map(drop)
    };
    worker.prepare(task, PREPARE_DEADLINE, &give_up, &mut event)
}

/// Chooses T0, stores the trial's head and starts the worker. Returns T0.
fn start(
    context: &TrialContext<'_>,
    case: &CasePlan,
    phases: &[PhaseSpan],
    worker: &mut Worker,
) -> Result<u64, LabError> {
    let t0_monotonic_ns = monotonic_ns() + T0_AHEAD_NS;
    worker.send(&ToWorker::Start { t0_monotonic_ns })?;
    context.store.trial_started(&TrialStart {
        trial: context.trial,
        number: context.number,
        t0_unix_ns: unix_ns() + t0_monotonic_ns.saturating_sub(monotonic_ns()),
        t0_monotonic_ns,
        phases: phases.to_vec(),
        streams: stream_infos(case, context.topics),
        cluster: context.system.facts(),
        command_lines: context.system.command_lines(),
    })?;
    Ok(t0_monotonic_ns)
}

/// Listens to one worker, reads the probes once a second and keeps the deadlines.
struct Collector<'a> {
    context: &'a TrialContext<'a>,
    case: &'a CasePlan,
    phases: &'a [PhaseSpan],
    t0_ns: u64,
    sampler: Sampler,
    live: LiveTally,
    /// Instants of the next probe readings: whole seconds and the phases' ends.
    next_probe_ns: u64,
    /// When the last were read.
    probed_ns: u64,
    died: BTreeSet<String>,
    /// Brokers of our own.
    brokers: usize,
    record: TrialRecord,
    /// When the worker is ended if it does not end by itself.
    deadline_ns: u64,
    /// Why the worker was told to stop, if it was.
    stopping: Option<Stopping>,
}

/// Why a worker is told to stop before its plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    /// Somebody asked for it.
    Asked,
    /// There is nobody left to send to, and nobody will come back.
    NoBrokerLeft,
    /// The target allows no more time.
    TimeCap(TimeCap),
}

impl From<Stopping> for LabError {
    fn from(stopping: Stopping) -> Self {
        match stopping {
            Stopping::Asked => Self::Interrupted,
            Stopping::NoBrokerLeft => Self::NoBrokerLeft,
            Stopping::TimeCap(cap) => cap.error(),
        }
    }
}

impl<'a> Collector<'a> {
    fn new(
        context: &'a TrialContext<'a>,
        case: &'a CasePlan,
        phases: &'a [PhaseSpan],
        t0_ns: u64,
        worker_pid: u32,
    ) -> Self {
        let mut subjects = context.system.processes();
        subjects.push(ProcessRef { subject: "worker-0".to_owned(), pid: worker_pid });
        subjects.push(ProcessRef { subject: "kdyno".to_owned(), pid: std::process::id() });
        let brokers = subjects.iter().filter(|process| is_broker(&process.subject)).count();
        let end_ns = phases.last().map_or(0, |span| span.end_ns);
        let streams = stream_infos(case, context.topics);
        Self {
            context,
            case,
            phases,
            t0_ns,
            sampler: Sampler::new(subjects, true),
            live: LiveTally::new(&streams),
            next_probe_ns: t0_ns,
            probed_ns: 0,
            died: BTreeSet::new(),
            brokers,
            record: TrialRecord {
                phases: phases.to_vec(),
                streams,
                samples: Vec::new(),
                probes: Vec::new(),
                events: Vec::new(),
                totals: Vec::new(),
                cut_short: None,
            },
            deadline_ns: t0_ns + end_ns + OVERDUE_NS,
            stopping: None,
        }
    }

    /// Until the worker is done; returns why it ended early, if it did.
    fn listen(
        &mut self,
        worker: &mut Worker,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<LabError>, LabError> {
        loop {
            self.obey_stop(worker);
            self.probe_when_due(progress)?;
            let now_ns = monotonic_ns();
            if now_ns >= self.deadline_ns {
                let overdue = LabError::WorkerOverdue { number: 0, seconds: OVERDUE_NS / SECOND_NS };
                return Ok(Some(self.stopping.map_or(overdue, LabError::from)));
            }
            match worker.hear(LISTEN.min(until(self.next_probe_ns))) {
                Heard::Nothing => {}
                Heard::Message(FromWorker::Sample(sample)) => {
                    self.live.add(&sample);
                    self.context.store.sample(self.context.trial, (*sample).clone())?;
                    self.record.samples.push(*sample);
                }
                Heard::Message(FromWorker::Event(happened)) => {
                    let subject = item_name(self.case, happened.stream);
                    self.event(happened.at_ns, &happened.kind, &subject, &happened.detail)?;
                }
                Heard::Message(FromWorker::Done(totals)) => {
                    self.record.totals = totals;
                    return Ok(self.stopping.map(LabError::from));
                }
                other => return Ok(Some(worker.gone(other))),
            }
        }
    }

    /// Stores what is left to be stored: the last readings, the worker's cost, the account.
    fn close(mut self, worker: Worker, cut_short: Option<LabError>) -> Result<TrialRecord, LabError> {
        if monotonic_ns() >= self.probed_ns + LAST_PROBE_NS {
            self.read_probes()?;
        }
        let log = worker.log_path().to_owned();
        // Only a worker that has said its last word is given time to end by itself.
        let end = worker.finish(self.record.totals.is_empty());
        let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
        self.keep_cost(at_ns, &end)?;
        if !end.success {
            self.event(at_ns, "worker-ended", "worker-0", &format!("worker 0 ended with {}", end.status))?;
            crate::logs::keep(self.context.store, self.context.private, "worker-0", &log)?;
        }
        if let Some(reason) = &cut_short {
            self.event(at_ns, event_kind::CUT_SHORT, "kdyno", &reason.to_string())?;
        }
        self.context.store.totals(self.context.trial, self.record.totals.clone())?;
        self.record.cut_short = cut_short;
        Ok(self.record)
    }

    /// The worker's processor time over its whole life: the tool's own cost.
    fn keep_cost(&mut self, at_ns: i64, end: &WorkerEnd) -> Result<(), LabError> {
        let Some((user_s, system_s)) = end.cpu_s else {
            return Ok(());
        };
        let named = [(series::CPU_USER_S_AT_EXIT, user_s), (series::CPU_SYSTEM_S_AT_EXIT, system_s)];
        let readings = named.map(|(series, value)| ProbeReading {
            at_ns,
            subject: "worker-0".to_owned(),
            series: series.to_owned(),
            value,
        });
        self.keep_probes(readings.to_vec())
    }

    /// Tells the worker to stop, once, when somebody asked for it, the time is over or no broker is left.
    fn obey_stop(&mut self, worker: &mut Worker) {
        if self.stopping.is_some() {
            return;
        }
        let died = self.died.iter().filter(|subject| is_broker(subject)).count();
        let none_left = (died > 0 && died == self.brokers).then_some(Stopping::NoBrokerLeft);
        self.stopping = self.context.must_end().or(none_left);
        if self.stopping.is_none() {
            return;
        }
        self.deadline_ns = self.deadline_ns.min(monotonic_ns() + STOP_NS);
        // A worker that cannot be told has closed its socket: the next thing heard says so.
        let _ = worker.send(&ToWorker::Stop);
    }

    /// At each whole second and at each phase's end: readings, a look for dead processes, progress.
    fn probe_when_due(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        let now_ns = monotonic_ns();
        if now_ns < self.next_probe_ns {
            return Ok(());
        }
        self.next_probe_ns = self.next_after(now_ns);
        self.read_probes()?;
        self.look_for_dead(progress)?;
        if let Some(live) = self.live_at(now_ns) {
            progress(Progress::Live(live));
        }
        Ok(())
    }

    /// A process of the system under test that has ended is an event, and the end of its log is kept; the
    /// trial goes on.
    fn look_for_dead(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        for (subject, how) in self.context.system.ended() {
            if self.died.insert(subject.clone()) {
                let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
                let detail = format!("{subject} ended in the middle of the trial: {how}");
                self.event(at_ns, event_kind::PROCESS_DIED, &subject, &detail)?;
                progress(Progress::Step(detail));
                let tail = self.context.system.log_tail(&subject);
                self.context.store.log(&subject, &tail.join("\n"))?;
            }
        }
        Ok(())
    }

    /// The first whole second or phase end after `now_ns`.
    fn next_after(&self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(self.t0_ns);
        let second = (since_ns / SECOND_NS + 1) * SECOND_NS;
        let ends = self.phases.iter().map(|span| span.end_ns);
        let next = ends.filter(|end| *end > since_ns).fold(second, u64::min);
        self.t0_ns + next
    }

    fn read_probes(&mut self) -> Result<(), LabError> {
        self.probed_ns = monotonic_ns();
        let readings = self.sampler.sample(relative_ns(self.probed_ns, self.t0_ns));
        self.live.add_probes(&readings);
        self.keep_probes(readings)
    }

    fn keep_probes(&mut self, readings: Vec<ProbeReading>) -> Result<(), LabError> {
        self.context.store.probe(self.context.trial, readings.clone())?;
        self.record.probes.extend(readings);
        Ok(())
    }

    /// The state to show: figures of the second before the one that just ended, whose rows are surely here.
    fn live_at(&self, now_ns: u64) -> Option<Live> {
        let elapsed_ns = now_ns.checked_sub(self.t0_ns)?;
        let shown_second = u32::try_from(elapsed_ns / SECOND_NS).ok()?.checked_sub(2)?;
        let later = self.context.plan.order.iter().skip(self.context.number as usize + 1);
        let later_ns: u64 = later
            .filter_map(|trial| self.context.plan.cases.get(trial.case as usize))
            .map(|case| case.phases.warmup_ns + case.phases.measure_ns)
            .sum();
        let phase = phase_at(self.phases, relative_ns(now_ns, self.t0_ns));
        Some(Live {
            trial: self.context.trial,
            number: self.context.number,
            of: u32::try_from(self.context.plan.order.len()).unwrap_or(u32::MAX),
            label: self.case.label.clone(),
            phase,
            elapsed_ns,
            remaining_ns: left_ns(&self.case.phases, phase, elapsed_ns) + later_ns,
            figures: self.live.figures(shown_second),
            brokers_cpu_percent: self.live.cpu_percent("broker-"),
            workers_cpu_percent: self.live.cpu_percent("worker-"),
        })
    }

    fn event(&mut self, at_ns: i64, kind: &str, subject: &str, detail: &str) -> Result<(), LabError> {
        let event = store_event(self.context, Some(at_ns), kind, subject, detail)?;
        self.record.events.push(event);
        Ok(())
    }
}

/// What the target allows to be produced.
fn cap_bytes_per_s(case: &CasePlan) -> Option<u64> {
    match &case.system {
        SystemPlan::Attached(target) => target.caps.produce_bytes_per_s,
        SystemPlan::Local(_) => None,
    }
}

/// Whether a subject is a broker.
fn is_broker(subject: &str) -> bool {
    subject.starts_with("broker-")
}

fn store_event(
    context: &TrialContext<'_>,
    at_ns: Option<i64>,
    kind: &str,
    subject: &str,
    detail: &str,
) -> Result<Event, LabError> {
    let event = Event {
        at_unix_ns: unix_ns(),
        at_ns,
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        detail: context.private.hide(detail),
    };
    context.store.event(Some(context.trial), event.clone())?;
    Ok(event)
}

/// The load item a stream belongs to; the worker itself when it is none's.
fn item_name(case: &CasePlan, stream: Option<u16>) -> String {
    stream
        .and_then(|stream| case.load.keys().nth(usize::from(stream)))
        .map_or_else(|| "worker-0".to_owned(), Clone::clone)
}

/// The streams as the run file keeps them.
pub(crate) fn stream_infos(case: &CasePlan, topics: &BTreeMap<String, String>) -> Vec<StreamInfo> {
    streams(case, topics, None)
        .into_iter()
        .zip(case.load.values())
        .map(|(stream, item)| {
            let (role, value_bytes) = match &item.role {
                Role::Produce(produce) => (SeriesRole::Produce, produce.value_bytes),
                Role::Consume(_) => (SeriesRole::Consume, 0),
            };
            StreamInfo {
                stream: stream.stream,
                name: stream.name,
                topic: stream.topic,
                role,
                clients: stream.clients_total,
                value_bytes,
            }
        })
        .collect()
}
