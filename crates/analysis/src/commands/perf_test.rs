//! Standard output of Kafka's own performance tools: producer, consumer, end-to-end latency.

use super::reported::{CommandTotals, Stated};

/// Reads it.
#[derive(Debug, Default)]
pub(super) struct PerfTestReader {
    /// Records of the lines between, which end with one over all.
    windows: u64,
    /// What was stated of all.
    whole: Option<(u64, Stated)>,
    /// The consumer's header.
    consumer: Option<ConsumerColumns>,
    /// The consumer's last row: records in all, records per second, MiB per second.
    row: Option<(u64, f64, f64)>,
}

/// Places of a consumer's columns.
#[derive(Debug, Clone, Copy)]
struct ConsumerColumns {
    /// Records, records per second, MiB per second.
    places: [usize; 3],
    /// Whether a row is of the whole run; with `--show-detailed-stats` its rates are of the time since the row before.
    is_of_all: bool,
}

impl PerfTestReader {
    pub(super) fn line(&mut self, line: &str, read_unix_ns: i64, reported: &mut CommandTotals) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let is_read = self.producer(line, read_unix_ns, reported)
            || self.consumer(line, read_unix_ns, reported)
            || self.end_to_end(line);
        reported.unparsed += u64::from(!is_read);
    }

    pub(super) fn finish(self, reported: &mut CommandTotals) {
        if let Some((records, stated)) = self.whole {
            // For end-to-end latencies the tool does not say the number of records.
            reported.requests = if records > 0 { records } else { self.windows };
            reported.stated = stated;
        } else if let Some((records, per_s, mib_per_s)) = self.row {
            reported.requests = records;
            if self.consumer.is_some_and(|columns| columns.is_of_all) {
                reported.stated.per_s = Some(per_s);
                reported.stated.mib_per_s = Some(mib_per_s);
            }
        } else {
            // It was cut off before it stated anything of all.
            reported.requests = self.windows;
        }
    }

    /// `N records sent, R records/sec (M MB/sec), A ms avg latency, X ms max latency[, P ms 50th, …].`
    fn producer(&mut self, line: &str, read_unix_ns: i64, reported: &mut CommandTotals) -> bool {
        let Some((records, rest)) = line.split_once(" records sent, ") else { return false };
        let Some(records) = records.parse::<u64>().ok() else { return false };
        let Some((per_s, rest)) = rest.split_once(" records/sec (") else { return false };
        let Some((mib_per_s, rest)) = rest.split_once(" MB/sec), ") else { return false };
        let (Some(per_s), Some(mib_per_s)) = (number(per_s), number(mib_per_s)) else { return false };
        let times = rest.trim_end_matches('.').split(", ");
        let times_s: Vec<(&'static str, f64)> = times.filter_map(time_s).collect();
        let is_whole = times_s.iter().any(|(statistic, _)| *statistic == "p50");
        if is_whole {
            reported.stated_of_ns = interval_ns(records, per_s, read_unix_ns);
            self.whole = Some((records, Stated { per_s: Some(per_s), mib_per_s: Some(mib_per_s), times_s }));
        } else {
            self.windows = self.windows.saturating_add(records);
            reported.count(read_unix_ns, records);
        }
        true
    }

    /// The header, whose columns differ between releases, and the rows under it.
    fn consumer(&mut self, line: &str, read_unix_ns: i64, reported: &mut CommandTotals) -> bool {
        // In some locales of the tool numbers have a comma without a space.
        let fields: Vec<&str> = line.split(", ").map(str::trim).collect();
        let at = |name: &str| fields.iter().position(|field| *field == name);
        if let (Some(records), Some(per_s), Some(mib_per_s)) =
            (at("data.consumed.in.nMsg"), at("nMsg.sec"), at("MB.sec"))
        {
            let is_of_all = at("end.time").is_some();
            self.consumer = Some(ConsumerColumns { places: [records, per_s, mib_per_s], is_of_all });
            return true;
        }
        let Some(ConsumerColumns { places, .. }) = self.consumer else { return false };
        let [Some(records), Some(per_s), Some(mib_per_s)] =
            places.map(|at| fields.get(at).and_then(|field| number(field)))
        else {
            return false;
        };
        let counted = self.windows;
        self.windows = records as u64;
        reported.count(read_unix_ns, self.windows.saturating_sub(counted));
        if self.consumer.is_some_and(|columns| columns.is_of_all) {
            reported.stated_of_ns = interval_ns(self.windows, per_s, read_unix_ns);
        }
        self.row = Some((self.windows, per_s, mib_per_s));
        true
    }

    /// `Avg latency: 1.2 ms`, `Percentiles: 50th = 1, 99th = 3, 99.9th = 9`, and lines of `N\tT` for some of the records.
    fn end_to_end(&mut self, line: &str) -> bool {
        if let Some(average) = line.strip_prefix("Avg latency: ").and_then(|rest| rest.strip_suffix(" ms")) {
            let Some(ms) = number(average) else { return false };
            self.stated_times().push(("mean", ms / 1e3));
            return true;
        }
        if let Some(rest) = line.strip_prefix("Percentiles: ") {
            let each = rest.split(", ").filter_map(|one| {
                let (rank, ms) = one.split_once(" = ")?;
                Some((statistic(rank)?, number(ms)? / 1e3))
            });
            let each: Vec<_> = each.collect();
            self.stated_times().extend(each);
            return true;
        }
        line.split_once('\t').is_some_and(|(at, ms)| at.parse::<u64>().is_ok() && number(ms).is_some())
    }

    fn stated_times(&mut self) -> &mut Vec<(&'static str, f64)> {
        &mut self.whole.get_or_insert_with(|| (0, Stated::default())).1.times_s
    }
}

/// The time that a rate is of, where its line was printed at its end; `None`: not a time.
fn interval_ns(records: u64, per_s: f64, read_unix_ns: i64) -> Option<(i64, i64)> {
    let took_ns = records as f64 / per_s * 1e9;
    // What does not fit is cut off, far from any instant.
    took_ns.is_finite().then(|| (read_unix_ns.saturating_sub(took_ns as i64), read_unix_ns))
}

/// `1.2 ms avg latency`, `3 ms 95th`.
fn time_s(text: &str) -> Option<(&'static str, f64)> {
    let (ms, what) = text.split_once(" ms ")?;
    let statistic = match what {
        "avg latency" => "mean",
        "max latency" => "max",
        rank => statistic(rank)?,
    };
    Some((statistic, number(ms)? / 1e3))
}

fn statistic(rank: &str) -> Option<&'static str> {
    Some(match rank.trim_end_matches('.') {
        "50th" => "p50",
        "95th" => "p95",
        "99th" => "p99",
        "99.9th" => "p99.9",
        _ => return None,
    })
}

/// A number as Java prints it in the locale of the tool.
fn number(text: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".");
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::command::series;

    fn read(lines: &str) -> (CommandTotals, Vec<(String, f64)>) {
        let (mut reader, mut reported) = (PerfTestReader::default(), CommandTotals::default());
        lines.lines().for_each(|line| reader.line(line, 5_000_000_000, &mut reported));
        reader.finish(&mut reported);
        let readings = reported.readings("tool", 0, 0, 10_000_000_000);
        let last = readings.into_iter().filter(|one| one.at_ns == 10_000_000_000);
        let last = last.map(|one| (one.series, one.value)).collect();
        (reported, last)
    }

    fn of(readings: &[(String, f64)], series: &str) -> Option<f64> {
        readings.iter().find(|(name, _)| name == series).map(|(_, value)| *value)
    }

    #[test]
    fn the_producers_last_line_is_of_all() {
        let (reported, readings) = read(
            "24777 records sent, 4955.4 records/sec (4.84 MB/sec), 2.1 ms avg latency, 210.0 ms max latency.\n\
             [2026-01-01 00:00:00,000] WARN something\n\
             50000 records sent, 4990.0 records/sec (4.87 MB/sec), 1.5 ms avg latency, 210.0 ms max latency, 1 ms 50th, 3 ms \
             95th, 9 ms 99th, 100 ms 99.9th.\n",
        );
        assert_eq!((reported.requests, reported.unparsed), (50_000, 1));
        assert_eq!(of(&readings, series::REQUESTS_PER_S), Some(4990.0));
        assert_eq!(of(&readings, series::MIB_PER_S), Some(4.87));
        assert_eq!(of(&readings, "command_response_s.p95"), Some(0.003));
        assert_eq!(of(&readings, "command_response_s.mean"), Some(0.0015));
        assert_eq!(of(&readings, series::ERRORS_TOTAL), None, "it does not tell of errors so");
    }

    #[test]
    fn a_producer_that_was_cut_off_has_sent_what_it_said() {
        let (reported, readings) = read(
            "10 records sent, 5.0 records/sec (0.1 MB/sec), 2.1 ms avg latency, 210.0 ms max latency.\n",
        );
        assert_eq!((reported.requests, of(&readings, series::REQUESTS_PER_S)), (10, None));
    }

    #[test]
    fn the_consumers_columns_are_found_by_name() {
        let (reported, readings) = read(
            "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
             fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n\
             2026-01-01 00:00:00:000, 2026-01-01 00:00:10:000, 97.6562, 9.7656, 100000, 10000.0000, 3000, 7000, 13.9, 14285.7\n",
        );
        assert_eq!((reported.requests, reported.unparsed), (100_000, 0));
        assert_eq!(of(&readings, series::REQUESTS_PER_S), Some(10_000.0));
        assert_eq!(of(&readings, series::MIB_PER_S), Some(9.7656));
    }

    #[test]
    fn rates_of_the_consumers_last_interval_are_not_those_of_all() {
        let (reported, readings) = read(
            "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, \
             fetch.MB.sec, fetch.nMsg.sec\n\
             2026-01-01 00:00:05:000, 0, 90.0000, 18.0000, 90000, 18000.0000, 0, 5000, 18.0, 18000.0\n\
             2026-01-01 00:00:10:000, 0, 91.0000, 0.2000, 91000, 200.0000, 0, 5000, 0.2, 200.0\n",
        );
        assert_eq!((reported.requests, reported.unparsed), (91_000, 0));
        assert_eq!(of(&readings, series::REQUESTS_PER_S), None, "the duration says it");
        assert_eq!(of(&readings, series::MIB_PER_S), None);
    }

    #[test]
    fn numbers_with_a_comma_are_one_column_of_the_consumer() {
        let (reported, readings) = read(
            "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
             fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n\
             2026-01-01 00:00:00:000, 2026-01-01 00:00:10:000, 97,6562, 9,7656, 100000, 10000,0000, 3000, 7000, 13,9, 14285,7\n",
        );
        assert_eq!((reported.requests, reported.unparsed), (100_000, 0));
        assert_eq!(of(&readings, series::REQUESTS_PER_S), Some(10_000.0));
        assert_eq!(of(&readings, series::MIB_PER_S), Some(9.7656));
    }

    #[test]
    fn end_to_end_latencies_are_read() {
        let (reported, readings) =
            read("0\t12.5\n1000\t1.5\nAvg latency: 1.2345 ms\nPercentiles: 50th = 1, 99th = 3, 99.9th = 9\n");
        assert_eq!((reported.requests, reported.unparsed), (0, 0));
        assert_eq!(of(&readings, "command_response_s.mean"), Some(1.2345 / 1e3));
        assert_eq!(of(&readings, "command_response_s.p99"), Some(0.003));
    }
}
