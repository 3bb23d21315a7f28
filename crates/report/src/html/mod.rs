//! A run as one HTML page that needs nothing else: no request, light and dark, complete without its script.
//!
//! Every text from outside is escaped by the template; the page's own policy forbids loading anything.

mod chart;
mod courses;
mod curve;
mod figure;
mod first_chart;
mod flame;
mod forest;
mod groups;
mod head;
mod heat;
mod lanes;
mod overlay;
mod pen;
mod plot;
mod resources;
mod scale;
pub mod served;
mod stages;
pub(crate) mod table;
pub(crate) mod tables;
mod ticks;
mod tiles;
mod top;
mod topology;
mod trial;

use crate::answer::glance::glance;
use crate::answer::headline;
use crate::answer::verdict::compared_scopes;
use crate::answer::{
    Answer, Sentence, answers, brokers, commands, components, demand, health, inside, logs, processes, search,
};
use crate::case_table::{CaseTable, case_table};
use crate::caveats;
use crate::client_properties;
use crate::command_line::repeat;
use crate::declared;
use crate::figures::FindingIndex;
use crate::grid::TextOptions;
use crate::input::{ReportInput, status_words};
use crate::marks;
use crate::systems;
use crate::terminal::settings_text;
use crate::units;
use chart::Detail;
pub(crate) use head::head;
pub use head::{POLICY, SCRIPT};
use kdyno_model::finding::Scope;
use kdyno_model::series::TrialSeries;
use kdyno_model::words::visible;
use maud::{DOCTYPE, Markup, html};

/// Trials whose charts are unfolded from the start; of longer runs only the first is.
const UNFOLDED_MAX: usize = 3;
/// Trials that have charts of their own at most.
const DRAWN_MAX: usize = 24;

/// Columns of what was in force.
const IN_FORCE: TextOptions = TextOptions { width: 120, colour: false };

/// Id of the part that says what ran.
const ENVIRONMENT: &str = "environment";

/// A part of the page: the id and the text of its heading, and all of it.
struct PageSection {
    id: String,
    title: String,
    markup: Markup,
}

impl PageSection {
    fn new(id: &str, title: &str, markup: Markup) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), markup }
    }

    fn answer(name: &str, answer: &Answer, reported: &[Sentence], pictures: &Markup) -> Self {
        let markup = tables::answer(name, answer, reported, pictures);
        Self { id: tables::answer_id(name), title: answer.title.clone(), markup }
    }
}

/// The whole page as text, ready to be written to a file.
pub fn page(input: &ReportInput<'_>) -> String {
    page_below(input, &html! {})
}

/// The heading below something that leads elsewhere.
fn page_below(input: &ReportInput<'_>, navigation: &Markup) -> String {
    let plan = input.plan();
    let figures = FindingIndex::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    let worded = caveats::all(input);
    let glance = glance(input, &table, &worded);
    let parts = parts(input, &figures, &table, &glance.answer);
    finished(html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{}: kdyno run {:016x}", plan.scenario, input.header.run_id), ""))
            body {
                (navigation)
                (top::head(input, &figures, &table, &glance, &worded))
                (contents(&parts))
                main { @for part in &parts { (part.markup) } }
            }
        }
    })
}

/// A document as text. Nothing in it turns the direction of the text around it, or is a control character.
pub(crate) fn finished(document: Markup) -> String {
    visible(&document.into_string(), &[])
}

/// What a run's page says below its head, as a part of a document of several runs.
pub(crate) fn run_sections(input: &ReportInput<'_>) -> Markup {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    // The summary of a document has the answers by themselves, so that all of them are here, and its appendix has what
    // ran.
    let mut parts = parts(input, &figures, &table, &[]);
    let worded = caveats::worded(input);
    let caveats = html! { @if !worded.is_empty() { section aria-labelledby="read-first" { h2 id="read-first" { "Read first" } (tables::caveats(&worded)) } } };
    parts.insert(0, PageSection::new("read-first", "Read first", caveats));
    html! { @for part in parts.iter().filter(|part| part.id != ENVIRONMENT) { (part.markup) } }
}

/// The parts of the page that have something in them, in their order.
fn parts(
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
    table: &CaseTable<'_>,
    reported: &[Sentence],
) -> Vec<PageSection> {
    let mut parts = answered(input, figures, reported);
    parts.push(PageSection::new("overlay", "Cases overlaid", overlay::overlays(input)));
    parts.push(PageSection::new("result", "Result", tables::cases(input, table)));
    parts.push(PageSection::new("sides", "Resources, A and B", sides(input)));
    parts.extend(explained(input, figures, reported));
    parts.push(PageSection::new("trials", "All trials", tables::trials(input, figures)));
    parts.push(PageSection::new("over-time", "Over time", over_time(input)));
    parts.push(PageSection::new("flame-graphs", "Flame graphs", flame::graphs(input)));
    parts.push(PageSection::new("events", "Events", tables::events(input)));
    parts.push(PageSection::new(ENVIRONMENT, "Environment", environment(input)));
    parts.push(PageSection::new("reading", "How to read it", reading()));
    parts.retain(|part| !part.markup.0.is_empty());
    parts
}

/// Where everything is.
fn contents(parts: &[PageSection]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul { @for part in parts { li { a href=(format!("#{}", part.id)) { (part.title) } } } }
        }
    }
}

/// Verdicts with their pictures, searches, claims, contrasts.
fn answered(input: &ReportInput<'_>, figures: &FindingIndex<'_>, reported: &[Sentence]) -> Vec<PageSection> {
    // A page has answers above, and the curve of its one search.
    let is_page = !reported.is_empty();
    let mut answers = answers(input);
    if let [only] = search::answers(input).as_slice()
        && let Some(first) = answers.iter_mut().find(|one| is_page && one.curve == only.curve)
    {
        first.curve = None;
    }
    // The answers of compared cases come first, in this order.
    let mut compared = compared_scopes(input.conclusions).into_iter().filter_map(|scope| match scope {
        Scope::Comparison { case } => Some(case),
        _ => None,
    });
    let part = |(number, answer): (usize, &Answer)| {
        let name = number.to_string();
        let Some(case) = compared.next() else {
            return PageSection::answer(&name, answer, reported, &html! {});
        };
        let pictures = html! {
            @if !(is_page && forest::is_judged_alone(input, case)) { (forest::forest(input, case)) }
            (forest::pairs(input, figures, case))
        };
        // There the sentence has the name of its case before it.
        let is_shown = |one: &&Sentence| {
            reported.contains(&headline::of_case((*one).clone(), Scope::Comparison { case }, input))
        };
        let reported: Vec<Sentence> = answer.sentences.iter().filter(is_shown).cloned().collect();
        PageSection::answer(&name, answer, &reported, &pictures)
    };
    answers.iter().enumerate().map(part).collect()
}

/// What lies behind the figures: stages, logs, health, demand, processes.
fn explained(input: &ReportInput<'_>, figures: &FindingIndex<'_>, reported: &[Sentence]) -> Vec<PageSection> {
    let nothing = html! {};
    let bars = stages::figure(input, figures);
    let part = |(name, answer): (&str, Option<Answer>)| {
        answer.map(|answer| PageSection::answer(name, &answer, reported, &nothing))
    };
    let first = [("commands", commands::answer(input)), ("components", components::answer(input))];
    let mut parts: Vec<PageSection> = first.into_iter().filter_map(part).collect();
    match inside::answer(input) {
        Some(inside) => parts.push(PageSection::answer("inside", &inside, reported, &bars)),
        None if !bars.0.is_empty() => {
            let markup =
                html! { section aria-labelledby="stages" { h2 id="stages" { (inside::TITLE) } (bars) } };
            parts.push(PageSection::new("stages", inside::TITLE, markup));
        }
        None => {}
    }
    parts.extend(part(("brokers", brokers::answer(input))));
    for (number, answer) in logs::answers(input).iter().enumerate() {
        parts.push(PageSection::answer(&format!("logs-{number}"), answer, reported, &nothing));
    }
    let rest = [
        ("health", health::answer(input)),
        ("demand", demand::answer(input)),
        ("processes", processes::answer(input)),
    ];
    parts.extend(rest.into_iter().filter_map(part));
    parts
}

/// In a comparison what the processes of either side used, next to each other.
fn sides(input: &ReportInput<'_>) -> Markup {
    let groups = groups::groups(input);
    let cases = input.plan().case_numbers().filter_map(|case| {
        let of = |scope: Scope| groups.iter().find(|group| group.scope == scope);
        Some((case, [of(Scope::Case(case))?, of(Scope::SideB { case })?]))
    });
    let drawn: Vec<Markup> = cases
        .map(|(case, sides)| resources::of_sides(sides, input.series, &format!("sides-{case}")))
        .collect();
    let is_compared = input.sides().is_some() && drawn.iter().any(|one| !one.0.is_empty());
    html! {
        @if is_compared {
            section aria-labelledby="sides" {
                h2 id="sides" { "Resources, A and B" }
                @for one in drawn { (one) }
            }
        }
    }
}

/// The charts, trial by trial.
fn over_time(input: &ReportInput<'_>) -> Markup {
    let is_reported = |series: &&TrialSeries| input.reported().any(|trial| trial.id == series.trial);
    let all: Vec<&TrialSeries> = input.series.iter().filter(is_reported).collect();
    let shown = &all[..all.len().min(DRAWN_MAX)];
    let unfold_all = shown.len() <= UNFOLDED_MAX;
    let detail = Detail::among(shown.len());
    html! {
        @if !shown.is_empty() {
            section aria-labelledby="over-time" {
                h2 id="over-time" { "Over time" }
                @for (index, series) in shown.iter().enumerate() {
                    details class="trial" open[unfold_all || index == 0] {
                        summary { h3 { (input.name(series.trial)) } }
                        (trial::charts(input, series, detail))
                    }
                }
                @if shown.len() < all.len() {
                    p class="note" {
                        "The first " (shown.len()) " of " (all.len()) " trials; "
                        code { "kdyno export RUN --format series-csv" } " has the courses of all."
                    }
                }
            }
        }
    }
}

fn environment(input: &ReportInput<'_>) -> Markup {
    html! {
        section aria-labelledby=(ENVIRONMENT) {
            h2 id=(ENVIRONMENT) { "Environment" }
            (what_ran(input))
        }
    }
}

/// Host, systems under test, command lines, the scenario as typed, and what repeats it.
pub(crate) fn what_ran(input: &ReportInput<'_>) -> Markup {
    let header = input.header;
    let several = input.sessions.len() > 1;
    html! {
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
        @if let Some(command) = repeat(input) { p { "Repeat it: " code { (command) } } }
        @for (of, facts) in declared::all(input.plan()) {
            h3 { "Declared, not measured: " (of) }
            (tables::facts(&facts))
        }
        (tables::noise(input))
        (topology::tables(input))
        @let (started, left_out) = systems::all(input);
        @for (concerns, start) in &started {
            h3 { "System under test: " (concerns) }
            (tables::system(start))
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
        @if left_out > 0 {
            p class="note" { (systems::left_out(left_out)) }
        }
        (tables::config(input))
        details {
            summary { "The plan: systems, security, topics, load, settings of clients" }
            pre class="wrap" { (settings_text(input.plan(), &IN_FORCE)) }
        }
        @let files = client_properties::all(input);
        @if !files.is_empty() {
            details {
                summary { "Settings of clients as properties files, without addresses and secrets" }
                @for (of, text) in &files { p { (of) } pre { (text) } }
            }
        }
        details {
            summary { "Scenario as typed (" (header.scenario_path) ")" }
            pre { (header.scenario_text) }
        }
    }
}

/// What the words of the tables and charts mean.
fn reading() -> Markup {
    let words = [
        ("offered", "records whose scheduled send time lies in the measured window"),
        ("achieved", "records the client accepted in time"),
        ("acknowledged", "records the cluster confirmed in the window"),
        (
            "response",
            "from a record's scheduled send time to its outcome; waiting because of a stall is part of it",
        ),
        (
            "service",
            "from the moment the client found buffer space to the outcome: what a blocking client prints",
        ),
        marks::AT_LEAST,
        (
            "CPU per record",
            "CPU time of all brokers, or of the load generator, per acknowledged record (fetched, where none is produced)",
        ),
    ];
    html! {
        section aria-labelledby="reading" {
            h2 id="reading" { "How to read it" }
            dl { @for (word, meaning) in words { dt { (word) } dd { (meaning) } } }
        }
    }
}
