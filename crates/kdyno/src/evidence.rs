//! One stored run, read and made ready for a report.

use crate::environment::runs_dir;
use crate::failure::Failure;
use crate::out;
use crate::scenario_source::{self, last_part};
use kdyno_analysis::TrialEvidence;
use kdyno_model::finding::Finding;
use kdyno_model::plan::TrialRef;
use kdyno_model::run::{Event, RunEnd, RunHeader, TrialStart};
use kdyno_model::sample::NoiseReading;
use kdyno_model::series::TrialSeries;
use kdyno_report::{ReportInput, TrialCaveat};
use kdyno_store::{RunFile, RunList, StoreError};
use std::path::{Path, PathBuf};

/// What a run file ends in.
pub(crate) const ENDING: &str = "kdyno";

/// Everything of one run that reports are made of.
pub(crate) struct Evidence {
    header: RunHeader,
    end: Option<RunEnd>,
    trials: Vec<TrialStart>,
    events: Vec<(Option<TrialRef>, Event)>,
    noise: Vec<(TrialRef, NoiseReading)>,
    findings: Vec<Finding>,
    caveats: Vec<TrialCaveat>,
    series: Vec<TrialSeries>,
}

impl Evidence {
    /// Reads a run file whole.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let file = RunFile::open(path)?;
        let header = file.header()?;
        let trials = file.trials()?;
        let mut noise = Vec::new();
        let mut series = Vec::new();
        let (mut findings, mut caveats) = (file.findings()?, file.caveats()?);
        for start in &trials {
            noise.extend(file.noise(start.trial)?.into_iter().map(|reading| (start.trial, reading)));
            // A trial that was cut off, with kdyno itself, has samples but nothing drawn from them yet.
            let has_findings = findings.iter().any(|finding| finding.trial == start.trial);
            with_evidence(&file, &header, start, |evidence| {
                series.push(kdyno_analysis::series::trial(evidence).map_err(Failure::tool)?);
                if !has_findings {
                    let (own, doubts) = kdyno_analysis::trial::findings(evidence).map_err(Failure::tool)?;
                    findings.extend(own);
                    caveats
                        .extend(doubts.into_iter().map(|(severity, caveat)| (start.trial, severity, caveat)));
                }
                Ok(())
            })?;
        }
        Ok(Self {
            end: file.end()?,
            events: file.events()?,
            findings,
            caveats,
            header,
            trials,
            noise,
            series,
        })
    }

    /// The same, as reports take it.
    pub(crate) fn input(&self) -> ReportInput<'_> {
        ReportInput {
            header: &self.header,
            end: self.end.as_ref(),
            trials: &self.trials,
            events: &self.events,
            noise: &self.noise,
            findings: &self.findings,
            caveats: &self.caveats,
            series: &self.series,
        }
    }

    /// How the run ended; `None` when it was cut off.
    pub(crate) fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }
}

/// Puts together what is stored of one trial and hands it to `use_it`; a trial of no case is passed over.
fn with_evidence(
    file: &RunFile,
    header: &RunHeader,
    start: &TrialStart,
    use_it: impl FnOnce(&TrialEvidence<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(case) = header.plan.cases.get(start.trial.case as usize) else {
        return Ok(());
    };
    let mut events = file.events()?;
    events.retain(|(trial, _)| *trial == Some(start.trial));
    let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
    let evidence = TrialEvidence {
        plan: case,
        trial: start.trial,
        phases: &start.phases,
        streams: &start.streams,
        samples: &file.samples(start.trial)?,
        probes: &file.probes(start.trial)?,
        totals: &file.totals(start.trial)?,
        events: &events,
        noise: &file.noise(start.trial)?,
        attached_here: start.is_attached_here(),
        processors: processors(header),
        worker_threads: u32::try_from(start.streams.len()).unwrap_or(u32::MAX),
    };
    use_it(&evidence)
}

/// Processors of the host the run took place on.
fn processors(header: &RunHeader) -> u32 {
    header.host_facts.get("processors").and_then(|count| count.parse().ok()).unwrap_or(1)
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
    let mut paths: Vec<PathBuf> = runs.into_iter().map(|run| run.path).collect();
    paths.extend(unreadable.into_iter().map(|(path, _)| path));
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(named)));
    let hint = "`latest` is the newest, a scenario's name its newest run; `kdyno runs` lists all";
    match paths.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::usage(format!(
            "there is no run `{named}`, neither as a file nor in {}",
            folder.display()
        ))
        .hint(hint)),
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
    fn from(error: StoreError) -> Self {
        Self::tool(&error).maybe_hint(error.hint().map(ToOwned::to_owned))
    }
}
