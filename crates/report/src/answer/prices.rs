//! The currency of costs, and from which prices they come.

use super::words;
use kdyno_model::grouped::distinct;
use kdyno_model::metric::{COST_PER_GB, is_cost};
use kdyno_model::plan::{AttachedPlan, Plan, Price};

/// One sentence where a column has costs.
pub(super) fn note(plan: &Plan) -> Option<String> {
    let of_costs = plan.show.columns.iter().filter(|of| is_cost(&of.metric));
    let units = of_costs.map(|of| {
        let unit = if of.metric == COST_PER_GB { "10^9 bytes of values" } else { "million records" };
        format!("{of} per {unit}")
    });
    let units: Vec<String> = units.collect();
    if units.is_empty() {
        return None;
    }
    let priced: Vec<(&AttachedPlan, &Price)> =
        plan.every_case().filter_map(|case| case.system.priced()).collect();
    let currency = &priced.first()?.1.currency;
    let price = |(target, price): &(&AttachedPlan, &Price)| {
        format!("{} {} {} per hour", target.target, price.per_hour, price.currency)
    };
    let prices = distinct(priced.iter().map(price));
    Some(format!(
        "In {currency}, by the prices that the targets declare, {}: {}.",
        words::list(&prices),
        words::list(&units)
    ))
}
