//! Claims and contrasts of a scenario, judged over the repeats of its cases (docs/METHOD.md, "Claims and contrasts").

use crate::cases::CaseFigures;
use crate::comparison::trials_sd;
use crate::median::Median;
use crate::paired::Paired;
use kdyno_model::conclusion::{ClaimSays, Conclusion, JudgedClaim, Ratio};
use kdyno_model::finding::{Finding, Interval, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Claim, ClaimExpr, ClaimOp, Contrast, Plan};
use std::collections::{BTreeMap, BTreeSet};

type CasesByNumber<'a> = BTreeMap<u32, CaseFigures<'a>>;

/// By so many standard deviations a claim whose truth is its limit is missed in 4.5 % of trials.
const MISSED_SDS_MIN: f64 = 1.7;

/// Mean range of five normal numbers, sd: a window has five parts or more, and more of them lie further apart.
const RANGE_SDS: f64 = 2.326;

const ONLY_A_BOUND: &str = "of a figure only a lower bound is known";
const OWN_DELAY: &str = "the load generator's own delay is in that, so the cluster took less";
const FAR_OFF: &str =
    "it is missed by more than the window's own spread and the typical one between trials can explain";

/// Each claim, and each metric of each contrast, in the order of the plan.
pub(crate) fn judge(plan: &Plan, cases: &CasesByNumber<'_>) -> Judgement {
    let claims =
        (0u32..).zip(&plan.claims).map(|(index, claim)| Conclusion::Claim(judged(index, claim, cases)));
    let contrasts = plan
        .contrasts
        .iter()
        .flat_map(|contrast| contrast.of.iter().map(|of| contrasted(contrast, of, cases)));
    Judgement { findings: contrasts.collect(), caveats: Vec::new(), conclusions: claims.collect() }
}

/// A side of a claim in one repeat; `None`: one of its figures is missing or must not be used.
fn value(of: &ClaimExpr, repeat: u32, cases: &CasesByNumber<'_>) -> Option<Value> {
    let both = |a: &ClaimExpr, b: &ClaimExpr| value(a, repeat, cases).zip(value(b, repeat, cases));
    match of {
        ClaimExpr::Number(number) => Some(Value::Is(*number)),
        ClaimExpr::Metric { of, case } => {
            cases.get(case)?.repeats(of).find_map(|(other, value)| (other == repeat).then_some(value))
        }
        ClaimExpr::Sum(a, b) => both(a, b).map(|(a, b)| rising(a, b, |a, b| a + b)),
        ClaimExpr::Product(a, b) => both(a, b).map(|(a, b)| rising(a, b, |a, b| a * b)),
        ClaimExpr::Difference(a, b) => both(a, b).map(|(a, b)| falling(a, b, |a, b| a - b)),
        ClaimExpr::Quotient(a, b) => {
            // Nothing divided by nothing is no figure.
            both(a, b).map(|(a, b)| falling(a, b, |a, b| a / b)).filter(|found| match found {
                Value::Is(number) | Value::AtLeast(number) => number.is_finite(),
                Value::None => true,
            })
        }
    }
}

/// What grows with both, metrics being at least 0.
fn rising(a: Value, b: Value, of: fn(f64, f64) -> f64) -> Value {
    match (a, b) {
        (Value::Is(a), Value::Is(b)) => Value::Is(of(a, b)),
        (Value::Is(a) | Value::AtLeast(a), Value::Is(b) | Value::AtLeast(b)) => Value::AtLeast(of(a, b)),
        _ => Value::None,
    }
}

/// What grows with the first and shrinks with the second: of a second that is "at least" something nothing is known.
fn falling(a: Value, b: Value, of: fn(f64, f64) -> f64) -> Value {
    match (a, b) {
        (Value::Is(a), Value::Is(b)) => Value::Is(of(a, b)),
        (Value::AtLeast(a), Value::Is(b)) => Value::AtLeast(of(a, b)),
        _ => Value::None,
    }
}

/// Between which values a side lies in the parts of a repeat's window; `None` where that is not known of one of its figures.
fn parts(of: &ClaimExpr, repeat: u32, cases: &CasesByNumber<'_>) -> Option<(f64, f64)> {
    let both = |a: &ClaimExpr, b: &ClaimExpr| parts(a, repeat, cases).zip(parts(b, repeat, cases));
    match of {
        ClaimExpr::Number(number) => Some((*number, *number)),
        ClaimExpr::Metric { of, case } => cases.get(case)?.parts(of, repeat),
        ClaimExpr::Sum(a, b) => both(a, b).map(|((a, b), (c, d))| (a + c, b + d)),
        ClaimExpr::Product(a, b) => both(a, b).map(|((a, b), (c, d))| (a * c, b * d)),
        ClaimExpr::Difference(a, b) => both(a, b).map(|((a, b), (c, d))| (a - d, b - c)),
        ClaimExpr::Quotient(a, b) => both(a, b).map(|((a, b), (c, d))| (a / d, b / c)),
    }
}

/// The marks of a side: those of every figure that it is made of.
fn marks(of: &ClaimExpr, cases: &CasesByNumber<'_>) -> BTreeSet<Mark> {
    match of {
        ClaimExpr::Number(_) => BTreeSet::new(),
        ClaimExpr::Metric { of, case } => {
            let figure = cases.get(case).and_then(|case| case.finding(of));
            figure.map(|figure| figure.marks.clone()).unwrap_or_default()
        }
        ClaimExpr::Sum(a, b)
        | ClaimExpr::Product(a, b)
        | ClaimExpr::Difference(a, b)
        | ClaimExpr::Quotient(a, b) => &marks(a, cases) | &marks(b, cases),
    }
}

/// Both sides in every repeat that has both, by repeat, or why there are none.
fn sides(claim: &Claim, cases: &CasesByNumber<'_>) -> Result<BTreeMap<u32, [Value; 2]>, String> {
    let of: BTreeSet<u32> = claim.left.metrics().chain(claim.right.metrics()).map(|(_, case)| case).collect();
    let sessions: BTreeSet<u32> = of.iter().filter_map(|case| Some(cases.get(case)?.session)).collect();
    if sessions.len() > 1 {
        return Err("its cases ran in different sessions".to_owned());
    }
    let repeats: BTreeSet<u32> =
        of.iter().filter_map(|case| cases.get(case)).flat_map(CaseFigures::all_repeats).collect();
    let sides = repeats.into_iter().filter_map(|repeat| {
        Some((repeat, [value(&claim.left, repeat, cases)?, value(&claim.right, repeat, cases)?]))
    });
    let sides: BTreeMap<u32, [Value; 2]> = sides.collect();
    if sides.is_empty() {
        return Err("no repeat has all the figures that it needs, fit for use".to_owned());
    }
    Ok(sides)
}

fn judged(index: u32, claim: &Claim, cases: &CasesByNumber<'_>) -> JudgedClaim {
    let unjudged = |reason| JudgedClaim {
        claim: index,
        says: ClaimSays::CannotTell,
        left: Value::None,
        right: Value::None,
        marks: Default::default(),
        compared: None,
        n: 0,
        reason: Some(reason),
        by_bound: false,
    };
    let by_repeat = match sides(claim, cases) {
        Ok(sides) => sides,
        Err(reason) => {
            let unjudged = unjudged(reason);
            return by_upper_bound(claim, cases, &unjudged).unwrap_or(unjudged);
        }
    };
    let sides: Vec<[Value; 2]> = by_repeat.values().copied().collect();
    let median = |at: usize| Median::of(&sides.iter().map(|sides| sides[at]).collect::<Vec<_>>()).estimate;
    let (left, right) = (median(0), median(1));
    let compared = compare(&sides);
    let n = u32::try_from(sides.len()).unwrap_or(u32::MAX);
    let (says, reason) = match &compared {
        _ if claim.is_threshold && !sides.iter().flatten().any(|side| *side == Value::None) => {
            threshold(left, right, claim.op)
        }
        _ if claim.is_threshold => (ClaimSays::CannotTell, Some(ONLY_A_BOUND.to_owned())),
        Ok(of) if of.has_interval() => of.answer(claim.op),
        Ok(_) if by_repeat.iter().all(|one| is_far_off(claim, one, cases)) => {
            (ClaimSays::DoesNot, Some(FAR_OFF.to_owned()))
        }
        Ok(of) => of.answer(claim.op),
        Err(why) => (ClaimSays::CannotTell, Some((*why).to_owned())),
    };
    let marks = [&claim.left, &claim.right].map(|side| marks(side, cases));
    let compared = compared.ok().map(|of| of.stated());
    let by_bound = claim.is_threshold && says != ClaimSays::CannotTell && is_bounded(claim, cases);
    JudgedClaim { claim: index, says, left, right, marks, compared, n, reason, by_bound }
}

/// Whether figures of a claim are invalid, and what each of these is at least is known.
fn is_bounded(claim: &Claim, cases: &CasesByNumber<'_>) -> bool {
    let figures = claim.left.metrics().chain(claim.right.metrics());
    let is_invalid = |(of, case): &(&Address, u32)| {
        cases.get(case).and_then(|case| case.finding(of)).is_some_and(Finding::is_invalid)
    };
    let mut invalid = figures.filter(is_invalid).peekable();
    invalid.peek().is_some()
        && invalid.all(|(of, case)| cases.get(&case).is_some_and(|case| case.is_bounded(of)))
}

/// A threshold of a figure that is invalid for the load generator's own delay alone, where what the figure is at most decides.
fn by_upper_bound(claim: &Claim, cases: &CasesByNumber<'_>, open: &JudgedClaim) -> Option<JudgedClaim> {
    let ((of, case), limit, is_left) = match (&claim.left, &claim.right) {
        (ClaimExpr::Metric { of, case }, ClaimExpr::Number(limit)) => ((of, case), *limit, true),
        (ClaimExpr::Number(limit), ClaimExpr::Metric { of, case }) => ((of, case), *limit, false),
        _ => return None,
    };
    let (most, n) = cases.get(case)?.at_most(of).filter(|_| claim.is_threshold)?;
    let (left, right) = if is_left { (most, limit) } else { (limit, most) };
    // What is smaller still only strengthens one of the two answers.
    let holds = holds(left, right, claim.op);
    if holds != (is_upper(claim.op) == is_left) {
        return None;
    }
    Some(JudgedClaim {
        says: if holds { ClaimSays::Holds } else { ClaimSays::DoesNot },
        left: Value::Is(left),
        right: Value::Is(right),
        marks: [&claim.left, &claim.right].map(|side| marks(side, cases)),
        n,
        reason: Some(OWN_DELAY.to_owned()),
        by_bound: true,
        ..open.clone()
    })
}

fn holds(left: f64, right: f64, op: ClaimOp) -> bool {
    match op {
        ClaimOp::Less => left < right,
        ClaimOp::AtMost => left <= right,
        ClaimOp::Greater => left > right,
        ClaimOp::AtLeast => left >= right,
    }
}

/// Whether the left side must stay below.
fn is_upper(op: ClaimOp) -> bool {
    matches!(op, ClaimOp::Less | ClaimOp::AtMost)
}

/// A threshold of this run, by its figures as they are.
fn threshold(left: Value, right: Value, op: ClaimOp) -> (ClaimSays, Option<String>) {
    let is_upper = is_upper(op);
    let holds = |left, right| holds(left, right, op);
    let holds = match (left, right) {
        (Value::Is(left), Value::Is(right)) => Some(holds(left, right)),
        // What is larger still only strengthens one of the two answers.
        (Value::AtLeast(left), Value::Is(right)) => {
            Some(holds(left, right)).filter(|holds| *holds != is_upper)
        }
        (Value::Is(left), Value::AtLeast(right)) => {
            Some(holds(left, right)).filter(|holds| *holds == is_upper)
        }
        _ => None,
    };
    match holds {
        Some(true) => (ClaimSays::Holds, None),
        Some(false) => (ClaimSays::DoesNot, None),
        None => (ClaimSays::CannotTell, Some(ONLY_A_BOUND.to_owned())),
    }
}

/// Whether a repeat misses a claim by more than its own window and the typical difference between trials can explain: every
/// part of the window misses it, the limit is further away than the parts are from each other, and further than another trial
/// would lie in 19 of 20 cases.
fn is_far_off(claim: &Claim, (repeat, sides): (&u32, &[Value; 2]), cases: &CasesByNumber<'_>) -> bool {
    let ([Value::Is(left), Value::Is(right)], Some(of_left), Some(of_right)) =
        (sides, parts(&claim.left, *repeat, cases), parts(&claim.right, *repeat, cases))
    else {
        return false;
    };
    if of_left.0 <= 0.0 || of_right.0 <= 0.0 {
        return false;
    }
    // Such that what misses is above 1.
    let (low, estimate, high) = match claim.op {
        ClaimOp::Less | ClaimOp::AtMost => (of_left.0 / of_right.1, left / right, of_left.1 / of_right.0),
        ClaimOp::Greater | ClaimOp::AtLeast => (of_right.0 / of_left.1, right / left, of_right.1 / of_left.0),
    };
    let trials = spread(&claim.left, *repeat, cases).zip(spread(&claim.right, *repeat, cases));
    let Some((of_left, of_right)) = trials.filter(|_| low > 1.0 && high.is_finite()) else { return false };
    let range = (high / low).ln();
    // As if the window were one of its parts: they are much alike.
    let sd = of_left.hypot(of_right).hypot(range / RANGE_SDS);
    estimate.ln() >= range.max(MISSED_SDS_MIN * sd)
}

/// By how much a side typically differs from trial to trial, sd of its logarithm. Figures of a trial rise and fall together:
/// in products their spreads add up, and of a sum the larger one is at least its own.
fn spread(of: &ClaimExpr, repeat: u32, cases: &CasesByNumber<'_>) -> Option<f64> {
    let both = |a: &ClaimExpr, b: &ClaimExpr| spread(a, repeat, cases).zip(spread(b, repeat, cases));
    match of {
        ClaimExpr::Number(_) => Some(0.0),
        ClaimExpr::Metric { of, .. } => Some(trials_sd(&of.metric)),
        ClaimExpr::Sum(a, b) => both(a, b).map(|(a, b)| a.max(b)),
        ClaimExpr::Product(a, b) => both(a, b).map(|(a, b)| a + b),
        ClaimExpr::Quotient(a, b) => both(a, b).map(|(a, b)| a.hypot(b)),
        ClaimExpr::Difference(a, b) => {
            let number = |of: &ClaimExpr| match value(of, repeat, cases)? {
                Value::Is(number) => Some(number),
                Value::AtLeast(_) | Value::None => None,
            };
            let ((of_a, of_b), (a, b)) = both(a, b).zip(number(a).zip(number(b)))?;
            Some((a * of_a).hypot(b * of_b) / (a - b).abs())
        }
    }
}

/// Left against right.
struct ComparedSides {
    /// In logarithms where it is a ratio.
    paired: Paired,
    is_ratio: bool,
    /// The left side is only known to be "at least" something, or the right one.
    at_least: [bool; 2],
}

/// By the ratio where both sides are positive in every repeat, else by the difference.
fn compare(sides: &[[Value; 2]]) -> Result<ComparedSides, &'static str> {
    let mut at_least = [false; 2];
    let mut numbers = Vec::new();
    for repeat in sides {
        let mut pair = [0.0; 2];
        for ((value, number), at_least) in repeat.iter().zip(&mut pair).zip(&mut at_least) {
            *number = match value {
                Value::Is(number) => *number,
                Value::AtLeast(number) => {
                    *at_least = true;
                    *number
                }
                Value::None => {
                    return Err("of a figure that it divides by or takes away only a lower bound is known");
                }
            };
        }
        numbers.push(pair);
    }
    let is_ratio = numbers.iter().flatten().all(|number| *number > 0.0 && number.is_finite());
    let difference = |[left, right]: &[f64; 2]| if is_ratio { (left / right).ln() } else { left - right };
    let differences: Vec<f64> = numbers.iter().map(difference).collect();
    let paired = Paired::of(&differences, 1).ok_or("a side has no finite value")?;
    Ok(ComparedSides { paired, is_ratio, at_least })
}

impl ComparedSides {
    fn has_interval(&self) -> bool {
        matches!(self.paired.interval, Interval::Bounds { .. })
    }

    /// Where left less right, or the logarithm of their ratio, lies; beyond any bound on a side where only "at least"
    /// is known.
    fn answer(&self, op: ClaimOp) -> (ClaimSays, Option<String>) {
        let Interval::Bounds { low, high, .. } = self.paired.interval else {
            let why = match self.paired.n {
                1 => "one trial per case, so run-to-run variation is unknown (set `repeat: 3` or more)"
                    .to_owned(),
                n => format!("{n} repeats are too few, 3 are needed"),
            };
            return (ClaimSays::CannotTell, Some(why));
        };
        let [left_at_least, right_at_least] = self.at_least;
        let low = if right_at_least { f64::NEG_INFINITY } else { low };
        let high = if left_at_least { f64::INFINITY } else { high };
        let (holds, does_not) = match op {
            ClaimOp::Less => (high < 0.0, low >= 0.0),
            ClaimOp::AtMost => (high <= 0.0, low > 0.0),
            ClaimOp::Greater => (low > 0.0, high <= 0.0),
            ClaimOp::AtLeast => (low >= 0.0, high < 0.0),
        };
        match (holds, does_not) {
            (true, _) => (ClaimSays::Holds, None),
            (_, true) => (ClaimSays::DoesNot, None),
            _ => (ClaimSays::CannotTell, Some("the interval has both sides of the claim in it".to_owned())),
        }
    }

    fn stated(&self) -> Ratio {
        let paired = if self.is_ratio { self.paired.exp() } else { self.paired };
        let is_known = self.at_least == [false; 2];
        let censored = Interval::NotResolvable(NotResolvable::Censored);
        Ratio { estimate: paired.estimate, interval: if is_known { paired.interval } else { censored } }
    }
}

/// The ratio of one metric from a case to another: always stated, also without a value, so that the order says which
/// contrast it is.
fn contrasted(contrast: &Contrast, of: &Address, cases: &CasesByNumber<'_>) -> Finding {
    let metric = |case| ClaimExpr::Metric { of: of.clone(), case };
    let claim = Claim {
        text: String::new(),
        that: String::new(),
        is_threshold: false,
        left: metric(contrast.to),
        op: ClaimOp::Less,
        right: metric(contrast.from),
    };
    let compared = sides(&claim, cases)
        .ok()
        .and_then(|sides| compare(&sides.into_values().collect::<Vec<_>>()).ok())
        .filter(|of| of.is_ratio);
    let (estimate, n, interval) = match &compared {
        Some(compared) if compared.at_least == [false; 2] => {
            let Ratio { estimate, interval } = compared.stated();
            (Value::Is(estimate), compared.paired.n, interval)
        }
        _ => (Value::None, 0, Interval::NotResolvable(NotResolvable::NoValue)),
    };
    Finding {
        scope: Scope::Case(contrast.to),
        of: of.clone(),
        quantity: Quantity::RatioOfContrast,
        unit: Unit::Ratio,
        estimate,
        n,
        range: None,
        interval,
        marks: &marks(&claim.left, cases) | &marks(&claim.right, cases),
    }
}
