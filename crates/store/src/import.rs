//! Adds to a finished run what somebody else measured meanwhile.

use crate::columns;
use crate::courses;
use crate::error::StoreError;
use crate::opening;
use crate::pack;
use crate::reader::RunFile;
use crate::rows::{self, RowError};
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::event::Subject;
use kdyno_model::finding::Scope;
use kdyno_model::imported::IMPORTED;
use kdyno_model::outcome::Judgement;
use kdyno_model::sample::ProbeReading;
use kdyno_model::trial::TrialId;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use std::path::Path;

/// Readings in one row: about what a few minutes of probes of our own take.
const READINGS_PER_ROW: usize = 1000;

/// What is imported into a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTrial {
    /// Which trial.
    pub trial: TrialId,
    /// Its readings, in order of time.
    pub readings: Vec<ProbeReading>,
}

/// Stores them under a subject; what was imported under it before is replaced, in all trials. Whether there was any. `drawn` is
/// what they come to in each trial, and what all trials say together of everything that is imported.
///
/// # Errors
/// The file cannot be read or written, or is in use. It is left as it was then.
pub fn import(
    path: &Path,
    subject: &Subject,
    trials: &[ImportedTrial],
    drawn: &Judgement,
) -> Result<bool, StoreError> {
    let all: Vec<TrialId> =
        RunFile::open_unused(path)?.trials()?.iter().map(|start| start.trial.id).collect();
    let connection = opening::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let replaced = write(&connection, subject, &all, trials, drawn);
    replaced.map_err(|error| match error {
        RowError::Sql(error) => StoreError::write(path, &error),
        other => StoreError::Write { path: path.to_path_buf(), reason: other.to_string() },
    })
}

fn write(
    connection: &Connection,
    subject: &Subject,
    all: &[TrialId],
    trials: &[ImportedTrial],
    drawn: &Judgement,
) -> Result<bool, RowError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut replaced = false;
    for trial in all {
        replaced |= forget(&transaction, subject, *trial)?;
    }
    forget_together(&transaction)?;
    courses::forget(&transaction)?;
    for ImportedTrial { trial, readings } in trials {
        for round in readings.chunks(READINGS_PER_ROW) {
            rows::probe(&transaction, *trial, round)?;
        }
    }
    drawn.findings.iter().try_for_each(|finding| rows::finding(&transaction, finding))?;
    drawn.conclusions.iter().try_for_each(|conclusion| rows::conclusion(&transaction, conclusion))?;
    transaction.commit()?;
    Ok(replaced)
}

/// Takes out of a trial what was imported under a subject; whether there was any.
fn forget(connection: &Connection, subject: &Subject, trial: TrialId) -> Result<bool, RowError> {
    let mut found = Vec::new();
    {
        let mut statement = connection.prepare("SELECT rowid, packed FROM probe WHERE trial = ?1")?;
        let mut rows = statement.query([trial.0])?;
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(1)?;
            // What cannot be read is none of ours.
            let (readings, _) = pack::unpack_readings(&packed).unwrap_or_default();
            if readings.first().is_some_and(|reading| reading.subject == *subject) {
                found.push(row.get::<_, i64>(0)?);
            }
        }
    }
    for rowid in &found {
        connection.execute("DELETE FROM probe WHERE rowid = ?1", [rowid])?;
    }
    let (kind, id, _) = columns::scope_columns(Scope::Trial(trial))?;
    connection.execute(
        "DELETE FROM finding WHERE scope = ?1 AND scope_id IS ?2 AND subject = ?3",
        params![kind, id, subject.to_string()],
    )?;
    Ok(!found.is_empty())
}

/// Takes out what all trials said together of anything that was imported.
fn forget_together(connection: &Connection) -> Result<(), RowError> {
    let (of_trial, ..) = columns::scope_columns(Scope::Trial(TrialId(0)))?;
    connection.execute(
        "DELETE FROM finding WHERE scope <> ?1 AND substr(subject, 1, length(?2)) = ?2",
        params![of_trial, IMPORTED],
    )?;
    let mut found = Vec::new();
    {
        let mut statement = connection.prepare("SELECT rowid, conclusion_json FROM conclusion")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            // What cannot be read is none of ours.
            if let Ok(Conclusion::Verdict(verdict)) = serde_json::from_str(&text)
                && verdict.role == MetricRole::Imported
            {
                found.push(row.get::<_, i64>(0)?);
            }
        }
    }
    for rowid in found {
        connection.execute("DELETE FROM conclusion WHERE rowid = ?1", [rowid])?;
    }
    Ok(())
}
