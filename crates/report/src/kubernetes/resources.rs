//! The resources themselves, as YAML.

use super::settings::{ExportedSettings, added, of_topic};
use super::yaml::{Yaml, name_of, quoted};
use kdyno_model::plan::{ClusterPlan, Mechanism, Mode, Storage, TopicPlan};
use kdyno_model::run::TrialStart;
use std::collections::BTreeSet;

/// The version of Strimzi's resources.
pub(super) const API: &str = "kafka.strimzi.io/v1";
/// Replaces the size of a volume, which is unknown here.
pub(super) const SIZE: &str = "100Gi";
/// By which label resources find their cluster.
const LABEL: &str = "strimzi.io/cluster";

/// Nodes that are alike.
struct NodePool {
    name: &'static str,
    replicas: u32,
    roles: &'static [&'static str],
}

impl NodePool {
    fn of(name: &'static str, replicas: u32, roles: &'static [&'static str]) -> Self {
        Self { name, replicas, roles }
    }

    fn all(cluster: &ClusterPlan) -> Vec<Self> {
        let pools = match cluster.mode {
            Mode::KraftCombined => vec![
                Self::of(
                    "dual-role",
                    cluster.brokers.min(Mode::COMBINED_VOTERS_MAX),
                    &["controller", "broker"],
                ),
                Self::of("broker", cluster.brokers.saturating_sub(Mode::COMBINED_VOTERS_MAX), &["broker"]),
            ],
            Mode::KraftControllers { controllers: nodes } | Mode::Zookeeper { nodes } => {
                vec![
                    Self::of("controller", nodes, &["controller"]),
                    Self::of("broker", cluster.brokers, &["broker"]),
                ]
            }
        };
        pools.into_iter().filter(|pool| pool.replicas > 0).collect()
    }

    fn write(&self, name: &str, cluster: &ClusterPlan, yaml: &mut Yaml) {
        let is_broker = self.roles.contains(&"broker");
        yaml.resource(API, "KafkaNodePool", self.name);
        yaml.line(2, "labels:");
        yaml.line(4, &format!("{LABEL}: {name}"));
        yaml.line(0, "spec:");
        yaml.line(2, &format!("replicas: {}", self.replicas));
        yaml.line(2, &format!("roles: [{}]", self.roles.join(", ")));
        yaml.line(2, "storage:");
        yaml.line(4, "type: jbod");
        yaml.line(4, "volumes:");
        let volumes = match &cluster.storage {
            Storage::Dirs(drives) if is_broker => drives.len().max(1),
            Storage::Dirs(_) | Storage::Disk | Storage::Memory => 1,
        };
        for id in 0..volumes {
            yaml.line(6, &format!("- id: {id}"));
            yaml.line(8, "type: persistent-claim");
            yaml.line(8, &format!("size: {SIZE} # yours to decide"));
            if id == 0 {
                yaml.line(8, "kraftMetadata: shared");
            }
        }
        if is_broker {
            java(cluster, yaml);
        }
    }
}

/// Heap and options of the brokers' Java that Strimzi has a place for.
fn java(cluster: &ClusterPlan, yaml: &mut Yaml) {
    const MIB: u64 = 1 << 20;
    let heap = match cluster.heap_bytes % MIB {
        0 => format!("{}m", cluster.heap_bytes / MIB),
        _ => cluster.heap_bytes.to_string(),
    };
    yaml.line(2, "jvmOptions:");
    yaml.line(4, &format!("\"-Xms\": {}", quoted(&heap)));
    yaml.line(4, &format!("\"-Xmx\": {}", quoted(&heap)));
    let options: Vec<(&str, &str)> =
        cluster.jvm_options.iter().filter_map(|option| java_option(option)).collect();
    if !options.is_empty() {
        yaml.line(4, "\"-XX\":");
        for (option, value) in options {
            yaml.line(6, &format!("{}: {}", quoted(option), quoted(value)));
        }
    }
}

/// An option that begins with `-XX:` and is no path: its name and its value.
pub(super) fn java_option(option: &str) -> Option<(&str, &str)> {
    let option = option.strip_prefix("-XX:").filter(|option| !option.contains('/'))?;
    match (option.strip_prefix('+'), option.strip_prefix('-')) {
        (Some(name), _) => Some((name, "true")),
        (_, Some(name)) => Some((name, "false")),
        _ => option.split_once('='),
    }
}

/// What users of Strimzi's log in with, if it knows how these clients did.
pub(super) fn authentication(cluster: &ClusterPlan) -> Option<&'static str> {
    let clients = &cluster.listeners.clients;
    match clients.mechanism {
        Some(Mechanism::ScramSha512) => Some("scram-sha-512"),
        None if clients.client_certificates => Some("tls"),
        _ => None,
    }
}

/// The cluster.
fn kafka(name: &str, start: &TrialStart, cluster: &ClusterPlan, carried: &ExportedSettings, yaml: &mut Yaml) {
    yaml.resource(API, "Kafka", name);
    yaml.line(0, "spec:");
    yaml.line(2, "kafka:");
    if let Some(version) = start.cluster.get("kafka") {
        yaml.line(4, &format!("version: {}", quoted(version)));
    }
    let has_tls = cluster.listeners.clients.protocol.has_tls();
    let (listener, port) = if has_tls { ("tls", 9093) } else { ("plain", 9092) };
    yaml.line(4, "listeners:");
    yaml.line(6, &format!("- name: {listener}"));
    yaml.line(8, &format!("port: {port}"));
    yaml.line(8, "type: internal");
    yaml.line(8, &format!("tls: {has_tls}"));
    let authentication = authentication(cluster);
    if let Some(kind) = authentication {
        yaml.line(8, "authentication:");
        yaml.line(10, &format!("type: {kind}"));
    }
    // Without a login every client is anonymous, and an authorizer rejects all of them.
    if cluster.listeners.authorizer && authentication.is_some() {
        yaml.line(4, "authorization:");
        yaml.line(6, "type: simple");
    }
    if cluster.zones.is_some() || !cluster.racks.is_empty() {
        yaml.line(4, "rack:");
        yaml.line(6, "topologyKey: topology.kubernetes.io/zone");
    }
    let added = added(start);
    if !carried.config.is_empty() {
        yaml.line(4, "config:");
    }
    for (setting, value) in &carried.config {
        let whose = if added.contains(setting.as_str()) { " # kdyno's, of a test cluster" } else { "" };
        yaml.line(6, &format!("{}: {}{whose}", quoted(setting), quoted(value)));
    }
    yaml.line(2, "entityOperator:");
    yaml.line(4, "topicOperator: {}");
    if authentication.is_some() {
        yaml.line(4, "userOperator: {}");
    }
}

fn topic(name: &str, resource: &str, address: &str, plan: &TopicPlan, start: &TrialStart, yaml: &mut Yaml) {
    yaml.resource(API, "KafkaTopic", resource);
    yaml.line(2, "labels:");
    yaml.line(4, &format!("{LABEL}: {name}"));
    yaml.line(0, "spec:");
    if resource != address {
        yaml.line(2, &format!("topicName: {}", quoted(address)));
    }
    yaml.line(2, &format!("partitions: {}", plan.partitions));
    yaml.line(2, &format!("replicas: {}", plan.replicas));
    let config = of_topic(start, address, plan);
    if !config.is_empty() {
        yaml.line(2, "config:");
        for (setting, value) in &config {
            yaml.line(4, &format!("{}: {}", quoted(setting), quoted(value)));
        }
    }
}

/// All resources of a trial's cluster, which is called so: nodes, the cluster, topics.
pub(super) fn all(
    name: &str,
    start: &TrialStart,
    cluster: &ClusterPlan,
    carried: &ExportedSettings,
) -> String {
    let mut yaml = Yaml::default();
    for pool in NodePool::all(cluster) {
        pool.write(name, cluster, &mut yaml);
    }
    kafka(name, start, cluster, carried, &mut yaml);
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (address, plan) in &start.trial.effective.topics {
        let wanted = name_of(address);
        // Two addresses may come to one name.
        let more = (2..).map(|number| format!("{wanted}-{number}"));
        let Some(resource) = std::iter::once(wanted.clone()).chain(more).find(|one| !names.contains(one))
        else {
            continue;
        };
        topic(name, &resource, address, plan, start, &mut yaml);
        names.insert(resource);
    }
    yaml.text()
}
