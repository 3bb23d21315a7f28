//! How a run is carried out: what every command takes that runs trials.

use super::values::{listen_address, time};
use clap::{Args, ValueEnum, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What makes the exit code red.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gate {
    /// A claim, threshold or SLA that is not met (3), side B materially worse (4); no answer is 0
    Worse,
    /// These, and a claim or threshold that has no answer (5)
    #[default]
    Claims,
    /// These, and a comparison or search that has no answer (5)
    Strict,
}

impl From<Gate> for kdyno_report::judged::Gate {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Worse => Self::Worse,
            Gate::Claims => Self::Claims,
            Gate::Strict => Self::Strict,
        }
    }
}

/// How results are printed on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputForm {
    /// Tables and sentences for a terminal
    #[default]
    Text,
    /// A block to paste into a pull request
    Markdown,
}

/// Where the lab runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabPlace {
    /// In a pod that is made for the run
    Kubernetes,
}

/// How a run is carried out and where its evidence goes.
#[derive(Debug, Args)]
pub(crate) struct ExecutionArgs {
    /// Folder of the run file [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the run as one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    pub(crate) format: OutputForm,
    /// Write claims, verdicts and SLAs as JUnit XML to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// What makes the exit code red
    #[arg(long, value_enum, default_value_t)]
    pub(crate) gate: Gate,
    /// Also read another process of this host, such as a database: a PID, or a NAME as of `pgrep -x`, of a program's file, of
    /// a Java process's main class or jar. All of a name are read. May be repeated; at most 16 processes
    #[arg(long, value_name = "NAME|PID")]
    pub(crate) probe: Vec<String>,
    /// A file with the `hosts`, or the pods (`kubernetes`), that carry the load and how they `share` it
    /// [default: `generators` of the target, else this host]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) generators: Option<PathBuf>,
    /// Run the lab itself in the cluster of --generators
    #[arg(long = "in", value_name = "PLACE", value_enum, requires = "generators",
        conflicts_with_all = ["probe", "share", "wait", "metrics_listen"])]
    pub(crate) lab_in: Option<LabPlace>,
    /// Run although another run measures on this host
    #[arg(long)]
    pub(crate) share: bool,
    /// Longest wait for other runs on this host, e.g. 30m; it is no queue [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "share")]
    pub(crate) wait: Option<u64>,
    /// Do not ask before existing clusters are sent more than 1 GiB of values, or `rate: max`; needed where there is no
    /// terminal to ask on, as in CI [env: KDYNO_YES, 1 or true]
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Print the answer alone; `kdyno show latest` shows all of the run, `kdyno runs` names its file
    #[arg(long, short = 'q', conflicts_with_all = ["json", "format"])]
    pub(crate) quiet: bool,
    /// Answer over HTTP with metrics in OpenMetrics text at /metrics while the run lasts; port 0 takes a free one, HOST is
    /// an IP address [default: do not listen; HOST: 127.0.0.1]
    #[arg(long, value_name = "[HOST:]PORT", value_parser = listen_address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Name under which others ask for metrics, such as that of this host, in addition to localhost and IP addresses; may be repeated
    #[arg(long, value_name = "NAME", requires = "metrics_listen")]
    pub(crate) metrics_host: Vec<String>,
}
