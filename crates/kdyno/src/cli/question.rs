//! The commands that ask a question of a scenario, or of runs that are stored.

use super::ExecutionArgs;
use super::values::{
    ChosenDriver, driver, duration, flame_kind, name_and_value, number_up_to, rate, size, time,
};
use clap::{Args, ValueEnum, ValueHint};
use kdyno_model::plan::PairDesign;
use kdyno_model::stacks::FlameKind;
use std::path::PathBuf;

/// Params that most scenarios have.
#[derive(Debug, Default, Args)]
pub(crate) struct ParamArgs {
    /// Set the parameter `rate`, e.g. 20k/s or 1000 (per second)
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<String>,
    /// Set the parameter `duration` or `dur`, e.g. 1m or 5 (s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<String>,
    /// Set the parameter `size`, e.g. 1KiB or 512 (bytes)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<String>,
}

impl ParamArgs {
    /// The options that were typed: their names, what scenarios call the parameter, and the value.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str], &str)> {
        let all: [(&'static str, &'static [&'static str], Option<&str>); 3] = [
            ("--rate", &["rate"], self.rate.as_deref()),
            ("--duration", &["duration", "dur"], self.duration.as_deref()),
            ("--size", &["size"], self.size.as_deref()),
        ];
        all.into_iter().filter_map(|(option, names, value)| Some((option, names, value?)))
    }
}

/// What turns a scenario into a plan, in addition to the scenario; or the run whose plan is gone on with.
#[derive(Debug, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Profile of the scenario [default: laptop; attached with a target]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Set a parameter of the scenario; may be repeated
    #[arg(long, value_name = "PARAM=VALUE", value_parser = name_and_value)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) params: ParamArgs,
    /// Whose client carries all that is produced and consumed: java, Kafka's own, of the newest release or of VERSION; or native
    #[arg(long, value_name = "java[:VERSION]", value_parser = driver)]
    pub(crate) driver: Option<ChosenDriver>,
    /// Target file of an existing cluster to measure; PARAM=VALUE:FILE for the cases with that value, may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: Vec<String>,
    /// Seed of schedules and of the order of trials [default: chosen at random, and printed]
    #[arg(long, value_parser = number_up_to(0, u64::MAX, u64::MAX))]
    pub(crate) seed: Option<u64>,
    /// Time that all of it may take, e.g. 25m: fewer repeats, then shorter windows, never another method;
    /// with --resume the new total, of all sessions
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) budget: Option<u64>,
    /// Least length of measured windows on targets, e.g. 1h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) sustain: Option<u64>,
    /// Sample the stacks of local brokers and of Java clients in the measured window, for flame graphs in the report: cpu
    /// (CPU time), alloc (heap allocated), lock (waits for locks), or jfr, all three as a Flight Recorder file without a
    /// graph (`kdyno export`) [default: what the scenario says, else not sampled]
    #[arg(long, value_name = "KIND", value_parser = flame_kind())]
    pub(crate) flame: Option<FlameKind>,
    /// Go on with a run that was interrupted or ran out of time: what it has is not measured again, and the time that it
    /// took counts
    #[arg(long, value_name = "RUN", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["profile", "set", "rate", "duration", "size", "driver", "seed", "sustain", "flame"])]
    pub(crate) resume: Option<String>,
    /// With --resume: you made the run file yourself, and it is unchanged; start whatever its plan names
    #[arg(long, requires = "resume")]
    pub(crate) trust: bool,
    /// Print what would be done and end
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How the two of a pair run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Design {
    /// One after the other
    Turns,
    /// Both at once
    Duet,
}

impl From<Design> for PairDesign {
    fn from(design: Design) -> Self {
        match design {
            Design::Turns => Self::Turns,
            Design::Duet => Self::Duet,
        }
    }
}

const RUN_AFTER: &str = "\
Exit codes, the first that applies: 130 interrupted, evidence kept · 2 usage · 1 kdyno failed ·
6 a figure of the answer is invalid, or records were lost · 3 a `fail_if` is true, a claim or an
SLA is not met · 4 side B materially worse · 5 a claim or `fail_if` has no answer (with --gate strict
also a comparison or search; with --gate worse 0) · 0 done, also where a broker died and all was
handled: a warning says so";

/// Thresholds of a run.
#[derive(Debug, Default, Args)]
pub(crate) struct FailIfArgs {
    /// End with exit code 3 if this is true of the run's own figures, e.g. 'writers.response.p99 > 50ms', or 'p99 > 50ms' where
    /// one load item alone has a p99; one trial is enough. May be repeated; the scenario's `fail_if` stays
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) fail_if: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = RUN_AFTER)]
pub(crate) struct RunArgs {
    /// Name of a bundled scenario (see `kdyno scenarios`), or a file: a path with a `/`, or a name in .yaml
    #[arg(required_unless_present = "resume", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: Option<String>,
    /// Folder in which the run to --resume is looked up [default: that of --out]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,
    /// When the run has ended, serve its page to a browser on this host, as `kdyno serve` does, until Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) serve: bool,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}

const COMPARE_AFTER: &str = "\
More examples:
  kdyno compare upgrade-check --set old=3.7.2 --set new=3.7.2 --a mode=zookeeper --b mode=kraft
  kdyno compare my.yaml --a home=/opt/kafka --b source=/src/kafka   a distribution against a built checkout
  kdyno compare my.yaml --a @a.yaml --b @b.yaml                     patches of the scenario
  kdyno compare my.yaml --a target=one.yaml --b target=two.yaml     two clusters: the verdict names them
  kdyno compare RUN RUN                                             two stored runs, and what that cannot show
  kdyno compare --before RUN RUN RUN --after RUN RUN RUN            an upgrade in place: the run is the unit
  kdyno compare --course writers.acked_per_s first-light            a metric over all runs of a scenario

--quick looks at one start of the clusters and is no verdict: it never ends with 4.
Exit codes: as of `kdyno run --help`";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_AFTER)]
pub(crate) struct CompareArgs {
    /// A scenario; or two stored runs; with --course the runs, or a scenario for all of its runs
    #[arg(value_name = "SCENARIO|RUN", value_hint = ValueHint::FilePath)]
    pub(crate) what: Vec<String>,
    /// What side A is: PARAM=VALUE, a key of `system`, PATH=VALUE, home=DIR, source=DIR, target=FILE[,FILE…] or @PATCH.yaml;
    /// may be repeated
    #[arg(long, value_name = "CHANGE")]
    pub(crate) a: Vec<String>,
    /// What side B is; a side that is not named here is what the scenario's own `compare:` says, or else the scenario as it
    /// stands
    #[arg(long, value_name = "CHANGE")]
    pub(crate) b: Vec<String>,
    /// A metric to judge, with the smallest change that matters, e.g. writers.response.p99:10%; may be repeated
    #[arg(long, value_name = "METRIC[:MARGIN]")]
    pub(crate) judge: Vec<String>,
    /// A setting that may differ in addition to what is compared; may be repeated
    #[arg(long, value_name = "SETTING")]
    pub(crate) may_differ: Vec<String>,
    /// How the two of a pair run: one after the other, or both at once under the same arrivals [default: as the scenario
    /// says, else both at once where each side has local clusters of its own and all that is produced has a rate]
    #[arg(long, value_enum)]
    pub(crate) design: Option<Design>,
    /// A first look at one start, within ten minutes; no verdict
    #[arg(long)]
    pub(crate) quick: bool,
    /// Stored runs from before a change
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "after",
        conflicts_with_all = ["what", "a", "b", "course", "resume"])]
    pub(crate) before: Vec<String>,
    /// Stored runs from after it
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "before")]
    pub(crate) after: Vec<String>,
    /// Print this metric of every run that is named
    #[arg(long, value_name = "METRIC", requires = "what", conflicts_with_all = ["a", "b", "resume"])]
    pub(crate) course: Option<String>,
    /// Print every caveat of stored runs in full
    #[arg(long, conflicts_with_all = ["course", "json", "format"])]
    pub(crate) details: bool,
    /// Where runs are looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}

const FIND_AFTER: &str = "\
More examples:
  kdyno find my.yaml --highest writers.clients --each 1k/s --while 'writers.response.p99 <= 20ms'
  kdyno find upgrade-check --side B --highest events.rate --while 'events.response.p99 <= 20ms'

Exit codes: as of `kdyno run --help`; 0: a load was confirmed, or every load up to the end of the range met the
conditions; 3: no load met them; 5, with --gate strict (else 0): loads met them and none was confirmed, the load
generator was the limit, trials had no figures, or the budget was over before there was an answer";

#[derive(Debug, Args)]
#[command(after_help = FIND_AFTER)]
pub(crate) struct FindArgs {
    /// Name of a bundled scenario (see `kdyno scenarios`), or a file: a path with a `/`, or a name in .yaml
    #[arg(required_unless_present = "resume", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: Option<String>,
    /// What to raise: ITEM.rate, or ITEM.clients with --each
    #[arg(long, value_name = "ITEM.rate")]
    pub(crate) highest: Option<String>,
    /// What must hold, e.g. 'writers.response.p99 <= 20ms'; may be repeated
    #[arg(long = "while", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// First load that is tried, e.g. 20k/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) from: Option<String>,
    /// Highest load that may be tried [default: as the scenario says, else 10M/s, on a target what its cap on `produce`
    /// allows]; it bounds what is written at most
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) to: Option<String>,
    /// How narrow the answer is to be, e.g. 2%
    #[arg(long, value_name = "SHARE")]
    pub(crate) within: Option<String>,
    /// Rate of each client, with --highest ITEM.clients
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) each: Option<String>,
    /// Which side to search, of a scenario that compares two
    #[arg(long, value_name = "A|B")]
    pub(crate) side: Option<String>,
    /// A first look within ten minutes, labelled so
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder in which the run to --resume is looked up [default: kdyno-runs] [env: KDYNO_OUT]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
}
