//! Whether the load generator is what was measured.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::{Caveat, FullGc, StoodStill};
use kdyno_model::concern::rank;

const LESS_WORK: &str =
    "use fewer clients or larger batches, pooled payloads, or a machine of its own for the load";

const LESS_LATE: &str = "lower the rate, use fewer clients, or give the load a machine of its own";

/// How busy and how late the load generator was.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::ThreadBusy { thread, cpu_percent } => told(
            thread,
            &[*cpu_percent],
            format!(
                "the load generator's thread {thread} used {}: it may be the limit, not the cluster",
                numbers.cores(0)
            ),
            LESS_WORK,
        ),
        Caveat::WorkerBusy { cpu_percent, cores } => told(
            "",
            &[*cpu_percent],
            format!(
                "the load generator used {}, and it could use {cores} cores at most: it may be the limit, not the \
                 cluster",
                numbers.cores(0)
            ),
            LESS_WORK,
        ),
        Caveat::GeneratorLate { item, quantile, late_ns, response_ns } if quantile == "mean" => told(
            &format!("{item} mean"),
            &[*late_ns as f64, *response_ns as f64],
            format!(
                "{item}: the load generator's own lateness makes up {} of the mean response time of {}: the mean is an \
                 upper bound of what the cluster took",
                numbers.ns(0),
                numbers.ns(1)
            ),
            LESS_LATE,
        ),
        // From which quantile on it is differs from trial to trial.
        Caveat::GeneratorLate { item, quantile, late_ns, response_ns } => told(
            item,
            &[*late_ns as f64, *response_ns as f64, rank(quantile).unwrap_or(0.0)],
            format!(
                "{item}: at {} the load generator's own lateness makes up {} of the response time of {}: from there on \
                 quantiles are upper bounds of what the cluster took",
                numbers.quantile(2),
                numbers.ns(0),
                numbers.ns(1)
            ),
            LESS_LATE,
        ),
        Caveat::LateEndToEnd { item, quantile, late_ns, end_to_end_ns } => told(
            &format!("{item} end to end"),
            &[*late_ns as f64, *end_to_end_ns as f64, rank(quantile).unwrap_or(0.0)],
            format!(
                "{item}: at {} the load generator's own lateness in sending reaches {} of an end-to-end latency of {}: \
                 from there on quantiles are upper bounds of what the cluster took",
                numbers.quantile(2),
                numbers.ns(0),
                numbers.ns(1)
            ),
            LESS_LATE,
        ),
        Caveat::CalibrationShort { item, ratio } => told(
            item,
            &[*ratio],
            format!(
                "{item}: against the null broker, which keeps nothing, the load generator reaches only {} × this rate: \
                 it may be the limit, not the cluster",
                numbers.ratio(0)
            ),
            LESS_WORK,
        ),
        Caveat::StoodStill(still) => stood_still(still, numbers),
        _ => of_java(caveat, numbers),
    }
}

fn stood_still(still: &StoodStill, numbers: &Numbers<'_>) -> Option<Described> {
    let StoodStill { item, quantile, late_ns, timing, with_ns, without_ns } = still;
    let timing = timing.replace('_', " ");
    let others = match without_ns {
        Some(_) => format!(
            "{timing} is {} there, and {} without the seconds in which that was in flight",
            numbers.ns(2),
            numbers.ns(3)
        ),
        None => format!("{timing} is {} there, and that was in flight in the whole window", numbers.ns(2)),
    };
    told(
        item,
        &[
            *late_ns as f64,
            rank(quantile).unwrap_or(0.0),
            *with_ns as f64,
            without_ns.unwrap_or_default() as f64,
        ],
        format!(
            "{item}: the load generator stood still for up to {} and then sent at once what had come due: from {} on service, \
             request and without generator hold that ({others})",
            numbers.ns(0),
            numbers.quantile(1)
        ),
        LESS_LATE,
    )
}

/// What a Java client does by itself.
fn of_java(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::RelayLate { subject, late_s, delay_s } => told(
            &subject.to_string(),
            &[*late_s, *delay_s],
            format!(
                "{subject} passed bytes on {} later at p99 than its link is declared to, which has a delay of {}: latencies of \
                 clients in another zone include that",
                numbers.seconds(0),
                numbers.seconds(1)
            ),
            "use fewer brokers, a lower rate or more processors, so that the relay gets one when it needs it",
        ),
        Caveat::RelayBusy { subject, cpu_percent } => told(
            &subject.to_string(),
            &[*cpu_percent],
            format!(
                "{subject} used {} in its one thread: it may be what limits the rate between its zones",
                numbers.cores(0)
            ),
            "offer less by way of it, or declare a `bandwidth` that it carries",
        ),
        Caveat::FullGc(FullGc { item, collections, all_ns, first }) => told(
            item,
            &[*collections as f64, all_ns.unwrap_or_default() as f64],
            format!(
                "{item}: full garbage collections of its Java client in the window: {}{}; it stands still for each, and \
                 latencies hold that ({})",
                numbers.count(0),
                match all_ns {
                    Some(_) => format!("; all collections took {}", numbers.ns(1)),
                    None => String::new(),
                },
                numbers.first(first)
            ),
            "give it more heap: `jvm: [-Xmx…]` of its `client`",
        ),
        _ => None,
    }
}
