//! What the cluster reported of logs and of consumer groups in the measured window.

use super::form::Answer;
use super::inside;
use crate::digits;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::event::{GROUP, Subject};
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::inside::BYTES_IN;
use kdyno_model::logs;
use kdyno_model::metric::{Address, Unit};
use std::collections::BTreeSet;

const BROKERS: &str = "brokers";
/// Logs that grew by less than this share of what clients wrote were deleted from: indexes and the instants of both readings make
/// less of a difference.
const GROWN_SHARE_MIN: f64 = 0.8;
/// Cases that are named at most.
const CASES_MAX: usize = 4;

const OF_LOGS: [(&str, &str); 6] = [
    ("run's topics", logs::RUN_LOG_BYTES),
    ("run's topics, growth", logs::RUN_LOG_GROWTH),
    ("all topics", logs::LOG_BYTES),
    ("all topics, growth", logs::LOG_GROWTH),
    ("under-replicated partitions", logs::RUN_UNDER_REPLICATED),
    ("fewest replicas in sync", logs::RUN_IN_SYNC_LEAST),
];

const OF_GROUPS: [(&str, &str); 4] = [
    ("records at start", logs::LAG_AT_START),
    ("records at end", logs::LAG_AT_END),
    ("time at start", logs::LAG_TIME_AT_START),
    ("time at end", logs::LAG_TIME_AT_END),
];

/// A table of logs and one of groups, each where anything was reported.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    let of_logs = table(input, ("broker", &is_of_brokers), &OF_LOGS);
    let of_groups = table(input, ("group", &|subject| subject.starts_with(GROUP)), &OF_GROUPS);
    let of_logs = of_logs.map(|table| {
        let note = "Bytes when the measured window ended, as the brokers report: each replica counts. Partitions and replicas are those \
            of the run's topics, at the worst reading.";
        let notes = std::iter::once(note.to_owned()).chain(deleted(input)).collect();
        Answer::of_table("Logs".to_owned(), table, notes)
    });
    let of_groups = of_groups.map(|table| {
        let note = "Records between a group's committed offsets and the ends of the logs of the run's topics, when the measured window \
            began and ended. Times are accurate to the 10 s between two readings.";
        Answer::of_table("Committed lag of consumer groups".to_owned(), table, vec![note.to_owned()])
    });
    of_logs.into_iter().chain(of_groups).collect()
}

/// Where logs grew by less than clients wrote, times the replicas of their topics: retention deleted meanwhile, or less was stored
/// than was sent, so that growth is not what was written.
fn deleted(input: &ReportInput<'_>) -> Option<String> {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let of_brokers = |scope: Scope, metric: &str| figures.value(scope, BROKERS, metric)?.estimate.exact();
    let cut = inside::groups(input).into_iter().filter_map(|(label, scope)| {
        let grown = of_brokers(scope, logs::LOG_GROWTH)?;
        let written = of_brokers(scope, BYTES_IN)? * f64::from(replicas(input, scope));
        let reported = format!(
            "{} of {} MiB/s{}",
            units::significant(grown),
            units::significant(written),
            in_case(&label)
        );
        (grown < GROWN_SHARE_MIN * written).then_some(reported)
    });
    let cut: Vec<String> = cut.collect();
    let shown = &cut[..cut.len().min(CASES_MAX)];
    let more = match cut.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!cut.is_empty()).then(|| {
        format!(
            "Logs grew by less than was written to all replicas ({}{more}): retention or compaction deleted meanwhile, or brokers \
             compressed, so growth is not what was written.",
            shown.join("; ")
        )
    })
}

/// Fewest replicas of a topic that a case writes to; of a target, whose topics may have others, one.
fn replicas(input: &ReportInput<'_>, scope: Scope) -> u32 {
    let plan = input.plan();
    let other = |case: u32| plan.strategy.as_compare().and_then(|compare| compare.b.get(case as usize));
    let case = match scope {
        Scope::Case(case) => plan.cases.get(case as usize),
        Scope::SideB { case } => other(case),
        _ => None,
    };
    let Some(case) = case.filter(|case| case.system.starts_brokers()) else { return 1 };
    let written = case.load.values().filter(|item| item.role.as_produce().is_some());
    let topics = written.flat_map(|item| item.topics()).filter_map(|topic| case.topics.get(topic));
    topics.map(|topic| topic.replicas).min().unwrap_or(1)
}

fn in_case(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!(" ({label})") }
}

/// Whether a figure is of a broker, or of all.
pub(super) fn is_of_brokers(subject: &str) -> bool {
    subject == BROKERS || subject.starts_with("broker-")
}

/// A row for each subject and case; columns with nothing known are left out.
pub(super) fn table(
    input: &ReportInput<'_>,
    (head, is_one): (&str, &dyn Fn(&str) -> bool),
    columns: &[(&str, &str)],
) -> Option<Table> {
    let figures = FindingIndex::new(input.findings, input.caveats);
    let is_wanted =
        |of: &Address| is_one(&of.subject) && columns.iter().any(|(_, metric)| *metric == of.metric);
    let wanted = || input.findings.iter().filter(|one| is_wanted(&one.of));
    let mut subjects: Vec<&str> = wanted().map(|one| one.of.subject.as_str()).collect();
    // Brokers by their numbers, all together last; what else there is by name.
    subjects.sort_by_cached_key(|subject| (*subject == BROKERS, subject.parse::<Subject>().ok(), *subject));
    subjects.dedup();
    let reported: BTreeSet<&str> = wanted().map(|one| one.of.metric.as_str()).collect();
    let columns: Vec<_> = columns.iter().filter(|(_, metric)| reported.contains(metric)).collect();
    let groups = inside::groups(input);
    let is_labelled = groups.len() > 1;
    let mut rows = Vec::new();
    for subject in subjects {
        for (label, scope) in &groups {
            let found: Vec<Option<&Finding>> =
                columns.iter().map(|(_, metric)| figures.value(*scope, subject, metric)).collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![Cell::from(subject.strip_prefix(GROUP).unwrap_or(subject).to_owned())];
            row.extend(is_labelled.then(|| Cell::from(label.clone())));
            row.extend(found.into_iter().map(|one| one.map_or_else(|| Cell::from(units::NOTHING), cell)));
            rows.push(row);
        }
    }
    let names = std::iter::once((head, false)).chain(is_labelled.then_some(("case", false)));
    let heads: Vec<(&str, bool)> = names.chain(columns.iter().map(|(head, _)| (*head, true))).collect();
    (!rows.is_empty()).then(|| Table::new(&heads, rows).with_names(1 + usize::from(is_labelled)))
}

/// A figure; a share in percent, as people speak of idle and busy.
fn cell(finding: &Finding) -> Cell {
    match finding.estimate {
        Value::Is(share) if finding.unit == Unit::Ratio => {
            let half_width = digits::half_width(finding).map(|width| 100.0 * width);
            let percent = digits::value(Value::Is(100.0 * share), Unit::Percent, half_width);
            Cell::figure(&finding.marks, percent)
        }
        _ => Cell::from(finding),
    }
}
