//! What written data costs on a cluster with a declared price.

use crate::rows::{ItemRows, TrialRows};

const S_PER_HOUR: f64 = 3600.0;
const BYTES_PER_GB: f64 = 1e9;
const RECORDS_PER_MILLION: f64 = 1e6;

/// Price of an hour ÷ GB of values acknowledged in an hour at the window's rate, all load items together, in the currency
/// of the target. `None` where no price is declared, or nothing was acknowledged.
pub(crate) fn per_gb(trial: &TrialRows<'_>) -> Option<f64> {
    per(trial, BYTES_PER_GB, |item| item.tally.windowed.acknowledged_bytes)
}

/// Price ÷ millions of records.
pub(crate) fn per_million_records(trial: &TrialRows<'_>) -> Option<f64> {
    per(trial, RECORDS_PER_MILLION, |item| item.tally.windowed.acknowledged)
}

fn per(trial: &TrialRows<'_>, unit: f64, count: fn(&ItemRows<'_>) -> u64) -> Option<f64> {
    let (_, price) = trial.evidence.start.trial.effective.system.priced()?;
    let window = trial.window?;
    let producers = trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
    let counted = producers.fold(0_u64, |sum, item| sum.saturating_add(count(item)));
    let units_per_hour = counted as f64 / window.seconds() * S_PER_HOUR / unit;
    (units_per_hour > 0.0).then(|| price.per_hour / units_per_hour)
}
