//! The table a scenario asks for: one row per case, ours beside what was published.
//!
//! Absolute figures of two machines say little about each other, so beside them stands each figure
//! relative to the first row that has both: the *shape*. A published row that this run does not test
//! keeps its place and says "not tested".

use crate::figures::{Figures, Summary};
use crate::units;
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{CasePlan, ParamValue, Plan, Published, PublishedRow};
use std::collections::BTreeMap;

/// What is printed for our figure of a published row that no case of this run tests.
pub const NOT_TESTED: &str = "not tested";
/// What is printed for a figure the source does not give.
pub const NOT_GIVEN: &str = "not given";

/// The table, ready for any printer.
#[derive(Debug, PartialEq)]
pub struct CaseTable {
    /// Parameters that head each row.
    pub params: Vec<String>,
    /// The figures, in the order of the scenario.
    pub columns: Vec<Column>,
    /// The rows; where something is published in its order.
    pub rows: Vec<Row>,
    /// Whether any figure is a median over several repeats.
    pub repeated: bool,
}

/// One figure's column.
#[derive(Debug, PartialEq)]
pub struct Column {
    /// Which number.
    pub of: Address,
    /// In which unit.
    pub unit: Unit,
    /// Whether the source gives it for at least one row.
    pub published: bool,
    /// Whether at least two rows have both figures, so that shapes can be compared.
    pub shaped: bool,
}

/// One case, or one published row that is not tested.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// Index into the plan's cases; `None`: not tested here.
    pub case: Option<u32>,
    /// Printed values of [`CaseTable::params`].
    pub params: Vec<String>,
    /// One cell per column.
    pub cells: Vec<Cell>,
    /// Every trial behind the row is invalid.
    pub invalid: bool,
}

/// Ours and theirs for one row and column.
#[derive(Debug, PartialEq)]
pub struct Cell {
    /// Ours over the repeats; `None`: not tested.
    pub ours: Option<Summary>,
    /// Theirs.
    pub published: PublishedFigure,
    /// Ours ÷ ours of the first row that has both.
    pub shape_ours: Option<f64>,
    /// Theirs ÷ theirs of the same row.
    pub shape_published: Option<f64>,
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
    /// As printed.
    #[must_use]
    pub fn text(self, unit: Unit) -> String {
        match self {
            Self::Is(number) => units::number(number, unit),
            Self::NotGiven => NOT_GIVEN.to_owned(),
            Self::None => units::NOTHING.to_owned(),
        }
    }

    fn number(self) -> Option<f64> {
        if let Self::Is(number) = self { Some(number) } else { None }
    }
}

/// Lays out the table a plan asks for.
#[must_use]
pub fn case_table(plan: &Plan, figures: &Figures<'_>) -> CaseTable {
    let params = row_params(plan);
    let mut columns = columns(plan);
    let mut rows = rows(plan, figures, &params, &columns);
    for (index, column) in columns.iter_mut().enumerate() {
        column.shaped = column.unit != Unit::YesNo && add_shapes(&mut rows, index);
    }
    let repeated =
        rows.iter().flat_map(|row| &row.cells).any(|cell| cell.ours.is_some_and(|s| s.planned > 1));
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
fn columns(plan: &Plan) -> Vec<Column> {
    let published = |of: &Address| {
        let name = of.to_string();
        plan.published.iter().flat_map(|p| &p.rows).any(|row| row.values.contains_key(&name))
    };
    let mut addresses = plan.show.columns.clone();
    for name in plan.published.iter().flat_map(|p| &p.rows).flat_map(|row| row.values.keys()) {
        let Some((subject, metric)) = name.split_once('.') else { continue };
        let address = Address { subject: subject.to_owned(), metric: metric.to_owned() };
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let column = |of: Address| Column {
        unit: units::of_metric(&of.metric),
        published: published(&of),
        shaped: false,
        of,
    };
    addresses.into_iter().map(column).collect()
}

fn rows(plan: &Plan, figures: &Figures<'_>, params: &[String], columns: &[Column]) -> Vec<Row> {
    let matched: Vec<Option<usize>> = plan
        .cases
        .iter()
        .map(|case| plan.published.as_ref().and_then(|published| published_row_of(published, case)))
        .collect();
    let tested = |index: usize, theirs: Option<&PublishedRow>| {
        let case = &plan.cases[index];
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let cells = columns.iter().map(|column| Cell {
            ours: Some(figures.over_repeats(number, &column.of)),
            published: published_figure(theirs, &column.of),
            shape_ours: None,
            shape_published: None,
        });
        let trials = figures.trials(number);
        Row {
            case: Some(number),
            params: print_params(params, &case.params),
            cells: cells.collect(),
            invalid: !trials.is_empty() && trials.iter().all(|trial| figures.is_invalid(*trial)),
        }
    };
    let unmatched = (0..plan.cases.len()).filter(|index| matched[*index].is_none());
    let mut rows: Vec<Row> = unmatched.map(|index| tested(index, None)).collect();
    for (place, theirs) in plan.published.iter().flat_map(|p| &p.rows).enumerate() {
        let before = rows.len();
        rows.extend(
            (0..plan.cases.len())
                .filter(|index| matched[*index] == Some(place))
                .map(|index| tested(index, Some(theirs))),
        );
        if rows.len() == before {
            rows.push(untested(theirs, params, columns));
        }
    }
    rows
}

fn untested(theirs: &PublishedRow, params: &[String], columns: &[Column]) -> Row {
    let cells = columns.iter().map(|column| Cell {
        ours: None,
        published: published_figure(Some(theirs), &column.of),
        shape_ours: None,
        shape_published: None,
    });
    Row { case: None, params: print_params(params, &theirs.params), cells: cells.collect(), invalid: false }
}

/// The published row whose parameters all agree with the case; of several the one that says most.
fn published_row_of(published: &Published, case: &CasePlan) -> Option<usize> {
    let agrees = |row: &PublishedRow| {
        row.params.iter().all(|(name, value)| case.params.get(name).is_some_and(|ours| same(ours, value)))
    };
    let agreeing = published.rows.iter().enumerate().filter(|(_, row)| agrees(row));
    agreeing.rev().max_by_key(|(_, row)| row.params.len()).map(|(index, _)| index)
}

/// Parameters agree when they are printed alike: `3` is `3` whether it was typed as number or text.
fn same(a: &ParamValue, b: &ParamValue) -> bool {
    a == b || a.to_string() == b.to_string()
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

/// Sets each figure of a column relative to the first row with both; says whether two rows have both.
fn add_shapes(rows: &mut [Row], column: usize) -> bool {
    let both = |row: &Row| {
        let cell = &row.cells[column];
        let ours = cell.ours.as_ref().and_then(Summary::usable)?;
        let theirs = cell.published.number()?;
        (ours != 0.0 && theirs != 0.0).then_some((ours, theirs))
    };
    let Some((base_ours, base_theirs)) = rows.iter().find_map(both) else { return false };
    if rows.iter().filter_map(both).count() < 2 {
        return false;
    }
    for row in rows {
        let cell = &mut row.cells[column];
        cell.shape_ours = cell.ours.as_ref().and_then(Summary::usable).map(|ours| ours / base_ours);
        cell.shape_published = cell.published.number().map(|theirs| theirs / base_theirs);
    }
    true
}
