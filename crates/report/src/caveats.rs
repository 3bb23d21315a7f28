//! Caveats in words: what is doubtful, in which cases, and what to do about it.
//!
//! The same doubt over many trials is told once, with the range of its figure and the trials it concerns.

use crate::figures::{case_label, trial_label};
use crate::input::TrialCaveat;
use crate::units;
use kdyno_model::finding::{Caveat, Severity};
use kdyno_model::metric::Unit;
use kdyno_model::plan::{Plan, TrialRef};
use std::collections::{BTreeMap, BTreeSet};

/// One doubt, told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// How heavy it is.
    pub severity: Severity,
    /// What is doubtful: a sentence that starts with a lower-case word and has no full stop.
    pub what: String,
    /// What to do about it; empty when there is nothing to do.
    pub advice: String,
    /// The trials concerned, e.g. `all trials` or `brokers=3 #2; brokers=6`.
    pub concerns: String,
}

/// A severity as the reader sees it.
#[must_use]
pub fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "caveat",
        Severity::Invalid => "invalid",
    }
}

/// Groups and words a run's caveats, the heaviest first.
#[must_use]
pub fn worded(plan: &Plan, caveats: &[TrialCaveat]) -> Vec<Worded> {
    let mut groups: BTreeMap<(std::cmp::Reverse<Severity>, u8, String), Vec<&TrialCaveat>> = BTreeMap::new();
    for caveat in caveats {
        let (kind, of) = group_of(&caveat.2);
        groups.entry((std::cmp::Reverse(caveat.1), kind, of)).or_default().push(caveat);
    }
    let word_group =
        |((severity, _, _), group): ((std::cmp::Reverse<Severity>, u8, String), Vec<&TrialCaveat>)| {
            let members: Vec<&Caveat> = group.iter().map(|(_, _, caveat)| caveat).collect();
            let (what, advice) = words(&members);
            let trials: BTreeSet<TrialRef> = group.iter().map(|(trial, _, _)| *trial).collect();
            Worded { severity: severity.0, what, advice, concerns: concerns(plan, &trials) }
        };
    groups.into_iter().map(word_group).collect()
}

/// One caveat alone, for a line about its trial.
#[must_use]
pub fn single(caveat: &Caveat) -> String {
    words(&[caveat]).0
}

/// A caveat's kind, as in the run file.
#[must_use]
pub fn kind(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::OfferedNotAchieved { .. } => "offered-not-achieved",
        Caveat::QueueAtStart { .. } => "queue-at-start",
        Caveat::AccountingBroken { .. } => "accounting-broken",
        Caveat::SamplesMissing { .. } => "samples-missing",
        Caveat::Failures { .. } => "failures",
        Caveat::Unresolved { .. } => "unresolved",
        Caveat::ThreadBusy { .. } => "thread-busy",
        Caveat::WorkerBusy { .. } => "worker-busy",
        Caveat::HostShared { .. } => "host-shared",
        Caveat::FetchErrors { .. } => "fetch-errors",
        Caveat::RecordsSkipped { .. } => "records-skipped",
        Caveat::ScheduleDelayLarge { .. } => "lag-large",
        Caveat::SharedProcessors { .. } => "shared-processors",
        Caveat::Steal { .. } => "steal",
        Caveat::OtherLoad { .. } => "other-load",
        Caveat::MemoryStorage => "memory-storage",
        Caveat::ClosedLoop { .. } => "closed-loop",
        Caveat::CutShort { .. } => "cut-short",
        Caveat::ProcessDied { .. } => "process-died",
        Caveat::UnknownSetting { .. } => "unknown-setting",
        Caveat::PooledCompression { .. } => "pooled-compression",
        Caveat::AssignedNotGroup { .. } => "assigned-not-group",
    }
}

/// Which trials, in as few words as are exact.
fn concerns(plan: &Plan, trials: &BTreeSet<TrialRef>) -> String {
    let all: BTreeSet<TrialRef> = plan.order.iter().copied().collect();
    if all.len() == 1 {
        return String::new();
    }
    if *trials == all {
        return "all trials".to_owned();
    }
    let mut parts = Vec::new();
    let cases: BTreeSet<u32> = trials.iter().map(|trial| trial.case).collect();
    for case in cases {
        let ours: Vec<TrialRef> = trials.iter().copied().filter(|trial| trial.case == case).collect();
        let planned = all.iter().filter(|trial| trial.case == case).count();
        match (plan.cases.get(case as usize), ours.as_slice()) {
            (Some(of), _) if ours.len() == planned => parts.push(case_label(of).to_owned()),
            (_, [only]) => parts.push(trial_label(plan, *only)),
            (Some(of), _) => {
                let repeats: Vec<String> = ours.iter().map(|t| (t.repeat + 1).to_string()).collect();
                parts.push(format!("{} #{}", case_label(of), repeats.join(" #")));
            }
            (None, _) => parts.push("an unknown case".to_owned()),
        }
    }
    parts.join("; ")
}

/// What makes two caveats the same doubt: their kind (also their place among equals) and what they are of.
fn group_of(caveat: &Caveat) -> (u8, String) {
    match caveat {
        Caveat::AccountingBroken { item, .. } => (0, item.clone()),
        Caveat::SamplesMissing { item, .. } => (1, item.clone()),
        Caveat::ProcessDied { subject } => (2, subject.clone()),
        Caveat::CutShort { reason } => (3, reason.clone()),
        Caveat::UnknownSetting { setting, .. } => (4, setting.clone()),
        Caveat::OfferedNotAchieved { item, .. } => (5, item.clone()),
        Caveat::QueueAtStart { item, .. } => (6, item.clone()),
        Caveat::Failures { item, reason, .. } => (7, format!("{item} {reason}")),
        Caveat::Unresolved { item, .. } => (8, item.clone()),
        Caveat::FetchErrors { item, .. } => (9, item.clone()),
        Caveat::RecordsSkipped { item, .. } => (10, item.clone()),
        Caveat::ThreadBusy { thread, .. } => (11, thread.clone()),
        Caveat::WorkerBusy { .. } => (12, String::new()),
        Caveat::ScheduleDelayLarge { item, .. } => (13, item.clone()),
        Caveat::HostShared { detail } => (14, detail.clone()),
        Caveat::Steal { .. } => (15, String::new()),
        Caveat::OtherLoad { .. } => (16, String::new()),
        Caveat::SharedProcessors { .. } => (17, String::new()),
        Caveat::ClosedLoop { item } => (18, item.clone()),
        Caveat::MemoryStorage => (19, String::new()),
        Caveat::PooledCompression { item } => (20, item.clone()),
        Caveat::AssignedNotGroup { item } => (21, item.clone()),
    }
}

/// Smallest and largest of a group's figures, as one or two printed numbers.
fn range(
    group: &[&Caveat],
    figure: impl Fn(&Caveat) -> Option<f64>,
    print: impl Fn(f64) -> String,
) -> String {
    let figures: Vec<f64> = group.iter().filter_map(|caveat| figure(caveat)).collect();
    let min = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let max = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if figures.is_empty() {
        return units::NOTHING.to_owned();
    }
    let (low, high) = (print(min), print(max));
    if low == high { low } else { format!("{low} to {high}") }
}

fn percent(share: f64) -> String {
    format!("{} %", units::significant(share * 100.0))
}

/// The sentence and the advice. The group is of one kind and has at least one member.
fn words(group: &[&Caveat]) -> (String, String) {
    let Some(first) = group.first() else { return (String::new(), String::new()) };
    let what = what(first, group);
    (what, advice(first).to_owned())
}

fn what(first: &Caveat, group: &[&Caveat]) -> String {
    let over = |print: fn(f64) -> String| range(group, figure, print);
    match first {
        Caveat::OfferedNotAchieved { item, .. } => {
            format!(
                "{item}: only {} of the offered records were accepted and acknowledged in the window, below 99.5 %: \
                 latencies grow with the length of the trial and must not be used",
                over(percent)
            )
        }
        Caveat::QueueAtStart { item, .. } => format!(
            "{item}: the window began with {} of the load still waiting from the warm-up: latencies hold that queue \
             and must not be used",
            over(|seconds| units::nanoseconds(seconds * 1e9))
        ),
        Caveat::AccountingBroken { item, .. } => format!(
            "{item}: offered records differ from acknowledged + failed + unresolved by {}: a defect of kdyno",
            over(units::count)
        ),
        Caveat::SamplesMissing { item, .. } => format!(
            "{item}: the stored rows and the stream's own account differ by {} records: samples were lost",
            over(units::count)
        ),
        Caveat::Failures { item, reason, .. } => {
            format!("{item}: {} records failed with {reason}", over(units::count))
        }
        Caveat::Unresolved { item, .. } => format!(
            "{item}: the outcome of {} records was still open when the drain ended; they lie above every quantile",
            over(units::count)
        ),
        Caveat::ScheduleDelayLarge { item, .. } => what_lag(item, group),
        Caveat::ThreadBusy { thread, .. } => format!(
            "the load generator's thread {thread} used {}: it may be the limit itself",
            over(percent_of_core)
        ),
        Caveat::WorkerBusy { cores, .. } => format!(
            "the load generator used {}, and it could use {cores} cores at most: it may be the limit itself",
            over(percent_of_core)
        ),
        Caveat::FetchErrors { item, first, .. } => {
            format!("{item}: fetching met errors, told in {} events; the first: {first}", over(units::count))
        }
        Caveat::RecordsSkipped { item, first, .. } => format!(
            "{item}: records were gone before they were fetched, told in {} events; the first: {first}",
            over(units::count)
        ),
        Caveat::Steal { .. } => format!("the hypervisor took {} of the processor time", over(percent)),
        Caveat::OtherLoad { .. } => {
            format!("programs that are not part of the run used {}", over(percent_of_core))
        }
        _ => what_plain(first),
    }
}

/// The one figure of a caveat that varies between trials.
fn figure(caveat: &Caveat) -> Option<f64> {
    match caveat {
        Caveat::OfferedNotAchieved { share, .. } | Caveat::Steal { share } => Some(*share),
        Caveat::QueueAtStart { seconds, .. } => Some(*seconds),
        Caveat::AccountingBroken { difference, .. } => Some(*difference as f64),
        Caveat::SamplesMissing { records, .. } => Some(*records as f64),
        Caveat::Failures { records, .. } | Caveat::Unresolved { records, .. } => Some(*records as f64),
        Caveat::FetchErrors { events, .. } | Caveat::RecordsSkipped { events, .. } => Some(*events as f64),
        Caveat::ThreadBusy { cpu_percent, .. }
        | Caveat::WorkerBusy { cpu_percent, .. }
        | Caveat::OtherLoad { cpu_percent } => Some(*cpu_percent),
        _ => None,
    }
}

fn percent_of_core(value: f64) -> String {
    units::number(value, Unit::PercentOfCore)
}

fn what_lag(item: &str, group: &[&Caveat]) -> String {
    let of = |response: bool| {
        range(
            group,
            |c| match c {
                Caveat::ScheduleDelayLarge { schedule_delay_ns_p99, response_ns_p99, .. } => {
                    Some(if response { *response_ns_p99 } else { *schedule_delay_ns_p99 } as f64)
                }
                _ => None,
            },
            units::nanoseconds,
        )
    };
    format!(
        "{item}: the load generator itself was late by {} at p99, more than a tenth of the response time of {}",
        of(false),
        of(true)
    )
}

/// The kinds without a figure that varies.
fn what_plain(caveat: &Caveat) -> String {
    match caveat {
        Caveat::SharedProcessors { processors } => format!(
            "brokers and load generator share the same {processors} processors, so each takes time from the other"
        ),
        Caveat::MemoryStorage => {
            "the brokers' logs lay in memory-backed storage, so no disk was measured".to_owned()
        }
        Caveat::ClosedLoop { item } => format!(
            "{item}: at the maximum rate a latency is the time to fill and empty the client's own buffer, not the \
             cluster's"
        ),
        Caveat::CutShort { reason } => format!("the trial ended before its plan did: {reason}"),
        Caveat::ProcessDied { subject } => format!("{subject} ended in the middle of the trial"),
        Caveat::UnknownSetting { detail, .. } => detail.clone(),
        Caveat::HostShared { detail } => {
            format!("another measured run used this host at the same time: {detail}")
        }
        Caveat::PooledCompression { item } => {
            format!("{item}: payloads from a pool compress differently from real ones")
        }
        Caveat::AssignedNotGroup { item } => format!(
            "{item}: partitions were assigned by kdyno, not by a consumer group, so no rebalance or group \
             coordination was measured"
        ),
        Caveat::OfferedNotAchieved { .. }
        | Caveat::QueueAtStart { .. }
        | Caveat::AccountingBroken { .. }
        | Caveat::SamplesMissing { .. }
        | Caveat::Failures { .. }
        | Caveat::Unresolved { .. }
        | Caveat::FetchErrors { .. }
        | Caveat::RecordsSkipped { .. }
        | Caveat::ThreadBusy { .. }
        | Caveat::WorkerBusy { .. }
        | Caveat::ScheduleDelayLarge { .. }
        | Caveat::OtherLoad { .. }
        | Caveat::Steal { .. } => String::new(),
    }
}

/// What the reader can do about it.
fn advice(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::OfferedNotAchieved { .. } => {
            "offer less, use more clients, or ask for `rate: max` when the maximum is the question"
        }
        Caveat::QueueAtStart { .. } => {
            "lengthen phases.warmup until fresh brokers keep up, or lower the rate"
        }
        Caveat::AccountingBroken { .. } | Caveat::SamplesMissing { .. } => {
            "do not use these figures; please report it with the run file"
        }
        Caveat::Failures { reason, .. } => match reason.as_str() {
            "max-block" => {
                "the cluster took less than was offered for longer than max.block.ms: lower the rate"
            }
            "delivery-timeout" => {
                "no answer within delivery.timeout.ms: lower the rate or look at the brokers' logs"
            }
            _ => "the run's events and the brokers' logs say when and why",
        },
        Caveat::Unresolved { .. } => {
            "offer less, lengthen `phases.drain`, or look for a broker that stopped answering"
        }
        Caveat::FetchErrors { .. } => "the run's events and the brokers' logs say when and why",
        Caveat::RecordsSkipped { .. } => {
            "keep records longer (`retention.ms` and `retention.bytes` of the topic), or read faster"
        }
        Caveat::HostShared { .. } => "run one at a time, and repeat",
        Caveat::ThreadBusy { .. } | Caveat::WorkerBusy { .. } => {
            "use fewer clients or larger batches, pooled payloads, or a machine of its own for the load"
        }
        Caveat::ScheduleDelayLarge { .. } => {
            "read the latencies as upper bounds, or lower the rate until the lag is small"
        }
        Caveat::SharedProcessors { .. } => {
            "compare cases of this run with each other; for absolute figures attach to a cluster on other machines"
        }
        Caveat::Steal { .. } => "repeat on a quieter host, and compare only trials that ran close together",
        Caveat::OtherLoad { .. } => "end them, or run where nothing else does, and repeat",
        Caveat::MemoryStorage => {
            "put the logs on a disk (`storage: disk`) when the disk is part of the question"
        }
        Caveat::ClosedLoop { .. } => "for latencies offer a fixed rate below the maximum",
        Caveat::CutShort { .. } => "the figures cover the time that ran; repeat the trial for the whole",
        Caveat::UnknownSetting { .. } => {
            "correct its name in `system.config`; a setting of a plugin may stay as it is"
        }
        Caveat::ProcessDied { .. } => "see the events and the excerpt of its log in the run file",
        Caveat::PooledCompression { .. } => "use unique payloads when the compression ratio matters",
        Caveat::AssignedNotGroup { .. } => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_states_the_range_of_its_figures() {
        let a = Caveat::OfferedNotAchieved { item: "writers".to_owned(), share: 0.9 };
        let b = Caveat::OfferedNotAchieved { item: "writers".to_owned(), share: 0.95 };
        let (what, advice) = words(&[&a, &b]);
        assert!(what.contains("90.0 % to 95.0 %"), "{what}");
        assert!(what.contains("latencies grow") && what.contains("must not be used"), "{what}");
        assert!(advice.contains("offer less"), "{advice}");
    }

    #[test]
    fn doubts_of_two_kinds_about_one_item_stay_apart() {
        let item = || "writers".to_owned();
        let trials = [
            Caveat::OfferedNotAchieved { item: item(), share: 0.9 },
            Caveat::QueueAtStart { item: item(), records: 30, seconds: 3.0 },
        ];
        assert_ne!(group_of(&trials[0]), group_of(&trials[1]));
        let (what, _) = words(&[&trials[1]]);
        assert!(what.contains("3.00 s of the load"), "{what}");
    }

    #[test]
    fn each_unknown_setting_is_told_once_in_the_words_of_its_event() {
        let caveat = |name: &str| Caveat::UnknownSetting {
            setting: name.to_owned(),
            detail: format!("the brokers know no setting `{name}`"),
        };
        let (thread, hour) = (caveat("num.io.thread"), caveat("log.retention.hour"));
        assert_ne!(group_of(&thread), group_of(&hour));
        let (what, advice) = words(&[&thread, &thread]);
        assert_eq!(what, "the brokers know no setting `num.io.thread`");
        assert!(advice.contains("`system.config`"), "{advice}");
    }

    #[test]
    fn what_happened_while_fetching_is_told_with_the_first_event() {
        let caveat = |events| Caveat::FetchErrors {
            item: "readers".to_owned(),
            events,
            first: "client 0: partition 3: fetching failed: NOT_LEADER_OR_FOLLOWER".to_owned(),
        };
        let (what, _) = words(&[&caveat(2), &caveat(7)]);
        assert_eq!(
            what,
            "readers: fetching met errors, told in 2 to 7 events; the first: client 0: partition 3: fetching \
             failed: NOT_LEADER_OR_FOLLOWER"
        );
    }

    #[test]
    fn another_run_on_the_host_is_told() {
        let shared = Caveat::HostShared { detail: "run 12 of first-light".to_owned() };
        let told = "another measured run used this host at the same time: run 12 of first-light";
        assert_eq!(single(&shared), told);
    }

    #[test]
    fn a_lone_figure_is_not_a_range() {
        let steal = Caveat::Steal { share: 0.031 };
        assert_eq!(single(&steal), "the hypervisor took 3.10 % of the processor time");
    }
}
