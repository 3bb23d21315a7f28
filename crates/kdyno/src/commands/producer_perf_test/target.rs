//! The cluster and the topic that the records go to.

use super::properties::ProducerProperties;
use crate::commands::typed_cluster::{self, TopicShape, ask_cluster_id, failed, topics_tool};
use crate::failure::Failure;
use crate::out;
use kdyno_kafka::errors::ErrorCode;
use kdyno_model::address::is_address;
use kdyno_perf_test::producer::ProducerOptions;
use kdyno_scenario::input::quoted;
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use std::collections::BTreeMap;

/// As fast as it goes is what `--throughput -1` asks for.
const RATE_MAX: &str = "rate-max";

/// What was typed of the cluster and the topic. The cluster id is not known yet.
pub(super) fn typed(options: &ProducerOptions, properties: &ProducerProperties) -> Result<Target, Failure> {
    let client = &properties.client;
    if client.bootstrap.is_empty() {
        return Err(Failure::usage("no `bootstrap.servers` are given")
            .hint("name --bootstrap-server, or `bootstrap.servers` among the properties"));
    }
    if let Some(wrong) = client.bootstrap.iter().find(|address| !is_address(address)) {
        return Err(Failure::usage(format!("bootstrap servers: {} is not HOST:PORT", quoted(wrong)))
            .hint(ADDRESS_FORM));
    }
    let topics = BTreeMap::from([(super::scenario::TOPIC.to_owned(), options.topic.clone())]);
    // The typed volume is intended: nothing is capped.
    let mut attached = typed_cluster::attached(super::scenario::ID, client.bootstrap.clone(), client, topics);
    attached.allow = vec![RATE_MAX.to_owned()];
    Ok(Target { attached, secrets: client.secrets.clone(), notes: Vec::new() })
}

/// Asks for the cluster id, and for the topic, which the cluster may create by itself.
pub(super) fn look(
    options: &ProducerOptions,
    properties: &ProducerProperties,
    mut target: Target,
) -> Result<(Target, TopicShape), Failure> {
    let Target { attached, secrets, .. } = &mut target;
    let (mut admin, _) = ask_cluster_id(attached, secrets, &|name| properties.variable(name))?;
    let waiting = || out::note(&format!("waiting for topic {}", quoted(&options.topic)));
    let topic = admin.topic_by_asking(&options.topic, &waiting).map_err(|error| match error.code() {
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => Failure::tool(format!(
            "the cluster shows no topic {} and does not create it",
            quoted(&options.topic)
        ))
        .hint(format!(
            "create it with {}, or let brokers do so (`auto.create.topics.enable=true`)",
            topics_tool(attached, &format!("--create --topic {}", options.topic))
        )),
        _ => failed(&error, attached),
    })?;
    Ok((target, TopicShape::of(&topic)))
}
