//! Records and how they fared.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

const SEE_EVENTS: &str = "the run's events and the brokers' logs say when and why";

/// Queues, failures, and how many records a figure rests on.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::QueueGrowth { item, start_s, growth_s, allowed_s } => told(
            item,
            &[*start_s, *growth_s, *allowed_s],
            format!(
                "{item}: {} of the load waited when the window began, and {} more when it ended, where {} is allowed: \
                 latencies hold the time in that queue",
                numbers.seconds(0),
                numbers.seconds(1),
                numbers.seconds(2)
            ),
            "offer less, lengthen `phases.warmup`, or ask for `rate: max` when the maximum is the question",
        ),
        Caveat::FewRecords { item, quantile, beyond } => told(
            &format!("{item} {quantile}"),
            &[*beyond as f64],
            format!(
                "{item}: beyond {quantile} lie {} records; with fewer than 100 it is one of a few chance values, and \
                 so are the quantiles above it",
                numbers.count(0)
            ),
            "measure for longer, or read a lower quantile",
        ),
        Caveat::ConsumerBehind { item, records, seconds } => {
            let behind = match seconds {
                Some(_) => format!(", {} of what is produced", numbers.seconds(1)),
                None => String::new(),
            };
            told(
                item,
                &[*records as f64, seconds.unwrap_or_default()],
                format!("{item}: {} records behind when the window ended{behind}", numbers.count(0)),
                "use more consumers or partitions, or offer less",
            )
        }
        _ => failures(caveat, numbers),
    }
}

/// Records that were not acknowledged at once, or not fetched.
fn failures(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::Failures { item, reason, records } => told(
            &format!("{item} {reason}"),
            &[*records as f64],
            format!("{item}: {} records failed with {reason}", numbers.count(0)),
            match reason.as_str() {
                "max-block" => {
                    "the cluster took less than was offered for longer than max.block.ms: lower the rate"
                }
                "delivery-timeout" => {
                    "no answer within delivery.timeout.ms: lower the rate or look at the brokers' logs"
                }
                _ => SEE_EVENTS,
            },
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
        Caveat::Retries { item, batches } => told(
            item,
            &[*batches as f64],
            format!(
                "{item}: {} record batches were sent again; without idempotence their records may be in the log twice",
                numbers.count(0)
            ),
            SEE_EVENTS,
        ),
        Caveat::FetchErrors { item, events, first } => told(
            item,
            &[*events as f64],
            format!("{item}: fetching met errors, told in {} events; the first: {first}", numbers.count(0)),
            SEE_EVENTS,
        ),
        Caveat::RecordsSkipped { item, events, first } => told(
            item,
            &[*events as f64],
            format!(
                "{item}: records were gone before they were fetched, told in {} events; the first: {first}",
                numbers.count(0)
            ),
            "keep records longer (`retention.ms` and `retention.bytes` of the topic), or read faster",
        ),
        _ => None,
    }
}
