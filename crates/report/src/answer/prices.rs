//! In which currency costs are told, and from which prices they come.

use super::words;
use kdyno_model::metric::COST_PER_GB;
use kdyno_model::plan::{AttachedPlan, Plan, Price};

/// One sentence where a column tells costs.
pub(super) fn note(plan: &Plan) -> Option<String> {
    let mut columns = plan.show.columns.iter();
    let cost = columns.find(|of| of.metric == COST_PER_GB)?;
    let priced: Vec<(&AttachedPlan, &Price)> =
        plan.every_case().filter_map(|case| case.system.priced()).collect();
    let currency = &priced.first()?.1.currency;
    let mut prices: Vec<String> = Vec::new();
    for (target, price) in &priced {
        let told = format!("{} {} {} per hour", target.target, price.per_hour, price.currency);
        if !prices.contains(&told) {
            prices.push(told);
        }
    }
    Some(format!(
        "{cost} is in {currency} per 10^9 bytes of values, by the prices that the targets declare: {}.",
        words::list(&prices)
    ))
}
