//! The tables of the page: caveats, the scenario's table, every trial's figures, facts.

use crate::answer::{Answer, Sentence, TextTable, members, notes};
use crate::case_table::{CaseTable, Cell, Column, NOT_TESTED, ratio_text};
use crate::caveats::Worded;
use crate::figures::Figures;
use crate::grid::Tone;
use crate::headings;
use crate::in_force;
use crate::input::ReportInput;
use crate::marks::{self, Signs};
use crate::terminal::table_notes;
use crate::trials::{Shown, StreamRow, TABLES, Words, stream_rows};
use crate::{trials, units};
use kdyno_model::finding::Mark;
use kdyno_model::metric::Address;
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

/// A text in which what stands between backticks is something to type.
pub fn coded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The caveats, the most severe first; those of figures that nobody judged after the others.
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
        @if !worded.is_empty() {
            section aria-labelledby="read-first" {
                h2 id="read-first" { "Read first" }
                @if !here.is_empty() { (list(&here)) }
                @if !elsewhere.is_empty() {
                    p class="note" { "Of figures that nobody judged and no table of the answer shows:" }
                    (list(&elsewhere))
                }
            }
        }
    }
}

/// Before the name of a row of which the figures cover less than was planned.
fn row_mark(cut_short: bool) -> Markup {
    html! { @if cut_short { span class="mark" { "* cut short " } } }
}

/// The class of a cell with such a figure.
fn marked(marks: &BTreeSet<Mark>) -> Option<&'static str> {
    if marks.contains(&Mark::Invalid) {
        return Some("invalid");
    }
    (!marks.is_empty()).then_some("marked")
}

/// One answer: its sentences but those that are `told` already, pictures of it, the figures under them, the curve.
pub fn answer(name: &str, answer: &Answer, told: &[Sentence], pictures: &Markup) -> Markup {
    let id = answer_id(name);
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (answer.title) }
            @for sentence in answer.sentences.iter().filter(|one| !told.contains(one)) { (self::sentence(sentence)) }
            (pictures)
            @if let Some(table) = answer.table.as_ref().filter(|table| !table.rows.is_empty()) {
                (answer_table(&answer.title, table))
            }
            @if let Some(curve) = &answer.curve {
                (super::curve::figure(curve, &format!("{id}-curve"), &texts(&curve.table(), None)))
            }
            @for note in answer.notes(true) { p class="note" { (coded(&note)) } }
        }
    }
}

/// A long one is folded up.
fn answer_table(title: &str, table: &TextTable) -> Markup {
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

/// A table that stands for itself.
pub fn plain(name: &str, table: &TextTable) -> Markup {
    scroll(name, &texts(table, None))
}

/// A table by itself, for who puts it somewhere.
pub fn texts(table: &TextTable, caption: Option<&str>) -> Markup {
    let class = |number: bool| (!number).then_some("words");
    let class_of = |cell: &marks::Cell, number: bool| -> Option<String> {
        let classes: Vec<&str> = class(number).into_iter().chain(marked(&cell.marks)).collect();
        (!classes.is_empty()).then(|| classes.join(" "))
    };
    html! {
        table {
            @if let Some(caption) = caption { caption { (caption) } }
            @if table.columns.iter().any(|(head, _)| !head.is_empty()) {
                thead { tr { @for (head, number) in &table.columns { th class=[class(*number)] scope="col" { (head) } } } }
            }
            tbody { @for row in &table.rows { tr {
                @for (index, (cell, (_, number))) in row.iter().zip(&table.columns).enumerate() {
                    @if index == 0 { th class="words" scope="row" { (row_name(table, &cell.text())) } }
                    @else { td class=[class_of(cell, *number)] { (cell.text()) } }
                }
            } } }
        }
    }
}

/// The name of a row; of one that is a metric in words too, which stands in brackets where it was not to be judged.
fn row_name(table: &TextTable, name: &str) -> Markup {
    let is_metric = table.columns.first().is_some_and(|(head, _)| head == "metric");
    match Address::parse(name.trim_matches(['(', ')'])).filter(|_| is_metric) {
        Some(of) => metric(&of, name),
        None => html! { (name) },
    }
}

/// A metric in words, and as one types it.
fn metric(of: &Address, typed: &str) -> Markup {
    html! { (headings::named(of)) " " code { (typed) } }
}

/// The scenario's table with the published figures beside ours.
pub fn cases(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Markup {
    let spans: Vec<usize> = table.columns.iter().map(|column| parts(table, column).len()).collect();
    let plain = spans.iter().all(|span| *span == 1);
    let markup = html! {
        table {
            thead {
                tr {
                    @for name in &table.params { th class="words" scope="col" rowspan=(if plain { 1 } else { 2 }) { (name) } }
                    @for (column, span) in table.columns.iter().zip(&spans) {
                        th class="group" scope="colgroup" colspan=(span) { (metric(&column.of, &column.of.to_string())) }
                    }
                }
                @if !plain {
                    tr {
                        @for column in &table.columns {
                            @for part in parts(table, column) { th class=(part.class()) scope="col" { (part.head()) } }
                        }
                    }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (index, value) in row.params.iter().enumerate() {
                            th scope="row" {
                                @if index == 0 { (row_mark(row.cut_short)) }
                                (value)
                            }
                        }
                        @for (cell, column) in row.cells.iter().zip(&table.columns) {
                            @for part in parts(table, column) {
                                td class=(part.class_of(cell)) { (part.text(cell, column)) }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        @if !table.columns.is_empty() && !table.rows.is_empty() {
            section aria-labelledby="result" {
                h2 id="result" { "Result" }
                (scroll("Result", &markup))
                @for note in table_notes(input, table, &|cases| notes::by_row(table, cases)) { p class="note" { (coded(&note)) } }
            }
        }
    }
}

/// The columns one figure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Here,
    Range,
    Interval,
    Published,
    RatioHere,
    RatioPublished,
}

fn parts(table: &CaseTable<'_>, column: &Column) -> Vec<Part> {
    let wanted = [
        (Part::Here, true),
        (Part::Range, table.repeated && !column.intervals),
        (Part::Interval, table.repeated && column.intervals),
        (Part::Published, column.published),
        (Part::RatioHere, column.ratios),
        (Part::RatioPublished, column.ratios && column.published),
    ];
    wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(part, _)| part).collect()
}

impl Part {
    fn head(self) -> &'static str {
        match self {
            Self::Here => "measured here",
            Self::Range => "min – max",
            Self::Interval => "interval",
            Self::Published => "published",
            Self::RatioHere => "ratio to the first row, here",
            Self::RatioPublished => "ratio to the first row, published",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Here => "",
            Self::RatioHere => "ratio",
            Self::Range | Self::Interval => "range",
            Self::Published => "theirs",
            Self::RatioPublished => "theirs ratio",
        }
    }

    /// Our figure and our ratio bear the class of their marks.
    fn class_of(self, cell: &Cell<'_>) -> &'static str {
        let finding = match self {
            Self::Here => cell.ours.and_then(|ours| ours.finding),
            Self::RatioHere => cell.ratio_ours,
            Self::Range | Self::Interval | Self::Published | Self::RatioPublished => None,
        };
        finding.and_then(|one| marked(&one.marks)).unwrap_or(self.class())
    }

    fn text(self, cell: &Cell<'_>, column: &Column) -> String {
        match self {
            Self::Here => cell.ours.map_or_else(|| NOT_TESTED.to_owned(), |ours| ours.text()),
            Self::Range | Self::Interval => cell.ours.map_or_else(String::new, |ours| ours.range_text()),
            Self::Published => cell.published.text(column.unit),
            Self::RatioHere => ratio_text(cell.ratio_ours),
            Self::RatioPublished => ratio_text(cell.ratio_published),
        }
    }
}

/// Every trial's figures, in the order in which the trials ran.
pub fn trials(input: &ReportInput<'_>, figures: &Figures<'_>) -> Markup {
    let all = stream_rows(input, figures);
    let labelled = all.iter().any(|row| !row.trial.label.is_empty());
    let mut signs = Signs::default();
    let mut table = |title: &str, rows: &[&StreamRow<'_>], shown: &[Shown], words: Words| {
        for (row, one) in rows.iter().flat_map(|row| shown.iter().map(move |one| (row, one))) {
            signs.add_all(&row.signs(figures, one));
        }
        let said: Vec<String> = rows.iter().map(|row| row.words(words, input)).collect();
        let is_said = said.iter().any(|text| !text.is_empty());
        let markup = html! {
            table {
                caption { (title) }
                thead { tr {
                    th scope="col" { "trial" }
                    @if labelled { th class="words" scope="col" { "case" } }
                    th class="words" scope="col" { "stream" }
                    @for one in shown { th scope="col" { (one.head.join(" ").trim()) } }
                    @if is_said { th class="words" scope="col" { (words.head()) } }
                } }
                tbody { @for (row, said) in rows.iter().zip(&said).take(ROWS_MAX) {
                    tr {
                        th scope="row" { (row_mark(row.cut_short)) (row.trial.id) }
                        @if labelled { td class="words" { (row.trial.label) } }
                        td class="words" { (row.stream) }
                        @for one in shown {
                            td class=[marked(&row.marks(figures, one))] { (row.text(figures, one)) }
                        }
                        @if is_said { td class="words" { (said) } }
                    }
                } }
            }
        };
        html! { @if !rows.is_empty() { (scroll(title, &markup)) (left_out(rows.len())) } }
    };
    let mut tables = Vec::new();
    for (title, streams, shown, words) in TABLES {
        let is_shown = |row: &&StreamRow<'_>| streams.has(row.load) && row.has_any(figures, shown);
        let rows: Vec<&StreamRow<'_>> = all.iter().filter(is_shown).collect();
        tables.push(table(title, &rows, shown, words));
    }
    let members = members::table(input, figures);
    members.iter().for_each(|members| signs.add_all(&members.table.signs()));
    if members.is_none() && tables.iter().all(|table| table.0.is_empty()) {
        return html! {};
    }
    html! {
        section aria-labelledby="trials" {
            h2 id="trials" { "Every trial in figures" }
            @for table in tables { (table) }
            @if let Some(members) = &members {
                (scroll(members::TITLE, &texts(&members.table, Some(members::TITLE))))
                @if members.has_others { p class="note" { (members::OTHERS_NOTE) } }
            }
            @if let Some(legend) = signs.legend() { p class="note" { (legend) } }
            @for note in trials::notes(&all, figures) { p class="note" { (note) } }
        }
    }
}

/// Names with values; a size is told in the unit that reads best instead of in the bytes that its name says.
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
    let markup = html! {
        table {
            caption { "One second of spinning, sleeping and loopback before each trial: how quiet the host was" }
            thead { tr {
                th class="words" scope="col" { "before trial" }
                @for head in ["spin, iterations/µs", "slowest ÷ median slice", "sleep late p50", "sleep late p99",
                    "loopback p50", "loopback p99", "stolen"] { th scope="col" { (head) } }
            } }
            tbody { @for (trial, noise) in input.noise.iter().take(ROWS_MAX) { tr {
                th scope="row" { (input.name(*trial)) }
                td { (units::significant(noise.spin_per_us)) }
                td { (units::ratio(noise.spin_worst_ratio)) }
                td { (units::nanoseconds(noise.sleep_late_ns_p50 as f64)) }
                td { (units::nanoseconds(noise.sleep_late_ns_p99 as f64)) }
                td { (units::nanoseconds(noise.loopback_ns_p50 as f64)) }
                td { (units::nanoseconds(noise.loopback_ns_p99 as f64)) }
                td { (format!("{} %", units::significant(noise.steal_share * 100.0))) }
            } } }
        }
    };
    html! { @if !input.noise.is_empty() { (scroll("Noise of the host", &markup)) (left_out(input.noise.len())) } }
}

/// Under a table of so many rows.
fn left_out(rows: usize) -> Markup {
    html! { @if rows > ROWS_MAX { p class="note" { "The first " (ROWS_MAX) " of " (rows) " rows; the exports have them all." } } }
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
