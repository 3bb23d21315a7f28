//! The table a scenario asks for: one row per case, ours beside what was published.
//!
//! Absolute figures of two machines say little about each other, so beside them stands each figure's ratio to the
//! first row that has both ours and theirs. A published row that this run did not test keeps its place and says
//! "not tested"; a case that was not reached has no row.

use crate::figures::Figures;
use crate::input::{ReportInput, is_cut_short};
use crate::marks::{self, Signs};
use crate::{digits, units};
use kdyno_model::finding::{Finding, Interval, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{ParamValue, Plan, PublishedRow, Strategy};
use kdyno_model::table::TableRow;
use std::collections::{BTreeMap, BTreeSet};

/// What is printed for our figure of a published row that no case of this run tests.
pub const NOT_TESTED: &str = "not tested";
/// What is printed for a figure the source does not give.
pub const NOT_GIVEN: &str = "not given";

/// The table, ready for any printer.
#[derive(Debug, PartialEq)]
pub struct CaseTable<'a> {
    /// Parameters that head each row.
    pub params: Vec<String>,
    /// The figures, in the order of the scenario.
    pub columns: Vec<Column>,
    /// The rows; where something is published in its order.
    pub rows: Vec<Row<'a>>,
    /// Whether any figure is a median over several repeats.
    pub repeated: bool,
}

impl CaseTable<'_> {
    /// The signs that stand anywhere in it.
    pub fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        for cell in self.rows.iter().flat_map(|row| &row.cells) {
            if let Some(ratio) = cell.ratio_ours {
                signs.add(&ratio.marks, "");
            }
            let Some(ours) = cell.ours else { continue };
            if let Some(finding) = ours.finding {
                signs.add(&finding.marks, &digits::text(finding));
            }
            if self.repeated {
                signs.add(&BTreeSet::new(), &ours.range_text());
            }
        }
        signs
    }

    /// Number of a case's row, from 1.
    pub fn row_of(&self, case: u32) -> Option<usize> {
        self.rows.iter().position(|row| row.case == Some(case)).map(|index| index + 1)
    }
}

/// What one column of the table holds, in every row.
#[derive(Debug, PartialEq)]
pub struct Column {
    /// The metric, and whose it is.
    pub of: Address,
    /// Unit of ours and theirs.
    pub unit: Unit,
    /// Whether the source gives it for at least one row.
    pub published: bool,
    /// Whether ratios to the first row are shown: beside published ones, and where ours have an interval.
    pub ratios: bool,
    /// Whether an interval stands in the place of the range over the repeats.
    pub intervals: bool,
}

/// One case, or one published row that is not tested.
#[derive(Debug, PartialEq)]
pub struct Row<'a> {
    /// The case, by its index in the plan; `None`: not tested here.
    pub case: Option<u32>,
    /// Printed values of [`CaseTable::params`].
    pub params: Vec<String>,
    /// One cell per column.
    pub cells: Vec<Cell<'a>>,
    /// A trial behind the row ended before its plan did.
    pub cut_short: bool,
}

/// Ours and theirs for one row and column.
#[derive(Debug, PartialEq)]
pub struct Cell<'a> {
    /// Ours over the repeats; `None`: not tested.
    pub ours: Option<Ours<'a>>,
    /// The published figure, where the source has one.
    pub published: PublishedFigure,
    /// Ours ÷ ours of the first row that has both.
    pub ratio_ours: Option<&'a Finding>,
    /// Theirs ÷ theirs of the same row.
    pub ratio_published: Option<&'a Finding>,
}

/// Our figure of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ours<'a> {
    /// What was found; `None`: nothing that counts.
    pub finding: Option<&'a Finding>,
    /// Repeats planned, where that is known beforehand.
    pub planned: Option<u32>,
}

impl Ours<'_> {
    /// As printed: its marks, then the median over the trials that count.
    pub fn text(&self) -> String {
        self.finding.map_or_else(|| units::NOTHING.to_owned(), marks::text)
    }

    /// The same with its interval, else its range, in brackets, and how many trials count where some are missing.
    pub fn text_with_spread(&self) -> String {
        let Some(finding) = self.finding else { return units::NOTHING.to_owned() };
        let text = marks::marked(&finding.marks, digits::with_spread(finding));
        self.missing().map_or_else(|| text.clone(), |(n, of)| format!("{text}, {n} of {of}"))
    }

    /// The interval, else the range over the trials that count, and how many those are when some are missing.
    pub fn range_text(&self) -> String {
        let spread = self.finding.and_then(spread);
        match (spread, self.missing()) {
            (Some(spread), Some((n, of))) => format!("{spread} ({n} of {of})"),
            (None, Some((n, of))) => format!("{n} of {of}"),
            (Some(spread), None) => spread,
            (None, None) => {
                let figure = self.finding.filter(|one| one.estimate != Value::None);
                figure.map_or_else(String::new, digits::text)
            }
        }
    }

    /// How many trials count and how many were planned, where those are more.
    pub fn missing(&self) -> Option<(u32, u32)> {
        let counted = self.finding.map_or(0, |one| one.n);
        // Of a metric that no trial has, such as the processor time of brokers elsewhere, none is missing.
        self.planned.filter(|planned| (1..*planned).contains(&counted)).map(|planned| (counted, planned))
    }
}

/// The interval, else the range over several trials; `None` of a single one.
fn spread(one: &Finding) -> Option<String> {
    if let Some(interval) = digits::interval(one) {
        return Some(interval);
    }
    let half_width = digits::half_width(one);
    let (min, max) = one.range?;
    let [min, max] = [min, max].map(|end| digits::of_metric(&one.of.metric, end, one.unit, half_width));
    Some(if min == max { min } else { format!("{min} – {max}") })
}

/// A published figure or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedFigure {
    /// The number, in the column's unit.
    Is(f64),
    /// The source has the row without this figure.
    NotGiven,
    /// The source has no such row or column.
    None,
}

impl PublishedFigure {
    /// The figure as printed, or why there is none.
    pub fn text(self, unit: Unit) -> String {
        match self {
            Self::Is(number) => units::number(number, unit),
            Self::NotGiven => NOT_GIVEN.to_owned(),
            Self::None => units::NOTHING.to_owned(),
        }
    }
}

/// A ratio as printed: its marks, itself, and its interval where it has one: `×1.98`, `~ ×1.98 (1.90–2.06)`.
pub fn ratio_text(ratio: Option<&Finding>) -> String {
    match ratio.filter(|one| matches!(one.estimate, Value::Is(_))) {
        Some(one) => marks::marked(&one.marks, digits::ratio(one)),
        None => units::NOTHING.to_owned(),
    }
}

/// Lays out the table a plan asks for.
pub fn case_table<'a>(input: &ReportInput<'a>, figures: &Figures<'a>) -> CaseTable<'a> {
    let plan = input.plan();
    let params = row_params(plan);
    // Both sides of a comparison share their case's index, and a search changes the load: neither has one figure per
    // case.
    let columns = if matches!(plan.strategy, Strategy::List(_)) { columns(input) } else { Vec::new() };
    let rows = rows(input, figures, &params, &columns);
    let counts_several =
        |ours: Ours<'_>| ours.planned.is_some_and(|of| of > 1) || ours.finding.is_some_and(|one| one.n > 1);
    let repeated = rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.ours).any(counts_several);
    CaseTable { params, columns, rows, repeated }
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

/// The columns `show` names, then what is published beyond them.
fn columns(input: &ReportInput<'_>) -> Vec<Column> {
    let plan = input.plan();
    let published_names =
        || plan.published.iter().flat_map(|published| &published.rows).flat_map(|row| row.values.keys());
    let mut addresses = plan.show.columns.clone();
    for address in published_names().filter_map(|name| Address::parse(name)) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let column = |of: Address| {
        let ours = || input.findings.iter().filter(|one| one.of == of && matches!(one.scope, Scope::Case(_)));
        let has_interval = |one: &Finding| matches!(one.interval, Interval::Bounds { .. });
        let is_ratio = |one: &&Finding| one.quantity == Quantity::RatioToFirstRow;
        let published = published_names().any(|name| *name == of.to_string());
        Column {
            unit: units::of_metric(&of.metric),
            published,
            ratios: ours().filter(is_ratio).any(|one| published || has_interval(one)),
            intervals: ours().filter(|one| one.quantity == Quantity::Value).any(has_interval),
            of,
        }
    };
    addresses.into_iter().map(column).collect()
}

fn rows<'a>(
    input: &ReportInput<'a>,
    figures: &Figures<'a>,
    params: &[String],
    columns: &[Column],
) -> Vec<Row<'a>> {
    let plan = input.plan();
    let trials_of = |case: u32| input.reported().filter(move |trial| trial.case == case);
    let is_reached =
        |place: &TableRow| place.case.is_some_and(|case| trials_of(case).any(|trial| figures.has(trial.id)));
    let places = plan.table_rows();
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut told = None;
    for place in &places {
        let theirs = plan.published.as_ref().zip(place.published);
        let theirs = theirs.and_then(|(published, row)| published.rows.get(row as usize));
        // A published row is there once without ours when none of its cases was reached.
        let is_open = || !places.iter().any(|one| one.published == place.published && is_reached(one));
        let case = place.case.filter(|_| is_reached(place));
        let params_of = match (case.and_then(|case| plan.cases.get(case as usize)), theirs) {
            (Some(case), _) => &case.params,
            (None, Some(theirs)) if told != place.published && is_open() => &theirs.params,
            (None, _) => continue,
        };
        told = place.published;
        let cell = |column: &Column| cell(input, figures, case, place.published.zip(theirs), column);
        let cells: Vec<Cell<'_>> = columns.iter().map(cell).collect();
        rows.push(Row {
            case,
            params: print_params(params, params_of),
            cells,
            cut_short: case.is_some_and(|case| trials_of(case).any(|one| is_cut_short(one, input.caveats))),
        });
    }
    rows
}

fn cell<'a>(
    input: &ReportInput<'a>,
    figures: &Figures<'a>,
    case: Option<u32>,
    theirs: Option<(u32, &PublishedRow)>,
    column: &Column,
) -> Cell<'a> {
    let ratio = |scope: Option<Scope>| figures.get(scope?, Quantity::RatioToFirstRow, &column.of);
    Cell {
        ours: case.map(|case| Ours {
            finding: figures.get(Scope::Case(case), Quantity::Value, &column.of),
            planned: input.plan().repeats_planned(case),
        }),
        published: published_figure(theirs.map(|(_, row)| row), &column.of),
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
