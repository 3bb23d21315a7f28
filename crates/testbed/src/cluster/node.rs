//! One process of a cluster: what it is, its ports and folders.

use kdyno_model::event::Subject;
use std::path::PathBuf;

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// Broker and KRaft controller in one.
    Combined,
    /// Broker only.
    Broker,
    /// KRaft controller only.
    Controller,
    /// ZooKeeper server.
    Zookeeper,
}

impl NodeKind {
    pub(crate) fn is_broker(self) -> bool {
        matches!(self, Self::Combined | Self::Broker)
    }

    pub(crate) fn is_controller(self) -> bool {
        matches!(self, Self::Combined | Self::Controller)
    }
}

/// One process of the cluster.
#[derive(Debug, Clone)]
pub(crate) struct ClusterNode {
    pub kind: NodeKind,
    /// Node id; ZooKeeper servers count from 0 here and from 1 in their own files.
    pub id: u32,
    /// `broker-0`, `controller-3000`, `zookeeper-0`.
    pub subject: Subject,
    /// Its own folder: configuration, log files, console output.
    pub folder: PathBuf,
    /// Its data folders; the first also holds a KRaft node's metadata.
    pub data: Vec<PathBuf>,
    /// Where its clients connect (a controller has none).
    pub client_port: u16,
    /// Where brokers of a secured cluster, or of one whose zones lie between them, connect to each other; 0 where that is
    /// `client_port`.
    pub internal_port: u16,
    /// What a broker advertises for that; the same unless other brokers come by way of a relay.
    pub internal_advertised: u16,
    /// Where a broker is reached from each zone that has a listener of its own.
    pub zones: Vec<ZoneListener>,
    /// KRaft controller port, or a ZooKeeper server's port for its peers.
    pub peer_port: u16,
    /// A ZooKeeper server's election port.
    pub election_port: u16,
    /// Port on which a broker's agent exposes its metrics; 0: it has none.
    pub metrics_port: u16,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Processors it is pinned to; empty: not pinned.
    pub cpus: Vec<u32>,
}

/// A broker's listener for the clients of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneListener {
    /// The zone.
    pub zone: String,
    /// Its name in settings.
    pub name: String,
    /// Where it is.
    pub port: u16,
    /// Advertised port: the same, or a relay's port.
    pub advertised: u16,
}
