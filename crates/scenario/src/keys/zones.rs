//! Keys of a system's zones.

use super::{Section, TEXT, ValueKind, key, needed, or, section};
use kdyno_model::plan::JitterLaw;

const DURATION: ValueKind = ValueKind::Scalar("duration, e.g. `0.5ms`", "DURATION");

/// Zones.
pub static ZONES: Section = section(
    "zones",
    "Which broker is in which zone, and the link between any two zones: a relay of kdyno's own, by which clients of \
     another zone (`zone` of a load item that sends or reads records) reach the brokers. Components, commands, users and jobs \
     are in no zone.",
    &[
        needed(
            "brokers",
            ValueKind::List(&TEXT),
            "zone of each broker, and its rack; a shorter list repeats: `[a]` has all of them in one",
        ),
        key("clients", ValueKind::List(&TEXT), "further zones, which have clients alone"),
        or("delay", DURATION, "0ms", "one-way delay between two zones; a round trip takes twice as long"),
        or("jitter", DURATION, "0ms", "by how much it varies, at most the delay; bytes stay in order"),
        or(
            "jitter_law",
            ValueKind::Choice(JitterLaw::NAMES),
            "uniform",
            "how it varies: evenly within delay ± jitter, or normally with the jitter as standard deviation, cut off at \
             three of them and at no delay",
        ),
        or(
            "bandwidth",
            ValueKind::Scalar("size per second, e.g. `100MiB/s`, or `none`", "SIZE/s|none"),
            "none",
            "bandwidth between two zones in each direction, all connections together",
        ),
        or(
            "between_brokers",
            ValueKind::Choice(&["no", "yes"]),
            "no",
            "whether brokers reach each other that way too, each then in a zone of its own; controllers never do",
        ),
    ],
);
