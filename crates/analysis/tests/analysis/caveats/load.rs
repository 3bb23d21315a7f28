//! Records and how they fared, and how the load was made.

use super::assert_caveats;
use crate::fixture::{MS, READERS, TrialFixture, WRITERS, at_three_digits, histogram};
use kdyno_model::caveat::{Caveat, Severity, Stalled};
use kdyno_model::conclusion::{Limit, LimitKind, of_kind};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::plan::{
    AvroPlan, Compression, EndToEndPlan, LoadPlan, ParamValue, Payload, ProducePlan, Role, SamplePlan,
    SystemPlan, ValuesPlan,
};
use kdyno_model::sample::{Grain, Phase, Timing};

fn item() -> String {
    "writers".to_owned()
}

#[test]
fn each_caveat_about_the_load_is_named_by_what_causes_it() {
    assert_caveats([
        (
            |trial| {
                trial.counts(5).offered += 2;
                trial.take_totals();
            },
            Severity::Invalid,
            Caveat::AccountingBroken { item: item(), difference: 2 },
        ),
        (
            // The other way round: more outcomes than records.
            |trial| {
                trial.counts(5).offered -= 2;
                trial.take_totals();
            },
            Severity::Invalid,
            Caveat::AccountingBroken { item: item(), difference: -2 },
        ),
        (
            |trial| {
                trial.totals[1].counts.offered += 7;
                trial.totals[1].counts.acknowledged += 7;
                trial.log_grows(12_007);
            },
            Severity::Invalid,
            Caveat::SamplesMissing { item: item(), count: "acknowledged".into(), difference: 7 },
        ),
        (
            // Whatever a row counts: figures are made of it.
            |trial| trial.totals[1].counts.retried_records += 3,
            Severity::Invalid,
            Caveat::SamplesMissing { item: item(), count: "retried_records".into(), difference: 3 },
        ),
        (
            |trial| {
                let failed = &mut trial.totals[1].counts.failed;
                failed.extend([("A".to_owned(), 0), ("B".to_owned(), 2)]);
                trial.totals[1].counts.offered += 2;
            },
            Severity::Invalid,
            Caveat::SamplesMissing { item: item(), count: "failed, B".into(), difference: 2 },
        ),
        (
            |trial| {
                trial.writers().client.compression = Compression::Lz4;
                trial.writers().payload = Payload::Pooled { pool_bytes: 8 << 20 };
            },
            Severity::Warning,
            Caveat::PooledCompression { item: item() },
        ),
        (
            |trial| trial.writers().client.compression = Compression::Zstd,
            Severity::Warning,
            Caveat::RandomValues { item: item(), compression: "zstd".into(), by_schema: false },
        ),
        (
            |trial| {
                trial.counts(5).retries = 1;
                trial.take_totals();
            },
            Severity::Warning,
            Caveat::Retries { item: item(), batches: 1, is_idempotent: false },
        ),
    ]);
    let mut trial = TrialFixture::clean();
    trial.counts(1).retries = 3;
    trial.take_totals();
    assert_eq!(trial.caveats(), [], "those of the warm-up are in no figure");
    trial.writers().payload = Payload::Pooled { pool_bytes: 8 << 20 };
    assert_eq!(trial.caveats(), [], "a pool without compression");
}

#[test]
fn what_an_idempotent_producer_sends_again_is_a_note() {
    let mut trial = TrialFixture::clean();
    trial.writers().client.enable_idempotence = true;
    trial.counts(5).retries = 1;
    trial.take_totals();
    let caveat = Caveat::Retries { item: item(), batches: 1, is_idempotent: true };
    assert_eq!(trial.caveats(), [(Severity::Note, caveat)]);
}

/// A trial of one of several sizes of batches, whose batches hold 50 records of 128 bytes.
fn sized(batch_bytes: u32) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let case = &mut trial.start.trial.effective;
    case.params.insert("batch".into(), ParamValue::Text(batch_bytes.to_string()));
    case.label = format!("brokers=2, batch={batch_bytes}");
    trial.writers().client.batch_bytes = batch_bytes;
    trial
}

#[test]
fn batches_that_are_not_filled_make_a_comparison_of_sizes_moot() {
    // 61 + 50 × (128 + 8) bytes.
    const FILLED: u32 = 6_861;
    assert_eq!(sized(2 * FILLED).caveats(), []);
    let found = sized(2 * FILLED + 1).caveats();
    let [(Severity::Warning, Caveat::SmallBatches { share, .. })] = &found[..] else { panic!("{found:?}") };
    assert!((share - 0.5).abs() < 1e-4);
    // For compressed batches the sent bytes count.
    let mut trial = sized(FILLED);
    for second in 0..12 {
        trial.counts(second).sent_bytes /= 4;
    }
    trial.take_totals();
    let found = trial.caveats();
    let [(Severity::Warning, Caveat::SmallBatches { share, .. })] = &found[..] else { panic!("{found:?}") };
    assert!((share - (61.0 + 50.0 * 136.0 / 4.0) / f64::from(FILLED)).abs() < 1e-9);
    // Where batches are the same in every case, they are not compared.
    let mut trial = sized(10 * FILLED);
    trial.start.trial.effective.label = "brokers=2".into();
    assert_eq!(trial.caveats(), []);
    let mut trial = TrialFixture::clean();
    trial.writers().client.batch_bytes = 10 * FILLED;
    assert_eq!(trial.caveats(), []);
}

#[test]
fn a_missed_compression_ratio_is_reported_with_the_actual_one() {
    // So many of 136,000 bytes of records per second were sent; values were to compress to 4.
    let with = |sent_bytes: u64, change: fn(&mut ProducePlan)| {
        let mut trial = TrialFixture::clean();
        trial.writers().client.compression = Compression::Lz4;
        trial.writers().records.compressible = Some(4.0);
        change(trial.writers());
        for second in 0..12 {
            trial.counts(second).sent_bytes = sent_bytes;
        }
        trial.take_totals();
        trial.is("writers.compression_ratio", 136_000.0 / sent_bytes as f64);
        trial.caveats()
    };
    for near in [34_000, 32_381, 35_789] {
        assert_eq!(with(near, |_| {}), [], "{near}");
    }
    assert_eq!(with(32_380, |_| {}).len(), 1, "better is missed too");
    let found = with(35_790, |_| {});
    let [(Severity::Warning, Caveat::CompressionMissed { stated, reached, .. })] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(*stated == 4.0 && (reached - 136_000.0 / 35_790.0).abs() < 1e-9, "{found:?}");
    assert_eq!(with(136_000, |plan| plan.client.compression = Compression::None), []);
    // Without a stated ratio none is missed; and given values are real without doubt.
    let random = Caveat::RandomValues { item: item(), compression: "lz4".into(), by_schema: false };
    assert_eq!(with(80_000, |plan| plan.records.compressible = None), [(Severity::Warning, random)]);
    let given: fn(&mut ProducePlan) = |plan| {
        plan.records.compressible = None;
        let sample = SamplePlan { topic: "orders".into(), bytes_max: 1, value_bytes_max: 1 };
        plan.records.values = ValuesPlan::Sample(sample);
    };
    assert_eq!(with(80_000, given), []);
    let made: fn(&mut ProducePlan) = |plan| {
        plan.records.compressible = None;
        let path = "order.avsc".into();
        plan.records.values =
            ValuesPlan::Avro(AvroPlan { path, crc: 1, id: 1, count: 9, value_bytes_max: 9 });
    };
    let random = Caveat::RandomValues { item: item(), compression: "lz4".into(), by_schema: true };
    assert_eq!(with(80_000, made), [(Severity::Warning, random)]);
}

#[test]
fn quantiles_of_too_few_records_are_marked_and_reported_once() {
    let with = |records: u64| {
        let mut trial = TrialFixture::clean();
        let row =
            trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
        row.unwrap().histograms.insert(Timing::Response, histogram(&[(4 * MS, records)], 3));
        let found = trial.reported(|found| matches!(found, Caveat::FewRecords { .. }));
        let marked = trial.marked(Mark::FewRecords);
        let response = marked.into_iter().filter(|of| of.starts_with("writers.response."));
        (found, response.collect::<Vec<_>>())
    };
    let (found, marked) = with(10_000);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
    assert_eq!(
        found[0].caveat,
        Caveat::FewRecords { item: item(), quantile: "p99.9".into(), beyond: 10 },
        "exactly 100 lie beyond p99"
    );
    assert_eq!(marked, ["writers.response.p99.9", "writers.response.p99.99"]);
    let (found, marked) = with(9_999);
    assert!(matches!(&found[0].caveat, Caveat::FewRecords { quantile, beyond: 99, .. } if quantile == "p99"));
    assert!(marked.iter().any(|of| of == "writers.response.p99"));
    let (found, marked) = with(1_000_000);
    assert_eq!((found.len(), marked.len()), (0, 0));
}

/// What the readers still had before them when the window began and when it ended.
fn behind(before: u64, at_end: u64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
        row.counts.lag_records = Some(match row.written_second {
            1 => before,
            11 => at_end,
            // A state, not a count: what lies in between adds nothing.
            _ => 77_777,
        });
    }
    trial.take_totals();
    trial
}

#[test]
fn a_consumer_that_is_behind_when_the_window_ends_is_reported() {
    assert_eq!(behind(9_000, 1_000).caveats(), []);
    let records = 1_500;
    let trial = behind(0, records);
    assert_eq!(
        trial.caveats(),
        [(Severity::Warning, Caveat::ConsumerBehind { item: "readers".into(), records, seconds: Some(1.5) })]
    );
    trial.is("readers.lag", 1500.0);
    trial.is("readers.lag_time", 1.5e9);
    trial.is("readers.fetched_per_s", 1000.0);
}

#[test]
fn a_lag_counts_back_through_what_was_acknowledged() {
    let mut trial = behind(0, 300);
    trial.counts(11).acknowledged = 100;
    trial.counts(10).acknowledged = 400;
    trial.is("readers.lag_time", 1.5e9);
    // When the records before T0 were written is not known.
    assert_eq!(behind(0, 13_000).value("readers.lag_time"), Value::AtLeast(12e9));
    // Other topics' records are no measure.
    let mut trial = behind(5_000, 5_000);
    trial.start.trial.effective.load.get_mut("writers").unwrap().topic = "other".into();
    assert_eq!(trial.value("readers.lag_time"), Value::None);
    trial.is("readers.lag", 5000.0);
    let behind_of =
        |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::ConsumerBehind { .. }));
    assert_eq!(behind_of(&trial), [], "it reads what is there, and gets no further behind");
    let mut trial = behind(5_000, 5_001);
    trial.start.trial.effective.load.get_mut("writers").unwrap().topic = "other".into();
    let found = behind_of(&trial);
    assert!(matches!(found[0].caveat, Caveat::ConsumerBehind { records: 5_001, seconds: None, .. }));
}

#[test]
fn a_consumer_that_fell_silent_is_where_it_was_last() {
    let mut trial = behind(0, 0);
    trial.samples.retain(|row| row.id != READERS || row.written_second < 9);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.written_second == 8) {
        row.counts.lag_records = Some(2_000);
    }
    trial.take_totals();
    trial.is("readers.lag_time", 2e9);
}

#[test]
fn an_unknown_lag_is_none_and_not_0() {
    let mut trial = TrialFixture::clean();
    trial.is("readers.lag_time", 0.0);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS) {
        row.counts.lag_records = None;
    }
    trial.take_totals();
    assert_eq!((trial.value("readers.lag_time"), trial.value("readers.lag")), (Value::None, Value::None));
    assert_eq!(trial.caveats(), []);
}

#[test]
fn records_of_a_killed_worker_are_above_every_quantile() {
    let mut trial = TrialFixture::clean();
    // Silent from second 5 on; killed in second 9: 4 of 7 measured seconds were never acknowledged.
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 9);
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.t0_second >= 5) {
        row.counts.acknowledged = 0;
        row.histograms.clear();
    }
    trial.totals.clear();
    trial.is("writers.unresolved", 4000.0);
    trial.is("writers.failed_share", 4.0 / 7.0);
    // Records of second 5 have waited until second 8 at least, and for 1000 of 3000 so long is known.
    assert_eq!(trial.value("writers.response.p99"), Value::AtLeast(2e9));
    assert!(matches!(trial.value("writers.response.p50"), Value::AtLeast(_)));
    let unresolved = Caveat::Unresolved { item: item(), records: 4000 };
    assert!(trial.caveats().contains(&(Severity::Warning, unresolved)), "{:?}", trial.caveats());
    // With totals everything was written off by the stream itself.
    trial.take_totals();
    trial.is("writers.unresolved", 0.0);
    let Value::Is(p99) = trial.value("writers.response.p99") else { panic!("no value") };
    assert!(p99 < at_three_digits(5 * MS));
}

#[test]
fn that_nothing_was_acknowledged_is_reported() {
    let mut trial = TrialFixture::clean();
    let rows = trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second);
    for row in rows {
        let refused = std::mem::take(&mut row.counts.acknowledged);
        row.counts.failed.insert("TOPIC_AUTHORIZATION_FAILED".into(), refused);
    }
    trial.take_totals();
    let said =
        |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::NothingAcknowledged { .. }));
    let found = said(&trial);
    assert_eq!(found[0].caveat, Caveat::NothingAcknowledged { item: item(), records: 10_000 });
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    trial.is("writers.acked_per_s", 0.0);
    assert!(!trial.marked(Mark::Invalid).contains("writers.acked_per_s"), "nothing is a rate too");
    // For a load that queues, what is acknowledged in the window may be of the warm-up.
    trial.push(WRITERS, Grain::Second, Phase::Warmup, 1, 5).counts.acknowledged = 1;
    assert_eq!(said(&trial), []);
}

#[test]
fn seconds_without_acknowledgements_exclude_schedule_as_limit() {
    let silent = |seconds: std::ops::Range<u32>| {
        let mut trial = TrialFixture::clean();
        for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
            // What was offered then was carried later.
            if seconds.contains(&row.written_second) {
                row.written_second = seconds.end;
            }
        }
        trial
    };
    let reported = |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::Stalled(_)));
    let limits = |trial: &TrialFixture| {
        of_kind::<Limit>(&trial.judged().conclusions).map(|of| of.named).collect::<Vec<_>>()
    };
    let trial = silent(5..8);
    let found = reported(&trial);
    assert_eq!(found[0].caveat, Caveat::Stalled(Stalled { item: item(), seconds: 3.0, at_s: 5.0 }));
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    assert!(!limits(&trial).contains(&LimitKind::Schedule), "{:?}", limits(&trial));
    assert_eq!(limits(&TrialFixture::clean()), [LimitKind::Schedule]);
    assert_eq!(reported(&silent(5..6)), [], "a second by itself says little");
    // Batches linger for 5 ms, which explains no second; for a second they explain one.
    let mut two = silent(5..7);
    assert_eq!(reported(&two)[0].caveat, Caveat::Stalled(Stalled { item: item(), seconds: 2.0, at_s: 5.0 }));
    two.writers().client.linger_ns = 1_000 * MS;
    assert_eq!(reported(&two), []);
    let mut few = silent(5..8);
    for row in few.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
        row.counts.offered = 3;
    }
    assert_eq!(reported(&few), [], "records that seldom come");
}

#[test]
fn a_probe_topic_with_too_few_partitions_for_all_brokers_warns() {
    let reported = |brokers: u32| {
        let mut trial = TrialFixture::clean();
        let effective = &mut trial.start.trial.effective;
        let SystemPlan::Local(cluster) = &mut effective.system else { panic!("a local cluster") };
        cluster.brokers = brokers;
        let partitions = effective.topics["perf"].partitions;
        let [produce, consume] = ["writers", "readers"].map(|item| effective.load[item].role.clone());
        let (Role::Produce(produce), Role::Consume(consume)) = (produce, consume) else {
            panic!("as the fixture")
        };
        let probe = LoadPlan {
            role: Role::EndToEnd(EndToEndPlan { produce, consume }),
            ..effective.load["writers"].clone()
        };
        effective.load.insert("probe".to_owned(), probe);
        let found = trial.reported(|found| matches!(found, Caveat::ProbeMissesLeaders { .. }));
        (partitions, found.into_iter().map(|one| one.caveat).collect::<Vec<_>>())
    };
    let (partitions, none) = reported(1);
    assert_eq!(none, []);
    let brokers = partitions + 1;
    let missed = Caveat::ProbeMissesLeaders { item: "probe".to_owned(), partitions, brokers };
    assert_eq!(reported(brokers).1, [missed]);
}
