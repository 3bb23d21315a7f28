//! The reader of logs and groups: what it takes, what it is refused, by which names.

use super::*;
use kdyno_kafka_server::null_broker::{NullBrokerOptions, serve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn reader(address: String) -> LogsReader {
    LogsReader::new(WatchedLogs {
        access: Access::plaintext(vec![address]),
        prefix: "kdyno-".to_owned(),
        topics: BTreeMap::from([("perf".to_owned(), "kdyno-1-perf-1".to_owned())]),
        groups: BTreeMap::from([("kdyno-1-g-1".to_owned(), "g".to_owned())]),
        named: vec!["billing".to_owned()],
    })
}

fn read(reader: &mut LogsReader) -> (Vec<ProbeReading>, Vec<String>) {
    match reader.read(0) {
        Heard::Logs(readings, unread) => (readings, unread.into_iter().map(|one| one.why).collect()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_broker_without_sizes_and_groups_warns_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let broker = std::thread::spawn(move || serve(listener, NullBrokerOptions::default(), stopped));
    let mut reader = reader(address);
    let (readings, unread) = read(&mut reader);
    let reported: Vec<(&str, f64)> = readings.iter().map(|one| (one.series.as_str(), one.value)).collect();
    assert_eq!(reported, [(series::UNDER_REPLICATED_PARTITIONS, 0.0), (series::IN_SYNC_REPLICAS_LEAST, 1.0)]);
    assert_eq!(readings[0].subject, Subject::Topic("perf".to_owned()));
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread[0].starts_with("sizes of logs cannot be read: ") && unread[0].contains("DescribeLogDirs"));
    assert!(unread[1].starts_with("the lag of groups cannot be read: ") && unread[1].contains("ListGroups"));
    let (again, unread) = read(&mut reader);
    assert_eq!((again.len(), unread), (2, Vec::new()), "told once, read again");
    stop.store(true, Ordering::Relaxed);
    broker.join().expect("no panic").expect("a broker that serves");
}

#[test]
fn a_cluster_that_does_not_answer_is_nothing_read() {
    let (readings, unread) = read(&mut reader("no address".to_owned()));
    assert!(readings.is_empty() && unread.is_empty(), "{readings:?} {unread:?}");
}

#[test]
fn groups_are_read_by_name_and_a_refusal_is_reported_once() {
    let mut reader = reader("no address".to_owned());
    let partition = ("kdyno-1-perf-1".to_owned(), 0);
    reader.ends.take(0, BTreeMap::from([(partition.clone(), 10)]));
    reader.ends.take(10_000_000_000, BTreeMap::from([(partition.clone(), 110)]));
    let mut look =
        LogsLook { t0_ns: 0, at_ns: 7, begun: Instant::now(), readings: Vec::new(), unread: Vec::new() };
    let reported = |group: &str, error, offset: Option<i64>| Committed {
        group: group.to_owned(),
        error,
        offsets: offset.map(|offset| (partition.clone(), offset)).into_iter().collect(),
    };
    reader.lag_of(&reported("kdyno-1-g-1", ErrorCode::NONE, Some(60)), &mut look);
    reader.lag_of(&reported("some\none", ErrorCode::NONE, Some(3)), &mut look);
    // Its name is the same once what cannot be printed is left out, in each look.
    reader.lag_of(&reported("some\tone", ErrorCode::NONE, Some(110)), &mut look);
    reader.lag_of(&reported("some\none", ErrorCode::NONE, Some(13)), &mut look);
    reader.lag_of(&reported("elsewhere", ErrorCode::NONE, None), &mut look);
    // What one partition reports is not the lag of all.
    reader.lag_of(&reported("secret", ErrorCode::GROUP_AUTHORIZATION_FAILED, Some(3)), &mut look);
    reader.lag_of(&reported("secret", ErrorCode::GROUP_AUTHORIZATION_FAILED, None), &mut look);
    let rows = look.readings.iter().map(|one| (one.subject.to_string(), one.series.as_str(), one.value));
    let rows: Vec<(String, &str, f64)> = rows.collect();
    let row = |group: &str, series, value| (format!("group:{group}"), series, value);
    assert_eq!(
        rows,
        [
            row("g", series::COMMITTED_LAG_RECORDS, 50.0),
            row("g", series::COMMITTED_LAG_S, 5.0),
            row("some one", series::COMMITTED_LAG_RECORDS, 107.0),
            row("some one", series::COMMITTED_LAG_S_AT_LEAST, 10.0),
            row("some one (2)", series::COMMITTED_LAG_RECORDS, 0.0),
            row("some one (2)", series::COMMITTED_LAG_S, 0.0),
            row("some one", series::COMMITTED_LAG_RECORDS, 97.0),
            row("some one", series::COMMITTED_LAG_S, 9.7),
        ]
    );
    let unread: Vec<&str> = look.unread.iter().map(|one| one.why.as_str()).collect();
    let why =
        "the lag of group secret cannot be read: its coordinator answers with GROUP_AUTHORIZATION_FAILED";
    assert_eq!(unread.len(), 1);
    assert!(unread[0].starts_with(why), "{unread:?}");
}

#[test]
fn a_named_group_lags_over_its_own_topics() {
    let mut reader = reader("no address".to_owned());
    let partition = ("bills".to_owned(), 0);
    reader.named_ends.take(0, BTreeMap::from([(partition.clone(), 10)]));
    let mut look =
        LogsLook { t0_ns: 0, at_ns: 7, begun: Instant::now(), readings: Vec::new(), unread: Vec::new() };
    let of = |group: &str| Committed {
        group: group.to_owned(),
        error: ErrorCode::NONE,
        offsets: BTreeMap::from([(partition.clone(), 4)]),
    };
    reader.lag_of(&of("billing"), &mut look);
    reader.lag_of(&of("another"), &mut look);
    let rows: Vec<(String, f64)> =
        look.readings.iter().map(|one| (one.subject.to_string(), one.value)).take(1).collect();
    assert_eq!(rows, [("group:billing".to_owned(), 6.0)]);
    assert!(look.readings.iter().all(|one| one.subject == Subject::Group("billing".to_owned())));
}
