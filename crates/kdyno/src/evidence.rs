//! One stored run, read and made ready for a report.

use crate::environment::{ENDING, runs_dir};
use crate::failure::Failure;
use crate::out;
use crate::scenario_source::{self, last_part};
use kdyno_analysis::drawn::DrawnRun;
use kdyno_model::event::{Event, Subject};
use kdyno_model::evidence::TrialStacks;
use kdyno_model::finding::Finding;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::run::{RunStatus, Session};
use kdyno_model::sample::NoiseReading;
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::TrialId;
use kdyno_report::ReportInput;
use kdyno_scenario::input::nearest;
use kdyno_store::{RunFile, RunList, RunSummary, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Everything of one run that reports are made of.
pub(crate) struct RunEvidence {
    run: DrawnRun,
    events: Vec<(Option<TrialId>, Event)>,
    noise: Vec<(TrialId, NoiseReading)>,
    series: Vec<TrialSeries>,
    stacks: Vec<TrialStacks>,
}

impl RunEvidence {
    /// Reads what was drawn from a run when it was made, of trials without courses over time the rows. A run that was cut off,
    /// or could not store everything, has rows from which nothing has been drawn yet: it is analysed here.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let file = RunFile::open(path)?;
        let mut run = Self::stored(&file)?;
        let is_analysed = run.run.is_analysed();
        let mut outcomes = Vec::new();
        for start in &run.run.trials {
            let id = start.trial.id;
            run.noise.extend(file.noise(id)?.into_iter().map(|reading| (id, reading)));
            if is_analysed && let Some(series) = file.course(id)? {
                run.series.push(series);
                continue;
            }
            let evidence = file.evidence(id)?;
            run.series.push(kdyno_analysis::series::trial(&evidence).map_err(Failure::tool)?);
            if !is_analysed {
                let drawn = kdyno_analysis::trial::judge(&evidence).map_err(Failure::tool)?;
                outcomes.push(TrialOutcome::of_start(start, drawn));
            }
        }
        if !is_analysed {
            run.run.draw(outcomes);
        }
        Ok(run.stated())
    }

    /// The evidence with the stacks that were sampled, for the page.
    pub(crate) fn read_with_stacks(path: &Path) -> Result<Self, Failure> {
        let mut run = Self::read(path)?;
        let file = RunFile::open(path)?;
        for (trial, subject, _) in file.sampled()? {
            run.stacks.extend(file.stacks(trial, &subject)?);
        }
        Ok(run)
    }

    /// Reads what was drawn from a run when it was made, and none of its rows: they are many, and tables and sentences
    /// need none of them. Without courses over time and readings of noise.
    pub(crate) fn read_judged(path: &Path) -> Result<Self, Failure> {
        let run = Self::stored(&RunFile::open(path)?)?;
        if run.run.is_analysed() { Ok(run.stated()) } else { Self::read(path) }
    }

    /// What is to be stored of a series that is imported into a run.
    pub(crate) fn drawn_from_import(
        file: &RunFile,
        subject: &Subject,
        of_trials: Vec<Finding>,
    ) -> Result<Judgement, Failure> {
        Ok(Self::stored(file)?.run.drawn_from_import(subject, of_trials))
    }

    fn stated(self) -> Self {
        Self { run: self.run.stated(), ..self }
    }

    fn stored(file: &RunFile) -> Result<Self, Failure> {
        let run = DrawnRun {
            header: file.header()?,
            sessions: file.sessions()?,
            is_live: file.is_live(),
            goes_on: None,
            trials: file.trials()?,
            judgement: file.judgement()?,
        };
        let (noise, series, stacks) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { run, events: file.events()?, noise, series, stacks })
    }

    /// Its sessions, in order.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.run.sessions()
    }

    /// Which run it is, wherever its file lies.
    pub(crate) fn run_id(&self) -> u64 {
        self.run.header.run_id
    }

    /// When its first session began, ns since 1970.
    pub(crate) fn started_unix_ns(&self) -> u64 {
        self.sessions().next().map_or(0, |session| session.started_unix_ns)
    }

    /// The same, as reports take it.
    pub(crate) fn input(&self) -> ReportInput<'_> {
        let DrawnRun { header, sessions, is_live, goes_on, trials, judgement } = &self.run;
        let Judgement { findings, caveats, conclusions } = judgement;
        ReportInput {
            header,
            sessions,
            is_live: *is_live,
            goes_on: *goes_on,
            trials,
            events: &self.events,
            noise: &self.noise,
            findings,
            caveats,
            conclusions,
            series: &self.series,
            stacks: &self.stacks,
        }
    }
}

/// The files of all runs of a scenario, oldest first; none when it is not the name of one that ran.
pub(crate) fn runs_of_scenario(named: &str, dir: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    Ok(runs_of(named, dir)?.into_iter().map(|run| run.path).collect())
}

fn runs_of(named: &str, dir: Option<&Path>) -> Result<Vec<RunSummary>, Failure> {
    let folder = runs_dir(dir)?;
    if Path::new(named).is_file() || !folder.is_dir() {
        return Ok(Vec::new());
    }
    let scenario = if scenario_source::bundled(named).is_ok() { last_part(named) } else { named };
    let mut runs = kdyno_store::list(&folder)?.runs;
    runs.retain(|run| run.scenario == scenario);
    Ok(runs)
}

/// The newest run of a scenario that ended as planned, of those without `--set` where there are any, and a word about a newer one
/// that was passed over; `None` where no scenario that ran was named, or none of its runs ended so.
pub(crate) fn newest_whole_run(named: &str, dir: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let of_scenario = runs_of(named, dir)?;
    let is_whole = |run: &RunSummary| run.end.as_ref().is_some_and(|end| end.status == RunStatus::Completed);
    let as_written = of_scenario.iter().rfind(|run| is_whole(run) && run.changed.is_empty());
    let Some(whole) = as_written.or_else(|| of_scenario.iter().rfind(|run| is_whole(run))) else {
        return Ok(None);
    };
    let (path, profile) = (whole.path.display(), &whole.profile);
    out::note(&format!("the newest whole run of {named} is {path}, profile {profile}"));
    if let Some(newer) = of_scenario.last().filter(|run| run.path != whole.path) {
        let why = match is_whole(newer) {
            true => "was changed by `--set`",
            false if newer.live => "goes on",
            false => "did not end as planned",
        };
        let newer = newer.path.display();
        out::note(&format!("{newer} is newer and {why}; name it to have it instead"));
    }
    Ok(Some(whole.path.clone()))
}

/// The run that was named: a file, `latest`, a file's whole name in the folder of runs without its ending, a scenario
/// for its newest run there, or the beginning of a file's name.
pub(crate) fn find_run(named: &str, dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = Path::new(named);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let folder = runs_dir(dir)?;
    let RunList { mut runs, unreadable } = kdyno_store::list(&folder)?;
    if named == "latest" {
        left_out(&unreadable);
        return runs.pop().map(|run| run.path).ok_or_else(|| {
            Failure::usage(format!("there is no run in {}", folder.display()))
                .hint("`kdyno run first-light` makes one; `--dir DIR` names another folder")
        });
    }
    let whole = folder.join(format!("{named}.{ENDING}"));
    if !named.contains('/') && whole.is_file() {
        return Ok(whole);
    }
    // A run knows a bundled scenario by the last part of its name.
    let scenario = if scenario_source::bundled(named).is_ok() { last_part(named) } else { named };
    if let Some(run) = runs.iter().rfind(|run| run.scenario == scenario) {
        out::note(&format!("the newest run of {named} is {}", run.path.display()));
        return Ok(run.path.clone());
    }
    let scenarios: BTreeSet<String> = runs.iter().map(|run| run.scenario.clone()).collect();
    let mut paths: Vec<PathBuf> = runs.into_iter().map(|run| run.path).collect();
    let stems: Vec<String> =
        paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    paths.extend(unreadable.into_iter().map(|(path, _)| path));
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(named)));
    let hint = "`latest` is the newest, a scenario's name its newest run; `kdyno runs` lists all";
    match paths.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let there = scenarios.iter().chain(&stems).map(String::as_str);
            let meant = nearest(named.strip_suffix(&format!(".{ENDING}")).unwrap_or(named), there);
            let meant = meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let message = format!("there is no run `{named}`, neither as a file nor in {}", folder.display());
            Err(Failure::usage(message).hint(format!("{meant}{hint}")))
        }
        several => Err(Failure::usage(format!(
            "{} runs in {} begin with `{named}`",
            several.len(),
            folder.display()
        ))
        .hint(hint)),
    }
}

/// One line for the files that no run could be read from.
fn left_out(unreadable: &[(PathBuf, StoreError)]) {
    match unreadable {
        [] => {}
        [(_, error)] => out::note(&format!("left out: {error}")),
        [(_, first), more @ ..] => {
            out::note(&format!("left out: {first}, and {} more; `kdyno runs` names them", more.len()))
        }
    }
}

impl From<StoreError> for Failure {
    /// What is no run file was named by mistake; everything else went wrong with one.
    fn from(error: StoreError) -> Self {
        let hint = error.hint().map(ToOwned::to_owned);
        let StoreError::NotARunFile { path, .. } = &error else { return Self::tool(&error).maybe_hint(hint) };
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let scenario = || {
            let path = path.display();
            format!("a scenario is run with `kdyno run {path}`; `kdyno runs` lists the runs that are stored")
        };
        Self::usage(&error).maybe_hint(is_yaml.then(scenario).or(hint))
    }
}

/// The name of a run's file, without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
