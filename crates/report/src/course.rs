//! One metric over many runs: how a figure went from release to release, from week to week.

use crate::answer::Answer;
use crate::grid::TextOptions;
use crate::input::{ReportInput, is_cut_short};
use crate::marks;
use crate::names::bounded;
use crate::table::{Cell, Table};
use crate::terminal::answer_text;
use crate::trials::{CUT_SHORT_NOTE, row_mark};
use crate::{digits, markdown, units};
use kdyno_model::finding::{Finding, Interval, Quantity, Scope, Value as FindingValue};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::ComparePlan;
use kdyno_model::trial::Trial;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A run with the name of its file.
#[derive(Debug)]
pub struct CourseRun<'a> {
    /// File name.
    pub file: String,
    /// What is stored of it.
    pub input: ReportInput<'a>,
}

/// The course, ready for any printer.
#[derive(Debug)]
pub struct Course {
    title: String,
    answer: Answer,
    rows: Vec<serde_json::Value>,
    dots: Vec<CourseDot>,
    with_figures: bool,
}

/// One figure of the course, for a picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CourseDot {
    /// The run's file.
    pub file: String,
    /// The case, and of a comparison the side.
    pub case: String,
    /// The day on which the run began.
    pub day: String,
    /// The version of Kafka that it ran on, or nothing.
    pub version: String,
    /// In the metric's own unit.
    pub value: f64,
    /// Its interval, else the range over the repeats, in the same unit.
    pub spread: Option<(f64, f64)>,
    /// Whether that is an interval.
    pub has_interval: bool,
    /// The unit.
    pub unit: Unit,
    /// As printed.
    pub text: String,
}

/// One row per run and case, of a comparison per side too, in the order of the runs.
pub fn table(of: &Address, runs: &[CourseRun<'_>]) -> Course {
    let mut rows = Vec::new();
    let mut documents = Vec::new();
    let mut dots = Vec::new();
    let mut is_any_cut_short = false;
    for run in runs {
        let input = &run.input;
        let is_it = |one: &&Finding| one.quantity == Quantity::Value && one.of == *of;
        let findings = input.findings.iter().filter(is_it);
        let mut found: Vec<(CaseSide, &Finding)> =
            findings.filter_map(|one| Some((place(one.scope)?, one))).collect();
        found.sort_by_key(|(place, _)| *place);
        for (place, finding) in found {
            is_any_cut_short |= has_cut_short(input, place);
            rows.push(row(run, place, finding));
            documents.push(document(run, place, finding));
            dots.extend(dot(run, place, finding));
        }
    }
    let with_figures = !rows.is_empty();
    let columns = [
        ("started", false),
        ("scenario", false),
        ("profile, changed", false),
        ("kafka", false),
        ("case", false),
        ("figure", true),
        ("interval or range", true),
        ("n", true),
        ("file", false),
    ];
    let title = format!("{of} over {} run{}", runs.len(), if runs.len() == 1 { "" } else { "s" });
    let table = Table::new(&columns, rows).with_names(5);
    let cut_short = is_any_cut_short.then(|| CUT_SHORT_NOTE.to_owned());
    let answer =
        Answer::of_table(title.clone(), table, cut_short.into_iter().chain(hosts_note(runs)).collect());
    Course { title, answer, rows: documents, dots, with_figures }
}

/// A case and which side of it: 0 is A, or the case itself, 1 is B.
pub(crate) type CaseSide = (u32, usize);

pub(crate) fn place(scope: Scope) -> Option<CaseSide> {
    match scope {
        Scope::Case(case) => Some((case, 0)),
        Scope::SideB { case } => Some((case, 1)),
        _ => None,
    }
}

impl Course {
    /// Whether any run has the metric.
    pub fn has_figures(&self) -> bool {
        self.with_figures
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Figures that have a place in a picture, in the order of the runs.
    pub(crate) fn dots(&self) -> &[CourseDot] {
        &self.dots
    }

    /// For a terminal.
    pub fn text(&self, options: &TextOptions) -> String {
        answer_text(&self.answer, options)
    }

    /// To paste.
    pub fn markdown(&self) -> String {
        markdown::answer_block(&self.answer)
    }

    /// One object per row, in the metric's own unit.
    pub fn json(&self) -> serde_json::Value {
        serde_json::Value::Array(self.rows.clone())
    }
}

fn row(run: &CourseRun<'_>, place: CaseSide, finding: &Finding) -> Vec<Cell> {
    let input = &run.input;
    let plan = input.plan();
    let changed = plan.changed.iter().map(|(name, value)| format!("{name}={value}"));
    let profile: Vec<String> = std::iter::once(plan.profile.clone()).chain(changed).collect();
    let half_width = digits::half_width(finding);
    let range = finding.range.map(|(min, max)| {
        let end = |value| digits::of_metric(&finding.of.metric, value, finding.unit, half_width);
        format!("{} – {}", end(min), end(max))
    });
    let begun = started(input).map_or_else(|| units::NOTHING.to_owned(), units::instant);
    vec![
        marked_cut_short(&begun, has_cut_short(input, place)).into(),
        plan.scenario.as_str().into(),
        profile.join(", ").into(),
        kafka(input, place).unwrap_or_else(|| units::NOTHING.to_owned()).into(),
        input.side_label(place.0, place.1).into(),
        finding.into(),
        digits::interval(finding).or(range).unwrap_or_else(|| units::NOTHING.to_owned()).into(),
        finding.n.to_string().into(),
        run.file.as_str().into(),
    ]
}

/// What is "at least" or not there has no place.
fn dot(run: &CourseRun<'_>, place: CaseSide, finding: &Finding) -> Option<CourseDot> {
    let (FindingValue::Is(value), input) = (finding.estimate, &run.input) else { return None };
    let started = started(input).map_or_else(String::new, units::instant);
    let (spread, has_interval) = match (finding.interval, finding.range) {
        (Interval::Bounds { low, high, .. }, _) => (Some((low, high)), true),
        (_, Some((FindingValue::Is(min), FindingValue::Is(max)))) => (Some((min, max)), false),
        _ => (None, false),
    };
    Some(CourseDot {
        file: run.file.clone(),
        case: input.side_label(place.0, place.1),
        day: started.split('T').next().unwrap_or_default().to_owned(),
        version: kafka(input, place).unwrap_or_default(),
        value,
        spread: spread.filter(|(low, high)| low.is_finite() && high.is_finite()),
        has_interval,
        unit: finding.unit,
        text: marked_cut_short(
            &marks::marked(&finding.marks, digits::with_spread(finding)),
            has_cut_short(input, place),
        ),
    })
    .filter(|dot| dot.value.is_finite())
}

fn document(run: &CourseRun<'_>, place: CaseSide, finding: &Finding) -> Value {
    let input = &run.input;
    let (case, side) = place;
    let own = object(serde_json::json!({
        "case": case,
        "side": input.sides().map(|_| ComparePlan::SIDES[side]),
        "label": input.side_label(case, side),
        "kafka": kafka(input, place),
        "metric": finding.of.to_string(),
        "unit": finding.unit,
        "cut_short": has_cut_short(input, place),
    }));
    [run_document(run), own, figure_document(finding)].into_iter().flatten().collect()
}

/// Which run it is.
pub(crate) fn run_document(run: &CourseRun<'_>) -> Map<String, Value> {
    let plan = run.input.plan();
    object(serde_json::json!({
        "file": run.file,
        "run_id": format!("{:016x}", run.input.header.run_id),
        "started_unix_ns": started(&run.input).map(|at| at.to_string()),
        "scenario": plan.scenario,
        "profile": plan.profile,
        "changed": plan.changed,
    }))
}

/// A figure in its metric's own unit, and how sure it is.
pub(crate) fn figure_document(finding: &Finding) -> Map<String, Value> {
    let (value, at_least) = bounded(finding.estimate);
    let marks: Vec<&str> = finding.marks.iter().map(Into::into).collect();
    object(serde_json::json!({
        "value": value,
        "at_least": at_least,
        "n": finding.n,
        "interval": finding.interval,
        "marks": marks,
    }))
}

fn object(document: Value) -> Map<String, Value> {
    match document {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(crate) fn started(input: &ReportInput<'_>) -> Option<u64> {
    input.sessions.first().map(|(session, _)| session.started_unix_ns)
}

/// A text with the sign of what was cut short before it, where it was.
fn marked_cut_short(text: &str, is_cut_short: bool) -> String {
    if is_cut_short { format!("{} {text}", row_mark(true)) } else { text.to_owned() }
}

/// Whether a trial behind the figure of a place covers less than was planned.
fn has_cut_short(input: &ReportInput<'_>, place: CaseSide) -> bool {
    trials_of(input, place).any(|trial| is_cut_short(trial, input.caveats))
}

/// The trials of a case, of a comparison those of its side.
pub(crate) fn trials_of<'a>(
    input: &ReportInput<'a>,
    place: CaseSide,
) -> impl Iterator<Item = &'a Trial> + use<'a> {
    let is_it = is_of_place(input, place);
    input.reported().filter(move |trial| is_it(trial))
}

/// Whether a trial is of a case, of a comparison of its side.
fn is_of_place(input: &ReportInput<'_>, (case, side): CaseSide) -> impl Fn(&Trial) -> bool + use<> {
    let side = input.sides().map(|_| ComparePlan::SIDES[side]);
    move |trial| trial.case == case && (side.is_none() || trial.variant.as_deref() == side)
}

/// The version that the trials of the case, and of its side, ran on, as their cluster reported it.
fn kafka(input: &ReportInput<'_>, place: CaseSide) -> Option<String> {
    let is_it = is_of_place(input, place);
    let of_place = input.trials.iter().find(|start| is_it(&start.trial));
    of_place?.cluster.get("kafka").cloned()
}

/// Figures of several hosts, or of several boots of one, differ also by these.
pub(crate) fn hosts_note(runs: &[CourseRun<'_>]) -> Option<String> {
    let sessions = || runs.iter().flat_map(|run| run.input.sessions).map(|(session, _)| session);
    let boots: BTreeSet<&str> = sessions().map(|session| session.boot_id.as_str()).collect();
    (boots.len() > 1).then(|| {
        format!(
            "The runs come from {} boots or hosts: figures differ by those too, and no row is set against another.",
            boots.len()
        )
    })
}
