//! The system under test as a run sees it: a local cluster that it owns, an attached one it is a guest of, or a null broker.

use crate::abort::AbortWatch;
use crate::error::LabError;
use crate::null_broker::NullBroker;
use crate::options::{Progress, RunOptions};
use crate::secrets::Secrets;
use crate::token::Token;
use crate::topics::PREFIX;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{
    AttachedPlan, CasePlan, ClusterPlan, MetricsFrom, MetricsLogin, MetricsPlan, NullBrokerPlan, Security,
    SystemPlan,
};
use kdyno_model::secret::Secret;
use kdyno_model::trial::TrialId;
use kdyno_testbed::attach::Attached;
use kdyno_testbed::cluster::{ListenerTls, LocalCluster, Relayed, StartOptions, UnknownSetting};
use kdyno_testbed::jmx_exporters::{ExporterOptions, Exporters};
use kdyno_testbed::metrics::{LocalEndpoint, Login, Source, Unread, missing_words};
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::registry::{self, RunningCluster};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a trial is put on.
pub(crate) enum System {
    /// Ours, from the first process to the last.
    Local { plan: Box<ClusterPlan>, cluster: Box<LocalCluster> },
    /// Somebody else's, within the limits of its target file.
    Attached {
        plan: Box<AttachedPlan>,
        access: Access,
        cluster: Box<Attached>,
        /// What runs of it on this host, where `kdyno cluster up` started it.
        running: Vec<RunningCluster>,
        /// What reads its brokers' JMX for us, where the target wants that, or why nothing does.
        exporters: Option<Result<Box<Exporters>, Unread>>,
    },
    /// Ours, and no cluster: it does nothing, so that clients are measured alone.
    Null { plan: NullBrokerPlan, access: Access, broker: Box<NullBroker> },
}

/// Added to the time a cluster may take to get ready, for each of its brokers.
const START_DEADLINE_PER_BROKER: Duration = Duration::from_secs(15);

impl System {
    /// Starts the cluster, or makes sure that the one named is the one that answers. `partition_replicas` is
    /// how many a local cluster will hold at once, so that its retention fits the disk; its processes do not inherit
    /// the environment variables that hold secrets.
    pub(crate) fn provide(
        case: &CasePlan,
        trial: TrialId,
        partition_replicas: u64,
        secrets: &Secrets,
        options: &mut RunOptions<'_>,
    ) -> Result<Self, LabError> {
        match &case.system {
            SystemPlan::Local(plan) => start(plan, trial, partition_replicas, &secrets.variables(), options),
            SystemPlan::Attached(plan) => {
                (options.progress)(Progress::Step(format!("attaching to {}", plan.target)));
                let access = secrets.access(plan, case)?;
                // That which the run began with may have expired.
                Token::renewed(case, access.security.login.as_deref())?;
                let cluster = Attached::check(plan, &access)?;
                let running = registry::at(&options.environment, &cluster.addresses().collect());
                let secrets = (secrets.of(case), secrets.variables());
                let exporters = exporters(plan, trial, &cluster, secrets, options);
                Ok(Self::Attached {
                    plan: Box::new(plan.clone()),
                    access,
                    cluster: Box::new(cluster),
                    running,
                    exporters,
                })
            }
            SystemPlan::NullBroker(plan) => null_broker(plan, &secrets.variables(), options),
        }
    }

    /// Whether this is what `wanted` asks for.
    pub(crate) fn fits(&self, wanted: &SystemPlan) -> bool {
        match (self, wanted) {
            (Self::Local { plan, .. }, SystemPlan::Local(wanted)) => **plan == *wanted,
            (Self::Attached { plan, .. }, SystemPlan::Attached(wanted)) => **plan == *wanted,
            (Self::Null { plan, .. }, SystemPlan::NullBroker(wanted)) => plan == wanted,
            _ => false,
        }
    }

    /// Addresses of somebody else's brokers, as these tell them.
    pub(crate) fn private_addresses(&self) -> Vec<String> {
        match self {
            Self::Local { .. } | Self::Null { .. } => Vec::new(),
            Self::Attached { cluster, .. } => cluster.addresses().collect(),
        }
    }

    /// Whether it is somebody else's.
    pub(crate) fn is_attached(&self) -> bool {
        matches!(self, Self::Attached { .. })
    }

    /// How its brokers are reached.
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::Local { cluster, .. } => cluster.access().clone(),
            Self::Attached { access, .. } | Self::Null { access, .. } => access.clone(),
        }
    }

    /// With what whoever stands before its brokers can speak TLS as they do.
    pub(crate) fn listener_tls(&self) -> Option<&ListenerTls> {
        match self {
            Self::Local { cluster, .. } => cluster.listener_tls(),
            Self::Attached { .. } | Self::Null { .. } => None,
        }
    }

    /// Addresses that clients of a zone ask first; `None`: those of everybody.
    pub(crate) fn bootstrap_of(&self, zone: &str) -> Option<Vec<String>> {
        match self {
            Self::Local { cluster, .. } => Some(cluster.bootstrap_of(zone)),
            Self::Attached { .. } | Self::Null { .. } => None,
        }
    }

    /// What its relays have done so far.
    pub(crate) fn relayed(&self) -> Vec<Relayed> {
        match self {
            Self::Local { cluster, .. } => cluster.relayed(),
            Self::Attached { .. } | Self::Null { .. } => Vec::new(),
        }
    }

    /// Has the lab's own logins use the case's token as it is now, where it is one that expires.
    pub(crate) fn renew(&self, case: &CasePlan) -> Result<Option<(Token, Secret)>, LabError> {
        Token::renewed(case, self.access().security.login.as_deref())
    }

    /// The same as workers are told it: with names of secrets.
    pub(crate) fn security(&self) -> Security {
        match self {
            Self::Local { cluster, .. } => cluster.security().clone(),
            Self::Attached { plan, .. } => Security::clone(&plan.security),
            Self::Null { broker, .. } => broker.security().clone(),
        }
    }

    /// Values of the secrets that a local cluster made for itself, by name.
    pub(crate) fn secrets(&self) -> BTreeMap<&str, &Secret> {
        match self {
            Self::Local { cluster, .. } => {
                cluster.secrets().iter().map(|(name, secret)| (name.as_str(), secret)).collect()
            }
            Self::Attached { .. } | Self::Null { .. } => BTreeMap::new(),
        }
    }

    /// Topics of it that stand for the scenario's, by the address of these.
    pub(crate) fn existing_topics(&self) -> BTreeMap<String, String> {
        match self {
            Self::Local { .. } | Self::Null { .. } => BTreeMap::new(),
            Self::Attached { plan, .. } => plan.topics.clone(),
        }
    }

    /// Prefix of topics and client ids.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::Local { .. } | Self::Null { .. } => PREFIX,
            Self::Attached { plan, .. } => &plan.prefix,
        }
    }

    /// Whether it is Kafka, whoever started it.
    pub(crate) fn is_kafka(&self) -> bool {
        !matches!(self, Self::Null { .. })
    }

    /// Whether it is a cluster of our own: Kafka, started for the run.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    /// Its processes, for the probes; of an attached system those that kdyno itself left running on this host.
    pub(crate) fn processes(&self) -> Vec<ProcessRef> {
        match self {
            Self::Local { cluster, .. } => cluster.processes(),
            Self::Attached { running, .. } => {
                running.iter().flat_map(|cluster| cluster.processes.clone()).collect()
            }
            Self::Null { broker, .. } => {
                vec![ProcessRef::new(Subject::Broker(0), broker.pid())]
            }
        }
    }

    /// From where its brokers' own metrics are read.
    pub(crate) fn metrics(&self, secrets: &BTreeMap<&str, &Secret>) -> Result<Vec<Source>, Unread> {
        let of_agents =
            |endpoints: &mut dyn Iterator<Item = &LocalEndpoint>| endpoints.map(Source::local).collect();
        match self {
            Self::Local { cluster, .. } => of_agents(&mut cluster.metrics().iter()),
            Self::Attached { exporters: Some(Ok(exporters)), .. } => exporters.sources(),
            Self::Attached { exporters: Some(Err(unread)), .. } => Err(unread.clone()),
            Self::Attached { plan, cluster, running, exporters: None, .. } => match &plan.metrics {
                Some(metrics) => of_target(metrics, cluster, secrets),
                None => of_agents(&mut running.iter().flat_map(|cluster| &cluster.metrics)),
            },
            Self::Null { .. } => Ok(Vec::new()),
        }
    }

    /// At what states of it the load on it ends.
    pub(crate) fn abort_watch(&self) -> Option<AbortWatch> {
        match self {
            Self::Local { .. } | Self::Null { .. } => None,
            Self::Attached { plan, cluster, .. } => {
                let own = plan.topics.values().cloned().collect();
                AbortWatch::of(&plan.abort_if, cluster.brokers().collect(), &plan.prefix, own)
            }
        }
    }

    /// What is known of it: version, mode, cluster id …
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        match self {
            Self::Local { cluster, .. } => cluster.facts(),
            Self::Attached { cluster, .. } => cluster.facts(),
            Self::Null { plan, .. } => {
                let protocol = if plan.tls.is_empty() { "PLAINTEXT" } else { "SSL" };
                let facts = [("brokers", "1"), ("kafka", "null broker"), ("protocol", protocol)];
                facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
            }
        }
    }

    /// Settings of the scenario that a local system's brokers do not know.
    pub(crate) fn unknown_settings(&self) -> &[UnknownSetting] {
        match self {
            Self::Local { cluster, .. } => cluster.unknown_settings(),
            Self::Attached { .. } | Self::Null { .. } => &[],
        }
    }

    /// Why it is not known which settings of the scenario a local system's brokers do not know.
    pub(crate) fn settings_unchecked(&self) -> Option<&str> {
        match self {
            Self::Local { cluster, .. } => cluster.settings_unchecked(),
            Self::Attached { .. } | Self::Null { .. } => None,
        }
    }

    /// The final command line of each of its processes.
    pub(crate) fn command_lines(&self) -> BTreeMap<Subject, Vec<String>> {
        match self {
            Self::Local { cluster, .. } => cluster.command_lines(),
            Self::Attached { .. } | Self::Null { .. } => BTreeMap::new(),
        }
    }

    /// Processes that have ended by themselves, each with how.
    pub(crate) fn ended(&self) -> BTreeMap<Subject, String> {
        match self {
            Self::Local { cluster, .. } => cluster.ended(),
            Self::Attached { .. } => BTreeMap::new(),
            Self::Null { broker, .. } => {
                broker.ended().map(|how| (Subject::Broker(0), how)).into_iter().collect()
            }
        }
    }

    /// The last lines a process logged.
    pub(crate) fn log_tail(&self, subject: &Subject) -> Vec<String> {
        match self {
            Self::Local { cluster, .. } => cluster.log_tail(subject),
            Self::Attached { .. } | Self::Null { .. } => Vec::new(),
        }
    }

    /// Takes down what is ours; leaves an attached system as it is.
    pub(crate) fn stop(self) -> Result<(), LabError> {
        match self {
            Self::Local { cluster, .. } => Ok(cluster.stop()?),
            // That of a null broker ends when it is dropped.
            Self::Attached { .. } | Self::Null { .. } => Ok(()),
        }
    }
}

/// Starts what reads the brokers' JMX, where the target wants that. That it cannot be stops nothing.
fn exporters(
    plan: &AttachedPlan,
    trial: TrialId,
    cluster: &Attached,
    (secrets, hidden): (BTreeMap<&str, &Secret>, Vec<String>),
    options: &mut RunOptions<'_>,
) -> Option<Result<Box<Exporters>, Unread>> {
    let metrics = plan.metrics.as_ref().filter(|metrics| matches!(metrics.from, MetricsFrom::Jmx(_)))?;
    let own = options.work_dir.file_name().unwrap_or_default().to_string_lossy();
    let work_dir = options.work_dir.with_file_name(format!("{own}-jmx-{trial}"));
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(Progress::Step(step.to_owned()));
    let brokers: Vec<(Subject, String)> = cluster.hosts().collect();
    let with = ExporterOptions {
        environment: &options.environment,
        exe: options.self_exe.clone(),
        work_dir,
        hidden_variables: &hidden,
        progress: &tell,
    };
    tell("starting what reads the brokers' JMX …");
    let started = login(metrics, &secrets)
        .and_then(|login| Exporters::start(metrics.from.url(), &brokers, login, &with));
    Some(started.map(Box::new))
}

/// Who asks for metrics.
fn login<'a>(
    plan: &'a MetricsPlan,
    secrets: &BTreeMap<&str, &'a Secret>,
) -> Result<Option<Login<'a>>, Unread> {
    let secret = |name: &str| {
        let why = || format!("metrics of the brokers are not read: secret `{name}` has no value");
        secrets.get(name).copied().ok_or_else(|| Unread { subject: Subject::Brokers, why: why() })
    };
    Ok(match &plan.login {
        None => None,
        Some(MetricsLogin::Basic { username, password }) => Some(Login::Basic(username, secret(password)?)),
        Some(MetricsLogin::Bearer { token }) => Some(Login::Bearer(secret(token)?)),
    })
}

/// From where a target says that metrics are read.
fn of_target(
    plan: &MetricsPlan,
    cluster: &Attached,
    secrets: &BTreeMap<&str, &Secret>,
) -> Result<Vec<Source>, Unread> {
    let unread = |why: String| {
        let why = format!("metrics of the brokers are not read: {why}");
        Unread { subject: Subject::Brokers, why }
    };
    let brokers: Vec<(Subject, String)> = cluster.hosts().collect();
    let trusted = match plan.from.url().starts_with("https:") {
        true => {
            kdyno_credentials::trusted(plan.trust.as_deref()).map_err(|error| unread(error.to_string()))?
        }
        false => Vec::new(),
    };
    Source::of_target(&plan.from, &brokers, &trusted, login(plan, secrets)?)
}

/// Starts one. Its topics are made as those of a cluster are.
fn null_broker(
    plan: &NullBrokerPlan,
    hidden: &[String],
    options: &mut RunOptions<'_>,
) -> Result<System, LabError> {
    (options.progress)(Progress::Step("starting a null broker …".to_owned()));
    let broker = NullBroker::start(&options.self_exe, 1, plan, hidden);
    let broker = broker.map_err(|why| LabError::NullBroker { why })?;
    let security = kdyno_credentials::security(broker.security(), &|_| None)?;
    let access = Access { bootstrap: vec![broker.address().to_owned()], security };
    Ok(System::Null { plan: plan.clone(), access, broker: Box::new(broker) })
}

fn brokers(plan: &ClusterPlan) -> String {
    if plan.brokers == 1 { "1 broker".to_owned() } else { format!("{} brokers", plan.brokers) }
}

/// Starts a local cluster in a folder of its own beside the run's, where a later run finds and removes it if
/// this one and its guard should both be killed.
fn start(
    plan: &ClusterPlan,
    trial: TrialId,
    partition_replicas: u64,
    hidden: &[String],
    options: &mut RunOptions<'_>,
) -> Result<System, LabError> {
    let own = options.work_dir.file_name().unwrap_or_default().to_string_lossy();
    let work_dir = options.work_dir.with_file_name(format!("{own}-cluster-{trial}"));
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(Progress::Step(step.to_owned()));
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
        (progress.borrow_mut())(Progress::Warning(warning));
    }
    Ok(System::Local { plan: Box::new(plan.clone()), cluster: Box::new(cluster) })
}
