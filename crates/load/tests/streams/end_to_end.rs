//! End-to-end latencies in simulated time, against what is reckoned from the log and from when each of its batches is
//! fetched: exact for every record.
//!
//! The log is written first and read later, by a consumer whose clock differs by just so much that the records seem to be
//! intended while it fetches.

use crate::common::{Fetching, Load, MS, Outcome, RUN_ID, SECOND, T0, TOPIC, fetch, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig};
use kdyno_kafka::records;
use kdyno_load::histo::{self, Histo};
use kdyno_load::trailer::TrailerReader;
use kdyno_model::plan::{Arrivals, Compression, Payload, ReadDepth, StartOffset, WorkPlan};
use kdyno_model::sample::{Grain, Phase, Timing};

/// Time that each fetch takes.
const FETCH_NS: u64 = 5 * MS;

/// A log of one partition and when it was complete, ns.
struct CompleteLog {
    cluster: FakeCluster,
    ended_ns: u64,
}

impl CompleteLog {
    /// A second of records.
    fn new(payload: Payload) -> Self {
        let config = FakeConfig::new(1).topic(TOPIC, 1).control_delay_ns(FETCH_NS).keep_batches();
        let load = Load::open(2_000.0, Arrivals::Poisson).seconds(1.0).with(|plan| {
            plan.payload = payload;
            plan.client.linger_ns = 2 * MS;
            plan.client.compression = Compression::Lz4;
        });
        let Outcome { cluster, ended_ns, .. } = simulate(&load, FakeCluster::new(config));
        Self { cluster, ended_ns }
    }

    /// T0 of the client that fetches it.
    fn reader_t0_ns(&self) -> u64 {
        self.ended_ns + SECOND
    }

    /// The t0 of the records of each batch, `shift_ns` later than they were.
    fn intended_ns(&self, shift_ns: u64) -> Vec<Vec<u64>> {
        let trailers = TrailerReader::new(RUN_ID);
        let batches = self.cluster.batches(TOPIC, 0);
        let of_batch = |bytes: &[u8]| {
            let batch = records::batches(bytes).next().expect("a batch").expect("well formed");
            let mut scratch = Vec::new();
            let records = batch.records(&mut scratch, 1 << 24).expect("records");
            let wall_ns = records.map(|record| trailers.intended_wall_ns(&record.expect("a record")));
            wall_ns.map(|wall_ns| wall_ns.expect("a trailer") as u64 + shift_ns).collect()
        };
        batches.iter().map(|stored| of_batch(&stored.bytes)).collect()
    }
}

/// Bucket for bucket, and exact in the sum.
fn assert_same(outcome: &Outcome, timing: Timing, truth: &[u64]) {
    let sum = truth.iter().map(|ns| u128::from(*ns)).sum::<u128>();
    assert_eq!(outcome.sum_ns(timing), sum, "{timing}");
    if truth.is_empty() {
        return;
    }
    let mut expected = Histo::default();
    truth.iter().for_each(|ns| expected.record(*ns, 1));
    let mut turned = histo::empty(histo::DIGITS);
    expected.add_to(&mut turned);
    assert_eq!(outcome.histogram(timing), turned, "{timing}");
}

/// Every record's latency, also of those whose t0 lies behind the instant at which they came, since the clocks differ.
#[test]
fn every_latency_is_that_of_the_record_with_its_sign() {
    // With the latter, records seem to be intended half a second after most of them have come.
    for ahead_ns in [0, 500 * MS] {
        let written = CompleteLog::new(Payload::Unique);
        let shift_ns = written.reader_t0_ns() - T0 + ahead_ns;
        let (intended_ns, first_ns) = (written.intended_ns(shift_ns), written.reader_t0_ns() + FETCH_NS);
        let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
        fetching.wall_offset_ns = -(shift_ns as i64);
        let outcome = fetch(&fetching, written.cluster, written.ended_ns);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (fetch, batch) in (0..).zip(&intended_ns) {
            let handed_ns = first_ns + fetch * FETCH_NS;
            for t0_ns in batch {
                match handed_ns.checked_sub(*t0_ns) {
                    Some(ns) => above.push(ns),
                    None => below.push(t0_ns - handed_ns),
                }
            }
        }
        let records = (above.len() + below.len()) as u64;
        assert!(records > 1_500 && intended_ns.len() > 100, "{records} in {}", intended_ns.len());
        assert_eq!(below.is_empty(), ahead_ns == 0, "{} below zero", below.len());
        let counts = outcome.counts();
        assert_eq!((counts.end_to_end, counts.fetched, counts.discarded), (records, records, 0));
        assert_same(&outcome, Timing::EndToEnd, &above);
        assert_same(&outcome, Timing::EndToEndBelowZero, &below);
        assert_same(&outcome, Timing::UntilFetched, &above);
        assert_same(&outcome, Timing::HandOver, &vec![0; records as usize]);
        let seconds =
            outcome.samples.iter().filter(|row| row.grain == Grain::Second && row.counts.end_to_end > 0);
        let of_t0 = |row: &kdyno_model::sample::Sample| row.phase == Phase::Measure && row.t0_second <= 1;
        assert!(seconds.clone().count() > 1 && seconds.clone().all(of_t0), "by the second of t0");
    }
}

/// An application that takes time gets its records one after the other: what they wait behind others is hand-over.
#[test]
fn waiting_behind_other_records_is_hand_over() {
    const WORK_NS: u64 = MS;
    let written = CompleteLog::new(Payload::Unique);
    let shift_ns = written.reader_t0_ns() - T0;
    let (intended_ns, fetched_ns) = (written.intended_ns(shift_ns), written.reader_t0_ns() + FETCH_NS);
    let mut fetching = Fetching::from(StartOffset::Earliest);
    (fetching.wall_offset_ns, fetching.plan.work) =
        (-(shift_ns as i64), Some(WorkPlan::Constant { ns: WORK_NS }));
    fetching.plan.partition_bytes_max = 50 << 20;
    let outcome = fetch(&fetching, written.cluster, written.ended_ns);
    let hand_over: Vec<u64> =
        (0..intended_ns.iter().flatten().count() as u64).map(|place| place * WORK_NS).collect();
    assert_same(&outcome, Timing::HandOver, &hand_over);
    // All came in one answer: some before the instant at which they seem to be intended.
    let signed = |instant_ns: u64, t0_ns: u64| i128::from(instant_ns) - i128::from(t0_ns);
    let pairs = || intended_ns.iter().flatten().zip(&hand_over);
    let until: i128 = pairs().map(|(t0_ns, _)| signed(fetched_ns, *t0_ns)).sum();
    let whole: i128 = pairs().map(|(t0_ns, waited_ns)| signed(fetched_ns + waited_ns, *t0_ns)).sum();
    let reported = |above, below| outcome.sum_ns(above) as i128 - outcome.sum_ns(below) as i128;
    assert_eq!(reported(Timing::UntilFetched, Timing::UntilFetchedBelowZero), until);
    assert_eq!(reported(Timing::EndToEnd, Timing::EndToEndBelowZero), whole);
    assert_eq!(outcome.counts().end_to_end, hand_over.len() as u64);
}

/// Records without an instant at which this trial intended them, and consumers that look at none.
#[test]
fn foreign_records_are_discarded_and_reported() {
    let fetched = |payload, change: fn(&mut Fetching)| {
        let written = CompleteLog::new(payload);
        let mut fetching = Fetching::from(StartOffset::Earliest);
        fetching.wall_offset_ns = -((written.reader_t0_ns() - T0) as i64);
        change(&mut fetching);
        let outcome = fetch(&fetching, written.cluster, written.ended_ns);
        let counts = outcome.counts();
        assert!(counts.fetched > 1_500, "{counts:?}");
        (counts.end_to_end, counts.discarded == counts.fetched, counts.discarded)
    };
    let is_all = |(kept, is_all, _): (u64, bool, u64)| kept == 0 && is_all;
    assert!(is_all(fetched(Payload::Pooled { pool_bytes: 0 }, |_| {})), "of a pool");
    assert!(is_all(fetched(Payload::Unique, |fetching| fetching.run_id = RUN_ID + 1)), "of another run");
    assert!(is_all(fetched(Payload::Unique, |fetching| fetching.wall_offset_ns = 0)), "of before T0");
    for read in [ReadDepth::Crc, ReadDepth::Header] {
        let (kept, _, discarded) = match read {
            ReadDepth::Crc => fetched(Payload::Unique, |fetching| fetching.plan.read = ReadDepth::Crc),
            _ => fetched(Payload::Unique, |fetching| fetching.plan.read = ReadDepth::Header),
        };
        assert_eq!((kept, discarded), (0, 0), "{read:?}: it looked at none");
    }
}
