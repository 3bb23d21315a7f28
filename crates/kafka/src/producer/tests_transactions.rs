//! A transactional producer and what its coordinator may say, request by request.

mod world;

use super::TransactionRequest::{AddPartitions, EndTxn, FindCoordinator, InitProducerId};
use super::tests::{Plain, config};
use super::*;
use crate::errors::ErrorCode;
use crate::messages::{
    Message as _, m10_find_coordinator, m22_init_producer_id, m24_add_partitions_to_txn, m26_end_txn,
};
use proptest::prelude::*;
use world::TransactionFixture;

const MS: u64 = 1_000_000;
const PARTITIONS: usize = 3;
const SHAPE: RecordShape =
    RecordShape { key_bytes: 0, value_bytes: 100, headers_bytes: 0, has_own_timestamp: true };
/// `retry.backoff.ms`.
const PAUSE_NS: u64 = 100 * MS;
/// The broker that coordinates.
const COORDINATOR: i32 = 7;

/// What the coordinator says of each of these partitions.
fn added(
    partitions: impl Iterator<Item = usize>,
    partition_error_code: ErrorCode,
) -> m24_add_partitions_to_txn::Response {
    let partition = |index: usize| m24_add_partitions_to_txn::AddPartitionsToTxnPartitionResult {
        partition_index: index as i32,
        partition_error_code,
    };
    let topic = m24_add_partitions_to_txn::AddPartitionsToTxnTopicResult {
        name: "t".to_owned(),
        results_by_partition: partitions.map(partition).collect(),
    };
    m24_add_partitions_to_txn::Response { results_by_topic_v3_and_below: vec![topic], ..Default::default() }
}

#[test]
fn before_kip_890_partitions_are_added_and_sequences_go_on() {
    let mut world = TransactionFixture::new(0);
    for first in [0, 1] {
        assert_eq!(world.asks(), None, "nothing before the first record");
        world.now_ns += 10 * MS;
        world.admit();
        assert_eq!(world.producer.transaction_began_ns(), Some(world.now_ns));
        assert!(world.send().is_none(), "no partition is in the transaction");
        world.answer(AddPartitions, ErrorCode::NONE);
        let (token, sent) = world.send().expect("they are in it");
        assert_eq!(sent, [(0, first, 1), (1, first, 1), (2, first, 1)]);
        world.producer.end_transaction(true, world.now_ns);
        assert_eq!((world.asks(), world.producer.takes_records()), (None, false), "what is open comes first");
        world.reply(token, ErrorCode::NONE);
        assert!(!world.producer.is_idle(), "the coordinator has not confirmed it");
        world.answer(EndTxn, ErrorCode::NONE);
        assert_eq!(world.ended(), [(TransactionEnd::Committed, 3, 0)]);
        assert!(world.producer.is_idle() && world.producer.takes_records());
    }
}

#[test]
fn with_kip_890_each_transaction_has_an_epoch() {
    let mut world = TransactionFixture::new(2);
    for epoch in [1, 2] {
        world.admit();
        assert_eq!(world.asks(), None);
        let (token, sent) = world.send().expect("at once");
        assert_eq!(sent, [(0, 0, epoch), (1, 0, epoch), (2, 0, epoch)]);
        world.reply(token, ErrorCode::NONE);
        world.producer.end_transaction(epoch == 1, world.now_ns);
        world.answer(EndTxn, ErrorCode::NONE);
        let end = if epoch == 1 { TransactionEnd::Committed } else { TransactionEnd::Aborted };
        assert_eq!(world.ended(), [(end, 3, 0)]);
    }
}

#[test]
fn a_partition_missing_in_the_answer_is_added_after_a_pause() {
    let mut world = TransactionFixture::new(0);
    world.admit();
    for reported in [vec![], vec![0, 2, 9]] {
        assert_eq!(world.asks(), Some(AddPartitions));
        world.note_asked(AddPartitions);
        let mut body = Vec::new();
        added(reported.into_iter(), ErrorCode::NONE).encode(3, &mut body);
        world.take(AddPartitions, 3, &body);
        assert_eq!(world.asks(), None, "not at once");
        world.now_ns += PAUSE_NS;
    }
    let (_, sent) = world.send().expect("those that were added");
    assert_eq!(sent, [(0, 0, 1), (2, 0, 1)]);
    world.answer(AddPartitions, ErrorCode::NONE);
    assert_eq!(world.send().expect("the last one").1, [(1, 0, 1)]);
}

/// What lingers goes out when the transaction ends.
#[test]
fn the_end_of_a_transaction_does_not_wait_for_linger() {
    let mut world = TransactionFixture::new(2);
    world.producer.config.linger_ns = 1_000 * MS;
    world.admit();
    assert!(world.send().is_none());
    world.producer.end_transaction(true, world.now_ns);
    assert_eq!(world.send().map(|(_, sent)| sent.len()), Some(3));
}

/// A batch that the broker will not have: what was never sent fails at once, what is in flight is waited for, and the
/// transaction is aborted. Before KIP-890 a new epoch is requested after that.
#[test]
fn a_batch_that_fails_leaves_nothing_but_to_abort() {
    for level in [0, 2] {
        let mut world = TransactionFixture::new(level);
        world.admit();
        if level == 0 {
            world.answer(AddPartitions, ErrorCode::NONE);
        }
        let (failing, _) = world.send().expect("a request");
        world.admit();
        let (open, _) = world.send().expect("another one");
        world.admit();
        world.reply(failing, ErrorCode::INVALID_RECORD);
        assert_eq!(world.reasons().iter().filter(|reason| **reason == TRANSACTION_ABORTED).count(), 3);
        world.admit();
        assert_eq!(world.admitted, 9, "no record is taken");
        assert_eq!(world.asks(), None, "a request is in flight");
        // What follows a batch that failed has a gap before it, and the transaction is lost anyway.
        world.reply(open, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(world.reasons(), ["OUT_OF_ORDER_SEQUENCE_NUMBER"; 3]);
        world.answer(EndTxn, ErrorCode::NONE);
        let partitions = if level == 0 { (3, 0) } else { (0, 3) };
        let end = TransactionEnd::Failed("INVALID_RECORD");
        assert_eq!(world.ended(), [(end, partitions.0, partitions.1)], "{level}");
        if level == 0 {
            assert!(!world.producer.takes_records());
            world.answer(InitProducerId, ErrorCode::NONE);
        }
        world.admit();
        if level == 0 {
            world.answer(AddPartitions, ErrorCode::NONE);
        }
        let (_, sent) = world.send().expect("the next transaction");
        assert_eq!(sent, [(0, 0, 2), (1, 0, 2), (2, 0, 2)], "{level}");
    }
}

/// A commit under way becomes an abort.
#[test]
fn what_gives_up_in_a_commit_aborts_it() {
    let mut world = TransactionFixture::new(2);
    world.admit();
    let (token, _) = world.send().expect("a request");
    world.producer.end_transaction(true, world.now_ns);
    world.reply(token, ErrorCode::NOT_ENOUGH_REPLICAS);
    world.now_ns += 10_000 * MS;
    world.producer.expire(world.now_ns);
    assert_eq!(world.reasons(), [DELIVERY_TIMEOUT; 3]);
    world.answer(EndTxn, ErrorCode::NONE);
    assert_eq!(world.ended(), [(TransactionEnd::Failed(DELIVERY_TIMEOUT), 0, 3)]);
}

/// Before KIP-890 a coordinator that has not added any partition hears nothing of the end.
#[test]
fn a_transaction_without_partitions_ends_unheard() {
    let mut world = TransactionFixture::new(0);
    world.admit();
    world.answer(AddPartitions, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(world.reasons(), [TRANSACTION_ABORTED; 3]);
    assert_eq!(world.ended(), [(TransactionEnd::Failed("TOPIC_AUTHORIZATION_FAILED"), 0, 3)]);
    assert_eq!(world.asks(), Some(InitProducerId), "it may have added some of them all the same");
}

/// Its records give up while the coordinator is asked to add their partitions: they may be in the transaction, so it
/// hears of the abort, and the next transaction has to add them again.
#[test]
fn a_transaction_is_not_over_while_its_partitions_are_added() {
    let mut world = TransactionFixture::new(0);
    world.admit();
    world.note_asked(AddPartitions);
    world.now_ns += 10_000 * MS;
    world.producer.expire(world.now_ns);
    world.producer.conclude(world.now_ns);
    assert_eq!(world.reasons(), [DELIVERY_TIMEOUT; 3]);
    assert_eq!((world.ended(), world.asks()), (Vec::new(), None));
    let mut body = Vec::new();
    added(0..PARTITIONS, ErrorCode::NONE).encode(3, &mut body);
    world.take(AddPartitions, 3, &body);
    world.answer(EndTxn, ErrorCode::NONE);
    assert_eq!(world.ended(), [(TransactionEnd::Failed(DELIVERY_TIMEOUT), 3, 0)]);
    world.answer(InitProducerId, ErrorCode::NONE);
    world.admit();
    assert!(world.send().is_none(), "no partition is in the next one");
    world.answer(AddPartitions, ErrorCode::NONE);
    assert!(world.send().is_some());
}

#[test]
fn coordinators_that_cannot_answer_are_asked_again() {
    for (error, elsewhere, pause_ns) in [
        (ErrorCode(14), false, PAUSE_NS), // COORDINATOR_LOAD_IN_PROGRESS
        (ErrorCode::NOT_COORDINATOR, true, PAUSE_NS),
        (ErrorCode::COORDINATOR_NOT_AVAILABLE, true, PAUSE_NS),
        // The transaction before is still being written: it takes less.
        (ErrorCode::CONCURRENT_TRANSACTIONS, false, 20 * MS),
    ] {
        let mut world = TransactionFixture::new(0);
        world.admit();
        world.answer(AddPartitions, error);
        if elsewhere {
            world.answer(FindCoordinator, ErrorCode::NONE);
        }
        let next = world.producer.next_transaction_request();
        assert_eq!(next, Some((AddPartitions, pause_ns)), "{error}");
        world.now_ns += pause_ns;
        world.answer(AddPartitions, ErrorCode::NONE);
        assert!(world.send().is_some());
    }
}

/// The connection is gone, or what came is no answer: the coordinator is looked up again.
#[test]
fn what_was_not_answered_is_asked_again() {
    for is_garbage in [false, true] {
        let mut world = TransactionFixture::new(2);
        world.admit();
        let (token, _) = world.send().expect("a request");
        world.reply(token, ErrorCode::NONE);
        world.producer.end_transaction(true, world.now_ns);
        world.note_asked(EndTxn);
        if is_garbage {
            assert!(world.producer.on_transaction_answer(EndTxn, (5, &[0; 3]), 2, 0).is_err());
        } else {
            world.producer.on_transaction_lost(0);
        }
        assert_eq!(world.producer.next_transaction_request(), Some((FindCoordinator, PAUSE_NS)));
        world.now_ns = PAUSE_NS;
        world.answer(FindCoordinator, ErrorCode::NONE);
        world.answer(EndTxn, ErrorCode::NONE);
        assert_eq!(world.ended(), [(TransactionEnd::Committed, 3, 0)]);
    }
}

/// Somebody else has the transactional id, or we may not use it: that is the end of this producer, whatever it waits for.
#[test]
fn a_fenced_producer_sends_nothing_any_more() {
    for (error, reported) in [
        (ErrorCode::PRODUCER_FENCED, "PRODUCER_FENCED"),
        (ErrorCode::INVALID_PRODUCER_EPOCH, "PRODUCER_FENCED"),
        (ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, "INVALID_PRODUCER_ID_MAPPING"),
        (ErrorCode::INVALID_TXN_STATE, "INVALID_TXN_STATE"),
    ] {
        let mut world = TransactionFixture::new(0);
        world.admit();
        world.answer(AddPartitions, error);
        assert_eq!(world.producer.ended_by().map(ErrorCode::name), Some(reported));
        assert!(world.producer.expire(world.now_ns));
        assert_eq!(world.reasons(), [reported; 3]);
        world.admit();
        assert_eq!((world.admitted, world.asks()), (3, None));
        assert!(world.producer.is_idle());
        assert_eq!(world.producer.open_partitions(), TransactionPartitions { sure: 0, unsure: 3 });
    }
}

/// What a leader says of a batch: some of it is the end of the producer, all else leaves an abort.
#[test]
fn what_a_leader_refuses_ends_the_producer_or_the_transaction() {
    for (error, is_end) in [
        (ErrorCode::PRODUCER_FENCED, true),
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, true),
        (ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, true),
        (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, true),
        (ErrorCode::INVALID_TXN_STATE, false),
        (ErrorCode::TRANSACTION_ABORTABLE, false),
        (ErrorCode::TOPIC_AUTHORIZATION_FAILED, false),
        (ErrorCode::UNKNOWN_PRODUCER_ID, false),
        (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, false),
    ] {
        let mut world = TransactionFixture::new(2);
        world.admit();
        let (token, _) = world.send().expect("a request");
        world.reply(token, error);
        assert_eq!(world.reasons(), [error.name(); 3]);
        assert_eq!(world.producer.ended_by(), is_end.then_some(error), "{error}");
        assert_eq!(world.asks(), (!is_end).then_some(EndTxn), "{error}");
    }
}

/// A coordinator may refuse a commit and leave the abort; one that refuses that too has the last word.
#[test]
fn a_commit_that_the_coordinator_refuses_is_aborted() {
    let mut world = TransactionFixture::new(2);
    world.admit();
    let (token, _) = world.send().expect("a request");
    world.reply(token, ErrorCode::NONE);
    world.producer.end_transaction(true, world.now_ns);
    world.answer(EndTxn, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!((world.ended(), world.producer.ended_by()), (Vec::new(), None));
    world.answer(EndTxn, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(world.producer.ended_by(), Some(ErrorCode::TRANSACTION_ABORTABLE));
}

/// A leader says so first: the abort shows whether it is true.
#[test]
fn an_epoch_that_a_leader_refuses_is_aborted() {
    let mut world = TransactionFixture::new(2);
    world.admit();
    let (token, _) = world.send().expect("a request");
    world.reply(token, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.producer.ended_by(), None);
    world.answer(EndTxn, ErrorCode::PRODUCER_FENCED);
    assert_eq!(world.producer.ended_by(), Some(ErrorCode::PRODUCER_FENCED));
    assert!(world.ended().is_empty());
}

proptest! {
    /// Whatever is answered in whatever order, it comes to rest: every record has an outcome, and either records are
    /// taken again or the producer has said why not.
    #[test]
    fn it_comes_to_rest(level in prop_oneof![Just(0i16), Just(2)], steps in prop::collection::vec((0u8..8, 0usize..8), 0..120)) {
        let mut world = TransactionFixture::new(level);
        let errors = [
            ErrorCode::NONE, ErrorCode::NONE, ErrorCode::NONE, ErrorCode::NOT_COORDINATOR, ErrorCode::CONCURRENT_TRANSACTIONS,
            ErrorCode::NOT_ENOUGH_REPLICAS, ErrorCode::INVALID_RECORD, ErrorCode::TRANSACTION_ABORTABLE,
        ];
        let mut open: Vec<usize> = Vec::new();
        for (step, which) in steps {
            match step {
                0 => world.admit(),
                1 => open.extend(world.send().map(|(token, _)| token)),
                2 | 3 if !open.is_empty() => {
                    let token = open.remove(which % open.len());
                    world.reply(token, errors[which]);
                }
                4 => world.producer.end_transaction(which % 2 == 0, world.now_ns),
                5 | 6 => if let Some(request) = world.asks() {
                    // InitProducerId is never abortable.
                    let error = if request == InitProducerId { ErrorCode::NONE } else { errors[which] };
                    world.answer(request, error);
                },
                _ => world.now_ns += which as u64 * 50 * MS,
            }
        }
        for round in 0..200 {
            prop_assert!(round < 199, "it does not come to rest: {:?}", world.producer.transactions);
            world.now_ns += 200 * MS;
            world.producer.expire(world.now_ns);
            open.extend(world.send().map(|(token, _)| token));
            open.drain(..).for_each(|token| world.reply(token, ErrorCode::NONE));
            world.producer.end_transaction(true, world.now_ns);
            world.producer.conclude(world.now_ns);
            if let Some(request) = world.asks() {
                world.answer(request, ErrorCode::NONE);
            }
            let is_at_rest = world.producer.takes_records() || world.producer.ended_by().is_some();
            if world.producer.is_idle() && is_at_rest {
                break;
            }
        }
        let mut outcomes = Vec::new();
        world.producer.take_outcomes(&mut outcomes);
        let records: usize = outcomes.iter().map(|(batch, _)| batch.user_data.len()).sum();
        prop_assert_eq!((records as u64, world.producer.used_bytes), (world.admitted, 0));
    }
}
