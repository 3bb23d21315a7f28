//! Broker settings that follow from other parts of a scenario, so that they may not be set by name.

/// Each with what to use instead (may be empty). They say where a cluster is and what it consists of.
const MANAGED: &[(&str, &str)] = &[
    ("broker.id", ""),
    ("node.id", ""),
    ("process.roles", "use `mode`"),
    ("host.name", ""),
    ("port", ""),
    ("listeners", ""),
    ("early.start.listeners", ""),
    ("control.plane.listener.name", ""),
    ("advertised.host.name", ""),
    ("advertised.port", ""),
    ("advertised.listeners", ""),
    ("listener.security.protocol.map", ""),
    ("security.inter.broker.protocol", ""),
    ("inter.broker.listener.name", ""),
    ("controller.listener.names", ""),
    ("controller.quorum.voters", "use `mode: {controllers: N}`"),
    ("controller.quorum.bootstrap.servers", "use `mode: {controllers: N}`"),
    ("controller.quorum.auto.join.enable", "use `mode: {controllers: N}`"),
    ("zookeeper.connect", "use `mode: {zookeeper: N}`"),
    ("zookeeper.metadata.migration.enable", "use `mode`"),
    ("broker.rack", "use `racks`"),
    ("log.dir", "use `storage`"),
    ("log.dirs", "use `storage`"),
    ("metadata.log.dir", "use `storage`"),
];

/// What to do instead of setting this; `None` for a setting that a scenario may make.
pub fn instead_of(setting: &str) -> Option<&'static str> {
    let (_, instead) = MANAGED.iter().find(|(managed, _)| *managed == setting)?;
    Some(if instead.is_empty() { "leave it out" } else { instead })
}
