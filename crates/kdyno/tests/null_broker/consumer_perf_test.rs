//! `kdyno consumer-perf-test` without a cluster of Kafka's own: rows of intervals.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use kdyno_fake_broker::tcp::spawn;
use kdyno_fake_broker::{FakeCluster, FakeConfig};

/// A fake cluster keeps what was written and has groups. Fewer records are there than are asked for, so that it reads on when
/// it has them all and each interval in which some came is over.
#[test]
fn rows_of_intervals_take_the_place_of_the_last_one() {
    let place = TestFolder::new();
    let server = spawn(FakeCluster::new(FakeConfig::new(1).topic("t", 1).keep_batches())).expect("a cluster");
    let address = server.bootstrap().remove(0);
    let does = |command: &str, more: &[&str]| -> ProgramOutput {
        let args = [&[command, "--bootstrap-server", &address, "--topic", "t"], more].concat();
        let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(0), "{said:?}");
        said
    };
    does("producer-perf-test", &["--num-records", "2000", "--record-size", "100", "--throughput", "-1"]);
    let intervals = ["--show-detailed-stats", "--reporting-interval", "1000"];
    let said = does(
        "consumer-perf-test",
        &[&["--num-records", "2001", "--timeout", "3000"], &intervals[..]].concat(),
    );
    let lines: Vec<&str> = said.stdout.lines().collect();
    let [head, rows @ .., warning] = lines.as_slice() else { panic!("{said:?}") };
    assert!(head.starts_with("time, threadId, data.consumed.in.MB, "), "{said:?}");
    assert!(warning.starts_with("WARNING: Exiting before consuming the expected number"), "{said:?}");
    assert!(rows.iter().all(|row| row.split(", ").count() == head.split(", ").count()), "{said:?}");
    let read: Vec<u32> = rows.iter().filter_map(|row| row.split(", ").nth(4)?.parse().ok()).collect();
    assert!(read.is_sorted() && read.len() == rows.len() && read.last() == Some(&2_000), "{said:?}");
    place.expect_no_processes();
}
