//! The rows of the table that a plan needs: its cases and the published rows that they test.

use crate::plan::{CasePlan, ParamValue, Plan, Published, PublishedRow};
use std::cmp::Reverse;

/// One row: a case, the published row it tests, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRow {
    /// Index into [`Plan::cases`]; `None`: this run does not test the published row.
    pub case: Option<u32>,
    /// Index into [`Published::rows`]; `None`: nothing was published for the case.
    pub published: Option<u32>,
}

impl Plan {
    /// All rows: first the cases that test no published row, then the published rows in the source's order, each
    /// with every case that tests it.
    pub fn table_rows(&self) -> Vec<TableRow> {
        let published = self.published.as_ref();
        let matched: Vec<_> =
            self.cases.iter().map(|case| published.and_then(|published| published.row_of(case))).collect();
        let testing = |row: Option<u32>| {
            let cases = (0u32..).zip(&matched).filter(move |(_, matched)| **matched == row);
            cases.map(move |(case, _)| TableRow { case: Some(case), published: row })
        };
        let mut rows: Vec<_> = testing(None).collect();
        for (row, _) in (0u32..).zip(published.iter().flat_map(|published| &published.rows)) {
            let before = rows.len();
            rows.extend(testing(Some(row)));
            if rows.len() == before {
                rows.push(TableRow { case: None, published: Some(row) });
            }
        }
        rows
    }
}

impl Published {
    /// Index of the row whose parameters all agree with the case; of several the first of those that name most.
    pub fn row_of(&self, case: &CasePlan) -> Option<u32> {
        let agrees = |row: &PublishedRow| {
            row.params.iter().all(|(name, value)| case.params.get(name).is_some_and(|ours| same(ours, value)))
        };
        let agreeing = (0u32..).zip(&self.rows).filter(|(_, row)| agrees(row));
        agreeing.min_by_key(|(_, row)| Reverse(row.params.len())).map(|(index, _)| index)
    }
}

/// Parameters agree when they are printed alike: `3` is `3` whether it was typed as number or text.
fn same(a: &ParamValue, b: &ParamValue) -> bool {
    a == b || a.to_string() == b.to_string()
}
