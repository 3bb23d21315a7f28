//! Settings that say who a broker is and where it lies. They differ between any two brokers and any two starts, so they
//! are no difference between two clusters; and those of somebody else's cluster are private.

/// Their names.
const SETTINGS: [&str; 24] = [
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
    "ssl.keystore.location",
    "ssl.truststore.location",
    "zookeeper.chroot",
    "zookeeper.connect",
];

/// Whether a broker's setting says who or where it is; those of one listener as those of all.
pub fn says_who(setting: &str) -> bool {
    let of_listener = setting.strip_prefix("listener.name.").and_then(|rest| rest.split_once('.'));
    SETTINGS.contains(&of_listener.map_or(setting, |(_, setting)| setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_paths_identify_a_broker_and_client_auth_does_not() {
        assert!(says_who("ssl.keystore.location"));
        assert!(says_who("listener.name.clients.ssl.truststore.location"));
        assert!(says_who("inter.broker.listener.name") && says_who("listeners"));
        assert!(!says_who("listener.name.clients.ssl.client.auth") && !says_who("listener.name.clients"));
    }
}
