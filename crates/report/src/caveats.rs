//! Caveats in words: what is doubtful, in which trials, and what to do about it.
//!
//! The same caveat of many trials is told once, with the range of its figures and the trials it concerns. All that
//! this crate knows of a kind of caveat stands in [`describe`]; its name is the run file's.

use crate::figures::covers;
use crate::input::{ReportInput, trial_name};
use crate::units;
use kdyno_model::finding::{Caveat, Scope, ScopedCaveat, Severity};
use kdyno_model::metric::Unit;
use kdyno_model::trial::Trial;
use std::cmp::Reverse;
use std::mem::discriminant;

/// One caveat, told once for all trials it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// Whether the figures may be used.
    pub severity: Severity,
    /// What is doubtful: a sentence that starts with a lower-case word and has no full stop.
    pub sentence: String,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: &'static str,
    /// The trials concerned, e.g. `all trials` or `trial 3 (brokers=3 #2); brokers=6`; empty when there is one.
    pub concerns: String,
}

/// Groups and words a run's caveats, the most severe first.
pub fn worded(input: &ReportInput<'_>) -> Vec<Worded> {
    let mut groups: Vec<Vec<&ScopedCaveat>> = Vec::new();
    for caveat in input.caveats {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_same(first, caveat))) {
            Some(group) => group.push(caveat),
            None => groups.push(vec![caveat]),
        }
    }
    let mut worded: Vec<(Reverse<Severity>, About, Worded)> = Vec::new();
    for group in groups {
        let caveats: Vec<&Caveat> = group.iter().map(|one| &one.caveat).collect();
        let (Some(first), Some(of_all)) = (group.first(), describe_all(&caveats)) else { continue };
        let scopes: Vec<Scope> = group.iter().map(|one| one.scope).collect();
        let concerns = concerns(input, &scopes);
        let Described { about, sentence, remedy, .. } = of_all;
        let told = Worded { severity: first.severity, sentence, remedy, concerns };
        worded.push((Reverse(first.severity), about, told));
    }
    worded.sort_by_key(|(severity, about, _)| (*severity, *about));
    worded.into_iter().map(|(_, _, worded)| worded).collect()
}

/// The sentence of one caveat alone, for a line about its trial.
pub fn sentence(caveat: &Caveat) -> String {
    describe_all(&[caveat]).map_or_else(String::new, |described| described.sentence)
}

/// What to do about a caveat; empty when there is nothing to do.
pub fn remedy(caveat: &Caveat) -> &'static str {
    describe(caveat, &[]).remedy
}

/// Whether two caveats say the same of different trials.
fn is_same(a: &ScopedCaveat, b: &ScopedCaveat) -> bool {
    let kinds = discriminant(&a.caveat) == discriminant(&b.caveat);
    kinds && a.severity == b.severity && describe(&a.caveat, &[]).of == describe(&b.caveat, &[]).of
}

/// Which trials, in as few words as are exact.
fn concerns(input: &ReportInput<'_>, scopes: &[Scope]) -> String {
    let is_concerned = |trial: &&Trial| scopes.iter().any(|scope| covers(*scope, trial));
    let all: Vec<&Trial> = input.trials.iter().map(|start| &start.trial).collect();
    let concerned: Vec<&Trial> = all.iter().copied().filter(is_concerned).collect();
    if all.len() <= 1 {
        return String::new();
    }
    if concerned.len() == all.len() {
        return "all trials".to_owned();
    }
    let mut parts: Vec<String> = Vec::new();
    for trial in &concerned {
        let of_case = |trials: &[&Trial]| trials.iter().filter(|other| other.case == trial.case).count();
        let label = input.plan().cases.get(trial.case as usize).map_or("", |case| &case.label);
        let whole = !label.is_empty() && of_case(&concerned) == of_case(&all);
        let part = if whole { label.to_owned() } else { trial_name(trial) };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join("; ")
}

/// What a caveat is about; also the order in which caveats of one severity are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// A defect of kdyno's own.
    Accounting,
    /// The trial did not go as planned.
    Trial,
    /// Records and how they fared.
    Records,
    /// Whether the load generator is what was measured.
    Generator,
    /// Who else had the processors.
    Host,
    /// What the plan itself brings with it.
    Plan,
}

/// All that reports say of one caveat, or of several that say the same of different trials.
struct Described {
    about: About,
    /// Load item, process or setting it is of: caveats of one kind and of the same are told together.
    of: String,
    /// Its numbers, which may differ from trial to trial.
    numbers: Vec<f64>,
    sentence: String,
    remedy: &'static str,
}

/// Smallest and largest of a number over several caveats.
type Range = (f64, f64);

/// Words several caveats that are the same, each number as its range.
fn describe_all(group: &[&Caveat]) -> Option<Described> {
    let numbers: Vec<Vec<f64>> = group.iter().map(|caveat| describe(caveat, &[]).numbers).collect();
    let range = |index: usize| {
        let each = numbers.iter().filter_map(|of_one| of_one.get(index).copied());
        each.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
    };
    let ranges: Vec<Range> = (0..numbers.first()?.len()).map(range).collect();
    group.first().map(|first| describe(first, &ranges))
}

/// Everything said of each kind of caveat. `ranges` gives the ranges of its numbers for the sentence.
#[expect(
    clippy::too_many_lines,
    reason = "a table: one entry per caveat, so that a new one touches one place"
)]
fn describe(caveat: &Caveat, ranges: &[Range]) -> Described {
    let over = |index: usize, print: fn(f64) -> String| {
        ranges.get(index).map_or_else(String::new, |range| range_text(*range, print))
    };
    let told = |about, of: &str, numbers: &[f64], sentence: String, remedy| Described {
        about,
        of: of.to_owned(),
        numbers: numbers.to_vec(),
        sentence,
        remedy,
    };
    let (count, percent) = (|index| over(index, units::count), |index| over(index, percent));
    let cpu = |index| over(index, percent_of_core);
    match caveat {
        Caveat::AccountingBroken { item, difference } => told(
            About::Accounting,
            item,
            &[*difference as f64],
            format!(
                "{item}: offered records differ from acknowledged + failed + unresolved by {}: a defect of kdyno",
                count(0)
            ),
            REPORT_IT,
        ),
        Caveat::SamplesMissing { item, records } => told(
            About::Accounting,
            item,
            &[*records as f64],
            format!(
                "{item}: the stored rows and the stream's own totals differ by {} records: samples were lost",
                count(0)
            ),
            REPORT_IT,
        ),
        Caveat::ProcessDied { subject } => told(
            About::Trial,
            &subject.to_string(),
            &[],
            format!("{subject} ended during the trial"),
            "see the events and the excerpt of its log in the run file",
        ),
        Caveat::CutShort { reason, measured_s, planned_s } => told(
            About::Trial,
            reason,
            &[f64::from(*measured_s)],
            format!(
                "the trial ended before its plan did: {reason}; its figures cover {} of {planned_s} s",
                count(0)
            ),
            "the figures cover the time that ran; repeat the trial for the whole",
        ),
        Caveat::UnknownSetting { setting, detail } => told(
            About::Trial,
            setting,
            &[],
            detail.clone(),
            "correct its name in `system.config`; a setting of a plugin may stay as it is",
        ),
        Caveat::OfferedNotAchieved { item, share } => told(
            About::Records,
            item,
            &[*share],
            format!(
                "{item}: only {} of the offered records were accepted and acknowledged in the window, below 99.5 %: \
                 latencies grow with the length of the trial and must not be used",
                percent(0)
            ),
            "offer less, use more clients, or ask for `rate: max` when the maximum is the question",
        ),
        Caveat::QueueAtStart { item, seconds, .. } => told(
            About::Records,
            item,
            &[*seconds * 1e9],
            format!(
                "{item}: the window began with {} of the load still waiting from the warm-up: latencies hold that \
                 queue and must not be used",
                over(0, units::nanoseconds)
            ),
            "lengthen phases.warmup until fresh brokers keep up, or lower the rate",
        ),
        Caveat::Failures { item, reason, records } => told(
            About::Records,
            &format!("{item} {reason}"),
            &[*records as f64],
            format!("{item}: {} records failed with {reason}", count(0)),
            match reason.as_str() {
                "max-block" => {
                    "the cluster took less than was offered for longer than max.block.ms: lower the rate"
                }
                "delivery-timeout" => {
                    "no answer within delivery.timeout.ms: lower the rate or look at the brokers' logs"
                }
                _ => SEE_EVENTS,
            },
        ),
        Caveat::Unresolved { item, records } => told(
            About::Records,
            item,
            &[*records as f64],
            format!(
                "{item}: the outcome of {} records was still open when the drain ended; they lie above every quantile",
                count(0)
            ),
            "offer less, lengthen `phases.drain`, or look for a broker that stopped answering",
        ),
        Caveat::FetchErrors { item, events, first } => told(
            About::Records,
            item,
            &[*events as f64],
            format!("{item}: fetching met errors, told in {} events; the first: {first}", count(0)),
            SEE_EVENTS,
        ),
        Caveat::RecordsSkipped { item, events, first } => told(
            About::Records,
            item,
            &[*events as f64],
            format!(
                "{item}: records were gone before they were fetched, told in {} events; the first: {first}",
                count(0)
            ),
            "keep records longer (`retention.ms` and `retention.bytes` of the topic), or read faster",
        ),
        Caveat::ThreadBusy { thread, cpu_percent } => told(
            About::Generator,
            thread,
            &[*cpu_percent],
            format!("the load generator's thread {thread} used {}: it may be the limit itself", cpu(0)),
            LESS_WORK,
        ),
        Caveat::WorkerBusy { cpu_percent, cores } => told(
            About::Generator,
            "",
            &[*cpu_percent],
            format!(
                "the load generator used {}, and it could use {cores} cores at most: it may be the limit itself",
                cpu(0)
            ),
            LESS_WORK,
        ),
        Caveat::ScheduleDelayLarge { item, schedule_delay_ns_p99, response_ns_p99 } => told(
            About::Generator,
            item,
            &[*schedule_delay_ns_p99 as f64, *response_ns_p99 as f64],
            format!(
                "{item}: the load generator itself was late by {} at p99, more than a tenth of the response time of {}",
                over(0, units::nanoseconds),
                over(1, units::nanoseconds)
            ),
            "read the latencies as upper bounds, or lower the rate until the schedule delay is small",
        ),
        Caveat::HostShared { detail } => told(
            About::Host,
            detail,
            &[],
            format!("another measured run used this host at the same time: {detail}"),
            "run one at a time, and repeat",
        ),
        Caveat::Steal { share } => told(
            About::Host,
            "",
            &[*share],
            format!("the hypervisor took {} of the processor time", percent(0)),
            "repeat on a quieter host, and compare only trials that ran close together",
        ),
        Caveat::OtherLoad { cpu_percent } => told(
            About::Host,
            "",
            &[*cpu_percent],
            format!("programs that are not part of the run used {}", cpu(0)),
            "end them, or run where nothing else does, and repeat",
        ),
        Caveat::SharedProcessors { processors } => told(
            About::Host,
            "",
            &[],
            format!(
                "brokers and load generator share the same {processors} processors, so each takes time from the other"
            ),
            "compare cases of this run with each other; for absolute figures attach to a cluster on other machines",
        ),
        Caveat::ClosedLoop { item } => told(
            About::Plan,
            item,
            &[],
            format!(
                "{item}: at the maximum rate a latency is the time to fill and empty the client's own buffer, not the \
                 cluster's"
            ),
            "for latencies offer a fixed rate below the maximum",
        ),
        Caveat::MemoryStorage => told(
            About::Plan,
            "",
            &[],
            "the brokers' logs lay in memory-backed storage, so no disk was measured".to_owned(),
            "put the logs on a disk (`storage: disk`) when the disk is part of the question",
        ),
        Caveat::PooledCompression { item } => told(
            About::Plan,
            item,
            &[],
            format!("{item}: payloads from a pool compress differently from real ones"),
            "use unique payloads when the compression ratio matters",
        ),
        Caveat::AssignedNotGroup { item } => told(
            About::Plan,
            item,
            &[],
            format!(
                "{item}: partitions were assigned by kdyno, not by a consumer group, so no rebalance or group \
                 coordination was measured"
            ),
            "",
        ),
        other => told(About::Trial, "", &[], format!("{other:?}"), ""),
    }
}

const REPORT_IT: &str = "do not use these figures; please report it with the run file";
const SEE_EVENTS: &str = "the run's events and the brokers' logs say when and why";
const LESS_WORK: &str =
    "use fewer clients or larger batches, pooled payloads, or a machine of its own for the load";

fn range_text((low, high): Range, print: fn(f64) -> String) -> String {
    let (low, high) = (print(low), print(high));
    if low == high { low } else { format!("{low} to {high}") }
}

fn percent(share: f64) -> String {
    format!("{} %", units::significant(share * 100.0))
}

fn percent_of_core(value: f64) -> String {
    units::number(value, Unit::PercentOfCore)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::Concern;

    fn told(group: &[&Caveat]) -> (String, &'static str) {
        let described = describe_all(group).expect("a group has a member");
        (described.sentence, described.remedy)
    }

    fn of(caveat: &Caveat) -> String {
        describe(caveat, &[]).of
    }

    #[test]
    fn a_group_states_the_range_of_its_numbers() {
        let a = Caveat::OfferedNotAchieved { item: "writers".to_owned(), share: 0.9 };
        let b = Caveat::OfferedNotAchieved { item: "writers".to_owned(), share: 0.95 };
        let (sentence, remedy) = told(&[&a, &b]);
        assert!(sentence.contains("90.0 % to 95.0 %"), "{sentence}");
        assert!(sentence.contains("latencies grow") && sentence.contains("must not be used"), "{sentence}");
        assert!(remedy.contains("offer less"), "{remedy}");
    }

    #[test]
    fn two_numbers_of_one_caveat_have_each_its_range() {
        let late = |schedule_delay_ns_p99, response_ns_p99| Caveat::ScheduleDelayLarge {
            item: "writers".to_owned(),
            schedule_delay_ns_p99,
            response_ns_p99,
        };
        let (sentence, _) = told(&[&late(2_000_000, 5_000_000), &late(1_000_000, 5_000_000)]);
        let expected = "late by 1.00 ms to 2.00 ms at p99, more than a tenth of the response time of 5.00 ms";
        assert!(sentence.ends_with(expected), "{sentence}");
    }

    #[test]
    fn caveats_of_two_kinds_about_one_item_stay_apart() {
        let item = || "writers".to_owned();
        let scoped = |caveat| ScopedCaveat {
            scope: Scope::Run,
            severity: Severity::Warning,
            concerns: Concern::Everything,
            caveat,
        };
        let carried = scoped(Caveat::OfferedNotAchieved { item: item(), share: 0.9 });
        let queue = scoped(Caveat::QueueAtStart { item: item(), records: 30, seconds: 3.0 });
        assert!(!is_same(&carried, &queue) && is_same(&queue, &queue));
        assert!(sentence(&queue.caveat).contains("3.00 s of the load"));
    }

    #[test]
    fn each_unknown_setting_is_told_once_in_the_words_of_its_event() {
        let caveat = |name: &str| Caveat::UnknownSetting {
            setting: name.to_owned(),
            detail: format!("the brokers know no setting `{name}`"),
        };
        let (thread, hour) = (caveat("num.io.thread"), caveat("log.retention.hour"));
        assert_ne!(of(&thread), of(&hour));
        let (sentence, remedy) = told(&[&thread, &thread]);
        assert_eq!(sentence, "the brokers know no setting `num.io.thread`");
        assert!(remedy.contains("`system.config`"), "{remedy}");
    }

    #[test]
    fn what_happened_while_fetching_is_told_with_the_first_event() {
        let caveat = |events| Caveat::FetchErrors {
            item: "readers".to_owned(),
            events,
            first: "client 0: partition 3: fetching failed: NOT_LEADER_OR_FOLLOWER".to_owned(),
        };
        let (sentence, _) = told(&[&caveat(2), &caveat(7)]);
        assert_eq!(
            sentence,
            "readers: fetching met errors, told in 2 to 7 events; the first: client 0: partition 3: fetching \
             failed: NOT_LEADER_OR_FOLLOWER"
        );
    }

    #[test]
    fn another_run_on_the_host_is_told() {
        let shared = Caveat::HostShared { detail: "run 12 of first-light".to_owned() };
        let told = "another measured run used this host at the same time: run 12 of first-light";
        assert_eq!(sentence(&shared), told);
    }

    #[test]
    fn a_lone_number_is_not_a_range() {
        let steal = Caveat::Steal { share: 0.031 };
        assert_eq!(sentence(&steal), "the hypervisor took 3.10 % of the processor time");
    }
}
