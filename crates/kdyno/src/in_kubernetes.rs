//! `--in kubernetes`: a pod runs the lab. What is before that, from the files to the plan, and what is after it, the answer, the page
//! and the exit code, is done here.

use crate::failure::{Exit, Failure};
use crate::{generators, given_files, out, signals};
use kdyno_kubernetes::objects;
use kdyno_lab::generator::{LabFailure, LabPod, LabRequest, LabTask};
use kdyno_lab::{LabError, RunOutcome};
use kdyno_model::generator::GeneratorHost;
use kdyno_model::run::RunStatus;
use kdyno_store::RunFile;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Longest line of the lab that is not broken, bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A run that a pod is to execute.
pub(crate) struct RunInPod<'a> {
    /// With the plan as it was made here, and without generators.
    pub(crate) task: LabTask,
    /// Where the run file is to be here.
    pub(crate) run_file: PathBuf,
    /// Identifies the pod.
    pub(crate) id: u64,
    /// The file of generators, and what it names.
    pub(crate) generators: (&'a Path, &'a [GeneratorHost]),
    /// Values of secrets that the plan takes from environment variables.
    pub(crate) variables: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Has a pod execute the plan, and fetches its evidence. A signal stops the run, whose evidence is kept.
pub(crate) fn measure(run: RunInPod<'_>) -> Result<RunOutcome, Failure> {
    let RunInPod { task, run_file, id, generators: (file, hosts), variables } = run;
    let pods = generators::of_lab(hosts)?;
    let request = request(task, variables, pods.service_account.is_some().then_some(file))?;
    if let Some(folder) = run_file.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::tool)?;
    }
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
    say(format!("the lab runs in the pod of job {}", objects::name(id)));
    let is_kept = pods.claim.is_some();
    let ended = run_there(&lab, &request, &stop, (&run_file, is_kept)).map_err(|failure| match &pods.claim {
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

/// The task with all that it reads here; `generators` is the file of those that carry its load.
fn request(
    mut task: LabTask,
    variables: &dyn Fn(&str) -> Option<OsString>,
    generators: Option<&Path>,
) -> Result<LabRequest, Failure> {
    let variables = kdyno_lab::as_variables(&mut task.plan, variables)?;
    let file = |path: String| match given_files::read(&path) {
        Ok(content) => Ok((path, content)),
        Err(why) => Err(Failure::usage(format!("the file {path} {why}"))),
    };
    let files = kdyno_lab::given_paths(&task.plan).into_iter().map(file).collect::<Result<_, _>>()?;
    task.generators = generators.map(generators::text).transpose()?;
    Ok(LabRequest { task, variables, files })
}

/// What stopped the run, if something did, and whether its file is here. Where that is not kept there, it is the only one.
fn run_there(
    lab: &LabPod,
    request: &LabRequest,
    stop: &AtomicBool,
    (run_file, is_kept): (&Path, bool),
) -> Result<(Option<LabFailure>, bool), Failure> {
    let mut lines = OutputLines::default();
    let failure = lab.run(request, stop, &mut |piece| lines.take(piece).for_each(|line| out::note(&line)));
    if let Some(line) = lines.rest() {
        out::note(&line);
    }
    let failure = failure?;
    let name = &request.task.run_file;
    let is_there = match is_kept {
        true => lab.fetch(name, run_file, &mut Vec::new(), None)?,
        false => lab.fetch_only(name, run_file, stop, &mut |what| out::note(&what))?,
    };
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

    /// What came of a line whose end did not.
    fn rest(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| String::from_utf8_lossy(&self.0).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_printed_in_whole_lines() {
        let mut lines = OutputLines::default();
        let mut take = |piece: &str| lines.take(piece.as_bytes()).collect::<Vec<_>>();
        assert!(take("one").is_empty());
        assert_eq!(take(" more\ntwo\nthr"), ["one more", "two"]);
        assert_eq!(take("ee\n"), ["three"]);
        assert_eq!(take(&"x".repeat(LINE_BYTES_MAX + 1)).len(), 1, "a line without end");
        assert!(take("cut o").is_empty());
        assert_eq!(lines.rest().as_deref(), Some("cut o"));
        assert_eq!(OutputLines::default().rest(), None);
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
