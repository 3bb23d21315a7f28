//! Where the time goes: the stages of records that were produced, and the brokers' own split of the requests that
//! carried them.

use super::form::Answer;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::inside::{RequestKind, RequestStage, stage_metric};
use kdyno_model::sample::Timing;

/// Its caption.
pub const TITLE: &str = "Where the time goes";
const BROKERS: &str = "brokers";

const NOTES: [&str; 3] = [
    "A stage of a load item that took no time in any column is left out.",
    "Means in the measured window. `request` includes the stages of the broker; the rest of it is network and socket wait. Stages of \
     a broker are per produce request from any client, those of load items per record.",
    "Kafka rounds each stage of each request to whole milliseconds, so a broker's stage is not known more exactly, and the stages \
     need not add up to the total.",
];

const OF_JAVA: &str = "A Java client reports no stages: its service includes the stages of the broker, its own time, such as linger, and \
    the network. Its CPU time is shown separately; that of kdyno's own client is part of its worker's.";

/// The table: a row for each stage, a column for each case and side; `None`: no broker reported its split.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let find = |scope: Scope, subject: &str, metric: &str| -> Option<&Finding> {
        figures.value(scope, subject, metric).filter(|found| found.estimate != Value::None)
    };
    let total = stage_metric(RequestKind::Produce, RequestStage::Total);
    let groups: Vec<(String, Scope)> =
        groups(input).into_iter().filter(|(_, scope)| find(*scope, BROKERS, &total).is_some()).collect();
    if groups.is_empty() {
        return None;
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut row = |name: String, subject: &str, metric: &str| {
        let found: Vec<Option<&Finding>> =
            groups.iter().map(|(_, scope)| find(*scope, subject, metric)).collect();
        // For a broker's stage 0 is less than its clock resolves.
        let took_time = |one: &&Finding| one.estimate != Value::Is(0.0) || subject == BROKERS;
        if found.iter().flatten().any(took_time) {
            let figure = |one: Option<&Finding>| one.map_or_else(|| Cell::from(units::NOTHING), Cell::from);
            rows.push(std::iter::once(Cell::from(name)).chain(found.into_iter().map(figure)).collect());
        }
    };
    for item in items(input) {
        for stage in Timing::STAGES {
            row(format!("{item}: {}", words(&stage.to_string())), item, &format!("{stage}.mean"));
        }
        if is_java(input, item) {
            row(format!("{item}: service in all"), item, &format!("{}.mean", Timing::Service));
        }
    }
    for stage in RequestStage::all() {
        let name = format!("{BROKERS}: {}", words(&stage.to_string()));
        row(name, BROKERS, &stage_metric(RequestKind::Produce, stage));
    }
    let heads = groups.iter().map(|(name, _)| if name.is_empty() { "mean" } else { name.as_str() });
    let columns: Vec<(&str, bool)> =
        std::iter::once(("stage", false)).chain(heads.map(|head| (head, true))).collect();
    let of_java = items(input).into_iter().any(|item| is_java(input, item)).then_some(OF_JAVA);
    let notes = NOTES.into_iter().chain(of_java).map(str::to_owned).collect();
    Some(Answer::of_table(TITLE.to_owned(), Table::new(&columns, rows), notes))
}

/// Whether Kafka's own client carries an item in any case.
fn is_java(input: &ReportInput<'_>, item: &str) -> bool {
    input
        .plan()
        .every_case()
        .any(|case| case.load.get(item).is_some_and(|item| item.driver.as_java().is_some()))
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Every case, of a comparison each side of it.
pub(super) fn groups(input: &ReportInput<'_>) -> Vec<(String, Scope)> {
    let is_compared = input.sides().is_some();
    let sides = |case: u32| {
        let of = |side: usize, scope| (input.side_label(case, side), scope);
        let b = is_compared.then(|| of(1, Scope::SideB { case }));
        std::iter::once(of(0, Scope::Case(case))).chain(b)
    };
    (0u32..).zip(&input.plan().cases).flat_map(|(case, _)| sides(case)).collect()
}

/// The load items that produce, by address.
fn items<'a>(input: &ReportInput<'a>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for case in &input.plan().cases {
        for (name, item) in &case.load {
            if item.role.as_produce().is_some() && !found.contains(&name.as_str()) {
                found.push(name);
            }
        }
    }
    found
}
