//! What was in force on both sides of a comparison, and what of it was not requested: [`brokers`], their [`topics`],
//! their [`jvms`] and the [`clients`].

mod brokers;
mod clients;
mod clusters;
mod differences;
mod jvms;
mod topics;

use crate::marks;
use clusters::Clusters;
use differences::undeclared;
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, Says};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{ComparePlan, Plan};
use kdyno_model::run::TrialStart;

/// Every setting that is not the same on both sides, of brokers and topics as brokers report them, of clients as they
/// report them or the plan has them, of brokers' Java; and a caveat for each that was not requested: it may be what the
/// verdict is about. `trials` are those of the run.
///
/// What the comparison changes, what `may_differ` names, and what comes with another version, mode or listeners is
/// declared; on clusters that are not ours, defaults where they have other versions. Settings that only say who a broker
/// is are left out. Where each side has several clusters, those of each turn are compared, and those of a side with each
/// other; and the brokers of each cluster.
pub fn settings(plan: &Plan, compared: &ComparePlan, trials: &[TrialStart]) -> Judgement {
    let mut found = Judgement::default();
    for ((case, a), b) in (0u32..).zip(&plan.cases).zip(&compared.b) {
        let scope = Scope::Comparison { case };
        let of_case: Vec<&TrialStart> = trials.iter().filter(|start| start.trial.case == case).collect();
        let clusters: Vec<Clusters<'_>> = (0..compared.clusters())
            .filter_map(|turn| Clusters::of(plan, compared, case, turn, &of_case))
            .collect();
        let in_force = clusters.first().map(Clusters::of_clients).unwrap_or_default();
        for setting in clients::differences(scope, [a, b], &in_force) {
            found.conclusions.push(Conclusion::SettingDiffers(setting));
        }
        brokers::judge(scope, compared, &clusters, &mut found);
        let others = topics::differences(scope, compared, [a, b], &clusters);
        for (setting, degree) in others.into_iter().chain(jvms::differences(scope, &clusters)) {
            found.caveats.extend(degree.and_then(|degree| undeclared(&setting, degree)));
            found.conclusions.push(Conclusion::SettingDiffers(setting));
        }
        let sides = [0, 1].into_iter();
        found.caveats.extend(sides.clone().filter_map(|side| brokers::within_side(scope, side, &clusters)));
        found.caveats.extend(sides.filter_map(|side| brokers::within_clusters(scope, side, &clusters)));
    }
    found
}

/// A comparison with an invalid caveat of its own, such as a setting that was not asked to differ, has no verdict.
pub fn void(judged: &mut Judgement) {
    let Judgement { findings, caveats, conclusions } = judged;
    let invalid = |caveat: &&ScopedCaveat| {
        caveat.severity == Severity::Invalid && matches!(caveat.scope, Scope::Comparison { .. })
    };
    for caveat in caveats.iter().filter(invalid) {
        let reason = match &caveat.caveat {
            Caveat::UndeclaredDifference { whose, setting, a, b } => {
                format!("{setting} of {whose} is {a} on side A and {b} on side B, which was not requested")
            }
            _ => "the evidence of this comparison is invalid".to_owned(),
        };
        for conclusion in conclusions.iter_mut() {
            if let Conclusion::Verdict(verdict) = conclusion
                && verdict.scope == caveat.scope
                && !matches!(verdict.says, Says::Invalid { .. })
            {
                verdict.says = Says::Invalid { reason: reason.clone() };
            }
        }
    }
    marks::invalid(findings, caveats);
}
