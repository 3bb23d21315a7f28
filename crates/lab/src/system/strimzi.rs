//! A cluster that Strimzi makes in Kubernetes: ours, and reached as an attached one is.

use super::attached::Guest;
use super::under_test::SystemUnderTest;
use crate::error::LabError;
use crate::options::{RunOptions, RunProgress};
use crate::topics::PREFIX;
use kdyno_kafka::admin::Access;
use kdyno_kubernetes::strimzi_state::{ExistingCluster, StrimziUser};
use kdyno_kubernetes::{PodsError, StrimziCluster};
use kdyno_model::event::Subject;
use kdyno_model::plan::{
    AttachedPlan, Protocol, Sasl, ScramHash, Security, Store, StoreContent, StrimziListener, StrimziPlan,
    System, Tls, TlsVersion,
};
use kdyno_model::secret::Secret;
use kdyno_model::trial::TrialId;
use kdyno_testbed::cluster::{TokenFrom, client_properties};
use kdyno_testbed::metrics::{MetricsSource, UnreadMetrics};
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeMap;

/// Names of the secrets of its user.
const KEY: &str = "strimzi.user.key";
const PASSWORD: &str = "strimzi.user.password";

/// Values of secrets, by name.
type OwnSecrets = BTreeMap<&'static str, Secret>;

/// A cluster that is ready. It is removed when it is dropped.
pub(super) struct Strimzi {
    cluster: StrimziCluster,
    guest: Guest,
    secrets: OwnSecrets,
}

/// Has one made for the start that a trial of a run asks for, and waits until it is ready.
///
/// # Errors
/// It does not get ready, or is not reached from here.
pub(super) fn start(
    plan: &StrimziPlan,
    (run_id, trial): (u64, TrialId),
    options: &mut RunOptions<'_>,
) -> Result<Strimzi, LabError> {
    let mut say = |words: String| (options.progress)(RunProgress::Step(words));
    say(format!("applying resources of Strimzi: {} …", plan.lines().join(", ")));
    let started = StrimziCluster::start(plan, run_id, trial.0, &options.stop, &mut say);
    let cluster = started.map_err(refused)?;
    (options.progress)(RunProgress::Step(format!("cluster {} is ready", cluster.name())));
    for warning in cluster.warnings() {
        (options.progress)(RunProgress::Warning(format!("Strimzi's operator: {warning}")));
    }
    // Before its user's password is read.
    kdyno_credentials::close_memory();
    let (security, secrets) = security(plan, &cluster)?;
    let status = cluster.status();
    let target = AttachedPlan {
        target: cluster.name().to_owned(),
        bootstrap: status.bootstrap.clone(),
        cluster_id: status.cluster_id.clone(),
        security: Box::new(security),
        prefix: PREFIX.to_owned(),
        ..AttachedPlan::default()
    };
    let connections = kdyno_credentials::security(&target.security, &|name| secrets.get(name))?;
    let access = Access { bootstrap: target.bootstrap.clone(), security: connections };
    let guest = Guest::at(target, access, trial, (BTreeMap::new(), Vec::new()), options);
    let guest = guest.map_err(|error| unreached(plan.listener, error))?;
    Ok(Strimzi { cluster, guest, secrets })
}

fn unreached(listener: StrimziListener, error: LabError) -> LabError {
    match listener {
        StrimziListener::Internal => LabError::hinted(
            format!("the cluster by Strimzi is ready, and is not reached from here: {error}"),
            "an `internal` listener is reached from within Kubernetes alone: write `listener: nodeport` or `loadbalancer` in \
             `strimzi`, or run kdyno there by `--in kubernetes`",
        ),
        StrimziListener::Nodeport | StrimziListener::Loadbalancer => error,
    }
}

fn refused(error: PodsError) -> LabError {
    let hint = Some(error.hint.to_owned()).filter(|hint| !hint.is_empty());
    LabError::Failed { message: format!("no cluster by Strimzi: {error}"), hint }
}

/// How its listener is spoken to, and the values of the secrets that this names.
fn security(plan: &StrimziPlan, cluster: &StrimziCluster) -> Result<(Security, OwnSecrets), LabError> {
    let (protocol, _) = plan.protocol();
    let authority = protocol.has_tls().then(|| cluster.authority()).transpose().map_err(refused)?;
    Ok(secured(authority, plan.tls(), cluster.user().map_err(refused)?))
}

/// The security of clients, by what they trust and log in with.
fn secured(authority: Option<String>, versions: &[TlsVersion], user: StrimziUser) -> (Security, OwnSecrets) {
    let mut tls = authority
        .map(|certificates| Tls::trusting(StoreContent::Pem { certificates, key: None }, versions.to_vec()));
    let (mut sasl, mut secrets) = (None, BTreeMap::new());
    match user {
        StrimziUser::Anonymous => {}
        StrimziUser::Certificate { chain, key } => {
            let own = StoreContent::Pem { certificates: chain, key: Some(KEY.to_owned()) };
            if let Some(tls) = &mut tls {
                tls.identity = Some(Store::of(own));
            }
            secrets.insert(KEY, key);
        }
        StrimziUser::Password { name, password } => {
            sasl = Some(Sasl::Scram {
                hash: ScramHash::Sha512,
                username: name,
                password: PASSWORD.to_owned(),
                is_delegation_token: false,
            });
            secrets.insert(PASSWORD, password);
        }
    }
    let protocol = match (&tls, &sasl) {
        (None, None) => Protocol::Plaintext,
        (Some(_), None) => Protocol::Ssl,
        (None, Some(_)) => Protocol::SaslPlaintext,
        (Some(_), Some(_)) => Protocol::SaslSsl,
    };
    (Security { protocol, tls, sasl }, secrets)
}

/// A Java client's properties file for a cluster of Strimzi's that is there already, with secrets.
pub fn strimzi_properties(cluster: ExistingCluster) -> Secret {
    let (security, secrets) = secured(cluster.authority, &TlsVersion::ALL, cluster.user);
    let value = |name: &str| secrets.get(name);
    client_properties(&cluster.status.bootstrap, &security, &value, TokenFrom::Claim)
}

impl SystemUnderTest for Strimzi {
    fn access(&self) -> Access {
        self.guest.access()
    }

    fn security(&self) -> Security {
        self.guest.security()
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.guest.facts();
        // It is ours.
        facts.remove("target");
        let status = self.cluster.status();
        let known = [("kafka", &status.kafka), ("strimzi", &status.operator)];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        facts.extend(known);
        let nodes = self.cluster.nodes().iter();
        facts.extend(nodes.map(|(broker, node)| (format!("broker.{broker}.node"), node.clone())));
        facts
    }

    fn processes(&self) -> Vec<ProcessRef> {
        self.guest.processes()
    }

    fn metrics(&self, secrets: &BTreeMap<&str, &Secret>) -> Result<Vec<MetricsSource>, UnreadMetrics> {
        self.guest.metrics(secrets)
    }

    fn private_addresses(&self) -> Vec<String> {
        self.guest.private_addresses()
    }

    fn hosts(&self) -> Vec<(Subject, String)> {
        // The nodes are known, whatever addresses are advertised.
        let nodes = self.cluster.nodes().iter();
        nodes.map(|(broker, node)| (Subject::Broker(*broker), node.clone())).collect()
    }

    fn secrets(&self) -> BTreeMap<&str, &Secret> {
        self.secrets.iter().map(|(name, secret)| (*name, secret)).collect()
    }

    fn stop(mut self: Box<Self>) -> Result<(), LabError> {
        self.cluster.remove().map_err(refused)
    }
}
