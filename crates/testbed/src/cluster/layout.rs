//! Which processes make up the cluster: names, numbers, ports, folders.

use super::node::{ClusterNode, NodeKind};
use super::ports::HeldPorts;
use super::zones::{self, RelayNode, Relayed};
use crate::error::TestbedError;
use kdyno_model::event::Subject;
use kdyno_model::plan::{BrokerMetrics, ClusterPlan, Mode, Storage};
use std::path::{Path, PathBuf};

/// Number of the first dedicated controller, clear of the brokers' numbers.
const CONTROLLER_ID_FIRST: u32 = 3000;

/// The whole cluster.
#[derive(Debug)]
pub(crate) struct ClusterLayout {
    /// In the order in which they are started.
    pub nodes: Vec<ClusterNode>,
    /// What lies between its zones.
    pub relays: Vec<RelayNode>,
    /// Id given to a KRaft cluster; a ZooKeeper cluster makes its own.
    pub cluster_id: String,
}

/// Where things go.
pub(crate) struct ClusterFolders<'a> {
    /// The cluster's own folder.
    pub work_dir: &'a Path,
    /// Root for data in memory, when the plan asks for it; already unique to this cluster.
    pub memory_root: Option<&'a Path>,
    /// Name of this cluster's sub-folder on given drives.
    pub drive_folder: &'a str,
}

impl ClusterLayout {
    /// Lays the cluster out. Ports come from `ports`, four for each node at most ([`ClusterLayout::ports_needed`]).
    pub(crate) fn new(
        plan: &ClusterPlan,
        places: &ClusterFolders<'_>,
        cluster_id: String,
        ports: &mut HeldPorts,
    ) -> Self {
        let has_internal = zones::has_internal_listener(plan);
        let has_metrics = plan.metrics == BrokerMetrics::Jmx;
        let mut nodes = Vec::new();
        let mut add = |kind: NodeKind, id: u32, subject: Subject| {
            let broker = kind.is_broker();
            nodes.push(ClusterNode {
                kind,
                id,
                folder: places.work_dir.join(subject.to_string()),
                data: data_folders(plan, places, kind, &subject),
                subject,
                client_port: if kind == NodeKind::Controller { 0 } else { ports.next() },
                internal_port: if broker && has_internal { ports.next() } else { 0 },
                internal_advertised: 0,
                zones: Vec::new(),
                peer_port: if kind == NodeKind::Broker { 0 } else { ports.next() },
                election_port: if kind == NodeKind::Zookeeper { ports.next() } else { 0 },
                metrics_port: if broker && has_metrics { ports.next() } else { 0 },
                rack: if broker { rack(plan, id) } else { None },
                cpus: if broker {
                    nth_repeating(&plan.pinned_to, id).unwrap_or_default()
                } else {
                    Vec::new()
                },
            });
        };
        match plan.mode {
            Mode::Zookeeper { nodes } => {
                (0..nodes).for_each(|i| add(NodeKind::Zookeeper, i, Subject::Zookeeper(i)));
            }
            Mode::KraftControllers { controllers } => (0..controllers)
                .map(|i| CONTROLLER_ID_FIRST + i)
                .for_each(|id| add(NodeKind::Controller, id, Subject::Controller(id))),
            Mode::KraftCombined => {}
        }
        for id in 0..plan.brokers {
            add(
                if plan.mode.is_combined(id) { NodeKind::Combined } else { NodeKind::Broker },
                id,
                Subject::Broker(id),
            );
        }
        let relays = zones::lay_out(plan, &mut nodes, places.work_dir, ports);
        Self { nodes, relays, cluster_id }
    }

    /// An upper bound of the ports a plan needs.
    pub(crate) fn ports_needed(plan: &ClusterPlan) -> usize {
        let has_metrics = plan.metrics == BrokerMetrics::Jmx;
        let internal = usize::from(zones::has_internal_listener(plan));
        let per_broker = 2 + internal + usize::from(has_metrics) + zones::ports_per_broker(plan);
        3 * plan.mode.nodes_without_broker() as usize + per_broker * plan.brokers as usize
    }

    pub(crate) fn brokers(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes.iter().filter(|node| node.kind.is_broker())
    }

    /// `host:port` of each broker, in the order of their ids.
    pub(crate) fn bootstrap(&self) -> Vec<String> {
        self.brokers().map(|node| format!("127.0.0.1:{}", node.client_port)).collect()
    }

    /// `host:port` of each broker as advertised to clients of a zone, in the order of their ids.
    pub(crate) fn bootstrap_of(&self, zone: &str) -> Vec<String> {
        let port = |node: &ClusterNode| {
            let listener = node.zones.iter().find(|listener| listener.zone == zone);
            listener.map_or(node.client_port, |listener| listener.advertised)
        };
        self.brokers().map(|node| format!("127.0.0.1:{}", port(node))).collect()
    }

    /// `host:port` at which the brokers of a secured cluster connect to each other, in the order of their ids.
    pub(crate) fn internal_addresses(&self) -> Vec<String> {
        self.brokers().map(|node| format!("127.0.0.1:{}", node.internal_port)).collect()
    }

    /// `controller.quorum.voters`; empty without KRaft.
    pub(crate) fn voters(&self) -> String {
        let voters = self.nodes.iter().filter(|node| node.kind.is_controller());
        voters.map(|node| format!("{}@127.0.0.1:{}", node.id, node.peer_port)).collect::<Vec<_>>().join(",")
    }

    /// What each of its relays has done so far.
    pub(crate) fn relayed(&self) -> Vec<Relayed> {
        self.relays.iter().map(RelayNode::relayed).collect()
    }

    pub(crate) fn zookeepers(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Zookeeper)
    }
}

/// A broker's rack: its zone, where there are zones.
fn rack(plan: &ClusterPlan, id: u32) -> Option<String> {
    match &plan.zones {
        Some(zones) => Some(zones.of_broker(id).to_owned()),
        None => nth_repeating(&plan.racks, id),
    }
}

/// A shorter list repeats; an empty one gives nothing.
fn nth_repeating<T: Clone>(list: &[T], index: u32) -> Option<T> {
    list.get(index as usize % list.len().max(1)).cloned()
}

/// A broker's logs go where the plan says; controllers and ZooKeeper keep theirs in the run's folder, or in
/// memory when the brokers do.
fn data_folders(
    plan: &ClusterPlan,
    places: &ClusterFolders<'_>,
    kind: NodeKind,
    subject: &Subject,
) -> Vec<PathBuf> {
    let subject = subject.to_string();
    let own = || vec![places.work_dir.join(&subject).join("data")];
    match (&plan.storage, places.memory_root) {
        (Storage::Memory, Some(root)) => vec![root.join(&subject)],
        (Storage::Dirs(drives), _) if kind.is_broker() && !drives.is_empty() => {
            drives.iter().map(|drive| drive.join(places.drive_folder).join(&subject)).collect()
        }
        _ => own(),
    }
}

/// Refuses plans that no cluster can follow.
pub(crate) fn check(plan: &ClusterPlan) -> Result<(), TestbedError> {
    /// Above this a scenario is surely mistyped; three ports and a JVM each.
    const NODES_MAX: u32 = 100;
    let others = plan.mode.nodes_without_broker();
    if plan.brokers == 0 {
        return Err(TestbedError::Impossible("a cluster needs at least one broker".to_string()));
    }
    if plan.brokers.saturating_add(others) > NODES_MAX {
        let message = format!(
            "{} brokers and {others} other nodes on one host are more than {NODES_MAX}",
            plan.brokers
        );
        return Err(TestbedError::Impossible(message));
    }
    if plan.storage == Storage::Dirs(Vec::new()) {
        return Err(TestbedError::Impossible("storage names no folder".to_string()));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(mode: Mode, brokers: u32) -> ClusterPlan {
        ClusterPlan { mode, brokers, ..crate::plans::cluster() }
    }

    pub(crate) fn layout(plan: &ClusterPlan) -> ClusterLayout {
        let mut ports = HeldPorts::take(ClusterLayout::ports_needed(plan), 99).expect("ports");
        let places = ClusterFolders { work_dir: Path::new("/w"), memory_root: None, drive_folder: "kdyno-x" };
        ClusterLayout::new(plan, &places, "id".to_string(), &mut ports)
    }

    #[test]
    fn only_brokers_have_a_metrics_port_and_only_where_wanted() {
        let mut plan = plan(Mode::KraftControllers { controllers: 1 }, 2);
        let ports =
            |plan: &ClusterPlan| layout(plan).nodes.iter().map(|n| n.metrics_port != 0).collect::<Vec<_>>();
        assert_eq!(ports(&plan), [false, true, true]);
        plan.metrics = BrokerMetrics::None;
        assert_eq!(ports(&plan), [false, false, false]);
    }

    fn subjects(layout: &ClusterLayout) -> Vec<String> {
        layout.nodes.iter().map(|node| node.subject.to_string()).collect()
    }

    #[test]
    fn the_first_three_combined_brokers_vote() {
        let layout = layout(&plan(Mode::KraftCombined, 5));
        assert_eq!(layout.voters().split(',').count(), 3);
        assert_eq!(layout.brokers().count(), 5);
        assert_eq!(layout.nodes[3].kind, NodeKind::Broker);
        assert_eq!(layout.bootstrap().len(), 5);
    }

    #[test]
    fn controllers_and_zookeeper_come_before_brokers() {
        let controllers = layout(&plan(Mode::KraftControllers { controllers: 2 }, 1));
        assert_eq!(subjects(&controllers), ["controller-3000", "controller-3001", "broker-0"]);
        let zookeeper = layout(&plan(Mode::Zookeeper { nodes: 3 }, 2));
        assert_eq!(
            subjects(&zookeeper),
            ["zookeeper-0", "zookeeper-1", "zookeeper-2", "broker-0", "broker-1"]
        );
        assert_eq!(zookeeper.voters(), "");
        let ports: std::collections::BTreeSet<u16> = zookeeper
            .nodes
            .iter()
            .flat_map(|n| [n.client_port, n.peer_port, n.election_port])
            .filter(|p| *p != 0)
            .collect();
        assert_eq!(ports.len(), 3 * 3 + 2, "no port twice");
    }

    #[test]
    fn shorter_lists_repeat_and_drives_get_a_folder_each() {
        let mut plan = plan(Mode::KraftCombined, 3);
        plan.racks = vec!["a".into(), "b".into()];
        plan.pinned_to = vec![vec![0], vec![1]];
        plan.storage = Storage::Dirs(vec!["/d1".into(), "/d2".into()]);
        let layout = layout(&plan);
        assert_eq!(layout.nodes[2].rack.as_deref(), Some("a"));
        assert_eq!(layout.nodes[1].cpus, [1]);
        assert_eq!(
            layout.nodes[1].data,
            [Path::new("/d1/kdyno-x/broker-1"), Path::new("/d2/kdyno-x/broker-1")]
        );
    }

    #[test]
    fn plans_that_no_cluster_can_follow_are_refused() {
        assert!(check(&plan(Mode::KraftCombined, 0)).is_err());
        assert!(check(&plan(Mode::KraftCombined, u32::MAX)).is_err());
        assert!(check(&plan(Mode::Zookeeper { nodes: 3 }, 3)).is_ok());
    }
}
