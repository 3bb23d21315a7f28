//! What an idempotent producer concludes from the sequences of batches that were answered, or gave up.

use super::batch::ProducerState;
use super::tests_idempotence::{BatchFate, PARTITIONS, in_flight};
use super::*;
use std::collections::BTreeMap;

/// The sequence after the largest one is 0, within a batch and behind it.
#[test]
fn sequences_begin_again_after_the_largest() {
    let state = |sequence| ProducerState { id: 7, epoch: 0, sequence };
    assert_eq!(state(i32::MAX - 1).after(1), state(i32::MAX));
    assert_eq!(state(i32::MAX - 1).after(2), state(0));
    assert_eq!(state(i32::MAX).after(5), state(4));
    assert_eq!(ProducerState::NONE.after(5), ProducerState::NONE);
}

/// Batches of one record each that are in flight with these sequences, and what is known of them.
fn numbered<const BATCHES: usize>(sequences: [i32; BATCHES]) -> (Idempotence, Vec<ProducerBatch<Vec<u64>>>) {
    let mut world = in_flight(BATCHES);
    (0..BATCHES).for_each(|_| assert!(world.send(&[BatchFate::Answered; PARTITIONS])));
    let tokens = world.requests.iter().map(|(token, _)| *token);
    let mut batches: Vec<_> = tokens.flat_map(|token| world.producer.untrack(token)).collect();
    for (batch, sequence) in batches.iter_mut().zip(sequences) {
        batch.sending_mut().producer.sequence = sequence;
    }
    (world.producer.idempotence.expect("idempotent"), batches)
}

/// Also where what was sent is acknowledged, or gives up, on both sides of the largest one.
#[test]
fn what_follows_the_largest_sequence_is_later() {
    let (mut idempotence, batches) = numbered([i32::MAX - 1, 1, 0, 2]);
    batches[..3].iter().for_each(|batch| idempotence.note_stored(batch));
    assert!(idempotence.is_next(&batches[3]));
    [0, 2, 1].into_iter().for_each(|gave_up| idempotence.note_expired(&batches[gave_up]));
    assert!(idempotence.is_retried(&batches[3], ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(idempotence.heal(), BTreeMap::from([(0, 3)]), "it is known to come behind a gap");
}

/// A batch with a later one behind it that was acknowledged is no gap: the broker has it, and only does not know it any
/// more. In a new epoch it would have it twice, whether the batch before it gave up or a later one has failed.
#[test]
fn what_the_broker_forgot_begins_no_epoch() {
    let (mut idempotence, batches) = numbered([0, 1, 2]);
    idempotence.note_stored(&batches[2]);
    idempotence.note_expired(&batches[0]);
    assert!(idempotence.is_retried(&batches[1], ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(idempotence.heal(), BTreeMap::new());

    let (mut idempotence, mut batches) = numbered([0, 1, 2]);
    idempotence.note_stored(&batches[1]);
    idempotence.note_failed(&batches[2], ErrorCode::INVALID_RECORD);
    assert_eq!(idempotence.heal(), BTreeMap::from([(0, 2)]));
    idempotence.renumber(0, 2, batches[..1].iter_mut());
    assert!(idempotence.is_retried(&batches[0], ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(idempotence.heal(), BTreeMap::new());
}
