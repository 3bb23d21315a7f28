//! What a plan is to answer beyond a table, in words: who is compared, what is judged and when it is looked; what is
//! searched, and between which loads.

use crate::digits;
use crate::units;
use kdyno_model::metric::Unit;
use kdyno_model::plan::{
    Better, CasePlan, ComparePlan, Contrast, Depth, EvidenceUnit, FindPlan, Judge, PairDesign, Plan,
    Strategy, Vary,
};

/// What is compared or searched: one line each.
pub(super) fn asked_lines(plan: &Plan) -> Vec<String> {
    match &plan.strategy {
        Strategy::List(_) => Vec::new(),
        Strategy::Compare(compare) => compare_lines(compare, plan),
        Strategy::Find(find) => find_lines(find, plan.depth),
    }
}

/// That, and how fresh clusters are conditioned, contrasts and claims: one line each.
pub(super) fn question_lines(plan: &Plan) -> Vec<String> {
    let mut lines = asked_lines(plan);
    if let Some(conditioning) = plan.conditioning.filter(|_| !plan.is_on_null_brokers()) {
        let is_duet = matches!(&plan.strategy, Strategy::Compare(of) if of.design == PairDesign::Duet);
        let [least, most] = [conditioning.least_ns, conditioning.most_ns].map(units::duration);
        let time = if least == most { least } else { format!("{least} to {most}") };
        lines.push(format!(
            "conditioning: load for {} on each fresh cluster before its first trial{}, which is in no table; \
             `phases: {{condition: none}}` leaves it out",
            time,
            if is_duet { ", both sides at once and at the rates of the pairs" } else { "" }
        ));
    }
    lines.extend(plan.contrasts.iter().map(|one| contrast_text(one, plan)));
    lines.extend(plan.claims.iter().map(|claim| match claim.is_threshold {
        true => format!("fails if {}", claim.text),
        false => format!("claim: {} ({})", claim.text, claim.that),
    }));
    lines
}

fn contrast_text(one: &Contrast, plan: &Plan) -> String {
    let [from, to] = [one.from, one.to].map(|case| match plan.cases.get(case as usize) {
        Some(case) => case.label.as_str(),
        None => units::NOTHING,
    });
    let of: Vec<String> = one.of.iter().map(ToString::to_string).collect();
    format!("contrast: {}, from {from} to {to} ({})", one.name, of.join(", "))
}

fn compare_lines(compare: &ComparePlan, plan: &Plan) -> Vec<String> {
    let [a, b] = &compare.labels;
    let changes = if compare.changes.is_empty() { "nothing".to_owned() } else { compare.changes.join("; ") };
    let judged: Vec<String> = compare.judge.iter().map(judge_text).collect();
    let pairs = |count: u32| format!("{count} pair{}", if count == 1 { "" } else { "s" });
    let looks: Vec<String> = compare.looks.iter().map(ToString::to_string).collect();
    let unit = compare.unit;
    let pairs_of_unit = match unit {
        EvidenceUnit::Pair => pairs(compare.looks.last().copied().unwrap_or_default()),
        _ => format!("{} per {unit}", pairs(compare.pairs_per_start)),
    };
    let (at_once, together) = match compare.design {
        PairDesign::Turns => ("both sides", ""),
        PairDesign::Duet => ("both sides at once,", ", both sides at once, under the same arrivals"),
    };
    let of = if plan.is_on_null_brokers() { "" } else { " of the clusters" };
    let design = match plan.depth {
        Depth::Quick => format!(
            "quick look: {} on one start{of}, either side first as often{together}; it says what these starts show and is no verdict",
            pairs(compare.looks.last().copied().unwrap_or_default())
        ),
        Depth::Verdict => format!(
            "evidence: {pairs_of_unit} in drawn order, {at_once} under the same arrivals; looked at after {} {unit}s, and \
             ended at the first look that is clear",
            looks.join(", ")
        ),
    };
    vec![
        format!("comparison: A is {a}, B is {b}; to differ: {changes}"),
        format!("judged: {}", judged.join("; ")),
        design,
    ]
}

fn judge_text(judge: &Judge) -> String {
    let better = match judge.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    format!("{} ({better}, {} % matters)", judge.of, digits::named(judge.margin * 100.0))
}

fn find_lines(find: &FindPlan, depth: Depth) -> Vec<String> {
    let rate = |per_s| units::number(per_s, Unit::RecordsPerS);
    let varied = match find.vary {
        Vary::Rate => format!("the rate of {}", find.item),
        Vary::Clients { per_client_per_s } => {
            format!("the clients of {}, {} each", find.item, rate(per_client_per_s))
        }
    };
    let conditions: Vec<&str> = find.conditions.iter().map(|one| one.text.as_str()).collect();
    let confirmed = match find.confirm_trials {
        0 => "confirmed by none".to_owned(),
        trials => format!(
            "confirmed by {trials} of {}, at lower loads until all of them hold",
            units::duration(find.confirm_ns)
        ),
    };
    let label = match depth {
        Depth::Quick => "quick look",
        Depth::Verdict => "search",
    };
    vec![
        format!(
            "{label}: {varied} from {} to {} while {}",
            rate(find.from_per_s),
            rate(find.to_per_s),
            conditions.join(" and ")
        ),
        format!(
            "trials: up with windows of {}, then of {} until the answer is within {} %, {confirmed}; {} at most, two of \
             the way up counting as one",
            units::duration(find.ramp_ns),
            units::duration(find.trial_ns),
            units::count((find.within * 1000.0).round() / 10.0),
            find.trials_max
        ),
    ]
}

/// Side B of a case, where the plan compares.
pub(super) fn side_b(plan: &Plan, case: usize) -> Option<&CasePlan> {
    match &plan.strategy {
        Strategy::Compare(compare) => compare.b.get(case),
        Strategy::List(_) | Strategy::Find(_) => None,
    }
}
