//! What a cluster carries while conditions hold, in words.

use super::curve::Curve;
use super::form::{Answer, Sentence};
use super::{notes, words};
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::marks;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::conclusion::{Inversion, Limit, Ratio, SearchOutcome, SearchPoint, SearchResult, of_kind};
use kdyno_model::finding::{Interval, Mark, Scope};
use kdyno_model::plan::{Depth, FindPlan, Strategy, Vary};
use kdyno_model::run::{RunStatus, Session};
use kdyno_model::trial::{SearchStage, TrialId};
use std::collections::{BTreeMap, BTreeSet};

/// Slope from which a little more load is much more latency.
const STEEP: f64 = 5.0;
/// Slope below which latency grows no faster than the load.
const FLAT: f64 = 1.0;

/// Metric of the finding that states the estimate, with the marks of what it rests on.
const ESTIMATE: &str = "highest_per_s";

/// Names of rows that are no loads.
const SLOPE: &str = "slope at the estimate";
const TRIED: &str = "tried";

/// One answer per searched case.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    of_kind::<SearchResult>(input.conclusions).map(|of| answer(of, input)).collect()
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
    notes.extend(sessions(result, input));
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
    let conditions = conditions(input);
    let at = |per_s: f64| varied_at(result, input, per_s);
    let (tone, text) = match result.outcome {
        SearchOutcome::Confirmed { load_per_s } => {
            let trials = result.points.iter().filter(|point| is_confirming(point, load_per_s)).count();
            let trials =
                format!("{trials} {} own", if trials == 1 { "trial of its" } else { "trials of their" });
            let load = at(load_per_s);
            (Tone::Strong, format!("{conditions} holds up to {load}, confirmed by {trials}"))
        }
        SearchOutcome::NotConfirmed { highest_passed_per_s } => {
            let held = held(result, input, highest_passed_per_s);
            (Tone::Warn, format!("not confirmed: {held}; {}", unconfirmed(result, input)))
        }
        SearchOutcome::EveryLoadFails { lowest_per_s } => {
            let lowest = at(lowest_per_s);
            (Tone::Bad, format!("no load down to {lowest} met {conditions}; lower ones were not tried"))
        }
        SearchOutcome::EveryLoadPasses { highest_per_s } => (
            Tone::Strong,
            format!(
                "{conditions} held at every load up to {}, the highest allowed: the limit lies above it",
                at(highest_per_s)
            ),
        ),
        SearchOutcome::GeneratorLimit { .. }
        | SearchOutcome::NoFigures { .. }
        | SearchOutcome::Unfinished => (Tone::Warn, no_answer(result, input)),
    };
    let marked = marks::clause(&answer_marks(result));
    let text = match result.depth {
        Depth::Quick => format!("quick look, these trials only: {text}{marked}."),
        Depth::Verdict => format!("{text}{marked}."),
    };
    Sentence::new(tone, text)
}

/// What to do where a search that ended by itself has no confirmed answer.
pub fn next(result: &SearchResult, is_disturbed: bool) -> Option<&'static str> {
    let is_quick = result.depth == Depth::Quick;
    Some(match result.outcome {
        SearchOutcome::Confirmed { .. } if !is_quick => return None,
        SearchOutcome::Unfinished => return None,
        SearchOutcome::EveryLoadPasses { .. } => "search above it: `--to RATE`",
        _ if is_disturbed => "other programs used the CPUs, so repeat on a quiet host",
        SearchOutcome::GeneratorLimit { .. } => "put the load generator on other hosts: `--generators FILE`",
        SearchOutcome::EveryLoadFails { .. } => "search below it: `--from RATE`",
        SearchOutcome::NoFigures { .. } => "lengthen `phases.measure`, so that each window has figures",
        SearchOutcome::Confirmed { .. } | SearchOutcome::NotConfirmed { .. } if is_quick => {
            "a confirmed answer needs a search without `--quick`"
        }
        SearchOutcome::Confirmed { .. } | SearchOutcome::NotConfirmed { .. } => {
            "lengthen `phases.measure`, so that trials at one load agree"
        }
    })
}

/// The marks of the load that is the answer.
fn answer_marks(result: &SearchResult) -> BTreeSet<Mark> {
    match result.outcome {
        SearchOutcome::Confirmed { load_per_s } => {
            marks_at(result, load_per_s, |point| is_confirming(point, load_per_s))
        }
        SearchOutcome::NotConfirmed { highest_passed_per_s: load }
        | SearchOutcome::EveryLoadFails { lowest_per_s: load }
        | SearchOutcome::EveryLoadPasses { highest_per_s: load }
        | SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) }
        | SearchOutcome::NoFigures { highest_passed_per_s: Some(load), .. } => {
            marks_at(result, load, |_| true)
        }
        SearchOutcome::GeneratorLimit { highest_passed_per_s: None }
        | SearchOutcome::NoFigures { highest_passed_per_s: None, .. }
        | SearchOutcome::Unfinished => BTreeSet::new(),
    }
}

/// Why a search ended without an answer about the cluster, and what is known.
fn no_answer(result: &SearchResult, input: &ReportInput<'_>) -> String {
    let conditions = conditions(input);
    let at = |per_s: f64| varied_at(result, input, per_s);
    match result.outcome {
        SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) } => format!(
            "the load generator was the limit: {conditions} held at every load that it could offer in time, so the \
             answer is at least {}",
            at(load)
        ),
        SearchOutcome::GeneratorLimit { highest_passed_per_s: None } => format!(
            "it is inconclusive whether {conditions} holds: the load generator was the limit, and could not offer even \
             the first load in time"
        ),
        SearchOutcome::NoFigures { load_per_s, highest_passed_per_s } => {
            let before = highest_passed_per_s.map_or_else(
                || "before that no load passed".to_owned(),
                |load| format!("not confirmed: {}", held(result, input, load)),
            );
            format!(
                "no answer: two trials in a row at {} had no figures by which {conditions} could be judged; \
                 {before}",
                at(load_per_s)
            )
        }
        _ => {
            let is_out_of_time = input.end().is_some_and(|end| end.status == RunStatus::OutOfTime);
            let why = if is_out_of_time { "ran out of the time of its budget" } else { "was interrupted" };
            format!("the search {why} before it had an answer; what is known until then is not confirmed")
        }
    }
}

/// A load as what was varied: `writers.rate = 95,000/s`, `writers.clients = 47 (94,000/s)`.
fn varied_at(result: &SearchResult, input: &ReportInput<'_>, per_s: f64) -> String {
    let rate = words::rate(per_s, None);
    match plan(input).map(|find| find.vary) {
        Some(Vary::Clients { per_client_per_s }) => {
            format!("{} = {} ({rate})", result.varied, units::count((per_s / per_client_per_s).round()))
        }
        Some(Vary::Rate) | None => format!("{} = {rate}", result.varied),
    }
}

/// What held without being confirmed.
fn held(result: &SearchResult, input: &ReportInput<'_>, load_per_s: f64) -> String {
    let conditions = conditions(input);
    let at = |per_s: f64| varied_at(result, input, per_s);
    match result.first_failing_per_s {
        Some(failing) if failing < load_per_s => format!(
            "{conditions} held at {}, although a lower load, {}, failed",
            at(load_per_s),
            words::rate(failing, None)
        ),
        _ => format!("{conditions} held up to {}", at(load_per_s)),
    }
}

/// Why nothing was confirmed.
fn unconfirmed(result: &SearchResult, input: &ReportInput<'_>) -> String {
    let confirming = result.points.iter().filter(|point| point.stage == SearchStage::Confirm);
    let lowest = confirming.map(|point| point.load_per_s).reduce(f64::min);
    match lowest {
        Some(lowest) => format!(
            "of the loads that were to be confirmed, down to {}, none passed all of its trials",
            words::rate(lowest, None)
        ),
        None if plan(input).is_some_and(|find| find.confirm_trials == 0) => {
            "no trials of its own were planned".to_owned()
        }
        None => "no trials were left to confirm it".to_owned(),
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
    is_at(point, load_per_s) && point.stage == SearchStage::Confirm && point.passed == Some(true)
}

fn table(result: &SearchResult, input: &ReportInput<'_>) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut row = |what: &str, figure: Cell| rows.push(vec![what.into(), figure]);
    if let SearchOutcome::Confirmed { load_per_s } = result.outcome {
        row("confirmed", Cell::figure(&answer_marks(result), words::rate(load_per_s, None)));
    }
    if let SearchOutcome::NotConfirmed { highest_passed_per_s } = result.outcome {
        row(
            "held, not confirmed",
            Cell::figure(&answer_marks(result), words::rate(highest_passed_per_s, None)),
        );
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
        row(SLOPE, slope_text(slope).into());
    }
    row(TRIED, format!("{} trials", result.points.len()).into());
    Table::new(&[("", false), ("", false)], rows)
}

/// Whether a row of the table is no load: how steep it is there, and how many trials were made.
pub fn is_aside(name: &str) -> bool {
    [SLOPE, TRIED].contains(&name)
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
    let pair = |one: &Inversion| {
        format!(
            "{} passed, and a trial at {} did not",
            words::rate(one.passed_per_s, None),
            words::rate(one.failed_per_s, None)
        )
    };
    let pairs: Vec<String> = result.inversions.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "Not monotone: {}; the search went on below the lowest load that did not pass.",
            words::list(&pairs)
        )
    })
}

/// What the limit was at the load of the answer, by the trials that confirmed it or else by all of that load, and at the
/// first load that failed.
pub(super) fn limit_there(result: &SearchResult, input: &ReportInput<'_>) -> Vec<String> {
    let answer = at_answer(result);
    let failing = result.first_failing_per_s.map(|load| ("the first load that failed", load, None));
    let text = |(what, load, stage): (&str, f64, Option<SearchStage>)| {
        let here = points_at(result, load, stage);
        let limits: Vec<&Limit> = here.flat_map(|point| notes::of_trial(input, point.trial)).collect();
        let mut items: Vec<&str> = limits.iter().map(|limit| limit.item.as_str()).collect();
        items.sort_unstable();
        items.dedup();
        let of_item = |item: &&str| {
            let of: Vec<&Limit> = limits.iter().copied().filter(|limit| limit.item == **item).collect();
            format!("{item}: {}", notes::of_all(&of))
        };
        let each: Vec<String> = items.iter().map(of_item).collect();
        let load = words::rate(load, None);
        (!each.is_empty()).then(|| format!("At {load}, {what}, {}.", each.join("; ")))
    };
    [answer, failing].into_iter().flatten().filter_map(text).collect()
}

/// The load of a search's answer in words, and the trials that ran at it: those that confirmed it, or else all; `None`: it
/// has no answer.
pub(super) fn trials_at_answer(result: &SearchResult) -> Option<(String, Vec<TrialId>)> {
    let (what, load, stage) = at_answer(result)?;
    let trials = points_at(result, load, stage).map(|point| point.trial).collect();
    Some((format!("at {}, {what}", words::rate(load, None)), trials))
}

fn points_at(
    result: &SearchResult,
    load: f64,
    stage: Option<SearchStage>,
) -> impl Iterator<Item = &SearchPoint> {
    let points = result.points.iter().filter(move |point| is_at(point, load));
    points.filter(move |point| stage.is_none_or(|stage| point.stage == stage))
}

/// The load of the answer, what it is, and the stage whose trials count there.
fn at_answer(result: &SearchResult) -> Option<(&'static str, f64, Option<SearchStage>)> {
    let (what, load, stage) = match result.outcome {
        SearchOutcome::Confirmed { load_per_s } => {
            ("the confirmed load", Some(load_per_s), Some(SearchStage::Confirm))
        }
        SearchOutcome::NotConfirmed { highest_passed_per_s: load }
        | SearchOutcome::EveryLoadPasses { highest_per_s: load } => {
            ("the highest that held", Some(load), None)
        }
        SearchOutcome::GeneratorLimit { highest_passed_per_s: load }
        | SearchOutcome::NoFigures { highest_passed_per_s: load, .. } => {
            ("the highest that held", load, None)
        }
        SearchOutcome::EveryLoadFails { .. } | SearchOutcome::Unfinished => ("", None, None),
    };
    load.map(|load| (what, load, stage))
}

/// How many of its trials ran in each session, where there were several: clusters of one session are not those of
/// another, and the host may not be the same.
fn sessions(result: &SearchResult, input: &ReportInput<'_>) -> Option<String> {
    let session_of = |point: &SearchPoint| {
        input.trials.iter().find(|start| start.trial.id == point.trial).map(|start| start.session)
    };
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for session in result.points.iter().filter_map(session_of) {
        *counts.entry(session).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let each: Vec<String> =
        counts.iter().map(|(session, trials)| format!("{trials} of session {session}")).collect();
    let mut hosts = input
        .sessions
        .iter()
        .map(|(session, _)| session)
        .filter(|session| counts.contains_key(&session.number));
    let first = hosts.next();
    let others: Vec<&Session> = hosts.collect();
    let differs = |is_other: fn(&Session, &Session) -> bool| {
        first.is_some_and(|first| others.iter().any(|other| is_other(first, other)))
    };
    let between = if differs(|a, b| a.processors != b.processors || a.host_facts != b.host_facts) {
        ", on different hosts, or on one that has changed: the answer mixes them"
    } else if differs(|a, b| a.boot_id != b.boot_id) {
        ", and the host was started again between them"
    } else {
        ""
    };
    let count = counts.len();
    let each = words::list(&each);
    Some(format!(
        "The search was interrupted and resumed: its trials are of {count} sessions ({each}), each with clusters of its \
         own{between}."
    ))
}
