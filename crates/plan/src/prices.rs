//! What written data costs: a column of every table over targets that declare a price.

use crate::PlanError;
use kdyno_model::metric::{Address, COST_PER_GB};
use kdyno_model::plan::{AttachedPlan, CasePlan, Price, Role, Show, SystemPlan};
use kdyno_scenario::input::InputError;

/// Adds the column where a case has a price, in a comparison where all cases of both sides have one: a ratio needs both.
/// `b`: side B; none where nothing is compared.
///
/// # Errors
/// Two targets declare prices in different currencies.
pub(crate) fn add_column(show: &mut Show, a: &[CasePlan], b: Option<&[CasePlan]>) -> Result<(), PlanError> {
    let all = || a.iter().chain(b.unwrap_or_default());
    let priced: Vec<(&AttachedPlan, &Price)> = all().filter_map(price).collect();
    let Some((first, price)) = priced.first() else { return Ok(()) };
    if let Some((other, theirs)) = priced.iter().find(|(_, theirs)| theirs.currency != price.currency) {
        let message = format!(
            "target `{}` declares its price in {}, target `{}` in {}",
            first.target, price.currency, other.target, theirs.currency
        );
        return Err(InputError::whole(message).hint("declare all prices in one currency"));
    }
    let produces = |case: &CasePlan| case.load.values().any(|item| matches!(item.role, Role::Produce(_)));
    let cost = Address { subject: "brokers".to_owned(), metric: COST_PER_GB.to_owned() };
    let is_told = b.is_none() || priced.len() == all().count();
    if is_told && all().any(produces) && !show.columns.contains(&cost) {
        show.columns.push(cost);
    }
    Ok(())
}

fn price(case: &CasePlan) -> Option<(&AttachedPlan, &Price)> {
    match &case.system {
        SystemPlan::Attached(target) => target.price.as_ref().map(|price| (target, price)),
        SystemPlan::Local(_) => None,
    }
}
