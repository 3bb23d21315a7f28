//! Tables of every trial's figures, for every form.

use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::table::{Cell, Column, Holds, Table};
use crate::trials::{StreamRow, TrialsTable, is_of_failures};

/// One of them.
#[derive(Debug)]
pub struct TrialTable {
    /// Above it.
    pub title: &'static str,
    /// A row for each stream of each trial that has any of its figures.
    pub table: Table,
    /// It is about failures, and there are none.
    pub is_clean: bool,
}

/// The tables of some streams, numbered by their trials where requested; without tables that have no row.
pub fn of(
    all: &[StreamRow<'_>],
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
    specs: &[TrialsTable],
    is_numbered: bool,
) -> Vec<TrialTable> {
    let is_labelled = is_labelled(all);
    let table = |(title, streams, shown, words): &TrialsTable| {
        let is_shown = |row: &&StreamRow<'_>| streams.has(row.load) && row.has_any(figures, shown);
        let rows: Vec<&StreamRow<'_>> = all.iter().filter(is_shown).collect();
        let said: Vec<String> = rows.iter().map(|row| row.words(*words, input)).collect();
        let has_words = said.iter().any(|text| !text.is_empty());
        let mut columns: Vec<Column> =
            is_numbered.then(|| Column::new(&["trial"], Holds::Numbers)).into_iter().collect();
        columns.extend(is_labelled.then(|| Column::new(&["case"], Holds::Words)));
        columns.push(Column::new(&["stream"], Holds::Words));
        let names = columns.len();
        columns.extend(shown.iter().map(|one| Column::new(&one.head, Holds::Numbers)));
        columns.extend(has_words.then(|| Column::new(&[words.head()], Holds::Words)));
        let cells = |(row, said): (&&StreamRow<'_>, String)| {
            let mut cells: Vec<Cell> =
                is_numbered.then(|| row.trial.id.to_string().into()).into_iter().collect();
            cells.extend(is_labelled.then(|| row.trial.label.as_str().into()));
            cells.push(row.stream.into());
            cells.extend(shown.iter().map(|one| row.cell(figures, one)));
            cells.extend(has_words.then(|| said.into()));
            cells
        };
        let is_nothing = rows.iter().all(|row| !row.has_more_than_0(figures, shown));
        let cut_short = rows.iter().enumerate().filter(|(_, row)| row.cut_short).map(|(index, _)| index);
        TrialTable {
            title,
            is_clean: is_nothing && !has_words && is_of_failures(shown),
            table: Table {
                columns,
                rows: rows.iter().zip(said).map(cells).collect(),
                names,
                cut_short: cut_short.collect(),
            },
        }
    };
    specs.iter().map(table).filter(|one| !one.table.rows.is_empty()).collect()
}

/// Whether trials have names: a plan with one trial needs none.
pub fn is_labelled(all: &[StreamRow<'_>]) -> bool {
    all.iter().any(|row| !row.trial.label.is_empty())
}
