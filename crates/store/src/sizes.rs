//! What each table of a run file takes.

use crate::columns::{text, unsigned};
use crate::error::StoreError;
use crate::reader::RunFile;
use std::collections::BTreeMap;

impl RunFile {
    /// Bytes of the file that each table takes with its indices, in whole pages.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn table_bytes(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "SELECT named.tbl_name, sum(pages.pgsize) FROM dbstat AS pages \
                   JOIN sqlite_schema AS named ON named.name = pages.name GROUP BY named.tbl_name";
        let sizes = self.rows("dbstat", sql, [], |row| Ok((text(row, 0)?, unsigned(row, 1)?)))?;
        Ok(sizes.into_iter().collect())
    }
}
