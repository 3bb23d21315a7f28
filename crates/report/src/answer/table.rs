//! Tables of answers, for any printer.

use crate::marks::{Cell, Signs};

/// A table for any printer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    /// Heads of the columns, and whether numbers stand in them.
    pub columns: Vec<(String, bool)>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// How many columns say what a row is of: they stand beside every part of a table that is wider than its page.
    pub names: usize,
}

impl TextTable {
    pub(crate) fn new(columns: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> Self {
        let columns = columns.iter().map(|(head, number)| ((*head).to_owned(), *number)).collect();
        Self { columns, rows, names: 1 }
    }

    /// The same whose rows have so many names.
    pub(crate) fn with_names(self, names: usize) -> Self {
        Self { names, ..self }
    }

    /// The signs of all of its figures.
    pub(crate) fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        self.rows.iter().flatten().for_each(|cell| cell.add_signs(&mut signs));
        signs
    }
}
