//! Findings, caveats and series of made-up trials whose truth is known.

use crate::fixture::{MS, READERS, S, TrialFixture, WRITERS, at_three_digits, closed_loop, event, histogram};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::{Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{SubjectKind, is_cost, may_be_left_out, names};
use kdyno_model::plan::{LoadSpan, Mode, RecordPlan, Role, SystemPlan, TransactionsPlan, ValuesPlan};
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{
    ClientTotals, Counts, Grain, PartitionTotals, Phase, Sample, StreamId, Timing, series,
};
use kdyno_model::trial::TrialId;

/// The value of a bucket: the largest that is equivalent at so many digits.
fn at_digits(ns: u64, digits: u8) -> f64 {
    let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, digits).unwrap();
    histogram.highest_equivalent(ns) as f64
}

#[test]
fn a_sum_is_of_all_items_that_are_there_for_the_whole_window() {
    let mut trial = TrialFixture::clean();
    let id = StreamId { worker: 0, stream: 2 };
    let writers = trial.start.streams.iter().find(|stream| stream.id == WRITERS).unwrap().clone();
    trial.start.streams.push(StreamInfo { id, name: "more".into(), ..writers });
    let load = &mut trial.start.trial.effective.load;
    let plan = load["writers"].clone();
    load.insert("more".into(), plan);
    let own: Vec<_> = trial.samples.iter().filter(|row| row.id == WRITERS).cloned().collect();
    trial.samples.extend(own.into_iter().map(|row| Sample { id, ..row }));
    trial.take_totals();
    trial.is("sum.acked_per_s", 2_000.0);
    trial.is("sum.fetched_per_s", 1_000.0);
    trial.is("sum.failed", 0.0);
    // It is there for other seconds, and their rates do not add up.
    let span = LoadSpan { at_ns: Some(3 * S), until_ns: None };
    trial.start.trial.effective.load.get_mut("more").unwrap().span = span;
    assert_eq!(trial.value("sum.acked_per_s"), Value::None);
    trial.is("sum.fetched_per_s", 1_000.0);
}

#[test]
fn every_metric_of_every_subject_is_stated_and_known() {
    let trial = TrialFixture::clean();
    let findings = trial.findings();
    for (subject, kind) in [
        ("writers", SubjectKind::Produce),
        ("readers", SubjectKind::Consume),
        ("brokers", SubjectKind::Broker),
        ("broker-0", SubjectKind::Broker),
        ("broker-1", SubjectKind::Broker),
        ("system", SubjectKind::Broker),
        ("workers", SubjectKind::Worker),
        ("host", SubjectKind::Host),
        ("sum", SubjectKind::Sum),
    ] {
        // No cluster has a price unless somebody declares it, and these producers have no transactions.
        for name in names(kind).into_iter().filter(|name| !may_be_left_out(name)) {
            assert_ne!(trial.value(&format!("{subject}.{name}")), Value::None, "{subject}.{name}");
        }
    }
    for finding in findings {
        assert_eq!((finding.scope, finding.quantity), (Scope::Trial(TrialId(1)), Quantity::Value));
        assert_eq!((finding.n, finding.range, finding.is_invalid()), (1, None, false), "{}", finding.of);
        assert_eq!(finding.interval, Interval::NotResolvable(NotResolvable::OneTrial));
    }
}

/// What is reported of transactions, where there are any: counts of the window, and times of commits that began in the
/// phase.
#[test]
fn the_figures_of_transactions() {
    let mut trial = TrialFixture::clean();
    let reported = |trial: &TrialFixture| {
        let findings = trial.findings().into_iter();
        let own =
            findings.filter(|finding| may_be_left_out(&finding.of.metric)).map(|finding| finding.of.metric);
        own.filter(|metric| !is_cost(metric)).collect::<Vec<_>>()
    };
    assert_eq!(reported(&trial), Vec::<String>::new());
    trial.writers().transactions =
        Some(TransactionsPlan { every_ns: 100 * MS, records: None, abort_share: 0.1 });
    for second in 0..12 {
        let counts = trial.counts(second);
        (counts.committed, counts.aborted, counts.markers) = (9, 1, 20);
    }
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(Timing::Commit, histogram(&[(2 * MS, 90), (8 * MS, 10)], 3));
    assert_eq!(trial.value("writers.committed"), Value::Is(90.0));
    assert_eq!(trial.value("writers.aborted"), Value::Is(10.0));
    // What counts is when they ended, which is when a row was written: one end began in the warm-up, another one in the window.
    for (phase, began, ended, committed) in [(Phase::Warmup, 1, 3, 5), (Phase::Measure, 11, 12, 7)] {
        let row = trial.push(WRITERS, Grain::Second, phase, began, ended);
        row.counts = Counts { committed, ..Counts::default() };
    }
    assert_eq!(trial.value("writers.committed"), Value::Is(95.0));
    assert_eq!(trial.value("writers.commit.p50"), Value::Is(at_three_digits(2 * MS)));
    assert_eq!(trial.value("writers.commit.p95"), Value::Is(at_three_digits(8 * MS)));
    // Records that failed lie above the quantiles of their response, not above those of commits.
    trial.counts(5).failed.insert("delivery-timeout".to_owned(), 500);
    assert_eq!(trial.value("writers.commit.max"), Value::Is(at_three_digits(8 * MS)));
}

/// By their plan values have 128 bytes; what counts is what was sent.
#[test]
fn mib_of_varying_values_are_those_of_acknowledged_ones() {
    let mut trial = TrialFixture::clean();
    for second in 0..12 {
        trial.counts(second).acknowledged_bytes = 200_000;
    }
    trial.take_totals();
    let changes: [fn(&mut RecordPlan); 2] = [
        |plan| plan.values = ValuesPlan::Uniform { bytes_min: 100, bytes_max: 300 },
        |plan| *plan = RecordPlan { tombstone_share: 0.5, ..RecordPlan::default() },
    ];
    for change in changes {
        change(&mut trial.writers().records);
        trial.is("writers.acked_mib_per_s", 200_000.0 / 1_048_576.0);
        trial.is("writers.acked_mib_per_s_sum_of_clients", 200_000.0 / 1_048_576.0);
    }
}

#[test]
fn the_figures_of_a_clean_trial() {
    let trial = TrialFixture::clean();
    for (address, wanted) in [
        ("writers.clients", 2.0),
        ("writers.offered_per_s", 1000.0),
        ("writers.achieved_per_s", 1000.0),
        ("writers.acked_per_s", 1000.0),
        ("writers.acked_mib_per_s", 128_000.0 / 1_048_576.0),
        ("writers.acked_per_s_sum_of_clients", 1000.0),
        ("writers.acked_mib_per_s_sum_of_clients", 128_000.0 / 1_048_576.0),
        ("writers.clients_overlap_share", 1.0),
        ("writers.achieved_share", 1.0),
        ("writers.target_reached", 1.0),
        ("writers.failed", 0.0),
        ("writers.unresolved", 0.0),
        ("writers.records_per_batch", 50.0),
        ("writers.bytes_per_request", 15_000.0),
        ("writers.compression_ratio", 1.0),
        ("writers.header_trailers", 0.0),
        ("writers.response_over_service", 4.0 / 3.95),
        ("writers.response.mean", 4e6),
        ("writers.response.p99", at_three_digits(4 * MS)),
        ("writers.response.max", at_three_digits(4 * MS)),
        ("writers.service.p50", at_three_digits(3_950_000)),
        ("writers.request.p99.99", at_three_digits(2_390_000)),
        ("writers.block.max", 0.0),
        ("readers.fetched_per_s", 1000.0),
        ("readers.fetched_wire_mib_per_s", 140_000.0 / 1_048_576.0),
        ("readers.records_per_batch", 20.0),
        ("readers.bytes_per_request", 29_000.0),
        ("broker-0.cpu_percent", 40.0),
        ("broker-0.cpu_us_per_record", 400.0),
        ("brokers.cpu_percent", 60.0),
        ("brokers.cpu_us_per_record", 600.0),
        ("brokers.memory_rss_bytes_max", 2e8 + 22.0),
        ("system.cpu_us_per_record", 600.0),
        ("workers.cpu_us_per_record", 300.0),
        ("host.cpu_percent", 90.0),
        ("host.steal_percent", 0.0),
    ] {
        trial.is(address, wanted);
    }
}

#[test]
fn the_system_is_brokers_controllers_and_zookeeper_together() {
    for (mode, nodes) in [
        (Mode::Zookeeper { nodes: 1 }, vec![Subject::Zookeeper(0)]),
        (
            Mode::KraftControllers { controllers: 2 },
            vec![Subject::Controller(3000), Subject::Controller(3001)],
        ),
    ] {
        let mut trial = TrialFixture::clean();
        let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
        cluster.mode = mode;
        let (last, others) = nodes.split_last().unwrap();
        for node in others {
            trial.counter(node.clone(), series::CPU_USER_S_TOTAL, 0.1);
            trial.counter(node.clone(), series::CPU_SYSTEM_S_TOTAL, 0.0);
        }
        let of = "system.cpu_us_per_record";
        assert_eq!(trial.value(of), Value::None, "{last} was not probed");
        trial.counter(last.clone(), series::CPU_USER_S_TOTAL, 0.08);
        trial.counter(last.clone(), series::CPU_SYSTEM_S_TOTAL, 0.02);
        trial.is(of, 600.0 + 100.0 * nodes.len() as f64);
        trial.is("brokers.cpu_us_per_record", 600.0);
    }
}

#[test]
fn rates_count_the_window_and_latencies_the_intended_phase() {
    let mut trial = TrialFixture::clean();
    // The last measured second comes home in the drain, and one of the warm-up's inside the window.
    for row in trial.samples.iter_mut().filter(|row| row.grain == Grain::Second) {
        match row.t0_second {
            1 => row.written_second = 3,
            11 => row.written_second = 13,
            _ => {}
        }
    }
    trial.is("writers.acked_per_s", 1000.0);
    trial.is("writers.offered_per_s", 1000.0);
    let late = trial.samples.iter_mut().find(|row| row.id == WRITERS && row.t0_second == 10).unwrap();
    late.written_second = 13;
    trial.is("writers.acked_per_s", 900.0);
    trial.is("writers.offered_per_s", 1000.0);
    trial.is("writers.target_reached", 0.0);
    trial.is("writers.response.p99", at_three_digits(4 * MS));
}

#[test]
fn without_phase_rows_latencies_come_from_the_finest_rows() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain != Grain::Phase);
    trial.is("writers.response.p99", at_digits(4 * MS, 2));
    assert_eq!(trial.value("writers.service.p99"), Value::None);
    let mut five = trial.samples[0].clone();
    five.grain = Grain::FiveSeconds;
    (five.phase, five.written_second) = (Phase::Measure, 11);
    five.histograms.insert(Timing::Response, histogram(&[(5 * MS, 10)], 3));
    trial.samples.push(five);
    trial.is("writers.response.p99", at_three_digits(5 * MS));
}

#[test]
fn a_trial_too_short_for_a_window_still_counts_what_failed() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 3);
    trial.totals.clear();
    let counts = trial.counts(2);
    counts.acknowledged -= 7;
    counts.failed.insert("delivery-timeout".into(), 3);
    counts.unresolved = 4;
    assert_eq!(trial.value("writers.acked_per_s"), Value::None);
    trial.is("writers.failed", 3.0);
    trial.is("writers.unresolved", 4.0);
}

#[test]
fn records_that_were_never_acknowledged_lie_above_the_quantiles() {
    let mut trial = TrialFixture::clean();
    // 150 of 10,000: p90 is known, p99 is not.
    let counts = trial.counts(5);
    counts.acknowledged -= 150;
    counts.failed.insert("delivery-timeout".into(), 100);
    counts.unresolved = 50;
    trial.take_totals();
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(Timing::Response, histogram(&[(4 * MS, 9_850)], 3));
    trial.is("writers.failed", 100.0);
    trial.is("writers.unresolved", 50.0);
    trial.is("writers.response.p90", at_three_digits(4 * MS));
    let least = Value::AtLeast(at_three_digits(4 * MS));
    assert_eq!(trial.value("writers.response.p99"), least);
    assert_eq!(trial.value("writers.response.max"), least);
    assert!(matches!(trial.value("writers.response.mean"), Value::AtLeast(_)));
    assert_eq!(trial.value("writers.response_over_service"), Value::None);
    trial.is("writers.request.p99.99", at_three_digits(2_390_000));
    let item = || "writers".to_owned();
    let reason = "delivery-timeout".to_owned();
    assert_eq!(
        trial.caveats(),
        [
            (Severity::Warning, Caveat::Failures { item: item(), reason, records: 100 }),
            (Severity::Warning, Caveat::Unresolved { item: item(), records: 50 }),
        ]
    );
}

#[test]
fn a_closed_loop_has_no_target() {
    let mut trial = TrialFixture::clean();
    trial.writers().rate = closed_loop();
    assert_eq!(trial.value("writers.target_reached"), Value::None);
    assert_eq!(trial.caveats(), [(Severity::Note, Caveat::ClosedLoop { item: "writers".into() })]);
}

#[test]
fn a_record_limit_ends_the_window_when_it_is_reached() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain != Grain::Second || row.t0_second < 8);
    trial.take_totals();
    trial.is("writers.offered_per_s", 600.0);
    trial.writers().records_max = Some(6000);
    // Seconds 2 to 6: the one in which the limit was reached is not whole.
    trial.is("writers.offered_per_s", 1000.0);
    trial.is("readers.fetched_per_s", 1000.0);
    trial.is("brokers.cpu_us_per_record", 600.0);
}

/// A consumer that had enough: what comes then belongs to no load.
#[test]
fn a_load_that_consumes_and_ended_by_itself_ends_the_window() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain != Grain::Second || row.written_second < 8);
    let ended =
        |subject| Event { at_ns: Some(7_900 * MS as i64), ..event(EventKind::ItemEnded, subject, "enough") };
    trial.events = vec![ended(Subject::Item("readers".into()))];
    trial.is("readers.fetched_per_s", 600.0);
    let readers = trial.start.trial.effective.load.get_mut("readers").expect("readers");
    let Role::Consume(consume) = &mut readers.role else { panic!("they consume") };
    consume.records_max = Some(8_000);
    trial.is("readers.fetched_per_s", 1000.0);
    trial.events = vec![ended(Subject::Item("others".into()))];
    trial.is("readers.fetched_per_s", 600.0);
}

#[test]
fn clients_overlap_while_all_of_them_are_at_work() {
    let at = |began_ns, span_ns| ClientTotals { records: 1, began_ns, span_ns, member: None };
    // From second 1 to 7 both, from 0 to 10 any; one that sent nothing is none of them.
    let spans = [at(Some(0), 7 * S), at(Some(S), 9 * S), at(None, 0)];
    let one_by_one = [at(Some(0), 4 * S), at(Some(5 * S), 5 * S)];
    let unreported = [at(Some(0), 7 * S), at(None, 9 * S)];
    for (clients, share) in [
        (&spans[..], Value::Is(0.6)),
        (&one_by_one, Value::Is(0.0)),
        (&unreported, Value::None),
        (&spans[2..], Value::None),
    ] {
        let mut trial = TrialFixture::clean();
        trial.totals.iter_mut().find(|totals| totals.id == WRITERS).unwrap().clients = clients.to_vec();
        assert_eq!(trial.value("writers.clients_overlap_share"), share, "{clients:?}");
    }
}

#[test]
fn skew_is_the_share_of_single_partitions() {
    let mut trial = TrialFixture::clean();
    let is_about_partitions = |trial: &TrialFixture| {
        trial.findings().iter().any(|finding| finding.of.metric.contains("partition_"))
    };
    assert!(!is_about_partitions(&trial), "a worker that does not count them");
    let of = |records, bytes| PartitionTotals { records, bytes };
    let writers = |trial: &mut TrialFixture, partitions: &[PartitionTotals]| {
        trial.totals.iter_mut().find(|totals| totals.id == WRITERS).unwrap().partitions = partitions.to_vec();
    };
    writers(&mut trial, &[of(600, 100), of(150, 800), of(250, 100)]);
    trial.is("writers.busiest_partition_share", 0.6);
    trial.is("writers.quietest_partition_share", 0.15);
    trial.is("writers.busiest_partition_bytes_share", 0.8);
    for nothing_to_share in [&[of(600, 100)][..], &[of(0, 0), of(0, 0)]] {
        writers(&mut trial, nothing_to_share);
        assert!(!is_about_partitions(&trial), "{nothing_to_share:?}");
    }
}

#[test]
fn a_killed_trial_is_counted_up_to_its_last_whole_second() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 8);
    trial.totals.clear();
    trial.counts(7).acknowledged = 1;
    trial.is("writers.acked_per_s", 1000.0);
    trial.is("writers.response.p50", at_digits(4 * MS, 2));
    assert_eq!(trial.value("writers.acked_per_s_sum_of_clients"), Value::None);
    // What was acknowledged in the last second is not known, and neither is what the log should hold.
    let unresolved = Caveat::Unresolved { item: "writers".into(), records: 999 };
    let found = trial.caveats();
    assert!(
        matches!(&found[..], [
            (Severity::Warning, open),
            (Severity::Warning, Caveat::CutShort { .. }),
            (Severity::Note, Caveat::LogNotChecked { .. }),
        ] if *open == unresolved),
        "{found:?}"
    );
}

#[test]
fn outcomes_that_come_after_a_stop_do_not_lengthen_the_window() {
    let mut trial = TrialFixture::clean();
    // Stopped in second 8; five seconds later the rest of that second is written off.
    trial.samples.retain(|row| row.grain == Grain::Second && row.t0_second < 8);
    trial.second(8, 8);
    *trial.counts(8) = Counts { offered: 500, achieved: 500, ..Counts::default() };
    let mut open = trial.samples[trial.samples.len() - 2].clone();
    (open.written_second, open.counts) = (13, Counts { unresolved: 500, ..Counts::default() });
    trial.samples.push(open);
    trial.take_totals();
    trial.events = vec![event(EventKind::CutShort, Subject::Kdyno, "interrupted")];
    trial.is("writers.offered_per_s", 1000.0);
    trial.is("writers.acked_per_s", 1000.0);
    trial.is("readers.fetched_per_s", 1000.0);
}

#[test]
fn a_trial_that_ended_in_the_warm_up_states_nothing() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 2);
    trial.totals.clear();
    for finding in trial.findings() {
        let known = finding.of.metric == "clients";
        assert_eq!(finding.estimate != Value::None, known, "{}", finding.of);
    }
}

#[test]
fn a_damaged_histogram_is_an_error() {
    let mut trial = TrialFixture::clean();
    for row in &mut trial.samples {
        for bytes in row.histograms.values_mut() {
            bytes.truncate(20);
        }
    }
    let error = kdyno_analysis::trial::judge(&trial).unwrap_err();
    assert_eq!(error.to_string(), "a stored histogram is damaged: it is cut off");
    assert!(kdyno_analysis::series::trial(&trial).is_err());
}

/// An item that comes and goes is judged by the whole seconds in which it was at work, and no level is sought across its
/// coming and going; the others keep the whole window.
#[test]
fn rates_of_items_that_come_and_go_are_of_their_own_seconds() {
    let mut trial = TrialFixture::clean();
    assert!(trial.judged().conclusions.iter().any(|one| matches!(one, Conclusion::Steadiness(_))));
    let span = LoadSpan { at_ns: Some(3_500 * MS), until_ns: Some(7_000 * MS) };
    trial.start.trial.effective.load.get_mut("readers").unwrap().span = span;
    // From T0 the measure phase begins with the third second.
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
        row.counts.fetched = u64::from(row.written_second) * 10;
    }
    trial.is("readers.fetched_per_s", f64::from(60 + 70 + 80) / 3.0);
    trial.is("writers.acked_per_s", 1_000.0);
    assert!(!trial.judged().conclusions.iter().any(|one| matches!(one, Conclusion::Steadiness(_))));
    // An item without a whole second in the window has no rates.
    let brief = LoadSpan { at_ns: Some(3_500 * MS), until_ns: Some(4_900 * MS) };
    trial.start.trial.effective.load.get_mut("readers").unwrap().span = brief;
    assert_eq!(trial.value("readers.fetched_per_s"), Value::None);
    // Clients that had yet to come when the trial was cut off leave the others their window.
    trial.samples.retain(|row| row.id != READERS);
    trial.totals.retain(|totals| totals.id != READERS);
    trial.is("writers.acked_per_s", 1_000.0);
}

/// Clients connect before T0, in rows of start-up, or in the phase in which they come.
#[test]
fn what_connecting_took_is_of_all_phases() {
    let mut trial = TrialFixture::clean();
    let reported =
        |trial: &TrialFixture| trial.findings().iter().any(|one| one.of.metric.starts_with("connect."));
    assert!(!reported(&trial));
    let row = trial.push(READERS, Grain::Phase, Phase::Startup, 0, 0);
    row.histograms.insert(Timing::Connect, histogram(&[(2 * MS, 3)], 3));
    let row = trial.push(WRITERS, Grain::Phase, Phase::Startup, 0, 0);
    row.histograms.insert(Timing::Connect, histogram(&[(2 * MS, 3), (9 * MS, 1)], 3));
    assert_eq!(trial.value("readers.connect.max"), Value::Is(at_three_digits(2 * MS)));
    assert_eq!(trial.value("writers.connect.max"), Value::Is(at_three_digits(9 * MS)));
    assert_eq!(trial.value("writers.response.max"), Value::Is(at_three_digits(4 * MS)));
}
