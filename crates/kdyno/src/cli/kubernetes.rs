//! What concerns pods that carry load.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kdyno kubernetes role --namespace load | kubectl apply -f -
  kdyno kubernetes render generators.yaml
  kdyno kubernetes clean generators.yaml --yes
  kdyno kubernetes fetch generators.yaml 20261201-1200-my.kdyno";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum KubernetesCommand {
    /// Print the least rights that a run with pods takes, as JSON for `kubectl apply -f -`
    Role(KubernetesRoleArgs),
    /// Print what a run would apply for the pods of a file of generators, as JSON; the cluster is not contacted
    Render(KubernetesRenderArgs),
    /// List the jobs of runs in the namespace of a file of generators, and delete them on request
    Clean(KubernetesCleanArgs),
    /// Copy a run file from the claim of a file of generators, on which a lab in a pod has kept it
    Fetch(KubernetesFetchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesRoleArgs {
    /// Namespace of the pods
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesRenderArgs {
    /// File of generators with `kubernetes`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What `kdyno run --in kubernetes` would apply for its lab
    #[arg(long)]
    pub(crate) lab: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesFetchArgs {
    /// File of generators with `kubernetes`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Name of the run file
    pub(crate) run: String,
    /// Folder of the copy [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesCleanArgs {
    /// File of generators with `kubernetes`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Delete; without it the jobs are only listed
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
