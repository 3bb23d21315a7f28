//! Load generators on other hosts: who they are in a plan, and how the lab reaches them, which no plan holds.

use crate::secret::SecretRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most hosts that carry a load.
pub const HOSTS_MAX: usize = 100;

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
    /// An agent that ssh starts, and that ends with ssh.
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
