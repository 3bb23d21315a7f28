//! What concerns pods that carry load.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kdyno kubernetes role --namespace load | kubectl apply -f -
  kdyno kubernetes render generators.yaml
  kdyno kubernetes clean generators.yaml --yes
  kdyno kubernetes clean --namespace kafka --yes
  kdyno kubernetes fetch generators.yaml 20261201-1200-my.kdyno
  kdyno kubernetes properties my-cluster --namespace kafka --user ada --out my.properties";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum KubernetesCommand {
    /// Print the least rights that a run with pods takes, as JSON for `kubectl apply -f -`
    Role(KubernetesRoleArgs),
    /// Print what a run would apply for the pods of a file of generators, as JSON; the cluster is not contacted
    Render(KubernetesRenderArgs),
    /// List what runs made in a namespace, jobs and clusters by Strimzi, and delete it on request
    Clean(KubernetesCleanArgs),
    /// Copy a run file from the claim of a file of generators, on which a lab in a pod has kept it
    Fetch(KubernetesFetchArgs),
    /// Write a Java client's properties file, with secrets, for a cluster of Strimzi's that is there already
    Properties(KubernetesPropertiesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KubernetesPropertiesArgs {
    /// Name of the resource `Kafka`
    pub(crate) cluster: String,
    /// Its namespace; without it that of the context
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Context of the kubeconfig; without it the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Listener for the clients; without it the only one
    #[arg(long, value_name = "NAME")]
    pub(crate) listener: Option<String>,
    /// Name of the resource `KafkaUser`, where clients log in
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The file, which must not be there yet; mode 0600
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
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
