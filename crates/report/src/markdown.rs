//! A block of Markdown to paste into a pull request: the answer, its figures, the host, the command that repeats it.

use crate::answer::glance::{Doubt, Glance, glance};
use crate::answer::{
    Answer, answers, commands, components, health, inside, logs, notes, processes, search, verdict,
};
use crate::case_table::{CaseTable, case_table};
use crate::caveats::{self, Worded};
use crate::command_line::command;
use crate::declared;
use crate::figures::FindingIndex;
use crate::grid::clean;
use crate::in_force;
use crate::input::ReportInput;
use crate::result::{Heads, by_case, figure_notes, table_notes};
use crate::table::{Cell, Column, Table};
use crate::terminal::first_line;
use crate::trials::row_mark;
use crate::units;
use kdyno_model::grouped::distinct;
use kdyno_model::run::Session;

/// The block, with a line end: the answer, its figures and what limits it; the rest is folded.
pub fn block(input: &ReportInput<'_>) -> String {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    let worded = caveats::all(input);
    let glance = glance(input, &table, &worded);
    let mut out =
        format!("### {}\n\n{}\n\n", escaped(&first_line(input.plan())), escaped(&input.plan().question));
    if let Some(outcome) = input.outcome(&figures) {
        out.push_str(&format!("**{}**\n\n", escaped(&outcome)));
    }
    for one in worded.iter().filter(|one| one.is_loss) {
        out.push_str(&format!("**{}**: {}\n\n", one.label(), escaped(&one.sentence)));
    }
    for sentence in &glance.answer {
        out.push_str(&format!("**{}**\n\n", escaped(&sentence.text)));
    }
    out.push_str(&results(input, &table));
    out.push_str(&doubts(&glance));
    let details = details(input, &table, &caveats::worded(input));
    out.push_str(&format!("<details><summary>Details</summary>\n\n{details}</details>\n\n"));
    out.push_str(&origin(input));
    out
}

/// The figures of the answer.
fn results(input: &ReportInput<'_>, table: &CaseTable<'_>) -> String {
    let mut out = String::new();
    let mut notes: Vec<String> = Vec::new();
    let labels = verdict::labels(input);
    for scope in verdict::compared_scopes(input.conclusions) {
        let verdicts = verdict::short_table(input.conclusions, scope, &labels);
        notes.extend(verdicts.signs().legend());
        notes.extend(verdict::short_notes(input, scope));
        out.push_str(&grid(&verdicts));
    }
    for answer in search::answers(input) {
        out.extend(answer.table.as_ref().map(grid));
        notes.extend(answer.table.and_then(|table| table.signs().legend()));
    }
    if !table.rows.is_empty() && !table.metrics.is_empty() {
        out.push_str(&grid(&by_case(table, Heads::Markdown)));
        notes.extend(figure_notes(input, table));
    }
    out.extend(notes.iter().map(|note| format!("{}\n\n", escaped(note))));
    out
}

fn doubts(glance: &Glance) -> String {
    let line = |doubt: &Doubt| format!("- **{}**: {}\n", doubt.severity, escaped(&doubt.text));
    let mut out: String = glance.doubts.iter().map(line).collect();
    if glance.more > 0 {
        out.push_str(&format!("- {} more below\n", glance.more));
    }
    out.extend(glance.next.iter().map(|next| format!("- next: {}\n", with_code(next))));
    if out.is_empty() { out } else { out + "\n" }
}

/// Escaped but for what is between backticks, which is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { format!("`{}`", clean(part)) } else { escaped(part) })
        .collect()
}

/// All else that there is to say: caveats in full, answers with all of their figures, the cluster, the processes.
fn details(input: &ReportInput<'_>, table: &CaseTable<'_>, worded: &[Worded]) -> String {
    let mut out = String::new();
    for one in worded.iter().filter(|one| !one.is_elsewhere) {
        let concerns =
            if one.concerns.is_empty() { String::new() } else { format!(" [{}]", escaped(&one.concerns)) };
        out.push_str(&format!("- **{}**: {}{concerns}\n", one.label(), escaped(&one.sentence)));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    for answer in answers(input) {
        out.push_str(&answer_block(&answer));
    }
    let notes = table_notes(input, table, &|cases| notes::by_row(table, cases));
    let is_shown = !table.rows.is_empty() && !table.metrics.is_empty();
    for note in notes.iter().filter(|_| is_shown).chain(&caveats::elsewhere(input)) {
        out.push_str(&format!("{}\n\n", escaped(note)));
    }
    out.extend(commands::answer(input).map(|answer| answer_block(&answer)));
    out.extend(components::answer(input).map(|answer| answer_block(&answer)));
    out.extend(inside::answer(input).map(|answer| answer_block(&answer)));
    out.extend(logs::answers(input).iter().map(answer_block));
    out.extend(health::answer(input).map(|answer| answer_block(&answer.without_table())));
    // The table is for those who look into the run.
    let processes = processes::answer(input).map(Answer::sentences_alone);
    out.extend(processes.filter(|answer| !answer.sentences.is_empty()).map(|answer| answer_block(&answer)));
    out
}

/// An answer by itself, such as that of a comparison of stored runs.
pub fn answer_block(answer: &Answer) -> String {
    let mut out = format!("**{}**\n\n", escaped(&answer.title));
    for sentence in &answer.sentences {
        out.push_str(&format!("{}\n\n", escaped(&sentence.text)));
    }
    if let Some(table) = answer.table.as_ref().filter(|table| !table.rows.is_empty()) {
        out.push_str(&grid(table));
    }
    for note in answer.notes(false) {
        out.push_str(&format!("{}\n\n", escaped(&note)));
    }
    out
}

/// A table, each figure with its interval or range.
pub(crate) fn grid(table: &Table) -> String {
    let line =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut out = line(&mut table.columns.iter().map(|column| escaped(&column.title())));
    let ruler = |column: &Column| (if column.holds.is_text() { "---" } else { "---:" }).to_owned();
    out.push_str(&line(&mut table.columns.iter().map(ruler)));
    for (index, row) in table.rows.iter().enumerate() {
        let cells = row.iter().map(Cell::whole).enumerate().map(|(column, text)| match column {
            0 if table.cut_short.contains(&index) => escaped(&format!("{} {text}", row_mark(true))),
            _ => escaped(&text),
        });
        out.push_str(&line(&mut cells.into_iter()));
    }
    out + "\n"
}

/// Where the figures come from, and how to get them again: what was typed first, for later sessions only went on with it.
fn origin(input: &ReportInput<'_>) -> String {
    let (Some((first, _)), Some((last, _))) = (input.sessions.first(), input.sessions.last()) else {
        return String::new();
    };
    let hosts = distinct(input.sessions.iter().map(|(session, _)| host(session)));
    let sessions = match input.sessions.len() {
        1 => String::new(),
        count => format!(", {count} sessions"),
    };
    let ignored = in_force::ignored(input.plan());
    let lines = ignored.into_iter().chain(declared::line(input.plan()));
    let lines: String = lines.map(|line| escaped(&line) + "\n\n").collect();
    format!(
        "{lines}Host: {}; kdyno {}; run {:016x}{sessions}, seed {}.\n\nRepeat it: `{}`\n",
        hosts.join("; then "),
        escaped(&last.kdyno_version),
        input.header.run_id,
        input.plan().seed,
        command(first, input.plan().seed),
    )
}

fn host(session: &Session) -> String {
    let fact = |name: &str| session.host_facts.get(name).filter(|value| !value.is_empty());
    let memory = fact("memory_bytes").and_then(|bytes| bytes.parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |bytes| format!(", {} of memory", units::bytes(bytes)));
    let cpu = fact("cpu_model").map_or_else(String::new, |cpu| format!(" ({})", escaped(cpu)));
    format!("{}{cpu}{memory}", units::processors(f64::from(session.processors)))
}

/// Text without what Markdown or HTML would take for its own.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            // Within a word it means nothing.
            '_' if out.ends_with(|before: char| before.is_alphanumeric()) => out.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_taken_for_markdown() {
        assert_eq!(escaped("a|b `c` <img> *d*"), "a\\|b \\`c\\` &lt;img&gt; \\*d\\*");
    }
}
