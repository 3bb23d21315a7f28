//! The tables of a run file, its marks and its versions.
//!
//! Rules for changes: a table, a column with a default, or a new packed form may be added with a new
//! [`FORMAT_VERSION`] and a line in its changelog; the meaning of what is stored never changes; a fixture
//! of every version stays under `tests/fixtures` and is read by a test.

/// Marks a SQLite file as a run file (`PRAGMA application_id`): "kdyn".
pub const APPLICATION_ID: u32 = 0x6b64_796e;

/// Version of the format (`PRAGMA user_version`).
///
/// - 1: the first.
pub const FORMAT_VERSION: u32 = 1;

/// Every table. A trial is keyed by `case × 2³² + repeat`. Integers that stand for names:
/// `grain` 0 second, 1 five seconds, 2 phase; `phase` 0 startup, 1 warmup, 2 measure, 3 drain.
/// `packed` columns are explained in `pack.rs`. Unsigned 64-bit values are stored bit by bit as signed ones.
pub(crate) const TABLES: &str = "
CREATE TABLE run (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    run_id TEXT NOT NULL,
    kdyno_version TEXT NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    scenario TEXT NOT NULL,
    profile TEXT NOT NULL,
    trials_planned INTEGER NOT NULL,
    scenario_path TEXT NOT NULL,
    scenario_text TEXT NOT NULL,
    plan_json TEXT NOT NULL,
    host_facts_json TEXT NOT NULL,
    command_line_json TEXT NOT NULL,
    git_head TEXT
) STRICT;
CREATE TABLE trial (
    trial INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    t0_unix_ns INTEGER NOT NULL,
    t0_monotonic_ns INTEGER NOT NULL,
    phases_json TEXT NOT NULL,
    cluster_json TEXT NOT NULL,
    command_lines_json TEXT NOT NULL
) STRICT;
CREATE TABLE stream (
    trial INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    name TEXT NOT NULL,
    topic TEXT NOT NULL,
    role TEXT NOT NULL,
    clients INTEGER NOT NULL,
    value_bytes INTEGER NOT NULL,
    PRIMARY KEY (trial, stream)
) STRICT;
CREATE TABLE sample (
    trial INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    grain INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    t0_second INTEGER NOT NULL,
    written_second INTEGER NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE (trial, worker, sequence)
) STRICT;
CREATE TABLE probe (
    trial INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE event (
    trial INTEGER,
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
CREATE TABLE totals (
    trial INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (trial, stream)
) STRICT;
CREATE TABLE log (
    subject TEXT NOT NULL,
    excerpt TEXT NOT NULL
) STRICT;
CREATE TABLE finding (
    trial INTEGER NOT NULL,
    subject TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value_kind TEXT NOT NULL,
    value REAL
) STRICT;
CREATE TABLE caveat (
    trial INTEGER NOT NULL,
    severity TEXT NOT NULL,
    caveat_json TEXT NOT NULL
) STRICT;
CREATE TABLE run_end (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    status TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    detail TEXT NOT NULL,
    ended_unix_ns INTEGER NOT NULL
) STRICT;
";

/// Names of the tables, as a reader expects them.
pub(crate) const TABLE_NAMES: [&str; 12] = [
    "run", "trial", "stream", "sample", "probe", "event", "noise", "totals", "log", "finding", "caveat",
    "run_end",
];
