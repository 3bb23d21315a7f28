//! The runs of a folder, read once: a file is read again when its size or its time of change differ, or while its run goes on.

use crate::commands::runs;
use kdyno_report::judged::RunAnswer;
use kdyno_store::{RunList, RunSummary, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What shows whether a file changed.
type FileStamp = (u64, Option<SystemTime>);

/// What is known of a run.
#[derive(Debug)]
struct KnownRun {
    stamp: FileStamp,
    run: RunSummary,
    answer: Option<RunAnswer>,
}

/// The folder with what is known of it.
#[derive(Debug)]
pub(super) struct Library {
    folder: PathBuf,
    known: Mutex<BTreeMap<PathBuf, KnownRun>>,
}

impl Library {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// All runs that are there now, oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn list(&self) -> Result<RunList, StoreError> {
        // Who comes while somebody reads waits for the same.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        kdyno_store::list_by(&self.folder, &mut |path| {
            let stamp = stamp(path);
            let of_run = match before.remove(path) {
                Some(then) if then.stamp == stamp && !then.run.live => then,
                _ => {
                    let run = kdyno_store::summary(path)?;
                    let answer = runs::answer(&run);
                    KnownRun { stamp, run, answer }
                }
            };
            let run = of_run.run.clone();
            known.insert(path.to_owned(), of_run);
            Ok(run)
        })
    }

    /// What the answer of a run of the last list came to.
    pub(super) fn answer(&self, path: &Path) -> Option<RunAnswer> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(path)?.answer
    }

    /// The file of that name, which is one of the list: a name from outside never becomes a path.
    pub(super) fn file(&self, name: &str) -> Result<Option<RunSummary>, StoreError> {
        let RunList { runs, unreadable } = self.list()?;
        let is_it = |path: &Path| crate::evidence::file_name(path) == name;
        match unreadable.into_iter().find(|(path, _)| is_it(path)) {
            Some((_, why)) => Err(why),
            None => Ok(runs.into_iter().find(|run| is_it(&run.path))),
        }
    }
}

fn stamp(path: &Path) -> FileStamp {
    std::fs::metadata(path).map_or((0, None), |found| (found.len(), found.modified().ok()))
}
