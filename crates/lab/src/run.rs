//! One run: preflight, the run file, trial after trial, the end. Reads like a table of contents.

use crate::clock::unix_ns;
use crate::error::LabError;
use crate::limit::TimeCap;
use crate::options::{Progress, RunOptions, RunOutcome, RunRequest};
use crate::preflight::partition_replicas;
use crate::private::Private;
use crate::system::System;
use crate::topics::{Topics, topic_name};
use crate::trial::{self, TrialContext, TrialRecord};
use kdyno_analysis::trial::TrialEvidence;
use kdyno_model::finding::{Caveat, Severity};
use kdyno_model::plan::{CasePlan, Isolation, Plan, SystemPlan, TrialRef};
use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, event_kind, is_attached_here};
use kdyno_model::sample::NoiseReading;
use kdyno_store::RunWriter;
use kdyno_testbed::leftovers;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Exit code of a run that was stopped from outside (design: exit codes).
const EXIT_INTERRUPTED: u8 = 130;
/// Exit code of a run that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of a run whose figures must not be used.
const EXIT_INVALID: u8 = 6;

/// Executes a plan and keeps its evidence in one file.
///
/// # Errors
/// Only what prevents the run file from being made. What goes wrong later is told by
/// [`RunOutcome::failure`], beside the evidence.
pub fn run<'a>(request: &'a RunRequest, mut options: RunOptions<'a>) -> Result<RunOutcome, LabError> {
    let time_cap = TimeCap::start(&request.plan);
    let lock = crate::preflight::check(&request.plan, &mut options);
    let lock = lock.map_err(|error| unless_stopped(error, &options))?;
    let store = create_run_file(request, &options)?;
    let mut run = Run {
        request,
        options,
        store,
        time_cap,
        private: Private::of(&request.plan),
        host_shared: lock.shared_with_other.clone(),
        system: None,
        topics: None,
        caveats: Vec::new(),
    };
    let failure = run.trials().err().map(|error| unless_stopped(error, &run.options));
    Ok(run.close(failure))
}

/// What goes wrong after a stop from outside is part of stopping, unless the evidence itself is at stake.
fn unless_stopped(error: LabError, options: &RunOptions<'_>) -> LabError {
    match error {
        LabError::Store(_) => error,
        _ if options.stop.load(Ordering::Relaxed) => LabError::Interrupted,
        _ => error,
    }
}

fn create_run_file(request: &RunRequest, options: &RunOptions<'_>) -> Result<RunWriter, LabError> {
    for dir in [options.run_file.parent().unwrap_or(Path::new(".")), &options.work_dir] {
        std::fs::create_dir_all(dir).map_err(|source| LabError::Folder { path: dir.to_owned(), source })?;
    }
    leftovers::claim(&options.work_dir);
    let header = RunHeader {
        run_id: request.run_id,
        kdyno_version: request.kdyno_version.clone(),
        started_unix_ns: unix_ns(),
        scenario_text: request.scenario_text.clone(),
        scenario_path: request.scenario_path.clone(),
        plan: redacted(&request.plan),
        host_facts: kdyno_testbed::host::facts(&options.work_dir),
        command_line: request.command_line.clone(),
        git_head: request.git_head.clone(),
    };
    Ok(RunWriter::create(&options.run_file, &header)?)
}

/// Kind of the event that nobody could ask the brokers which settings they know; the detail says why.
const SETTINGS_UNCHECKED: &str = "settings-unchecked";

/// Stands in a stored plan where an attached cluster's addresses were.
const REDACTED: &str = "redacted";

/// The plan as the run file keeps it: a run may be shown around, a target's addresses are private.
fn redacted(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for case in &mut plan.cases {
        if let SystemPlan::Attached(attached) = &mut case.system {
            attached.bootstrap = vec![REDACTED.to_owned()];
        }
    }
    plan
}

/// A run that has its file.
struct Run<'a> {
    request: &'a RunRequest,
    options: RunOptions<'a>,
    store: RunWriter,
    time_cap: Option<TimeCap>,
    /// What must not be stored.
    private: Private,
    /// Which other measured run used the host when this one began.
    host_shared: Option<String>,
    system: Option<System>,
    topics: Option<Topics>,
    caveats: Vec<(TrialRef, Severity, Caveat)>,
}

impl Run<'_> {
    /// All trials, in the plan's order, until one cannot go on.
    fn trials(&mut self) -> Result<(), LabError> {
        for (trial, number) in self.request.plan.order.iter().zip(0u32..) {
            if self.options.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            if let Some(cap) = self.time_cap.filter(TimeCap::is_reached) {
                return Err(cap.error());
            }
            self.trial(*trial, number)?;
        }
        Ok(())
    }

    /// One trial with all that stands around it.
    fn trial(&mut self, trial: TrialRef, number: u32) -> Result<(), LabError> {
        let case = self.case(trial)?.clone();
        self.provide_system(&case, number)?;
        let doubts = self.keep_doubts(trial)?;
        self.provide_topics(&case, number)?;
        let noise = kdyno_testbed::noise::measure()?;
        self.store.noise(trial, noise)?;
        let mut record = self.load(&case, trial, number)?;
        record.events.splice(0..0, doubts);
        let cut_short = record.cut_short.take();
        self.judge(&case, trial, record, noise)?;
        match cut_short {
            Some(reason) => Err(reason),
            None => self.retire_topics(),
        }
    }

    /// The load of one trial, from the worker's start to its end.
    fn load(&mut self, case: &CasePlan, trial: TrialRef, number: u32) -> Result<TrialRecord, LabError> {
        let of = u32::try_from(self.request.plan.order.len()).unwrap_or(u32::MAX);
        (self.options.progress)(Progress::TrialStarted { trial, number, of, label: case.label.clone() });
        let (Some(system), Some(topics)) = (&self.system, &self.topics) else {
            return Err(LabError::Interrupted);
        };
        let context = TrialContext {
            plan: &self.request.plan,
            trial,
            number,
            run_id: self.request.run_id,
            system,
            topics: &topics.names,
            store: &self.store,
            self_exe: &self.options.self_exe,
            work_dir: &self.options.work_dir,
            stop: &self.options.stop,
            time_cap: self.time_cap,
            private: &self.private,
        };
        trial::run(&context, case, self.options.progress)
    }

    /// Keeps the cluster that stands when the case asks for the same one, or makes another.
    fn provide_system(&mut self, case: &CasePlan, number: u32) -> Result<(), LabError> {
        let isolated = self.request.plan.isolation == Isolation::Cluster;
        let fits = |system: &System| !isolated && system.fits(&case.system) && system.ended().is_empty();
        if self.system.as_ref().is_some_and(fits) {
            return Ok(());
        }
        self.topics = None;
        if let Some(system) = self.system.take() {
            system.stop()?;
        }
        let replicas = partition_replicas(&self.request.plan, &case.system);
        let system = System::provide(&case.system, number, replicas, &mut self.options)?;
        self.private.add(system.private_addresses());
        self.system = Some(system);
        Ok(())
    }

    /// What speaks against a trial before it begins: settings that its brokers do not know, another run on the
    /// host. Events of each trial, for each is to be judged by its own evidence.
    fn keep_doubts(&self, trial: TrialRef) -> Result<Vec<Event>, LabError> {
        let event = |kind: &str, subject: &str, detail: String| Event {
            at_unix_ns: unix_ns(),
            at_ns: None,
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            detail,
        };
        let unknown = self.system.iter().flat_map(System::unknown_settings);
        let mut events: Vec<Event> = unknown
            .map(|setting| event(event_kind::UNKNOWN_SETTING, &setting.name, setting.to_string()))
            .collect();
        if let Some(why) = self.system.as_ref().and_then(System::settings_unchecked) {
            events.push(event(SETTINGS_UNCHECKED, "brokers", why.to_owned()));
        }
        if let Some(other) = &self.host_shared {
            events.push(event(event_kind::HOST_SHARED, "host", other.clone()));
        }
        for event in &events {
            self.store.event(Some(trial), event.clone())?;
        }
        Ok(events)
    }

    /// Fresh topics, or those of the trial before when nothing is isolated.
    fn provide_topics(&mut self, case: &CasePlan, number: u32) -> Result<(), LabError> {
        let kept = self.request.plan.isolation == Isolation::None;
        if kept && self.topics.as_ref().is_some_and(|topics| topics.fit(&case.topics)) {
            return Ok(());
        }
        self.drop_topics()?;
        let Some(system) = &self.system else {
            return Ok(());
        };
        (self.options.progress)(Progress::Step("making topics".to_owned()));
        let name = |address: &str| topic_name(system.prefix(), self.request.run_id, address, number);
        self.topics = Some(Topics::create(&system.bootstrap(), system.prefix(), &case.topics, name)?);
        Ok(())
    }

    /// Deletes a trial's topics, unless the next one is to have them.
    fn retire_topics(&mut self) -> Result<(), LabError> {
        match self.request.plan.isolation {
            Isolation::None => Ok(()),
            Isolation::Topic | Isolation::Cluster => self.drop_topics(),
        }
    }

    /// Deletes the topics. On a local cluster that has lost a broker this may fail; the cluster is then
    /// replaced before the next trial and takes its topics with it.
    fn drop_topics(&mut self) -> Result<(), LabError> {
        let (Some(system), Some(topics)) = (&self.system, self.topics.take()) else {
            return Ok(());
        };
        match topics.delete(&system.bootstrap()) {
            Err(error) if system.is_attached() => Err(error),
            _ => Ok(()),
        }
    }

    /// Draws the trial's figures and doubts from what it showed, stores and tells them.
    fn judge(
        &mut self,
        case: &CasePlan,
        trial: TrialRef,
        record: TrialRecord,
        noise: NoiseReading,
    ) -> Result<(), LabError> {
        let evidence = TrialEvidence {
            plan: case,
            trial,
            phases: &record.phases,
            streams: &record.streams,
            samples: &record.samples,
            probes: &record.probes,
            totals: &record.totals,
            events: &record.events,
            noise: &[noise],
            attached_here: self.system.as_ref().is_some_and(|system| is_attached_here(&system.facts())),
            processors: kdyno_testbed::host::processors(),
            // The worker runs each stream in a thread of its own.
            worker_threads: u32::try_from(record.streams.len()).unwrap_or(u32::MAX),
        };
        let (findings, caveats) = kdyno_analysis::trial::findings(&evidence)?;
        let doubts: Vec<_> = caveats.iter().map(|(severity, c)| (trial, *severity, c.clone())).collect();
        self.store.findings(&findings, &doubts)?;
        self.caveats.extend(doubts);
        (self.options.progress)(Progress::TrialEnded { trial, findings, caveats });
        Ok(())
    }

    /// Takes everything down and writes the end. The first thing that went wrong is the one that is told.
    fn close(mut self, failure: Option<LabError>) -> RunOutcome {
        let mut failure = failure;
        if let Some(LabError::Testbed(error)) = &failure
            && !error.log_tail().is_empty()
        {
            // A store that has failed shows at its end, below.
            let _ = self.store.log("cluster", &error.log_tail().join("\n"));
        }
        if self.system.as_ref().is_some_and(|system| !system.is_attached()) {
            (self.options.progress)(Progress::Step("taking the system down".to_owned()));
        }
        failure = self.drop_topics().err().filter(|_| failure.is_none()).or(failure);
        if let Some(Err(error)) = self.system.take().map(System::stop) {
            failure.get_or_insert(error);
        }
        let (status, exit_code) = self.verdict(failure.as_ref());
        let end = RunEnd {
            status,
            exit_code,
            detail: failure.as_ref().map(|error| self.private.hide(&error.to_string())).unwrap_or_default(),
            ended_unix_ns: unix_ns(),
        };
        if let Err(error) = self.store.finish(end) {
            failure.get_or_insert(error.into());
        }
        // What its logs had to tell is in the run file; a folder that cannot be removed is in nobody's way.
        let _ = std::fs::remove_dir_all(&self.options.work_dir);
        let failed = failure.is_some() && status == RunStatus::Completed;
        RunOutcome {
            path: self.options.run_file.clone(),
            status: if failed { RunStatus::Failed } else { status },
            failure,
            caveats: self.caveats,
        }
    }

    fn verdict(&self, failure: Option<&LabError>) -> (RunStatus, u8) {
        let invalid = self.caveats.iter().any(|(_, severity, _)| *severity == Severity::Invalid);
        match failure {
            Some(LabError::Interrupted) => (RunStatus::Interrupted, EXIT_INTERRUPTED),
            Some(_) => (RunStatus::Failed, EXIT_FAILED),
            None if invalid => (RunStatus::Completed, EXIT_INVALID),
            None => (RunStatus::Completed, 0),
        }
    }

    fn case(&self, trial: TrialRef) -> Result<&CasePlan, LabError> {
        let cases = &self.request.plan.cases;
        cases.get(trial.case as usize).ok_or(LabError::PlanBroken { case: trial.case, cases: cases.len() })
    }
}
