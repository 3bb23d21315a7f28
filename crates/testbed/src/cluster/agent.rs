//! The Prometheus JMX agent in the brokers: which of their metrics it tells, and how it is started.
//!
//! It is asked for named objects alone, since what it looks at it pays for with the broker's processors.

use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use kdyno_model::inside::{RequestKind, RequestStage};
use kdyno_model::plan::{BrokerMetrics, ClusterPlan};
use std::path::{Path, PathBuf};

/// Name of the rules' file in a broker's folder.
const RULES_FILE: &str = "jmx-agent.yaml";

/// The objects beside those of requests, by Kafka's documented names (Kafka documentation, Monitoring).
const OBJECTS: [&str; 13] = [
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec",
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec",
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*",
    "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
    "kafka.server:type=KafkaRequestHandlerPool,name=BrokerRequestHandlerAvgIdlePercent",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
    "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec",
    "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=*",
    "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
    "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
];

/// Values keep the names of object and attribute, which is the agent's default form; of what goes on in a network processor
/// two totals are kept, of which a release has one or both.
const RULES: &str = r#"rules:
  - pattern: "><>(Count|Mean|Value): "
  - pattern: "kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>io-wait-time-ns-total: "
    name: kafka_server_socket_server_metrics_io_wait_time_ns_total
    type: COUNTER
    labels: {listener: "$1", networkProcessor: "$2"}
  - pattern: "kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>io-waittime-total: "
    name: kafka_server_socket_server_metrics_io_waittime_total
    type: COUNTER
    labels: {listener: "$1", networkProcessor: "$2"}
"#;

/// The agent's configuration; objects `beside` Kafka's are asked for too.
pub(crate) fn configuration(beside: &[&str]) -> String {
    let of_request = |kind: RequestKind| {
        RequestStage::all().map(move |stage| {
            let (name, request) = (stage.kafka_name(), kind.kafka_name());
            format!("kafka.network:type=RequestMetrics,name={name},request={request}")
        })
    };
    let named = OBJECTS.iter().chain(beside).map(ToString::to_string);
    let objects = named.chain(RequestKind::all().flat_map(of_request));
    let lines: String = objects.map(|object| format!("  - \"{object}\"\n")).collect();
    format!("includeObjectNames:\n{lines}{RULES}")
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

    /// The JVM's option by which it listens on the loopback address; writes its rules into the broker's folder.
    pub(super) fn option(&self, folder: &Path, port: u16) -> Result<Option<String>, TestbedError> {
        let Ok(jar) = &self.jar else { return Ok(None) };
        let rules = folder.join(RULES_FILE);
        std::fs::write(&rules, configuration(&[]))
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
    fn an_agent_that_cannot_be_had_is_told_and_one_that_is_not_wanted_is_not() {
        let temp = tempfile::tempdir().expect("a folder");
        let environment = Environment::in_folder(temp.path());
        let mut plan = plan(Mode::KraftCombined, 1);
        let agent = Agent::provide(&plan, &environment, &|_| {});
        let why = agent.missing(&plan).expect("there is no Maven");
        assert!(why.contains("no Maven found") && why.contains("the Prometheus JMX agent 1.0.1"), "{why}");
        assert_eq!(agent.option(temp.path(), 9).expect("nothing to write"), None);
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
    fn it_listens_on_loopback_and_asks_for_named_objects_alone() {
        let temp = tempfile::tempdir().expect("a folder");
        let agent = Agent { jar: Ok(PathBuf::from("/cache/agent.jar")) };
        let option = agent.option(temp.path(), 1234).expect("written").expect("an option");
        let rules = temp.path().join(RULES_FILE);
        assert_eq!(option, format!("-javaagent:/cache/agent.jar=127.0.0.1:1234:{}", rules.display()));
        let rules = std::fs::read_to_string(rules).expect("the rules");
        let objects = rules.split("\nrules:").next().expect("objects").lines().skip(1);
        assert!(objects.into_iter().all(|object| object.contains(":type=")), "{rules}");
    }
}
