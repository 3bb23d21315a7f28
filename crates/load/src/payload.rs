//! Bodies of record batches: from a pool that is encoded once, or built record by record.
//!
//! *Pooled*: blocks of records with the checksum kept at every record's end, so that any prefix of a
//! block is a valid body and sending one costs no more than its header. *Unique*: the last
//! [`TRAILER_BYTES`] of each value carry run, producer, partition, sequence and intended time, and each record has the
//! timestamp of its own acceptance. A recycled buffer still holds its records, of which only trailers and timestamps are
//! stamped anew; the checksum is computed over all of it. Bodies are compressed when they are sealed.

use crate::record_times::{Admission, RecordTimes, Run};
use bytes::{Bytes, BytesMut};
use kdyno_kafka::producer::{Bodies, RecordShape, Sealed};
use kdyno_kafka::records::{self, BodySum, Compression, CrcShift};
use kdyno_model::plan::{POOL_BATCHES_MIN, POOL_BYTES_MAX};
use kdyno_model::seed::mix;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::rc::Rc;
use thiserror::Error;

/// Bytes at the end of a unique value: run (8), producer (4), partition (4), sequence (8), t0 in ns since
/// 1970 (8), all big-endian.
pub const TRAILER_BYTES: u32 = 32;

/// From this timestamp delta on a record takes a byte more, ms.
const LONG_DELTA_MS: i64 = 64;

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
}

/// Bodies with every prefix's length and checksum.
#[derive(Debug)]
pub struct Pool {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    records: Bytes,
    /// Of the first 1, 2, 3 … records; none where they are compressed.
    sums: Vec<BodySum>,
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
    /// When the pool would be too large.
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
            let sums = match compression {
                Compression::None => prefix_sums(shape, count, &records),
                _ => Vec::new(),
            };
            Block { records, sums }
        };
        Ok(Self { blocks: (0..blocks).map(build).collect() })
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

/// What bodies look like.
#[derive(Debug, Clone, Copy)]
pub struct BodyForm {
    /// Of each record.
    pub shape: RecordShape,
    /// Most records of a batch.
    pub records_max: u32,
    /// How they are compressed.
    pub compression: Compression,
    /// Wall clock minus monotonic clock, ns.
    pub wall_offset_ns: i64,
}

impl BodyForm {
    fn wall_ns(&self, instant_ns: u64) -> i64 {
        instant_ns as i64 + self.wall_offset_ns
    }

    /// Timestamp of records that were accepted at an instant, ms since 1970.
    fn timestamp_ms(&self, accepted_ns: u64) -> i64 {
        self.wall_ns(accepted_ns) / 1_000_000
    }
}

/// Builds one client's bodies.
#[derive(Debug)]
pub struct Payloads {
    form: BodyForm,
    source: Source,
    /// The shift for the length of the latest unique body: most have that of the one before.
    shift: (usize, CrcShift),
}

impl Payloads {
    /// Bodies from a pool, beginning at a block of the client's own.
    pub fn pooled(form: BodyForm, pool: Rc<Pool>, client: u32) -> Self {
        let next = mix(0, u64::from(client)) as usize % pool.blocks.len();
        Self::new(form, Source::Pool { pool, next })
    }

    /// Bodies built record by record for values of at least [`TRAILER_BYTES`].
    pub fn unique(form: BodyForm, run_id: u64, client: u32) -> Self {
        let rng = Box::new(Pcg64::seed_from_u64(mix(run_id, u64::from(client))));
        Self::new(form, Source::Unique { run_id, producer: client, lent: Vec::new(), spare: Vec::new(), rng })
    }

    fn new(form: BodyForm, source: Source) -> Self {
        Self { form, source, shift: (0, CrcShift::new(0)) }
    }

    /// The uncompressed body, and its sum where it is known.
    fn body(
        &mut self,
        partition: i32,
        first: u64,
        count: u32,
        times: &RecordTimes,
    ) -> (Bytes, Option<BodySum>) {
        if let Source::Pool { pool, next } = &mut self.source {
            let block = &pool.blocks[*next];
            *next = (*next + 1) % pool.blocks.len();
            let bytes = self.form.shape.body_bytes(count) as usize;
            return (block.records.slice(..bytes), block.sums.get(count as usize - 1).copied());
        }
        let stamp = Stamp::new(&self.form, &self.source, partition, first, times);
        let mut buffer = self.spare_buffer(count);
        if stamp.max_delta_ms() < LONG_DELTA_MS {
            stamp.write(self.form.shape, &mut buffer);
            let body = buffer.freeze();
            let bytes = self.form.shape.body_bytes(count) as usize;
            if let Source::Unique { lent, .. } = &mut self.source {
                lent.push(body.clone());
            }
            return (body.slice(..bytes), None);
        }
        let body = stamp.write_wide(self.form.shape, &buffer);
        self.keep(buffer);
        (body.into(), None)
    }

    /// A buffer that holds at least `count` records. New ones are made for the next power of two, so that
    /// short batches under a large `batch.size` stay small.
    fn spare_buffer(&mut self, count: u32) -> BytesMut {
        let BodyForm { shape, records_max, .. } = self.form;
        match &mut self.source {
            Source::Unique { spare, rng, .. } => {
                let need = shape.body_bytes(count) as usize;
                if let Some(at) = spare.iter().rposition(|buffer| buffer.len() >= need) {
                    return spare.swap_remove(at);
                }
                encode_block(shape, count.next_power_of_two().min(records_max), rng)
            }
            Source::Pool { .. } => BytesMut::new(),
        }
    }

    /// Keeps a buffer for a batch to come.
    fn keep(&mut self, buffer: BytesMut) {
        if let Source::Unique { spare, .. } = &mut self.source
            && (spare.len() + 1) * buffer.len() <= SPARE_BYTES_MAX
        {
            spare.push(buffer);
        }
    }

    fn sum(&mut self, body: &[u8]) -> BodySum {
        if self.shift.0 != body.len() {
            self.shift = (body.len(), CrcShift::new(body.len()));
        }
        BodySum { bytes: body.len(), crc: crc32c::crc32c(body), shift: self.shift.1 }
    }
}

/// What makes a batch's records their own.
struct Stamp<'a> {
    form: BodyForm,
    trailer: [u8; TRAILER_BYTES as usize],
    first: u64,
    base_timestamp_ms: i64,
    times: &'a RecordTimes,
}

impl<'a> Stamp<'a> {
    fn new(form: &BodyForm, source: &Source, partition: i32, first: u64, times: &'a RecordTimes) -> Self {
        let mut trailer = [0u8; TRAILER_BYTES as usize];
        if let Source::Unique { run_id, producer, .. } = source {
            trailer[0..8].copy_from_slice(&run_id.to_be_bytes());
            trailer[8..12].copy_from_slice(&producer.to_be_bytes());
        }
        trailer[12..16].copy_from_slice(&partition.to_be_bytes());
        let base_timestamp_ms = times.runs.first().map_or(0, |run| form.timestamp_ms(run.accepted_ns));
        Self { form: *form, trailer, first, base_timestamp_ms, times }
    }

    fn delta_ms(&self, run: &Run) -> i64 {
        (self.form.timestamp_ms(run.accepted_ns) - self.base_timestamp_ms).max(0)
    }

    /// Timestamp delta of the last record.
    fn max_delta_ms(&self) -> i64 {
        self.times.runs.last().map_or(0, |run| self.delta_ms(run))
    }

    /// Calls `put` with each record's place in the batch, timestamp delta and trailer.
    fn each(mut self, mut put: impl FnMut(u32, i64, &[u8])) {
        let mut own = self.times.intended_ns.as_slice();
        let mut index = 0u32;
        for run in &self.times.runs {
            let delta_ms = self.delta_ms(run);
            let (mine, rest) = match run.admission {
                Admission::AtOnce => (None, own),
                _ => {
                    let (mine, rest) = own.split_at(run.count as usize);
                    (Some(mine), rest)
                }
            };
            own = rest;
            for place in 0..run.count as usize {
                let intended_ns = mine.map_or(run.accepted_ns, |mine| mine[place]);
                let number = self.first + u64::from(index);
                self.trailer[16..24].copy_from_slice(&number.to_be_bytes());
                self.trailer[24..32].copy_from_slice(&self.form.wall_ns(intended_ns).to_be_bytes());
                put(index, delta_ms, &self.trailer);
                index += 1;
            }
        }
    }

    /// Stamps records whose timestamp deltas take a byte each: nothing in the buffer moves.
    fn write(self, shape: RecordShape, buffer: &mut BytesMut) {
        let mut layout = shape.layout(0);
        let mut begin = 0;
        self.each(|index, delta_ms, trailer| {
            if index.is_power_of_two() {
                layout = shape.layout(index); // sizes change at powers of two only
            }
            // Zigzag: the sign is the lowest bit.
            buffer[begin + layout.timestamp_delta_at] = (delta_ms << 1) as u8;
            begin += layout.bytes;
            // The value's end is one byte, the header count, before the record's.
            buffer[begin - 1 - trailer.len()..begin - 1].copy_from_slice(trailer);
        });
    }

    /// Builds records of which some have a longer timestamp delta, with the values in `buffer`.
    fn write_wide(self, shape: RecordShape, buffer: &[u8]) -> Vec<u8> {
        let value_bytes = shape.value_bytes as usize;
        let mut out = Vec::with_capacity(buffer.len() + 2 * buffer.len() / value_bytes.max(1));
        let mut end = 0;
        let mut layout = shape.layout(0);
        self.each(|index, delta_ms, trailer| {
            if index.is_power_of_two() {
                layout = shape.layout(index);
            }
            end += layout.bytes;
            let value = &buffer[end - 1 - value_bytes..end - 1];
            records::encode_record(&mut out, index as i32, delta_ms, None, value);
            let value_end = out.len() - 1;
            out[value_end - trailer.len()..value_end].copy_from_slice(trailer);
        });
        out
    }
}

impl Bodies<RecordTimes> for Payloads {
    fn seal(&mut self, partition: i32, first: u64, count: u32, times: &RecordTimes) -> Sealed {
        let (mut body, mut sum) = self.body(partition, first, count, times);
        let body_bytes = body.len() as u64;
        let mut compression = self.form.compression;
        if compression != Compression::None {
            let mut out = Vec::new();
            match records::compress(compression, &body, &mut out) {
                Ok(()) => {
                    self.recycle(std::mem::replace(&mut body, out.into()));
                    sum = None;
                }
                // Sent as it is: the broker accepts either, and nothing is lost.
                Err(_) => compression = Compression::None,
            }
        }
        let timestamp_ms = |run: Option<&Run>| run.map_or(0, |run| self.form.timestamp_ms(run.accepted_ns));
        let base_timestamp_ms = timestamp_ms(times.runs.first());
        let max_timestamp_ms = match self.form.shape.has_own_timestamp {
            true => timestamp_ms(times.runs.last()).max(base_timestamp_ms),
            false => base_timestamp_ms,
        };
        let sum = sum.unwrap_or_else(|| self.sum(&body));
        Sealed { body, sum, compression, body_bytes, base_timestamp_ms, max_timestamp_ms }
    }

    fn recycle(&mut self, body: Bytes) {
        let Source::Unique { lent, .. } = &mut self.source else { return };
        let Some(at) = lent.iter().position(|whole| whole.as_ptr() == body.as_ptr()) else { return };
        drop(body);
        if let Ok(buffer) = lent.swap_remove(at).try_into_mut() {
            self.keep(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::records::{BatchHeader, HEADER_BYTES};
    use proptest::prelude::*;

    const WALL_OFFSET_NS: i64 = 1_000;

    /// Half of them accepted at 5 ms, the others in twos, `gap_ms` apart.
    fn times(count: u32, gap_ms: u64) -> RecordTimes {
        let mut times = RecordTimes::default();
        let alone = count / 2;
        if alone > 0 {
            times.push_run(alone, 5_000_000, Admission::AtOnce);
        }
        for index in alone..count {
            let accepted_ns = 7_000_000 + u64::from((index - alone) / 2) * gap_ms * 1_000_000;
            times.push_run(1, accepted_ns, Admission::OnTick);
            times.intended_ns.push(accepted_ns - 1_000 + u64::from(index));
        }
        times
    }

    fn form(value_bytes: u32, records_max: u32, compression: Compression, is_unique: bool) -> BodyForm {
        let shape = RecordShape { value_bytes, has_own_timestamp: is_unique };
        BodyForm { shape, records_max, compression, wall_offset_ns: WALL_OFFSET_NS }
    }

    /// Timestamp and value of each record of the batch that a body makes.
    fn open(sealed: &Sealed, count: u32) -> Vec<(i64, Vec<u8>)> {
        let (base_ms, max_ms) = (sealed.base_timestamp_ms, sealed.max_timestamp_ms);
        let header = BatchHeader::plain(sealed.compression, count as i32, base_ms, max_ms);
        let mut head = [0; HEADER_BYTES];
        records::write_batch_header(&mut head, &header, &sealed.sum);
        let set = [head.as_slice(), &sealed.body].concat();
        let batch = records::batches(&set).next().expect("one batch").expect("well formed");
        batch.verify_crc().expect("checksum");
        let mut scratch = Vec::new();
        let records = batch.records(&mut scratch, 1 << 24).expect("records");
        let records = records.map(|record| record.expect("record"));
        let read: Vec<_> =
            records.map(|record| (record.timestamp_ms, record.value.unwrap_or_default().to_vec())).collect();
        let uncompressed =
            if sealed.compression == Compression::None { sealed.body.len() } else { scratch.len() };
        assert_eq!(sealed.body_bytes, uncompressed as u64);
        read
    }

    proptest! {
        #[test]
        fn any_prefix_of_a_pool_is_a_valid_batch(value in 0u32..300, max in 1u32..200, part in 0.0f64..=1.0, codec in 0u8..5) {
            let compression = Compression::from_id(codec).unwrap();
            let form = form(value, max, compression, false);
            let pool = Rc::new(Pool::build(form.shape, max, 0, compression, 3).unwrap());
            prop_assert_eq!(pool.blocks.len() as u64, POOL_BATCHES_MIN);
            let mut payloads = Payloads::pooled(form, pool, 0);
            let count = ((f64::from(max) * part) as u32).max(1);
            let times = times(count, 3);
            let records = open(&payloads.seal(0, 0, count, &times), count);
            prop_assert_eq!(records.len(), count as usize);
            let timestamp_ms = form.timestamp_ms(times.runs[0].accepted_ns);
            prop_assert!(records.iter().all(|(at, v)| *at == timestamp_ms && v.len() == value as usize));
        }

        /// Also where timestamps lie so far apart that their deltas take two or three bytes.
        #[test]
        fn unique_records_carry_who_and_when(value in 32u32..300, max in 1u32..200, gap_ms in 0u64..300, codec in 0u8..5) {
            let compression = Compression::from_id(codec).unwrap();
            let form = form(value, max, compression, true);
            let mut payloads = Payloads::unique(form, 0xfeed, 9);
            for (round, count) in [(0u64, max), (1, max.div_ceil(2)), (2, max)] {
                let times = times(count, gap_ms * round);
                let sealed = payloads.seal(4, round * 1000, count, &times);
                let accepted = times.runs.iter().flat_map(|run| vec![run.accepted_ns; run.count as usize]);
                let expected: Vec<(u64, u64)> = accepted.zip(times.each_intended_ns()).collect();
                let records = open(&sealed, count);
                prop_assert_eq!(records.len(), expected.len());
                prop_assert_eq!(Some(sealed.max_timestamp_ms), records.iter().map(|(at, _)| *at).max());
                for (index, ((at_ms, value), (accepted_ns, t0))) in records.iter().zip(expected).enumerate() {
                    prop_assert_eq!(*at_ms, form.timestamp_ms(accepted_ns));
                    let trailer = &value[value.len() - TRAILER_BYTES as usize..];
                    prop_assert_eq!(&trailer[..8], &0xfeedu64.to_be_bytes());
                    prop_assert_eq!(&trailer[8..16], &[0, 0, 0, 9, 0, 0, 0, 4]);
                    prop_assert_eq!(&trailer[16..24], &(round * 1000 + index as u64).to_be_bytes());
                    prop_assert_eq!(&trailer[24..], &(t0 + WALL_OFFSET_NS as u64).to_be_bytes());
                }
                payloads.recycle(sealed.body);
            }
        }
    }

    #[test]
    fn unique_buffers_are_used_again() {
        let mut payloads = Payloads::unique(form(64, 10, Compression::None, true), 1, 1);
        let body = payloads.seal(0, 0, 6, &times(6, 0)).body;
        let at = body.as_ptr();
        payloads.recycle(body);
        assert_eq!(
            payloads.seal(0, 6, 8, &times(8, 0)).body.as_ptr(),
            at,
            "eight records fit where six were"
        );
    }
}
