//! Items that Kafka's Java client carries: what their processes cost, and what is not known of them.

use crate::fixture::{S, STAGES_NS, TrialFixture, closed_loop, event, histogram};
use crate::limit;
use kdyno_model::caveat::{Caveat, FullGc, Severity};
use kdyno_model::conclusion::{Conclusion, Limit, LimitKind, ShortTerm, of_kind};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Value;
use kdyno_model::plan::{Driver, JavaClient, JavaDriver, NullBrokerPlan, SystemPlan, TopicPlan};
use kdyno_model::sample::{Phase, ProbeReading, Timing, series};
use std::collections::BTreeMap;

const WRITER: Subject = Subject::Jvm(0, 1);
const READER: Subject = Subject::Jvm(0, 0);

pub fn java() -> Driver {
    Driver::Java(JavaDriver {
        client: JavaClient::Version("4.1.1".to_owned()),
        jvm: Vec::new(),
        properties: BTreeMap::new(),
    })
}

fn carried(trial: &mut TrialFixture, item: &str) {
    trial.start.trial.effective.load.get_mut(item).unwrap().driver = java();
}

/// What a Java client leaves of the writers' rows, with readings of its process: 0.25 s of CPU time, 0.1 s of
/// it in client threads, 2 MB and 5 ms of collections each second for 1,000 records.
fn by_java() -> TrialFixture {
    let mut trial = TrialFixture::clean();
    carried(&mut trial, "writers");
    let seen =
        [Timing::Response, Timing::Service, Timing::ScheduleDelay, Timing::Block, Timing::WithoutGenerator];
    for row in &mut trial.samples {
        row.histograms.retain(|timing, _| seen.contains(timing));
        row.sums_ns.retain(|timing, _| seen.contains(timing));
        if row.id == crate::fixture::WRITERS {
            let counts = &mut row.counts;
            (counts.requests, counts.request_bytes, counts.batches) = (0, 0, 0);
            (counts.record_bytes, counts.sent_bytes) = (0, 0);
        }
    }
    trial.take_totals();
    costs(&mut trial, WRITER);
    trial
}

fn costs(trial: &mut TrialFixture, process: Subject) {
    trial.counter(process.clone(), series::JVM_CPU_S_TOTAL, 0.25);
    trial.counter(process.clone(), series::JVM_THREADS_CPU_S_TOTAL, 0.1);
    trial.counter(process.clone(), series::JVM_ALLOCATED_BYTES_TOTAL, 2e6);
    trial.counter(process.clone(), series::JVM_GC_S_TOTAL, 0.005);
    for (second, bytes) in [(1, 900e6), (3, 70e6), (7, 90e6), (11, 80e6), (13, 950e6)] {
        trial.probes.push(ProbeReading {
            at_ns: second * S.cast_signed(),
            subject: process.clone(),
            series: series::JVM_HEAP_USED_BYTES.into(),
            value: bytes,
        });
    }
}

#[test]
fn a_java_client_costs_its_cpu_time_in_the_window_per_record() {
    let mut trial = by_java();
    trial.is("writers.client_cpu_us_per_record", 250.0);
    trial.is("writers.client_threads_cpu_us_per_record", 100.0);
    trial.is("writers.client_allocated_bytes_per_record", 2000.0);
    trial.is("writers.client_gc", 50e6);
    trial.is("writers.client_heap_bytes_max", 90e6);
    // The worker's own is another figure.
    trial.is("workers.cpu_us_per_record", 300.0);
    carried(&mut trial, "readers");
    let reported =
        |trial: &TrialFixture| trial.findings().iter().any(|one| one.of.to_string() == "readers.client_gc");
    assert!(!reported(&trial), "its process was not read");
    costs(&mut trial, READER);
    trial.is("readers.client_cpu_us_per_record", 250.0);
    trial.is("readers.client_gc", 50e6);
}

#[test]
fn what_a_java_does_not_tell_of_its_threads_has_no_value() {
    let mut trial = by_java();
    trial.probes.retain(|reading| reading.series != series::JVM_THREADS_CPU_S_TOTAL);
    let is_reported = |name: &str| trial.findings().iter().any(|one| one.of.to_string() == name);
    assert!(!is_reported("writers.client_threads_cpu_us_per_record"));
    trial.is("writers.client_cpu_us_per_record", 250.0);
}

#[test]
fn what_kdynos_own_client_sends_has_no_such_figures() {
    let mut trial = TrialFixture::clean();
    costs(&mut trial, WRITER);
    assert!(trial.findings().iter().all(|one| !one.of.metric.starts_with("client_")));
}

#[test]
fn what_is_not_seen_has_no_value_instead_of_0() {
    let mut trial = by_java();
    for metric in [
        "retries",
        "records_per_batch",
        "bytes_per_request",
        "compression_ratio",
        "throttled_share",
        "linger.mean",
        "request.p99",
    ] {
        assert_eq!(trial.value(&format!("writers.{metric}")), Value::None, "{metric}");
    }
    trial.is("writers.response.mean", 4e6);
    trial.is("writers.schedule_delay.mean", STAGES_NS[0] as f64);
    assert_ne!(trial.value("writers.response_over_service"), Value::None);
    carried(&mut trial, "readers");
    for metric in ["fetched_wire_mib_per_s", "control_records", "aborted_records", "missing_offsets"] {
        assert_eq!(trial.value(&format!("readers.{metric}")), Value::None, "{metric}");
    }
    trial.is("readers.fetched_per_s", 1000.0);
}

#[test]
fn nothing_is_doubted_for_what_is_not_seen() {
    let trial = by_java();
    assert_eq!(trial.caveats(), [], "neither late nor a queue");
    // Half of the response is schedule delay, including the way to the Java process and its wait for `send()`.
    let mut late = by_java();
    for row in late.samples.iter_mut().filter(|row| row.phase == Phase::Measure) {
        if row.histograms.contains_key(&Timing::ScheduleDelay) {
            row.histograms.insert(Timing::ScheduleDelay, histogram(&[(3_000_000, 10_000)], 3));
            row.histograms.insert(Timing::WithoutGenerator, histogram(&[(3_000_000, 10_000)], 3));
        }
    }
    assert!(late.reported(|found| matches!(found, Caveat::GeneratorLate { .. })).is_empty());
}

#[test]
fn the_java_process_is_no_other_load() {
    let other =
        |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::OtherLoad { .. })).len();
    let busy = |trial: &mut TrialFixture| {
        for reading in trial.probes.iter_mut() {
            if reading.subject == Subject::Host && reading.series == series::CPU_USER_S_TOTAL {
                reading.value *= 2.0;
            }
        }
    };
    let mut native = TrialFixture::clean();
    busy(&mut native);
    assert_eq!(other(&native), 1, "0.7 of a core more");
    let mut trial = by_java();
    busy(&mut trial);
    trial.probes.retain(|reading| reading.series != series::JVM_CPU_S_TOTAL);
    assert_eq!(other(&trial), 0, "what it used is not known");
    trial.counter(WRITER, series::JVM_CPU_S_TOTAL, 0.7);
    assert_eq!(other(&trial), 0, "it is its own");
}

#[test]
fn limits_that_rest_on_requests_and_batches_are_not_judged() {
    let mut trial = by_java();
    trial.writers().rate = closed_loop();
    let judged = trial.judged();
    let limit = of_kind::<Limit>(&judged.conclusions).next().unwrap();
    let of = |kind: LimitKind| limit.evidence.iter().find(|one| one.kind == kind).unwrap();
    for kind in
        [LimitKind::RequestsInFlight, LimitKind::Replication, LimitKind::ClientBuffer, LimitKind::Quota]
    {
        assert_eq!(of(kind).used, None, "{kind:?}");
        assert!(of(kind).detail.contains("Java client"), "{kind:?}: {}", of(kind).detail);
    }
    let generator = of(LimitKind::Generator);
    assert!(generator.detail.contains("its Java client used 0.250 CPUs"), "{}", generator.detail);
    assert_eq!(limit.named, LimitKind::Unknown);
}

/// Its process uses so many processors, and so much of the host's two is busy.
fn filling(processors: f64, busy: f64) -> TrialFixture {
    let mut trial = by_java();
    trial.probes.retain(|reading| reading.series != series::JVM_CPU_S_TOTAL);
    trial.counter(WRITER, series::JVM_CPU_S_TOTAL, processors);
    limit::host_busy(&mut trial, busy);
    trial
}

/// The broker takes 1.2 % of a core, the client 1.3 cores, the worker 0.3.
#[test]
fn cpus_that_a_java_client_fills_are_the_generators_limit() {
    let before_null_broker = |busy| {
        let mut trial = filling(1.3, busy);
        trial.start.trial.effective.system = SystemPlan::NullBroker(NullBrokerPlan::default());
        trial.probes.retain(|reading| reading.subject != Subject::Broker(1));
        limit::used_times(&mut trial, 0.03, |subject| matches!(subject, Subject::Broker(_)));
        trial
    };
    let mut trial = before_null_broker(0.83);
    let found = limit::limit(&trial);
    assert_eq!((found.named, found.runner_up), (LimitKind::Schedule, Some(LimitKind::Generator)));
    let brokers = limit::of(&found, LimitKind::BrokerProcessors);
    assert_eq!(brokers.used, None);
    assert!(brokers.detail.contains("used 0.0120 of the 1.66 CPUs"), "{}", brokers.detail);
    trial.probes.retain(|reading| reading.series != series::JVM_CPU_S_TOTAL);
    let unread = limit::limit(&trial);
    assert_eq!(
        limit::of(&unread, LimitKind::BrokerProcessors).used,
        None,
        "what the client used is not known"
    );
    let mut trial = before_null_broker(0.97);
    trial.writers().rate = closed_loop();
    assert_eq!(limit::limit(&trial).named, LimitKind::Generator);
}

#[test]
fn a_host_is_not_full_because_of_brokers_with_a_small_share() {
    let with_brokers = |times| {
        let mut trial = filling(1.3, 0.93);
        trial.writers().rate = closed_loop();
        limit::used_times(&mut trial, times, |subject| matches!(subject, Subject::Broker(_)));
        limit::limit(&trial)
    };
    // 0.12 and 0.24 of 1.86 processors.
    let (little, more) = (with_brokers(0.2), with_brokers(0.4));
    assert_eq!((little.named, more.named), (LimitKind::Generator, LimitKind::Generator));
    assert_eq!(limit::of(&little, LimitKind::BrokerProcessors).used, None);
    limit::close(limit::of(&more, LimitKind::BrokerProcessors).used, 0.93);
    // The brokers where the host is not full, and where others fill it.
    for (processors, busy, used) in [(0.5, 0.45, Some(0.45)), (0.1, 0.93, None)] {
        let mut trial = filling(processors, busy);
        limit::used_times(&mut trial, 0.1, |subject| matches!(subject, Subject::Broker(_)));
        let found = limit::of(&limit::limit(&trial), LimitKind::BrokerProcessors).used;
        assert_eq!(found.map(|share| (share * 1e3).round() / 1e3), used, "{processors}");
    }
}

#[test]
fn bytes_of_values_replace_those_of_requests_where_they_suffice() {
    let mut trial = by_java();
    let config = BTreeMap::from([("segment.bytes".to_owned(), "200000".to_owned())]);
    let topics = &mut trial.start.trial.effective.topics;
    topics.insert("perf".to_owned(), TopicPlan { partitions: 4, replicas: 2, config });
    let rolls = trial.judged().conclusions.into_iter().find_map(|conclusion| match conclusion {
        Conclusion::Steadiness(steadiness) => steadiness.short_term.into_iter().find_map(|one| match one {
            ShortTerm::SegmentRolls { seen, .. } => Some(seen),
            _ => None,
        }),
        _ => None,
    });
    // 10,000 values of 128 bytes over four partitions, in segments of 200 kB.
    assert_eq!(rolls, Some(1.6));
}

#[test]
fn full_collections_in_the_window_are_counted_and_timed() {
    let at = |trial: &mut TrialFixture, second: i64, subject: Subject, detail: &str| {
        let mut full = event(EventKind::FullGc, subject, detail);
        full.at_ns = Some(second * S.cast_signed());
        trial.events.push(full);
    };
    let reported = |trial: &TrialFixture| {
        let found = trial.reported(|found| matches!(found, Caveat::FullGc(_)));
        found.into_iter().map(|found| (found.severity, found.caveat)).collect::<Vec<_>>()
    };
    let mut trial = by_java();
    at(&mut trial, 1, WRITER, "in the warm-up");
    at(&mut trial, 5, Subject::Item("readers".into()), "of others");
    assert_eq!(reported(&trial), []);
    at(&mut trial, 9, WRITER, "the second");
    at(&mut trial, 4, Subject::Item("writers".into()), "the first took 30 ms");
    let (item, first) = ("writers".to_owned(), "the first took 30 ms".to_owned());
    let caveat = Caveat::FullGc(FullGc { item, collections: 2, all_ns: Some(50_000_000), first });
    assert_eq!(reported(&trial), [(Severity::Warning, caveat)]);
}

#[test]
fn records_that_a_java_client_may_have_sent_again_are_no_defect() {
    let about_log = |trial: &TrialFixture| {
        let found = trial.reported(|found| {
            matches!(
                found,
                Caveat::LogUnexplained { .. } | Caveat::LogNotChecked { .. } | Caveat::Lost { .. }
            )
        });
        found.into_iter().map(|found| found.caveat).collect::<Vec<_>>()
    };
    let mut trial = by_java();
    trial.log_grows(12_005);
    let reported = about_log(&trial);
    let [Caveat::LogNotChecked { detail, .. }] = &reported[..] else { panic!("{reported:?}") };
    assert!(detail.contains("5 records more"), "{detail}");
    trial.writers().client.enable_idempotence = true;
    assert!(matches!(&about_log(&trial)[..], [Caveat::LogUnexplained { .. }]));
    trial.log_grows(11_999);
    assert!(matches!(&about_log(&trial)[..], [Caveat::Lost { .. }]));
}

#[test]
fn the_process_is_drawn_next_to_the_others() {
    let trial = by_java();
    let series = kdyno_analysis::series::trial(&trial).unwrap();
    let subjects: Vec<String> = series.cpu.iter().map(|cpu| cpu.subject.to_string()).collect();
    assert!(subjects.contains(&"jvm-0-1".to_owned()), "{subjects:?}");
}

/// 3 MB a second of broker 0 and 2 MB of broker 1 are 5 kB for each of 1,000 records.
#[test]
fn broker_allocations_are_per_record_where_they_were_sampled() {
    let mut trial = TrialFixture::clean();
    let address = "brokers.allocated_bytes_per_record";
    let is_reported = |trial: &TrialFixture| trial.findings().iter().any(|one| one.of.to_string() == address);
    assert!(!is_reported(&trial), "left out where nobody sampled");
    let brokers: Vec<Subject> =
        trial.findings().iter().filter_map(|one| one.of.subject.parse().ok()).collect();
    let brokers: std::collections::BTreeSet<Subject> =
        brokers.into_iter().filter(|subject| matches!(subject, Subject::Broker(_))).collect();
    let sampled = |subject: Subject, value| ProbeReading {
        at_ns: 99 * S.cast_signed(),
        subject,
        series: series::ALLOCATED_BYTES_PER_S_SAMPLED.to_owned(),
        value,
    };
    let each = 5e6 / brokers.len() as f64;
    let mut rest = brokers.into_iter();
    let first = rest.next().expect("a broker");
    trial.probes.push(sampled(first, each));
    let others: Vec<ProbeReading> = rest.map(|broker| sampled(broker, each)).collect();
    if !others.is_empty() {
        assert!(!is_reported(&trial), "one that was not sampled leaves the whole unknown");
    }
    trial.probes.extend(others);
    trial.is(address, 5000.0);
}

#[test]
fn stacks_are_shares_of_the_cpu_time_that_was_used() {
    let mut trial = TrialFixture::clean();
    trial.events.push(event(EventKind::StacksSampled, Subject::Kdyno, "cpu"));
    let brokers: Vec<Subject> = (0..2).map(Subject::Broker).collect();
    let used = brokers.iter().map(|broker| match trial.value(&format!("{broker}.cpu_percent")) {
        Value::Is(percent) => percent / 100.0,
        other => panic!("{other:?}"),
    });
    let used: Vec<f64> = used.collect();
    for (broker, used) in brokers.iter().zip(&used) {
        trial.probes.push(ProbeReading {
            at_ns: 12_100_000_000,
            subject: broker.clone(),
            series: series::CPU_S_PER_S_SAMPLED.to_owned(),
            value: used * if *broker == brokers[0] { 0.5 } else { 1.0 },
        });
    }
    trial.is("broker-0.sampled_cpu_share", 0.5);
    trial.is("broker-1.sampled_cpu_share", 1.0);
    let all = (0.5 * used[0] + used[1]) / (used[0] + used[1]);
    trial.is("brokers.sampled_cpu_share", all);
    let reported = trial.reported(|caveat| matches!(caveat, Caveat::StacksSampled { .. }));
    let Caveat::StacksSampled { share: Some(share), .. } = reported[0].caveat else { panic!("{reported:?}") };
    assert!((share - all).abs() < 1e-9, "{share}");
}

#[test]
fn sampling_and_each_process_without_it_are_reported() {
    let mut trial = TrialFixture::clean();
    trial.events.push(event(EventKind::StacksSampled, Subject::Kdyno, "alloc"));
    for detail in ["it is no JVM", "it has ended"] {
        trial.events.push(event(EventKind::StacksNotSampled, Subject::Broker(1), detail));
    }
    let reported = trial.reported(|caveat| matches!(caveat, Caveat::StacksSampled { .. }));
    assert_eq!(reported.len(), 1);
    assert_eq!(
        (reported[0].severity, &reported[0].caveat),
        (Severity::Warning, &Caveat::StacksSampled { of: "alloc".to_owned(), share: None })
    );
    let reported = trial.reported(|caveat| matches!(caveat, Caveat::StacksNotSampled { .. }));
    let caveat = Caveat::StacksNotSampled { subject: Subject::Broker(1), detail: "it is no JVM".to_owned() };
    assert_eq!(
        reported.iter().map(|one| (one.severity, &one.caveat)).collect::<Vec<_>>(),
        [(Severity::Note, &caveat)]
    );
}

#[test]
fn agents_that_use_a_part_of_their_brokers_cpu_are_reported() {
    let share = |answered_s_per_s: f64| {
        let mut trial = TrialFixture::clean();
        let brokers: Vec<Subject> = (0..2).map(Subject::Broker).collect();
        for broker in &brokers {
            trial.counter(broker.clone(), series::AGENT_ANSWERED_S_TOTAL, answered_s_per_s);
        }
        trial.probes.retain(|one| {
            let is_cpu = one.series == series::CPU_USER_S_TOTAL || one.series == series::CPU_SYSTEM_S_TOTAL;
            !(is_cpu && brokers.contains(&one.subject))
        });
        for broker in &brokers {
            trial.counter(broker.clone(), series::CPU_USER_S_TOTAL, 0.08);
            trial.counter(broker.clone(), series::CPU_SYSTEM_S_TOTAL, 0.02);
        }
        let reported = trial.reported(|caveat| matches!(caveat, Caveat::AgentBusy { .. }));
        reported
            .into_iter()
            .map(|one| match one.caveat {
                Caveat::AgentBusy { share } => (one.severity, (share * 1e6).round() / 1e6),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(share(0.0012), [], "12 ms each 10 s, of a tenth of a CPU");
    assert_eq!(share(0.004), [(Severity::Warning, 0.04)]);
}

#[test]
fn an_agent_is_not_blamed_for_a_broker_that_stood_still() {
    let reported = |answer_s: f64| {
        let mut trial = TrialFixture::clean();
        let (broker, counted) = (Subject::Broker(0), series::AGENT_ANSWERED_S_TOTAL);
        for (at_s, value) in [(1, 0.0), (6, answer_s), (13, answer_s + 0.02)] {
            let at_ns = at_s * S.cast_signed();
            trial.probes.push(ProbeReading {
                at_ns,
                subject: broker.clone(),
                series: counted.to_owned(),
                value,
            });
        }
        trial.reported(|caveat| matches!(caveat, Caveat::AgentBusy { .. })).len()
    };
    assert_eq!(reported(0.9), 1, "an answer that takes long is an agent's");
    assert_eq!(reported(8.0), 0, "one of 8 s waited for a broker that was stopped");
}
