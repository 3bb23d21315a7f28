//! From the names under which exporters expose Kafka's metrics to the series of probes.
//!
//! Two forms are known. The JMX exporter's default form, which brokers of kdyno's own and MSK's open monitoring have, keeps the
//! names of object and attribute: `kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec"}`. The other one, of Strimzi and of
//! the exporter's example rules, has all of them in the name: `kafka_server_brokertopicmetrics_bytesin_total`.

use super::text::SeriesLine;
use kdyno_model::inside::{RequestKind, RequestStage};
use kdyno_model::sample::series;
use std::collections::BTreeMap;

/// What a reading is called, and its value.
pub(super) type NamedValue = (String, f64);

const MS_PER_S: f64 = 1e3;
const NS_PER_S: f64 = 1e9;

/// Most listeners that are distinguished.
const LISTENERS_MAX: usize = 16;
/// Longest name of a listener that is kept.
const LISTENER_CHARACTERS_MAX: usize = 64;

/// Names of objects with neither `PerSec` nor `Percent` at their end, in small letters, under the parts before them.
const COUNTS: [(&str, &str, &str); 5] = [
    ("server_brokertopicmetrics", "bytesin", series::BYTES_IN_TOTAL),
    ("server_brokertopicmetrics", "bytesout", series::BYTES_OUT_TOTAL),
    ("server_brokertopicmetrics", "messagesin", series::MESSAGES_IN_TOTAL),
    ("server_replicamanager", "isrshrinks", series::ISR_SHRINKS_TOTAL),
    ("server_replicamanager", "isrexpands", series::ISR_EXPANDS_TOTAL),
];
const GAUGES: [(&str, &str, &str); 3] = [
    ("server_replicamanager", "underreplicatedpartitions", series::UNDER_REPLICATED_PARTITIONS),
    ("controller_kafkacontroller", "offlinepartitionscount", series::OFFLINE_PARTITIONS),
    ("network_socketserver", "networkprocessoravgidle", series::NETWORK_PROCESSOR_IDLE_SHARE),
];
const HANDLERS: &str = "server_kafkarequesthandlerpool";
const HANDLERS_IDLE: &str = "requesthandleravgidle";
const BROKERS_HANDLERS_IDLE: &str = "brokerrequesthandleravgidle";
const REQUESTS: &str = "network_requestmetrics";
const PURGATORIES: &str = "server_delayedoperationpurgatory";
const PURGATORY_SIZE: &str = "purgatorysize";
const FLUSHES: &str = "log_logflushstats";
const FLUSH: &str = "logflushrateandtimems";
const NETWORK_IDLE: [&str; 2] = [
    "kafka_server_socket_server_metrics_io_wait_time_ns_total",
    "kafka_server_socket_server_metrics_io_waittime_total",
];
const PROCESS_CPU: &str = "process_cpu_seconds_total";
const HEAP: [&str; 2] = ["jvm_memory_used_bytes", "jvm_memory_bytes_used"];

/// The names that are read from the agent of a broker of our own; without what it would also expose of the JVM, some of
/// which stops all threads, and without its CPU time, which the probes read.
pub(super) const OF_AGENT: [&str; 13] = [
    "kafka_server_BrokerTopicMetrics_Count",
    "kafka_server_ReplicaManager_Count",
    "kafka_server_ReplicaManager_Value",
    "kafka_server_KafkaRequestHandlerPool_Count",
    "kafka_server_DelayedOperationPurgatory_Value",
    NETWORK_IDLE[0],
    NETWORK_IDLE[1],
    "kafka_network_RequestMetrics_Count",
    "kafka_network_RequestMetrics_Mean",
    "kafka_controller_KafkaController_Value",
    "kafka_log_LogFlushStats_Count",
    "kafka_log_LogFlushStats_Mean",
    HEAP[0],
];
/// What an exporter is asked for in addition to these, since its broker may be on another host.
pub(super) const OF_EXPORTER: &str = PROCESS_CPU;

/// Whether a metric of this name may be one of those that are read.
pub(super) fn is_asked(name: &str) -> bool {
    const OBJECTS: [&str; 6] =
        ["server_brokertopicmetrics", "server_replicamanager", HANDLERS, REQUESTS, PURGATORIES, FLUSHES];
    if name == PROCESS_CPU || HEAP.contains(&name) || NETWORK_IDLE.contains(&name) {
        return true;
    }
    let Some(object) = name.strip_prefix("kafka_") else { return false };
    let begins =
        |known: &str| object.get(..known.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(known));
    OBJECTS.iter().chain(&[GAUGES[1].0, GAUGES[2].0]).any(|known| begins(known))
}

/// An attribute of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Attribute {
    Count,
    Mean,
    Value,
}

/// What one process exposes of itself, as far as it is read.
#[derive(Debug, Default)]
pub(super) struct ProcessMetrics {
    /// Values that are readings as they are.
    plain: BTreeMap<&'static str, f64>,
    requests: BTreeMap<(RequestKind, RequestStage, Attribute), f64>,
    flushes: BTreeMap<Attribute, f64>,
    /// Idle time of request handlers, ns: of all pools, and of the broker's own.
    handlers_idle_ns: [Option<f64>; 2],
    /// Idle time of the network processors of each listener, ns, under each of the two names.
    network_idle_ns: BTreeMap<(String, usize), Vec<f64>>,
}

impl ProcessMetrics {
    /// Takes what is one of those that are read.
    pub(super) fn take(&mut self, one: &SeriesLine<'_>) {
        if !one.value.is_finite() {
            return;
        }
        if one.name == PROCESS_CPU {
            self.plain.insert(series::PROCESS_CPU_S_TOTAL, one.value);
        } else if HEAP.contains(&one.name) {
            if one.label("area") == Some("heap") {
                self.plain.insert(series::HEAP_USED_BYTES, one.value);
            }
        } else if let Some(name) = NETWORK_IDLE.iter().position(|name| *name == one.name) {
            self.take_network(one, name);
        } else if one.label("topic").is_none() && one.label("partition").is_none() {
            let Some((object, name, attribute)) = parts(one) else { return };
            self.take_object(&object, &name, attribute, one);
        }
    }

    fn take_network(&mut self, one: &SeriesLine<'_>, name: usize) {
        let Some(listener) = one.label("listener") else { return };
        let listener: String = listener.chars().take(LISTENER_CHARACTERS_MAX).collect();
        let key = (listener, name);
        if self.network_idle_ns.len() < 2 * LISTENERS_MAX || self.network_idle_ns.contains_key(&key) {
            self.network_idle_ns.entry(key).or_default().push(one.value);
        }
    }

    fn take_object(&mut self, object: &str, name: &str, attribute: Attribute, one: &SeriesLine<'_>) {
        let found = |of: &(&str, &str, &str)| of.0 == object && of.1 == name;
        match attribute {
            Attribute::Count => {
                if let Some((.., series)) = COUNTS.iter().find(|of| found(of)) {
                    self.plain.insert(series, one.value);
                }
                if object == HANDLERS {
                    let pools = [HANDLERS_IDLE, BROKERS_HANDLERS_IDLE];
                    if let Some(pool) = pools.iter().position(|pool| *pool == name) {
                        self.handlers_idle_ns[pool] = Some(one.value);
                    }
                }
            }
            Attribute::Value => {
                if let Some((.., series)) = GAUGES.iter().find(|of| found(of)) {
                    self.plain.insert(series, one.value);
                }
                if object == PURGATORIES && name == PURGATORY_SIZE {
                    let series = match one.label("delayedOperation") {
                        Some("Produce") => series::PRODUCE_PURGATORY,
                        Some("Fetch") => series::FETCH_PURGATORY,
                        _ => return,
                    };
                    self.plain.insert(series, one.value);
                }
            }
            Attribute::Mean => {}
        }
        if object == FLUSHES && name == FLUSH {
            self.flushes.insert(attribute, one.value);
        }
        if object == REQUESTS {
            let kind = RequestKind::all().find(|kind| one.label("request") == Some(kind.kafka_name()));
            let stage = RequestStage::all().find(|stage| stage.kafka_name().eq_ignore_ascii_case(name));
            if let Some((kind, stage)) = kind.zip(stage) {
                self.requests.insert((kind, stage, attribute), one.value);
            }
        }
    }

    /// The readings that come of it. `counts_controller`: the request handlers of a controller in the same process are counted
    /// with the broker's.
    pub(super) fn values(self, counts_controller: bool) -> Vec<NamedValue> {
        let mut values: Vec<NamedValue> =
            self.plain.iter().map(|(series, value)| ((*series).to_owned(), *value)).collect();
        for kind in RequestKind::all() {
            for stage in RequestStage::all() {
                let of = |attribute| self.requests.get(&(kind, stage, attribute)).copied();
                if let Some(count) = of(Attribute::Count).filter(|_| stage == RequestStage::Total) {
                    values.push((format!("{}{kind}", series::REQUESTS_TOTAL_OF), count));
                }
                if let Some((count, mean_ms)) = of(Attribute::Count).zip(of(Attribute::Mean)) {
                    // The mean is over the process's whole life: times the count it is a sum.
                    let name = format!("{}{kind}.{stage}", series::REQUEST_S_TOTAL_OF);
                    values.push((name, count * mean_ms / MS_PER_S));
                }
            }
        }
        let flushes = |attribute| self.flushes.get(&attribute).copied();
        if let Some(count) = flushes(Attribute::Count) {
            values.push((series::LOG_FLUSHES_TOTAL.to_owned(), count));
            let mean_ms = flushes(Attribute::Mean);
            values.extend(
                mean_ms.map(|mean_ms| (series::LOG_FLUSH_S_TOTAL.to_owned(), count * mean_ms / MS_PER_S)),
            );
        }
        let idle = match self.handlers_idle_ns {
            [_, Some(own_ns)] => Some((series::REQUEST_HANDLER_IDLE_S_TOTAL, own_ns)),
            [Some(both_ns), None] if counts_controller => {
                Some((series::REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH, both_ns))
            }
            [Some(all_ns), None] => Some((series::REQUEST_HANDLER_IDLE_S_TOTAL, all_ns)),
            [None, None] => None,
        };
        values.extend(idle.map(|(series, ns)| (series.to_owned(), ns / NS_PER_S)));
        for ((listener, name), idle_ns) in &self.network_idle_ns {
            // A release that has both names has the same value under each.
            if *name == 0 || !self.network_idle_ns.contains_key(&(listener.clone(), 0)) {
                let mean_ns = idle_ns.iter().sum::<f64>() / idle_ns.len() as f64;
                let series = format!("{}{listener}", series::NETWORK_PROCESSOR_IDLE_S_TOTAL_OF);
                values.push((series, mean_ns / NS_PER_S));
            }
        }
        values
    }
}

/// Object, name and attribute of a series of Kafka's, in small letters, without `PerSec` and `Percent` at the name's end.
fn parts(one: &SeriesLine<'_>) -> Option<(String, String, Attribute)> {
    let all = one.name.strip_prefix("kafka_")?.to_ascii_lowercase();
    let bare = |name: &str| {
        let end = ["persec", "percent"].iter().find_map(|end| name.strip_suffix(end));
        end.unwrap_or(name).to_owned()
    };
    if let Some(name) = one.label("name") {
        let (object, attribute) = all.rsplit_once('_')?;
        let attribute = match attribute {
            "count" => Attribute::Count,
            "mean" => Attribute::Mean,
            "value" => Attribute::Value,
            _ => return None,
        };
        return Some((object.to_owned(), bare(&name.to_ascii_lowercase()), attribute));
    }
    let (name, attribute) = if let Some(name) = all.strip_suffix("_total") {
        (name.strip_suffix("_count").unwrap_or(name), Attribute::Count)
    } else if let Some(name) = all.strip_suffix("_count") {
        (name, Attribute::Count)
    } else if let Some(name) = all.strip_suffix("_mean") {
        (name, Attribute::Mean)
    } else {
        (
            ["_percent", "_value"].iter().find_map(|end| all.strip_suffix(end)).unwrap_or(&all),
            Attribute::Value,
        )
    };
    let (object, name) = name.rsplit_once('_')?;
    Some((object.to_owned(), bare(name), attribute))
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    fn reported(answer: &str, counts_controller: bool) -> BTreeMap<String, f64> {
        let mut reported = ProcessMetrics::default();
        text::read(answer.as_bytes(), is_asked, |one| reported.take(one)).expect("a text");
        reported.values(counts_controller).into_iter().collect()
    }

    /// As the agent of a broker of our own exposes it, and MSK's open monitoring: the exporter's default form.
    const DEFAULT_FORM: &str = include_str!("default-form.txt");
    /// By Strimzi's example rules.
    const STRIMZI: &str = include_str!("strimzi.txt");

    #[test]
    fn the_default_form_exposes_every_series() {
        let found = reported(DEFAULT_FORM, false);
        for (series, value) in [
            (series::BYTES_IN_TOTAL, 10_998_035.0),
            (series::BYTES_OUT_TOTAL, 5.0e6),
            (series::MESSAGES_IN_TOTAL, 100_000.0),
            (series::ISR_SHRINKS_TOTAL, 1.0),
            (series::ISR_EXPANDS_TOTAL, 2.0),
            (series::UNDER_REPLICATED_PARTITIONS, 3.0),
            (series::OFFLINE_PARTITIONS, 4.0),
            (series::NETWORK_PROCESSOR_IDLE_SHARE, 0.75),
            (series::PRODUCE_PURGATORY, 7.0),
            (series::FETCH_PURGATORY, 8.0),
            (series::PROCESS_CPU_S_TOTAL, 6.43),
            (series::HEAP_USED_BYTES, 185_608_792.0),
            (series::LOG_FLUSHES_TOTAL, 12.0),
            ("log_flush_s_total", 0.036),
            ("requests_total.produce", 678.0),
            ("request_s_total.produce.total", 678.0 * 1.75 / 1e3),
            ("request_s_total.produce.local", 678.0 * 0.5 / 1e3),
            ("requests_total.fetch", 40.0),
            ("requests_total.follower_fetch", 50.0),
            ("request_handler_idle_s_total", 2.5),
            ("network_processor_idle_s_total.CLIENTS", 2.0),
            ("network_processor_idle_s_total.CONTROLLER", 3.0),
        ] {
            let reported = found.get(series).copied();
            assert!(
                reported.is_some_and(|reported| (reported - value).abs() < 1e-9 * value),
                "{series}: {reported:?}"
            );
        }
        assert_eq!(found.len(), 22, "nothing of single topics and other requests: {found:?}");
    }

    #[test]
    fn the_form_of_strimzi_exposes_what_its_rules_keep() {
        let found = reported(STRIMZI, false);
        for (series, value) in [
            (series::BYTES_IN_TOTAL, 10_998_035.0),
            (series::ISR_SHRINKS_TOTAL, 1.0),
            (series::UNDER_REPLICATED_PARTITIONS, 3.0),
            (series::OFFLINE_PARTITIONS, 4.0),
            (series::NETWORK_PROCESSOR_IDLE_SHARE, 0.75),
            (series::PRODUCE_PURGATORY, 7.0),
            (series::LOG_FLUSHES_TOTAL, 12.0),
            (series::REQUEST_HANDLER_IDLE_S_TOTAL, 2.5),
            (series::PROCESS_CPU_S_TOTAL, 6.43),
            (series::HEAP_USED_BYTES, 185_608_792.0),
        ] {
            assert_eq!(found.get(series).copied(), Some(value), "{series}");
        }
        assert_eq!(found.len(), 10, "{found:?}");
    }

    #[test]
    fn controller_handlers_are_separated_where_kafka_separates_them() {
        let pool = |name: &str, ns: f64| {
            format!("kafka_server_KafkaRequestHandlerPool_Count{{name=\"{name}\"}} {ns:e}\n")
        };
        let all = pool("RequestHandlerAvgIdlePercent", 4e9);
        let own = pool("BrokerRequestHandlerAvgIdlePercent", 2e9);
        let of = |answer: &str, series: &str| reported(answer, true).get(series).copied();
        assert_eq!(of(&all, series::REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH), Some(4.0));
        assert_eq!(of(&all, series::REQUEST_HANDLER_IDLE_S_TOTAL), None);
        let both = all + &own;
        assert_eq!(of(&both, series::REQUEST_HANDLER_IDLE_S_TOTAL), Some(2.0));
        assert_eq!(of(&both, series::REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH), None);
    }

    #[test]
    fn what_the_agent_is_asked_for_is_what_is_read() {
        assert!(OF_AGENT.iter().chain([&OF_EXPORTER]).all(|name| is_asked(name)));
        for other in [
            "kafka_server_Fetch_queue_size",
            "kafka_cluster_Partition_Value",
            "kafka_",
            "jvm_info",
            "kafké_a",
        ] {
            assert!(!is_asked(other), "{other}");
        }
    }
}
