//! Claims and contrasts in words.

use super::form::{Answer, Sentence};
use super::words;
use crate::digits;
use crate::figures::FindingIndex;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::marks;
use crate::table::{Cell, Table};
use crate::units;
use crate::without_generator;
use kdyno_model::conclusion::{ClaimSays, JudgedClaim, Ratio, of_kind};
use kdyno_model::finding::{Finding, Quantity, Scope, Value, marks_of_both};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{Better, Claim, ClaimExpr, ClaimOp, Contrast, Plan};

/// Why a ratio is not the quotient of two figures that are shown with it.
const PAIRED: &str = "Ratios are of repeats in pairs, each with the one that ran in the same round: they need not be the quotient of \
                      two figures, which are of all repeats of a case.";

/// What became of the scenario's claims; `None` without any.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let judged: Vec<&JudgedClaim> = judged(input).collect();
    if judged.is_empty() {
        return None;
    }
    let columns = [
        ("claim", false),
        ("left", true),
        ("right", true),
        ("left ÷ right", true),
        ("interval", true),
        ("repeats", true),
        ("answer", false),
    ];
    Some(Answer {
        title: "Claims".to_owned(),
        sentences: judged.iter().map(|one| sentence(one, input)).collect(),
        table: Some(Table::new(&columns, judged.iter().map(|one| row(one, input)).collect())),
        curve: None,
        notes: Vec::new(),
    })
}

/// The claims that were judged, in the order of the scenario.
pub fn judged<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = &'a JudgedClaim> + use<'a> {
    of_kind(input.conclusions)
}

/// The claim as the scenario words it.
pub fn claim<'a>(one: &JudgedClaim, input: &ReportInput<'a>) -> Option<&'a Claim> {
    input.plan().claims.get(one.claim as usize)
}

/// `Holds: twice the brokers carry nearly twice as much (writers.acked_per_s… >= …).`, or of a threshold
/// `Failed: fail_if writers.response.p99 > 50ms (it was 61.2 ms).`, `Passed: writers.response.p99 was 12.3 ms, not above 50.0 ms
/// (fail_if).`
pub fn sentence(one: &JudgedClaim, input: &ReportInput<'_>) -> Sentence {
    let claim = claim(one, input);
    let turned_round = claim.and_then(turned_round);
    let tone = match one.says {
        ClaimSays::Holds if turned_round.is_none() => Tone::Strong,
        ClaimSays::DoesNot => Tone::Bad,
        ClaimSays::Holds | ClaimSays::CannotTell => Tone::Warn,
    };
    let what = match claim {
        Some(claim) if claim.is_threshold => threshold(one, claim, input),
        Some(claim) => format!("{} ({})", claim.text, claim.that),
        None => String::new(),
    };
    let reason = one.reason.as_ref().map_or_else(String::new, |reason| format!("; {reason}"));
    let marked = marks::clause(&marks_of_both(&one.marks));
    let turned_round = turned_round.unwrap_or_default();
    Sentence::new(tone, format!("{}: {what}{reason}{marked}{turned_round}.", says(one, claim)))
}

/// A threshold with what its figures were. One that holds is worded by that: as typed, it is what did not come true.
fn threshold(one: &JudgedClaim, claim: &Claim, input: &ReportInput<'_>) -> String {
    if one.n == 0 {
        return format!("fail_if {}", claim.text);
    }
    let figures = FindingIndex::new(input.findings, input.caveats);
    let without = clusters_part(claim, &figures).map_or_else(String::new, |words| format!("; {words}"));
    let holds = one.says == ClaimSays::Holds;
    let [left, right] = sides(one, Some(claim));
    let (of, case, was, op, limit) = match (&claim.left, &claim.right) {
        (ClaimExpr::Metric { of, case }, ClaimExpr::Number(_)) if holds => (of, *case, left, claim.op, right),
        (ClaimExpr::Number(_), ClaimExpr::Metric { of, case }) if holds => {
            (of, *case, right, claim.op.turned(), left)
        }
        (left_side, right_side) => {
            let both = [(left_side, left), (right_side, right)].into_iter();
            let were: Vec<String> = both
                .filter(|(side, _)| !matches!(side, ClaimExpr::Number(_)))
                .map(|(_, text)| text)
                .collect();
            let untrue = if holds { " is not true" } else { "" };
            return format!("fail_if {}{untrue} (it was {}{without})", claim.text, were.join(" against "));
        }
    };
    let stays = match op {
        ClaimOp::AtMost => "not above",
        ClaimOp::Less => "below",
        ClaimOp::AtLeast => "not below",
        ClaimOp::Greater => "above",
    };
    let label = match input.case_label(case) {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    format!("{of}{label} was {was}, {stays} {limit} (fail_if{without})")
}

/// That a threshold fails good figures, as it seems: whether it passed says little then.
fn turned_round(claim: &Claim) -> Option<String> {
    let (_, better) = claim.turned_round(units::of_metric)?;
    let good = match better {
        Better::Lower => "low",
        Better::Higher => "high",
    };
    // What must hold has the direction that was meant, in the order that was typed.
    let meant = match claim.op {
        ClaimOp::Less | ClaimOp::AtMost => "<",
        ClaimOp::Greater | ClaimOp::AtLeast => ">",
    };
    Some(format!("; it fails when the figure is {good}, which is good: {meant} may be meant"))
}

/// What a response that a threshold compares is without the load generator's own delay, where that is a good part of it.
fn clusters_part(claim: &Claim, figures: &FindingIndex<'_>) -> Option<String> {
    [&claim.left, &claim.right].into_iter().find_map(|side| match side {
        ClaimExpr::Metric { of, case } => without_generator::words(figures, Scope::Case(*case), of),
        _ => None,
    })
}

fn is_threshold(claim: Option<&Claim>) -> bool {
    claim.is_some_and(|claim| claim.is_threshold)
}

/// The answer in a word or two; a threshold that holds was not passed.
fn says(one: &JudgedClaim, claim: Option<&Claim>) -> String {
    match one.says {
        _ if !is_threshold(claim) => one.says.to_string(),
        ClaimSays::Holds => "passed".to_owned(),
        ClaimSays::DoesNot => "failed".to_owned(),
        ClaimSays::CannotTell => "cannot tell".to_owned(),
    }
}

/// Both sides as printed.
fn sides(one: &JudgedClaim, claim: Option<&Claim>) -> [String; 2] {
    let unit = claim.and_then(|claim| unit_of(&claim.left).or(unit_of(&claim.right))).unwrap_or(Unit::Count);
    let share = one.compared.as_ref().and_then(words::bounds).map(|(low, high, _)| (high - low) / 2.0);
    // A number that was named is as exact as it was named.
    let side = |value, typed: Option<&ClaimExpr>| match typed {
        Some(ClaimExpr::Number(_)) => digits::value(value, unit, None),
        Some(ClaimExpr::Metric { of, .. }) => words::side(&of.metric, value, unit, share),
        _ => words::side("", value, unit, share),
    };
    [side(one.left, claim.map(|claim| &claim.left)), side(one.right, claim.map(|claim| &claim.right))]
}

fn row(one: &JudgedClaim, input: &ReportInput<'_>) -> Vec<Cell> {
    let claim = claim(one, input);
    let [left, right] = sides(one, claim);
    let nothing = || units::NOTHING.to_owned();
    let [of_left, of_right] = &one.marks;
    vec![
        claim.map_or_else(nothing, |claim| claim.text.clone()).into(),
        Cell::figure(of_left, left),
        Cell::figure(of_right, right),
        one.compared.as_ref().map_or_else(
            || nothing().into(),
            |compared| {
                let sign = if is_ratio(one, compared) { "" } else { "difference " };
                Cell::figure(&marks_of_both(&one.marks), format!("{sign}{}", words::ratio(compared)))
            },
        ),
        one.compared
            .as_ref()
            .map_or_else(nothing, |compared| {
                // What neither is: the same, as a ratio or as a difference.
                words::interval_apart_from(compared, &[if is_ratio(one, compared) { 1.0 } else { 0.0 }], 0)
            })
            .into(),
        one.n.to_string().into(),
        says(one, claim).into(),
    ]
}

/// Whether the sides are compared by their ratio; where one of them may be 0 or less it is their difference.
fn is_ratio(one: &JudgedClaim, compared: &Ratio) -> bool {
    let (Value::Is(left), Value::Is(right)) = (one.left, one.right) else { return true };
    let off = |expected: f64| (compared.estimate - expected).abs();
    right != 0.0 && off(left / right) <= off(left - right)
}

/// The unit of a side: that of its metrics, as long as they are added up or scaled by numbers.
fn unit_of(side: &ClaimExpr) -> Option<Unit> {
    match side {
        ClaimExpr::Number(_) => None,
        ClaimExpr::Metric { of, .. } => Some(units::of_metric(&of.metric)),
        ClaimExpr::Sum(a, b) | ClaimExpr::Difference(a, b) => unit_of(a).or(unit_of(b)),
        ClaimExpr::Product(a, b) => match (unit_of(a), unit_of(b)) {
            (unit, None) | (None, unit) => unit,
            (Some(_), Some(_)) => Some(Unit::Count),
        },
        ClaimExpr::Quotient(a, b) => match (unit_of(a), unit_of(b)) {
            (unit, None) => unit,
            (Some(a), Some(b)) if a == b => Some(Unit::Ratio),
            _ => Some(Unit::Count),
        },
    }
}

/// Each ratio between named cases with the contrast that it is of, in the order of the plan.
pub(super) fn contrasted<'a>(input: &ReportInput<'a>) -> Vec<(&'a Contrast, &'a Finding)> {
    let stated = input.findings.iter().filter(|one| one.quantity == Quantity::RatioOfContrast);
    let plan: &'a Plan = input.plan();
    let asked = plan.contrasts.iter().flat_map(|contrast| contrast.of.iter().map(move |of| (contrast, of)));
    let fits = |((contrast, of), one): &((&Contrast, &Address), &Finding)| {
        one.scope == Scope::Case(contrast.to) && one.of == **of
    };
    asked.zip(stated).filter(fits).map(|((contrast, _), finding)| (contrast, finding)).collect()
}

/// The ratios between named cases; `None` without any.
pub fn contrasts(input: &ReportInput<'_>) -> Option<Answer> {
    let found = contrasted(input);
    let are_paired = found.iter().any(|(_, one)| one.n > 1);
    let rows: Vec<Vec<Cell>> =
        found.into_iter().map(|(contrast, finding)| contrast_row(contrast, finding, input)).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [
        ("contrast", false),
        ("from", false),
        ("to", false),
        ("metric", false),
        ("ratio", true),
        ("repeats", true),
    ];
    let title = "Contrasts, all else equal".to_owned();
    Some(Answer::of_table(
        title,
        Table::new(&columns, rows).with_names(3),
        are_paired.then(|| PAIRED.to_owned()).into_iter().collect(),
    ))
}

fn contrast_row(contrast: &Contrast, one: &Finding, input: &ReportInput<'_>) -> Vec<Cell> {
    vec![
        contrast.name.as_str().into(),
        input.case_label(contrast.from).into(),
        input.case_label(contrast.to).into(),
        one.of.to_string().into(),
        Cell::figure(&one.marks, digits::ratio(one)),
        one.n.to_string().into(),
    ]
}
