//! Answers as text: the sentences, the figures under them, the curve.

use crate::answer::{Answer, verdict};
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::table::{Cell, Table};
use crate::trials::row_mark;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::Scope;
use kdyno_model::plan::{Plan, Strategy};

/// One answer with its heading.
pub(crate) fn answer_text(answer: &Answer, options: &TextOptions) -> String {
    let mut out = String::new();
    let mut push = |text: &str, tone: Tone, indent: usize| {
        for line in wrap(text, options.columns(), indent).lines() {
            out.push_str(&options.paint(line, tone));
            out.push('\n');
        }
    };
    push(&answer.title, Tone::Strong, 4);
    for sentence in &answer.sentences {
        push(&sentence.text, sentence.tone, 2);
    }
    if let Some(table) = answer.table.as_ref().filter(|table| !table.rows.is_empty()) {
        out.push_str(&table_text(table, options));
    }
    if let Some(curve) = &answer.curve {
        out.push('\n');
        out.push_str(&table_text(&curve.with_bars(), options));
    }
    for note in answer.notes(true) {
        out.push_str(&wrap(&note, options.columns(), 2));
        out.push('\n');
    }
    out
}

/// What a look of a comparison of `plan` says of the metrics that were named to be judged, a sentence each.
pub fn look_text(plan: &Plan, case: u32, conclusions: &[Conclusion], options: &TextOptions) -> String {
    let Strategy::Compare(compare) = &plan.strategy else { return String::new() };
    let label = plan.cases.get(case as usize).map_or("", |case| case.label.as_str());
    let answer = verdict::answer(conclusions, Scope::Comparison { case }, label, &compare.labels);
    let lines = answer.sentences.iter().map(|sentence| wrap(&sentence.text, options.columns(), 2));
    lines.collect::<Vec<_>>().join("\n")
}

/// A table; the names of its rows head every block. One without heads is a list of names and what they are.
pub(super) fn table_text(table: &Table, options: &TextOptions) -> String {
    if !table.has_heads() {
        let line = |row: &Vec<Cell>| row.iter().map(Cell::whole).collect::<Vec<_>>().join(": ");
        return table.rows.iter().map(|row| wrap(&line(row), options.columns(), 2) + "\n").collect();
    }
    let (first, others) = columns_of(table);
    grid(&first, &others, options)
}

/// The columns that head each block, and those that flow. The mark of rows that were cut short has a column of its own.
pub(super) fn columns_of(table: &Table) -> (Vec<GridColumn>, Vec<GridColumn>) {
    let marks = (0..table.rows.len()).map(|row| row_mark(table.cut_short.contains(&row)).to_owned());
    let marks = GridColumn { cells: marks.collect(), tone: Tone::Bad, ..GridColumn::default() };
    let mut columns = table.columns.iter().enumerate().map(|(index, column)| GridColumn {
        head: column.head.clone(),
        cells: aligned(table, index),
        tone: if column.holds.is_published() { Tone::Faint } else { Tone::Plain },
        right: !column.holds.is_text(),
        joined: column.joined,
    });
    let mut first: Vec<GridColumn> = (!table.cut_short.is_empty()).then_some(marks).into_iter().collect();
    first.extend(columns.by_ref().take(table.names));
    (first, columns.collect())
}

/// The cells of a column. Numbers end at one place, with their footnotes behind it.
fn aligned(table: &Table, index: usize) -> Vec<String> {
    let cells = || table.rows.iter().map(|row| &row[index]);
    if table.columns[index].holds.is_text() {
        return cells().map(Cell::whole).collect();
    }
    let widest = cells().map(|cell| cell.tail().chars().count()).max().unwrap_or_default();
    let pad = |cell: &Cell| " ".repeat(widest - cell.tail().chars().count());
    cells().map(|cell| cell.whole() + &pad(cell)).collect()
}
