//! Bodies of record batches: from a pool that is encoded once, or built record by record.
//!
//! *Pooled*: blocks of records with the checksum kept at every record's end, so that any prefix of a
//! block is a valid body and sending one costs no more than its header. *Unique*: a trailer of
//! [32 bytes](crate::trailer) in each record carries run, producer, partition, sequence and intended time, and each record has the
//! timestamp of its own acceptance. Where all records have one size a recycled buffer still holds them, and only
//! trailers, keys and timestamps are stamped again; others are built from their picks. The checksum is computed over
//! all of it. Bodies are compressed when they are sealed.

#[cfg(test)]
mod tests;

use crate::record_times::{AcceptedRecords, Admission, RecordTimes};
use crate::records::{Builder, RecordDeltas, RecordSource, Weight, fill};
use crate::trailer::{Trailer, TrailerBytes};
use bytes::{Bytes, BytesMut};
use kdyno_kafka::producer::{Bodies, RecordShape, Sealed};
use kdyno_kafka::records::{BodySum, Compression, Compressor, CrcShift, begin_record, compress};
use kdyno_model::plan::{POOL_BATCHES_MIN, POOL_BYTES_MAX};
use kdyno_model::seed::mix;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::ops::Range;
use std::rc::Rc;
use thiserror::Error;

/// The headers of a record that has none: their number.
const NO_HEADERS: &[u8] = &[0];

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
pub struct BodyPool {
    blocks: Vec<PoolBlock>,
}

#[derive(Debug)]
struct PoolBlock {
    records: Bytes,
    /// Bytes of the first 1, 2, 3 … records; none where they are compressed.
    sums: Vec<BodySum>,
}

/// Encodes `count` records of random capital letters with this key, empty for none, and these headers.
fn encode_block(shape: RecordShape, count: u32, (key, headers): (&[u8], &[u8]), rng: &mut Pcg64) -> BytesMut {
    let mut out = Vec::with_capacity(shape.body_bytes(count) as usize);
    let mut value = vec![0u8; shape.value_bytes as usize];
    let key = Some(key).filter(|key| !key.is_empty());
    for delta in 0..count {
        fill(&mut value, true, rng);
        begin_record(&mut out, delta as i32, 0, key, (Some(value.len()), headers.len()));
        out.extend_from_slice(&value);
        out.extend_from_slice(headers);
    }
    BytesMut::from(&out[..])
}

impl BodyPool {
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
            let records = encode_block(shape, count, (b"".as_slice(), NO_HEADERS), &mut rng).freeze();
            let sums = match compression {
                Compression::None => prefix_sums(shape, count, &records),
                _ => Vec::new(),
            };
            PoolBlock { records, sums }
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
enum BodySource {
    Pool {
        pool: Rc<BodyPool>,
        next: usize,
    },
    /// Buffers of records that all have one size.
    Stamped {
        /// Whole buffers with a part in flight.
        lent: Vec<Bytes>,
        spare: Vec<BytesMut>,
        rng: Box<Pcg64>,
    },
    /// Records by their picks.
    Built {
        builder: Box<Builder>,
        spare: Vec<Vec<u8>>,
    },
}

/// Whose records they are.
#[derive(Debug, Clone, Copy, Default)]
struct RecordOrigin {
    run_id: u64,
    client: u32,
}

/// What bodies look like.
#[derive(Debug, Clone, Copy)]
pub struct BodyForm {
    /// Bytes of each record.
    pub shape: RecordShape,
    /// Most records of a batch.
    pub records_max: u32,
    /// How they are compressed.
    pub compressor: Compressor,
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
pub struct BodyBuilder {
    form: BodyForm,
    producer: RecordOrigin,
    records: Rc<RecordSource>,
    source: BodySource,
    /// The shift for the length of the latest unique body: most have that of the one before.
    shift: (usize, CrcShift),
}

impl BodyBuilder {
    /// Bodies from a pool, beginning at a block of the client's own.
    pub fn pooled(form: BodyForm, records: Rc<RecordSource>, pool: Rc<BodyPool>, client: u32) -> Self {
        let next = mix(0, u64::from(client)) as usize % pool.blocks.len();
        Self::new(form, records, RecordOrigin::default(), BodySource::Pool { pool, next })
    }

    /// Bodies of records that each say where they come from.
    pub fn unique(form: BodyForm, records: Rc<RecordSource>, run_id: u64, client: u32) -> Self {
        let source = if records.is_built() {
            BodySource::Built { builder: Box::new(Builder::new(&records, client)), spare: Vec::new() }
        } else {
            let rng = Box::new(Pcg64::seed_from_u64(mix(run_id, u64::from(client))));
            BodySource::Stamped { lent: Vec::new(), spare: Vec::new(), rng }
        };
        Self::new(form, records, RecordOrigin { run_id, client }, source)
    }

    fn new(form: BodyForm, records: Rc<RecordSource>, producer: RecordOrigin, source: BodySource) -> Self {
        Self { form, producer, records, source, shift: (0, CrcShift::new(0)) }
    }

    /// What these of a batch's records come to.
    pub fn weigh(&self, times: &RecordTimes, range: Range<usize>) -> Weight {
        let picks = times.picks.get(range.clone()).unwrap_or_default();
        self.records.weigh(range.len(), picks)
    }

    /// The uncompressed body, and its sum where it is known.
    fn body(
        &mut self,
        partition: i32,
        first: u64,
        count: u32,
        times: &RecordTimes,
    ) -> (Bytes, Option<BodySum>) {
        if let BodySource::Pool { pool, next } = &mut self.source {
            let block = &pool.blocks[*next];
            *next = (*next + 1) % pool.blocks.len();
            let bytes = self.form.shape.body_bytes(count) as usize;
            return (block.records.slice(..bytes), block.sums.get(count as usize - 1).copied());
        }
        let stamp = BatchStamp::new(&self.form, self.producer, partition, first, times);
        if let BodySource::Built { builder, spare } = &mut self.source {
            let mut out = spare.pop().unwrap_or_default();
            stamp.build(&self.records, builder, count, &mut out);
            return (out.into(), None);
        }
        let mut buffer = self.spare_buffer(count);
        if stamp.max_delta_ms() < LONG_DELTA_MS {
            match times.picks.is_empty() {
                true => stamp.write::<false>(&self.records, &mut buffer),
                false => stamp.write::<true>(&self.records, &mut buffer),
            }
            let body = buffer.freeze();
            let bytes = self.form.shape.body_bytes(count) as usize;
            if let BodySource::Stamped { lent, .. } = &mut self.source {
                lent.push(body.clone());
            }
            return (body.slice(..bytes), None);
        }
        let body = stamp.write_wide(&self.records, &buffer);
        self.keep(buffer);
        (body.into(), None)
    }

    /// A buffer that holds at least `count` records. New ones are made for the next power of two, so that
    /// short batches under a large `batch.size` stay small.
    fn spare_buffer(&mut self, count: u32) -> BytesMut {
        let BodyForm { shape, records_max, .. } = self.form;
        match &mut self.source {
            BodySource::Stamped { spare, rng, .. } => {
                let need = shape.body_bytes(count) as usize;
                if let Some(at) = spare.iter().rposition(|buffer| buffer.len() >= need) {
                    return spare.swap_remove(at);
                }
                let (key, headers) = (self.records.key_template(), self.records.equal_headers());
                encode_block(
                    shape,
                    count.next_power_of_two().min(records_max),
                    (key.as_slice(), headers),
                    rng,
                )
            }
            BodySource::Pool { .. } | BodySource::Built { .. } => BytesMut::new(),
        }
    }

    /// Keeps a buffer for a batch to come.
    fn keep(&mut self, buffer: BytesMut) {
        if let BodySource::Stamped { spare, .. } = &mut self.source
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
struct BatchStamp<'a> {
    form: BodyForm,
    trailer: Trailer,
    first: u64,
    base_timestamp_ms: i64,
    times: &'a RecordTimes,
}

impl<'a> BatchStamp<'a> {
    fn new(
        form: &BodyForm,
        producer: RecordOrigin,
        partition: i32,
        first: u64,
        times: &'a RecordTimes,
    ) -> Self {
        let trailer = Trailer::new(producer.run_id, producer.client, partition);
        let base_timestamp_ms = times.runs.first().map_or(0, |run| form.timestamp_ms(run.accepted_ns));
        Self { form: *form, trailer, first, base_timestamp_ms, times }
    }

    fn delta_ms(&self, run: &AcceptedRecords) -> i64 {
        (self.form.timestamp_ms(run.accepted_ns) - self.base_timestamp_ms).max(0)
    }

    /// Timestamp delta of the last record.
    fn max_delta_ms(&self) -> i64 {
        self.times.runs.last().map_or(0, |run| self.delta_ms(run))
    }

    /// Calls `put` with each record's place in the batch, timestamp delta and trailer.
    fn each(mut self, mut put: impl FnMut(u32, i64, &TrailerBytes)) {
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
                put(index, delta_ms, self.trailer.stamp(number, self.form.wall_ns(intended_ns)));
                index += 1;
            }
        }
    }

    /// Stamps records whose timestamp deltas take a byte each: nothing in the buffer moves.
    fn write<const HAS_KEYS: bool>(self, records: &RecordSource, buffer: &mut BytesMut) {
        let (shape, picks) = (self.form.shape, self.times.picks.as_slice());
        let behind = records.bytes_behind_trailer();
        let mut layout = shape.layout(0);
        let mut begin = 0;
        self.each(|index, delta_ms, trailer| {
            if index.is_power_of_two() {
                layout = shape.layout(index); // sizes change at powers of two only
            }
            // Zigzag: the sign is the lowest bit.
            buffer[begin + layout.timestamp_delta_at] = (delta_ms << 1) as u8;
            if HAS_KEYS {
                let key = &mut buffer[begin + layout.key_at..][..shape.key_bytes as usize];
                records.write_key(picks[index as usize], key);
            }
            begin += layout.bytes;
            let end = begin - behind;
            buffer[end - trailer.len()..end].copy_from_slice(trailer);
        });
    }

    /// Builds records, some with a longer timestamp delta, with the values in `buffer`.
    fn write_wide(self, records: &RecordSource, buffer: &[u8]) -> Vec<u8> {
        let (shape, picks) = (self.form.shape, self.times.picks.as_slice());
        let value_bytes = shape.value_bytes as usize;
        let (headers, behind) = (records.equal_headers(), records.bytes_behind_trailer());
        let mut key = records.key_template();
        let mut out = Vec::with_capacity(buffer.len() + 2 * buffer.len() / value_bytes.max(1));
        let mut end = 0;
        let mut layout = shape.layout(0);
        self.each(|index, delta_ms, trailer| {
            if index.is_power_of_two() {
                layout = shape.layout(index);
            }
            end += layout.bytes;
            let value_end = end - headers.len();
            if let Some(pick) = picks.get(index as usize) {
                records.write_key(*pick, &mut key);
            }
            let key = Some(key.as_slice()).filter(|key| !key.is_empty());
            begin_record(&mut out, index as i32, delta_ms, key, (Some(value_bytes), headers.len()));
            out.extend_from_slice(&buffer[value_end - value_bytes..value_end]);
            out.extend_from_slice(headers);
            let trailer_end = out.len() - behind;
            out[trailer_end - trailer.len()..trailer_end].copy_from_slice(trailer);
        });
        out
    }

    /// Builds records by their picks.
    fn build(self, records: &RecordSource, builder: &mut Builder, count: u32, out: &mut Vec<u8>) {
        let picks = self.times.picks.as_slice();
        let random_share = builder.random_share(records, count);
        self.each(|index, delta_ms, trailer| {
            let pick = picks.get(index as usize).copied().unwrap_or_else(|| records.usual());
            let place = RecordDeltas { offset_delta: index, delta_ms };
            builder.append(records, out, (pick, place), trailer, random_share);
        });
    }
}

impl Bodies<RecordTimes> for BodyBuilder {
    fn seal(&mut self, partition: i32, first: u64, count: u32, times: &RecordTimes) -> Sealed {
        let (mut body, mut sum) = self.body(partition, first, count, times);
        let body_bytes = body.len() as u64;
        let mut compression = self.form.compressor.codec();
        if compression != Compression::None {
            let mut out = match &mut self.source {
                BodySource::Built { spare, .. } => spare.pop().unwrap_or_default(),
                BodySource::Pool { .. } | BodySource::Stamped { .. } => Vec::new(),
            };
            match compress(self.form.compressor, &body, &mut out) {
                Ok(()) => {
                    self.recycle(std::mem::replace(&mut body, out.into()));
                    sum = None;
                }
                // Sent as it is: the broker accepts either, and nothing is lost.
                Err(_) => compression = Compression::None,
            }
        }
        let timestamp_ms =
            |run: Option<&AcceptedRecords>| run.map_or(0, |run| self.form.timestamp_ms(run.accepted_ns));
        let base_timestamp_ms = timestamp_ms(times.runs.first());
        let max_timestamp_ms = match self.form.shape.has_own_timestamp {
            true => timestamp_ms(times.runs.last()).max(base_timestamp_ms),
            false => base_timestamp_ms,
        };
        let sum = sum.unwrap_or_else(|| self.sum(&body));
        Sealed { body, sum, compression, body_bytes, base_timestamp_ms, max_timestamp_ms }
    }

    fn recycle(&mut self, body: Bytes) {
        match &mut self.source {
            BodySource::Pool { .. } => {}
            BodySource::Stamped { lent, .. } => {
                let found = lent.iter().position(|whole| whole.as_ptr() == body.as_ptr());
                let Some(at) = found else { return };
                drop(body);
                if let Ok(buffer) = lent.swap_remove(at).try_into_mut() {
                    self.keep(buffer);
                }
            }
            BodySource::Built { spare, .. } => {
                if body.is_unique() && (spare.len() + 1) * body.len() <= SPARE_BYTES_MAX {
                    let mut buffer = Vec::from(body);
                    buffer.clear();
                    spare.push(buffer);
                }
            }
        }
    }
}
