//! `kdyno lab`: executes the run that standard input holds, in a pod whose agent starts it.

use super::descriptors;
use crate::cli::LabArgs;
use crate::execution::{PlannedExecution, RunAt, TargetFiles, Way, measure_at};
use crate::failure::{CommandResult, Exit, Failure};
use crate::looks::ComparisonLooks;
use crate::out;
use crate::progress::Printer;
use kdyno_lab::generator::{LabFailure, LabRequest};
use kdyno_lab::{LabError, RunOutcome};
use kdyno_model::generator::{GeneratorHost, GeneratorPods};
use kdyno_scenario::generators::Generators;
use kdyno_store::StoreError;
use kdyno_testbed::probe::named::NamedProcesses;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

/// Runs it; standard output gets what stopped it.
pub(crate) fn lab(args: &LabArgs) -> CommandResult {
    // Before it reads secrets.
    kdyno_credentials::close_memory();
    descriptors::allow_all();
    let failure = match run(&args.runs) {
        Ok(outcome) => outcome.failure.map(in_pod),
        Err(failure) => Some(failure),
    };
    let failure =
        failure.map(|Failure { exit, message, hint, .. }| LabFailure { exit: exit as u8, message, hint });
    out::data(serde_json::to_vec(&failure).map_err(Failure::tool)?)?;
    Ok(Exit::Done)
}

/// What stopped it, with what can be done about a pod.
fn in_pod(error: LabError) -> Failure {
    let is_full = matches!(error, LabError::Store(StoreError::DiskFull { .. }));
    let failure = Failure::from(error);
    match is_full {
        true => failure
            .hint("that is the disk of its pod: `claim` in the generators names a volume with more room"),
        false => failure,
    }
}

fn run(runs: &Path) -> Result<RunOutcome, Failure> {
    let request = LabRequest::read(&mut std::io::stdin().lock()).map_err(Failure::tool)?;
    let LabRequest { task, variables, files } = request;
    let at =
        RunAt { run_id: task.run_id, run_file: runs.join(&task.run_file), git_head: task.git_head.clone() };
    let generators = task.generators.as_deref().map_or(Ok(Vec::new()), pods_of)?;
    let planned = PlannedExecution {
        plan: task.plan,
        scenario_text: task.scenario_text,
        scenario_path: task.scenario_path,
        target_files: TargetFiles::new(),
        remarks: Vec::new(),
        resumed: None,
    };
    let mut printer = Printer::new(task.no_progress, ComparisonLooks::of(&planned.plan));
    let way = Way {
        out: None,
        named: NamedProcesses::default(),
        generators,
        share: false,
        wait: Duration::ZERO,
        command_line: task.command_line,
        variables: &|name| {
            let value = variables.get(name)?;
            Some(OsString::from_vec(value.expose().to_vec()))
        },
        progress: &mut |progress| printer.tell(progress),
    };
    let files = |path: &str| files.get(path).cloned().ok_or_else(|| "was not sent with the run".to_owned());
    measure_at(at, planned, way, &files)
}

/// The pods that carry the load: in the cluster that this pod is in, whatever the context was called elsewhere.
fn pods_of(text: &str) -> Result<Vec<GeneratorHost>, Failure> {
    let hosts = Generators::parse(text, "the generators")?.hosts;
    let pods = GeneratorPods::among(&hosts).map(|pods| GeneratorPods { context: None, ..(*pods).clone() });
    Ok(pods.map(GeneratorPods::hosts).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_of_the_pod_is_named_as_that() {
        let hint = |error: StoreError| in_pod(error.into()).hint.unwrap_or_default();
        let path = || Path::new("/runs/small.kdyno").to_path_buf();
        assert!(hint(StoreError::DiskFull { path: path() }).contains("`claim` in the generators"));
        assert_eq!(hint(StoreError::InUse { path: path() }), "wait until the run ends");
    }
}
