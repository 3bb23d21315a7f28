//! Every key of a scenario and a target, in tables: the reader checks against them, the reference and the
//! JSON Schema are made from them, so the three cannot disagree.

mod broker_config;
mod client;
mod command;
mod component;
mod generators;
mod http_load;
mod listeners;
mod load;
mod metrics;
mod questions;
mod quotas;
mod records;
mod secret;
mod strimzi;
mod target;
mod topic;
mod zones;

pub use broker_config::BROKER_CONFIG;
pub use client::{DRIVERS, ITEM_CLIENT, JAVA_CLIENT};
pub use command::{COLUMNS, COMMAND, COMMAND_PODS};
pub use component::{COMPONENT, POSTGRES, READY, READY_WORDS, STOP};
pub use generators::{GENERATOR, GENERATORS, HOSTS_OF_ITEMS, KUBERNETES, MOUNTED_SECRET};
pub use http_load::{HTTP_STEP, JOB, USERS};
pub use listeners::{CLIENT_LISTENER, INTERNAL_LISTENER, LISTENERS, LOGINS};
pub use load::{
    BACKLOG, CONSUME, END_TO_END, LOAD, PAYLOAD, PRODUCE, RAMP, RATE_COURSE, STEP, TRANSACTIONS, WORK,
    ZIPF_WORK,
};
pub use metrics::{BROKER_METRICS, MBEANS};
pub use questions::{COMPARE, CONTRAST, EXPECT, FIND, JUDGE, SIDE};
pub(crate) use questions::{COMPONENTS_OF_SIDE, LOAD_OF_SIDE, TOPICS_OF_SIDE};
pub use quotas::QUOTAS;
pub use records::{AVRO, GIVEN, KEY, LOGNORMAL, NUMBERED, SAMPLE, UNIFORM, VALUE, ZIPF};
pub use secret::SECRET;
pub use strimzi::STRIMZI;
pub use target::{ALLOW, ALLOW_LATER, CAPS, CLIENT, GUARD, METRICS, PRICE, TARGET};
pub use topic::TOPIC;
pub use zones::ZONES;

use kdyno_model::stacks::FlameKind;

/// What may be under a key.
#[derive(Debug)]
pub enum ValueKind {
    /// A single value; the text says which sort. Editors check it by the pattern, in which words in capitals stand for
    /// quantities (`schema::scalar_schema`); one that is empty takes all.
    Scalar(&'static str, &'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A map with the keys of a section.
    Section(&'static Section),
    /// A map of free names, each with a section.
    Named(&'static Section),
    /// A map of free names with single values; the text says of what.
    Settings(&'static str),
    /// A list.
    List(&'static ValueKind),
    /// One of several.
    Either(&'static [ValueKind]),
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// As typed.
    pub name: &'static str,
    /// What may be under it.
    pub kind: ValueKind,
    /// What holds when it is left out; none when it is required or when nothing holds.
    pub default: Option<&'static str>,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub meaning: &'static str,
}

/// A map with known keys.
#[derive(Debug)]
pub struct Section {
    /// Its name in messages and in the reference.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The keys.
    pub keys: &'static [Key],
    /// Keys of a later version, each with what to do until then (may be empty).
    pub later: &'static [(&'static str, &'static str)],
    /// Whether names other than the keys are allowed (params).
    pub open: bool,
}

/// Sections that are not under a key of their own name.
const NOUNS: &[&str] = &[
    "scenario",
    "profile",
    "topic",
    "load item",
    "produce item",
    "consume item",
    "command item",
    "component",
    "users item",
    "job item",
    "request",
    "step",
    "target",
    "generator",
    "mounted secret",
    "side",
    "contrast",
    "secret",
    "metrics of brokers",
    "numbered key",
    "client of a load item",
];

impl Section {
    /// How messages call it: `the topic`, or the key that it is under.
    pub fn called(&self) -> String {
        if NOUNS.contains(&self.name) { format!("the {}", self.name) } else { format!("`{}`", self.name) }
    }
}

const fn key(name: &'static str, kind: ValueKind, meaning: &'static str) -> Key {
    Key { name, kind, default: None, required: false, meaning }
}

const fn needed(name: &'static str, kind: ValueKind, meaning: &'static str) -> Key {
    Key { name, kind, default: None, required: true, meaning }
}

const fn or(name: &'static str, kind: ValueKind, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, default: Some(default), required: false, meaning }
}

const fn section(name: &'static str, purpose: &'static str, keys: &'static [Key]) -> Section {
    Section { name, purpose, keys, later: &[], open: false }
}

const COUNT: ValueKind = ValueKind::Scalar("count", "COUNT");
const SIZE: ValueKind = ValueKind::Scalar("size", "SIZE");
const DURATION: ValueKind = ValueKind::Scalar("duration", "DURATION");
const RATE: ValueKind = ValueKind::Scalar("rate", "RATE");
const TEXT: ValueKind = ValueKind::Scalar("text", "");

/// A scenario's top level.
pub static SCENARIO: Section = Section {
    name: "scenario",
    purpose: "One question, asked of a system under a load.",
    keys: &[
        needed("kdyno", ValueKind::Choice(&["1"]), "version of this format"),
        needed(
            "id",
            ValueKind::Scalar("text", "[a-z][a-z0-9-]*"),
            "short name: lowercase letters, digits and `-`",
        ),
        needed("question", TEXT, "the question the scenario asks, for people"),
        key("params", ValueKind::Settings("params"), "the values that may vary, each with its usual value"),
        key(
            "profiles",
            ValueKind::Named(&PROFILE),
            "named settings of the params, e.g. `laptop`, `published`",
        ),
        key(
            "cases",
            ValueKind::List(&ValueKind::Settings("params")),
            "chosen rows of param values, one case each",
        ),
        key("vary", ValueKind::Section(&VARY), "lists of param values; every combination is a case"),
        key("system", ValueKind::Section(&SYSTEM), "the cluster to make; not used with a target"),
        needed("topics", ValueKind::Named(&TOPIC), "topics to make; their names are addresses"),
        needed(
            "load",
            ValueKind::Named(&LOAD),
            "load items, all started together unless `at` or `after` says otherwise; their names are addresses",
        ),
        key(
            "components",
            ValueKind::Named(&COMPONENT),
            "what runs next to the cluster: services of your own system, databases; their names are addresses",
        ),
        needed("phases", ValueKind::Section(&PHASES), "lengths of warm-up, measurement and drain"),
        key(
            "environment",
            ValueKind::Settings("facts"),
            "what is known of where it runs, e.g. `{instance: m7g.2xlarge, disk: {limit: 250MiB/s}}`; printed as \"declared\"; \
             `disk.limit` and `network.limit`, per broker, are limits that health is checked against",
        ),
        or("repeat", COUNT, "1", "trials per case"),
        or(
            "isolation",
            ValueKind::Choice(&["cluster", "topic", "none"]),
            "topic",
            "what is new for each trial",
        ),
        key(
            "budget",
            DURATION,
            "time the whole run may take: it shortens `repeat`, the looks of a comparison or the depth of a search; where not even one trial of each case fits, their windows, to 10 s at the least",
        ),
        key(
            "flame",
            ValueKind::Choice(FlameKind::NAMES),
            "sample the stacks of local brokers and of Java clients in the measured window, for flame graphs: of CPU time \
             (`cpu`), allocation (`alloc`) or waiting for locks (`lock`), or all three as a Flight Recorder file (`jfr`)",
        ),
        key("compare", ValueKind::Section(&COMPARE), "two sides to compare, in pairs of trials"),
        key(
            "find",
            ValueKind::Section(&FIND),
            "the load to search for: the highest at which conditions hold",
        ),
        key(
            "fail_if",
            ValueKind::List(&TEXT),
            "thresholds of this run, e.g. `[writers.response.p99 > 50ms]`: where one is true the run ends with exit code 3. One \
             trial is enough. A metric without a case in brackets is judged in every case; of several trials their median counts",
        ),
        key(
            "expect",
            ValueKind::List(&ValueKind::Section(&EXPECT)),
            "expectations of the cluster to be judged: they hold, do not hold, or are inconclusive. They need repeats",
        ),
        key(
            "contrasts",
            ValueKind::List(&ValueKind::Named(&CONTRAST)),
            "named ratios between two cases: `[{bigger batches: {from: {batch: 1KiB}, to: {batch: 16KiB}, of: [writers.acked_per_s]}}]`",
        ),
        key("show", ValueKind::Section(&SHOW), "the table to print"),
        key("published", ValueKind::Section(&PUBLISHED), "published figures, to compare with ours"),
    ],
    later: &[("sla", "`find: {highest: …, while: […]}` searches for the load at an SLA"), ("faults", "")],
    open: false,
};

/// A profile.
pub static PROFILE: Section = Section {
    name: "profile",
    purpose: "Param values that replace those under `params`; it may bring cases of its own.",
    keys: &[
        key(
            "cases",
            ValueKind::List(&ValueKind::Settings("params")),
            "replaces the scenario's `cases` and `vary`",
        ),
        key("vary", ValueKind::Section(&VARY), "replaces the scenario's `cases` and `vary`"),
    ],
    later: &[],
    open: true,
};

/// Lists of values by param.
pub static VARY: Section = Section {
    name: "vary",
    purpose: "A map from params to lists of values; every combination is a case.",
    keys: &[],
    later: &[],
    open: true,
};

/// The system under test.
pub static SYSTEM: Section = Section {
    name: "system",
    purpose: "A local cluster of real Apache Kafka brokers.",
    keys: &[
        or(
            "kafka",
            ValueKind::Either(&[
                ValueKind::Scalar("release, `newest` or `null-broker`", ""),
                ValueKind::Section(&KAFKA),
            ]),
            "newest",
            "where Kafka comes from: a release such as `3.7.2`, or `{home: DIR}`, or `{source: DIR}`; or `null-broker`: no \
             Kafka, but a broker that acknowledges everything and keeps nothing, to measure clients alone",
        ),
        or(
            "mode",
            ValueKind::Either(&[ValueKind::Choice(&["kraft", "zookeeper"]), ValueKind::Section(&MODE)]),
            "kraft",
            "how metadata is kept: `kraft`, `{kraft: combined}`, `{controllers: 3}`, `{zookeeper: 3}` or `zookeeper` \
             (one node)",
        ),
        or(
            "brokers",
            COUNT,
            "1",
            "number of brokers; on one machine more of them are more work and not more hardware, so 1 shows small differences \
             best, and 3 where replication is part of the question",
        ),
        key("limits", ValueKind::Section(&LIMITS), "what each broker may use"),
        key(
            "jvm",
            ValueKind::List(&TEXT),
            "further JVM options of each broker, which take the place of those of Kafka's start script that set the same; `limits.heap` \
             sizes the heap",
        ),
        key("racks", ValueKind::List(&TEXT), "rack of each broker; a shorter list repeats"),
        or(
            "storage",
            ValueKind::Either(&[ValueKind::Choice(&["disk", "memory"]), ValueKind::List(&TEXT)]),
            "disk",
            "where the brokers' logs lie; a list names one folder per drive",
        ),
        key(
            "config",
            ValueKind::Section(&BROKER_CONFIG),
            "broker settings under Kafka's own names, or the brokers' own file",
        ),
        key(
            "listeners",
            ValueKind::Section(&LISTENERS),
            "how clients connect to the brokers, and brokers to each other",
        ),
        or(
            "metrics",
            ValueKind::Either(&[ValueKind::Choice(BROKER_METRICS), ValueKind::Section(&MBEANS)]),
            "jmx",
            "how the metrics that brokers keep of themselves are read: `jmx`, every 10 s from the Prometheus JMX agent in each of \
             them, or `none`: they run without it; a map names more of them",
        ),
        key("quotas", ValueKind::Section(&QUOTAS), "what each broker lets clients do at most"),
        key(
            "zones",
            ValueKind::Section(&ZONES),
            "in which zones brokers and clients are, and what lies between two of them",
        ),
        key("strimzi", ValueKind::Section(&STRIMZI), "the brokers run in Kubernetes, made by Strimzi"),
        or(
            "proxy",
            ValueKind::Either(&[ValueKind::Choice(PROXIES), ValueKind::Section(&COMPONENT)]),
            "none",
            "a proxy between clients and brokers that understands Kafka: `kroxylicious`, fetched by Maven once; or a component with a \
             `command`, which is to listen on 127.0.0.1 and the port that `KDYNO_PORT` names, and may use as many ports after it as \
             there are brokers; it is started before all components, and clients, commands and components are sent to it",
        ),
    ],
    later: &[],
    open: false,
};

/// The words of `proxy`.
pub const PROXIES: &[&str] = &["none", "kroxylicious"];

/// The value of `system.kafka` that names no Kafka: a broker of kdyno's own that does nothing.
pub const NULL_BROKER: &str = "null-broker";

/// Kafka from a folder, or none.
pub static KAFKA: Section = section(
    "kafka",
    "One of the three.",
    &[
        key("home", TEXT, "folder of an unpacked distribution (has `libs/`)"),
        key("source", TEXT, "folder of a built Kafka checkout"),
        key(
            "null_broker",
            SIZE,
            "no Kafka, as `kafka: null-broker`, but a broker from which items can consume: its logs have no end, and all of their \
             values are of this size",
        ),
    ],
);

/// Where metadata is kept.
pub static MODE: Section = section(
    "mode",
    "One of the three.",
    &[
        key(
            "kraft",
            ValueKind::Choice(&["combined"]),
            "each broker is a controller too (the first three vote)",
        ),
        key("controllers", COUNT, "number of controllers of their own"),
        key("zookeeper", COUNT, "number of ZooKeeper nodes, 1 or 3; Kafka before 4.0"),
    ],
);

/// What each broker may use.
pub static LIMITS: Section = Section {
    name: "limits",
    purpose: "What each broker may use.",
    keys: &[
        or("heap", SIZE, "1GiB", "heap of each broker, fixed (`-Xms` = `-Xmx`)"),
        key(
            "cpus",
            ValueKind::Scalar("a number of CPUs", "NUMBER"),
            "CPUs' worth of time that each broker may use, e.g. `1.5`, by a control group of its own (cgroups); a preflight \
             says where this host does not allow that",
        ),
        key(
            "pin",
            ValueKind::List(&ValueKind::List(&COUNT)),
            "CPUs each broker is pinned to, e.g. `[[0], [1]]`; a shorter list repeats",
        ),
    ],
    later: &[],
    open: false,
};

/// The phases.
pub static PHASES: Section = section(
    "phases",
    "A record belongs to the phase of its scheduled send time.",
    &[
        or(
            "warmup",
            ValueKind::Scalar("`auto`, `LEAST..MOST` or a duration", "auto|DURATION|SPAN"),
            "5s",
            "load that is not reported. `10s..60s` ends by evidence between these bounds, when rate, latency and the \
             brokers' CPU time have settled; `auto` is `5s..60s`",
        ),
        or(
            "condition",
            ValueKind::Scalar("`auto`, `none`, `LEAST..MOST` or a duration", "auto|none|DURATION|SPAN"),
            "auto",
            "load for a local cluster that was just started, before its first trial; it is in no table. `auto` is \
             `20s..60s`; a target gets none",
        ),
        needed(
            "measure",
            ValueKind::Either(&[DURATION, ValueKind::Section(&MEASURE)]),
            "the measured window: a duration, or `{records: 20M}`, or `{records: 20M each}`, or `{until: ITEM}`, the end of a \
             command",
        ),
        or(
            "drain",
            ValueKind::Either(&[ValueKind::Choice(&["auto"]), DURATION]),
            "auto",
            "longest wait for what is in flight; `auto` is the largest `delivery.timeout.ms`",
        ),
    ],
);

/// A window by records.
pub static MEASURE: Section = section(
    "measure",
    "A window that ends after a number of records, or when a command ends: one of the two.",
    &[
        key(
            "records",
            ValueKind::Scalar("count or `COUNT each`", "COUNT( each)?"),
            "records of each produce item, or of each of its clients",
        ),
        key("until", TEXT, "a load item that is a command: the window ends when it does"),
        or("within", DURATION, "1h", "upper bound of the window"),
    ],
);

/// The table.
pub static SHOW: Section = section(
    "show",
    "The table: one row per case.",
    &[
        key(
            "rows",
            ValueKind::List(&TEXT),
            "params that head each row; left out: those that differ between cases",
        ),
        key("columns", ValueKind::List(&TEXT), "metric addresses, e.g. `writers.acked_per_s`"),
    ],
);

/// Published figures.
pub static PUBLISHED: Section = section(
    "published",
    "Figures somebody published. They are facts to compare shapes with; a row that no case runs prints \
     \"not tested\".",
    &[
        needed("source", ValueKind::Section(&SOURCE), "where they were published"),
        or("definition", TEXT, "", "how the source defines its figure, where that differs from ours"),
        needed(
            "rows",
            ValueKind::List(&ValueKind::Settings("params and metric addresses")),
            "params that select a case, and metric addresses with the published number in the metric's unit \
             (`null`: not given); a param of `show.rows` left out has its value under `params`",
        ),
    ],
);

/// The place of published figures.
pub static SOURCE: Section = section(
    "source",
    "Where the figures were published.",
    &[
        needed("title", TEXT, "title"),
        needed("date", TEXT, "date, as written there"),
        needed("hardware", TEXT, "what it was measured on"),
    ],
);
