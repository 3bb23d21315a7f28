//! The lines of both tools, as a public Ansible collection takes them out of its logs (github.com/osodevops/kafka-performance-testing,
//! scripts/parse_perf_logs.py at 718afe9): there by regular expressions, which are rewritten here. It looks for the
//! last line that is either a total or a line of progress: quantiles are whole milliseconds, and where they do not
//! match nothing is said of them. For a consumer it takes the first row with two moments.

use kdyno_perf_test::consumer::{Consumed, IntervalRows};
use kdyno_perf_test::producer::{LineTotals, QuantileLatencies, progress, total};
use regex_lite::{Captures, Regex};

const PRODUCER: &str = concat!(
    r"(\d+)\s+records sent,\s+([\d.]+)\s+records/sec\s+\(([\d.]+)\s+MB/sec\),\s+",
    r"([\d.]+)\s+ms avg latency,\s+([\d.]+)\s+ms max latency",
    r"(?:,\s+(\d+)\s+ms 50th)?(?:,\s+(\d+)\s+ms 95th)?(?:,\s+(\d+)\s+ms 99th)?(?:,\s+(\d+)\s+ms 99\.9th)?",
);
const CONSUMER: &str = concat!(
    r"(\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d:\d{3}),\s*(\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d:\d{3}),\s*",
    r"([\d.]+),\s*([\d.]+),\s*(\d+),\s*([\d.]+),\s*(\d+),\s*(\d+),\s*([\d.]+),\s*([\d.]+)",
);

/// The numbers that were found, without those that a line does not have.
fn numbers(found: &Captures<'_>, from: usize) -> Vec<f64> {
    let groups = (from..found.len()).filter_map(|group| found.get(group));
    groups.map(|text| text.as_str().parse().expect("a number")).collect()
}

#[test]
fn a_producers_total_is_found_behind_its_lines_of_progress() {
    let run = LineTotals {
        records: 1_000_000,
        value_bytes: 1_024_000_000,
        elapsed_ns: 8_001_000_000,
        latency_sum_ns: 2_375_000_000_000,
        latency_ns_max: 412_345_678,
    };
    let at = QuantileLatencies { quantiles: [1_499_999, 6_500_000, 31_400_000, 250_600_000] };
    let lines = [progress(&run), total(&run, &at, false)].join("\n");
    let producer = Regex::new(PRODUCER).expect("an expression");
    let found: Vec<Vec<f64>> = producer.captures_iter(&lines).map(|found| numbers(&found, 1)).collect();
    let of_progress = vec![1e6, 124_984.4, 122.06, 2.4, 412.3];
    assert_eq!(found, [of_progress, vec![1e6, 124_984.376_953, 122.06, 2.38, 412.35, 1.0, 7.0, 31.0, 251.0]]);
    // Its words are between number and `records sent`: of two totals the one of the whole run is found.
    assert!(producer.captures(&total(&run, &at, true)).is_none());
}

#[test]
fn a_consumers_row_is_found_behind_the_names_of_its_columns() {
    let run = Consumed { start_ms: 0, end_ms: 4_000, bytes: 10 << 20, records: 1_234, rebalance_ms: 3_000 };
    let moment = |ms: i64| format!("2026-11-25 04:00:{:02}:{:03}", ms / 1000, ms % 1000);
    let lines = format!("start.time, end.time, data.consumed.in.MB, MB.sec\n{}\n", run.row(moment));
    let consumer = Regex::new(CONSUMER).expect("an expression");
    let found = consumer.captures(&lines).expect("the row");
    assert_eq!((&found[1], &found[2]), ("2026-11-25 04:00:00:000", "2026-11-25 04:00:04:000"));
    assert_eq!(numbers(&found, 3), [10.0, 2.5, 1_234.0, 308.5, 3_000.0, 1_000.0, 10.0, 1_234.0]);
    // A row of an interval has one moment.
    let mut intervals = IntervalRows::new(1_000);
    let row = intervals.row(2_000, (1 << 20, 10), 0, || moment(2_000)).expect("a row");
    assert!(consumer.captures(&row).is_none());
}
