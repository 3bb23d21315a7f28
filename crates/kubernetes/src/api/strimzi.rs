//! A cluster that Strimzi makes, by way of the API server: applied, waited for, read, removed.

use super::client::{AWAY_MAX, Connection, MANAGER, Refused, gone, insist, of_uid};
use crate::PodsError;
use crate::state::{self, PodState};
use crate::strimzi::{
    self, GROUP, KAFKA, KINDS, LISTENER, ResourceKind, StrimziResource, USER, VERSIONS, authentication,
    ca_secret,
};
use crate::strimzi_state::{self, ExistingCluster, Readiness, StrimziStatus, StrimziUser};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kdyno_model::plan::StrimziPlan;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked how far it is.
const LOOK: Duration = Duration::from_secs(1);

/// How long it is waited for the end of its pods.
const REMOVED_DEADLINE: Duration = Duration::from_secs(120);

/// A cluster that is ready; removed when dropped.
pub struct StrimziCluster {
    connection: Connection,
    version: &'static str,
    name: String,
    /// How clients log in.
    authentication: Option<&'static str>,
    resources: Vec<StrimziResource>,
    status: StrimziStatus,
    nodes: BTreeMap<u32, String>,
    warnings: Vec<String>,
    is_removed: bool,
}

/// How far a resource is.
enum Look {
    /// It is ready, and as the API describes it then.
    Ready(Value),
    /// What it waits for.
    Waiting(String),
}

impl StrimziCluster {
    /// Applies the resources of a start, which a trial asked for, and waits until Strimzi's operator says that they are ready.
    /// `stop` is looked at meanwhile; `say` gets what is waited for, one lowercase phrase.
    ///
    /// # Errors
    /// The API server refuses them, the operator does, or they are not ready within their time. Nothing stays of them.
    pub fn start(
        plan: &StrimziPlan,
        run_id: u64,
        trial: u32,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, PodsError> {
        let connection = Connection::open_in(plan.context.as_deref(), plan.namespace.as_deref())?;
        let version = served(&connection)?.ok_or_else(absent)?;
        let name = strimzi::name(run_id, trial);
        // A run that is resumed may ask again for the cluster of a start in which it was killed: each start is a new one.
        if connection.call(api(&connection, version, KAFKA).get_opt(&name))?.is_some() {
            let why = format!("cluster {name} is there already, left by a run that was killed");
            return Err(PodsError::new(why).hint("`kdyno kubernetes clean --yes` removes it"));
        }
        // From here on all that was made is removed.
        let mut made = Self {
            connection,
            version,
            name,
            authentication: authentication(&plan.cluster.listeners.clients),
            resources: strimzi::resources(plan, run_id, trial, version),
            status: StrimziStatus::default(),
            nodes: BTreeMap::new(),
            warnings: Vec::new(),
            is_removed: false,
        };
        made.apply()?;
        let end = Instant::now() + Duration::from_secs(plan.wait_s);
        let kafka = made.wait(KAFKA, plan.wait_s, end, stop, say)?;
        made.status = strimzi_state::status(&kafka, LISTENER).map_err(PodsError::new)?;
        made.warnings = strimzi_state::warnings(&kafka);
        made.nodes = made.pods()?.iter().filter_map(strimzi_state::broker_node).collect();
        if made.authentication.is_some() {
            made.wait(USER, plan.wait_s, end, stop, say)?;
        }
        Ok(made)
    }

    fn apply(&self) -> Result<(), PodsError> {
        // The names are of this start alone, so no values of others are taken over.
        let ours = PatchParams::apply(MANAGER).force();
        for resource in &self.resources {
            let api = api(&self.connection, self.version, resource.kind);
            self.connection.call(api.patch(&resource.name, &ours, &Patch::Apply(&resource.body)))?;
        }
        Ok(())
    }

    /// Waits until the resource of a kind that has the cluster's name is ready.
    fn wait(
        &self,
        kind: ResourceKind,
        wait_s: u64,
        end: Instant,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<Value, PodsError> {
        let api = api(&self.connection, self.version, kind);
        let mut said = String::new();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(PodsError::new("the run was interrupted while Strimzi's cluster was waited for"));
            }
            let words = match self.look(kind, &api)? {
                Look::Ready(found) => return Ok(found),
                Look::Waiting(words) => words,
            };
            if Instant::now() >= end {
                return Err(PodsError::new(format!("{} is not ready within {wait_s} s: {words}", kind.0))
                    .hint(
                        "`wait` in `strimzi` gives it more time; does the operator watch this namespace?",
                    ));
            }
            if said != words {
                say(format!("waiting for Strimzi in namespace {}: {words}", self.connection.namespace()));
                said = words;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// How far the resource is.
    fn look(&self, kind: ResourceKind, api: &Api<DynamicObject>) -> Result<Look, PodsError> {
        let found = match self.connection.ask(api.get_opt(&self.name)) {
            Ok(found) => found.and_then(|found| serde_json::to_value(found).ok()),
            // An API server that is away may come back.
            Err(Refused::Other(why)) => return Ok(Look::Waiting(why)),
            Err(refused) => return Err(refused.into()),
        };
        let found = found.ok_or_else(|| PodsError::new(format!("{} {} was deleted", kind.0, self.name)))?;
        match strimzi_state::readiness(&found) {
            Readiness::Ready => Ok(Look::Ready(found)),
            Readiness::Failed(why) => {
                Err(PodsError::new(format!("Strimzi's operator refuses {}: {why}", kind.0)))
            }
            Readiness::Waiting(why) => Ok(Look::Waiting(format!("{why}{}", self.pod_words()))),
        }
    }

    /// Why one of its pods does not run, where that is known.
    fn pod_words(&self) -> String {
        let pods = self.pods().unwrap_or_default();
        let why = |pod: &Value| match state::of(pod) {
            PodState::Running => None,
            PodState::Waiting(why) => why,
            PodState::Over(why) => Some(why),
        };
        let of = |pod: &Value| Some((pod["metadata"]["name"].as_str()?.to_owned(), why(pod)?));
        let found = pods.iter().find_map(of);
        found.map_or_else(String::new, |(name, why)| format!("; pod {name}: {why}"))
    }

    fn pods(&self) -> Result<Vec<Value>, Refused> {
        let all = ListParams::default().labels(&strimzi::selector(&self.name));
        let found = self.connection.ask(self.connection.api::<Pod>().list(&all))?;
        Ok(found.items.iter().filter_map(|pod| serde_json::to_value(pod).ok()).collect())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is reached, and what it is.
    pub fn status(&self) -> &StrimziStatus {
        &self.status
    }

    /// The nodes that its brokers run on, by the ids of these.
    pub fn nodes(&self) -> &BTreeMap<u32, String> {
        &self.nodes
    }

    /// What its operator warns of.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The certificate that clients trust, PEM.
    ///
    /// # Errors
    /// Its secret cannot be read.
    pub fn authority(&self) -> Result<String, PodsError> {
        authority(&self.connection, &self.name)
    }

    /// What clients log in with.
    ///
    /// # Errors
    /// Its secret cannot be read.
    pub fn user(&self) -> Result<StrimziUser, PodsError> {
        match self.authentication {
            None => Ok(StrimziUser::Anonymous),
            Some(authentication) => user(&self.connection, authentication, &self.name),
        }
    }

    /// Removes all that was made for it, and waits for the end of its pods for a while.
    ///
    /// # Errors
    /// Something may be left.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        let until = Instant::now() + AWAY_MAX;
        // The last one first: a user's operator goes with the cluster.
        let deleted = self.resources.iter().rev().map(|one| {
            let api = api(&self.connection, self.version, one.kind);
            let how = DeleteParams::background();
            gone(insist(until, || self.connection.ask(api.delete(&one.name, &how))))
        });
        // Each is deleted, whatever becomes of another.
        let deleted = deleted.fold(Ok(()), Result::and);
        deleted.map_err(|error: PodsError| PodsError {
            why: format!("{error}; resources of cluster {} may be left", self.name),
            hint: "`kdyno kubernetes clean --yes` removes them",
        })?;
        let end = Instant::now() + REMOVED_DEADLINE;
        while !insist(end, || self.pods())?.is_empty() {
            if Instant::now() >= end {
                let why = format!("cluster {} is deleted, and its pods have not ended yet", self.name);
                return Err(PodsError::new(why));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for StrimziCluster {
    fn drop(&mut self) {
        // Whoever wants to know why that failed has called it before.
        let _ = self.remove();
    }
}

fn secret(connection: &Connection, name: &str) -> Result<BTreeMap<String, Vec<u8>>, PodsError> {
    let found = connection.call(connection.api::<Secret>().get(name))?;
    Ok(found.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect())
}

fn authority(connection: &Connection, cluster: &str) -> Result<String, PodsError> {
    let (name, key) = ca_secret(cluster);
    let found = secret(connection, &name)?.remove(key).and_then(strimzi_state::pem);
    found.ok_or_else(|| PodsError::new(format!("secret {name} has no certificate `{key}`")))
}

fn user(connection: &Connection, authentication: &str, name: &str) -> Result<StrimziUser, PodsError> {
    strimzi_state::user(authentication, name, secret(connection, name)?).map_err(PodsError::new)
}

/// Reads what clients of a cluster need that is there already: of this listener, or the only one, as this user.
///
/// # Errors
/// It is not there or not ready, or a secret cannot be read.
pub fn existing(
    (context, namespace): (Option<&str>, Option<&str>),
    name: &str,
    listener: Option<&str>,
    of_user: Option<&str>,
) -> Result<ExistingCluster, PodsError> {
    let connection = Connection::open_in(context, namespace)?;
    let version = served(&connection)?.ok_or_else(absent)?;
    let kafka = connection.call(api(&connection, version, KAFKA).get(name))?;
    let kafka = serde_json::to_value(kafka).unwrap_or_default();
    let listener = strimzi_state::listener(&kafka, listener);
    let listener = listener.map_err(|why| PodsError::new(why).hint("`--listener NAME`"))?;
    let status = strimzi_state::status(&kafka, &listener.name).map_err(PodsError::new)?;
    let authority = listener.has_tls.then(|| authority(&connection, name)).transpose()?;
    let user = match (listener.authentication.as_deref(), of_user) {
        (None, None) => StrimziUser::Anonymous,
        (None, Some(_)) => {
            let why = format!("clients of listener {} do not log in", listener.name);
            return Err(PodsError::new(why).hint("leave `--user` out, or name another `--listener`"));
        }
        (Some(how), Some(name)) => user(&connection, how, name)?,
        (Some(how), None) => {
            let why = format!("clients of listener {} log in by `{how}`", listener.name);
            return Err(PodsError::new(why).hint("`--user NAME` names a KafkaUser"));
        }
    };
    Ok(ExistingCluster { status, authority, user })
}

fn absent() -> PodsError {
    PodsError::new("this Kubernetes cluster has no resources of Strimzi")
        .hint("install Strimzi's operator: https://strimzi.io/quickstarts; `context` names another cluster")
}

fn api(connection: &Connection, version: &str, (kind, plural): ResourceKind) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, version, kind);
    connection.dynamic(&ApiResource::from_gvk_with_plural(&kind, plural))
}

/// The version of Strimzi's resources that this API server has; `None`: it has none.
fn served(connection: &Connection) -> Result<Option<&'static str>, Refused> {
    for version in VERSIONS {
        let one = ListParams::default().limit(1);
        match connection.ask(api(connection, version, KAFKA).list(&one)) {
            Ok(_) => return Ok(Some(version)),
            Err(Refused::NotFound(_)) => {}
            Err(refused) => return Err(refused),
        }
    }
    Ok(None)
}

/// The resources of all runs, each with its kind; with `delete` they are deleted. Without the right to see them there are none.
///
/// # Errors
/// They cannot be listed or deleted.
pub(super) fn clean(connection: &Connection, delete: bool) -> Result<Vec<String>, PodsError> {
    let version = match served(connection) {
        Ok(Some(version)) => version,
        Ok(None) | Err(Refused::Forbidden(_)) => return Ok(Vec::new()),
        Err(refused) => return Err(refused.into()),
    };
    let ours = ListParams::default().labels(&strimzi::of_any_run());
    let mut found = Vec::new();
    for kind in KINDS {
        let api = api(connection, version, kind);
        for metadata in connection.call(api.list(&ours))?.items.into_iter().map(|one| one.metadata) {
            let Some(name) = metadata.name else { continue };
            if delete {
                let how = of_uid(DeleteParams::background(), metadata.uid);
                gone(connection.ask(api.delete(&name, &how)))?;
            }
            found.push(format!("{} {name}", kind.0));
        }
    }
    Ok(found)
}
