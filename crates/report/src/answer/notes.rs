//! What stands under the table: which rows can be told apart, what the limit was.

use super::{demand, prices, steadiness, words};
use crate::case_table::CaseTable;
use crate::input::ReportInput;
use kdyno_model::conclusion::{Conclusion, Limit, LimitKind, ToldApart};
use kdyno_model::finding::Scope;
use kdyno_model::plan::Strategy;
use kdyno_model::trial::TrialId;

/// All of them, a whole sentence each.
pub fn notes(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Vec<String> {
    let mut notes = columns(input, table);
    notes.extend(of_shared_groups(input, table));
    notes.extend(limits(input));
    if !matches!(input.plan().strategy, Strategy::Find(_)) {
        notes.extend(demand::next(input));
    }
    notes.extend(steadiness::notes(input));
    notes.extend(prices::note(input.plan()));
    notes.extend(input.conditioning_note());
    notes
}

/// Metrics that need to know what was written to the partitions of an item.
const OF_OWN_PARTITIONS: [&str; 3] = ["lag", "caught_up", "censored"];

/// Why columns are empty whose item shares its group with another one.
fn of_shared_groups(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Option<String> {
    let is_shared = |item: &str| input.plan().cases.iter().any(|case| case.shares_group(item));
    let columns = table.columns.iter().map(|column| &column.of);
    let empty =
        columns.filter(|of| OF_OWN_PARTITIONS.contains(&of.metric.as_str()) && is_shared(&of.subject));
    let empty: Vec<String> = empty.map(ToString::to_string).collect();
    let why = "not told where the item shares its group with another one, for nobody counts what is written to the \
        partitions of one of them; `lag_records` is told.";
    (!empty.is_empty()).then(|| format!("{}: {why}", words::list(&empty)))
}

/// Which rows each column tells apart; once where it is the same for all of them that nothing can be told.
fn columns(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Vec<String> {
    let told: Vec<&ToldApart> = input
        .conclusions
        .iter()
        .filter_map(|one| match one {
            Conclusion::ToldApart(of) if table.rows.len() > 1 => Some(of),
            _ => None,
        })
        .collect();
    if let [one, _, ..] = told.as_slice()
        && let Some(why_not) = &one.why_not
        && told.iter().all(|of| of.why_not.as_ref() == Some(why_not))
    {
        return vec![format!("No column tells the rows apart: {why_not}.")];
    }
    let texts = told.into_iter().map(|of| told_apart(of, &|case| table.row_of(case)));
    texts.filter(|text| !text.is_empty()).collect()
}

/// `By writers.acked_per_s rows 2 and 3 differ from row 1; row 4 cannot be told from it.`
pub fn told_apart(of: &ToldApart, row_of: &dyn Fn(u32) -> Option<usize>) -> String {
    let base = row_of(of.base).map_or_else(|| "the first row".to_owned(), |row| format!("row {row}"));
    let rows = |cases: &[u32]| {
        let mut rows: Vec<usize> = cases.iter().filter_map(|case| row_of(*case)).collect();
        rows.sort_unstable();
        let names: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let word = if rows.len() == 1 { "row" } else { "rows" };
        (rows.len(), format!("{word} {}", words::list(&names)))
    };
    if let Some(why_not) = &of.why_not {
        return format!("By {} no rows can be told apart: {why_not}.", of.of);
    }
    let ((differ, differing), (same, alike)) = (rows(&of.differ), rows(&of.same));
    let differ_text = format!("{differing} {} from {base}", if differ == 1 { "differs" } else { "differ" });
    match (differ, same) {
        (0, 0) => String::new(),
        (_, 0) => format!("By {} {differ_text}.", of.of),
        (0, _) => format!("By {} {alike} cannot be told from {base}.", of.of),
        _ => format!("By {} {differ_text}; {alike} cannot be told from it.", of.of),
    }
}

/// Case, side of a comparison and load item that a limit is of.
type Whose<'a> = (u32, Option<&'a str>, &'a str);

/// One line per case, side and load item. A search names its limit where it was reached.
fn limits(input: &ReportInput<'_>) -> Vec<String> {
    if matches!(input.plan().strategy, Strategy::Find(_)) {
        return Vec::new();
    }
    let mut groups: Vec<(Whose<'_>, Vec<&Limit>)> = Vec::new();
    for trial in input.reported() {
        for limit in of_trial(input, trial.id) {
            let key = (trial.case, trial.variant.as_deref(), limit.item.as_str());
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(limit),
                None => groups.push((key, vec![limit])),
            }
        }
    }
    let line = |((case, variant, item), group): (Whose<'_>, Vec<&Limit>)| {
        let case = Some(input.case_label(case)).filter(|label| !label.is_empty());
        let side = variant.map(|side| format!("side {side}"));
        let whose: Vec<String> =
            case.map(str::to_owned).into_iter().chain(side).chain([item.to_owned()]).collect();
        format!("{}: {}.", whose.join(", "), of_all(&group))
    };
    groups.into_iter().map(line).collect()
}

/// The limits of a trial, one per load item.
pub(super) fn of_trial<'a>(input: &ReportInput<'a>, trial: TrialId) -> impl Iterator<Item = &'a Limit> {
    input.conclusions.iter().filter_map(move |one| match one {
        Conclusion::Limit(of) if of.scope == Scope::Trial(trial) => Some(of),
        _ => None,
    })
}

/// One limit: `writers: the limit was the brokers' processors (94 %); the fullest of the others: the load generator (62 %)`.
pub fn limit_sentence(limit: &Limit) -> String {
    let used = |kind| limit.evidence.iter().find(|one| one.kind == kind).and_then(|one| one.used);
    let next = limit.runner_up.and_then(|kind| Some((kind, used(kind)?)));
    let next = next.map_or_else(String::new, |(kind, share)| {
        let share = words::percent(share, Some(0.05));
        format!("; the fullest of the others: {} ({share})", words::limit(kind))
    });
    format!("{}: {}{next}", limit.item, of_all(&[limit]))
}

/// What several trials of one case say; each limit that was named with the number of trials that name it.
pub(super) fn of_all(limits: &[&Limit]) -> String {
    let mut named: Vec<(LimitKind, Vec<&Limit>)> = Vec::new();
    for limit in limits {
        match named.iter_mut().find(|(kind, _)| *kind == limit.named) {
            Some((_, group)) => group.push(limit),
            None => named.push((limit.named, vec![limit])),
        }
    }
    named.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let several = named.len() > 1;
    let text = |(kind, group): &(LimitKind, Vec<&Limit>)| {
        let in_some =
            if several { format!(", in {} of {} trials", group.len(), limits.len()) } else { String::new() };
        format!("{}{in_some}", of_kind(*kind, group))
    };
    named.iter().map(text).collect::<Vec<_>>().join("; ")
}

fn of_kind(kind: LimitKind, group: &[&Limit]) -> String {
    let used = group.iter().filter_map(|limit| {
        limit.evidence.iter().find(|evidence| evidence.kind == kind).and_then(|evidence| evidence.used)
    });
    let used = words::range(used, |share| words::percent(share, Some(0.05)));
    let used = used.map_or_else(String::new, |used| format!(" ({used})"));
    match kind {
        LimitKind::Schedule => {
            "no limit was reached: all that was offered was carried, and no queue grew".to_owned()
        }
        LimitKind::Unknown => "what the limit was could not be shown".to_owned(),
        kind => format!("the limit was {}{used}", words::limit(kind)),
    }
}
