//! The one table: its columns, and rows of cells with their marks and their spread.
//!
//! Code that has figures to show makes a [`Table`]; each form prints every table in one place: `terminal::answer_text`,
//! `html::table`, `markdown`.

use crate::marks::{Signs, footnotes, marked};
use crate::{digits, units};
use kdyno_model::finding::{Finding, Mark};
use kdyno_model::metric::Address;
use std::collections::BTreeSet;

/// A table for any printer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What is above and in each of its columns.
    pub columns: Vec<Column>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// How many columns say what a row is of: they are repeated with every part of a table that is wider than its page.
    pub names: usize,
    /// Rows, from 0, with figures that cover less than was planned; a form says so before the row.
    pub cut_short: BTreeSet<usize>,
}

/// What is above a column and in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Above it, top line first.
    pub head: Vec<String>,
    /// What its cells are.
    pub holds: Holds,
    /// The figure that it and those joined to it are of, for a form that names it above all of them.
    pub of: Option<Address>,
    /// Stays together with the column before it.
    pub joined: bool,
    /// What a column of its cells' spreads is called, for a form that has room for one.
    pub spread: Option<&'static str>,
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Short names of rows, such as the value of a parameter.
    Names,
    /// Words.
    Words,
    /// Words that may take several lines.
    Prose,
    /// Figures.
    Numbers,
    /// Figures divided by one of them.
    Ratios,
    /// Published figures.
    Published,
    /// Published figures divided by one of them.
    PublishedRatios,
}

impl Holds {
    /// Whether it has words, which are left-aligned.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Names | Self::Words | Self::Prose)
    }

    /// Whether it is somebody else's.
    pub fn is_published(self) -> bool {
        matches!(self, Self::Published | Self::PublishedRatios)
    }
}

impl Column {
    /// A column by itself.
    pub fn new(head: &[&str], holds: Holds) -> Self {
        let head = head.iter().map(|line| (*line).to_owned()).collect();
        Self { head, holds, of: None, joined: false, spread: None }
    }

    /// Its head in one line.
    pub fn title(&self) -> String {
        self.head.join(" ").trim().to_owned()
    }
}

impl Table {
    /// Columns by their heads, and whether they have numbers; the first one names the rows.
    pub fn new(columns: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> Self {
        let holds = |is_number: bool| if is_number { Holds::Numbers } else { Holds::Words };
        let columns = columns.iter().map(|(head, is_number)| Column::new(&[head], holds(*is_number)));
        Self { columns: columns.collect(), rows, names: 1, cut_short: BTreeSet::new() }
    }

    /// A table whose rows have so many names.
    pub fn with_names(self, names: usize) -> Self {
        Self { names, ..self }
    }

    /// Whether any of its columns has a head.
    pub fn has_heads(&self) -> bool {
        self.columns.iter().any(|column| !column.title().is_empty())
    }

    /// The table without columns, other than the names, in which no row has anything.
    pub fn without_empty(self) -> Self {
        let is_kept = |index: usize| {
            index < self.names || self.rows.iter().any(|row| row[index].text() != units::NOTHING)
        };
        let kept: Vec<bool> = (0..self.columns.len()).map(is_kept).collect();
        self.with_columns(&kept)
    }

    /// The table with those of its columns that are kept.
    pub fn with_columns(mut self, kept: &[bool]) -> Self {
        let mut of_columns = kept.iter();
        self.columns.retain(|_| of_columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut of_row = kept.iter();
            row.retain(|_| of_row.next() == Some(&true));
        }
        self
    }

    /// The signs of all of its figures.
    pub fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        self.rows.iter().flatten().for_each(|cell| cell.add_signs(&mut signs));
        signs
    }
}

/// What is in one row and column: text, the marks of the figure in it, and its spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    /// None where it is no figure.
    pub marks: BTreeSet<Mark>,
    spread: Option<SpreadCell>,
}

/// The interval of a figure, or its range over the repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SpreadCell {
    /// The figure's text with it: `2.14 (2.13–2.16) ms`.
    within: String,
    /// By itself: `2.13 – 2.16 ms`; empty where there is none.
    alone: String,
}

impl Cell {
    /// A figure that has the marks of those that it rests on.
    pub fn figure(marks: &BTreeSet<Mark>, text: String) -> Self {
        Self { text, marks: marks.clone(), spread: None }
    }

    /// The cell with its spread: the figure's text with it, and the spread by itself.
    pub fn with_spread(self, within: String, alone: String) -> Self {
        Self { spread: Some(SpreadCell { within, alone }), ..self }
    }

    /// Adds the signs that are in it.
    pub fn add_signs(&self, signs: &mut Signs) {
        signs.add(&self.marks, &self.text);
        signs.add(&BTreeSet::new(), self.spread());
    }

    /// Its footnotes as printed behind it, with the space before them.
    pub fn tail(&self) -> String {
        let notes = footnotes(&self.marks);
        if notes.is_empty() { notes } else { format!(" {notes}") }
    }

    /// As printed without its spread, with the signs of its marks.
    pub fn text(&self) -> String {
        marked(&self.marks, self.text.clone())
    }

    /// As printed with its spread in brackets.
    pub fn whole(&self) -> String {
        let text = self.spread.as_ref().map_or(&self.text, |spread| &spread.within);
        marked(&self.marks, text.clone())
    }

    /// Its spread by itself.
    pub fn spread(&self) -> &str {
        self.spread.as_ref().map_or("", |spread| &spread.alone)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::figure(&BTreeSet::new(), text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Finding> for Cell {
    fn from(finding: &Finding) -> Self {
        Self::figure(&finding.marks, digits::text(finding))
    }
}

impl From<Option<&Finding>> for Cell {
    fn from(finding: Option<&Finding>) -> Self {
        finding.map_or_else(|| units::NOTHING.into(), Self::from)
    }
}
