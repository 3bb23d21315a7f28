//! The tables of a run file, its marks and its versions.
//!
//! Rules for changes: from the first release on a table, a column with a default, or a new packed form may be added with
//! a new [`FORMAT_VERSION`] and a line in its changelog; the meaning and the names of what is stored never
//! change; a fixture of every version stays under `tests/fixtures` and is read by a test. A statement here stays as it is but
//! for comments and white space: a file that has another one is refused, since it may come from anybody.

use std::sync::LazyLock;

/// Marks a SQLite file as a run file (`PRAGMA application_id`): "kdyn".
pub const APPLICATION_ID: u32 = 0x6b64_796e;

/// Version of the format (`PRAGMA user_version`).
///
/// - 1: never released; see `read_by`.
/// - 2: never released either: trials as values, sessions, findings with a scope, workers kept apart.
/// - 3: conclusions, marks of findings, what caveats concern, starts of clusters, settings of brokers, lag.
///   Never released: `lag` was a time in it, and `lag_records` what is `lag` now.
/// - 4: `lag` is records, `lag_time` its time. Never released.
/// - 5: packed counts are one list of numbers.
pub const FORMAT_VERSION: u32 = 5;

/// The commit of kdyno that reads and writes a format from before the first release.
pub(crate) fn read_by(format: u32) -> &'static str {
    match format {
        1 => "0b7829f",
        2 => "399ba82",
        3 => "6c9430a",
        _ => "146ac67",
    }
}

/// Every table, with the comments that a reader of the file sees as well (`sqlite3 FILE .schema`).
///
/// Enums are stored under their names. `packed` columns are explained in `pack.rs`, their bytes in `blob.rs`. Unsigned
/// 64-bit values are stored bit by bit as signed ones.
pub(crate) const TABLES: &str = "
CREATE TABLE run (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    run_id TEXT NOT NULL,
    scenario TEXT NOT NULL,
    profile TEXT NOT NULL,
    target TEXT, -- NULL: clusters of kdyno's own
    changed_json TEXT NOT NULL, -- params that --set changed
    trials_planned INTEGER, -- NULL: not known beforehand
    scenario_path TEXT NOT NULL,
    scenario_text TEXT NOT NULL,
    plan_json TEXT NOT NULL
) STRICT;
CREATE TABLE session (
    session INTEGER PRIMARY KEY, -- from 1
    started_unix_ns INTEGER NOT NULL,
    kdyno_version TEXT NOT NULL,
    git_head TEXT,
    command_line_json TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    processors INTEGER NOT NULL,
    host_facts_json TEXT NOT NULL,
    status TEXT, -- from here on NULL: goes on, or was cut off
    detail TEXT,
    ended_unix_ns INTEGER
) STRICT;
CREATE TABLE trial (
    trial INTEGER PRIMARY KEY, -- from 1, in order of running
    session INTEGER NOT NULL,
    case_index INTEGER NOT NULL,
    variant TEXT,
    pair INTEGER,
    place INTEGER,
    repeat INTEGER NOT NULL,
    start INTEGER NOT NULL, -- which start of its cluster
    label TEXT NOT NULL,
    reason_json TEXT NOT NULL,
    seed INTEGER NOT NULL,
    effective_json TEXT NOT NULL, -- the case as this trial ran it
    t0_unix_ns INTEGER NOT NULL,
    t0_monotonic_ns INTEGER NOT NULL,
    cluster_json TEXT NOT NULL,
    command_lines_json TEXT NOT NULL,
    settings_json TEXT NOT NULL -- of the brokers, by broker
) STRICT;
CREATE TABLE phase (
    trial INTEGER NOT NULL,
    phase TEXT NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER, -- NULL: not known yet
    PRIMARY KEY (trial, phase)
) STRICT;
CREATE TABLE stream (
    trial INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    name TEXT NOT NULL,
    topic TEXT NOT NULL,
    role TEXT NOT NULL,
    clients INTEGER NOT NULL,
    value_bytes INTEGER NOT NULL,
    PRIMARY KEY (trial, worker, stream)
) STRICT;
CREATE TABLE sample (
    trial INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    grain TEXT NOT NULL,
    phase TEXT NOT NULL,
    t0_second INTEGER NOT NULL,
    written_second INTEGER NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE (trial, worker, stream, sequence)
) STRICT;
CREATE INDEX sample_written ON sample (trial, written_second);
CREATE TABLE totals (
    trial INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (trial, worker, stream)
) STRICT;
CREATE TABLE probe (
    trial INTEGER NOT NULL,
    at_ns INTEGER NOT NULL, -- of the first reading
    packed BLOB NOT NULL
) STRICT;
CREATE INDEX probe_at ON probe (trial, at_ns);
CREATE TABLE event (
    trial INTEGER, -- NULL: outside of trials
    at_unix_ns INTEGER NOT NULL,
    at_ns INTEGER,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE TABLE noise (
    trial INTEGER NOT NULL,
    spin_per_us REAL NOT NULL,
    spin_worst_ratio REAL NOT NULL,
    sleep_late_ns_p50 INTEGER NOT NULL,
    sleep_late_ns_p99 INTEGER NOT NULL,
    loopback_ns_p50 INTEGER NOT NULL,
    loopback_ns_p99 INTEGER NOT NULL,
    steal_share REAL NOT NULL
) STRICT;
CREATE TABLE log (
    subject TEXT NOT NULL,
    excerpt TEXT NOT NULL
) STRICT;
CREATE TABLE finding (
    scope TEXT NOT NULL,
    scope_id INTEGER, -- the trial, the case or the published row; NULL: the run
    scope_pair INTEGER,
    subject TEXT NOT NULL,
    metric TEXT NOT NULL,
    quantity TEXT NOT NULL,
    unit TEXT NOT NULL,
    estimate REAL, -- NULL: no value
    at_least INTEGER NOT NULL, -- 1: the true value is the estimate or more
    n INTEGER NOT NULL,
    range_json TEXT,
    interval_json TEXT NOT NULL,
    marks_json TEXT NOT NULL
) STRICT;
CREATE INDEX finding_scope ON finding (scope, scope_id, scope_pair);
CREATE TABLE caveat (
    scope TEXT NOT NULL,
    scope_id INTEGER, -- as in finding
    scope_pair INTEGER,
    severity TEXT NOT NULL,
    concerns_json TEXT NOT NULL,
    caveat_json TEXT NOT NULL
) STRICT;
CREATE INDEX caveat_scope ON caveat (scope, scope_id, scope_pair);
CREATE TABLE conclusion (
    scope TEXT NOT NULL,
    scope_id INTEGER, -- as in finding
    scope_pair INTEGER,
    conclusion_json TEXT NOT NULL
) STRICT;
CREATE TABLE stacks (
    trial INTEGER NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    packed BLOB NOT NULL, -- collapsed text, or a Flight Recorder file
    PRIMARY KEY (trial, subject)
) STRICT;
CREATE TABLE course (
    trial INTEGER PRIMARY KEY,
    packed BLOB NOT NULL -- its courses over time, drawn from its rows with its findings
) STRICT;
";

/// What is made by [`TABLES`], each as it is in `sqlite_schema` but for comments and white space, which may change.
pub(crate) static MADE: LazyLock<Vec<String>> = LazyLock::new(|| {
    // Comments hold semicolons too.
    let bare = bare(TABLES);
    bare.split(';').map(str::trim).filter(|sql| !sql.is_empty()).map(str::to_owned).collect()
});

/// A statement without its comments, with one space between its words. None of ours holds a text in quotes, so that what is
/// equal to one of them is one.
pub(crate) fn bare(sql: &str) -> String {
    let words =
        sql.split('\n').filter_map(|line| line.split("--").next()).flat_map(str::split_ascii_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

/// What a statement makes: `table run`.
pub(crate) fn made_by(bare: &str) -> String {
    let words: Vec<&str> = bare.split(' ').skip(1).take(2).collect();
    words.join(" ").to_ascii_lowercase()
}
