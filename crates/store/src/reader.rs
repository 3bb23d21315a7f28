//! Reads a run file: a finished one, one that is being written, or one whose writer was killed. The writer
//! reads its own rows back through it as well, so evidence has one way out.
//!
//! A run file may come from anywhere, so it is distrusted: it is opened with care (`opening.rs`), its tables are those that
//! kdyno makes, the number of rows, their bytes and what one call hands out are bounded, and whatever contradicts the format is
//! an error that says where.

use crate::columns::{self, RowFault, json, named, text, unsigned};
use crate::error::StoreError;
use crate::opening::{self, OpenedFile};
use crate::{fold, schema};
use kdyno_model::caveat::ScopedCaveat;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::Event;
use kdyno_model::finding::Finding;
use kdyno_model::metric::Address;
use kdyno_model::outcome::Judgement;
use kdyno_model::run::{RunHeader, Session, SessionEnd, StreamInfo, TrialStart};
use kdyno_model::sample::StreamId;
use kdyno_model::trial::{PairPlace, Trial, TrialId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a file in use is looked at again.
const UNUSED_POLL: Duration = Duration::from_millis(20);

/// Most plain bytes that one call hands out at once: a week of one stream. Beyond it, a hostile file could
/// claim memory at a thousand times its size.
const PLAIN_BYTES_PER_CALL_MAX: u64 = 1 << 30;

/// Least bytes that a row takes in the file; more rows than file bytes allow are a malformed tree.
const ROW_BYTES_MIN: u64 = 4;

/// What one query may hand out in addition to the bytes of the file: names of tables come more than once.
const OTHER_BYTES: u64 = 1 << 20;

/// An open run file.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    connection: Connection,
    live: bool,
    /// The writer reads what it has written itself.
    is_own: bool,
    /// Size when it was opened.
    bytes: u64,
    plain_bytes_max: u64,
}

impl RunFile {
    /// Opens a run file. What a killed writer left in the WAL is folded into the file when its folder can
    /// be written; otherwise the file is read as it lies.
    ///
    /// # Errors
    /// When it cannot be read, is no run file, or is of a format that this kdyno does not read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let OpenedFile { connection, live } = opening::open(path)?;
        let file = Self {
            path: path.to_path_buf(),
            connection,
            live,
            is_own: false,
            bytes: opening::bytes_of(path),
            plain_bytes_max: PLAIN_BYTES_PER_CALL_MAX,
        };
        file.check_schema()?;
        Ok(file)
    }

    /// The file to write to, once no other process has it open. A reader (a page of runs, a report) lets go of it within
    /// milliseconds; only a writer keeps it.
    ///
    /// # Errors
    /// [`StoreError::InUse`] after [`fold::READER_WAIT`], and those of [`Self::open`].
    pub(crate) fn open_unused(path: &Path) -> Result<Self, StoreError> {
        let until = Instant::now() + fold::READER_WAIT;
        loop {
            let file = Self::open(path)?;
            if !file.live {
                return Ok(file);
            }
            if until <= Instant::now() {
                return Err(StoreError::InUse { path: path.to_path_buf() });
            }
            drop(file);
            std::thread::sleep(UNUSED_POLL);
        }
    }

    /// The writer's own view of the file that it writes: every row is its own, so none is distrusted.
    pub(crate) fn of_writer(path: &Path, connection: Connection) -> Self {
        Self {
            path: path.to_path_buf(),
            connection,
            live: true,
            is_own: true,
            bytes: 0,
            plain_bytes_max: u64::MAX,
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Makes sure that the file by itself has all rows, so that it may be copied.
    ///
    /// # Errors
    /// It is in use, so that some are in its WAL, or what a killed writer left there could not be folded; and those of
    /// [`Self::open`].
    pub fn make_whole(path: &Path) -> Result<(), StoreError> {
        drop(Self::open_unused(path)?);
        if opening::has_wal(path) {
            let reason = "rows in its WAL could not be folded into it".to_owned();
            return Err(StoreError::Write { path: path.to_path_buf(), reason });
        }
        Ok(())
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody else had it open, so that it may still grow.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The head: what was known before the first trial.
    pub fn header(&self) -> Result<RunHeader, StoreError> {
        let sql = "SELECT run_id, scenario_text, scenario_path, plan_json FROM run";
        let mut found = self.rows("run", sql, [], |row| {
            Ok(RunHeader {
                run_id: run_id(row, 0)?,
                scenario_text: text(row, 1)?,
                scenario_path: text(row, 2)?,
                plan: json(row, 3)?,
            })
        })?;
        found.pop().ok_or_else(|| StoreError::damaged(&self.path, "it has no head"))
    }

    /// The sessions, in order, each with its end; `None`: it was cut off, or is still going on.
    pub fn sessions(&self) -> Result<Vec<(Session, Option<SessionEnd>)>, StoreError> {
        let sql = "SELECT session, started_unix_ns, kdyno_version, git_head, command_line_json, boot_id, \
                   processors, host_facts_json, status, detail, ended_unix_ns \
                   FROM session ORDER BY session";
        self.rows("session", sql, [], |row| {
            let session = Session {
                number: row.get(0)?,
                started_unix_ns: unsigned(row, 1)?,
                kdyno_version: text(row, 2)?,
                git_head: row.get(3)?,
                command_line: json(row, 4)?,
                boot_id: text(row, 5)?,
                processors: row.get(6)?,
                host_facts: json(row, 7)?,
            };
            let has_ended = row.get::<_, Option<String>>(8)?.is_some();
            let end = has_ended.then(|| -> Result<SessionEnd, RowFault> {
                Ok(SessionEnd {
                    status: named(row, 8)?,
                    detail: text(row, 9)?,
                    ended_unix_ns: unsigned(row, 10)?,
                })
            });
            Ok((session, end.transpose()?))
        })
    }

    /// Every trial that was started, in the order of execution.
    pub fn trials(&self) -> Result<Vec<TrialStart>, StoreError> {
        self.trials_where("1 = 1", [])
    }

    pub(crate) fn trials_where(
        &self,
        condition: &str,
        params: impl Params,
    ) -> Result<Vec<TrialStart>, StoreError> {
        let sql = format!(
            "SELECT trial, case_index, variant, pair, place, repeat, label, reason_json, seed, effective_json, \
             session, t0_unix_ns, t0_monotonic_ns, cluster_json, command_lines_json, start, settings_json \
             FROM trial WHERE {condition} ORDER BY trial"
        );
        let mut trials = self.rows("trial", &sql, params, trial_start)?;
        for start in &mut trials {
            start.streams = self.streams(start.trial.id)?;
        }
        Ok(trials)
    }

    fn streams(&self, of: TrialId) -> Result<Vec<StreamInfo>, StoreError> {
        let sql = "SELECT worker, stream, name, topic, role, clients, value_bytes FROM stream \
                   WHERE trial = ?1 ORDER BY worker, stream";
        self.rows("stream", sql, [of.0], |row| {
            Ok(StreamInfo {
                id: stream_id(row)?,
                name: text(row, 2)?,
                topic: text(row, 3)?,
                role: named(row, 4)?,
                clients: row.get(5)?,
                value_bytes: row.get(6)?,
            })
        })
    }

    /// Everything that happened, with the trial in which it did, in the order of arrival.
    pub fn events(&self) -> Result<Vec<(Option<TrialId>, Event)>, StoreError> {
        self.events_where("1 = 1", [])
    }

    pub(crate) fn events_where(
        &self,
        condition: &str,
        params: impl Params,
    ) -> Result<Vec<(Option<TrialId>, Event)>, StoreError> {
        let sql = format!(
            "SELECT trial, at_unix_ns, at_ns, kind, subject, detail FROM event WHERE {condition} ORDER BY rowid"
        );
        self.rows("event", &sql, params, |row| {
            let event = Event {
                at_unix_ns: unsigned(row, 1)?,
                at_ns: row.get(2)?,
                kind: named(row, 3)?,
                subject: named(row, 4)?,
                detail: text(row, 5)?,
            };
            Ok((row.get::<_, Option<u32>>(0)?.map(TrialId), event))
        })
    }

    /// Excerpts of logs: whose, and the text.
    pub fn logs(&self) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT subject, excerpt FROM log ORDER BY rowid";
        self.rows("log", sql, [], |row| Ok((text(row, 0)?, text(row, 1)?)))
    }

    /// What was drawn from the evidence when the run was made, in the order of arrival.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn judgement(&self) -> Result<Judgement, StoreError> {
        Ok(Judgement {
            findings: self.findings("1 = 1")?,
            caveats: self.caveats()?,
            conclusions: self.conclusions("1 = 1")?,
        })
    }

    /// What the run's answer as a whole rests on: figures of cases, what trials say together, and all caveats. In a
    /// long run nearly everything else that was drawn is of single trials, so that this is cheap compared with
    /// [`Self::judgement`].
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn answer(&self) -> Result<Judgement, StoreError> {
        Ok(Judgement {
            findings: self.findings("scope = 'case'")?,
            caveats: self.caveats()?,
            conclusions: self.conclusions("scope <> 'trial'")?,
        })
    }

    fn conclusions(&self, condition: &str) -> Result<Vec<Conclusion>, StoreError> {
        let sql = format!("SELECT conclusion_json FROM conclusion WHERE {condition} ORDER BY rowid");
        self.rows("conclusion", &sql, [], |row| json(row, 0))
    }

    fn findings(&self, condition: &str) -> Result<Vec<Finding>, StoreError> {
        let sql = format!(
            "SELECT scope, scope_id, scope_pair, subject, metric, quantity, unit, estimate, at_least, n, range_json, \
             interval_json, marks_json FROM finding WHERE {condition} ORDER BY rowid"
        );
        self.rows("finding", &sql, [], |row| {
            let has_range = row.get::<_, Option<String>>(10)?.is_some();
            Ok(Finding {
                scope: columns::scope(row)?,
                of: Address { subject: text(row, 3)?, metric: text(row, 4)? },
                quantity: named(row, 5)?,
                unit: named(row, 6)?,
                estimate: columns::value(row, 7)?,
                n: row.get(9)?,
                range: has_range.then(|| json(row, 10)).transpose()?,
                interval: json(row, 11)?,
                marks: json(row, 12)?,
            })
        })
    }

    fn caveats(&self) -> Result<Vec<ScopedCaveat>, StoreError> {
        let sql = "SELECT scope, scope_id, scope_pair, severity, concerns_json, caveat_json FROM caveat ORDER BY rowid";
        self.rows("caveat", sql, [], |row| {
            Ok(ScopedCaveat {
                scope: columns::scope(row)?,
                severity: named(row, 3)?,
                concerns: json(row, 4)?,
                caveat: json(row, 5)?,
            })
        })
    }

    /// The few columns that a list of runs shows; neither the plan nor a sample is read.
    pub(crate) fn line(&self) -> Result<RunEntry, StoreError> {
        // What only conditions a cluster is no trial of the plan.
        let sql = "SELECT run_id, scenario, profile, target, changed_json, trials_planned, \
                   (SELECT count(*) FROM trial WHERE reason_json <> '\"conditioning\"') FROM run";
        let mut found = self.rows("run", sql, [], |row| {
            Ok(RunEntry {
                run_id: run_id(row, 0)?,
                scenario: text(row, 1)?,
                profile: text(row, 2)?,
                target: row.get(3)?,
                changed: json(row, 4)?,
                trials_planned: row.get(5)?,
                trials_started: row.get(6)?,
            })
        })?;
        found.pop().ok_or_else(|| StoreError::damaged(&self.path, "it has no head"))
    }

    /// Refuses a file with anything in its schema that kdyno does not make: a generated column, a view or a trigger computes what
    /// no file holds, a virtual table runs code of its own.
    fn check_schema(&self) -> Result<(), StoreError> {
        let sql = "SELECT type || ' ' || name, tbl_name, sql FROM sqlite_schema";
        let mut found: Vec<String> = Vec::new();
        let read = |row: &Row<'_>| Ok((text(row, 0)?, text(row, 1)?, row.get::<_, Option<String>>(2)?));
        self.visit("schema", sql, [], read, &mut |(named, table, sql)| {
            let Some(sql) = sql else {
                // The index of a key, which SQLite makes by itself.
                let is_of_key = named.starts_with(&format!("index sqlite_autoindex_{table}_"));
                return if is_of_key { Ok(()) } else { Err(self.foreign(&named)) };
            };
            let bare = schema::bare(&sql);
            if !schema::MADE.contains(&bare) || schema::made_by(&bare) != named {
                return Err(self.foreign(&named));
            }
            found.push(bare);
            Ok(())
        })?;
        schema::MADE.iter().find(|made| !found.contains(made)).map_or(Ok(()), |made| {
            Err(StoreError::damaged(&self.path, format!("the {} is missing", schema::made_by(made))))
        })
    }

    fn foreign(&self, named: &str) -> StoreError {
        let reason = format!("its {} is none that this kdyno makes", named.escape_debug());
        StoreError::NotARunFile { path: self.path.clone(), reason }
    }

    pub(crate) fn within(&self, what: &'static str, bytes: u64) -> Result<(), StoreError> {
        if bytes <= self.plain_bytes_max {
            return Ok(());
        }
        Err(StoreError::TooMuch { path: self.path.clone(), what, limit_bytes: self.plain_bytes_max })
    }

    pub(crate) fn rows<T>(
        &self,
        table: &str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, RowFault>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.visit(table, sql, params, read, &mut |value| {
            found.push(value);
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether so many rows of so many bytes can be the file's: a tree that was tampered with hands the same pages out again and
    /// again. A file in use may have grown since it was opened.
    fn has_room_for(&self, table: &str, rows: u64, bytes: u64) -> Result<(), StoreError> {
        let is_within = |most: u64| rows <= most / ROW_BYTES_MIN && bytes <= most + OTHER_BYTES;
        if self.is_own || is_within(self.bytes) || is_within(opening::bytes_of(&self.path)) {
            return Ok(());
        }
        let reason = format!("table {table} has more than the file can hold: {rows} rows of {bytes} bytes");
        Err(StoreError::damaged(&self.path, reason))
    }

    /// Runs a query; every row goes through `read`, then to `visit`.
    pub(crate) fn visit<T>(
        &self,
        table: &str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, RowFault>,
        visit: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::read(&self.path, &format!("table {table}"), &error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params).map_err(failed)?;
        let columns = rows.as_ref().map_or(0, |statement| statement.column_count());
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next().map_err(failed)? {
            count += 1;
            bytes += bytes_of(row, columns).map_err(failed)?;
            self.has_room_for(table, count, bytes)?;
            let value = read(row).map_err(|fault| match fault {
                RowFault::Sql(error) => failed(error),
                RowFault::Content(reason) => {
                    StoreError::damaged(&self.path, format!("table {table}, row {count}: {reason}"))
                }
            })?;
            visit(value)?;
        }
        Ok(())
    }
}

/// Bytes of a row's texts and blobs.
fn bytes_of(row: &Row<'_>, columns: usize) -> rusqlite::Result<u64> {
    (0..columns).try_fold(0, |sum, column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => sum + bytes.len() as u64,
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => sum,
        })
    })
}

/// See [`RunFile::line`].
pub(crate) struct RunEntry {
    pub(crate) run_id: u64,
    pub(crate) scenario: String,
    pub(crate) profile: String,
    pub(crate) target: Option<String>,
    pub(crate) changed: BTreeMap<String, String>,
    pub(crate) trials_planned: Option<u32>,
    pub(crate) trials_started: u32,
}

fn run_id(row: &Row<'_>, column: usize) -> Result<u64, RowFault> {
    u64::from_str_radix(&text(row, column)?, 16).map_err(|_| "a run id is no hexadecimal number".into())
}

/// From the first two columns.
pub(crate) fn stream_id(row: &Row<'_>) -> Result<StreamId, RowFault> {
    Ok(StreamId { worker: row.get(0)?, stream: row.get(1)? })
}

/// A trial's start but for its streams.
fn trial_start(row: &Row<'_>) -> Result<TrialStart, RowFault> {
    let pair = match (row.get(3)?, row.get(4)?) {
        (Some(pair), Some(place)) => Some(PairPlace { pair, place }),
        (None, None) => None,
        _ => return Err("a trial has half a place in a pair".into()),
    };
    let trial = Trial {
        id: TrialId(row.get(0)?),
        case: row.get(1)?,
        variant: row.get(2)?,
        pair,
        repeat: row.get(5)?,
        label: text(row, 6)?,
        reason: json(row, 7)?,
        seed: unsigned(row, 8)?,
        effective: json(row, 9)?,
        start: row.get(15)?,
    };
    Ok(TrialStart {
        trial,
        session: row.get(10)?,
        t0_unix_ns: unsigned(row, 11)?,
        t0_monotonic_ns: unsigned(row, 12)?,
        streams: Vec::new(),
        cluster: json(row, 13)?,
        command_lines: json(row, 14)?,
        settings: json(row, 16)?,
    })
}
