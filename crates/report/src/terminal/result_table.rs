//! The scenario's table as text: a row per case, or, where there are few cases and many figures, a row per figure.

use super::trials_text::mark_column;
use crate::answer::notes::{self, Names};
use crate::answer::words;
use crate::case_table::{CaseTable, Cell, Column, NOT_TESTED, Row, ratio_text};
use crate::figures::Figures;
use crate::grid::{GridColumn, TextOptions, Tone, block_count, grid, wrap};
use crate::headings::{heading, named};
use crate::input::ReportInput;
use crate::trials::{CUT_SHORT_NOTE, row_mark};
use crate::units;
use crate::without_generator;
use kdyno_model::finding::{Finding, Interval};
use kdyno_model::metric::{self, SubjectKind, Unit};
use kdyno_model::plan::Published;
use std::collections::BTreeSet;

/// Letters of a heading's line at most, where it can be broken at a space.
const HEADING_LINE_MAX: usize = 16;
/// Cases at most that stand beside each other.
const CASES_BESIDE_MAX: usize = 4;

/// The table under its title with what has to be said about it; empty where a scenario asks for none.
pub(super) fn result_text(input: &ReportInput<'_>, table: &CaseTable<'_>, options: &TextOptions) -> String {
    if table.columns.is_empty() || table.rows.is_empty() {
        return String::new();
    }
    let cases = by_case(table);
    let turned = by_figure(table).filter(|turned| blocks(turned, options) < blocks(&cases, options));
    let is_turned = turned.is_some();
    let (fixed, flowing) = turned.unwrap_or(cases);
    let mut out = format!("{}\n{}", options.paint("Result", Tone::Strong), grid(&fixed, &flowing, options));
    let labels = |cases: &[u32]| {
        let labels: Vec<String> = cases.iter().map(|case| input.case_label(*case).to_owned()).collect();
        (labels.len(), words::list(&labels))
    };
    let rows = |cases: &[u32]| notes::by_row(table, cases);
    let names: &Names<'_> = if is_turned { &labels } else { &rows };
    for note in addresses_note(table).into_iter().chain(table_notes(input, table, names)) {
        out.push_str(&wrap(&note, options.columns(), 2));
        out.push('\n');
    }
    out
}

/// The columns that head each block, and those that flow.
type Columns = (Vec<GridColumn>, Vec<GridColumn>);

fn blocks((fixed, flowing): &Columns, options: &TextOptions) -> usize {
    block_count(fixed, flowing, options)
}

/// A row per case.
fn by_case(table: &CaseTable<'_>) -> Columns {
    let marks: Vec<&str> = table.rows.iter().map(|row| row_mark(row.cut_short)).collect();
    let mut fixed: Vec<GridColumn> = mark_column(&marks).into_iter().collect();
    for (index, name) in table.params.iter().enumerate() {
        let cells = table.rows.iter().map(|row| row.params[index].clone()).collect();
        fixed.push(GridColumn::words(&[name], cells));
    }
    let figures =
        table.columns.iter().enumerate().flat_map(|(index, column)| figure_columns(table, index, column));
    (fixed, figures.collect())
}

/// Ours, theirs and the two ratios of one figure, a row per case.
fn figure_columns(table: &CaseTable<'_>, index: usize, column: &Column) -> Vec<GridColumn> {
    let cells = |text: &dyn Fn(&Cell<'_>) -> String| -> Vec<String> {
        table.rows.iter().map(|row| text(&row.cells[index])).collect()
    };
    let name = format!("{}\n{}", column.of.subject, wrap(&heading(&column.of.metric), HEADING_LINE_MAX, 0));
    let head = |first: &str, last: &str| -> Vec<String> {
        first.lines().chain(Some(last).filter(|last| !last.is_empty())).map(str::to_owned).collect()
    };
    let numbers = |head, cells, tone, joined| GridColumn { head, cells, tone, right: true, joined };
    let whose = if column.published { ["here", "published"] } else { ["", ""] };
    let mut out = vec![numbers(head(&name, whose[0]), cells(&ours_text), Tone::Plain, false)];
    if column.published {
        let theirs = cells(&|cell| cell.published.text(column.unit));
        out.push(numbers(head(&name, whose[1]), theirs, Tone::Faint, true));
    }
    if column.ratios {
        const RATIO: &str = "ratio to the\nfirst row";
        let here = cells(&|cell| ratio_text(cell.ratio_ours));
        out.push(numbers(head(RATIO, whose[0]), here, Tone::Plain, true));
        if column.published {
            let theirs = cells(&|cell| ratio_text(cell.ratio_published));
            out.push(numbers(head(RATIO, whose[1]), theirs, Tone::Faint, true));
        }
    }
    out
}

/// A row per figure, a column per case and one for its ratio to the first: for few cases beside which nothing is published.
fn by_figure(table: &CaseTable<'_>) -> Option<Columns> {
    if table.rows.len() > CASES_BESIDE_MAX || table.columns.iter().any(|column| column.published) {
        return None;
    }
    let name = |column: &Column| named(&column.of);
    let names = table.columns.iter().map(name).collect();
    let mut flowing = Vec::new();
    for (index, row) in table.rows.iter().enumerate() {
        let ours = row.cells.iter().map(ours_text).collect();
        flowing.push(GridColumn { head: case_head(table, row), ..GridColumn::numbers(&[], ours) });
        if index > 0 && table.columns.iter().any(|column| column.ratios) {
            // Where the first case has no figure it is to another one, which the column does not name.
            let is_to_first = |column: usize| table.rows[0].cells[column].ratio_ours.is_some();
            let ratios = row.cells.iter().enumerate();
            let ratios = ratios
                .map(|(column, cell)| ratio_text(cell.ratio_ours.filter(|_| is_to_first(column))))
                .collect();
            let head = ["ratio to the", "first case"];
            flowing.push(GridColumn { joined: true, ..GridColumn::numbers(&head, ratios) });
        }
    }
    Some((vec![GridColumn::words(&[""], names)], flowing))
}

/// What a case is called above its column: a line for each parameter.
fn case_head(table: &CaseTable<'_>, row: &Row<'_>) -> Vec<String> {
    let params = table.params.iter().zip(&row.params).map(|(name, value)| format!("{name}={value}"));
    Some(row_mark(row.cut_short).to_owned())
        .filter(|mark| !mark.is_empty())
        .into_iter()
        .chain(params)
        .collect()
}

/// What headings that are no addresses stand for, since scenarios and the notes below name figures by these.
fn addresses_note(table: &CaseTable<'_>) -> Option<String> {
    let is_other = |column: &&Column| heading(&column.of.metric) != column.of.metric;
    let all: Vec<String> = table.columns.iter().map(|column| column.of.to_string()).collect();
    table
        .columns
        .iter()
        .any(|column| is_other(&column))
        .then(|| format!("Figures in this order, by their names in scenarios: {}.", all.join(", ")))
}

/// What has to be said under the table.
pub(crate) fn table_notes(input: &ReportInput<'_>, table: &CaseTable<'_>, names: &Names<'_>) -> Vec<String> {
    let published = input.plan().published.as_ref();
    let mut notes: Vec<String> = table.signs().legend().into_iter().collect();
    notes.extend(without_generator::of_cases(&Figures::new(input.findings, input.caveats), table));
    notes.extend(repeats_note(table));
    let missing = |cell: &Cell<'_>| cell.ours.and_then(|ours| ours.missing());
    if let Some((n, of)) = table.rows.iter().flat_map(|row| &row.cells).find_map(missing) {
        let others = match of - n {
            1 => "the other repeat is invalid or missing and does not count",
            _ => "the other repeats are invalid or missing and do not count",
        };
        notes.push(format!("Where it says {n} of {of}, {others}."));
    }
    if table.rows.iter().any(|row| row.cut_short) {
        notes.push(CUT_SHORT_NOTE.to_owned());
    }
    notes.extend(bytes_note(table));
    if let Some(published) = published {
        notes.push(source_text(published));
        if table.columns.iter().any(|column| column.ratios) {
            notes.push(RATIO_NOTE.to_owned());
        }
    }
    notes.extend(notes::notes(input, table, names));
    notes
}

/// What a figure over several repeats is, and how sure its interval.
fn repeats_note(table: &CaseTable<'_>) -> Option<String> {
    let ours = || table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.ours?.finding);
    let counts: BTreeSet<u32> = ours().map(|one| one.n).filter(|n| *n > 1).collect();
    let what = match (table.repeated, counts.contains(&2), counts.iter().any(|n| *n > 2)) {
        // Of an interrupted run each figure may be of one trial.
        (false, ..) | (true, false, false) => return None,
        (true, true, false) => "Figures are means of the 2 repeats, where both count",
        (true, true, true) => "Figures are medians over the repeats, of 2 their mean",
        (true, false, true) => "Figures are medians over the repeats",
    };
    let levels: Vec<f64> = ours().filter_map(level).collect();
    let least = levels.iter().copied().reduce(f64::min);
    let interval = least.map_or_else(String::new, |level| {
        let level = units::significant(level * 100.0);
        format!("; intervals hold the true one with {level} % confidence at least")
    });
    Some(format!("{what}{interval}."))
}

fn level(finding: &Finding) -> Option<f64> {
    match finding.interval {
        Interval::Bounds { level, .. } => Some(level),
        Interval::NotResolvable(_) => None,
    }
}

/// Rates in bytes count different bytes for producers and consumers: which ones is said where both stand.
fn bytes_note(table: &CaseTable<'_>) -> Option<String> {
    let columns = table.columns.iter().filter(|column| column.unit == Unit::MibPerS);
    let known = |column: &Column| metric::all().find(|known| known.name == column.of.metric);
    let mut shown: Vec<&metric::Metric> = columns.filter_map(known).collect();
    shown.dedup_by_key(|known| known.name);
    let has = |kind| shown.iter().any(|known| known.kinds.contains(&kind));
    let meanings: Vec<String> =
        shown.iter().map(|known| format!("{}: {}", known.name, known.meaning)).collect();
    (has(SubjectKind::Produce) && has(SubjectKind::Consume)).then(|| meanings.join("; ") + ".")
}

/// Why ratios are printed.
const RATIO_NOTE: &str = "Absolute figures of two machines are not comparable; beside them stands each figure's \
    ratio to the first row that has both ours and the published one.";

/// Where the published figures come from.
fn source_text(published: &Published) -> String {
    let definition = if published.definition.is_empty() {
        String::new()
    } else {
        format!(" Its figure: {}.", published.definition.trim_end_matches('.'))
    };
    format!(
        "Published: {}, {}, measured on {}.{definition}",
        published.title,
        published.date,
        published.hardware.trim_end_matches('.')
    )
}

/// Our figure as printed, with its interval or its range over the repeats.
pub(crate) fn ours_text(cell: &Cell<'_>) -> String {
    cell.ours.map_or_else(|| NOT_TESTED.to_owned(), |ours| ours.text_with_spread())
}
