//! The runs of a folder, by their heads and ends.

use crate::error::StoreError;
use crate::reader::RunFile;
use kdyno_model::run::SessionEnd;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Ending of a run file's name.
const EXTENSION: &str = "kdyno";

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Identifies the run; printed as 16 hexadecimal digits.
    pub run_id: u64,
    /// When its first session began.
    pub started_unix_ns: u64,
    /// Scenario id.
    pub scenario: String,
    /// Profile in force.
    pub profile: String,
    /// The attached cluster's target; `None`: clusters of kdyno's own.
    pub target: Option<String>,
    /// Parameters that `--set` changed: name to printed value.
    pub changed: BTreeMap<String, String>,
    /// The command line of its first session, as it is kept.
    pub command_line: Vec<String>,
    /// Trials of the plan; `None`: not known beforehand.
    pub trials_planned: Option<u32>,
    /// Trials that were started; those that only condition a cluster are not counted.
    pub trials_started: u32,
    /// Its sessions; more than one: it was resumed.
    pub sessions: u32,
    /// How the last session ended; `None`: cut off, or still going on (see `live`).
    pub end: Option<SessionEnd>,
    /// Whether it has no end and somebody else has the file open: the run goes on.
    pub live: bool,
}

/// The runs of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunList {
    /// Runs that can be read, oldest first.
    pub runs: Vec<RunSummary>,
    /// Files that are named like run files and cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, StoreError)>,
}

/// Every `*.kdyno` file directly in a folder. Reads heads and ends, never samples. A folder that does not
/// exist has no runs.
pub fn list(folder: &Path) -> Result<RunList, StoreError> {
    list_by(folder, &mut summary)
}

/// The same, each file read by `read`: for who has read some of them before.
pub fn list_by(
    folder: &Path,
    read: &mut dyn FnMut(&Path) -> Result<RunSummary, StoreError>,
) -> Result<RunList, StoreError> {
    let unreadable =
        |error: std::io::Error| StoreError::Read { path: folder.to_path_buf(), reason: error.to_string() };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(RunList::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut found = RunList::default();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            match read(&path) {
                Ok(run) => found.runs.push(run),
                Err(error) => found.unreadable.push((path, error)),
            }
        }
    }
    found.runs.sort_by(|a, b| (a.started_unix_ns, &a.path).cmp(&(b.started_unix_ns, &b.path)));
    found.unreadable.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// One run file's line of the list.
///
/// # Errors
/// It cannot be read, is no run file, or has no session.
pub fn summary(path: &Path) -> Result<RunSummary, StoreError> {
    let file = RunFile::open(path)?;
    let line = file.line()?;
    let mut sessions = file.sessions()?;
    let first = sessions.first().map(|(first, _)| (first.started_unix_ns, first.command_line.clone()));
    let (started_unix_ns, command_line) =
        first.ok_or_else(|| StoreError::damaged(path, "it has no session"))?;
    let count = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
    let end = sessions.pop().and_then(|(_, end)| end);
    Ok(RunSummary {
        path: path.to_path_buf(),
        bytes: std::fs::metadata(path).map_or(0, |found| found.len()),
        run_id: line.run_id,
        started_unix_ns,
        scenario: line.scenario,
        profile: line.profile,
        target: line.target,
        changed: line.changed,
        command_line,
        trials_planned: line.trials_planned,
        trials_started: line.trials_started,
        sessions: count,
        live: end.is_none() && file.is_live(),
        end,
    })
}
