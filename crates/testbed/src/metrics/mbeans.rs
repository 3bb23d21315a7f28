//! Attributes of MBeans that a plan names: each is exposed as a metric of its own, called by its place in the plan.

use super::names::{NamedValue, ProcessMetrics};
use super::text::SeriesLine;
use kdyno_model::mbean::{MBEAN, MbeanAttribute};
use std::borrow::Cow;

const METRIC: &str = "kdyno_mbean_";

/// How the one at a place of the plan is called.
pub(crate) fn metric(place: usize) -> String {
    format!("{METRIC}{place}")
}

/// Whether a metric is one of them.
pub(super) fn is_asked(name: &str) -> bool {
    name.starts_with(METRIC)
}

/// The reading that comes of a line, if it is of one of these. What is read anyway is taken by its rule, so it is handed on in
/// the form that it has without.
pub(super) fn take(
    mbeans: &[String],
    one: &SeriesLine<'_>,
    reported: &mut ProcessMetrics,
) -> Option<NamedValue> {
    let place: usize = one.name.strip_prefix(METRIC)?.parse().ok()?;
    let text = mbeans.get(place).filter(|_| one.value.is_finite())?;
    if let Some((name, labels)) = MbeanAttribute::parse(text).ok().and_then(|of| default_form(&of)) {
        reported.take(&SeriesLine { name: &name, labels, value: one.value });
    }
    Some((format!("{MBEAN}{text}"), one.value))
}

/// Name and labels in the agent's default form.
type DefaultForm<'t> = (String, Vec<(&'t str, Cow<'t, str>)>);

/// Kafka registers the type of an object first.
fn default_form<'t>(of: &MbeanAttribute<'t>) -> Option<DefaultForm<'t>> {
    let (types, others): (Vec<_>, Vec<_>) =
        of.object.properties.iter().copied().partition(|(key, _)| *key == "type");
    let [(_, kind)] = types.as_slice() else { return None };
    let name = format!("{}_{kind}_{}", of.object.domain, of.attribute);
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    Some((name, others.into_iter().map(|(key, value)| (key, Cow::Borrowed(value))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::sample::series;

    #[test]
    fn what_is_read_anyway_is_a_reading_under_both_names() {
        let mbeans = [
            "kafka.server:name=MessagesInPerSec,type=BrokerTopicMetrics/Count",
            "kafka.server:type=ReplicaManager,name=LeaderCount/Value",
            "kafka.server:type=socket-server-metrics,listener=L,networkProcessor=1/io-wait-time-ns-total",
        ];
        let mbeans = mbeans.map(str::to_owned);
        let mut reported = ProcessMetrics::default();
        let line = |name, value| SeriesLine { name, labels: Vec::new(), value };
        let mut read = |name, value| take(&mbeans, &line(name, value), &mut reported);
        assert_eq!(read("kdyno_mbean_0", 7.0), Some((format!("mbean:{}", mbeans[0]), 7.0)));
        assert_eq!(read("kdyno_mbean_1", 3.0), Some((format!("mbean:{}", mbeans[1]), 3.0)));
        assert!(read("kdyno_mbean_2", 2e9).is_some());
        assert_eq!(read("kdyno_mbean_3", 1.0), None);
        assert_eq!(read("kdyno_mbean_1", f64::NAN), None);
        assert_eq!(read("kafka_server_ReplicaManager_Value", 1.0), None);
        let values = reported.values(false);
        let expected = [
            (series::MESSAGES_IN_TOTAL.to_owned(), 7.0),
            ("network_processor_idle_s_total.L".to_owned(), 2.0),
        ];
        assert_eq!(values, expected);
    }
}
