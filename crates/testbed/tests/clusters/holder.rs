//! Plays kdyno where a test has to kill it: starts a cluster, prints its processes, and waits.

use crate::scene::{environment, one_broker, options};
use kdyno_testbed::{LocalCluster, ProcessId, registry};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Hidden word: hold a cluster until killed.
pub const HOLD: &str = "hold";
/// Hidden word: make a running cluster and leave.
pub const STAND: &str = "stand";
/// Name of the running cluster.
pub const STANDING: &str = "stood";
/// A holder that its test forgot ends by itself.
const HOLD_TIME_MAX: Duration = Duration::from_secs(300);

/// What the holder prints, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Held {
    pub guard: ProcessId,
    pub brokers: Vec<ProcessId>,
}

/// Holds a cluster with its data in `folder`.
pub fn hold(folder: &Path) -> Result<(), String> {
    let environment = environment(folder).map_err(|e| format!("{e:?}"))?;
    let cluster = LocalCluster::start(&one_broker(), &options(&environment, folder.join("work")))
        .map_err(|e| e.to_string())?;
    let held = Held {
        guard: cluster.guard_id().ok_or("no guard")?,
        brokers: cluster.processes().iter().filter_map(|process| ProcessId::of(process.pid)).collect(),
    };
    let text = serde_json::to_string(&held).map_err(|e| e.to_string())?;
    writeln!(std::io::stdout(), "{text}").map_err(|e| e.to_string())?;
    std::thread::sleep(HOLD_TIME_MAX);
    Ok(())
}

/// Makes a cluster that stays.
pub fn stand(folder: &Path) -> Result<(), String> {
    let environment = environment(folder).map_err(|e| format!("{e:?}"))?;
    let running = registry::up(STANDING, &one_broker(), options(&environment, PathBuf::new()))
        .map_err(|e| e.to_string())?;
    let text = serde_json::to_string(&running).map_err(|e| e.to_string())?;
    writeln!(std::io::stdout(), "{text}").map_err(|e| e.to_string())
}
