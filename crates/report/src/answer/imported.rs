//! What somebody else measured and was imported, in the window of each trial.

use super::form::Answer;
use crate::input::{ReportInput, trial_name};
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::imported;
use kdyno_model::metric::Unit;
use std::ops::Range;

/// What columns are called that hold instants, as seconds or milliseconds since 1970.
const INSTANTS: [&str; 6] = ["timestamp", "epoch", "start_time", "end_time", "starttime", "endtime"];
/// Seconds since 1970 from 2001 to 2099: the numbers that are taken for instants.
const INSTANTS_S: Range<f64> = 1e9..4.1e9;
const MS_FROM: f64 = 1e12;

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
    let note = "Imported: measured elsewhere; kdyno only summarises it over the measured window.";
    let title = "Imported, not measured by kdyno".to_owned();
    Some(Answer::of_table(title, Table::new(&head, rows).with_names(2), vec![note.to_owned()]))
}

fn row(finding: &Finding, input: &ReportInput<'_>) -> Option<Vec<Cell>> {
    let Scope::Trial(id) = finding.scope else { return None };
    let value = |value| instant(value, finding).unwrap_or_else(|| units::value(value, finding.unit));
    let mean = instant(finding.estimate, finding).map(|text| Cell::figure(&finding.marks, text));
    let (least, most) = finding.range.unwrap_or((finding.estimate, finding.estimate));
    Some(vec![
        finding.of.to_string().into(),
        input.trial(id).map_or_else(|| id.to_string(), trial_name).into(),
        mean.unwrap_or_else(|| finding.into()),
        value(least).into(),
        value(most).into(),
        finding.n.to_string().into(),
    ])
}

/// A value that is an instant, as one.
fn instant(value: Value, finding: &Finding) -> Option<String> {
    let Value::Is(number) = value else { return None };
    let name = finding.of.metric.to_lowercase();
    let is_called_so = name == "time" || INSTANTS.iter().any(|known| name.contains(known));
    let at_s = match finding.unit {
        // Nothing lasts for thirty years.
        Unit::Ns => number / 1e9,
        Unit::Count if is_called_so && number >= MS_FROM => number / 1e3,
        Unit::Count if is_called_so => number,
        _ => return None,
    };
    INSTANTS_S.contains(&at_s).then(|| units::instant((at_s * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{Interval, NotResolvable, Quantity};
    use kdyno_model::metric::Address;

    #[test]
    fn instants_are_shown_as_such_and_counts_as_counts() {
        let reported = |metric: &str, unit, number| {
            let of = Address { subject: "imported-rds".to_owned(), metric: metric.to_owned() };
            let finding = Finding {
                scope: Scope::Run,
                of,
                quantity: Quantity::Value,
                unit,
                estimate: Value::Is(number),
                n: 1,
                range: None,
                interval: Interval::NotResolvable(NotResolvable::OneTrial),
                marks: Default::default(),
            };
            instant(finding.estimate, &finding)
        };
        let at = Some("2026-03-07T09:05:04Z".to_owned());
        assert_eq!(reported("process_start_time_seconds", Unit::Count, 1_772_874_304.0), at);
        assert_eq!(reported("timeStamp", Unit::Count, 1_772_874_304_000.0), at);
        assert_eq!(
            reported("last_backup", Unit::Ns, 1_772_874_304e9),
            at,
            "in seconds: it is no length of time"
        );
        assert_eq!(reported("bytes_read", Unit::Count, 1_772_874_304.0), None);
        assert_eq!(reported("start_time", Unit::Count, 12.5), None);
        assert_eq!(reported("latency", Unit::Ns, 12.5e9), None);
    }
}
