//! What written data costs: a column of every table over targets that declare a price.

use crate::choices::PlanError;
use kdyno_model::metric::{Address, COST_PER_GB, COST_PER_MILLION};
use kdyno_model::plan::{AttachedPlan, CasePlan, ComparePlan, Price, Role, Show, Strategy};
use kdyno_scenario::input::InputError;

/// Adds columns where a case has a price, in a comparison where all cases of both sides have one: a ratio needs both.
///
/// # Errors
/// Two targets declare prices in different currencies.
pub(crate) fn add_column(show: &mut Show, cases: &[CasePlan], strategy: &Strategy) -> Result<(), PlanError> {
    let compare = strategy.as_compare();
    let all = || cases.iter().chain(compare.into_iter().flat_map(ComparePlan::other_cases));
    let priced: Vec<(&AttachedPlan, &Price)> = all().filter_map(|case| case.system.priced()).collect();
    let Some((first, price)) = priced.first() else { return Ok(()) };
    if let Some((other, theirs)) = priced.iter().find(|(_, theirs)| theirs.currency != price.currency) {
        let message = format!(
            "target `{}` declares its price in {}, target `{}` in {}",
            first.target, price.currency, other.target, theirs.currency
        );
        return Err(InputError::whole(message).hint("declare all prices in one currency"));
    }
    let produces = |case: &CasePlan| case.load.values().any(|item| matches!(item.role, Role::Produce(_)));
    let is_reported = compare.is_none() || priced.len() == all().count();
    for metric in [COST_PER_GB, COST_PER_MILLION] {
        let cost = Address { subject: "brokers".to_owned(), metric: metric.to_owned() };
        if is_reported && all().any(produces) && !show.columns.contains(&cost) {
            show.columns.push(cost);
        }
    }
    Ok(())
}
