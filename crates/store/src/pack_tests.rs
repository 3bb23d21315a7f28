//! Packed values come back as they were, and what no packed value is does not.

use super::*;

fn back(totals: &StreamTotals) -> StreamTotals {
    unpack_totals(totals.id, &pack_totals(totals).unwrap()).unwrap()
}

#[test]
fn every_count_comes_back() {
    let mut counts = Counts { failed: BTreeMap::from([("TIMED_OUT".to_owned(), 7)]), ..Counts::default() };
    assert_eq!(back(&StreamTotals { counts: counts.clone(), ..StreamTotals::default() }).counts, counts);
    for (place, number) in counts.numbers_mut().into_iter().zip(1..) {
        *place = number;
    }
    for instants in [(None, None), (Some(0), Some(0)), (Some(3_000_000_007), Some(3_999_999_999))] {
        (counts.first_acknowledged_ns, counts.last_acknowledged_ns) = instants;
        counts.lag_records = instants.0;
        let totals = StreamTotals { counts: counts.clone(), ..StreamTotals::default() };
        assert_eq!(back(&totals), totals);
    }
}

/// A count that is added comes after the others.
#[test]
fn fewer_numbers_are_read_and_more_are_damage() {
    let of = |numbers: Vec<u64>| {
        let counts = PackedCounts { numbers, ..PackedCounts::of(&Counts::default()) };
        let totals = PackedTotals {
            counts,
            clients: Vec::new(),
            steady: None,
            caught_up: None,
            partitions: Vec::new(),
        };
        unpack_totals(StreamId::default(), &pack(&totals).unwrap())
    };
    assert_eq!(of(vec![7]).unwrap().counts, Counts { acknowledged: 7, ..Counts::default() });
    assert!(of(vec![0; Counts::NUMBERS]).is_ok());
    assert!(matches!(of(vec![0; Counts::NUMBERS + 1]), Err(PackError::Length)));
    let whole = pack_totals(&StreamTotals::default()).unwrap();
    let mut longer = open(&whole).unwrap().into_owned();
    longer.push(1);
    assert!(unpack_totals(StreamId::default(), &seal(&longer).unwrap()).is_err());
}

#[test]
fn what_clients_did_comes_back() {
    let steady =
        SteadyTotals { records: 1, value_bytes: 2, span_ns: 3, service: vec![4, 5], service_sum_ns: 6 };
    let member = MemberTotals { measured_records: 1, partitions: 2, rebalances: 3, losses: 4 };
    let client = |began_ns, member| ClientTotals { records: 5, began_ns, span_ns: 6, member };
    let clients = vec![client(None, None), client(Some(0), Some(member)), client(Some(7), None)];
    let caught_up = Some(CaughtUp { at_ns: 7, records: 8 });
    let partitions = vec![PartitionTotals { records: 9, bytes: 10 }, PartitionTotals::default()];
    for (steady, caught_up, partitions) in [(None, None, Vec::new()), (Some(steady), caught_up, partitions)] {
        let clients = clients.clone();
        let totals = StreamTotals { clients, steady, caught_up, partitions, ..StreamTotals::default() };
        assert_eq!(back(&totals), totals);
    }
}

/// A subject's name is once in a blob, and would be in memory with each of its readings.
#[test]
fn readings_of_a_long_name_are_refused_before_they_are_made() {
    let subject = Subject::Group("g".repeat(100_000));
    let values = vec![(String::new(), 0.0); 100_000];
    let blob = pack(&[PackedReadings { at_ns: 0, subject, values }].as_slice()).expect("packed");
    assert!(blob.len() < 10_000, "a small blob");
    let error = unpack_readings(&blob).expect_err("ten gigabytes").to_string();
    assert!(error.contains("its readings take 10"), "{error}");
}
