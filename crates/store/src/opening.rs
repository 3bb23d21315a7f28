//! Opens a run file without trusting it: its marks are checked before SQLite sees it, nothing of its schema
//! is executed, and the size of every value is bounded.

use crate::error::StoreError;
use crate::fold::{self, Folded};
use crate::{reserve, schema};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write as _;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Largest single value that is read: the scenario, the plan, one packed blob. The plan of ten thousand
/// cases is about 30 MB.
const VALUE_BYTES_MAX: i32 = 64 << 20;

/// Bytes of a SQLite file's head, and the places in it that are looked at.
const SQLITE_HEAD_BYTES: usize = 100;
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
const WRITE_VERSION_AT: usize = 18;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;
/// Value of the write version while a file is in WAL mode.
const WAL_WRITE_VERSION: u8 = 2;

/// An open file.
pub(crate) struct OpenedFile {
    pub(crate) connection: Connection,
    /// Whether somebody else has it open.
    pub(crate) live: bool,
}

/// Opens a run file; folds a WAL that was left over, if possible.
pub(crate) fn open(path: &Path) -> Result<OpenedFile, StoreError> {
    let is_wal = check_marks(path)?;
    let (connection, live) =
        if is_wal { connect_wal(path)? } else { (connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?, false) };
    Ok(OpenedFile { connection, live })
}

/// Reads the marks without SQLite, so that a foreign file is named as such and never interpreted. Whether it is in WAL mode.
fn check_marks(path: &Path) -> Result<bool, StoreError> {
    let not_a_run_file =
        |reason: &str| StoreError::NotARunFile { path: path.to_path_buf(), reason: reason.to_owned() };
    let unreadable =
        |error: std::io::Error| StoreError::Read { path: path.to_path_buf(), reason: error.to_string() };
    // Asked before opening: opening a named pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(not_a_run_file("it is not a regular file"));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut head = Vec::with_capacity(SQLITE_HEAD_BYTES);
    file.take(SQLITE_HEAD_BYTES as u64).read_to_end(&mut head).map_err(unreadable)?;
    if head.is_empty() {
        return Err(not_a_run_file("it is empty"));
    }
    if !head.starts_with(SQLITE_MAGIC) || head.len() < SQLITE_HEAD_BYTES {
        return Err(not_a_run_file("it is not a SQLite file"));
    }
    let number_at = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if number_at(APPLICATION_ID_AT) != schema::APPLICATION_ID {
        return Err(not_a_run_file("it is a SQLite file of another program"));
    }
    match number_at(USER_VERSION_AT) {
        0 => Err(StoreError::damaged(path, "it has no format version")),
        found if found < schema::FORMAT_VERSION => {
            Err(StoreError::OldFormat { path: path.to_path_buf(), found })
        }
        found if found > schema::FORMAT_VERSION => {
            Err(StoreError::NewerFormat { path: path.to_path_buf(), found, known: schema::FORMAT_VERSION })
        }
        _ => Ok(head[WRITE_VERSION_AT] == WAL_WRITE_VERSION),
    }
}

/// Opens a file in WAL mode: folds it if no other process has it open and its folder can be written; else reads
/// it through the WAL; else, when there is no WAL at all, as it is. The flag says whether it is in use.
fn connect_wal(path: &Path) -> Result<(Connection, bool), StoreError> {
    match connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        Ok(connection) => {
            let folded = fold::fold_left_over(&connection, path);
            let live = matches!(folded, Folded::InUse);
            if can_read(&connection) {
                return Ok((connection, live));
            }
        }
        Err(StoreError::Read { .. } | StoreError::DiskFull { .. }) => {}
        Err(other) => return Err(other),
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if can_read(&connection) || has_wal(path) {
        return Ok((connection, false));
    }
    // `immutable` ignores a WAL, so it is only right where there is none.
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok((connect(Path::new(&uri), flags)?, false))
}

fn can_read(connection: &Connection) -> bool {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0)).is_ok()
}

/// Opens a connection that executes nothing of the file's own schema.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_limit(Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "mmap_size", 0)?;
        Ok(connection)
    };
    open().map_err(|error| StoreError::read(path, "opening", &error))
}

/// Bytes that rows can lie in: of the file and of its WAL.
pub(crate) fn bytes_of(path: &Path) -> u64 {
    file_bytes(path).saturating_add(file_bytes(&reserve::sibling(path, "-wal")))
}

/// Whether there are rows next to the file.
pub(crate) fn has_wal(path: &Path) -> bool {
    file_bytes(&reserve::sibling(path, "-wal")) > 0
}

/// Size of a file; 0 when there is none.
fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}
