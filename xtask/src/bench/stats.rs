//! Median and range of a few repeated figures, and the small tables they are printed in.

use std::fmt;

/// Figures of one quantity, one per round.
#[derive(Debug, Default, Clone)]
pub struct Series(pub Vec<f64>);

impl Series {
    /// The middle figure (mean of the two middle ones); NaN when nothing was measured.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => sorted[count / 2],
            count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
        }
    }

    /// Round by round `self ÷ other`: both sides of a ratio lie next to each other in time.
    pub fn over(&self, other: &Series) -> Series {
        Series(self.0.iter().zip(&other.0).map(|(one, two)| one / two).collect())
    }

    /// Lowest and highest figure.
    pub fn range(&self) -> (f64, f64) {
        let lowest = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        (lowest, self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Lowest and highest figure, whole and with thousands apart; nothing where there is no number.
    pub fn show_range(&self) -> String {
        let (lowest, highest) = self.range();
        if self.median().is_nan() {
            "–".to_owned()
        } else {
            format!("{}–{}", thousands(lowest), thousands(highest))
        }
    }

    /// Every figure in the order of the rounds.
    pub fn each(&self, decimals: usize) -> String {
        self.0.iter().map(|value| format!("{value:.decimals$}")).collect::<Vec<_>>().join(" ")
    }

    /// `median (lowest–highest)` with so many decimals; nothing where there is no number.
    pub fn show(&self, decimals: usize) -> String {
        let (lowest, highest) = self.range();
        match self.0.len() {
            _ if self.median().is_nan() => "–".to_owned(),
            1 => format!("{:.decimals$}", self.0[0]),
            _ => format!("{:.decimals$} ({lowest:.decimals$}–{highest:.decimals$})", self.median()),
        }
    }
}

/// Columns of text, first one left, the others right.
pub struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with its heading.
    pub fn new(heading: &[&str]) -> TextTable {
        TextTable { rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    /// Adds a row; it has as many cells as the heading.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let width = |column: usize| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                if column == 0 { write!(f, "  {cell:<width$}")? } else { write!(f, "  {cell:>width$}")? }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Records per second with thousands apart.
pub fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let digits = format!("{value:.0}").into_bytes();
    digits.rchunks(3).rev().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_range() {
        let odd = Series(vec![3.0, 1.0, 2.0]);
        assert_eq!(odd.show(1), "2.0 (1.0–3.0)");
        let even = Series(vec![4.0, 1.0, 2.0, 3.0]);
        assert!((even.median() - 2.5).abs() < 1e-12);
        assert_eq!(Series::default().show(1), "–");
        let one = |value: f64| Series(vec![value]).show(1);
        assert_eq!([one(1.0), one(f64::NAN)], ["1.0", "–"]);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let one = Series(vec![2.0, 30.0]);
        let two = Series(vec![1.0, 10.0]);
        assert_eq!(one.over(&two).show(0), "2 (2–3)");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(thousands(1_234_567.4), "1 234 567");
        assert_eq!(thousands(12.0), "12");
    }
}
