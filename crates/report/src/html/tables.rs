//! The tables of the page: caveats, the scenario's table, every trial's figures, facts.

use crate::answer::{Answer, Sentence, members, notes};
use crate::case_table::CaseTable;
use crate::caveats::Worded;
use crate::figures::FindingIndex;
use crate::grid::Tone;
use crate::headings;
use crate::in_force;
use crate::input::ReportInput;
use crate::marks::{Signs, footnotes, meanings};
use crate::result::{Heads, by_case, table_notes};
use crate::table::{Cell, Column, Holds, Table};
use crate::trial_tables;
use crate::trials::{TABLES, stream_rows};
use crate::{trials, units};
use kdyno_model::finding::Mark;
use kdyno_model::metric::Address;
use kdyno_model::sample::NoiseReading;
use kdyno_model::trial::TrialId;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of the table of events at most; the run file has them all.
const EVENTS_MAX: usize = 200;
/// Rows of the table of an answer that is not folded up.
const ANSWER_ROWS_MAX: usize = 16;
/// Rows of a table of trials at most; the exports have them all.
const ROWS_MAX: usize = 400;

/// A table that scrolls by itself when the page is narrow.
fn scroll(name: &str, table: &Markup) -> Markup {
    html! { div class="scroll" role="region" aria-label=(name) tabindex="0" { (table) } }
}

/// A text in which what is between backticks is something to type.
pub fn coded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The caveats, the most severe first; those of figures that were not judged after the others.
pub fn caveats(worded: &[Worded]) -> Markup {
    let (elsewhere, here): (Vec<&Worded>, Vec<&Worded>) = worded.iter().partition(|one| one.is_elsewhere);
    let list = |all: &[&Worded]| {
        html! {
            ul class="caveats" {
                @for caveat in all {
                    li class=(caveat.severity) {
                        b { (caveat.severity) }
                        (coded(&caveat.sentence)) "."
                        @if !caveat.concerns.is_empty() { " " span class="concerns" { "Concerns " (caveat.concerns) "." } }
                        @if !caveat.remedy.is_empty() { " " span class="remedy" { "→ " (coded(caveat.remedy)) "." } }
                    }
                }
            }
        }
    };
    html! {
        @if !here.is_empty() { (list(&here)) }
        @if !elsewhere.is_empty() {
            p class="note" { "Of metrics that were not judged and are in no table of the answer:" }
            (list(&elsewhere))
        }
    }
}

/// Precedes the name of a row whose figures cover less than was planned.
fn row_mark(cut_short: bool) -> Markup {
    html! { @if cut_short { span class="mark" { "* cut short " } } }
}

/// The class of a cell with such a figure.
fn marked(marks: &BTreeSet<Mark>) -> Option<&'static str> {
    if marks.contains(&Mark::Invalid) {
        return Some("invalid");
    }
    (!footnotes(marks).is_empty()).then_some("marked")
}

/// One answer: its sentences but those that are `told` already, pictures of it, the figures under them, the curve.
pub fn answer(name: &str, answer: &Answer, reported: &[Sentence], pictures: &Markup) -> Markup {
    let id = answer_id(name);
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (answer.title) }
            @for sentence in answer.sentences.iter().filter(|one| !reported.contains(one)) { (self::sentence(sentence)) }
            (pictures)
            @if let Some(table) = answer.table.as_ref().filter(|table| !table.rows.is_empty()) {
                (answer_table(&answer.title, table))
            }
            @if let Some(curve) = &answer.curve {
                (super::curve::figure(curve, &format!("{id}-curve"), super::curve::HEIGHT, &texts(&curve.table(), None)))
            }
            @for note in answer.notes(true) { p class="note" { (coded(&note)) } }
        }
    }
}

/// A long one is folded up.
fn answer_table(title: &str, table: &Table) -> Markup {
    let whole = scroll(title, &texts(table, None));
    html! {
        @if table.rows.len() > ANSWER_ROWS_MAX {
            details class="rows" { summary { "All " (table.rows.len()) " rows" } (whole) }
        } @else { (whole) }
    }
}

/// The id of the heading of an answer.
pub fn answer_id(name: &str) -> String {
    format!("answer-{name}")
}

/// A sentence of an answer.
pub fn sentence(sentence: &Sentence) -> Markup {
    html! { p class=(format!("answer {}", tone(sentence.tone))) { (coded(&sentence.text)) } }
}

/// What was really in force, each once: settings that are not the defaults.
pub fn config(input: &ReportInput<'_>) -> Markup {
    let groups = in_force::all(input);
    html! {
        @for (index, group) in groups.iter().enumerate().filter(|(_, group)| !group.settings.is_empty()) {
            details {
                summary { "Really in force in " (group.concerns) ": settings of brokers, topics and clients" }
                @if let Some(kafka) = &group.kafka { p { "Kafka: " (kafka) } }
                @for java in &group.javas { p { "Java of " (java.whose) ": " (java.version) " " (java.options) } }
                @if let Some((lines, more)) = in_force::differences(&groups, index) {
                    p { "Differs from the first in: " (lines.join("; ")) @if more > 0 { " and " (more) " more" } }
                }
                @for (subject, settings) in group.settings {
                    p { b { (in_force::whose(subject)) } ": " (in_force::count(settings)) }
                    @let table = in_force::table(settings);
                    @if !table.rows.is_empty() { (scroll(&in_force::whose(subject), &texts(&table, None))) }
                }
            }
        }
    }
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Faint => "plain",
        Tone::Strong => "good",
        Tone::Warn => "open",
        Tone::Bad => "bad",
    }
}

/// A table by itself.
pub fn plain(name: &str, table: &Table) -> Markup {
    scroll(name, &texts(table, None))
}

/// A table by itself, for who puts it somewhere. Where figures take several columns each is named above all of them; spreads
/// have a column of their own.
pub fn texts(table: &Table, caption: Option<&str>) -> Markup {
    html! {
        table {
            @if let Some(caption) = caption { caption { (caption) } }
            @if table.has_heads() { (heads(&table.columns)) }
            tbody { @for (number, row) in table.rows.iter().enumerate() { tr {
                @for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
                    @if index < table.names && (index == 0 || column.holds == Holds::Names) {
                        th class=[(column.holds == Holds::Words).then_some("words")] scope="row" {
                            @if index == 0 { (row_mark(table.cut_short.contains(&number))) }
                            (row_name(table, &cell.text()))
                        }
                    } @else { td class=[class_of(cell, column)] title=[title_of(cell)] { (cell.text()) } }
                    @if column.spread.is_some() { td class="range" { (cell.spread()) } }
                }
            } } }
        }
    }
}

fn heads(columns: &[Column]) -> Markup {
    let is_grouped = columns.iter().any(|column| column.of.is_some());
    let width = |column: &Column| 1 + usize::from(column.spread.is_some());
    let groups: Vec<&[Column]> = columns.chunk_by(|_, next| next.joined).collect();
    let widths: Vec<usize> = groups.iter().map(|group| group.iter().map(width).sum()).collect();
    // Figures of one column each need no second line.
    let is_second = groups.iter().zip(&widths).any(|(group, width)| group[0].of.is_some() && *width > 1);
    let single = |column: &Column, rows: Option<usize>| {
        html! { th class=[head_class(column)] scope="col" rowspan=[rows] { (column.title()) } }
    };
    html! { thead {
        tr { @for (group, width) in groups.iter().zip(&widths) {
            @if let Some(of) = &group[0].of {
                th class="group" scope="colgroup" colspan=(width) { (metric(of, &of.to_string())) }
            } @else {
                @for column in *group { (single(column, is_grouped.then_some(1 + usize::from(is_second)))) }
            }
        } }
        @if is_second { tr { @for column in columns.iter().filter(|column| column.of.is_some()) {
            (single(column, None))
            @if let Some(spread) = column.spread { th class="range" scope="col" { (spread) } }
        } } }
    } }
}

fn head_class(column: &Column) -> Option<&'static str> {
    match column.holds {
        Holds::Names | Holds::Words => Some("words"),
        Holds::Numbers => None,
        Holds::Ratios => Some("ratio"),
        Holds::Published => Some("theirs"),
        Holds::PublishedRatios => Some("theirs ratio"),
    }
}

/// A figure bears the class of its marks, whatever else is in its column.
fn class_of(cell: &Cell, column: &Column) -> Option<String> {
    let own = head_class(column).filter(|_| marked(&cell.marks).is_none() || column.holds.is_text());
    let classes: Vec<&str> = own.into_iter().chain(marked(&cell.marks)).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// What the marks of a figure mean, for who points at it.
fn title_of(cell: &Cell) -> Option<String> {
    Some(meanings(&cell.marks)).filter(|text| !text.is_empty())
}

/// The name of a row; for a metric also in words, which are in brackets where it was not to be judged.
fn row_name(table: &Table, name: &str) -> Markup {
    let is_metric = table.columns.first().is_some_and(|column| column.title() == "metric");
    match Address::parse(name.trim_matches(['(', ')'])).filter(|_| is_metric) {
        Some(of) => metric(&of, name),
        None => html! { (name) },
    }
}

/// A metric in words, and as one types it.
fn metric(of: &Address, typed: &str) -> Markup {
    html! { (headings::named(of)) " " code { (typed) } }
}

/// The scenario's table with the published figures next to ours.
pub fn cases(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Markup {
    html! {
        @if !table.metrics.is_empty() && !table.rows.is_empty() {
            section aria-labelledby="result" {
                h2 id="result" { "Result" }
                (plain("Result", &by_case(table, Heads::Page)))
                @for note in table_notes(input, table, &|cases| notes::by_row(table, cases)) { p class="note" { (coded(&note)) } }
            }
        }
    }
}

/// Every trial's figures, in the order in which the trials ran.
pub fn trials(input: &ReportInput<'_>, figures: &FindingIndex<'_>) -> Markup {
    let all = stream_rows(input, figures);
    let tables = trial_tables::of(&all, input, figures, &TABLES, true);
    let members = members::table(input, figures);
    let mut signs = Signs::default();
    let of_members = members.iter().map(|members| &members.table);
    tables.iter().map(|one| &one.table).chain(of_members).for_each(|table| signs.add_all(&table.signs()));
    if members.is_none() && tables.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="trials" {
            h2 id="trials" { "All trials" }
            @for one in tables { (first_rows(one.title, one.title, one.table)) }
            @if let Some(members) = &members {
                (scroll(members::TITLE, &texts(&members.table, Some(members::TITLE))))
                @if members.has_others { p class="note" { (members::OTHERS_NOTE) } }
            }
            @if let Some(legend) = signs.legend() { p class="note" { (legend) } }
            @for note in trials::notes(&all, figures) { p class="note" { (note) } }
        }
    }
}

/// A table under its caption, of a long one the first rows.
fn first_rows(name: &str, caption: &str, mut table: Table) -> Markup {
    let rows = table.rows.len();
    table.rows.truncate(ROWS_MAX);
    html! {
        (scroll(name, &texts(&table, Some(caption))))
        @if rows > ROWS_MAX { p class="note" { "The first " (ROWS_MAX) " of " (rows) " rows; the exports have them all." } }
    }
}

/// Names with values; a size is shown in the unit that reads best instead of in the bytes that its name says.
pub fn facts(facts: &BTreeMap<String, String>) -> Markup {
    let shown = |name: &str, value: &str| match (name.strip_suffix("_bytes"), value.parse::<u64>()) {
        (Some(name), Ok(bytes)) => (name.to_owned(), units::bytes(bytes as f64)),
        _ => (name.to_owned(), value.to_owned()),
    };
    let facts = facts.iter().map(|(name, value)| shown(name, value));
    html! { dl { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
}

/// What the noise probe showed.
pub fn noise(input: &ReportInput<'_>) -> Markup {
    const HEADS: [&str; 7] = [
        "spin, iterations/µs",
        "slowest ÷ median slice",
        "sleep late p50",
        "sleep late p99",
        "loopback p50",
        "loopback p99",
        "stolen",
    ];
    let row = |(trial, noise): &(TrialId, NoiseReading)| {
        let cells = [
            input.name(*trial),
            units::significant(noise.spin_per_us),
            units::ratio(noise.spin_worst_ratio),
            units::nanoseconds(noise.sleep_late_ns_p50 as f64),
            units::nanoseconds(noise.sleep_late_ns_p99 as f64),
            units::nanoseconds(noise.loopback_ns_p50 as f64),
            units::nanoseconds(noise.loopback_ns_p99 as f64),
            format!("{} %", units::significant(noise.steal_share * 100.0)),
        ];
        cells.map(Cell::from).to_vec()
    };
    let names = std::iter::once(Column::new(&["before trial"], Holds::Names));
    let numbers = HEADS.iter().map(|head| Column::new(&[head], Holds::Numbers));
    let rows = input.noise.iter().map(row).collect();
    let table = Table { columns: names.chain(numbers).collect(), rows, names: 1, cut_short: BTreeSet::new() };
    let caption = "One second of spinning, sleeping and loopback before each trial: how quiet the host was";
    html! { @if !table.rows.is_empty() { (first_rows("Noise of the host", caption, table)) } }
}

/// What happened in the run, and when.
pub fn events(input: &ReportInput<'_>) -> Markup {
    let markup = html! {
        table {
            thead { tr {
                @for head in ["trial", "second of the load", "what", "whose", "detail"] {
                    th class="words" scope="col" { (head) }
                }
            } }
            tbody { @for (trial, event) in input.events.iter().take(EVENTS_MAX) { tr {
                th scope="row" { (trial.map_or_else(|| "run".to_owned(), |trial| input.name(trial))) }
                td { (event.at_ns.map_or_else(|| units::NOTHING.to_owned(), |ns| format!("{:.3}", ns as f64 / 1e9))) }
                td class="words" { (event.kind) }
                td class="words" { (event.subject) }
                td class="words wrap" { (event.detail) }
            } } }
        }
    };
    html! {
        @if !input.events.is_empty() {
            section aria-labelledby="events" {
                h2 id="events" { "Events" }
                (scroll("Events", &markup))
                @if input.events.len() > EVENTS_MAX {
                    p class="note" { "The first " (EVENTS_MAX) " of " (input.events.len()) "; the run file has them all." }
                }
            }
        }
    }
}
