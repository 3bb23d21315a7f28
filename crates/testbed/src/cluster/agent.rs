//! The Prometheus JMX agent in the brokers: which of their metrics it exposes, and how it is started.
//!
//! Reading costs the broker's CPU time. So the agent reads named objects alone, and of these only what is used: most of
//! its time went into metrics of network processors that were not used and into percentiles, for each of which a broker
//! copies and sorts a sample of 1,028 values.

use super::config::ConfigValues;
use super::network_processors;
use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::metrics::mbeans;
use kdyno_model::inside::{RequestKind, RequestStage};
use kdyno_model::mbean::{MbeanAttribute, ObjectName};
use kdyno_model::plan::{BrokerMetrics, ClusterPlan};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Name of the rules' file in a broker's folder.
const RULES_FILE: &str = "jmx-agent.yaml";

/// Attributes that a kind of metric has in addition to those that are read.
type UnreadAttributes = &'static [&'static [&'static str]];
const OF_METER: UnreadAttributes =
    &[&["EventType", "FifteenMinuteRate", "FiveMinuteRate", "MeanRate", "OneMinuteRate", "RateUnit"]];
const OF_HISTOGRAM: UnreadAttributes = &[&[
    "50thPercentile",
    "75thPercentile",
    "95thPercentile",
    "98thPercentile",
    "99thPercentile",
    "999thPercentile",
    "Max",
    "Min",
    "StdDev",
]];
const OF_TIMER: UnreadAttributes = &[OF_METER[0], OF_HISTOGRAM[0], &["LatencyUnit"]];
const OF_GAUGE: UnreadAttributes = &[];
/// Names of releases from 2.7 on; one that is not listed costs its reading and nothing else.
const OF_NETWORK_PROCESSOR: UnreadAttributes = &[&[
    "connection-close-rate",
    "connection-close-total",
    "connection-count",
    "connection-creation-rate",
    "connection-creation-total",
    "expired-connections-killed-count",
    "failed-authentication-rate",
    "failed-authentication-total",
    "failed-reauthentication-rate",
    "failed-reauthentication-total",
    "incoming-byte-rate",
    "incoming-byte-total",
    "io-ratio",
    "io-time-ns-avg",
    "io-time-ns-total",
    "io-wait-ratio",
    "io-wait-time-ns-avg",
    "iotime-total",
    "network-io-rate",
    "network-io-total",
    "outgoing-byte-rate",
    "outgoing-byte-total",
    "reauthentication-latency-avg",
    "reauthentication-latency-max",
    "request-rate",
    "request-size-avg",
    "request-size-max",
    "request-total",
    "response-rate",
    "response-total",
    "select-rate",
    "select-total",
    "successful-authentication-no-reauth-total",
    "successful-authentication-rate",
    "successful-authentication-total",
    "successful-reauthentication-rate",
    "successful-reauthentication-total",
]];

/// The objects other than those of requests and network processors, by Kafka's documented names (Kafka documentation,
/// Monitoring). Purgatories are named too: each counts what waits in it when it is asked.
const OBJECTS: [(&str, UnreadAttributes); 12] = [
    ("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", OF_METER),
    ("kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec", OF_METER),
    ("kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec", OF_METER),
    ("kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent", OF_METER),
    ("kafka.server:type=KafkaRequestHandlerPool,name=BrokerRequestHandlerAvgIdlePercent", OF_METER),
    ("kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", OF_GAUGE),
    ("kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", OF_METER),
    ("kafka.server:type=ReplicaManager,name=IsrExpandsPerSec", OF_METER),
    ("kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce", OF_GAUGE),
    ("kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Fetch", OF_GAUGE),
    ("kafka.controller:type=KafkaController,name=OfflinePartitionsCount", OF_GAUGE),
    ("kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs", OF_TIMER),
];

/// After the rules for attributes that the plan names. Values keep the names of object and attribute, which is the agent's
/// default form; from what goes on in a network processor two totals are kept; a release has one or both. What a rule said
/// of an attribute is kept (`cache`), so that no pattern is matched twice.
const RULES: &str = r#"  - pattern: "><>(Count|Mean|Value): "
    cache: true
  - pattern: "kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>io-wait-time-ns-total: "
    name: kafka_server_socket_server_metrics_io_wait_time_ns_total
    type: COUNTER
    labels: {listener: "$1", networkProcessor: "$2"}
    cache: true
  - pattern: "kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>io-waittime-total: "
    name: kafka_server_socket_server_metrics_io_waittime_total
    type: COUNTER
    labels: {listener: "$1", networkProcessor: "$2"}
    cache: true
"#;

/// The agent's configuration for brokers with an unknown number of network processors; `further` objects are read too, and
/// these attributes of MBeans.
pub(crate) fn configuration(further: &[&str], mbeans: &[String]) -> String {
    written(&[network_processors::ALL.to_owned()], further, mbeans)
}

/// That for a broker with these settings.
fn configuration_of(broker: &ConfigValues, mbeans: &[String]) -> String {
    let named = network_processors::of(broker);
    if named.is_empty() { configuration(&[], mbeans) } else { written(&named, &[], mbeans) }
}

fn written(network_processors: &[String], further: &[&str], mbeans: &[String]) -> String {
    // A plan has none that cannot be read.
    let mbeans: Vec<(usize, MbeanAttribute<'_>)> = (0..)
        .zip(mbeans)
        .filter_map(|(place, text)| Some((place, MbeanAttribute::parse(text).ok()?)))
        .collect();
    let of_request = |kind: RequestKind| {
        RequestStage::all().map(move |stage| {
            let (name, request) = (stage.kafka_name(), kind.kafka_name());
            (format!("kafka.network:type=RequestMetrics,name={name},request={request}"), OF_HISTOGRAM)
        })
    };
    let named = OBJECTS.iter().map(|(object, unread)| ((*object).to_owned(), *unread));
    let processors = network_processors.iter().map(|object| (object.clone(), OF_NETWORK_PROCESSOR));
    let further = further.iter().map(|object| ((*object).to_owned(), OF_GAUGE));
    let of_plan = mbeans.iter().map(|(_, one)| (one.object.text.to_owned(), OF_GAUGE));
    let objects: Vec<(String, UnreadAttributes)> = named
        .chain(processors)
        .chain(RequestKind::all().flat_map(of_request))
        .chain(further)
        .chain(of_plan)
        .collect();
    let is_named = |object: &str, attribute: &str| {
        let is_it = |one: &MbeanAttribute<'_>| {
            one.attribute == attribute && ObjectName::parse(object).is_ok_and(|object| object == one.object)
        };
        mbeans.iter().any(|(_, one)| is_it(one))
    };
    let (mut asked, mut left_out) = (String::new(), String::new());
    for (object, unread) in objects {
        let _ = writeln!(asked, "  - \"{object}\"");
        // The agent compares whole names: none has a star.
        if !unread.is_empty() && !object.contains('*') {
            let unread = unread.concat().into_iter().filter(|one| !is_named(&object, one));
            let unread: Vec<String> = unread.map(|one| format!("\"{one}\"")).collect();
            let _ = writeln!(left_out, "  \"{object}\": [{}]", unread.join(", "));
        }
    }
    let rules: String = mbeans.iter().map(|(place, one)| rule(*place, one)).collect();
    format!("includeObjectNames:\n{asked}excludeObjectNameAttributes:\n{left_out}rules:\n{rules}{RULES}")
}

/// The rule that names an attribute by its place in the plan. The agent has an object's properties in the order in which the
/// broker registered it, so that each is looked for by itself. It looks for a pattern anywhere: without `^` one of
/// `server` would also be found in `kafka.server`.
fn rule(place: usize, of: &MbeanAttribute<'_>) -> String {
    let plain = |text: &str| {
        let escaped = |c: char| if c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") };
        text.chars().map(escaped).collect::<String>()
    };
    let property = |(key, value): &(&str, &str)| format!("(?=(?:.*, )?{}={}[,>])", plain(key), plain(value));
    let properties: String = of.object.properties.iter().map(property).collect();
    let more = of.object.properties.len().saturating_sub(1);
    let (composite, attribute) = of.attribute.split_once('.').unwrap_or(("", of.attribute));
    let pattern = format!(
        "^{}<{properties}[^,>]*(?:, [^,>]*){{{more}}}><{}>{}: ",
        plain(of.object.domain),
        plain(composite),
        plain(attribute)
    );
    // Text of others is written as JSON has it, which YAML reads.
    let pattern = serde_json::Value::from(pattern);
    format!("  - pattern: {pattern}\n    name: {}\n    type: GAUGE\n    cache: true\n", mbeans::metric(place))
}

/// Where the agent lies, or why brokers run without it.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    jar: Result<PathBuf, String>,
}

impl Agent {
    /// Fetches it where the plan wants it; looks for it once for all clusters of an environment. That it cannot be had stops
    /// nothing.
    pub(super) fn provide(plan: &ClusterPlan, environment: &Environment, progress: &dyn Fn(&str)) -> Self {
        if plan.metrics == BrokerMetrics::None {
            return Self { jar: Err("the scenario wants none".to_string()) };
        }
        let look = || {
            download::metrics_agent(environment, progress).map_err(|error: TestbedError| error.to_string())
        };
        let jar = environment.metrics_agent.get_or_init(look).clone();
        // The JVM takes everything behind the first `=` for the agent's own.
        let is_usable = |jar: &Path| !jar.to_string_lossy().contains('=');
        Self {
            jar: jar.and_then(|jar| match is_usable(&jar) {
                true => Ok(jar),
                false => {
                    Err(format!("a JVM takes no agent from {}, for there is a `=` in it", jar.display()))
                }
            }),
        }
    }

    /// Why the brokers run without it although the plan wants it.
    pub(super) fn missing(&self, plan: &ClusterPlan) -> Option<&str> {
        self.jar.as_ref().err().filter(|_| plan.metrics != BrokerMetrics::None).map(String::as_str)
    }

    pub(super) fn is_there(&self) -> bool {
        self.jar.is_ok()
    }

    /// The JVM's option by which it listens on the loopback address; writes its rules, for a broker with these settings and
    /// with these attributes of MBeans, into the broker's folder.
    pub(super) fn option(
        &self,
        folder: &Path,
        port: u16,
        broker: &ConfigValues,
        mbeans: &[String],
    ) -> Result<Option<String>, TestbedError> {
        let Ok(jar) = &self.jar else { return Ok(None) };
        let rules = folder.join(RULES_FILE);
        std::fs::write(&rules, configuration_of(broker, mbeans))
            .map_err(|e| TestbedError::io("cannot write", &rules, e))?;
        Ok(Some(format!("-javaagent:{}=127.0.0.1:{port}:{}", jar.display(), rules.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::plan;
    use super::*;
    use kdyno_model::plan::Mode;

    #[test]
    fn a_missing_agent_is_reported_and_an_unwanted_one_is_not() {
        let temp = tempfile::tempdir().expect("a folder");
        let environment = Environment::in_folder(temp.path());
        let mut plan = plan(Mode::KraftCombined, 1);
        let agent = Agent::provide(&plan, &environment, &|_| {});
        let why = agent.missing(&plan).expect("there is no Maven");
        assert!(why.contains("no Maven found") && why.contains("the Prometheus JMX agent 1.0.1"), "{why}");
        assert_eq!(agent.option(temp.path(), 9, &ConfigValues::new(), &[]).expect("nothing to write"), None);
        plan.metrics = BrokerMetrics::None;
        assert_eq!(Agent::provide(&plan, &environment, &|_| {}).missing(&plan), None);
    }

    #[test]
    fn it_is_looked_for_once_for_all_clusters() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().expect("a folder");
        let (maven, asked) = (temp.path().join("mvn"), temp.path().join("asked"));
        let script =
            format!("#!/bin/sh\necho asked >> '{}'\necho '[ERROR] offline'\nexit 1\n", asked.display());
        std::fs::write(&maven, script).expect("a program");
        std::fs::set_permissions(&maven, std::fs::Permissions::from_mode(0o755)).expect("it may be run");
        let mut environment = Environment::in_folder(temp.path());
        environment.path = vec![temp.path().to_owned()];
        let plan = plan(Mode::KraftCombined, 1);
        let why = Agent::provide(&plan, &environment, &|_| {}).missing(&plan).map(str::to_owned);
        assert!(why.is_some(), "it cannot be had");
        let count = || std::fs::read_to_string(&asked).expect("Maven was asked").lines().count();
        let first = count();
        let again = Agent::provide(&plan, &environment.clone(), &|_| {});
        assert_eq!((again.missing(&plan), count()), (why.as_deref(), first));
    }

    #[test]
    fn it_listens_on_loopback_and_exports_only_named_attributes() {
        let temp = tempfile::tempdir().expect("a folder");
        let agent = Agent { jar: Ok(PathBuf::from("/cache/agent.jar")) };
        let broker = ConfigValues::from([("listeners".to_owned(), "PLAINTEXT://127.0.0.1:1".to_owned())]);
        let option = agent.option(temp.path(), 1234, &broker, &[]).expect("written").expect("an option");
        let rules = temp.path().join(RULES_FILE);
        assert_eq!(option, format!("-javaagent:/cache/agent.jar=127.0.0.1:1234:{}", rules.display()));
        let rules = std::fs::read_to_string(rules).expect("the rules");
        let (asked, left_out) = rules.split_once("excludeObjectNameAttributes:").expect("both");
        let asked: Vec<&str> = asked.lines().skip(1).collect();
        assert!(asked.iter().all(|object| object.contains(":type=") && !object.contains('*')), "{asked:?}");
        let of = |object: &str| {
            assert!(asked.iter().any(|one| one.contains(object)), "{object}");
            left_out.lines().find(|line| line.contains(object)).unwrap_or_default()
        };
        for object in ["listener=PLAINTEXT,networkProcessor=2", "name=TotalTimeMs,request=Produce"] {
            assert!(!of(object).is_empty(), "{object}");
        }
        assert!(of("name=BytesInPerSec").contains("OneMinuteRate") && of("name=PurgatorySize").is_empty());
        for read in ["Count", "Mean", "Value", "io-wait-time-ns-total", "io-waittime-total"] {
            assert!(!left_out.contains(&format!("\"{read}\"")), "{read} is read");
        }
    }

    #[test]
    fn network_processors_of_unknown_number_are_read_by_a_pattern() {
        for text in [configuration(&[], &[]), configuration_of(&ConfigValues::new(), &[])] {
            let (asked, left_out) = text.split_once("excludeObjectNameAttributes:").expect("both");
            assert!(asked.contains(network_processors::ALL) && !left_out.contains('*'), "{text}");
        }
    }

    #[test]
    fn attributes_that_a_plan_names_have_rules_of_their_own() {
        let mbeans = [
            "kafka.server:name=MessagesInPerSec,type=BrokerTopicMetrics/OneMinuteRate",
            "java.lang:type=MemoryPool,name=G1 Old Gen/Usage.used",
        ];
        let text = configuration(&[], &mbeans.map(str::to_owned));
        let unread = |object: &str| {
            let left_out = text.split_once("excludeObjectNameAttributes:").expect("both").1;
            left_out.lines().find(|line| line.contains(object)).unwrap_or_default()
        };
        assert!(!unread("name=MessagesInPerSec").contains("OneMinuteRate"), "{text}");
        assert!(unread("name=BytesInPerSec").contains("OneMinuteRate"), "{text}");
        assert!(text.contains("  - \"java.lang:type=MemoryPool,name=G1 Old Gen\"\n"), "{text}");
        let rules = text.split_once("rules:\n").expect("rules").1;
        let first = r#"  - pattern: "^kafka\\.server<(?=(?:.*, )?name=MessagesInPerSec[,>])(?=(?:.*, )?type=BrokerTopicMetrics[,>])[^,>]*(?:, [^,>]*){1}><>OneMinuteRate: "
    name: kdyno_mbean_0
    type: GAUGE
    cache: true
"#;
        assert!(rules.starts_with(first), "{rules}");
        assert!(rules.contains(r"name=G1\\ Old\\ Gen[,>])[^,>]*(?:, [^,>]*){1}><Usage>used: "), "{rules}");
        assert!(rules.ends_with(RULES));
    }
}
