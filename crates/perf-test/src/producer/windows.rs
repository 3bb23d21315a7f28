//! From what was acknowledged second by second to lines of progress.

use super::lines::{LineTotals, STEADY_STATE, progress};

/// What was acknowledged in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowSecond {
    /// Records, their bytes and latencies; the time is that of the second.
    pub acknowledged: LineTotals,
    /// Records that the client accepted in it.
    pub accepted: u64,
}

/// The lines of progress of a run, as its seconds end.
#[derive(Debug)]
pub struct Windows {
    /// Shortest window, seconds.
    length: u64,
    /// Records before the steady state that have not been accepted yet; none: there is no steady state.
    warmup_left: Option<u64>,
    has_reported: bool,
    /// What has been acknowledged since the last line, and in how many seconds.
    open: LineTotals,
    seconds: u64,
}

const NS_PER_S: u64 = 1_000_000_000;

impl Windows {
    /// Windows of a reporting interval, which becomes whole seconds: these are what is known. `warmup_records`: those
    /// before the steady state, 0 where there is none.
    pub fn new(interval_ms: u64, warmup_records: u64) -> Self {
        Self {
            length: interval_ms.div_ceil(1_000).max(1),
            warmup_left: (warmup_records > 0).then_some(warmup_records),
            has_reported: false,
            open: LineTotals::default(),
            seconds: 0,
        }
    }

    /// A second is over, the next one after that before; returns the lines to print.
    ///
    /// A window ends with the first second after its interval in which something was acknowledged. With the second in which
    /// the last record before the steady state was accepted a window ends without a line.
    pub fn add(&mut self, second: &WindowSecond) -> Vec<String> {
        let more = &second.acknowledged;
        self.seconds += 1;
        self.open.records += more.records;
        self.open.value_bytes += more.value_bytes;
        self.open.latency_sum_ns += more.latency_sum_ns;
        self.open.latency_ns_max = self.open.latency_ns_max.max(more.latency_ns_max);
        if let Some(left) = self.warmup_left.as_mut().filter(|left| **left > 0) {
            *left = left.saturating_sub(second.accepted);
            if *left == 0 {
                self.begin();
                return Vec::new();
            }
        }
        if self.seconds < self.length || more.records == 0 {
            return Vec::new();
        }
        self.open.elapsed_ns = self.seconds * NS_PER_S;
        let line = progress(&self.open);
        self.begin();
        let is_first = self.warmup_left == Some(0) && !std::mem::replace(&mut self.has_reported, true);
        is_first.then(|| STEADY_STATE.to_owned()).into_iter().chain([line]).collect()
    }

    fn begin(&mut self) {
        (self.open, self.seconds) = (LineTotals::default(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(records: u64, latency_ms: u64) -> WindowSecond {
        let latency_ns = latency_ms * 1_000_000;
        let acknowledged = LineTotals {
            records,
            value_bytes: records << 10,
            elapsed_ns: 0,
            latency_sum_ns: u128::from(records * latency_ns),
            latency_ns_max: if records > 0 { latency_ns } else { 0 },
        };
        WindowSecond { acknowledged, accepted: records }
    }

    fn lines(windows: &mut Windows, seconds: &[(u64, u64)]) -> Vec<String> {
        seconds.iter().flat_map(|(records, latency_ms)| windows.add(&second(*records, *latency_ms))).collect()
    }

    #[test]
    fn a_window_is_as_long_as_the_interval_at_least() {
        let mut windows = Windows::new(2_000, 0);
        let reported =
            lines(&mut windows, &[(1_024, 3), (3_072, 5), (10, 1), (0, 0), (0, 0), (6, 1), (7, 7)]);
        assert_eq!(
            reported,
            [
                "4096 records sent, 2048.0 records/sec (2.00 MB/sec), 4.5 ms avg latency, 5.0 ms max latency.",
                "16 records sent, 4.0 records/sec (0.00 MB/sec), 1.0 ms avg latency, 1.0 ms max latency.",
            ],
            "a window without an acknowledgement at its end goes on, the last one is not told"
        );
        let mut windows = Windows::new(1, 0);
        assert_eq!(lines(&mut windows, &[(1, 1), (1, 1)]).len(), 2, "whole seconds");
    }

    #[test]
    fn the_steady_state_is_reported_once_and_starts_its_own_window() {
        let mut windows = Windows::new(1_000, 25);
        let reported = lines(&mut windows, &[(10, 1), (10, 1), (10, 1), (10, 2), (10, 2)]);
        let heads: Vec<&str> = reported.iter().map(|line| line.split(',').next().expect("a head")).collect();
        assert_eq!(
            heads,
            ["10 records sent", "10 records sent", STEADY_STATE, "10 records sent", "10 records sent"]
        );
    }
}
