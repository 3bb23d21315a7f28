//! Numbers and instants in print: [`kdyno_model::units`], and what only documents need.

use kdyno_model::metric::{self, Unit};
use kdyno_model::sample::Timing;
pub use kdyno_model::units::{
    NOTHING, bytes, count, divisor, duration, exact_bytes, exact_duration, milliseconds, nanoseconds, number,
    processors, ratio, separated, setting, significant, size, value,
};

/// The unit of a metric by its name after the subject; a latency is in ns.
#[must_use]
pub fn of_metric(metric: &str) -> Unit {
    let listed = metric::all().find(|known| known.name == metric).map(|known| known.unit);
    let timed = || metric.split('.').next().is_some_and(|name| name.parse::<Timing>().is_ok());
    listed.unwrap_or(if timed() { Unit::Ns } else { Unit::Count })
}

/// An instant as RFC 3339 in UTC, to the second.
#[must_use]
pub fn instant(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| NOTHING.to_owned(), |at| at.to_string())
}

/// `1 broker`, `3 brokers`.
#[must_use]
pub fn plural(many: u32, noun: &str) -> String {
    format!("{} {noun}{}", count(f64::from(many)), if many == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_in_ns_and_a_listed_metric_in_its_own_unit() {
        assert_eq!(of_metric("response.p99.9"), Unit::Ns);
        assert_eq!(of_metric("acked_per_s"), Unit::RecordsPerS);
    }
}
