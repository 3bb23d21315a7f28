//! The keys of what records are made of.

use super::{COUNT, Key, SIZE, Section, TEXT, ValueKind, key, needed, or, section};

/// Values of records.
pub static VALUE: Section = section(
    "value",
    "Exactly one of `size`, `uniform`, `lognormal`, `file`, `sample` and `avro`; with the first three also `compressible`.",
    &[
        key("size", SIZE, "all values have this size"),
        key("uniform", ValueKind::Section(&UNIFORM), "each size in a range with the same probability"),
        key(
            "lognormal",
            ValueKind::Section(&LOGNORMAL),
            "most values small, a few large, as in many real topics",
        ),
        key(
            "file",
            ValueKind::Either(&[TEXT, ValueKind::Section(&GIVEN)]),
            "values from a file next to the scenario, each drawn with the same probability",
        ),
        key(
            "sample",
            ValueKind::Section(&SAMPLE),
            "values of a topic of the target, each drawn with the same probability",
        ),
        key(
            "avro",
            ValueKind::Section(&AVRO),
            "values made from an Avro schema, framed as Confluent's serializer does, each drawn with the same probability",
        ),
        key(
            "compressible",
            ValueKind::Scalar("ratio", "NUMBER"),
            "how well values compress with the item's `compression.type`: bytes of records ÷ compressed bytes, e.g. \
             `3.5`; `1`: random bytes. Without it values are random capital letters",
        ),
    ],
);

/// A uniform size.
pub static UNIFORM: Section = section(
    "uniform",
    "Each size with the same probability.",
    &[needed("from", SIZE, "smallest size"), needed("to", SIZE, "largest size")],
);

/// A lognormal size.
pub static LOGNORMAL: Section = section(
    "lognormal",
    "A size whose logarithm is normal.",
    &[
        needed("median", SIZE, "half of the values are smaller"),
        needed("p99", SIZE, "99 of 100 values are smaller"),
        key("max", SIZE, "larger values are cut off to this size; ten times `p99` where it is left out"),
    ],
);

/// Values of a topic.
pub static SAMPLE: Section = section(
    "sample",
    "Values of a topic of an existing cluster, read before the run from places all over its log. No run file holds them.",
    &[
        needed(
            "topic",
            TEXT,
            "the topic, by its name under `topics`; the target says which existing one it is",
        ),
        needed(
            "mean",
            SIZE,
            "about how large its values are in the mean: caps and the bytes that a run will write are computed with it",
        ),
        or("at_most", SIZE, "16MiB", "how much of it is read, at most 32 MiB"),
    ],
);

/// Values by an Avro schema.
pub static AVRO: Section = section(
    "avro",
    "Values that are random within an Avro schema, in its binary encoding, behind a byte 0 and the schema's id in its \
     registry in 4 bytes. Up to 65,536 are made before the run, or as many as 16 MiB hold, the same in every run. What the \
     schema does not say may be in it under `arg.properties` of a type. Of what Confluent's generator of random Avro takes \
     there, these are taken: `length` of strings, bytes, arrays and maps, a number or `{min: 2, max: 6}` (8 to 15 without \
     it, exactly `min` where that is more and is alone); `range` of numbers, `{min: 1, max: 100}` (without it all of the \
     type, reals from 0 to 1, dates and timestamps of 2025); `options` of numbers, strings, booleans and enums, a list; \
     `odds` of booleans. `max` itself is not reached. Anything else there is an error, `regex` and `iteration` among it; \
     decimals, unions and keys of maps take nothing.",
    &[
        needed("schema", TEXT, "the schema file next to the scenario, in JSON (`.avsc`), at most 1 MiB"),
        needed("id", COUNT, "the schema's id in its registry, which consumers look it up by"),
    ],
);

/// Keys of records.
pub static KEY: Section = section(
    "key",
    "One of the four.",
    &[
        key(
            "sequential",
            ValueKind::Section(&NUMBERED),
            "one key after the other, over all clients, and from the start again",
        ),
        key("uniform", ValueKind::Section(&NUMBERED), "each key with the same probability"),
        key("zipf", ValueKind::Section(&ZIPF), "few keys often, many seldom"),
        key(
            "file",
            ValueKind::Either(&[TEXT, ValueKind::Section(&GIVEN)]),
            "keys from a file next to the scenario, each drawn with the same probability",
        ),
    ],
);

const NUMBER_SIZE: Key = key(
    "size",
    SIZE,
    "size of each key, with zeros in front; the digits of the largest one where it is left out",
);

/// Keys that are numbers.
pub static NUMBERED: Section = section(
    "numbered key",
    "Keys that are decimal numbers from 0 on, all of one size.",
    &[needed("of", COUNT, "how many keys there are"), NUMBER_SIZE],
);

/// Keys by Zipf's law.
pub static ZIPF: Section = section(
    "zipf",
    "Keys that are decimal numbers; key k, from 0, comes in proportion to (k + 1) to the power of −s.",
    &[
        needed("of", COUNT, "how many keys there are"),
        or(
            "s",
            ValueKind::Scalar("number", "NUMBER"),
            "1",
            "exponent, above 0: the larger it is, the more often the first keys come",
        ),
        NUMBER_SIZE,
    ],
);

/// A file of keys or values.
pub static GIVEN: Section = section(
    "file",
    "A file that is cut into pieces, as Kafka's own tool does with its payload file.",
    &[
        needed("name", TEXT, "the file, at most 32 MiB"),
        or(
            "delimiter",
            TEXT,
            "\\n",
            "the text between two pieces; `\\n`, `\\r` and `\\t` have their usual meaning",
        ),
    ],
);
