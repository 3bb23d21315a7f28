//! An existing cluster, reached by a target file: is it the one that was meant, and can it carry the plan within the
//! caps?
//!
//! What a plan alone can show (rates, bytes, time, partitions in all) is checked when it is made. Here comes what needs
//! the cluster's answer. Nothing is written: connecting and metadata are all that is sent.

use crate::error::TestbedError;
use kdyno_kafka::admin::{Access, Admin, AdminError, ClusterInfo, TopicInfo};
use kdyno_model::address::PREFIX_CHARS_MAX;
use kdyno_model::event::Subject;
use kdyno_model::plan::{AttachedPlan, CasePlan, LoadPlan, Role};
use kdyno_model::run::cluster_fact;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Longest wait for an answer over a network.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);
/// Longest name of a topic in Kafka.
const TOPIC_NAME_CHARACTERS_MAX: usize = 249;
/// Digits of a run id in a topic's name.
const RUN_ID_DIGITS: usize = 16;

/// A cluster that answered with the right id.
#[derive(Debug)]
pub struct Attached {
    target: String,
    cluster: ClusterInfo,
    declared: BTreeMap<String, String>,
    caps: kdyno_model::plan::Caps,
    prefix: String,
    leftovers: usize,
    /// What the cluster reports of the topics that take the place of the scenario's, by the address of these.
    existing: BTreeMap<String, TopicInfo>,
    on_this_host: bool,
}

impl Attached {
    /// Connects by `access` and looks.
    ///
    /// # Errors
    /// The prefix is unusable, no broker answers, or the cluster has another id than the target says.
    pub fn check(plan: &AttachedPlan, access: &Access) -> Result<Self, TestbedError> {
        let (mut admin, cluster) = connect(plan, access)?;
        let topics = admin.topics(None).map_err(|e| failed(&plan.target, &e))?;
        let existing = existing(&mut admin, plan).map_err(|e| failed(&plan.target, &e))?;
        let ours = topics.iter().filter(|topic| run_id_of(&plan.prefix, &topic.name).is_some());
        Ok(Self {
            target: plan.target.clone(),
            declared: plan.facts.clone(),
            caps: plan.caps,
            prefix: plan.prefix.clone(),
            leftovers: ours.count(),
            existing,
            on_this_host: plan.bootstrap.iter().all(|address| is_loopback(address)),
            cluster,
        })
    }

    /// Checks what needs the cluster's size: replicas need that many brokers, and each client may connect to each
    /// broker.
    ///
    /// # Errors
    /// The case does not fit.
    pub fn check_case(&self, case: &CasePlan) -> Result<(), TestbedError> {
        let brokers = self.cluster.brokers.len() as u64;
        let refuse = |message: String, hint: &str| {
            let message = format!("target {}: {message}", self.target);
            Err(TestbedError::hinted(message, hint))
        };
        for (name, topic) in &case.topics {
            if let Some(found) = self.existing.get(name) {
                if found.error.is_error() {
                    let message =
                        format!("topic {name} is to be the existing topic {}: {}", found.name, found.error);
                    return refuse(message, "is it there, and may this user describe it?");
                }
                continue;
            }
            if u64::from(topic.replicas) > brokers {
                let message = format!(
                    "topic {name} wants {}, the cluster has {}",
                    counted(topic.replicas.into(), "replica"),
                    counted(brokers, "broker")
                );
                return refuse(message, "lower its replicas");
            }
            if self.prefix.len() + name.len() + 40 > TOPIC_NAME_CHARACTERS_MAX {
                return refuse(
                    format!("topic {name} with prefix and run id is longer than Kafka allows"),
                    "shorten its name",
                );
            }
        }
        // A probe's producer and consumer are two.
        let is_both = |item: &LoadPlan| item.role.as_produce().is_some() && item.role.as_consume().is_some();
        let clients = |item: &LoadPlan| u64::from(item.clients) * if is_both(item) { 2 } else { 1 };
        let clients: u64 = case.load.values().map(clients).sum();
        // A client asks one bootstrap address before it knows the brokers.
        let is_transactional =
            |item: &&LoadPlan| matches!(&item.role, Role::Produce(plan) if plan.transactions.is_some());
        let transactional = case.load.values().filter(is_transactional);
        let coordinators: u64 = transactional.map(|item| u64::from(item.clients)).sum();
        let connections = clients.saturating_mul(brokers + 1).saturating_add(coordinators);
        match self.caps.connections {
            Some(cap) if connections > u64::from(cap) => refuse(
                format!(
                    "{} may open {connections} connections, one to each of {} and one to begin with{}, its cap is {cap}",
                    counted(clients, "client"),
                    counted(brokers, "broker"),
                    if coordinators > 0 { ", and one for transactions" } else { "" }
                ),
                "use fewer clients, or raise `guard.caps.connections` in the target file",
            ),
            _ => Ok(()),
        }
    }

    /// In what topics that are there differ from those of the case, each a lowercase sentence.
    #[must_use]
    pub fn differences(&self, case: &CasePlan) -> Vec<String> {
        let both = case
            .topics
            .iter()
            .filter_map(|(address, plan)| self.existing.get(address).map(|found| (address, plan, found)));
        let reported = both.filter_map(|(address, plan, found)| {
            let replicas =
                found.partitions.iter().map(|partition| partition.replicas.len()).max().unwrap_or(0);
            let (has, wanted) = (found.partitions.len(), plan.partitions);
            let mut reported = Vec::new();
            if has != wanted as usize {
                reported.push(format!("{}, not {wanted}", counted(has as u64, "partition")));
            }
            if replicas != plan.replicas as usize {
                reported.push(format!("{}, not {}", counted(replicas as u64, "replica"), plan.replicas));
            }
            if !plan.config.is_empty() {
                let names = plan.config.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                reported.push(format!("settings of its own, also of {names}"));
            }
            let name = &found.name;
            (!reported.is_empty())
                .then(|| format!("topic {address} is {name}, which has {}", reported.join("; ")))
        });
        reported.collect()
    }

    /// What is known of the cluster; what the target file declares is marked as declared.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts: BTreeMap<String, String> =
            self.declared.iter().map(|(key, value)| (cluster_fact::declared(key), value.clone())).collect();
        facts.insert("target".to_string(), self.target.clone());
        facts.insert("cluster_id".to_string(), self.cluster.cluster_id.clone().unwrap_or_default());
        facts.insert("brokers".to_string(), self.cluster.brokers.len().to_string());
        let racks: std::collections::BTreeSet<_> =
            self.cluster.brokers.iter().filter_map(|b| b.rack.as_deref()).collect();
        if !racks.is_empty() {
            facts.insert("racks".to_string(), racks.into_iter().collect::<Vec<_>>().join(","));
        }
        if self.on_this_host {
            facts.insert(cluster_fact::ON_THIS_HOST.to_string(), cluster_fact::YES.to_string());
        }
        facts
    }

    /// Addresses (`host:port`) at which its brokers say they are.
    pub fn addresses(&self) -> impl Iterator<Item = String> {
        self.cluster.brokers.iter().map(|broker| format!("{}:{}", broker.host, broker.port))
    }

    /// The brokers that were there when it was looked at, with their hosts.
    pub fn hosts(&self) -> impl Iterator<Item = (Subject, String)> {
        let brokers = self.cluster.brokers.iter();
        brokers.filter_map(|broker| Some((Subject::Broker(broker.id.try_into().ok()?), broker.host.clone())))
    }

    /// Ids of the brokers that were there when it was looked at.
    pub fn brokers(&self) -> impl Iterator<Item = i32> {
        self.cluster.brokers.iter().map(|broker| broker.id)
    }

    /// Topics of earlier runs that are still there; `kdyno clean` removes them.
    #[must_use]
    pub fn leftover_topics(&self) -> usize {
        self.leftovers
    }
}

/// Looks at the topics that take the place of the scenario's. One that is not there is reported with its error.
fn existing(admin: &mut Admin, plan: &AttachedPlan) -> Result<BTreeMap<String, TopicInfo>, AdminError> {
    if plan.topics.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = plan.topics.values().map(String::as_str).collect();
    let reported = admin.topics(Some(&names))?;
    let of = |name: &str| reported.iter().find(|topic| topic.name == name).cloned();
    Ok(plan.topics.iter().filter_map(|(address, name)| Some((address.clone(), of(name)?))).collect())
}

/// Whether a `host:port` is this host's own by its words alone: a literal address or `localhost`; no name is looked
/// up.
pub(crate) fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Connects, and goes no further unless the cluster's id is the target's.
pub(crate) fn connect(plan: &AttachedPlan, access: &Access) -> Result<(Admin, ClusterInfo), TestbedError> {
    check_prefix(plan)?;
    let client_id = format!("{}admin", plan.prefix);
    let mut admin = access.admin(&client_id, ANSWER_TIME_MAX).map_err(|e| failed(&plan.target, &e))?;
    let cluster = admin.cluster().map_err(|e| failed(&plan.target, &e))?;
    let id = cluster.cluster_id.as_deref().unwrap_or("none");
    if id != plan.cluster_id {
        return Err(TestbedError::hinted(
            format!(
                "target {} names cluster id {}, but {} answers as {id}; nothing was sent",
                plan.target,
                plan.cluster_id,
                plan.bootstrap.join(",")
            ),
            "check bootstrap and cluster_id of the target file",
        ));
    }
    Ok((admin, cluster))
}

/// The prefix alone keeps our topics apart from others', so it must say something and be valid in a topic's name.
fn check_prefix(plan: &AttachedPlan) -> Result<(), TestbedError> {
    let prefix = &plan.prefix;
    let valid = (3..=PREFIX_CHARS_MAX).contains(&prefix.len())
        && prefix.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if valid {
        return Ok(());
    }
    Err(TestbedError::hinted(
        format!("target {}: \"{prefix}\" cannot be a prefix of topics", plan.target),
        format!("use 3 to {PREFIX_CHARS_MAX} letters, digits, dots, dashes or underscores, e.g. kdyno-"),
    ))
}

/// The run id in a topic's name of the form `PREFIX RUN-ID - NAME`; `None` for every other name. Only topics with a
/// run id are ever deleted.
#[must_use]
pub fn run_id_of(prefix: &str, topic: &str) -> Option<u64> {
    let (digits, rest) = topic.strip_prefix(prefix)?.split_at_checked(RUN_ID_DIGITS)?;
    let ours = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && rest.len() > 1
        && rest.starts_with('-');
    ours.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A count with its noun: `1 broker`, `3 brokers`.
fn counted(many: u64, noun: &str) -> String {
    format!("{many} {noun}{}", if many == 1 { "" } else { "s" })
}

pub(crate) fn failed(target: &str, error: &AdminError) -> TestbedError {
    TestbedError::failed(format!("target {target}: {error}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plans;
    use kdyno_kafka::admin::{BrokerInfo, PartitionInfo};
    use kdyno_kafka::errors::ErrorCode;
    use kdyno_model::plan::Caps;
    use proptest::prelude::*;

    pub(crate) fn plan(prefix: &str) -> AttachedPlan {
        AttachedPlan {
            target: "staging".to_string(),
            bootstrap: vec!["127.0.0.1:1".to_string()],
            cluster_id: "x".to_string(),
            prefix: prefix.to_string(),
            ..AttachedPlan::default()
        }
    }

    fn check(plan: &AttachedPlan) -> Result<Attached, TestbedError> {
        Attached::check(plan, &Access::plaintext(plan.bootstrap.clone()))
    }

    fn attached() -> Attached {
        let broker = |id| BrokerInfo { id, host: "h".to_string(), port: 1, rack: Some("a".to_string()) };
        Attached {
            target: "staging".to_string(),
            cluster: ClusterInfo {
                cluster_id: Some("x".into()),
                controller_id: 0,
                brokers: vec![broker(0), broker(1)],
            },
            declared: BTreeMap::from([("disk".to_string(), "gp3".to_string())]),
            caps: plan("kdyno-").caps,
            prefix: "kdyno-".to_string(),
            leftovers: 0,
            existing: BTreeMap::new(),
            on_this_host: false,
        }
    }

    fn case(replicas: u32) -> CasePlan {
        CasePlan {
            topics: BTreeMap::from([("perf".to_string(), plans::topic(1, replicas))]),
            ..plans::case(kdyno_model::plan::SystemPlan::Attached(plan("kdyno-")))
        }
    }

    #[test]
    fn useless_prefixes_are_refused_before_connecting() {
        for prefix in ["", "a", "a b c", "über-", &"x".repeat(51)] {
            let error = check(&plan(prefix)).expect_err("prefix");
            assert!(error.to_string().contains("cannot be a prefix"), "{error}");
        }
        let error = check(&plan("kdyno-")).expect_err("nobody listens on port 1");
        assert!(error.to_string().starts_with("target staging: "), "{error}");
    }

    #[test]
    fn replicas_need_brokers() {
        assert!(attached().check_case(&case(2)).is_ok());
        let error = attached().check_case(&case(3)).expect_err("two brokers");
        assert!(error.to_string().contains("wants 3 replicas, the cluster has 2 brokers"), "{error}");
        let mut small = attached();
        small.cluster.brokers.truncate(1);
        let error = small.check_case(&case(3)).expect_err("one broker").to_string();
        assert!(error.ends_with("wants 3 replicas, the cluster has 1 broker"), "{error}");
    }

    /// Four producers.
    fn producers(transactions: serde_json::Value) -> LoadPlan {
        let client = serde_json::json!({
            "defaults": "4.1", "acks": -1, "batch_bytes": 16_384, "linger_ns": 0, "buffer_bytes": 33_554_432,
            "request_bytes_max": 1_048_576, "in_flight_max": 5, "compression": "none", "max_block_ns": 1,
            "request_timeout_ns": 1, "delivery_timeout_ns": 1, "retry_backoff_ns": 100, "metadata_max_age_ns": 1,
            "partitioner": "sticky",
        });
        let produce = serde_json::json!({
            "rate": {"max": {"fill": "buffer"}}, "value_bytes": 100, "payload": "unique", "records_max": null,
            "transactions": transactions, "client": client,
        });
        let item = serde_json::json!({"topic": "perf", "clients": 4, "role": {"produce": produce}});
        serde_json::from_value(item).expect("a load item")
    }

    #[test]
    fn each_client_connects_to_all_brokers_and_transactions_add_one() {
        let capped = |connections| Attached {
            caps: Caps { connections: Some(connections), ..plan("kdyno-").caps },
            ..attached()
        };
        let with = |transactions| CasePlan {
            load: BTreeMap::from([("writers".to_string(), producers(transactions))]),
            ..case(1)
        };
        let (without, transactional) =
            (with(serde_json::Value::Null), with(serde_json::json!({"every_ns": 1, "abort_share": 0.0})));
        assert!(capped(12).check_case(&without).is_ok());
        let error = capped(11).check_case(&without).expect_err("one too many").to_string();
        assert!(error.contains("may open 12 connections") && !error.contains("transactions"), "{error}");
        assert!(capped(16).check_case(&transactional).is_ok());
        let error = capped(15).check_case(&transactional).expect_err("one too many").to_string();
        assert!(
            error.contains("may open 16 connections") && error.contains("one for transactions"),
            "{error}"
        );
    }

    #[test]
    fn an_existing_topic_is_used_as_is_and_differences_reported() {
        let partition = |id| PartitionInfo {
            id,
            leader: 0,
            replicas: vec![0, 1],
            isr: vec![0, 1],
            error: ErrorCode::NONE,
        };
        let topic = |error| TopicInfo {
            name: "team-a.load".to_string(),
            error,
            internal: false,
            partitions: (0..12).map(partition).collect(),
        };
        let with =
            |error| Attached { existing: BTreeMap::from([("perf".to_string(), topic(error))]), ..attached() };
        assert!(with(ErrorCode::NONE).check_case(&case(3)).is_ok(), "its replicas are its own");
        let reported = with(ErrorCode::NONE).differences(&case(3));
        assert_eq!(
            reported,
            ["topic perf is team-a.load, which has 12 partitions, not 1; 2 replicas, not 3"]
        );
        assert!(attached().differences(&case(3)).is_empty());
        let error = with(ErrorCode::TOPIC_AUTHORIZATION_FAILED).check_case(&case(1)).expect_err("denied");
        assert!(error.to_string().contains("topic team-a.load: TOPIC_AUTHORIZATION_FAILED"), "{error}");
    }

    #[test]
    fn declared_facts_are_marked() {
        let facts = attached().facts();
        assert_eq!(facts["declared.disk"], "gp3");
        assert_eq!(facts["brokers"], "2");
    }

    #[test]
    fn a_cluster_on_this_host_is_known_by_its_address_alone() {
        for here in ["127.0.0.1:9092", "127.8.0.1:1", "[::1]:9092", "localhost:9092", "LocalHost:1"] {
            assert!(is_loopback(here), "{here}");
        }
        for there in
            ["10.0.0.1:9092", "[::2]:9092", "localhost.example:9092", "127.0.0.1.example:1", "kafka:1"]
        {
            assert!(!is_loopback(there), "{there}");
        }
        assert!(!attached().facts().contains_key(cluster_fact::ON_THIS_HOST));
        let here = Attached { on_this_host: true, ..attached() };
        assert_eq!(here.facts()[cluster_fact::ON_THIS_HOST], "yes");
    }

    #[test]
    fn only_names_with_prefix_and_run_id_are_ours() {
        assert_eq!(run_id_of("kdyno-", "kdyno-00000000000000ab-perf-0"), Some(0xab));
        for name in [
            "kdyno-perf",
            "kdyno-00000000000000AB-perf",
            "kdyno-00000000000000ab",
            "kdyno-00000000000000ab-",
            "kdyno-00000000000000abc-perf",
            "kdyno-0000000000000+ab-perf",
            "xkdyno-00000000000000ab-perf",
            "__consumer_offsets",
        ] {
            assert_eq!(run_id_of("kdyno-", name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_made_by_runs_are_found_again(run: u64, name in "[a-zA-Z0-9._-]{1,30}") {
            prop_assert_eq!(run_id_of("p-", &format!("p-{run:016x}-{name}")), Some(run));
        }

        #[test]
        fn no_name_makes_it_panic(prefix in "\\PC{0,5}", name in "\\PC{0,40}") {
            let _ = run_id_of(&prefix, &name);
        }
    }
}
