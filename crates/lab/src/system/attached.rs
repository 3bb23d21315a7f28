//! An attached cluster: somebody else's, within the limits of its target file.

use super::under_test::SystemUnderTest;
use crate::abort::AbortWatch;
use crate::error::LabError;
use crate::options::{RunOptions, RunProgress};
use crate::secrets::RunSecrets;
use crate::token::RenewableToken;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{AttachedPlan, CasePlan, MetricsFrom, MetricsLogin, MetricsPlan, Security};
use kdyno_model::secret::Secret;
use kdyno_model::trial::TrialId;
use kdyno_testbed::attach::Attached;
use kdyno_testbed::jmx_exporters::{ExporterOptions, Exporters};
use kdyno_testbed::metrics::{HttpLogin, MetricsSource, UnreadMetrics};
use kdyno_testbed::process::ProcessRef;
use kdyno_testbed::registry::{self, RunningCluster};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A cluster that answers as the target says.
pub(super) struct Guest {
    plan: AttachedPlan,
    access: Access,
    cluster: Attached,
    /// What runs of it on this host, where `kdyno cluster up` started it.
    running: Vec<RunningCluster>,
    /// What reads its brokers' JMX for us, where the target wants that, or why nothing does.
    exporters: Option<Result<Exporters, UnreadMetrics>>,
}

/// Makes sure that the target is the cluster that is meant.
///
/// # Errors
/// Another one answers, or none; or a secret has no value.
pub(super) fn attach(
    plan: &AttachedPlan,
    case: &CasePlan,
    trial: TrialId,
    secrets: &RunSecrets,
    options: &mut RunOptions<'_>,
) -> Result<Guest, LabError> {
    (options.progress)(RunProgress::Step(format!("attaching to {}", plan.target)));
    let access = secrets.access(plan, case)?;
    // That which the run began with may have expired.
    RenewableToken::renewed(case, access.security.login.as_deref())?;
    Guest::at(plan.clone(), access, trial, (secrets.of(case), secrets.variables()), options)
}

impl Guest {
    /// The cluster that is reached so, if it is the one that is meant. With the secrets of its case, and the variables that hold
    /// secrets.
    ///
    /// # Errors
    /// Another one answers, or none.
    pub(super) fn at(
        plan: AttachedPlan,
        access: Access,
        trial: TrialId,
        secrets: (BTreeMap<&str, &Secret>, Vec<String>),
        options: &mut RunOptions<'_>,
    ) -> Result<Self, LabError> {
        let cluster = Attached::check(&plan, &access)?;
        let running = registry::at(&options.environment, &cluster.addresses().collect());
        let exporters = exporters(&plan, trial, &cluster, secrets, options);
        Ok(Self { plan, access, cluster, running, exporters })
    }
}

impl SystemUnderTest for Guest {
    fn access(&self) -> Access {
        self.access.clone()
    }

    fn security(&self) -> Security {
        Security::clone(&self.plan.security)
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.cluster.facts()
    }

    fn processes(&self) -> Vec<ProcessRef> {
        self.running.iter().flat_map(|cluster| cluster.processes.clone()).collect()
    }

    fn metrics(&self, secrets: &BTreeMap<&str, &Secret>) -> Result<Vec<MetricsSource>, UnreadMetrics> {
        match (&self.exporters, &self.plan.metrics) {
            (Some(Ok(exporters)), _) => exporters.sources(),
            (Some(Err(unread)), _) => Err(unread.clone()),
            (None, Some(metrics)) => of_target(metrics, &self.cluster, secrets),
            (None, None) => {
                self.running.iter().flat_map(|cluster| &cluster.metrics).map(MetricsSource::local).collect()
            }
        }
    }

    fn private_addresses(&self) -> Vec<String> {
        self.cluster.addresses().collect()
    }

    fn hosts(&self) -> Vec<(Subject, String)> {
        self.cluster.hosts().collect()
    }

    fn existing_topics(&self) -> BTreeMap<String, String> {
        self.plan.topics.clone()
    }

    fn prefix(&self) -> &str {
        &self.plan.prefix
    }

    fn abort_watch(&self) -> Option<AbortWatch> {
        let own = self.plan.topics.values().cloned().collect();
        AbortWatch::of(&self.plan.abort_if, self.cluster.brokers().collect(), &self.plan.prefix, own)
    }
}

/// Starts what reads the brokers' JMX, where the target wants that. That it cannot be stops nothing.
fn exporters(
    plan: &AttachedPlan,
    trial: TrialId,
    cluster: &Attached,
    (secrets, hidden): (BTreeMap<&str, &Secret>, Vec<String>),
    options: &mut RunOptions<'_>,
) -> Option<Result<Exporters, UnreadMetrics>> {
    let metrics = plan.metrics.as_ref().filter(|metrics| matches!(metrics.from, MetricsFrom::Jmx(_)))?;
    let own = options.work_dir.file_name().unwrap_or_default().to_string_lossy();
    let work_dir = options.work_dir.with_file_name(format!("{own}-jmx-{trial}"));
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
    let brokers: Vec<(Subject, String)> = cluster.hosts().collect();
    let with = ExporterOptions {
        environment: &options.environment,
        exe: options.self_exe.clone(),
        work_dir,
        hidden_variables: &hidden,
        mbeans: &metrics.mbeans,
        progress: &tell,
    };
    tell("starting what reads the brokers' JMX …");
    Some(
        login(metrics, &secrets)
            .and_then(|login| Exporters::start(metrics.from.url(), &brokers, login, &with)),
    )
}

/// Who asks for metrics.
fn login<'a>(
    plan: &'a MetricsPlan,
    secrets: &BTreeMap<&str, &'a Secret>,
) -> Result<Option<HttpLogin<'a>>, UnreadMetrics> {
    let secret = |name: &str| {
        let why = || format!("metrics of the brokers are not read: secret `{name}` has no value");
        secrets.get(name).copied().ok_or_else(|| UnreadMetrics { subject: Subject::Brokers, why: why() })
    };
    Ok(match &plan.login {
        None => None,
        Some(MetricsLogin::Basic { username, password }) => {
            Some(HttpLogin::Basic(username, secret(password)?))
        }
        Some(MetricsLogin::Bearer { token }) => Some(HttpLogin::Bearer(secret(token)?)),
    })
}

/// From where a target says that metrics are read.
fn of_target(
    plan: &MetricsPlan,
    cluster: &Attached,
    secrets: &BTreeMap<&str, &Secret>,
) -> Result<Vec<MetricsSource>, UnreadMetrics> {
    let unread = |why: String| {
        let why = format!("metrics of the brokers are not read: {why}");
        UnreadMetrics { subject: Subject::Brokers, why }
    };
    let brokers: Vec<(Subject, String)> = cluster.hosts().collect();
    let trusted = match plan.from.url().starts_with("https:") {
        true => {
            kdyno_credentials::trusted(plan.trust.as_deref()).map_err(|error| unread(error.to_string()))?
        }
        false => Vec::new(),
    };
    MetricsSource::of_target(&plan.from, &brokers, &trusted, login(plan, secrets)?)
}
