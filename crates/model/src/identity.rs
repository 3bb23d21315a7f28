//! Settings that say who a broker is and where it lies. They differ between any two brokers and any two starts, so they
//! are no difference between two clusters; and those of somebody else's cluster are private.

/// Their names.
const SETTINGS: [&str; 22] = [
    "advertised.host.name",
    "advertised.listeners",
    "advertised.port",
    "broker.id",
    "broker.rack",
    "cluster.id",
    "control.plane.listener.name",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "host.name",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "node.id",
    "port",
    "remote.log.metadata.manager.listener.name",
    "zookeeper.chroot",
    "zookeeper.connect",
];

/// Whether a broker's setting says who or where it is.
pub fn says_who(setting: &str) -> bool {
    SETTINGS.contains(&setting)
}
