//! The first screen of a run as text: the answer, its figures, what limits it. All else is one command away.

use super::answer_text::table_text;
use super::result_table::short_text;
use super::run_table::{head, joined, loss_first, loss_text};
use super::trials_text;
use crate::answer::glance::{Doubt, Glance, glance};
use crate::answer::{commands, search, verdict};
use crate::case_table::{CaseTable, case_table};
use crate::figures::Figures;
use crate::grid::{TextOptions, Tone, shorten, wrap};
use crate::input::ReportInput;
use crate::table::Table;
use crate::trials::{no_failure_note, stream_rows};
use kdyno_model::caveat::Severity;
use kdyno_model::finding::Scope;
use kdyno_model::plan::Strategy;

/// Rows of a table that are printed at most.
const ROWS_MAX: usize = 16;
/// How to see the rest.
const MORE: &str =
    "Details: `kdyno show RUN --details` · settings: `kdyno show RUN --config` · page: `kdyno report RUN`";

/// The result in short: records that were lost and figures that are invalid, if any; the answer, its figures, the heaviest
/// caveats, what to do next, how to see the rest.
pub fn run_summary(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = Figures::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    let glance = glance(input, &table);
    let [loss, _] = loss_first(input);
    let is_invalid = |doubt: &&Doubt| doubt.severity == Severity::Invalid;
    let (invalid, warnings): (Vec<&Doubt>, Vec<&Doubt>) = glance.doubts.iter().partition(is_invalid);
    let mut parts = vec![loss_text(&loss, options), head(input, &figures, options)];
    parts.push(doubts_text(&invalid, options));
    parts.push(answer_lines(&glance, options));
    parts.extend(results(input, &table, &figures, options));
    parts.push(doubts_text(&warnings, options) + &more_text(&glance, options));
    parts.push(wrap(MORE, options.columns(), 2) + "\n");
    joined(parts)
}

/// The answer alone, a line for each sentence.
pub fn answer_alone(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = Figures::new(input.findings, input.caveats);
    answer_lines(&glance(input, &case_table(input, &figures)), options)
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
    figures: &Figures<'_>,
    options: &TextOptions,
) -> Vec<String> {
    let mut parts = Vec::new();
    match &input.plan().strategy {
        Strategy::Compare(_) => {
            let labels = verdict::labels(input);
            for scope in verdict::compared_scopes(input.conclusions) {
                parts.push(verdicts_text(input, scope, &labels, options));
            }
        }
        Strategy::Find(_) => {
            for answer in search::answers(input) {
                parts.extend(answer.table.map(|table| table_text(&table, options)));
                let curve = answer.curve.filter(|curve| curve.points.len() <= ROWS_MAX);
                parts.extend(curve.map(|curve| {
                    let legend =
                        curve.table().signs().legend().map(|text| wrap(&text, options.columns(), 2) + "\n");
                    curve.text(options) + &legend.unwrap_or_default()
                }));
            }
        }
        Strategy::List(_) if table.metrics.is_empty() => {
            parts.push(trials_text::brief(input, figures, options));
        }
        Strategy::List(_) => {
            let rows = stream_rows(input, figures);
            let clean = no_failure_note(&rows, figures).map(|note| format!("{note}\n"));
            parts.push(short_text(input, table, options) + &clean.unwrap_or_default());
        }
    }
    let commands = commands::answer(input).and_then(|answer| answer.table);
    parts.extend(commands.map(|table| with_legend(&first_rows(table), options)));
    parts
}

fn verdicts_text(
    input: &ReportInput<'_>,
    scope: Scope,
    labels: &[String; 2],
    options: &TextOptions,
) -> String {
    let table = verdict::short_table(input.conclusions, scope, labels);
    let mut out = with_legend(&table, options);
    let notes = verdict::short_notes(input, scope);
    out.extend(notes.iter().map(|note| wrap(note, options.columns(), 2) + "\n"));
    out
}

fn first_rows(mut table: Table) -> Table {
    table.rows.truncate(ROWS_MAX);
    table
}

fn with_legend(table: &Table, options: &TextOptions) -> String {
    let legend = table.signs().legend().map(|text| wrap(&text, options.columns(), 2) + "\n");
    table_text(table, options) + &legend.unwrap_or_default()
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

/// How many caveats are left out, and what to do next.
fn more_text(glance: &Glance, options: &TextOptions) -> String {
    let mut out = String::new();
    if glance.more > 0 {
        let what = if glance.doubts.is_empty() { "notes" } else { "more" };
        out.push_str(&format!("+ {} {what} (`--details`)\n", glance.more));
    }
    if let Some(next) = &glance.next {
        out.push_str(&(wrap(&format!("Next: {next}"), options.columns(), 2) + "\n"));
    }
    out
}
