//! One run: preflight, the run file, trial after trial, the end. Reads like a table of contents.

use crate::clock::unix_ns;
use crate::error::LabError;
use crate::limit::TimeCap;
use crate::observer::MayGoOn;
use crate::options::{Progress, RunOptions, RunOutcome, RunRequest};
use crate::private::Private;
use crate::provisions::Provisions;
use crate::secrets::Secrets;
use crate::system::System;
use crate::trial::{self, TrialContext};
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::TrialOutcome;
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd};
use kdyno_model::trial::Trial;
use kdyno_plan::Next;
use kdyno_store::RunWriter;
use kdyno_testbed::{host, leftovers};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Executes a plan and keeps its evidence in one file.
///
/// # Errors
/// Only what prevents the run file from being made. What goes wrong later is told by
/// [`RunOutcome::failure`], beside the evidence.
pub fn run<'a>(request: &'a RunRequest, mut options: RunOptions<'a>) -> Result<RunOutcome, LabError> {
    let time_cap = TimeCap::start(&request.plan);
    let may_go_on = MayGoOn { stop: options.stop.clone(), time_cap };
    let lock = crate::preflight::check(&request.plan, &mut options);
    let lock = lock.map_err(|error| unless_stopped(error, &options))?;
    let secrets = Secrets::resolve(&request.plan, options.variables)?;
    let session = session(request, &options);
    let store = create_run_file(request, &session, &options)?;
    let mut run = Run {
        request,
        options,
        store,
        session: session.number,
        may_go_on,
        private: Private::of(&request.plan),
        secrets,
        host_shared: lock.shared_with_other.clone(),
        provisions: Provisions::default(),
        outcomes: Vec::new(),
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

fn session(request: &RunRequest, options: &RunOptions<'_>) -> Session {
    Session {
        number: 1,
        started_unix_ns: unix_ns(),
        kdyno_version: request.kdyno_version.clone(),
        git_head: request.git_head.clone(),
        command_line: request.command_line.clone(),
        boot_id: host::boot_id(),
        processors: host::processors(),
        host_facts: host::facts(&options.work_dir),
    }
}

fn create_run_file(
    request: &RunRequest,
    session: &Session,
    options: &RunOptions<'_>,
) -> Result<RunWriter, LabError> {
    for dir in [options.run_file.parent().unwrap_or(Path::new(".")), &options.work_dir] {
        std::fs::create_dir_all(dir).map_err(|source| LabError::Folder { path: dir.to_owned(), source })?;
    }
    leftovers::claim(&options.work_dir);
    let header = RunHeader {
        run_id: request.run_id,
        scenario_text: request.scenario_text.clone(),
        scenario_path: request.scenario_path.clone(),
        plan: request.plan.clone(),
    };
    Ok(RunWriter::create(&options.run_file, &header, session)?)
}

/// A run that has its file.
struct Run<'a> {
    request: &'a RunRequest,
    options: RunOptions<'a>,
    store: RunWriter,
    /// Number of the session.
    session: u32,
    may_go_on: MayGoOn,
    /// What must not be stored.
    private: Private,
    /// What workers are told and nobody else.
    secrets: Secrets,
    /// Which other measured run used the host when this one began.
    host_shared: Option<String>,
    provisions: Provisions,
    /// What came of the trials so far, in order.
    outcomes: Vec<TrialOutcome>,
}

impl Run<'_> {
    /// One trial after the other, as the plan's strategy names them, until it stops or one cannot go on.
    fn trials(&mut self) -> Result<(), LabError> {
        while let Next::Trial(trial) = kdyno_plan::next(&self.request.plan, &self.outcomes, self.session) {
            if let Some(stop) = self.may_go_on.must_end() {
                return Err(stop.into());
            }
            self.trial(*trial)?;
        }
        Ok(())
    }

    /// One trial with all that stands around it.
    fn trial(&mut self, trial: Trial) -> Result<(), LabError> {
        let plan = &self.request.plan;
        self.provisions.system(plan, &trial, &mut self.options, &mut self.private)?;
        let (system, topics) =
            self.provisions.topics(plan, &trial, self.request.run_id, &mut self.options)?;
        for event in known_before(system, self.host_shared.as_deref()) {
            self.store.event(Some(trial.id), event)?;
        }
        self.store.noise(trial.id, kdyno_testbed::noise::measure()?)?;
        let of = plan.strategy.trials_planned();
        (self.options.progress)(Progress::TrialStarted { trial: trial.id, of, label: trial.label.clone() });
        let context = TrialContext {
            trial: &trial,
            session: self.session,
            run_id: self.request.run_id,
            system,
            topics: &topics.names,
            store: &self.store,
            self_exe: &self.options.self_exe,
            work_dir: &self.options.work_dir,
            may_go_on: self.may_go_on.clone(),
            private: &self.private,
            secrets: &self.secrets,
            of,
            later_ns: kdyno_plan::load_ns_after(plan, self.outcomes.len() + 1),
        };
        let cut_short = trial::run(&context, self.options.progress)?;
        self.judge(trial)?;
        match cut_short {
            Some(reason) => Err(reason),
            None => self.provisions.retire_topics(plan),
        }
    }

    /// Draws the trial's numbers and caveats from what the store yields of it, stores and tells them.
    fn judge(&mut self, trial: Trial) -> Result<(), LabError> {
        let evidence = self.store.evidence(trial.id)?;
        let judgement = kdyno_analysis::trial::judge(&evidence)?;
        self.store.judgement(&judgement)?;
        let outcome = TrialOutcome { session: self.session, ..TrialOutcome::new(trial, judgement) };
        (self.options.progress)(Progress::TrialEnded(Box::new(outcome.clone())));
        self.outcomes.push(outcome);
        Ok(())
    }

    /// What the trials say together: stored after the last one, however the run ends.
    fn judge_together(&self) -> Result<(), LabError> {
        let analysed = |outcome| AnalysedTrial::of(outcome, self.session);
        let trials: Vec<AnalysedTrial<'_>> = self.outcomes.iter().map(analysed).collect();
        Ok(self.store.judgement(&kdyno_analysis::run::judge(&self.request.plan, &trials))?)
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
        let judged = self.judge_together();
        let taken_down = self.provisions.take_down(self.options.progress);
        failure = failure.or(judged.err()).or(taken_down.err());
        let status = status(failure.as_ref());
        let end = SessionEnd {
            status,
            detail: failure.as_ref().map(|error| self.private.hide(&error.to_string())).unwrap_or_default(),
            ended_unix_ns: unix_ns(),
        };
        if let Err(error) = self.store.finish(end) {
            failure.get_or_insert(error.into());
        }
        // What its logs had to tell is in the run file; a folder that cannot be removed is in nobody's way.
        let _ = std::fs::remove_dir_all(&self.options.work_dir);
        RunOutcome {
            path: self.options.run_file.clone(),
            status: self::status(failure.as_ref()),
            failure,
            caveats: self.outcomes.into_iter().flat_map(|outcome| outcome.caveats).collect(),
        }
    }
}

fn status(failure: Option<&LabError>) -> RunStatus {
    match failure {
        Some(LabError::Interrupted) => RunStatus::Interrupted,
        Some(_) => RunStatus::Failed,
        None => RunStatus::Completed,
    }
}

/// What speaks against a trial before it begins: settings that its brokers do not know, another run on the
/// host. Events of each trial, for each is to be judged by its own evidence.
fn known_before(system: &System, host_shared: Option<&str>) -> Vec<Event> {
    let event =
        |kind, subject, detail: String| Event { at_unix_ns: unix_ns(), at_ns: None, kind, subject, detail };
    let unknown = system.unknown_settings().iter().map(|setting| {
        event(EventKind::UnknownSetting, Subject::Setting(setting.name.clone()), setting.to_string())
    });
    let unchecked = system
        .settings_unchecked()
        .map(|why| event(EventKind::SettingsUnchecked, Subject::Brokers, why.to_owned()));
    let shared = host_shared.map(|other| event(EventKind::HostShared, Subject::Host, other.to_owned()));
    unknown.chain(unchecked).chain(shared).collect()
}
