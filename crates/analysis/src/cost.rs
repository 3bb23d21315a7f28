//! What written data costs on a cluster with a declared price.

use crate::rows::Trial;
use kdyno_model::plan::SystemPlan;

const S_PER_HOUR: f64 = 3600.0;
const BYTES_PER_GB: f64 = 1e9;

/// Price of an hour ÷ GB of values acknowledged in an hour at the window's rate, all load items together, in the currency
/// of the target. `None` where no price is declared, or nothing was acknowledged.
pub(crate) fn per_gb(trial: &Trial<'_>) -> Option<f64> {
    let SystemPlan::Attached(target) = &trial.evidence.start.trial.effective.system else { return None };
    let price = target.price.as_ref()?;
    let window = trial.window?;
    let producers = trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
    let bytes = producers.fold(0_u64, |sum, item| sum.saturating_add(item.tally.windowed.acknowledged_bytes));
    let gb_per_hour = bytes as f64 / window.seconds() * S_PER_HOUR / BYTES_PER_GB;
    (gb_per_hour > 0.0).then(|| price.per_hour / gb_per_hour)
}
