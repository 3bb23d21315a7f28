//! What concerns pods that carry load.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kdyno kubernetes role --namespace load | kubectl apply -f -
  kdyno kubernetes render generators.yaml
  kdyno kubernetes clean generators.yaml --yes
  kdyno kubernetes clean --namespace kafka --yes";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum KubernetesCommand {
    /// Print the least rights that a run with pods takes, as JSON for `kubectl apply -f -`
    Role(KubernetesRoleArgs),
    /// Print what a run would apply for the pods of a file of generators, as JSON; the cluster is not contacted
    Render(KubernetesRenderArgs),
    /// List what runs made in a namespace, jobs and clusters by Strimzi, and delete it on request
    Clean(KubernetesCleanArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesRoleArgs {
    /// Namespace of the pods
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// Also the rights for clusters that Strimzi makes (`system: {strimzi: …}`)
    #[arg(long)]
    pub(crate) strimzi: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesRenderArgs {
    /// File of generators with `kubernetes`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesCleanArgs {
    /// File of generators with `kubernetes`, whose namespace and context are meant
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["namespace", "context"])]
    pub(crate) file: Option<PathBuf>,
    /// The namespace; without it that of the context
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Context of the kubeconfig; without it the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Delete; without it all is only listed
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
