//! Load generators on other hosts: who they are in a plan, and how the lab reaches them, which no plan holds.

use crate::secret::SecretRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Most hosts that carry a load.
pub const HOSTS_MAX: usize = 100;

/// Whether a text can be the name of a namespace of Kubernetes.
pub fn is_namespace(text: &str) -> bool {
    const CHARS_MAX: usize = 63;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=CHARS_MAX).contains(&text.len()) && text.chars().all(is_plain)
}

/// The hosts that carry a case's load, by name; none: it is carried by this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorsPlan {
    /// Their names, each once: the worker of a number is on the host that is at that place.
    pub hosts: Vec<String>,
    /// Load items whose clients are on some of them alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<String, Vec<String>>,
    /// What becomes of a trial that loses one of them.
    #[serde(default, skip_serializing_if = "LostWorkers::is_end")]
    pub lost_workers: LostWorkers,
}

/// What becomes of a trial whose worker on another host is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostWorkers {
    /// It ends, and is not measured.
    #[default]
    End,
    /// It goes on with the load that is left, once it is measured; its figures cover the time before.
    Report,
}

impl LostWorkers {
    fn is_end(&self) -> bool {
        *self == Self::End
    }
}

impl GeneratorsPlan {
    /// Whether the load runs on the lab's own host.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The host of a worker; `None`: it is a child of the lab.
    pub fn host_of(&self, worker: u16) -> Option<&str> {
        self.hosts.get(usize::from(worker)).map(String::as_str)
    }

    /// The places of the hosts that have clients of a load item.
    pub fn places_of(&self, item: &str) -> Vec<usize> {
        let is_meant = |host: &String| self.shares.get(item).is_none_or(|named| named.contains(host));
        self.hosts.iter().enumerate().filter(|(_, host)| is_meant(host)).map(|(place, _)| place).collect()
    }
}

/// A host that carries load, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratorHost {
    /// Its name in plans and reports.
    pub name: String,
    /// How its agent is reached.
    pub reach: Reach,
}

/// How an agent is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// An agent that ssh starts.
    Ssh {
        /// `host` or `user@host`, as ssh takes it.
        destination: String,
        /// The file that ssh is configured by instead of the user's own.
        config: Option<PathBuf>,
        /// The program there; `None`: this program, which is copied to where it is missing.
        program: Option<String>,
    },
    /// TLS to `kdyno agent --listen`.
    Tls {
        /// `host:port`.
        address: String,
        /// PEM file of its certificate.
        certificate: PathBuf,
        /// Where its token is.
        token: SecretRef,
    },
    /// One of the pods that are made for the run, by its place from 0.
    Pod {
        /// All of them.
        pods: Arc<GeneratorPods>,
        /// Which one.
        index: u16,
    },
}

/// Pods of a Kubernetes cluster that carry load: made when a run begins, removed at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratorPods {
    /// Context of the kubeconfig; `None`: the current one, or the cluster in which the lab runs.
    pub context: Option<String>,
    /// Their namespace; `None`: that of the context.
    pub namespace: Option<String>,
    /// Image of kdyno by its digest: `name@sha256:…`.
    pub image: String,
    /// How many.
    pub count: u16,
    /// CPU time that is reserved for each, thousandths of a processor.
    pub cpu_milli: u32,
    /// Memory that each has, bytes.
    pub memory_bytes: u64,
    /// Label of nodes over whose values they are spread evenly.
    pub spread: String,
    /// Labels of the nodes that may run them.
    pub node_selector: BTreeMap<String, String>,
    /// Secrets of the namespace that they see as files.
    pub secrets: Vec<MountedSecret>,
    /// How long they may take until all of them run, s.
    pub wait_s: u64,
    /// The service account of a lab that runs in a pod itself, with which it makes these; `None`: that lab's own pod carries
    /// the load.
    pub service_account: Option<String>,
    /// The persistent volume claim of the namespace on which that lab keeps run files; `None`: they go with its pod.
    pub claim: Option<String>,
}

/// A secret that pods see as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedSecret {
    /// Its name in the namespace.
    pub secret: String,
    /// The folder, an absolute path.
    pub at: String,
}

impl GeneratorPods {
    /// The name of a pod's host in plans and reports.
    pub fn host_name(index: u16) -> String {
        format!("pod-{index}")
    }

    /// The pods among these hosts, if there are any.
    pub fn among(hosts: &[GeneratorHost]) -> Option<Arc<Self>> {
        hosts.iter().find_map(|host| match &host.reach {
            Reach::Pod { pods, .. } => Some(Arc::clone(pods)),
            Reach::Ssh { .. } | Reach::Tls { .. } => None,
        })
    }

    /// All of them, as hosts.
    pub fn hosts(self) -> Vec<GeneratorHost> {
        let pods = Arc::new(self);
        let host = |index| GeneratorHost {
            name: Self::host_name(index),
            reach: Reach::Pod { pods: Arc::clone(&pods), index },
        };
        (0..pods.count).map(host).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_on_all_hosts_or_on_those_that_are_named() {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let shares = BTreeMap::from([("readers".to_owned(), named(&["b", "c"]))]);
        let hosts = named(&["a", "b", "c"]);
        let plan = GeneratorsPlan { hosts, shares, ..GeneratorsPlan::default() };
        assert_eq!((plan.places_of("readers"), plan.places_of("writers")), (vec![1, 2], vec![0, 1, 2]));
        assert_eq!((plan.host_of(1), plan.host_of(3)), (Some("b"), None));
    }
}
