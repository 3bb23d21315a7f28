//! Figures of the load items together: `sum.acked_per_s`.

use crate::rows::{ItemRows, TrialRows};
use kdyno_model::finding::{Finding, Value};
use kdyno_model::metric::{self, SUM, SubjectKind};

/// Adds the sums, for a trial with several load items. Rates over different seconds have no sum: each item has to be
/// there for the whole window.
pub(crate) fn state(
    trial: &TrialRows<'_>,
    found: &mut Vec<Finding>,
    value: impl Fn(&ItemRows<'_>, &str) -> Value,
) {
    if trial.items.len() < 2 {
        return;
    }
    trial.state(SUM, SubjectKind::Sum, found, |name| {
        let has_it = |item: &&ItemRows<'_>| metric::find(item.plan.role.kind().subject(), name).is_some();
        let mut items = trial.items.iter().filter(has_it).peekable();
        let is_any = items.peek().is_some();
        let sum = items.try_fold(0.0, |sum, item| match value(item, name) {
            Value::Is(number) if item.plan.span.is_whole() => Some(sum + number),
            _ => None,
        });
        sum.filter(|_| is_any).into()
    });
}
