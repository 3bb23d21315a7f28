//! The one printer of tables on pages.

use crate::headings;
use crate::marks::{footnotes, meanings};
use crate::table::{Cell, Column, Holds, Table};
use kdyno_model::finding::Mark;
use kdyno_model::metric::Address;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// A table that scrolls by itself when the page is narrow.
pub fn scroll(name: &str, table: &Markup) -> Markup {
    html! { div class="scroll" role="region" aria-label=(name) tabindex="0" { (table) } }
}

/// A table by itself.
pub fn plain(name: &str, table: &Table) -> Markup {
    scroll(name, &texts(table, None))
}

/// A table by itself, for who puts it somewhere. Where figures take several columns each is named above all of them; spreads
/// have a column of their own.
pub fn texts(table: &Table, caption: Option<&str>) -> Markup {
    html! {
        table {
            @if let Some(caption) = caption { caption { (caption) } }
            @if table.has_heads() { (heads(&table.columns)) }
            tbody { @for (number, row) in table.rows.iter().enumerate() { tr {
                @for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
                    @if index < table.names && (index == 0 || column.holds == Holds::Names) {
                        th class=[(column.holds == Holds::Words).then_some("words")] scope="row" {
                            @if index == 0 { (row_mark(table.cut_short.contains(&number))) }
                            (row_name(table, &cell.text()))
                        }
                    } @else { td class=[class_of(cell, column)] title=[title_of(cell)] { (cell.text()) } }
                    @if column.spread.is_some() { td class="range" { (cell.spread()) } }
                }
            } } }
        }
    }
}

fn heads(columns: &[Column]) -> Markup {
    let is_grouped = columns.iter().any(|column| column.of.is_some());
    let width = |column: &Column| 1 + usize::from(column.spread.is_some());
    let groups: Vec<&[Column]> = columns.chunk_by(|_, next| next.joined).collect();
    let widths: Vec<usize> = groups.iter().map(|group| group.iter().map(width).sum()).collect();
    // Figures of one column each need no second line.
    let is_second = groups.iter().zip(&widths).any(|(group, width)| group[0].of.is_some() && *width > 1);
    let single = |column: &Column, rows: Option<usize>| {
        html! { th class=[head_class(column)] scope="col" rowspan=[rows] { (column.title()) } }
    };
    html! { thead {
        tr { @for (group, width) in groups.iter().zip(&widths) {
            @if let Some(of) = &group[0].of {
                th class="group" scope="colgroup" colspan=(width) { (metric(of, &of.to_string())) }
            } @else {
                @for column in *group { (single(column, is_grouped.then_some(1 + usize::from(is_second)))) }
            }
        } }
        @if is_second { tr { @for column in columns.iter().filter(|column| column.of.is_some()) {
            (single(column, None))
            @if let Some(spread) = column.spread { th class="range" scope="col" { (spread) } }
        } } }
    } }
}

fn head_class(column: &Column) -> Option<&'static str> {
    match column.holds {
        Holds::Names | Holds::Words | Holds::Prose => Some("words"),
        Holds::Numbers => None,
        Holds::Ratios => Some("ratio"),
        Holds::Published => Some("theirs"),
        Holds::PublishedRatios => Some("theirs ratio"),
    }
}

/// A figure bears the class of its marks, whatever else is in its column.
fn class_of(cell: &Cell, column: &Column) -> Option<String> {
    let own = head_class(column).filter(|_| marked(&cell.marks).is_none() || column.holds.is_text());
    let wrap = (column.holds == Holds::Prose).then_some("wrap");
    let classes: Vec<&str> = own.into_iter().chain(wrap).chain(marked(&cell.marks)).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// What the marks of a figure mean, for who points at it.
fn title_of(cell: &Cell) -> Option<String> {
    Some(meanings(&cell.marks)).filter(|text| !text.is_empty())
}

/// The name of a row; for a metric also in words, which are in brackets where it was not to be judged.
fn row_name(table: &Table, name: &str) -> Markup {
    let is_metric = table.columns.first().is_some_and(|column| column.title() == "metric");
    match Address::parse(name.trim_matches(['(', ')'])).filter(|_| is_metric) {
        Some(of) => metric(&of, name),
        None => html! { (name) },
    }
}

/// A metric in words, and as one types it.
fn metric(of: &Address, typed: &str) -> Markup {
    html! { (headings::named(of)) " " code { (typed) } }
}

/// Precedes the name of a row whose figures cover less than was planned.
fn row_mark(cut_short: bool) -> Markup {
    html! { @if cut_short { span class="mark" { "* cut short " } } }
}

/// The class of a cell with such a figure.
fn marked(marks: &BTreeSet<Mark>) -> Option<&'static str> {
    if marks.contains(&Mark::Invalid) {
        return Some("invalid");
    }
    (!footnotes(marks).is_empty()).then_some("marked")
}
