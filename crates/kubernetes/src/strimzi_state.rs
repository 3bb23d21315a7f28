//! How far a resource of Strimzi's is, in the words of its operator, and how clients reach a cluster that is ready.

use crate::state::{conditions, text, with};
use kdyno_model::address::is_address;
use kdyno_model::secret::Secret;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reasons that stay as long as the resource is as it is.
const HOPELESS: &[&str] = &[
    "InvalidConfigParameterException",
    "InvalidConfigurationException",
    "InvalidResourceException",
    "KafkaUpgradeException",
    "UnsupportedKafkaVersionException",
];

/// How far a resource is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Its operator says that it is ready.
    Ready,
    /// It may still become ready: one lowercase clause, or the operator's own words.
    Waiting(String),
    /// It will not: the operator's own words.
    Failed(String),
}

/// Reads a resource as the API describes it.
pub fn readiness(resource: &Value) -> Readiness {
    let status = &resource["status"];
    let is_known = status["observedGeneration"].as_i64() >= resource["metadata"]["generation"].as_i64();
    let found = |kind: &str| conditions(status).find(|one| one["type"] == kind && one["status"] == "True");
    if is_known && found("Ready").is_some() {
        return Readiness::Ready;
    }
    let Some(condition) = found("NotReady") else {
        let is_silent = conditions(status).next().is_none();
        let what =
            if is_silent { "Strimzi's operator has not looked at it yet" } else { "the operator is at work" };
        return Readiness::Waiting(what.to_owned());
    };
    let words = words(condition);
    match condition["reason"].as_str().is_some_and(|reason| HOPELESS.contains(&reason)) {
        true => Readiness::Failed(words),
        false => Readiness::Waiting(words),
    }
}

/// What its operator warns of.
pub fn warnings(resource: &Value) -> Vec<String> {
    let is_warning = |one: &&Value| one["type"] == "Warning" && one["status"] == "True";
    conditions(&resource["status"]).filter(is_warning).map(words).collect()
}

fn words(condition: &Value) -> String {
    let reason = text(&condition["reason"]).unwrap_or_else(|| "not ready".to_owned());
    with(&reason, text(&condition["message"]))
}

/// Where a cluster is reached, and what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StrimziStatus {
    /// `host:port` of the brokers to ask first.
    pub bootstrap: Vec<String>,
    /// Its id.
    pub cluster_id: String,
    /// The release of Kafka that runs.
    pub kafka: Option<String>,
    /// The version of the operator that made it.
    pub operator: Option<String>,
}

/// Reads the cluster that is ready, and the addresses of its listener of this name.
///
/// # Errors
/// Its status lacks what clients need: one lowercase clause.
pub fn status(kafka: &Value, listener: &str) -> Result<StrimziStatus, String> {
    let status = &kafka["status"];
    let mut listeners = status["listeners"].as_array().into_iter().flatten();
    let name = listener;
    let listener = listeners.find(|one| one["name"] == name);
    let servers = listener.and_then(|one| one["bootstrapServers"].as_str()).unwrap_or_default();
    let bootstrap: Vec<String> = servers.split(',').map(|server| server.trim().to_owned()).collect();
    if !bootstrap.iter().all(|server| is_address(server)) {
        return Err(format!("it is ready, and the addresses of its listener `{name}` are not in its status"));
    }
    let cluster_id = text(&status["clusterId"]).ok_or("it is ready, and its id is not in its status")?;
    let (kafka, operator) = (text(&status["kafkaVersion"]), text(&status["operatorLastSuccessfulVersion"]));
    Ok(StrimziStatus { bootstrap, cluster_id, kafka, operator })
}

/// A listener as the resource of a cluster names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedListener {
    /// Its name.
    pub name: String,
    /// Whether it speaks TLS.
    pub has_tls: bool,
    /// How users log in, by Strimzi's name of it.
    pub authentication: Option<String>,
}

/// Finds a listener of a cluster; without a name the only one.
///
/// # Errors
/// There is none of that name, or not one alone: one lowercase clause, which names those that are there.
pub fn listener(kafka: &Value, name: Option<&str>) -> Result<NamedListener, String> {
    let all: Vec<&Value> = kafka["spec"]["kafka"]["listeners"].as_array().into_iter().flatten().collect();
    let found = match (name, all.as_slice()) {
        (None, [only]) => Some(*only),
        (None, _) => None,
        (Some(name), _) => all.iter().copied().find(|one| one["name"] == name),
    };
    let found = found.ok_or_else(|| {
        let names: Vec<String> = all.iter().filter_map(|one| text(&one["name"])).collect();
        format!("name one of its listeners: {}", names.join(", "))
    })?;
    Ok(NamedListener {
        name: text(&found["name"]).unwrap_or_default(),
        has_tls: found["tls"].as_bool().unwrap_or(false),
        authentication: text(&found["authentication"]["type"]),
    })
}

/// A cluster of somebody's own, and what its clients need.
pub struct ExistingCluster {
    /// Where it is reached, and what it is.
    pub status: StrimziStatus,
    /// The certificate to trust, PEM; `None`: it speaks no TLS.
    pub authority: Option<String>,
    /// What clients log in with.
    pub user: StrimziUser,
}

/// The id of a broker and the node that it runs on, of a pod that is one.
pub fn broker_node(pod: &Value) -> Option<(u32, String)> {
    let metadata = &pod["metadata"];
    let is_broker = metadata["labels"]["strimzi.io/broker-role"] == "true";
    let name = metadata["name"].as_str().filter(|_| is_broker)?;
    let (_, id) = name.rsplit_once('-')?;
    Some((id.parse().ok()?, pod["spec"]["nodeName"].as_str()?.to_owned()))
}

/// What clients log in with.
pub enum StrimziUser {
    /// Nothing.
    Anonymous,
    /// A certificate.
    Certificate {
        /// With those that signed it, PEM.
        chain: String,
        /// Its key, PEM.
        key: Secret,
    },
    /// A password.
    Password {
        /// Name of the user.
        name: String,
        /// The password.
        password: Secret,
    },
}

/// Reads a user's secret, by how it logs in.
///
/// # Errors
/// Something is missing: one lowercase clause, which names its key.
pub fn user(
    authentication: &str,
    name: &str,
    mut data: BTreeMap<String, Vec<u8>>,
) -> Result<StrimziUser, String> {
    let mut taken = |key: &str| {
        data.remove(key)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("secret {name} has no `{key}`"))
    };
    Ok(match authentication {
        "tls" => StrimziUser::Certificate {
            chain: pem(taken("user.crt")?)
                .ok_or_else(|| format!("`user.crt` of secret {name} is no PEM text"))?,
            key: Secret::new(taken("user.key")?),
        },
        "scram-sha-512" => {
            StrimziUser::Password { name: name.to_owned(), password: Secret::new(taken("password")?) }
        }
        other => return Err(format!("clients log in by `{other}`, and kdyno reads no secret of that kind")),
    })
}

/// Certificates as text.
pub fn pem(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| text.contains("-----BEGIN CERTIFICATE-----"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kafka(generation: u32, conditions: &Value) -> Value {
        json!({"metadata": {"generation": 2}, "status": {"observedGeneration": generation, "conditions": conditions}})
    }

    #[test]
    fn readiness_is_said_in_the_words_of_the_operator() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(readiness(&kafka(2, &ready)), Readiness::Ready);
        let at_work = Readiness::Waiting("the operator is at work".to_owned());
        assert_eq!(readiness(&kafka(1, &ready)), at_work, "of what was before");
        let silent = Readiness::Waiting("Strimzi's operator has not looked at it yet".to_owned());
        assert_eq!(readiness(&json!({"metadata": {"generation": 1}})), silent);
        let not_ready = |reason: &str| json!([{"type": "NotReady", "status": "True", "reason": reason, "message": "it\n says so"}]);
        let creating = Readiness::Waiting("Creating: it says so".to_owned());
        assert_eq!(readiness(&kafka(2, &not_ready("Creating"))), creating);
        let invalid = Readiness::Failed("InvalidResourceException: it says so".to_owned());
        assert_eq!(readiness(&kafka(2, &not_ready("InvalidResourceException"))), invalid);
        let warned = json!([{"type": "Warning", "status": "True", "reason": "Forbidden", "message": "no"}]);
        assert_eq!(warnings(&kafka(2, &warned)), ["Forbidden: no"]);
    }

    #[test]
    fn addresses_and_id_are_those_of_the_status() {
        let listeners = json!([
            {"name": "other", "bootstrapServers": "o:1"},
            {"name": "clients", "bootstrapServers": "a.svc:9092, b.svc:9092"},
        ]);
        let mut read = json!({"status": {
            "listeners": listeners,
            "clusterId": "x1",
            "kafkaVersion": "4.1.1",
            "operatorLastSuccessfulVersion": "0.51.0",
        }});
        let wanted = StrimziStatus {
            bootstrap: vec!["a.svc:9092".to_owned(), "b.svc:9092".to_owned()],
            cluster_id: "x1".to_owned(),
            kafka: Some("4.1.1".to_owned()),
            operator: Some("0.51.0".to_owned()),
        };
        assert_eq!(status(&read, "clients"), Ok(wanted));
        read["status"]["clusterId"] = json!("");
        assert!(status(&read, "clients").expect_err("no id").contains("its id"));
        read["status"]["listeners"] = json!([]);
        assert!(status(&read, "clients").expect_err("no listener").contains("`clients`"));
    }

    #[test]
    fn a_listener_is_found_by_its_name_or_because_it_is_alone() {
        let plain = json!({"name": "plain", "tls": false});
        let tls = json!({"name": "tls", "tls": true, "authentication": {"type": "tls"}});
        let of = |listeners: Value| json!({"spec": {"kafka": {"listeners": listeners}}});
        let both = of(json!([plain, tls]));
        let named = |name: &str, has_tls, authentication: Option<&str>| NamedListener {
            name: name.to_owned(),
            has_tls,
            authentication: authentication.map(str::to_owned),
        };
        assert_eq!(listener(&both, Some("tls")), Ok(named("tls", true, Some("tls"))));
        assert_eq!(listener(&of(json!([plain])), None), Ok(named("plain", false, None)));
        let several = "name one of its listeners: plain, tls".to_owned();
        assert_eq!(listener(&both, None), Err(several.clone()));
        assert_eq!(listener(&both, Some("other")), Err(several));
    }

    #[test]
    fn brokers_are_known_with_their_nodes() {
        let pod = |role: &str| {
            json!({
                "metadata": {"name": "kdyno-ab-1-kdyno-ab-1-d-2", "labels": {"strimzi.io/broker-role": role}},
                "spec": {"nodeName": "n1"},
            })
        };
        assert_eq!(broker_node(&pod("true")), Some((2, "n1".to_owned())));
        assert_eq!(broker_node(&pod("false")), None, "a controller alone");
        assert_eq!(broker_node(&json!({})), None);
    }

    #[test]
    fn what_a_users_secret_lacks_is_named() {
        let with = |keys: &[&str]| {
            keys.iter().map(|key| ((*key).to_owned(), b"-----BEGIN CERTIFICATE-----".to_vec())).collect()
        };
        let Ok(StrimziUser::Password { name, password }) = user("scram-sha-512", "u", with(&["password"]))
        else {
            panic!("a password")
        };
        assert_eq!((name.as_str(), password.expose().len()), ("u", 27));
        assert!(matches!(
            user("tls", "u", with(&["user.crt", "user.key"])),
            Ok(StrimziUser::Certificate { .. })
        ));
        let lacks = |kind: &str, keys: &[&str]| user(kind, "u", with(keys)).err().expect("something lacks");
        assert_eq!(lacks("tls", &["user.crt"]), "secret u has no `user.key`");
        assert_eq!(lacks("scram-sha-512", &[]), "secret u has no `password`");
        assert!(lacks("custom", &[]).contains("`custom`"));
    }
}
