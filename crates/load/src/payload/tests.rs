//! Bodies of every kind of record, opened again.

use super::*;
use crate::records::{Draws, GivenBySource};
use crate::trailer::TrailerReader;
use kdyno_kafka::records::{self, BatchHeader, HEADER_BYTES};
use kdyno_model::plan::{HeaderPlan, KeyLaw, KeyPlan, RecordPlan, TRAILER_BYTES, TRAILER_HEADER, ValuesPlan};
use proptest::prelude::*;

const WALL_OFFSET_NS: i64 = 1_000;
const SEED: u64 = 20_261_122;
const RUN_ID: u64 = 0xfeed;

/// Half of them accepted at 5 ms, the others in twos, `gap_ms` apart.
fn times(count: u32, gap_ms: u64) -> RecordTimes {
    let mut times = RecordTimes::default();
    let alone = count / 2;
    if alone > 0 {
        times.push_run(alone, 5_000_000, Admission::AtOnce);
    }
    for index in alone..count {
        let accepted_ns = 7_000_000 + u64::from((index - alone) / 2) * gap_ms * 1_000_000;
        times.push_run(1, accepted_ns, Admission::OnTick);
        times.intended_ns.push(accepted_ns - 1_000 + u64::from(index));
    }
    times
}

fn source(plan: &RecordPlan, value_bytes: u32, is_unique: bool) -> RecordSource {
    let given = GivenBySource::new();
    RecordSource::new(plan, (value_bytes, is_unique), Some(12), &given, SEED).expect("nothing is given")
}

fn form(records: &RecordSource, records_max: u32, compression: Compression) -> BodyForm {
    let compressor = compression.into();
    BodyForm { shape: records.shape(), records_max, compressor, wall_offset_ns: WALL_OFFSET_NS }
}

/// A record of a batch.
#[derive(Debug)]
struct ReadRecord {
    timestamp_ms: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    /// Its t0 as a consumer of this run, and of another one, reads it.
    intended_wall_ns: [Option<i64>; 2],
}

/// The records of the batch that a body makes.
fn open(sealed: &Sealed, count: u32) -> Vec<ReadRecord> {
    let (base_ms, max_ms) = (sealed.base_timestamp_ms, sealed.max_timestamp_ms);
    let header = BatchHeader::plain(sealed.compression, count as i32, base_ms, max_ms);
    let mut head = [0; HEADER_BYTES];
    records::write_batch_header(&mut head, &header, &sealed.sum);
    let set = [head.as_slice(), &sealed.body].concat();
    let batch = records::batches(&set).next().expect("one batch").expect("well formed");
    batch.verify_crc().expect("checksum");
    let mut scratch = Vec::new();
    let records = batch.records(&mut scratch, 1 << 24).expect("records");
    let header = |(name, value): (&[u8], Option<&[u8]>)| {
        (String::from_utf8(name.to_vec()).expect("a name"), value.expect("a value").to_vec())
    };
    let records = records.map(|record| record.expect("record"));
    let read: Vec<_> = records
        .map(|record| ReadRecord {
            timestamp_ms: record.timestamp_ms,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record.headers().map(header).collect(),
            intended_wall_ns: [RUN_ID, RUN_ID + 1].map(|id| TrailerReader::new(id).intended_wall_ns(&record)),
        })
        .collect();
    let uncompressed =
        if sealed.compression == Compression::None { sealed.body.len() } else { scratch.len() };
    assert_eq!(sealed.body_bytes, uncompressed as u64);
    read
}

/// Where a record's trailer is: in its value, or else in its last header.
fn trailer(record: &ReadRecord) -> (&[u8], bool) {
    match record.headers.last() {
        Some((name, value)) if name == TRAILER_HEADER => (value, true),
        _ => {
            let value = record.value.as_ref().expect("a value with a trailer");
            (&value[value.len() - TRAILER_BYTES as usize..], false)
        }
    }
}

/// Kinds of records, each with a value's size.
fn plans() -> impl Strategy<Value = (RecordPlan, u32)> {
    let law =
        prop_oneof![Just(KeyLaw::Sequential), Just(KeyLaw::Uniform), Just(KeyLaw::Zipf { exponent: 1.1 })];
    let key = (law, 1u32..500, 3u32..20).prop_map(|(law, of, bytes)| KeyPlan::Numbered { law, of, bytes });
    let values = prop_oneof![
        2 => Just(ValuesPlan::Fixed),
        1 => (0u32..100, 0u32..200).prop_map(|(bytes_min, more)| ValuesPlan::Uniform { bytes_min, bytes_max: bytes_min + more }),
        1 => Just(ValuesPlan::Lognormal { median_bytes: 60, sigma: 1.0, bytes_max: 500 }),
    ];
    let header =
        ("[a-z]{1,9}", 0u32..70).prop_map(|(name, bytes)| HeaderPlan { name: format!("h-{name}"), bytes });
    let shares = prop_oneof![2 => Just(0.0), 1 => Just(0.3)];
    let compressible = prop_oneof![2 => Just(None::<f64>), 1 => Just(Some(3.0))];
    let rest =
        (prop::option::of(key), values, compressible, shares, prop::collection::vec(header, 0..3), 0u32..200);
    rest.prop_map(|(key, values, compressible, tombstone_share, headers, value_bytes)| {
        (RecordPlan { key, values, compressible, tombstone_share, headers, partition: None }, value_bytes)
    })
}

proptest! {
    #[test]
    fn any_prefix_of_a_pool_is_a_valid_batch(value in 0u32..300, max in 1u32..200, part in 0.0f64..=1.0, codec in 0u8..5) {
        let compression = Compression::from_id(codec).unwrap();
        let records = Rc::new(source(&RecordPlan::default(), value, false));
        let form = form(&records, max, compression);
        let pool = Rc::new(BodyPool::build(form.shape, max, 0, compression, 3).unwrap());
        prop_assert_eq!(pool.blocks.len() as u64, POOL_BATCHES_MIN);
        let mut payloads = BodyBuilder::pooled(form, records, pool, 0);
        let count = ((f64::from(max) * part) as u32).max(1);
        let times = times(count, 3);
        let records = open(&payloads.seal(0, 0, count, &times), count);
        prop_assert_eq!(records.len(), count as usize);
        let timestamp_ms = form.timestamp_ms(times.runs[0].accepted_ns);
        for record in records {
            prop_assert_eq!((record.timestamp_ms, record.value.map(|v| v.len())), (timestamp_ms, Some(value as usize)));
            prop_assert!(record.key.is_none() && record.headers.is_empty());
            prop_assert_eq!(record.intended_wall_ns, [None; 2]);
        }
        let weight = Weight { value_bytes: u64::from(value) * 7, header_trailers: 0 };
        prop_assert_eq!(payloads.weigh(&times, 0..7), weight);
    }

    /// Also where timestamps lie so far apart that their deltas take two or three bytes.
    #[test]
    fn unique_records_carry_who_and_when(
        (plan, value) in plans(),
        max in 1u32..150,
        gap_ms in prop_oneof![Just(0u64), 0u64..300],
        codec in 0u8..5,
    ) {
        let compression = Compression::from_id(codec).unwrap();
        let records = Rc::new(source(&plan, value, true));
        let mut draws = Draws::new(SEED, 3, 10);
        let mut payloads = BodyBuilder::unique(form(&records, max, compression), Rc::clone(&records), RUN_ID, 9);
        for (round, count) in [(0u64, max), (1, max.div_ceil(2)), (2, max)] {
            let mut times = times(count, gap_ms * round);
            let (mut drawn, mut body_bytes, mut base_ms) = (Vec::new(), 0, None);
            let accepted = times.runs.iter().flat_map(|run| vec![run.accepted_ns; run.count as usize]);
            let expected: Vec<(u64, u64)> = accepted.zip(times.each_intended_ns()).collect();
            for (index, (accepted_ns, _)) in (0..).zip(&expected) {
                let shape = if records.is_drawn() {
                    drawn.push(draws.draw(&records));
                    records.shape_of(drawn[index as usize].pick)
                } else {
                    records.shape()
                };
                let at_ms = payloads.form.timestamp_ms(*accepted_ns);
                body_bytes += shape.bytes_after(index, (at_ms - *base_ms.get_or_insert(at_ms)) as u64);
            }
            times.picks = drawn.iter().map(|drawn| drawn.pick).collect();
            let sealed = payloads.seal(4, round * 1000, count, &times);
            prop_assert_eq!(sealed.body_bytes, body_bytes, "as large as was foretold");
            let read = open(&sealed, count);
            prop_assert_eq!(read.len(), expected.len());
            prop_assert_eq!(Some(sealed.max_timestamp_ms), read.iter().map(|record| record.timestamp_ms).max());
            let mut weight = Weight::default();
            for (index, (record, (accepted_ns, t0))) in read.iter().zip(expected).enumerate() {
                prop_assert_eq!(record.timestamp_ms, payloads.form.timestamp_ms(accepted_ns));
                let (trailer, is_header) = trailer(record);
                prop_assert_eq!(&trailer[..8], &RUN_ID.to_be_bytes());
                prop_assert_eq!(&trailer[8..16], &[0, 0, 0, 9, 0, 0, 0, 4]);
                prop_assert_eq!(&trailer[16..24], &(round * 1000 + index as u64).to_be_bytes());
                let wall_ns = t0 as i64 + WALL_OFFSET_NS;
                prop_assert_eq!(&trailer[24..], &wall_ns.to_be_bytes());
                prop_assert_eq!(record.intended_wall_ns, [Some(wall_ns), None]);
                let bytes = record.value.as_ref().map_or(0, Vec::len);
                prop_assert_eq!(is_header, bytes < TRAILER_BYTES as usize, "in a header where there is no room");
                weight.value_bytes += bytes as u64;
                weight.header_trailers += u64::from(is_header);
                let own = &record.headers[..plan.headers.len()];
                prop_assert_eq!(record.headers.len(), own.len() + usize::from(is_header));
                for ((name, value), planned) in own.iter().zip(&plan.headers) {
                    prop_assert_eq!((name, value.len()), (&planned.name, planned.bytes as usize));
                }
                if let (Some(key), Some(drawn)) = (&record.key, drawn.get(index)) {
                    prop_assert_eq!(drawn.partition, Some(kdyno_kafka::producer::partition_of_key(key, 12) as u32));
                    prop_assert_eq!(key.len(), records.shape_of(drawn.pick).key_bytes as usize);
                }
                prop_assert_eq!(record.key.is_some(), plan.key.is_some());
                prop_assert!(record.value.is_some() || plan.tombstone_share > 0.0);
                if plan.values == ValuesPlan::Fixed && record.value.is_some() {
                    prop_assert_eq!(bytes, value as usize);
                }
            }
            prop_assert_eq!(payloads.weigh(&times, 0..count as usize), weight);
            payloads.recycle(sealed.body);
        }
    }
}

#[test]
fn unique_buffers_are_used_again() {
    for compressible in [None, Some(1.0)] {
        let records = Rc::new(source(&RecordPlan { compressible, ..RecordPlan::default() }, 64, true));
        let mut payloads = BodyBuilder::unique(form(&records, 10, Compression::None), records, 1, 1);
        let body = payloads.seal(0, 0, 8, &times(8, 0)).body;
        let at = body.as_ptr();
        payloads.recycle(body);
        let again = payloads.seal(0, 6, 6, &times(6, 0)).body.as_ptr();
        assert_eq!(again, at, "six records fit where eight were");
    }
}

/// A share of 0.3 of 10,000 records has a standard deviation of 0.5 %.
#[test]
fn tombstones_have_their_share_and_their_key() {
    let key = Some(KeyPlan::Numbered { law: KeyLaw::Uniform, of: 50, bytes: 4 });
    let records = source(&RecordPlan { key, tombstone_share: 0.3, ..RecordPlan::default() }, 100, true);
    let mut draws = Draws::new(SEED, 0, 1);
    let drawn: Vec<_> = (0..10_000).map(|_| draws.draw(&records)).collect();
    let shapes: Vec<RecordShape> = drawn.iter().map(|drawn| records.shape_of(drawn.pick)).collect();
    let nulls = shapes.iter().filter(|shape| shape.value_bytes == 0).count();
    assert!(nulls.abs_diff(3_000) < 250, "{nulls}");
    assert!(shapes.iter().all(|shape| shape.key_bytes == 4));
    assert!(drawn.iter().all(|drawn| drawn.partition.is_some()));
}

/// Given values may end with anything, also with a trailer: what is in the header is ours.
#[test]
fn a_trailer_in_a_header_wins_over_the_end_of_the_value() {
    let trailer = |wall_ns| *Trailer::new(RUN_ID, 1, 2).stamp(3, wall_ns);
    let read = |value: &[u8], headers: &[(&str, &[u8])]| {
        let headers = records::encode_headers(headers.iter().copied());
        let mut body = Vec::new();
        kdyno_kafka::records::begin_record(&mut body, 0, 0, None, (Some(value.len()), headers.len()));
        body.extend_from_slice(value);
        body.extend_from_slice(&headers);
        let sum = BodySum { bytes: body.len(), crc: crc32c::crc32c(&body), shift: CrcShift::new(body.len()) };
        let sealed = Sealed {
            body_bytes: body.len() as u64,
            body: body.into(),
            sum,
            compression: Compression::None,
            base_timestamp_ms: 0,
            max_timestamp_ms: 0,
        };
        open(&sealed, 1)[0].intended_wall_ns[0]
    };
    let (in_value, in_header) = (trailer(5), trailer(7));
    assert_eq!(read(&in_value, &[]), Some(5));
    assert_eq!(read(&in_value, &[("own", b"x")]), Some(5));
    assert_eq!(read(&in_value, &[("own", b"x"), (TRAILER_HEADER, &in_header)]), Some(7));
    assert_eq!(read(b"", &[(TRAILER_HEADER, &in_header)]), Some(7));
    assert_eq!(read(&in_value, &[(TRAILER_HEADER, b"short")]), None, "it is nobody's trailer");
    assert_eq!((read(&in_value[1..], &[]), read(b"", &[])), (None, None));
}
