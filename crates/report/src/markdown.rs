//! A block of Markdown to paste into a pull request: the answer, its figures, the host, the command that repeats it.

use crate::answer::{Answer, answers, commands, components, health, inside, logs, notes, processes};
use crate::case_table::case_table;
use crate::caveats;
use crate::declared;
use crate::figures::Figures;
use crate::grid::clean;
use crate::input::ReportInput;
use crate::result::{Heads, by_case, table_notes};
use crate::table::{Cell, Column, Table};
use crate::terminal::first_line;
use crate::trials::row_mark;
use crate::units;
use kdyno_model::caveat::Severity;
use kdyno_model::run::Session;

/// The block, with a line end.
pub fn block(input: &ReportInput<'_>) -> String {
    let figures = Figures::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    let mut out =
        format!("### {}\n\n{}\n\n", escaped(&first_line(input.plan())), escaped(&input.plan().question));
    if let Some(outcome) = input.outcome(&figures) {
        out.push_str(&format!("**{}**\n\n", escaped(&outcome)));
    }
    let is_told = |one: &&caveats::Worded| one.severity > Severity::Note && !one.is_elsewhere;
    for one in caveats::worded(input).iter().filter(is_told) {
        let concerns =
            if one.concerns.is_empty() { String::new() } else { format!(" [{}]", escaped(&one.concerns)) };
        out.push_str(&format!("- **{}**: {}{concerns}\n", one.label(), escaped(&one.sentence)));
    }
    if out.ends_with('\n') && !out.ends_with("\n\n") {
        out.push('\n');
    }
    for answer in answers(input) {
        out.push_str(&answer_block(&answer));
    }
    if let Some(line) = caveats::elsewhere(input) {
        out.push_str(&format!("{}\n\n", escaped(&line)));
    }
    if !table.rows.is_empty() && !table.metrics.is_empty() {
        out.push_str(&grid(&by_case(&table, Heads::Markdown)));
        for note in table_notes(input, &table, &|cases| notes::by_row(&table, cases)) {
            out.push_str(&format!("{}\n\n", escaped(&note)));
        }
    }
    out.extend(commands::answer(input).map(|answer| answer_block(&answer)));
    out.extend(components::answer(input).map(|answer| answer_block(&answer)));
    out.extend(inside::answer(input).map(|answer| answer_block(&answer)));
    out.extend(logs::answers(input).iter().map(answer_block));
    out.extend(health::answer(input).map(|answer| answer_block(&answer.without_table())));
    // The table is for those who look into the run.
    let processes = processes::answer(input).map(Answer::sentences_alone);
    out.extend(processes.filter(|answer| !answer.sentences.is_empty()).map(|answer| answer_block(&answer)));
    out.push_str(&origin(input));
    out
}

/// An answer that stands for itself, such as that of a comparison of stored runs.
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
    let mut hosts: Vec<String> = Vec::new();
    for (session, _) in input.sessions {
        let host = host(session);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let sessions = match input.sessions.len() {
        1 => String::new(),
        count => format!(", {count} sessions"),
    };
    let declared = declared::line(input.plan()).map_or_else(String::new, |line| escaped(&line) + "\n\n");
    format!(
        "{declared}Host: {}; kdyno {}; run {:016x}{sessions}, seed {}.\n\nRepeat it: `{}`\n",
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

/// The command that does all of it again; `None`: nothing was begun.
pub(crate) fn repeat(input: &ReportInput<'_>) -> Option<String> {
    input.sessions.first().map(|(session, _)| command(session, input.plan().seed))
}

/// Commands that draw a seed when none is given; what others repeat has its own.
const DRAW_A_SEED: [&str; 3] = ["run", "compare", "find"];

/// The command line as typed, the program by its name, with the seed that was drawn for it.
fn command(session: &Session, seed: u64) -> String {
    let typed: Vec<&str> = session.command_line.iter().skip(1).map(String::as_str).collect();
    let is_seed = |word: &&str| *word == "--seed" || word.starts_with("--seed=");
    let draws = typed.first().is_some_and(|name| DRAW_A_SEED.contains(name)) && !typed.iter().any(is_seed);
    let seed = draws.then(|| ["--seed".to_owned(), seed.to_string()]).into_iter().flatten();
    let words = typed.into_iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
        let quoted = || format!("'{}'", word.replace('\'', r"'\''"));
        if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { quoted() }
    });
    let words = std::iter::once("kdyno".to_owned()).chain(words).chain(seed);
    // A backtick would end the code.
    clean(&words.collect::<Vec<_>>().join(" ")).replace('`', "'")
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
