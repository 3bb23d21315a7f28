//! What a run exposes of itself while it goes on, for a monitoring system: names, meaning and units of the metrics of
//! `--metrics-listen`. Values are made by `analysis` from a trial's newest rows and put into text by `report`.

/// One number of a metric, with the labels that distinguish it from the others.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveValue {
    /// What it is.
    pub metric: &'static LiveMetric,
    /// Values of the metric's labels, in their order.
    pub labels: Vec<String>,
    /// The number, in the metric's unit.
    pub value: f64,
}

/// A metric of a run that goes on.
#[derive(Debug, PartialEq, Eq)]
pub struct LiveMetric {
    /// Name without unit and without `_total`.
    pub name: &'static str,
    /// The unit, which is part of the name; none for numbers of things.
    pub unit: Option<LiveUnit>,
    /// Whether it only grows.
    pub kind: LiveKind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

/// Whether a number only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// It only grows while the program runs; its series ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LiveUnit {
    Bytes,
    Seconds,
}

impl LiveUnit {
    /// The unit as it is in names.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
        }
    }
}

impl LiveMetric {
    /// The name of its series, as queries have it.
    #[must_use]
    pub fn series(&self) -> String {
        let unit = self.unit.map_or(String::new(), |unit| format!("_{}", unit.word()));
        let total = if self.kind == LiveKind::Counter { "_total" } else { "" };
        format!("{}{unit}{total}", self.name)
    }

    const fn counter(
        name: &'static str,
        unit: Option<LiveUnit>,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, unit, kind: LiveKind::Counter, labels, help }
    }

    const fn gauge(
        name: &'static str,
        unit: Option<LiveUnit>,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, unit, kind: LiveKind::Gauge, labels, help }
    }
}

/// The metrics, one after the other. `case` is the trial in words, empty where the plan has one.
#[allow(missing_docs)]
pub mod metrics {
    use super::LiveMetric;
    use super::LiveUnit::{Bytes, Seconds};

    pub static RUN_INFO: LiveMetric = LiveMetric::gauge(
        "kdyno_run_info",
        None,
        &["scenario", "version"],
        "Always 1: the scenario and kdyno's version",
    );
    pub static TRIAL: LiveMetric =
        LiveMetric::gauge("kdyno_trial", None, &["case"], "Number of the trial that runs");
    pub static TRIALS_PLANNED: LiveMetric = LiveMetric::gauge(
        "kdyno_trials_planned",
        None,
        &["case"],
        "Number of trials in all; absent where it follows from what they show",
    );
    pub static PHASE: LiveMetric = LiveMetric::gauge(
        "kdyno_phase",
        None,
        &["case", "phase"],
        "1 for the phase that the trial is in, 0 for all others",
    );
    pub static TRIAL_ELAPSED: LiveMetric = LiveMetric::gauge(
        "kdyno_trial_elapsed",
        Some(Seconds),
        &["case"],
        "Time since T0 of the trial that runs",
    );
    pub static RUN_REMAINING: LiveMetric = LiveMetric::gauge(
        "kdyno_run_remaining",
        Some(Seconds),
        &["case"],
        "Time to the end of the last measured window, as planned; absent where a number of records ends it",
    );
    pub static RECORDS_OFFERED: LiveMetric = LiveMetric::counter(
        "kdyno_records_offered",
        None,
        &["case", "item"],
        "Records whose scheduled send time has come",
    );
    pub static RECORDS_ACHIEVED: LiveMetric = LiveMetric::counter(
        "kdyno_records_achieved",
        None,
        &["case", "item"],
        "Records that the client accepted",
    );
    pub static RECORDS_ACKNOWLEDGED: LiveMetric = LiveMetric::counter(
        "kdyno_records_acknowledged",
        None,
        &["case", "item"],
        "Records that the cluster acknowledged",
    );
    pub static RECORDS_FAILED: LiveMetric = LiveMetric::counter(
        "kdyno_records_failed",
        None,
        &["case", "item", "reason"],
        "Records that will not be acknowledged, by reason; max-block and delivery-timeout are there from the beginning, a broker's error once it occurs",
    );
    pub static RECORDS_CONSUMED: LiveMetric = LiveMetric::counter(
        "kdyno_records_consumed",
        None,
        &["case", "item"],
        "Records consumed by applications",
    );
    pub static ACKNOWLEDGED_BYTES: LiveMetric = LiveMetric::counter(
        "kdyno_acknowledged",
        Some(Bytes),
        &["case", "item"],
        "Bytes of the values of acknowledged records",
    );
    pub static FETCHED_BYTES: LiveMetric = LiveMetric::counter(
        "kdyno_fetched",
        Some(Bytes),
        &["case", "item"],
        "Bytes of the record batches fetched, as on the wire",
    );
    pub static REQUESTS: LiveMetric = LiveMetric::counter(
        "kdyno_requests",
        None,
        &["case", "item"],
        "Produce requests of producers and fetch requests of consumers that were answered",
    );
    pub static BATCHES: LiveMetric =
        LiveMetric::counter("kdyno_batches", None, &["case", "item"], "Record batches in these requests");
    pub static BATCH_RETRIES: LiveMetric = LiveMetric::counter(
        "kdyno_batch_retries",
        None,
        &["case", "item"],
        "Record batches sent again, each time counted",
    );
    pub static THROTTLED: LiveMetric = LiveMetric::counter(
        "kdyno_throttled",
        Some(Seconds),
        &["case", "item"],
        "Time for which brokers held back answers, as their responses say",
    );
    pub static REBALANCES: LiveMetric = LiveMetric::counter(
        "kdyno_rebalances",
        None,
        &["case", "item"],
        "Rebalances of the consumer group that were over",
    );
    pub static LAG_RECORDS: LiveMetric = LiveMetric::gauge(
        "kdyno_lag_records",
        None,
        &["case", "item"],
        "Records between the consumers and the end of the log",
    );
    pub static RESPONSE: LiveMetric = LiveMetric::gauge(
        "kdyno_response",
        Some(Seconds),
        &["case", "item", "quantile"],
        "Response time, from the scheduled send time, of the records acknowledged in the newest whole second; no mean over time makes sense of it",
    );
    pub static PROCESS_CPU: LiveMetric = LiveMetric::counter(
        "kdyno_process_cpu",
        Some(Seconds),
        &["case", "process", "mode"],
        "CPU time since its start of a broker, controller, worker or Java client on this host, and of a process that \
         --probe names, with the case that runs",
    );
    pub static PROCESS_MEMORY: LiveMetric = LiveMetric::gauge(
        "kdyno_process_memory",
        Some(Bytes),
        &["case", "process"],
        "Resident memory of the same",
    );
    pub static HOST_CPU: LiveMetric = LiveMetric::counter(
        "kdyno_host_cpu",
        Some(Seconds),
        &["mode"],
        "CPU time of this host, all CPUs together",
    );
    pub static HOST_MEMORY_AVAILABLE: LiveMetric = LiveMetric::gauge(
        "kdyno_host_memory_available",
        Some(Bytes),
        &[],
        "Memory of this host that programs can still get",
    );
    pub static HOST_DISK: LiveMetric = LiveMetric::counter(
        "kdyno_host_disk",
        Some(Bytes),
        &["direction"],
        "Bytes read from and written to the drives of this host",
    );
    pub static HOST_NETWORK: LiveMetric = LiveMetric::counter(
        "kdyno_host_network",
        Some(Bytes),
        &["direction"],
        "Bytes received and sent over the network interfaces of this host, without loopback",
    );
}

/// All of them, in the order in which they are written.
pub static ALL: &[&LiveMetric] = &[
    &metrics::RUN_INFO,
    &metrics::TRIAL,
    &metrics::TRIALS_PLANNED,
    &metrics::PHASE,
    &metrics::TRIAL_ELAPSED,
    &metrics::RUN_REMAINING,
    &metrics::RECORDS_OFFERED,
    &metrics::RECORDS_ACHIEVED,
    &metrics::RECORDS_ACKNOWLEDGED,
    &metrics::RECORDS_FAILED,
    &metrics::RECORDS_CONSUMED,
    &metrics::ACKNOWLEDGED_BYTES,
    &metrics::FETCHED_BYTES,
    &metrics::REQUESTS,
    &metrics::BATCHES,
    &metrics::BATCH_RETRIES,
    &metrics::THROTTLED,
    &metrics::REBALANCES,
    &metrics::LAG_RECORDS,
    &metrics::RESPONSE,
    &metrics::PROCESS_CPU,
    &metrics::PROCESS_MEMORY,
    &metrics::HOST_CPU,
    &metrics::HOST_MEMORY_AVAILABLE,
    &metrics::HOST_DISK,
    &metrics::HOST_NETWORK,
];
