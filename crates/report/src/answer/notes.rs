//! What is under the table: which rows differ, what the limit was.

use super::{prices, steadiness, words};
use crate::case_table::CaseTable;
use crate::input::ReportInput;
use kdyno_model::conclusion::{self, DistinctRows, Limit, LimitKind, LimitingDelay};
use kdyno_model::finding::Scope;
use kdyno_model::grouped::by_key;
use kdyno_model::plan::Strategy;
use kdyno_model::trial::TrialId;
use kdyno_model::units;
use std::collections::BTreeSet;

/// All of them, a whole sentence each.
pub fn notes(input: &ReportInput<'_>, table: &CaseTable<'_>, name: &CaseNames<'_>) -> Vec<String> {
    let mut notes = columns(input, table, name);
    notes.extend(of_shared_groups(input, table));
    notes.extend(limits(input));
    notes.extend(steadiness::notes(input));
    notes.extend(prices::note(input.plan()));
    notes.extend(input.conditioning_note());
    notes
}

/// Metrics that need to know what was written to the partitions of an item.
const OF_OWN_PARTITIONS: [&str; 3] = ["lag_time", "caught_up", "censored"];

/// Why columns are empty whose item shares its group with another one.
fn of_shared_groups(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Option<String> {
    let is_shared = |item: &str| input.plan().cases.iter().any(|case| case.shares_group(item));
    let columns = table.metrics.iter().map(|column| &column.of);
    let empty =
        columns.filter(|of| OF_OWN_PARTITIONS.contains(&of.metric.as_str()) && is_shared(&of.subject));
    let empty: Vec<String> = empty.map(ToString::to_string).collect();
    let why = "not known where the item shares its group with another one, since what is written to the partitions of one of \
        them is not counted; `lag` is.";
    (!empty.is_empty()).then(|| format!("{}: {why}", words::list(&empty)))
}

/// How many of some cases are in the table, and what they are called: `rows 2 and 3`, or by their labels.
pub type CaseNames<'a> = dyn Fn(&[u32]) -> (usize, String) + 'a;

/// Cases by the numbers of their rows.
pub fn by_row(table: &CaseTable<'_>, cases: &[u32]) -> (usize, String) {
    let mut rows: Vec<usize> = cases.iter().filter_map(|case| table.row_of(*case)).collect();
    rows.sort_unstable();
    let names: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let word = if rows.len() == 1 { "row" } else { "rows" };
    (rows.len(), format!("{word} {}", words::list(&names)))
}

/// Said where cases are not shown to differ, while single intervals may seem to say otherwise.
const JUDGED_TOGETHER: &str = "All comparisons of a figure are judged together (Holm's correction), which needs more than one \
    interval that leaves out ×1.";

/// Which rows differ in the figures; once for all figures that say the same.
fn columns(input: &ReportInput<'_>, table: &CaseTable<'_>, name: &CaseNames<'_>) -> Vec<String> {
    let reported = conclusion::of_kind::<DistinctRows>(input.conclusions).filter(|_| table.rows.len() > 1);
    let mut alike: Vec<Vec<&DistinctRows>> = Vec::new();
    for one in reported {
        let says_it = |group: &&mut Vec<&DistinctRows>| {
            group.first().is_some_and(|first| {
                (first.base, &first.differ, &first.same, &first.why_not)
                    == (one.base, &one.differ, &one.same, &one.why_not)
            })
        };
        match alike.iter_mut().find(says_it) {
            Some(group) => group.push(one),
            None => alike.push(vec![one]),
        }
    }
    if let [group] = alike.as_slice()
        && let [one, _, ..] = group.as_slice()
        && let Some(why_not) = &one.why_not
    {
        return vec![format!("No confidence intervals: {why_not}.")];
    }
    let texts = alike.iter().map(|group| distinguished(group, name));
    let mut texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    if alike.iter().flatten().any(|one| one.why_not.is_none() && !one.same.is_empty()) {
        texts.push(JUDGED_TOGETHER.to_owned());
    }
    texts
}

fn are(cases: usize) -> &'static str {
    if cases == 1 { "is" } else { "are" }
}

/// What some figures say that say the same: `writers.acked_per_s: rows 2 and 3 differ from row 1; row 4 is not shown to.`
pub fn distinguished(group: &[&DistinctRows], name: &CaseNames<'_>) -> String {
    let Some(of) = group.first() else { return String::new() };
    let by: Vec<String> = group.iter().map(|one| one.of.to_string()).collect();
    let by = words::list(&by);
    if let Some(why_not) = &of.why_not {
        return format!("{by}: inconclusive: {why_not}.");
    }
    let base = match name(&[of.base]) {
        (0, _) => "the first row".to_owned(),
        (_, base) => base,
    };
    let ((differ, differing), (same, alike)) = (name(&of.differ), name(&of.same));
    let differ_text = format!("{differing} {} from {base}", if differ == 1 { "differs" } else { "differ" });
    match (differ, same) {
        (0, 0) => String::new(),
        (_, 0) => format!("{by}: {differ_text}."),
        (0, _) => format!("{by}: {alike} {} not shown to differ from {base}.", are(same)),
        _ => format!("{by}: {differ_text}; {alike} {} not shown to.", are(same)),
    }
}

/// One line per case, side and load item. A search names its limit where it was reached.
pub(super) fn limits(input: &ReportInput<'_>) -> Vec<String> {
    if matches!(input.plan().strategy, Strategy::Find(_)) {
        return Vec::new();
    }
    let groups = by_key(input.reported().flat_map(|trial| {
        let variant = trial.variant.as_deref();
        of_trial(input, trial.id).map(move |limit| ((trial.case, variant, limit.item.as_str()), limit))
    }));
    let items: BTreeSet<&str> = groups.iter().map(|((.., item), _)| *item).collect();
    let count = groups.len();
    let said = by_key(groups.into_iter().map(|((case, variant, item), group)| {
        let case = Some(input.case_label(case)).filter(|label| !label.is_empty());
        let side = variant.map(|side| format!("side {side}"));
        let whose: Vec<String> =
            case.map(str::to_owned).into_iter().chain(side).chain([item.to_owned()]).collect();
        (of_all(&group), whose.join(", "))
    }));
    let line = |(says, whose): (String, Vec<String>)| match items.first() {
        Some(item) if items.len() == 1 && whose.len() == count && count > 2 => {
            format!("{item}, in all {count} cases: {says}.")
        }
        _ => format!("{}: {says}.", whose.join("; ")),
    };
    said.into_iter().map(line).collect()
}

/// The limits of a trial, one per load item.
pub(super) fn of_trial<'a>(input: &ReportInput<'a>, trial: TrialId) -> impl Iterator<Item = &'a Limit> {
    conclusion::of_kind::<Limit>(input.conclusions).filter(move |of| of.scope == Scope::Trial(trial))
}

/// One limit: `writers: limited by broker CPU (94 %); the fullest of the others: the load generator (62 %)`.
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
    let mut named = by_key(limits.iter().map(|limit| (limit.named, *limit)));
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
        LimitKind::Schedule => "kept up with the offered load, not saturated".to_owned(),
        LimitKind::Unknown => "what limited it is unknown".to_owned(),
        kind => {
            let (name, delay) = (named_as(kind, group), delayed(group));
            format!("limited by {name}{used}{delay}{}", not_judged(kind, group))
        }
    }
}

/// A delay is named where in each trial requests take as long as they do mostly because of it.
fn named_as(kind: LimitKind, group: &[&Limit]) -> &'static str {
    let is_delay = group.iter().all(|limit| limit.delay.is_some_and(|delay| delay.is_most()));
    if is_delay { "the declared `delay` × requests in flight" } else { words::limit(kind) }
}

/// How much of requests a declared delay is, and what passes without it.
fn delayed(group: &[&Limit]) -> String {
    let delays = || group.iter().filter_map(|limit| limit.delay);
    let of =
        |ns: fn(&LimitingDelay) -> f64| words::range(delays().map(|delay| ns(&delay)), units::nanoseconds);
    let Some((delay, request)) = of(|of| of.round_trip_ns as f64).zip(of(|of| of.request_ns)) else {
        return String::new();
    };
    let times = words::range(delays().filter_map(|delay| delay.times), units::significant);
    let then: BTreeSet<&str> = delays().filter_map(|delay| delay.then.map(words::limit)).collect();
    let then: Vec<String> = then.into_iter().map(str::to_owned).collect();
    let then = if then.is_empty() { String::new() } else { format!(", then {}", words::list(&then)) };
    let without =
        times.map_or_else(String::new, |times| format!("; without it up to {times} × as much{then}"));
    format!(": {delay} of a request's {request}{without}")
}

/// What a client has under way fills up before anything that is saturated, so what may be saturated unseen is said with it.
fn not_judged(kind: LimitKind, group: &[&Limit]) -> String {
    let is_pipeline =
        matches!(kind, LimitKind::RequestsInFlight | LimitKind::Replication | LimitKind::ClientBuffer);
    let evidence = || group.iter().flat_map(|limit| &limit.evidence);
    let resources = [
        LimitKind::Generator,
        LimitKind::BrokerProcessors,
        LimitKind::Disk,
        LimitKind::Network,
        LimitKind::Link,
    ];
    let is_left = |kind: &LimitKind| {
        let mut of_kind = evidence().filter(|one| one.kind == *kind).peekable();
        of_kind.peek().is_some() && of_kind.all(|one| one.used.is_none())
    };
    let left = resources.iter().filter(|kind| is_left(kind));
    let left: Vec<String> = left.map(|kind| words::limit(*kind).to_owned()).collect();
    match left.as_slice() {
        [] => String::new(),
        _ if !is_pipeline => String::new(),
        _ => format!("; not judged: {}", words::list(&left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::conclusion::LimitEvidence;

    fn limited(delay: Option<LimitingDelay>) -> Limit {
        let evidence = LimitEvidence {
            kind: LimitKind::RequestsInFlight,
            used: Some(1.0),
            shares: Default::default(),
            others: None,
            detail: String::new(),
        };
        Limit {
            scope: Scope::Trial(TrialId(1)),
            item: "writers".to_owned(),
            named: LimitKind::RequestsInFlight,
            runner_up: None,
            delay,
            evidence: vec![evidence],
        }
    }

    #[test]
    fn a_declared_delay_is_named_with_what_passes_without_it() {
        let delay = |request_ns: f64, times, then| {
            let of = LimitingDelay { round_trip_ns: 40_000_000, request_ns, times, then };
            limit_sentence(&limited(Some(of)))
        };
        assert_eq!(
            delay(42e6, Some(21.0), None),
            "writers: limited by the declared `delay` × requests in flight (100 %): 40.0 ms of a request's \
             42.0 ms; without it up to 21.0 × as much"
        );
        let bounded = delay(42e6, Some(2.5), Some(LimitKind::BrokerProcessors));
        assert!(bounded.ends_with("; without it up to 2.50 × as much, then broker CPU"), "{bounded}");
        let little = delay(400e6, Some(1.111), None);
        assert!(
            little.starts_with("writers: limited by requests in flight × round-trip time (100 %): 40.0 ms"),
            "{little}"
        );
        assert!(delay(40e6, None, None).ends_with("40.0 ms of a request's 40.0 ms"));
        let without = limit_sentence(&limited(None));
        assert_eq!(without, "writers: limited by requests in flight × round-trip time (100 %)");
    }
}
