//! What the plan itself brings with it.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

/// What was measured, and what was not, by the choice of load and system.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::ClosedLoop { item } => told(
            item,
            &[],
            format!(
                "{item}: at the maximum rate a latency is the time to fill and empty the client's own buffer, not the \
                 cluster's"
            ),
            "for latencies offer a fixed rate below the maximum",
        ),
        Caveat::WrittenNotAppended { item } => told(
            item,
            &[],
            format!(
                "{item}: with acks=0 records count when they are written to the socket; whether a broker appended them \
                 is not known"
            ),
            "use acks=1 or acks=all when that is part of the question",
        ),
        Caveat::NullBroker => told(
            "",
            &[],
            "null broker: the figures are of the client alone; there was no Kafka, and nothing was kept"
                .to_owned(),
            "name a release (`system.kafka`) or a target when Kafka is the question",
        ),
        Caveat::MemoryStorage => told(
            "",
            &[],
            "the brokers' logs lay in memory-backed storage, so no disk was measured".to_owned(),
            "put the logs on a disk (`storage: disk`) when the disk is part of the question",
        ),
        Caveat::PageCacheAbsorbed { share } => told(
            "",
            &[*share],
            format!(
                "the brokers wrote only {} of the acknowledged bytes × replicas to their disks in the window: the page \
                 cache took the rest, so no disk was measured",
                numbers.percent(0)
            ),
            "measure for longer than the kernel holds back dirty pages when the disk is part of the question",
        ),
        _ => payloads(caveat, numbers),
    }
}

/// Batches compressed less than they were to, or more: the two are told apart.
fn compression_missed(item: &str, stated: f64, reached: f64, numbers: &Numbers<'_>) -> Option<Described> {
    let (way, remedy) = match reached < stated {
        true => (
            "less",
            "larger values or batches compress better; keys, headers and trailers limit the ratio too",
        ),
        false => (
            "more",
            "keys and headers that repeat compress too, and batches larger than those tried beforehand compress better: \
             state a higher ratio",
        ),
    };
    told(
        &format!("{item}, {way}"),
        &[stated, reached],
        format!(
            "{item}: values were to compress at a ratio of {}, and batches reached {}",
            numbers.ratio(0),
            numbers.ratio(1)
        ),
        remedy,
    )
}

/// Batches, compression and consumer groups.
fn payloads(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::SmallBatches { item, share } => told(
            item,
            &[*share],
            format!(
                "{item}: batches were sealed by `linger.ms` at {} of `batch.size`: what `batch.size` does was not \
                 measured",
                numbers.percent(0)
            ),
            "offer more, use fewer partitions per client, or raise `linger.ms`",
        ),
        Caveat::RandomValues { item, compression, by_schema } => told(
            item,
            &[],
            format!(
                "{item}: values are random{}: the sizes and the processor time that {compression} makes of \
                 them are not those of real values",
                if *by_schema { " within their schema" } else { " capital letters" }
            ),
            "compare cases of this run with each other, and do not read them as those of real values",
        ),
        Caveat::CompressionMissed { item, stated, reached } => {
            compression_missed(item, *stated, *reached, numbers)
        }
        Caveat::PooledCompression { item } => told(
            item,
            &[],
            format!(
                "{item}: pooled payloads compress differently from real ones: sizes are not those of real values"
            ),
            "use unique payloads when the compression ratio matters",
        ),
        Caveat::ProbeMissesLeaders { item, partitions, brokers } => told(
            item,
            &[f64::from(*partitions), f64::from(*brokers)],
            format!("{item}: the probe sent to {} of {} brokers", numbers.count(0), numbers.count(1)),
            "give its topic as many partitions as there are brokers",
        ),
        Caveat::AssignedNotGroup { item } => told(
            item,
            &[],
            format!(
                "{item}: partitions were assigned by kdyno, not by a consumer group, so no rebalance or group \
                 coordination was measured"
            ),
            "name a `group` in the load item when groups are the question",
        ),
        _ => None,
    }
}
