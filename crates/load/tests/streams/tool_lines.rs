//! What is kept for the lines of Kafka's own tool: service times by second, and the records behind the first ones.

use crate::common::{Load, MS, Outcome, TOPIC, simulate};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service};
use kdyno_kafka::records;
use kdyno_model::plan::{Arrivals, Fill, Payload, ProducePlan, ToolLines, ValuesPlan};
use kdyno_model::sample::{Grain, Sample, Timing};

const RECORDS: u64 = 2_000;
const FIRST: u64 = 700;

fn cluster(service: Service) -> FakeCluster {
    FakeCluster::new(FakeConfig::new(1).topic(TOPIC, 2).service(service).keep_batches())
}

fn lines(plan: &mut ProducePlan) {
    plan.payload = Payload::Unique;
    plan.records_max = Some(RECORDS);
    plan.tool_lines = Some(ToolLines { warmup_records: FIRST });
}

fn histogram(bytes: &[u8]) -> Histogram<u64> {
    Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram")
}

fn assert_steady(outcome: &Outcome, what: &str) {
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, RECORDS, "{what}");
    let steady = outcome.totals.steady.clone().expect(what);
    assert_eq!(steady.records, RECORDS - FIRST, "{what}");
    let service = histogram(&steady.service);
    assert_eq!(service.len(), steady.records, "{what}");
    assert!(steady.span_ns > 0 && steady.span_ns < outcome.totals.clients[0].span_ns, "{what}");
    let bytes = outcome.counts().acknowledged_bytes;
    assert!(steady.value_bytes > 0 && steady.value_bytes < bytes, "{what}");
    let whole = outcome.histogram(Timing::Service);
    assert!(
        service.max() <= whole.max() && steady.service_sum_ns < outcome.sum_ns(Timing::Service),
        "{what}"
    );
}

#[test]
fn the_steady_state_begins_with_the_very_record() {
    let fast = || cluster(Service::Fixed { delay_ns: 2 * MS });
    // About a thousand records of 100 B in a second: a load of two thousand waits for room.
    let slow = || cluster(Service::Fixed { delay_ns: 150 * MS });
    let small_buffer = |plan: &mut ProducePlan| {
        plan.client.in_flight_max = 1;
        plan.client.buffer_bytes = 33_000;
    };
    let drawn =
        |plan: &mut ProducePlan| plan.records.values = ValuesPlan::Uniform { bytes_min: 50, bytes_max: 150 };
    let open = || Load::open(2_000.0, Arrivals::Constant).with(lines);
    let closed = || Load::max(Fill::Buffer).with(lines);
    for (what, load, cluster) in [
        ("open", open(), fast()),
        ("open, drawn", open().with(drawn), fast()),
        ("open, backlog", open().with(small_buffer), slow()),
        ("open, backlog, drawn", open().with(small_buffer).with(drawn), slow()),
        ("closed", closed(), fast()),
        ("closed, drawn", closed().with(drawn), fast()),
    ] {
        assert_steady(&simulate(&load.seconds(20.0), cluster), what);
    }
}

#[test]
fn seconds_have_the_service_time_only_where_requested() {
    let seconds = |outcome: &Outcome| -> Vec<Sample> {
        let rows =
            outcome.samples.iter().filter(|row| row.grain == Grain::Second && row.counts.acknowledged > 0);
        rows.cloned().collect()
    };
    let load = || Load::open(500.0, Arrivals::Constant).seconds(4.0);
    let cluster = || cluster(Service::Fixed { delay_ns: 2 * MS });
    let with = simulate(&load().with(|plan| plan.tool_lines = Some(ToolLines::default())), cluster());
    let (mut records, mut sum_ns) = (0, 0);
    for row in seconds(&with) {
        let service = histogram(&row.histograms[&Timing::Service]);
        assert_eq!(service.len(), row.counts.acknowledged);
        records += service.len();
        sum_ns += row.sums_ns[&Timing::Service];
    }
    assert_eq!((records, sum_ns), (with.counts().acknowledged, with.sum_ns(Timing::Service)));
    assert_eq!(with.histogram(Timing::Service).len(), records, "the whole counts each once");
    assert!(with.totals.steady.is_none(), "nobody asked for a steady state");
    let without = simulate(&load(), cluster());
    assert!(!seconds(&without).is_empty());
    assert!(seconds(&without).iter().all(|row| !row.histograms.contains_key(&Timing::Service)));
}

#[test]
fn numbers_are_sent_one_after_the_other() {
    let load = Load::open(200.0, Arrivals::Constant).seconds(2.0).with(|plan| {
        lines(plan);
        plan.records_max = Some(250);
        plan.records.values = ValuesPlan::Numbered;
        plan.value_bytes = 3;
    });
    let outcome = simulate(&load, cluster(Service::Fixed { delay_ns: MS }));
    outcome.assert_accounted();
    let mut found = Vec::new();
    for stored in (0..2).flat_map(|partition| outcome.cluster.batches(TOPIC, partition)) {
        let batch = records::batches(&stored.bytes).next().expect("a batch").expect("well formed");
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, 1 << 24).expect("records") {
            let value = record.expect("a record").value.expect("a value");
            found.push(std::str::from_utf8(value).expect("digits").parse::<u32>().expect("a number"));
        }
    }
    found.sort_unstable();
    assert_eq!(found, (0..250).collect::<Vec<u32>>());
    // 10 numbers of one digit, 90 of two, 150 of three.
    assert_eq!(outcome.counts().acknowledged_bytes, 10 + 180 + 450);
}
