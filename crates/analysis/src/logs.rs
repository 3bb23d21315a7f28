//! What the cluster reported of logs and consumer groups in a trial's window.
//!
//! It is asked every 10 s, just before the window and at the ends of phases: what is reported for the window's ends is
//! what was read there.

use crate::evidence::{NS_PER_S, ReadingsByTime};
use crate::rows::TrialRows;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Value};
use kdyno_model::logs;
use kdyno_model::metric::{SubjectKind, Unit};
use kdyno_model::sample::{BEFORE_WINDOW_NS, ProbeReading, series};
use kdyno_model::series::{ImportedPoint, ImportedSeries};
use std::collections::BTreeMap;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// How far a reading may lie from the end of a window that it is used for, ns: a cluster may take so long to answer,
/// and windows are whole seconds.
const DISTANCE_NS_MAX: i64 = 3 * NS_PER_S.cast_signed();

const SERIES: [&str; 7] = [
    series::LOG_BYTES,
    series::RUN_LOG_BYTES,
    series::UNDER_REPLICATED_PARTITIONS,
    series::IN_SYNC_REPLICAS_LEAST,
    series::COMMITTED_LAG_RECORDS,
    series::COMMITTED_LAG_S,
    series::COMMITTED_LAG_S_AT_LEAST,
];

/// The readings of a trial, by what and of whom.
struct Logs<'a> {
    readings: BTreeMap<&'a str, BTreeMap<&'a Subject, ReadingsByTime>>,
    start_ns: i64,
    end_ns: i64,
}

/// Every reported figure, of `brokers`, each broker and each group.
pub(crate) fn findings(trial: &TrialRows<'_>) -> Vec<Finding> {
    let Some(logs) = Logs::of(trial) else { return Vec::new() };
    let mut found = Vec::new();
    let mut state = |subject: &str, kind: SubjectKind, value: &dyn Fn(&str) -> Value| {
        let own = logs::METRICS.iter().filter(|metric| metric.kinds.contains(&kind));
        let reported =
            own.map(|metric| (metric, value(metric.name))).filter(|(_, value)| *value != Value::None);
        found.extend(reported.map(|(metric, value)| trial.stated(subject, metric.name, metric.unit, value)));
    };
    state("brokers", SubjectKind::Broker, &|name| Value::from(logs.of_brokers(name)));
    for broker in logs.subjects(series::LOG_BYTES).filter(|subject| subject.is_broker()) {
        state(&broker.to_string(), SubjectKind::Broker, &|name| Value::from(logs.size(broker, name)));
    }
    for group in logs.subjects(series::COMMITTED_LAG_RECORDS) {
        state(&group.to_string(), SubjectKind::Group, &|name| logs.of_group(group, name));
    }
    found
}

/// Courses of the lag of groups that the target names.
pub(crate) fn courses(evidence: &TrialEvidence) -> Vec<ImportedSeries> {
    let Some(target) = evidence.start.trial.effective.system.target() else { return Vec::new() };
    let course = |group: &String| {
        let subject = Subject::Group(group.clone());
        let of_it = |one: &&ProbeReading| {
            one.subject == subject && one.series == series::COMMITTED_LAG_RECORDS && one.value.is_finite()
        };
        let readings = evidence.probes.iter().filter(of_it);
        let at_s = |at_ns: i64| at_ns as f64 / NS_PER_S as f64;
        let mut points: Vec<ImportedPoint> =
            readings.map(|one| ImportedPoint { at_s: at_s(one.at_ns), value: one.value }).collect();
        points.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let name = "committed_lag".to_owned();
        (!points.is_empty()).then_some(ImportedSeries { subject, name, unit: Unit::Count, points })
    };
    target.groups.iter().filter_map(course).collect()
}

/// Among these figures: the partitions of the run's topics with replicas out of sync.
pub(crate) fn under_replicated(findings: &[Finding]) -> Option<f64> {
    let found = findings.iter().find(|one| one.of.metric == logs::RUN_UNDER_REPLICATED)?;
    found.estimate.exact()
}

impl<'a> Logs<'a> {
    fn of(trial: &TrialRows<'a>) -> Option<Self> {
        let (start_ns, end_ns) = trial.window?.ends_ns();
        let mut readings: BTreeMap<&str, BTreeMap<&Subject, ReadingsByTime>> = BTreeMap::new();
        for reading in trial.probes().iter().filter(|reading| reading.value.is_finite()) {
            let Some(name) = SERIES.iter().find(|name| **name == reading.series) else { continue };
            // Brokers report their own part of partitions under the same name.
            if *name == series::UNDER_REPLICATED_PARTITIONS && reading.subject.is_broker() {
                continue;
            }
            let of_series = readings.entry(name).or_default();
            of_series.entry(&reading.subject).or_default().insert(reading.at_ns, reading.value);
        }
        Some(Self { readings, start_ns, end_ns })
    }

    fn subjects(&self, series: &str) -> impl Iterator<Item = &'a Subject> {
        self.readings.get(series).into_iter().flat_map(|of_series| of_series.keys().copied())
    }

    fn of_brokers(&self, name: &str) -> Option<f64> {
        match name {
            logs::RUN_UNDER_REPLICATED => {
                let at_once = self.at_once(series::UNDER_REPLICATED_PARTITIONS, |a, b| a + b);
                at_once.into_values().reduce(f64::max)
            }
            logs::RUN_IN_SYNC_LEAST => {
                self.at_once(series::IN_SYNC_REPLICAS_LEAST, f64::min).into_values().reduce(f64::min)
            }
            _ => self.size(&Subject::Brokers, name),
        }
    }

    /// What all topics reported together at each instant in the window.
    fn at_once(&self, series: &str, with: impl Fn(f64, f64) -> f64) -> ReadingsByTime {
        let mut together = ReadingsByTime::new();
        for course in self.readings.get(series).into_iter().flat_map(BTreeMap::values) {
            // The first reading of it is one just before it begins.
            let from_ns = self.start_ns - BEFORE_WINDOW_NS.cast_signed();
            for (at_ns, value) in course.range(from_ns..=self.end_ns + DISTANCE_NS_MAX) {
                together.entry(*at_ns).and_modify(|sum| *sum = with(*sum, *value)).or_insert(*value);
            }
        }
        together
    }

    /// How large the logs of a broker are, or of all together, and how fast they grow.
    fn size(&self, whose: &Subject, name: &str) -> Option<f64> {
        let (series, is_growth) = match name {
            logs::LOG_BYTES => (series::LOG_BYTES, false),
            logs::LOG_GROWTH => (series::LOG_BYTES, true),
            logs::RUN_LOG_BYTES => (series::RUN_LOG_BYTES, false),
            logs::RUN_LOG_GROWTH => (series::RUN_LOG_BYTES, true),
            _ => return None,
        };
        let (end_ns, end) = self.near(series, whose, self.end_ns)?;
        if !is_growth {
            return Some(end);
        }
        let (start_ns, start) = self.near(series, whose, self.start_ns)?;
        let seconds = (end_ns - start_ns) as f64 / NS_PER_S as f64;
        (seconds > 0.0).then(|| (end - start) / BYTES_PER_MIB / seconds)
    }

    fn of_group(&self, group: &Subject, name: &str) -> Value {
        let records =
            |at_ns| Value::from(self.near(series::COMMITTED_LAG_RECORDS, group, at_ns).map(|(_, n)| n));
        match name {
            logs::LAG_AT_START => records(self.start_ns),
            logs::LAG_AT_END => records(self.end_ns),
            logs::LAG_TIME_AT_START => self.lag_time(group, self.start_ns),
            logs::LAG_TIME_AT_END => self.lag_time(group, self.end_ns),
            _ => Value::None,
        }
    }

    /// One of two series has the look that also reported the records.
    fn lag_time(&self, group: &Subject, at_ns: i64) -> Value {
        let Some((reported_ns, _)) = self.near(series::COMMITTED_LAG_RECORDS, group, at_ns) else {
            return Value::None;
        };
        let reported =
            |series: &str| Some(*self.readings.get(series)?.get(group)?.get(&reported_ns)? * NS_PER_S as f64);
        match (reported(series::COMMITTED_LAG_S), reported(series::COMMITTED_LAG_S_AT_LEAST)) {
            (Some(ns), _) => Value::Is(ns),
            (None, Some(ns)) => Value::AtLeast(ns),
            (None, None) => Value::None,
        }
    }

    /// The reading that is nearest to an end of the window, and when it was.
    fn near(&self, series: &str, subject: &Subject, at_ns: i64) -> Option<(i64, f64)> {
        let course = self.readings.get(series)?.get(subject)?;
        let around = course.range(at_ns - DISTANCE_NS_MAX..=at_ns + DISTANCE_NS_MAX);
        around.min_by_key(|(read_ns, _)| (**read_ns - at_ns).abs()).map(|(at_ns, value)| (*at_ns, *value))
    }
}
