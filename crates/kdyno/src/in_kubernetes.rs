//! `--in kubernetes`: a pod runs the lab. What is before that, from the files to the plan, and what is after it, the answer, the page
//! and the exit code, is done here.

use crate::cli::ExecutionArgs;
use crate::execution::{PlannedExecution, RunAt, Way, random_u64};
use crate::failure::{Exit, Failure};
use crate::{generators, given_files, out, signals};
use kdyno_kubernetes::objects;
use kdyno_lab::generator::{LabFailure, LabPod, LabRequest, LabTask};
use kdyno_lab::{LabError, RunOutcome};
use kdyno_model::generator::{GeneratorHost, GeneratorPods};
use kdyno_model::run::RunStatus;
use kdyno_store::RunFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Longest line of the lab that is not broken, bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Where generators say that a lab runs, if they do.
pub(crate) fn pods_of(hosts: &[GeneratorHost]) -> Result<Arc<GeneratorPods>, Failure> {
    let pods = GeneratorPods::among(hosts).ok_or_else(|| {
        Failure::usage("--in kubernetes: the generators name no pods")
            .hint("`kubernetes: {image: NAME@sha256:…, pods: 1}` says where the lab runs")
    })?;
    if hosts.len() > usize::from(pods.count) {
        return Err(Failure::usage("--in kubernetes: a lab in a pod takes no `hosts` of the generators")
            .hint("pods carry its load: `kubernetes` with a `service_account`, or its own pod"));
    }
    Ok(pods)
}

/// Has a pod execute the plan, and fetches its evidence. A signal stops the run, whose evidence is kept.
pub(crate) fn measure(
    planned: PlannedExecution,
    way: Way<'_>,
    args: &ExecutionArgs,
) -> Result<RunOutcome, Failure> {
    if planned.resumed.is_some() {
        return Err(Failure::usage("--in kubernetes: an interrupted run goes on where its file is")
            .hint("without --in it goes on from this host"));
    }
    let pods = pods_of(&way.generators)?;
    let at = RunAt::of(&planned, way.out)?;
    let run_file = at.run_file.clone();
    let request = request(planned, way, at, args)?;
    if let Some(folder) = run_file.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::tool)?;
    }
    let id = random_u64();
    let job = objects::name(id);
    let words =
        format!("ended at once; the run goes on in job {job}, and the pod waits an hour after its end");
    let stop = signals::stop_flag_with(move || words)?;
    let mut say = |what: String| {
        if !request.task.no_progress {
            out::note(&what);
        }
    };
    let mut lab = LabPod::start(&pods, id, &stop, &mut say)?;
    say(format!("the lab runs in the pod of job {job}"));
    let ended = run(&lab, &request, &stop, &run_file).map_err(|failure| match &pods.claim {
        Some(claim) => {
            let name = &request.task.run_file;
            failure.hint(format!("claim {claim} has its file: `kdyno kubernetes fetch FILE {name}`"))
        }
        None => failure,
    });
    if let Err(error) = lab.remove() {
        out::note(&format!("warning: {error}"));
    }
    let (failure, is_there) = ended?;
    outcome(failure, is_there.then_some(run_file))
}

/// The plan with all that it reads here.
fn request(
    planned: PlannedExecution,
    way: Way<'_>,
    at: RunAt,
    args: &ExecutionArgs,
) -> Result<LabRequest, Failure> {
    let PlannedExecution { mut plan, scenario_text, scenario_path, .. } = planned;
    let variables = kdyno_lab::as_variables(&mut plan, way.variables)?;
    let file = |path: String| match given_files::read(&path) {
        Ok(content) => Ok((path, content)),
        Err(why) => Err(Failure::usage(format!("the file {path} {why}"))),
    };
    let files = kdyno_lab::given_paths(&plan).into_iter().map(file).collect::<Result<_, _>>()?;
    let has_account = pods_of(&way.generators)?.service_account.is_some();
    let generators = match args.generators.as_deref().filter(|_| has_account) {
        Some(path) => Some(generators::text(path)?),
        None => None,
    };
    let task = LabTask {
        plan,
        scenario_text,
        scenario_path,
        command_line: way.command_line,
        git_head: at.git_head,
        run_id: at.run_id,
        run_file: at.run_file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        generators,
        no_progress: args.no_progress || args.quiet,
    };
    Ok(LabRequest { task, variables, files })
}

/// What stopped the run, if something did, and whether its file is here.
fn run(
    lab: &LabPod,
    request: &LabRequest,
    stop: &AtomicBool,
    run_file: &Path,
) -> Result<(Option<LabFailure>, bool), Failure> {
    let mut lines = OutputLines::default();
    let failure = lab.run(request, stop, &mut |piece| lines.take(piece).for_each(|line| out::note(&line)))?;
    let is_there = lab.fetch(&request.task.run_file, run_file, &mut Vec::new())?;
    Ok((failure, is_there))
}

/// What a run in a pod comes to here: the same as one on this host.
fn outcome(failure: Option<LabFailure>, run_file: Option<PathBuf>) -> Result<RunOutcome, Failure> {
    let exit = |code: u8| match code {
        2 => Exit::Usage,
        130 => Exit::Interrupted,
        _ => Exit::ToolFailed,
    };
    let failure = failure.map(|LabFailure { exit: code, message, hint }| Failure {
        hint,
        ..Failure::new(exit(code), message)
    });
    let Some(path) = run_file else {
        return Err(failure.unwrap_or_else(|| Failure::tool("the lab in the pod made no run file")));
    };
    let failure = failure.map(|failure| match failure.exit {
        Exit::Interrupted => LabError::Interrupted,
        _ => LabError::Failed { message: failure.message, hint: failure.hint },
    });
    let status = match &failure {
        None => RunStatus::Completed,
        Some(LabError::Interrupted) => RunStatus::Interrupted,
        Some(_) => RunStatus::Failed,
    };
    let caveats = RunFile::open(&path)?.judgement()?.caveats;
    Ok(RunOutcome { path, status, failure, caveats })
}

/// Output in pieces, line by line.
#[derive(Debug, Default)]
struct OutputLines(Vec<u8>);

impl OutputLines {
    /// The lines that are whole now.
    fn take(&mut self, piece: &[u8]) -> impl Iterator<Item = String> {
        self.0.extend_from_slice(piece);
        let end = self.0.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = if self.0.len() - end > LINE_BYTES_MAX { self.0.len() } else { end };
        let whole: Vec<u8> = self.0.drain(..end).collect();
        let whole = String::from_utf8_lossy(&whole).into_owned();
        whole.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_scenario::generators::Generators;

    fn hosts(text: &str) -> Vec<GeneratorHost> {
        let digest = "0".repeat(64);
        let pods = format!("kubernetes: {{image: 'r.example/kdyno@sha256:{digest}', pods: 2}}");
        Generators::parse(&text.replace("PODS", &pods), "g.yaml").expect("generators").hosts
    }

    #[test]
    fn a_lab_in_a_pod_takes_pods_alone() {
        assert_eq!(pods_of(&hosts("PODS\n")).expect("pods").count, 2);
        for (text, wanted) in [
            ("hosts: [{ssh: gen-1}]\n", "name no pods"),
            ("hosts: [{ssh: gen-1}]\nPODS\n", "takes no `hosts`"),
        ] {
            let failure = pods_of(&hosts(text)).expect_err(text);
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.contains(wanted) && failure.hint.is_some(), "{failure:?}");
        }
    }

    #[test]
    fn output_is_printed_in_whole_lines() {
        let mut lines = OutputLines::default();
        let mut take = |piece: &str| lines.take(piece.as_bytes()).collect::<Vec<_>>();
        assert!(take("one").is_empty());
        assert_eq!(take(" more\ntwo\nthr"), ["one more", "two"]);
        assert_eq!(take("ee\n"), ["three"]);
        assert_eq!(take(&"x".repeat(LINE_BYTES_MAX + 1)).len(), 1, "a line without end");
    }

    #[test]
    fn a_run_that_has_no_file_ends_as_it_did_there() {
        let failed = |exit, message: &str| {
            let failure = LabFailure { exit, message: message.to_owned(), hint: Some("h".to_owned()) };
            outcome(Some(failure), None).expect_err("no file")
        };
        let failure = failed(2, "secret `a` is empty");
        assert_eq!((failure.exit, failure.hint.as_deref()), (Exit::Usage, Some("h")));
        assert_eq!(failed(130, "interrupted").exit, Exit::Interrupted);
        assert_eq!(failed(1, "no broker").message, "no broker");
        let none = outcome(None, None).expect_err("no file");
        assert_eq!(none.message, "the lab in the pod made no run file");
    }
}
