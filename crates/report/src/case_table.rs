//! What is in the table that a scenario specifies: one row per case, ours next to what was published. Its columns and
//! their texts are made in [`crate::result`].
//!
//! Absolute figures of two machines say little about each other, so they are followed by each figure's ratio to the
//! first row that has both ours and theirs. A published row that this run did not test keeps its place and says
//! "not tested"; a case that was not reached has no row.

use crate::figures::FindingIndex;
use crate::input::{ReportInput, is_cut_short};
use crate::units;
use kdyno_model::finding::{Finding, Interval, Quantity, Scope};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{OutputFormat, ParamValue, Plan, PublishedRow, Strategy};
use kdyno_model::table::TableRow;
use std::collections::BTreeMap;

/// The table, ready for any printer.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseTable<'a> {
    /// Parameters that head each row.
    pub params: Vec<String>,
    /// The figures, in the order of the scenario.
    pub metrics: Vec<ShownMetric>,
    /// The rows; where something is published in its order.
    pub rows: Vec<CaseRow<'a>>,
    /// Whether any figure is a median over several repeats.
    pub repeated: bool,
}

impl CaseTable<'_> {
    /// The row with so many of its figures.
    pub fn first_figures(&self, count: usize) -> Self {
        let mut first = self.clone();
        first.metrics.truncate(count);
        first.rows.iter_mut().for_each(|row| row.entries.truncate(count));
        first
    }

    /// Number of a case's row, from 1.
    pub fn row_of(&self, case: u32) -> Option<usize> {
        self.rows.iter().position(|row| row.case == Some(case)).map(|index| index + 1)
    }
}

/// A figure that every row has.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownMetric {
    /// The metric, and whose it is.
    pub of: Address,
    /// Unit of ours and theirs.
    pub unit: Unit,
    /// Whether the source gives it for at least one row.
    pub published: bool,
    /// Whether ratios to the first row are shown: with published ones, and where ours have an interval.
    pub ratios: bool,
    /// Whether an interval takes the place of the range over the repeats.
    pub intervals: bool,
    /// The form in which a command reports it by itself; `None`: kdyno measures it.
    pub reported: Option<OutputFormat>,
}

/// One case, or one published row that is not tested.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseRow<'a> {
    /// The case, by its index in the plan; `None`: not tested here.
    pub case: Option<u32>,
    /// What the case is called; empty where there is one, and of a row that is not tested.
    pub label: &'a str,
    /// Printed values of [`CaseTable::params`].
    pub params: Vec<String>,
    /// One for each figure.
    pub entries: Vec<TableEntry<'a>>,
    /// A trial behind the row ended before its plan did.
    pub cut_short: bool,
}

/// Ours and theirs for one row and figure.
#[derive(Debug, Clone, PartialEq)]
pub struct TableEntry<'a> {
    /// Ours over the repeats; `None`: not tested.
    pub ours: Option<OurFigure<'a>>,
    /// The published figure, where the source has one.
    pub published: PublishedFigure,
    /// Ours ÷ ours of the first row that has both.
    pub ratio_ours: Option<&'a Finding>,
    /// Theirs ÷ theirs of the same row.
    pub ratio_published: Option<&'a Finding>,
}

/// Our figure of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OurFigure<'a> {
    /// What was found; `None`: nothing that counts.
    pub finding: Option<&'a Finding>,
    /// Repeats planned, where that is known beforehand.
    pub planned: Option<u32>,
}

impl OurFigure<'_> {
    /// How many trials count and how many were planned, where those are more.
    pub fn missing(&self) -> Option<(u32, u32)> {
        let counted = self.finding.map_or(0, |one| one.n);
        // A metric that no trial has, such as the CPU time of brokers elsewhere, is not missing.
        self.planned.filter(|planned| (1..*planned).contains(&counted)).map(|planned| (counted, planned))
    }

    /// The missing trials in words, e.g. `1 of 2 repeats`.
    pub fn missing_words(&self) -> Option<String> {
        self.missing().map(|(n, of)| format!("{n} of {of} repeats"))
    }
}

/// A published figure or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedFigure {
    /// The number, in the figure's unit.
    Is(f64),
    /// The source has the row without this figure.
    NotGiven,
    /// The source has no such row or column.
    None,
}

/// Lays out the table a plan asks for.
pub fn case_table<'a>(input: &ReportInput<'a>, figures: &FindingIndex<'a>) -> CaseTable<'a> {
    let plan = input.plan();
    let params = row_params(plan);
    // Both sides of a comparison share their case's index, and a search changes the load: neither has one figure per
    // case.
    let metrics = if matches!(plan.strategy, Strategy::List(_)) { metrics(input) } else { Vec::new() };
    let rows = rows(input, figures, &params, &metrics);
    let counts_several = |ours: OurFigure<'_>| {
        ours.planned.is_some_and(|of| of > 1) || ours.finding.is_some_and(|one| one.n > 1)
    };
    let repeated =
        rows.iter().flat_map(|row| &row.entries).filter_map(|entry| entry.ours).any(counts_several);
    CaseTable { params, metrics, rows, repeated }
}

/// The parameters `show` names; without any, those in which the cases differ.
fn row_params(plan: &Plan) -> Vec<String> {
    if !plan.show.rows.is_empty() {
        return plan.show.rows.clone();
    }
    let Some(first) = plan.cases.first() else { return Vec::new() };
    let differs =
        |name: &&String| plan.cases.iter().any(|case| case.params.get(*name) != first.params.get(*name));
    first.params.keys().filter(differs).cloned().collect()
}

/// The figures `show` names, then what is published beyond them.
fn metrics(input: &ReportInput<'_>) -> Vec<ShownMetric> {
    let plan = input.plan();
    let published_names =
        || plan.published.iter().flat_map(|published| &published.rows).flat_map(|row| row.values.keys());
    let mut addresses = plan.show.columns.clone();
    for address in published_names().filter_map(|name| Address::parse(name)) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let metric = |of: Address| {
        let ours = || input.findings.iter().filter(|one| one.of == of && matches!(one.scope, Scope::Case(_)));
        let has_interval = |one: &Finding| matches!(one.interval, Interval::Bounds { .. });
        let is_ratio = |one: &&Finding| one.quantity == Quantity::RatioToFirstRow;
        let published = published_names().any(|name| *name == of.to_string());
        ShownMetric {
            unit: units::of_metric(&of.metric),
            published,
            ratios: ours().filter(is_ratio).any(|one| published || has_interval(one)),
            intervals: ours().filter(|one| one.quantity == Quantity::Value).any(has_interval),
            reported: input.reported_in(&of),
            of,
        }
    };
    addresses.into_iter().map(metric).collect()
}

fn rows<'a>(
    input: &ReportInput<'a>,
    figures: &FindingIndex<'a>,
    params: &[String],
    metrics: &[ShownMetric],
) -> Vec<CaseRow<'a>> {
    let plan = input.plan();
    let trials_of = |case: u32| input.reported().filter(move |trial| trial.case == case);
    let is_reached =
        |place: &TableRow| place.case.is_some_and(|case| trials_of(case).any(|trial| figures.has(trial.id)));
    let places = plan.table_rows();
    let mut rows: Vec<CaseRow<'_>> = Vec::new();
    let mut reported = None;
    for place in &places {
        let theirs = plan.published.as_ref().zip(place.published);
        let theirs = theirs.and_then(|(published, row)| published.rows.get(row as usize));
        // A published row is there once without ours when none of its cases was reached.
        let is_open = || !places.iter().any(|one| one.published == place.published && is_reached(one));
        let case = place.case.filter(|_| is_reached(place));
        let params_of = match (case.and_then(|case| plan.cases.get(case as usize)), theirs) {
            (Some(case), _) => &case.params,
            (None, Some(theirs)) if reported != place.published && is_open() => &theirs.params,
            (None, _) => continue,
        };
        reported = place.published;
        let entry =
            |metric: &ShownMetric| entry(input, figures, case, place.published.zip(theirs), &metric.of);
        rows.push(CaseRow {
            case,
            label: case.map_or("", |case| input.case_label(case)),
            params: print_params(params, params_of),
            entries: metrics.iter().map(entry).collect(),
            cut_short: case.is_some_and(|case| trials_of(case).any(|one| is_cut_short(one, input.caveats))),
        });
    }
    rows
}

fn entry<'a>(
    input: &ReportInput<'a>,
    figures: &FindingIndex<'a>,
    case: Option<u32>,
    theirs: Option<(u32, &PublishedRow)>,
    of: &Address,
) -> TableEntry<'a> {
    let ratio = |scope: Option<Scope>| figures.get(scope?, Quantity::RatioToFirstRow, of);
    TableEntry {
        ours: case.map(|case| OurFigure {
            finding: figures.get(Scope::Case(case), Quantity::Value, of),
            planned: input.plan().repeats_planned(case),
        }),
        published: published_figure(theirs.map(|(_, row)| row), of),
        ratio_ours: ratio(case.map(Scope::Case)),
        ratio_published: ratio(theirs.map(|(row, _)| Scope::PublishedRow(row))),
    }
}

fn print_params(names: &[String], values: &BTreeMap<String, ParamValue>) -> Vec<String> {
    let print = |name| values.get(name).map_or_else(|| units::NOTHING.to_owned(), ToString::to_string);
    names.iter().map(print).collect()
}

fn published_figure(row: Option<&PublishedRow>, of: &Address) -> PublishedFigure {
    match row.and_then(|row| row.values.get(&of.to_string())) {
        Some(Some(number)) => PublishedFigure::Is(*number),
        Some(None) => PublishedFigure::NotGiven,
        None => PublishedFigure::None,
    }
}
