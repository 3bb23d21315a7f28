//! Attributes of brokers' MBeans that the plan names, in the window of each trial.

use super::form::Answer;
use crate::input::{ReportInput, trial_name};
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::finding::{Finding, Scope};
use kdyno_model::mbean::{self, MBEAN, MbeanAttribute};
use kdyno_model::trial::Trial;

/// One row for each attribute, trial and broker; `None`: the plan names none.
pub(super) fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut is_any_missing = false;
    for trial in input.reported() {
        for text in trial.effective.system.mbeans() {
            let of_it = |one: &&Finding| {
                one.scope == Scope::Trial(trial.id)
                    && mbean::is_of(&one.of)
                    && one.of.metric.strip_prefix(MBEAN) == Some(text.as_str())
            };
            let before = rows.len();
            rows.extend(input.findings.iter().filter(of_it).map(|one| row(text, trial, one)));
            if rows.len() == before {
                is_any_missing = true;
                rows.push(unread(text, trial));
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let head = [
        ("attribute", false),
        ("broker", false),
        ("trial", false),
        ("mean", true),
        ("least", true),
        ("most", true),
        ("n", true),
    ];
    let mut notes = vec!["As brokers have them, every 10 s; kdyno does not know their units.".to_owned()];
    if is_any_missing {
        notes.push(
            "Not read: no broker has an object and attribute of that name, or their metrics were not read."
                .to_owned(),
        );
    }
    let title = "MBeans of the brokers".to_owned();
    Some(Answer::of_table(title, Table::new(&head, rows).with_names(3), notes))
}

/// What tells it apart, without domain and keys: `ReplicaManager LeaderCount/Value`. Charts and exports have the whole name.
fn short(text: &str) -> String {
    let Ok(of) = MbeanAttribute::parse(text) else { return text.to_owned() };
    let values: Vec<&str> = of.object.properties.iter().map(|(_, value)| *value).collect();
    format!("{}/{}", values.join(" "), of.attribute)
}

fn row(text: &str, trial: &Trial, finding: &Finding) -> Vec<Cell> {
    let (least, most) = finding.range.unwrap_or((finding.estimate, finding.estimate));
    vec![
        short(text).into(),
        finding.of.subject.as_str().into(),
        trial_name(trial).into(),
        finding.into(),
        units::value(least, finding.unit).into(),
        units::value(most, finding.unit).into(),
        finding.n.to_string().into(),
    ]
}

fn unread(text: &str, trial: &Trial) -> Vec<Cell> {
    let mut cells: Vec<Cell> =
        vec![short(text).into(), units::NOTHING.into(), trial_name(trial).into(), "not read".into()];
    cells.extend((0..3).map(|_| Cell::from(units::NOTHING)));
    cells
}
