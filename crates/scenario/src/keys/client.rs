//! The keys of a load item's `client` other than Kafka's settings: which client runs the item.

use super::{Section, TEXT, ValueKind, key, or, section};

/// The words of `driver`.
pub const DRIVERS: &[&str] = &["native", "java"];

/// The client of a load item.
pub static ITEM_CLIENT: Section = Section {
    name: "client of a load item",
    purpose: "Which client runs the item, and its settings: every other name is one of Kafka's (see [client \
              settings](#client-settings)). `driver: java` takes Kafka's own Java client, with the defaults of its release, \
              in a Java process of its own. It carries no `payload: pooled`, no `fill: in-flight`, no `work` \
              and no `read` but `decode`; a probe (`end_to_end`) has no `client`.",
    keys: &[
        or("driver", ValueKind::Choice(DRIVERS), "native", "kdyno's own client, or Kafka's Java client"),
        key(
            "version",
            ValueKind::Either(&[
                ValueKind::Scalar("release or `newest`", ""),
                ValueKind::Section(&JAVA_CLIENT),
            ]),
            "with `driver: java`: which Java client, a release such as `4.1.1`, or `{home: DIR}`, `{source: DIR}`, `{jar: \
             FILE}`; left out: the newest known",
        ),
        key(
            "jvm",
            ValueKind::List(&TEXT),
            "with `driver: java`: options of its Java process, verbatim, e.g. `[-Xmx1g]`",
        ),
    ],
    later: &[],
    open: true,
};

/// A Java client from a file or folder.
pub static JAVA_CLIENT: Section = section(
    "version",
    "One of the three. A relative path counts from the scenario file; typed by hand, from the folder where kdyno is started.",
    &[
        key("home", TEXT, "folder of an unpacked distribution: the jars of its `libs`"),
        key("source", TEXT, "folder of a checkout in which the clients' jar has been built"),
        key(
            "jar",
            TEXT,
            "a jar of kafka-clients, a release's or a fork's; what else it needs comes as for the newest release",
        ),
    ],
);
