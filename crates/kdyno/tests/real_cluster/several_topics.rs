//! Clients with several topics each, on real brokers: every record arrives once, whoever shares out the partitions.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{caveats, evidences, figure, is_matrix, ran, start_scenario, totals};

/// Groups by both protocols and readers without a group; two topics of unequal size, and one client over twenty.
const SCENARIO: &str = "\
kdyno: 1
id: several-topics
question: Does it work?
params: {kafka: newest, mode: kraft, protocol: consumer}
CASESsystem: {kafka: $kafka, mode: $mode, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, config: {group.initial.rebalance.delay.ms: 0, offsets.topic.num.partitions: 3}}
topics:
  bills: {partitions: 1, replicas: 1}
  orders: {partitions: 3, replicas: 1}
  many: {count: 20, partitions: 2, replicas: 1}
load:
  writers: {produce: [bills, orders], clients: 2, rate: 400/s, value: 100B}
  readers: {consume: [bills, orders], clients: 2, group: readers, client: {group.protocol: $protocol}}
  audit: {consume: [bills, orders], clients: 3, group: audit, client: {partition.assignment.strategy: cooperative-sticky}}
  wide: {produce: [many], rate: 400/s, value: 100B}
  wide-readers: {consume: [many], clients: 2}
phases: {warmup: 1s, condition: none, measure: 5s, drain: 20s}
show: {rows: [kafka, protocol], columns: [writers.acked_per_s, readers.fetched_per_s, wide.acked_per_s]}
";

#[test]
fn clients_of_several_topics_lose_and_repeat_nothing() {
    let _turn = with_others();
    let place = TestFolder::new();
    let more = "cases:\n  - {kafka: newest}\n  - {kafka: 2.7.2, mode: zookeeper, protocol: classic}\n  - {kafka: 3.7.2, protocol: classic}\n";
    let cases = if is_matrix() { more } else { "" };
    ran(&start_scenario(&place, &SCENARIO.replace("CASES", cases)).wait(RUN_DEADLINE));
    let all = evidences(&place);
    assert_eq!(all.len(), if is_matrix() { 3 } else { 1 });
    for evidence in &all {
        for (reader, writer) in [("readers", "writers"), ("audit", "writers"), ("wide-readers", "wide")] {
            let (read, written) = (&totals(evidence, reader).counts, &totals(evidence, writer).counts);
            assert_eq!(written.acknowledged, written.offered, "{writer}: {written:?}");
            assert!(written.acknowledged > 1_000, "{writer}: {written:?}");
            assert_eq!(read.fetched - read.duplicates, written.acknowledged, "{reader}: {read:?}");
        }
        let members = &totals(evidence, "audit").clients;
        let partitions = members.iter().map(|one| one.member.expect("a member").partitions);
        assert_eq!(partitions.sum::<u32>(), 4, "those of both topics");
    }
    let document = place.show();
    assert_eq!(figure(&document, "readers.duplicates"), 0.0);
    // The brokers' logs of both topics grew by what was acknowledged.
    let all = ["invalid", "warning", "note"].map(|severity| caveats(&document, severity)).concat();
    for caveat in ["lost", "log-unexplained", "log-not-checked", "group-not-conserved"] {
        assert!(!all.contains(&caveat), "{}", document["caveats"]);
    }
    place.expect_no_processes();
}
