//! What was measured, and what was not, by the choice of load and system.

use crate::caveat::row::{CaveatGroup, CaveatRow, capacity, note, reported, warning};
use crate::caveat::{Caveat, CaveatKind, Severity};

const PLAN: CaveatRow = CaveatRow { group: CaveatGroup::Plan, ..CaveatRow::PLAIN };

const OF_ITEM: CaveatRow = CaveatRow { name: "item", ..PLAN };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::ClosedLoop,
        short: "{item}: at the maximum rate latency shows the client's buffer, not the cluster",
        usual: note("`rate: max`"),
        words: &[reported(
            "{item}",
            "{item}: at the maximum rate a latency is the time to fill and empty the client's own buffer, not the cluster's",
            "for latencies offer a fixed rate below the maximum",
        )],
        more: "[Open loop](../METHOD.md#open-loop-and-coordinated-omission) says what a latency is at a given rate.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::WrittenNotAppended,
        short: "{item}: acks=0, records count once they are written to the socket",
        usual: warning("`acks=0`: whether a broker appended the records is not known"),
        words: &[reported(
            "{item}",
            "{item}: with acks=0 records count when they are written to the socket; whether a broker appended them is not known",
            "use acks=1 or acks=all when that is part of the question",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::NullBroker,
        short: "null broker: the figures are of the client alone, without Kafka",
        usual: warning("the system of the case is a null broker: there was no Kafka"),
        words: &[reported(
            "",
            "null broker: the figures are of the client alone; there was no Kafka, and nothing was kept",
            "name a release (`system.kafka`) or a target when Kafka is the question",
        )],
        ..PLAN
    },
    CaveatRow {
        kind: CaveatKind::MemoryStorage,
        short: "the brokers' logs were in memory: no disk was measured",
        usual: warning("the brokers' logs lay in memory"),
        words: &[reported(
            "",
            "the brokers' logs lay in memory-backed storage, so no disk was measured",
            "put the logs on a disk (`storage: disk`) when the disk is part of the question",
        )],
        ..PLAN
    },
    CaveatRow {
        kind: CaveatKind::PageCacheAbsorbed,
        short: "the page cache took the writes: no disk was measured",
        usual: capacity(
            Severity::Warning,
            Severity::Note,
            "the drives of the host of a cluster of our own wrote less than half of the bytes of produce requests × replicas in the \
             window: no disk was measured",
        ),
        words: &[reported(
            "",
            "the brokers wrote only {share:percent} of the acknowledged bytes × replicas to their disks in the window: the page cache \
             took the rest, so no disk was measured",
            "measure for longer than the kernel holds back dirty pages when the disk is part of the question",
        )],
        more: "A process's own counter of bytes written counts when a page is made dirty, so the host's drives are asked. Linux \
                writes dirty pages back after about 30 s, so short trials on an idle host rarely measure a disk.",
        ..PLAN
    },
    CaveatRow {
        kind: CaveatKind::SmallBatches,
        short: "{item}: batches were filled to {share:percent} of batch.size",
        usual: warning(
            "the cases differ in the size of batches, and those of this one are filled to less than half of `batch.size`: \
             `linger.ms` or the rate sealed them",
        ),
        words: &[reported(
            "{item}",
            "{item}: batches were sealed by `linger.ms` at {share:percent} of `batch.size`: what `batch.size` does was not measured",
            "offer more, use fewer partitions per client, or raise `linger.ms`",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::RandomValues,
        short: "{item}: random values do not compress like real ones ({compression})",
        usual: warning(
            "unique payloads with compression and neither `compressible` nor given (by a file, by a topic): random capitals, in which \
             lz4 and snappy find nothing, or values that are random within an Avro schema; reported with the plan too",
        ),
        words: &[
            reported(
                "{item} by schema, {compression}",
                "{item}: values are random within their schema: the sizes and the CPU time that {compression} makes of them are \
                 not those of real values",
                RANDOM_REMEDY,
            )
            .only(|of| matches!(of, Caveat::RandomValues { by_schema: true, .. })),
            reported(
                "{item}, {compression}",
                "{item}: values are random capital letters: the sizes and the CPU time that {compression} makes of them are not \
                 those of real values",
                RANDOM_REMEDY,
            ),
        ],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::CompressionMissed,
        short: "{item}: compression ratio {reached:ratio} where {stated:ratio} was stated",
        usual: warning(
            "values that were to compress to a stated ratio reached another one, by more than 5 %: batches too small, or trailers too \
             large a part of them; too high where keys and headers repeat",
        ),
        words: &[
            reported(
                "{item}, less",
                COMPRESSION_MISSED,
                "larger values or batches compress better; keys, headers and trailers limit the ratio too",
            )
            .only(|of| matches!(of, Caveat::CompressionMissed { stated, reached, .. } if reached < stated)),
            reported(
                "{item}, more",
                COMPRESSION_MISSED,
                "keys and headers that repeat compress too, and batches larger than those tried beforehand compress better: state a \
                 higher ratio",
            ),
        ],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::PooledCompression,
        short: "{item}: pooled payloads do not compress like real ones",
        usual: warning("pooled payloads with compression"),
        words: &[reported(
            "{item}",
            "{item}: pooled payloads compress differently from real ones: sizes are not those of real values",
            "use unique payloads when the compression ratio matters",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::ProbeMissesLeaders,
        short: "{item}: the probe reached {partitions:count} of {brokers:count} brokers",
        usual: warning("the topic of a probe has fewer partitions than a local cluster has brokers"),
        words: &[reported(
            "{item}",
            "{item}: the probe sent to {partitions:count} of {brokers:count} brokers",
            "give its topic as many partitions as there are brokers",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::AssignedNotGroup,
        short: "{item}: partitions were assigned by kdyno, without a consumer group",
        usual: note("a load item consumes without `group`"),
        words: &[reported(
            "{item}",
            "{item}: partitions were assigned by kdyno, not by a consumer group, so no rebalance or group coordination was measured",
            "name a `group` in the load item when groups are the question",
        )],
        ..OF_ITEM
    },
];

const RANDOM_REMEDY: &str =
    "compare cases of this run with each other, and do not read them as those of real values";

const COMPRESSION_MISSED: &str =
    "{item}: values were to compress at a ratio of {stated:ratio}, and batches reached {reached:ratio}";
