//! What can be typed: every command with its arguments. What a command does lies in the file of `commands` that
//! bears its name; nothing here reaches there.

mod agent;
mod doctor;
mod execution;
pub(crate) mod help;
mod hidden;
mod import;
mod init;
mod kubernetes;
mod listeners;
mod omb;
mod perf_test;
mod question;
mod stored;
mod values;

pub(crate) use agent::AgentArgs;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
pub(crate) use doctor::DoctorArgs;
pub(crate) use execution::{ExecutionArgs, Gate, LabPlace, OutputForm};
pub(crate) use hidden::{GuardExecArgs, HttpLoadArgs, LabArgs, RelayArgs, WatchKeeperArgs};
pub(crate) use import::ImportArgs;
pub(crate) use init::{InitArgs, InitLoad, TargetCommand, TargetInitArgs};
use kdyno_model::stacks::FlameKind;
pub(crate) use kubernetes::{
    KubernetesCleanArgs, KubernetesCommand, KubernetesFetchArgs, KubernetesPropertiesArgs,
};
pub(crate) use listeners::ListenerArgs;
pub(crate) use omb::OmbArgs;
pub(crate) use perf_test::PerfTestArgs;
pub(crate) use question::{ChoiceArgs, CompareArgs, FailIfArgs, FindArgs, ParamArgs, RunArgs};
use std::path::PathBuf;
pub(crate) use stored::{
    ExportArgs, ExportFormat, FolderArgs, PublishArgs, ReportArgs, RunChoice, RunsArgs, ServeArgs, ShowArgs,
};
pub(crate) use values::ChosenDriver;
use values::{duration, flame_kind, mode, name_and_value, number, number_up_to, rate, size};

/// Version of the program, with the commit it was built from and its day where that was a checkout:
/// `0.1.0 (0123456789ab 2026-12-01)`.
pub(crate) const VERSION: &str = env!("KDYNO_VERSION");

const EXAMPLES: &str = "\
Examples:
  kdyno quick --bootstrap-server host:9092    a first figure of a running cluster
  kdyno run first-light --dry-run             what would be done, and how long it takes

Exit codes: 0 done · 1 kdyno failed · 2 usage · 3 claim, threshold, SLA or advice of high severity
not met · 4 materially worse · 5 no answer (--gate) · 6 answer invalid · 130 interrupted";

/// Where a command's exit codes are those of a run.
const AS_OF_RUN: &str = "Exit codes: as of `kdyno run --help`";

/// Measures Apache Kafka: starts a cluster or attaches to one, applies a load, keeps the evidence.
#[derive(Debug, Parser)]
#[command(name = "kdyno", version = VERSION, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, infer_subcommands = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario; one file keeps its evidence
    Run(RunArgs),
    /// Compare two sides of a scenario, or stored runs: does B differ from A?
    Compare(CompareArgs),
    /// Find the highest load at which conditions hold
    Find(FindArgs),
    /// Measure a running cluster without a scenario file
    Quick(QuickArgs),
    /// Write a scenario of your own, from four answers or a producer's properties
    Init(InitArgs),
    /// Run workloads of the OpenMessaging Benchmark as they are
    Omb(Box<OmbArgs>),
    /// Drop-in for kafka-producer-perf-test
    ProducerPerfTest(PerfTestArgs),
    /// Drop-in for kafka-consumer-perf-test
    ConsumerPerfTest(PerfTestArgs),
    /// Run a stored run's plan again
    Rerun(RerunArgs),
    /// List the bundled scenarios, or print one
    Scenarios(ScenariosArgs),
    /// List runs
    Runs(RunsArgs),
    /// Print a run's result
    Show(ShowArgs),
    /// Write a run as JSON, CSV, Parquet, Markdown, JUnit, HdrHistogram, flame graph
    Export(ExportArgs),
    /// Write the page of a run, one HTML file
    Report(ReportArgs),
    /// Write a document of several runs, as HTML or Markdown
    Publish(PublishArgs),
    /// Serve the pages of a folder of runs to a browser on this host
    Serve(ServeArgs),
    /// Add series (CSV) to a stored run, or print a published result as a scenario
    Import(ImportArgs),
    /// Start the system of a scenario without load and leave it running
    Up(ScenarioArgs),
    /// End what `up` started
    Down(ScenarioArgs),
    /// Start, list and end local clusters
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Write the target file of your own cluster
    #[command(subcommand)]
    Target(TargetCommand),
    /// Check this host, a cluster or a scenario against recommended settings
    Doctor(DoctorArgs),
    /// Delete the topics that runs left on a target's cluster
    Clean(CleanArgs),
    /// Serve a broker that acknowledges everything and keeps nothing
    NullBroker(NullBrokerArgs),
    /// Carry load on this host for a run on another one
    Agent(AgentArgs),
    /// Rights, objects and leftovers of pods that carry load
    #[command(subcommand)]
    Kubernetes(KubernetesCommand),
    /// Print the version
    #[command(hide = true)]
    Version,
    /// Print the JSON Schema of scenarios, targets, runs or doctor's findings
    Schema(SchemaArgs),
    /// Print a shell's completion script
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder: MANPATH is the folder above `man1`
    #[command(hide = true)]
    Man(ManArgs),
    /// Be a worker: speak the lab's messages over the socket that is standard input
    #[command(hide = true)]
    Worker,
    /// Be the guard of the brokers of one cluster
    #[command(hide = true)]
    Guard,
    /// Become a broker that does not outlive its guard
    #[command(hide = true)]
    GuardExec(GuardExecArgs),
    /// Start a command of a load item, and end all of it when kdyno is gone
    #[command(name = kdyno_testbed::command::KEEP_COMMAND, hide = true)]
    Keep,
    /// Start the keeper of a command, and end what it leaves
    #[command(name = kdyno_testbed::command::WATCH_COMMAND, hide = true)]
    WatchKeeper(WatchKeeperArgs),
    /// Send what the users and jobs of a load item ask for over HTTP
    #[command(name = kdyno_model::plan::http_load::HTTP_LOAD, hide = true)]
    HttpLoad(HttpLoadArgs),
    /// Execute the run that standard input holds, in a pod of `--in kubernetes`
    #[command(hide = true)]
    Lab(LabArgs),
    /// Be what lies between two zones of a cluster
    #[command(hide = true)]
    Relay(RelayArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// Name of a bundled scenario (see `kdyno scenarios`), or a file: a path with a `/`, or a name in .yaml
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: String,
    /// Profile of the scenario [default: laptop; with a target attached, where there is one]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Set a parameter of the scenario; may be repeated
    #[arg(long, value_name = "PARAM=VALUE", value_parser = name_and_value)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Debug, Args)]
#[command(after_help = AS_OF_RUN)]
pub(crate) struct QuickArgs {
    /// Broker to ask first, HOST:PORT; several with commas, an IPv6 address in brackets [default: those of
    /// --command-config] [env: KDYNO_BOOTSTRAP_SERVER, where neither is typed]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) bootstrap_server: Vec<String>,
    /// A Java client's properties file, as Kafka's tools take it: addresses, security, settings of the producer
    /// [env: KDYNO_COMMAND_CONFIG, where neither is typed]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) command_config: Option<PathBuf>,
    /// Records per second, all clients together
    #[arg(long, default_value = "1000/s", value_name = "RATE", value_parser = rate)]
    pub(crate) rate: String,
    /// Bytes of each record's value
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size)]
    pub(crate) size: String,
    /// Length of the measured window, at most 5m; a bare number is in seconds
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration)]
    pub(crate) duration: String,
    /// Search for the highest rate at which this holds, e.g. 'p99 <= 50ms' of the response time, or a condition of `kdyno find`:
    /// a quick look within ten minutes, from --rate to at most 20 MiB/s; may be repeated
    #[arg(long, value_name = "CONDITION", conflicts_with = "duration")]
    pub(crate) find: Vec<String>,
    /// Write to this existing topic, instead of one that is made for this and deleted afterwards
    #[arg(long, value_name = "NAME", conflicts_with_all = ["partitions", "replicas", "find"])]
    pub(crate) topic: Option<String>,
    /// Partitions of the topic that is made for this and deleted afterwards
    #[arg(long, default_value_t = 3, value_parser = number(1, u32::MAX))]
    pub(crate) partitions: u32,
    /// Replicas of each partition [default: 3, or as many as there are brokers]
    #[arg(long, value_parser = number(1, u32::MAX))]
    pub(crate) replicas: Option<u32>,
    /// Acknowledgements to wait for: 0, 1 or all [default: all, or what --command-config says]
    #[arg(long, value_parser = ["0", "1", "all"])]
    pub(crate) acks: Option<String>,
    /// Sample the stacks of brokers that `kdyno cluster up` or `kdyno up` started on this host, for flame graphs in the report:
    /// cpu (CPU time), alloc (heap allocated), lock (waits for locks), or jfr, all three as a Flight Recorder file without
    /// a graph [default: not sampled]
    #[arg(long, value_name = "KIND", value_parser = flame_kind())]
    pub(crate) flame: Option<FlameKind>,
    /// Print what would be done and end; the cluster is not contacted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = AS_OF_RUN)]
pub(crate) struct RerunArgs {
    #[command(flatten)]
    pub(crate) run: RunChoice,
    /// Target file of an existing cluster that the run used; once for each. Of a run on one cluster it may be that of another
    /// one, such as yours for a colleague's run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: Vec<PathBuf>,
    /// Print what would be done and end
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// You made the run file yourself, and it is unchanged: start whatever its plan names. Without this a run file has no
    /// command, component, file, secret or unusual option of a JVM followed, since it may come from anybody
    #[arg(long)]
    pub(crate) trust: bool,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScenariosArgs {
    /// Print this scenario's file
    pub(crate) name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Start a local cluster and leave it running
    Up(ClusterUpArgs),
    /// List running clusters
    List(ClusterListArgs),
    /// Print a target file for a running cluster, for `kdyno run --target`
    Target(ClusterTargetArgs),
    /// End a running cluster and remove its data
    Down(ClusterDownArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ClusterUpArgs {
    /// Name of the cluster
    #[arg(default_value = "default")]
    pub(crate) name: String,
    /// Kafka version: 2.7.0 to the newest
    #[arg(long, default_value = kdyno_model::version::NEWEST, value_name = "VERSION")]
    pub(crate) kafka: String,
    /// An unpacked Kafka distribution instead of a version
    #[arg(long, value_name = "DIR", conflicts_with = "kafka", value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,
    /// A built Kafka checkout instead of a version
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kafka", "home"], value_hint = ValueHint::DirPath)]
    pub(crate) source: Option<PathBuf>,
    /// Number of brokers
    #[arg(long, default_value_t = 1, value_parser = number(1, 64))]
    pub(crate) brokers: u32,
    /// How metadata is kept: kraft, controllers=N or zookeeper=N
    #[arg(long, default_value = "kraft", value_parser = mode)]
    pub(crate) mode: kdyno_model::plan::Mode,
    /// Heap of each broker
    #[arg(long, default_value = "512MiB", value_name = "SIZE")]
    pub(crate) heap: String,
    /// A broker setting; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = name_and_value)]
    pub(crate) config: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) listeners: ListenerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterTargetArgs {
    /// Name of the cluster
    #[arg(default_value = "default")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterDownArgs {
    /// Name of the cluster
    #[arg(default_value = "default")]
    pub(crate) name: String,
    /// End all of them
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Target file of the cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: PathBuf,
    /// Delete; without it the topics are only listed
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NullBrokerArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 9092, value_parser = number_up_to(0, u16::MAX, 0))]
    pub(crate) port: u16,
    /// Partitions of every topic it is asked for
    #[arg(long, default_value_t = 1, value_parser = number(1, 10_000))]
    pub(crate) partitions: u32,
    /// Answer fetches with a batch of so many records of each partition, without end; with nothing unless it is given
    #[arg(long, value_name = "RECORDS", value_parser = number(0, u32::MAX))]
    pub(crate) fetch_batch: Option<u32>,
    /// Bytes of each value in it
    #[arg(long, value_name = "BYTES", default_value_t = 128, requires = "fetch_batch", value_parser = number(0, u32::MAX))]
    pub(crate) fetch_value: u32,
    /// Speak TLS of this version; the certificate to trust, PEM, is printed after the address
    #[arg(long, value_enum)]
    pub(crate) tls: Option<TlsChoice>,
    /// Speak this cipher suite alone, by its name in Java; may be repeated
    #[arg(long, value_name = "SUITE", requires = "tls")]
    pub(crate) cipher: Vec<String>,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsChoice {
    /// 1.3, or 1.2 where the client does not speak that
    Any,
    /// 1.2 alone
    #[value(name = "1.2")]
    Tls12,
    /// 1.3 alone
    #[value(name = "1.3")]
    Tls13,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which file
    #[arg(value_enum, default_value = "scenario")]
    pub(crate) of: SchemaOf,
    /// File to write, for editors: `kdyno init` puts kdyno.schema.json next to a scenario [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Scenario files
    Scenario,
    /// Target files
    Target,
    /// What `--json` prints of a run
    Run,
    /// What `kdyno doctor --json` prints
    Doctor,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder that gets the pages; it is made where it is not there
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
