//! The state of a run, as OpenMetrics text (version 1.0.0).

use kdyno_model::live_metrics::{ALL, LiveKind, LiveMetric, LiveUnit, LiveValue};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// What an HTTP answer with this text has as `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text: each metric that has values with its meaning and unit, then its values as they are handed in.
#[must_use]
pub fn document(values: Vec<LiveValue>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(LiveCollector(values)));
    let mut document = String::new();
    // Writing into a string does not fail.
    let _ = text::encode(&mut document, &registry);
    document
}

#[derive(Debug)]
struct LiveCollector(Vec<LiveValue>);

impl Collector for LiveCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for metric in ALL.iter().copied() {
            let of_it = || self.0.iter().filter(|value| value.metric == metric);
            if of_it().next().is_none() {
                continue;
            }
            let unit = metric.unit.map(unit);
            let kind = match metric.kind {
                LiveKind::Counter => MetricType::Counter,
                LiveKind::Gauge => MetricType::Gauge,
            };
            let mut family = encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
            for value in of_it() {
                let labels = labels(metric, value);
                let encoder = family.encode_family(&labels)?;
                match metric.kind {
                    LiveKind::Counter => ConstCounter::new(value.value).encode(encoder)?,
                    LiveKind::Gauge => ConstGauge::new(value.value).encode(encoder)?,
                }
            }
        }
        Ok(())
    }
}

fn labels(metric: &LiveMetric, value: &LiveValue) -> Vec<(&'static str, String)> {
    metric.labels.iter().copied().zip(value.labels.iter().cloned()).collect()
}

fn unit(unit: LiveUnit) -> Unit {
    match unit {
        LiveUnit::Bytes => Unit::Bytes,
        LiveUnit::Seconds => Unit::Seconds,
    }
}
