//! The figures of the answer as tiles: what is read before any table.

use crate::answer::{headline, search, verdict};
use crate::case_table::{CaseTable, ShownMetric};
use crate::digits;
use crate::headings::named;
use crate::input::ReportInput;
use crate::marks::{in_short, marked, meanings};
use crate::table::Cell;
use kdyno_model::conclusion::{MetricRole, Says, Verdict};
use kdyno_model::finding::{Finding, Mark, marks_of_both};
use kdyno_model::plan::Strategy;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Tiles at most.
const TILES_MAX: usize = 6;
/// Cases that one tile shows; of more it has the first.
const CASES_MAX: usize = 4;

/// One figure of the answer.
struct Tile {
    /// Of what it is.
    title: String,
    /// Figures: what each is of, where there are several, the figure, and its spread.
    lines: Vec<[String; 3]>,
    /// Words below it, how they look, and what they mean.
    chip: Option<Chip>,
}

/// Words in a frame.
struct Chip {
    class: &'static str,
    words: String,
    title: String,
}

/// The tiles; nothing where the answer has no figures.
pub fn tiles(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Markup {
    let mut tiles = match &input.plan().strategy {
        Strategy::Compare(_) => compared(input),
        Strategy::Find(_) => searched(input),
        Strategy::List(_) => listed(table),
    };
    tiles.truncate(TILES_MAX);
    html! {
        @if !tiles.is_empty() {
            ul class="tiles" { @for tile in &tiles { li {
                span class="title" { (tile.title) }
                @for [label, figure, spread] in &tile.lines {
                    span class="line" {
                        @if !label.is_empty() { span class="label" { (label) } " " }
                        b { (figure) }
                        @if !spread.is_empty() { " " span class="spread" { (spread) } }
                    }
                }
                @if let Some(chip) = &tile.chip {
                    span class=(format!("chip {}", chip.class)) title=[(!chip.title.is_empty()).then_some(&chip.title)] { (chip.words) }
                }
            } } }
        }
    }
}

/// A → B of each judged metric, with the ratio and its interval.
fn compared(input: &ReportInput<'_>) -> Vec<Tile> {
    let judged = verdict::verdicts(input.conclusions).filter(|one| one.role == MetricRole::Judged);
    let tile = |one: &Verdict| {
        let [a, b] = verdict::sides(one);
        let (ratio, interval) = verdict::ratio(one);
        let class = match one.says {
            Says::Different { material: true, worse: true } | Says::Invalid { .. } => "bad",
            Says::Different { .. } | Says::Equivalent => "good",
            _ => "open",
        };
        let marks = marks_of_both(&one.marks);
        let words = [verdict::word(one).to_owned(), in_short(&marks)];
        let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
        Tile {
            title: named(&one.of),
            lines: vec![
                [String::new(), format!("{} → {}", a.text(), b.text()), String::new()],
                ["B ÷ A".to_owned(), marked(&marks, ratio), interval],
            ],
            chip: Some(Chip { class, words: words.join("; "), title: meanings(&marks) }),
        }
    };
    judged.map(tile).collect()
}

/// The load that was confirmed, the estimate with its interval, the first load that failed.
fn searched(input: &ReportInput<'_>) -> Vec<Tile> {
    let rows = search::answers(input).into_iter().filter_map(|answer| answer.table);
    let rows = rows.flat_map(|table| table.rows).filter(|row| !search::is_aside(&row[0].text()));
    let tile = |row: Vec<Cell>| Tile {
        title: row[0].text(),
        lines: vec![[String::new(), row[1].text(), String::new()]],
        chip: chip(&row[1].marks),
    };
    rows.map(tile).collect()
}

/// Of one case its figures; of several those in which they differ.
fn listed(table: &CaseTable<'_>) -> Vec<Tile> {
    let tile = |(at, shown): (usize, &ShownMetric)| {
        let mut marks: BTreeSet<Mark> = BTreeSet::new();
        let mut lines = Vec::new();
        for row in table.rows.iter().take(CASES_MAX) {
            let Some(finding) = row.entries.get(at)?.ours.and_then(|ours| ours.finding) else { continue };
            marks.extend(&finding.marks);
            let label = if table.rows.len() > 1 { headline::row_name(table, row) } else { String::new() };
            lines.push([label, Cell::from(finding).text(), spread(finding)]);
        }
        let title = named(&shown.of);
        (!lines.is_empty()).then(|| Tile { title, lines, chip: chip(&marks) })
    };
    let is_shown = |(_, shown): &(usize, &ShownMetric)| headline::is_answer(shown);
    table.metrics.iter().enumerate().filter(is_shown).filter_map(tile).collect()
}

fn spread(finding: &Finding) -> String {
    digits::interval(finding).unwrap_or_default()
}

fn chip(marks: &BTreeSet<Mark>) -> Option<Chip> {
    let words = in_short(marks);
    let class = if marks.contains(&Mark::Invalid) { "bad" } else { "open" };
    (!words.is_empty()).then(|| Chip { class, words, title: meanings(marks) })
}
