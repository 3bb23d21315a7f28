//! The lines that the tool prints: names of columns, one row at the end or one per interval.
//!
//! MB are MiB of keys and values. Divisions are Java's: by no time at all they give `NaN` or `Infinity`.

use crate::java_format::fixed;

const BYTES_PER_MB: f64 = 1_048_576.0;

/// The names of the columns, without a line end.
pub fn header(shows_intervals: bool) -> &'static str {
    if shows_intervals {
        "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, \
         fetch.MB.sec, fetch.nMsg.sec"
    } else {
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
         fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    }
}

/// The message where fewer records came than requested, without a line end.
pub fn timeout_warning(timeout_ms: i64) -> String {
    format!(
        "WARNING: Exiting before consuming the expected number of records: timeout ({timeout_ms} ms) exceeded. You can use \
         the --timeout option to increase the timeout."
    )
}

/// A whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumed {
    /// When it began to connect, ms since 1970.
    pub start_ms: i64,
    /// When it stopped, ms since 1970.
    pub end_ms: i64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// For how long it had no partitions, ms.
    pub rebalance_ms: i64,
}

impl Consumed {
    /// The row; `time` puts a moment into words.
    pub fn row(&self, time: impl Fn(i64) -> String) -> String {
        let elapsed_ms = self.end_ms - self.start_ms;
        let elapsed_s = elapsed_ms as f64 / 1000.0;
        let fetch_ms = elapsed_ms - self.rebalance_ms;
        let fetch_s = fetch_ms as f64 / 1000.0;
        let (mb, records) = (self.bytes as f64 / BYTES_PER_MB, self.records as f64);
        format!(
            "{}, {}, {}, {}, {}, {}, {}, {fetch_ms}, {}, {}",
            time(self.start_ms),
            time(self.end_ms),
            fixed(mb, 4),
            fixed(mb / elapsed_s, 4),
            self.records,
            fixed(records / elapsed_s, 4),
            self.rebalance_ms,
            fixed(mb / fetch_s, 4),
            fixed(records / fetch_s, 4),
        )
    }
}

/// Rows of intervals, from sums that come second by second.
#[derive(Debug, Clone)]
pub struct IntervalRows {
    interval_ms: u64,
    /// Since the start, ms, and what had come by then: where the last row ended.
    last: (u64, ConsumedSums),
}

/// What had come by an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ConsumedSums {
    bytes: u64,
    records: u64,
    rebalance_ms: u64,
}

impl IntervalRows {
    /// None is over yet.
    pub fn new(interval_ms: u64) -> Self {
        Self { interval_ms, last: (0, ConsumedSums::default()) }
    }

    /// So many bytes and records came until `since_start_ms`, which is later than what was said before, and so long was
    /// without partitions, ms. A row, if the interval is over and records came in it, as the tool prints one with a record
    /// alone; `time` puts that moment into words.
    pub fn row(
        &mut self,
        since_start_ms: u64,
        (bytes, records): (u64, u64),
        rebalance_ms: u64,
        time: impl Fn() -> String,
    ) -> Option<String> {
        let (last_ms, last) = self.last;
        let elapsed_ms = since_start_ms.checked_sub(last_ms)?;
        if elapsed_ms < self.interval_ms || records <= last.records {
            return None;
        }
        self.last = (since_start_ms, ConsumedSums { bytes, records, rebalance_ms });
        let mb = bytes.saturating_sub(last.bytes) as f64 / BYTES_PER_MB;
        let new = (records - last.records) as f64;
        let joined_ms = rebalance_ms.saturating_sub(last.rebalance_ms);
        let fetch_ms = elapsed_ms.cast_signed() - joined_ms.cast_signed();
        let per_s = |amount: f64, ms: f64| fixed(1000.0 * amount / ms, 4);
        let fetched =
            |amount: f64| if fetch_ms <= 0 { fixed(0.0, 4) } else { per_s(amount, fetch_ms as f64) };
        Some(format!(
            "{}, 0, {}, {}, {records}, {}, {joined_ms}, {fetch_ms}, {}, {}",
            time(),
            fixed(bytes as f64 / BYTES_PER_MB, 4),
            per_s(mb, elapsed_ms as f64),
            per_s(new, elapsed_ms as f64),
            fetched(mb),
            fetched(new),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(ms: i64) -> String {
        format!("@{ms}")
    }

    #[test]
    fn the_row_at_the_end_has_the_tools_columns() {
        let run =
            Consumed { start_ms: 1_000, end_ms: 5_000, bytes: 10 * MIB, records: 1_234, rebalance_ms: 3_000 };
        let row = run.row(at);
        assert_eq!(row, "@1000, @5000, 10.0000, 2.5000, 1234, 308.5000, 3000, 1000, 10.0000, 1234.0000");
        assert_eq!(row.split(", ").count(), header(false).split(", ").count());
        let nothing = Consumed { end_ms: 1_000, bytes: 0, records: 0, rebalance_ms: 0, ..run };
        assert_eq!(nothing.row(at), "@1000, @1000, 0.0000, NaN, 0, NaN, 0, 0, NaN, NaN");
        let at_once = Consumed { end_ms: 1_000, rebalance_ms: 0, ..run };
        assert_eq!(
            at_once.row(at),
            "@1000, @1000, 10.0000, Infinity, 1234, Infinity, 0, 0, Infinity, Infinity"
        );
    }

    #[test]
    fn interval_rows_have_sums_next_to_rates_of_the_interval() {
        let mut rows = IntervalRows::new(2_000);
        let mut row = |ms: u64, mib: u64, records, rebalance_ms| {
            rows.row(ms, (mib * MIB, records), rebalance_ms, || at(ms.cast_signed()))
        };
        assert_eq!(row(1_000, 0, 0, 500), None);
        let first = row(2_000, 3, 100, 500).expect("the interval is over");
        assert_eq!(first, "@2000, 0, 3.0000, 1.5000, 100, 50.0000, 500, 1500, 2.0000, 66.6667");
        assert_eq!(first.split(", ").count(), header(true).split(", ").count());
        assert_eq!(
            (row(3_000, 4, 150, 500), row(4_000, 3, 100, 500)),
            (None, None),
            "no record in the interval"
        );
        let second = row(5_000, 9, 400, 500).expect("one came");
        assert_eq!(second, "@5000, 0, 9.0000, 2.0000, 400, 100.0000, 0, 3000, 2.0000, 100.0000");
        let joining = row(7_000, 10, 401, 2_500).expect("a row");
        assert_eq!(joining, "@7000, 0, 10.0000, 0.5000, 401, 0.5000, 2000, 0, 0.0000, 0.0000");
    }

    #[test]
    fn the_warning_names_the_flag() {
        assert!(timeout_warning(10_000).contains("expected number of records: timeout (10000 ms) exceeded."));
    }
}
