//! Every kind in words.

use super::words::{CaveatValues, filled, whom};
use super::*;
use kdyno_model::caveat::{
    CaveatRow, ClocksDiffer, Concern, FewSeconds, FullGc, GroupNotConserved, MembersPutOut, PairOrder,
    PairsTied, Stalled, StoodStill,
};
use kdyno_model::event::Subject;

fn reported(group: &[&Caveat]) -> (String, &'static str) {
    said(group)
}

fn of(caveat: &Caveat) -> String {
    whom(caveat, None).0
}

#[test]
fn a_group_states_the_range_of_its_numbers() {
    let small = |share| Caveat::SmallBatches { item: "writers".to_owned(), share };
    let (sentence, remedy) = reported(&[&small(0.19), &small(0.23)]);
    assert!(sentence.contains("`linger.ms` at 19.0 % to 23.0 % of"), "{sentence}");
    assert!(remedy.contains("offer more"), "{remedy}");
}

#[test]
fn details_that_differ_by_trial_are_those_of_the_first() {
    let unsteady = |detail: &str| Caveat::Unsteady { item: "writers".to_owned(), detail: detail.to_owned() };
    let (one, two) = (unsteady("it fell"), unsteady("it rose"));
    assert_eq!(of(&one), of(&two), "one line for all trials");
    assert!(reported(&[&one]).0.contains("not in a steady state (it fell)"), "{}", reported(&[&one]).0);
    assert!(
        reported(&[&one, &two]).0.contains("not in a steady state (the first: it fell)"),
        "{}",
        reported(&[&one, &two]).0
    );
}

#[test]
fn too_high_and_too_low_compression_have_different_remedies() {
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
    let (sentence, _) = reported(&[&queue(0.2, 1.5), &queue(0.1, 1.5)]);
    let expected = "writers: the queue held 100 ms to 200 ms of the offered load when the window began and 1.50 s \
                    more when it ended, where 50.0 ms is allowed";
    assert!(sentence.starts_with(expected), "{sentence}");
    let (sentence, _) = reported(&[&queue(0.2, 0.0), &queue(0.1, 1.5)]);
    assert!(sentence.contains("and 0 s to 1.50 s more when it ended"), "{sentence}");
    let (sentence, _) = reported(&[&queue(0.296, 0.0)]);
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
    assert_eq!(of_trial([&retries, &behind, &behind].into_iter()).len(), 2);
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
fn each_unknown_setting_is_reported_once_as_in_its_event() {
    let caveat = |name: &str| Caveat::UnknownSetting {
        setting: name.to_owned(),
        detail: format!("the brokers know no setting `{name}`"),
    };
    let (thread, hour) = (caveat("num.io.thread"), caveat("log.retention.hour"));
    assert_ne!(of(&thread), of(&hour));
    let (sentence, remedy) = reported(&[&thread, &thread]);
    assert_eq!(sentence, "the brokers know no setting `num.io.thread`");
    assert!(remedy.contains("`system.config`"), "{remedy}");
}

#[test]
fn generator_lateness_is_reported_once_for_all_quantiles() {
    let late = |quantile: &str, late_ns| Caveat::GeneratorLate {
        item: "writers".to_owned(),
        quantile: quantile.to_owned(),
        late_ns,
        response_ns: 10_000_000,
    };
    let (one, other) = (late("p95", 2_000_000), late("p99.99", 5_000_000));
    assert_eq!(of(&one), of(&other));
    assert!(reported(&[&one]).0.starts_with("writers: at p95, 2.00 ms of"), "{}", reported(&[&one]).0);
    let (sentence, _) = reported(&[&other, &one]);
    let expected =
        "writers: at p95 to p99.99, 2.00 ms to 5.00 ms of the response time of 10.0 ms is the load";
    assert!(sentence.starts_with(expected), "{sentence}");
    assert_ne!(of(&one), of(&late("mean", 1)), "the mean is another matter");
}

#[test]
fn events_while_fetching_are_reported_with_the_first_one() {
    let caveat = |events| Caveat::FetchErrors {
        item: "readers".to_owned(),
        events,
        first: "client 0: partition 3: fetching failed: NOT_LEADER_OR_FOLLOWER".to_owned(),
    };
    let (sentence, _) = reported(&[&caveat(2), &caveat(7)]);
    assert_eq!(
        sentence,
        "readers: fetching failed for a while (2 to 7 events; the first: client 0: partition 3: fetching failed: \
         NOT_LEADER_OR_FOLLOWER): the fetched rate includes that"
    );
}

#[test]
fn another_run_on_the_host_is_reported() {
    let shared = Caveat::HostShared { detail: "run 12 of first-light".to_owned() };
    let reported = "another measured run used this host at the same time (run 12 of first-light): ";
    assert!(sentence(&shared).starts_with(reported), "{}", sentence(&shared));
}

/// A busy processor does not sleep, so that other programs may as well make a load cheaper and quicker.
#[test]
fn other_programs_change_figures_in_either_direction() {
    let sentence = sentence(&Caveat::OtherLoad { cpu_percent: 70.0 });
    let (first, then) = (sentence.find("CPU per record first"), sentence.find("then latencies and rates"));
    assert!(first.is_some() && first < then, "{sentence}");
    assert!(sentence.ends_with("each may be too high or too low"), "{sentence}");
}

fn of_item(trial: u32, severity: Severity, caveat: Caveat) -> ScopedCaveat {
    let scope = Scope::Trial(kdyno_model::trial::TrialId(trial));
    ScopedCaveat { scope, severity, concerns: Concern::Everything, caveat }
}

#[test]
fn a_caveat_of_many_load_items_is_one_with_their_names() {
    let closed = |index: usize| Caveat::ClosedLoop { item: format!("w{index}") };
    let mut all: Vec<ScopedCaveat> =
        (1..=20).map(|index| of_item(0, Severity::Note, closed(index))).collect();
    let share = |index: usize, share| Caveat::SmallBatches { item: format!("w{index}"), share };
    all.extend([of_item(0, Severity::Warning, share(1, 0.2)), of_item(0, Severity::Warning, share(2, 0.4))]);
    let reported = of_trial(all.iter());
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(
        reported[0].short.starts_with("w1, w2, w3, w4, w5, w6 and 14 more: at the maximum rate"),
        "{reported:?}"
    );
    assert_eq!(reported[1].short, "w1 and w2: batches were filled to 20.0 % to 40.0 % of batch.size");
    let topics = ["a", "b"].map(|topic| {
        let (topic, detail) = (topic.to_owned(), format!("{topic} is gone"));
        of_item(0, Severity::Note, Caveat::LogNotChecked { topic, detail })
    });
    let reported = of_trial(topics.iter());
    let expected = "topic a and b: its log was not checked for lost records";
    assert!(reported.len() == 1 && reported[0].short == expected, "{reported:?}");
}

#[test]
fn caveats_of_items_stay_apart_that_say_something_else() {
    let failed = |item: &str, reason: &str| {
        let (item, reason) = (item.to_owned(), reason.to_owned());
        of_item(0, Severity::Warning, Caveat::Failures { item, reason, records: 5 })
    };
    let waited = |who: &str, share_of_ready| {
        let who = who.to_owned();
        of_item(0, Severity::Warning, Caveat::WaitedForProcessor { who, share: 0.3, share_of_ready })
    };
    let all = [
        failed("a", "max-block"),
        failed("b", "delivery-timeout"),
        failed("c", "max-block"),
        waited("a", None),
        waited("brokers", Some(0.5)),
        of_item(0, Severity::Note, Caveat::ClosedLoop { item: "a".to_owned() }),
        of_item(1, Severity::Note, Caveat::ClosedLoop { item: "b".to_owned() }),
    ];
    let reported: Vec<String> = of_trial(all.iter()).into_iter().map(|one| one.short).collect();
    let begins = [
        "a and c: 5 records",
        "b: 5 records",
        "CPU contention: threads of a ",
        "CPU contention: threads of brokers ",
        "a: at",
        "b: at",
    ];
    assert_eq!(reported.len(), begins.len(), "{reported:#?}");
    assert!(
        reported.iter().zip(begins).all(|(reported, begins)| reported.starts_with(begins)),
        "{reported:#?}"
    );
}

#[test]
fn a_lone_number_is_not_a_range() {
    let steal = Caveat::Steal { share: 0.031 };
    assert!(sentence(&steal).starts_with("the hypervisor took 3.10 % of the CPU time: "));
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
        Caveat::CommandFailed { item: item(), first: text() },
        Caveat::RequestsFailed { item: item(), errors: 40, share: 0.02 },
        Caveat::CutShort { reason: text(), measured_s: 7, planned_s: 60, went_on: false },
        Caveat::ClusterChanged { event: "leader-moved".to_owned(), events: 4, first: text() },
        Caveat::Unsteady { item: item(), detail: text() },
        Caveat::WarmupNotSettled { detail: text() },
        Caveat::Unconditioned,
        Caveat::BrokersFresh { records: 1_100, load_s: 2.2 },
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

fn group_not_conserved() -> Caveat {
    Caveat::GroupNotConserved(GroupNotConserved {
        group: "billing".to_owned(),
        topic: "a detail".to_owned(),
        least: 100,
        most: 102,
        handed_over: 99,
    })
}

fn full_gc(all_ns: Option<u64>) -> Caveat {
    let (item, first) = ("writers".to_owned(), "a detail".to_owned());
    Caveat::FullGc(FullGc { item, collections: 2, all_ns, first })
}

fn stood_still(without_ns: Option<u64>) -> Caveat {
    Caveat::StoodStill(StoodStill {
        item: "writers".to_owned(),
        quantile: "p99".to_owned(),
        late_ns: 1_500_000_000,
        timing: "without_generator".to_owned(),
        with_ns: 116_000_000,
        without_ns,
    })
}

fn clocks_differ(drift_ns_per_s: Option<u64>, error_ns: Option<u64>) -> Caveat {
    Caveat::ClocksDiffer(ClocksDiffer {
        item: "writers".to_owned(),
        bound_ns: 40_000,
        drift_ns_per_s,
        error_ns,
    })
}

fn few_seconds() -> Caveat {
    let (item, quantile) = ("writers".to_owned(), "p99".to_owned());
    Caveat::FewSeconds(FewSeconds { item, quantile, seconds: 2, of_s: 30, at_s: 20 })
}

/// The last of them.
fn of_samples() -> Vec<Caveat> {
    let item = || "writers".to_owned();
    let text = || "a detail".to_owned();
    vec![
        Caveat::PairsUnconditioned { pairs: 2 },
        Caveat::PairsLost { pairs: 2, first: text(), likewise: 0, ended_after: None },
        Caveat::PairOrder(PairOrder { metric: text(), ratio: 0.62 }),
        Caveat::PairsTied(PairsTied { metric: text(), pairs: 2, first: text() }),
        Caveat::ClustersDiffer { side: "B".to_owned(), settings: 2, first: text() },
        Caveat::BrokersDiffer { side: "A".to_owned(), settings: 3, first: text() },
        Caveat::RunsUnpaired,
        Caveat::EvidenceOfRuns { detail: text() },
        Caveat::Stalled(Stalled { item: item(), seconds: 1.94, at_s: 20.1 }),
        clocks_differ(Some(12_000), None),
        Caveat::LateEndToEnd {
            item: item(),
            quantile: "p99".to_owned(),
            late_ns: 88_000_000,
            end_to_end_ns: 114_000_000,
        },
        Caveat::Failures { item: item(), reason: "max-block".to_owned(), records: 5 },
        Caveat::Unresolved { item: item(), records: 5 },
        Caveat::ProducerEnded { item: item(), first: text() },
        Caveat::FewRecords { item: item(), quantile: "p99.99".to_owned(), beyond: 3 },
        few_seconds(),
        Caveat::ConsumerBehind { item: item(), records: 30, seconds: None },
        Caveat::RecordsSkipped { item: item(), events: 2, first: text() },
        group_not_conserved(),
        Caveat::MembersPutOut(MembersPutOut { item: item(), losses: 5, poll_interval_max_ns: 4_000_000_000 }),
        Caveat::MemberFailed { item: item(), first: text() },
        Caveat::StacksSampled { of: text(), share: Some(0.93) },
        Caveat::AgentBusy { share: 0.047 },
        Caveat::StacksNotSampled { subject: Subject::Broker(1), detail: text() },
        full_gc(Some(310_000_000)),
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
        stood_still(Some(12_000_000)),
        Caveat::CalibrationShort { item: item(), ratio: 1.4, generator: None },
        Caveat::CalibrationShort { item: item(), ratio: 1.4, generator: Some("gen-2".to_owned()) },
        Caveat::OtherLoad { cpu_percent: 40.0 },
        Caveat::WaitedForProcessor { who: item(), share: 0.31, share_of_ready: None },
        Caveat::WaitedForProcessor { who: "brokers".to_owned(), share: 1.31, share_of_ready: Some(0.58) },
        Caveat::ProcessorLimited { share: 0.2 },
        Caveat::SharedProcessors { processors: 2 },
        Caveat::ClosedLoop { item: item() },
        Caveat::WrittenNotAppended { item: item() },
        Caveat::NotAppended { item: item(), written: 60, growth: 0 },
        Caveat::NothingAcknowledged { item: item(), records: 1_005 },
        Caveat::PageCacheAbsorbed { share: 0.04 },
        Caveat::RandomValues { item: item(), compression: "lz4".to_owned(), by_schema: false },
        Caveat::CompressionMissed { item: item(), stated: 20.0, reached: 7.4 },
        Caveat::MemoryStorage,
        Caveat::NullBroker,
        Caveat::PooledCompression { item: item() },
        Caveat::ProbeMissesLeaders { item: item(), partitions: 2, brokers: 3 },
        Caveat::AssignedNotGroup { item: item() },
    ]
}

/// Caveats with words that no kind above has.
fn further_words() -> Vec<Caveat> {
    let item = || "writers".to_owned();
    let text = || "a detail".to_owned();
    let queue = |growth_s| Caveat::QueueGrowth { item: item(), start_s: 0.296, growth_s, allowed_s: 0.05 };
    let sent_again = |is_idempotent| Caveat::Retries { item: item(), batches: 3, is_idempotent };
    let reasons = [
        "delivery-timeout",
        "MESSAGE_TOO_LARGE",
        "TOPIC_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "NOT_ENOUGH_REPLICAS",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_SERVER_ERROR",
    ];
    let failed = |reason: &str| Caveat::Failures { item: item(), reason: reason.to_owned(), records: 5 };
    let mut all = vec![
        Caveat::ProcessDied { subject: Subject::Component("library".to_owned()) },
        Caveat::CutShort { reason: text(), measured_s: 7, planned_s: 0, went_on: false },
        Caveat::CutShort { reason: text(), measured_s: 7, planned_s: 60, went_on: true },
        Caveat::UnknownSetting { setting: "num.io.thread".to_owned(), detail: text() },
        Caveat::StacksSampled { of: text(), share: None },
        Caveat::PairsLost { pairs: 1, first: text(), likewise: 3, ended_after: None },
        queue(1.5),
        queue(0.0),
        sent_again(true),
        sent_again(false),
        Caveat::ConsumerBehind { item: item(), records: 30, seconds: Some(3.0) },
        Caveat::FetchErrors { item: item(), events: 2, first: text() },
        stood_still(None),
        full_gc(None),
        clocks_differ(None, None),
        clocks_differ(Some(12_000), Some(310_000)),
        Caveat::RelayLate { subject: Subject::Relay(0), late_s: 0.004, delay_s: 0.02 },
        Caveat::RelayBusy { subject: Subject::Relay(0), cpu_percent: 80.0 },
        Caveat::HostShared { detail: text() },
        Caveat::Steal { share: 0.031 },
        Caveat::SmallBatches { item: item(), share: 0.2 },
        Caveat::RandomValues { item: item(), compression: "lz4".to_owned(), by_schema: true },
        Caveat::CompressionMissed { item: item(), stated: 3.0, reached: 4.0 },
    ];
    all.extend(reasons.map(failed));
    all
}

#[test]
fn each_kind_is_worded_with_all_of_its_numbers() {
    insta::assert_snapshot!(printed(&others()));
}

#[test]
fn what_a_kind_says_else_is_worded_too() {
    insta::assert_snapshot!(printed(&further_words()));
}

fn printed(caveats: &[Caveat]) -> String {
    let words = caveats.iter().map(|one| {
        let (sentence, remedy) = reported(&[one]);
        assert!(sentence.contains(' ') && !sentence.ends_with('.'), "{one:?}: {sentence}");
        if remedy.is_empty() { sentence } else { format!("{sentence}\n  → {remedy}") }
    });
    words.collect::<Vec<_>>().join("\n")
}

/// A new kind needs a caveat of it in the tables above, for each of its words.
#[test]
fn the_words_of_every_row_have_their_values() {
    let all: Vec<Caveat> = others().into_iter().chain(further_words()).collect();
    for row in CaveatRow::all().map(|row| row.kind.row()) {
        for words in row.words {
            let are_its = |one: &&Caveat| std::ptr::eq(one.row().words_of(&[one]), words);
            let sample = all.iter().filter(|one| one.row().kind == row.kind).find(are_its);
            let sample = sample.unwrap_or_else(|| panic!("no test words {}: {}", row.kind, words.sentence));
            let values = [CaveatValues::of(sample)];
            for text in [words.sentence, words.of, row.short] {
                assert!(filled(text, &values).is_some(), "{text} has a value that {sample:?} has not");
            }
            assert!(
                row.name.is_empty() || values[0].text(row.name).is_some(),
                "{} has no {}",
                row.kind,
                row.name
            );
            assert_eq!(values[0].text("kind"), Some(row.kind.to_string()), "it is called as in run files");
        }
    }
}

/// What a summary prints fits a line.
#[test]
fn each_kind_has_one_line() {
    const WIDTH_MAX: usize = 98;
    let lines: Vec<String> = others().iter().map(|one| short(&[one])).collect();
    for line in &lines {
        assert!(line.contains(' ') || line == "a detail", "{line}");
        assert!(line.chars().count() <= WIDTH_MAX && !line.ends_with('.'), "{line}");
    }
    insta::assert_snapshot!(lines.join("\n"));
}
