//! The figures of the answer as tiles: what is read before any table.

use crate::answer::{Answer, headline, search, verdict};
use crate::case_table::{CaseRow, CaseTable, OurFigure, ShownMetric};
use crate::digits;
use crate::headings::named;
use crate::input::ReportInput;
use crate::marks::{in_short, meanings};
use crate::table::Cell;
use kdyno_model::conclusion::{MetricRole, Says, Verdict};
use kdyno_model::finding::{Mark, Scope, marks_of_both};
use kdyno_model::plan::Strategy;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Tiles at most.
const TILES_MAX: usize = 5;
/// Cases that one tile shows; of more it has the first.
const CASES_MAX: usize = 4;

/// One figure of the answer.
struct Tile {
    /// Its scope.
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
        let case = match one.scope {
            Scope::Comparison { case } => input.case_label(case),
            _ => "",
        };
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
            title: titled(case, &named(&one.of)),
            lines: vec![
                [String::new(), format!("{} → {}", a.text(), b.text()), String::new()],
                [verdict::ratio_head(verdict::is_of_pairs(one)).to_owned(), ratio.text(), interval],
            ],
            chip: Some(Chip { class, words: words.join("; "), title: meanings(&marks) }),
        }
    };
    judged.map(tile).collect()
}

/// The load that was confirmed, the estimate with its interval, the first load that failed.
fn searched(input: &ReportInput<'_>) -> Vec<Tile> {
    let answers = search::answers(input);
    let is_one = answers.len() == 1;
    let tile = |case: &str, row: Vec<Cell>| Tile {
        title: titled(case, &row[0].text()),
        lines: vec![[String::new(), row[1].text(), String::new()]],
        chip: chip(&row[1].marks),
    };
    let of_answer = |answer: Answer| {
        let case = if is_one { String::new() } else { answer.title };
        let rows = answer.table.map(|table| table.rows).unwrap_or_default();
        let loads = rows.into_iter().filter(|row| !search::is_aside(&row[0].text()));
        loads.map(|row| tile(&case, row)).collect::<Vec<_>>()
    };
    answers.into_iter().flat_map(of_answer).collect()
}

fn titled(case: &str, title: &str) -> String {
    if case.is_empty() { title.to_owned() } else { format!("{case}: {title}") }
}

/// What came out, a tile for each figure with a line for each case.
fn listed(table: &CaseTable<'_>) -> Vec<Tile> {
    let tile = |(at, shown): (usize, &ShownMetric)| {
        let ours = |row| Some((row, table_entry(row, at)?));
        let known: Vec<(&CaseRow<'_>, OurFigure<'_>)> = table.rows.iter().filter_map(ours).collect();
        let mut marks: BTreeSet<Mark> = BTreeSet::new();
        let mut lines: Vec<[String; 3]> = known
            .iter()
            .take(CASES_MAX)
            .map(|(row, ours)| {
                let label = if known.len() > 1 { row.label.to_owned() } else { String::new() };
                marks.extend(ours.finding.into_iter().flat_map(|one| &one.marks));
                [label, Cell::from(ours.finding).text(), spread(ours)]
            })
            .collect();
        let more = known.len().saturating_sub(CASES_MAX);
        lines.extend((more > 0).then(|| [format!("+ {more} cases"), String::new(), String::new()]));
        let title = named(&shown.of);
        (!lines.is_empty()).then(|| Tile { title, lines, chip: chip(&marks) })
    };
    let is_shown = |(_, shown): &(usize, &ShownMetric)| headline::is_answer(shown);
    table.metrics.iter().enumerate().filter(is_shown).filter_map(tile).collect()
}

/// Our figure of a row, where there is one.
fn table_entry<'a>(row: &CaseRow<'a>, at: usize) -> Option<OurFigure<'a>> {
    row.entries.get(at)?.ours.filter(|ours| ours.finding.is_some())
}

/// Its interval, and how many repeats count where some are missing.
fn spread(ours: &OurFigure<'_>) -> String {
    let interval = ours.finding.and_then(digits::interval);
    interval.into_iter().chain(ours.missing_words()).collect::<Vec<_>>().join(", ")
}

fn chip(marks: &BTreeSet<Mark>) -> Option<Chip> {
    let words = in_short(marks);
    let class = if marks.contains(&Mark::Invalid) { "bad" } else { "open" };
    (!words.is_empty()).then(|| Chip { class, words, title: meanings(marks) })
}
