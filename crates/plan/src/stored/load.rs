//! Load items: their clients, how fast they are, what they are set to.

use super::refusal::{KeyPath, Passed};
use super::{records, settings, system};
use crate::consume::{MULTIPLES_MAX, WORK_NS_MAX};
use crate::group;
use crate::item_topics::CLIENTS_MAX;
use crate::load::{RATE_PER_S_MAX, STEPS_MAX};
use crate::phases::PHASE_NS_MAX;
use crate::records::EXPONENT_MAX;
use crate::topics::COUNT_MAX;
use crate::transactions::{TRANSACTION_NS_MAX, TRANSACTION_NS_MIN, TRANSACTION_RECORDS_MAX};
use kdyno_model::plan::{
    CasePlan, ConsumePlan, Driver, EndToEndPlan, GroupPlan, GroupProtocol, JavaClient, JavaDriver, LoadPlan,
    LoadSpan, POOL_BYTES_MAX, Payload, ProducePlan, ProducerSettings, Rate, RatePiece, Role, ToolLines,
    TransactionsPlan, VALUE_BYTES_MAX, WorkPlan,
};
use kdyno_model::version::Version;
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::input::quoted;
use kdyno_scenario::is_item_name;
use std::collections::BTreeSet;

/// Largest time of a client's settings, ns: Java's largest number of ms.
const SETTING_NS_MAX: u64 = i32::MAX as u64 * 1_000_000;

pub(super) fn item(at: &KeyPath<'_>, name: &str, of: &LoadPlan, case: &CasePlan) -> Passed {
    let LoadPlan { topic, clients, more_topics, shared_topics, zone, span, driver, role } = of;
    at.named(name, is_item_name(name), "the name of a load item")?;
    let is_there =
        |topic: &String| at.key("topic").named(topic, case.topics.contains_key(topic), "a topic of its load");
    more_topics.iter().chain([topic]).try_for_each(is_there)?;
    let streams = of.stream_count();
    at.key("clients").within(*clients, streams..=CLIENTS_MAX)?;
    let (more, distinct) = (at.key("more_topics"), of.topics().collect::<BTreeSet<_>>());
    more.holds(distinct.len() == more_topics.len() + 1, "has a topic twice in a load item")?;
    more.holds(*clients % streams == 0, "has clients that its topics do not share evenly")?;
    let may_have_several = driver.is_native() && !matches!(role, Role::EndToEnd(_));
    more.holds(more_topics.is_empty() || may_have_several, "has several topics where one is possible")?;
    let shared = at.key("shared_topics");
    let has_transactions = role.as_produce().is_some_and(|produce| produce.transactions.is_some());
    shared.holds(!shared_topics || !has_transactions, "has transactions of several topics")?;
    shared.holds(
        !shared_topics || more_topics.len() < COUNT_MAX as usize,
        "has clients with too many topics",
    )?;
    if let Some(zone) = zone {
        let is_there = case.system.zones().is_some_and(|zones| zones.names().contains(&zone.as_str()));
        at.key("zone").named(zone, is_there, "a zone of its clients")?;
    }
    let LoadSpan { at_ns, until_ns } = span;
    for (key, ns) in [("at_ns", at_ns), ("until_ns", until_ns)] {
        at.key(key).may_be_within(*ns, 0..=PHASE_NS_MAX)?;
    }
    let side = match role {
        Role::Produce(_) | Role::EndToEnd(_) => ClientSide::Produce,
        Role::Consume(_) => ClientSide::Consume,
    };
    carried(&at.key("driver"), driver, side)?;
    match role {
        Role::Produce(of) => produce(at, of, streams, case),
        Role::Consume(of) => consume(at, of),
        Role::EndToEnd(EndToEndPlan { produce: send, consume: fetch }) => {
            produce(at, send, streams, case)?;
            consume(at, fetch)
        }
    }
}

fn carried(at: &KeyPath<'_>, driver: &Driver, side: ClientSide) -> Passed {
    let JavaDriver { client, jvm, properties } = match driver {
        Driver::Native => return Ok(()),
        Driver::Java(java) => java,
    };
    match client {
        JavaClient::Version(text) => {
            at.named(text, system::is_release(text), "a release of kafka-clients")?
        }
        JavaClient::Home(_) | JavaClient::Source(_) | JavaClient::Jar(_) => {
            let from = quoted(&client.to_string());
            return Err(at.key("client").refused(format!("starts a Java client that lies here: {from}")));
        }
    }
    settings::jvm(&at.key("jvm"), jvm)?;
    settings::of_java(&at.key("properties"), side, properties)
}

fn produce(at: &KeyPath<'_>, of: &ProducePlan, streams: u32, case: &CasePlan) -> Passed {
    let ProducePlan {
        rate,
        value_bytes,
        payload,
        records,
        // A load that ends sooner, or does not.
        records_max: _,
        synchronous: _,
        transactions,
        tool_lines,
        client,
    } = of;
    rated(&at.key("rate"), rate)?;
    at.key("value_bytes").within(*value_bytes, 0..=VALUE_BYTES_MAX)?;
    match payload {
        Payload::Unique => {}
        // Each stream has a pool of its own.
        Payload::Pooled { pool_bytes } => {
            at.key("payload").within(*pool_bytes, 1..=POOL_BYTES_MAX / u64::from(streams))?
        }
    }
    records::records(&at.key("records"), records, case)?;
    if let Some(TransactionsPlan { every_ns, records, abort_share }) = transactions {
        let at = at.key("transactions");
        at.within(*every_ns, TRANSACTION_NS_MIN..=TRANSACTION_NS_MAX)?;
        at.may_be_within(*records, 1..=TRANSACTION_RECORDS_MAX)?;
        at.within(*abort_share, 0.0..=1.0)?;
    }
    // Records that are counted apart, however many.
    let (Some(ToolLines { warmup_records: _ }) | None) = tool_lines;
    producer(&at.key("client"), client)
}

fn rated(at: &KeyPath<'_>, rate: &Rate) -> Passed {
    let pieces = match rate {
        Rate::Max { fill: _ } => return Ok(()),
        Rate::Open { pieces, arrivals: _ } => pieces,
    };
    at.within(pieces.len(), 1..=STEPS_MAX)?;
    pieces.iter().try_for_each(|RatePiece { from_per_s, to_per_s, length_ns }| {
        at.within(*from_per_s, 0.0..=RATE_PER_S_MAX)?;
        at.within(*to_per_s, 0.0..=RATE_PER_S_MAX)?;
        at.key("length_ns").within(*length_ns, 1..=PHASE_NS_MAX)
    })
}

/// Most of its fields are settings that have names and rules of Kafka's.
fn producer(at: &KeyPath<'_>, of: &ProducerSettings) -> Passed {
    let ProducerSettings {
        defaults,
        acks: _,
        batch_bytes,
        linger_ns: _,
        buffer_bytes,
        request_bytes_max: _,
        in_flight_max: _,
        compression: _,
        compression_level: _,
        max_block_ns: _,
        request_timeout_ns: _,
        delivery_timeout_ns: _,
        retry_backoff_ns: _,
        retry_backoff_max_ns: _,
        transaction_timeout_ns,
        metadata_max_age_ns: _,
        enable_idempotence: _,
        partitioner: _,
        ignore_keys: _,
        adaptive_partitioning: _,
        availability_timeout_ns: _,
    } = of;
    at.key("defaults").named(
        defaults,
        Version::of_client(defaults).is_ok(),
        "a version of Kafka's clients",
    )?;
    settings::of_client(at, ClientSide::Produce, &of.named())?;
    at.key("batch_bytes").within(u64::from(*batch_bytes), 1..=*buffer_bytes)?;
    at.key("transaction_timeout_ns").within(*transaction_timeout_ns, 0..=SETTING_NS_MAX)
}

fn consume(at: &KeyPath<'_>, of: &ConsumePlan) -> Passed {
    let ConsumePlan {
        from: _,
        fetch_bytes_max: _,
        partition_bytes_max: _,
        fetch_bytes_min: _,
        fetch_wait_ns: _,
        request_timeout_ns: _,
        retry_backoff_ns: _,
        isolation_level: _,
        rack,
        read: _,
        poll_records_max,
        work,
        group,
        records_max: _,
        idle_ns,
    } = of;
    settings::of_client(at, ClientSide::Consume, &of.named())?;
    at.key("rack").named(rack, rack.is_empty() || settings::is_word(rack), "a rack")?;
    at.key("poll_records_max").within(*poll_records_max, 1..=i32::MAX as u32)?;
    at.key("idle_ns").may_be_within(*idle_ns, 0..=PHASE_NS_MAX)?;
    work.as_ref().map_or(Ok(()), |of| works(&at.key("work"), of))?;
    group.as_ref().map_or(Ok(()), |of| member(&at.key("group"), of))
}

fn works(at: &KeyPath<'_>, of: &WorkPlan) -> Passed {
    match of {
        WorkPlan::Constant { ns } | WorkPlan::Exponential { mean_ns: ns } => at.within(*ns, 1..=WORK_NS_MAX),
        WorkPlan::Zipf { least_ns, most_ns, exponent } => {
            at.within(*most_ns, 1..=WORK_NS_MAX)?;
            at.within(*least_ns, 1..=*most_ns)?;
            at.key("exponent").within(*exponent, 0.0..=EXPONENT_MAX)?;
            at.within(most_ns / least_ns, 1..=MULTIPLES_MAX)
        }
    }
}

/// Times are looked at under their names.
fn member(at: &KeyPath<'_>, of: &GroupPlan) -> Passed {
    let GroupPlan { name, id, protocol, instance_id, poll_interval_max_ns: _, auto_commit_ns: _ } = of;
    at.named(name, group::is_name(name), "the name of a group")?;
    if let Some(id) = id {
        return Err(at.key("id").refused(format!("commits offsets of the group {}", quoted(id))));
    }
    match protocol {
        GroupProtocol::Classic { assignors, session_timeout_ns: _, heartbeat_interval_ns: _ } => {
            at.key("assignors").holds(!assignors.is_empty(), "has a group without an assignor")?;
        }
        GroupProtocol::Consumer { assignor } => {
            let mut assignor = assignor.iter();
            assignor.try_for_each(|of| at.key("assignor").named(of, settings::is_word(of), "an assignor"))?;
        }
    }
    let mut instance = instance_id.iter();
    instance.try_for_each(|id| at.key("instance_id").named(id, settings::is_word(id), "an instance's id"))
}
