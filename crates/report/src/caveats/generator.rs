//! Whether the load generator is what was measured.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

const LESS_WORK: &str =
    "use fewer clients or larger batches, pooled payloads, or a machine of its own for the load";

/// How busy and how late the load generator was.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::ThreadBusy { thread, cpu_percent } => told(
            thread,
            &[*cpu_percent],
            format!(
                "the load generator's thread {thread} used {}: it may be the limit itself",
                numbers.cores(0)
            ),
            LESS_WORK,
        ),
        Caveat::WorkerBusy { cpu_percent, cores } => told(
            "",
            &[*cpu_percent],
            format!(
                "the load generator used {}, and it could use {cores} cores at most: it may be the limit itself",
                numbers.cores(0)
            ),
            LESS_WORK,
        ),
        Caveat::GeneratorLate { item, quantile, late_ns, response_ns } => told(
            &format!("{item} {quantile}"),
            &[*late_ns as f64, *response_ns as f64],
            format!(
                "{item}: of the response time of {} at {quantile} the load generator itself makes up {}, more than a \
                 tenth: from there on the quantiles are its own",
                numbers.ns(1),
                numbers.ns(0)
            ),
            "read those quantiles as upper bounds, lower the rate, or give the load a machine of its own",
        ),
        Caveat::CalibrationShort { item, ratio } => told(
            item,
            &[*ratio],
            format!(
                "{item}: against a broker that does nothing the load generator reaches only {} × this rate: part of \
                 the figure may be its own",
                numbers.ratio(0)
            ),
            LESS_WORK,
        ),
        _ => None,
    }
}
