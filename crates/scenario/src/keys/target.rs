//! Keys of a target: how to reach an existing cluster and what may be done to it.

use super::generators::GENERATORS;
use super::secret::SECRET;
use super::{COUNT, DURATION, SIZE, Section, TEXT, ValueKind, key, needed, or, section};

/// A target's top level.
pub static TARGET: Section = Section {
    name: "target",
    purpose: "How to reach an existing cluster and what may be done to it. Private: mode 0600.",
    keys: &[
        needed("kdyno", ValueKind::Choice(&["1"]), "version of this format"),
        needed("target", TEXT, "name of the target"),
        needed("cluster_id", TEXT, "the cluster id that must answer; otherwise nothing is sent"),
        needed("client", ValueKind::Section(&CLIENT), "how to reach it"),
        key(
            "facts",
            ValueKind::Settings("facts"),
            "what is known of it, printed as \"declared\"; may be nested",
        ),
        key(
            "price",
            ValueKind::Section(&PRICE),
            "what the whole cluster costs; tables then have its cost per GB written",
        ),
        key(
            "topics",
            ValueKind::Settings("names of topics"),
            "existing topics, each under the name of the scenario's topic that it replaces; they are neither made \
             nor deleted, and have partitions, replicas and settings of their own (with `allow: [existing-topics]`)",
        ),
        key(
            "groups",
            ValueKind::List(&TEXT),
            "existing consumer groups whose lag is read, over all topics that they read; 20 at most. Nothing of them is changed",
        ),
        key(
            "metrics",
            ValueKind::Section(&METRICS),
            "where the metrics that its brokers keep of themselves are read, every 10 s",
        ),
        key("guard", ValueKind::Section(&GUARD), "what may be done to it"),
        key(
            "generators",
            ValueKind::Section(&GENERATORS),
            "other hosts that generate the load of runs on this target; `--generators` names others",
        ),
    ],
    later: &[],
    open: false,
};

/// Where metrics of a target's brokers are read.
pub static METRICS: Section = section(
    "metrics",
    "One of `per_broker`, `prometheus` and `jmx`; with one of `password` and `bearer` where a login is required.",
    &[
        key(
            "per_broker",
            TEXT,
            "URL at which each broker serves them in the Prometheus text format, as JMX exporters do; `{host}` means the \
             broker's host: `http://{host}:7071/metrics`",
        ),
        key(
            "prometheus",
            TEXT,
            "URL of a Prometheus server that scrapes the brokers under their own hosts, asked by its query API",
        ),
        key(
            "jmx",
            TEXT,
            "host and port at which each broker serves them over JMX (`JMX_PORT`), where that is all; `{host}` means the \
             broker's host: `{host}:9999`. An exporter on this host reads them, a Java process for each broker, of 16 brokers at most",
        ),
        super::metrics::TARGET_MBEANS,
        key("username", TEXT, "user of HTTP's basic authentication, or of JMX"),
        key("password", TEXT, "its password: a secret of the target, as `${NAME}`"),
        key("bearer", TEXT, "a bearer token: a secret of the target, as `${NAME}`"),
        key(
            "trust",
            TEXT,
            "PEM file with the certificates of the authorities that `https` trusts, relative to the target file's folder; \
             without it those that this host trusts",
        ),
    ],
);

/// How to reach a target.
pub static CLIENT: Section = section(
    "client",
    "`bootstrap`, `properties`, or both. Without a properties file connections are PLAINTEXT.",
    &[
        key(
            "bootstrap",
            ValueKind::List(&TEXT),
            "`host:port` of brokers to ask first; wins over the properties file's",
        ),
        key(
            "properties",
            TEXT,
            "a Java client's properties file, read as Java reads it: `bootstrap.servers`, `security.protocol`, `ssl.*` \
             and `sasl.*` are taken from it; its path is relative to the target file's folder, paths in it to the \
             folder in which kdyno is started",
        ),
        key(
            "secrets",
            ValueKind::Named(&SECRET),
            "values that are kept elsewhere; the properties file refers to one as `${NAME}`",
        ),
    ],
);

/// What a target costs.
pub static PRICE: Section = section(
    "price",
    "What the whole cluster costs, brokers, disks and network together.",
    &[
        needed("per_hour", ValueKind::Scalar("number", "NUMBER"), "price of an hour"),
        needed("currency", TEXT, "its currency, three letters, e.g. `USD`"),
    ],
);

/// What may be done to a target.
pub static GUARD: Section = Section {
    name: "guard",
    purpose: "What may be done to the target. Only topics with the prefix and the run's id are ever deleted.",
    keys: &[
        or("prefix", TEXT, "kdyno-", "begins every topic and client id of ours"),
        key("caps", ValueKind::Section(&CAPS), "limits; a plan above one is refused"),
        key(
            "allow",
            ValueKind::List(&ValueKind::Choice(ALLOW)),
            "what is allowed in addition to paced load on own topics",
        ),
        key(
            "abort_if",
            ValueKind::List(&TEXT),
            "states at which the load ends at once, each `WHAT > N`, `WHAT < N`, with `for 10s` where it must last: \
             `offline_brokers`, `offline_partitions`, `under_replicated`, `rate_of_others` (records/s of other topics)",
        ),
    ],
    later: &[],
    open: false,
};

/// Permissions that a target may give.
pub const ALLOW: &[&str] = &["rate-max", "find", "existing-topics", "commands"];

/// Limits on what a target is given.
pub static CAPS: Section = section(
    "caps",
    "Limits; a plan above one is refused.",
    &[
        key(
            "produce",
            ValueKind::Scalar("size per second, e.g. `20MiB/s`", "SIZE/s"),
            "bytes of keys, values and headers per second",
        ),
        key("connections", COUNT, "connections at once"),
        key("partitions", COUNT, "partitions made in all"),
        key("disk", SIZE, "bytes written in all, replicas included"),
        key("time", DURATION, "length of the run, drains included; one that reaches it is ended"),
    ],
);

/// Permissions of a target that a later version will act on.
pub const ALLOW_LATER: &[&str] = &["faults", "restarts", "config-changes"];
