//! The producer against whatever may happen to it: nothing is lost, nothing is answered twice, records of a partition
//! keep their order where that is promised, and the buffer is accounted for to the byte.

use super::*;
use crate::errors::ErrorCode;
use crate::records::BodySum;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const MS: u64 = 1_000_000;
pub(super) const PARTITIONS: usize = 4;

/// The numbers of a batch's records, as they were admitted.
impl RecordData for Vec<u64> {
    fn split_off(&mut self, at: u32) -> Self {
        Vec::split_off(self, at as usize)
    }
}

/// Bodies that compress to a share of their length.
pub(super) struct Plain {
    pub(super) shape: RecordShape,
    pub(super) share: f64,
}

impl Bodies<Vec<u64>> for Plain {
    fn seal(&mut self, _partition: i32, _first: u64, count: u32, user_data: &Vec<u64>) -> Sealed {
        assert_eq!(count as usize, user_data.len());
        let body_bytes = self.shape.body_bytes(count);
        let body = vec![0; (body_bytes as f64 * self.share) as usize];
        let (sum, compression) = (BodySum::of(&body), Compression::None);
        Sealed { body: body.into(), sum, compression, body_bytes, base_timestamp_ms: 0, max_timestamp_ms: 0 }
    }

    fn recycle(&mut self, _body: Bytes) {}
}

pub(super) fn config() -> ProducerConfig {
    ProducerConfig {
        client_id: String::new(),
        topics: vec!["t".to_owned()],
        acks: -1,
        batch_bytes: 1_000,
        linger_ns: 5 * MS,
        buffer_bytes: 10_000,
        fill_in_flight: false,
        is_synchronous: false,
        request_bytes_max: 3_000,
        in_flight_max: 5,
        request_timeout_ns: 30_000 * MS,
        delivery_timeout_ns: 10_000 * MS,
        retry_backoff_ns: 10 * MS,
        retry_backoff_max_ns: 100 * MS,
        compression: Compression::None,
        batch_records_max: u32::MAX,
        wall_offset_ns: 0,
        is_idempotent: false,
        transactions: None,
        partitioner: Partitioner::Sticky,
        adaptive_partitioning: true,
        availability_timeout_ns: 0,
        seed: 20_261_122,
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum ProducerStep {
    Admit {
        records: u64,
    },
    Wait {
        ns: u64,
    },
    /// A connection takes a request.
    Send {
        connection: usize,
        is_flushing: bool,
    },
    /// A request in flight ends: each batch of it by one of these.
    Answer {
        request: usize,
        endings: Vec<BatchEnding>,
    },
    /// A partition's leader is at the other connection, or gone.
    Move {
        partition: usize,
        to: Option<usize>,
    },
    Expire,
}

#[derive(Debug, Clone, Copy)]
enum BatchEnding {
    Acknowledged,
    Error(ErrorCode),
    Lost,
}

fn endings() -> impl Strategy<Value = Vec<BatchEnding>> {
    let one = prop_oneof![
        4 => Just(BatchEnding::Acknowledged),
        1 => Just(BatchEnding::Error(ErrorCode::REQUEST_TIMED_OUT)),
        1 => Just(BatchEnding::Error(ErrorCode::MESSAGE_TOO_LARGE)),
        1 => Just(BatchEnding::Error(ErrorCode::CORRUPT_MESSAGE)),
        1 => Just(BatchEnding::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED)),
        1 => Just(BatchEnding::Lost),
    ];
    prop::collection::vec(one, PARTITIONS)
}

fn steps() -> impl Strategy<Value = Vec<ProducerStep>> {
    let step = prop_oneof![
        4 => (1u64..60).prop_map(|records| ProducerStep::Admit { records }),
        3 => (0u64..200).prop_map(|ms| ProducerStep::Wait { ns: ms * MS }),
        4 => (0usize..2, any::<bool>()).prop_map(|(connection, is_flushing)| ProducerStep::Send { connection, is_flushing }),
        4 => (any::<usize>(), endings()).prop_map(|(request, endings)| ProducerStep::Answer { request, endings }),
        1 => (0..PARTITIONS, prop::option::of(0usize..2)).prop_map(|(partition, to)| ProducerStep::Move { partition, to }),
        1 => Just(ProducerStep::Expire),
    ];
    prop::collection::vec(step, 0..150)
}

/// A producer, what goes on around it, and what is known of each record.
pub(super) struct ProducerFixture {
    pub(super) producer: Producer<Vec<u64>>,
    bodies: Plain,
    pub(super) now_ns: u64,
    pub(super) leaders: Vec<Option<usize>>,
    pub(super) requests: Vec<usize>,
    admitted: u64,
    /// Acknowledged records by partition, in the order of their acknowledgements.
    acknowledged: BTreeMap<i32, Vec<u64>>,
    ended: BTreeSet<u64>,
}

impl ProducerFixture {
    pub(super) fn new(config: ProducerConfig, value_bytes: u32, share: f64) -> Self {
        let shape = RecordShape { value_bytes, has_own_timestamp: true, ..RecordShape::default() };
        Self {
            producer: Producer::new(config, shape, &[PARTITIONS]),
            bodies: Plain { shape, share },
            now_ns: 0,
            leaders: (0..PARTITIONS).map(|partition| Some(partition % 2)).collect(),
            requests: Vec::new(),
            admitted: 0,
            acknowledged: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    fn admit(&mut self, records: u64) -> u64 {
        let (leaders, mut next) = (&self.leaders, self.admitted);
        let sure = self.producer.sure_room(self.now_ns);
        let taken = self.producer.admit(
            records,
            self.now_ns,
            |partition| leaders[partition],
            |data, count| {
                data.extend(next..next + u64::from(count));
                next += u64::from(count);
            },
        );
        assert_eq!(next, self.admitted + taken);
        assert!(taken >= records.min(sure), "{taken} of {records} admitted, room for {sure} was sure");
        self.admitted = next;
        taken
    }

    pub(super) fn send(&mut self, connection: usize, is_flushing: bool) -> usize {
        let leaders = &self.leaders;
        let leads = |partition: usize| leaders[partition] == Some(connection);
        self.producer.collect(connection, self.now_ns, is_flushing, leads, &mut self.bodies);
        let staged = self.producer.staged.len();
        self.producer.staged.clear();
        if staged > 0 {
            let token = self.producer.track();
            self.requests.push(token);
        }
        staged
    }

    /// Compresses what is full; returns the sender's share of that in Java's client.
    pub(super) fn compress_full(&mut self) -> Option<f64> {
        let leaders = &self.leaders;
        self.producer.compress_full(|partition| leaders[partition].is_some(), &mut self.bodies)
    }

    fn answer(&mut self, request: usize, endings: &[BatchEnding]) {
        if self.requests.is_empty() {
            return;
        }
        let token = self.requests.swap_remove(request % self.requests.len());
        for batch in self.producer.untrack(token) {
            let now_ns = self.now_ns;
            match endings[batch.partition as usize] {
                BatchEnding::Acknowledged => self
                    .producer
                    .resolve(batch, Delivery::Acknowledged { written_ns: now_ns, received_ns: now_ns }),
                BatchEnding::Error(error) => self.producer.on_error(batch, error, now_ns),
                BatchEnding::Lost => self.producer.try_again(batch, now_ns),
            }
        }
    }

    fn step(&mut self, step: &ProducerStep) {
        match step {
            ProducerStep::Admit { records } => drop(self.admit(*records)),
            ProducerStep::Wait { ns } => self.now_ns += ns,
            ProducerStep::Send { connection, is_flushing } => drop(self.send(*connection, *is_flushing)),
            ProducerStep::Answer { request, endings } => self.answer(*request, endings),
            ProducerStep::Move { partition, to } => self.leaders[*partition] = *to,
            ProducerStep::Expire => drop(self.producer.expire(self.now_ns)),
        }
        self.settle();
    }

    fn settle(&mut self) {
        let mut outcomes = Vec::new();
        self.producer.take_outcomes(&mut outcomes);
        for (batch, outcome) in outcomes {
            assert_eq!(batch.user_data.len(), batch.count as usize);
            for record in &batch.user_data {
                assert!(self.ended.insert(*record), "record {record} ended twice");
            }
            if matches!(outcome, Delivery::Acknowledged { .. }) {
                self.acknowledged.entry(batch.partition).or_default().extend(&batch.user_data);
            }
        }
        self.check();
    }

    /// What holds at every instant.
    fn check(&self) {
        let producer = &self.producer;
        let flying = producer.in_flight.iter().flatten().flatten();
        let waiting = (0..PARTITIONS).flat_map(|partition| producer.queues.of(partition));
        let all: Vec<&ProducerBatch<Vec<u64>>> = flying.chain(waiting).collect();
        let charged: u64 = all.iter().map(|batch| batch.charged_bytes()).sum();
        assert_eq!((producer.used_bytes, producer.batches), (charged, all.len()));
        assert!(charged <= producer.config.buffer_bytes.max(producer.batch_cost_bytes));
        let open: u64 = all.iter().map(|batch| batch.user_data.len() as u64).sum();
        assert_eq!(open + self.ended.len() as u64, self.admitted, "records open and ended");
        for batch in &all {
            let bytes = match producer.config.compression {
                Compression::None => batch.bytes(),
                // As it was estimated before its last record; what a batch is divided into has another ratio.
                _ if batch.is_part => 0,
                _ => {
                    batch.ratio.batch_bytes(batch.body_bytes - batch.body_bytes.div_ceil(batch.count.into()))
                }
            };
            assert!(batch.count == 1 || bytes <= batch.bytes_max, "{batch:?}");
            assert!(batch.user_data.is_sorted() && batch.count > 0, "{batch:?}");
        }
        for partition in 0..PARTITIONS {
            let firsts = producer.queues.of(partition).map(|batch| batch.first);
            assert!(firsts.is_sorted_by(|a, b| a < b), "the queue keeps the order of its records");
            let flying = producer.in_flight.iter().flatten().flatten();
            let flying = flying.filter(|batch| batch.partition as usize == partition).count();
            assert_eq!(producer.in_flight_counts[partition] as usize, flying);
        }
    }

    /// Answers everything well until nothing is left.
    fn drain(&mut self) {
        self.leaders = vec![Some(0); PARTITIONS];
        for _ in 0..1_000 {
            self.now_ns += 200 * MS;
            while self.send(0, true) > 0 {
                self.settle();
            }
            while !self.requests.is_empty() {
                self.answer(0, &[BatchEnding::Acknowledged; PARTITIONS]);
                self.settle();
            }
            if self.producer.is_idle() {
                return;
            }
        }
        panic!("does not come to an end");
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_ends_twice(
        steps in steps(),
        value_bytes in 0u32..1_200,
        in_flight_max in prop_oneof![Just(1u32), Just(5)],
        share in prop_oneof![Just(None), (0.2f64..1.1).prop_map(Some)],
        is_round_robin: bool,
        is_hasty: bool,
        linger_ms in 0u64..20,
    ) {
        let compression = if share.is_some() { Compression::Zstd } else { Compression::None };
        let partitioner = if is_round_robin { Partitioner::RoundRobin } else { Partitioner::Sticky };
        let config = ProducerConfig {
            in_flight_max,
            compression,
            partitioner,
            linger_ns: linger_ms * MS,
            delivery_timeout_ns: if is_hasty { 100 * MS } else { 10_000 * MS },
            ..config()
        };
        let mut world = ProducerFixture::new(config, value_bytes, share.unwrap_or(1.0));
        for step in &steps {
            world.step(step);
        }
        world.drain();
        prop_assert_eq!(world.ended.len() as u64, world.admitted);
        prop_assert_eq!(world.producer.used_bytes, 0);
        if in_flight_max == 1 {
            // Also those that were sent again are acknowledged in the order in which they were admitted.
            for records in world.acknowledged.values() {
                prop_assert!(records.is_sorted(), "{records:?}");
            }
        }
    }
}

/// Admits so many records at each of these instants, ms.
pub(super) fn admitted(world: &mut ProducerFixture, each: u64, instants_ms: impl IntoIterator<Item = u64>) {
    for ms in instants_ms {
        world.now_ns = ms * MS;
        assert_eq!(world.admit(each), each);
    }
}

/// Records of 100 bytes take 109: 8 of them fill a batch of 1,000 bytes.
#[test]
fn a_batch_is_full_when_a_record_found_no_room() {
    let mut world = ProducerFixture::new(config(), 100, 1.0);
    admitted(&mut world, 8, [0]);
    let current = world.producer.current;
    assert_eq!(world.producer.ready_ns(current, false, 0), Some(5 * MS), "it has lingered only then");
    admitted(&mut world, 1, [1]);
    assert_eq!(world.producer.ready_ns(current, false, 0), Some(0));
    assert_eq!(world.producer.queues.front(current).map(|batch| batch.count), Some(8));
}

/// Records of 110 bytes that compress to half: a batch of 16 KiB takes 282 of them once that is expected, where it would
/// take 149 uncompressed. Each partition has a leader of its own, so that none is sent half full along with another.
#[test]
fn compressed_batches_are_filled_by_their_expected_size() {
    let config = ProducerConfig {
        compression: Compression::Gzip,
        batch_bytes: 16_384,
        buffer_bytes: 1 << 20,
        ..config()
    };
    let mut world = ProducerFixture::new(config, 100, 0.5);
    world.leaders = (0..PARTITIONS).map(Some).collect();
    let mut counts = Vec::new();
    while counts.len() < 400 {
        admitted(&mut world, 20, [0]);
        for leader in 0..PARTITIONS {
            world.send(leader, false);
        }
        for token in std::mem::take(&mut world.requests) {
            for batch in world.producer.untrack(token) {
                assert!(batch.is_full() && batch.bytes() <= 16_384);
                counts.push(batch.count);
                world.producer.resolve(batch, Delivery::Acknowledged { written_ns: 0, received_ns: 0 });
            }
        }
        world.settle();
    }
    assert_eq!(counts[0], 141, "at first nothing is expected, and a twentieth is kept in reserve");
    assert!(counts[200..].iter().all(|count| *count == 282), "{counts:?}");
}

/// As the Java client divides: into batches of `batch.size`, each half of one that is refused again, down to a record
/// that cannot be divided.
#[test]
fn what_is_too_large_is_divided_until_it_fits() {
    let config = ProducerConfig { batch_bytes: 10_000, buffer_bytes: 1 << 20, ..config() };
    let mut world = ProducerFixture::new(config, 900, 1.0);
    admitted(&mut world, 10, [0]);
    let broker_max = 3_000;
    let mut sizes = Vec::new();
    while world.send(0, true) + world.send(1, true) > 0 {
        for token in std::mem::take(&mut world.requests) {
            for batch in world.producer.untrack(token) {
                sizes.push(batch.count);
                if batch.bytes() > broker_max {
                    world.producer.on_error(batch, ErrorCode::MESSAGE_TOO_LARGE, 0);
                } else {
                    world.producer.resolve(batch, Delivery::Acknowledged { written_ns: 0, received_ns: 0 });
                }
            }
        }
        world.settle();
        assert_eq!(world.producer.retries(), Retries::default(), "what is divided was not stored");
    }
    // 909 bytes each: all ten in a batch of `batch.size` too, then at most 4,575 bytes, then 1,848.
    assert_eq!(sizes, [10, 10, 4, 1, 1, 1, 1, 4, 1, 1, 1, 1, 2]);
    assert_eq!(
        world.acknowledged.values().flatten().copied().collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert!(world.producer.is_idle());
}

#[test]
fn a_record_that_is_too_large_alone_fails_with_that_reason() {
    let mut world = ProducerFixture::new(config(), 900, 1.0);
    admitted(&mut world, 1, [0]);
    assert_eq!(world.send(0, true) + world.send(1, true), 1);
    world.answer(0, &[BatchEnding::Error(ErrorCode::MESSAGE_TOO_LARGE); PARTITIONS]);
    let mut outcomes = Vec::new();
    world.producer.take_outcomes(&mut outcomes);
    assert_eq!(outcomes[0].1, Delivery::Failed { reason: "MESSAGE_TOO_LARGE" });
}

/// The pause is for the broker that did not take the batch: a new leader gets it at once.
#[test]
fn a_new_leader_gets_what_is_sent_again_at_once() {
    let mut world = ProducerFixture::new(config(), 900, 1.0);
    admitted(&mut world, 1, [0]);
    let partition = world.producer.current;
    let leader = world.leaders[partition].unwrap_or(0);
    assert_eq!(world.send(leader, true), 1);
    world.answer(0, &[BatchEnding::Error(ErrorCode::NOT_LEADER_OR_FOLLOWER); PARTITIONS]);
    assert_eq!(world.send(leader, true), 0, "it pauses");
    let ready = |world: &ProducerFixture| {
        let leader = world.leaders[partition];
        world.producer.next_ready(true, |_| leader).unwrap_or(u64::MAX)
    };
    assert!((8 * MS..=12 * MS).contains(&ready(&world)), "{}", ready(&world));
    world.leaders[partition] = Some(1 - leader);
    assert_eq!(ready(&world), 0);
    assert_eq!(world.send(1 - leader, true), 1);
}
