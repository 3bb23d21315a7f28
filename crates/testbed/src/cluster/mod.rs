//! Local clusters of real Apache Kafka: laid out, configured, launched under a guard, waited for, removed.

mod agent;
mod cleanup;
mod client_properties;
mod config;
pub(crate) mod diagnose;
mod facts;
mod guarded;
mod launch;
mod layout;
mod logging;
mod network_processors;
mod node;
mod ports;
mod quotas;
mod random;
mod ready;
mod secured;
mod storage;
mod unknown;
mod zones;

pub use client_properties::{TokenFrom, client_properties};
pub use config::Retention;
pub use ports::{HeldPorts, loopback_ports, loopback_ports_in_a_row};
pub use random::random_id;
pub use secured::{ListenerTls, ListenerTlsFiles};
pub use unknown::UnknownSetting;
pub use zones::Relayed;

use crate::cpu_limit;
use crate::distribution::{self, KafkaDistribution};
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::folder::{create_folder, remove_folder};
use crate::guard::{Guard, GuardSpec};
use crate::leftovers;
use crate::metrics::LocalEndpoint;
use crate::process::{ProcessId, ProcessRef};
use crate::secret_file;
use agent::Agent;
pub(crate) use agent::configuration as agent_configuration;
use cleanup::Cleanup;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{ClusterPlan, KafkaSource, QuotasPlan, Security, Storage};
use kdyno_model::secret::Secret;
use kdyno_model::version::Version;
use launch::TAIL_LINES;
pub use launch::jvm_variables;
use layout::{ClusterFolders, ClusterLayout};
use node::{ClusterNode, NodeKind};
use ready::FailedAttempt;
use secured::Secured;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A port may be taken by somebody else between our look and the JVM's bind; thrice in a row it is no chance.
const START_ATTEMPTS_MAX: u32 = 3;
/// Partition replicas assumed for the retention when the caller knows no better.
pub const PARTITION_REPLICAS_DEFAULT: u64 = 64;
/// Longest wait for what a cluster that is up is asked.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Brokers count from here.
const FIRST_BROKER: u32 = 0;

/// How a cluster is started.
pub struct StartOptions<'a> {
    /// Where Java, Maven and the cache are.
    pub environment: &'a Environment,
    /// The program that becomes the guard and the brokers' launcher (kdyno's own executable).
    pub exe: PathBuf,
    /// Arguments that come before the hidden subcommand; none for kdyno.
    pub exe_arguments: Vec<String>,
    /// Folder of this cluster alone, which must not be there yet; removed with the cluster.
    pub work_dir: PathBuf,
    /// Short name, for folders on given drives and in memory: letters, digits, `-`, `_`.
    pub name: String,
    /// Called with what happens, in a few words.
    pub progress: &'a dyn Fn(&str),
    /// Longest time until the cluster is ready, downloading apart.
    pub deadline: Duration,
    /// Between SIGTERM and SIGKILL at the end.
    pub grace: Duration,
    /// Replicas of partitions that the brokers will hold; they share half of what is free where the logs lie.
    pub partition_replicas: u64,
    /// For a running cluster: the cluster ends when this file appears.
    pub stop_file: Option<PathBuf>,
    /// What the names of topics and groups begin with that clients of a secured cluster may use.
    pub prefix: &'a str,
    /// Set from outside to give the start up.
    pub give_up: Option<&'a AtomicBool>,
    /// Environment variables that the guard and the cluster's processes must not inherit: they hold secrets.
    pub hidden_variables: Vec<String>,
}

impl<'a> StartOptions<'a> {
    /// Options with the usual times, ready within 60 s and 3 s to end, and [`PARTITION_REPLICAS_DEFAULT`].
    #[must_use]
    pub fn new(
        environment: &'a Environment,
        exe: PathBuf,
        work_dir: PathBuf,
        name: &str,
        progress: &'a dyn Fn(&str),
    ) -> Self {
        Self {
            environment,
            exe,
            exe_arguments: Vec::new(),
            work_dir,
            name: name.to_string(),
            progress,
            deadline: Duration::from_secs(60),
            grace: Duration::from_secs(3),
            partition_replicas: PARTITION_REPLICAS_DEFAULT,
            stop_file: None,
            prefix: "kdyno-",
            give_up: None,
            hidden_variables: Vec::new(),
        }
    }
}

/// A running cluster. Dropping it ends it and removes its data.
pub struct LocalCluster {
    guard: Guard,
    layout: ClusterLayout,
    access: Access,
    security: Security,
    secrets: BTreeMap<String, Secret>,
    /// With what brokers speak TLS to clients, where they do.
    listener_tls: Option<ListenerTls>,
    command_lines: BTreeMap<Subject, Vec<String>>,
    facts: BTreeMap<String, String>,
    /// Settings of the plan that the brokers do not know, or why that could not be looked up.
    unknown_settings: Result<Vec<UnknownSetting>, String>,
    metrics: Vec<LocalEndpoint>,
    /// Why there are none although the plan wants them.
    metrics_missing: Option<String>,
    remove: Vec<PathBuf>,
    detached: bool,
}

impl LocalCluster {
    /// Starts the cluster and waits until every broker answers and is registered.
    ///
    /// # Errors
    /// See [`TestbedError`]; a process that ended or hangs is named with its cause. Nothing is left behind.
    pub fn start(plan: &ClusterPlan, options: &StartOptions<'_>) -> Result<Self, TestbedError> {
        check(plan)?;
        let distribution = distribution::prepare(options.environment, &plan.kafka, options.progress)?;
        check_release(&distribution.version, plan)?;
        let agent = Agent::provide(plan, options.environment, options.progress);
        let mut attempt = 1;
        loop {
            match Self::try_start(plan, (&distribution, &agent), options) {
                Err(FailedAttempt { port_clash: true, .. }) if attempt < START_ATTEMPTS_MAX => {
                    (options.progress)("a port was taken meanwhile, starting again with others");
                    attempt += 1;
                }
                other => return other.map_err(|failed| failed.error),
            }
        }
    }

    fn try_start(
        plan: &ClusterPlan,
        (distribution, agent): (&KafkaDistribution, &Agent),
        options: &StartOptions<'_>,
    ) -> Result<Self, FailedAttempt> {
        let started = Instant::now();
        let cluster_id = random::random_id()?;
        let drive_folder = format!("{}{}-{cluster_id}", leftovers::FOLDER_PREFIX, options.name);
        let memory_root =
            (plan.storage == Storage::Memory).then(|| options.environment.memory_dir.join(&drive_folder));
        let places = ClusterFolders {
            work_dir: &options.work_dir,
            memory_root: memory_root.as_deref(),
            drive_folder: &drive_folder,
        };
        let mut ports = ports::HeldPorts::take(ClusterLayout::ports_needed(plan), random::random_number()?)?;
        let layout = ClusterLayout::new(plan, &places, cluster_id, &mut ports);

        let mut remove = vec![options.work_dir.clone()];
        remove.extend(memory_root.clone());
        if let Storage::Dirs(drives) = &plan.storage {
            remove.extend(drives.iter().map(|drive| drive.join(&drive_folder)));
        }
        let cleanup = Cleanup::of_made(&remove)?;
        let retention = storage::retention(&layout, options.partition_replicas);
        let secured = Secured::make(&plan.listeners)?;
        let with = (retention, secured.as_ref(), agent);
        let command_lines = write_files(plan, distribution, &layout, with, options)?;
        let spec = GuardSpec {
            exe: options.exe.clone(),
            exe_arguments: options.exe_arguments.clone(),
            processes: guarded::processes(plan, &layout, &command_lines),
            remove: remove.clone(),
            grace_ms: u64::try_from(options.grace.as_millis()).unwrap_or(u64::MAX),
            stop_file: options.stop_file.clone(),
        };
        // Freed as late as can be: the JVMs bind them within a second.
        drop(ports);
        let guard = Guard::start(&spec, &options.hidden_variables, &options.work_dir.join("guard.log"))?;
        cleanup.disarm();
        let mut facts = facts::facts(plan, distribution, &layout, retention);
        facts.insert("jmx".to_string(), if agent.is_there() { "agent" } else { "off" }.to_string());
        let metrics = if agent.is_there() {
            endpoints(&layout, &distribution.version, &plan.mbeans)
        } else {
            Vec::new()
        };
        let mut cluster = Self {
            guard,
            access: Access::plaintext(layout.bootstrap()),
            security: Security::default(),
            secrets: BTreeMap::new(),
            listener_tls: None,
            layout,
            command_lines,
            facts: BTreeMap::new(),
            unknown_settings: Ok(Vec::new()),
            metrics,
            metrics_missing: agent.missing(plan).map(str::to_string),
            remove,
            detached: false,
        };
        cluster.become_ready(plan.quotas.as_ref(), secured, started, options)?;
        facts.insert("ready_ms".to_string(), started.elapsed().as_millis().to_string());
        if let Some(id) = cluster.made_id() {
            facts.insert("cluster_id".to_string(), id);
        }
        cluster.facts = facts;
        cluster.unknown_settings = unknown::find(&cluster.access, FIRST_BROKER, &plan.config);
        Ok(cluster)
    }

    /// Waits for its brokers, sets quotas, and makes the user of a secured one.
    fn become_ready(
        &mut self,
        quotas: Option<&QuotasPlan>,
        secured: Option<Secured>,
        started: Instant,
        options: &StartOptions<'_>,
    ) -> Result<(), FailedAttempt> {
        let layout = &self.layout;
        let internal = secured.as_ref().map(|secured| secured.internal_access(layout)).transpose()?;
        let first = internal.as_ref().unwrap_or(&self.access);
        ready::wait(&self.guard, (layout, first), started, options.deadline, options.give_up)?;
        quotas.map_or(Ok(()), |of| quotas::set(first, of))?;
        if let Some(secured) = secured {
            secured.make_user(layout, options.prefix)?;
            self.access = secured.access(layout)?;
            self.security = secured.clients();
            (self.secrets, self.listener_tls) = secured.into_parts();
        }
        Ok(())
    }

    /// The cluster id, where brokers have made it themselves.
    fn made_id(&self) -> Option<String> {
        self.layout.zookeepers().next()?;
        let mut admin = self.access.admin("kdyno-testbed", ANSWER_TIME_MAX).ok()?;
        admin.cluster().ok()?.cluster_id
    }

    /// `host:port` of each broker, in the order of their ids.
    #[must_use]
    pub fn bootstrap(&self) -> Vec<String> {
        self.layout.bootstrap()
    }

    /// The address as advertised to clients of a zone.
    #[must_use]
    pub fn bootstrap_of(&self, zone: &str) -> Vec<String> {
        self.layout.bootstrap_of(zone)
    }

    /// What its relays have done so far.
    #[must_use]
    pub fn relayed(&self) -> Vec<Relayed> {
        self.layout.relayed()
    }

    /// How clients reach its brokers.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The access as workers get it: with names of secrets.
    #[must_use]
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// Values of the secrets that [`Self::security`] names.
    #[must_use]
    pub fn secrets(&self) -> &BTreeMap<String, Secret> {
        &self.secrets
    }

    /// What a proxy before its brokers can speak TLS with as they do; `None`: clients speak no TLS.
    #[must_use]
    pub fn listener_tls(&self) -> Option<&ListenerTls> {
        self.listener_tls.as_ref()
    }

    /// The properties of a Java client that connects to it, with the values of its secrets.
    #[must_use]
    pub fn client_properties(&self) -> Secret {
        let value = |name: &str| self.secrets.get(name);
        client_properties(&self.bootstrap(), &self.security, &value, TokenFrom::Claim)
    }

    /// Every process, for the probes.
    #[must_use]
    pub fn processes(&self) -> Vec<ProcessRef> {
        self.guard.processes()
    }

    /// Program and arguments of every process, by subject.
    #[must_use]
    pub fn command_lines(&self) -> BTreeMap<Subject, Vec<String>> {
        self.command_lines.clone()
    }

    /// What the cluster is: version, Java, mode, storage, retention, time to be ready.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        self.facts.clone()
    }

    /// Settings of the plan that the brokers do not know, by name.
    #[must_use]
    pub fn unknown_settings(&self) -> &[UnknownSetting] {
        self.unknown_settings.as_deref().unwrap_or_default()
    }

    /// Why it is not known which settings the brokers do not know, one lowercase sentence; `None` when it is known.
    #[must_use]
    pub fn settings_unchecked(&self) -> Option<&str> {
        self.unknown_settings.as_ref().err().map(String::as_str)
    }

    /// Where the brokers' own metrics are read.
    #[must_use]
    pub fn metrics(&self) -> &[LocalEndpoint] {
        &self.metrics
    }

    /// Why they are not although the plan wants it, one lowercase sentence.
    #[must_use]
    pub fn metrics_missing(&self) -> Option<&str> {
        self.metrics_missing.as_deref()
    }

    /// Subjects of the processes that have ended by themselves.
    #[must_use]
    pub fn dead(&self) -> Vec<Subject> {
        self.guard.ended().into_keys().collect()
    }

    /// The processes with how each ended.
    #[must_use]
    pub fn ended(&self) -> BTreeMap<Subject, String> {
        self.guard.ended()
    }

    /// The guard, for a running cluster's record.
    #[must_use]
    pub fn guard_id(&self) -> Option<ProcessId> {
        self.guard.id()
    }

    /// The last lines a process logged and printed, oldest first; bounded.
    #[must_use]
    pub fn log_tail(&self, subject: &Subject) -> Vec<String> {
        launch::tail(&self.layout, subject, TAIL_LINES)
    }

    /// Ends every process and removes the data.
    ///
    /// # Errors
    /// A folder cannot be removed; it is named.
    pub fn stop(mut self) -> Result<(), TestbedError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), TestbedError> {
        if std::mem::replace(&mut self.detached, true) {
            return Ok(());
        }
        self.guard.stop();
        // Where the guard was killed the groups of its processes have not been removed.
        cpu_limit::sweep();
        self.remove.iter().try_for_each(|folder| remove_folder(folder))
    }

    /// Leaves the cluster running under its guard; [`StartOptions::stop_file`] is then the way to end it.
    ///
    /// # Errors
    /// The guard cannot be reached; the cluster then ends.
    pub fn detach(mut self) -> Result<(), TestbedError> {
        self.guard.detach()?;
        self.detached = true;
        Ok(())
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        // A caller that needs to know calls `stop`.
        let _ = self.end();
    }
}

/// Refuses what no cluster can be, as far as the plan alone shows. Nothing is fetched or started.
///
/// # Errors
/// The plan cannot be carried out as a cluster, or Kafka has no such release.
pub fn check(plan: &ClusterPlan) -> Result<(), TestbedError> {
    layout::check(plan)?;
    config::check_overrides(plan)?;
    plan.listeners.check().map_err(|why| TestbedError::Impossible(why.to_string()))?;
    match &plan.kafka {
        KafkaSource::Release(text) => check_release(&Version::parse(text)?, plan),
        // Their version is known once they are looked at.
        KafkaSource::Home(_) | KafkaSource::Source(_) => Ok(()),
    }
}

/// Refuses what brokers of this release cannot be.
fn check_release(version: &Version, plan: &ClusterPlan) -> Result<(), TestbedError> {
    version.check_mode(plan.mode, plan.brokers)?;
    Ok(version.check_listeners(plan.mode, &plan.listeners)?)
}

/// Writes every node's folder; returns the command lines.
fn write_files(
    plan: &ClusterPlan,
    distribution: &KafkaDistribution,
    layout: &ClusterLayout,
    (retention, secured, agent): (Retention, Option<&Secured>, &Agent),
    options: &StartOptions<'_>,
) -> Result<BTreeMap<Subject, Vec<String>>, TestbedError> {
    let checkpoint = storage::checkpoint(plan, distribution, layout, &options.work_dir)?;
    let log_config = logging::config(distribution.log_backend);
    let mut command_lines = BTreeMap::new();
    for node in &layout.nodes {
        create_folder(&node.folder.join(launch::LOGS_FOLDER))?;
        let settings = match node.kind {
            NodeKind::Zookeeper => config::zookeeper(layout, node),
            _ => config::kafka(plan, layout, node, &distribution.version, (retention, secured)),
        };
        let agent = match node.metrics_port {
            0 => None,
            port => agent.option(&node.folder, port, &settings, &plan.mbeans)?,
        };
        // The settings of a secured broker hold its key and may hold a password.
        let settings = Secret::new(config::properties(&settings).into_bytes());
        secret_file::write(&node.folder, launch::config_file(node.kind), &settings)?;
        let path = node.folder.join(log_config.file_name);
        std::fs::write(&path, &log_config.content).map_err(|e| TestbedError::io("cannot write", &path, e))?;
        storage::format(layout, node, &distribution.version, checkpoint.as_deref())?;
        command_lines.insert(node.subject.clone(), launch::command_line(plan, distribution, node, agent));
    }
    for relay in &layout.relays {
        command_lines.insert(relay.subject.clone(), relay.write(&options.exe, &options.exe_arguments)?);
    }
    Ok(command_lines)
}

fn endpoints(layout: &ClusterLayout, version: &Version, mbeans: &[String]) -> Vec<LocalEndpoint> {
    let endpoint = |node: &ClusterNode| LocalEndpoint {
        subject: node.subject.clone(),
        port: node.metrics_port,
        // From 4.2 on each pool of request handlers has a metric of its own (KIP-1207).
        counts_controller: node.kind == NodeKind::Combined && !version.at_least(4, 2),
        mbeans: mbeans.to_vec(),
    };
    layout.brokers().map(endpoint).collect()
}
