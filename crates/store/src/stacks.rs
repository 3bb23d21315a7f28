//! Stacks that were sampled of a trial's processes. They are no part of its evidence: nothing is concluded from them, and
//! they are read one process after the other.

use crate::blob::{open, seal};
use crate::columns::{RowFault, blob, name_of, named};
use crate::error::StoreError;
use crate::reader::RunFile;
use crate::rows::RowError;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialStacks;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_model::trial::TrialId;
use rusqlite::{Connection, params};

const INSERT: &str = "INSERT OR REPLACE INTO stacks VALUES (?1, ?2, ?3, ?4)";

pub(crate) fn write(connection: &Connection, of: &TrialStacks) -> Result<(), RowError> {
    let packed = seal(of.stacks.text().as_bytes())?;
    connection.execute(INSERT, params![of.trial.0, name_of(&of.subject)?, name_of(&of.kind)?, packed])?;
    Ok(())
}

pub(crate) fn write_recording(
    connection: &Connection,
    trial: TrialId,
    subject: &Subject,
    bytes: &[u8],
) -> Result<(), RowError> {
    let packed = seal(bytes)?;
    connection.execute(INSERT, params![trial.0, name_of(subject)?, name_of(&FlameKind::Jfr)?, packed])?;
    Ok(())
}

impl RunFile {
    /// Processes and trials whose stacks are stored, and what for; also recordings of Flight Recorder.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn sampled(&self) -> Result<Vec<(TrialId, Subject, FlameKind)>, StoreError> {
        let sql = "SELECT trial, subject, kind FROM stacks ORDER BY trial, subject";
        self.rows("stacks", sql, [], |row| Ok((TrialId(row.get(0)?), named(row, 1)?, named(row, 2)?)))
    }

    /// The stacks of a process in a trial; `None`: there are none.
    ///
    /// # Errors
    /// As [`Self::sampled`].
    pub fn stacks(&self, trial: TrialId, subject: &Subject) -> Result<Option<TrialStacks>, StoreError> {
        let Some((kind, bytes)) = self.packed(trial, subject)? else { return Ok(None) };
        if kind == FlameKind::Jfr {
            return Ok(None);
        }
        let damaged = |why: String| StoreError::damaged(self.path(), format!("table stacks: {why}"));
        let text = String::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
        let stacks = Stacks::read(&text).map_err(|error| damaged(error.to_string()))?;
        Ok(Some(TrialStacks { trial, subject: subject.clone(), kind, stacks }))
    }

    /// The recording of Flight Recorder of a process in a trial; `None`: there is none.
    ///
    /// # Errors
    /// As [`Self::sampled`].
    pub fn flight_recording(&self, trial: TrialId, subject: &Subject) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.packed(trial, subject)?;
        Ok(found.filter(|(kind, _)| *kind == FlameKind::Jfr).map(|(_, bytes)| bytes))
    }

    fn packed(&self, trial: TrialId, subject: &Subject) -> Result<Option<(FlameKind, Vec<u8>)>, StoreError> {
        let sql = "SELECT kind, packed FROM stacks WHERE trial = ?1 AND subject = ?2";
        let subject = String::from(subject.clone());
        let read = |row: &rusqlite::Row<'_>| -> Result<_, RowFault> {
            Ok((named(row, 0)?, open(blob(row, 1)?)?.into_owned()))
        };
        Ok(self.rows("stacks", sql, params![trial.0, subject], read)?.pop())
    }
}
