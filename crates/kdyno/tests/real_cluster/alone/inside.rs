//! What brokers tell of themselves agrees with what was sent to them. That a run without the agent is as good is part of
//! another test (`cpu_limit`).

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{BATCH_HEADER_BYTES, event_kinds, evidences, figure, ran, start_scenario};
use kdyno_model::event::Subject;
use kdyno_model::inside::{RequestKind, RequestStage, stage_metric};
use kdyno_model::sample::{Grain, Phase, series};
use std::collections::BTreeSet;

const SCENARIO: &str = "\
kdyno: 1
id: inside
question: What do brokers tell?
system:
  brokers: 2
  limits: {heap: 256MiB}
  jvm: QUICK_JVM
  metrics: {mbeans: ['kafka.server:name=PartitionCount,type=ReplicaManager/Value']}
topics: {perf: {partitions: 4, replicas: 2}}
load:
  writers: {produce: perf, clients: 2, rate: 5k/s, value: 200B, client: {acks: all}}
  readers: {consume: perf, clients: 1}
phases: {warmup: 4s, condition: none, measure: 12s, drain: 5s}
";

#[test]
fn bytes_in_agree_with_what_was_sent_and_shares_are_shares() {
    let _turn = alone();
    let place = TestFolder::new();
    let said = start_scenario(&place, SCENARIO).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    assert!(!event_kinds(&document).contains(&"metrics-not-read".to_owned()), "{}", document["events"]);
    let evidence = evidences(&place).remove(0);
    let measure = evidence.span(Phase::Measure).expect("a measure phase");
    let (start, end) = (measure.start_ns / 1_000_000_000, measure.end_ns / 1_000_000_000);
    let writers = evidence.start.streams.iter().find(|stream| stream.name == "writers").expect("writers").id;
    let in_window = evidence.samples.iter().filter(|row| row.id == writers && row.grain == Grain::Second);
    let in_window = in_window.filter(|row| (start..end).contains(&u64::from(row.written_second)));
    let (bytes, batches) = in_window
        .fold((0, 0), |(bytes, batches), row| (bytes + row.counts.sent_bytes, batches + row.counts.batches));
    let sent_mib_per_s = (bytes + batches * BATCH_HEADER_BYTES) as f64 / 1_048_576.0 / (end - start) as f64;
    let reported_mib_per_s = figure(&document, "brokers.bytes_in_mib_per_s");
    let ratio = reported_mib_per_s / sent_mib_per_s;
    // Seen with `--nocapture`.
    println!(
        "bytes in: {reported_mib_per_s:.4} MiB/s told by JMX ÷ {sent_mib_per_s:.4} MiB/s sent = {ratio:.5}"
    );
    assert!((ratio - 1.0).abs() < 0.01, "told {reported_mib_per_s} MiB/s, sent {sent_mib_per_s} MiB/s");
    let messages = figure(&document, "brokers.messages_in_per_s") / figure(&document, "writers.acked_per_s");
    assert!((messages - 1.0).abs() < 0.01, "{messages}");
    for share in ["request_handler_idle", "network_processor_idle"] {
        for of in ["brokers", "broker-0", "broker-1"] {
            let share = figure(&document, &format!("{of}.{share}"));
            assert!((0.0..=1.0).contains(&share) && share > 0.05, "{of}: {share} of a small load");
        }
    }
    // Each stage is rounded to whole milliseconds by itself, for each request.
    let stage = |stage| figure(&document, &format!("brokers.{}", stage_metric(RequestKind::Produce, stage)));
    let parts: f64 = RequestStage::all().filter(|one| *one != RequestStage::Total).map(stage).sum();
    assert!((stage(RequestStage::Total) - parts).abs() < 3e6, "{} and {parts}", stage(RequestStage::Total));
    assert!(figure(&document, "brokers.follower_fetch_requests") > 0.0);
    assert_eq!(figure(&document, "brokers.under_replicated_partitions"), 0.0);
    let details = place.details();
    assert!(details.contains("Where the time goes"), "{details}");
    // Each of four partitions has a replica on both brokers.
    let partitions =
        figure(&document, "broker-1.mbean:kafka.server:name=PartitionCount,type=ReplicaManager/Value");
    assert!(partitions >= 4.0 && details.contains("MBeans of the brokers"), "{partitions}: {details}");
    // What comes just before the window and ends of phases was read, and no more often than that and every 10 s.
    let of_broker = evidence.probes.iter().filter(|one| one.subject == Subject::Broker(0));
    let instants: BTreeSet<i64> =
        of_broker.filter(|one| one.series == series::BYTES_IN_TOTAL).map(|one| one.at_ns).collect();
    assert!((4..=6).contains(&instants.len()), "{instants:?}");
}
