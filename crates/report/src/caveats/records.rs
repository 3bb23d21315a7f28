//! Records and how they fared.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::{Caveat, FewSeconds, GroupNotConserved, MembersPutOut, Stalled};
use kdyno_model::units::duration;

/// What is to be done about records that failed for a reason whose cause is known.
fn remedy(reason: &str) -> &'static str {
    match reason {
        "max-block" => "the cluster took less than was offered for longer than max.block.ms: lower the rate",
        "delivery-timeout" => {
            "no answer within delivery.timeout.ms: lower the rate or look at the brokers' logs"
        }
        "MESSAGE_TOO_LARGE" | "RECORD_LIST_TOO_LARGE" => {
            "make records smaller, or `max.message.bytes` of the topic (`message.max.bytes` of the brokers) larger"
        }
        "TOPIC_AUTHORIZATION_FAILED" => "give the user Write on the topic, or name one that it may write to",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" => {
            "give the user Write on its transactional ids, which begin with the target's `prefix`, `kdyno-` where it has none"
        }
        "CLUSTER_AUTHORIZATION_FAILED" => {
            "give the user Write on the topic, which is enough from Kafka 2.8 on; before that IdempotentWrite on the cluster, or set \
             `enable.idempotence: false`"
        }
        "NOT_ENOUGH_REPLICAS" | "NOT_ENOUGH_REPLICAS_AFTER_APPEND" => {
            "see which brokers are gone; the topic's `min.insync.replicas` asks for more than are in sync"
        }
        "UNKNOWN_TOPIC_OR_PARTITION" => "see who deleted the topic",
        _ => SEE_EVENTS,
    }
}

const SEE_EVENTS: &str = "the run's events and the brokers' logs say when and why";

/// Queues, failures, and how many records a figure rests on.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::QueueGrowth { item, start_s, growth_s, allowed_s } => told(
            item,
            &[*start_s, *growth_s, *allowed_s],
            queue_words(item, numbers),
            "offer less, lengthen `phases.warmup`, or ask for `rate: max` when the maximum is the question",
        ),
        Caveat::FewRecords { item, quantile, beyond } => told(
            &format!("{item} {quantile}"),
            &[*beyond as f64],
            format!(
                "{item}: only {} records lie beyond {quantile}; with fewer than 100 that quantile and those above it \
                 change by chance from run to run",
                numbers.count(0)
            ),
            "measure for longer, or read a lower quantile",
        ),
        Caveat::FewSeconds(few) => few_seconds(few, numbers),
        Caveat::ConsumerBehind { item, records, seconds } => {
            let behind = match seconds {
                Some(_) => format!(", {} of what is produced", numbers.seconds(1)),
                None => String::new(),
            };
            told(
                item,
                &[*records as f64, seconds.unwrap_or_default()],
                format!(
                    "{item}: {} records behind the end of the log when the window ended{behind}: consumers did not keep up",
                    numbers.count(0)
                ),
                "use more consumers or partitions, or offer less",
            )
        }
        Caveat::RequestsFailed { item, errors, share } => told(
            item,
            &[*errors as f64, *share],
            format!(
                "{item}: {} requests failed, {} of all; its times hold what they took, and a refusal mostly comes sooner than an \
                 answer",
                numbers.count(0),
                numbers.percent(1)
            ),
            "`kdyno show RUN --logs` prints the end of what it said; set `error_share` beside the times",
        ),
        Caveat::Stalled(stalled) => self::stalled(stalled, numbers),
        _ => failures(caveat, numbers),
    }
}

fn stalled(Stalled { item, seconds, at_s }: &Stalled, numbers: &Numbers<'_>) -> Option<Described> {
    told(
        item,
        &[*seconds, *at_s],
        format!(
            "{item}: nothing was acknowledged for {}, from {} of the load on, though records waited: rates of the whole \
             window hide it",
            numbers.seconds(0),
            numbers.seconds(1)
        ),
        "look at the events and at each second's rate, in the page or by `kdyno export --format series-csv`",
    )
}

/// A tail that is one event, or two.
fn few_seconds(few: &FewSeconds, numbers: &Numbers<'_>) -> Option<Described> {
    let FewSeconds { item, quantile, seconds, of_s, at_s } = few;
    told(
        &format!("{item} {quantile}"),
        &[f64::from(*seconds), f64::from(*of_s), f64::from(*at_s)],
        format!(
            "{item}: {quantile} rests on {} of {} s, the first of them second {} of the load: that quantile and those above it \
             tell of what happened then",
            numbers.count(0),
            numbers.count(1),
            numbers.count(2)
        ),
        "look at the events and at each second's latency; measure for longer to see how often that comes",
    )
}

/// A queue that was too long when the window began and grew no further is told as that: nothing more is nothing wrong.
fn queue_words(item: &str, numbers: &Numbers<'_>) -> String {
    let (start, growth, allowed) = (numbers.seconds(0), numbers.seconds(1), numbers.seconds(2));
    let what = if numbers.are_nothing(1) {
        format!(
            "was too long when the window began: it held {start} of the offered load, where {allowed} is allowed, and grew no further"
        )
    } else {
        format!(
            "held {start} of the offered load when the window began and {growth} more when it ended, where {allowed} is allowed"
        )
    };
    format!("{item}: the queue {what}: latencies include the time in it")
}

/// Records that were not acknowledged at once, or not fetched.
fn failures(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::Failures { item, reason, records } => told(
            &format!("{item} {reason}"),
            &[*records as f64],
            format!(
                "{item}: {} records failed with {reason}; they lie above every quantile",
                numbers.count(0)
            ),
            remedy(reason),
        ),
        Caveat::Unresolved { item, records } => told(
            item,
            &[*records as f64],
            format!(
                "{item}: the outcome of {} records was still open when the drain ended; they lie above every quantile",
                numbers.count(0)
            ),
            "offer less, lengthen `phases.drain`, or look for a broker that stopped answering",
        ),
        Caveat::Retries { item, batches, is_idempotent } => told(
            item,
            &[*batches as f64],
            format!(
                "{item}: {} record batches were sent again; {}",
                numbers.count(0),
                if *is_idempotent {
                    "latencies include that"
                } else {
                    "of a producer without idempotence their records may be in the log twice"
                }
            ),
            SEE_EVENTS,
        ),
        Caveat::FetchErrors { item, events, first } => told(
            item,
            &[*events as f64],
            format!(
                "{item}: fetching failed for a while ({} events; the first: {first}): the fetched rate includes that",
                numbers.count(0)
            ),
            SEE_EVENTS,
        ),
        Caveat::ProducerEnded { item, first } => told(
            item,
            &[],
            format!("{item}: a producer stopped sending, so the load was not the one asked for: {first}"),
            "raise `transaction.timeout.ms`, or look whether others use transactional ids with the same prefix and whether this user may use them",
        ),
        Caveat::RecordsSkipped { item, events, first } => told(
            item,
            &[*events as f64],
            format!(
                "{item}: records were deleted before they were fetched ({} events; the first: {first}): they are missing \
                 from the fetched rate",
                numbers.count(0)
            ),
            "keep records longer (`retention.ms` and `retention.bytes` of the topic), or read faster",
        ),
        _ => not_written(caveat, numbers),
    }
}

/// Records of which the cluster has none, or fewer than were written.
fn not_written(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::NothingAcknowledged { item, records } => told(
            item,
            &[*records as f64],
            format!(
                "{item}: nothing was acknowledged, all of {} records failed or stayed open",
                numbers.count(0)
            ),
            "see why they failed",
        ),
        Caveat::NotAppended { item, written, growth } => told(
            item,
            &[*written as f64, *growth as f64],
            format!(
                "{item}: {} records were written to its topic with acks=0, and its log grew by {}: brokers closed connections, as \
                 they do with what they refuse, and do not say why",
                numbers.count(0),
                numbers.count(1)
            ),
            "use acks=1 or acks=all to be told of each record",
        ),
        _ => groups(caveat, numbers),
    }
}

/// Consumer groups.
fn groups(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::GroupNotConserved(GroupNotConserved { group, topic, least, most, handed_over }) => told(
            &format!("{group} {topic}"),
            &[*handed_over as f64, *least as f64, *most as f64],
            format!(
                "group {group}: its members were handed {} records of {topic}, each counted once, where {} were acknowledged \
                 and it can hold {}",
                numbers.count(0),
                numbers.count(1),
                numbers.count(2)
            ),
            "fewer: members that begin at `latest`, that commit nothing, or that were still behind when the drain ended; the \
             run's events say when partitions changed hands",
        ),
        Caveat::MembersPutOut(MembersPutOut { item, losses, poll_interval_max_ns }) => told(
            item,
            &[*losses as f64],
            format!(
                "{item}: the group put members out {} times, and records that these had not committed were delivered again \
                 (`max.poll.interval.ms` is {})",
                numbers.count(0),
                duration(*poll_interval_max_ns)
            ),
            "lower `max.poll.records` or raise `max.poll.interval.ms`, if members work longer on a poll than that",
        ),
        Caveat::MemberFailed { item, first } => told(
            item,
            &[],
            format!("{item}: a member left its group for good, and nothing was read in its place: {first}"),
            SEE_EVENTS,
        ),
        _ => None,
    }
}
