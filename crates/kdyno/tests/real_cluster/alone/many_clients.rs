//! Clients that come and go, and many of them, on real brokers.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{event_kinds, evidences, figure, is_matrix, ran, start_scenario, totals};
use kdyno_model::event::EventKind;
use kdyno_model::sample::{Grain, Phase, Timing};
use kdyno_store::RunFile;

/// 200 producers are there from the start; 100 readers come in the middle, all at once, and find everything; a second
/// producer follows the first one's end.
const SCENARIO: &str = "\
kdyno: 1
id: many-clients
question: Does it work?
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 384MiB}, metrics: none, jvm: QUICK_JVM}
topics: {perf: {partitions: 20, replicas: 1}}
load:
  writers: {produce: perf, clients: 200, rate: 2k/s, value: 100B, until: 6s}
  next: {produce: perf, clients: 2, rate: 100/s, value: 100B, after: writers}
  readers: {consume: perf, clients: 100, from: earliest, at: 3s}
  brief: {consume: perf, clients: 1, until: 4s}
phases: {warmup: 2s, condition: none, measure: 9s, drain: 10s}
show: {columns: [writers.acked_per_s, next.acked_per_s, readers.connect.p99, writers.connect.p99]}
";

#[test]
fn clients_come_and_go_next_to_hundreds_of_others() {
    let _turn = alone();
    let place = TestFolder::new();
    let said = start_scenario(&place, SCENARIO).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    // What is acknowledged in the window may have waited before it; what was intended in it follows Poisson's law: five
    // standard deviations in 6 s, and in 3 s.
    assert!((1_900.0..2_100.0).contains(&figure(&document, "writers.offered_per_s")), "{}", said.stdout);
    assert!((50.0..150.0).contains(&figure(&document, "next.offered_per_s")), "{}", said.stdout);
    for address in ["writers.connect.p50", "readers.connect.p50", "readers.connect.max"] {
        assert!(figure(&document, address) > 0.0, "{address}");
    }
    let kinds = event_kinds(&document);
    let count = |kind: EventKind| kinds.iter().filter(|one| **one == kind.to_string()).count();
    assert_eq!((count(EventKind::ItemBegan), count(EventKind::ItemEnded)), (2, 2), "{kinds:?}");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let start = &file.trials().expect("its trials")[0];
    let evidence = file.evidence(start.trial.id).expect("evidence");
    let measure_s = evidence.span(Phase::Measure).expect("measured").start_ns / 1_000_000_000;
    let of = |name: &str| evidence.start.streams.iter().find(|one| one.name == name).expect("a stream").id;
    let counts = |name: &str| {
        let totals = evidence.totals.iter().find(|totals| totals.id == of(name));
        totals.expect("its totals").counts.clone()
    };
    for name in ["writers", "next"] {
        assert_eq!(counts(name).acknowledged, counts(name).offered, "{name}: nothing is lost");
    }
    let written = counts("writers").acknowledged + counts("next").acknowledged;
    assert_eq!(counts("readers").fetched, written, "late readers find all that was written");
    assert!(counts("brief").fetched < counts("writers").acknowledged, "it went before the end");
    for (name, first_s, phase, clients) in
        [("writers", 0, Phase::Startup, 200), ("readers", measure_s + 3, Phase::Measure, 100)]
    {
        let rows = || evidence.samples.iter().filter(|row| row.id == of(name));
        let at_work = |row: &&_| -> bool {
            let row: &kdyno_model::sample::Sample = row;
            row.counts.offered + row.counts.fetched > 0
        };
        let first = rows().filter(at_work).map(|row| u64::from(row.written_second)).min();
        assert!(first.is_some_and(|first| first.abs_diff(first_s) <= 1), "{name}: {first:?}");
        let connects = rows().find(|row| row.grain == Grain::Phase && row.phase == phase);
        let connects = connects.and_then(|row| row.histograms.get(&Timing::Connect));
        assert!(connects.is_some(), "{name}: {clients} clients connected in {phase}");
    }
    place.expect_no_processes();
}

/// 1,000 producers and 500 consumers, each with connections of its own.
const THOUSANDS: &str = "\
kdyno: 1
id: thousands
question: Does it work?
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 1GiB}}
topics: {perf: {partitions: 500, replicas: 1}}
load:
  writers: {produce: perf, clients: 1000, rate: 5k/s, value: 100B}
  readers: {consume: perf, clients: 500}
phases: {warmup: 5s, condition: none, measure: 20s, drain: 60s}
show: {columns: [writers.acked_per_s, readers.fetched_per_s, writers.connect.max, readers.connect.max]}
";

/// In the full table, since it takes minutes.
#[test]
fn a_thousand_producers_and_five_hundred_consumers_lose_nothing() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let place = TestFolder::new();
    ran(&start_scenario(&place, THOUSANDS).wait(2 * RUN_DEADLINE));
    let document = place.show();
    let evidence = &evidences(&place)[0];
    let (written, read) = (&totals(evidence, "writers").counts, &totals(evidence, "readers").counts);
    assert!(written.offered > 100_000, "{written:?}");
    assert!(written.failed.is_empty() && written.unresolved == 0, "{written:?}");
    assert_eq!((written.acknowledged, read.fetched), (written.offered, written.offered));
    // Readers are not needed: a writer keeps to a partition for 16 KiB, more than it sends, so an eighth of them stays
    // empty.
    let each = &totals(evidence, "writers").clients;
    assert!(each.iter().all(|client| client.records > 0), "each writer had its share");
    for (item, clients) in [("writers", 1000), ("readers", 500)] {
        assert_eq!(totals(evidence, item).clients.len(), clients);
        assert!(figure(&document, &format!("{item}.connect.max")) > 0.0);
    }
    place.expect_no_processes();
}
