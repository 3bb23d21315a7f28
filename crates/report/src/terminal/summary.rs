//! The first screen of a run as text: the answer, its figures, what limits it. All else is one command away.

use super::answer_text::table_text;
use super::result_table::short_text;
use super::run_table::{head, joined, loss_text};
use super::trials_text;
use crate::answer::glance::{Doubt, Glance, doubts, glance};
use crate::answer::{Answer, commands, search, verdict};
use crate::case_table::{CaseTable, case_table};
use crate::caveats::{self, Worded};
use crate::figures::FindingIndex;
use crate::grid::{TextOptions, Tone, shorten, wrap};
use crate::input::ReportInput;
use crate::table::Table;
use crate::trials::{no_failure_note, stream_rows};
use kdyno_model::caveat::Severity;
use kdyno_model::finding::Scope;
use kdyno_model::grouped::distinct;
use kdyno_model::plan::Strategy;

/// Lines of a first screen at most.
const LINES_MAX: usize = 40;
/// Rows of a table that are printed at most.
const ROWS_MAX: usize = 16;
/// Rows that a table keeps where the screen would be longer.
const ROWS_MIN: usize = 4;
/// How to see the rest.
const MORE: &str =
    "Details: `kdyno show RUN --details` · settings: `kdyno show RUN --config` · page: `kdyno report RUN`";

/// The result in short: the question; records that were lost and figures that are invalid, if any; the answer, its figures, the
/// heaviest caveats, what to do next, how to see the rest. Tables are cut until it fits the screen.
pub fn run_summary(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    let worded = caveats::all(input);
    let glance = glance(input, &table, &worded);
    let is_invalid = |doubt: &&Doubt| doubt.severity == Severity::Invalid;
    let (invalid, warnings): (Vec<&Doubt>, Vec<&Doubt>) = glance.doubts.iter().partition(is_invalid);
    let with_rows = |rows_max: usize| {
        let mut parts = vec![loss_of(&worded, options), head(input, &figures, options)];
        parts.push(doubts_text(&invalid, options));
        parts.push(answer_lines(&glance, options));
        parts.extend(results(input, &table, &figures, &glance, rows_max, options));
        parts.push(doubts_text(&warnings, options) + &more_text(&glance, options));
        parts.push(wrap(MORE, options.columns(), 2) + "\n");
        joined(parts)
    };
    let fits = |text: &String| text.lines().count() <= LINES_MAX;
    let mut longest_first = (ROWS_MIN..=ROWS_MAX).rev().map(&with_rows);
    longest_first.find(fits).unwrap_or_else(|| with_rows(ROWS_MIN))
}

/// The answer alone, a line for each sentence, after records that were lost and figures that are invalid.
pub fn answer_alone(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let worded = caveats::all(input);
    let glance = glance(input, &case_table(input, &figures), &worded);
    let invalid: Vec<&Doubt> =
        glance.doubts.iter().filter(|doubt| doubt.severity == Severity::Invalid).collect();
    let line = |text: String| wrap(&text, options.columns(), 2) + "\n";
    let outcome = input.outcome(&figures).map(line);
    let legend = glance.legend.clone().map(line);
    loss_of(&worded, options)
        + &doubts_text(&invalid, options)
        + &outcome.unwrap_or_default()
        + &answer_lines(&glance, options)
        + &legend.unwrap_or_default()
}

/// Records that were lost.
fn loss_of(worded: &[Worded], options: &TextOptions) -> String {
    let loss: Vec<Worded> = worded.iter().filter(|one| one.is_loss && !one.is_elsewhere).cloned().collect();
    loss_text(&loss, options)
}

fn answer_lines(glance: &Glance, options: &TextOptions) -> String {
    let mut out = String::new();
    for sentence in &glance.answer {
        for line in wrap(&sentence.text, options.columns(), 2).lines() {
            out.push_str(&(options.paint(line, sentence.tone) + "\n"));
        }
    }
    out
}

/// The figures of the answer: of cases the scenario's table, of a comparison its verdicts, of a search its loads.
fn results(
    input: &ReportInput<'_>,
    table: &CaseTable<'_>,
    figures: &FindingIndex<'_>,
    glance: &Glance,
    rows_max: usize,
    options: &TextOptions,
) -> Vec<String> {
    let mut parts = Vec::new();
    match &input.plan().strategy {
        Strategy::Compare(_) => parts.push(verdicts_text(input, rows_max, options)),
        Strategy::Find(_) => match search::answers(input).as_slice() {
            [only] => parts.extend(search_texts(only, glance, rows_max, options)),
            several => parts.push(searches_text(several, rows_max, options)),
        },
        Strategy::List(_) if table.metrics.is_empty() => {
            parts.push(trials_text::brief(input, figures, rows_max, options));
        }
        Strategy::List(_) if table.rows.is_empty() => {}
        Strategy::List(_) => {
            let rows = stream_rows(input, figures);
            let clean = no_failure_note(&rows, figures).map(|note| format!("{note}\n"));
            parts.push(short_text(input, table, rows_max, options) + &clean.unwrap_or_default());
        }
    }
    if let Some(mut table) = commands::answer(input).and_then(|answer| answer.table) {
        let left = table.rows.len().saturating_sub(rows_max);
        table.rows.truncate(rows_max);
        parts.push(with_legend(&table, options) + &rows_left(left));
    }
    parts
}

fn rows_left(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 more row: `--details`.\n".to_owned(),
        many => format!("{many} more rows: `--details`.\n"),
    }
}

/// What was found, its curve where there is room, and what is noted of it.
fn search_texts(answer: &Answer, glance: &Glance, rows_max: usize, options: &TextOptions) -> Vec<String> {
    let mut parts: Vec<String> = answer.table.iter().map(|table| with_legend(table, options)).collect();
    let curve = answer.curve.as_ref().filter(|curve| curve.points.len() <= rows_max);
    parts.extend(curve.map(|curve| with_legend(&curve.with_bars(), options)));
    let is_new = |note: &&String| !glance.answer.iter().any(|one| one.text == **note);
    let notes = answer.notes_alone().iter().filter(is_new);
    parts.push(notes.map(|note| wrap(note, options.columns(), 2) + "\n").collect());
    parts
}

/// The first figures of each searched case, under its name.
fn searches_text(answers: &[Answer], rows_max: usize, options: &TextOptions) -> String {
    let each_max = (rows_max / answers.len().max(1)).max(1);
    let titled = |answer: &Answer| Some((answer.title.clone(), answer.table.clone()?));
    let tables: Vec<(String, Table)> = answers.iter().filter_map(titled).collect();
    let mut left: usize = tables.iter().map(|(_, table)| table.rows.len()).sum();
    let mut out = String::new();
    for (title, mut table) in tables.into_iter().take(rows_max) {
        table.rows.truncate(each_max);
        left -= table.rows.len();
        let title = shorten(&title, options.columns());
        out.push_str(&(options.paint(&title, Tone::Strong) + "\n" + &with_legend(&table, options)));
    }
    out + &rows_left(left)
}

/// The verdicts of each compared case, and once what is noted of them.
fn verdicts_text(input: &ReportInput<'_>, rows_max: usize, options: &TextOptions) -> String {
    let labels = verdict::labels(input);
    let scopes = verdict::compared_scopes(input.conclusions);
    let (mut out, mut room, mut left) = (String::new(), rows_max, 0);
    for scope in scopes.iter().copied() {
        let mut table = verdict::short_table(input.conclusions, scope, &labels);
        left += table.rows.len().saturating_sub(room);
        table.rows.truncate(room);
        room -= table.rows.len();
        if table.rows.is_empty() {
            continue;
        }
        if let Scope::Comparison { case } = scope
            && !input.case_label(case).is_empty()
        {
            let label = shorten(input.case_label(case), options.columns());
            out.push_str(&(options.paint(&label, Tone::Strong) + "\n"));
        }
        out.push_str(&with_legend(&table, options));
    }
    let notes = distinct(scopes.iter().flat_map(|scope| verdict::short_notes(input, *scope)));
    out.push_str(&rows_left(left));
    out.extend(notes.iter().map(|note| wrap(note, options.columns(), 2) + "\n"));
    out
}

fn with_legend(table: &Table, options: &TextOptions) -> String {
    table_text(table, options) + &legend_of(table, options)
}

/// What the marks of a table mean, a line; empty where it has none.
fn legend_of(table: &Table, options: &TextOptions) -> String {
    table.signs().legend().map_or_else(String::new, |text| wrap(&text, options.columns(), 2) + "\n")
}

/// A line each, cut at the edge: the whole of it is in the details.
fn doubts_text(doubts: &[&Doubt], options: &TextOptions) -> String {
    let line = |doubt: &&Doubt| {
        let (label, tone) = match doubt.severity {
            Severity::Invalid => ("INVALID ", Tone::Bad),
            Severity::Warning | Severity::Note => ("! ", Tone::Warn),
        };
        options.paint(&shorten(&format!("{label}{}", doubt.text), options.columns()), tone) + "\n"
    };
    doubts.iter().map(line).collect()
}

/// The heaviest of some caveats, and how many are left out; loss of records is for others to print.
pub(crate) fn caveats_in_short(worded: &[Worded], options: &TextOptions) -> String {
    let (doubts, more) = doubts(worded);
    let glance = Glance { doubts, more, ..Glance::default() };
    let shown: Vec<&Doubt> = glance.doubts.iter().collect();
    doubts_text(&shown, options) + &more_text(&glance, options)
}

/// How many caveats are left out, and what to do next.
fn more_text(glance: &Glance, options: &TextOptions) -> String {
    let mut out = String::new();
    if glance.more > 0 {
        let what = match (glance.doubts.is_empty(), glance.more) {
            (false, more) => format!("{more} more"),
            (true, 1) => "1 note".to_owned(),
            (true, more) => format!("{more} notes"),
        };
        out.push_str(&format!("+ {what} (`--details`)\n"));
    }
    if let Some(next) = &glance.next {
        out.push_str(&(wrap(&format!("Next: {next}"), options.columns(), 2) + "\n"));
    }
    out
}
