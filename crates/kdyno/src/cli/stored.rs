//! What is typed to read stored runs: lists, tables, exports, pages, documents, the server of pages.

use super::OutputForm;
use super::values::number;
use clap::{Args, ValueEnum, ValueHint};
use std::path::{Path, PathBuf};

/// A folder of runs, of commands that take nothing else.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Folder of run files [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dir")]
    folder: Option<PathBuf>,
    /// The same, as other commands take it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

impl FolderArgs {
    /// What `--dir` is for.
    pub(crate) fn of(dir: Option<PathBuf>) -> Self {
        Self { folder: None, dir }
    }

    /// The folder that was typed.
    pub(crate) fn typed(&self) -> Option<&Path> {
        self.folder.as_deref().or(self.dir.as_deref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct RunChoice {
    /// A run file, the beginning of its name, a scenario's name for its newest run, or `latest`
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub(crate) run: String,
    /// Folder in which names are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A run file, the beginning of its name, a scenario's name for its newest run, or `latest`; several are shown next to each
    /// other
    #[arg(value_name = "RUN", default_value = "latest", value_hint = ValueHint::FilePath)]
    pub(crate) runs: Vec<String>,
    /// Folder in which names are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Print the run as one JSON document; of several runs their figures
    #[arg(long)]
    pub(crate) json: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    pub(crate) format: OutputForm,
    /// Print everything: notes, all figures of each trial, groups, logs of the cluster; without it the result in short
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) details: bool,
    /// Print the plan: systems, security, topics, load and settings of its clients
    #[arg(long, conflicts_with_all = ["json", "format", "details"])]
    pub(crate) plan: bool,
    /// Print what was really in force: settings of brokers, topics and clients against their defaults, versions, Java, and in
    /// what sides and cases differ; with `--json` every setting
    #[arg(long, conflicts_with_all = ["format", "plan", "details"])]
    pub(crate) config: bool,
    /// Print the ends of the logs that were kept because something went wrong, and what Java clients counted of themselves
    #[arg(long, conflicts_with_all = ["json", "format", "plan", "config", "details"])]
    pub(crate) logs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Everything that `show` says and more, versioned
    Json,
    /// Every figure, one per line
    Csv,
    /// The course of each trial, one line per stream and second
    SeriesCsv,
    /// Series as Parquet, with types
    SeriesParquet,
    /// A block to paste into a pull request
    Markdown,
    /// Claims, verdicts and SLAs as JUnit XML
    Junit,
    /// HdrHistogram log of the response times of one trial
    Hlog,
    /// SVG of what was sampled with --flame in one trial
    Flame,
    /// Stacks as text that other tools for flame graphs read
    Collapsed,
    /// What was recorded with --flame jfr in one trial, for JDK Mission Control
    Jfr,
    /// Cluster and topics of one trial as resources of Strimzi, which were not run
    Kubernetes,
    /// The scenario as it was read, before --profile, --set and --target
    Scenario,
}

const EXPORT_FORMATS: &str = "\
The columns of csv, series-csv and series-parquet, their units and series: docs/reference/csv.md
The fields of json: docs/reference/run.schema.json, or `kdyno schema run`
flame, collapsed, jfr: only of runs with --flame (docs/reference/flame-graphs.md)
kubernetes: only of trials on clusters that kdyno started (docs/guide/kubernetes.md)";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_FORMATS)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) run: RunChoice,
    /// What to write
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// Number of the trial (hlog, flame, collapsed, jfr, kubernetes) [default: the first one that counts]
    #[arg(long, value_name = "N", value_parser = number(1, u32::MAX))]
    pub(crate) trial: Option<u32>,
    /// Which process (flame, collapsed, jfr): broker-N, or jvm-WORKER-STREAM of a Java client [default: all brokers
    /// together, of jfr the only recording]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) of: Option<String>,
    /// Draw how the flame graph of --trial (B) differs from that of this trial (A), by their shares (flame)
    #[arg(long, value_name = "N", value_parser = number(1, u32::MAX))]
    pub(crate) against: Option<u32>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A run file, the beginning of its name, a scenario's name for its newest run, or `latest`, which is the default;
    /// several with --document
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub(crate) runs: Vec<String>,
    /// Folder in which names are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Make a document of the runs, with this front: Markdown that begins with its title and other facts between lines of ---
    #[arg(long, value_name = "FRONT", value_hint = ValueHint::FilePath)]
    pub(crate) document: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long, conflicts_with = "document")]
    pub(crate) open: bool,
    /// File to write; a document whose name ends in .md is Markdown [default: next to the run file, with .html; of a document
    /// the front's name]
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// Front of a published report that is bundled (folio-41, folio-kraft, huawei-rate, ibm-2022, intel-tuning), or a file of
    /// your own
    #[arg(value_name = "FRONT", value_hint = ValueHint::FilePath)]
    pub(crate) front: String,
    /// Its runs, as for `kdyno report` [default: of each scenario that the front names the newest run that ended as planned, of those
    /// without `--set` where there are any]
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub(crate) runs: Vec<String>,
    /// Folder in which names are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// File to write; one that ends in .md is Markdown [default: the front's name with .html, here]
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Port of the loopback address; 0 takes a free one
    #[arg(long, default_value_t = 8390, value_name = "PORT")]
    pub(crate) port: u16,
    /// Name under which a proxy or tunnel reaches it, in addition to localhost; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
}
