//! Transactions of Java clients: what their process is sent, and what it says of each.

use super::{JavaBehaviour, MS, T0, open, produced, sum_ns};
use crate::java::frames::tests::{ToJava, said};
use crate::java::frames::{FromJava, TransactionHow, TransactionOver};
use kdyno_kafka::producer::TransactionPartitions;
use kdyno_model::event::EventKind;
use kdyno_model::plan::{ProducePlan, TransactionsPlan};
use kdyno_model::sample::Timing;

fn plan() -> ProducePlan {
    let transactions = Some(TransactionsPlan { every_ns: 500 * MS, records: None, abort_share: 0.25 });
    ProducePlan { transactions, ..open(1_000.0) }
}

/// What the process says of a transaction that it began to end then, in 5 ms.
fn over(ms: u64, how: TransactionHow<'_>, sure: u32, unsure: u32) -> (u64, Vec<u8>) {
    let (asked_ns, ended_ns) = (T0 + ms * MS, T0 + (ms + 5) * MS);
    let partitions = TransactionPartitions { sure, unsure };
    let ended = TransactionOver { asked_ns, ended_ns, how, partitions };
    (ended_ns, said(&FromJava::Transaction { client: 0, ended }))
}

#[test]
fn transactions_are_counted_as_the_process_reports_them() {
    let says = vec![
        over(500, TransactionHow::Committed, 6, 0),
        over(1_000, TransactionHow::Aborted, 5, 0),
        over(1_500, TransactionHow::Failed("delivery-timeout"), 3, 2),
        over(2_000, TransactionHow::Failed("delivery-timeout"), 0, 1),
        // The last one ends with the load: the process is not asked to end before.
        over(3_100, TransactionHow::Committed, 4, 0),
    ];
    let outcome = produced(plan(), 1, JavaBehaviour { says, ..JavaBehaviour::default() });
    outcome.assert_accounted();
    let counts = &outcome.totals.counts;
    assert_eq!((counts.committed, counts.aborted), (2, 3), "{counts:?}");
    assert_eq!((counts.markers, counts.markers_unsure), (18, 3), "{counts:?}");
    assert_eq!(sum_ns(&outcome, Timing::Commit), 10 * u128::from(MS), "of commits alone");
    let failed: Vec<&str> = outcome
        .events
        .iter()
        .filter(|event| event.kind == EventKind::TransactionAborted)
        .map(|event| event.detail.as_str())
        .collect();
    assert_eq!(failed, ["a transaction was aborted: delivery-timeout"], "each reason once");
    assert_eq!(outcome.heard.iter().filter(|heard| matches!(heard, ToJava::End)).count(), 1);
}

#[test]
fn the_process_is_sent_ids_and_pace() {
    let outcome = produced(plan(), 2, JavaBehaviour::default());
    let Some(ToJava::Task { clients, role, .. }) = outcome.heard.first() else { panic!("a task") };
    let ids: Vec<&str> = clients.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["test-0000000000000007-item-4", "test-0000000000000007-item-5"]);
    assert_eq!(role[11..19], (500 * MS).to_be_bytes());
    assert_eq!(role[19..27], 0.25f64.to_be_bytes());
    let plain = produced(open(10.0), 1, JavaBehaviour::default());
    let Some(ToJava::Task { clients, role, .. }) = plain.heard.first() else { panic!("a task") };
    assert_eq!((clients[0].1.as_str(), &role[11..19]), ("", &[0; 8][..]));
}

/// Whether it left markers is unknown: it may have in all of the topic's six partitions.
#[test]
fn a_transaction_whose_end_is_not_reported_is_unsure() {
    let says = vec![over(500, TransactionHow::Committed, 6, 0)];
    let outcome = produced(plan(), 1, JavaBehaviour { says, ..JavaBehaviour::default() });
    let counts = &outcome.totals.counts;
    assert_eq!((counts.committed, counts.markers, counts.markers_unsure), (1, 6, 6), "{counts:?}");
    assert!(
        !outcome.heard.iter().any(|heard| matches!(heard, ToJava::End)),
        "it waits for the end of the last one"
    );
    assert_eq!((counts.acknowledged, counts.offered), (600, 600), "{counts:?}");
}
