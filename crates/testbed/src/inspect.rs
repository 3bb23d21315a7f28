//! What an attached cluster reports of its brokers and topics. Nothing is changed.

use crate::attach;
use crate::error::TestbedError;
use crate::listeners;
use kdyno_kafka::admin::{Access, BrokerInfo, ConfigOf, SettingInfo, TopicInfo};
use kdyno_model::plan::AttachedPlan;
use std::collections::BTreeMap;

/// Settings of so many topics are requested: each is a request of its own.
pub const TOPICS_MAX: usize = 200;

/// What a cluster reported.
#[derive(Debug, Clone, Default)]
pub struct Inspected {
    /// Brokers by id, with their settings; empty where they were not reported.
    pub brokers: BTreeMap<i32, BTreeMap<String, SettingInfo>>,
    /// Topics, with their settings.
    pub topics: Vec<(TopicInfo, BTreeMap<String, SettingInfo>)>,
    /// Whether its addresses are loopback ones, so that its brokers are on this host.
    pub is_on_this_host: bool,
    /// Command lines of the processes that listen at the brokers' ports on this host, by broker; of those that this user may
    /// look into.
    pub command_lines: BTreeMap<i32, Vec<String>>,
    /// What was not reported, and why: each a lowercase sentence.
    pub notes: Vec<String>,
}

/// Asks the cluster of a target, if it is the one that was meant.
///
/// # Errors
/// It does not answer, or is another one. A user who may not see settings gets notes instead.
pub fn inspect(plan: &AttachedPlan, access: &Access) -> Result<Inspected, TestbedError> {
    let (mut admin, cluster) = attach::connect(plan, access)?;
    let is_on_this_host = plan.bootstrap.iter().all(|address| attach::is_loopback(address));
    let mut reported = Inspected { is_on_this_host, ..Inspected::default() };
    if is_on_this_host {
        let port = |broker: &BrokerInfo| Some((broker.id, u16::try_from(broker.port).ok()?));
        reported.command_lines = listeners::command_lines(&cluster.brokers.iter().filter_map(port).collect());
    }
    for broker in &cluster.brokers {
        let settings = admin.describe_configs(ConfigOf::Broker(broker.id));
        if let Err(error) = &settings {
            reported.notes.push(format!("settings of broker {} are not known: {error}", broker.id));
        }
        reported.brokers.insert(broker.id, settings.unwrap_or_default());
    }
    let mut topics = admin.topics(None).map_err(|e| attach::failed(&plan.target, &e))?;
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    if topics.len() > TOPICS_MAX {
        reported.notes.push(format!("of {} topics only the first {TOPICS_MAX} are looked at", topics.len()));
        topics.truncate(TOPICS_MAX);
    }
    let mut is_refused = false;
    for topic in topics {
        let settings = match is_refused {
            true => BTreeMap::new(),
            false => admin.describe_configs(ConfigOf::Topic(&topic.name)).unwrap_or_else(|error| {
                // Who may not see those of one may see those of none.
                is_refused = true;
                reported.notes.push(format!("settings of topics are not known: {error}"));
                BTreeMap::new()
            }),
        };
        reported.topics.push((topic, settings));
    }
    Ok(reported)
}
