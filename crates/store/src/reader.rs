//! Reads a run file: a finished one, one that is being written, or one whose writer was killed.
//!
//! A run file may come from anywhere, so it is distrusted: it is opened with care (`opening.rs`), the
//! number of rows and what one call hands out are bounded, and whatever contradicts the format is an error
//! that says where.

use crate::error::StoreError;
use crate::opening::{self, Opened};
use crate::pack::{self, PackError};
use crate::{rows, schema};
use kdyno_model::finding::{Caveat, Finding, Severity, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::TrialRef;
use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, StreamInfo, TrialStart};
use kdyno_model::sample::{Grain, NoiseReading, Phase, ProbeReading, Sample, StreamTotals};
use kdyno_model::series::SeriesRole;
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Most plain bytes that one call hands out at once: a week of one stream. Beyond it, a hostile file could
/// claim memory at a thousand times its size.
const PLAIN_BYTES_PER_CALL_MAX: u64 = 1 << 30;

/// Least bytes that a row takes in the file; more rows than file bytes allow are a malformed tree.
const ROW_BYTES_MIN: u64 = 4;

/// An open run file.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    connection: Connection,
    live: bool,
    rows_max: u64,
}

impl RunFile {
    /// Opens a run file. What a killed writer left in the WAL is folded into the file when its folder can
    /// be written; otherwise the file is read as it lies.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let Opened { connection, live, bytes } = opening::open(path)?;
        let file = Self { path: path.to_path_buf(), connection, live, rows_max: bytes / ROW_BYTES_MIN };
        file.check_tables()?;
        Ok(file)
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
        let sql = "SELECT run_id, kdyno_version, started_unix_ns, scenario_text, scenario_path, plan_json, \
                   host_facts_json, command_line_json, git_head FROM run";
        let mut found = self.rows("run", sql, [], |row| {
            let run_id =
                u64::from_str_radix(&text(row, 0)?, 16).map_err(|_| "a run id is no hexadecimal number");
            Ok(RunHeader {
                run_id: run_id?,
                kdyno_version: text(row, 1)?,
                started_unix_ns: row.get::<_, i64>(2)?.cast_unsigned(),
                scenario_text: text(row, 3)?,
                scenario_path: text(row, 4)?,
                plan: json(row, 5)?,
                host_facts: json(row, 6)?,
                command_line: json(row, 7)?,
                git_head: row.get(8)?,
            })
        })?;
        found.pop().ok_or_else(|| StoreError::damaged(&self.path, "it has no head"))
    }

    /// Every trial that was started, in the order of execution.
    pub fn trials(&self) -> Result<Vec<TrialStart>, StoreError> {
        let sql = "SELECT trial, number, t0_unix_ns, t0_monotonic_ns, phases_json, cluster_json, \
                   command_lines_json FROM trial ORDER BY number";
        let mut trials = self.rows("trial", sql, [], |row| {
            Ok(TrialStart {
                trial: trial(row, 0)?,
                number: row.get(1)?,
                t0_unix_ns: row.get::<_, i64>(2)?.cast_unsigned(),
                t0_monotonic_ns: row.get::<_, i64>(3)?.cast_unsigned(),
                phases: json(row, 4)?,
                streams: Vec::new(),
                cluster: json(row, 5)?,
                command_lines: json(row, 6)?,
            })
        })?;
        for start in &mut trials {
            start.streams = self.streams(start.trial)?;
        }
        Ok(trials)
    }

    fn streams(&self, of: TrialRef) -> Result<Vec<StreamInfo>, StoreError> {
        let sql = "SELECT stream, name, topic, role, clients, value_bytes FROM stream \
                   WHERE trial = ?1 ORDER BY stream";
        self.rows("stream", sql, [rows::trial_key(of)], |row| {
            Ok(StreamInfo {
                stream: row.get(0)?,
                name: text(row, 1)?,
                topic: text(row, 2)?,
                role: name_of(row, 3, &[SeriesRole::Produce, SeriesRole::Consume], rows::role_name)?,
                clients: row.get(4)?,
                value_bytes: row.get(5)?,
            })
        })
    }

    /// A trial's samples, in the order in which they arrived. For trials beyond memory see
    /// [`Self::visit_samples`].
    pub fn samples(&self, trial: TrialRef) -> Result<Vec<Sample>, StoreError> {
        let mut samples = Vec::new();
        let mut plain_bytes = 0;
        self.visit_samples(trial, |sample| {
            plain_bytes += held_bytes(&sample);
            samples.push(sample);
            self.within("samples", plain_bytes)
        })?;
        Ok(samples)
    }

    /// Hands out a trial's samples one by one, in the order in which they arrived.
    pub fn visit_samples(
        &self,
        trial: TrialRef,
        mut visit: impl FnMut(Sample) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT worker, sequence, stream, grain, phase, t0_second, written_second, packed \
                   FROM sample WHERE trial = ?1 ORDER BY rowid";
        self.visit("sample", sql, [rows::trial_key(trial)], sample, &mut visit)
    }

    /// A trial's probe readings, in the order in which they arrived.
    pub fn probes(&self, trial: TrialRef) -> Result<Vec<ProbeReading>, StoreError> {
        let sql = "SELECT packed FROM probe WHERE trial = ?1 ORDER BY rowid";
        let mut readings: Vec<ProbeReading> = Vec::new();
        let unpack = |row: &Row<'_>| Ok(pack::unpack_readings(blob(row, 0)?)?);
        self.visit("probe", sql, [rows::trial_key(trial)], unpack, &mut |mut round: Vec<ProbeReading>| {
            readings.append(&mut round);
            self.within("readings", (readings.len() * size_of::<ProbeReading>()) as u64)
        })?;
        Ok(readings)
    }

    /// Everything that happened, with the trial in which it did, in the order of arrival.
    pub fn events(&self) -> Result<Vec<(Option<TrialRef>, Event)>, StoreError> {
        let sql = "SELECT trial, at_unix_ns, at_ns, kind, subject, detail FROM event ORDER BY rowid";
        self.rows("event", sql, [], |row| {
            let key: Option<i64> = row.get(0)?;
            let event = Event {
                at_unix_ns: row.get::<_, i64>(1)?.cast_unsigned(),
                at_ns: row.get(2)?,
                kind: text(row, 3)?,
                subject: text(row, 4)?,
                detail: text(row, 5)?,
            };
            Ok((key.map(|_| trial(row, 0)).transpose()?, event))
        })
    }

    /// The noise probes of a trial.
    pub fn noise(&self, trial: TrialRef) -> Result<Vec<NoiseReading>, StoreError> {
        let sql = "SELECT spin_per_us, spin_worst_ratio, sleep_late_ns_p50, sleep_late_ns_p99, \
                   loopback_ns_p50, loopback_ns_p99, steal_share FROM noise WHERE trial = ?1 ORDER BY rowid";
        self.rows("noise", sql, [rows::trial_key(trial)], |row| {
            Ok(NoiseReading {
                spin_per_us: row.get(0)?,
                spin_worst_ratio: row.get(1)?,
                sleep_late_ns_p50: row.get::<_, i64>(2)?.cast_unsigned(),
                sleep_late_ns_p99: row.get::<_, i64>(3)?.cast_unsigned(),
                loopback_ns_p50: row.get::<_, i64>(4)?.cast_unsigned(),
                loopback_ns_p99: row.get::<_, i64>(5)?.cast_unsigned(),
                steal_share: row.get(6)?,
            })
        })
    }

    /// The accounts of a trial's streams, by stream; empty when the trial was cut off.
    pub fn totals(&self, trial: TrialRef) -> Result<Vec<StreamTotals>, StoreError> {
        let sql = "SELECT stream, packed FROM totals WHERE trial = ?1 ORDER BY stream";
        self.rows("totals", sql, [rows::trial_key(trial)], |row| {
            Ok(pack::unpack_totals(row.get(0)?, blob(row, 1)?)?)
        })
    }

    /// Excerpts of logs: whose, and the text.
    pub fn logs(&self) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT subject, excerpt FROM log ORDER BY rowid";
        self.rows("log", sql, [], |row| Ok((text(row, 0)?, text(row, 1)?)))
    }

    /// What was concluded when the run was made, by trial.
    pub fn findings(&self) -> Result<Vec<Finding>, StoreError> {
        let sql = "SELECT trial, subject, metric, unit, value_kind, value FROM finding ORDER BY trial, rowid";
        self.rows("finding", sql, [], |row| {
            let kind = text(row, 4)?;
            let value: Option<f64> = row.get(5)?;
            let unit = serde_json::Value::String(text(row, 3)?);
            Ok(Finding {
                trial: trial(row, 0)?,
                of: Address { subject: text(row, 1)?, metric: text(row, 2)? },
                unit: serde_json::from_value(unit).map_err(|error| Fault::Content(error.to_string()))?,
                value: match (kind.as_str(), value) {
                    ("is", Some(value)) => Value::Is(value),
                    ("at-least", Some(value)) => Value::AtLeast(value),
                    ("none", None) => Value::None,
                    _ => return Err("a finding's value contradicts its kind".into()),
                },
            })
        })
    }

    /// The reasons to doubt that were found when the run was made, by trial.
    pub fn caveats(&self) -> Result<Vec<(TrialRef, Severity, Caveat)>, StoreError> {
        let sql = "SELECT trial, severity, caveat_json FROM caveat ORDER BY trial, rowid";
        self.rows("caveat", sql, [], |row| {
            let severities = [Severity::Note, Severity::Warning, Severity::Invalid];
            Ok((trial(row, 0)?, name_of(row, 1, &severities, rows::severity_name)?, json(row, 2)?))
        })
    }

    /// The end record; `None`: the run was cut off, or is still going on.
    pub fn end(&self) -> Result<Option<RunEnd>, StoreError> {
        let sql = "SELECT status, exit_code, detail, ended_unix_ns FROM run_end";
        let mut found = self.rows("run_end", sql, [], |row| {
            let statuses = [RunStatus::Completed, RunStatus::Interrupted, RunStatus::Failed];
            Ok(RunEnd {
                status: name_of(row, 0, &statuses, rows::status_name)?,
                exit_code: row.get(1)?,
                detail: text(row, 2)?,
                ended_unix_ns: row.get::<_, i64>(3)?.cast_unsigned(),
            })
        })?;
        Ok(found.pop())
    }

    /// The few columns that a list of runs shows; neither the plan nor a sample is read.
    pub(crate) fn line(&self) -> Result<Line, StoreError> {
        let sql = "SELECT run_id, started_unix_ns, scenario, profile, trials_planned, \
                   (SELECT count(*) FROM trial) FROM run";
        let mut found = self.rows("run", sql, [], |row| {
            Ok(Line {
                run_id: u64::from_str_radix(&text(row, 0)?, 16)
                    .map_err(|_| "a run id is no hexadecimal number")?,
                started_unix_ns: row.get::<_, i64>(1)?.cast_unsigned(),
                scenario: text(row, 2)?,
                profile: text(row, 3)?,
                trials_planned: row.get(4)?,
                trials_started: row.get(5)?,
            })
        })?;
        found.pop().ok_or_else(|| StoreError::damaged(&self.path, "it has no head"))
    }

    fn check_tables(&self) -> Result<(), StoreError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
        let tables = self.rows("schema", sql, [], |row| text(row, 0))?;
        match schema::TABLE_NAMES.iter().find(|name| !tables.iter().any(|table| table == *name)) {
            None => Ok(()),
            Some(name) => Err(StoreError::damaged(&self.path, format!("the table {name} is missing"))),
        }
    }

    fn within(&self, what: &'static str, bytes: u64) -> Result<(), StoreError> {
        if bytes <= PLAIN_BYTES_PER_CALL_MAX {
            return Ok(());
        }
        Err(StoreError::TooMuch { path: self.path.clone(), what, limit_bytes: PLAIN_BYTES_PER_CALL_MAX })
    }

    fn rows<T>(
        &self,
        table: &str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.visit(table, sql, params, read, &mut |value| {
            found.push(value);
            Ok(())
        })?;
        Ok(found)
    }

    /// Runs a query; every row goes through `read`, then to `visit`.
    fn visit<T>(
        &self,
        table: &str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, Fault>,
        visit: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::read(&self.path, &format!("table {table}"), &error);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let mut rows = statement.query(params).map_err(failed)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            count += 1;
            if count > self.rows_max {
                let reason = format!("table {table} has more rows than the file can hold");
                return Err(StoreError::damaged(&self.path, reason));
            }
            let value = read(row).map_err(|fault| match fault {
                Fault::Sql(error) => failed(error),
                Fault::Content(reason) => {
                    StoreError::damaged(&self.path, format!("table {table}, row {count}: {reason}"))
                }
            })?;
            visit(value)?;
        }
        Ok(())
    }
}

/// See [`RunFile::line`].
pub(crate) struct Line {
    pub(crate) run_id: u64,
    pub(crate) started_unix_ns: u64,
    pub(crate) scenario: String,
    pub(crate) profile: String,
    pub(crate) trials_planned: u32,
    pub(crate) trials_started: u32,
}

/// What is wrong with one row.
enum Fault {
    Sql(rusqlite::Error),
    Content(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<PackError> for Fault {
    fn from(error: PackError) -> Self {
        Self::Content(error.to_string())
    }
}

impl From<&str> for Fault {
    fn from(reason: &str) -> Self {
        Self::Content(reason.to_owned())
    }
}

fn sample(row: &Row<'_>) -> Result<Sample, Fault> {
    let (counts, histograms, sums_ns) = pack::unpack_sample(blob(row, 7)?)?;
    let grains = [Grain::Second, Grain::FiveSeconds, Grain::Phase];
    let phases = [Phase::Startup, Phase::Warmup, Phase::Measure, Phase::Drain];
    Ok(Sample {
        worker: row.get(0)?,
        sequence: row.get::<_, i64>(1)?.cast_unsigned(),
        stream: row.get(2)?,
        grain: code_of(row, 3, &grains, rows::grain_code)?,
        phase: code_of(row, 4, &phases, rows::phase_code)?,
        t0_second: row.get(5)?,
        written_second: row.get(6)?,
        counts,
        histograms,
        sums_ns,
    })
}

fn text(row: &Row<'_>, column: usize) -> Result<String, Fault> {
    Ok(row.get(column)?)
}

fn blob<'row>(row: &'row Row<'_>, column: usize) -> Result<&'row [u8], Fault> {
    row.get_ref(column)?.as_blob().map_err(|error| Fault::Content(error.to_string()))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, Fault> {
    let text = row.get_ref(column)?.as_str().map_err(|error| Fault::Content(error.to_string()))?;
    serde_json::from_str(text).map_err(|error| Fault::Content(error.to_string()))
}

fn trial(row: &Row<'_>, column: usize) -> Result<TrialRef, Fault> {
    rows::trial_of(row.get(column)?).ok_or_else(|| "a trial's key is out of range".into())
}

fn name_of<T: Copy>(
    row: &Row<'_>,
    column: usize,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Fault> {
    let found = text(row, column)?;
    all.iter()
        .copied()
        .find(|value| name(*value) == found)
        .ok_or_else(|| Fault::Content(format!("unknown name {found:?}")))
}

fn code_of<T: Copy>(row: &Row<'_>, column: usize, all: &[T], code: fn(T) -> i64) -> Result<T, Fault> {
    let found: i64 = row.get(column)?;
    all.iter()
        .copied()
        .find(|value| code(*value) == found)
        .ok_or_else(|| Fault::Content(format!("unknown code {found}")))
}

/// About the memory that a sample takes.
fn held_bytes(sample: &Sample) -> u64 {
    let histograms: usize = sample.histograms.values().map(|bytes| bytes.len() + 64).sum();
    (size_of::<Sample>() + histograms + 64 * sample.sums_ns.len()) as u64
}
