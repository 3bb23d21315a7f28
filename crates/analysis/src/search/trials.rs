//! From a run's trials to the numbers of a search: whether conditions held, and by how much.

use super::question::{PointSoFar, SearchSettings, TrialAnswer};
use crate::analysed::{AnalysedTrial, is_of_generator, is_queue};
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, Level, SteadyState};
use kdyno_model::finding::{Finding, Mark, Quantity, Value};
use kdyno_model::plan::{Condition, FindPlan, LimitSide, Vary};
use kdyno_model::trial::TrialReason;
use std::collections::BTreeSet;

/// A trial of a search, judged by its conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedTrial {
    /// What the search makes of it.
    pub point: PointSoFar,
    /// The metric of each condition, in the plan's order.
    pub values: Vec<Value>,
    /// The marks of each of them.
    pub marks: Vec<BTreeSet<Mark>>,
    /// Index of the condition that binds: the one that is nearest to its limit, or farthest beyond.
    pub binds: Option<u32>,
}

/// The search of a plan, in plain numbers.
pub fn settings(find: &FindPlan) -> SearchSettings {
    SearchSettings {
        from_per_s: find.from_per_s,
        to_per_s: find.to_per_s,
        within: find.within,
        confirm_trials: find.confirm_trials,
        trials_max: find.trials_max,
        step_per_s: match find.vary {
            Vary::Rate => None,
            Vary::Clients { per_client_per_s } => Some(per_client_per_s),
        },
    }
}

/// What a trial says about its load; `None` for one that is not a search's.
pub fn judge(find: &FindPlan, said: AnalysedTrial<'_>) -> Option<JudgedTrial> {
    let TrialReason::Search { stage, load_per_s } = said.trial.reason else { return None };
    let figures: Vec<Option<&Finding>> =
        find.conditions.iter().map(|condition| figure(condition, said.findings)).collect();
    let values: Vec<Value> =
        figures.iter().map(|figure| figure.map_or(Value::None, |figure| figure.estimate)).collect();
    let marks = figures.iter().map(|figure| figure.map(|figure| figure.marks.clone()).unwrap_or_default());
    let marks = marks.collect();
    let met = met(find, &values);
    let is_invalid = figures.iter().flatten().any(|figure| figure.is_invalid());
    let reading = read(find, said, met, is_invalid);
    let binds = met.binds.and_then(|at| u32::try_from(at).ok());
    Some(JudgedTrial { point: PointSoFar { stage, load_per_s, reading }, values, marks, binds })
}

fn figure<'a>(condition: &Condition, findings: &'a [Finding]) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.of == condition.of && finding.quantity == Quantity::Value)
}

/// The state of the conditions.
#[derive(Debug, Clone, Copy)]
struct Met {
    /// `None`: a metric has no value, and those that have one are met.
    all: Option<bool>,
    excess: f64,
    binds: Option<usize>,
}

fn met(find: &FindPlan, values: &[Value]) -> Met {
    let each: Vec<Option<f64>> =
        find.conditions.iter().zip(values).map(|(condition, value)| excess(condition, *value)).collect();
    let known = each.iter().enumerate().filter_map(|(at, excess)| Some((at, (*excess)?)));
    let binding = known.max_by(|a, b| a.1.total_cmp(&b.1));
    let fails = binding.is_some_and(|(_, excess)| excess > 0.0);
    let is_known = !each.is_empty() && each.iter().all(Option::is_some);
    Met {
        all: if fails { Some(false) } else { is_known.then_some(true) },
        excess: binding.map_or(f64::NEG_INFINITY, |(_, excess)| excess),
        binds: binding.map(|(at, _)| at),
    }
}

/// ln(metric ÷ limit), the other way round where the metric must be at least the limit: above 0 it is not met.
fn excess(condition: &Condition, value: Value) -> Option<f64> {
    let limit = condition.limit;
    match (condition.must_be, value) {
        (_, Value::None) => None,
        // The quantile falls among records that were never acknowledged: how late they would be is unknown.
        (LimitSide::AtMost, Value::AtLeast(_)) => Some(f64::INFINITY),
        (LimitSide::AtMost, Value::Is(number)) => Some(ln_ratio(number, limit)),
        (LimitSide::AtLeast, Value::Is(number) | Value::AtLeast(number)) => Some(ln_ratio(limit, number)),
    }
}

/// ln(part ÷ whole) of numbers from 0 on; without a ratio only its sign is given.
fn ln_ratio(part: f64, whole: f64) -> f64 {
    if part <= whole && (part <= 0.0 || whole <= 0.0) {
        f64::NEG_INFINITY
    } else if whole <= 0.0 || part.is_nan() || whole.is_nan() {
        f64::INFINITY
    } else {
        (part / whole).ln()
    }
}

fn read(find: &FindPlan, said: AnalysedTrial<'_>, met: Met, is_invalid: bool) -> TrialAnswer {
    let invalid = || said.caveats.iter().filter(|scoped| scoped.severity == Severity::Invalid);
    // A caveat of another item, or of quantiles beyond those of the conditions, says nothing of whether they hold.
    let concerns =
        |scoped: &ScopedCaveat| find.conditions.iter().any(|condition| scoped.concerns.covers(&condition.of));
    // But a load that was not sustained has failed, whatever the conditions are of. For items other than the one that
    // is raised the queue must have grown: what a slow one owes at a single instant may be one record.
    let overloaded = invalid().filter_map(|scoped| match &scoped.caveat {
        Caveat::QueueGrowth { item, growth_s, allowed_s, .. } => {
            let is_reported = *item == find.item || growth_s > allowed_s || concerns(scoped);
            is_reported.then_some(item.as_str())
        }
        _ => None,
    });
    let overloaded: Vec<&str> = overloaded.collect();
    let of_queue = !overloaded.is_empty();
    let of_generator = invalid().any(|scoped| match &scoped.caveat {
        Caveat::CalibrationShort { item, .. } if *item == find.item => true,
        // Perhaps that was why it queued.
        Caveat::GeneratorLate { item, .. } if overloaded.contains(&item.as_str()) => true,
        caveat => is_of_generator(caveat) && concerns(scoped),
    });
    let is_else = |caveat: &Caveat| !is_of_generator(caveat) && !is_queue(caveat);
    let of_else = invalid().any(|scoped| is_else(&scoped.caveat) && concerns(scoped));
    if of_else || (is_invalid && !of_generator && !of_queue) {
        return TrialAnswer::Nothing;
    }
    // Lateness of the generator makes latencies longer: what meets the conditions with it meets them without it.
    if of_generator && (of_queue || met.all != Some(true)) {
        return TrialAnswer::GeneratorLimit;
    }
    if let Some((measured_s, planned_s)) = cut_short(said.caveats) {
        // A part of the window that failed is a failure if it is most of it; a part that passed proves nothing.
        let fails = of_queue || met.all == Some(false);
        let is_most = measured_s.saturating_mul(2) >= planned_s;
        return if fails && is_most { TrialAnswer::Failed } else { TrialAnswer::Nothing };
    }
    if of_queue {
        return TrialAnswer::Failed;
    }
    match met.all {
        None => TrialAnswer::Nothing,
        Some(true) if is_rising(find, said.conclusions) => TrialAnswer::Failed,
        Some(passed) => TrialAnswer::Complete { passed, excess: met.excess },
    }
}

fn cut_short(caveats: &[ScopedCaveat]) -> Option<(u32, u32)> {
    caveats.iter().find_map(|scoped| match scoped.caveat {
        Caveat::CutShort { measured_s, planned_s, .. } => Some((measured_s, planned_s)),
        _ => None,
    })
}

/// Levels that rise to so many times the first one are a rise that is too steep for a straight line of logarithms.
const RISING_LEVELS: f64 = 1.5;

/// Whether the response time of an item with a condition rose throughout the window: it would go on to rise.
fn is_rising(find: &FindPlan, conclusions: &[Conclusion]) -> bool {
    conclusions.iter().any(|conclusion| {
        let Conclusion::Steadiness(steadiness) = conclusion else { return false };
        let (of, rises) = match &steadiness.state {
            SteadyState::Drifting { of, per_minute } => (of, *per_minute > 0.0),
            SteadyState::SeveralLevels { of, levels } => (of, do_rise(levels)),
            SteadyState::Steady | SteadyState::TooShort { .. } => return false,
        };
        let is_judged = find.conditions.iter().any(|condition| condition.of.subject == of.subject);
        is_judged && rises && of.metric.starts_with("response.")
    })
}

/// Whether each level is above the one before it, and the last one far above the first: one step is no rise.
fn do_rise(levels: &[Level]) -> bool {
    let [first, .., last] = levels else { return false };
    levels.windows(2).all(|pair| pair[0].value < pair[1].value) && last.value >= RISING_LEVELS * first.value
}
