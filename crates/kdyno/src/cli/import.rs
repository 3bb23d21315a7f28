//! `kdyno import`: series of others, or a published result.

use super::values::name_and_value;
use clap::{Args, ValueHint};
use std::path::PathBuf;

const IMPORT_HELP: &str = "\
`kdyno import RESULT.json > mine.yaml` writes a scenario with the load of a result of the OpenMessaging Benchmark and its figures as published ones.
Times: 2026-03-07T09:05:04Z and other ISO 8601, seconds or milliseconds since 1970; a time without an offset needs --zone.
An empty cell is a gap. `kdyno show` and `kdyno compare` report imported-NAME.COLUMN; a scenario cannot name it. Importing again under the same name replaces what was imported before.
Units: count, percent, ratio, cores, percent-of-core, bytes, KiB, MiB, GiB, kB, MB, GB, bytes/s, KiB/s, MiB/s, kB/s, MB/s,
records/s, s, ms, us, ns";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// A run file, the beginning of its name, a scenario's name for its newest run, or `latest`; alone, a result JSON of the
    /// OpenMessaging Benchmark
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub(crate) run: String,
    /// Comma-separated values; the first line names the columns
    #[arg(value_name = "FILE.csv", value_hint = ValueHint::FilePath, requires_all = ["time", "unit"])]
    pub(crate) file: Option<PathBuf>,
    /// The column with the times
    #[arg(long, value_name = "COLUMN", requires = "file")]
    pub(crate) time: Option<String>,
    /// Unit of the values
    #[arg(long, value_name = "UNIT", requires = "file")]
    pub(crate) unit: Option<String>,
    /// Another unit of one column; may be repeated
    #[arg(long, value_name = "COLUMN=UNIT", value_parser = name_and_value, requires = "file")]
    pub(crate) unit_of: Vec<(String, String)>,
    /// Take this column; may be repeated [default: all but the times]
    #[arg(long, value_name = "COLUMN", requires = "file")]
    pub(crate) column: Vec<String>,
    /// Time zone of times without an offset: UTC, +02:00, America/New_York
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, requires = "file")]
    pub(crate) zone: Option<String>,
    /// Under which name it is kept: imported-NAME [default: that of the file]
    #[arg(long = "as", value_name = "NAME", requires = "file")]
    pub(crate) name: Option<String>,
    /// Folder in which names are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
