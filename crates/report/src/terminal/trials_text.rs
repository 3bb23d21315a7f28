//! The figures of every trial as text.

use super::answer_text::table_text;
use crate::answer::members::{self, MembersTable};
use crate::figures::Figures;
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::input::ReportInput;
use crate::marks::Signs;
use crate::trials::{self, BRIEF_TABLES, StreamRow, TABLES, Table, row_mark, stream_rows};
use crate::units;
use crate::without_generator;
use kdyno_model::plan::Strategy;

/// Rows of the table of members that are printed at most.
const MEMBER_ROWS_MAX: usize = 40;
/// Rows of main figures that are printed at most in short.
const BRIEF_ROWS_MAX: usize = 24;

/// Every trial's figures. Those of a comparison or a search are many and stand in the page.
pub(super) fn full(input: &ReportInput<'_>, figures: &Figures<'_>, options: &TextOptions) -> String {
    if !matches!(input.plan().strategy, Strategy::List(_)) {
        return String::new();
    }
    let rows = stream_rows(input, figures);
    let (mut parts, mut signs) = tables(input, figures, &TABLES, options);
    let members = members::table(input, figures);
    let is_explained = |of: &MembersTable| of.has_others && of.table.rows.len() <= MEMBER_ROWS_MAX;
    if let Some(members) = &members {
        parts.push(members_text(members, options));
        signs.add_all(&members.table.signs());
    }
    let others = members.as_ref().is_some_and(is_explained).then_some(members::OTHERS_NOTE);
    let notes = others.into_iter().map(str::to_owned).chain(trials::notes(&rows, figures));
    with_notes(&parts, signs.legend().into_iter().chain(notes), options)
}

/// The main figures of each trial, unless they fill the screen.
pub(super) fn brief(input: &ReportInput<'_>, figures: &Figures<'_>, options: &TextOptions) -> String {
    let rows = stream_rows(input, figures);
    if !matches!(input.plan().strategy, Strategy::List(_)) || rows.len() > BRIEF_ROWS_MAX {
        return String::new();
    }
    let (parts, signs) = tables(input, figures, &BRIEF_TABLES, options);
    let cut_short = rows.iter().any(|row| row.cut_short).then_some(trials::CUT_SHORT_NOTE);
    let notes = cut_short.into_iter().chain(trials::no_failure_note(&rows, figures)).map(str::to_owned);
    // The table of cases has its own.
    let is_shown = |metric: &&str| !input.plan().show.columns.iter().any(|of| of.metric == **metric);
    let metrics: Vec<&str> = trials::brief_metrics().filter(is_shown).collect();
    let without = without_generator::of_trials(figures, trials::names(&rows), &metrics);
    with_notes(&parts, signs.legend().into_iter().chain(without).chain(notes), options)
}

fn with_notes(parts: &[String], notes: impl Iterator<Item = String>, options: &TextOptions) -> String {
    let mut out = parts.join("\n");
    for note in notes {
        out.push_str(&wrap(&note, options.columns(), 0));
        out.push('\n');
    }
    out
}

/// Each table with its title, and the signs that stand in them. Columns without any figure are left out, and tables of
/// failures where there are none.
fn tables(
    input: &ReportInput<'_>,
    figures: &Figures<'_>,
    tables: &[Table],
    options: &TextOptions,
) -> (Vec<String>, Signs) {
    let all = stream_rows(input, figures);
    let (mut parts, mut signs) = (Vec::new(), Signs::default());
    for (title, streams, shown, words) in tables {
        let is_shown = |row: &&StreamRow<'_>| streams.has(row.load) && row.has_any(figures, shown);
        let rows: Vec<&StreamRow<'_>> = all.iter().filter(is_shown).collect();
        let column = |text: &dyn Fn(&StreamRow<'_>) -> String| -> Vec<String> {
            rows.iter().map(|row| text(row)).collect()
        };
        let said = column(&|row| row.words(*words, input));
        let has_words = said.iter().any(|text| !text.is_empty());
        // Nothing of what went wrong is told in a sentence; of anything else nothing is something.
        let is_clean = rows.iter().all(|row| !row.has_more_than_0(figures, shown));
        if rows.is_empty() || (is_clean && !has_words && trials::is_of_failures(shown)) {
            continue;
        }
        let figures_of = |one| column(&|row| row.text(figures, one));
        let filled = shown.iter().map(|one| (one, figures_of(one)));
        let filled = filled.filter(|(_, cells)| cells.iter().any(|cell| cell != units::NOTHING));
        let mut flowing: Vec<GridColumn> =
            filled.map(|(one, cells)| GridColumn::numbers(&one.head, cells)).collect();
        if has_words {
            flowing.push(GridColumn::words(&[words.head()], said));
        }
        for (row, one) in rows.iter().flat_map(|row| shown.iter().map(move |one| (row, one))) {
            signs.add_all(&row.signs(figures, one));
        }
        let table = grid(&fixed_columns(&rows), &flowing, options);
        parts.push(format!("{}\n{table}", options.paint(title, Tone::Strong)));
    }
    (parts, signs)
}

/// The members of groups, unless they fill the screen.
fn members_text(members: &MembersTable, options: &TextOptions) -> String {
    let title = options.paint(members::TITLE, Tone::Strong);
    let rows = members.table.rows.len();
    if rows > MEMBER_ROWS_MAX {
        let elsewhere =
            format!("{} rows, which are in the page and in the JSON document.", units::count(rows as f64));
        return format!("{title}\n{}\n", wrap(&elsewhere, options.columns(), 0));
    }
    format!("{title}\n{}", table_text(&members.table, options))
}

/// Which trial and stream a row is of; a plan with one trial needs no number.
fn fixed_columns(rows: &[&StreamRow<'_>]) -> Vec<GridColumn> {
    let marks: Vec<&str> = rows.iter().map(|row| row_mark(row.cut_short)).collect();
    let mut fixed: Vec<GridColumn> = mark_column(&marks).into_iter().collect();
    let column = |text: &dyn Fn(&StreamRow<'_>) -> String| rows.iter().map(|row| text(row)).collect();
    if rows.iter().any(|row| !row.trial.label.is_empty()) {
        fixed.push(GridColumn::numbers(&["trial"], column(&|row| row.trial.id.to_string())));
        fixed.push(GridColumn::words(&["case"], column(&|row| row.trial.label.clone())));
    }
    fixed.push(GridColumn::words(&["stream"], column(&|row| row.stream.to_owned())));
    fixed
}

/// Marks stand in a column of their own, which is there only with a mark in it.
pub(super) fn mark_column(marks: &[&str]) -> Option<GridColumn> {
    let cells = marks.iter().map(ToString::to_string).collect();
    let column = GridColumn { tone: Tone::Bad, ..GridColumn::words(&[""], cells) };
    marks.iter().any(|mark| !mark.is_empty()).then_some(column)
}
