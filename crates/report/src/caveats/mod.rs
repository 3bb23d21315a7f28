//! Caveats in words: what happened and what it means for the figures, in which trials, and what to do about it.
//!
//! The same caveat of many trials is told once, with the range of its figures and the trials it concerns. All that
//! this crate knows of a kind of caveat stands in [`about`] and in the table of its group; its name is the run file's.

mod generator;
mod host;
mod loss;
mod plan;
mod reach;
mod records;
mod trial;
mod words;

use crate::figures::covers;
use crate::input::{ReportInput, trial_name};
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::finding::Scope;
use kdyno_model::trial::Trial;
pub(crate) use reach::{elsewhere, is_told_with_verdicts, waited};
use std::cmp::Reverse;
use std::mem::discriminant;
use words::{Described, Numbers, Range};

/// One caveat, told once for all trials it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Acknowledged records are gone: told before anything else.
    pub is_loss: bool,
    /// It speaks only of figures that no verdict of the run is about.
    pub is_elsewhere: bool,
    /// What happened and what it means: a sentence that starts with a lower-case word and has no full stop.
    pub sentence: String,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: &'static str,
    /// The trials concerned, e.g. `all trials` or `trial 3 (brokers=3 #2); brokers=6`; empty when there is one.
    pub concerns: String,
}

impl Worded {
    /// What stands before it: its severity, or that records are gone.
    pub fn label(&self) -> String {
        if self.is_loss { "data loss".to_owned() } else { self.severity.to_string() }
    }
}

/// Groups and words a run's caveats: first those that speak of what its verdicts are about, if it has any, and of these the
/// most severe first. What is told with the verdicts is left out.
pub fn worded(input: &ReportInput<'_>) -> Vec<Worded> {
    let mut groups: Vec<(bool, Vec<&ScopedCaveat>)> = Vec::new();
    for caveat in input.caveats.iter().filter(|one| !is_told_with_verdicts(input, one)) {
        let is_elsewhere = reach::is_elsewhere(input, caveat);
        let is_told_with = |(where_first, group): &&mut (bool, Vec<&ScopedCaveat>)| {
            *where_first == is_elsewhere && group.first().is_some_and(|first| is_same(first, caveat))
        };
        match groups.iter_mut().find(is_told_with) {
            Some((_, group)) => group.push(caveat),
            None => groups.push((is_elsewhere, vec![caveat])),
        }
    }
    let mut worded: Vec<(About, Worded)> = Vec::new();
    for (is_elsewhere, group) in groups {
        let caveats: Vec<&Caveat> = group.iter().map(|one| &one.caveat).collect();
        let (Some(first), Some(of_all)) = (group.first(), describe_all(&caveats)) else { continue };
        let scopes: Vec<Scope> = group.iter().map(|one| one.scope).collect();
        let concerns = concerns(input, &scopes);
        let Described { sentence, remedy, .. } = of_all;
        let about = about(&first.caveat);
        let (severity, is_loss) = (first.severity, about == About::Loss);
        worded.push((about, Worded { severity, is_loss, is_elsewhere, sentence, remedy, concerns }));
    }
    worded.sort_by_key(|(about, one)| (one.is_elsewhere, Reverse(one.severity), *about));
    worded.into_iter().map(|(_, worded)| worded).collect()
}

/// The sentence of one caveat alone, for a line about its trial.
pub fn sentence(caveat: &Caveat) -> String {
    describe_all(&[caveat]).map_or_else(String::new, |described| described.sentence)
}

/// What to do about a caveat; empty when there is nothing to do.
pub fn remedy(caveat: &Caveat) -> &'static str {
    describe(caveat, &Numbers::NONE).remedy
}

/// Whether two caveats say the same of different trials.
fn is_same(a: &ScopedCaveat, b: &ScopedCaveat) -> bool {
    let kinds = discriminant(&a.caveat) == discriminant(&b.caveat);
    let of = |caveat: &Caveat| describe(caveat, &Numbers::NONE).of;
    kinds && a.severity == b.severity && of(&a.caveat) == of(&b.caveat)
}

/// Most trials that a caveat names; of more it says how many they are.
const NAMED_MAX: usize = 6;

/// Which trials, in as few words as are exact.
fn concerns(input: &ReportInput<'_>, scopes: &[Scope]) -> String {
    let is_concerned = |trial: &&Trial| scopes.iter().any(|scope| covers(*scope, trial));
    let reported = input.trials.iter().map(|start| &start.trial).filter(|trial| !trial.is_conditioning());
    let all: Vec<&Trial> = reported.collect();
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
    if parts.len() > NAMED_MAX {
        return format!("{} of {} trials", concerned.len(), all.len());
    }
    parts.join("; ")
}

/// What a caveat is about; also the order in which caveats of one severity are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// Records that were acknowledged and are gone.
    Loss,
    /// A defect of kdyno's own, or of its evidence.
    Accounting,
    /// The trial did not go as planned, or its cluster changed.
    Trial,
    /// Records and how they fared.
    Records,
    /// Whether the load generator, or a relay, is what was measured.
    Generator,
    /// Who else had the processors.
    Host,
    /// What the plan itself brings with it.
    Plan,
}

/// The group of each kind of caveat: without a catch-all, so that no kind goes unworded.
fn about(caveat: &Caveat) -> About {
    match caveat {
        Caveat::Lost { .. } => About::Loss,
        Caveat::AccountingBroken { .. }
        | Caveat::SamplesMissing { .. }
        | Caveat::LogUnexplained { .. }
        | Caveat::LogNotChecked { .. } => About::Accounting,
        Caveat::ProcessDied { .. }
        | Caveat::CutShort { .. }
        | Caveat::UnknownSetting { .. }
        | Caveat::ClusterChanged { .. }
        | Caveat::Unsteady { .. }
        | Caveat::WarmupNotSettled { .. }
        | Caveat::Unconditioned
        | Caveat::StacksSampled { .. }
        | Caveat::StacksNotSampled { .. }
        | Caveat::NotAtOnce { .. }
        | Caveat::TheseStartsOnly { .. }
        | Caveat::PairsUnconditioned { .. }
        | Caveat::PairsLost { .. }
        | Caveat::UndeclaredDifference { .. }
        | Caveat::ClustersDiffer { .. }
        | Caveat::BrokersDiffer { .. }
        | Caveat::RunsUnpaired
        | Caveat::EvidenceOfRuns { .. } => About::Trial,
        Caveat::QueueGrowth { .. }
        | Caveat::Failures { .. }
        | Caveat::Unresolved { .. }
        | Caveat::Retries { .. }
        | Caveat::FewRecords { .. }
        | Caveat::ConsumerBehind { .. }
        | Caveat::FetchErrors { .. }
        | Caveat::ProducerEnded { .. }
        | Caveat::GroupNotConserved { .. }
        | Caveat::MemberFailed { .. }
        | Caveat::RecordsSkipped { .. } => About::Records,
        Caveat::ThreadBusy { .. }
        | Caveat::WorkerBusy { .. }
        | Caveat::GeneratorLate { .. }
        | Caveat::FullGc { .. }
        | Caveat::RelayLate { .. }
        | Caveat::RelayBusy { .. }
        | Caveat::CalibrationShort { .. } => About::Generator,
        Caveat::HostShared { .. }
        | Caveat::Steal { .. }
        | Caveat::OtherLoad { .. }
        | Caveat::WaitedForProcessor { .. }
        | Caveat::ProcessorLimited { .. }
        | Caveat::SharedProcessors { .. } => About::Host,
        Caveat::ClosedLoop { .. }
        | Caveat::WrittenNotAppended { .. }
        | Caveat::PageCacheAbsorbed { .. }
        | Caveat::SmallBatches { .. }
        | Caveat::RandomValues { .. }
        | Caveat::CompressionMissed { .. }
        | Caveat::MemoryStorage
        | Caveat::NullBroker
        | Caveat::PooledCompression { .. }
        | Caveat::AssignedNotGroup { .. } => About::Plan,
    }
}

/// Words several caveats that are the same, each number as its range.
fn describe_all(group: &[&Caveat]) -> Option<Described> {
    let numbers: Vec<Vec<f64>> =
        group.iter().map(|caveat| describe(caveat, &Numbers::NONE).numbers).collect();
    let range = |index: usize| {
        let each = numbers.iter().filter_map(|of_one| of_one.get(index).copied());
        each.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
    };
    let ranges: Vec<Range> = (0..numbers.first()?.len()).map(range).collect();
    let numbers = Numbers { ranges: &ranges, together: group.len() };
    group.first().map(|first| describe(first, &numbers))
}

/// Everything said of a caveat, with these numbers in its sentence.
fn describe(caveat: &Caveat, numbers: &Numbers<'_>) -> Described {
    let entry = match about(caveat) {
        About::Loss => loss::words(caveat, numbers),
        About::Accounting => loss::accounting(caveat, numbers),
        About::Trial => trial::words(caveat, numbers),
        About::Records => records::words(caveat, numbers),
        About::Generator => generator::words(caveat, numbers),
        About::Host => host::words(caveat, numbers),
        About::Plan => plan::words(caveat, numbers),
    };
    // Each table has every kind of its group (a test goes through all); what it lacks would still be told by name.
    let unworded = || Described {
        of: String::new(),
        numbers: Vec::new(),
        sentence: crate::names::name_of(caveat),
        remedy: "",
    };
    entry.unwrap_or_else(unworded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::caveat::Concern;
    use kdyno_model::event::Subject;

    fn told(group: &[&Caveat]) -> (String, &'static str) {
        let described = describe_all(group).expect("a group has a member");
        (described.sentence, described.remedy)
    }

    fn of(caveat: &Caveat) -> String {
        describe(caveat, &Numbers::NONE).of
    }

    #[test]
    fn a_group_states_the_range_of_its_numbers() {
        let small = |share| Caveat::SmallBatches { item: "writers".to_owned(), share };
        let (sentence, remedy) = told(&[&small(0.19), &small(0.23)]);
        assert!(sentence.contains("`linger.ms` at 19.0 % to 23.0 % of"), "{sentence}");
        assert!(remedy.contains("offer more"), "{remedy}");
    }

    #[test]
    fn what_trials_tell_apart_is_told_of_the_first_and_called_so() {
        let unsteady =
            |detail: &str| Caveat::Unsteady { item: "writers".to_owned(), detail: detail.to_owned() };
        let (one, two) = (unsteady("it fell"), unsteady("it rose"));
        assert_eq!(of(&one), of(&two), "one line for all trials");
        assert!(told(&[&one]).0.contains("not steady (it fell)"), "{}", told(&[&one]).0);
        assert!(
            told(&[&one, &two]).0.contains("not steady (the first: it fell)"),
            "{}",
            told(&[&one, &two]).0
        );
    }

    #[test]
    fn a_ratio_of_compression_that_is_too_high_has_another_remedy_than_one_too_low() {
        let missed = |reached| Caveat::CompressionMissed { item: "writers".to_owned(), stated: 3.0, reached };
        let (low, high) = (missed(2.0), missed(4.0));
        assert_ne!(of(&low), of(&high), "not one line for both");
        assert!(remedy(&low).starts_with("larger values or batches"), "{}", remedy(&low));
        assert!(remedy(&high).ends_with("state a higher ratio"), "{}", remedy(&high));
    }

    #[test]
    fn two_numbers_of_one_caveat_have_each_its_range() {
        let queue = |start_s, growth_s| Caveat::QueueGrowth {
            item: "writers".to_owned(),
            start_s,
            growth_s,
            allowed_s: 0.05,
        };
        let (sentence, _) = told(&[&queue(0.2, 1.5), &queue(0.1, 1.5)]);
        let expected = "writers: the queue held 100 ms to 200 ms of the offered load when the window began and 1.50 s \
                        more when it ended, where 50.0 ms is allowed";
        assert!(sentence.starts_with(expected), "{sentence}");
        let (sentence, _) = told(&[&queue(0.2, 0.0), &queue(0.1, 1.5)]);
        assert!(sentence.contains("and 0 ns to 1.50 s more when it ended"), "{sentence}");
        let (sentence, _) = told(&[&queue(0.296, 0.0)]);
        let expected = "writers: the queue was too long when the window began: it held 296 ms of the offered load, where \
                        50.0 ms is allowed, and grew no further: latencies include the time in it";
        assert_eq!(sentence, expected);
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
        let sent_again = |is_idempotent| Caveat::Retries { item: item(), batches: 3, is_idempotent };
        let retries = scoped(sent_again(false));
        let behind = scoped(Caveat::ConsumerBehind { item: item(), records: 30, seconds: Some(3.0) });
        assert!(!is_same(&retries, &behind) && is_same(&behind, &behind));
        assert!(sentence(&retries.caveat).ends_with("may be in the log twice"));
        assert_eq!(
            sentence(&sent_again(true)),
            "writers: 3 record batches were sent again; latencies include that"
        );
        assert_eq!(
            sentence(&behind.caveat),
            "writers: 30 records behind the end of the log when the window ended, 3.00 s of what is produced: consumers \
             did not keep up"
        );
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
    fn how_late_the_generator_was_is_told_once_whatever_quantiles_it_reached() {
        let late = |quantile: &str, late_ns| Caveat::GeneratorLate {
            item: "writers".to_owned(),
            quantile: quantile.to_owned(),
            late_ns,
            response_ns: 10_000_000,
        };
        let (one, other) = (late("p95", 2_000_000), late("p99.99", 5_000_000));
        assert_eq!(of(&one), of(&other));
        assert!(told(&[&one]).0.starts_with("writers: at p95 the load"), "{}", told(&[&one]).0);
        let (sentence, _) = told(&[&other, &one]);
        let expected =
            "writers: at p95 to p99.99 the load generator's own lateness makes up 2.00 ms to 5.00 ms of the";
        assert!(sentence.starts_with(expected), "{sentence}");
        assert_ne!(of(&one), of(&late("mean", 1)), "the mean is another matter");
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
            "readers: fetching failed for a while (2 to 7 events; the first: client 0: partition 3: fetching failed: \
             NOT_LEADER_OR_FOLLOWER): the fetched rate includes that"
        );
    }

    #[test]
    fn another_run_on_the_host_is_told() {
        let shared = Caveat::HostShared { detail: "run 12 of first-light".to_owned() };
        let told = "another measured run used this host at the same time (run 12 of first-light): ";
        assert!(sentence(&shared).starts_with(told), "{}", sentence(&shared));
    }

    #[test]
    fn a_lone_number_is_not_a_range() {
        let steal = Caveat::Steal { share: 0.031 };
        assert!(sentence(&steal).starts_with("the hypervisor took 3.10 % of the processor time: "));
    }

    /// One of each kind that no other test words.
    fn others() -> Vec<Caveat> {
        let item = || "writers".to_owned();
        let topic = || "perf".to_owned();
        let text = || "a detail".to_owned();
        let mut all = vec![
            Caveat::Lost { topic: topic(), acknowledged: 1_000, growth: 990 },
            Caveat::AccountingBroken { item: item(), difference: -3 },
            Caveat::SamplesMissing { item: item(), count: "acknowledged".to_owned(), difference: 12 },
            Caveat::LogUnexplained { topic: topic(), expected_max: 1_000, growth: 1_005 },
            Caveat::LogNotChecked { topic: topic(), detail: text() },
            Caveat::ProcessDied { subject: Subject::Broker(1) },
            Caveat::CutShort { reason: text(), measured_s: 7, planned_s: 60 },
            Caveat::ClusterChanged { event: "leader-moved".to_owned(), events: 4, first: text() },
            Caveat::Unsteady { item: item(), detail: text() },
            Caveat::WarmupNotSettled { detail: text() },
            Caveat::Unconditioned,
            Caveat::NotAtOnce { share: 0.82 },
            Caveat::TheseStartsOnly { starts: 1 },
            Caveat::UndeclaredDifference {
                whose: "brokers".to_owned(),
                setting: "num.io.threads".to_owned(),
                a: "8".to_owned(),
                b: "4".to_owned(),
            },
        ];
        all.extend(of_samples());
        all
    }

    /// Those among them that come last.
    fn of_samples() -> Vec<Caveat> {
        let item = || "writers".to_owned();
        let text = || "a detail".to_owned();
        vec![
            Caveat::PairsUnconditioned { pairs: 2 },
            Caveat::PairsLost { pairs: 2, first: text() },
            Caveat::ClustersDiffer { side: "B".to_owned(), settings: 2, first: text() },
            Caveat::BrokersDiffer { side: "A".to_owned(), settings: 3, first: text() },
            Caveat::RunsUnpaired,
            Caveat::EvidenceOfRuns { detail: text() },
            Caveat::Failures { item: item(), reason: "max-block".to_owned(), records: 5 },
            Caveat::Unresolved { item: item(), records: 5 },
            Caveat::ProducerEnded { item: item(), first: text() },
            Caveat::FewRecords { item: item(), quantile: "p99.99".to_owned(), beyond: 3 },
            Caveat::ConsumerBehind { item: item(), records: 30, seconds: None },
            Caveat::RecordsSkipped { item: item(), events: 2, first: text() },
            Caveat::GroupNotConserved {
                group: "billing".to_owned(),
                topic: text(),
                least: 100,
                most: 102,
                handed_over: 99,
            },
            Caveat::MemberFailed { item: item(), first: text() },
            Caveat::StacksSampled { of: text() },
            Caveat::StacksNotSampled { subject: Subject::Broker(1), detail: text() },
            Caveat::FullGc { item: item(), collections: 2, all_ns: Some(310_000_000), first: text() },
            Caveat::ThreadBusy { thread: item(), cpu_percent: 97.0 },
            Caveat::WorkerBusy { cpu_percent: 190.0, cores: 2 },
            Caveat::GeneratorLate {
                item: item(),
                quantile: "p99.9".to_owned(),
                late_ns: 130_000_000,
                response_ns: 136_000_000,
            },
            Caveat::GeneratorLate {
                item: item(),
                quantile: "mean".to_owned(),
                late_ns: 130_000_000,
                response_ns: 136_000_000,
            },
            Caveat::CalibrationShort { item: item(), ratio: 1.4 },
            Caveat::OtherLoad { cpu_percent: 40.0 },
            Caveat::WaitedForProcessor { who: item(), share: 0.31, share_of_ready: None },
            Caveat::WaitedForProcessor { who: "brokers".to_owned(), share: 1.31, share_of_ready: Some(0.58) },
            Caveat::ProcessorLimited { share: 0.2 },
            Caveat::SharedProcessors { processors: 2 },
            Caveat::ClosedLoop { item: item() },
            Caveat::WrittenNotAppended { item: item() },
            Caveat::PageCacheAbsorbed { share: 0.04 },
            Caveat::RandomValues { item: item(), compression: "lz4".to_owned() },
            Caveat::CompressionMissed { item: item(), stated: 20.0, reached: 7.4 },
            Caveat::MemoryStorage,
            Caveat::NullBroker,
            Caveat::PooledCompression { item: item() },
            Caveat::AssignedNotGroup { item: item() },
        ]
    }

    #[test]
    fn each_kind_is_worded_with_all_of_its_numbers() {
        let words: Vec<String> = others()
            .iter()
            .map(|one| {
                let (sentence, remedy) = told(&[one]);
                assert!(sentence.contains(' ') && !sentence.ends_with('.'), "{one:?}: {sentence}");
                if remedy.is_empty() { sentence } else { format!("{sentence}\n  → {remedy}") }
            })
            .collect();
        insta::assert_snapshot!(words.join("\n"));
    }
}
