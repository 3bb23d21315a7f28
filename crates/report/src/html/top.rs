//! The top of the page: the question, the answer with its confidence, how much there is to read first.

use super::tiles::tiles;
use super::{first_chart, tables};
use crate::answer::glance::Glance;
use crate::case_table::CaseTable;
use crate::caveats::Worded;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::terminal::first_line;
use crate::units;
use kdyno_model::caveat::Severity;
use maud::{Markup, html};

/// The top: what was asked, the answer, its figures, how much there is to read against it.
pub fn head(
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
    table: &CaseTable<'_>,
    glance: &Glance,
    worded: &[Worded],
) -> Markup {
    let plan = input.plan();
    let trials = input.reported().count();
    html! {
        header {
            p class="over" { (first_line(plan)) }
            h1 { (plan.question) }
            @if let Some(outcome) = input.outcome(figures) { p class="outcome" { strong { (outcome) "." } } }
            div class="headline" {
                // Before any answer: records that were acknowledged are gone.
                @for loss in worded.iter().filter(|one| one.is_loss) { p class="answer bad" { b { (loss.label()) } ": " (loss.sentence) "." } }
                @for sentence in &glance.answer { (tables::sentence(sentence)) }
                @if let Some(legend) = &glance.legend { p class="note" { (legend) } }
                @if let Some(next) = &glance.next { p class="note" { "Next: " (tables::coded(next)) } }
            }
            (doubts(glance, worded))
            (tiles(input, table))
            (first_chart::chart(input, table))
            p class="meta" {
                @if let Some((first, _)) = input.sessions.first() {
                    "Measured " (units::instant(first.started_unix_ns)) " with kdyno " (first.kdyno_version) ", "
                }
                "run " (format!("{:016x}", input.header.run_id)) ", seed " (plan.seed) ", "
                (trials) @if trials == 1 { " trial" } @else { " trials" }
                @if input.sessions.len() > 1 { " in " (input.sessions.len()) " sessions" }
                "."
            }
        }
    }
}

/// How many caveats there are and the heaviest of them, in a strip that opens on all of them.
fn doubts(glance: &Glance, worded: &[Worded]) -> Markup {
    let worst = glance.doubts.iter().map(|doubt| doubt.severity).max();
    let class = worst.map_or_else(String::new, |severity| format!(" {severity}"));
    html! {
        @if let Some(counted) = counted(worded) {
            details class=(format!("doubts{class}")) id="read-first" {
                summary {
                    b { "Read first: " (counted) }
                    @for doubt in &glance.doubts { span class=(doubt.severity) { (doubt.text) } }
                }
                (tables::caveats(worded))
            }
        }
    }
}

/// How many caveats there are, the most severe first: `1 invalid, 2 warnings, 3 notes`; `None` without any. What makes no figure of
/// the answer invalid is a warning here, as in the lines below it.
fn counted(worded: &[Worded]) -> Option<String> {
    let kinds = [(Severity::Invalid, "invalid"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let weight = |one: &&Worded| match one.severity {
        Severity::Invalid if one.invalid.is_empty() => Severity::Warning,
        severity => severity,
    };
    let many = |severity: Severity| {
        u32::try_from(worded.iter().filter(|one| weight(one) == severity).count()).unwrap_or(u32::MAX)
    };
    let reported: Vec<String> = kinds
        .into_iter()
        .map(|(severity, noun)| (severity, many(severity), noun))
        .filter(|(_, many, _)| *many > 0)
        .map(|(severity, many, noun)| match severity {
            Severity::Invalid => format!("{many} {noun}"),
            Severity::Warning | Severity::Note => units::plural(many, noun),
        })
        .collect();
    (!reported.is_empty()).then(|| reported.join(", "))
}
