//! Folding: a run file that has a WAL next to it becomes one file again.

use crate::reserve;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::Duration;

/// How long a writer waits for another process that reads the file at that moment: before it adds a session, and at
/// the end.
pub(crate) const READER_WAIT: Duration = Duration::from_secs(2);

/// Folds at the end of a run. A reader that does not let go within [`READER_WAIT`] is no failure: all rows
/// are safe in the WAL, and the next opening folds it.
pub(crate) fn fold_own(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(READER_WAIT)?;
    match fold(connection) {
        Err(error) if is_busy(&error) => Ok(()),
        other => other,
    }
}

/// Whether a left-over WAL could be folded.
pub(crate) enum Folded {
    /// One file now.
    Yes,
    /// Somebody else has the file open: it is being written, or read.
    InUse,
    /// The file or its folder cannot be written; it can still be read.
    No,
}

/// Folds what a killed writer left behind and removes its reserve. Does nothing to a file in use.
pub(crate) fn fold_left_over(connection: &Connection, path: &Path) -> Folded {
    let mut folded = connection.busy_timeout(Duration::ZERO).and_then(|()| fold(connection));
    // Only a process that has the file alone gets so far, so no other one needs the reserve, which is there for this.
    if folded.as_ref().is_err_and(is_full) && reserve::give_back(path).is_ok() {
        folded = fold(connection);
    }
    match folded {
        Ok(()) => {
            // A reserve that stays is only wasted space.
            let _ = reserve::give_back(path);
            Folded::Yes
        }
        Err(error) if is_busy(&error) => Folded::InUse,
        Err(_) => Folded::No,
    }
}

fn fold(connection: &Connection) -> rusqlite::Result<()> {
    // The switch asks for the file alone, first of all; so a file in use is left as it is. It checkpoints
    // by itself, and removes the WAL.
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| {
        let mode: String = row.get(0)?;
        if mode == "delete" { Ok(()) } else { Err(rusqlite::Error::InvalidQuery) }
    })
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
