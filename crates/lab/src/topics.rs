//! The topics of a trial: made fresh, named so that no other run's topic can be meant, deleted afterwards.

use crate::error::LabError;
use kdyno_kafka::admin::{Access, Admin, AdminError};
use kdyno_model::plan::TopicPlan;
use kdyno_model::trial::TrialId;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a connection for administration may take to come up. A cluster that was ready a moment ago
/// needs milliseconds; one that has just lost a broker needs the failed attempt first.
const ADMIN_DEADLINE: Duration = Duration::from_secs(30);

/// Prefix of topics and client ids on clusters of our own; on others it is the target's.
pub(crate) const PREFIX: &str = "kdyno-";

/// Topics of a trial. Those that were made for it are ours to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrialTopics {
    /// The topic's address in the scenario to its real name.
    pub(crate) names: BTreeMap<String, String>,
    /// Topics that were there before the run.
    existing: BTreeMap<String, String>,
    /// The user may not delete those that were made: later trials have them too.
    is_kept: bool,
    /// What they were made from.
    made_of: BTreeMap<String, TopicPlan>,
    /// Begins the client ids of administration.
    prefix: String,
}

impl TrialTopics {
    /// Makes every topic but those that `existing` names, and waits until each of its partitions has a leader. `prefix`
    /// begins the client id, as it begins the `name` of each topic.
    pub(crate) fn create(
        access: &Access,
        prefix: &str,
        plans: &BTreeMap<String, TopicPlan>,
        existing: &BTreeMap<String, String>,
        name: impl Fn(&str) -> String,
    ) -> Result<Self, LabError> {
        let mut made = Self {
            names: BTreeMap::new(),
            existing: existing.clone(),
            is_kept: false,
            made_of: plans.clone(),
            prefix: prefix.to_owned(),
        };
        made.existing.retain(|address, _| plans.contains_key(address));
        made.names.clone_from(&made.existing);
        if made.existing.len() == plans.len() && !plans.is_empty() {
            return Ok(made);
        }
        let mut admin = admin(access, prefix)
            .map_err(|source| LabError::Admin { what: "connect to make topics".to_owned(), source })?;
        for (address, plan) in plans.iter().filter(|(address, _)| !existing.contains_key(*address)) {
            let real = name(address);
            let partitions = i32::try_from(plan.partitions).unwrap_or(i32::MAX);
            let replicas = i16::try_from(plan.replicas).unwrap_or(i16::MAX);
            // Noted before it is made: a topic whose leaders are awaited in vain exists all the same.
            made.names.insert(address.clone(), real.clone());
            if let Err(source) = admin.create_topic(&real, partitions, replicas, &plan.config) {
                // Topics made so far are ours to take away again; the first error is the one to report.
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

    /// Whether one of them has more than one replica, or may have.
    pub(crate) fn are_replicated(&self) -> bool {
        !self.existing.is_empty() || self.made_of.values().any(|plan| plan.replicas > 1)
    }

    /// Whether later trials are to have them too, because the user may not delete them.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Keeps them for later trials.
    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Real names of those that were made.
    pub(crate) fn made(&self) -> Vec<&str> {
        let made = self.names.iter().filter(|(address, _)| !self.existing.contains_key(*address));
        made.map(|(_, name)| name.as_str()).collect()
    }

    /// Deletes those that were made.
    pub(crate) fn delete(&self, access: &Access) -> Result<(), LabError> {
        let names = self.made();
        if names.is_empty() {
            return Ok(());
        }
        let topics = names.join(", ");
        let mut admin = match admin(access, &self.prefix) {
            Ok(admin) => admin,
            Err(error) => {
                return Err(LabError::hinted(
                    format!(
                        "the cluster cannot be reached any more: {error}; topics of the run stay on it: {topics}"
                    ),
                    "did its brokers go away? when they answer again, `kdyno clean --target FILE` removes these topics",
                ));
            }
        };
        admin
            .delete_topics(&names)
            .map_err(|source| LabError::Admin { what: format!("delete topics {topics}"), source })
    }
}

/// `PREFIX RUN-ID - ADDRESS - TRIAL`. The trial's number keeps a new topic apart from one of the same address
/// whose deletion brokers have not yet finished.
pub(crate) fn topic_name(prefix: &str, run_id: u64, address: &str, trial: TrialId) -> String {
    format!("{prefix}{run_id:016x}-{address}-{trial}")
}

fn admin(access: &Access, prefix: &str) -> Result<Admin, AdminError> {
    access.admin(&format!("{prefix}admin"), ADMIN_DEADLINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Nothing listens there.
    fn unreachable() -> Access {
        Access::plaintext(vec!["127.0.0.1:1".to_owned()])
    }

    /// A topic that was made on a cluster which is gone.
    fn made_on_unreachable() -> TrialTopics {
        TrialTopics {
            names: BTreeMap::from([("perf".to_owned(), "team-a.perf-1".to_owned())]),
            existing: BTreeMap::new(),
            is_kept: false,
            made_of: BTreeMap::new(),
            prefix: "team-a.".to_owned(),
        }
    }

    #[test]
    fn administration_uses_the_prefix_as_its_client_id() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let access = Access::plaintext(vec![listener.local_addr().expect("its address").to_string()]);
        let create = move || {
            TrialTopics::create(&access, "team-a.", &BTreeMap::new(), &BTreeMap::new(), str::to_owned)
        };
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
    fn topics_that_are_there_are_neither_made_nor_deleted() {
        let plan = TopicPlan { partitions: 1, replicas: 1, config: BTreeMap::new() };
        let plans = BTreeMap::from([("perf".to_owned(), plan.clone())]);
        let existing =
            ["perf", "other"].map(|address| (address.to_owned(), format!("team-a.{address}"))).into();
        // No broker is asked.
        let unreachable = unreachable();
        let topics = TrialTopics::create(&unreachable, PREFIX, &plans, &existing, str::to_owned)
            .expect("nothing to make");
        assert_eq!(topics.names, BTreeMap::from([("perf".to_owned(), "team-a.perf".to_owned())]));
        assert!(topics.made().is_empty() && topics.are_replicated());
        topics.delete(&unreachable).expect("nothing to delete");
        let both = BTreeMap::from([("perf".to_owned(), plan.clone()), ("more".to_owned(), plan)]);
        assert!(
            TrialTopics::create(&unreachable, PREFIX, &both, &existing, str::to_owned).is_err(),
            "one is to be made"
        );
    }

    #[test]
    fn topics_of_a_cluster_that_went_away_are_named() {
        let error = made_on_unreachable().delete(&unreachable()).expect_err("nobody listens there");
        let reported = error.in_passing();
        for words in [
            "the cluster cannot be reached any more: ",
            "refused",
            "topics of the run stay on it: team-a.perf-1",
            "`kdyno clean --target FILE`",
        ] {
            assert!(reported.contains(words), "{reported}");
        }
    }

    #[test]
    fn names_carry_the_run_and_differ_between_trials() {
        assert_eq!(topic_name(PREFIX, 0xab, "perf", TrialId(1)), "kdyno-00000000000000ab-perf-1");
        assert_ne!(topic_name(PREFIX, 1, "perf", TrialId(1)), topic_name(PREFIX, 1, "perf", TrialId(2)));
    }
}
