//! The cluster and the topic that the records go to.

use super::properties::ProducerProperties;
use crate::commands::quick::{self, TopicShape};
use crate::failure::Failure;
use kdyno_kafka::admin::AdminError;
use kdyno_kafka::errors::ErrorCode;
use kdyno_model::address::is_address;
use kdyno_model::plan::{AttachedPlan, Caps};
use kdyno_perf_test::producer::Options;
use kdyno_scenario::input::quoted;
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use std::collections::BTreeMap;

/// Whoever typed the volume means it: nothing is capped.
const CAPS: Caps =
    Caps { produce_bytes_per_s: None, connections: None, partitions: None, disk_bytes: None, time_ns: None };

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
    let mut attached = AttachedPlan {
        target: super::scenario::ID.to_owned(),
        bootstrap: client.bootstrap.clone(),
        cluster_id: String::new(),
        security: Box::new(client.security.clone()),
        prefix: quick::PREFIX.to_owned(),
        topics: BTreeMap::from([(super::scenario::TOPIC.to_owned(), options.topic.clone())]),
        caps: CAPS,
        allow: vec![RATE_MAX.to_owned()],
        abort_if: Vec::new(),
        facts: BTreeMap::new(),
        price: None,
        sustain_ns: None,
    };
    let protocol = attached.security.protocol;
    let failed = |error: &AdminError| Failure::tool(error).maybe_hint(quick::hint(error, protocol));
    let access = kdyno_lab::access(&attached, &client.secrets, &|name| std::env::var_os(name))?;
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
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let replicas = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
    let shape = TopicShape { partitions: number(topic.partitions.len()), replicas: number(replicas) };
    Ok((Target { attached, secrets: client.secrets.clone(), notes: Vec::new() }, shape))
}
