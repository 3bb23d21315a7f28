//! Clusters that outlive a run: by name, across kdyno's runs.
//!
//! A record is a file in the per-user state folder. It counts only while the guard it names runs, so records need
//! no tidying to be right; stale ones are removed when they are met.

use crate::cluster::{LocalCluster, StartOptions};
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::folder::create_folder;
use crate::metrics::LocalEndpoint;
use crate::process::{ProcessId, ProcessRef};
use crate::secret_file;
use kdyno_model::event::Subject;
use kdyno_model::plan::ClusterPlan;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest name of a running cluster; it becomes a file name.
const NAME_CHARACTERS_MAX: usize = 64;
/// How long a guard may take to end its brokers when asked: twice the grace, and some.
const DOWN_TIME_MAX: Duration = Duration::from_secs(30);
/// Name of the file in a secured cluster's folder from which clients know how to connect.
const CLIENT_PROPERTIES: &str = "client.properties";
/// Between looks for its end.
const POLL: Duration = Duration::from_millis(20);

/// A running cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunningCluster {
    /// Its name.
    pub name: String,
    /// `host:port` of each broker.
    pub bootstrap: Vec<String>,
    /// Version, mode and so on, as [`LocalCluster::facts`].
    pub facts: BTreeMap<String, String>,
    /// Since when, ns from 1970.
    pub since_unix_ns: u64,
    /// Its processes.
    pub processes: Vec<ProcessRef>,
    /// Command lines of its processes.
    pub command_lines: BTreeMap<Subject, Vec<String>>,
    /// Its guard.
    pub guard: ProcessId,
    /// Its folder, removed with it.
    pub work_dir: PathBuf,
    /// Where the brokers' own metrics are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<LocalEndpoint>,
    /// A Java client's properties file, with secrets and of mode 0600, in that folder; `None`: clients need only the
    /// address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_properties: Option<PathBuf>,
}

impl RunningCluster {
    /// Processes that are no longer there although the cluster was not ended.
    #[must_use]
    pub fn dead(&self) -> Vec<Subject> {
        let dead = |process: &&ProcessRef| ProcessId::of(process.pid).is_none();
        self.processes.iter().filter(dead).map(|process| process.subject.clone()).collect()
    }
}

/// Files of one name.
struct RecordFiles {
    record: PathBuf,
    stop: PathBuf,
    lock: PathBuf,
    work: PathBuf,
}

fn paths(environment: &Environment, name: &str) -> Result<RecordFiles, TestbedError> {
    let fits = !name.is_empty()
        && name.len() <= NAME_CHARACTERS_MAX
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !fits {
        return Err(TestbedError::hinted(
            format!("\"{name}\" cannot name a cluster"),
            format!("use 1 to {NAME_CHARACTERS_MAX} letters, digits, - or _"),
        ));
    }
    let folder = environment.state_dir.join("clusters");
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    Ok(RecordFiles { record: file("json"), stop: file("stop"), lock: file("lock"), work: folder.join(name) })
}

/// The folder in which a running cluster of that name lives, for the options of [`up`].
///
/// # Errors
/// The name does not fit a file.
pub fn work_dir(environment: &Environment, name: &str) -> Result<PathBuf, TestbedError> {
    paths(environment, name).map(|paths| paths.work)
}

/// Starts a cluster that outlives this process. Work folder, name and stop file of the options are set here. What
/// clients of a secured one must know is left in a file that its owner alone may read.
///
/// # Errors
/// The name is taken by a cluster that is running, or the cluster does not start.
pub fn up(name: &str, plan: &ClusterPlan, options: StartOptions<'_>) -> Result<RunningCluster, TestbedError> {
    let environment = options.environment;
    let paths = paths(environment, name)?;
    create_folder(&environment.state_dir.join("clusters"))?;
    let lock = File::create(&paths.lock).map_err(|e| TestbedError::io("cannot create", &paths.lock, e))?;
    lock.lock().map_err(|e| TestbedError::io("cannot lock", &paths.lock, e))?;
    if let Some(running) = read(&paths.record).filter(|running| running.guard.is_alive()) {
        return Err(TestbedError::hinted(
            format!("a cluster named {name} is running already, at {}", running.bootstrap.join(",")),
            format!(
                "end it with `kdyno cluster down {name}`; `kdyno cluster up OTHER-NAME` starts another one"
            ),
        ));
    }
    forget(&paths);
    let options = StartOptions {
        work_dir: paths.work.clone(),
        name: name.to_string(),
        stop_file: Some(paths.stop.clone()),
        ..options
    };
    let cluster = LocalCluster::start(plan, &options)?;
    let unknown = cluster.unknown_settings().iter().map(ToString::to_string);
    let without = cluster.metrics_missing().map(crate::metrics::missing_words);
    for warning in unknown.chain(cluster.settings_unchecked().map(str::to_string)).chain(without) {
        (options.progress)(&format!("warning: {warning}"));
    }
    let guard = cluster
        .guard_id()
        .ok_or_else(|| TestbedError::Guard("it ended as soon as the cluster was ready".to_string()))?;
    let client_properties = match plan.listeners.are_plain() {
        true => None,
        false => Some(secret_file::write(&paths.work, CLIENT_PROPERTIES, &cluster.client_properties())?),
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let running = RunningCluster {
        name: name.to_string(),
        bootstrap: cluster.bootstrap(),
        facts: cluster.facts(),
        since_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        processes: cluster.processes(),
        command_lines: cluster.command_lines(),
        guard,
        work_dir: paths.work.clone(),
        metrics: cluster.metrics().to_vec(),
        client_properties,
    };
    let text = serde_json::to_string_pretty(&running).map_err(|e| TestbedError::Guard(e.to_string()))?;
    std::fs::write(&paths.record, text).map_err(|e| TestbedError::io("cannot write", &paths.record, e))?;
    cluster.detach()?;
    Ok(running)
}

/// All clusters that run, by name. Records of those that do not are removed.
///
/// # Errors
/// The state folder cannot be read.
pub fn list(environment: &Environment) -> Result<Vec<RunningCluster>, TestbedError> {
    let folder = environment.state_dir.join("clusters");
    let entries = match folder.read_dir() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| TestbedError::io("cannot read folder", &folder, e))?,
    };
    let mut list = Vec::new();
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let Some(running) = path.extension().filter(|end| *end == "json").and_then(|_| read(&path)) else {
            continue;
        };
        if running.guard.is_alive() {
            list.push(running);
        } else if let Ok(paths) = paths(environment, &running.name) {
            forget(&paths);
        }
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

/// The running clusters that are reached at one of these addresses; none where the state folder cannot be read, for they are
/// only watched.
#[must_use]
pub fn at(environment: &Environment, addresses: &BTreeSet<String>) -> Vec<RunningCluster> {
    let running = list(environment).unwrap_or_default().into_iter();
    running.filter(|running| running.bootstrap.iter().any(|one| addresses.contains(one))).collect()
}

/// The running cluster of that name.
///
/// # Errors
/// There is none; the message lists those there are.
pub fn find(environment: &Environment, name: &str) -> Result<RunningCluster, TestbedError> {
    let paths = paths(environment, name)?;
    if let Some(running) = read(&paths.record).filter(|running| running.guard.is_alive()) {
        return Ok(running);
    }
    let names: Vec<String> = list(environment)?.into_iter().map(|running| running.name).collect();
    let hint = if names.is_empty() {
        "none is running".to_string()
    } else {
        format!("these are running: {}", names.join(", "))
    };
    Err(TestbedError::hinted(format!("no cluster named {name} is running"), hint))
}

/// Ends the running cluster of that name and removes its data.
///
/// # Errors
/// There is none, or it cannot be reached.
pub fn down(environment: &Environment, name: &str) -> Result<(), TestbedError> {
    let running = find(environment, name)?;
    let paths = paths(environment, name)?;
    std::fs::write(&paths.stop, b"").map_err(|e| TestbedError::io("cannot write", &paths.stop, e))?;
    let deadline = Instant::now() + DOWN_TIME_MAX;
    while running.guard.is_alive() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    if running.guard.is_alive() {
        kill(running.guard);
    }
    forget(&paths);
    Ok(())
}

/// The guard's death is its brokers' too. The handle is taken before the look, so that it names that very process.
fn kill(guard: ProcessId) {
    let Some(pid) = i32::try_from(guard.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
    if guard.is_alive() {
        // It fails only if the process has just ended.
        let _ = rustix::process::pidfd_send_signal(handle, Signal::KILL);
    }
}

fn read(record: &Path) -> Option<RunningCluster> {
    serde_json::from_str(&std::fs::read_to_string(record).ok()?).ok()
}

/// Removes what is left of a cluster whose guard is gone. The lock's file stays: another process may hold it.
fn forget(paths: &RecordFiles) {
    // What cannot be removed is met again next time.
    let _ = std::fs::remove_dir_all(&paths.work);
    let _ = std::fs::remove_file(&paths.stop);
    let _ = std::fs::remove_file(&paths.record);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(environment: &Environment, name: &str, guard: ProcessId) -> RunningCluster {
        let running = RunningCluster {
            name: name.to_string(),
            bootstrap: vec!["127.0.0.1:1".to_string()],
            facts: BTreeMap::new(),
            since_unix_ns: 1,
            processes: vec![],
            command_lines: BTreeMap::new(),
            guard,
            metrics: vec![],
            work_dir: work_dir(environment, name).expect("name"),
            client_properties: None,
        };
        std::fs::create_dir_all(&running.work_dir).expect("folder");
        let text = serde_json::to_string(&running).expect("json");
        std::fs::write(paths(environment, name).expect("name").record, text).expect("record");
        running
    }

    #[test]
    fn a_record_counts_only_while_its_guard_runs() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        assert!(list(&environment).expect("empty").is_empty());
        let alive = record(&environment, "alive", ProcessId::current());
        // An equal number, another start: the number was given to another process.
        let reused = ProcessId { start_ticks: u64::MAX, ..ProcessId::current() };
        let stale = record(&environment, "stale", reused);
        assert_eq!(list(&environment).expect("list"), [alive]);
        assert!(!stale.work_dir.exists(), "leftovers are removed");
        let error = down(&environment, "stale").expect_err("gone");
        assert_eq!(error.hint(), Some("these are running: alive"));
    }

    #[test]
    fn names_that_are_no_file_names_are_refused() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        for name in ["", "../x", "a/b", "a b", &"x".repeat(65)] {
            assert!(work_dir(&environment, name).is_err(), "{name}");
        }
    }
}
