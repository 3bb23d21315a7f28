//! Trials that differ in the rate of one load item alone: together they show how the use of resources grows with the
//! load.

use crate::analysed::AnalysedTrial;
use kdyno_model::conclusion::{Conclusion, Limit};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::{CasePlan, ComparePlan, Plan, Role, Strategy};
use kdyno_model::trial::{SearchStage, Trial, TrialReason};
use std::collections::BTreeMap;

/// What one trial says of a load item.
#[derive(Debug, Clone, Copy)]
pub(super) struct DemandPoint<'a> {
    /// What was acknowledged, records/s.
    pub(super) per_s: f64,
    pub(super) limit: &'a Limit,
    trial: &'a Trial,
    session: u32,
}

/// The points of trials that differ in the rate of the item alone, of one session, the lowest rate first.
#[derive(Debug)]
pub(super) struct RateGroup<'a> {
    pub(super) item: &'a str,
    pub(super) scope: Scope,
    pub(super) points: Vec<DemandPoint<'a>>,
}

/// All of a run, in the order of their first trials.
pub(super) fn all<'a>(plan: &Plan, trials: &[AnalysedTrial<'a>]) -> Vec<RateGroup<'a>> {
    let is_search = matches!(plan.strategy, Strategy::Find(_));
    let mut groups: Vec<Vec<DemandPoint<'a>>> = Vec::new();
    for point in trials.iter().flat_map(points) {
        match groups.iter_mut().find(|group| is_alike(&group[0], &point, is_search)) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    groups.into_iter().filter_map(|points| group(points, is_search)).collect()
}

/// Trials of one session, that with the most of them or the newest of several: clusters of another are not the same.
fn group(points: Vec<DemandPoint<'_>>, is_search: bool) -> Option<RateGroup<'_>> {
    let mut sessions: BTreeMap<u32, Vec<DemandPoint<'_>>> = BTreeMap::new();
    for point in points {
        sessions.entry(point.session).or_default().push(point);
    }
    let mut points = sessions.into_values().max_by_key(Vec::len)?;
    points.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
    let highest = points.last()?;
    let case = highest.trial.case;
    let scope = match highest.trial.variant.as_deref() {
        _ if is_search => Scope::Search { case },
        Some(side) if side == ComparePlan::SIDES[1] => Scope::SideB { case },
        _ => Scope::Case(case),
    };
    Some(RateGroup { item: &highest.limit.item, scope, points })
}

/// One point for each load item whose limit was requested and whose rate may be used. The short trials in which a
/// search looks for where to begin run before brokers have settled.
fn points<'a>(of: &AnalysedTrial<'a>) -> Vec<DemandPoint<'a>> {
    let trial = of.trial;
    if trial.is_conditioning() || matches!(trial.reason, TrialReason::Search { stage: SearchStage::Ramp, .. })
    {
        return Vec::new();
    }
    let point = |conclusion: &'a Conclusion| {
        let Conclusion::Limit(limit) = conclusion else { return None };
        let acknowledged = Address { subject: limit.item.clone(), metric: "acked_per_s".to_owned() };
        let Value::Is(per_s) = of.usable(of.finding(&acknowledged)?)? else { return None };
        (per_s > 0.0).then_some(DemandPoint { per_s, limit, trial, session: of.session })
    };
    of.conclusions.iter().filter_map(point).collect()
}

fn is_alike(a: &DemandPoint<'_>, b: &DemandPoint<'_>, is_search: bool) -> bool {
    let is_same_case = a.trial.case == b.trial.case;
    a.limit.item == b.limit.item
        && a.trial.variant == b.trial.variant
        && (is_same_case
            || !is_search && is_at_another_rate(&a.trial.effective, &b.trial.effective, &a.limit.item))
}

/// Whether two cases are the same but for the rate of a load item, and what they are called.
fn is_at_another_rate(a: &CasePlan, b: &CasePlan, item: &str) -> bool {
    let mut other = b.clone();
    (other.label, other.params) = (a.label.clone(), a.params.clone());
    let (Some(Role::Produce(of_a)), Some(Role::Produce(of_b))) =
        (a.load.get(item).map(|item| &item.role), other.load.get_mut(item).map(|item| &mut item.role))
    else {
        return false;
    };
    of_b.rate = of_a.rate.clone();
    other == *a
}
