//! Quotas of a local cluster.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use crate::zones::bytes_per_s;
use kdyno_model::plan::{QuotaEach, QuotasPlan};
use kdyno_scenario::file::QuotasFile;
use kdyno_scenario::yaml::Scalar;
use std::ops::RangeInclusive;

/// Percent of a thread. More than all threads of a large broker have is no limit.
pub(crate) const REQUEST_PERCENT: RangeInclusive<f64> = 0.1..=100_000.0;

/// The `quotas` of a local cluster.
pub(crate) fn quotas(reader: &CaseReader<'_>, typed: &QuotasFile) -> Result<QuotasPlan, PlanError> {
    let byte_rate = |typed: &Option<Scalar>, key: &str| {
        typed.as_ref().map(|typed| bytes_per_s(reader, typed, key, "e.g. `10MiB/s`")).transpose()
    };
    let each = reader.word(&typed.each, "each", QuotaEach::NAMES)?.parse().unwrap_or(QuotaEach::Client);
    let request = typed.request_percentage.as_ref();
    Ok(QuotasPlan {
        each,
        producer_bytes_per_s: byte_rate(&typed.producer_byte_rate, "producer_byte_rate")?,
        consumer_bytes_per_s: byte_rate(&typed.consumer_byte_rate, "consumer_byte_rate")?,
        request_percent: request
            .map(|typed| reader.number(typed, "request_percentage", REQUEST_PERCENT))
            .transpose()?,
    })
}
