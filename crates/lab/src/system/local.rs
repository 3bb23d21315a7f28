//! A local cluster: ours, from the first process to the last.

use super::under_test::SystemUnderTest;
use crate::error::LabError;
use crate::options::{RunOptions, RunProgress};
use crate::topics::PREFIX;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{ClusterPlan, Security};
use kdyno_model::secret::Secret;
use kdyno_model::trial::TrialId;
use kdyno_testbed::cluster::{ListenerTls, LocalCluster, Relayed, StartOptions, UnknownSetting};
use kdyno_testbed::metrics::{MetricsSource, UnreadMetrics, missing_words};
use kdyno_testbed::process::ProcessRef;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Added to the time a cluster may take to get ready, for each of its brokers.
const START_DEADLINE_PER_BROKER: Duration = Duration::from_secs(15);

/// A cluster that runs.
pub(super) struct Local(LocalCluster);

/// Starts a local cluster in a folder of its own next to the run's, where a later run finds and removes it if
/// this one and its guard should both be killed.
///
/// # Errors
/// Its brokers do not get ready.
pub(super) fn start(
    plan: &ClusterPlan,
    trial: TrialId,
    partition_replicas: u64,
    hidden: &[String],
    options: &mut RunOptions<'_>,
) -> Result<Local, LabError> {
    let own = options.work_dir.file_name().unwrap_or_default().to_string_lossy();
    let work_dir = options.work_dir.with_file_name(format!("{own}-cluster-{trial}"));
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
    let exe = options.self_exe.clone();
    let mut start = StartOptions::new(&options.environment, exe, work_dir, "run", &tell);
    start.partition_replicas = partition_replicas;
    start.give_up = Some(&options.stop);
    start.prefix = PREFIX;
    start.hidden_variables = hidden.to_vec();
    // On a busy machine JVMs start one after the other.
    start.deadline += START_DEADLINE_PER_BROKER * plan.brokers;
    tell(&format!("starting {} …", brokers(plan)));
    let cluster = LocalCluster::start(plan, &start)?;
    let ready_ms = cluster.facts().get("ready_ms").and_then(|ms| ms.parse::<f64>().ok());
    tell(&match ready_ms {
        Some(ms) => format!("{} ready after {:.1} s", brokers(plan), ms / 1000.0),
        None => format!("{} ready", brokers(plan)),
    });
    let unknown = cluster.unknown_settings().iter().map(ToString::to_string);
    let without = cluster.metrics_missing().map(missing_words);
    for warning in unknown.chain(cluster.settings_unchecked().map(str::to_owned)).chain(without) {
        (progress.borrow_mut())(RunProgress::Warning(warning));
    }
    Ok(Local(cluster))
}

fn brokers(plan: &ClusterPlan) -> String {
    if plan.brokers == 1 { "1 broker".to_owned() } else { format!("{} brokers", plan.brokers) }
}

impl SystemUnderTest for Local {
    fn access(&self) -> Access {
        self.0.access().clone()
    }

    fn security(&self) -> Security {
        self.0.security().clone()
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.0.facts()
    }

    fn processes(&self) -> Vec<ProcessRef> {
        self.0.processes()
    }

    fn metrics(&self, _secrets: &BTreeMap<&str, &Secret>) -> Result<Vec<MetricsSource>, UnreadMetrics> {
        self.0.metrics().iter().map(MetricsSource::local).collect()
    }

    fn listener_tls(&self) -> Option<&ListenerTls> {
        self.0.listener_tls()
    }

    fn bootstrap_of(&self, zone: &str) -> Option<Vec<String>> {
        Some(self.0.bootstrap_of(zone))
    }

    fn relayed(&self) -> Vec<Relayed> {
        self.0.relayed()
    }

    fn secrets(&self) -> BTreeMap<&str, &Secret> {
        self.0.secrets().iter().map(|(name, secret)| (name.as_str(), secret)).collect()
    }

    fn unknown_settings(&self) -> &[UnknownSetting] {
        self.0.unknown_settings()
    }

    fn settings_unchecked(&self) -> Option<&str> {
        self.0.settings_unchecked()
    }

    fn command_lines(&self) -> BTreeMap<Subject, Vec<String>> {
        self.0.command_lines()
    }

    fn ended(&self) -> BTreeMap<Subject, String> {
        self.0.ended()
    }

    fn log_tail(&self, subject: &Subject) -> Vec<String> {
        self.0.log_tail(subject)
    }

    fn stop(self: Box<Self>) -> Result<(), LabError> {
        Ok(self.0.stop()?)
    }
}
