//! Load items with several topics: over which their clients are spread, or which each of them has.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::{Driver, LoadPlan, Partitioner, SystemPlan, TopicPlan};
use kdyno_scenario::file::{LoadFile, RoleFile};
use kdyno_scenario::input::quoted;
use std::collections::{BTreeMap, BTreeSet};

/// Most clients of an item: each has sockets and buffers in the worker.
pub(crate) const CLIENTS_MAX: u32 = 10_000;
/// Most threads of the load: each topic of each item has one, or all topics that each client has.
pub(crate) const STREAMS_MAX: u32 = 5_000;
/// What to do where clients cannot have all topics of a list.
const ONE_TOPIC_EACH: &str = "make load items of one topic each";

/// All clients of an item: as many for each of the topics that they are spread over.
pub(crate) fn clients(reader: &CaseReader<'_>, item: &LoadFile, topics: u32) -> Result<u32, PlanError> {
    let each = reader.small(&item.clients, "clients", 1..=CLIENTS_MAX)?;
    let all = each.saturating_mul(topics);
    match all <= CLIENTS_MAX {
        true => Ok(all),
        false => {
            let message =
                format!("`clients`: {each} for each of {topics} topics are more than {CLIENTS_MAX}");
            Err(reader.wrong(&item.clients, message).hint("fewer clients, or a lower `count` of the topic"))
        }
    }
}

/// Refuses an item that is of one topic alone.
pub(crate) fn may_be_several(
    reader: &CaseReader<'_>,
    item: &LoadFile,
    topics: usize,
    driver: &Driver,
) -> Result<(), PlanError> {
    let is_list = !item.topic_list.is_empty();
    let why = match &item.role {
        _ if topics == 1 => return Ok(()),
        RoleFile::EndToEnd { .. } => "a probe has a topic of its own",
        _ if driver.as_java().is_some() && is_list => "a Java client of kdyno's has one topic",
        _ if driver.as_java().is_some() => "a Java client would need a process for each of them",
        RoleFile::Produce(_) | RoleFile::Consume(_) => return Ok(()),
    };
    let message = format!("{} are {topics} topics: {why}", names(item));
    let hint = if is_list { ONE_TOPIC_EACH } else { "name a topic without a `count`" };
    Err(reader.wrong(&item.topic, message).hint(hint))
}

/// The topics as they were typed.
fn names(item: &LoadFile) -> String {
    let typed = if item.topic_list.is_empty() { std::slice::from_ref(&item.topic) } else { &item.topic_list };
    let names: Vec<String> = typed.iter().map(|name| quoted(&name.text)).collect();
    names.join(", ")
}

/// Refuses an item whose clients cannot have all of its topics each.
pub(crate) fn may_be_shared(
    reader: &CaseReader<'_>,
    typed: &LoadFile,
    item: &LoadPlan,
    (system, topics): (&SystemPlan, &[(&String, &TopicPlan)]),
) -> Result<(), PlanError> {
    if let Some(message) = one_on_target(system, item) {
        return Err(reader
            .wrong(&typed.topic, message)
            .hint("name one of them, or another topic of the target"));
    }
    let Some(produce) = item.role.as_produce().filter(|_| item.shared_topics) else { return Ok(()) };
    let hint = ONE_TOPIC_EACH;
    if produce.transactions.is_some() {
        let message = format!("{}: a transaction of kdyno's clients has one topic", names(typed));
        return Err(reader.wrong(&typed.topic, message).hint(hint));
    }
    // The partition of a key is drawn for all topics alike.
    let (records, client) = (&produce.records, &produce.client);
    let is_by_key = records.key.is_some() && records.partition.is_none() && !client.ignore_keys;
    let do_keys_choose = is_by_key && client.partitioner == Partitioner::Sticky;
    let made = || topics.iter().filter(|(name, _)| system.existing_topic(name).is_none());
    let least = made().min_by_key(|(_, topic)| topic.partitions);
    let most = made().max_by_key(|(_, topic)| topic.partitions);
    match (least, most) {
        (Some((a, least)), Some((b, most))) if do_keys_choose && least.partitions < most.partitions => {
            let message = format!(
                "keys of a client with several topics choose among equally many partitions of each: `{a}` has {}, `{b}` has {}",
                least.partitions, most.partitions
            );
            Err(reader.wrong(&typed.topic, message).hint(format!("give both equally many, or {hint}")))
        }
        _ => Ok(()),
    }
}

/// Why a target cannot have the topics of each client: two are one there, and answers name the partitions of that alone.
pub(crate) fn one_on_target(system: &SystemPlan, item: &LoadPlan) -> Option<String> {
    let mut known = BTreeMap::new();
    let mut existing = item.topics().filter(|_| item.shared_topics);
    existing.find_map(|topic| {
        let name = system.existing_topic(topic)?;
        let other = known.insert(name, topic)?;
        Some(format!("`{other}` and `{topic}` of one client are one topic of the target: {}", quoted(name)))
    })
}

/// Refuses items that have some of their topics in common: what is written and what is read are compared item by item.
pub(crate) fn are_all_in_common(
    reader: &CaseReader<'_>,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    let typed: Vec<_> = reader.scenario.typed().load.iter().collect();
    for (place, (name, item)) in typed.iter().enumerate() {
        let Some(own) = load.get(&name.text) else { continue };
        let own_topics: BTreeSet<&str> = own.topics().collect();
        for (other_name, _) in &typed[..place] {
            let Some(other) = load.get(&other_name.text) else { continue };
            if own.topic == other.topic && own.more_topics == other.more_topics {
                continue;
            }
            if let Some(common) = other.topics().find(|topic| own_topics.contains(topic)) {
                let message = format!(
                    "`{}` and `{}` have `{common}` in common, and not all of their topics: what is sent and what is read are \
                     compared item by item",
                    other_name.text, name.text
                );
                return Err(reader
                    .wrong(&item.topic, message)
                    .hint(format!("name the same topics in both, or {ONE_TOPIC_EACH}")));
            }
        }
    }
    Ok(())
}

/// Refuses a load with more threads than a host should start.
pub(crate) fn can_have_threads(
    reader: &CaseReader<'_>,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    let mut threads: u32 = 0;
    for (name, typed) in &reader.scenario.typed().load {
        threads = threads.saturating_add(load.get(&name.text).map_or(0, LoadPlan::stream_count));
        if threads > STREAMS_MAX {
            let message = format!(
                "`{}`: with it the load has more than {STREAMS_MAX} threads, one for each topic of each load item",
                name.text
            );
            let hint = format!(
                "a lower `count` of the topic, or all of them for each client: `[{}]`",
                typed.topic.text
            );
            return Err(reader.wrong(&typed.topic, message).hint(hint));
        }
    }
    Ok(())
}
