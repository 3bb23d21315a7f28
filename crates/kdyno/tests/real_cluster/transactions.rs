//! Transactions on real brokers, since KIP-890 and before it.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{figure_of, is_matrix, ran, start_scenario};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Counts, StreamId, series};
use kdyno_store::RunFile;

const SCENARIO: &str = "\
kdyno: 1
id: transactions
question: Does it work?
params: {kafka: 4.1.1, mode: kraft}
cases:
  - {kafka: 4.1.1}
  - {kafka: 3.7.2}
MORE
system: {kafka: $kafka, mode: $mode, brokers: 1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, \
         config: {transaction.state.log.num.partitions: 3}}
topics: {perf: {partitions: 3, replicas: 1}}
load:
  writers: {produce: perf, clients: 2, rate: 500/s, value: 100B, transactions: {every: 100ms, abort: 20%}}
  readers: {consume: perf, clients: 1}
  committed: {consume: perf, clients: 2, client: {isolation.level: read_committed}}
phases: {warmup: 1s, condition: none, measure: 5s, drain: 10s}
show: {rows: [kafka, mode], columns: [writers.acked_per_s, writers.committed, writers.aborted, writers.commit.p99]}
";

/// For the matrix: the oldest brokers with transactions that are tested, those with ZooKeeper, and the newest.
const MORE: &str =
    "  - {kafka: 2.7.2, mode: zookeeper}\n  - {kafka: 3.7.2, mode: zookeeper}\n  - {kafka: newest}\n";

#[test]
fn transactions_are_committed_timed_and_found_in_the_log() {
    let _turn = with_others();
    let place = TestFolder::new();
    let more = if is_matrix() { MORE } else { "" };
    let said = start_scenario(&place, &SCENARIO.replace("MORE\n", more)).wait(RUN_DEADLINE);
    ran(&said);
    assert!(place.details().contains("Produce: transactions"), "{}", said.stdout);
    let document = place.show();
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trials = file.trials().expect("its trials");
    assert_eq!(trials.len(), if is_matrix() { 5 } else { 2 });
    for case in 0..trials.len() {
        let of = |metric: &str| figure_of(&document, case, &format!("writers.{metric}"));
        assert_eq!((of("failed"), of("unresolved")), (0.0, 0.0), "case {case}");
        // Two clients for five seconds; each transaction takes 100 ms and its commit, which a busy host draws out. One of
        // each client may have begun before.
        let (committed, aborted) = (of("committed"), of("aborted"));
        assert!((10.0..=102.0).contains(&(committed + aborted)), "{committed} {aborted}");
        assert!(aborted > 0.0 && aborted < committed, "{committed} {aborted}");
        assert!(of("commit.p50") > 0.0 && of("commit.p50") <= of("commit.max"));
    }
    for start in trials {
        assert_adds_up(&file.evidence(start.trial.id).expect("evidence"));
    }
    place.expect_no_processes();
}

/// The log grew by what was acknowledged and by the markers, and who reads it counts records alone: all of them, or those
/// of transactions that were committed.
fn assert_adds_up(evidence: &TrialEvidence) {
    let of = |name: &str| {
        let mut counts = Counts::default();
        let own = evidence.start.streams.iter().filter(|stream| stream.name == name);
        let ids: Vec<StreamId> = own.map(|stream| stream.id).collect();
        let totals = evidence.totals.iter().filter(|totals| ids.contains(&totals.id));
        totals.for_each(|totals| counts.add(&totals.counts));
        counts
    };
    let (written, read, committed) = (of("writers"), of("readers"), of("committed"));
    let readings = evidence.probes.iter().filter(|reading| reading.series == series::LOG_RECORDS_TOTAL);
    let ends: Vec<f64> = readings.map(|reading| reading.value).collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!(ends[1] - ends[0], (written.acknowledged + written.markers) as f64, "{written:?}");
    assert!(written.markers > written.committed && written.markers_unsure == 0, "{written:?}");
    let sums = |counts: &Counts| (counts.fetched + counts.aborted_records, counts.control_records);
    for counts in [&read, &committed] {
        assert_eq!(sums(counts), (written.acknowledged, written.markers), "{counts:?}");
        assert_eq!(counts.missing_offsets, 0, "{counts:?}");
    }
    assert!(read.aborted_records == 0 && committed.aborted_records > 0, "{committed:?}");
}
