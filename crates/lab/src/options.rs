//! What a run is given beside its plan, what it tells while it goes on, and what it ends with.

use crate::error::LabError;
use kdyno_model::finding::{Caveat, Finding, Severity};
use kdyno_model::plan::{Plan, TrialRef};
use kdyno_model::run::RunStatus;
use kdyno_model::sample::Phase;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to execute, and what the run file is to say of where it came from.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The plan.
    pub plan: Plan,
    /// The scenario as typed.
    pub scenario_text: String,
    /// Where it was read from; a bundled one's name.
    pub scenario_path: String,
    /// The program's own command line, without secrets.
    pub command_line: Vec<String>,
    /// Commit of the folder the run is started in.
    pub git_head: Option<String>,
    /// Version of the program.
    pub kdyno_version: String,
    /// Identifies the run in topics and payloads.
    pub run_id: u64,
}

/// Where a run takes place and how it is stopped.
pub struct RunOptions<'a> {
    /// The run file to make.
    pub run_file: PathBuf,
    /// Folder for the clusters' data and the processes' logs; made, and removed at the end.
    pub work_dir: PathBuf,
    /// This program's own executable: workers and guards are started from it.
    pub self_exe: PathBuf,
    /// Java, Maven, caches: where the testbed finds its tools.
    pub environment: kdyno_testbed::environment::Environment,
    /// Run although another run measures on this host.
    pub share: bool,
    /// Set from outside to end the run early.
    pub stop: Arc<AtomicBool>,
    /// Told what happens, on the thread that called [`crate::run`].
    pub progress: &'a mut dyn FnMut(Progress),
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A step of the set-up, one lowercase phrase.
    Step(String),
    /// Something the user should know before the load starts, one lowercase sentence. Told also to those who
    /// asked for no progress.
    Warning(String),
    /// A trial's load is about to start.
    TrialStarted {
        /// Which.
        trial: TrialRef,
        /// Its place in the order, from 0.
        number: u32,
        /// How many there are.
        of: u32,
        /// The case's label.
        label: String,
    },
    /// Once per second of a trial.
    Live(Live),
    /// A trial is over and its figures are there.
    TrialEnded {
        /// Which.
        trial: TrialRef,
        /// Its figures.
        findings: Vec<Finding>,
        /// Its doubts.
        caveats: Vec<(Severity, Caveat)>,
    },
}

/// Where a trial stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// Which trial.
    pub trial: TrialRef,
    /// Its place in the order, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// The case's label.
    pub label: String,
    /// The phase it is in.
    pub phase: Phase,
    /// Since T0, ns.
    pub elapsed_ns: u64,
    /// From now to the end of the measured window of the last trial, as planned, ns; while this trial drains, with the
    /// rest of its drain, which may end sooner.
    pub remaining_ns: u64,
    /// All load items together.
    pub figures: LiveFigures,
    /// All brokers' processor time in the last second, percent of one core; `None` when they are not ours.
    pub brokers_cpu_percent: Option<f64>,
    /// The worker's, the same way.
    pub workers_cpu_percent: Option<f64>,
}

/// The newest complete second of all load items together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveFigures {
    /// Records whose intended instant lay in that second.
    pub offered_per_s: u64,
    /// Records the clients accepted in it.
    pub achieved_per_s: u64,
    /// Records acknowledged in it.
    pub acknowledged_per_s: u64,
    /// Records fetched in it; `None` without consumers.
    pub fetched_per_s: Option<u64>,
    /// Median of the response times written in it, ns; `None` when there were none.
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of the same.
    pub response_ns_p99: Option<u64>,
    /// Records offered since T0 whose outcome is still open.
    pub open_records: u64,
    /// Records that failed since T0.
    pub failed: u64,
}

/// What a run ended with. Once the run file exists everything that goes wrong is told here, beside the
/// evidence that was kept.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run file.
    pub path: PathBuf,
    /// How the run ended.
    pub status: RunStatus,
    /// What stopped it, unless it completed.
    pub failure: Option<LabError>,
    /// Doubts of all trials.
    pub caveats: Vec<(TrialRef, Severity, Caveat)>,
}
