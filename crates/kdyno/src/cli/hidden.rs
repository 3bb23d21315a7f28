//! Arguments of the commands that kdyno starts itself with: nobody types them.

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

/// What `http-load` is told.
#[derive(Debug, Args)]
pub(crate) struct HttpLoadArgs {
    /// File with what is sent, as the lab writes it
    pub(crate) plan: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// File with the links that it is, as the testbed writes it
    pub(crate) spec: std::path::PathBuf,
}
