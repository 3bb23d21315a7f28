//! Metrics of brokers from a Prometheus server: instant queries for what it scraped within the last minute, with the
//! instants at which it did. These are by its clock, so that is compared with this host's at each reading.

use super::http::Http;
use super::names::{NamedValue, ProcessMetrics};
use super::text::{SeriesLine, number};
use kdyno_model::event::Subject;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

/// The query for its clock, s since 1970.
const CLOCK: &str = "time()";
/// Longest answer to it.
const CLOCK_BYTES_MAX: u64 = 64 << 10;
/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// Metrics of all topics and partitions without labels for them, at the brokers' hosts. Names in either form of the
/// exporters'.
const NAMES: &str = "(?i:kafka_(server_brokertopicmetrics|server_replicamanager|server_kafkarequesthandlerpool|\
    server_delayedoperationpurgatory|server_socket_server_metrics_io_wait|network_requestmetrics|network_socketserver|\
    controller_kafkacontroller|log_logflushstats).*)|process_cpu_seconds_total|jvm_memory_used_bytes|jvm_memory_bytes_used";
/// Longest quotation of an error of its own.
const QUOTED_CHARACTERS_MAX: usize = 200;

/// Which broker is at which host, and up to when its metrics have been read.
#[derive(Debug)]
pub(super) struct PrometheusServer {
    url: String,
    query: String,
    brokers: BTreeMap<String, Subject>,
    read_to_ms: BTreeMap<Subject, u64>,
}

/// What the server had scraped of one broker at one instant, ms since 1970 by this host's clock.
pub(super) type Scraped = (Subject, u64, Vec<NamedValue>);

#[derive(Deserialize)]
struct QueryResponse {
    data: Option<QueryData>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct QueryData {
    result: Vec<PrometheusSeries>,
}

#[derive(Deserialize)]
struct ClockAnswer {
    data: ServerTime,
}

#[derive(Deserialize)]
struct ServerTime {
    result: Instant,
}

/// When the query was evaluated, and its value, which is the same.
#[derive(Deserialize)]
#[serde(untagged)]
enum Instant {
    Scalar((f64, String)),
    /// As VictoriaMetrics answers every query.
    Vector([InstantSample; 1]),
}

#[derive(Deserialize)]
struct InstantSample {
    value: (f64, String),
}

#[derive(Deserialize)]
struct PrometheusSeries {
    metric: BTreeMap<String, String>,
    values: Vec<(f64, String)>,
}

impl PrometheusServer {
    pub(super) fn new(url: &str, brokers: BTreeMap<String, Subject>) -> Self {
        let hosts: Vec<String> = brokers.keys().map(|host| escaped(host)).collect();
        // A regular expression in quotes: both have backslashes of their own.
        let instances = format!("\\\\[?({})\\\\]?(:[0-9]+)?", hosts.join("|"));
        let query =
            format!("{{__name__=~\"{NAMES}\",topic=\"\",partition=\"\",instance=~\"{instances}\"}}[1m]");
        Self {
            url: format!("{}/api/v1/query", url.trim_end_matches('/')),
            query,
            brokers,
            read_to_ms: BTreeMap::new(),
        }
    }

    /// What was scraped since the last time.
    ///
    /// # Errors
    /// It has no answer, or not of these brokers: one lowercase clause.
    pub(super) fn read(&mut self, http: &Http) -> Result<Vec<Scraped>, String> {
        // If a server does not report its clock the instants are taken as they are.
        let ahead_ms = self.ahead_ms(http).unwrap_or(0);
        let text = self.answer(http, &self.query, ANSWER_BYTES_MAX)?;
        let mut scraped = self.take(&text)?;
        scraped.iter_mut().for_each(|(_, at_ms, _)| *at_ms = at_ms.saturating_add_signed(-ahead_ms));
        Ok(scraped)
    }

    fn answer(&self, http: &Http, query: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        http.get(&self.url, &[("query", query)])?
            .take(bytes_max + 1)
            .read_to_end(&mut text)
            .map_err(|error| format!("the answer broke off: {error}"))?;
        Ok(text)
    }

    /// By how much its clock is ahead of this host's, ms: off by half the time that its answer takes at most.
    fn ahead_ms(&self, http: &Http) -> Result<i64, String> {
        let asked_ms = now_ms();
        let text = self.answer(http, CLOCK, CLOCK_BYTES_MAX)?;
        let answered_ms = now_ms();
        let clock_ms_of_text = clock_ms(&text)?;
        Ok(clock_ms_of_text.cast_signed().saturating_sub(asked_ms.midpoint(answered_ms).cast_signed()))
    }

    fn take(&mut self, text: &[u8]) -> Result<Vec<Scraped>, String> {
        if text.len() as u64 > ANSWER_BYTES_MAX {
            return Err(format!("the answer is longer than {} MiB", ANSWER_BYTES_MAX >> 20));
        }
        let answer: QueryResponse = serde_json::from_slice(text)
            .map_err(|error| format!("the answer is none of a Prometheus server's query API: {error}"))?;
        if let Some(error) = answer.error {
            let error: String =
                error.chars().take(QUOTED_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
            return Err(format!("the Prometheus server refuses the query: {error}"));
        }
        let rows = answer.data.map(|data| data.result).unwrap_or_default();
        // Other programs at the same host expose their processes too.
        let of_kafka: BTreeSet<&str> = rows
            .iter()
            .filter(|row| label(row, "__name__").starts_with("kafka_"))
            .map(|row| label(row, "instance"))
            .collect();
        let mut reported: BTreeMap<(Subject, u64), ProcessMetrics> = BTreeMap::new();
        let mut is_any = false;
        for row in rows.iter().filter(|row| of_kafka.contains(label(row, "instance"))) {
            let Some(subject) = self.brokers.get(host_of(label(row, "instance"))) else { continue };
            is_any = true;
            let name = label(row, "__name__");
            let labels: Vec<_> = row
                .metric
                .iter()
                .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
                .collect();
            let read_to_ms = self.read_to_ms.get(subject).copied().unwrap_or(0);
            for (at_s, value) in &row.values {
                let at_ms = (at_s * 1e3) as u64;
                if let Some(value) = number(value).filter(|_| at_ms > read_to_ms) {
                    let one = SeriesLine { name, labels: labels.clone(), value };
                    reported.entry((subject.clone(), at_ms)).or_default().take(&one);
                }
            }
        }
        if !is_any {
            return Err("the Prometheus server has none of Kafka's metrics with an `instance` at a host of the brokers".to_string());
        }
        for (subject, at_ms) in reported.keys() {
            self.read_to_ms.insert(subject.clone(), *at_ms);
        }
        Ok(reported
            .into_iter()
            .map(|((subject, at_ms), reported)| (subject, at_ms, reported.values(false)))
            .collect())
    }
}

/// The server's clock, ms since 1970.
fn clock_ms(text: &[u8]) -> Result<u64, String> {
    let wrong = "the Prometheus server does not report its clock (`time()`)";
    let answer: ClockAnswer = serde_json::from_slice(text).map_err(|error| format!("{wrong}: {error}"))?;
    let (Instant::Scalar(reported) | Instant::Vector([InstantSample { value: reported }])) =
        answer.data.result;
    let seconds = number(&reported.1).filter(|seconds| (0.0..1e11).contains(seconds));
    seconds.map(|seconds| (seconds * 1e3) as u64).ok_or_else(|| wrong.to_string())
}

/// This host's, ms since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn label<'a>(row: &'a PrometheusSeries, name: &str) -> &'a str {
    row.metric.get(name).map_or("", String::as_str)
}

/// `b1.example` of `b1.example:9404`; an IPv6 address without its brackets.
fn host_of(instance: &str) -> &str {
    match instance.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => instance.rsplit_once(':').map_or(instance, |(host, _)| host),
    }
}

/// The text for itself as a regular expression in quotes.
fn escaped(host: &str) -> String {
    let one =
        |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_string() } else { format!("\\\\{c}") };
    host.chars().filter(|c| !matches!(c, '"' | '\\' | '\n')).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::sample::series;
    use proptest::prelude::*;

    fn server() -> PrometheusServer {
        let brokers = [("b0.example", 0), ("b1.example", 1)];
        let brokers = brokers.map(|(host, id)| (host.to_owned(), Subject::Broker(id)));
        PrometheusServer::new("https://prometheus.example/", brokers.into())
    }

    fn row(name: &str, instance: &str, labels: &str, values: &str) -> String {
        format!(
            "{{\"metric\":{{\"__name__\":\"{name}\",\"instance\":\"{instance}\"{labels}}},\"values\":[{values}]}}"
        )
    }

    fn answer(rows: &[String]) -> String {
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}",
            rows.join(",")
        )
    }

    #[test]
    fn each_scrape_is_reported_once_with_its_instant() {
        let bytes = ",\"name\":\"BytesInPerSec\",\"job\":\"kafka\"";
        let count = "kafka_server_BrokerTopicMetrics_Count";
        let text = answer(&[
            row(count, "b0.example:7071", bytes, "[1700000000.5,\"10\"],[1700000015.5,\"25\"]"),
            row(count, "b1.example:7071", bytes, "[1700000001,\"7\"]"),
            row("process_cpu_seconds_total", "b0.example:7071", "", "[1700000000.5,\"3\"]"),
            row("process_cpu_seconds_total", "b0.example:9100", "", "[1700000000.5,\"99\"]"),
            row(count, "else.example:7071", bytes, "[1700000001,\"8\"]"),
        ]);
        let mut server = server();
        let found = server.take(text.as_bytes()).expect("an answer");
        let bytes = |value: f64| (series::BYTES_IN_TOTAL.to_owned(), value);
        let cpu = (series::PROCESS_CPU_S_TOTAL.to_owned(), 3.0);
        assert_eq!(
            found,
            [
                (Subject::Broker(0), 1_700_000_000_500, vec![bytes(10.0), cpu]),
                (Subject::Broker(0), 1_700_000_015_500, vec![bytes(25.0)]),
                (Subject::Broker(1), 1_700_000_001_000, vec![bytes(7.0)]),
            ]
        );
        assert_eq!(server.take(text.as_bytes()).expect("the same"), []);
    }

    #[test]
    fn a_clock_is_read_and_an_invalid_one_is_reported() {
        let scalar = |value: &str| {
            format!(
                "{{\"status\":\"success\",\"data\":{{\"resultType\":\"scalar\",\"result\":[1,\"{value}\"]}}}}"
            )
        };
        assert_eq!(clock_ms(scalar("1700000000.25").as_bytes()), Ok(1_700_000_000_250));
        for text in [scalar("NaN"), scalar("-1"), scalar("1e300"), answer(&[]), "<html>".to_owned()] {
            let reported = clock_ms(text.as_bytes()).expect_err(&text);
            assert!(reported.starts_with("the Prometheus server does not report its clock"), "{reported}");
        }
    }

    #[test]
    fn an_invalid_answer_is_reported() {
        for (text, part) in [
            ("<html>", "none of a Prometheus server's query API"),
            ("{\"status\":\"error\",\"error\":\"parse error\"}", "refuses the query: parse error"),
            (answer(&[]).as_str(), "none of Kafka's metrics"),
            (answer(&[row("kafka_x", "else.example:1", "", "")]).as_str(), "none of Kafka's metrics"),
        ] {
            let reported = server().take(text.as_bytes()).expect_err(text);
            assert!(reported.contains(part), "{reported}");
        }
    }

    #[test]
    fn the_query_names_hosts_as_they_are() {
        let server = server();
        assert_eq!(server.url, "https://prometheus.example/api/v1/query");
        assert!(server.query.contains("(b0\\\\.example|b1\\\\.example)"), "{}", server.query);
        assert!(!escaped("a\"} or {b\\").contains(['"']), "no way out of the quotes");
        assert_eq!((host_of("[::1]:7071"), host_of("h"), host_of("h:1")), ("::1", "h", "h"));
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(value in "\\PC{0,10}", at in any::<f64>(), instance in "\\PC{0,10}") {
            let text = serde_json::json!({"data": {"result": [
                {"metric": {"__name__": "kafka_server_BrokerTopicMetrics_Count", "instance": instance, "name": value},
                 "values": [[at, value]]}]}});
            let _ = server().take(text.to_string().as_bytes());
        }
    }
}
