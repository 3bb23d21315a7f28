//! The topics of a trial: made fresh, named so that no other run's topic can be meant, deleted afterwards.

use crate::error::LabError;
use kdyno_kafka::admin::{Access, Admin};
use kdyno_model::plan::TopicPlan;
use kdyno_model::trial::TrialId;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a connection for administration may take to come up. A cluster that was ready a moment ago
/// needs milliseconds; one that has just lost a broker needs the failed attempt first.
const ADMIN_DEADLINE: Duration = Duration::from_secs(30);

/// Prefix of topics and client ids on clusters of our own; on others it is the target's.
pub(crate) const PREFIX: &str = "kdyno-";

/// Topics that exist and are ours to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topics {
    /// The topic's address in the scenario to its real name.
    pub(crate) names: BTreeMap<String, String>,
    /// What they were made from.
    made_of: BTreeMap<String, TopicPlan>,
    /// Begins the client ids of administration.
    prefix: String,
}

impl Topics {
    /// Makes every topic and waits until each of its partitions has a leader. `prefix` begins the client id, as it
    /// begins the `name` of each topic.
    pub(crate) fn create(
        access: &Access,
        prefix: &str,
        plans: &BTreeMap<String, TopicPlan>,
        name: impl Fn(&str) -> String,
    ) -> Result<Self, LabError> {
        let mut admin = connect(access, prefix, "make topics")?;
        let mut made = Self { names: BTreeMap::new(), made_of: plans.clone(), prefix: prefix.to_owned() };
        for (address, plan) in plans {
            let real = name(address);
            let partitions = i32::try_from(plan.partitions).unwrap_or(i32::MAX);
            let replicas = i16::try_from(plan.replicas).unwrap_or(i16::MAX);
            // Noted before it is made: a topic whose leaders are awaited in vain exists all the same.
            made.names.insert(address.clone(), real.clone());
            if let Err(source) = admin.create_topic(&real, partitions, replicas, &plan.config) {
                // Those made so far are ours to take away again; the first error is the one to tell.
                let _ = made.delete(access);
                return Err(LabError::Topic { address: address.clone(), source });
            }
        }
        Ok(made)
    }

    /// Whether these topics are what `plans` asks for.
    pub(crate) fn fit(&self, plans: &BTreeMap<String, TopicPlan>) -> bool {
        self.made_of == *plans
    }

    /// Whether one of them has more than one replica.
    pub(crate) fn are_replicated(&self) -> bool {
        self.made_of.values().any(|plan| plan.replicas > 1)
    }

    /// Deletes them all.
    pub(crate) fn delete(&self, access: &Access) -> Result<(), LabError> {
        if self.names.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.names.values().map(String::as_str).collect();
        let mut admin = connect(access, &self.prefix, "delete topics")?;
        admin
            .delete_topics(&names)
            .map_err(|source| LabError::Admin { what: format!("delete topics {}", names.join(", ")), source })
    }
}

/// `PREFIX RUN-ID - ADDRESS - TRIAL`. The trial's number keeps a new topic apart from one of the same address
/// whose deletion brokers have not yet finished.
pub(crate) fn topic_name(prefix: &str, run_id: u64, address: &str, trial: TrialId) -> String {
    format!("{prefix}{run_id:016x}-{address}-{trial}")
}

fn connect(access: &Access, prefix: &str, what: &str) -> Result<Admin, LabError> {
    access
        .admin(&format!("{prefix}admin"), ADMIN_DEADLINE)
        .map_err(|source| LabError::Admin { what: format!("connect to {what}"), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn administration_uses_the_prefix_as_its_client_id() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let access = Access::plaintext(vec![listener.local_addr().expect("its address").to_string()]);
        let create = move || Topics::create(&access, "team-a.", &BTreeMap::new(), str::to_owned);
        let client = std::thread::spawn(create);
        let (mut broker, _) = listener.accept().expect("a client");
        // Length of the request, its kind and version, its number, length of the client id: then the id.
        let mut head = [0; 4 + 2 + 2 + 4 + 2];
        broker.read_exact(&mut head).expect("a request");
        let mut id = vec![0; usize::from(u16::from_be_bytes([head[12], head[13]]))];
        broker.read_exact(&mut id).expect("a client id");
        assert_eq!(String::from_utf8(id).as_deref(), Ok("team-a.admin"));
        drop((broker, listener));
        client.join().expect("no panic").expect_err("no broker answers");
    }

    #[test]
    fn names_carry_the_run_and_differ_between_trials() {
        assert_eq!(topic_name(PREFIX, 0xab, "perf", TrialId(1)), "kdyno-00000000000000ab-perf-1");
        assert_ne!(topic_name(PREFIX, 1, "perf", TrialId(1)), topic_name(PREFIX, 1, "perf", TrialId(2)));
    }
}
