//! The tables of the page: caveats, the scenario's table, every trial's figures, facts.

use super::table::{plain, scroll, texts};
use crate::answer::{Answer, Sentence, members, notes, steadiness};
use crate::case_table::CaseTable;
use crate::caveats::Worded;
use crate::figures::FindingIndex;
use crate::generators;
use crate::grid::Tone;
use crate::in_force;
use crate::input::ReportInput;
use crate::marks::Signs;
use crate::result::{Heads, by_case, table_notes};
use crate::table::{Cell, Column, Holds, Table};
use crate::trial_tables;
use crate::trials::{TABLES, stream_rows};
use crate::{trials, units};
use kdyno_model::run::TrialStart;
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

/// One answer: its sentences but those that were `reported` above, pictures of it, the figures under them, the curve.
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
        @for text in in_force::ignored(input.plan()) { p { (coded(&text)) } }
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
            @if let Some(legend) = signs.legend_with(steadiness::needed(input).as_deref()) { p class="note" { (legend) } }
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

/// What is known of the system of a trial, and of the hosts that carried its load.
pub fn system(start: &TrialStart) -> Markup {
    let (of_system, generators) = generators::apart(start);
    let caption = "The hosts that carried the load; a broker on the same node shares its processors";
    html! {
        @if !generators.rows.is_empty() { (first_rows("Load generators", caption, generators)) }
        (facts(&of_system))
    }
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
