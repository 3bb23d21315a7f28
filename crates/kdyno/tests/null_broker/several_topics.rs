//! One client over several topics.

use crate::common::{RUN_DEADLINE, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files, run};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::series;
use kdyno_store::RunFile;

const SCENARIO: &str = "\
kdyno: 1
id: several
question: Does it work?
topics: {orders: {partitions: 3}, bills: {partitions: 2}, audit: {partitions: 1}}
load:
  writers: {produce: [orders, bills, audit], clients: 2, rate: 300/s, value: 100B}
phases: {warmup: 1s, measure: 2s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

fn evidence(place: &TestFolder) -> TrialEvidence {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trial = file.trials().expect("its trials").remove(0);
    file.evidence(trial.trial.id).expect("evidence")
}

/// By how much the log of a topic grew.
fn growth(evidence: &TrialEvidence, topic: &str) -> u64 {
    let subject = Subject::Topic(topic.to_owned());
    let ends = evidence
        .probes
        .iter()
        .filter(|reading| reading.subject == subject && reading.series == series::LOG_RECORDS_TOTAL);
    let ends: Vec<f64> = ends.map(|reading| reading.value).collect();
    (ends.last().expect("read behind the load") - ends.first().expect("and before it")) as u64
}

#[test]
fn two_producers_send_to_three_topics_in_turn() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let mut files = files(&place, &broker.address, CLUSTER_ID);
    files[0] = place.file("several.yaml", SCENARIO).to_str().expect("plain path").to_owned();
    ran(&run(&place, &files, &["--json"]).wait(RUN_DEADLINE));
    let evidence = evidence(&place);
    assert_eq!(evidence.totals.len(), 1, "one stream");
    let totals = &evidence.totals[0];
    let counts = &totals.counts;
    assert!(counts.offered > 600 && counts.acknowledged == counts.offered, "{counts:?}");
    let logs: Vec<u64> = ["audit", "bills", "orders"].map(|topic| growth(&evidence, topic)).to_vec();
    assert_eq!(logs.iter().sum::<u64>(), counts.acknowledged, "{logs:?}");
    let (least, most) = (logs.iter().min().expect("three"), logs.iter().max().expect("three"));
    assert!(most - least <= 2, "each of two clients is in the middle of a turn: {logs:?}");
    // The partitions of all topics, in the order of their names.
    let of =
        |places: std::ops::Range<usize>| totals.partitions[places].iter().map(|one| one.records).sum::<u64>();
    let measured = [of(0..1), of(1..3), of(3..6)];
    assert_eq!(totals.partitions.len(), 6);
    assert!(measured.iter().all(|records| *records > 150), "{measured:?}");
    let document = place.show();
    let caveats = document["caveats"].to_string();
    assert!(!caveats.contains("lost") && !caveats.contains("unexplained"), "{caveats}");
    broker.stop();
}

#[test]
fn two_consumers_share_out_the_partitions_of_three_topics() {
    let place = TestFolder::new();
    let text = SCENARIO.replace("topics:", "system: {kafka: {null_broker: 1KiB}}\ntopics:");
    let writers = text.lines().find(|line| line.contains("writers: ")).expect("it writes");
    let text = text.replace(writers, "  readers: {consume: [orders, bills, audit], clients: 2}");
    let text = text.replace("writers.acked_per_s", "readers.fetched_per_s");
    let scenario = place.file("several.yaml", &text);
    let args = ["run", scenario.to_str().expect("plain path"), "--share", "--yes"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    let evidence = evidence(&place);
    let totals = &evidence.totals[0];
    let records: Vec<u64> = totals.clients.iter().map(|client| client.records).collect();
    assert!(records.len() == 2 && records.iter().all(|records| *records > 0), "{records:?}");
    assert_eq!(records.iter().sum::<u64>(), totals.counts.fetched);
    place.expect_no_processes();
}
