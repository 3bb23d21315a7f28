//! Answers as text: the sentences, the figures under them, the curve.

use crate::answer::{Answer, TextTable, verdict};
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::marks::Cell;
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
        out.push_str(&curve.text(options));
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
pub(super) fn table_text(table: &TextTable, options: &TextOptions) -> String {
    if table.columns.iter().all(|(head, _)| head.is_empty()) {
        let line = |row: &Vec<Cell>| row.iter().map(Cell::text).collect::<Vec<_>>().join(": ");
        return table.rows.iter().map(|row| wrap(&line(row), options.columns(), 2) + "\n").collect();
    }
    let column = |(index, (head, is_number)): (usize, &(String, bool))| {
        let cells = table.rows.iter().map(|row| row[index].text()).collect();
        let head = [head.as_str()];
        if *is_number { GridColumn::numbers(&head, cells) } else { GridColumn::words(&head, cells) }
    };
    let mut columns = table.columns.iter().enumerate().map(column);
    let first: Vec<GridColumn> = columns.by_ref().take(table.names).collect();
    grid(&first, &columns.collect::<Vec<_>>(), options)
}
