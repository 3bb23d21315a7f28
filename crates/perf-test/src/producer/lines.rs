//! The lines of standard output. Rates are of records and of mebibytes of values alone, latencies milliseconds.

use crate::java_format::fixed;

/// Said once, before the first line of progress of the steady state.
pub const STEADY_STATE: &str = "In steady state.";

const MIB: f64 = 1_048_576.0;

/// What a line sums up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineTotals {
    /// Records acknowledged.
    pub records: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// The time that they took, ns.
    pub elapsed_ns: u64,
    /// Sum of their latencies, ns.
    pub latency_sum_ns: u128,
    /// The highest of these, ns.
    pub latency_ns_max: u64,
}

/// Latencies at the quantiles that totals have, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuantileLatencies {
    /// Median, 95th, 99th and 99.9th percentile.
    pub quantiles: [u64; 4],
}

impl QuantileLatencies {
    /// The shares of records that the quantiles leave below.
    pub const SHARES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

    /// Which of so many records, in the order of their latencies, the tool takes for a quantile; from 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn rank(share: f64, records: u64) -> u64 {
        // A share of a number of records: truncation is what the tool does.
        ((share * records as f64) as u64).min(records.saturating_sub(1))
    }
}

impl LineTotals {
    fn per_s(&self, amount: f64) -> f64 {
        // Where nothing took any time there is nothing to divide.
        if self.elapsed_ns == 0 { 0.0 } else { amount / (self.elapsed_ns as f64 / 1e9) }
    }

    fn records_per_s(&self) -> f64 {
        self.per_s(self.records as f64)
    }

    fn mib_per_s(&self) -> f64 {
        self.per_s(self.value_bytes as f64) / MIB
    }

    /// Without records there is none.
    fn mean_ms(&self) -> f64 {
        self.latency_sum_ns as f64 / 1e6 / self.records as f64
    }

    fn max_ms(&self) -> f64 {
        self.latency_ns_max as f64 / 1e6
    }
}

/// A line of progress.
pub fn progress(of: &LineTotals) -> String {
    format!(
        "{} records sent, {} records/sec ({} MB/sec), {} ms avg latency, {} ms max latency.",
        of.records,
        fixed(of.records_per_s(), 1),
        fixed(of.mib_per_s(), 2),
        fixed(of.mean_ms(), 1),
        fixed(of.max_ms(), 1)
    )
}

/// The line of the whole run, or of its steady state.
pub fn total(of: &LineTotals, latencies: &QuantileLatencies, is_steady: bool) -> String {
    let [p50, p95, p99, p999] = latencies.quantiles.map(|ns| fixed(ns as f64 / 1e6, 0));
    format!(
        "{}{} records sent, {} records/sec ({} MB/sec), {} ms avg latency, {} ms max latency, {p50} ms 50th, {p95} ms 95th, \
         {p99} ms 99th, {p999} ms 99.9th.",
        of.records,
        if is_steady { " steady state" } else { "" },
        fixed(of.records_per_s(), 6),
        fixed(of.mib_per_s(), 2),
        fixed(of.mean_ms(), 2),
        fixed(of.max_ms(), 2),
    )
}

/// That the first records are not in the second total.
pub fn warmup(records: u64) -> String {
    format!(
        "Warmup first {records} records. Steady state results will print after the complete test summary."
    )
}

/// Where payloads are read from.
pub fn reading(path: &str) -> String {
    format!("Reading payloads from: {path}")
}

/// How many there are.
pub fn records_read(count: usize) -> String {
    format!("Number of records read: {count}")
}

/// That a flag has another name now.
pub fn deprecated(flag: &str, instead: &str) -> String {
    format!(
        "Option {flag} has been deprecated and will be removed in a future version. Use {instead} instead."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: LineTotals = LineTotals {
        records: 1_000_000,
        value_bytes: 1_024_000_000,
        elapsed_ns: 8_001_000_000,
        latency_sum_ns: 2_375_000_000_000,
        latency_ns_max: 412_345_678,
    };
    const AT: QuantileLatencies =
        QuantileLatencies { quantiles: [1_499_999, 6_500_000, 31_400_000, 250_600_000] };

    #[test]
    fn lines_are_those_of_the_tool() {
        assert_eq!(
            progress(&RUN),
            "1000000 records sent, 124984.4 records/sec (122.06 MB/sec), 2.4 ms avg latency, 412.3 ms max latency."
        );
        assert_eq!(
            total(&RUN, &AT, false),
            "1000000 records sent, 124984.376953 records/sec (122.06 MB/sec), 2.38 ms avg latency, 412.35 ms max latency, \
             1 ms 50th, 7 ms 95th, 31 ms 99th, 251 ms 99.9th."
        );
        assert!(
            total(&RUN, &AT, true).starts_with("1000000 steady state records sent, 124984.376953 records")
        );
        assert_eq!(
            total(&LineTotals::default(), &QuantileLatencies::default(), false),
            "0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max latency, 0 ms 50th, 0 ms \
             95th, 0 ms 99th, 0 ms 99.9th."
        );
        assert_eq!(
            [warmup(3_000_000), records_read(12), reading("/data/p.txt")],
            [
                "Warmup first 3000000 records. Steady state results will print after the complete test summary.",
                "Number of records read: 12",
                "Reading payloads from: /data/p.txt",
            ]
        );
        assert_eq!(
            deprecated("--producer-props", "--command-property"),
            "Option --producer-props has been deprecated and will be removed in a future version. Use --command-property \
             instead."
        );
    }

    /// ducktape's service takes a line apart at its commas, and each part at its blanks.
    #[test]
    fn kafkas_own_tests_can_read_the_total() {
        let line = total(&RUN, &AT, false);
        let parts: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let first = |part: &str| number(part.split(' ').next().expect("a word"));
        assert_eq!(parts.len(), 8);
        assert_eq!(first(parts[0]), 1e6);
        let rate: Vec<&str> = parts[1].split(' ').collect();
        assert!((number(rate[0]) - 124_984.376_953).abs() < 1e-9 && rate[1] == "records/sec");
        assert_eq!(number(rate[2].trim_start_matches('(')), 122.06);
        let latencies: Vec<f64> = parts[2..].iter().map(|part| first(part)).collect();
        assert_eq!(latencies, [2.38, 412.35, 1.0, 7.0, 31.0, 251.0]);
    }

    /// As `(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency, ([\d.]+) ms max latency`,
    /// by which a public sizing tool reads it.
    #[test]
    fn a_regular_expression_can_read_the_total() {
        let line = total(&RUN, &AT, false);
        let mut rest = line.as_str();
        let between =
            ["", " records sent, ", " records/sec (", " MB/sec), ", " ms avg latency, ", " ms max latency"];
        let mut numbers = Vec::new();
        for pair in between.windows(2) {
            let (number, behind) =
                rest.strip_prefix(pair[0]).expect(pair[0]).split_once(pair[1]).expect(pair[1]);
            assert!(number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'), "{number}");
            numbers.push(number);
            rest = &line[line.len() - behind.len() - pair[1].len()..];
        }
        assert_eq!(numbers, ["1000000", "124984.376953", "122.06", "2.38", "412.35"]);
    }

    #[test]
    fn quantiles_are_of_the_tools_ranks() {
        assert_eq!(
            QuantileLatencies::SHARES.map(|share| QuantileLatencies::rank(share, 1_000)),
            [500, 950, 990, 999]
        );
        assert_eq!((QuantileLatencies::rank(0.999, 1), QuantileLatencies::rank(0.5, 0)), (0, 0));
    }
}
