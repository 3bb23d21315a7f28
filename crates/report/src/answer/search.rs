//! What a cluster carries while conditions hold, in words.

use super::curve::Curve;
use super::form::{Answer, Sentence};
use super::table::TextTable;
use super::{notes, words};
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::marks::{self, Cell};
use crate::units;
use kdyno_model::conclusion::{Conclusion, Ratio, SearchOutcome, SearchPoint, SearchResult};
use kdyno_model::finding::{Interval, Mark, Scope};
use kdyno_model::plan::{Depth, FindPlan, Strategy};
use std::collections::BTreeSet;

/// Slope from which a little more load is much more latency.
const STEEP: f64 = 5.0;
/// Slope below which latency grows no faster than the load.
const FLAT: f64 = 1.0;

/// Metric of the finding that states the estimate, with the marks of what it rests on.
const ESTIMATE: &str = "highest_per_s";

/// One answer per searched case.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    let found = input.conclusions.iter().filter_map(|one| match one {
        Conclusion::Search(of) => Some(answer(of, input)),
        _ => None,
    });
    found.collect()
}

fn answer(result: &SearchResult, input: &ReportInput<'_>) -> Answer {
    let case = match result.scope {
        Scope::Search { case } => input.case_label(case),
        _ => "",
    };
    let name = match result.depth {
        Depth::Quick => "Throughput at an SLA, quick look",
        Depth::Verdict => "Throughput at an SLA",
    };
    let title = if case.is_empty() { name.to_owned() } else { format!("{name}: {case}") };
    let mut notes: Vec<String> = inversions(result).into_iter().collect();
    notes.extend(limit_there(result, input));
    notes.extend(input.conditioning_note());
    Answer {
        title,
        sentences: vec![sentence(result, input)],
        table: Some(table(result, input)),
        curve: plan(input).and_then(|find| Curve::of(result, find)),
        notes,
    }
}

/// The plan of the search; `None` when the run searched nothing.
pub fn plan<'a>(input: &ReportInput<'a>) -> Option<&'a FindPlan> {
    match &input.plan().strategy {
        Strategy::Find(find) => Some(find),
        Strategy::List(_) | Strategy::Compare(_) => None,
    }
}

/// The conditions as typed, e.g. `writers.response.p99 <= 20ms`.
pub fn conditions(input: &ReportInput<'_>) -> String {
    let texts =
        plan(input).map(|find| find.conditions.iter().map(|one| one.text.clone()).collect::<Vec<_>>());
    words::list(&texts.filter(|texts| !texts.is_empty()).unwrap_or_else(|| vec!["all conditions".to_owned()]))
}

/// How the search ended.
pub fn sentence(result: &SearchResult, input: &ReportInput<'_>) -> Sentence {
    let (varied, conditions) = (&result.varied, conditions(input));
    let rate = |per_s: f64| words::rate(per_s, None);
    let (tone, text) = match result.outcome {
        SearchOutcome::Confirmed { load_per_s } => (
            Tone::Strong,
            format!(
                "{conditions} holds up to {varied} = {}, confirmed by {} trials of their own",
                rate(load_per_s),
                result.points.iter().filter(|point| is_confirming(point, load_per_s)).count()
            ),
        ),
        SearchOutcome::NotConfirmed { highest_passed_per_s } => (
            Tone::Warn,
            format!(
                "{conditions} held up to {varied} = {} in a single trial, which no trials of its own confirmed",
                rate(highest_passed_per_s)
            ),
        ),
        SearchOutcome::EveryLoadFails { lowest_per_s } => (
            Tone::Bad,
            format!(
                "{conditions} held at no load, down to {varied} = {}, the lowest tried",
                rate(lowest_per_s)
            ),
        ),
        SearchOutcome::EveryLoadPasses { highest_per_s } => (
            Tone::Strong,
            format!(
                "{conditions} held at every load up to {varied} = {}, the highest allowed: the limit lies above it",
                rate(highest_per_s)
            ),
        ),
        SearchOutcome::GeneratorLimit { highest_passed_per_s } => {
            let passed = highest_passed_per_s.map_or_else(
                || "at none of the loads before that did it hold".to_owned(),
                |load| format!("up to {varied} = {} it held", rate(load)),
            );
            let text = format!(
                "the load generator was the limit before {conditions} failed: {passed}; what the cluster carries was \
                 not found"
            );
            (Tone::Warn, text)
        }
        SearchOutcome::Unfinished => {
            (Tone::Warn, "the search was interrupted before it had an answer".to_owned())
        }
    };
    let marked = marks::clause(&answer_marks(result));
    let text = match result.depth {
        Depth::Quick => format!("quick look, these trials only: {text}{marked}."),
        Depth::Verdict => format!("{text}{marked}."),
    };
    Sentence::new(tone, text)
}

/// What has to be said beside the load that is the answer.
fn answer_marks(result: &SearchResult) -> BTreeSet<Mark> {
    match result.outcome {
        SearchOutcome::Confirmed { load_per_s } => {
            marks_at(result, load_per_s, |point| is_confirming(point, load_per_s))
        }
        SearchOutcome::NotConfirmed { highest_passed_per_s: load }
        | SearchOutcome::EveryLoadFails { lowest_per_s: load }
        | SearchOutcome::EveryLoadPasses { highest_per_s: load }
        | SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) } => {
            marks_at(result, load, |_| true)
        }
        SearchOutcome::GeneratorLimit { highest_passed_per_s: None } | SearchOutcome::Unfinished => {
            BTreeSet::new()
        }
    }
}

/// The marks of the trials at a load, those that count. One whose figures must not be used was judged without them.
fn marks_at(result: &SearchResult, load_per_s: f64, counts: impl Fn(&SearchPoint) -> bool) -> BTreeSet<Mark> {
    let points = result.points.iter().filter(|point| is_at(point, load_per_s) && counts(point));
    let marks = points.flat_map(|point| &point.marks).flatten().copied();
    marks.filter(|mark| *mark != Mark::Invalid).collect()
}

/// A load is offered to the last digit wherever it is offered again.
fn is_at(point: &SearchPoint, load_per_s: f64) -> bool {
    (point.load_per_s / load_per_s - 1.0).abs() < 1e-6
}

fn is_confirming(point: &SearchPoint, load_per_s: f64) -> bool {
    is_at(point, load_per_s)
        && point.stage == kdyno_model::trial::SearchStage::Confirm
        && point.passed == Some(true)
}

fn table(result: &SearchResult, input: &ReportInput<'_>) -> TextTable {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut row = |what: &str, figure: Cell| rows.push(vec![what.into(), figure]);
    if let SearchOutcome::Confirmed { load_per_s } = result.outcome {
        row("confirmed", Cell::figure(&answer_marks(result), words::rate(load_per_s, None)));
    }
    if let Some(estimate) = &result.estimate {
        let figure = input.findings.iter().find(|one| one.scope == result.scope && one.of.metric == ESTIMATE);
        let marks = figure.map(|figure| figure.marks.clone()).unwrap_or_default();
        row("estimate by the fitted line", Cell::figure(&marks, estimate_text(estimate)));
    }
    let first_failing = result
        .first_failing_per_s
        .map(|load| Cell::figure(&marks_at(result, load, |_| true), words::rate(load, None)));
    row("first load that failed", first_failing.unwrap_or_else(|| "none".into()));
    if let Some(slope) = result.slope {
        row("slope there", slope_text(slope).into());
    }
    row("loads tried", format!("{} trials", result.points.len()).into());
    TextTable::new(&[("", false), ("", false)], rows)
}

fn estimate_text(estimate: &Ratio) -> String {
    match estimate.interval {
        Interval::Bounds { low, high, level, .. } => {
            let bound = |bound| words::rate(bound, Some((high - low) / 2.0));
            let level = words::percent(level, Some(0.001));
            format!("{} ({} – {}, {level} confidence)", bound(estimate.estimate), bound(low), bound(high))
        }
        Interval::NotResolvable(_) => {
            format!("{}, without an interval", words::rate(estimate.estimate, None))
        }
    }
}

/// What a slope of ln metric over ln load means.
fn slope_text(slope: f64) -> String {
    let grows = match slope {
        slope if slope >= STEEP => "a knee: a little more load is much more latency",
        slope if slope > FLAT => "it grows faster than the load",
        _ => "flat: the limit is not this condition's steepness",
    };
    let direction = if slope < 0.0 { "less" } else { "more" };
    let size = units::significant(slope.abs());
    format!("1 % more load makes the condition's metric {size} % {direction}; {grows}")
}

/// Loads that passed above loads that failed.
fn inversions(result: &SearchResult) -> Option<String> {
    let pair = |one: &kdyno_model::conclusion::Inversion| {
        format!(
            "{} passed and {} failed",
            words::rate(one.passed_per_s, None),
            words::rate(one.failed_per_s, None)
        )
    };
    let pairs: Vec<String> = result.inversions.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| {
        format!("Not monotone: {}; the answer lies where trials of both kinds meet.", words::list(&pairs))
    })
}

/// What the limit was at the highest load that passed, and at the first that failed.
fn limit_there(result: &SearchResult, input: &ReportInput<'_>) -> Vec<String> {
    let of = |passed: bool| {
        let points = result.points.iter().filter(move |point| point.passed == Some(passed));
        let order = |a: &&SearchPoint, b: &&SearchPoint| a.load_per_s.total_cmp(&b.load_per_s);
        if passed { points.max_by(order) } else { points.min_by(order) }
    };
    let text = |point: &SearchPoint| {
        let limits: Vec<_> = notes::of_trial(input, point.trial).collect();
        let load = words::rate(point.load_per_s, None);
        (!limits.is_empty()).then(|| {
            let each: Vec<String> = limits.iter().map(|limit| notes::limit_sentence(limit)).collect();
            format!("At {load}, {}.", each.join("; "))
        })
    };
    [of(true), of(false)].into_iter().flatten().filter_map(text).collect()
}
