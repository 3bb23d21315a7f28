//! Tables of answers, for any printer.

use crate::marks::{Cell, Signs};

/// A table for any printer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    /// Heads of the columns, and whether numbers stand in them.
    pub columns: Vec<(String, bool)>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl TextTable {
    pub(crate) fn new(columns: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> Self {
        Self { columns: columns.iter().map(|(head, number)| ((*head).to_owned(), *number)).collect(), rows }
    }

    /// The signs of all of its figures.
    pub(crate) fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        self.rows.iter().flatten().for_each(|cell| cell.add_signs(&mut signs));
        signs
    }
}
