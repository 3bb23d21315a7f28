//! What the drop-in commands take: everything, since their flags are read as Kafka's tools read them.

use clap::Args;

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct PerfTestArgs {
    /// As of Kafka's tool; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    pub(crate) args: Vec<String>,
}
