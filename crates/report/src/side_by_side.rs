//! Runs next to each other: a column per run, a row per figure that their scenarios show.

use crate::answer::Answer;
use crate::answer::words::list;
use crate::course::{self, CourseRun, figure_document, hosts_note, place, started};
use crate::figures::FindingIndex;
use crate::grid::TextOptions;
use crate::headings::named;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::terminal::answer_text;
use crate::trials::brief_metrics;
use crate::{digits, markdown, units};
use kdyno_model::caveat::{ScopedCaveat, Severity};
use kdyno_model::finding::{Finding, Quantity};
use kdyno_model::grouped::distinct;
use kdyno_model::metric::Address;
use kdyno_model::plan::CasePlan;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Runs next to each other, ready for any printer.
#[derive(Debug)]
pub struct RunsSideBySide {
    answer: Answer,
    document: Value,
}

/// A figure's place: what its case, and of a comparison its side, is called, and what it is of.
type FigureKey = (String, Address);

/// Sets runs next to each other in the order in which they are given; rows in the order of the first that has them.
pub fn table(runs: &[CourseRun<'_>]) -> RunsSideBySide {
    let columns: Vec<BTreeMap<FigureKey, &Finding>> = runs.iter().map(|run| figures(&run.input)).collect();
    let is_known = |row: &FigureKey| columns.iter().any(|column| column.contains_key(row));
    let rows = distinct(runs.iter().flat_map(|run| rows_of(&run.input)).filter(is_known));
    let are_cases_named = rows.iter().any(|(case, _)| !case.is_empty());
    let mut cells = facts(runs, are_cases_named);
    for (index, row) in rows.iter().enumerate() {
        let (case, of) = row;
        let is_first_of_case = index == 0 || rows[index - 1].0 != *case;
        let mut line: Vec<Cell> = Vec::new();
        if are_cases_named {
            line.push(if is_first_of_case { case.as_str() } else { "" }.into());
        }
        line.push(named(of).into());
        line.extend(
            columns
                .iter()
                .map(|column| column.get(row).map_or_else(|| units::NOTHING.into(), |one| cell(one))),
        );
        cells.push(line);
    }
    let names: Vec<String> = (1..=runs.len()).map(|number| format!("run {number}")).collect();
    let mut heads = vec![("", false)];
    if are_cases_named {
        heads.insert(0, ("case", false));
    }
    heads.extend(names.iter().map(|name| (name.as_str(), true)));
    let table = Table::new(&heads, cells).with_names(1 + usize::from(are_cases_named));
    let mut notes = notes(runs, &rows);
    let is_shared = |row: &FigureKey| columns.iter().filter(|column| column.contains_key(row)).count() > 1;
    if runs.len() > 1 && !rows.is_empty() && !rows.iter().any(is_shared) {
        let text = "No figure is of two of these runs: their load items or cases have other names.";
        notes.insert(0, text.to_owned());
    }
    let answer = Answer::of_table("Runs".to_owned(), table, notes);
    let figures: Vec<Value> = rows.iter().map(|row| document(row, &columns)).collect();
    let document =
        serde_json::json!({"runs": runs.iter().map(run_document).collect::<Vec<_>>(), "figures": figures});
    RunsSideBySide { answer, document }
}

impl RunsSideBySide {
    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    /// For a terminal.
    pub fn text(&self, options: &TextOptions) -> String {
        answer_text(&self.answer, options)
    }

    /// To paste.
    pub fn markdown(&self) -> String {
        markdown::answer_block(&self.answer)
    }

    /// The runs, and one object per figure, in the metric's own unit, with a value per run.
    pub fn json(&self) -> Value {
        self.document.clone()
    }
}

/// The figures that a run's scenario shows; of one that shows none the main figures of its loads.
fn addresses(input: &ReportInput<'_>) -> Vec<Address> {
    let shown = &input.plan().show.columns;
    if !shown.is_empty() {
        return shown.clone();
    }
    let main: Vec<&str> = brief_metrics().collect();
    let known: BTreeSet<&Address> = input.findings.iter().map(|one| &one.of).collect();
    let subjects: BTreeSet<&str> = known.iter().map(|of| of.subject.as_str()).collect();
    let of = |subject: &str| {
        let of_main =
            main.iter().map(|metric| Address { subject: subject.to_owned(), metric: (*metric).to_owned() });
        of_main.filter(|of| known.contains(of)).collect::<Vec<_>>()
    };
    subjects.into_iter().flat_map(of).collect()
}

/// The rows of a run, case by case.
fn rows_of(input: &ReportInput<'_>) -> Vec<FigureKey> {
    let plan = input.plan();
    let addresses = addresses(input);
    let sides = if input.sides().is_some() { 2 } else { 1 };
    let places = (0..plan.cases.len() as u32).flat_map(|case| (0..sides).map(move |side| (case, side)));
    let row = |(case, side)| {
        addresses.iter().map(|of| (input.side_label(case, side), of.clone())).collect::<Vec<_>>()
    };
    places.flat_map(row).collect()
}

fn figures<'a>(input: &ReportInput<'a>) -> BTreeMap<FigureKey, &'a Finding> {
    let is_value = |one: &&Finding| one.quantity == Quantity::Value;
    let of_place = |one: &'a Finding| {
        let (case, side) = place(one.scope)?;
        Some(((input.side_label(case, side), one.of.clone()), one))
    };
    input.findings.iter().filter(is_value).filter_map(of_place).collect()
}

fn cell(one: &Finding) -> Cell {
    Cell::figure(&one.marks, digits::with_spread(one))
}

/// In what the runs differ, a row each; without those that no run has.
fn facts(runs: &[CourseRun<'_>], are_cases_named: bool) -> Vec<Vec<Cell>> {
    type Fact = fn(&CourseRun<'_>) -> String;
    let all: [(&str, Fact); 9] = [
        ("file", |run| run.file.clone()),
        ("started", |run| started(&run.input).map_or_else(String::new, units::instant)),
        ("scenario", |run| run.input.plan().scenario.clone()),
        ("profile", |run| run.input.plan().profile.clone()),
        ("changed", |run| {
            let changed = run.input.plan().changed.iter().map(|(name, value)| format!("{name}={value}"));
            changed.collect::<Vec<_>>().join(", ")
        }),
        ("system", |run| system(&run.input)),
        ("kafka", |run| {
            let of_trials = run.input.trials.iter().filter_map(|start| start.cluster.get("kafka"));
            of_trials.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
        }),
        ("trials complete", |run| run.input.complete(&counted(&run.input)).to_string()),
        ("not as planned", |run| run.input.outcome(&counted(&run.input)).unwrap_or_default()),
    ];
    let row = |(name, fact): (&str, Fact)| {
        let texts: Vec<String> = runs.iter().map(fact).collect();
        texts.iter().any(|text| !text.is_empty()).then(|| {
            let mut line: Vec<Cell> = Vec::new();
            if are_cases_named {
                line.push("".into());
            }
            line.push(name.into());
            line.extend(
                texts
                    .into_iter()
                    .map(|text| Cell::from(if text.is_empty() { units::NOTHING.to_owned() } else { text })),
            );
            line
        })
    };
    all.into_iter().filter_map(row).collect()
}

/// What carried the load.
fn system(input: &ReportInput<'_>) -> String {
    let kind = |case: &CasePlan| match case.system.peculiarity() {
        Some(peculiarity) => format!("{}: it {peculiarity}", case.system.kind()),
        None => case.system.kind(),
    };
    input.plan().every_case().map(kind).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

fn counted<'a>(input: &ReportInput<'a>) -> FindingIndex<'a> {
    FindingIndex::new(input.findings, input.caveats)
}

fn notes(runs: &[CourseRun<'_>], rows: &[FigureKey]) -> Vec<String> {
    let mut notes = Vec::new();
    if rows.is_empty() {
        notes.push("These runs have no figures.".to_owned());
    }
    let is_warning = |one: &ScopedCaveat| one.severity != Severity::Note;
    let warned: Vec<String> = (1..)
        .zip(runs)
        .filter(|(_, run)| run.input.caveats.iter().any(is_warning))
        .map(|(number, _)| number.to_string())
        .collect();
    if !warned.is_empty() {
        let word = if warned.len() == 1 { "Run" } else { "Runs" };
        let has = if warned.len() == 1 { "has" } else { "have" };
        notes.push(format!("{word} {} {has} warnings: `kdyno show RUN` prints them.", list(&warned)));
    }
    notes.extend(hosts_note(runs));
    notes.push(
        "Nothing is judged here: `kdyno compare --before RUN… --after RUN…` says whether runs differ."
            .to_owned(),
    );
    notes
}

fn run_document(run: &CourseRun<'_>) -> Map<String, Value> {
    let mut document = course::run_document(run);
    document.insert("system".to_owned(), system(&run.input).into());
    document
}

fn document((case, of): &FigureKey, columns: &[BTreeMap<FigureKey, &Finding>]) -> Value {
    let row = (case.clone(), of.clone());
    let one = |column: &BTreeMap<FigureKey, &Finding>| {
        column.get(&row).map_or(Value::Null, |finding| figure_document(finding).into())
    };
    serde_json::json!({
        "case": case,
        "metric": of.to_string(),
        "unit": columns.iter().find_map(|column| column.get(&row)).map(|finding| finding.unit),
        "runs": columns.iter().map(one).collect::<Vec<_>>(),
    })
}
