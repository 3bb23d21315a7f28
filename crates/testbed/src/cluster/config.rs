//! The settings files of brokers, controllers and ZooKeeper.

use super::layout::ClusterLayout;
use super::node::{ClusterNode, NodeKind};
use super::secured::{CLIENTS, INTERNAL, Secured};
use super::zones;
use crate::error::TestbedError;
use kdyno_model::managed::instead_of;
use kdyno_model::plan::ClusterPlan;
use kdyno_model::version::Version;
use std::collections::BTreeMap;

/// Settings by name.
pub(super) type ConfigValues = BTreeMap<String, String>;

/// The listener of brokers without authentication.
const PLAIN: &str = "PLAINTEXT";
/// The least that a partition keeps, bytes: below it a fast load would roll segments many times a second.
const RETAINED_BYTES_MIN: u64 = 64 << 20;

/// How much of its log each partition keeps, so that a long run cannot fill the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// `log.retention.bytes`: kept per partition and replica.
    pub partition_bytes: u64,
    /// `log.segment.bytes`: the log is cut off in steps of this.
    pub segment_bytes: u64,
}

impl Retention {
    /// Divides a budget of bytes over all replicas of all partitions of the cluster.
    ///
    /// A partition holds at most its retained bytes, one segment being written and what arrives between two
    /// checks; the budget is divided so that the first two fit: `retained + segment = 5/4 retained`. Rounded down to a power
    /// of two: two clusters that are compared find a little more or less room, and shall have the same segments.
    #[must_use]
    pub fn within(budget_bytes: u64, partition_replicas: u64) -> Self {
        /// Above this a larger figure changes nothing that a test of hours would see.
        const RETAINED_BYTES_MAX: u64 = 16 << 30;
        /// Kafka's own default.
        const SEGMENT_BYTES_MAX: u64 = 1 << 30;
        let share = budget_bytes / partition_replicas.max(1);
        let fitting = (share / 5 * 4).clamp(RETAINED_BYTES_MIN, RETAINED_BYTES_MAX);
        let partition_bytes = 1 << fitting.ilog2();
        Self { partition_bytes, segment_bytes: (partition_bytes / 4).min(SEGMENT_BYTES_MAX) }
    }

    /// The least that a replica of a partition may take: what is kept and the segment being written.
    #[must_use]
    pub fn least() -> Self {
        Self::within(0, 1)
    }
}

/// Refuses settings that are not a scenario's to make.
pub(super) fn check_overrides(plan: &ClusterPlan) -> Result<(), TestbedError> {
    match plan.config.keys().find(|key| instead_of(key).is_some()) {
        Some(key) => Err(TestbedError::Impossible(format!(
            "broker setting {key} follows from mode, brokers and storage; it cannot be set in config"
        ))),
        None => Ok(()),
    }
}

/// Settings of a broker or controller; the plan's own settings come last and win.
pub(super) fn kafka(
    plan: &ClusterPlan,
    layout: &ClusterLayout,
    node: &ClusterNode,
    version: &Version,
    (retention, secured): (Retention, Option<&Secured>),
) -> ConfigValues {
    let mut settings = ConfigValues::new();
    let mut set = |key: &str, value: String| settings.insert(key.to_string(), value);
    let data: Vec<_> = node.data.iter().map(|folder| folder.display().to_string()).collect();
    set("log.dirs", data.join(","));
    let ListenerNames { listeners: clients, advertised, between_brokers, protocols } = names(plan, node);
    let peers = format!("CONTROLLER://127.0.0.1:{}", node.peer_port);
    let kraft = layout.zookeepers().next().is_none();
    if kraft {
        set("node.id", node.id.to_string());
        set("controller.quorum.voters", layout.voters());
        set("controller.listener.names", "CONTROLLER".to_string());
        let (roles, listeners) = match node.kind {
            NodeKind::Combined => ("broker,controller", format!("{clients},{peers}")),
            NodeKind::Controller => ("controller", peers),
            NodeKind::Broker | NodeKind::Zookeeper => ("broker", clients.clone()),
        };
        set("process.roles", roles.to_string());
        set("listeners", listeners);
    } else {
        set("broker.id", node.id.to_string());
        let servers: Vec<_> = layout.zookeepers().map(|zk| format!("127.0.0.1:{}", zk.client_port)).collect();
        set("zookeeper.connect", servers.join(","));
        // Brokers are started together with ZooKeeper, not after it.
        set("zookeeper.connection.timeout.ms", "60000".to_string());
        set("listeners", clients.clone());
    }
    if kraft || secured.is_some() || plan.zones.is_some() {
        set("listener.security.protocol.map", protocols);
    }
    if node.kind.is_broker() {
        set("advertised.listeners", advertised);
        set("inter.broker.listener.name", between_brokers.to_string());
        if let Some(rack) = &node.rack {
            set("broker.rack", rack.clone());
        }
        settings.extend(broker_defaults(plan.brokers, version, retention));
    }
    if let Some(secured) = secured {
        let of_clients = secured.settings(kraft);
        // Clients of a zone connect as all others do.
        for listener in &node.zones {
            let to = format!("listener.name.{}.", listener.name.to_lowercase());
            let of_it =
                of_clients.iter().filter_map(|(key, value)| Some((key.strip_prefix(OF_CLIENTS)?, value)));
            settings.extend(of_it.map(|(key, value)| (format!("{to}{key}"), value.clone())));
        }
        settings.extend(of_clients);
    }
    settings.extend(plan.config.iter().map(|(key, value)| (key.clone(), value.clone())));
    settings
}

/// Begins the settings of the listener for clients.
const OF_CLIENTS: &str = "listener.name.clients.";

/// How listeners are called.
struct ListenerNames {
    /// Listeners of a broker, with their addresses.
    listeners: String,
    /// Listeners with the advertised addresses.
    advertised: String,
    /// The one by which brokers connect to each other.
    between_brokers: &'static str,
    /// The protocol of each.
    protocols: String,
}

fn names(plan: &ClusterPlan, node: &ClusterNode) -> ListenerNames {
    let (clients, internal) = (plan.listeners.clients.protocol, plan.listeners.internal);
    let name = if plan.listeners.are_plain() { PLAIN } else { CLIENTS };
    let mut all = vec![(name, clients, node.client_port, node.client_port)];
    let has_internal = zones::has_internal_listener(plan);
    if has_internal {
        all.push((INTERNAL, internal, node.internal_port, node.internal_advertised));
    }
    let of_zones = node.zones.iter().map(|of| (of.name.as_str(), clients, of.port, of.advertised));
    all.extend(of_zones);
    let at = |name: &str, port: u16| format!("{name}://127.0.0.1:{port}");
    let listeners: Vec<String> = all.iter().map(|(name, _, port, _)| at(name, *port)).collect();
    let advertised: Vec<String> = all.iter().map(|(name, _, _, reported)| at(name, *reported)).collect();
    let mut protocols: Vec<String> =
        all.iter().map(|(name, protocol, ..)| format!("{name}:{protocol}")).collect();
    protocols.push(format!("CONTROLLER:{internal}"));
    ListenerNames {
        listeners: listeners.join(","),
        advertised: advertised.join(","),
        between_brokers: if has_internal { INTERNAL } else { PLAIN },
        protocols: protocols.join(","),
    }
}

/// What a test cluster of this size needs in place of Kafka's defaults, where the scenario says nothing.
pub(super) fn broker_defaults(brokers: u32, version: &Version, retention: Retention) -> ConfigValues {
    let mut settings = ConfigValues::new();
    let replicas = brokers.min(3).to_string();
    let in_sync_min = brokers.min(2).to_string();
    let mut set = |key: &str, value: &str| settings.insert(key.to_string(), value.to_string());
    set("offsets.topic.replication.factor", &replicas);
    set("transaction.state.log.replication.factor", &replicas);
    set("transaction.state.log.min.isr", &in_sync_min);
    if version.at_least(4, 0) {
        set("share.coordinator.state.topic.replication.factor", &replicas);
        set("share.coordinator.state.topic.min.isr", &in_sync_min);
    }
    // No member joins late, and topics are made with the layout that the plan states.
    set("group.initial.rebalance.delay.ms", "0");
    set("auto.create.topics.enable", "false");
    set("log.retention.bytes", &retention.partition_bytes.to_string());
    set("log.segment.bytes", &retention.segment_bytes.to_string());
    set("log.retention.check.interval.ms", "5000");
    set("log.segment.delete.delay.ms", "1000");
    settings
}

/// Settings of a ZooKeeper server: those that Kafka ships, on the loopback address.
pub(super) fn zookeeper(layout: &ClusterLayout, node: &ClusterNode) -> ConfigValues {
    let mut settings = ConfigValues::new();
    let mut set = |key: String, value: String| settings.insert(key, value);
    set("dataDir".into(), node.data.first().map(|folder| folder.display().to_string()).unwrap_or_default());
    set("clientPort".into(), node.client_port.to_string());
    set("clientPortAddress".into(), "127.0.0.1".into());
    set("maxClientCnxns".into(), "0".into());
    set("admin.enableServer".into(), "false".into());
    let ensemble: Vec<&ClusterNode> = layout.zookeepers().collect();
    if ensemble.len() > 1 {
        set("tickTime".into(), "2000".into());
        set("initLimit".into(), "10".into());
        set("syncLimit".into(), "5".into());
        for peer in ensemble {
            let address = format!("127.0.0.1:{}:{}", peer.peer_port, peer.election_port);
            set(format!("server.{}", zookeeper_id(peer)), address);
        }
    }
    settings
}

/// ZooKeeper's own number of a server (`myid`), which counts from 1.
pub(super) fn zookeeper_id(node: &ClusterNode) -> u32 {
    node.id + 1
}

/// A Java properties file.
pub(super) fn properties(settings: &ConfigValues) -> String {
    settings.iter().map(|(key, value)| format!("{}={}\n", escape(key, true), escape(value, false))).collect()
}

fn escape(text: &str, key: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, character) in text.chars().enumerate() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            ' ' | '\t' if key || index == 0 => out.extend(['\\', character]),
            '=' | ':' | '#' | '!' if key => out.extend(['\\', character]),
            // The reader takes the file as Latin-1 in old releases.
            c if !c.is_ascii() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{layout, plan};
    use super::*;
    use kdyno_model::plan::{JitterLaw, LinkPlan, Mode, Protocol, TlsVersion, ZonesPlan};

    fn settings(plan: &ClusterPlan, index: usize, version: &str) -> ConfigValues {
        let layout = layout(plan);
        let retention = Retention::within(100 << 30, 100);
        let version = Version::parse(version).expect("version");
        let secured = Secured::make(&plan.listeners).expect("made");
        kafka(plan, &layout, &layout.nodes[index], &version, (retention, secured.as_ref()))
    }

    #[test]
    fn each_role_gets_its_listeners() {
        let combined = settings(&plan(Mode::KraftCombined, 4), 0, "4.1.1");
        assert_eq!(combined["process.roles"], "broker,controller");
        assert!(combined["listeners"].contains(",CONTROLLER://127.0.0.1:"));
        let fourth = settings(&plan(Mode::KraftCombined, 4), 3, "4.1.1");
        assert_eq!(fourth["process.roles"], "broker");
        assert!(!fourth["listeners"].contains("CONTROLLER"));
        let controller = settings(&plan(Mode::KraftControllers { controllers: 1 }, 1), 0, "3.7.2");
        assert_eq!(controller["process.roles"], "controller");
        assert!(!controller.contains_key("advertised.listeners"));
        let old = settings(&plan(Mode::Zookeeper { nodes: 3 }, 2), 4, "2.7.2");
        assert_eq!(old["broker.id"], "1");
        assert_eq!(old["zookeeper.connect"].split(',').count(), 3);
        assert!(!old.contains_key("process.roles"));
    }

    #[test]
    fn a_secured_cluster_has_listeners_for_clients_and_for_its_own() {
        let mut plan = plan(Mode::KraftCombined, 1);
        plan.listeners.clients.protocol = Protocol::Ssl;
        plan.listeners.clients.tls = vec![TlsVersion::Tls13];
        let broker = settings(&plan, 0, "4.1.1");
        assert_eq!(
            broker["listener.security.protocol.map"],
            "CLIENTS:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        );
        let names: Vec<&str> =
            broker["listeners"].split(',').filter_map(|one| one.split("://").next()).collect();
        assert_eq!(names, ["CLIENTS", "INTERNAL", "CONTROLLER"]);
        assert!(broker["listeners"].starts_with(&broker["advertised.listeners"]));
        assert_eq!(broker["inter.broker.listener.name"], "INTERNAL");
        assert_eq!(broker["listener.name.clients.ssl.enabled.protocols"], "TLSv1.3");
        assert!(check_overrides(&plan).is_ok());
    }

    #[test]
    fn a_broker_advertises_the_relays_address_to_another_zone() {
        let mut plan = plan(Mode::Zookeeper { nodes: 1 }, 1);
        let link = LinkPlan { delay_ns: 1, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
        let zones = |name: &str| vec![name.to_owned()];
        plan.zones =
            Some(ZonesPlan { brokers: zones("a"), clients: zones("b"), link, between_brokers: false });
        let broker = settings(&plan, 1, "2.7.2");
        assert_eq!(
            broker["listener.security.protocol.map"],
            "PLAINTEXT:PLAINTEXT,ZONE2:PLAINTEXT,CONTROLLER:PLAINTEXT"
        );
        assert_eq!(
            (broker["broker.rack"].as_str(), broker["inter.broker.listener.name"].as_str()),
            ("a", "PLAINTEXT")
        );
        let parts = |key: &str| broker[key].split(',').map(str::to_owned).collect::<Vec<_>>();
        let (listens, announced) = (parts("listeners"), parts("advertised.listeners"));
        assert_eq!((listens.len(), announced.len()), (2, 2));
        assert_eq!(listens[0], announced[0]);
        assert_ne!(listens[1], announced[1], "by way of the relay");
        assert!(announced[1].starts_with("ZONE2://127.0.0.1:"), "{announced:?}");
        plan.listeners.clients.protocol = Protocol::Ssl;
        plan.listeners.clients.tls = vec![TlsVersion::Tls13];
        let secured = settings(&plan, 1, "2.7.2");
        assert_eq!(secured["listener.name.zone2.ssl.enabled.protocols"], "TLSv1.3");
        assert!(secured["listener.security.protocol.map"].contains("ZONE2:SSL"));
    }

    #[test]
    fn replication_of_internal_topics_follows_the_number_of_brokers() {
        let one = settings(&plan(Mode::KraftCombined, 1), 0, "4.1.1");
        assert_eq!(
            (one["offsets.topic.replication.factor"].as_str(), one["transaction.state.log.min.isr"].as_str()),
            ("1", "1")
        );
        let five = settings(&plan(Mode::KraftCombined, 5), 0, "4.1.1");
        assert_eq!(
            (
                five["offsets.topic.replication.factor"].as_str(),
                five["transaction.state.log.min.isr"].as_str()
            ),
            ("3", "2")
        );
    }

    #[test]
    fn the_plans_settings_win_except_where_the_cluster_is() {
        let mut plan = plan(Mode::KraftCombined, 1);
        plan.config.insert("log.segment.bytes".into(), "1048576".into());
        assert_eq!(settings(&plan, 0, "4.1.1")["log.segment.bytes"], "1048576");
        assert!(check_overrides(&plan).is_ok());
        plan.config.insert("listeners".into(), "PLAINTEXT://0.0.0.0:9092".into());
        assert!(check_overrides(&plan).expect_err("ours").to_string().contains("listeners"));
        plan.config.remove("listeners");
        plan.config.insert("security.inter.broker.protocol".into(), "PLAINTEXT".into());
        assert!(check_overrides(&plan).is_err(), "what a scenario may not set, an option may not either");
    }

    #[test]
    fn a_single_zookeeper_runs_alone_and_three_form_an_ensemble() {
        let one = layout(&plan(Mode::Zookeeper { nodes: 1 }, 1));
        assert!(!zookeeper(&one, &one.nodes[0]).contains_key("server.1"));
        let three = layout(&plan(Mode::Zookeeper { nodes: 3 }, 1));
        assert!(zookeeper(&three, &three.nodes[2]).contains_key("server.3"));
    }

    #[test]
    fn retained_bytes_of_all_partitions_fit_the_budget() {
        for (budget, replicas) in [(40u64 << 30, 36u64), (1 << 40, 7), (200 << 30, 400)] {
            let retention = Retention::within(budget, replicas);
            assert!(
                (retention.partition_bytes + retention.segment_bytes) * replicas <= budget,
                "{retention:?}"
            );
        }
        assert_eq!(Retention::within(0, 0).partition_bytes, 64 << 20, "never nothing");
        assert_eq!(Retention::within(u64::MAX, 1).partition_bytes, 16 << 30);
        let cluster = |free: u64| Retention::within(free, 2);
        assert_eq!(cluster(20_100 << 20), cluster(20_080 << 20), "a second cluster on the same disk");
        assert_eq!(cluster(20_100 << 20).partition_bytes, 4 << 30);
    }

    #[test]
    fn properties_survive_odd_characters() {
        let settings = ConfigValues::from([("a b".into(), " c:\\x=1\n\u{e9}".into())]);
        assert_eq!(properties(&settings), "a\\ b=\\ c:\\\\x=1\\n\\u00e9\n");
    }
}
