//! One run: preflight, the run file, trial after trial, the end. Reads like a table of contents.

use crate::calibration::{self, Limits};
use crate::clock::{monotonic_ns, unix_ns, wall_offset_ns};
use crate::drivers::ReadyDrivers;
use crate::error::LabError;
use crate::generator::Generators;
use crate::given::GivenContents;
use crate::limit::{TimeBudget, TimeCap};
use crate::observer::MayGoOn;
use crate::options::{RunOptions, RunOutcome, RunProgress, RunRequest};
use crate::preflight;
use crate::private::Private;
use crate::provisions::{Provision, Provisions};
use crate::proxy;
use crate::resume::{self, EarlierSessions};
use crate::secrets::RunSecrets;
use crate::settle;
use crate::stack_sampling::StackSampling;
use crate::trial::{self, TrialContext};
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{ComparePlan, Plan, Strategy};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd, TrialStart};
use kdyno_model::trial::{Trial, TrialId};
use kdyno_store::RunWriter;
use kdyno_testbed::{folder, host, leftovers};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Executes a plan and keeps its evidence in one file.
///
/// # Errors
/// Only what prevents the run file from being made. What goes wrong later is reported by [`RunOutcome::failure`], next
/// to the evidence.
pub fn run<'a>(request: &'a RunRequest, mut options: RunOptions<'a>) -> Result<RunOutcome, LabError> {
    let time_cap = TimeCap::start(&request.plan);
    let may_go_on = MayGoOn { stop: options.stop.clone(), time_cap };
    let secrets = RunSecrets::resolve(&request.plan, options.generators, options.variables)?;
    let mut generators = Generators::resolve(&request.plan, &options, secrets.variables())?;
    let lock = preflight::check(&request.plan, &secrets, &mut options);
    let lock = lock.map_err(|error| unless_stopped(error, &options))?;
    let made = generators.make_pods(&request.plan, request.run_id, options.progress);
    let reached = made.and_then(|()| generators.check(&request.plan, options.progress));
    reached.map_err(|error| unless_stopped(error, &options))?;
    let environment = &options.environment;
    let drivers = ReadyDrivers::make_ready(&request.plan, environment, options.progress);
    let drivers = drivers.map_err(|error| unless_stopped(error, &options))?;
    let proxies = proxy::make_ready(&request.plan, environment, options.progress);
    proxies.map_err(|error| unless_stopped(error, &options))?;
    let stacks = StackSampling::make_ready(&request.plan, environment, options.progress);
    // From here on the clusters are known to be those that are meant.
    let given = GivenContents::read(&request.plan, options.files, &secrets)?;
    let before =
        if options.resume { resume::read(&options.run_file, request)? } else { EarlierSessions::default() };
    let session = session(request, before.sessions.last(), &options);
    let store = open_run_file(request, &session, &options)?;
    let mut run = RunInProgress {
        request,
        options,
        store,
        session: session.number,
        budget: TimeBudget::of(&request.plan, before.spent_ns),
        may_go_on,
        private: Private::of(&request.plan),
        secrets,
        generators,
        given,
        drivers,
        stacks,
        host_shared: lock.shared_with_other.clone(),
        provisions: Provisions::default(),
        outcomes: Vec::new(),
        starts: Vec::new(),
        sessions: before.sessions.iter().chain([&session]).cloned().collect(),
        done: before.stay,
        last_trial: before.last_trial,
        unsettled: None,
        limits: Limits::default(),
    };
    let taken_up = run.take_up(before, &session).and_then(|()| run.calibrate(&session));
    let ended = taken_up.and_then(|()| run.trials()).map_err(|error| unless_stopped(error, &run.options));
    Ok(run.close(ended))
}

/// What goes wrong after a stop from outside is part of stopping, unless the evidence itself is at stake.
fn unless_stopped(error: LabError, options: &RunOptions<'_>) -> LabError {
    match error {
        LabError::Store(_) => error,
        _ if options.stop.load(Ordering::Relaxed) => LabError::Interrupted,
        _ => error,
    }
}

fn session(request: &RunRequest, before: Option<&Session>, options: &RunOptions<'_>) -> Session {
    Session {
        number: before.map_or(0, |before| before.number) + 1,
        started_unix_ns: unix_ns(),
        kdyno_version: request.kdyno_version.clone(),
        git_head: request.git_head.clone(),
        command_line: request.command_line.clone(),
        boot_id: host::boot_id(),
        processors: host::processors(),
        host_facts: host::facts(&options.work_dir),
    }
}

/// Makes the run file, or begins another session in that of an interrupted run.
fn open_run_file(
    request: &RunRequest,
    session: &Session,
    options: &RunOptions<'_>,
) -> Result<RunWriter, LabError> {
    let dir = options.run_file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(|error| LabError::not_made(dir, &error))?;
    folder::create_private(&options.work_dir)?;
    leftovers::claim(&options.work_dir);
    if options.resume {
        return Ok(RunWriter::resume(&options.run_file, session)?);
    }
    let header = RunHeader {
        run_id: request.run_id,
        scenario_text: request.scenario_text.clone(),
        scenario_path: request.scenario_path.clone(),
        plan: request.plan.clone(),
    };
    Ok(RunWriter::create(&options.run_file, &header, session)?)
}

/// A run that has its file.
struct RunInProgress<'a> {
    request: &'a RunRequest,
    options: RunOptions<'a>,
    store: RunWriter,
    /// Number of the session.
    session: u32,
    /// How long its trials may take.
    budget: TimeBudget,
    may_go_on: MayGoOn,
    /// What must not be stored.
    private: Private,
    /// What only workers get.
    secrets: RunSecrets,
    /// The hosts that carry the load.
    generators: Generators,
    /// Files of keys and values.
    given: GivenContents,
    /// Clients that are not our own.
    drivers: ReadyDrivers,
    stacks: Option<StackSampling>,
    /// Which other measured run used the host when this one began.
    host_shared: Option<String>,
    provisions: Provisions,
    /// What came of the trials so far, in order: all that a strategy bases its next choice on.
    outcomes: Vec<TrialOutcome>,
    /// What was known when these trials began: the settings in force.
    starts: Vec<TrialStart>,
    /// All sessions of the run, this one the last: on which hosts its trials ran.
    sessions: Vec<Session>,
    /// How many trials have run, those included that conditioned a cluster which is gone.
    done: usize,
    /// Highest number of a trial.
    last_trial: u32,
    /// What had not settled when the load of the trial before was over.
    unsettled: Option<String>,
    /// What the load generator can do.
    limits: Limits,
}

impl RunInProgress<'_> {
    /// Goes on where the sessions before have ended.
    fn take_up(&mut self, before: EarlierSessions, session: &Session) -> Result<(), LabError> {
        let Some(last) = before.sessions.last() else { return Ok(()) };
        if let Some(warning) = resume::change_of_host(last, session) {
            (self.options.progress)(RunProgress::Warning(warning));
        }
        let count = before.outcomes.len();
        (self.options.progress)(RunProgress::Step(format!("going on after {count} finished trials")));
        for trial in before.repeated {
            (self.options.progress)(RunProgress::Step(format!(
                "trial {trial} was not finished and is run again"
            )));
            self.store.forget(trial)?;
        }
        self.outcomes = before.outcomes;
        self.starts = before.starts;
        Ok(())
    }

    /// Measures what the load generator can do, where that matters to the plan's answer.
    fn calibrate(&mut self, session: &Session) -> Result<(), LabError> {
        if !self.generators.is_empty() {
            // What this host can do says nothing of others.
            let (plan, given) = (&self.request.plan, &self.given);
            let (generators, may_go_on) = (&self.generators, &self.may_go_on);
            self.limits =
                calibration::elsewhere::measure(plan, generators, may_go_on, given, &mut self.options)?;
            return Ok(());
        }
        let hidden = self.secrets.variables();
        let given = (hidden.as_slice(), &self.given);
        let limits = calibration::measure(self.request, session, &self.may_go_on, given, &mut self.options);
        self.limits = limits?;
        Ok(())
    }

    /// One trial after the other, as the plan's strategy names them, until it stops or one cannot go on.
    fn trials(&mut self) -> Result<TrialsEnd, LabError> {
        let plan = &self.request.plan;
        loop {
            let trials = kdyno_plan::next(plan, &self.outcomes, self.session).trials();
            let Some(first) = trials.first() else { return Ok(TrialsEnd::Answered) };
            if let Some(stop) = self.may_go_on.must_end() {
                return Err(stop.into());
            }
            let longest_ns = kdyno_plan::longest_ns(plan, &self.outcomes, first, self.session);
            if let Some(why) = self.budget.too_late(monotonic_ns(), longest_ns) {
                (self.options.progress)(RunProgress::Warning(why.clone()));
                return Ok(TrialsEnd::OutOfTime(why));
            }
            self.budget.begin(monotonic_ns());
            self.tell_ended()?;
            // Strategies count the outcomes that they get; a run that goes on has more trials in its file.
            let numbered = trials.into_iter().zip(self.last_trial + 1..);
            let trials: Vec<Trial> = numbered.map(|(trial, id)| Trial { id: TrialId(id), ..trial }).collect();
            self.last_trial += u32::try_from(trials.len()).unwrap_or(u32::MAX);
            self.at_once(&trials)?;
        }
    }

    /// Reports processes that have ended while no trial ran on their system.
    fn tell_ended(&mut self) -> Result<(), LabError> {
        for ended in self.provisions.ended_between() {
            let detail = format!("{} ended between trials: {}", ended.subject, ended.how);
            (self.options.progress)(RunProgress::Warning(format!("{detail}; its cluster is replaced")));
            self.store.log(&ended.subject.to_string(), &ended.log.join("\n"))?;
            self.store.event(None, event(EventKind::ProcessDied, ended.subject, detail))?;
        }
        Ok(())
    }

    /// Trials that run at once, one or the two of a duet, with everything around them.
    fn at_once(&mut self, trials: &[Trial]) -> Result<(), LabError> {
        let plan = &self.request.plan;
        self.provide(trials)?;
        let of = trials_planned(plan);
        for trial in trials {
            (self.options.progress)(RunProgress::TrialStarted { trial: Box::new(trial.clone()), of });
        }
        let later_ns = kdyno_plan::load_ns_after(plan, self.done + trials.len());
        let mut contexts = Vec::new();
        let wall_offset_ns = wall_offset_ns();
        for trial in trials {
            let (standing, topics) = self.provisions.of(trial)?;
            contexts.push(TrialContext {
                trial,
                session: self.session,
                run_id: self.request.run_id,
                wall_offset_ns,
                system: &*standing.system,
                in_force: &standing.in_force,
                declared: &plan.environment,
                generators: &self.generators,
                generator_facts: calibration::facts(&self.limits, &trial.effective),
                topics: &topics.names,
                store: &self.store,
                self_exe: &self.options.self_exe,
                work_dir: folder_of(&self.options.work_dir, trial)?,
                may_go_on: self.may_go_on.clone(),
                named: &self.options.named,
                environment: &self.options.environment,
                private: &self.private,
                secrets: &self.secrets,
                given: &self.given,
                drivers: &self.drivers,
                stacks: self.stacks.as_ref(),
                of,
                later_ns,
            });
        }
        let cut_short = trial::run(&contexts, self.options.progress)?;
        for (trial, cut_short) in trials.iter().zip(&cut_short) {
            if cut_short.is_none() {
                let (standing, topics) = self.provisions.of(trial)?;
                let unsettled = settle::wait(&*standing.system, topics, &self.may_go_on);
                self.unsettled = self.unsettled.take().or(unsettled);
            }
            self.done += 1;
            self.judge(trial.clone())?;
            self.provisions.has_run(trial)?;
        }
        if let Some(reason) = cut_short.into_iter().flatten().next() {
            return Err(reason);
        }
        for trial in trials {
            self.provisions.retire_topics(plan, trial, self.options.progress)?;
        }
        Ok(())
    }

    /// Makes what the trials run on, and stores what is known before they begin: of the host once for all.
    fn provide(&mut self, trials: &[Trial]) -> Result<(), LabError> {
        let plan = &self.request.plan;
        for trial in trials {
            preflight::room_for_trial(plan, trial, &self.options.work_dir, &self.options.environment)?;
            let (run_id, options) = (self.request.run_id, &mut self.options);
            let provided =
                self.provisions.stand(plan, trial, run_id, options, &mut self.private, &self.secrets);
            provided.map_err(|error| of_side(plan, trial, error))?;
            self.provisions.make_topics(plan, trial, run_id, options, &self.private)?;
        }
        let unsettled = self.unsettled.take();
        let noise = kdyno_testbed::noise::measure()?;
        for trial in trials {
            let (standing, _) = self.provisions.of(trial)?;
            for event in known_before(trial, standing, self.host_shared.as_deref(), unsettled.clone()) {
                self.store.event(Some(trial.id), without_private(event, &self.private))?;
            }
            self.store.noise(trial.id, noise)?;
        }
        Ok(())
    }

    /// Draws the trial's numbers and caveats from what the store yields of it, stores and reports them.
    fn judge(&mut self, trial: Trial) -> Result<(), LabError> {
        let evidence = self.store.evidence(trial.id)?;
        let judgement = kdyno_analysis::trial::judge(&evidence)?;
        self.store.judgement(&judgement)?;
        self.store.course(kdyno_analysis::series::trial(&evidence)?)?;
        let outcome = TrialOutcome { session: self.session, ..TrialOutcome::new(trial, judgement) };
        self.starts.push(evidence.start.clone());
        (self.options.progress)(RunProgress::TrialEnded(Box::new(outcome.clone()), Box::new(evidence)));
        self.outcomes.push(outcome);
        Ok(())
    }

    /// What the trials say together: stored after the last one, however the run ends.
    fn judge_together(&self, is_out_of_time: bool) -> Result<(), LabError> {
        let trials: Vec<AnalysedTrial<'_>> = self.outcomes.iter().map(AnalysedTrial::of).collect();
        let (plan, starts, sessions) = (&self.request.plan, &self.starts, &self.sessions);
        let judgement = kdyno_analysis::run::judge(plan, &trials, starts, sessions, is_out_of_time);
        Ok(self.store.judgement(&judgement)?)
    }

    /// Takes everything down and writes the end. The first thing that went wrong is the one that is reported.
    fn close(mut self, ended: Result<TrialsEnd, LabError>) -> RunOutcome {
        let (out_of_time, mut failure) = match ended {
            Ok(TrialsEnd::Answered) => (None, None),
            Ok(TrialsEnd::OutOfTime(why)) => (Some(why), None),
            Err(error) => (None, Some(error)),
        };
        if let Some(error) = failure.as_ref().and_then(LabError::testbed)
            && !error.log_tail().is_empty()
        {
            // A store that has failed shows at its end, below.
            let _ = self.store.log("cluster", &error.log_tail().join("\n"));
        }
        let judged = self.judge_together(out_of_time.is_some());
        failure = self.provisions.take_down(failure.or(judged.err()), self.options.progress);
        if let Err(error) = self.generators.remove_pods() {
            let hint = LabError::from(error).in_passing();
            (self.options.progress)(RunProgress::Warning(hint));
        }
        let why = failure.as_ref().map(|error| self.private.hide(&error.to_string()));
        let end = SessionEnd {
            status: status(failure.as_ref(), out_of_time.is_some()),
            detail: why.or_else(|| out_of_time.clone()).unwrap_or_default(),
            ended_unix_ns: unix_ns(),
        };
        if let Err(error) = self.store.finish(end) {
            failure.get_or_insert(error.into());
        }
        // The content of its logs is in the run file; a folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.options.work_dir);
        RunOutcome {
            path: self.options.run_file.clone(),
            status: status(failure.as_ref(), out_of_time.is_some()),
            failure,
            caveats: self.outcomes.into_iter().flat_map(|outcome| outcome.caveats).collect(),
        }
    }
}

/// How trials came to their end when nothing went wrong.
enum TrialsEnd {
    /// The strategy wants no more of them.
    Answered,
    /// The budget might not hold another one; why, a lowercase sentence.
    OutOfTime(String),
}

fn status(failure: Option<&LabError>, is_out_of_time: bool) -> RunStatus {
    match failure {
        Some(LabError::Interrupted) => RunStatus::Interrupted,
        Some(_) => RunStatus::Failed,
        None if is_out_of_time => RunStatus::OutOfTime,
        None => RunStatus::Completed,
    }
}

/// Makes the folder for the logs of a trial's workers: those of two trials at once have the same numbers.
fn folder_of(work_dir: &Path, trial: &Trial) -> Result<PathBuf, LabError> {
    let path = work_dir.join(format!("trial-{}", trial.id));
    std::fs::create_dir_all(&path).map_err(|error| LabError::not_made(&path, &error))?;
    Ok(path)
}

/// How many trials the run will have, conditioning ones too; `None` when that depends on what they show.
fn trials_planned(plan: &Plan) -> Option<u32> {
    plan.strategy.trials_planned()?;
    u32::try_from(kdyno_plan::upcoming(plan, 0).count()).ok()
}

/// Names the side of a comparison whose system did not start.
fn of_side(plan: &Plan, trial: &Trial, error: LabError) -> LabError {
    let (Some(side), Strategy::Compare(comparison)) = (&trial.variant, &plan.strategy) else {
        return error;
    };
    let place = ComparePlan::SIDES.iter().position(|name| name == side);
    let label = place.and_then(|place| comparison.labels.get(place)).filter(|label| !label.is_empty());
    let side = label.map_or(side.clone(), |label| format!("{side} ({label})"));
    LabError::Side { side, source: Box::new(error) }
}

/// What speaks against a trial before it begins: settings that its brokers do not know, another run on the
/// host, a cluster that was just started or has not settled. Events of each trial, for each is to be judged by its own
/// evidence.
fn known_before(
    trial: &Trial,
    standing: &Provision,
    host_shared: Option<&str>,
    unsettled: Option<String>,
) -> Vec<Event> {
    let system = &standing.system;
    let unknown = system.unknown_settings().iter().map(|setting| {
        event(EventKind::UnknownSetting, Subject::Setting(setting.name.clone()), setting.to_string())
    });
    let unchecked = system
        .settings_unchecked()
        .map(|why| event(EventKind::SettingsUnchecked, Subject::Brokers, why.to_owned()));
    let shared = host_shared.map(|other| event(EventKind::HostShared, Subject::Host, other.to_owned()));
    let is_fresh =
        trial.effective.system.starts_brokers() && !standing.has_carried_load && !trial.is_conditioning();
    let fresh = is_fresh.then(|| {
        let detail = "the cluster had just been started and had received no load".to_owned();
        event(EventKind::Unconditioned, Subject::Brokers, detail)
    });
    let unsettled = unsettled.map(|detail| event(EventKind::ClusterUnsettled, Subject::Brokers, detail));
    unknown.chain(unchecked).chain(shared).chain(fresh).chain(unsettled).collect()
}

/// As the run file keeps it: a broker that could not be asked is named by its address.
fn without_private(event: Event, private: &Private) -> Event {
    Event { detail: private.hide(&event.detail), ..event }
}

/// Something that happened outside of a trial's time line.
fn event(kind: EventKind, subject: Subject, detail: String) -> Event {
    Event { at_unix_ns: unix_ns(), at_ns: None, kind, subject, detail }
}

#[cfg(test)]
mod tests;
