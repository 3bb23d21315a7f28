//! Items that Kafka's Java client carries: what their Java processes took, and what is not seen of such a client.

use crate::cpu;
use crate::evidence::streams_of;
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::event::Subject;
use kdyno_model::metric::{CLIENT_ALLOCATED, CLIENT_CPU, CLIENT_GC, CLIENT_HEAP, CLIENT_THREADS_CPU};
use kdyno_model::sample::series;

const US_PER_S: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// Whether a Java client carries the item.
pub(crate) fn is_java(item: &ItemRows<'_>) -> bool {
    item.plan.driver.as_java().is_some()
}

/// The Java processes of an item, one for each of its streams; none where kdyno's own client carries it.
pub(crate) fn processes(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Vec<Subject> {
    if !is_java(item) {
        return Vec::new();
    }
    let streams = streams_of(trial.evidence, item.name).into_iter();
    streams.map(|stream| Subject::Jvm(stream.worker, stream.stream)).collect()
}

/// Threads of all items.
pub(crate) fn all_processes(trial: &TrialRows<'_>) -> Vec<Subject> {
    trial.items.iter().flat_map(|item| processes(trial, item)).collect()
}

/// A metric of Java clients alone: of all processes of the item together, no value unless each was read.
pub(crate) fn value(trial: &TrialRows<'_>, item: &ItemRows<'_>, name: &str) -> Option<f64> {
    let window = item.window?;
    let processes = processes(trial, item);
    let sum = |of: &dyn Fn(&Subject) -> Option<f64>| -> Option<f64> {
        processes.iter().map(of).sum::<Option<f64>>().filter(|_| !processes.is_empty())
    };
    let grown = |counter: &str| sum(&|process| cpu::counter_s(trial.probes(), process, counter, window));
    // One of the two is 0: an item produces or consumes.
    let windowed = &item.tally.windowed;
    let records = windowed.acknowledged.saturating_add(windowed.fetched);
    let per_record = |all: Option<f64>| all.filter(|_| records > 0).map(|all| all / records as f64);
    match name {
        CLIENT_CPU => per_record(grown(series::JVM_CPU_S_TOTAL)).map(|s| s * US_PER_S),
        CLIENT_THREADS_CPU => per_record(grown(series::JVM_THREADS_CPU_S_TOTAL)).map(|s| s * US_PER_S),
        CLIENT_ALLOCATED => per_record(grown(series::JVM_ALLOCATED_BYTES_TOTAL)),
        CLIENT_GC => grown(series::JVM_GC_S_TOTAL).map(|s| s * NS_PER_S),
        CLIENT_HEAP => {
            sum(&|process| cpu::largest(trial.probes(), process, series::JVM_HEAP_USED_BYTES, window))
        }
        _ => None,
    }
}

/// Whether a metric is made of what a client that does not show its requests hides: requests, batches, what it sent again,
/// how long brokers held back answers, and what it left out of what it fetched. Their counts are 0 and say nothing.
pub(crate) fn is_unseen(item: &ItemRows<'_>, name: &str) -> bool {
    const UNSEEN: [&str; 11] = [
        "retries",
        "records_per_batch",
        "bytes_per_request",
        "compression_ratio",
        "throttled_share",
        "fetched_wire_mib_per_s",
        "aborted_records",
        "control_records",
        "missing_offsets",
        "offset_commits",
        "duplicates",
    ];
    !item.plan.driver.shows_requests() && UNSEEN.contains(&name)
}

/// Whether a client of the item may have stored records twice and it does not show: what it sent again is not seen.
pub(crate) fn may_repeat(item: &ItemRows<'_>) -> bool {
    !item.plan.driver.shows_requests()
        && item.plan.role.as_produce().is_some_and(|plan| !plan.client.enable_idempotence)
}
