//! What does not carry over, in words.

use super::resources::{SIZE, authentication, java_option};
use super::settings::ExportedSettings;
use crate::units;
use kdyno_model::link_words::link_words;
use kdyno_model::plan::{BrokerMetrics, ClusterPlan, Mode, Storage};
use kdyno_model::run::TrialStart;
use std::collections::BTreeSet;

/// Each note, without the dot at its end.
pub(super) fn all(start: &TrialStart, cluster: &ClusterPlan, carried: &ExportedSettings) -> Vec<String> {
    let mut notes = vec![storage(cluster), addresses(cluster), limits(cluster)];
    notes.push(match start.cluster.get("kafka") {
        Some(version) => format!(
            "version: each release of Strimzi runs some releases of Kafka; {version} need not be among them"
        ),
        None => "version: it is not known which one ran, so that Strimzi takes its newest".to_owned(),
    });
    notes.extend(mode(cluster));
    notes.extend(security(cluster));
    notes.extend(zones(cluster));
    notes.extend(cluster.quotas.map(|quotas| {
        format!("quotas: {quotas}; resources `KafkaUser` have `quotas` of their own, for each user")
    }));
    notes.extend(java(cluster));
    if cluster.metrics == BrokerMetrics::Jmx {
        notes.push(
            "metrics: the Prometheus JMX agent ran in each broker; `metricsConfig` asks Strimzi for it"
                .to_owned(),
        );
    }
    notes.extend(settings(carried));
    notes.push("load: clients, commands, components and a proxy are no part of it".to_owned());
    notes.push(
        "names: those of node pools are the same in every export: give each cluster a namespace of its own"
            .to_owned(),
    );
    notes
}

fn storage(cluster: &ClusterPlan) -> String {
    let was = match &cluster.storage {
        Storage::Disk => "logs lay on a disk of the host".to_owned(),
        Storage::Memory => "logs lay in memory, which no volume here is as fast as".to_owned(),
        Storage::Dirs(drives) => {
            format!("each broker had logs in {}", folders(drives.len()))
        }
    };
    format!("storage: {was}; sizes and classes of volumes are yours to decide, {SIZE} is a placeholder")
}

fn folders(many: usize) -> String {
    format!("{} given folders, one per drive", units::count(many as f64))
}

fn addresses(cluster: &ClusterPlan) -> String {
    format!(
        "addresses: brokers listened on 127.0.0.1 and spoke {} to each other; Strimzi gives them services of their own and has them \
         speak TLS to each other, which costs CPU time that was not measured here",
        cluster.listeners.internal
    )
}

fn limits(cluster: &ClusterPlan) -> String {
    let limit = cluster
        .cpu_limit
        .map(|limit| format!("each broker had the time of {} by a control group", units::processors(limit)));
    let pinned = (!cluster.pinned_to.is_empty()).then(|| "brokers were pinned to CPUs".to_owned());
    let both: Vec<String> = limit.into_iter().chain(pinned).collect();
    let was = if both.is_empty() {
        "all brokers shared the CPUs and the page cache of one host".to_owned()
    } else {
        both.join(", ")
    };
    format!(
        "limits: {was}; `resources` of node pools are yours to decide, with room for the page cache next to the heap"
    )
}

fn mode(cluster: &ClusterPlan) -> Option<String> {
    match cluster.mode {
        Mode::Zookeeper { .. } => Some(
            "mode: it ran with ZooKeeper, which Strimzi does not know any more; as many controllers replace it".to_owned(),
        ),
        Mode::KraftCombined | Mode::KraftControllers { .. } => None,
    }
}

fn security(cluster: &ClusterPlan) -> Vec<String> {
    let clients = &cluster.listeners.clients;
    let mut notes = Vec::new();
    if clients.protocol.has_tls() || clients.protocol.has_sasl() {
        notes.push(
            "security: certificates, users, passwords and ACLs were made for the run and are gone; resources `KafkaUser` make \
             others"
                .to_owned(),
        );
    }
    if let Some(mechanism) = clients.mechanism.filter(|_| authentication(cluster).is_none()) {
        notes.push(format!("security: clients logged in by {mechanism}, for which Strimzi has no type of its own; without a login here"));
    }
    if clients_are_unknown(cluster) {
        notes.push(
            "security: ACLs bound clients; without logins, there is no `authorization` either".to_owned(),
        );
    }
    notes
}

/// Whether an authorizer ran, and clients log in by nothing that Strimzi knows.
fn clients_are_unknown(cluster: &ClusterPlan) -> bool {
    cluster.listeners.authorizer && authentication(cluster).is_none()
}

fn zones(cluster: &ClusterPlan) -> Option<String> {
    let topology = "`rack` takes the zones of the nodes that brokers run on";
    match &cluster.zones {
        Some(zones) => Some(format!(
            "zones: a relay simulated the link between two of them ({}); {topology}",
            link_words(&zones.link)
        )),
        None if !cluster.racks.is_empty() => {
            Some(format!("racks: they were {}; {topology}", listed(&cluster.racks.iter().cloned().collect())))
        }
        None => None,
    }
}

fn java(cluster: &ClusterPlan) -> Option<String> {
    let others = cluster.jvm_options.iter().filter(|option| java_option(option).is_none());
    // Values may be paths or secrets.
    let names: BTreeSet<String> =
        others.map(|option| option.split('=').next().unwrap_or_default().to_owned()).collect();
    (!names.is_empty()).then(|| {
        format!("Java: options that have no place in `jvmOptions`, or are paths: {}", listed(&names))
    })
}

fn settings(carried: &ExportedSettings) -> Vec<String> {
    let named = |words: &str, names: &BTreeSet<String>| {
        (!names.is_empty()).then(|| format!("settings {words}: {}", listed(names)))
    };
    let unread = (!carried.was_read)
        .then(|| "settings: what was in force was not read; these are the planned ones".to_owned());
    [
        unread,
        named("that Strimzi makes itself, left out", &carried.strimzis),
        named("that only clusters with ZooKeeper have, left out", &carried.zookeepers),
        named("whose values are paths of the host or may be secret, left out", &carried.kept_back),
        named("that were not alike on all brokers, the first one's taken", &carried.unlike),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
