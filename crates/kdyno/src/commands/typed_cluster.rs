//! A cluster and a topic that were typed, without a target file: what is known of them, and what the cluster is asked.

use crate::failure::Failure;
use kdyno_kafka::admin::{Admin, AdminError, TopicInfo};
use kdyno_model::address::is_address;
use kdyno_model::plan::{AttachedPlan, Protocol};
use kdyno_model::secret::SecretRef;
use kdyno_scenario::input::quoted;
use kdyno_scenario::security::ClientProperties;
use kdyno_scenario::target::ADDRESS_FORM;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long the first connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Begins the names of topics and client ids.
const PREFIX: &str = "kdyno-";

/// Brokers to ask first: those of the command line, else those of the properties file.
pub(super) fn bootstrap(
    typed: &[String],
    config: Option<&Path>,
    properties: &ClientProperties,
) -> Result<Vec<String>, Failure> {
    let (from, addresses) = match config {
        Some(path) if typed.is_empty() => (path.display().to_string(), properties.bootstrap.as_slice()),
        _ => ("--bootstrap-server".to_owned(), typed),
    };
    if addresses.is_empty() {
        return Err(
            Failure::usage(format!("{from} has no `bootstrap.servers`")).hint("name --bootstrap-server")
        );
    }
    match addresses.iter().find(|address| !is_address(address)) {
        Some(wrong) => {
            Err(Failure::usage(format!("{from}: {} is not HOST:PORT", quoted(wrong))).hint(ADDRESS_FORM))
        }
        None => Ok(addresses.to_vec()),
    }
}

/// A cluster as it is attached to without a target file: nothing capped and nothing allowed.
pub(super) fn attached(
    target: &str,
    bootstrap: Vec<String>,
    properties: &ClientProperties,
    topics: BTreeMap<String, String>,
) -> AttachedPlan {
    AttachedPlan {
        target: target.to_owned(),
        bootstrap,
        security: Box::new(properties.security.clone()),
        prefix: PREFIX.to_owned(),
        topics,
        ..AttachedPlan::default()
    }
}

/// Asks for the cluster id and keeps it in `attached`; hands back the connection, and how many brokers there are.
pub(super) fn ask_cluster_id(
    attached: &mut AttachedPlan,
    secrets: &BTreeMap<String, SecretRef>,
    variables: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(Admin, u32), Failure> {
    let access = kdyno_lab::access(attached, secrets, variables)?;
    let admin = access.admin(&format!("{PREFIX}admin"), CONNECT_DEADLINE);
    let mut admin = admin.map_err(|error| failed(&error, attached))?;
    let cluster = admin.cluster().map_err(|error| failed(&error, attached))?;
    attached.cluster_id = cluster.cluster_id.unwrap_or_default();
    Ok((admin, number(cluster.brokers.len())))
}

/// What the cluster was asked went wrong.
pub(super) fn failed(error: &AdminError, attached: &AttachedPlan) -> Failure {
    Failure::tool(error).maybe_hint(hint(error, attached.security.protocol))
}

/// What may be wrong where nothing that speaks Kafka's protocol answered; whatever else goes wrong says so itself.
fn hint(error: &AdminError, protocol: Protocol) -> Option<String> {
    // A listener that asks for TLS says so with an alert, one that asks for a login hangs up.
    let needs_security = error.needs_tls() || matches!(error, AdminError::ClosedEarly { .. });
    if needs_security && protocol == Protocol::Plaintext {
        return Some("--command-config FILE, a Java client's properties file with its security".to_owned());
    }
    let is_silent = match error {
        AdminError::Unreachable(errors) => return errors.iter().find_map(|error| hint(error, protocol)),
        AdminError::Refused { .. } | AdminError::Resolve { .. } | AdminError::Io { .. } => true,
        AdminError::Timeout { .. } | AdminError::Closed { .. } | AdminError::Wire { .. } => true,
        _ => false,
    };
    is_silent.then(|| format!("is this the address of a {protocol} listener that this host can reach?"))
}

/// The command of Kafka's own tool that does something with a cluster's topics.
pub(super) fn topics_tool(attached: &AttachedPlan, what: &str) -> String {
    let config = if attached.security.is_plaintext() { "" } else { " --command-config FILE" };
    format!("`kafka-topics.sh --bootstrap-server {}{config} {what}`", attached.bootstrap.join(","))
}

/// Partitions and replicas of a topic.
#[derive(Clone, Copy)]
pub(super) struct TopicShape {
    pub(super) partitions: u32,
    pub(super) replicas: u32,
}

impl TopicShape {
    /// For a topic that was not looked at yet: what is wrong with settings is wrong whatever it is.
    pub(super) const UNSEEN: Self = Self { partitions: 1, replicas: 1 };

    /// For a topic that is there.
    pub(super) fn of(topic: &TopicInfo) -> Self {
        let replicas = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
        Self { partitions: number(topic.partitions.len()), replicas: number(replicas) }
    }
}

/// A number of brokers, partitions or replicas, at least one.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::errors::ErrorCode;
    use kdyno_kafka::security::sasl::LoginError;
    use kdyno_kafka::session::SessionError;

    #[test]
    fn a_listener_with_tls_or_login_needs_the_clients_properties() {
        let address = || "b:9092".to_owned();
        let needs = AdminError::Session { address: address(), source: SessionError::NeedsTls };
        let expected = hint(&AdminError::Unreachable(vec![needs]), Protocol::Plaintext).expect("a hint");
        assert!(expected.starts_with("--command-config FILE"), "{expected}");
        let closed = || AdminError::ClosedEarly { address: address(), when: "at once", cause: "a login" };
        assert_eq!(hint(&closed(), Protocol::Plaintext), Some(expected));
        assert_eq!(hint(&closed(), Protocol::SaslSsl), None);
    }

    #[test]
    fn only_what_does_not_say_itself_what_is_wrong_has_a_hint() {
        let address = || "b:9092".to_owned();
        let silent = AdminError::Refused { address: address() };
        let login = AdminError::Login { address: address(), source: LoginError::NotAsked };
        let denied = AdminError::Broker {
            address: address(),
            api: "Metadata",
            subject: String::new(),
            code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            message: String::new(),
        };
        for error in [login, denied] {
            assert_eq!(hint(&error, Protocol::SaslSsl), None, "{error}");
            assert_eq!(hint(&AdminError::Unreachable(vec![error]), Protocol::SaslSsl), None);
        }
        let reported = "is this the address of a SASL_SSL listener that this host can reach?";
        assert_eq!(hint(&silent, Protocol::SaslSsl).as_deref(), Some(reported));
        assert_eq!(
            hint(&AdminError::Unreachable(vec![silent]), Protocol::SaslSsl).as_deref(),
            Some(reported)
        );
    }
}
