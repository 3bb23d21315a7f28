//! The scenario's table as text: a row per case, or, where there are few cases and many figures, a row per figure.

use super::answer_text::columns_of;
use crate::answer::notes::{self, CaseNames};
use crate::answer::words;
use crate::case_table::{CaseTable, ShownMetric};
use crate::grid::{TextOptions, Tone, block_count, grid, wrap};
use crate::headings::heading;
use crate::input::ReportInput;
use crate::result::{Heads, by_case, by_figure, figure_notes, table_notes};
use crate::table::Table;

/// Cases at most that fit next to each other.
const COLUMNS_MAX: usize = 4;
/// Figures of a summary at most: columns of them, or rows.
const FIGURES_MAX: usize = 8;

/// The table under its title with what has to be said about it; empty where a scenario asks for none.
pub(super) fn result_text(input: &ReportInput<'_>, table: &CaseTable<'_>, options: &TextOptions) -> String {
    if table.metrics.is_empty() || table.rows.is_empty() {
        return String::new();
    }
    let (grid, is_turned) = laid_out(table, options);
    let mut out = format!("{}\n{grid}", options.paint("Result", Tone::Strong));
    let labels = |cases: &[u32]| {
        let labels: Vec<String> = cases.iter().map(|case| input.case_label(*case).to_owned()).collect();
        (labels.len(), words::list(&labels))
    };
    let rows = |cases: &[u32]| notes::by_row(table, cases);
    let names: &CaseNames<'_> = if is_turned { &labels } else { &rows };
    for note in addresses_note(table).into_iter().chain(table_notes(input, table, names)) {
        out.push_str(&wrap(&note, options.columns(), 2));
        out.push('\n');
    }
    out
}

/// The table for a summary: its first figures of so many cases, and under them what their marks and repeats are.
pub(super) fn short_text(
    input: &ReportInput<'_>,
    table: &CaseTable<'_>,
    cases_max: usize,
    options: &TextOptions,
) -> String {
    let mut shown = table.first_figures(FIGURES_MAX);
    shown.rows.truncate(cases_max);
    let (mut out, _) = laid_out(&shown, options);
    let more = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 more {noun}: `--details`.")),
        many => Some(format!("{many} more {noun}s: `--details`.")),
    };
    let cases = more(table.rows.len() - shown.rows.len(), "case");
    let left = cases.into_iter().chain(more(table.metrics.len() - shown.metrics.len(), "figure"));
    for note in figure_notes(input, &shown).into_iter().chain(left) {
        out.push_str(&(wrap(&note, options.columns(), 2) + "\n"));
    }
    out
}

/// The table with a row per case, or per figure where that takes less room; and whether it is the latter.
fn laid_out(table: &CaseTable<'_>, options: &TextOptions) -> (String, bool) {
    let cases = by_case(table, Heads::Terminal);
    let may_turn = table.rows.len() <= COLUMNS_MAX && !table.metrics.iter().any(|shown| shown.published);
    let turned = may_turn.then(|| by_figure(table));
    let turned = turned.filter(|turned| blocks(turned, options) < blocks(&cases, options));
    let is_turned = turned.is_some();
    let (fixed, flowing) = columns_of(&turned.unwrap_or(cases));
    (grid(&fixed, &flowing, options), is_turned)
}

fn blocks(table: &Table, options: &TextOptions) -> usize {
    let (fixed, flowing) = columns_of(table);
    block_count(&fixed, &flowing, options)
}

/// The addresses of headings that are none, since scenarios and the notes below name figures by these.
fn addresses_note(table: &CaseTable<'_>) -> Option<String> {
    let is_other = |shown: &ShownMetric| heading(&shown.of.metric) != shown.of.metric;
    let all: Vec<String> = table.metrics.iter().map(|shown| shown.of.to_string()).collect();
    table
        .metrics
        .iter()
        .any(is_other)
        .then(|| format!("Figures in this order, by their names in scenarios: {}.", all.join(", ")))
}
