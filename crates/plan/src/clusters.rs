//! Several existing clusters for each side of a comparison: the difference of sides can then be separated from that of
//! the machines that either of them happened to run on.

use crate::budget::Budget;
use crate::choices::PlanError;
use crate::estimate::units_longest_ns;
use crate::planned::PlannedCases;
use crate::sides::SideScenario;
use kdyno_analysis::statistics::look_least;
use kdyno_model::plan::{
    AttachedPlan, CasePlan, ComparePlan, Depth, EvidenceUnit, OnClusters, Plan, Strategy,
};
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;

/// Fewest clusters of each side that can detect a difference in one of the judged metrics: there is a single look.
fn clusters_min(plan: &ComparePlan) -> u32 {
    look_least(1, u32::try_from(plan.judge.len()).unwrap_or(u32::MAX))
}

/// Both sides on every cluster but their first ones.
///
/// # Errors
/// The sides have different numbers of them, one is named twice, or a case cannot be planned for it.
pub(crate) fn further(a: &SideScenario, b: &SideScenario) -> Result<Vec<OnClusters>, PlanError> {
    let (of_a, of_b) = (a.further(), b.further());
    if of_a.len() != of_b.len() {
        let count = |side: &SideScenario| side.further().len() + usize::from(side.first().is_some());
        let message = format!("side A has {} targets, side B has {}", count(a), count(b));
        return Err(InputError::whole(message)
            .hint("name as many for both: each pair runs on a cluster of either side"));
    }
    if of_a.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids: Vec<&AttachedPlan> = Vec::new();
    for target in [a.first(), b.first()].into_iter().flatten().chain(of_a).chain(of_b) {
        if let Some(known) = ids.iter().find(|known| known.cluster_id == target.attached.cluster_id) {
            let message =
                format!("targets `{}` and `{}` are the same cluster", known.target, target.attached.target);
            return Err(InputError::whole(message).hint("each cluster belongs to one side, once"));
        }
        ids.push(&target.attached);
    }
    let cases =
        |side: &SideScenario, target: &Target| side.on(target).map(|planned: PlannedCases| planned.cases);
    of_a.iter()
        .zip(of_b)
        .map(|(one, other)| Ok(OnClusters { a: cases(a, one)?, b: cases(b, other)? }))
        .collect()
}

/// Makes the cluster the unit of evidence where there are enough of them for a verdict; with fewer pairs stay the unit, and
/// what they say is about these clusters.
///
/// # Errors
/// The budget does not reach once around.
pub(crate) fn arrange(
    plan: &mut ComparePlan,
    planned: &PlannedCases,
    pairs: u32,
    budget: Option<Budget>,
) -> Result<(), PlanError> {
    let clusters = plan.clusters();
    if clusters < clusters_min(plan) {
        return Ok(());
    }
    plan.unit = EvidenceUnit::Cluster;
    plan.pairs_per_start = pairs;
    // Somebody's clusters are as many as they are: there is one look, on which all of the error is spent.
    plan.looks = vec![clusters];
    let needed_ns = units_longest_ns(plan, planned, clusters);
    if let Some(budget) = budget.filter(|budget| budget.ns < needed_ns) {
        let why = format!(": each of {clusters} clusters of a side is a unit of evidence");
        return Err(budget.too_small("a verdict", &why, needed_ns));
    }
    Ok(())
}

/// What sides are called that have enough clusters to speak of more than these: by the version that all of a side declare.
/// `None`: not both sides declare one.
pub(crate) fn versions(a: &[CasePlan], plan: &ComparePlan) -> Option<[String; 2]> {
    if plan.unit != EvidenceUnit::Cluster {
        return None;
    }
    let called = |version: String| format!("Kafka {version} ({} clusters)", plan.clusters());
    let of_a = version(a.iter().chain(plan.further.iter().flat_map(|of| &of.a)))?;
    let of_b = version(plan.b.iter().chain(plan.further.iter().flat_map(|of| &of.b)))?;
    Some([called(of_a), called(of_b)])
}

/// The version that all targets of these cases declare.
fn version<'a>(mut cases: impl Iterator<Item = &'a CasePlan>) -> Option<String> {
    let declared = |case: &CasePlan| case.system.target()?.version().map(str::to_owned);
    let first = declared(cases.next()?)?;
    cases.all(|case| declared(case).as_ref() == Some(&first)).then_some(first)
}

/// What several clusters per side can say, and what they cannot.
pub(crate) fn remark(plan: &Plan) -> Option<String> {
    let Strategy::Compare(compare) = &plan.strategy else { return None };
    let clusters = compare.clusters();
    match compare.unit {
        _ if clusters < 2 => None,
        // It has few pairs, whatever the number of clusters.
        _ if plan.depth == Depth::Quick => Some(format!(
            "a quick look at {} of {clusters} clusters of each side: what it shows is about these, not about what runs \
             on them",
            compare.pairs_per_start.min(clusters)
        )),
        EvidenceUnit::Cluster => Some(format!(
            "the cluster is the unit of evidence: {clusters} of each side speak of what runs on them"
        )),
        _ => Some(format!(
            "{clusters} clusters of each side: the answer is about these clusters, not about what runs on them; \
             {} of each side are the fewest for that",
            clusters_min(compare)
        )),
    }
}
