//! What the records of a load item are made of, by its plan; of every client that carries it.

use crate::records::{APART_NS, RecordSource};
use crate::stream::{StreamContext, StreamError};
use kdyno_kafka::records::{Compression, Compressor};
use kdyno_model::plan::{self, COMPRESSED_RECORDS_MAX, Payload, ProducePlan, Rate};

/// What records are made of, for a topic of so many partitions; `is_keyed`: keys choose among them.
///
/// # Errors
/// Records are to go to a partition that is not there, or keys or values were not given.
pub fn record_source(
    plan: &ProducePlan,
    partitions: usize,
    is_keyed: bool,
    context: &StreamContext,
) -> Result<RecordSource, StreamError> {
    if let Some(partition) = plan.records.partition.filter(|partition| *partition as usize >= partitions) {
        return Err(StreamError::NoSuchPartition { partition, partitions });
    }
    let is_unique = plan.payload == Payload::Unique;
    let mut source = RecordSource::new(
        &plan.records,
        (plan.value_bytes, is_unique),
        is_keyed.then_some(partitions),
        &context.given,
        context.seed,
    )
    .map_err(StreamError::NotGiven)?;
    if let Some(ratio) = plan.records.compressible {
        let records_max = batch_records_max(plan, &source);
        let gap_ns = if matches!(plan.rate, Rate::Max { .. }) { 0 } else { APART_NS };
        source.compress_to(ratio, compressor(plan), (records_max, gap_ns), context.seed);
    }
    Ok(source)
}

/// Most records of a batch.
pub fn batch_records_max(plan: &ProducePlan, records: &RecordSource) -> u32 {
    let uncompressed = records.shape().capacity(plan.client.batch_bytes);
    match compression(plan) {
        // Their bytes alone bound them.
        Compression::None if !records.has_equal_sizes() => u32::MAX,
        Compression::None => uncompressed,
        _ => uncompressed.saturating_mul(COMPRESSED_RECORDS_MAX),
    }
}

/// Codec of its batches.
pub fn compression(plan: &ProducePlan) -> Compression {
    match plan.client.compression {
        plan::Compression::None => Compression::None,
        plan::Compression::Gzip => Compression::Gzip,
        plan::Compression::Snappy => Compression::Snappy,
        plan::Compression::Lz4 => Compression::Lz4,
        plan::Compression::Zstd => Compression::Zstd,
    }
}

/// The codec with its level.
pub fn compressor(plan: &ProducePlan) -> Compressor {
    Compressor::new(compression(plan), plan.client.compression_level)
}
