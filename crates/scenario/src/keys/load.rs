//! The keys of load items.

use super::client::ITEM_CLIENT;
use super::http_load::HTTP_STEP;
use super::records::{KEY, VALUE};
use super::{COUNT, DURATION, Key, RATE, SIZE, Section, TEXT, ValueKind, key, needed, or, section};

/// A topic, or a list whose topics each client has.
const TOPICS: ValueKind = ValueKind::Either(&[TEXT, ValueKind::List(&TEXT)]);

/// A load item: the roles.
pub static LOAD: Section = Section {
    name: "load item",
    purpose: "Clients that do the same: it produces, consumes, or probes; or a command of somebody else's; or users or a job of an \
              application.",
    keys: &[
        key("produce", TOPICS, "produce to this topic, or these"),
        key("consume", TOPICS, "consume this topic, or these"),
        key("end_to_end", TEXT, "probe with this topic"),
        key("command", ValueKind::Either(&[TEXT, ValueKind::List(&TEXT)]), "run this program"),
        key("users", COUNT, "so many people use an application over HTTP"),
        key("job", ValueKind::Section(&HTTP_STEP), "start this over HTTP and wait until it is done"),
    ],
    later: LATER_ROLES,
    open: false,
};

const LATER_ROLES: &[(&str, &str)] =
    &[("through", "the roles are `produce`, `consume`, `end_to_end`, `command`, `users` and `job`")];

/// When an item that produces or consumes comes.
const AT: Key = key(
    "at",
    DURATION,
    "when the item's clients connect and its load begins, from the beginning of the measure phase; left out: they are \
     connected before the load begins",
);
const AFTER: Key = key("after", TEXT, "the same, as the item whose `until` it is");
/// Where its clients are.
const ZONE: ValueKind = ValueKind::Scalar("`same`, or a zone of the system's `zones`", "");
const IN_ZONE: &str = "where the clients are: in a zone of the system, or `same`: near every broker";
/// When it goes.
const UNTIL: Key = key(
    "until",
    DURATION,
    "when the item's load ends and its clients go, from the beginning of the measure phase; `0s`: it loads the warm-up \
     alone; left out: with that phase",
);

/// A backlog.
pub static BACKLOG: Section = section(
    "backlog",
    "The instant, by the rates of all items that write to the topic, at which they have sent so many bytes of values since the \
     load began.",
    &[needed(
        "backlog",
        SIZE,
        "the bytes, those of the warm-up included: what readers `from: earliest` find",
    )],
);

/// A load item that produces.
pub static PRODUCE: Section = Section {
    name: "produce item",
    purpose: "Clients that send records.",
    keys: &[
        needed(
            "produce",
            TOPICS,
            "the topic, by its name under `topics`. A list: each client sends to all of its topics, to one record after the other",
        ),
        or(
            "clients",
            COUNT,
            "1",
            "number of clients, each with connections, a buffer and batches of its own: as many as the application has \
             producers, since at one rate more clients fill smaller batches. Of a topic with a `count`: so many for each; with a \
             list in all",
        ),
        needed(
            "rate",
            ValueKind::Either(&[
                ValueKind::Scalar("rate, `RATE each` or `max`", "RATE( each)?|max"),
                ValueKind::Section(&RATE_COURSE),
            ]),
            "records per second of the whole item: `20k/s`, or `5k/s each` per client, or `max` (as fast as \
             the client's buffer takes them). All cases have the same items: one that is off in some gets `1/s` there, since \
             a rate is above zero",
        ),
        or(
            "fill",
            ValueKind::Choice(&["buffer", "in-flight"]),
            "buffer",
            "with `rate: max`: fill `buffer.memory` as the Java client does, or only what can be sent at once",
        ),
        or(
            "arrivals",
            ValueKind::Choice(&["poisson", "constant"]),
            "poisson",
            "with a rate: exponential or equal gaps between the scheduled send times",
        ),
        needed(
            "value",
            ValueKind::Either(&[SIZE, ValueKind::Section(&VALUE)]),
            "size of each record's value, or how sizes are distributed, how well values compress, or the values themselves",
        ),
        or(
            "key",
            ValueKind::Either(&[ValueKind::Choice(&["none"]), ValueKind::Section(&KEY)]),
            "none",
            "keys of the records; a key says which partition its records go to, as Java's partitioner has it",
        ),
        key(
            "tombstones",
            ValueKind::Scalar("share in percent", "NUMBER%"),
            "share of records whose value is null, e.g. `1%`: each deletes its key in a compacted topic",
        ),
        key(
            "headers",
            ValueKind::Settings("sizes"),
            "headers of each record by name, with the size of their values: capital letters, drawn once, so that every record \
             has the same",
        ),
        key(
            "partition",
            COUNT,
            "the partition of all records, from 0; keys and partitioner then have no say",
        ),
        or(
            "payload",
            ValueKind::Either(&[ValueKind::Choice(&["unique", "pooled"]), ValueKind::Section(&PAYLOAD)]),
            "unique",
            "each record built, or blocks encoded once and sent again and again, of values of one size without keys and \
             headers. Unless `value` says otherwise, values are random capital letters, in which lz4 and snappy find next to \
             nothing: what compression does to real values is not measured then",
        ),
        or(
            "sending",
            ValueKind::Choice(&["async", "sync"]),
            "async",
            "`sync`: a client sends its next record when the one before is answered, as `send().get()` does",
        ),
        or(
            "transactions",
            ValueKind::Either(&[ValueKind::Choice(&["none"]), ValueKind::Section(&TRANSACTIONS)]),
            "none",
            "each client sends its records in transactions, one after the other",
        ),
        AT,
        AFTER,
        key(
            "until",
            ValueKind::Either(&[DURATION, ValueKind::Section(&BACKLOG)]),
            "when the item's load ends and its clients go, from the beginning of the measure phase; `0s`: it loads the warm-up \
             alone; or once so much is written: `{backlog: 1GiB}`; left out: with that phase",
        ),
        or("zone", ZONE, "same", IN_ZONE),
        key(
            "client",
            ValueKind::Section(&ITEM_CLIENT),
            "which client runs the item, and producer settings under the Java client's names",
        ),
    ],
    later: &[],
    open: false,
};

/// A load item that consumes.
pub static CONSUME: Section = Section {
    name: "consume item",
    purpose: "Clients that fetch records. Without `group`, partition p goes to client p mod clients.",
    keys: &[
        needed(
            "consume",
            TOPICS,
            "the topic, by its name under `topics`. A list: the clients share out the partitions of all of its topics",
        ),
        or(
            "clients",
            COUNT,
            "1",
            "number of clients, each with connections of its own. Of a topic with a `count`: so many for each; with a list in all",
        ),
        key(
            "group",
            TEXT,
            "a consumer group: its members, the clients of all items that name it, share out the partitions. Its id has the \
             run and the trial in it, so that no trial begins where another one ended; how it works is said in `client`. Of a \
             topic with a `count` each has a group of its own, and a list has one",
        ),
        or(
            "from",
            ValueKind::Choice(&["latest", "earliest"]),
            "latest",
            "where to begin; of a group: where it has committed nothing (Kafka's `auto.offset.reset`)",
        ),
        or(
            "read",
            ValueKind::Choice(&["decode", "crc", "header"]),
            "decode",
            "how far what was fetched is read: as an application does, which decompresses it and finds key, value and headers \
             of each record; or the headers of batches and their checksums; or the headers alone. Records are counted alike",
        ),
        key(
            "at",
            ValueKind::Either(&[DURATION, ValueKind::Section(&BACKLOG)]),
            "when the item's clients connect and begin, from the beginning of the measure phase; or once so much waits for them: \
             `{backlog: 1GiB}`; left out: they are connected before the load begins",
        ),
        AFTER,
        UNTIL,
        or(
            "work",
            ValueKind::Either(&[DURATION, ValueKind::Section(&WORK)]),
            "0ms",
            "how long the application works on each record before it takes the next one, in time that passes: at most \
             `max.poll.records` with each poll, and no fetch is sent while it works",
        ),
        or("zone", ZONE, "same", IN_ZONE),
        key(
            "client",
            ValueKind::Section(&ITEM_CLIENT),
            "which client runs the item, and consumer settings under the Java client's names",
        ),
    ],
    later: &[("rate", "consumers fetch as fast as they can")],
    open: false,
};

/// How long an application works on a record.
pub static WORK: Section = section(
    "work",
    "One of the two. A plain duration, `work: 2ms`, is the same for each record.",
    &[
        key("exponential", DURATION, "exponentially distributed, with this mean"),
        key("zipf", ValueKind::Section(&ZIPF_WORK), "most records take little time, a few take long"),
    ],
);

/// Work by Zipf's law.
pub static ZIPF_WORK: Section = section(
    "work by Zipf's law",
    "k times the least time, for k = 1, 2, …, with a probability proportional to k to the power of minus `s`.",
    &[
        needed("least", DURATION, "least time"),
        needed("most", DURATION, "no record takes longer than this"),
        or(
            "s",
            ValueKind::Scalar("number", "NUMBER"),
            "2",
            "exponent: the higher it is, the rarer are long ones",
        ),
    ],
);

/// Its consumer begins at the log's end and stops where it is: of a probe that came or went, records under way would be missing.
const A_PROBE_STAYS: &str = "a probe is there from the beginning of the load to its end";

/// A load item that probes.
pub static END_TO_END: Section = Section {
    name: "end_to_end item",
    purpose: "A light probe next to a load: one producer (`acks: all`, `linger.ms: 0`) sends to every partition of a topic in \
              turn, and one consumer fetches that.",
    keys: &[
        needed(
            "end_to_end",
            TEXT,
            "the topic, by its name under `topics`: one of the probe's own, to which nothing else of the load is sent; with \
             as many partitions as brokers, each of them leads one",
        ),
        or("rate", RATE, "200/s", "records per second, at instants by chance (Poisson)"),
        or("value", SIZE, "100B", "size of each record's value"),
        or("zone", ZONE, "same", IN_ZONE),
    ],
    later: &[
        ("client", "a probe has clients of kdyno's own, with settings of its own"),
        ("at", A_PROBE_STAYS),
        ("after", A_PROBE_STAYS),
        ("until", A_PROBE_STAYS),
    ],
    open: false,
};

/// A rate that changes.
pub static RATE_COURSE: Section = section(
    "rate",
    "One of the two.",
    &[
        key("ramp", ValueKind::Section(&RAMP), "linear from one rate to another, then on at the latter"),
        key(
            "steps",
            ValueKind::List(&ValueKind::Section(&STEP)),
            "one rate after the other; the last goes on",
        ),
    ],
);

/// A ramp.
pub static RAMP: Section = section(
    "ramp",
    "A linear change, counted from the beginning of the measure phase, or from the item's `at`; before it the rate at the \
     start holds.",
    &[
        needed("from", RATE, "rate at the start; may be `0/s`"),
        needed("to", RATE, "rate at the end"),
        needed("over", DURATION, "how long the change takes"),
    ],
);

/// A step.
pub static STEP: Section = section(
    "step",
    "A stretch of constant rate, counted from the beginning of the measure phase, or from the item's `at`; before it the \
     first rate holds.",
    &[needed("rate", RATE, "rate of the stretch"), needed("for", DURATION, "its length")],
);

/// A payload with its options.
pub static PAYLOAD: Section = section(
    "payload",
    "Blocks encoded once.",
    &[needed("pooled", SIZE, "least size of the pool over all partitions; `pooled` alone means `8MiB`")],
);

/// Transactions.
pub static TRANSACTIONS: Section = section(
    "transactions",
    "When a client's transactions end, and how. While one is being ended, its client takes no record.",
    &[
        key(
            "every",
            DURATION,
            "from a transaction's first record until it is committed or aborted; with `records` alone half of \
             `transaction.timeout.ms`",
        ),
        key("records", COUNT, "it ends with so many records, if `every` is not over before"),
        or(
            "abort",
            ValueKind::Scalar("share in percent", "NUMBER%"),
            "0%",
            "probability with which one is aborted",
        ),
    ],
);
