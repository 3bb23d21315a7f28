//! What a cluster is, in words that are kept with a run.

use super::config::{self, Retention};
use super::layout::ClusterLayout;
use crate::distribution::KafkaDistribution;
use kdyno_model::link_words::link_words;
use kdyno_model::plan::{ClusterPlan, Mode, Storage, ZonesPlan};
use kdyno_model::units;
use std::collections::BTreeMap;

/// What bounds the CPU time of each broker: `none`, `pinning`, `1.5 processors`, or both.
fn cpu_limit(plan: &ClusterPlan) -> String {
    let limit = plan.cpu_limit.map(units::processors);
    let pinning = (!plan.pinned_to.is_empty()).then(|| "pinning".to_string());
    let both: Vec<String> = limit.into_iter().chain(pinning).collect();
    if both.is_empty() { "none".to_string() } else { both.join(", ") }
}

/// Who is in which zone, what lies between them, and which relay.
fn words(zones: &ZonesPlan, layout: &ClusterLayout) -> String {
    let brokers = layout.brokers().map(|node| format!("{} in {}", node.subject, zones.of_broker(node.id)));
    let relays = layout.relays.iter().map(|relay| format!("{} {}", relay.subject, relay.ends.join("-")));
    let parts: Vec<String> = brokers.chain([link_words(&zones.link)]).chain(relays).collect();
    parts.join("; ")
}

/// Version, Java, mode, storage, retention, settings that were added.
pub(super) fn facts(
    plan: &ClusterPlan,
    distribution: &KafkaDistribution,
    layout: &ClusterLayout,
    retention: Retention,
) -> BTreeMap<String, String> {
    let mode = match plan.mode {
        Mode::KraftCombined => "kraft, combined".to_string(),
        Mode::KraftControllers { controllers } => format!("kraft, {controllers} controllers"),
        Mode::Zookeeper { nodes } => format!("zookeeper, {nodes} nodes"),
    };
    let storage = match &plan.storage {
        Storage::Disk => "disk".to_string(),
        Storage::Memory => "memory".to_string(),
        Storage::Dirs(drives) => format!("{} given folders", drives.len()),
    };
    let mut facts = BTreeMap::new();
    let mut fact = |key: &str, value: String| facts.insert(key.to_string(), value);
    fact("kafka", distribution.version.text.clone());
    fact("java", distribution.java.version.clone());
    fact("mode", mode);
    fact("brokers", plan.brokers.to_string());
    fact("heap_bytes", plan.heap_bytes.to_string());
    fact("storage", storage);
    fact("retention_bytes_per_partition", retention.partition_bytes.to_string());
    fact("segment_bytes", retention.segment_bytes.to_string());
    fact("cpu_limit", cpu_limit(plan));
    fact("quotas", plan.quotas.map_or_else(|| "none".to_string(), |quotas| quotas.to_string()));
    if !plan.listeners.are_plain() {
        fact("listeners", plan.listeners.to_string());
    }
    if let Some(zones) = &plan.zones {
        fact("zones", words(zones, layout));
    }
    let mut added = config::broker_defaults(plan.brokers, &distribution.version, retention);
    added.retain(|name, _| !plan.config.contains_key(name));
    let added: Vec<String> = added.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    fact("settings_added", added.join(" "));
    if layout.zookeepers().next().is_none() {
        fact("cluster_id", layout.cluster_id.clone());
    }
    facts
}
