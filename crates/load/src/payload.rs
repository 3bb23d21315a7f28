//! Bodies of record batches: from a pool that is encoded once, or built record by record.
//!
//! *Pooled*: blocks of full batches with the checksum kept at every record's end, so that any prefix of a
//! block is a valid body and sending one costs no more than its header. *Unique*: the last
//! [`TRAILER_BYTES`] of each value carry run, producer, partition, sequence and intended time. A recycled
//! buffer still holds its records, of which only the trailers are stamped anew; the checksum is computed
//! over all of it.

use crate::record_times::RecordTimes;
use bytes::{Bytes, BytesMut};
use kdyno_kafka::producer::{Bodies, RecordShape, Sealed};
use kdyno_kafka::records::{self, BatchHeader, BodySum, Compression, CrcShift, HEADER_BYTES};
use kdyno_model::plan::{POOL_BATCHES_MIN, POOL_BYTES_MAX};
use kdyno_model::seed::mix;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::rc::Rc;
use thiserror::Error;

/// Bytes at the end of a unique value: run (8), producer (4), partition (4), sequence (8), t0 in ns since
/// 1970 (8), all big-endian.
pub const TRAILER_BYTES: u32 = 32;

/// Bytes of buffers kept for the next batches: what a handful of brokers with full pipelines have in flight.
const SPARE_BYTES_MAX: usize = 16 << 20;

/// Why a pool cannot be built.
#[derive(Debug, Error)]
pub enum PoolError {
    /// Too much memory.
    #[error("{blocks} batches of {block_bytes} bytes are more than a pool may hold, {POOL_BYTES_MAX} bytes")]
    TooLarge {
        /// Batches the pool would have.
        blocks: u64,
        /// Bytes of each.
        block_bytes: u64,
    },
    /// The compressor failed.
    #[error(transparent)]
    Records(#[from] records::RecordsError),
}

/// Full batches' bodies with every prefix's length and checksum.
#[derive(Debug)]
pub struct Pool {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    records: Bytes,
    /// Of the first 1, 2, 3 … records.
    sums: Vec<BodySum>,
    /// The whole block compressed, when the batches are.
    compressed: Option<(Bytes, BodySum)>,
}

/// Encodes `count` records of random capital letters, as Kafka's own tool sends.
fn encode_block(shape: RecordShape, count: u32, rng: &mut Pcg64) -> BytesMut {
    let mut out = Vec::with_capacity(shape.body_bytes(count) as usize);
    let mut value = vec![0u8; shape.value_bytes as usize];
    for delta in 0..count {
        for letters in value.chunks_mut(8) {
            let random: u64 = rng.random();
            for (letter, byte) in letters.iter_mut().zip(random.to_le_bytes()) {
                *letter = b'A' + byte % 26;
            }
        }
        records::encode_record(&mut out, delta as i32, 0, None, &value);
    }
    BytesMut::from(&out[..])
}

impl Pool {
    /// A pool of at least `pool_bytes` and [`POOL_BATCHES_MIN`] blocks of `count` records each.
    ///
    /// # Errors
    /// When the pool would be too large, or a block cannot be compressed.
    pub fn build(
        shape: RecordShape,
        count: u32,
        pool_bytes: u64,
        compression: Compression,
        seed: u64,
    ) -> Result<Self, PoolError> {
        let mut rng = Pcg64::seed_from_u64(mix(seed, 0x9001));
        let block_bytes = shape.body_bytes(count).max(1);
        let blocks = pool_bytes.div_ceil(block_bytes).max(POOL_BATCHES_MIN);
        if blocks.saturating_mul(block_bytes) > POOL_BYTES_MAX {
            return Err(PoolError::TooLarge { blocks, block_bytes });
        }
        let build = |_| {
            let records = encode_block(shape, count, &mut rng).freeze();
            let sums = prefix_sums(shape, count, &records);
            let compressed = match compression {
                Compression::None => None,
                codec => Some(compress(codec, &records)?),
            };
            Ok::<_, PoolError>(Block { records, sums, compressed })
        };
        Ok(Self { blocks: (0..blocks).map(build).collect::<Result<_, _>>()? })
    }
}

fn prefix_sums(shape: RecordShape, count: u32, records: &[u8]) -> Vec<BodySum> {
    let mut crc = 0;
    let mut begin = 0;
    (1..=count)
        .map(|records_count| {
            let bytes = shape.body_bytes(records_count) as usize;
            crc = crc32c::crc32c_append(crc, &records[begin..bytes]);
            begin = bytes;
            BodySum { bytes, crc, shift: CrcShift::new(bytes) }
        })
        .collect()
}

fn compress(codec: Compression, body: &[u8]) -> Result<(Bytes, BodySum), records::RecordsError> {
    let mut out = Vec::new();
    records::compress(codec, body, &mut out)?;
    let sum = BodySum::of(&out);
    Ok((out.into(), sum))
}

/// Where bodies come from.
#[derive(Debug)]
enum Source {
    Pool {
        pool: Rc<Pool>,
        next: usize,
    },
    Unique {
        run_id: u64,
        producer: u32,
        /// Whole buffers of which a part is in flight.
        lent: Vec<Bytes>,
        spare: Vec<BytesMut>,
        rng: Box<Pcg64>,
    },
}

/// Builds one client's bodies.
#[derive(Debug)]
pub struct Payloads {
    shape: RecordShape,
    batch_records_max: u32,
    compression: Compression,
    /// Wall clock minus monotonic clock, ns.
    wall_offset_ns: i64,
    source: Source,
    /// Length sum of a full unique body, whose shift is worth keeping.
    full_shift: CrcShift,
}

impl Payloads {
    /// Bodies from a pool, beginning at a block of the client's own.
    pub fn pooled(
        shape: RecordShape,
        batch_records_max: u32,
        compression: Compression,
        wall_offset_ns: i64,
        pool: Rc<Pool>,
        client: u32,
    ) -> Self {
        let next = mix(0, u64::from(client)) as usize % pool.blocks.len();
        let source = Source::Pool { pool, next };
        Self::new(shape, batch_records_max, compression, wall_offset_ns, source)
    }

    /// Bodies built record by record for values of at least [`TRAILER_BYTES`].
    pub fn unique(
        shape: RecordShape,
        batch_records_max: u32,
        compression: Compression,
        wall_offset_ns: i64,
        run_id: u64,
        client: u32,
    ) -> Self {
        let rng = Box::new(Pcg64::seed_from_u64(mix(run_id, u64::from(client))));
        let source = Source::Unique { run_id, producer: client, lent: Vec::new(), spare: Vec::new(), rng };
        Self::new(shape, batch_records_max, compression, wall_offset_ns, source)
    }

    fn new(
        shape: RecordShape,
        batch_records_max: u32,
        compression: Compression,
        wall_offset_ns: i64,
        source: Source,
    ) -> Self {
        let full_shift = CrcShift::new(shape.body_bytes(batch_records_max) as usize);
        Self { shape, batch_records_max, compression, wall_offset_ns, source, full_shift }
    }

    fn wall_ns(&self, instant_ns: u64) -> i64 {
        instant_ns as i64 + self.wall_offset_ns
    }

    /// The uncompressed body and its sum; for a pooled full batch, the compressed one at once.
    fn body(
        &mut self,
        partition: i32,
        first: u64,
        count: u32,
        times: &RecordTimes,
    ) -> (Bytes, BodySum, bool) {
        let bytes = self.shape.body_bytes(count) as usize;
        if let Source::Pool { pool, next } = &mut self.source {
            let block = &pool.blocks[*next];
            *next = (*next + 1) % pool.blocks.len();
            return match &block.compressed {
                Some((body, sum)) if count == self.batch_records_max => (body.clone(), *sum, true),
                _ => (block.records.slice(..bytes), block.sums[count as usize - 1], false),
            };
        }
        let mut buffer = self.spare_buffer(count);
        self.stamp(&mut buffer, partition, first, times);
        let body = buffer.freeze();
        if let Source::Unique { lent, .. } = &mut self.source {
            lent.push(body.clone());
        }
        let is_full = count == self.batch_records_max;
        let shift = if is_full { self.full_shift } else { CrcShift::new(bytes) };
        let sum = BodySum { bytes, crc: crc32c::crc32c(&body[..bytes]), shift };
        (body.slice(..bytes), sum, false)
    }

    /// A buffer that holds at least `count` records. New ones are made for the next power of two, so that
    /// short batches under a large `batch.size` stay small.
    fn spare_buffer(&mut self, count: u32) -> BytesMut {
        let (shape, most) = (self.shape, self.batch_records_max);
        match &mut self.source {
            Source::Unique { spare, rng, .. } => {
                let need = shape.body_bytes(count) as usize;
                if let Some(at) = spare.iter().rposition(|buffer| buffer.len() >= need) {
                    return spare.swap_remove(at);
                }
                encode_block(shape, count.next_power_of_two().min(most), rng)
            }
            Source::Pool { .. } => BytesMut::new(),
        }
    }

    /// Writes the trailers of the batch's records.
    fn stamp(&self, buffer: &mut BytesMut, partition: i32, first: u64, times: &RecordTimes) {
        let Source::Unique { run_id, producer, .. } = &self.source else { return };
        let mut trailer = [0u8; TRAILER_BYTES as usize];
        trailer[0..8].copy_from_slice(&run_id.to_be_bytes());
        trailer[8..12].copy_from_slice(&producer.to_be_bytes());
        trailer[12..16].copy_from_slice(&partition.to_be_bytes());
        let mut own = times.intended_ns.as_slice();
        let mut index = 0u32;
        let mut put = |intended_ns: u64| {
            // The value's end is one byte, the header count, before the record's.
            let end = self.shape.body_bytes(index + 1) as usize - 1;
            trailer[16..24].copy_from_slice(&(first + u64::from(index)).to_be_bytes());
            trailer[24..32].copy_from_slice(&self.wall_ns(intended_ns).to_be_bytes());
            buffer[end - trailer.len()..end].copy_from_slice(&trailer);
            index += 1;
        };
        for run in &times.runs {
            if run.admission == crate::record_times::Admission::AtOnce {
                (0..run.count).for_each(|_| put(run.accepted_ns));
            } else {
                let (mine, rest) = own.split_at(run.count as usize);
                own = rest;
                mine.iter().for_each(|&t0| put(t0));
            }
        }
    }
}

impl Bodies<RecordTimes> for Payloads {
    fn seal(&mut self, partition: i32, first: u64, count: u32, times: &RecordTimes) -> Sealed {
        let (mut body, mut sum, is_compressed) = self.body(partition, first, count, times);
        let mut compression = self.compression;
        if compression != Compression::None && !is_compressed {
            match compress(compression, &body) {
                Ok(compressed) => {
                    self.recycle(std::mem::replace(&mut body, compressed.0));
                    sum = compressed.1;
                }
                // Sent as it is: the broker accepts either, and nothing is lost.
                Err(_) => compression = Compression::None,
            }
        }
        let accepted_ns = times.runs.first().map_or(0, |run| run.accepted_ns);
        let created_ms = self.wall_ns(accepted_ns) / 1_000_000;
        let mut header = [0; HEADER_BYTES];
        let fields = BatchHeader::plain(compression, count as i32, created_ms, created_ms);
        records::write_batch_header(&mut header, &fields, &sum);
        Sealed { header, body }
    }

    fn recycle(&mut self, body: Bytes) {
        let Source::Unique { lent, spare, .. } = &mut self.source else { return };
        let Some(at) = lent.iter().position(|whole| whole.as_ptr() == body.as_ptr()) else { return };
        drop(body);
        if let Ok(buffer) = lent.swap_remove(at).try_into_mut()
            && (spare.len() + 1) * buffer.len() <= SPARE_BYTES_MAX
        {
            spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_times::Admission;
    use proptest::prelude::*;

    fn times(count: u32) -> RecordTimes {
        let mut times = RecordTimes::default();
        let alone = count / 2;
        times.push_run(alone, 5_000_000, Admission::AtOnce);
        for index in alone..count {
            times.push_run(1, 7_000_000, Admission::OnTick);
            times.intended_ns.push(6_000_000 + u64::from(index));
        }
        times.runs.retain(|run| run.count > 0);
        times
    }

    fn open(sealed: &Sealed) -> Vec<Vec<u8>> {
        let mut set = sealed.header.to_vec();
        set.extend_from_slice(&sealed.body);
        let batch = records::batches(&set).next().expect("one batch").expect("well formed");
        batch.verify_crc().expect("checksum");
        let mut scratch = Vec::new();
        let records = batch.records(&mut scratch, 1 << 24).expect("records");
        records.map(|record| record.expect("record").value.unwrap_or_default().to_vec()).collect()
    }

    proptest! {
        #[test]
        fn any_prefix_of_a_pool_is_a_valid_batch(value in 0u32..300, max in 1u32..200, part in 0.0f64..=1.0, codec in 0u8..5) {
            let shape = RecordShape { value_bytes: value };
            let compression = Compression::from_id(codec).unwrap();
            let pool = Rc::new(Pool::build(shape, max, 0, compression, 3).unwrap());
            prop_assert_eq!(pool.blocks.len() as u64, POOL_BATCHES_MIN);
            let mut payloads = Payloads::pooled(shape, max, compression, 0, pool, 0);
            let count = ((f64::from(max) * part) as u32).max(1);
            let values = open(&payloads.seal(0, 0, count, &times(count)));
            prop_assert_eq!(values.len(), count as usize);
            prop_assert!(values.iter().all(|v| v.len() == value as usize));
        }

        #[test]
        fn unique_records_carry_who_and_when(value in 32u32..300, max in 1u32..200, codec in 0u8..5) {
            let shape = RecordShape { value_bytes: value };
            let compression = Compression::from_id(codec).unwrap();
            let mut payloads = Payloads::unique(shape, max, compression, 1_000, 0xfeed, 9);
            for (round, count) in [(0u64, max), (1, max.div_ceil(2)), (2, max)] {
                let times = times(count);
                let sealed = payloads.seal(4, round * 1000, count, &times);
                let expected: Vec<u64> = times.each_intended_ns().collect();
                let values = open(&sealed);
                prop_assert_eq!(values.len(), expected.len());
                for (index, (value, t0)) in values.iter().zip(expected).enumerate() {
                    let trailer = &value[value.len() - TRAILER_BYTES as usize..];
                    prop_assert_eq!(&trailer[..8], &0xfeedu64.to_be_bytes());
                    prop_assert_eq!(&trailer[8..16], &[0, 0, 0, 9, 0, 0, 0, 4]);
                    prop_assert_eq!(&trailer[16..24], &(round * 1000 + index as u64).to_be_bytes());
                    prop_assert_eq!(&trailer[24..], &(t0 + 1_000).to_be_bytes());
                }
                payloads.recycle(sealed.body);
            }
        }
    }

    #[test]
    fn unique_buffers_are_used_again() {
        let mut payloads = Payloads::unique(RecordShape { value_bytes: 64 }, 10, Compression::None, 0, 1, 1);
        let body = payloads.seal(0, 0, 6, &times(6)).body;
        let at = body.as_ptr();
        payloads.recycle(body);
        assert_eq!(payloads.seal(0, 6, 8, &times(8)).body.as_ptr(), at, "eight records fit where six were");
    }
}
