//! What is typed to begin with files of one's own: a scenario, a target.

use super::values::target_name;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const INIT_AFTER: &str = "\
At a terminal `kdyno init` asks for what no flag says: where, what, rate and size, how long. Elsewhere it takes
the defaults: --local, --load produce, 1k/s, 1KiB, 30s. A plain number is per second, bytes, seconds.";

#[derive(Debug, Args)]
#[command(after_help = INIT_AFTER)]
pub(crate) struct InitArgs {
    /// Scenario file to write
    #[arg(value_name = "FILE", default_value = "my.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Measure a cluster that kdyno starts on this host
    #[arg(long, conflicts_with = "bootstrap_server")]
    pub(crate) local: bool,
    /// Measure your own cluster: write its target file as well, next to FILE
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) bootstrap_server: Vec<String>,
    /// What the load does
    #[arg(long, value_enum)]
    pub(crate) load: Option<InitLoad>,
    /// Records per second, all clients together, or max
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Bytes of each record's value
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Length of the measured window
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// A producer's properties file: its settings become the load's, its addresses and its security the target's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

/// What the load of a first scenario does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitLoad {
    /// A producer
    Produce,
    /// A producer, and a consumer of all partitions
    ProduceAndConsume,
    /// A producer, and a consumer group of three members
    Group,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TargetCommand {
    /// Print a target file for your own cluster, for `kdyno run --target`
    Init(TargetInitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TargetInitArgs {
    /// Broker to ask first, HOST:PORT; several with commas [default: those of --command-config] [env:
    /// KDYNO_BOOTSTRAP_SERVER, where neither is typed]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) bootstrap_server: Vec<String>,
    /// A Java client's properties file, as Kafka's tools take it. The target file refers to it, and copies no secret
    /// [env: KDYNO_COMMAND_CONFIG, where neither is typed]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) command_config: Option<PathBuf>,
    /// Name of the target, which results show
    #[arg(long, default_value = "cluster", value_parser = target_name)]
    pub(crate) name: String,
}
