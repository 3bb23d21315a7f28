//! Idempotent producers against brokers that check sequences: whatever happens to requests and replies, every partition
//! holds each record at most once and in order, and what was acknowledged is there.

use super::batch::ProducerState;
use super::tests::{Plain, config};
use super::*;
use crate::errors::ErrorCode;
use crate::messages::{Message as _, m22_init_producer_id};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const MS: u64 = 1_000_000;
pub(super) const PARTITIONS: usize = 2;
/// Batches of a producer that a broker remembers.
const REMEMBERED: usize = 5;

/// What a broker knows of the producer in one partition, and the records it has.
#[derive(Debug, Default)]
struct Log {
    epoch: i16,
    /// First and last sequence of the latest batches.
    latest: VecDeque<(i32, i32)>,
    records: Vec<u64>,
    /// The first sequence that it took. Above 0 it was refused or lost what came before, and neither order nor
    /// uniqueness is promised.
    began_at: Option<i32>,
}

impl Log {
    fn has(&self, batch: &ProducerBatch<Vec<u64>>) -> bool {
        batch.user_data.first().is_some_and(|first| self.records.contains(first))
    }

    /// The broker's answer, by the rules of `ProducerAppendInfo`.
    fn append(&mut self, batch: &ProducerBatch<Vec<u64>>) -> ErrorCode {
        let ProducerState { epoch, sequence, .. } = batch.producer();
        let last = batch.producer().after(batch.count - 1).sequence;
        if epoch < self.epoch {
            return ErrorCode(47); // INVALID_PRODUCER_EPOCH
        }
        if epoch == self.epoch && self.latest.contains(&(sequence, last)) {
            return ErrorCode::NONE;
        }
        let expected = match self.latest.back() {
            Some((_, last)) if epoch == self.epoch => last + 1,
            Some(_) => 0,
            // From a producer that it does not know it takes any.
            None => sequence,
        };
        if sequence != expected {
            return ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
        }
        self.began_at.get_or_insert(sequence);
        if epoch > self.epoch {
            self.epoch = epoch;
            self.latest.clear();
        }
        self.latest.push_back((sequence, last));
        if self.latest.len() > REMEMBERED {
            self.latest.pop_front();
        }
        self.records.extend(&batch.user_data);
        ErrorCode::NONE
    }
}

/// What happens to a batch on its way.
#[derive(Debug, Clone, Copy)]
pub(super) enum BatchFate {
    Answered,
    /// Refused before the broker looks at its sequence.
    Refused(ErrorCode),
    /// Stored, and answered with an error.
    StoredAndRefused,
    /// The request is lost, or its answer.
    Lost {
        is_stored: bool,
    },
}

#[derive(Debug, Clone)]
enum IdempotenceStep {
    Admit(u64),
    Wait(u64),
    Send(Vec<BatchFate>),
    /// A request's answer comes, not always in the order of the requests: they go over several connections.
    Answer(usize),
    Expire,
}

fn steps() -> impl Strategy<Value = Vec<IdempotenceStep>> {
    let fate = prop_oneof![
        8 => Just(BatchFate::Answered),
        1 => Just(BatchFate::Refused(ErrorCode::NOT_ENOUGH_REPLICAS)),
        1 => Just(BatchFate::Refused(ErrorCode::MESSAGE_TOO_LARGE)),
        1 => Just(BatchFate::Refused(ErrorCode::INVALID_RECORD)),
        1 => Just(BatchFate::StoredAndRefused),
        1 => any::<bool>().prop_map(|is_stored| BatchFate::Lost { is_stored }),
    ];
    let step = prop_oneof![
        3 => (1u64..40).prop_map(IdempotenceStep::Admit),
        2 => (0u64..60).prop_map(IdempotenceStep::Wait),
        4 => prop::collection::vec(fate, PARTITIONS).prop_map(IdempotenceStep::Send),
        4 => any::<usize>().prop_map(IdempotenceStep::Answer),
        1 => Just(IdempotenceStep::Expire),
    ];
    prop::collection::vec(step, 0..200)
}

/// The producer gets an id that it needs.
fn identify(producer: &mut Producer<Vec<u64>>, producer_epoch: i16) {
    let answer = m22_init_producer_id::Response { producer_id: 7, producer_epoch, ..Default::default() };
    let mut body = Vec::new();
    answer.encode(4, &mut body);
    assert_eq!(producer.asks_id_at(), Some(0));
    producer.ask_id();
    producer.on_id(4, &body, 0).expect("an id");
}

pub(super) struct IdempotenceFixture {
    pub(super) producer: Producer<Vec<u64>>,
    bodies: Plain,
    now_ns: u64,
    admitted: u64,
    logs: Vec<Log>,
    /// Requests in flight, and what each of their batches will hear; `None`: nothing.
    pub(super) requests: Vec<(usize, BTreeMap<i32, Option<ErrorCode>>)>,
    acknowledged: Vec<BTreeSet<u64>>,
}

impl IdempotenceFixture {
    fn new(delivery_timeout_ns: u64) -> Self {
        let shape = RecordShape { value_bytes: 100, has_own_timestamp: true, ..RecordShape::default() };
        let config =
            ProducerConfig { is_idempotent: true, delivery_timeout_ns, buffer_bytes: 40_000, ..config() };
        let mut producer = Producer::new(config, shape, &[PARTITIONS]);
        identify(&mut producer, 0);
        Self {
            producer,
            bodies: Plain { shape, share: 1.0 },
            now_ns: 0,
            admitted: 0,
            logs: (0..PARTITIONS).map(|_| Log::default()).collect(),
            requests: Vec::new(),
            acknowledged: vec![BTreeSet::new(); PARTITIONS],
        }
    }

    fn admit(&mut self, records: u64) {
        let mut next = self.admitted;
        self.producer.admit(
            records,
            self.now_ns,
            |_| Some(0),
            |data, count| {
                data.extend(next..next + u64::from(count));
                next += u64::from(count);
            },
        );
        self.admitted = next;
    }

    /// One record to the first partition.
    fn admit_one(&mut self) {
        let record = self.admitted;
        let leader = |partition| (partition == 0).then_some(0);
        self.producer.admit(1, self.now_ns, leader, |data, _| data.push(record));
        self.admitted += 1;
    }

    /// Five requests may be in flight.
    pub(super) fn send(&mut self, fates: &[BatchFate]) -> bool {
        self.producer.heal_sequences();
        if self.requests.len() >= 5 {
            return false;
        }
        self.producer.collect(0, self.now_ns, true, |_| true, &mut self.bodies);
        if self.producer.staged.is_empty() {
            return false;
        }
        self.producer.staged.clear();
        let token = self.producer.track();
        let mut verdicts = BTreeMap::new();
        for batch in self.producer.in_flight[token].iter().flatten() {
            let log = &mut self.logs[batch.partition as usize];
            let fate = match fates[batch.partition as usize] {
                // What it has stored it does not refuse later.
                BatchFate::Refused(_) if log.has(batch) => BatchFate::Answered,
                fate => fate,
            };
            let verdict = match fate {
                BatchFate::Answered => Some(log.append(batch)),
                BatchFate::Refused(error) => Some(error),
                BatchFate::StoredAndRefused => {
                    log.append(batch);
                    Some(ErrorCode::REQUEST_TIMED_OUT)
                }
                BatchFate::Lost { is_stored } => {
                    if is_stored {
                        log.append(batch);
                    }
                    None
                }
            };
            verdicts.insert(batch.partition, verdict);
        }
        self.requests.push((token, verdicts));
        true
    }

    fn answer(&mut self, request: usize) {
        if self.requests.is_empty() {
            return;
        }
        let (token, verdicts) = self.requests.remove(request % self.requests.len());
        let now_ns = self.now_ns;
        for batch in self.producer.untrack(token) {
            match verdicts[&batch.partition] {
                Some(ErrorCode::NONE) => {
                    self.producer.note_stored(&batch);
                    let outcome = Delivery::Acknowledged { written_ns: now_ns, received_ns: now_ns };
                    self.producer.resolve(batch, outcome);
                }
                Some(error) => self.producer.on_error(batch, error, now_ns),
                None => self.producer.try_again(batch, now_ns),
            }
        }
    }

    fn step(&mut self, step: &IdempotenceStep) {
        match step {
            IdempotenceStep::Admit(records) => self.admit(*records),
            IdempotenceStep::Wait(ms) => self.now_ns += ms * MS,
            IdempotenceStep::Send(fates) => drop(self.send(fates)),
            IdempotenceStep::Answer(request) => self.answer(*request),
            IdempotenceStep::Expire => drop(self.producer.expire(self.now_ns)),
        }
        let mut outcomes = Vec::new();
        self.producer.take_outcomes(&mut outcomes);
        for (batch, outcome) in outcomes {
            if matches!(outcome, Delivery::Acknowledged { .. }) {
                self.acknowledged[batch.partition as usize].extend(&batch.user_data);
            }
        }
        for (log, acknowledged) in self.logs.iter().zip(&self.acknowledged) {
            assert!(
                log.began_at > Some(0) || log.records.is_sorted_by(|a, b| a < b),
                "stored twice, or out of order: {:?}",
                log.records
            );
            let stored: BTreeSet<u64> = log.records.iter().copied().collect();
            assert!(acknowledged.is_subset(&stored), "acknowledged and not stored");
        }
    }
}

proptest! {
    #[test]
    fn each_record_is_stored_once_and_in_order(steps in steps(), is_hasty: bool) {
        let mut world = IdempotenceFixture::new(if is_hasty { 150 * MS } else { 10_000 * MS });
        for step in &steps {
            world.step(step);
        }
        for round in 0..1_000 {
            prop_assert!(round < 999, "it does not come to an end: {:?}", world.producer.idempotence);
            world.step(&IdempotenceStep::Wait(200));
            while world.send(&[BatchFate::Answered; PARTITIONS]) {}
            while !world.requests.is_empty() {
                world.step(&IdempotenceStep::Answer(0));
            }
            if world.producer.is_idle() {
                break;
            }
        }
    }
}

/// Requests of one batch of one record each, all of one partition.
pub(super) fn in_flight(batches: usize) -> IdempotenceFixture {
    let mut world = IdempotenceFixture::new(10_000 * MS);
    world.producer.config.batch_bytes = 1;
    world.producer.batch_cost_bytes = world.producer.shape.buffer_bytes(1);
    (0..batches).for_each(|_| world.admit_one());
    world
}

/// A batch that the broker will not have leaves a gap: those behind it are sent again in a new epoch, numbered from 0.
#[test]
fn a_batch_that_failed_begins_a_new_epoch() {
    let mut world = in_flight(3);
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    assert!(world.send(&[BatchFate::Refused(ErrorCode::INVALID_RECORD); PARTITIONS]));
    assert!(
        world.send(&[BatchFate::Answered; PARTITIONS]),
        "the broker answers OUT_OF_ORDER_SEQUENCE_NUMBER"
    );
    (0..3).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
    world.step(&IdempotenceStep::Wait(200));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    world.step(&IdempotenceStep::Answer(0));
    assert!(world.producer.is_idle());
    assert_eq!((world.logs[0].records.as_slice(), world.logs[0].epoch), ([0, 2].as_slice(), 1));
    assert_eq!(Vec::from(world.logs[0].latest.clone()), [(0, 0)]);
}

/// While a batch is sent again nothing else of its partition is sent.
#[test]
fn a_batch_that_is_sent_again_goes_alone() {
    let mut world = in_flight(7);
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]), "from now on the broker knows the producer");
    world.step(&IdempotenceStep::Answer(0));
    assert!(world.send(&[BatchFate::Refused(ErrorCode::NOT_ENOUGH_REPLICAS); PARTITIONS]));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    (0..2).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
    world.step(&IdempotenceStep::Wait(200));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    assert!(!world.send(&[BatchFate::Answered; PARTITIONS]), "the second one waits for the first");
    world.step(&IdempotenceStep::Answer(0));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]), "those that were never sent follow at once");
    assert_eq!(world.logs[0].records, [0, 1, 2, 3]);
    assert_eq!(world.logs[0].epoch, 0);
}

/// A broker that does not know the producer takes any sequence as its first: what was refused before is overtaken, and
/// gives up, as with the Java client.
#[test]
fn a_first_batch_that_was_refused_is_overtaken_and_gives_up() {
    let mut world = in_flight(2);
    assert!(world.send(&[BatchFate::Refused(ErrorCode::NOT_ENOUGH_REPLICAS); PARTITIONS]));
    assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
    (0..2).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
    for _ in 0..60 {
        assert_eq!(world.producer.is_idle(), world.now_ns >= 10_000 * MS, "at {} ns", world.now_ns);
        world.step(&IdempotenceStep::Wait(200));
        while world.send(&[BatchFate::Answered; PARTITIONS]) {}
        while !world.requests.is_empty() {
            world.step(&IdempotenceStep::Answer(0));
        }
    }
    assert_eq!((world.logs[0].records.as_slice(), world.logs[0].epoch), ([1].as_slice(), 0));
}

/// A batch that is sent again travels with new ones. Stored and refused twice it has four batches behind it each time:
/// the broker, which remembers five, does not know it any more, and it gives up although it is there, as with the Java
/// client. Refused once it is known.
#[test]
fn a_batch_that_the_broker_forgot_gives_up_although_it_is_there() {
    for is_spoilt_twice in [false, true] {
        let mut world = in_flight(9);
        let fates = [
            BatchFate::StoredAndRefused,
            if is_spoilt_twice { BatchFate::StoredAndRefused } else { BatchFate::Answered },
        ];
        for fate in fates {
            assert!(world.send(&[fate; PARTITIONS]));
            (0..4).for_each(|_| assert!(world.send(&[BatchFate::Answered; PARTITIONS])));
            assert!(!world.send(&[BatchFate::Answered; PARTITIONS]), "five are in flight");
            (0..5).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
            world.step(&IdempotenceStep::Wait(20));
        }
        while !world.producer.is_idle() {
            world.send(&[BatchFate::Answered; PARTITIONS]);
            world.step(&IdempotenceStep::Answer(0));
            world.step(&IdempotenceStep::Wait(100));
        }
        assert_eq!(world.logs[0].records, (0..9).collect::<Vec<_>>());
        assert_eq!(world.logs[0].epoch, 0);
        assert_eq!(world.acknowledged[0].contains(&0), !is_spoilt_twice);
        assert_eq!(world.now_ns >= 10_000 * MS, is_spoilt_twice, "at {} ns", world.now_ns);
    }
}

/// Whether a batch that gave up was stored is unknown. What comes next waits for all that is open; it begins a new
/// epoch unless a later batch was acknowledged, which shows that there is no gap.
#[test]
fn what_gave_up_is_found_out_before_anything_new_is_sent() {
    for (batches, is_stored, records, epoch) in
        [(2, true, vec![0, 1, 2], 0), (1, false, vec![1], 1), (1, true, vec![0, 1], 1)]
    {
        let mut world = in_flight(batches);
        assert!(world.send(&[BatchFate::Lost { is_stored }; PARTITIONS]));
        while world.send(&[BatchFate::Answered; PARTITIONS]) {}
        (0..batches).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
        world.step(&IdempotenceStep::Wait(10_000));
        world.step(&IdempotenceStep::Expire);
        world.admit_one();
        assert!(world.send(&[BatchFate::Answered; PARTITIONS]));
        world.step(&IdempotenceStep::Answer(0));
        assert!(world.producer.is_idle());
        assert_eq!((&world.logs[0].records, world.logs[0].epoch), (&records, epoch), "{batches} {is_stored}");
    }
}

#[test]
fn without_the_right_to_an_id_everything_fails_with_that_reason() {
    let mut world = in_flight(2);
    world.producer.idempotence = Some(Idempotence::new(PARTITIONS));
    assert!(!world.send(&[BatchFate::Answered; PARTITIONS]), "nothing goes out without an id");
    let refused = m22_init_producer_id::Response {
        error_code: ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ..Default::default()
    };
    let mut body = Vec::new();
    refused.encode(4, &mut body);
    world.producer.ask_id();
    world.producer.on_id(4, &body, 0).expect("an answer");
    assert_eq!(world.producer.asks_id_at(), None);
    assert_eq!(world.producer.next_expiry(), Some(0));
    assert!(world.producer.expire(0));
    let mut outcomes = Vec::new();
    world.producer.take_outcomes(&mut outcomes);
    assert_eq!(outcomes.len(), 2);
    let reason = "CLUSTER_AUTHORIZATION_FAILED";
    assert!(outcomes.iter().all(|(_, outcome)| *outcome == Delivery::Failed { reason }));
}

/// A coordinator that is still loading is asked again after a pause.
#[test]
fn an_id_is_asked_for_until_it_comes() {
    let mut producer = in_flight(0).producer;
    producer.idempotence = Some(Idempotence::new(PARTITIONS));
    let mut answer = |error_code: ErrorCode, now_ns: u64| {
        let response = m22_init_producer_id::Response { error_code, ..Default::default() };
        let mut body = Vec::new();
        response.encode(4, &mut body);
        producer.ask_id();
        assert_eq!(producer.asks_id_at(), None, "it is asked");
        producer.on_id(4, &body, now_ns).expect("an answer");
        producer.asks_id_at()
    };
    let again = answer(ErrorCode(14), 0).expect("COORDINATOR_LOAD_IN_PROGRESS may pass");
    assert!((8 * MS..=12 * MS).contains(&again), "{again}");
    assert_eq!(answer(ErrorCode::NONE, again), None);
}

/// What cannot be read ends the connection, and the id is requested over another one.
#[test]
fn an_answer_that_is_no_id_is_asked_for_again() {
    let mut producer = in_flight(0).producer;
    producer.idempotence = Some(Idempotence::new(PARTITIONS));
    producer.ask_id();
    producer.on_id(4, &[0; 3], 100 * MS).expect_err("three bytes are no answer");
    let again = producer.asks_id_at().expect("it is asked for again");
    assert!((108 * MS..=112 * MS).contains(&again), "{again}");
}

/// After the last epoch comes another id, and what is in flight loses its sequence: parts that it is divided into then
/// get theirs when they are sent.
#[test]
fn parts_of_what_lost_its_sequence_are_sent_as_another_producer() {
    let mut world = IdempotenceFixture::new(10_000 * MS);
    world.producer.idempotence = Some(Idempotence::new(PARTITIONS));
    identify(&mut world.producer, i16::MAX);
    world.admit_one();
    assert!(world.send(&[BatchFate::Refused(ErrorCode::INVALID_RECORD); PARTITIONS]));
    (0..3).for_each(|_| world.admit_one());
    assert!(world.send(&[BatchFate::Refused(ErrorCode::MESSAGE_TOO_LARGE); PARTITIONS]));
    world.step(&IdempotenceStep::Answer(0));
    world.producer.heal_sequences();
    world.producer.batch_cost_bytes = 1;
    world.step(&IdempotenceStep::Answer(0));
    identify(&mut world.producer, 0);
    (0..3).for_each(|_| assert!(world.send(&[BatchFate::Answered; PARTITIONS]), "a record each"));
    (0..3).for_each(|_| world.step(&IdempotenceStep::Answer(0)));
    assert_eq!(world.logs[0].records, [1, 2, 3]);
    assert!(world.producer.is_idle());
}
