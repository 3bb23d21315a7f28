//! What the drop-in commands take of streams of Java clients: the tool's own latency and steady state, loads that end by what
//! there is to be read.

use super::*;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_model::plan::{GroupPlan, GroupProtocol, ToolLines};

fn histogram(bytes: &[u8]) -> Histogram<u64> {
    Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram")
}

/// The tool looks at the clock before it calls `send()`: of each record that is 3 ms and the time in `send()`.
#[test]
fn tool_lines_tell_the_time_from_the_call_of_send() {
    const FIRST: u64 = 300;
    const BLOCK_NS: u64 = 200_000;
    const EACH_NS: u128 = (BLOCK_NS + 3 * MS) as u128;
    for plan in [open(5_000.0), closed()] {
        let lines = Some(ToolLines { warmup_records: FIRST });
        // A fifth of the item's records is this worker's.
        let plan = ProducePlan { records_max: Some(5_000), tool_lines: lines, ..plan };
        let script =
            JavaBehaviour { block_ns: BLOCK_NS, outcome: |_| (3 * MS, 0), ..JavaBehaviour::default() };
        let outcome = produced(plan, 1, script);
        outcome.assert_accounted();
        assert_eq!(outcome.totals.counts.acknowledged, 1_000);
        let (mut records, mut sum) = (0, 0);
        for row in outcome.samples.iter().filter(|row| row.grain == Grain::Second) {
            assert!(!row.histograms.contains_key(&Timing::Service), "it is not what rows of seconds tell");
            let Some(bytes) = row.histograms.get(&Timing::WithoutGenerator) else { continue };
            records += histogram(bytes).len();
            sum += row.sums_ns[&Timing::WithoutGenerator];
        }
        assert_eq!((records, sum), (1_000, 1_000 * EACH_NS));
        assert_eq!(sum_ns(&outcome, Timing::WithoutGenerator), sum, "the whole counts each once");
        let steady = outcome.totals.steady.clone().expect("a steady state");
        let left = 1_000 - FIRST;
        assert_eq!((steady.records, steady.value_bytes), (left, left * 100));
        assert_eq!(steady.service_sum_ns, u128::from(left) * EACH_NS);
        assert_eq!(histogram(&steady.service).len(), left);
        assert!(steady.span_ns > 0 && steady.span_ns < outcome.totals.clients[0].span_ns, "{steady:?}");
    }
    let without = produced(open(500.0), 1, JavaBehaviour::default());
    assert!(without.totals.steady.is_none());
    let mut seconds = without.samples.iter().filter(|row| row.grain == Grain::Second);
    assert!(seconds.all(|row| !row.histograms.contains_key(&Timing::WithoutGenerator)), "nobody asked");
}

/// One member that comes with the measure phase, and leaves when it has had enough, or nothing for two seconds.
fn consumed_alone(says: Vec<(u64, Vec<u8>)>) -> StreamOutcome {
    let group = GroupPlan {
        name: "g".to_owned(),
        id: None,
        protocol: GroupProtocol::Consumer { assignor: None },
        instance_id: None,
        poll_interval_max_ns: SECOND,
        auto_commit_ns: None,
    };
    let (records_max, idle_ns) = (Some(5), Some(2 * SECOND));
    let plan = ConsumePlan { group: Some(group), records_max, idle_ns, ..consume() };
    let mut context = context(StreamRole::Consume(plan), 1, 60 * SECOND);
    context.task.group_id = Some("group".to_owned());
    context.task.span.at_ns = Some(0);
    context.has_producers = false;
    let outcome = run(context, JavaBehaviour { says, ..JavaBehaviour::default() });
    assert_eq!(outcome.failure, None);
    let commands: Vec<&ToJava> = outcome.heard.iter().skip(1).collect();
    assert_eq!(commands, [&ToJava::Begin, &ToJava::End], "nothing is left to catch up with");
    outcome
}

/// Instants of the beginning and the end of its load, ns from T0, and why it ended.
fn span(outcome: &StreamOutcome) -> (i64, i64, &str) {
    let of = |kind| outcome.events.iter().find(|event| event.kind == kind).expect("an event");
    let (began, ended) = (of(EventKind::ItemBegan), of(EventKind::ItemEnded));
    (began.at_ns, ended.at_ns, ended.detail.rsplit(": ").next().unwrap_or_default())
}

#[test]
fn a_load_ends_with_the_poll_that_brings_enough() {
    let at = |ms: u64| T0 + ms * MS;
    let (generation, partitions) = (1, (0..6).collect());
    let gained = FromJava::Assignment {
        client: 0,
        at_ns: at(1_500),
        change: OwnershipChange::Gained,
        generation,
        partitions,
    };
    let record = |offset| ConsumedRecord { partition: 1, offset, bytes: 110, intended_ns: None };
    let poll = |ms: u64, offsets: std::ops::Range<i64>| {
        (at(ms) + 2 * MS, consumed(0, at(ms), &offsets.map(record).collect::<Vec<_>>()))
    };
    let outcome = consumed_alone(vec![(at(1_501), said(&gained)), poll(1_600, 0..3), poll(2_700, 3..6)]);
    assert_eq!(span(&outcome), (0, 2_700 * MS as i64, "it consumed 6 records"));
    let counts = &outcome.totals.counts;
    assert_eq!((counts.fetched, counts.handed_over_bytes), (6, 660));
    assert_eq!(counts.unassigned_ns, 1_500 * MS, "from when it came");
    let Some(ToJava::Task { role, .. }) = outcome.heard.first() else { panic!("a task") };
    assert_eq!(role[11..], 5i64.to_be_bytes(), "the process polls no further");
}

#[test]
fn a_load_ends_when_nothing_comes() {
    let outcome = consumed_alone(Vec::new());
    assert_eq!(span(&outcome), (0, 2_000 * MS as i64, "no record came for 2000 ms"));
    assert_eq!((outcome.totals.counts.fetched, outcome.totals.counts.unassigned_ns), (0, 0));
}
