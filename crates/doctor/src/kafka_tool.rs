//! Commands of Kafka's own tools, which change what runs.

use crate::advice::SettingChange;
use crate::observed::{Cluster, ObservedSetting, SettingLevel};
use crate::quote::quoted;

/// For a cluster that asks for TLS or a user: kdyno writes down no file that may hold a secret.
const CLIENT_PROPERTIES: &str =
    r#""${CLIENT_PROPERTIES:?is to name a file of client settings that this cluster takes}""#;

/// What a setting is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entity<'a> {
    /// All brokers that have no value of their own.
    AllBrokers,
    /// One broker, by id.
    Broker(i32),
    /// A topic, by name.
    Topic(&'a str),
}

impl Entity<'_> {
    /// The level on which what is set for it lies.
    fn level(self) -> SettingLevel {
        match self {
            Self::AllBrokers => SettingLevel::AllBrokers,
            Self::Broker(_) => SettingLevel::Broker,
            Self::Topic(_) => SettingLevel::Topic,
        }
    }

    fn options(self) -> String {
        match self {
            Self::AllBrokers => "--entity-type brokers --entity-default".to_owned(),
            Self::Broker(id) => format!("--entity-type brokers --entity-name {id}"),
            Self::Topic(name) => format!("--entity-type topics --entity-name {}", quoted(name)),
        }
    }
}

/// Settings for which Kafka refuses less than half and more than twice of what they are at once
/// (`DynamicThreadPool.validateReconfiguration`).
const BY_STEPS: [&str; 3] = ["num.io.threads", "num.network.threads", "num.replica.fetchers"];

/// Sets a value, and the way back to `now`: what was not set on the same level comes back once the value is taken away.
pub(crate) fn set(
    cluster: &Cluster,
    entity: Entity<'_>,
    name: &str,
    value: &str,
    now: Option<&ObservedSetting>,
) -> SettingChange {
    let tool = |what: &str| {
        let options = entity.options();
        format!("{} --alter {options} {what}", start(cluster, "kafka-configs.sh", "--command-config"))
    };
    let set = |value: &str| tool(&format!("--add-config {}", quoted(&format!("{name}={value}"))));
    let through = |from: &str, to: &str| match (from.trim().parse(), to.trim().parse()) {
        (Ok(from), Ok(to)) if BY_STEPS.contains(&name) => between(from, to),
        _ => Vec::new(),
    };
    let way = |from: &str, to: &str, last: String| {
        let steps = through(from, to).into_iter().map(|value| set(&value.to_string()));
        steps.chain([last]).collect::<Vec<_>>().join(" && ")
    };
    let found = now.map_or("", |now| now.value.as_str());
    let back = match now.filter(|now| now.level == entity.level()) {
        Some(now) => set(&now.value),
        None => tool(&format!("--delete-config {}", quoted(name))),
    };
    SettingChange::commands(way(found, value, set(value)), way(value, found, back))
}

/// Makes the preferred replicas of some partitions of a topic their leaders. It has no way back: who led was chance.
pub(crate) fn elect(cluster: &Cluster, topic: &str, partitions: &[usize]) -> SettingChange {
    let partitions: Vec<_> = partitions
        .iter()
        .map(|partition| serde_json::json!({"topic": topic, "partition": partition}))
        .collect();
    let file = serde_json::json!({"partitions": partitions}).to_string();
    let tool = start(cluster, "kafka-leader-election.sh", "--admin.config");
    let apply = format!(
        "printf %s {} | {tool} --election-type preferred --path-to-json-file /dev/stdin",
        quoted(&file)
    );
    SettingChange { apply, undo: None, by_hand: false }
}

fn start(cluster: &Cluster, tool: &str, config_option: &str) -> String {
    let address = quoted(&cluster.bootstrap);
    match cluster.is_secured {
        true => format!("{tool} --bootstrap-server {address} {config_option} {CLIENT_PROPERTIES}"),
        false => format!("{tool} --bootstrap-server {address}"),
    }
}

/// Numbers on the way from one to another, neither included, each at least half and at most twice the one
/// before it.
fn between(from: u64, to: u64) -> Vec<u64> {
    let mut steps = Vec::new();
    let mut now = from;
    // Kafka takes the half of an odd number without its fraction.
    while now > 0 && to > 0 && !(now / 2..=now.saturating_mul(2)).contains(&to) {
        now = if to > now { now.saturating_mul(2) } else { now / 2 };
        steps.push(now);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_threads_goes_by_half_or_double() {
        assert!(between(3, 6).is_empty());
        assert_eq!(between(8, 1), [4, 2]);
        assert_eq!(between(1, 8), [2, 4]);
        assert_eq!(between(2, 5), [4]);
        assert_eq!(between(7, 1), [3]);
        assert_eq!((between(0, 8), between(8, 0), between(4, 4)), (vec![], vec![], vec![]));
        let ends = [1, u64::MAX];
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            assert!(between(from, to).len() < 70);
        }
    }

    #[test]
    fn a_secured_cluster_is_reached_by_a_file_of_client_settings() {
        let cluster = Cluster { bootstrap: "h:1".to_owned(), is_secured: true };
        let change = set(&cluster, Entity::Broker(4), "num.io.threads", "8", None);
        for command in [Some(change.apply), change.undo].into_iter().flatten() {
            assert!(command.contains(" --command-config \"${CLIENT_PROPERTIES:?"), "{command}");
        }
        let elected = elect(&cluster, "a", &[0, 2]).apply;
        assert!(elected.contains(" --admin.config \"${CLIENT_PROPERTIES:?"), "{elected}");
    }
}
