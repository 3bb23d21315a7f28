//! The end of a run as text: one printer for every scenario.

use super::answer_text::{answer_text, table_text};
use super::result_table::result_text;
use super::{course_text, trials_text};
use crate::answer::{Answer, answers, brokers, commands, components, health, inside, logs, processes};
use crate::case_table::case_table;
use crate::caveats::{self, TrialCaveat, Worded};
use crate::declared;
use crate::figures::{FindingIndex, covers};
use crate::generators;
use crate::grid::{TextOptions, Tone, wrap};
use crate::in_force;
use crate::input::{ReportInput, trial_name};
use crate::marks::Signs;
use crate::table::Cell;
use crate::trials::{StreamChoice, streams};
use crate::without_generator;
use kdyno_model::caveat::{ScopedCaveat, Severity};
use kdyno_model::finding::{Finding, Scope};
use kdyno_model::metric::Address;
use kdyno_model::plan::{Plan, RoleKind};
use kdyno_model::trial::Trial;
use std::collections::BTreeSet;

/// The whole result: loss, if there was any; head, caveats, answers, the scenario's table, every trial's figures.
pub fn run_table(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let [loss, others] = loss_first(input);
    let line = |text: &str| wrap(text, options.columns(), 2) + "\n";
    let of_answer = |answer: Answer| answer_text(&answer, options);
    let mut parts =
        vec![loss_text(&loss, options), head(input, &figures, options), caveat_text(&others, options)];
    parts.extend(answers(input).into_iter().map(of_answer));
    parts.extend(caveats::elsewhere(input).map(|text| line(&text)));
    parts.push(result_text(input, &case_table(input, &figures), options));
    parts.extend(commands::answer(input).map(of_answer));
    parts.extend(components::answer(input).map(of_answer));
    parts.extend(inside::answer(input).map(of_answer));
    parts.extend(brokers::answer(input).map(of_answer));
    parts.extend(logs::answers(input).into_iter().map(of_answer));
    parts.extend(health::answer(input).map(|answer| of_answer(answer.without_table())));
    parts.extend(processes::short_answer(input).map(of_answer));
    parts.push(trials_text::full(input, &figures, options));
    parts.push(course_text::courses(input, options));
    parts.extend(generators::of_run(input).map(|table| table_text(&table, options)));
    parts.extend(in_force::ignored(input.plan()).iter().map(|text| line(text)));
    parts.extend(declared::line(input.plan()).map(|text| line(&text)));
    joined(parts)
}

/// Parts that have something to say, an empty line between them.
pub(super) fn joined(parts: Vec<String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Caveats about loss, and all others but those that are summed up after the answers.
pub(crate) fn loss_first(input: &ReportInput<'_>) -> [Vec<Worded>; 2] {
    let reported = caveats::worded(input).into_iter().filter(|one| !one.is_elsewhere);
    let (loss, others) = reported.partition(|one| one.is_loss);
    [loss, others]
}

/// Acknowledged records that are gone: before anything else.
pub(crate) fn loss_text(loss: &[Worded], options: &TextOptions) -> String {
    let mut out = String::new();
    for one in loss {
        let concerns = if one.concerns.is_empty() { String::new() } else { format!(" [{}]", one.concerns) };
        let text = format!("DATA LOSS: {}{concerns} → {}", one.sentence, one.remedy);
        for line in wrap(&text, options.columns(), 4).lines() {
            out.push_str(&options.paint(line, Tone::Bad));
            out.push('\n');
        }
    }
    out
}

/// What was printed of the trials of a run so far, so that each warning and footnote is printed once.
#[derive(Debug, Default)]
pub struct PrintedOnce(BTreeSet<String>);

impl PrintedOnce {
    fn is_new(&mut self, what: &str) -> bool {
        self.0.insert(what.to_owned())
    }
}

/// One line per stream for a trial that has just ended, then what its marks mean and its warnings, as far as these are new.
pub fn trial_summary(
    trial: &Trial,
    findings: &[Finding],
    caveats: &[ScopedCaveat],
    said: &mut PrintedOnce,
    options: &TextOptions,
) -> String {
    let figures = FindingIndex::new(findings, caveats);
    let mut out = String::new();
    let mut signs = Signs::default();
    for row in streams(trial, caveats).filter(|_| figures.has(trial.id)) {
        let mut get = |metric| {
            let cell = Cell::from(figures.of_trial(trial.id, row.stream, metric));
            cell.add_signs(&mut signs);
            let of = Address { subject: row.stream.to_owned(), metric: metric.to_owned() };
            cell.text() + &without_generator::clause(&figures, Scope::Trial(trial.id), &of)
        };
        let line = match row.load.role.kind() {
            RoleKind::Produce => format!(
                "{}: {} {}{}, response p50 {} p99 {} max {}",
                row.stream,
                get("acked_per_s"),
                if row.unanswered() { "written" } else { "acknowledged" },
                match StreamChoice::Compressed.has(row.load) {
                    true => format!(", compression ratio {}", get("compression_ratio")),
                    false => String::new(),
                },
                get("response.p50"),
                get("response.p99"),
                get("response.max")
            ),
            RoleKind::EndToEnd => format!(
                "{}: response p50 {} p99 {}, end to end p50 {} p99 {} max {}",
                row.stream,
                get("response.p50"),
                get("response.p99"),
                get("end_to_end.p50"),
                get("end_to_end.p99"),
                get("end_to_end.max")
            ),
            RoleKind::Consume => {
                let rate = format!("{}: {} consumed", row.stream, get("fetched_per_s"));
                match figures.is_known(trial.id, row.stream, "end_to_end.p50") {
                    true => format!(
                        "{rate}, end to end p50 {} p99 {} max {}",
                        get("end_to_end.p50"),
                        get("end_to_end.p99"),
                        get("end_to_end.max")
                    ),
                    false => rate,
                }
            }
        };
        out.push_str(&wrap(&format!("{}, {line}", trial_name(trial)), options.columns(), 4));
        out.push('\n');
    }
    let legend = signs.legend().filter(|legend| said.is_new(legend));
    for line in legend.into_iter().chain(warnings(trial, caveats, said)) {
        let wrapped = wrap(&line, options.columns().saturating_sub(4), 4);
        out.extend(wrapped.lines().map(|line| format!("    {line}\n")));
    }
    out
}

/// The warnings alone of a trial that has just ended, for who prints its rates elsewhere and over another span of time.
pub fn trial_warnings(trial: &Trial, caveats: &[ScopedCaveat], options: &TextOptions) -> String {
    let warnings = warnings(trial, caveats, &mut PrintedOnce::default()).into_iter();
    warnings.map(|line| wrap(&line, options.columns(), 4) + "\n").collect()
}

/// Caveats of a kind and weight without a printed line yet.
fn warnings(trial: &Trial, caveats: &[ScopedCaveat], said: &mut PrintedOnce) -> Vec<String> {
    let reported = caveats.iter().filter(|one| one.severity > Severity::Note && covers(one.scope, trial));
    let new: Vec<TrialCaveat> =
        caveats::of_trial(reported).into_iter().filter(|one| !said.0.contains(&key(one))).collect();
    said.0.extend(new.iter().map(key));
    new.into_iter().map(|one| format!("{}: {}", one.severity, one.short)).collect()
}

fn key(one: &TrialCaveat) -> String {
    format!("{} {}", one.severity, one.kind)
}

/// The report's first line: scenario, profile, what was changed.
pub(crate) fn first_line(plan: &Plan) -> String {
    let changed: Vec<String> = plan.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!(", changed: {}", changed.join(" ")) };
    format!("{}, profile {}{changed}", plan.scenario, plan.profile)
}

/// Scenario, question, and how far the run came where that is not as planned.
pub(super) fn head(input: &ReportInput<'_>, figures: &FindingIndex<'_>, options: &TextOptions) -> String {
    let first = wrap(&first_line(input.plan()), options.columns(), 4);
    let mut lines: Vec<String> = first.lines().map(|line| options.paint(line, Tone::Strong)).collect();
    lines.push(wrap(&input.plan().question, options.columns(), 0));
    if let Some(outcome) = input.outcome(figures) {
        let wrapped = wrap(&outcome, options.columns(), 4);
        lines.extend(wrapped.lines().map(|line| options.paint(line, Tone::Warn)));
    }
    lines.join("\n") + "\n"
}

/// The caveats, which come before any figure.
pub(crate) fn caveat_text(worded: &[Worded], options: &TextOptions) -> String {
    const INDENT: usize = 9;
    if worded.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n", options.paint("Read first", Tone::Strong));
    for caveat in worded {
        let tone = match caveat.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Warn,
            Severity::Invalid => Tone::Bad,
        };
        let concerns =
            if caveat.concerns.is_empty() { String::new() } else { format!(" [{}]", caveat.concerns) };
        let remedy = if caveat.remedy.is_empty() { String::new() } else { format!(" → {}", caveat.remedy) };
        let text = wrap(&format!("{}{concerns}{remedy}", caveat.sentence), options.columns() - INDENT, 0);
        for (index, line) in text.lines().enumerate() {
            let name = if index == 0 { caveat.severity.into() } else { "" };
            let name = format!("{name:<width$}", width = INDENT);
            out.push_str(&options.paint(&name, tone));
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
