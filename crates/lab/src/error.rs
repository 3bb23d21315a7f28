//! Why a run could not begin or could not go on.

use crate::inbox::Stop;
use kdyno_kafka::admin::AdminError;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kubernetes::PodsError;
use kdyno_model::secret::{SECRET_BYTES_MAX, SecretRef};
use kdyno_store::StoreError;
use kdyno_testbed::TestbedError;
use std::path::PathBuf;

/// Why a run could not begin or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The system under test could not be made, reached or kept.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// Brokers cannot be spoken to as the target says.
    #[error(transparent)]
    Credentials(#[from] kdyno_credentials::CredentialsError),
    /// What a Java client needs to reach the cluster is more than a worker takes.
    #[error(
        "the certificates and the login of a Java client are {bytes} bytes, more than the {most} that are taken",
        most = SECRET_BYTES_MAX
    )]
    JavaConnection {
        /// How long they are.
        bytes: usize,
    },
    /// The program of a load item, its command or its client, is not there.
    #[error("load item {item}: {why}")]
    Command {
        /// Load item.
        item: String,
        /// One lowercase clause.
        why: String,
    },
    /// What was to run next to the cluster does not.
    #[error("component {name}: {why}")]
    Component {
        /// Its name.
        name: String,
        /// One lowercase clause.
        why: String,
        /// Whether it was to be started, so that there may be output of it.
        in_trial: bool,
    },
    /// The system of a case did not start.
    #[error("{why}")]
    System {
        /// One lowercase sentence.
        why: String,
    },
    /// The evidence could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The evidence could not be read as it should; a defect of kdyno.
    #[error(transparent)]
    Analysis(#[from] kdyno_analysis::AnalysisError),
    /// The cluster refused an administrative request.
    #[error("could not {what}: {source}")]
    Admin {
        /// What was tried.
        what: String,
        /// What the cluster or the network said.
        source: AdminError,
    },
    /// The cluster cannot be reached any more, so topics that were made on it stay.
    #[error("the cluster cannot be reached any more: {source}; topics of the run stay on it: {topics}")]
    TopicsStay {
        /// Their names.
        topics: String,
        /// What the network said.
        source: AdminError,
    },
    /// A topic of the scenario could not be made.
    #[error("could not make topic `{address}`: {source}")]
    Topic {
        /// Its name in the scenario; the error has its real one.
        address: String,
        /// What the cluster or the network said.
        source: AdminError,
    },
    /// A folder or file of the run could not be made.
    #[error("could not make {path}: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A host cannot carry load, or no longer does.
    #[error("generator {name}: {why}")]
    Generator {
        /// Its name.
        name: String,
        /// One lowercase clause.
        why: String,
        /// What can be done; empty: nothing that is known.
        hint: &'static str,
    },
    /// Pods cannot carry load.
    #[error("the load cannot be put into pods: {0}")]
    Pods(#[from] PodsError),
    /// An agent cannot serve.
    #[error("the agent cannot serve: {why}")]
    Agent {
        /// One lowercase clause.
        why: String,
    },
    /// A worker process could not be started.
    #[error("worker {number} could not {what}: {source}")]
    WorkerStart {
        /// The worker's number.
        number: u16,
        /// What was tried.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A worker said itself that it cannot go on.
    #[error("worker {number} failed: {message}")]
    WorkerFailed {
        /// The worker's number.
        number: u16,
        /// Its own sentence.
        message: String,
    },
    /// A worker ended, or can no longer be understood.
    #[error("worker {number} {detail}")]
    WorkerGone {
        /// The worker's number.
        number: u16,
        /// What was seen.
        detail: String,
    },
    /// A worker's clients were not connected in time.
    #[error("worker {number} had not connected all of its clients after {seconds} s{}", last_words(.last))]
    WorkerNotPrepared {
        /// The worker's number.
        number: u16,
        /// How long the lab waited.
        seconds: u64,
        /// The newest trouble of a client that it reported.
        last: Option<String>,
    },
    /// A worker did not end when its time was over.
    #[error("worker {number} was still busy {seconds} s after the end of its trial and was ended")]
    WorkerOverdue {
        /// The worker's number.
        number: u16,
        /// How long the lab waited beyond the trial's end.
        seconds: u64,
    },
    /// The thread that reads the probes and looks for a wish to stop could not be started.
    #[error("could not start the thread that watches the trial: {source}")]
    ObserverStart {
        /// Why not.
        source: std::io::Error,
    },
    /// The thread that reads the probes and looks for a wish to stop has failed; a defect of kdyno.
    #[error("the thread that watches the trial failed, so the trial was ended")]
    ObserverGone,
    /// All brokers of a local cluster have ended; none is started again.
    #[error("no broker is left, so the trial was ended")]
    NoBrokerLeft,
    /// The target wants the load to end.
    #[error("the load was ended: {why}")]
    AbortIf {
        /// Which condition, and what was seen.
        why: String,
    },
    /// The target allows no more time.
    #[error("the run reached the target's cap on `time`, {seconds} s, so it was ended")]
    TimeCap {
        /// The cap.
        seconds: f64,
    },
    /// Topics were requested before there was a cluster to make them on; a defect of kdyno.
    #[error("there is no system to make topics on")]
    NoSystem,
    /// A reference of the plan gave no value. Nothing here holds a value, or a part of one.
    #[error("secret `{name}`: {reference} {why}")]
    Secret {
        /// The secret's name.
        name: String,
        /// Where its value was to come from.
        reference: Box<SecretRef>,
        /// One lowercase clause about it.
        why: String,
        /// What can be done.
        hint: Option<String>,
    },
    /// A file, or a topic, of keys or values cannot be used.
    #[error("{what} {why}")]
    Given {
        /// Which file or topic.
        what: String,
        /// One lowercase clause about it.
        why: String,
    },
    /// There is no token to log in with.
    #[error("the token of the login: {why}")]
    Token {
        /// One lowercase clause.
        why: String,
    },
    /// A side of a comparison did not get its system.
    #[error("side {side} of the comparison did not start: {source}")]
    Side {
        /// Which, in the comparison's own words.
        side: String,
        /// Why.
        source: Box<LabError>,
    },
    /// The file to go on in is of another run.
    #[error("{path} is not of the run that is to go on")]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
    /// Somebody asked the run to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// What the testbed said, if it did.
    pub(crate) fn testbed(&self) -> Option<&TestbedError> {
        match self {
            Self::Testbed(error) => Some(error),
            Self::Side { source, .. } => source.testbed(),
            _ => None,
        }
    }

    /// The error and its hint in one sentence, where it is not what the run ends with.
    pub(crate) fn in_passing(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// What the user can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Testbed(error) => error.hint().map(ToOwned::to_owned),
            Self::Generator { hint, .. } => Some((*hint).to_owned()).filter(|hint| !hint.is_empty()),
            Self::Pods(error) => Some(error.hint.to_owned()).filter(|hint| !hint.is_empty()),
            Self::JavaConnection { .. } => Some("name the certificates by file (`ssl.truststore.location`)".to_owned()),
            Self::Side { source, .. } => source.hint(),
            Self::Store(error) => error.hint().map(ToOwned::to_owned),
            Self::TopicsStay { .. } => Some(
                "did its brokers go away? when they answer again, `kdyno clean --target FILE` removes these topics"
                    .to_owned(),
            ),
            Self::Admin { source, .. } if source.needs_tls() => Some(
                "`client: {properties: FILE}` of the target names a Java client's properties file with its security".to_owned(),
            ),
            // The brokers' own words name the setting.
            Self::Topic { address, source } if source.code() == Some(ErrorCode::INVALID_CONFIG) => {
                Some(format!("correct the setting in `topics.{address}.config` of the scenario"))
            }
            Self::Topic { address, source } if is_denied(source) => Some(format!(
                "a user without the right to create topics names an existing one: `topics: {{{address}: NAME}}` in the target file, \
                 with `existing-topics` under `guard.allow`; with `kdyno quick` by `--topic NAME`"
            )),
            Self::WorkerNotPrepared { last: Some(last), .. } if last.contains(NO_COORDINATOR) => Some(
                "brokers cannot make the topic of the group's offsets: `offsets.topic.replication.factor` must not exceed the \
                 number of brokers"
                    .to_owned(),
            ),
            Self::WorkerNotPrepared { .. } => {
                Some("do the brokers answer? `kdyno show latest --json` has the events".to_owned())
            }
            Self::Component { in_trial: true, .. } => Some("`kdyno show latest --logs` has the end of its output".to_owned()),
            Self::Secret { hint, .. } => hint.clone(),
            Self::NoBrokerLeft => Some(
                "`kdyno show latest --logs` has the end of each broker's log, `kdyno show latest --json` the events"
                    .to_owned(),
            ),
            Self::TimeCap { .. } => Some(
                "a run with a shorter drain or fewer trials fits, or a larger `guard.caps.time` in the target file"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// What brokers answer that cannot make `__consumer_offsets`.
const NO_COORDINATOR: &str = "COORDINATOR_NOT_AVAILABLE";

fn last_words(last: &Option<String>) -> String {
    last.as_ref().map_or_else(String::new, |last| format!(": {last}"))
}

/// Whether the user may not do what was requested.
pub(crate) fn is_denied(error: &AdminError) -> bool {
    let code = error.code();
    [ErrorCode::TOPIC_AUTHORIZATION_FAILED, ErrorCode::CLUSTER_AUTHORIZATION_FAILED]
        .into_iter()
        .any(|denied| code == Some(denied))
}

impl From<Stop> for LabError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Asked => Self::Interrupted,
            Stop::NoBrokerLeft => Self::NoBrokerLeft,
            Stop::TimeCap(cap) => Self::TimeCap { seconds: cap.seconds() },
            Stop::AbortIf(why) => Self::AbortIf { why },
            Stop::ObserverGone => Self::ObserverGone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_setting_names_topic_key_and_where_to_correct_it() {
        let refused = |code, message: &str| LabError::Topic {
            address: "perf".to_owned(),
            source: AdminError::Broker {
                address: "127.0.0.1:9092".to_owned(),
                api: "CreateTopics",
                subject: " of topic \"kdyno-00000000000000ab-perf-0\"".to_owned(),
                code,
                message: format!(": {message}"),
            },
        };
        let error = refused(ErrorCode::INVALID_CONFIG, "Unknown topic config name: retention.mss");
        assert_eq!(
            error.to_string(),
            "could not make topic `perf`: broker 127.0.0.1:9092 answered CreateTopics of topic \
             \"kdyno-00000000000000ab-perf-0\" with an error INVALID_CONFIG: Unknown topic config name: retention.mss"
        );
        let hint = error.hint().expect("a hint");
        assert_eq!(hint, "correct the setting in `topics.perf.config` of the scenario");
        assert_eq!(refused(ErrorCode::INVALID_REPLICATION_FACTOR, "three").hint(), None);
        let denied = refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Authorization failed.").hint();
        assert!(denied.is_some_and(|hint| hint.contains("`topics: {perf: NAME}`")));
    }

    #[test]
    fn without_coordinator_the_brokers_error_and_setting_are_named() {
        let trouble = |last: Option<&str>| LabError::WorkerNotPrepared {
            number: 2,
            seconds: 60,
            last: last.map(str::to_owned),
        };
        let error = trouble(Some("client 1 finds no coordinator of its group: COORDINATOR_NOT_AVAILABLE"));
        assert_eq!(
            error.to_string(),
            "worker 2 had not connected all of its clients after 60 s: client 1 finds no coordinator of its group: \
             COORDINATOR_NOT_AVAILABLE"
        );
        let hint = error.hint().expect("a hint");
        assert!(
            hint.contains("`offsets.topic.replication.factor` must not exceed the number of brokers"),
            "{hint}"
        );
        for other in [None, Some("client 1: connection refused")] {
            let hint = trouble(other).hint().expect("a hint");
            assert!(hint.starts_with("do the brokers answer?"), "{hint}");
        }
    }
}
