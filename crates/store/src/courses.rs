//! Courses over time of trials, as they were drawn when their findings were: the rows of an hour are hundreds of MB, what is
//! drawn of them some MB.

use crate::blob::{PackError, decode, open, plain, seal};
use crate::columns::blob;
use crate::error::StoreError;
use crate::reader::RunFile;
use crate::rows::RowError;
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::TrialId;
use rusqlite::{Connection, params};

/// Version of the packed form, which is that of [`TrialSeries`] in `postcard`: another one with each change of a type in it.
const FORM: u32 = 1;

/// Series that are too large for a blob are not stored: they are drawn from the rows.
pub(crate) fn write(connection: &Connection, series: &TrialSeries) -> Result<(), RowError> {
    match packed(series) {
        Ok(packed) => {
            connection
                .execute("INSERT OR REPLACE INTO course VALUES (?1, ?2)", params![series.trial.0, packed])?;
            Ok(())
        }
        Err(PackError::Huge(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn packed(series: &TrialSeries) -> Result<Vec<u8>, PackError> {
    seal(&plain(&(FORM, series))?)
}

/// Takes out those of all trials: what they are drawn from is about to change.
pub(crate) fn forget(connection: &Connection) -> Result<(), RowError> {
    connection.execute("DELETE FROM course", [])?;
    Ok(())
}

impl RunFile {
    /// The courses of a trial; `None`: none are stored, or in another form, and they are to be drawn from its evidence.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn course(&self, trial: TrialId) -> Result<Option<TrialSeries>, StoreError> {
        let sql = "SELECT packed FROM course WHERE trial = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let plain = open(blob(row, 0)?)?;
            let (form, rest) = decode::<u32>(&plain)?;
            if form != FORM {
                return Ok(None);
            }
            let (series, rest) = decode(rest)?;
            if rest.is_empty() { Ok(Some(series)) } else { Err(PackError::Length.into()) }
        };
        Ok(self.rows("course", sql, [trial.0], read)?.pop().flatten())
    }
}
