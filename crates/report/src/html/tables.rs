//! The tables of the page: caveats, the scenario's table, every trial's figures, facts.

use crate::case_table::{CaseTable, Cell, Column};
use crate::caveats::{Worded, severity_name};
use crate::figures::{Figures, trial_label};
use crate::input::ReportInput;
use crate::terminal::{ours_text, range_text, table_notes};
use crate::trials::{
    CONSUME_RATES, PRODUCE_LATENCIES, PRODUCE_OUTCOMES, PRODUCE_RATES, Shown, StreamRow, stream_rows,
};
use crate::units;
use kdyno_model::plan::Published;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Rows of the table of events at most; the run file has them all.
const EVENTS_MAX: usize = 200;

/// A table that scrolls by itself when the page is narrow.
fn scroll(name: &str, table: &Markup) -> Markup {
    html! { div class="scroll" role="region" aria-label=(name) tabindex="0" { (table) } }
}

/// The doubts, heaviest first.
#[must_use]
pub fn doubts(worded: &[Worded]) -> Markup {
    html! {
        @if !worded.is_empty() {
            section aria-labelledby="read-first" {
                h2 id="read-first" { "Read first" }
                ul class="doubts" {
                    @for doubt in worded {
                        li class=(severity_name(doubt.severity)) {
                            b { (severity_name(doubt.severity)) }
                            (doubt.what) "."
                            @if !doubt.concerns.is_empty() { " " span class="concerns" { "Concerns " (doubt.concerns) "." } }
                            @if !doubt.advice.is_empty() { " " span class="advice" { "→ " (doubt.advice) "." } }
                        }
                    }
                }
            }
        }
    }
}

/// The scenario's table with the published figures beside ours.
#[must_use]
pub fn cases(table: &CaseTable, published: Option<&Published>) -> Markup {
    let spans: Vec<usize> = table.columns.iter().map(|column| parts(table, column).len()).collect();
    let plain = spans.iter().all(|span| *span == 1);
    let markup = html! {
        table {
            thead {
                tr {
                    @for name in &table.params { th class="words" scope="col" rowspan=(if plain { 1 } else { 2 }) { (name) } }
                    @for (column, span) in table.columns.iter().zip(&spans) {
                        th class="group" scope="colgroup" colspan=(span) { (column.of) }
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
                    tr class=[row.invalid.then_some("invalid")] {
                        @for (index, value) in row.params.iter().enumerate() {
                            th scope="row" {
                                @if row.invalid && index == 0 { span class="mark" { "! invalid " } }
                                (value)
                            }
                        }
                        @for (cell, column) in row.cells.iter().zip(&table.columns) {
                            @for part in parts(table, column) { td class=(part.class()) { (part.text(cell, column)) } }
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
                @for note in table_notes(table, published) { p class="note" { (note) } }
            }
        }
    }
}

/// The columns one figure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Here,
    Range,
    Published,
    ShapeHere,
    ShapePublished,
}

fn parts(table: &CaseTable, column: &Column) -> Vec<Part> {
    let wanted = [
        (Part::Here, true),
        (Part::Range, table.repeated),
        (Part::Published, column.published),
        (Part::ShapeHere, column.shaped),
        (Part::ShapePublished, column.shaped),
    ];
    wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(part, _)| part).collect()
}

impl Part {
    fn head(self) -> &'static str {
        match self {
            Self::Here => "measured here",
            Self::Range => "min – max",
            Self::Published => "published",
            Self::ShapeHere => "shape here",
            Self::ShapePublished => "shape published",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Here | Self::ShapeHere => "",
            Self::Range => "range",
            Self::Published | Self::ShapePublished => "theirs",
        }
    }

    fn text(self, cell: &Cell, column: &Column) -> String {
        let shape = |number: Option<f64>| {
            number.map_or_else(|| units::NOTHING.to_owned(), |n| format!("×{}", units::significant(n)))
        };
        match self {
            Self::Here => ours_text(cell, column),
            Self::Range => range_text(cell, column),
            Self::Published => cell.published.text(column.unit),
            Self::ShapeHere => shape(cell.shape_ours),
            Self::ShapePublished => shape(cell.shape_published),
        }
    }
}

/// Every trial's figures.
#[must_use]
pub fn trials(input: &ReportInput<'_>, figures: &Figures<'_>) -> Markup {
    let rows = stream_rows(input.plan(), figures);
    let (produce, consume): (Vec<&StreamRow<'_>>, Vec<&StreamRow<'_>>) =
        rows.iter().partition(|row| row.produces());
    let table = |title: &str, rows: &[&StreamRow<'_>], shown: &[Shown], reasons: bool| {
        let markup = html! {
            table {
                caption { (title) }
                thead { tr {
                    th class="words" scope="col" { "trial" }
                    th class="words" scope="col" { "stream" }
                    @for one in shown { th scope="col" { (one.head.join(" ").trim()) } }
                    @if reasons { th class="words" scope="col" { "reasons" } }
                } }
                tbody { @for row in rows {
                    tr class=[figures.is_invalid(row.trial).then_some("invalid")] {
                        th scope="row" {
                            @if figures.is_invalid(row.trial) { span class="mark" { "! invalid " } }
                            (row.label)
                        }
                        td class="words" { (row.stream) }
                        @for one in shown { td { (row.text(figures, one)) } }
                        @if reasons { td class="words" { (row.failures(input.caveats)) } }
                    }
                } }
            }
        };
        html! { @if !rows.is_empty() { (scroll(title, &markup)) } }
    };
    html! {
        section aria-labelledby="trials" {
            h2 id="trials" { "Every trial" }
            (table("Produce: rates and what they cost", &produce, PRODUCE_RATES, false))
            (table("Produce: latency", &produce, PRODUCE_LATENCIES, false))
            (table("Produce: records that were not acknowledged", &produce, PRODUCE_OUTCOMES, true))
            (table("Consume: rates and what they cost", &consume, CONSUME_RATES, false))
            @if produce.iter().any(|row| row.unanswered()) {
                p class="note" { "With acks=0 nobody answers: acknowledged then means written to the socket." }
            }
        }
    }
}

/// Names with values.
#[must_use]
pub fn facts(facts: &BTreeMap<String, String>) -> Markup {
    html! { dl { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
}

/// What the noise probe showed.
#[must_use]
pub fn noise(input: &ReportInput<'_>) -> Markup {
    let markup = html! {
        table {
            caption { "One second of spinning, sleeping and loopback before each trial: how quiet the host was" }
            thead { tr {
                th class="words" scope="col" { "before trial" }
                @for head in ["spin, iterations/µs", "slowest ÷ median slice", "sleep late p50", "sleep late p99",
                    "loopback p50", "loopback p99", "stolen"] { th scope="col" { (head) } }
            } }
            tbody { @for (trial, noise) in input.noise { tr {
                th scope="row" { (trial_label(input.plan(), *trial)) }
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
    html! { @if !input.noise.is_empty() { (scroll("Noise of the host", &markup)) } }
}

/// What happened when.
#[must_use]
pub fn events(input: &ReportInput<'_>) -> Markup {
    let markup = html! {
        table {
            thead { tr {
                @for head in ["trial", "second of the load", "what", "whose", "detail"] {
                    th class="words" scope="col" { (head) }
                }
            } }
            tbody { @for (trial, event) in input.events.iter().take(EVENTS_MAX) { tr {
                th scope="row" { (trial.map_or_else(|| "run".to_owned(), |trial| trial_label(input.plan(), trial))) }
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
