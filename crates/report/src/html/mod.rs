//! A run as one HTML page that needs nothing else: no script, no request, light and dark.
//!
//! Every text from outside is escaped by the template; the page's own policy forbids loading anything.

pub mod chart;
mod scale;
mod tables;
mod trial;

use crate::case_table::case_table;
use crate::caveats;
use crate::figures::{Figures, trial_label};
use crate::input::ReportInput;
use crate::json::status_name;
use crate::terminal::first_line;
use crate::units;
use kdyno_model::run::{RunStatus, TrialStart};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Trials whose charts are unfolded from the start; of longer runs only the first is.
const UNFOLDED_MAX: usize = 6;

/// The whole page.
#[must_use]
pub fn page(input: &ReportInput<'_>) -> String {
    let plan = input.plan();
    let figures = Figures::new(plan, input.findings, input.caveats);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (plan.scenario) ": kdyno run " (format!("{:016x}", input.header.run_id)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (head(input))
                main {
                    (tables::doubts(&caveats::worded(plan, input.caveats)))
                    (tables::cases(&case_table(plan, &figures), plan.published.as_ref()))
                    (tables::trials(input, &figures))
                    (courses(input))
                    (tables::events(input))
                    (circumstances(input))
                    (reading())
                }
            }
        }
    }
    .into_string()
}

fn head(input: &ReportInput<'_>) -> Markup {
    let plan = input.plan();
    let missing = plan
        .order
        .iter()
        .filter(|trial| !input.findings.iter().any(|finding| finding.trial == **trial))
        .count();
    html! {
        header {
            p class="over" { (first_line(plan)) }
            h1 { (plan.question) }
            p class="meta" {
                "Measured " (units::instant(input.header.started_unix_ns)) " with kdyno " (input.header.kdyno_version)
                ", run " (format!("{:016x}", input.header.run_id)) ", seed " (plan.seed) ", "
                (plan.order.len()) @if plan.order.len() == 1 { " trial" } @else { " trials" } ". "
                @if missing > 0 { strong { (missing) " of them without figures. " } }
                @match input.end {
                    None => strong { "The run was cut off; what follows is what was kept." },
                    Some(end) if end.status != RunStatus::Completed =>
                        strong { "The run ended as " (status_name(end.status)) ": " (end.detail) "." },
                    Some(_) => {},
                }
            }
        }
    }
}

/// The charts, trial by trial.
fn courses(input: &ReportInput<'_>) -> Markup {
    let unfold_all = input.series.len() <= UNFOLDED_MAX;
    html! {
        @if !input.series.is_empty() {
            section aria-labelledby="courses" {
                h2 id="courses" { "Course of each trial" }
                @for (index, series) in input.series.iter().enumerate() {
                    details open[unfold_all || index == 0] {
                        summary { h3 { (trial_label(input.plan(), series.trial)) } }
                        (trial::charts(series))
                    }
                }
            }
        }
    }
}

/// Host, systems under test, command lines, the scenario as typed.
fn circumstances(input: &ReportInput<'_>) -> Markup {
    let header = input.header;
    html! {
        section aria-labelledby="circumstances" {
            h2 id="circumstances" { "Circumstances" }
            h3 { "Host" }
            (tables::facts(&header.host_facts))
            (tables::noise(input))
            @for (concerns, start) in systems(input) {
                h3 { "System under test: " (concerns) }
                (tables::facts(&start.cluster))
                @if !start.command_lines.is_empty() {
                    details {
                        summary { "Command lines of its processes" }
                        @for (subject, line) in &start.command_lines {
                            p { (subject) }
                            pre class="wrap" { (line.join(" ")) }
                        }
                    }
                }
            }
            h3 { "kdyno" }
            pre class="wrap" { (header.command_line.join(" ")) }
            @if let Some(git_head) = &header.git_head { p class="meta" { "Folder at commit " (git_head) "." } }
            details {
                summary { "Scenario as typed (" (header.scenario_path) ")" }
                pre { (header.scenario_text) }
            }
        }
    }
}

/// Trials on alike systems are told once, with the trials they concern.
fn systems<'a>(input: &ReportInput<'a>) -> Vec<(String, &'a TrialStart)> {
    let mut groups: Vec<(Vec<String>, &TrialStart)> = Vec::new();
    for start in input.trials {
        let label = trial_label(input.plan(), start.trial);
        let alike =
            |other: &TrialStart| other.cluster == start.cluster && other.command_lines == start.command_lines;
        match groups.iter_mut().find(|(_, other)| alike(other)) {
            Some((labels, _)) => labels.push(label),
            None => groups.push((vec![label], start)),
        }
    }
    let all = groups.len() == 1;
    let name = |labels: Vec<String>| if all { "all trials".to_owned() } else { labels.join("; ") };
    groups.into_iter().map(|(labels, start)| (name(labels), start)).collect()
}

/// What the words mean.
fn reading() -> Markup {
    let words = [
        ("offered", "records whose intended instant lies in the measured window"),
        ("achieved", "records the client accepted in time"),
        ("acknowledged", "records the cluster confirmed in the window"),
        (
            "response",
            "from a record's intended instant to its outcome; waiting because of a stall is part of it",
        ),
        (
            "service",
            "from the moment the client found buffer space to the outcome: what a blocking client prints",
        ),
        ("≥", "the quantile falls among records that failed or stayed open, so it is at least this"),
        (
            "CPU per record",
            "processor time of all brokers, or of the load generator, per acknowledged record (fetched, where none is produced)",
        ),
    ];
    html! {
        section aria-labelledby="reading" {
            h2 id="reading" { "How to read it" }
            dl { @for (word, meaning) in words { dt { (word) } dd { (meaning) } } }
        }
    }
}
