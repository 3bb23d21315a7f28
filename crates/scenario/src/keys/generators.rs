//! Keys of the hosts that carry a load.

use super::{SECRET, Section, TEXT, ValueKind, key, needed, or, section};

/// What is under `share` by load item.
pub const HOSTS_OF_ITEMS: &str = "lists of hosts by load item";

/// Hosts that carry a load.
pub static GENERATORS: Section = section(
    "generators",
    "Other hosts that carry the load, instead of the host on which kdyno runs. Also a file of its own: `--generators FILE`.",
    &[
        needed("hosts", ValueKind::List(&ValueKind::Section(&GENERATOR)), "the hosts, 1 to 100"),
        or(
            "share",
            ValueKind::Either(&[ValueKind::Choice(&["even"]), ValueKind::Settings(HOSTS_OF_ITEMS)]),
            "even",
            "how the clients of load items are shared: `even`, all items among all hosts; or the hosts of some items, as in \
             `{readers: [gen-2]}`, and all others among all hosts",
        ),
    ],
);

/// A host that carries a load.
pub static GENERATOR: Section = section(
    "generator",
    "One of `ssh` and `connect`: how its agent is reached.",
    &[
        key("name", TEXT, "its name in reports and in `share`; without it the host of `ssh` or `connect`"),
        key(
            "ssh",
            TEXT,
            "`HOST` or `USER@HOST` as ssh takes it; keys and jump hosts are those of ssh's own configuration",
        ),
        key("program", TEXT, "with `ssh`: kdyno's path there; without it `kdyno`"),
        key("connect", TEXT, "`HOST:PORT` at which `kdyno agent --listen` answers"),
        key(
            "certificate",
            TEXT,
            "with `connect`: PEM file with the agent's certificate, relative to this file's folder",
        ),
        key("token", ValueKind::Section(&SECRET), "with `connect`: where the agent's token is"),
    ],
);
