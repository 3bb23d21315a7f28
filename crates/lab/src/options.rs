//! What a run is given in addition to its plan, what it reports while it goes on, and what it ends with.

use crate::error::LabError;
use kdyno_model::caveat::ScopedCaveat;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::generator::GeneratorHost;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::Plan;
use kdyno_model::run::RunStatus;
use kdyno_model::sample::{Counts, Phase};
use kdyno_model::series::LiveFigures;
use kdyno_model::trial::{Trial, TrialId};
use kdyno_testbed::probe::named::NamedProcesses;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
    /// The run file to make; with `resume` the one to go on in.
    pub run_file: PathBuf,
    /// Go on with an interrupted run: trials that ran to their end are not run again. The request has the plan and the
    /// id of that run.
    pub resume: bool,
    /// Folder for the clusters' data and the processes' logs; made, and removed at the end.
    pub work_dir: PathBuf,
    /// This program's own executable: workers and guards are started from it.
    pub self_exe: PathBuf,
    /// Java, Maven, caches: where the testbed finds its tools.
    pub environment: kdyno_testbed::environment::Environment,
    /// Processes of this host that are read in addition to those of the run.
    pub named: NamedProcesses,
    /// How the hosts are reached that carry the load of the plan.
    pub generators: &'a [GeneratorHost],
    /// Run although another run measures on this host.
    pub share: bool,
    /// How long to wait until no other run measures on this host.
    pub wait: Duration,
    /// Set from outside to end the run early.
    pub stop: Arc<AtomicBool>,
    /// Gives the value of an environment variable: where secrets are that the plan takes from one.
    pub variables: &'a dyn Fn(&str) -> Option<OsString>,
    /// Gives the content of a file of keys or values by the path that the plan has of it; an error is one lowercase clause.
    pub files: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// Called with what happens, on the thread that called [`crate::run`].
    pub progress: &'a mut dyn FnMut(RunProgress),
}

/// What a run reports while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum RunProgress {
    /// A step of the set-up, one lowercase phrase.
    Step(String),
    /// Something the user should know before the load starts, or as it happens while it goes on, one lowercase sentence.
    /// Shown also without progress.
    Warning(String),
    /// A trial's load is about to start.
    TrialStarted {
        /// The trial.
        trial: Box<Trial>,
        /// How many there will be, where that is known.
        of: Option<u32>,
    },
    /// Once per second of a trial.
    Live(Box<LiveTrial>),
    /// A line for the two of a duet, which run at once; the one that began first is the first.
    LiveOfPair(Box<[LiveTrial; 2]>),
    /// What a Java client counted of itself, as Kafka's tools print it; nothing is hidden of it, so it is not to be stored.
    ClientMetrics(String),
    /// A trial is over: its findings, and what they were drawn from.
    TrialEnded(Box<TrialOutcome>, Box<TrialEvidence>),
}

/// The state of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTrial {
    /// Number of the trial.
    pub trial: TrialId,
    /// How many there will be, where that is known.
    pub of: Option<u32>,
    /// The trial in words; empty when the plan has one.
    pub label: String,
    /// The phase it is in.
    pub phase: Phase,
    /// Since T0, ns.
    pub elapsed_ns: u64,
    /// From now to the end of the measured window of the last trial, as planned, ns; while this trial drains, with the
    /// rest of its drain, which may end sooner. `None` while its load ends by a number of records, whenever that is.
    pub remaining_ns: Option<u64>,
    /// All load items together.
    pub figures: LiveFigures,
    /// The newest rows, from which a caller draws what it shows next to them: those of every second from
    /// [`kdyno_analysis::live::RECENT_S`] before `complete_until` on.
    pub recent: Arc<TrialEvidence>,
    /// The rows of the seconds before this one, from T0, are all there.
    pub complete_until: u32,
    /// What they have counted since T0, up to a whole second.
    pub counted: Counts,
    /// Up to when that is, ns from T0.
    pub counted_ns: u64,
}

/// What a run ended with. Once the run file exists everything that goes wrong is reported here, next to the
/// evidence that was kept.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run file.
    pub path: PathBuf,
    /// How the run ended.
    pub status: RunStatus,
    /// What stopped it, unless it completed.
    pub failure: Option<LabError>,
    /// The caveats of all trials.
    pub caveats: Vec<ScopedCaveat>,
}
