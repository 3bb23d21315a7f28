//! Findings, caveats and series of made-up trials whose truth is known.

use crate::fixture::{MS, S, Trial, WRITERS, closed_loop, histogram};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::{Caveat, Interval, NotResolvable, Quantity, Scope, Severity, Value};
use kdyno_model::metric::{SubjectKind, names};
use kdyno_model::plan::{Compression, Payload, Storage, SystemPlan};
use kdyno_model::sample::{Counts, Grain, NoiseReading, Phase, Timing, series};
use kdyno_model::trial::TrialId;

/// The value of a bucket: the largest that is equivalent at so many digits.
fn at_digits(ns: u64, digits: u8) -> f64 {
    let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, digits).unwrap();
    histogram.highest_equivalent(ns) as f64
}

fn at_three_digits(ns: u64) -> f64 {
    at_digits(ns, 3)
}

fn event(kind: EventKind, subject: Subject, detail: &str) -> Event {
    Event { at_unix_ns: 1, at_ns: Some(5), kind, subject, detail: detail.to_owned() }
}

#[test]
fn every_metric_of_every_subject_is_stated_and_known() {
    let trial = Trial::clean();
    let findings = trial.findings();
    for (subject, kind) in [
        ("writers", SubjectKind::Produce),
        ("readers", SubjectKind::Consume),
        ("brokers", SubjectKind::Broker),
        ("broker-0", SubjectKind::Broker),
        ("broker-1", SubjectKind::Broker),
        ("workers", SubjectKind::Worker),
        ("host", SubjectKind::Host),
    ] {
        for name in names(kind) {
            assert_ne!(trial.value(&format!("{subject}.{name}")), Value::None, "{subject}.{name}");
        }
    }
    for finding in findings {
        assert_eq!((finding.scope, finding.quantity), (Scope::Trial(TrialId(1)), Quantity::Value));
        assert_eq!((finding.n, finding.range, finding.is_invalid()), (1, None, false));
        assert_eq!(finding.interval, Interval::NotResolvable(NotResolvable::OneTrial));
    }
}

#[test]
fn the_figures_of_a_clean_trial() {
    let trial = Trial::clean();
    for (address, wanted) in [
        ("writers.clients", 2.0),
        ("writers.offered_per_s", 1000.0),
        ("writers.achieved_per_s", 1000.0),
        ("writers.acked_per_s", 1000.0),
        ("writers.acked_mib_per_s", 128_000.0 / 1_048_576.0),
        ("writers.acked_per_s_sum_of_clients", 1000.0),
        ("writers.acked_mib_per_s_sum_of_clients", 128_000.0 / 1_048_576.0),
        ("writers.achieved_share", 1.0),
        ("writers.target_reached", 1.0),
        ("writers.failed", 0.0),
        ("writers.unresolved", 0.0),
        ("writers.records_per_batch", 50.0),
        ("writers.bytes_per_request", 15_000.0),
        ("writers.response_over_service", 4.0 / 3.95),
        ("writers.response.mean", 4e6),
        ("writers.response.p99", at_three_digits(4 * MS)),
        ("writers.response.max", at_three_digits(4 * MS)),
        ("writers.service.p50", at_three_digits(3_950_000)),
        ("writers.request.p99.99", at_three_digits(2_390_000)),
        ("writers.block.max", 0.0),
        ("readers.fetched_per_s", 1000.0),
        ("readers.fetched_mib_per_s", 140_000.0 / 1_048_576.0),
        ("readers.records_per_batch", 20.0),
        ("readers.bytes_per_request", 29_000.0),
        ("broker-0.cpu_percent", 40.0),
        ("broker-0.cpu_us_per_record", 400.0),
        ("brokers.cpu_percent", 60.0),
        ("brokers.cpu_us_per_record", 600.0),
        ("brokers.memory_rss_bytes_max", 2e8 + 22.0),
        ("workers.cpu_us_per_record", 300.0),
        ("host.cpu_percent", 90.0),
        ("host.steal_percent", 0.0),
    ] {
        trial.is(address, wanted);
    }
}

#[test]
fn rates_count_what_was_written_in_the_window_and_latencies_what_was_intended_in_the_phase() {
    let mut trial = Trial::clean();
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
fn without_phase_rows_latencies_come_from_the_finest_rows_that_are_left() {
    let mut trial = Trial::clean();
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
    let mut trial = Trial::clean();
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
fn records_that_never_came_home_lie_above_the_quantiles() {
    let mut trial = Trial::clean();
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
            // Of what the client gave up waiting for nobody knows whether it was carried.
            (Severity::Warning, Caveat::OfferedNotAchieved { item: item(), share: 0.985 }),
            (Severity::Warning, Caveat::Failures { item: item(), reason, records: 100 }),
            (Severity::Warning, Caveat::Unresolved { item: item(), records: 50 }),
        ]
    );
}

#[test]
fn a_closed_loop_has_no_target() {
    let mut trial = Trial::clean();
    trial.writers().rate = closed_loop();
    assert_eq!(trial.value("writers.target_reached"), Value::None);
    assert_eq!(trial.caveats(), [(Severity::Note, Caveat::ClosedLoop { item: "writers".into() })]);
}

#[test]
fn a_record_limit_ends_the_window_when_it_is_reached() {
    let mut trial = Trial::clean();
    trial.samples.retain(|row| row.grain != Grain::Second || row.t0_second < 8);
    trial.take_totals();
    trial.is("writers.offered_per_s", 600.0);
    trial.writers().records_max = Some(6000);
    // Seconds 2 to 6: the one in which the limit was reached is not whole.
    trial.is("writers.offered_per_s", 1000.0);
    trial.is("readers.fetched_per_s", 1000.0);
    trial.is("brokers.cpu_us_per_record", 600.0);
}

#[test]
fn a_killed_trial_is_counted_up_to_its_last_whole_second() {
    let mut trial = Trial::clean();
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 8);
    trial.totals.clear();
    trial.counts(7).acknowledged = 1;
    trial.is("writers.acked_per_s", 1000.0);
    trial.is("writers.response.p50", at_digits(4 * MS, 2));
    assert_eq!(trial.value("writers.acked_per_s_sum_of_clients"), Value::None);
    assert!(matches!(&trial.caveats()[..], [(Severity::Warning, Caveat::CutShort { .. })]));
}

#[test]
fn outcomes_that_come_after_a_stop_do_not_lengthen_the_window() {
    let mut trial = Trial::clean();
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
fn acknowledgements_in_flight_at_the_windows_end_are_no_doubt() {
    let carried = |missing: u64, refused: u64| {
        let mut trial = Trial::clean();
        let counts = trial.counts(11);
        counts.acknowledged -= missing + refused;
        counts.unresolved += missing;
        if refused > 0 {
            counts.failed.insert("MESSAGE_TOO_LARGE".into(), refused);
        }
        trial.take_totals();
        let caveats = trial.caveats();
        !caveats.iter().any(|(_, caveat)| matches!(caveat, Caveat::OfferedNotAchieved { .. }))
    };
    // 100 ms bring 100 records, 1 % of the window's.
    assert!(carried(100, 0));
    assert!(!carried(101, 0));
    assert!(carried(50, 400), "what a broker refused had its outcome in time");
}

#[test]
fn a_trial_that_ended_in_the_warm_up_states_nothing() {
    let mut trial = Trial::clean();
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 2);
    trial.totals.clear();
    for finding in trial.findings() {
        let known = finding.of.metric == "clients";
        assert_eq!(finding.estimate != Value::None, known, "{}", finding.of);
    }
}

#[test]
fn a_clean_trial_has_nothing_to_doubt_but_its_shared_processors() {
    assert_eq!(Trial::clean().caveats(), []);
}

/// A change to a clean trial, and the one caveat it must cause.
type Doubt = (fn(&mut Trial), Severity, Caveat);

fn assert_doubts(doubts: impl IntoIterator<Item = Doubt>) {
    for (change, severity, caveat) in doubts {
        let mut trial = Trial::clean();
        change(&mut trial);
        let found = trial.caveats();
        assert_eq!(found.len(), 1, "{caveat:?}: {found:?}");
        assert_eq!(found[0].0, severity);
        assert_eq!(rounded(&found[0].1), rounded(&caveat));
    }
}

#[test]
fn each_doubt_about_the_load_is_named_by_what_causes_it() {
    let item = || "writers".to_owned();
    let doubts: [Doubt; 7] = [
        (
            |trial| {
                // Fresh brokers carry little in the warm-up; what they owe comes in the window's first second.
                trial.counts(1).acknowledged = 200;
                trial.counts(2).acknowledged += 800;
            },
            Severity::Warning,
            Caveat::QueueAtStart { item: item(), records: 800, seconds: 0.8 },
        ),
        (
            |trial| {
                for second in 2..12 {
                    trial.counts(second).achieved = 990;
                }
            },
            Severity::Warning,
            Caveat::OfferedNotAchieved { item: item(), share: 0.99 },
        ),
        (
            |trial| {
                // The buffer takes what the cluster does not carry, and holds it when the window ends.
                for second in 2..12 {
                    trial.counts(second).acknowledged = 700;
                }
                trial.late_acknowledgements(3000, 14);
                trial.take_totals();
            },
            Severity::Warning,
            Caveat::OfferedNotAchieved { item: item(), share: 0.7 },
        ),
        (
            |trial| trial.totals[1].counts.offered += 2,
            Severity::Invalid,
            Caveat::AccountingBroken { item: item(), difference: 2 },
        ),
        (
            |trial| {
                trial.totals[1].counts.offered += 7;
                trial.totals[1].counts.acknowledged += 7;
            },
            Severity::Invalid,
            Caveat::SamplesMissing { item: item(), records: 7 },
        ),
        (
            |trial| trial.stages([1_050_000, 0, 500_000, 50_000, 2_390_000, 10_000]),
            Severity::Warning,
            Caveat::ScheduleDelayLarge {
                item: item(),
                schedule_delay_ns_p99: at_three_digits(1_050_000) as u64,
                response_ns_p99: at_three_digits(4 * MS) as u64,
            },
        ),
        (
            |trial| {
                trial.writers().client.compression = Compression::Lz4;
                trial.writers().payload = Payload::Pooled { pool_bytes: 8 << 20 };
            },
            Severity::Warning,
            Caveat::PooledCompression { item: item() },
        ),
    ];
    assert_doubts(doubts);
}

#[test]
fn each_doubt_about_host_and_system_is_named_by_what_causes_it() {
    let doubts: [Doubt; 4] = [
        (
            |trial| {
                for reading in trial.probes.iter_mut().filter(|reading| reading.subject == Subject::Worker(0))
                {
                    reading.value *= 6.0;
                }
            },
            Severity::Warning,
            Caveat::WorkerBusy { cpu_percent: 180.0, cores: 2 },
        ),
        (
            // One thread has all that the worker uses, the others are idle; a core for each would be enough.
            |trial| trial.threads([("writers", 0.8), ("readers", 0.1)]),
            Severity::Warning,
            Caveat::ThreadBusy { thread: "writers".into(), cpu_percent: 80.0 },
        ),
        (
            |trial| {
                for reading in &mut trial.probes {
                    match reading.series.as_str() {
                        series::CPU_STEAL_S_TOTAL => reading.value = 0.05 * (reading.at_ns / S as i64) as f64,
                        series::CPU_IDLE_S_TOTAL => reading.value *= 0.95,
                        _ => {}
                    }
                }
            },
            Severity::Warning,
            Caveat::Steal { share: 0.025 },
        ),
        (
            |trial| match &mut trial.start.trial.effective.system {
                SystemPlan::Local(cluster) => cluster.storage = Storage::Memory,
                SystemPlan::Attached(_) => {}
            },
            Severity::Warning,
            Caveat::MemoryStorage,
        ),
    ];
    assert_doubts(doubts);
}

#[test]
fn each_event_that_makes_a_trial_doubtful_is_told() {
    let doubts: [Doubt; 6] = [
        (
            |trial| trial.events = vec![event(EventKind::ProcessDied, Subject::Broker(1), "exit 137"); 2],
            Severity::Warning,
            Caveat::ProcessDied { subject: Subject::Broker(1) },
        ),
        (
            |trial| {
                trial.events = vec![
                    event(
                        EventKind::UnknownSetting,
                        Subject::Setting("num.io.thread".into()),
                        "not known"
                    );
                    2
                ]
            },
            Severity::Warning,
            Caveat::UnknownSetting { setting: "num.io.thread".into(), detail: "not known".into() },
        ),
        (
            |trial| trial.events = vec![event(EventKind::HostShared, Subject::Host, "run 7"); 2],
            Severity::Warning,
            Caveat::HostShared { detail: "run 7".into() },
        ),
        (
            |trial| {
                trial.events = ["first", "second"]
                    .map(|d| event(EventKind::FetchError, Subject::Item("readers".into()), d))
                    .into();
                // Before T0 nothing is measured.
                let before_t0 = Event { at_ns: None, ..trial.events[0].clone() };
                trial.events.push(before_t0);
            },
            Severity::Warning,
            Caveat::FetchErrors { item: "readers".into(), events: 2, first: "first".into() },
        ),
        (
            |trial| {
                trial.events =
                    vec![event(EventKind::RecordsSkipped, Subject::Item("readers".into()), "5 records")]
            },
            Severity::Warning,
            Caveat::RecordsSkipped { item: "readers".into(), events: 1, first: "5 records".into() },
        ),
        (
            |trial| trial.events = vec![event(EventKind::CutShort, Subject::Kdyno, "interrupted")],
            Severity::Warning,
            Caveat::CutShort { reason: "interrupted".into(), measured_s: 9, planned_s: 10 },
        ),
    ];
    assert_doubts(doubts);
}

#[test]
fn processor_time_of_other_programs_is_told() {
    let mut trial = Trial::clean();
    for reading in &mut trial.probes {
        if reading.subject == Subject::Host && reading.series == series::CPU_USER_S_TOTAL {
            reading.value += 0.6 * (reading.at_ns as f64 / S as f64);
        }
    }
    let found = trial.caveats();
    let [(Severity::Warning, Caveat::OtherLoad { cpu_percent })] = found[..] else {
        panic!("expected one caveat: {found:?}")
    };
    assert!((cpu_percent - 60.0).abs() < 1e-6, "the rest of the host is the run's own: {cpu_percent}");
}

/// Shares and percentages to six places: they come from sums of fractions.
fn rounded(caveat: &Caveat) -> Caveat {
    let round = |value: f64| (value * 1e6).round() / 1e6;
    match caveat.clone() {
        Caveat::Steal { share } => Caveat::Steal { share: round(share) },
        Caveat::WorkerBusy { cpu_percent, cores } => {
            Caveat::WorkerBusy { cpu_percent: round(cpu_percent), cores }
        }
        Caveat::ThreadBusy { thread, cpu_percent } => {
            Caveat::ThreadBusy { thread, cpu_percent: round(cpu_percent) }
        }
        other => other,
    }
}

#[test]
fn lag_is_not_doubted_where_a_bare_sleep_is_as_late() {
    let mut trial = Trial::clean();
    trial.stages([1_050_000, 0, 500_000, 50_000, 2_390_000, 10_000]);
    trial.noise = vec![NoiseReading {
        spin_per_us: 400.0,
        spin_worst_ratio: 1.1,
        sleep_late_ns_p50: 20_000,
        sleep_late_ns_p99: 400_000,
        loopback_ns_p50: 9_000,
        loopback_ns_p99: 30_000,
        steal_share: 0.0,
    }];
    assert_eq!(trial.caveats(), []);
}

#[test]
fn a_damaged_histogram_is_an_error() {
    let mut trial = Trial::clean();
    for row in &mut trial.samples {
        for bytes in row.histograms.values_mut() {
            bytes.truncate(20);
        }
    }
    let error = kdyno_analysis::trial::judge(&trial).unwrap_err();
    assert_eq!(error.to_string(), "a stored histogram is damaged: it is cut off");
    assert!(kdyno_analysis::series::trial(&trial).is_err());
}
