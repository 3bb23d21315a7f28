//! Arguments of internal commands: kdyno itself uses them.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct WatchKeeperArgs {
    /// This program
    pub(crate) exe: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct GuardExecArgs {
    /// What to become, as the guard writes it
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
}

/// The task of `http-load`.
#[derive(Debug, Args)]
pub(crate) struct HttpLoadArgs {
    /// File with what is sent, as the lab writes it
    pub(crate) plan: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Folder of the run file
    pub(crate) runs: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// File with the links that it is, as the testbed writes it
    pub(crate) spec: std::path::PathBuf,
}
