//! Why a run could not begin or could not go on.

use crate::inbox::Stop;
use kdyno_kafka::admin::AdminError;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kubernetes::PodsError;
use kdyno_store::StoreError;
use kdyno_testbed::TestbedError;
use std::path::Path;

/// Why a run could not begin or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The system under test could not be made, reached or kept.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// Brokers cannot be spoken to as the target says.
    #[error(transparent)]
    Credentials(#[from] kdyno_credentials::CredentialsError),
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
    /// A topic of the scenario could not be made.
    #[error("could not make topic `{address}`: {source}")]
    Topic {
        /// Its name in the scenario; the error has its real one.
        address: String,
        /// What the cluster or the network said.
        source: AdminError,
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
    /// An agent cannot serve.
    #[error("the agent cannot serve: {why}")]
    Agent {
        /// One lowercase clause.
        why: String,
    },
    /// All brokers of a local cluster have ended; none is started again.
    #[error("no broker is left, so the trial was ended")]
    NoBrokerLeft,
    /// Topics were requested before there was a cluster to make them on; a defect of kdyno.
    #[error("there is no system to make topics on")]
    NoSystem,
    /// A side of a comparison did not get its system.
    #[error("side {side} of the comparison did not start: {source}")]
    Side {
        /// Which, in the comparison's own words.
        side: String,
        /// Why.
        source: Box<LabError>,
    },
    /// Anything else: no code distinguishes it from others.
    #[error("{message}")]
    Failed {
        /// One lowercase sentence.
        message: String,
        /// What the user can do about it, where that is known.
        hint: Option<String>,
    },
    /// Somebody asked the run to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// A failure whose message says it all.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None }
    }

    /// A failure that a user can do something about.
    pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: Some(hint.into()) }
    }

    /// What a worker did, or did not do.
    pub(crate) fn of_worker(number: u16, detail: &str) -> Self {
        Self::failed(format!("worker {number} {detail}"))
    }

    /// A worker could not be started: what was tried, and why it failed.
    pub(crate) fn worker_start(number: u16, what: &str, error: &std::io::Error) -> Self {
        Self::of_worker(number, &format!("could not {what}: {error}"))
    }

    /// A folder or file of the run could not be made.
    pub(crate) fn not_made(path: &Path, error: &std::io::Error) -> Self {
        Self::failed(format!("could not make {}: {error}", path.display()))
    }

    /// A thread that looks at a trial could not be started.
    pub(crate) fn observer(error: std::io::Error) -> Self {
        Self::failed(format!("could not start the thread that watches the trial: {error}"))
    }

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
            Self::Side { source, .. } => source.hint(),
            Self::Store(error) => error.hint().map(ToOwned::to_owned),
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
            Self::Component { in_trial: true, .. } => Some("`kdyno show latest --logs` has the end of its output".to_owned()),
            Self::Failed { hint, .. } => hint.clone(),
            Self::NoBrokerLeft => Some(
                "`kdyno show latest --logs` has the end of each broker's log, `kdyno show latest --json` the events"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// Whether the user may not do what was requested.
pub(crate) fn is_denied(error: &AdminError) -> bool {
    let code = error.code();
    [ErrorCode::TOPIC_AUTHORIZATION_FAILED, ErrorCode::CLUSTER_AUTHORIZATION_FAILED]
        .into_iter()
        .any(|denied| code == Some(denied))
}

impl From<PodsError> for LabError {
    fn from(error: PodsError) -> Self {
        let hint = Some(error.hint.to_owned()).filter(|hint| !hint.is_empty());
        Self::Failed { message: format!("the load cannot be put into pods: {error}"), hint }
    }
}

impl From<Stop> for LabError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Asked => Self::Interrupted,
            Stop::NoBrokerLeft => Self::NoBrokerLeft,
            Stop::TimeCap(cap) => Self::hinted(
                format!("the run reached the target's cap on `time`, {} s, so it was ended", cap.seconds()),
                "a run with a shorter drain or fewer trials fits, or a larger `guard.caps.time` in the target file",
            ),
            Stop::AbortIf(why) => Self::failed(format!("the load was ended: {why}")),
            // A defect of kdyno.
            Stop::ObserverGone => {
                Self::failed("the thread that watches the trial failed, so the trial was ended")
            }
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
}
