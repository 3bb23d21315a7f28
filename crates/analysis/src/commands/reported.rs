//! What a command reports of requests: counts, times and seconds.

mod added;

use hdrhistogram::Histogram;
use kdyno_model::event::Subject;
use kdyno_model::metric::QUANTILES;
use kdyno_model::plan::command::series;
use kdyno_model::sample::ProbeReading;
use std::collections::BTreeMap;

/// Most seconds whose counts are kept one by one; what lies in others is counted in no second.
pub const SECONDS_MAX: usize = 200_000;
/// Longest time of a request, µs: a day.
const TIME_US_MAX: u64 = 86_400_000_000;
/// Clocks of hosts differ; what lies further outside of the time in which a command ran is not of it.
const OUTSIDE_NS_MAX: i64 = 60 * NS_PER_S;
const NS_PER_S: i64 = 1_000_000_000;

/// All that a command reported.
#[derive(Debug, Default)]
pub struct CommandTotals {
    /// Requests that it reported.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Lines that are not of the form that was named.
    pub unparsed: u64,
    /// Whether it reports errors at all.
    pub has_errors: bool,
    /// Times of requests, µs.
    times: Option<Histogram<u64>>,
    /// Their exact sum, µs.
    sum_us: u128,
    /// The longest one, µs.
    longest_us: u64,
    /// What was counted of requests and errors by the second since 1970 in which they began.
    seconds: BTreeMap<i64, CommandSecond>,
    /// When the first one began and the last one ended, ns since 1970.
    span_ns: Option<(i64, i64)>,
    /// What a tool's own rate is of, ns since 1970 by the clock of who read it.
    pub(super) stated_of_ns: Option<(i64, i64)>,
    /// The share of the time in which all measured, where this is a sum of several.
    overlap: Option<f64>,
    /// How many of how many reported nothing, where this is a sum of several and any did.
    silent: Option<(usize, usize)>,
    /// Figures that a tool states itself.
    pub(super) stated: Stated,
    /// Requests with a label, by that label: what they are called, and their figures.
    labels: BTreeMap<String, (String, CommandTotals)>,
    /// The label of what holds other requests, and so is none by itself.
    apart: Option<String>,
}

/// What was counted of one second.
#[derive(Debug, Default, Clone, Copy)]
struct CommandSecond {
    requests: u64,
    errors: u64,
    /// What the requests took together, µs.
    took_us: u64,
}

impl CommandSecond {
    fn add(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.errors = self.errors.saturating_add(other.errors);
        self.took_us = self.took_us.saturating_add(other.took_us);
    }
}

/// Figures that a tool states itself.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Stated {
    pub per_s: Option<f64>,
    pub mib_per_s: Option<f64>,
    /// Statistic and time, s.
    pub times_s: Vec<(&'static str, f64)>,
}

impl CommandTotals {
    /// Nothing yet; requests with these labels, by what these are called, are also reported by themselves, and those
    /// with the label `apart` only so.
    pub(super) fn with_labels(named: &BTreeMap<String, String>, apart: Option<&str>) -> Self {
        let labels =
            named.iter().map(|(name, label)| (label.clone(), (name.clone(), Self::default()))).collect();
        Self { labels, apart: apart.map(str::to_owned), ..Self::default() }
    }

    /// A request with a label that took so long, s, and when it began, ns since 1970, where that is reported.
    pub(super) fn request_of(&mut self, label: Option<&str>, took_s: f64, began_unix_ns: Option<i64>) {
        self.each_with(label, |reported| reported.request(took_s, began_unix_ns));
    }

    /// A failed request with a label, and when it began, ns since 1970, where that is reported.
    pub(super) fn error_of(&mut self, label: Option<&str>, began_unix_ns: Option<i64>) {
        self.each_with(label, |reported| reported.error(began_unix_ns));
    }

    /// Counts it with the figures of the label, and with the whole, unless the label is of what holds other requests.
    fn each_with(&mut self, label: Option<&str>, count: impl Fn(&mut Self)) {
        if let Some((_, own)) = label.and_then(|label| self.labels.get_mut(label)) {
            count(own);
        }
        if label.is_none() || label != self.apart.as_deref() {
            count(self);
        }
    }

    /// Everything was reported.
    pub(super) fn finish(&mut self) {
        self.labels.values_mut().for_each(|(_, own)| own.has_errors = self.has_errors);
    }

    /// A request that took so long, s, and when it began, ns since 1970, where that is reported.
    fn request(&mut self, took_s: f64, began_unix_ns: Option<i64>) {
        self.requests += 1;
        let took_us = (took_s * 1e6).clamp(0.0, TIME_US_MAX as f64) as u64;
        if self.times.is_none() {
            // Three digits from 1 µs on: 200 KiB.
            self.times = Histogram::new_with_bounds(1, TIME_US_MAX, 3).ok();
        }
        if let Some(times) = &mut self.times {
            times.saturating_record(took_us.max(1));
            self.sum_us = self.sum_us.saturating_add(took_us.into());
            self.longest_us = self.longest_us.max(took_us);
        }
        if let Some(began_ns) = began_unix_ns {
            let ended_ns = began_ns.saturating_add((took_us as i64).saturating_mul(1000));
            let (first, last) = self.span_ns.unwrap_or((began_ns, ended_ns));
            self.span_ns = Some((first.min(began_ns), last.max(ended_ns)));
            self.count_in(began_ns, CommandSecond { requests: 1, errors: 0, took_us });
        }
    }

    /// A failed request, and when it began, ns since 1970, where that is reported.
    fn error(&mut self, began_unix_ns: Option<i64>) {
        self.errors += 1;
        if let Some(began_ns) = began_unix_ns {
            self.count_in(began_ns, CommandSecond { errors: 1, ..CommandSecond::default() });
        }
    }

    /// Requests of an instant, without the time that they took.
    pub(super) fn count(&mut self, unix_ns: i64, requests: u64) {
        self.count_in(unix_ns, CommandSecond { requests, ..CommandSecond::default() });
    }

    fn count_in(&mut self, unix_ns: i64, of: CommandSecond) {
        self.add_to_second(unix_ns.div_euclid(NS_PER_S), of);
    }

    fn add_to_second(&mut self, second: i64, of: CommandSecond) {
        if self.seconds.len() >= SECONDS_MAX && !self.seconds.contains_key(&second) {
            return;
        }
        self.seconds.entry(second).or_default().add(of);
    }

    /// Whether a request may have taken so long, s.
    pub(super) fn is_time(took_s: f64) -> bool {
        took_s.is_finite() && (0.0..=TIME_US_MAX as f64 / 1e6).contains(&took_s)
    }

    /// Whether it reported nothing.
    fn is_silent(&self) -> bool {
        self.requests == 0 && self.stated == Stated::default()
    }

    /// Why the output is invalid, one lowercase clause; the trial's T0 is in ns since 1970, the command's start and end
    /// in ns from it.
    pub fn trouble(&self, t0_unix_ns: u64, (from_ns, end_ns): (i64, i64)) -> Option<String> {
        if self.is_silent() {
            let lines = match self.unparsed {
                0 => "there was none".to_owned(),
                lines => format!("{lines} lines are of another form"),
            };
            return Some(format!("it printed no request that could be read: {lines}"));
        }
        if self.requests > 0 && self.errors >= self.requests {
            return Some(format!("each of the {} requests that it reported failed", self.requests));
        }
        if let Some((silent, all)) = self.silent {
            return Some(format!("{silent} of {all} pods printed no request that could be read"));
        }
        let (first_ns, last_ns) = self.span_ns?;
        let t0_unix_ns = t0_unix_ns.cast_signed();
        let begins_ns = t0_unix_ns.saturating_add(from_ns).saturating_sub(OUTSIDE_NS_MAX);
        let ends_ns = t0_unix_ns.saturating_add(end_ns).saturating_add(OUTSIDE_NS_MAX);
        (first_ns < begins_ns || last_ns > ends_ns).then(|| {
            "requests that it reported began or ended when it did not run: its instants are to be in ms since 1970".to_owned()
        })
    }

    /// It as readings of a load item and of the labels that are reported by themselves, in a trial whose T0 was at an
    /// instant, ns since 1970; what is of the whole command is put at its end, ns from T0. Seconds before `from_ns` and
    /// after that, ns from T0, are of no course.
    pub fn readings(&self, item: &str, t0_unix_ns: u64, from_ns: i64, end_ns: i64) -> Vec<ProbeReading> {
        let named = std::iter::once((item, self));
        let all = named.chain(self.labels.values().map(|(name, own)| (name.as_str(), own)));
        let mut found: Vec<ProbeReading> = all
            .flat_map(|(name, reported)| reported.of_requests(name, t0_unix_ns, from_ns, end_ns))
            .collect();
        let (subject, series) = (Subject::Item(item.to_owned()), series::UNPARSED_LINES.to_owned());
        found.push(ProbeReading { at_ns: end_ns, subject, series, value: self.unparsed as f64 });
        found
    }

    fn of_requests(&self, name: &str, t0_unix_ns: u64, from_ns: i64, end_ns: i64) -> Vec<ProbeReading> {
        let subject = Subject::Item(name.to_owned());
        let reading = |at_ns: i64, series: &str, value: f64| ProbeReading {
            at_ns,
            subject: subject.clone(),
            series: series.to_owned(),
            value,
        };
        let mut found = self.course(t0_unix_ns.cast_signed(), (from_ns, end_ns), &reading);
        let mut add = |series: &str, value: Option<f64>| {
            found.extend(value.filter(|value| value.is_finite()).map(|value| reading(end_ns, series, value)));
        };
        // The course ends with all of them, also those that lie in no second of it.
        // A tool that states times alone does not say of how many.
        let is_counted = self.requests > 0 || self.stated.times_s.is_empty();
        add(series::REQUESTS_TOTAL, is_counted.then_some(self.requests as f64));
        add(series::ERRORS_TOTAL, self.has_errors.then_some(self.errors as f64));
        add(series::REQUESTS_PER_S, self.stated.per_s.or_else(|| self.per_s()));
        add(series::MIB_PER_S, self.stated.mib_per_s);
        add(series::OVERLAP, self.overlap);
        for (statistic, time_s) in self.times_s() {
            add(&format!("{}{statistic}", series::RESPONSE_S_OF), Some(time_s));
        }
        add(series::RESPONSES, self.times.as_ref().map(|times| times.len() as f64));
        found
    }

    /// What was counted up to the end of each second of the command.
    fn course(
        &self,
        t0_unix_ns: i64,
        (from_ns, end_ns): (i64, i64),
        reading: &dyn Fn(i64, &str, f64) -> ProbeReading,
    ) -> Vec<ProbeReading> {
        let mut found = Vec::new();
        let mut up_to = CommandSecond::default();
        for (second, of) in &self.seconds {
            let at_ns = second.saturating_add(1).saturating_mul(NS_PER_S).saturating_sub(t0_unix_ns);
            // Clocks are read in ms, and a tool may count a request where it ended.
            if at_ns < from_ns || at_ns.saturating_sub(NS_PER_S) > end_ns {
                continue;
            }
            up_to.add(*of);
            let at_ns = at_ns.min(end_ns);
            found.push(reading(at_ns, series::REQUESTS_TOTAL, up_to.requests as f64));
            if self.has_errors {
                found.push(reading(at_ns, series::ERRORS_TOTAL, up_to.errors as f64));
            }
            if self.times.is_some() {
                found.push(reading(at_ns, series::RESPONSE_S_TOTAL, up_to.took_us as f64 / 1e6));
            }
        }
        found
    }

    /// Requests per second from the first one's beginning to the last one's end.
    fn per_s(&self) -> Option<f64> {
        let (first_ns, last_ns) = self.span_ns?;
        let span_s = last_ns.saturating_sub(first_ns) as f64 / NS_PER_S as f64;
        (span_s > 0.0).then(|| self.requests as f64 / span_s)
    }

    /// What requests took, by statistic, s: as a tool states it, or by what each of them took.
    fn times_s(&self) -> Vec<(&'static str, f64)> {
        let Some(times) = self.times.as_ref().filter(|times| !times.is_empty()) else {
            return self.stated.times_s.clone();
        };
        // The histogram returns the upper end of what it does not resolve.
        let at = |quantile| times.value_at_quantile(quantile).min(self.longest_us);
        let quantiles = QUANTILES.iter().map(|(name, quantile)| (*name, at(*quantile) as f64));
        let mean_us = self.sum_us as f64 / times.len() as f64;
        let others = [("mean", mean_us), ("max", self.longest_us as f64)];
        quantiles.chain(others).map(|(name, us)| (name, us / 1e6)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn value(readings: &[ProbeReading], series: &str) -> Vec<(i64, f64)> {
        readings.iter().filter(|one| one.series == series).map(|one| (one.at_ns / S, one.value)).collect()
    }

    #[test]
    fn requests_are_counted_in_all_and_by_the_second() {
        let mut reported = CommandTotals { has_errors: true, ..CommandTotals::default() };
        for at_s in [100, 100, 101, 103] {
            reported.request(0.25, Some(at_s * S));
        }
        reported.error(Some(101 * S));
        let readings = reported.readings("import", 90 * S as u64, 10 * S, 20 * S);
        assert_eq!(
            value(&readings, series::REQUESTS_TOTAL),
            [(11, 2.0), (12, 3.0), (14, 4.0), (20, 4.0)],
            "10 s after T0, and the whole at the end"
        );
        let took = [(11, 0.5), (12, 0.75), (14, 1.0)];
        assert_eq!(value(&readings, series::RESPONSE_S_TOTAL), took, "of no course is the whole");
        assert_eq!(value(&readings, series::ERRORS_TOTAL), [(11, 0.0), (12, 1.0), (14, 1.0), (20, 1.0)]);
        let per_s = value(&readings, series::REQUESTS_PER_S)[0].1;
        assert!((per_s - 4.0 / 3.25).abs() < 1e-9, "{per_s}");
        let p95 = value(&readings, &format!("{}p95", series::RESPONSE_S_OF))[0].1;
        assert!((0.2499..0.2503).contains(&p95), "{p95}");
        assert_eq!(value(&readings, &format!("{}mean", series::RESPONSE_S_OF))[0].1, 0.25);
    }

    #[test]
    fn what_lies_outside_of_the_command_is_of_no_second() {
        let mut reported = CommandTotals::default();
        reported.request(1e12, Some(i64::MAX));
        reported.request(-3.0, Some(i64::MIN));
        reported.request(f64::NAN, Some(95 * S));
        let readings = reported.readings("import", 90 * S as u64, 10 * S, 20 * S);
        assert_eq!(value(&readings, series::REQUESTS_TOTAL), [(20, 3.0)]);
        assert!(readings.iter().all(|one| one.value.is_finite()));
    }

    #[test]
    fn a_load_with_only_failed_requests_is_invalid() {
        let failed = |requests: u64, errors: u64| {
            let mut reported = CommandTotals { has_errors: true, ..CommandTotals::default() };
            (0..requests).for_each(|_| reported.request(0.001, None));
            (0..errors).for_each(|_| reported.error(None));
            reported.trouble(0, (0, S))
        };
        assert_eq!(failed(3, 2), None);
        assert_eq!(failed(3, 3).as_deref(), Some("each of the 3 requests that it reported failed"));
    }

    #[test]
    fn seconds_are_bounded() {
        let mut reported = CommandTotals::default();
        for second in 0..(SECONDS_MAX as i64 + 10) {
            reported.request(0.001, Some(second * S));
        }
        assert_eq!((reported.seconds.len(), reported.requests), (SECONDS_MAX, SECONDS_MAX as u64 + 10));
    }
}
