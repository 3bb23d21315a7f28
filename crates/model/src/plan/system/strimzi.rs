//! A cluster that Strimzi makes in Kubernetes: what it is made of, and what it can do.

use super::cluster::{ClusterPlan, Mode};
use super::kind::{Refusal, System};
use crate::plan::{ClientListener, ComponentPlan, Mechanism, Protocol, TlsVersion};
use crate::units;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use strum::{Display, EnumString, VariantNames};

/// A cluster that Strimzi makes for each start, and that is removed after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrimziPlan {
    /// Its brokers. What only a local cluster has is as it is where nothing is said.
    pub cluster: ClusterPlan,
    /// Context of the kubeconfig; `None`: the current one, or the cluster in which the lab runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Its namespace; `None`: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// From where its listener is reached.
    pub listener: StrimziListener,
    /// CPU time that is reserved for each broker, thousandths of a processor; `None`: what Strimzi gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_milli: Option<u32>,
    /// Memory of each broker, bytes; `None`: what Strimzi gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The volume of each broker; `None`: the disk of its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<StrimziVolume>,
    /// Resources of the user's own over which all this is laid: at most one `Kafka` and one `KafkaNodePool`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template: Vec<Value>,
    /// How long it may take until it is ready, s.
    pub wait_s: u64,
}

/// The volume of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrimziVolume {
    /// Its size, bytes.
    pub bytes: u64,
    /// Its storage class; `None`: the default of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// From where a listener is reached, by Strimzi's own names of its types.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum StrimziListener {
    /// From within Kubernetes.
    #[default]
    Internal,
    /// From outside, at a port of the nodes.
    Nodeport,
    /// From outside, by a load balancer for each broker.
    Loadbalancer,
}

impl StrimziListener {
    /// Their names.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
}

impl System for StrimziPlan {
    fn name(&self) -> &str {
        "a cluster by Strimzi"
    }

    fn kind(&self) -> String {
        "cluster by Strimzi".to_owned()
    }

    fn lines(&self) -> Vec<String> {
        let place = self.namespace.as_ref().map_or_else(String::new, |name| format!(" in namespace {name}"));
        let (kafka, brokers) = (self.release().unwrap_or_default(), self.cluster.brokers);
        let plural = if brokers == 1 { "" } else { "s" };
        let volume = match &self.volume {
            None => "logs on the disk of the node".to_owned(),
            Some(volume) => format!("logs on volumes of {}", units::size(volume.bytes)),
        };
        vec![
            format!("Kafka {kafka}, {brokers} broker{plural} by Strimzi{place}"),
            format!("{}; {volume}", self.cluster.listeners),
        ]
    }

    fn starts_brokers(&self) -> bool {
        true
    }

    fn left_behind(&self) -> Option<String> {
        let place = self.namespace.as_ref().map_or_else(String::new, |name| format!(" --namespace {name}"));
        let context = self.context.as_ref().map_or_else(String::new, |name| format!(" --context {name}"));
        Some(format!(
            "resources of Strimzi may be left, which `kdyno kubernetes clean{place}{context} --yes` removes"
        ))
    }

    fn runs_here(&self) -> bool {
        false
    }

    fn brokers(&self) -> Option<u32> {
        Some(self.cluster.brokers)
    }

    fn protocol(&self) -> (Protocol, Option<Mechanism>) {
        self.cluster.protocol()
    }

    fn tls(&self) -> &[TlsVersion] {
        self.cluster.tls()
    }

    fn listener(&self) -> Option<ClientListener> {
        self.cluster.listener()
    }

    fn release(&self) -> Option<&str> {
        self.cluster.kafka.release()
    }

    fn mode(&self) -> Option<Mode> {
        Some(self.cluster.mode)
    }

    fn broker_config(&self) -> Option<&BTreeMap<String, String>> {
        Some(&self.cluster.config)
    }

    fn refuses_proxy(&self, _proxy: &ComponentPlan) -> Option<Refusal> {
        Some(("no proxy is started before a cluster by Strimzi", "write `proxy: none`"))
    }

    fn refuses_lab_in_pod(&self, has_account: bool) -> Option<Refusal> {
        if self.context.is_some() {
            let why = "`strimzi` names a `context`, and a pod has no kubeconfig";
            return Some((why, "leave it out: brokers are made in the cluster of the lab's pod"));
        }
        let why = "brokers by Strimzi need a `service_account` of the lab";
        let how = "name it in the generators; `kdyno kubernetes role --strimzi` prints the rights";
        (!has_account).then_some((why, how))
    }

    fn without_zones(&self) -> &'static str {
        "the clients of a cluster by Strimzi are where kdyno runs: leave `zone` out"
    }

    fn set_second(&mut self, is_second: bool) {
        self.cluster.set_second(is_second);
    }
}
