//! What a run that goes on exposes to a monitoring system, from the newest rows of its trial.
//!
//! Counters go on over the trials of a case; a scrape that comes between two trials still sees the last one's.

use crate::cpu;
use crate::histogram::LatencyDistribution;
use crate::live::lag_records;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::live_metrics::{LiveMetric, LiveValue, metrics};
use kdyno_model::plan::{LoadPlan, RoleKind};
use kdyno_model::sample::{Counts, Grain, ProbeReading, Sample, Timing, series};
use kdyno_model::trial::TrialId;
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;

/// What is 0 of a Java client and says nothing.
const UNSEEN: [&LiveMetric; 5] = [
    &metrics::REQUESTS,
    &metrics::BATCHES,
    &metrics::BATCH_RETRIES,
    &metrics::THROTTLED,
    &metrics::FETCHED_BYTES,
];

/// Reasons for which records of any producer may fail; those of brokers are exposed once they occur.
const REASONS: [&str; 2] = ["max-block", "delivery-timeout"];
/// And of one that writes in transactions.
const REASON_OF_TRANSACTIONS: &str = "transaction-aborted";

/// Response times are exposed at these quantiles, 1 being the largest.
const QUANTILES: [(f64, &str); 3] = [(0.5, "0.5"), (0.99, "0.99"), (1.0, "1")];

/// What was counted and read so far, of every case that ran.
#[derive(Debug, Default)]
pub struct LiveItems {
    /// By the trial in words and the load item.
    items: BTreeMap<(String, String), LiveItem>,
    /// For a trial that runs: the first second that was not counted yet.
    next_second: BTreeMap<TrialId, u32>,
    /// Newest readings of processes by the trial in words.
    processes: BTreeMap<String, Vec<ProbeReading>>,
    /// Newest readings of the host, which all trials share.
    host: Vec<ProbeReading>,
}

/// One load item. A probe sends and fetches.
#[derive(Debug)]
struct LiveItem {
    produces: bool,
    consumes: bool,
    /// Whether the requests and batches of its clients are seen.
    shows_requests: bool,
    counted: Counts,
    /// Figures of the newest whole second.
    lag_records: Option<u64>,
    response: LatencyDistribution,
}

impl LiveItems {
    /// A trial begins: of its load items everything counts from 0, or on from the trials of the case before.
    pub fn begin(&mut self, case: &str, load: &BTreeMap<String, LoadPlan>) {
        // A process that goes on would be there twice, once under the case before.
        self.processes.clear();
        for (name, plan) in load {
            let shows_requests = plan.driver.shows_requests();
            if plan.role.as_consume().is_some() {
                self.item(case, name, RoleKind::Consume).shows_requests = shows_requests;
            }
            let Some(produce) = plan.role.as_produce() else { continue };
            let item = self.item(case, name, RoleKind::Produce);
            item.shows_requests = shows_requests;
            let of_transactions = produce.transactions.as_ref().map(|_| REASON_OF_TRANSACTIONS);
            for reason in REASONS.into_iter().chain(of_transactions) {
                item.counted.failed.entry(reason.to_owned()).or_default();
            }
        }
    }

    /// Takes what a trial has written. `recent` holds its rows of the last seconds, those of the seconds before
    /// `complete_until` all there.
    pub fn take(&mut self, case: &str, recent: &TrialEvidence, complete_until: u32) {
        let (host, processes) =
            newest(&recent.probes).into_iter().partition(|reading| reading.subject == Subject::Host);
        self.host = host;
        self.processes.insert(case.to_owned(), processes);
        let next = self.next_second.entry(recent.start.trial.id).or_default();
        let from = std::mem::replace(next, complete_until.max(*next));
        if from >= complete_until {
            return;
        }
        for stream in &recent.start.streams {
            let item = self.item(case, &stream.name, stream.role);
            let planned = recent.start.trial.effective.load.get(&stream.name);
            item.shows_requests = planned.is_none_or(|planned| planned.driver.shows_requests());
            let newest = complete_until.saturating_sub(1);
            item.lag_records = lag_records(recent, newest, |other| other.name == stream.name);
            item.response = LatencyDistribution::new();
        }
        let rows = recent.samples.iter().filter(|row| row.grain == Grain::Second);
        for row in rows.filter(|row| (from..complete_until).contains(&row.written_second)) {
            let Some(stream) = recent.start.streams.iter().find(|stream| stream.id == row.id) else {
                continue;
            };
            self.item(case, &stream.name, stream.role).add(row, row.written_second + 1 == complete_until);
        }
    }

    /// A trial is over: its rows do not come again.
    pub fn end(&mut self, trial: TrialId) {
        self.next_second.remove(&trial);
    }

    /// Everything, as values of metrics, in the order of cases and items.
    #[must_use]
    pub fn values(&self) -> Vec<LiveValue> {
        let mut values = Vec::new();
        for ((case, name), item) in &self.items {
            item.values(case, name, &mut values);
        }
        for (case, readings) in &self.processes {
            values.extend(readings.iter().filter_map(|reading| of_process(case, reading)));
        }
        values.extend(self.host.iter().filter_map(of_host));
        values
    }

    fn item(&mut self, case: &str, name: &str, role: RoleKind) -> &mut LiveItem {
        let item = self.items.entry((case.to_owned(), name.to_owned())).or_insert_with(|| LiveItem {
            produces: false,
            consumes: false,
            shows_requests: true,
            counted: Counts::default(),
            lag_records: None,
            response: LatencyDistribution::new(),
        });
        item.produces |= role == RoleKind::Produce;
        item.consumes |= role == RoleKind::Consume;
        item
    }
}

impl LiveItem {
    fn add(&mut self, row: &Sample, is_newest: bool) {
        self.counted.add(&Counts { lag_records: None, ..row.counts.clone() });
        if let Some(bytes) = row.histograms.get(&Timing::Response).filter(|_| is_newest) {
            // What is damaged is reported by the findings; here it is only not shown.
            let _ = self.response.add_histogram(bytes);
        }
    }

    fn values(&self, case: &str, name: &str, values: &mut Vec<LiveValue>) {
        let labels = || vec![case.to_owned(), name.to_owned()];
        let shows_requests = self.shows_requests;
        let mut tell = |metric: &'static LiveMetric, value: f64| {
            if !shows_requests && UNSEEN.contains(&metric) {
                return;
            }
            values.push(LiveValue { metric, labels: labels(), value });
        };
        let counts = &self.counted;
        for (metric, count) in of_both(counts) {
            tell(metric, count as f64);
        }
        tell(&metrics::THROTTLED, counts.throttled_ns as f64 / NS_PER_S);
        if self.consumes {
            of_consumers(counts).into_iter().for_each(|(metric, count)| tell(metric, count as f64));
            self.lag_records.into_iter().for_each(|lag| tell(&metrics::LAG_RECORDS, lag as f64));
        }
        if self.produces {
            of_producers(counts).into_iter().for_each(|(metric, count)| tell(metric, count as f64));
        }
        for (reason, count) in &counts.failed {
            let mut labels = labels();
            labels.push(reason.clone());
            values.push(LiveValue { metric: &metrics::RECORDS_FAILED, labels, value: *count as f64 });
        }
        for (quantile, word) in QUANTILES {
            // A quantile among records that failed is only known to be at least so long, and that is exposed.
            let (Value::Is(ns) | Value::AtLeast(ns)) = self.response.quantile(quantile) else { continue };
            let mut labels = labels();
            labels.push(word.to_owned());
            values.push(LiveValue { metric: &metrics::RESPONSE, labels, value: ns / NS_PER_S });
        }
    }
}

fn of_both(counts: &Counts) -> [(&'static LiveMetric, u64); 2] {
    [(&metrics::REQUESTS, counts.requests), (&metrics::BATCHES, counts.batches)]
}

fn of_producers(counts: &Counts) -> [(&'static LiveMetric, u64); 5] {
    [
        (&metrics::RECORDS_OFFERED, counts.offered),
        (&metrics::RECORDS_ACHIEVED, counts.achieved),
        (&metrics::RECORDS_ACKNOWLEDGED, counts.acknowledged),
        (&metrics::ACKNOWLEDGED_BYTES, counts.acknowledged_bytes),
        (&metrics::BATCH_RETRIES, counts.retries),
    ]
}

fn of_consumers(counts: &Counts) -> [(&'static LiveMetric, u64); 3] {
    [
        (&metrics::RECORDS_CONSUMED, counts.fetched),
        (&metrics::FETCHED_BYTES, counts.fetched_bytes),
        (&metrics::REBALANCES, counts.rebalances),
    ]
}

/// The newest reading of each series that is exposed.
fn newest(probes: &[ProbeReading]) -> Vec<ProbeReading> {
    let mut newest: BTreeMap<(&Subject, &str), &ProbeReading> = BTreeMap::new();
    for reading in
        probes.iter().filter(|reading| of_host(reading).or_else(|| of_process("", reading)).is_some())
    {
        let kept = newest.entry((&reading.subject, &reading.series)).or_insert(reading);
        if reading.at_ns >= kept.at_ns {
            *kept = reading;
        }
    }
    newest.into_values().cloned().collect()
}

fn of_process(case: &str, reading: &ProbeReading) -> Option<LiveValue> {
    if !cpu::is_own_process(&reading.subject) && !cpu::is_named(&reading.subject) {
        return None;
    }
    let mut labels = vec![case.to_owned(), reading.subject.to_string()];
    let metric = match reading.series.as_str() {
        series::MEMORY_RSS_BYTES => &metrics::PROCESS_MEMORY,
        name => {
            labels.push(cpu_mode(name).filter(|mode| matches!(*mode, "user" | "system"))?.to_owned());
            &metrics::PROCESS_CPU
        }
    };
    Some(LiveValue { metric, labels, value: reading.value })
}

fn of_host(reading: &ProbeReading) -> Option<LiveValue> {
    if reading.subject != Subject::Host {
        return None;
    }
    let (metric, label) = match reading.series.as_str() {
        series::MEMORY_AVAILABLE_BYTES => (&metrics::HOST_MEMORY_AVAILABLE, None),
        series::DISK_READ_BYTES_TOTAL => (&metrics::HOST_DISK, Some("read")),
        series::DISK_WRITE_BYTES_TOTAL => (&metrics::HOST_DISK, Some("write")),
        series::NET_RECEIVE_BYTES_TOTAL => (&metrics::HOST_NETWORK, Some("receive")),
        series::NET_TRANSMIT_BYTES_TOTAL => (&metrics::HOST_NETWORK, Some("send")),
        name => (&metrics::HOST_CPU, Some(cpu_mode(name)?)),
    };
    Some(LiveValue { metric, labels: label.map(str::to_owned).into_iter().collect(), value: reading.value })
}

fn cpu_mode(name: &str) -> Option<&'static str> {
    Some(match name {
        series::CPU_USER_S_TOTAL => "user",
        series::CPU_SYSTEM_S_TOTAL => "system",
        series::CPU_IOWAIT_S_TOTAL => "iowait",
        series::CPU_STEAL_S_TOTAL => "steal",
        series::CPU_IDLE_S_TOTAL => "idle",
        _ => return None,
    })
}
