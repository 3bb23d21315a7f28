//! What records are made of: which key and value comes next, how large the record becomes, how it is built.
//!
//! A record's key says where it goes and its size whether it finds room, so both are drawn before it is handed over,
//! some records at a time ([`RecordBlock`]). What was drawn are two numbers ([`Pick`]), which wait in the batch until it is
//! sealed; only then a [`Builder`] makes bytes of them. Records that are all alike are not drawn, and need no such numbers.

mod alias;
mod block;
mod compressible;
mod given;
mod keys;
mod pool;
#[cfg(test)]
mod tests;
mod values;

pub use block::RecordBlock;
pub use given::ByteStrings;

use compressible::{RandomShares, WHOLE};
use kdyno_kafka::producer::RecordShape;
use kdyno_kafka::records::{Compressor, begin_record, encode_headers};
use kdyno_model::plan::{GivenSource, KeyPlan, RecordPlan, TRAILER_BYTES, TRAILER_HEADER, ValuesPlan};
use kdyno_model::seed::mix;
use keys::RecordKeys;
use pool::BytePool;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use values::{NULL, RecordValues};

/// Bytes of a stream that values are made of: more than any codec looks back over in a usual batch.
const POOL_BYTES: usize = 4 << 20;

/// Between two records of an open loop, or two batches, whose values are tried, ns: a few hundred microseconds.
pub const APART_NS: u64 = 300_000;

/// Places of seeds among those drawn from a stream's.
const POOL_SEED: u64 = 0x0707;
const DRAW_SEEDS: u64 = 1 << 41;

/// Keys or values that are given, by where they come from.
pub type GivenBySource = BTreeMap<GivenSource, Arc<ByteStrings>>;

/// What was drawn of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pick {
    /// Number of its key.
    key: u32,
    /// Bytes of its value; of values that are given the number; or that it is null.
    value: u32,
}

#[cfg(test)]
impl Pick {
    /// A value that can be distinguished from others.
    pub(crate) fn numbered(key: u32) -> Self {
        Self { key, value: 0 }
    }
}

/// A record to be handed over: what it is, and where its key sends it.
#[derive(Debug, Clone, Copy)]
pub struct DrawnRecord {
    /// What is kept of it in its batch.
    pub pick: Pick,
    /// The partition of its key, if that has a say.
    pub partition: Option<u32>,
}

/// What some records come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of their values.
    pub value_bytes: u64,
    /// How many of them carry the trailer in a header.
    pub header_trailers: u64,
}

/// What the records of a stream are made of; its clients share it.
#[derive(Debug)]
pub struct RecordSource {
    keys: Option<RecordKeys>,
    values: RecordValues,
    /// Share of null values, as a bound of random numbers; 0: there are none.
    null_below: u64,
    /// Headers of records with the trailer in the value, their number first.
    headers: Vec<u8>,
    /// The headers by name, without the trailer.
    named_headers: Vec<(String, Vec<u8>)>,
    /// The headers with one more for the trailer, at the end.
    headers_and_trailer: Vec<u8>,
    /// Letters, or random bytes.
    pool: Rc<[u8]>,
    /// Where values compress to a stated ratio.
    shares: Option<RandomShares>,
    /// Mean bytes of all values that are not null.
    value_bytes: u32,
    has_equal_values: bool,
    /// Records carry a trailer each, and a timestamp of their own: those of a pool do not.
    is_unique: bool,
}

impl RecordSource {
    /// What a load item's plan says. `is_unique`: records carry a trailer, and a timestamp, of their own. `partitions`:
    /// those among which keys choose, if they do.
    ///
    /// # Errors
    /// Names a source of keys or values that is not among those given.
    pub fn new(
        records: &RecordPlan,
        (value_bytes, is_unique): (u32, bool),
        partitions: Option<usize>,
        given: &GivenBySource,
        seed: u64,
    ) -> Result<Self, String> {
        let find = |source: GivenSource| match given.get(&source) {
            Some(found) => Ok(Arc::clone(found)),
            None => Err(match source {
                GivenSource::File(file) => file.path,
                GivenSource::Sample(sample) => format!("topic {}", sample.topic),
                GivenSource::Avro(avro) => avro.path,
            }),
        };
        let keys = match &records.key {
            None => None,
            Some(KeyPlan::Numbered { law, of, bytes }) => {
                Some(RecordKeys::numbered(*law, *of, *bytes, partitions))
            }
            Some(KeyPlan::File(file)) => {
                Some(RecordKeys::given(find(GivenSource::File(file.clone()))?, partitions))
            }
        };
        let values = match &records.values {
            ValuesPlan::Fixed => RecordValues::Fixed(value_bytes),
            ValuesPlan::Numbered => RecordValues::Numbered,
            ValuesPlan::Uniform { bytes_min, bytes_max } => RecordValues::Uniform(*bytes_min, *bytes_max),
            ValuesPlan::Lognormal { median_bytes, sigma, bytes_max } => {
                RecordValues::lognormal(*median_bytes, *sigma, *bytes_max)
            }
            ValuesPlan::File(file) => RecordValues::Given(find(GivenSource::File(file.clone()))?),
            ValuesPlan::Sample(sample) => RecordValues::Given(find(GivenSource::Sample(sample.clone()))?),
            ValuesPlan::Avro(avro) => RecordValues::Given(find(GivenSource::Avro(avro.clone()))?),
        };
        let value_bytes = values.given().map_or(value_bytes, ByteStrings::mean_bytes);
        let mut rng = Pcg64::seed_from_u64(mix(seed, POOL_SEED));
        let named_headers = headers(records, &mut rng);
        let mut source = Self {
            keys,
            values,
            null_below: (records.tombstone_share * 2f64.powi(32)) as u64,
            headers: encode(&named_headers),
            headers_and_trailer: encode(&with_trailer(headers(records, &mut rng))),
            named_headers,
            pool: Rc::default(),
            shares: records.compressible.map(|_| RandomShares::default()),
            value_bytes,
            has_equal_values: records.has_equal_values(),
            is_unique,
        };
        if source.is_built() && source.values.are_ours() {
            source.pool = random_bytes(POOL_BYTES, source.shares.is_none(), &mut rng).into();
        }
        Ok(source)
    }

    /// Finds out with which values batches of up to so many records compress to a ratio. `gap_ns`: between the scheduled
    /// send times of two records, about; 0: those of a batch have the same one.
    pub fn compress_to(
        &mut self,
        ratio: f64,
        compressor: Compressor,
        (records_max, gap_ns): (u32, u64),
        seed: u64,
    ) {
        let body = |batch: u32, count: u32, share| {
            let (mut draws, mut builder) = (Draws::new(seed, batch, 1), Builder::new(self, batch));
            let first = u64::from(batch) * u64::from(count);
            let mut out = Vec::new();
            for delta in 0..count {
                let pick = if self.is_drawn() { draws.draw(self).pick } else { self.usual() };
                let number = first + u64::from(delta);
                let mut trailer = [0u8; TRAILER_BYTES as usize];
                trailer[..8].copy_from_slice(&seed.to_be_bytes());
                trailer[16..24].copy_from_slice(&number.to_be_bytes());
                let t0_ns = (1u64 << 60)
                    + match gap_ns {
                        0 => u64::from(batch) * APART_NS + mix(seed, batch.into()) % APART_NS,
                        gap_ns => number * gap_ns + mix(seed, number) % gap_ns,
                    };
                trailer[24..].copy_from_slice(&t0_ns.to_be_bytes());
                let place = RecordDeltas { offset_delta: delta, delta_ms: 0 };
                builder.append(self, &mut out, (pick, place), &trailer, share);
            }
            out
        };
        self.shares = Some(RandomShares::find(ratio, compressor, records_max, body));
    }

    /// Whether each record is drawn: sizes differ, or keys.
    pub fn is_drawn(&self) -> bool {
        self.keys.is_some() || !self.has_equal_values
    }

    /// The keys and the one value of records in which nothing but the key is drawn.
    fn drawn_by_key_alone(&self) -> Option<(&RecordKeys, u32)> {
        let RecordValues::Fixed(value_bytes) = self.values else { return None };
        self.keys.as_ref().filter(|_| self.null_below == 0).map(|keys| (keys, value_bytes))
    }

    /// Whether all records have the same size.
    pub fn has_equal_sizes(&self) -> bool {
        self.has_equal_values && self.keys.as_ref().is_none_or(RecordKeys::are_equal)
    }

    /// Whether bodies are built record by record; otherwise those of one size are stamped again.
    pub fn is_built(&self) -> bool {
        !self.has_equal_sizes() || self.shares.is_some()
    }

    /// Sizes of all records where they are equal, and in the mean where they differ.
    pub fn shape(&self) -> RecordShape {
        RecordShape {
            key_bytes: self.keys.as_ref().map_or(0, RecordKeys::mean_bytes),
            value_bytes: self.value_bytes,
            headers_bytes: self.headers_of(self.usual()).len() as u32 - 1,
            has_own_timestamp: self.is_unique,
        }
    }

    /// The source with bytes for values that are cut one by one, also where all have one size.
    pub fn building_each(mut self, seed: u64) -> Self {
        if self.pool.is_empty() && self.values.are_ours() {
            let mut rng = Pcg64::seed_from_u64(mix(seed, POOL_SEED));
            self.pool = random_bytes(POOL_BYTES, self.shares.is_none(), &mut rng).into();
        }
        self
    }

    /// Headers of every record by name, without the trailer.
    pub fn named_headers(&self) -> &[(String, Vec<u8>)] {
        &self.named_headers
    }

    /// Whether the value of a record is null.
    #[inline]
    pub fn has_null_value(&self, pick: Pick) -> bool {
        pick.value == NULL
    }

    /// Whether the trailer of a record is in a header: its value has no room for it, or is not ours to change.
    #[inline]
    pub fn has_header_trailer(&self, pick: Pick) -> bool {
        let has_room = (TRAILER_BYTES..NULL).contains(&pick.value) && self.values.are_ours();
        self.is_unique && !has_room
    }

    /// The headers of a record, their number first.
    #[inline]
    fn headers_of(&self, pick: Pick) -> &[u8] {
        if self.has_header_trailer(pick) { &self.headers_and_trailer } else { &self.headers }
    }

    /// The pick of records that are not drawn.
    pub(crate) fn usual(&self) -> Pick {
        Pick { key: 0, value: self.value_bytes }
    }

    /// The headers of records that are all alike, their number first.
    pub fn equal_headers(&self) -> &[u8] {
        self.headers_of(self.usual())
    }

    /// Bytes between the trailer and the end of records that are all alike.
    pub fn bytes_behind_trailer(&self) -> usize {
        if self.has_header_trailer(self.usual()) { 0 } else { self.headers.len() }
    }

    /// What numbered keys are written into, if there are such.
    pub fn key_template(&self) -> Vec<u8> {
        self.keys.as_ref().map_or_else(Vec::new, RecordKeys::template)
    }

    /// Writes the key of a pick over another one, or into a template.
    #[inline]
    pub fn write_key(&self, pick: Pick, key: &mut [u8]) {
        if let Some(keys) = &self.keys {
            keys.write(pick.key, key);
        }
    }

    /// Partitions among which keys choose, if they do.
    pub fn partitions_of_keys(&self) -> Option<usize> {
        self.keys.as_ref().and_then(RecordKeys::partitions)
    }

    /// Sizes of one record.
    #[inline]
    pub fn shape_of(&self, pick: Pick) -> RecordShape {
        RecordShape {
            key_bytes: self.keys.as_ref().map_or(0, |keys| keys.bytes(pick.key)),
            value_bytes: self.values.bytes(pick.value),
            headers_bytes: self.headers_of(pick).len() as u32 - 1,
            has_own_timestamp: self.is_unique,
        }
    }

    /// What `count` records come to; where they were drawn, these are their picks.
    pub fn weigh(&self, count: usize, picks: &[Pick]) -> Weight {
        if self.has_equal_values {
            let header_trailers = if self.has_header_trailer(self.usual()) { count as u64 } else { 0 };
            return Weight { value_bytes: count as u64 * u64::from(self.value_bytes), header_trailers };
        }
        let mut weight = Weight::default();
        for pick in picks {
            weight.value_bytes += u64::from(self.values.bytes(pick.value));
            weight.header_trailers += u64::from(self.has_header_trailer(*pick));
        }
        weight
    }
}

/// Headers by the plan.
fn headers(records: &RecordPlan, rng: &mut Pcg64) -> Vec<(String, Vec<u8>)> {
    let own = records.headers.iter();
    own.map(|header| (header.name.clone(), random_bytes(header.bytes as usize, true, rng))).collect()
}

/// The same, with one for the trailer behind them.
fn with_trailer(mut headers: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    headers.push((TRAILER_HEADER.to_owned(), vec![0; TRAILER_BYTES as usize]));
    headers
}

/// Headers as they are in a record, their number first.
fn encode(headers: &[(String, Vec<u8>)]) -> Vec<u8> {
    encode_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())))
}

fn random_bytes(bytes: usize, are_letters: bool, rng: &mut Pcg64) -> Vec<u8> {
    let mut made = vec![0; bytes];
    fill(&mut made, are_letters, rng);
    made
}

/// Fills with random capital letters, as Kafka's own tool sends them, or with random bytes.
pub(crate) fn fill(bytes: &mut [u8], are_letters: bool, rng: &mut Pcg64) {
    for chunk in bytes.chunks_mut(8) {
        let random: u64 = rng.random();
        for (byte, random) in chunk.iter_mut().zip(random.to_le_bytes()) {
            *byte = if are_letters { b'A' + random % 26 } else { random };
        }
    }
}

/// The number of the next key that comes in turn; clients take turns too.
fn take_turn(next: &mut u64, clients: u64) -> u64 {
    std::mem::replace(next, *next + clients)
}

/// Draws one client's records.
#[derive(Debug)]
pub struct Draws {
    rng: Pcg64,
    /// The next key of this client, where keys come in turn: the clients take turns too.
    next_key: u64,
    clients: u64,
    /// The next value of this client, where values are numbers.
    next_value: u32,
}

impl Draws {
    /// Picks of client number `client` of so many.
    pub fn new(seed: u64, client: u32, clients: u32) -> Self {
        let rng = Pcg64::seed_from_u64(mix(seed, DRAW_SEEDS + u64::from(client)));
        Self { rng, next_key: client.into(), clients: clients.into(), next_value: 0 }
    }

    /// The next keys, where nothing else of their records is drawn.
    fn keys<const COUNT: usize>(&mut self, keys: &RecordKeys) -> [u32; COUNT] {
        keys.draw_all(&mut self.rng, || take_turn(&mut self.next_key, self.clients))
    }

    /// The next record.
    #[inline]
    pub fn draw(&mut self, source: &RecordSource) -> DrawnRecord {
        let key = source
            .keys
            .as_ref()
            .map_or(0, |keys| keys.draw(&mut self.rng, || take_turn(&mut self.next_key, self.clients)));
        let is_null = source.null_below > 0 && u64::from(self.rng.random::<u32>()) < source.null_below;
        let next_value = &mut self.next_value;
        let mut in_turn = || std::mem::replace(next_value, (*next_value + 1) % NULL);
        let value = if is_null { NULL } else { source.values.draw(&mut self.rng, &mut in_turn) };
        let pick = Pick { key, value };
        let partition = source.keys.as_ref().and_then(|keys| keys.partition(key));
        DrawnRecord { pick, partition }
    }
}

/// Builds one client's records from their picks.
#[derive(Debug)]
pub struct Builder {
    pool: BytePool,
    key: Vec<u8>,
    carry: u32,
}

/// A record's place in its batch.
#[derive(Debug, Clone, Copy)]
pub struct RecordDeltas {
    /// Its number there.
    pub offset_delta: u32,
    /// How much later than the first record it was accepted, ms.
    pub delta_ms: i64,
}

impl Builder {
    /// Picks of a client with this number.
    pub fn new(source: &RecordSource, client: u32) -> Self {
        let bytes = Rc::clone(&source.pool);
        let at = mix(0, client.into()) as usize % bytes.len().max(1);
        Self { pool: BytePool { bytes, at }, key: source.key_template(), carry: 0 }
    }

    /// Which share of values is random in a batch of so many records; of no meaning where it is not requested.
    pub fn random_share(&self, source: &RecordSource, count: u32) -> u32 {
        source.shares.as_ref().map_or(WHOLE, |shares| shares.of(count))
    }

    /// Appends a record.
    #[inline]
    pub fn append(
        &mut self,
        source: &RecordSource,
        out: &mut Vec<u8>,
        (pick, place): (Pick, RecordDeltas),
        trailer: &[u8; TRAILER_BYTES as usize],
        random_share: u32,
    ) {
        let key = source.keys.as_ref().map(|keys| keys.write(pick.key, &mut self.key));
        let headers = source.headers_of(pick);
        let bytes = source.values.bytes(pick.value) as usize;
        let rest = ((pick.value != NULL).then_some(bytes), headers.len());
        begin_record(out, place.offset_delta as i32, place.delta_ms, key, rest);
        self.append_value(source, out, pick, random_share);
        out.extend_from_slice(headers);
        let behind = if source.has_header_trailer(pick) { 0 } else { headers.len() };
        let end = out.len() - behind;
        out[end - trailer.len()..end].copy_from_slice(trailer);
    }

    /// Appends the value of a record as it is without a trailer; nothing where it is null.
    #[inline]
    pub fn append_value(&mut self, source: &RecordSource, out: &mut Vec<u8>, pick: Pick, random_share: u32) {
        let bytes = source.values.bytes(pick.value) as usize;
        match &source.shares {
            _ if pick.value == NULL || source.values.append(pick.value, out) => {}
            None => self.pool.append(out, bytes),
            Some(_) => {
                compressible::append(out, bytes, random_share, &mut self.carry, &mut self.pool);
            }
        }
    }

    /// The key of a record; `None`: it has none.
    #[inline]
    pub fn key<'k>(&'k mut self, source: &'k RecordSource, pick: Pick) -> Option<&'k [u8]> {
        source.keys.as_ref().map(|keys| keys.write(pick.key, &mut self.key))
    }
}
