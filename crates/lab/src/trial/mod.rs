//! One trial: its workers are given their tasks, started at T0 together, listened to until they are done. Or the two of
//! a duet at once, with one T0 (`conduct`).
//!
//! A trial that has begun always ends with its evidence stored and with a reason when it ended early; an
//! error is returned only for what makes the evidence itself impossible (the store) or the trial void
//! before T0.

mod announcement;
mod close;
mod command_set;
mod commands;
mod commands_in_pods;
mod component_set;
mod components;
mod conduct;
mod deaths;
mod draining;
mod events;
mod held_back;
mod java;
mod live;
mod meeting;
mod metrics;
mod prepare;
mod relays;
mod sampler;
mod stacks;
mod tasks;
mod variables;
mod warmup;

pub(crate) use conduct::run;

use crate::clock::{monotonic_ns, relative_ns, unix_ns, until};
use crate::cluster_watch::ClusterWatch;
use crate::drivers::ReadyDrivers;
use crate::error::LabError;
use crate::generator::{ChildPlace, Generators, Place, TrialPlaces};
use crate::given::GivenContents;
use crate::inbox::{Heard, Inbox, WorkerNews};
use crate::log_ends::LogEnds;
use crate::metrics_watch::MetricsWatch;
use crate::observer::{MayGoOn, Observer, SECOND_NS};
use crate::options::RunProgress;
use crate::private::Private;
use crate::secrets::RunSecrets;
use crate::settings::{SettingsBySubject, SystemInForce};
use crate::stack_sampling::StackSampling;
use crate::system::SystemUnderTest;
use crate::task;
use crate::token::Renewal;
use crate::worker::Worker;
use command_set::Commands;
use component_set::Components;
use held_back::HeldBack;
use kdyno_analysis::live::LiveTally;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::generator::LostWorkers;
use kdyno_model::run::TrialStart;
use kdyno_model::sample::Phase;
use kdyno_model::trial::Trial;
use kdyno_model::worker::{FromWorker, PhaseSpan, ToWorker, WorkerEvent, phase_spans};
use kdyno_store::RunWriter;
use kdyno_testbed::Environment;
use kdyno_testbed::probe::named::NamedProcesses;
use kdyno_testbed::process::ProcessRef;
use meeting::Seat;
use sampler::StackSampler;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use warmup::{Begin, Warmup};

/// How long after the end of the drain a worker may take to hand in its last rows.
const OVERDUE_NS: u64 = 15_000_000_000;

/// How long a worker may take to end once it was asked to stop: what is in flight may be answered, what is
/// not by then is kept as unresolved.
const STOP_NS: u64 = 10_000_000_000;

/// What a trial needs from the run around it.
pub(crate) struct TrialContext<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) session: u32,
    pub(crate) run_id: u64,
    /// Wall clock minus monotonic clock, ns: one reading for all workers.
    pub(crate) wall_offset_ns: i64,
    pub(crate) system: &'a dyn SystemUnderTest,
    /// Settings in force on it.
    pub(crate) in_force: &'a SystemInForce,
    /// What the scenario declares of where it runs.
    pub(crate) declared: &'a BTreeMap<String, String>,
    /// What the load generator can do, as facts.
    pub(crate) generator_facts: BTreeMap<String, String>,
    /// The hosts that carry its load, if this one does not.
    pub(crate) generators: &'a Generators,
    /// Topic address to real name.
    pub(crate) topics: &'a BTreeMap<String, String>,
    pub(crate) store: &'a RunWriter,
    pub(crate) self_exe: &'a Path,
    /// Folder for the logs of its workers, which has to be there.
    pub(crate) work_dir: PathBuf,
    pub(crate) may_go_on: MayGoOn,
    /// Processes of this host that are read in addition to those of the run.
    pub(crate) named: &'a NamedProcesses,
    /// Where programs are.
    pub(crate) environment: &'a Environment,
    /// What must not be stored.
    pub(crate) private: &'a Private,
    pub(crate) secrets: &'a RunSecrets,
    pub(crate) given: &'a GivenContents,
    pub(crate) drivers: &'a ReadyDrivers,
    /// What stacks are sampled with, where the plan asks for it.
    pub(crate) stacks: Option<&'a StackSampling>,
    /// How many trials the run will have, where that is known.
    pub(crate) of: Option<u32>,
    /// What the loads of later trials will take, ns, as far as that is known.
    pub(crate) later_ns: u64,
}

/// A trial under way.
struct Execution<'a> {
    context: &'a TrialContext<'a>,
    inbox: Inbox,
    workers: Vec<Worker>,
    commands: Commands,
    /// What runs next to the cluster.
    components: Components,
    /// From when all workers are there to the end.
    observer: Option<Observer>,
    /// Looks at the cluster from then until the load is over.
    cluster_watch: Option<ClusterWatch>,
    /// Reads the brokers' own metrics, and the cluster's logs and groups, from then to the end.
    metrics: MetricsWatch,
    /// Where the workers are that are no children of the lab.
    places: TrialPlaces,
    /// What two clocks have measured, until the end.
    held_back: HeldBack,
    /// Whose metrics could not be read at some time.
    unread: BTreeSet<Subject>,
    /// T0 on CLOCK_MONOTONIC, ns; 0 before it is chosen.
    t0_ns: u64,
    phases: Vec<PhaseSpan>,
    /// The warm-up, while it goes on and ends by evidence.
    warmup: Option<Warmup>,
    live: LiveTally,
    /// How many streams each worker has.
    streams: BTreeMap<u16, usize>,
    /// What Java clients reported of their settings, for each load item the first.
    clients_in_force: SettingsBySubject,
    /// Workers that have said their last word, or never will.
    done: BTreeSet<u16>,
    /// Lost workers without which the load goes on.
    lost: BTreeSet<u16>,
    /// Workers whose producing streams have not all ended.
    producing: BTreeSet<u16>,
    /// When consumers are let end, once producers have, CLOCK_MONOTONIC, ns.
    drain_ns: Option<u64>,
    /// Processes of the system that have ended, those included that had before this trial: they are no event of it.
    died: BTreeSet<Subject>,
    /// When the workers are ended if they do not end by themselves, CLOCK_MONOTONIC, ns.
    deadline_ns: u64,
    /// Why the workers were asked to stop, if they were.
    cut_short: Option<LabError>,
    /// Asks for newer tokens, where there is one that expires.
    renewal: Option<Renewal>,
    sampler: StackSampler,
}

/// Starts the workers that the plan names, each at its place.
fn workers(context: &TrialContext<'_>, places: &TrialPlaces, inbox: &Inbox) -> Result<Vec<Worker>, LabError> {
    let hidden = context.secrets.variables();
    let (self_exe, work_dir) = (context.self_exe, context.work_dir.as_path());
    let here = ChildPlace { self_exe, work_dir, hidden: &hidden };
    let started = context.trial.effective.workers.iter().map(|planned| {
        let elsewhere = places.of(planned.worker, work_dir);
        let place = elsewhere.as_ref().map_or(&here as &dyn Place, |there| there as &dyn Place);
        Worker::spawn(place, planned.worker, inbox.sender())
    });
    started.collect()
}

impl<'a> Execution<'a> {
    /// Starts the workers that the plan names. The sides of a duet each have a `seat` where they agree when their warm-ups
    /// end.
    fn spawn(context: &'a TrialContext<'a>, seat: Option<Seat>) -> Result<Self, LabError> {
        let inbox = Inbox::default();
        let case = &context.trial.effective;
        // What took time was said when the run began.
        let places = context.generators.open(case, &mut |_| {})?;
        let workers = workers(context, &places, &inbox)?;
        Ok(Self {
            context,
            inbox,
            workers,
            commands: Commands::of(case),
            components: Components::default(),
            observer: None,
            cluster_watch: None,
            metrics: MetricsWatch::default(),
            places,
            held_back: HeldBack::default(),
            unread: BTreeSet::new(),
            t0_ns: 0,
            phases: phase_spans(&case.phases, None),
            warmup: Warmup::of(&case.phases, seat),
            live: LiveTally::default(),
            streams: task::stream_counts(&case.workers, &case.load),
            clients_in_force: SettingsBySubject::new(),
            done: BTreeSet::new(),
            lost: BTreeSet::new(),
            producing: task::producing(context.trial),
            drain_ns: None,
            died: context.system.ended().into_keys().collect(),
            deadline_ns: u64::MAX,
            cut_short: None,
            renewal: None,
            sampler: StackSampler::default(),
        })
    }

    /// The processes of its system and its workers.
    fn processes(&self) -> Vec<ProcessRef> {
        let of_worker =
            |worker: &Worker| Some(ProcessRef::new(Subject::Worker(worker.number()), worker.pid()?));
        let workers = self.workers.iter().filter_map(of_worker);
        let components = self.components.processes();
        self.context.system.processes().into_iter().chain(components).chain(workers).collect()
    }

    /// Starts the observer of these processes, of this one and of those that were named, and the watch of the cluster.
    fn watch(&mut self, mut processes: Vec<ProcessRef>) -> Result<(), LabError> {
        processes.push(ProcessRef::new(Subject::Kdyno, std::process::id()));
        let may_go_on = self.context.may_go_on.clone();
        let named = self.context.named.clone();
        self.observer = Some(Observer::start(processes, named, may_go_on, self.inbox.sender())?);
        self.cluster_watch = Some(ClusterWatch::start(self.context.watched(), self.inbox.sender())?);
        Ok(())
    }

    /// Announces the measure phase after a warm-up of fixed length, which ends when it always would have: announced
    /// before the start, it cannot come too late.
    fn announce_fixed(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        self.tell_dead(None, progress)?;
        let start_ns = self.context.trial.effective.phases.measure_start_ns();
        if self.warmup.is_some() { Ok(()) } else { self.tell_workers(&ToWorker::Measure { start_ns }) }
    }

    /// Stores the trial's head and how far the logs reached, now that T0 is announced.
    fn started(&mut self, log_ends: kdyno_kafka::admin::Result<LogEnds>) -> Result<(), LabError> {
        let context = self.context;
        let lengths = &context.trial.effective.phases;
        let start = TrialStart {
            trial: context.trial.clone(),
            session: context.session,
            t0_unix_ns: unix_ns() + self.t0_ns.saturating_sub(monotonic_ns()),
            t0_monotonic_ns: self.t0_ns,
            streams: task::stream_infos(context.trial, context.topics),
            cluster: self.facts(),
            command_lines: context.system.command_lines(),
            settings: self.settings(),
        };
        self.held_back = HeldBack::of(&start);
        context.store.trial_started(&start)?;
        if let Some(observer) = &self.observer {
            observer.load_starts(self.t0_ns);
        }
        self.metrics.load_starts(self.t0_ns);
        self.places.load_starts(self.t0_ns);
        context.store.probe(context.trial.id, self.places.clocks())?;
        match log_ends {
            Ok(ends) => context.store.probe(context.trial.id, ends.readings(self.t0_ns))?,
            Err(error) => self.log_unchecked(None, &error.to_string())?,
        }
        let spans = phase_spans(lengths, Some(lengths.measure_start_ns()));
        self.deadline_ns = self.overdue_after(&spans);
        match self.warmup {
            None => self.measure_begins(spans),
            Some(_) => Ok(context.store.phases(context.trial.id, &self.phases)?),
        }
    }

    /// Sends all of them a message, also where one cannot be reached; the first error.
    fn tell_workers(&mut self, message: &ToWorker) -> Result<(), LabError> {
        self.workers.iter_mut().map(|worker| worker.send(message)).fold(Ok(()), Result::and)
    }

    /// Keeps where the phases lie, now that the workers know: for the store, the observer and the deadline.
    fn measure_begins(&mut self, spans: Vec<PhaseSpan>) -> Result<(), LabError> {
        self.context.store.phases(self.context.trial.id, &spans)?;
        let ends_ns: Vec<u64> = spans.iter().map(|span| span.end_ns).collect();
        if let Some(at) = spans.iter().position(|span| span.phase == Phase::Measure) {
            self.metrics.measure_begins(spans[at].start_ns, &ends_ns[at..]);
        }
        self.places.phases_end(&ends_ns);
        if let Some(observer) = &self.observer {
            observer.phases_end(ends_ns);
        }
        self.deadline_ns = self.overdue_after(&spans);
        self.sample_stacks(&spans)?;
        self.phases = spans;
        Ok(())
    }

    /// When workers whose phases lie so are ended, CLOCK_MONOTONIC, ns.
    fn overdue_after(&self, spans: &[PhaseSpan]) -> u64 {
        let end_ns = spans.last().map_or(0, |span| span.end_ns);
        self.t0_ns.saturating_add(end_ns).saturating_add(self.overdue_ns())
    }

    /// How long after the end of the drain workers may take to hand in their last rows.
    fn overdue_ns(&self) -> u64 {
        OVERDUE_NS + self.places.cut_ns_max()
    }

    /// The warm-up ends: informs the workers, and keeps why it ended unless it had settled.
    fn end_warmup(&mut self, begin: Begin) -> Result<(), LabError> {
        self.warmup = None;
        // A worker that cannot be reached has closed its socket: its next message says so.
        let _ = self.tell_workers(&ToWorker::Measure { start_ns: begin.start_ns });
        self.measure_begins(phase_spans(&self.context.trial.effective.phases, Some(begin.start_ns)))?;
        let Some(why) = begin.not_settled else { return Ok(()) };
        let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
        self.event(Some(at_ns), EventKind::WarmupNotSettled, &Subject::Kdyno, &why)
    }

    /// What is to be done next without anything being heard, CLOCK_MONOTONIC, ns.
    fn wake_ns(&self) -> u64 {
        let since_ns = monotonic_ns().saturating_sub(self.t0_ns);
        let look_ns = |warmup: &Warmup| self.t0_ns.saturating_add(warmup.next_look_ns(since_ns));
        let end_ns = self.deadline_ns.min(self.drain_ns.unwrap_or(u64::MAX)).min(self.commands_wake_ns());
        self.warmup.as_ref().map_or(end_ns, |warmup| look_ns(warmup).min(end_ns))
    }

    /// Ends a warm-up that is to end whatever is heard.
    fn look_at_warmup(&mut self) -> Result<(), LabError> {
        let since_ns = monotonic_ns().saturating_sub(self.t0_ns);
        let begin = self.warmup.as_mut().and_then(|warmup| warmup.due(since_ns));
        begin.map_or(Ok(()), |begin| self.end_warmup(begin))
    }

    /// Until every worker and command has said its last word, or the time for it is over.
    fn listen(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        while !self.is_over() {
            // Also while there is always something to hear.
            self.look_at_warmup()?;
            self.drain_if_due();
            self.run_commands(progress)?;
            let Some(heard) = self.inbox.hear(until(self.wake_ns())) else {
                if monotonic_ns() < self.deadline_ns {
                    continue;
                }
                let late = self.workers.iter().map(Worker::number).find(|number| !self.done.contains(number));
                // Commands that are late are ended with the trial.
                let Some(number) = late else { return Ok(()) };
                let seconds = self.overdue_ns() / SECOND_NS;
                let detail = format!("was still busy {seconds} s after the end of its trial and was ended");
                self.cut_short.get_or_insert(LabError::of_worker(number, &detail));
                return Ok(());
            };
            match heard {
                Heard::Worker(worker, news) => {
                    if let WorkerNews::Message(FromWorker::ClientMetrics { text, .. }) = &news {
                        progress(RunProgress::ClientMetrics(text.clone()));
                    }
                    self.hear_worker(worker, news, progress)?;
                }
                Heard::Probes(read_ns, readings) => {
                    self.context.store.probe(self.context.trial.id, readings)?;
                    self.look_for_dead(progress)?;
                    self.ask_for_recent(read_ns)?;
                }
                Heard::Named(at_ns, reported) => self.keep_named(at_ns, reported, progress)?,
                Heard::Metrics(at_ns, found) => self.keep_metrics_read(at_ns, found, progress)?,
                Heard::Logs(readings, unread) => self.keep_logs_read(readings, &unread, progress)?,
                Heard::Recent(evidence) => self.hear_recent(&evidence, progress)?,
                Heard::Command(item, news) => self.hear_command(&item, news, progress)?,
                Heard::Database(component, at_ns, counted) => {
                    self.keep_counted(&component, at_ns, counted)?
                }
                Heard::Cluster(seen_ns, changes) => {
                    self.cluster_changed(Some(relative_ns(seen_ns, self.t0_ns)), changes)?;
                }
                Heard::Token(renewed) => {
                    self.hand_over(&renewed).into_iter().for_each(|why| progress(RunProgress::Warning(why)));
                }
                Heard::Stop(stop) => self.stop(stop.into()),
            }
        }
        Ok(())
    }

    fn hear_worker(
        &mut self,
        worker: u16,
        news: WorkerNews,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let (store, trial) = (self.context.store, self.context.trial.id);
        let streams = self.streams.get(&worker).copied().unwrap_or_default();
        match news {
            WorkerNews::Message(ref message) if !task::has_own_rows(streams, worker, message) => {
                self.done.insert(worker);
                self.stop(LabError::of_worker(worker, "sent rows of a stream that is not its own"));
            }
            WorkerNews::Probes(readings) => store.probe(trial, readings)?,
            WorkerNews::Suspected(why) => progress(RunProgress::Warning(why)),
            WorkerNews::Message(FromWorker::Sample(mut sample)) => {
                self.held_back.take(&mut sample);
                store.sample(trial, *sample)?;
            }
            WorkerNews::Message(FromWorker::Event(event)) => {
                self.worker_event(worker, &event, Some(event.at_ns))?;
            }
            WorkerNews::Message(FromWorker::Readings(reported)) => self.keep_readings(worker, reported)?,
            WorkerNews::Message(FromWorker::ClientMetrics { stream, client, text }) => {
                self.keep_metrics(worker, stream, client, &text)?;
            }
            // Settings of clients that come when the trial's head is stored already.
            WorkerNews::Message(FromWorker::ClientSettings(_)) => {}
            WorkerNews::Message(FromWorker::LoadEnded) => self.load_ended(worker),
            WorkerNews::Message(FromWorker::Done(totals)) => {
                store.totals(trial, totals)?;
                self.done.insert(worker);
                self.load_ended(worker);
            }
            // Its last word has been heard: that it ends now is as it should be.
            WorkerNews::Closed if self.done.contains(&worker) => {}
            WorkerNews::Closed if self.goes_on_without(worker) => {
                let why = self.gone(worker, WorkerNews::Closed).to_string();
                let at_ns = relative_ns(monotonic_ns(), self.t0_ns);
                self.event(Some(at_ns), EventKind::WorkerEnded, &Subject::Worker(worker), &why)?;
                progress(RunProgress::Warning(format!("{why}; the load goes on without it")));
                self.lost.insert(worker);
                self.done.insert(worker);
                self.load_ended(worker);
            }
            other => {
                let reason = self.gone(worker, other);
                self.done.insert(worker);
                self.stop(reason);
            }
        }
        Ok(())
    }

    /// Whether the load is to go on without the worker of another host: something was measured, and there is any left.
    fn goes_on_without(&self, worker: u16) -> bool {
        let generators = &self.context.trial.effective.generators;
        let is_meant = generators.lost_workers == LostWorkers::Report && generators.host_of(worker).is_some();
        let has_begun = self.measured_ns().is_some_and(|(start_ns, _)| start_ns <= monotonic_ns());
        is_meant && has_begun && self.cut_short.is_none() && self.done.len() + 1 < self.workers.len()
    }

    /// Asks the workers to stop, once; the first reason counts.
    fn stop(&mut self, reason: LabError) {
        if self.cut_short.is_some() {
            return;
        }
        self.cut_short = Some(reason);
        self.warmup = None;
        self.deadline_ns = self.deadline_ns.min(monotonic_ns() + STOP_NS);
        self.commands.stop();
        for worker in &mut self.workers {
            // A worker that cannot be reached has closed its socket: its next message says so.
            let _ = worker.send(&ToWorker::Stop);
        }
    }

    /// What it means that this was heard of a worker where something else was due.
    fn gone(&mut self, number: u16, news: WorkerNews) -> LabError {
        match self.workers.iter_mut().find(|worker| worker.number() == number) {
            Some(worker) => worker.gone(news),
            None => LabError::of_worker(number, "is none of this trial"),
        }
    }

    fn worker_event(&self, worker: u16, event: &WorkerEvent, at_ns: Option<i64>) -> Result<(), LabError> {
        let item = event.stream.and_then(|stream| task::item_of(self.context.trial, worker, stream));
        let subject = item.map_or(Subject::Worker(worker), |item| Subject::Item(item.to_owned()));
        self.event(at_ns, event.kind, &subject, &event.detail)
    }
}
