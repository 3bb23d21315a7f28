//! Where a pod of a run is, for its report.

use crate::quantity::number;
use kdyno_model::run::cluster_fact;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The label in which Kubernetes keeps the zone of a node.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The place of a pod that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodPlace {
    /// What a report has of it, by names of facts: its node, and what it may use there.
    pub facts: BTreeMap<&'static str, String>,
    namespace: String,
    /// Addresses and name of its node, addresses of the pods of its namespace that are there.
    addresses: BTreeSet<String>,
    /// Names of these pods.
    names: BTreeSet<String>,
}

impl PodPlace {
    /// That of a pod; `others` are pods of its namespace.
    pub fn of(pod: &Value, zones: &BTreeMap<String, String>, others: &[Value]) -> Self {
        let node = &pod["spec"]["nodeName"];
        let resources = &pod["spec"]["containers"][0]["resources"];
        let quantity = |of: &str, what: &str| resources[of][what].as_str().and_then(number);
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let cpus = |of: &str| quantity(of, "cpu").map(|cpus| ((cpus * 1e3).round() / 1e3).to_string());
        let facts = [
            (cluster_fact::NODE, word(node)),
            (cluster_fact::ZONE, node.as_str().and_then(|node| zones.get(node).cloned())),
            (cluster_fact::CPUS_RESERVED, cpus("requests")),
            (cluster_fact::CPU_LIMIT, cpus("limits")),
            (cluster_fact::MEMORY_LIMIT, quantity("limits", "memory").map(|bytes| format!("{bytes:.0}"))),
        ];
        let is_there = |other: &&Value| other["spec"]["nodeName"] == *node;
        let there = || others.iter().filter(is_there);
        let of_node = [node, &pod["status"]["hostIP"]].into_iter();
        Self {
            facts: facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
            namespace: word(&pod["metadata"]["namespace"]).unwrap_or_default(),
            addresses: of_node
                .chain(there().map(|other| &other["status"]["podIP"]))
                .filter_map(word)
                .collect(),
            names: there().filter_map(|other| word(&other["metadata"]["name"])).collect(),
        }
    }

    /// Whether what is reached at this host is known to be on the pod's node.
    pub fn has_on_its_node(&self, host: &str) -> bool {
        // What a service without an address calls its pods: POD.SERVICE.NAMESPACE.svc.
        let mut labels = host.split('.');
        let (pod, namespace) = (labels.next(), labels.nth(1));
        let is_pod = pod.is_some_and(|pod| self.names.contains(pod));
        self.addresses.contains(host) || (is_pod && namespace == Some(self.namespace.as_str()))
    }
}

/// Zones by the names of their nodes, of those that have one.
pub fn zones(nodes: &[Value]) -> BTreeMap<String, String> {
    let zone = |node: &Value| {
        let (name, zone) = (&node["metadata"]["name"], &node["metadata"]["labels"][ZONE]);
        Some((name.as_str()?.to_owned(), zone.as_str()?.to_owned()))
    };
    nodes.iter().filter_map(zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, node: &str, address: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "load"},
            "spec": {"nodeName": node, "containers": [{"resources": {
                "requests": {"cpu": "1500m", "memory": "2Gi"},
                "limits": {"memory": "2Gi"},
            }}]},
            "status": {"hostIP": format!("10.0.0.{}", &node[1..]), "podIP": address},
        })
    }

    #[test]
    fn node_zone_and_limits_are_facts_where_they_are_known() {
        let nodes = [
            json!({"metadata": {"name": "n1", "labels": {ZONE: "a"}}}),
            json!({"metadata": {"name": "n2", "labels": {}}}),
        ];
        let zones = zones(&nodes);
        let first = PodPlace::of(&pod("p", "n1", "10.1.0.1"), &zones, &[]).facts;
        let wanted = [
            (cluster_fact::NODE, "n1"),
            (cluster_fact::ZONE, "a"),
            (cluster_fact::CPUS_RESERVED, "1.5"),
            (cluster_fact::MEMORY_LIMIT, "2147483648"),
        ];
        assert_eq!(first, BTreeMap::from(wanted.map(|(name, value)| (name, value.to_owned()))));
        let second = PodPlace::of(&pod("p", "n2", "10.1.0.2"), &zones, &[]).facts;
        assert!(!second.contains_key(cluster_fact::ZONE), "{second:?}");
    }

    #[test]
    fn what_is_on_the_node_is_known_by_address_or_name_of_a_pod() {
        let others = [pod("kafka-0", "n1", "10.1.0.7"), pod("kafka-1", "n2", "10.1.1.7")];
        let place = PodPlace::of(&pod("p", "n1", "10.1.0.1"), &BTreeMap::new(), &others);
        for host in
            ["10.1.0.7", "10.0.0.1", "n1", "kafka-0.brokers.load.svc", "kafka-0.brokers.load.svc.c.local"]
        {
            assert!(place.has_on_its_node(host), "{host}");
        }
        for host in
            ["10.1.1.7", "10.0.0.2", "kafka-1.brokers.load.svc", "kafka-0.brokers.other.svc", "kafka-0", ""]
        {
            assert!(!place.has_on_its_node(host), "{host}");
        }
    }
}
