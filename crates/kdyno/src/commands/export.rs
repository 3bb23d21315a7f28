//! `kdyno export`: a stored run for other tools.

use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::{export_parquet, export_stacks};
use crate::evidence::{RunEvidence, find_run};
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use kdyno_model::trial::TrialId;
use kdyno_report::judged::Gate;
use kdyno_store::RunFile;
use std::path::Path;

/// Writes the run in the requested format.
pub(crate) fn export(args: &ExportArgs) -> CommandResult {
    if args.against.is_some() && args.format != ExportFormat::Flame {
        return Err(Failure::usage("`--against` is for `--format flame`"));
    }
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    let bytes = match args.format {
        ExportFormat::Hlog => response_log(&path, trial(&path, args)?)?.into_bytes(),
        ExportFormat::Flame | ExportFormat::Collapsed | ExportFormat::Jfr => {
            export_stacks::export(&path, trial(&path, args)?, args)?
        }
        ExportFormat::Scenario => RunFile::open(&path)?.header()?.scenario_text.into_bytes(),
        ExportFormat::Kubernetes => kubernetes(&RunEvidence::read(&path)?, trial(&path, args)?)?.into_bytes(),
        format @ (ExportFormat::Csv | ExportFormat::Markdown | ExportFormat::Junit) => {
            of_evidence(&RunEvidence::read_judged(&path)?, format)?
        }
        format => of_evidence(&RunEvidence::read(&path)?, format)?,
    };
    match &args.out {
        None => out::data(&bytes)?,
        Some(target) => out::file(target, &bytes)?,
    }
    Ok(Exit::Done)
}

/// A whole run in a form that takes neither a trial's number nor anything else.
pub(crate) fn of_evidence(evidence: &RunEvidence, format: ExportFormat) -> Result<Vec<u8>, Failure> {
    let input = evidence.input();
    let text = match format {
        ExportFormat::Csv => kdyno_report::csv::findings(&input),
        ExportFormat::SeriesCsv => kdyno_report::csv::series(&input),
        ExportFormat::SeriesParquet => return export_parquet::series(&input).map_err(Failure::tool),
        ExportFormat::Markdown => kdyno_report::markdown::block(&input),
        ExportFormat::Junit => kdyno_report::junit::document(&input, Gate::default()),
        ExportFormat::Json
        | ExportFormat::Hlog
        | ExportFormat::Flame
        | ExportFormat::Collapsed
        | ExportFormat::Jfr
        | ExportFormat::Scenario
        | ExportFormat::Kubernetes => kdyno_report::json::text(&kdyno_report::json::run(&input)),
    };
    Ok(text.into_bytes())
}

/// The requested trial, else the first one that did not only condition a cluster.
fn trial(path: &Path, args: &ExportArgs) -> Result<TrialId, Failure> {
    if let Some(number) = args.trial {
        return Ok(TrialId(number));
    }
    let trials = RunFile::open(path)?.trials()?;
    let counted = trials.iter().find(|start| !start.trial.is_conditioning());
    Ok(counted.map_or(TrialId(1), |start| start.trial.id))
}

/// The cluster of one trial, by its number, as resources of Kubernetes.
fn kubernetes(evidence: &RunEvidence, trial: TrialId) -> Result<String, Failure> {
    kdyno_report::kubernetes::document(&evidence.input(), trial)
        .map_err(|why| Failure::usage(why.message).maybe_hint(why.hint.map(str::to_owned)))
}

/// The response times of one trial, by its number.
fn response_log(path: &Path, trial: TrialId) -> Result<String, Failure> {
    let file = RunFile::open(path)?;
    let trials = file.trials()?;
    let start = trials
        .iter()
        .find(|start| start.trial.id == trial)
        .ok_or_else(|| Failure::usage(format!("there is no trial {trial}: {} were started", trials.len())))?;
    if start.streams.is_empty() {
        return Err(Failure::usage(format!(
            "trial {trial} produces and consumes nothing itself, so it has no latencies of records"
        ))
        .hint("response times of commands and users over time: `--format series-csv`"));
    }
    kdyno_report::hlog::response_log(&file.evidence(start.trial.id)?).map_err(Failure::tool)
}
