//! The cluster and the topic that the records go to.

use super::properties::ProducerProperties;
use crate::commands::quick::{self, TopicShape};
use crate::failure::Failure;
use kdyno_kafka::admin::AdminError;
use kdyno_kafka::errors::ErrorCode;
use kdyno_model::address::is_address;
use kdyno_perf_test::producer::Options;
use kdyno_scenario::input::quoted;
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use std::collections::BTreeMap;

/// As fast as it goes is what `--throughput -1` asks for.
const RATE_MAX: &str = "rate-max";

/// Asks the cluster who it is, and for the topic, which it may make by itself.
pub(super) fn look(
    options: &Options,
    properties: &ProducerProperties,
) -> Result<(Target, TopicShape), Failure> {
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
    // Whoever typed the volume means it: nothing is capped.
    let mut attached = quick::attached(super::scenario::ID, client.bootstrap.clone(), client, topics);
    attached.allow = vec![RATE_MAX.to_owned()];
    let protocol = attached.security.protocol;
    let failed = |error: &AdminError| Failure::tool(error).maybe_hint(quick::hint(error, protocol));
    let access = kdyno_lab::access(&attached, &client.secrets, &|name| properties.variable(name))?;
    let client_id = format!("{}admin", quick::PREFIX);
    let mut admin = access.admin(&client_id, quick::CONNECT_DEADLINE).map_err(|error| failed(&error))?;
    attached.cluster_id = admin.cluster().map_err(|error| failed(&error))?.cluster_id.unwrap_or_default();
    let topic = admin.topic_by_asking(&options.topic).map_err(|error| match error.code() {
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => Failure::tool(format!(
            "the cluster shows no topic {} and does not create it",
            quoted(&options.topic)
        ))
        .hint("create it first, or let brokers make topics by themselves (`auto.create.topics.enable`)"),
        _ => failed(&error),
    })?;
    Ok((Target { attached, secrets: client.secrets.clone(), notes: Vec::new() }, TopicShape::of(&topic)))
}
