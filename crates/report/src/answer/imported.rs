//! What somebody else measured and was imported, in the window of each trial.

use super::form::Answer;
use super::table::TextTable;
use crate::input::{ReportInput, trial_name};
use crate::marks::Cell;
use crate::units;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::imported;

/// One row for each series and trial; `None`: nothing was imported.
pub(super) fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let is_imported = |one: &&Finding| imported::is_of(&one.of);
    let rows: Vec<Vec<Cell>> =
        input.findings.iter().filter(is_imported).filter_map(|one| row(one, input)).collect();
    if rows.is_empty() {
        return None;
    }
    let head =
        [("series", false), ("trial", false), ("mean", true), ("least", true), ("most", true), ("n", true)];
    let note =
        "Imported: somebody else measured it, and kdyno only says what it came to in the measured window.";
    let title = "Imported, not measured by kdyno".to_owned();
    Some(Answer::of_table(title, TextTable::new(&head, rows).with_names(2), vec![note.to_owned()]))
}

fn row(finding: &Finding, input: &ReportInput<'_>) -> Option<Vec<Cell>> {
    let Scope::Trial(id) = finding.scope else { return None };
    let value = |value: Value| units::value(value, finding.unit);
    let (least, most) = finding.range.unwrap_or((finding.estimate, finding.estimate));
    Some(vec![
        finding.of.to_string().into(),
        input.trial(id).map_or_else(|| id.to_string(), trial_name).into(),
        finding.into(),
        value(least).into(),
        value(most).into(),
        finding.n.to_string().into(),
    ])
}
