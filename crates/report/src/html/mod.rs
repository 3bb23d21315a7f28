//! A run as one HTML page that needs nothing else: no script, no request, light and dark.
//!
//! Every text from outside is escaped by the template; the page's own policy forbids loading anything.

mod chart;
mod curve;
mod flame;
mod scale;
mod tables;
mod trial;

use crate::answer::{answers, commands, demand, health, inside, logs, processes};
use crate::case_table::case_table;
use crate::caveats;
use crate::declared;
use crate::figures::Figures;
use crate::grid::TextOptions;
use crate::input::{ReportInput, status_words, trial_name};
use crate::marks;
use crate::terminal::{first_line, settings_text};
use crate::units;
use kdyno_model::run::TrialStart;
use kdyno_model::series::TrialSeries;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Trials whose charts are unfolded from the start; of longer runs only the first is.
const UNFOLDED_MAX: usize = 6;

/// Columns of what was in force.
const IN_FORCE: TextOptions = TextOptions { width: 120, colour: false };

/// The whole page as text, ready to be written to a file.
pub fn page(input: &ReportInput<'_>) -> String {
    let plan = input.plan();
    let figures = Figures::new(input.findings, input.caveats);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (plan.scenario) ": kdyno run " (format!("{:016x}", input.header.run_id)) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(crate::flame::STYLE)) }
            }
            body {
                (head(input, &figures))
                main {
                    (tables::caveats(&caveats::worded(input)))
                    @for (number, answer) in answers(input).iter().enumerate() { (tables::answer(&number.to_string(), answer)) }
                    (tables::cases(input, &case_table(input, &figures)))
                    @if let Some(commands) = commands::answer(input) { (tables::answer("commands", &commands)) }
                    @if let Some(inside) = inside::answer(input) { (tables::answer("inside", &inside)) }
                    @for (number, answer) in logs::answers(input).iter().enumerate() { (tables::answer(&format!("logs-{number}"), answer)) }
                    @if let Some(health) = health::answer(input) { (tables::answer("health", &health)) }
                    @if let Some(demand) = demand::answer(input) { (tables::answer("demand", &demand)) }
                    @if let Some(processes) = processes::answer(input) { (tables::answer("processes", &processes)) }
                    (tables::trials(input, &figures))
                    (over_time(input))
                    (flame::graphs(input))
                    (tables::events(input))
                    (environment(input))
                    (reading())
                }
            }
        }
    }
    .into_string()
}

fn head(input: &ReportInput<'_>, figures: &Figures<'_>) -> Markup {
    let plan = input.plan();
    let trials = input.reported().count();
    html! {
        header {
            p class="over" { (first_line(plan)) }
            h1 { (plan.question) }
            p class="meta" {
                @if let Some((first, _)) = input.sessions.first() {
                    "Measured " (units::instant(first.started_unix_ns)) " with kdyno " (first.kdyno_version) ", "
                }
                "run " (format!("{:016x}", input.header.run_id)) ", seed " (plan.seed) ", "
                (trials) @if trials == 1 { " trial" } @else { " trials" }
                @if input.sessions.len() > 1 { " in " (input.sessions.len()) " sessions" }
                "."
                @if let Some(outcome) = input.outcome(figures) { " " strong { (outcome) "." } }
            }
        }
    }
}

/// The charts, trial by trial.
fn over_time(input: &ReportInput<'_>) -> Markup {
    let is_reported = |series: &&TrialSeries| input.reported().any(|trial| trial.id == series.trial);
    let shown: Vec<&TrialSeries> = input.series.iter().filter(is_reported).collect();
    let unfold_all = shown.len() <= UNFOLDED_MAX;
    html! {
        @if !shown.is_empty() {
            section aria-labelledby="over-time" {
                h2 id="over-time" { "Each trial over time" }
                @for (index, series) in shown.into_iter().enumerate() {
                    details open[unfold_all || index == 0] {
                        summary { h3 { (input.name(series.trial)) } }
                        (trial::charts(series))
                    }
                }
            }
        }
    }
}

/// Host, systems under test, command lines, the scenario as typed.
fn environment(input: &ReportInput<'_>) -> Markup {
    let header = input.header;
    let several = input.sessions.len() > 1;
    html! {
        section aria-labelledby="environment" {
            h2 id="environment" { "Environment" }
            @for (session, end) in input.sessions {
                h3 { @if several { "Session " (session.number) ": host and kdyno" } @else { "Host and kdyno" } }
                (tables::facts(&session.host_facts))
                pre class="wrap" { (session.command_line.join(" ")) }
                p class="meta" {
                    "Began " (units::instant(session.started_unix_ns)) " with kdyno " (session.kdyno_version)
                    @if let Some(git_head) = &session.git_head { " in a folder at commit " (git_head) }
                    @if let Some(end) = end { "; " (status_words(end.status)) " " (units::instant(end.ended_unix_ns)) }
                    "."
                }
            }
            @for (of, facts) in declared::all(input.plan()) {
                h3 { "Declared, not measured: " (of) }
                (tables::facts(&facts))
            }
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
            (tables::config(input))
            details {
                summary { "What was asked for: systems, security, topics, load, settings of clients" }
                pre class="wrap" { (settings_text(input.plan(), &IN_FORCE)) }
            }
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
        let name = trial_name(&start.trial);
        let alike =
            |other: &TrialStart| other.cluster == start.cluster && other.command_lines == start.command_lines;
        match groups.iter_mut().find(|(_, other)| alike(other)) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], start)),
        }
    }
    let all = groups.len() == 1;
    let concerns = |names: Vec<String>| if all { "all trials".to_owned() } else { names.join("; ") };
    groups.into_iter().map(|(names, start)| (concerns(names), start)).collect()
}

/// What the words of the tables and charts mean.
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
        marks::AT_LEAST,
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
