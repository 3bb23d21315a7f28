//! What a record takes of each resource, by the utilisation law, and which resource is the next limit
//! (docs/reference/limits.md, What would be the limit next).

mod group;
mod line;

use crate::analysed::AnalysedTrial;
use crate::limit::{FULL_SHARE, RESOURCES, SATURATED_SHARE};
use crate::steady;
use group::{DemandPoint, RateGroup};
use kdyno_model::conclusion::{AtLimit, Demand, LimitEvidence, LimitKind, ResourceDemand, ShareOf};
use kdyno_model::finding::{Interval, IntervalMethod, NotResolvable};
use kdyno_model::plan::Plan;
use line::LeastSquaresLine;
use std::collections::BTreeMap;

/// Loads that lie closer than this, highest ÷ lowest, are one load: a line through them would show their noise.
const SPREAD_MIN: f64 = 1.2;
/// Loads below this share of the highest one do not count for a line: there batches are not those of the highest.
const NEAR_SHARE: f64 = 0.25;
/// Rates that follow each other within this factor are of one load.
const SAME_LOAD: f64 = 1.05;

/// What can be used wholly, and is predicted by the load: a quota shows only when it is reached.
fn resources() -> impl Iterator<Item = LimitKind> {
    RESOURCES.into_iter().filter(|kind| *kind != LimitKind::Quota)
}

/// One for each load item that produces and each group of trials that differ in its rate alone.
pub(crate) fn of(plan: &Plan, trials: &[AnalysedTrial<'_>]) -> Vec<Demand> {
    group::all(plan, trials).iter().filter_map(demand).collect()
}

/// The points of a group at its highest load.
struct Highest<'a, 'b> {
    points: &'b [DemandPoint<'a>],
    /// The median of their rates.
    per_s: f64,
}

fn demand(group: &RateGroup<'_>) -> Option<Demand> {
    let points = &group.points;
    let is_highest = |at: &usize| *at == 0 || points[*at].per_s > SAME_LOAD * points[at - 1].per_s;
    let at = &points[(0..points.len()).rev().find(is_highest)?..];
    let highest = Highest { points: at, per_s: median(at.iter().map(|point| point.per_s))? };
    let mut resources: Vec<ResourceDemand> =
        highest.asked().into_iter().filter_map(|kind| resource(points, &highest, kind)).collect();
    resources.sort_by(|a, b| order(a).total_cmp(&order(b)).then(b.used.total_cmp(&a.used)));
    let next = highest.next(&resources);
    (!resources.is_empty()).then(|| Demand {
        scope: group.scope,
        item: group.item.to_owned(),
        tested_per_s: highest.per_s,
        resources,
        next,
        not_judged: highest.not_judged(),
    })
}

/// Resources at their limit, then those with a predicted load by that load, then those that may be within, then the
/// rest.
fn order(of: &ResourceDemand) -> f64 {
    match of.at_limit {
        AtLimit::Reached => 0.0,
        AtLimit::At { times, .. } => times,
        AtLimit::CannotTell | AtLimit::OneLoad => 1e6,
        AtLimit::NotWithin => 1e9,
    }
}

impl Highest<'_, '_> {
    /// Whether most of its trials name this limit.
    fn names(&self, kind: LimitKind) -> bool {
        let naming = self.points.iter().filter(|point| point.limit.named == kind).count();
        2 * naming >= self.points.len()
    }

    /// The resources that are asked about. While something is the limit, requests in flight are as many as they are because
    /// of it.
    fn asked(&self) -> Vec<LimitKind> {
        let is_schedule = self.points.iter().all(|point| point.limit.named == LimitKind::Schedule);
        resources().chain(is_schedule.then_some(LimitKind::RequestsInFlight)).collect()
    }

    /// The resources that its trials have as candidates, and whose use none of them knows.
    fn not_judged(&self) -> Vec<LimitKind> {
        let all = |kind: LimitKind| self.points.iter().filter_map(move |point| evidence(point, kind));
        let is_left =
            |kind: &LimitKind| all(*kind).next().is_some() && all(*kind).all(|one| one.used.is_none());
        resources().filter(is_left).collect()
    }

    /// Which of several shares counts, of a resource that has such: the largest one there. The largest of each load by itself
    /// would be now of one thing and then of another, and no line through them that of any.
    fn share_of(&self, kind: LimitKind) -> Option<ShareOf> {
        let mut found: BTreeMap<ShareOf, Vec<f64>> = BTreeMap::new();
        for (of, share) in
            self.points.iter().filter_map(|point| evidence(point, kind)).flat_map(|one| &one.shares)
        {
            found.entry(*of).or_default().push(*share);
        }
        let medians = found.into_iter().filter_map(|(of, shares)| Some((of, median(shares.into_iter())?)));
        medians.reduce(|best, one| if one.1 > best.1 { one } else { best }).map(|(of, _)| of)
    }

    /// The first that is not at its limit already, nor is what the trials name; of what carries all that is offered one that is
    /// at its limit already. With an unknown limit, or one load alone, none is next.
    fn next(&self, resources: &[ResourceDemand]) -> Option<LimitKind> {
        let is_one_load = resources.iter().any(|of| of.at_limit == AtLimit::OneLoad);
        if self.names(LimitKind::Unknown) || is_one_load {
            return None;
        }
        let is_carried = self.names(LimitKind::Schedule);
        let is_left = |of: &&ResourceDemand| {
            (is_carried || !matches!(of.at_limit, AtLimit::Reached)) && !self.names(of.kind)
        };
        resources.iter().find(is_left).map(|of| of.kind)
    }
}

/// What a trial used of a resource: of one thing, where the resource has several. For the host's CPUs it is the share
/// of what other programs left, for they do not follow the load.
fn share(point: &DemandPoint<'_>, kind: LimitKind, of: Option<ShareOf>) -> Option<f64> {
    let evidence = evidence(point, kind)?;
    let used = of.map_or(evidence.used, |of| evidence.shares.get(&of).copied())?;
    let others = evidence.others.filter(|others| of == Some(ShareOf::Host) && *others < 1.0);
    Some(others.map_or(used, |others| (used - others).max(0.0) / (1.0 - others)))
}

fn evidence<'a>(point: &DemandPoint<'a>, kind: LimitKind) -> Option<&'a LimitEvidence> {
    point.limit.evidence.iter().find(|one| one.kind == kind)
}

/// What records take of one resource; `None`: it was not judged at the highest load.
fn resource(
    points: &[DemandPoint<'_>],
    highest: &Highest<'_, '_>,
    kind: LimitKind,
) -> Option<ResourceDemand> {
    let of = highest.share_of(kind);
    let shares = |points: &[DemandPoint<'_>]| -> Vec<(f64, f64)> {
        let share = |point: &DemandPoint<'_>| share(point, kind, of).filter(|used| *used > 0.0);
        points.iter().filter_map(|point| Some((point.per_s, share(point)?))).collect()
    };
    let at_highest = shares(highest.points);
    let used = median(at_highest.iter().map(|point| point.1))?;
    let near: Vec<(f64, f64)> =
        shares(points).into_iter().filter(|point| point.0 >= NEAR_SHARE * highest.per_s).collect();
    let is_several = near.first().is_some_and(|lowest| highest.per_s >= SPREAD_MIN * lowest.0);
    let line = is_several.then(|| LeastSquaresLine::through(&near)).flatten();
    let rests_on = if line.is_some() { &near } else { &at_highest };
    let full = if kind == LimitKind::RequestsInFlight { FULL_SHARE } else { SATURATED_SHARE };
    let at_limit = match &line {
        _ if used >= full => AtLimit::Reached,
        Some(line) => by_line(line, highest.per_s),
        None => AtLimit::OneLoad,
    };
    Some(ResourceDemand {
        kind,
        loads: if line.is_some() { loads(&near) } else { 1 },
        trials: u32::try_from(rests_on.len()).unwrap_or(u32::MAX),
        used,
        ns_per_record: 1e9 * used / highest.per_s,
        ns_per_further_record: line.map(|line| 1e9 * line.slope),
        at_limit,
    })
}

/// How many loads there are among points in the order of their rates.
fn loads(points: &[(f64, f64)]) -> u32 {
    let further = points.windows(2).filter(|pair| pair[1].0 > SAME_LOAD * pair[0].0);
    1 + u32::try_from(further.count()).unwrap_or(u32::MAX - 1)
}

/// With several loads: what does not grow with the load is separated from what does.
fn by_line(line: &LeastSquaresLine, tested_per_s: f64) -> AtLimit {
    let bound = Demand::PREDICTED_MAX;
    if line.most_at(bound * tested_per_s) < 1.0 {
        return AtLimit::NotWithin;
    }
    let Some(times) = line.crossing().map(|per_s| per_s / tested_per_s).filter(|times| *times <= bound)
    else {
        return AtLimit::CannotTell;
    };
    let interval = match line.crossing_between() {
        Some((low, high)) => Interval::Bounds {
            low: low / tested_per_s,
            high: (high / tested_per_s).min(bound),
            level: line::LEVEL,
            method: IntervalMethod::LineCrossing,
        },
        None => Interval::NotResolvable(NotResolvable::TooFewTrials { needed: 3 }),
    };
    // A line may meet the level a hair below the load at which the resource was seen to have something left.
    AtLimit::At { times: times.max(1.0), interval }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    steady::median(&mut values.collect::<Vec<f64>>())
}
