//! End-to-end latencies on real brokers: of a load's own records, and of a probe next to it that reaches every leader.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{admin, evidences, figure, ran, start_scenario};
use kdyno_kafka::admin::OffsetAt;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::{Grain, Phase, Timing, series};
use kdyno_store::RunFile;
use std::collections::BTreeMap;

const SCENARIO: &str = "\
kdyno: 1
id: end-to-end
question: How long from end to end?
system: {kafka: 4.1.1, mode: kraft, brokers: 2, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM}
topics:
  perf: {partitions: 4, replicas: 2}
  probes: {partitions: 2, replicas: 2}
load:
  writers: {produce: perf, clients: 1, rate: 500/s, value: 100B, client: {compression.type: lz4}}
  readers: {consume: perf, clients: 2}
  probe: {end_to_end: probes, rate: 200/s}
phases: {warmup: 2s, condition: none, measure: 5s, drain: 10s}
";

#[test]
fn records_are_timed_from_intended_instant_to_the_reader() {
    let _turn = with_others();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, SCENARIO);
    running.wait_for("· measure");
    every_leader_has_a_share_of_the_probe(&place);
    ran(&running.wait(RUN_DEADLINE));
    place.expect_no_processes();
    expect_no_agent(&place);
    let document = place.show();
    for item in ["readers", "probe"] {
        let of = |metric: &str| figure(&document, &format!("{item}.{metric}"));
        let [p50, p99, max] = ["p50", "p99", "max"].map(|of_what| of(&format!("end_to_end.{of_what}")));
        assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{item}: {p50} {p99} {max}");
        assert!(of("until_fetched.p50") <= p50 && of("hand_over.p50") < p50, "{item}");
        assert_eq!((of("censored"), of("discarded")), (0.0, 0.0), "{item}");
    }
    // What is acknowledged at all is acknowledged before or about when it is read.
    let sent = figure(&document, "probe.response.mean");
    assert!(figure(&document, "probe.end_to_end.mean") > 0.2 * sent, "{sent}");

    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trial = file.trials().expect("trials").remove(0);
    let evidence = file.evidence(trial.trial.id).expect("evidence");
    let streams = evidence.start.streams.iter().filter(|stream| stream.name == "probe");
    let roles: Vec<RoleKind> = streams.map(|stream| stream.role).collect();
    assert_eq!(roles, [RoleKind::Produce, RoleKind::Consume], "two streams under one name");
    for (writer, reader) in [("writers", "readers"), ("probe", "probe")] {
        let of = |name: &str, role| {
            let found =
                evidence.start.streams.iter().find(|stream| stream.name == name && stream.role == role);
            found.expect("a stream").id
        };
        let (writer, reader) = (of(writer, RoleKind::Produce), of(reader, RoleKind::Consume));
        let measured = |id, of: fn(&kdyno_model::sample::Counts) -> u64| -> u64 {
            let rows = evidence.samples.iter().filter(|row| row.id == id && row.phase == Phase::Measure);
            rows.filter(|row| row.grain == Grain::Second).map(|row| of(&row.counts)).sum()
        };
        let kept = measured(reader, |counts| counts.end_to_end);
        assert_eq!(kept, measured(writer, |counts| counts.acknowledged), "each record once");
        assert!(kept > 500, "{kept}");
        let whole = evidence
            .samples
            .iter()
            .filter(|row| row.id == reader && row.phase == Phase::Measure && row.grain == Grain::Phase);
        let sum = |timing: Timing| -> u128 { whole.clone().filter_map(|row| row.sums_ns.get(&timing)).sum() };
        // A reader that was held up between its clock and its socket fetches what was sent meanwhile, before it was sent.
        let until_fetched = sum(Timing::UntilFetched);
        assert_eq!(
            sum(Timing::EndToEnd) + sum(Timing::UntilFetchedBelowZero),
            until_fetched + sum(Timing::HandOver)
        );
        assert_eq!(sum(Timing::EndToEndBelowZero), 0, "one clock");
    }
}

/// Each of the two brokers leads a partition of the probe's topic, and its records go to both in turn.
fn every_leader_has_a_share_of_the_probe(place: &TestFolder) {
    const RECORDS: i64 = 100;
    let mut admin = admin(place);
    let topics = admin.topics(None).expect("the topics");
    let probes = topics.iter().find(|topic| topic.name.contains("probes")).expect("the probe's topic");
    // Once the load is over the cluster goes, and it is asked in vain.
    let mut of_leader = BTreeMap::new();
    while of_leader.len() < 2 || of_leader.values().any(|records| *records < RECORDS) {
        let ends = admin.list_offsets(&probes.name, OffsetAt::Latest).expect("the ends of its partitions");
        of_leader.clear();
        for partition in &probes.partitions {
            *of_leader.entry(partition.leader).or_insert(0) += ends[&partition.id];
        }
        assert_eq!(of_leader.len(), 2, "{of_leader:?}");
    }
    let (least, most) = (of_leader.values().min().copied(), of_leader.values().max().copied());
    let apart = most.zip(least).map(|(most, least)| most - least);
    assert!(apart.is_some_and(|apart| apart <= RECORDS / 2), "{of_leader:?}");
}

/// Its brokers have no agent, and nothing else is different.
fn expect_no_agent(place: &TestFolder) {
    let details = place.details();
    assert!(!details.contains("Where the time goes"), "{details}");
    let evidence = evidences(place).remove(0);
    assert!(evidence.probes.iter().all(|one| one.series != series::BYTES_IN_TOTAL));
    let lines = evidence.start.command_lines.values().flatten();
    assert!(lines.into_iter().all(|word| !word.starts_with("-javaagent")));
}
