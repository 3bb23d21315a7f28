//! What several programs reported that ran at once, as one.

use super::{CommandTotals, Stated};

impl CommandTotals {
    /// All of them together. Counts and rates are added; of times that tools state themselves the mean is weighted by requests,
    /// and of the others the largest is taken: no quantile of all requests is above that.
    pub fn added(all: Vec<Self>) -> Self {
        let (stated, overlap) = (stated(&all), overlap(&all));
        let silent = (all.iter().filter(|one| one.is_silent()).count(), all.len());
        let mut sum = all.into_iter().reduce(Self::plus).unwrap_or_default();
        (sum.stated, sum.overlap) = (stated, overlap);
        sum.silent = Some(silent).filter(|(silent, _)| *silent > 0);
        sum
    }

    fn plus(mut self, other: Self) -> Self {
        self.requests = self.requests.saturating_add(other.requests);
        self.errors = self.errors.saturating_add(other.errors);
        self.unparsed = self.unparsed.saturating_add(other.unparsed);
        self.has_errors |= other.has_errors;
        match (&mut self.times, other.times) {
            // Both have the same bounds.
            (Some(times), Some(more)) => {
                let _ = times.add(more);
            }
            (times, more) => *times = times.take().or(more),
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.longest_us = self.longest_us.max(other.longest_us);
        for (second, of) in other.seconds {
            self.add_to_second(second, of);
        }
        self.span_ns = around(self.span_ns, other.span_ns);
        let mut others = other.labels;
        for (label, (_, own)) in &mut self.labels {
            if let Some((_, more)) = others.remove(label) {
                *own = std::mem::take(own).plus(more);
            }
        }
        self
    }
}

fn around(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, other) => one.or(other),
    }
}

/// A rate is that of all only where each has stated its own.
fn stated(all: &[CommandTotals]) -> Stated {
    let sum = |of: fn(&Stated) -> Option<f64>| all.iter().map(|one| of(&one.stated)).sum::<Option<f64>>();
    let Some(first) = all.first() else { return Stated::default() };
    let time = |statistic: &'static str| {
        let of_one = |one: &CommandTotals| {
            let found = one.stated.times_s.iter().find(|(name, _)| *name == statistic);
            found.map(|(_, time_s)| (*time_s, one.requests.max(1) as f64))
        };
        let each: Vec<(f64, f64)> = all.iter().map(of_one).collect::<Option<_>>()?;
        let weighted = || {
            let weight: f64 = each.iter().map(|(_, weight)| weight).sum();
            each.iter().map(|(time_s, weight)| time_s * weight).sum::<f64>() / weight
        };
        let largest = || each.iter().map(|(time_s, _)| *time_s).fold(0.0, f64::max);
        Some((statistic, if statistic == "mean" { weighted() } else { largest() }))
    };
    let times_s = first.stated.times_s.iter().filter_map(|&(statistic, _)| time(statistic)).collect();
    Stated { per_s: sum(|one| one.per_s), mib_per_s: sum(|one| one.mib_per_s), times_s }
}

/// Which share of the time from the first one's beginning to the last one's end all of them measured; `None`: it is not known
/// of one when it did.
fn overlap(all: &[CommandTotals]) -> Option<f64> {
    let intervals: Vec<(i64, i64)> =
        all.iter().map(|one| one.stated_of_ns.or(one.span_ns)).collect::<Option<_>>()?;
    let begins = || intervals.iter().map(|(begin_ns, _)| *begin_ns);
    let ends = || intervals.iter().map(|(_, end_ns)| *end_ns);
    let length = |begin_ns: i64, end_ns: i64| end_ns.saturating_sub(begin_ns).max(0) as f64;
    let all_ns = length(begins().max()?, ends().min()?);
    let any_ns = length(begins().min()?, ends().max()?);
    (any_ns > 0.0).then(|| all_ns / any_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{CommandReader, SECONDS_MAX};
    use kdyno_model::plan::command::series;
    use kdyno_model::plan::{CsvColumns, OutputFormat, ParsePlan};
    use std::collections::BTreeMap;

    const S: i64 = 1_000_000_000;

    fn reader(format: OutputFormat) -> CommandReader {
        let columns = CsvColumns::default();
        CommandReader::new(&ParsePlan { format, file: None, columns, labels: BTreeMap::new(), apart: None })
    }

    /// A producer whose last line came at an instant, s.
    fn producer(records: u64, per_s: f64, (mean, p99): (f64, f64), read_s: i64) -> CommandTotals {
        let mut reader = reader(OutputFormat::PerfTest);
        let line = format!(
            "{records} records sent, {per_s} records/sec (1.50 MB/sec), {mean} ms avg latency, 90.0 ms max latency, 1 ms 50th, \
             2 ms 95th, {p99} ms 99th, 80 ms 99.9th."
        );
        reader.line(line.as_bytes(), read_s * S);
        reader.finish()
    }

    fn value(totals: &CommandTotals, series: &str) -> Option<f64> {
        let readings = totals.readings("writers", 0, 0, 100 * S);
        readings.iter().find(|one| one.series == series).map(|one| one.value)
    }

    #[test]
    fn rates_are_added_with_the_share_in_which_all_ran() {
        // From 10 s to 20 s, and from 12 s to 22 s.
        let both = [producer(1000, 100.0, (1.0, 5.0), 20), producer(3000, 300.0, (3.0, 4.0), 22)];
        let sum = CommandTotals::added(both.into());
        assert_eq!(sum.requests, 4000);
        assert_eq!(value(&sum, series::REQUESTS_PER_S), Some(400.0));
        assert_eq!(value(&sum, series::MIB_PER_S), Some(3.0));
        let overlap = value(&sum, series::OVERLAP).expect("both say when");
        assert!((overlap - 8.0 / 12.0).abs() < 1e-9, "{overlap}");
        let of = |statistic: &str| value(&sum, &format!("{}{statistic}", series::RESPONSE_S_OF));
        let mean = of("mean").expect("a mean");
        assert!((mean - 0.0025).abs() < 1e-12, "{mean}");
        assert_eq!(of("p99"), Some(0.005), "that of the slower one");
    }

    #[test]
    fn pods_that_ran_one_after_another_never_overlapped() {
        let both = [producer(1000, 100.0, (1.0, 5.0), 20), producer(1000, 100.0, (1.0, 5.0), 40)];
        assert_eq!(value(&CommandTotals::added(both.into()), series::OVERLAP), Some(0.0));
    }

    #[test]
    fn one_that_states_no_rate_leaves_none_of_all() {
        let both = [producer(1000, 100.0, (1.0, 5.0), 20), reader(OutputFormat::PerfTest).finish()];
        let sum = CommandTotals::added(both.into());
        assert_eq!(value(&sum, series::REQUESTS_PER_S), None);
        assert_eq!(value(&sum, series::OVERLAP), None);
        assert_eq!(sum.requests, 1000);
        let trouble = sum.trouble(0, (0, 100 * S));
        assert_eq!(trouble.as_deref(), Some("1 of 2 pods printed no request that could be read"));
    }

    #[test]
    fn requests_of_all_are_one_distribution() {
        let csv = |rows: &str| {
            let mut reader = reader(OutputFormat::Csv);
            rows.lines().for_each(|row| reader.line(row.as_bytes(), 0));
            reader.finish()
        };
        let both = [csv("elapsed,timeStamp\n10,1000\n"), csv("elapsed,timeStamp\n30,1000\n50,2000\n")];
        let sum = CommandTotals::added(both.into());
        assert_eq!(sum.trouble(0, (0, 100 * S)), None);
        assert_eq!(value(&sum, series::RESPONSES), Some(3.0));
        assert_eq!(value(&sum, &format!("{}mean", series::RESPONSE_S_OF)), Some(0.03));
    }

    #[test]
    fn seconds_of_all_are_bounded() {
        let of = |from: i64| {
            let mut reported = CommandTotals::default();
            (from..from + SECONDS_MAX as i64).for_each(|second| reported.count(second * S, 1));
            reported
        };
        let sum = CommandTotals::added(vec![of(0), of(100)]);
        assert_eq!(sum.seconds.len(), SECONDS_MAX);
    }
}
