//! Records and how they fared.

use crate::caveat::row::{CaveatGroup, CaveatRow, CaveatWords, invalid, latency, note, reported, warning};
use crate::caveat::{Caveat, CaveatKind, Severity};

const RECORDS: CaveatRow = CaveatRow { group: CaveatGroup::Records, name: "item", ..CaveatRow::PLAIN };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::QueueGrowth,
        short: "{item}: more was offered than handled, and latencies include the wait in a queue",
        usual: latency(Severity::Warning, "queue seconds above what is allowed"),
        grave: Some(latency(
            Severity::Invalid,
            "queue seconds above five times what is allowed, or above what is allowed while open records rise throughout the window to \
             1.5 × what they were: latencies of that item",
        )),
        brief: "the load queued",
        words: &[
            reported(
                "{item}",
                "{item}: the queue was too long when the window began: it held {start_s:seconds} of the offered load, where \
                 {allowed_s:seconds} is allowed, and grew no further: latencies include the time in it",
                QUEUE_REMEDY,
            )
            .only(|of| matches!(of, Caveat::QueueGrowth { growth_s, .. } if *growth_s <= 0.0)),
            reported(
                "{item}",
                "{item}: the queue held {start_s:seconds} of the offered load when the window began and {growth_s:seconds} more when it \
                 ended, where {allowed_s:seconds} is allowed: latencies include the time in it",
                QUEUE_REMEDY,
            ),
        ],
        more: "[Queue seconds](../METHOD.md#queue-seconds) says how the queue is computed and what is allowed.",
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::Stalled,
        short: "{item}: nothing was acknowledged for {seconds:seconds}",
        usual: warning(
            "for longer than 1 s, a linger and twice the median response (2 s of it at most) nothing was acknowledged, between two \
             acknowledgements by their instants or an end of the window, and at the last full second of that time 10 records or more \
             were open; the limit is then not said to be the schedule. Run files from before instants were kept are judged by whole \
             seconds",
        ),
        words: &[reported(
            "{item}",
            "{item}: nothing was acknowledged for {seconds:seconds}, from {at_s:seconds} of the load on, though records waited: rates of \
             the whole window hide it",
            "look at the events and at each second's rate, in the page or by `kdyno export --format series-csv`",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::Failures,
        short: "{item}: {records:record|records} failed with {reason}",
        usual: warning("records of the measure phase failed"),
        words: &[
            failed(|of| has_reason(of, &["max-block"]), "the cluster took less than was offered for longer than max.block.ms: lower the rate"),
            failed(
                |of| has_reason(of, &["delivery-timeout"]),
                "no answer within delivery.timeout.ms: lower the rate or look at the brokers' logs",
            ),
            failed(
                |of| has_reason(of, &["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]),
                "make records smaller, or `max.message.bytes` of the topic (`message.max.bytes` of the brokers) larger",
            ),
            failed(
                |of| has_reason(of, &["TOPIC_AUTHORIZATION_FAILED"]),
                "give the user Write on the topic, or name one that it may write to",
            ),
            failed(
                |of| has_reason(of, &["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]),
                "give the user Write on its transactional ids, which begin with the target's `prefix`, `kdyno-` where it has none",
            ),
            failed(
                |of| has_reason(of, &["CLUSTER_AUTHORIZATION_FAILED"]),
                "give the user Write on the topic, which is enough from Kafka 2.8 on; before that IdempotentWrite on the cluster, or \
                 set `enable.idempotence: false`",
            ),
            failed(
                |of| has_reason(of, &["NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"]),
                "see which brokers are gone; the topic's `min.insync.replicas` asks for more than are in sync",
            ),
            failed(|of| has_reason(of, &["UNKNOWN_TOPIC_OR_PARTITION"]), "find out who deleted the topic"),
            reported("{item} {reason}", FAILED, SEE_EVENTS),
        ],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::NothingAcknowledged,
        short: "{item}: no record was acknowledged",
        usual: warning(
            "records of the measure phase were offered, none of them was acknowledged, and none of before in the window; a run of cases \
             without claims ends with the exit code of invalid figures",
        ),
        words: &[reported(
            "{item}",
            "{item}: nothing was acknowledged, all of {records:count} records failed or stayed open",
            "see why they failed",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::Unresolved,
        short: "{item}: {records:record|records} had no outcome when the drain ended",
        usual: warning("records of the measure phase stayed open"),
        words: &[reported(
            "{item}",
            "{item}: the outcome of {records:count} records was still open when the drain ended; they count as slower than every quantile",
            "offer less, lengthen `phases.drain`, or look for a broker that stopped answering",
        )],
        more: "Of a stream that ended without totals the open records are offered − (acknowledged + failed) of each second of \
                t0, by its rows, which are written every second also while nothing is answered. They count as unresolved, count \
                as slower than every quantile, and waited at least until its last row.",
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::Retries,
        short: "{item}: {batches:batch was|batches were} sent again",
        usual: note("batches of idempotent producers were sent again in the window: their records are in the log once"),
        grave: Some(warning("the same of producers without idempotence: their records may be in the log twice")),
        words: &[
            reported(
                "{item}",
                "{item}: {batches:count} record batches were sent again; latencies include that",
                SEE_EVENTS,
            )
            .only(|of| matches!(of, Caveat::Retries { is_idempotent: true, .. })),
            reported(
                "{item}",
                "{item}: {batches:count} record batches were sent again; of a producer without idempotence their records may be in the \
                 log twice",
                SEE_EVENTS,
            ),
        ],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::NotAppended,
        short: "{item}: acks=0, {written:count} records written and {growth:count} appended",
        usual: warning(
            "`acks=0`: a broker closed a connection of the item since T0, and its topic's log grew, beyond what others had acknowledged \
             there, by less than it wrote",
        ),
        grave: Some(invalid("the same, by less than 90 % of what it wrote: the item's rates")),
        words: &[reported(
            "{item}",
            "{item}: {written:count} records were written to its topic with acks=0, and its log grew by {growth:count}: brokers closed \
             connections, as they do with what they refuse, and do not say why",
            "use acks=1 or acks=all to learn the outcome of each record",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::RequestsFailed,
        short: "{item}: {errors:request|requests} failed ({share:percent})",
        usual: warning(
            "some of the requests that a command, users or a job reported failed: their times are among its times, and a refusal mostly \
             comes sooner than an answer; of its own figures alone",
        ),
        brief: "requests failed",
        words: &[reported(
            "{item}",
            "{item}: {errors:count} requests failed, {share:percent} of all; its times hold what they took, and a refusal mostly comes \
             sooner than an answer",
            "`kdyno show RUN --logs` prints the end of what it said; show `error_share` next to the times",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::ProducerEnded,
        short: "{item}: a transactional producer stopped sending",
        usual: invalid("a transactional producer was fenced, or its coordinator refused it: it sent nothing any more"),
        words: &[reported(
            "{item}",
            "{item}: a producer stopped sending, so the load was not the requested one: {first}",
            "raise `transaction.timeout.ms`, or look whether others use transactional ids with the same prefix and whether this user may \
             use them",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::FewSeconds,
        short: "{item}: {quantile} rests on {seconds:count} of {of_s:count} s",
        usual: note(
            "nine tenths of what lies at or beyond a quantile of the response (of consumers end to end), by their second of t0, come from \
             three seconds or fewer, which are a fifth of the window or less, and 100 records or more lie beyond; reported once, of the \
             lowest. Each such quantile from there on is marked. Not looked at in windows above 600 s",
        ),
        brief: "a tail of few seconds",
        words: &[reported(
            "{item} {quantile}",
            "{item}: {quantile} rests on {seconds:count} of {of_s:count} s, the first of them second {at_s:count} of the load: that \
             quantile and those above it reflect what happened then",
            "look at the events and at each second's latency; measure for longer to see how often that comes",
        )],
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::FewRecords,
        short: "{item}: fewer than 100 records lie beyond {quantile}",
        usual: note(
            "fewer than 100 records lie beyond a quantile of the response; reported once, of the lowest. Each such quantile of any timing is \
             marked",
        ),
        brief: "too few records",
        words: &[reported(
            "{item} {quantile}",
            "{item}: only {beyond:count} records lie beyond {quantile}; with fewer than 100 that quantile and those above it change by \
             chance from run to run",
            "measure for longer, or read a lower quantile",
        )],
        more: "[Quantiles](../METHOD.md#quantiles) says what lies beyond one.",
        ..RECORDS
    },
];

const QUEUE_REMEDY: &str =
    "offer less, lengthen `phases.warmup`, or ask for `rate: max` when the maximum is the question";

pub(super) const SEE_EVENTS: &str = "the run's events and the brokers' logs say when and why";

const FAILED: &str =
    "{item}: {records:count} records failed with {reason}; they count as slower than every quantile";

/// What is to be done about records that failed for a reason whose cause is known.
const fn failed(only: fn(&Caveat) -> bool, remedy: &'static str) -> CaveatWords {
    reported("{item} {reason}", FAILED, remedy).only(only)
}

fn has_reason(caveat: &Caveat, reasons: &[&str]) -> bool {
    matches!(caveat, Caveat::Failures { reason, .. } if reasons.contains(&reason.as_str()))
}
