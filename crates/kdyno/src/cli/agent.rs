//! How an agent is reached.

use clap::{Args, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kdyno agent --listen 0.0.0.0:7400            then name this host in the generators of a run
  ssh load@gen-1 kdyno agent --stdio           what `{ssh: load@gen-1, program: kdyno}` starts";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentArgs {
    /// Serve the run at the other end of standard input and output, as ssh starts it
    #[arg(long, required_unless_present_any = ["listen", "held"], conflicts_with = "listen")]
    pub(crate) stdio: bool,
    /// Serve runs that connect to this address by TLS; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Folder with the certificate, its key and the token by which both sides know each other; made where it is not there. Runs need
    /// copies of `certificate.pem` and `token`
    #[arg(long, value_name = "DIR", default_value = "kdyno-agent", value_hint = ValueHint::DirPath, conflicts_with = "stdio")]
    pub(crate) identity: PathBuf,
    /// End by itself: when no run has come within so many seconds, and 5 s after the last one has left or may no longer resume
    /// its session, as in a pod that is made for one run
    #[arg(long, value_name = "SECONDS", requires = "listen")]
    pub(crate) until_alone: Option<u64>,
    /// Run a whole lab on request instead of workers, with its run files in this folder, as in the pod of `--in kubernetes`
    #[arg(long, value_name = "DIR", requires = "listen", hide = true, value_hint = ValueHint::DirPath)]
    pub(crate) lab: Option<PathBuf>,
    /// Be the agent that `--stdio` starts for a session; its first connection is the socket that is standard input
    #[arg(long, conflicts_with_all = ["stdio", "listen"], hide = true)]
    pub(crate) held: bool,
}
