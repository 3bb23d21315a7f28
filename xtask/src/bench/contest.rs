//! A contest: sides are measured in turn, round after round, so that a machine that gets slower meanwhile does so for all of
//! them. Then a table with a row for each side, where a figure that is out of bounds has a mark.

use std::ops::RangeInclusive;

use super::interrupted;
use super::setup::BenchOptions;
use super::stats::{Series, TextTable, thousands};

/// A bound that every figure keeps.
pub const UNBOUNDED: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;

/// How the figures of a column are shown, of which each round has one.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// The median as a whole number.
    Median,
    /// The lowest and the highest as whole numbers.
    Range,
    /// Median and range, with so many decimals.
    Spread(usize),
    /// The same, and a mark where the median is out of the side's bounds.
    Judged(usize),
    /// As judged, of the first side's ÷ this side's, round by round.
    FirstJudged(usize),
}

/// What is measured of each side.
pub struct Contest<'a> {
    /// What the sides are.
    pub heading: &'a str,
    /// Their names, and the bounds of what is judged of them.
    pub sides: Vec<(String, RangeInclusive<f64>)>,
    /// Headings of the figures.
    pub figures: &'a [(&'a str, Shown)],
    /// So many sides after each other are compared: each begins in turn, so that none always follows the same one.
    pub group: usize,
    /// Rounds before the first one that counts.
    pub unmeasured: usize,
}

impl Contest<'_> {
    /// Measures and prints the table; figures by side. `measure` is given a side and a round, and has a figure for each
    /// heading, or only the first ones.
    pub fn run(
        &self,
        options: &BenchOptions,
        measure: impl FnMut(usize, usize) -> anyhow::Result<Vec<f64>>,
    ) -> anyhow::Result<Vec<Vec<Series>>> {
        let all = self.rounds(options, measure)?;
        print!("{}", self.table(&all));
        Ok(all)
    }

    /// Runs the rounds without printing the table.
    pub fn rounds(
        &self,
        options: &BenchOptions,
        mut measure: impl FnMut(usize, usize) -> anyhow::Result<Vec<f64>>,
    ) -> anyhow::Result<Vec<Vec<Series>>> {
        let mut all = vec![vec![Series::default(); self.figures.len()]; self.sides.len()];
        let indices: Vec<usize> = (0..self.sides.len()).collect();
        for round in 0..self.unmeasured + options.rounds {
            for (number, group) in indices.chunks(self.group).enumerate() {
                for turn in 0..group.len() {
                    let side = group[(round + number + turn) % group.len()];
                    let figures = measure(side, round);
                    // What a signal ended is no failure of that side.
                    interrupted::check()?;
                    let series = all[side].iter_mut().zip(figures?);
                    if round >= self.unmeasured {
                        series.for_each(|(series, figure)| series.0.push(figure));
                    }
                }
            }
        }
        Ok(all)
    }

    fn table(&self, all: &[Vec<Series>]) -> TextTable {
        let mut headings = vec![self.heading];
        headings.extend(self.figures.iter().map(|(heading, _)| *heading));
        let mut table = TextTable::new(&headings);
        for ((name, bounds), own) in self.sides.iter().zip(all) {
            let judged =
                |series: &Series, decimals| format!("{}{}", series.show(decimals), mark(series, bounds));
            let mut row = vec![name.clone()];
            for (index, ((_, shown), series)) in self.figures.iter().zip(own).enumerate() {
                row.push(match *shown {
                    Shown::Median => thousands(series.median()),
                    Shown::Range => series.show_range(),
                    Shown::Spread(decimals) => series.show(decimals),
                    Shown::Judged(decimals) => judged(series, decimals),
                    Shown::FirstJudged(decimals) => judged(&all[0][index].over(series), decimals),
                });
            }
            table.row(row);
        }
        table
    }
}

/// The mark of a median that is out of its bounds; none where nothing was measured.
fn mark(series: &Series, bounds: &RangeInclusive<f64>) -> &'static str {
    let median = series.median();
    if median < *bounds.start() || median > *bounds.end() { " ✗" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest<'a>(
        bounds: &[RangeInclusive<f64>],
        figures: &'a [(&'a str, Shown)],
        group: usize,
    ) -> Contest<'a> {
        let sides = ["a", "b", "c"].map(str::to_owned).into_iter().zip(bounds.iter().cloned()).collect();
        Contest { heading: "side", sides, figures, group, unmeasured: 1 }
    }

    fn rounds(rounds: usize) -> BenchOptions {
        BenchOptions { quick: false, rounds }
    }

    #[test]
    fn each_side_of_a_group_begins_in_turn() {
        let order = |group, unmeasured| {
            let mut order = String::new();
            let three = contest(&[UNBOUNDED, UNBOUNDED, UNBOUNDED], &[], group);
            let measured = Contest { unmeasured, ..three }.rounds(&rounds(3 - unmeasured), |side, round| {
                order.push_str(&format!("{round}{} ", ["a", "b", "c"][side]));
                Ok(Vec::new())
            });
            measured.expect("it runs");
            order
        };
        assert_eq!(order(1, 0), "0a 0b 0c 1a 1b 1c 2a 2b 2c ");
        assert_eq!(order(2, 1), "0a 0b 0c 1b 1a 1c 2a 2b 2c ");
        assert_eq!(order(3, 2), "0a 0b 0c 1b 1c 1a 2c 2a 2b ");
    }

    #[test]
    fn rounds_that_count_are_shown_and_marked_by_their_medians() {
        let figures = [
            ("/s", Shown::Median),
            ("range", Shown::Range),
            ("µs", Shown::Spread(1)),
            ("÷ floor", Shown::Judged(1)),
            ("a ÷ it", Shown::FirstJudged(2)),
        ];
        let three = contest(&[0.0..=4.0, 2.5..=f64::INFINITY, UNBOUNDED], &figures, 3);
        let all = three.rounds(&rounds(3), |side, round| {
            let figure = if round == 0 { 1e9 } else { (1 + side) as f64 * 1000.0 * round as f64 };
            Ok(if side == 2 { vec![figure] } else { vec![figure, figure, 0.5, round as f64 + 2.0, figure] })
        });
        let all = all.expect("it runs");
        assert_eq!((all[0][0].0.len(), all[2][0].0.len(), all[2][1].0.len()), (3, 3, 0));
        let table = three.table(&all).to_string();
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.trim().split("  ").collect()).collect();
        let cells = |row: usize| rows[row].iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let is = |row: usize, wanted: &[&str]| assert_eq!(cells(row).collect::<Vec<_>>(), wanted, "{table}");
        is(0, &["side", "/s", "range", "µs", "÷ floor", "a ÷ it"]);
        is(1, &["a", "2 000", "1 000–3 000", "0.5 (0.5–0.5)", "4.0 (3.0–5.0)", "1.00 (1.00–1.00)"]);
        is(2, &["b", "4 000", "2 000–6 000", "0.5 (0.5–0.5)", "4.0 (3.0–5.0)", "0.50 (0.50–0.50) ✗"]);
        is(3, &["c", "6 000", "–", "–", "–", "–"]);
        assert_eq!(mark(&all[0][3], &(0.0..=3.9)), " ✗");
    }

    #[test]
    fn a_side_that_fails_ends_the_contest() {
        let one = contest(&[UNBOUNDED], &[("/s", Shown::Median)], 1);
        assert!(one.run(&rounds(1), |_, _| anyhow::bail!("no broker")).is_err());
    }
}
