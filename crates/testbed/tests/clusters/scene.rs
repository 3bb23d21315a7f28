//! What the tests share: an environment with the user's cache and a throw-away rest, plans, waiting.

#[path = "../../../model/tests/common/plans.rs"]
mod plans;

use kdyno_model::plan::{BrokerMetrics, ClusterPlan, KafkaSource, Mode};
use kdyno_model::version::NEWEST;
use kdyno_testbed::{Environment, LocalCluster, StartOptions, TestbedError};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Generous: a loaded machine of two cores starts a JVM in seconds.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder for one test, removed with it, and an environment that keeps everything but downloads there.
pub struct TestFolder {
    pub environment: Environment,
    pub folder: TempDir,
}

impl TestFolder {
    pub fn new() -> Result<Self, Failed> {
        let folder = tempfile::Builder::new().prefix("kdyno-test-").tempdir()?;
        Ok(Self { environment: environment(folder.path())?, folder })
    }

    pub fn work_dir(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Starts the plan's cluster.
    pub fn start(&self, plan: &ClusterPlan) -> Result<LocalCluster, TestbedError> {
        LocalCluster::start(plan, &options(&self.environment, self.work_dir()))
    }
}

/// The user's environment with state, memory and lock in `folder`.
pub fn environment(folder: &Path) -> Result<Environment, Failed> {
    let user = Environment::from_lookup(&|name| std::env::var_os(name))
        .ok_or("neither HOME nor XDG variables are set")?;
    let memory_dir = folder.join("memory");
    std::fs::create_dir_all(&memory_dir)?;
    Ok(Environment { state_dir: folder.join("state"), lock_dir: folder.to_path_buf(), memory_dir, ..user })
}

/// Options that make this program the guard.
pub fn options(environment: &Environment, work_dir: PathBuf) -> StartOptions<'_> {
    let exe = std::env::current_exe().unwrap_or_default();
    StartOptions { deadline: PATIENCE, ..StartOptions::new(environment, exe, work_dir, "test", &|_| {}) }
}

/// One combined broker of the newest release.
pub fn one_broker() -> ClusterPlan {
    plan(NEWEST, Mode::KraftCombined, 1)
}

/// Options with which brokers start sooner: the JVM's quick compiler alone, and the classes from the archive
/// that `cargo xtask test` has made of the newest release. A JVM of another release does not use it.
fn quick_jvm() -> Vec<String> {
    let mut options = vec!["-XX:TieredStopAtLevel=1".to_string()];
    let archive = std::env::var_os("KDYNO_TEST_CLASSES").map(|folder| Path::new(&folder).join("newest.jsa"));
    if let Some(archive) = archive.filter(|archive| archive.exists()) {
        options.push(format!("-XX:SharedArchiveFile={}", archive.display()));
        options.extend(["-Xlog:cds=off", "-Xlog:cds+dynamic=off"].map(str::to_string));
    }
    options
}

pub fn plan(version: &str, mode: Mode, brokers: u32) -> ClusterPlan {
    ClusterPlan {
        kafka: KafkaSource::Release(version.to_string()),
        mode,
        brokers,
        heap_bytes: 256 << 20,
        jvm_options: quick_jvm(),
        // It takes longer to start with the agent, which few tests read.
        metrics: BrokerMetrics::None,
        ..plans::cluster()
    }
}

/// Settings that brokers know, also by the prefix of a listener, and two that they do not; with the agent, as clusters are by
/// default.
pub fn with_odd_settings(mut plan: ClusterPlan) -> ClusterPlan {
    plan.metrics = BrokerMetrics::Jmx;
    let settings = [
        ("listener.name.plaintext.max.connections", "1000"),
        ("listener.name.plaintext.threads", "1"),
        ("num.io.thread", "16"),
        ("num.network.threads", "2"),
    ];
    plan.config.extend(settings.map(|(name, value)| (name.to_string(), value.to_string())));
    plan
}

/// Whether the cluster reported those two, the misspelt one with its right name.
pub fn reports_unknown_settings(cluster: &LocalCluster) -> Result<(), Failed> {
    let unknown = cluster.unknown_settings();
    let names: Vec<&str> = unknown.iter().map(|setting| setting.name.as_str()).collect();
    ensure(names == ["listener.name.plaintext.threads", "num.io.thread"], format!("{unknown:?}"))?;
    ensure(unknown[1].nearest.as_deref() == Some("num.io.threads"), format!("{unknown:?}"))
}

/// A named test.
pub fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::test(name, test)
}

pub fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

/// Waits until it holds; fails after [`PATIENCE`].
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), Failed> {
    let started = Instant::now();
    while !holds() {
        ensure(started.elapsed() < PATIENCE, format!("waited in vain: {what}"))?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
