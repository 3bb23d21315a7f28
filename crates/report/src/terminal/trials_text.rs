//! The figures of every trial as text.

use super::answer_text::table_text;
use crate::answer::members::{self, MembersTable};
use crate::answer::steadiness;
use crate::figures::FindingIndex;
use crate::grid::{TextOptions, Tone, wrap};
use crate::input::ReportInput;
use crate::marks::Signs;
use crate::trial_tables;
use crate::trials::{self, BRIEF_TABLES, StreamRow, TABLES, TrialsTable, stream_rows};
use crate::units;
use crate::without_generator;
use kdyno_model::plan::Strategy;

/// Rows of the table of members that are printed at most.
const MEMBER_ROWS_MAX: usize = 40;

/// Every trial's figures. Those of a comparison or a search are many and are in the page.
pub(super) fn full(input: &ReportInput<'_>, figures: &FindingIndex<'_>, options: &TextOptions) -> String {
    if !matches!(input.plan().strategy, Strategy::List(_)) {
        return String::new();
    }
    let rows = stream_rows(input, figures);
    let (mut parts, mut signs) = tables(&rows, input, figures, &TABLES, options);
    let members = members::table(input, figures);
    let is_explained = |of: &MembersTable| of.has_others && of.table.rows.len() <= MEMBER_ROWS_MAX;
    if let Some(members) = &members {
        parts.push(members_text(members, options));
        signs.add_all(&members.table.signs());
    }
    let others = members.as_ref().is_some_and(is_explained).then_some(members::OTHERS_NOTE);
    let notes = others.into_iter().map(str::to_owned).chain(trials::notes(&rows, figures));
    let legend = signs.legend_with(steadiness::needed(input).as_deref());
    with_notes(&parts, legend.into_iter().chain(notes), options)
}

/// The main figures of each trial of a scenario that shows no table, of so many load items.
pub(super) fn brief(
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
    rows_max: usize,
    options: &TextOptions,
) -> String {
    let mut rows = stream_rows(input, figures);
    let left = rows.len().saturating_sub(rows_max);
    rows.truncate(rows_max);
    let (parts, signs) = tables(&rows, input, figures, &BRIEF_TABLES, options);
    let cut_short = rows.iter().any(|row| row.cut_short).then_some(trials::CUT_SHORT_NOTE);
    let notes = cut_short.into_iter().chain(trials::no_failure_note(&rows, figures)).map(str::to_owned);
    let metrics: Vec<&str> = trials::brief_metrics().collect();
    let without = without_generator::of_trials(figures, trials::names(&rows), &metrics);
    let more = (left > 0).then(|| format!("{left} more rows: `--details`."));
    let legend = signs.legend_with(steadiness::needed(input).as_deref());
    with_notes(&parts, legend.into_iter().chain(without).chain(notes).chain(more), options)
}

fn with_notes(parts: &[String], notes: impl Iterator<Item = String>, options: &TextOptions) -> String {
    let mut out = parts.join("\n");
    for note in notes {
        out.push_str(&wrap(&note, options.columns(), 0));
        out.push('\n');
    }
    out
}

/// Each table with its title, and the signs that are in it. Columns without any figure are left out; that nothing went
/// wrong is said in a sentence, while for anything else nothing is something.
fn tables(
    rows: &[StreamRow<'_>],
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
    specs: &[TrialsTable],
    options: &TextOptions,
) -> (Vec<String>, Signs) {
    let (mut parts, mut signs) = (Vec::new(), Signs::default());
    let all = trial_tables::of(rows, input, figures, specs, trial_tables::is_labelled(rows));
    for one in all.into_iter().filter(|one| !one.is_clean) {
        let table = one.table.without_empty();
        signs.add_all(&table.signs());
        parts.push(format!("{}\n{}", options.paint(one.title, Tone::Strong), table_text(&table, options)));
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
