//! A small blocking client for what is done around a load: look at a cluster, create and delete topics,
//! read offsets and settings. The one place in this crate that opens sockets; what is said over them is a
//! [`Connection`](crate::connection::Connection)'s, as everywhere.
//!
//! Every public call ends within the time given to [`Admin::connect`], retries included. It retries what the
//! brokers call retriable, and broken connections; requests for the controller go to the broker that is it.

mod access;
mod address;
mod asking;
mod broker;
mod configs;
mod error;
mod observed;
mod quotas;
mod sample;
mod types;
mod users;

pub use crate::consumer::OffsetAt;
pub use access::Access;
pub use error::{AdminError, Result};
pub use observed::{Committed, PartitionKey};
pub use quotas::QuotaDefault;
pub use sample::SampleBounds;
pub use types::{
    BrokerInfo, ClusterInfo, ConfigOf, FeatureInfo, PartitionInfo, SettingInfo, SettingSource, TopicInfo,
};
pub use users::{Acl, AclResource, Operation};

use crate::errors::ErrorCode;
use crate::messages::{Api, m02_list_offsets, m03_metadata, m19_create_topics, m20_delete_topics};
use crate::security::ConnectionSecurity;
use crate::wire::WireError;
use crate::words;
use address::{BrokerAddress, Deadline};
use broker::AdminConnection;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use types::{cluster_info, topic_info};

/// Pause between two tries: short against an election (some 100 ms), long against a request (some ms).
const BACKOFF: Duration = Duration::from_millis(50);
/// How long a topic or broker may be unknown before that is believed: brokers learn of new ones at different
/// times.
const UNKNOWN_GRACE: Duration = Duration::from_secs(2);
/// Longest text of the protocol's classic encoding, which older brokers are spoken to in.
const TEXT_BYTES_MAX: usize = i16::MAX as usize;

/// Most connections that are open at once; the one that was opened first is closed for another.
const CONNECTIONS_MAX: usize = 32;

/// The client.
#[derive(Debug)]
pub struct Admin {
    bootstrap: Vec<BrokerAddress>,
    client_id: String,
    security: ConnectionSecurity,
    timeout: Duration,
    /// Connections that are up; when one fails all are dropped.
    connections: Vec<AdminConnection>,
    /// Where the brokers of the last metadata listen; an error for one that cannot.
    known: BTreeMap<i32, std::result::Result<BrokerAddress, String>>,
    /// As the first metadata that had it reported it.
    cluster_id: Option<String>,
    controller_id: i32,
}

impl Admin {
    /// Connects to the first of the bootstrap addresses that answers, as PLAINTEXT. `timeout` bounds this
    /// and every later call, retries included.
    ///
    /// # Errors
    /// When no address leads to a broker; the error says why for each.
    pub fn connect(bootstrap: &[String], client_id: &str, timeout: Duration) -> Result<Self> {
        Self::connect_by(ConnectionSecurity::default(), bootstrap, client_id, timeout)
    }

    /// As [`Self::connect`], with every connection secured.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_by(
        security: ConnectionSecurity,
        bootstrap: &[String],
        client_id: &str,
        timeout: Duration,
    ) -> Result<Self> {
        let bootstrap: Vec<_> =
            bootstrap.iter().map(|text| BrokerAddress::parse(text)).collect::<Result<_>>()?;
        if bootstrap.is_empty() {
            return Err(AdminError::NoAddress);
        }
        checked_text("client id", client_id)?;
        let mut admin = Self {
            bootstrap,
            client_id: client_id.to_owned(),
            security,
            timeout,
            connections: Vec::new(),
            known: BTreeMap::new(),
            cluster_id: None,
            controller_id: -1,
        };
        admin.refresh(Deadline::after(timeout))?;
        Ok(admin)
    }

    /// Brokers and controller.
    ///
    /// # Errors
    /// When no broker answers in time.
    pub fn cluster(&mut self) -> Result<ClusterInfo> {
        self.retry(Self::refresh).map(cluster_info)
    }

    /// Topics by name, all of them when no names are given. A topic that does not exist is in the answer,
    /// with its error.
    ///
    /// # Errors
    /// When no broker answers in time.
    pub fn topics(&mut self, names: Option<&[&str]>) -> Result<Vec<TopicInfo>> {
        for name in names.unwrap_or_default() {
            checked_text("topic name", name)?;
        }
        self.retry(|admin, deadline| {
            let reply = admin.metadata(None, names, deadline)?;
            Ok(reply.topics.into_iter().map(topic_info).collect())
        })
    }

    /// Brokers and topics, all of them when no names are given, by one request: both are of one moment. A topic that does not exist is in the
    /// answer, with its error.
    ///
    /// # Errors
    /// When no broker answers in time.
    pub fn state(&mut self, names: Option<&[&str]>) -> Result<(ClusterInfo, Vec<TopicInfo>)> {
        for name in names.unwrap_or_default() {
            checked_text("topic name", name)?;
        }
        self.retry(|admin, deadline| {
            let mut reply = admin.metadata(None, names, deadline)?;
            let topics = std::mem::take(&mut reply.topics).into_iter().map(topic_info).collect();
            Ok((cluster_info(reply), topics))
        })
    }

    /// Creates a topic and waits until every broker knows a leader and the full set of in-sync replicas for
    /// each of its partitions.
    ///
    /// # Errors
    /// When the controller refuses, `TOPIC_ALREADY_EXISTS` for instance, or the brokers do not agree in time.
    pub fn create_topic(
        &mut self,
        name: &str,
        partitions: i32,
        replicas: i16,
        config: &BTreeMap<String, String>,
    ) -> Result<()> {
        checked_text("topic name", name)?;
        for (key, value) in config {
            checked_text("setting", key)?;
            checked_text("value of a setting", value)?;
        }
        let deadline = Deadline::after(self.timeout);
        let mut repeated = false;
        self.retry_until(deadline, |admin, deadline| {
            let timeout_ms = millis(deadline.left() / 2);
            let request =
                m19_create_topics::Request::of_topic(name, partitions, replicas, config, timeout_ms);
            let controller = admin.controller(deadline)?;
            let mut done = controller.call(&request, deadline).and_then(|reply| {
                let topics = reply.topics.iter();
                let topics = topics.map(|t| (t.name.as_str(), t.error_code, t.error_message.as_deref()));
                check_outcome(controller, &m19_create_topics::API, name, topics)
            });
            if repeated && error_code(&done) == Some(ErrorCode::TOPIC_ALREADY_EXISTS) {
                done = Ok(()); // by an earlier try that was not answered
            }
            repeated |= done.as_ref().is_err_and(AdminError::is_ambiguous);
            done
        })?;
        let count = usize::try_from(partitions).unwrap_or(0);
        self.settle(&[name], "created", deadline, &|topic| lack_of_new(topic, count))
    }

    /// Deletes topics and waits until no broker knows them any more.
    ///
    /// # Errors
    /// When the controller refuses, `UNKNOWN_TOPIC_OR_PARTITION` for instance, or brokers do not agree in
    /// time. Those named before the one in the error are deleted.
    pub fn delete_topics(&mut self, names: &[&str]) -> Result<()> {
        for name in names {
            checked_text("topic name", name)?;
        }
        let deadline = Deadline::after(self.timeout);
        for name in names {
            self.delete_topic(name, deadline)?;
        }
        self.settle(names, "deleted", deadline, &|topic| {
            let known = topic.error_code != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            known.then(|| "it is still known to".to_owned())
        })
    }

    fn delete_topic(&mut self, name: &str, deadline: Deadline) -> Result<()> {
        let mut repeated = false;
        self.retry_until(deadline, |admin, deadline| {
            let timeout_ms = millis(deadline.left() / 2);
            let request = m20_delete_topics::Request::of_topics(&[name], timeout_ms);
            let controller = admin.controller(deadline)?;
            let mut done = controller.call(&request, deadline).and_then(|reply| {
                let topics = reply.responses.iter().map(|t| {
                    (t.name.as_deref().unwrap_or_default(), t.error_code, t.error_message.as_deref())
                });
                check_outcome(controller, &m20_delete_topics::API, name, topics)
            });
            if repeated && error_code(&done) == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
                done = Ok(()); // by an earlier try that was not answered
            }
            repeated |= done.as_ref().is_err_and(AdminError::is_ambiguous);
            done
        })
    }

    /// One offset of each partition of a topic, by partition.
    ///
    /// # Errors
    /// When the topic does not exist, or a partition has no leader that answers in time.
    pub fn list_offsets(&mut self, topic: &str, at: OffsetAt) -> Result<BTreeMap<i32, i64>> {
        checked_text("topic name", topic)?;
        self.retry(|admin, deadline| admin.list_offsets_once(topic, at, deadline))
    }

    fn list_offsets_once(
        &mut self,
        topic: &str,
        at: OffsetAt,
        deadline: Deadline,
    ) -> Result<BTreeMap<i32, i64>> {
        let api = &m02_list_offsets::API;
        let reply = self.metadata(None, Some(&[topic]), deadline)?;
        let asked = self.broker(None, deadline)?;
        let mut leaders: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for found in &reply.topics {
            asked.check(&m03_metadata::API, &format!(" of topic {topic:?}"), found.error_code, None)?;
            for partition in &found.partitions {
                if partition.leader_id < 0 {
                    let subject = format!(" of {topic}-{}", partition.partition_index);
                    asked.check(api, &subject, ErrorCode::LEADER_NOT_AVAILABLE, None)?;
                }
                leaders.entry(partition.leader_id).or_default().push(partition.partition_index);
            }
        }
        let mut offsets = BTreeMap::new();
        for (leader, partitions) in &leaders {
            let request = m02_list_offsets::Request {
                isolation_level: at.isolation_level(),
                ..m02_list_offsets::Request::of_topic(topic, partitions, at.timestamp())
            };
            let broker = self.broker(Some(*leader), deadline)?;
            let reply = broker.call(&request, deadline)?;
            for found in reply.topics.iter().flat_map(|topic| &topic.partitions) {
                let partition = found.partition_index;
                broker.check(api, &format!(" of {topic}-{partition}"), found.error_code, None)?;
                offsets.insert(partition, found.offset);
            }
        }
        match leaders.values().flatten().find(|partition| !offsets.contains_key(partition)) {
            Some(left_out) => Err(AdminError::NoOffset { topic: topic.to_owned(), partition: *left_out }),
            None => Ok(offsets),
        }
    }
}

/// How calls find their broker and come back to it.
impl Admin {
    /// Runs `attempt` until it succeeds, fails for good, or the call's time is over.
    fn retry<T>(&mut self, attempt: impl FnMut(&mut Self, Deadline) -> Result<T>) -> Result<T> {
        self.retry_until(Deadline::after(self.timeout), attempt)
    }

    fn retry_until<T>(
        &mut self,
        deadline: Deadline,
        mut attempt: impl FnMut(&mut Self, Deadline) -> Result<T>,
    ) -> Result<T> {
        let started = Instant::now();
        let mut before = None;
        loop {
            let error = match attempt(self, deadline) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if error.code().is_none() {
                self.connections.clear(); // either way the answer is the same
            }
            let believed = error.is_unknown() && started.elapsed() > UNKNOWN_GRACE;
            if !error.is_retriable() || believed || deadline.left() <= BACKOFF {
                // What an earlier try said is more useful than that there was no time for the last one.
                let cut_short = matches!(error, AdminError::Timeout { .. });
                return Err(before.filter(|_| cut_short).unwrap_or(error));
            }
            before = Some(error);
            thread::sleep(BACKOFF);
            if let Err(error) = self.refresh(deadline)
                && !error.is_retriable()
            {
                return Err(error);
            }
        }
    }

    /// Metadata of a given broker, or any; remembers where brokers listen.
    fn metadata(
        &mut self,
        node: Option<i32>,
        topics: Option<&[&str]>,
        deadline: Deadline,
    ) -> Result<m03_metadata::Response> {
        let asked = self.broker(node, deadline)?;
        let reply = asked.call(&m03_metadata::Request::of_topics(topics), deadline)?;
        let address = asked.address.to_string();
        if let Err(error) = asked.check(&m03_metadata::API, "", reply.error_code, None) {
            if reply.error_code == ErrorCode::REBOOTSTRAP_REQUIRED {
                self.connections.clear();
                (self.known, self.controller_id) = (BTreeMap::new(), -1);
            }
            return Err(error);
        }
        if let Some(found) = &reply.cluster_id {
            let first = self.cluster_id.get_or_insert_with(|| found.clone());
            if first != found {
                let (first, found) = (words::of_broker(first), words::of_broker(found));
                return Err(AdminError::OtherCluster { address, first, found });
            }
        }
        let listens = |broker: &m03_metadata::MetadataResponseBroker| {
            let text = || format!("{}:{}", words::of_broker(&broker.host), broker.port);
            (broker.node_id, BrokerAddress::new(&broker.host, broker.port).map_err(|_| text()))
        };
        self.known = reply.brokers.iter().map(listens).collect();
        self.controller_id = reply.controller_id;
        Ok(reply)
    }

    /// Metadata without topics.
    fn refresh(&mut self, deadline: Deadline) -> Result<m03_metadata::Response> {
        self.metadata(None, Some(&[]), deadline)
    }

    /// A connection to the controller.
    fn controller(&mut self, deadline: Deadline) -> Result<&mut AdminConnection> {
        if self.controller_id < 0 {
            self.refresh(deadline)?;
        }
        match self.controller_id {
            -1 => Err(AdminError::NoController),
            id => self.broker(Some(id), deadline),
        }
    }

    /// A connection to a given broker, or to any.
    fn broker(&mut self, node: Option<i32>, deadline: Deadline) -> Result<&mut AdminConnection> {
        let addresses: Vec<BrokerAddress> = match node {
            None => self.bootstrap.iter().chain(self.known.values().flatten()).cloned().collect(),
            Some(id) => match self.known.get(&id) {
                Some(Ok(address)) => vec![address.clone()],
                Some(Err(address)) => return Err(AdminError::Advertised { id, address: address.clone() }),
                None => {
                    let brokers = self.known.keys().copied().collect();
                    return Err(AdminError::UnknownBroker { id, brokers });
                }
            },
        };
        let open = self.connections.iter().position(|broker| addresses.contains(&broker.address));
        if let Some(open) = open {
            return Ok(&mut self.connections[open]);
        }
        let mut errors = Vec::new();
        for (tried, address) in addresses.iter().enumerate() {
            let share = deadline.share(addresses.len() - tried);
            match AdminConnection::open(address, &self.client_id, &self.security, share) {
                Ok(broker) => {
                    if self.connections.len() >= CONNECTIONS_MAX {
                        self.connections.remove(0);
                    }
                    return Ok(self.connections.push_mut(broker));
                }
                Err(error) => errors.push(error),
            }
        }
        Err(if errors.len() == 1 { errors.remove(0) } else { AdminError::Unreachable(errors) })
    }

    /// Waits until every broker's metadata of each topic lacks nothing. `lack` says what is missing, in
    /// words to which a broker can be added.
    fn settle(
        &mut self,
        names: &[&str],
        done: &'static str,
        deadline: Deadline,
        lack: &dyn Fn(&m03_metadata::MetadataResponseTopic) -> Option<String>,
    ) -> Result<()> {
        let brokers = self.retry_until(deadline, Self::refresh)?.brokers;
        for broker in brokers {
            let mut unsettled = None;
            loop {
                let reply = self.retry_until(deadline, |admin, deadline| {
                    admin.metadata(Some(broker.node_id), Some(names), deadline)
                });
                let reply = reply.map_err(|error| unsettled.take().unwrap_or(error))?;
                let lacking = reply.topics.iter().find_map(|topic| Some((topic.name.clone(), lack(topic)?)));
                let Some((topic, lack)) = lacking else { break };
                let (topic, limit) = (words::of_broker(&topic.unwrap_or_default()), deadline.limit);
                let lack = format!("{lack} broker {}", broker.node_id);
                let error = AdminError::Unsettled { topic, done, limit, lack };
                if deadline.left() <= BACKOFF {
                    return Err(error);
                }
                unsettled = Some(error);
                thread::sleep(BACKOFF);
            }
        }
        Ok(())
    }
}

/// What a new topic still lacks.
fn lack_of_new(topic: &m03_metadata::MetadataResponseTopic, partitions: usize) -> Option<String> {
    if topic.error_code.is_error() {
        return Some(format!("it is {} for", topic.error_code));
    }
    if topic.partitions.len() < partitions {
        return Some(format!("{} of {partitions} partitions are known to", topic.partitions.len()));
    }
    let waiting = |p: &&m03_metadata::MetadataResponsePartition| {
        p.leader_id < 0 || p.isr_nodes.len() < p.replica_nodes.len()
    };
    topic.partitions.iter().find(waiting).map(|p| {
        let (partition, leader) = (p.partition_index, p.leader_id);
        let (isr, replicas) = (p.isr_nodes.len(), p.replica_nodes.len());
        format!("partition {partition} has leader {leader} and {isr} of {replicas} replicas in sync, says")
    })
}

/// Checks what became of the one topic of a request; a reply that does not name it is an error.
fn check_outcome<'r>(
    broker: &AdminConnection,
    api: &Api,
    name: &str,
    mut outcomes: impl Iterator<Item = (&'r str, ErrorCode, Option<&'r str>)>,
) -> Result<()> {
    match outcomes.find(|outcome| outcome.0 == name) {
        Some((_, code, message)) => broker.check(api, &format!(" of topic {name:?}"), code, message),
        None => Err(AdminError::Wire {
            address: broker.address.to_string(),
            api: api.name,
            source: WireError::Invalid("the topic of the request is missing in the reply"),
        }),
    }
}

fn error_code<T>(result: &Result<T>) -> Option<ErrorCode> {
    result.as_ref().err().and_then(AdminError::code)
}

fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

fn checked_text(what: &'static str, text: &str) -> Result<()> {
    if text.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(AdminError::Text { what, bytes: text.len(), bytes_max: TEXT_BYTES_MAX })
}
