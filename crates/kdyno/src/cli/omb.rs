//! `kdyno omb`: files of the OpenMessaging Benchmark as they are.

use super::ExecutionArgs;
use super::values::duration;
use clap::{Args, ValueHint};
use std::path::PathBuf;

const OMB_AFTER: &str = "\
One workload with one driver is one run. Without --bootstrap-server a local cluster is started for each,
with as many brokers as the driver file has replicas. Keys that are not honoured are named.

Exit codes, of several runs the first that is not 0: as of `kdyno run --help`; 6: the result is written all
the same, and its `kdyno.caveats` say which figures are invalid; 5: a run has no result, which standard error
explains; 2: a file is refused, the others ran";

#[derive(Debug, Args)]
#[command(after_help = OMB_AFTER)]
pub(crate) struct OmbArgs {
    /// Workload files
    #[arg(required = true, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) workloads: Vec<PathBuf>,
    /// Driver files of Kafka's client; several with commas
    #[arg(long, short = 'd', required = true, value_name = "FILE", value_delimiter = ',', value_hint = ValueHint::FilePath)]
    pub(crate) drivers: Vec<PathBuf>,
    /// File of OMB's result; for several runs a folder. Folders are made [default: WORKLOAD-DRIVER-TIME.json here]
    #[arg(long, short = 'o', value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Measure this cluster: broker to ask first, HOST:PORT; several with commas [default: a local cluster is started]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) bootstrap_server: Vec<String>,
    /// A Java client's properties file that says how this cluster is reached
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) command_config: Option<PathBuf>,
    /// Length of the measured window in place of testDurationMinutes, e.g. 30s; a backlog is written in it, a search has windows
    /// of its own
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<String>,
    /// Length of the warm-up in place of warmupDurationMinutes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) warmup: Option<String>,
    /// Print what the files come to as scenarios for `kdyno run`, and end
    #[arg(long)]
    pub(crate) print_scenario: bool,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}
