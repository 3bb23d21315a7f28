//! Which settings in force of brokers and topics are taken along.

use kdyno_model::event::Subject;
use kdyno_model::plan::{ClusterPlan, TopicPlan};
use kdyno_model::run::{SettingOrigin, SettingsInForce, TrialStart};
use std::collections::{BTreeMap, BTreeSet};

/// Beginnings of names that Strimzi keeps to itself, as the description of its resource `Kafka` lists them.
const STRIMZIS: [&str; 18] = [
    "listeners",
    "advertised.",
    "broker.",
    "listener.",
    "host.name",
    "port",
    "inter.broker.listener.name",
    "sasl.",
    "ssl.",
    "security.",
    "password.",
    "log.dir",
    "authorizer.",
    "super.user",
    "node.id",
    "process.roles",
    "controller.",
    "metadata.log.dir",
];
/// Names that begin so and are allowed all the same.
const ALLOWED: [&str; 8] = [
    "sasl.server.max.receive.size",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
    "ssl.secure.random.implementation",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
];
/// Settings that clusters without ZooKeeper do not have.
const ZOOKEEPERS: [&str; 3] = ["zookeeper.", "inter.broker.protocol.version", "log.message.format.version"];
/// Parts of names whose values may be secret.
const SECRET: [&str; 5] = ["password", "secret", "jaas", "credential", "private.key"];

/// What becomes of the brokers' settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ExportedSettings {
    /// Settings that are taken along, with their values.
    pub config: BTreeMap<String, String>,
    /// Names of those that Strimzi sets itself.
    pub strimzis: BTreeSet<String>,
    /// Names of those that only a cluster with ZooKeeper has.
    pub zookeepers: BTreeSet<String>,
    /// Names of those whose values are paths of a host, or may be secret.
    pub kept_back: BTreeSet<String>,
    /// Names of those that are not alike on all brokers; the value of the first that has it set is taken.
    pub unlike: BTreeSet<String>,
    /// Whether brokers reported what was in force; else it is what was requested.
    pub was_read: bool,
}

/// The settings of the brokers of a trial that somebody set.
pub(super) fn of_brokers(start: &TrialStart, cluster: &ClusterPlan) -> ExportedSettings {
    let of_brokers = start.settings.iter().filter(|(subject, _)| subject.is_broker());
    let reported: Vec<&SettingsInForce> = of_brokers.map(|(_, settings)| settings).collect();
    let mut set: BTreeMap<&String, &String> = BTreeMap::new();
    for (name, setting) in
        reported.iter().flat_map(|settings| settings.iter()).filter(|(_, one)| one.is_set())
    {
        set.entry(name).or_insert(&setting.value);
    }
    // Run files of earlier versions do not say what was set.
    let was_read = !set.is_empty();
    let mut carried = ExportedSettings { was_read, ..ExportedSettings::default() };
    for (name, value) in if was_read { set } else { cluster.config.iter().collect() } {
        let is_unlike = reported.iter().any(|other| other.get(name).is_some_and(|one| one.value != *value));
        carried.take(name, value, is_unlike);
    }
    carried
}

impl ExportedSettings {
    fn take(&mut self, name: &str, value: &str, is_unlike: bool) {
        let begins = |names: &[&str]| names.iter().any(|one| name.starts_with(one));
        let set = if begins(&ZOOKEEPERS) {
            &mut self.zookeepers
        } else if !ALLOWED.contains(&name) && begins(&STRIMZIS) {
            &mut self.strimzis
        } else if is_private(name, value) {
            &mut self.kept_back
        } else {
            if is_unlike {
                self.unlike.insert(name.to_owned());
            }
            self.config.insert(name.to_owned(), value.to_owned());
            return;
        };
        set.insert(name.to_owned());
    }
}

/// Whether a value belongs to the host or may be a secret.
fn is_private(name: &str, value: &str) -> bool {
    SECRET.iter().any(|part| name.contains(part))
        || value.is_empty()
        || value.starts_with('/')
        || value.contains("file:")
}

/// The settings of a topic that were set for itself: as brokers reported them, else as they were requested.
pub(super) fn of_topic(start: &TrialStart, name: &str, plan: &TopicPlan) -> BTreeMap<String, String> {
    let reported = start.settings.get(&Subject::Topic(name.to_owned()));
    let all: BTreeMap<String, String> = match reported {
        None => plan.config.clone(),
        Some(settings) => {
            let own = settings.iter().filter(|(_, setting)| setting.origin == SettingOrigin::Topic);
            own.map(|(name, setting)| (name.clone(), setting.value.clone())).collect()
        }
    };
    let counts = [TopicPlan::PARTITIONS, TopicPlan::REPLICATION_FACTOR];
    all.into_iter()
        .filter(|(name, value)| !counts.contains(&name.as_str()) && !is_private(name, value))
        .collect()
}

/// Names of the settings that a test cluster of kdyno's has in addition to those of the scenario.
pub(super) fn added(start: &TrialStart) -> BTreeSet<&str> {
    let added = start.cluster.get("settings_added").map_or("", String::as_str);
    added.split_whitespace().filter_map(|setting| setting.split_once('=')).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_strimzis_or_private_is_left_out_and_named() {
        let mut carried = ExportedSettings::default();
        for (name, value) in [
            ("num.io.threads", "8"),
            ("log.dirs", "/tmp/x"),
            ("log.retention.bytes", "1000"),
            ("ssl.keystore.password", "hunter2"),
            ("ssl.protocol", "TLSv1.3"),
            ("controller.quorum.voters", "1@127.0.0.1:9"),
            ("controller.quorum.fetch.timeout.ms", "2000"),
            ("zookeeper.connect", "127.0.0.1:2181"),
            ("delegation.token.secret.key", "hunter2"),
            ("my.plugin.file", "/opt/x"),
        ] {
            carried.take(name, value, name == "num.io.threads");
        }
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        let config: Vec<&str> = carried.config.keys().map(String::as_str).collect();
        assert_eq!(
            config,
            ["controller.quorum.fetch.timeout.ms", "log.retention.bytes", "num.io.threads", "ssl.protocol"]
        );
        assert_eq!(names(&carried.strimzis), "controller.quorum.voters log.dirs ssl.keystore.password");
        assert_eq!(names(&carried.kept_back), "delegation.token.secret.key my.plugin.file");
        assert_eq!(
            (names(&carried.zookeepers).as_str(), names(&carried.unlike).as_str()),
            ("zookeeper.connect", "num.io.threads")
        );
        assert!(!format!("{carried:?}").contains("hunter2"));
    }
}
