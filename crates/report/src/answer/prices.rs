//! In which currency costs are told, and from which prices they come.

use super::words;
use kdyno_model::metric::COST_PER_GB;
use kdyno_model::plan::{AttachedPlan, CasePlan, Plan, Price, Strategy, SystemPlan};

/// One sentence where a column tells costs.
pub(super) fn note(plan: &Plan) -> Option<String> {
    let mut columns = plan.show.columns.iter();
    let cost = columns.find(|of| of.metric == COST_PER_GB)?;
    let others = match &plan.strategy {
        Strategy::Compare(compare) => Some(compare.other_cases()),
        Strategy::List(_) | Strategy::Find(_) => None,
    };
    let all = plan.cases.iter().chain(others.into_iter().flatten());
    let priced: Vec<(&AttachedPlan, &Price)> = all.filter_map(price).collect();
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

fn price(case: &CasePlan) -> Option<(&AttachedPlan, &Price)> {
    match &case.system {
        SystemPlan::Attached(target) => target.price.as_ref().map(|price| (target, price)),
        SystemPlan::Local(_) => None,
    }
}
