//! Streams of Java clients against a scripted process, in simulated time: what is counted, and what ends them.

#[path = "../../../../model/tests/common/clients.rs"]
mod clients;
mod drop_in;
mod scene;
mod transactions;

use super::frames::tests::{ReceivedRecord, ToJava, consumed, outcomes, said};
use super::frames::{ConsumedRecord, FromJava, JavaCost, OwnershipChange, RecordOutcome};
use super::with_link;
use crate::java::link::JavaLink;
use crate::stream::StreamError;
use crate::trailer::Trailer;
use kdyno_model::event::EventKind;
use kdyno_model::plan::{
    Arrivals, ConsumePlan, Fill, HeaderPlan, KeyLaw, KeyPlan, Payload, ProducePlan, Rate, RatePiece,
    ReadDepth, StartOffset, WorkPlan,
};
use kdyno_model::sample::{Grain, Phase, Timing, series};
use kdyno_model::worker::{FromWorker, StreamRole};
use scene::{JavaBehaviour, MS, SECOND, START, StreamOutcome, T0, context, java, run};

fn open(per_s: f64) -> ProducePlan {
    let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
    clients::produce(Rate::Open { pieces, arrivals: Arrivals::Constant })
}

fn closed() -> ProducePlan {
    clients::produce(Rate::Max { fill: Fill::Buffer })
}

fn consume() -> ConsumePlan {
    clients::consume(StartOffset::Latest)
}

fn produced(plan: ProducePlan, clients: u32, script: JavaBehaviour) -> StreamOutcome {
    run(context(StreamRole::Produce(plan), clients, 3 * SECOND), JavaBehaviour { clients, ..script })
}

fn sum_ns(outcome: &StreamOutcome, timing: Timing) -> u128 {
    let phases =
        outcome.samples.iter().filter(|row| row.grain == Grain::Phase && row.phase != Phase::Startup);
    phases.filter_map(|row| row.sums_ns.get(&timing)).sum()
}

fn handed(outcome: &StreamOutcome) -> Vec<&ReceivedRecord> {
    let records = outcome.heard.iter().filter_map(|heard| match heard {
        ToJava::Records { records, .. } => Some(records),
        _ => None,
    });
    records.flatten().collect()
}

/// Outcomes in any order: the later a record, the sooner its outcome, within ten.
fn shuffled(number: u64) -> (u64, u16) {
    (20 * MS - number % 10 * MS, 0)
}

#[test]
fn every_record_of_a_schedule_is_handed_over_and_timed() {
    let script = JavaBehaviour { outcome: shuffled, ..JavaBehaviour::default() };
    let outcome = produced(open(3_000.0), 2, script);
    outcome.assert_accounted();
    let counts = &outcome.totals.counts;
    assert_eq!((counts.offered, counts.achieved, counts.acknowledged), (3_000, 3_000, 3_000), "{counts:?}");
    assert_eq!(counts.acknowledged_bytes, 300_000);
    assert_eq!((counts.requests, counts.batches), (0, 0), "they are not seen");
    let [delay, block, service, response, without] =
        [Timing::ScheduleDelay, Timing::Block, Timing::Service, Timing::Response, Timing::WithoutGenerator]
            .map(|timing| sum_ns(&outcome, timing));
    assert_eq!(response, delay + block + service);
    assert_eq!(without, block + service);
    assert_eq!(block, 3_000 * 10_000);
    assert_eq!(service, 3_000 * u128::from(15 * MS + MS / 2), "the mean of 11 ms to 20 ms");
    for timing in [Timing::Linger, Timing::Retry, Timing::SendWait, Timing::Request, Timing::Callback] {
        assert_eq!(sum_ns(&outcome, timing), 0, "{timing:?}");
    }
    assert_eq!(outcome.totals.clients.iter().map(|client| client.records).collect::<Vec<_>>(), [1_500; 2]);
    let ends = outcome.heard.iter().filter(|heard| matches!(heard, ToJava::End)).count();
    assert_eq!((ends, &outcome.failure), (1, &None));
    let metrics = outcome.messages.iter().filter_map(|message| match message {
        FromWorker::ClientMetrics { stream: 3, client, .. } => Some(*client),
        _ => None,
    });
    assert_eq!(metrics.collect::<Vec<_>>(), [4, 5], "of each client, by its number among all");
}

/// Records are with the process before they are due, in a few frames, and none is sent before its instant.
#[test]
fn records_are_handed_over_early_and_sent_at_their_instants() {
    let script = JavaBehaviour { delay_ns: 0, block_ns: 0, ..JavaBehaviour::default() };
    let outcome = produced(open(5_000.0), 1, script);
    outcome.assert_accounted();
    let frames = outcome.heard.iter().filter(|heard| matches!(heard, ToJava::Records { .. })).count();
    assert!((250..=380).contains(&frames), "{frames} frames in 3 s");
    let due: Vec<u64> = handed(&outcome).iter().map(|record| record.due_ns).collect();
    let expected = (0..due.len() as u64).map(|number| T0 + (4 + 5 * number) * MS / 5);
    assert!(expected.eq(due.iter().copied()), "{:?}", &due[..10]);
    assert_eq!(sum_ns(&outcome, Timing::ScheduleDelay), 0);
}

#[test]
fn the_process_is_sent_settings_and_connection() {
    let outcome = produced(open(10.0), 2, JavaBehaviour::default());
    let Some(ToJava::Task { settings, topic, clients, role }) = outcome.heard.first() else {
        panic!("the task comes first: {:?}", outcome.heard.first())
    };
    let read = kdyno_model::properties::Properties::parse(settings.as_bytes()).expect("properties");
    assert_eq!(read.get("acks"), Some("1 or more"));
    assert_eq!(read.get("bootstrap.servers"), Some("broker:9092"));
    let names: Vec<&str> = clients.iter().map(|(client_id, _)| client_id.as_str()).collect();
    assert_eq!((topic.as_str(), names), ("t", vec!["test-item-4", "test-item-5"]));
    assert_eq!(role[..3], [0, 0, 0], "an open loop knows t0 before t1");
    let reported = outcome.events.iter().find(|event| event.kind == EventKind::ClientStarted);
    assert_eq!(reported.expect("an event").detail, "kafka-clients 4.1.1 (commit abc) on Java 17");
}

/// Keys, sizes, headers and trailers are those of kdyno's own client; the partition is unknown where it is not stated.
#[test]
fn records_are_built_as_for_the_own_client() {
    let mut keyed = open(100.0);
    keyed.records.key = Some(KeyPlan::Numbered { law: KeyLaw::Sequential, of: 50, bytes: 4 });
    keyed.records.headers = vec![HeaderPlan { name: "trace".to_owned(), bytes: 3 }];
    let mut small = keyed.clone();
    small.value_bytes = 10;
    small.records.partition = Some(2);
    for (plan, partition) in [(keyed, -1), (small, 2)] {
        let value_bytes = plan.value_bytes;
        let outcome = produced(plan, 1, JavaBehaviour::default());
        let records = handed(&outcome);
        assert_eq!(records.len(), 60, "a fifth of the item's, which has 4 clients elsewhere");
        for (number, record) in records.into_iter().enumerate() {
            assert_eq!(record.partition, partition);
            let turn = (4 + 5 * number) % 50;
            assert_eq!(record.key, Some(format!("{turn:04}").into_bytes()));
            let value = record.value.as_deref().expect("a value");
            assert_eq!(value.len(), value_bytes as usize);
            assert_eq!((record.headers[0].0.as_str(), record.headers[0].1.len()), ("trace", 3));
            let held = match record.headers.get(1) {
                Some((name, trailer)) => {
                    assert_eq!((name.as_str(), value_bytes), ("kdyno", 10));
                    trailer
                }
                None => value,
            };
            let t0_ns = T0 as i64 + (4 + 5 * number as i64) * 10 * MS as i64;
            let expected = *Trailer::new(7, 4, partition).stamp(number as u64, t0_ns + 1_000 * SECOND as i64);
            assert_eq!(held[held.len() - 32..], expected);
        }
    }
}

/// A client that takes nothing is handed no more than its window, and the rest waits in a counter.
#[test]
fn what_is_not_accepted_waits_in_the_worker() {
    let script = JavaBehaviour { takes_max: 100, ..JavaBehaviour::default() };
    let outcome = produced(open(500_000.0), 1, script);
    outcome.assert_accounted();
    let counts = &outcome.totals.counts;
    assert_eq!((counts.offered, counts.acknowledged, counts.unresolved), (300_000, 100, 299_900));
    let records = handed(&outcome).len();
    assert!((65_536..=65_636).contains(&records), "{records}");
    assert!(!outcome.heard.iter().any(|heard| matches!(heard, ToJava::End)), "it never came to rest");
}

#[test]
fn failures_count_by_reason_and_refused_records_do_not_count() {
    let script = JavaBehaviour {
        reasons: &["max-block", "NOT_ENOUGH_REPLICAS"],
        refuses: |number| number % 10 == 3,
        outcome: |number| match number % 10 {
            3 => (0, 1),
            7 => (5 * MS, 2),
            _ => (MS, 0),
        },
        ..JavaBehaviour::default()
    };
    let outcome = produced(open(1_000.0), 1, script);
    outcome.assert_accounted();
    let counts = &outcome.totals.counts;
    // A fifth of the item's records is this worker's.
    assert_eq!((counts.offered, counts.achieved, counts.acknowledged), (600, 540, 480), "{counts:?}");
    let failed: Vec<_> = counts.failed.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(failed, [("NOT_ENOUGH_REPLICAS", 60), ("max-block", 60)]);
}

#[test]
fn a_dead_process_is_reported_and_leaves_every_record_accounted() {
    let dies = Some((T0 + SECOND + 500 * MS, "with exit code 3: it was out of memory"));
    for plan in [open(10_000.0), closed()] {
        let is_closed = matches!(plan.rate, Rate::Max { .. });
        // How it ended is known a second after that; nothing more is offered until then, beyond what it was handed before it
        // was due.
        let script =
            JavaBehaviour { dies, known_later_ns: SECOND, block_ns: 100_000, ..JavaBehaviour::default() };
        let outcome = produced(plan, 1, script);
        let failure = outcome.failure.clone().expect("a failure").to_string();
        assert!(failure.contains("exit code 3: it was out of memory; it wrote last: one / two"), "{failure}");
        outcome.assert_accounted();
        let counts = &outcome.totals.counts;
        assert!(counts.acknowledged > 1_000 && counts.unresolved > 0, "{counts:?}");
        assert!(is_closed || (3_000..=3_040).contains(&counts.offered), "{counts:?}");
    }
}

/// A closed loop: t0 is t1, nothing is handed to the client from the end of the load on, and a limit is met exactly.
#[test]
fn a_closed_loop_offers_what_its_client_takes() {
    for (records_max, warmup_ns) in [(None, SECOND), (Some(1_000), SECOND), (Some(1_000), 0)] {
        let mut plan = closed();
        plan.records_max = records_max;
        let mut context = context(StreamRole::Produce(plan), 2, 2 * SECOND);
        context.phases.warmup_ns = warmup_ns;
        let script = JavaBehaviour { clients: 2, block_ns: 200_000, ..JavaBehaviour::default() };
        let outcome = run(context, script);
        outcome.assert_accounted();
        let counts = &outcome.totals.counts;
        assert_eq!(counts.offered, counts.acknowledged, "{counts:?}");
        let of = |phase| -> u64 {
            let rows = outcome.samples.iter().filter(|row| row.phase == phase);
            rows.map(|row| row.counts.offered).sum()
        };
        assert_eq!(of(Phase::Drain), 0);
        // From a limit on all six clients these two have their shares, 166 records each.
        let expected = records_max.map_or(2 * 10_000, |_| 332);
        let measured = of(Phase::Measure);
        assert!(measured.abs_diff(expected) <= if records_max.is_some() { 0 } else { 100 }, "{measured}");
        assert!(warmup_ns == 0 || of(Phase::Warmup) > 9_000, "{}", of(Phase::Warmup));
        assert_eq!(sum_ns(&outcome, Timing::ScheduleDelay), 0);
        assert_eq!(outcome.failure, None);
    }
}

#[test]
fn a_cap_holds_records_back() {
    let mut context = context(StreamRole::Produce(open(50_000.0)), 1, 3 * SECOND);
    context.task.bytes_per_s_max = Some(100_000);
    let outcome = run(context, JavaBehaviour::default());
    outcome.assert_accounted();
    let within = 10_000 * 100 * 3 / 10; // far below what is offered
    let counts = &outcome.totals.counts;
    assert_eq!(counts.offered, 30_000);
    assert!(counts.acknowledged_bytes > within, "{counts:?}");
    // One second's worth is in the bucket at first; 23 s are the load and the drain.
    assert!(counts.acknowledged_bytes <= 24 * 100_000 + 100, "{counts:?}");
}

/// What a cap lets through is not the first client's alone.
#[test]
fn clients_share_what_a_cap_lets_through() {
    let mut context = context(StreamRole::Produce(closed()), 2, 3 * SECOND);
    context.task.bytes_per_s_max = Some(100_000);
    let outcome = run(context, JavaBehaviour { clients: 2, ..JavaBehaviour::default() });
    outcome.assert_accounted();
    let records: Vec<u64> = outcome.totals.clients.iter().map(|client| client.records).collect();
    let (least, most) = (records[0].min(records[1]), records[0].max(records[1]));
    // The first second's worth may go to the client that comes first.
    assert!(least > 900 && most - least <= 1_100, "{records:?}");
}

#[test]
fn the_reason_that_ends_a_stream_is_reported() {
    let failing = |script| produced(open(10.0), 1, script).failure.expect("a failure");
    let silent = failing(JavaBehaviour { is_silent: true, ..JavaBehaviour::default() });
    assert!(matches!(silent, StreamError::JavaSilent { seconds: 30, .. }), "{silent}");
    let says = |frame: &FromJava<'_>| JavaBehaviour {
        says: vec![(START + 1, said(frame))],
        ..JavaBehaviour::default()
    };
    let setting = failing(says(&FromJava::Failed { kind: 1, text: "Invalid value x for acks" }));
    assert_eq!(setting, StreamError::JavaSetting("Invalid value x for acks".to_owned()));
    let other = failing(says(&FromJava::Failed { kind: 0, text: "no" }));
    assert_eq!(other, StreamError::JavaFailed("no".to_owned()));
    let clock = says(&FromJava::Hello { at_ns: 5, java: "", client: "", commit: "" });
    assert!(failing(clock).to_string().contains("another clock"));
    let known_ns = T0 + 1;
    let unknown = outcomes(0, &[], &[RecordOutcome { number: 77, known_ns, reason: 0 }]);
    let senseless = JavaBehaviour { says: vec![(T0 + SECOND, unknown)], ..JavaBehaviour::default() };
    assert!(failing(senseless).to_string().contains("not open"));
    let early =
        JavaBehaviour { dies: Some((START + 3 * MS, "with exit code 1")), ..JavaBehaviour::default() };
    assert!(failing(early).to_string().contains("ended with exit code 1"));
}

#[test]
fn what_the_java_client_does_not_carry_is_refused() {
    let refused = |role: StreamRole| {
        with_link(JavaLink::new(&java()), context(role, 1, SECOND)).err().expect("refused").to_string()
    };
    let pooled = ProducePlan { payload: Payload::Pooled { pool_bytes: 0 }, ..closed() };
    assert!(refused(StreamRole::Produce(pooled)).contains("pooled"));
    let work = Some(WorkPlan::Constant { ns: 1 });
    assert!(refused(StreamRole::Consume(ConsumePlan { work, ..consume() })).contains("`work`"));
    let header = ConsumePlan { read: ReadDepth::Header, ..consume() };
    assert!(refused(StreamRole::Consume(header)).contains("`read`"));
    let mut unconnected = context(StreamRole::Consume(consume()), 1, SECOND);
    unconnected.java_connection = None;
    let error = with_link(JavaLink::new(&java()), unconnected).err().expect("refused");
    assert_eq!(error, StreamError::NoJavaConnection);
}

#[test]
fn what_consumers_are_handed_is_recorded() {
    let wall = |ns: u64| Some((1_000 * SECOND + ns) as i64);
    let record = |offset: i64, intended_ns| ConsumedRecord { partition: 1, offset, bytes: 110, intended_ns };
    let at = |ms: u64| T0 + ms * MS;
    let polls = [
        (at(500), vec![record(0, wall(at(490))), record(1, wall(at(480))), record(2, None)]),
        (at(1_500), vec![record(3, wall(at(1_400)))]),
    ];
    let mut says: Vec<_> = polls.into_iter().map(|(at, all)| (at + MS, consumed(0, at, &all))).collect();
    for client in 0..2 {
        let lag = FromJava::Lag { client, records: Some(20 + u64::from(client)) };
        says.push((at(900), said(&lag)));
    }
    let readings = JavaCost {
        at_ns: at(1_000),
        cpu_ns: Some(2 * SECOND),
        threads_cpu_ns: Some(SECOND / 4),
        allocated_bytes: None,
        collections: Some(3),
        collections_ns: Some(SECOND / 2),
        heap_bytes: Some(9),
    };
    says.push((at(1_000), said(&FromJava::Readings(readings))));
    says.push((at(1_100), said(&FromJava::Event { at_ns: at(1_099), kind: 1, text: "G1 took 7 ms" })));
    let mut context = context(StreamRole::Consume(consume()), 2, 3 * SECOND);
    context.has_producers = false;
    let outcome = run(context, JavaBehaviour { clients: 2, says, ..JavaBehaviour::default() });
    assert_eq!(outcome.failure, None);
    let counts = &outcome.totals.counts;
    assert_eq!((counts.fetched, counts.fetched_bytes), (4, 440));
    assert_eq!((counts.end_to_end, counts.discarded), (3, 1));
    assert_eq!(sum_ns(&outcome, Timing::EndToEnd), u128::from((10 + 20 + 100) * MS));
    assert_eq!(sum_ns(&outcome, Timing::UntilFetched) + sum_ns(&outcome, Timing::HandOver), 0, "no stages");
    let lags = outcome.samples.iter().filter_map(|row| row.counts.lag_records);
    assert!(lags.clone().count() > 2 && lags.into_iter().all(|records| records == 41));
    assert_eq!(outcome.totals.clients[0].records, 4);
    let commands: Vec<&ToJava> = outcome.heard.iter().skip(1).collect();
    assert_eq!(commands, [&ToJava::Begin, &ToJava::CatchUp, &ToJava::End]);
    let reported: Vec<_> = outcome.events.iter().map(|event| (event.kind, event.at_ns)).collect();
    assert!(reported.contains(&(EventKind::FullGc, 1_099 * MS as i64)), "{reported:?}");
    let values: Vec<(String, f64)> = outcome
        .messages
        .into_iter()
        .filter_map(|message| match message {
            FromWorker::Readings(all) => Some(all),
            _ => None,
        })
        .flatten()
        .inspect(|reading| assert_eq!((reading.stream, reading.at_ns), (3, SECOND as i64)))
        .map(|reading| (reading.series, reading.value))
        .collect();
    let expected = [
        (series::JVM_CPU_S_TOTAL, 2.0),
        (series::JVM_THREADS_CPU_S_TOTAL, 0.25),
        (series::JVM_GC_TOTAL, 3.0),
        (series::JVM_GC_S_TOTAL, 0.5),
        (series::JVM_HEAP_USED_BYTES, 9.0),
    ];
    assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value)));
}

/// Members are waited for until they have all partitions; what one is handed again is counted, and rebalances are.
#[test]
fn members_of_a_group_share_partitions() {
    let group = kdyno_model::plan::GroupPlan {
        name: "g".to_owned(),
        id: None,
        protocol: kdyno_model::plan::GroupProtocol::Consumer { assignor: None },
        instance_id: Some("me".to_owned()),
        poll_interval_max_ns: SECOND,
        auto_commit_ns: None,
    };
    let mut context =
        context(StreamRole::Consume(ConsumePlan { group: Some(group), ..consume() }), 2, 3 * SECOND);
    context.task.group_id = Some("group".to_owned());
    context.has_producers = false;
    let change = |client, at_ns: u64, change, partitions: &[i32]| {
        // The second one begins when a partition is given up.
        let (generation, partitions) = (1 + i32::from(at_ns > T0 + SECOND), partitions.to_vec());
        (at_ns + MS, said(&FromJava::Assignment { client, at_ns, change, generation, partitions }))
    };
    let record = |offset| ConsumedRecord { partition: 1, offset, bytes: 1, intended_ns: None };
    let again: Vec<_> = (0..3).map(record).collect();
    let at = |ms: u64| T0 + ms * MS;
    let says = vec![
        change(0, START + 50 * MS, OwnershipChange::Gained, &[0, 1, 2]),
        change(1, START + 60 * MS, OwnershipChange::Gained, &[3, 4, 5]),
        (at(100), consumed(0, at(99), &again)),
        change(0, at(1_000), OwnershipChange::GivenUp, &[1]),
        change(0, at(1_010), OwnershipChange::Gained, &[]),
        change(1, at(1_040), OwnershipChange::Gained, &[1]),
        (at(1_100), consumed(1, at(1_099), &again[1..])),
    ];
    let outcome = run(context, JavaBehaviour { clients: 2, says, ..JavaBehaviour::default() });
    assert_eq!(outcome.failure, None);
    let counts = &outcome.totals.counts;
    assert_eq!((counts.fetched, counts.duplicates), (5, 2));
    assert_eq!(counts.rebalances, 1, "both members are in the second generation: {:?}", outcome.events);
    let members: Vec<_> = outcome.totals.clients.iter().filter_map(|client| client.member).collect();
    assert_eq!(members.iter().map(|member| member.partitions).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(members.iter().map(|member| member.rebalances).collect::<Vec<_>>(), [1, 1]);
    let Some(ToJava::Task { settings, clients, role, .. }) = outcome.heard.first() else { panic!("a task") };
    assert!(settings.contains("group.id=group\n"), "{settings}");
    assert_eq!(clients[1].1, "me-item-5");
    assert_eq!((role[1], role[2]), (1, 1), "members, which begin at the end");
}

/// Clients that come later get their task only then, though their process is there before.
#[test]
fn clients_that_come_later_connect_then() {
    let mut context = context(StreamRole::Produce(open(1_000.0)), 1, 3 * SECOND);
    context.task.span.at_ns = Some(SECOND);
    context.task.span.until_ns = Some(2 * SECOND);
    let outcome = run(context, JavaBehaviour::default());
    assert_eq!(outcome.failure, None);
    let counts = &outcome.totals.counts;
    assert_eq!((counts.offered, counts.acknowledged), (200, 200), "a second of a fifth of the item's rate");
    let began_ns = outcome.totals.clients[0].began_ns.expect("it sent");
    assert!((SECOND..SECOND + 100 * MS).contains(&began_ns), "from T0 on: {began_ns}");
    let kinds: Vec<EventKind> = outcome.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::ClientStarted, EventKind::ItemBegan, EventKind::ItemEnded]);
    outcome.assert_accounted();
}
