//! What follows a packed value.

use super::*;

/// Rows of files that were written before these counts came, and rows without them, are the same bytes.
#[test]
fn later_columns_are_appended_and_only_where_there_are_some() {
    let counts = Counts { offered: 7, retried_records: 3, ..Counts::default() };
    let totals = |counts: Counts| StreamTotals { counts, ..StreamTotals::default() };
    let before = pack(&PackedTotals { counts: counts_in(&counts).0, clients: Vec::new() }).unwrap();
    assert_eq!(pack_totals(&totals(counts.clone())).unwrap(), before);
    assert_eq!(unpack_totals(StreamId::default(), &before).unwrap(), totals(counts.clone()));
    let later = Counts {
        committed: 1,
        aborted: 2,
        markers: 3,
        markers_unsure: 4,
        record_bytes: 5,
        sent_bytes: 6,
        header_trailers: 7,
        aborted_records: 8,
        control_records: 9,
        missing_offsets: 10,
        ..counts.clone()
    };
    let blob = pack_totals(&totals(later.clone())).unwrap();
    assert_ne!(blob, before);
    assert_eq!(unpack_totals(StreamId::default(), &blob).unwrap(), totals(later.clone()));
    let latest = |end_to_end, duplicates| Counts { end_to_end, duplicates, ..later.clone() };
    let newest = Counts { handed_over_bytes: 13, unassigned_ns: 14, ..latest(11, 12) };
    let in_flight = Counts { in_flight_ns: 15, buffered_ns: 16, ..counts.clone() };
    let instants =
        |first, last| Counts { first_acknowledged_ns: first, last_acknowledged_ns: last, ..newest.clone() };
    let instants = [instants(Some(0), Some(0)), instants(Some(3_000_000_007), Some(3_999_999_999))];
    let others = [
        latest(11, 12),
        latest(0, 12),
        Counts { rebalances: 11, ..counts.clone() },
        newest.clone(),
        in_flight,
    ];
    for counts in others.into_iter().chain(instants) {
        let blob = pack_totals(&totals(counts.clone())).unwrap();
        assert_eq!(unpack_totals(StreamId::default(), &blob).unwrap(), totals(counts));
    }
    let steady =
        SteadyTotals { records: 1, value_bytes: 2, span_ns: 3, service: vec![4, 5], service_sum_ns: 6 };
    for (losses, steady) in [(0, None), (4, None), (4, Some(steady.clone()))] {
        let member = MemberTotals { measured_records: 1, partitions: 2, rebalances: 3, losses };
        let client = |member| ClientTotals { records: 5, began_ns: None, span_ns: 6, member };
        let clients = vec![client(None), client(Some(member))];
        let of_group = StreamTotals { clients, steady, ..totals(counts.clone()) };
        let packed = pack_totals(&of_group).unwrap();
        assert_eq!(unpack_totals(StreamId::default(), &packed).unwrap(), of_group);
    }
    let of_tool = StreamTotals { steady: Some(steady), ..totals(later.clone()) };
    let packed = pack_totals(&of_tool).unwrap();
    assert_eq!(unpack_totals(StreamId::default(), &packed).unwrap(), of_tool);
    let begun = |began_ns| ClientTotals { records: 5, began_ns, span_ns: 6, member: None };
    for clients in [vec![begun(Some(0)), begun(Some(7))], vec![begun(None), begun(Some(7))]] {
        let of_clients = StreamTotals { clients, ..totals(counts.clone()) };
        let packed = pack_totals(&of_clients).unwrap();
        assert_eq!(unpack_totals(StreamId::default(), &packed).unwrap(), of_clients);
    }
    let of_reader =
        StreamTotals { caught_up: Some(CaughtUp { at_ns: 7, records: 8 }), ..totals(later.clone()) };
    let packed = pack_totals(&of_reader).unwrap();
    assert_eq!(unpack_totals(StreamId::default(), &packed).unwrap(), of_reader);
    let partitions = vec![PartitionTotals { records: 9, bytes: 10 }, PartitionTotals::default()];
    let of_writer = StreamTotals { partitions, ..totals(counts.clone()) };
    let packed = pack_totals(&of_writer).unwrap();
    assert_eq!(unpack_totals(StreamId::default(), &packed).unwrap(), of_writer);
    // What was not written is no later part.
    let mut longer = open(&blob).unwrap().into_owned();
    longer.push(1);
    assert!(unpack_totals(StreamId::default(), &seal(&longer).unwrap()).is_err());
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
