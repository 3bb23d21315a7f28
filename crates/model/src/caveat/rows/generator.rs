//! Whether the load generator, or a relay, is what was measured.

use crate::caveat::row::{CaveatGroup, CaveatRow, capacity, latency, note, reported, warning};
use crate::caveat::{Caveat, CaveatKind, ClocksDiffer, FullGc, Severity, StoodStill};

const GENERATOR: CaveatRow = CaveatRow { group: CaveatGroup::Generator, ..CaveatRow::PLAIN };

const OF_ITEM: CaveatRow = CaveatRow { name: "item", ..GENERATOR };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::ThreadBusy,
        short: "the load generator's thread {thread} used {cpu_percent:cores}",
        name: "thread",
        usual: warning(
            "a thread of a worker used more than 75 % of a core; each load item has one of its own name. The same of the process that \
             sends users of an item, whose thread is one, from its start to its end",
        ),
        brief: "the load generator was busy",
        words: &[reported(
            "{thread}",
            "the load generator's thread {thread} used {cpu_percent:cores}: it may be the limit, not the cluster",
            LESS_WORK,
        )],
        ..GENERATOR
    },
    CaveatRow {
        kind: CaveatKind::WorkerBusy,
        short: "the load generator used {cpu_percent:cores}: it may be the limit",
        usual: warning(
            "no thread is busy alone, but the workers used more than 75 % of min(event loop threads, CPUs)",
        ),
        words: &[reported(
            "",
            "the load generator used {cpu_percent:cores}, and it could use {cores} cores at most: it may be the limit, not the cluster",
            LESS_WORK,
        )],
        ..GENERATOR
    },
    CaveatRow {
        kind: CaveatKind::GeneratorLate,
        short: "{item}: up to {late_ns:ns_most} of the {quantile:statistic} response time is the load generator's own delay",
        usual: latency(
            Severity::Warning,
            "at a quantile the generator makes up more than 10 % of the response, and more than a sleep explains; or half and more, \
             whatever a sleep explains; the same of the mean",
        ),
        grave: Some(latency(
            Severity::Invalid,
            "it makes up half of the response or more, and more than a sleep explains: from that quantile on; the same of the mean and \
             *response ÷ service*",
        )),
        brief: LATE,
        words: &[
            reported(
                "{item} mean",
                "{item}: {late_ns:ns} of the mean response time of {response_ns:ns} is the load generator's own delay: the mean is an \
                 upper bound for the cluster",
                LESS_LATE,
            )
            .only(|of| matches!(of, Caveat::GeneratorLate { quantile, .. } if quantile == "mean")),
            // From which quantile on it is differs from trial to trial.
            reported(
                "{item}",
                "{item}: at {quantile:quantile}, {late_ns:ns} of the response time of {response_ns:ns} is the load generator's own delay: \
                 quantiles from there on are upper bounds for the cluster",
                LESS_LATE,
            ),
        ],
        more: "[Lateness of the generator](../METHOD.md#lateness-of-the-generator) says how it is computed, and what a sleep \
                explains.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::LateEndToEnd,
        short: "{item}: up to {late_ns:ns_most} of the {quantile:statistic} end-to-end latency is the load generator's own delay",
        usual: latency(
            Severity::Warning,
            "of an item that consumes what open loops of kdyno's own clients alone send, and all of them for the whole load: at a \
             quantile the schedule delay of those that send to its topic, the least of them, is a tenth of its end-to-end latency or \
             more. No record is consumed sooner after its scheduled send time than it was sent late. A probe's end-to-end latencies are \
             marked with its response",
        ),
        grave: Some(latency(Severity::Invalid, "the same, half of it or more")),
        brief: LATE,
        words: &[reported(
            "{item} end to end",
            "{item}: at {quantile:quantile}, {late_ns:ns} of the end-to-end latency of {end_to_end_ns:ns} is the load generator's own delay \
             in sending: quantiles from there on are upper bounds for the cluster",
            LESS_LATE,
        )],
        more: "[Lateness of the generator](../METHOD.md#lateness-of-the-generator) says how it is computed.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::ClocksDiffer,
        short: "{item}: its records are sent by one clock and consumed by another",
        usual: note("records may be sent and consumed by workers of two hosts whose monotonic clocks are not one"),
        words: &[
            reported(
                "{item}",
                "{item}: end-to-end latencies may be wrong by up to {error_ns:ns}, since records are sent by one clock and consumed by \
                 another",
                ON_ONE_HOST,
            )
            .only(|of| matches!(of, Caveat::ClocksDiffer(ClocksDiffer { error_ns: Some(_), .. }))),
            reported(
                "{item}",
                "{item}: end-to-end latencies are not reported, since records are sent by one clock and consumed by another (found within \
                 {bound_ns:ns} of each other before the load began; they drifted apart by {drift_ns_per_s:ns} per second)",
                ON_ONE_HOST,
            )
            .only(|of| matches!(of, Caveat::ClocksDiffer(ClocksDiffer { drift_ns_per_s: Some(_), .. }))),
            reported(
                "{item}",
                "{item}: end-to-end latencies are not reported, since records are sent by one clock and consumed by another (found within \
                 {bound_ns:ns} of each other before the load began, without their drift)",
                ON_ONE_HOST,
            ),
        ],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::StoodStill,
        short: "{item}: the load generator paused for up to {late_ns:ns_most}",
        usual: latency(
            Severity::Warning,
            "a worker released records more than 50 ms late, and a quantile of service, request or *without generator* is more than 10 % \
             lower without the stretches in which what it then sent was in flight: from that quantile on, which \
             carry a mark",
        ),
        brief: "the load generator paused",
        words: &[
            reported(
                "{item}",
                "{item}: the load generator paused for up to {late_ns:ns} and then sent at once what had come due: from \
                 {quantile:quantile} on service, request and without generator hold that ({timing:words} is {with_ns:ns} there, and \
                 {without_ns:ns} without the seconds in which that was in flight)",
                LESS_LATE,
            )
            .only(|of| matches!(of, Caveat::StoodStill(StoodStill { without_ns: Some(_), .. }))),
            reported(
                "{item}",
                "{item}: the load generator paused for up to {late_ns:ns} and then sent at once what had come due: from \
                 {quantile:quantile} on service, request and without generator hold that ({timing:words} is {with_ns:ns} there, and that \
                 was in flight in the whole window)",
                LESS_LATE,
            ),
        ],
        more: "*Released backlogs* in [Lateness of the generator](../METHOD.md#lateness-of-the-generator) says which seconds \
                are left out.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::CalibrationShort,
        short: "{item}: the load generator reaches only {ratio:ratio} × this rate and may be the limit",
        usual: capacity(
            Severity::Invalid,
            Severity::Warning,
            "the item's highest rate against the null broker on this host is less than 2 × its rate, or on another host that carries load \
             less than 2 × that host's part of it; not reported where it was not measured: the item's rates, and the cost per GB, which \
             rests on them",
        ),
        brief: "the load generator may have been the limit",
        words: &[
            reported(
                "{item}",
                "{item}: against the null broker, which keeps nothing, generator {generator} reaches only {ratio:ratio} × its part of this \
                 rate: it may be the limit, not the cluster",
                "name more generators, or give this one fewer clients by `share`",
            )
            .only(|of| matches!(of, Caveat::CalibrationShort { generator: Some(_), .. })),
            reported(
                "{item}",
                "{item}: against the null broker, which keeps nothing, the load generator reaches only {ratio:ratio} × this rate: it may be \
                 the limit, not the cluster",
                LESS_WORK,
            ),
        ],
        more: "[What the generator can do](load-items.md#what-the-generator-can-do) says how the highest rate is measured.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::FullGc,
        short: "{item}: {collections:full GC|full GCs} of its Java client",
        usual: warning(
            "a Java client's process made a full garbage collection in the window: how many, and the time of all collections",
        ),
        words: &[
            reported(
                "{item}",
                "{item}: full garbage collections of its Java client in the window: {collections:count}; all collections took \
                 {all_ns:ns}; each is a stop-the-world pause, and latencies include that ({first:first})",
                MORE_HEAP,
            )
            .only(|of| matches!(of, Caveat::FullGc(FullGc { all_ns: Some(_), .. }))),
            reported(
                "{item}",
                "{item}: full garbage collections of its Java client in the window: {collections:count}; each is a stop-the-world pause, and \
                 latencies include that ({first:first})",
                MORE_HEAP,
            ),
        ],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::RelayLate,
        short: "{subject:subject} was {late_s:seconds} late at p99",
        usual: latency(
            Severity::Warning,
            "a relay passed bytes on later at p99 than its link has it, by more than a tenth of the declared delay and more than 3 × the \
             p99 of what a bare sleep showed on this host just before, in its quiet rounds",
        ),
        words: &[reported(
            "{subject}",
            "{subject:subject} passed bytes on {late_s:seconds} later at p99 than its link is declared to, which has a delay of \
             {delay_s:seconds}: latencies of clients in another zone include that",
            "use fewer brokers, a lower rate or more CPUs, so that the relay gets one when it needs it",
        )],
        ..GENERATOR
    },
    CaveatRow {
        kind: CaveatKind::RelayBusy,
        short: "{subject:subject} used {cpu_percent:cores}: it may be the limit",
        usual: warning("a relay used more than 75 % of a core: its one thread may be what limits the link"),
        words: &[reported(
            "{subject}",
            "{subject:subject} used {cpu_percent:cores} in its one thread: it may be what limits the rate between its zones",
            "offer less by way of it, or declare a `bandwidth` that it sustains",
        )],
        ..GENERATOR
    },
];

const LESS_WORK: &str =
    "use fewer clients or larger batches, pooled payloads, or a machine of its own for the load";

const LESS_LATE: &str = "lower the rate, use fewer clients, or give the load a machine of its own";

const ON_ONE_HOST: &str = "measure them with producers and consumers on one host: `share` of the generators, or a run of its own on the lab's host";

const MORE_HEAP: &str = "give it more heap: `jvm: [-Xmx…]` of its `client`";

const LATE: &str = "the load generator was late";
