//! A local cluster, and topics.

use super::refusal::{KeyPath, Passed};
use super::settings;
use crate::kafka::{Owner, is_name};
use crate::quotas::REQUEST_PERCENT;
use crate::system::{
    BROKERS_MAX, CONTROLLERS_MAX, CPU_LIMITS, CPU_MAX, HEAP_BYTES_MAX, HEAP_BYTES_MIN, PARTITIONS_MAX,
};
use crate::zones::{self, BYTES_PER_S_MAX, BYTES_PER_S_MIN};
use kdyno_model::mbean;
use kdyno_model::plan::{
    ClientListener, ClusterPlan, DELAY_NS_MAX, KafkaSource, LinkPlan, Listeners, Mode, QuotasPlan, Storage,
    TlsVersion, TopicPlan, ZonesPlan,
};
use kdyno_model::version::Version;
use kdyno_scenario::input::quoted;
use kdyno_scenario::is_topic_name;
use std::path::Path;

pub(crate) fn cluster(at: &KeyPath<'_>, of: &ClusterPlan) -> Passed {
    let ClusterPlan {
        kafka,
        mode,
        brokers,
        heap_bytes,
        jvm_options,
        config,
        ignored,
        pinned_to,
        cpu_limit,
        racks,
        storage,
        // With kdyno's own agent, or without.
        metrics: _,
        mbeans,
        listeners,
        quotas,
        zones,
        is_second: _,
    } = of;
    release(&at.key("kafka"), kafka)?;
    match mode {
        Mode::KraftCombined => {}
        Mode::KraftControllers { controllers } => at.key("mode").within(*controllers, 1..=CONTROLLERS_MAX)?,
        Mode::Zookeeper { nodes } => at.key("mode").within(*nodes, 1..=3)?,
    }
    at.key("brokers").within(*brokers, 1..=BROKERS_MAX)?;
    at.key("heap_bytes").within(*heap_bytes, HEAP_BYTES_MIN..=HEAP_BYTES_MAX)?;
    settings::jvm(&at.key("jvm_options"), jvm_options)?;
    settings::of_kafka(&at.key("config"), config, Owner::Broker)?;
    let named = |name: &String| at.key("ignored").named(name, is_name(name), "the name of a setting");
    ignored.keys().try_for_each(named)?;
    let cpus = at.key("cpus");
    pinned_to.iter().flatten().try_for_each(|cpu| cpus.within(*cpu, 0..=CPU_MAX))?;
    at.key("cpu_limit").may_be_within(*cpu_limit, CPU_LIMITS)?;
    // They are in the settings files of brokers, one a line.
    racks.iter().try_for_each(|rack| at.key("racks").named(rack, settings::is_word(rack), "a rack"))?;
    // They are in the agent's rules.
    for (place, text) in mbeans.iter().enumerate() {
        let fits = mbean::check(&mbeans[..place], text).is_ok();
        at.key("mbeans").named(text, fits, "a further attribute of an MBean")?;
    }
    match storage {
        Storage::Disk | Storage::Memory => {}
        Storage::Dirs(dirs) => {
            let dirs: Vec<String> = dirs.iter().map(|dir| shown(dir)).collect();
            return Err(at.key("storage").refused(format!("writes to {}", dirs.join(", "))));
        }
    }
    listen(&at.key("listeners"), listeners)?;
    quotas.as_ref().map_or(Ok(()), |of| limited(&at.key("quotas"), of))?;
    zones.as_ref().map_or(Ok(()), |of| zoned(&at.key("zones"), of, *brokers))
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A release has numbers and nothing else: it is in paths and addresses.
pub(super) fn is_release(text: &str) -> bool {
    Version::parse(text).is_ok_and(|version| version.text == text && !text.contains('-'))
}

fn release(at: &KeyPath<'_>, of: &KafkaSource) -> Passed {
    match of {
        KafkaSource::Release(text) => at.named(text, is_release(text), "a release of Kafka"),
        KafkaSource::Home(dir) => Err(at.refused(format!("starts what the folder {} holds", shown(dir)))),
        KafkaSource::Source(dir) => Err(at.refused(format!("starts what was built in {}", shown(dir)))),
    }
}

fn listen(at: &KeyPath<'_>, of: &Listeners) -> Passed {
    let Listeners { clients, internal: _, authorizer: _ } = of;
    let ClientListener { protocol: _, mechanism: _, tls, client_certificates: _ } = clients;
    at.key("tls").within(tls.len(), 0..=TlsVersion::ALL.len())?;
    of.check().map_err(|why| at.refused(format!("has listeners that cannot be: {why}")))
}

fn limited(at: &KeyPath<'_>, of: &QuotasPlan) -> Passed {
    let QuotasPlan { each: _, producer_bytes_per_s, consumer_bytes_per_s, request_percent } = of;
    at.holds(!of.by_name().is_empty(), "has quotas that limit nothing")?;
    for (key, bytes) in
        [("producer_bytes_per_s", producer_bytes_per_s), ("consumer_bytes_per_s", consumer_bytes_per_s)]
    {
        at.key(key).may_be_within(*bytes, BYTES_PER_S_MIN..=BYTES_PER_S_MAX)?;
    }
    at.key("request_percent").may_be_within(*request_percent, REQUEST_PERCENT)
}

fn zoned(at: &KeyPath<'_>, of: &ZonesPlan, of_cluster: u32) -> Passed {
    let ZonesPlan { brokers, clients, link, between_brokers: _ } = of;
    let names = brokers.iter().chain(clients);
    names.into_iter().try_for_each(|name| at.named(name, zones::is_name(name), "the name of a zone"))?;
    at.key("brokers").within(brokers.len(), 1..=of_cluster as usize)?;
    at.key("clients").within(clients.len(), 0..=BROKERS_MAX as usize)?;
    let LinkPlan { delay_ns, jitter_ns, jitter_law: _, bytes_per_s } = link;
    at.key("delay_ns").within(*delay_ns, 0..=DELAY_NS_MAX)?;
    at.key("jitter_ns").within(*jitter_ns, 0..=*delay_ns)?;
    at.key("bytes_per_s").may_be_within(*bytes_per_s, BYTES_PER_S_MIN..=BYTES_PER_S_MAX)
}

pub(super) fn topic(at: &KeyPath<'_>, name: &str, of: &TopicPlan) -> Passed {
    let TopicPlan { partitions, replicas, config } = of;
    at.named(name, is_topic_name(name), "the name of a topic")?;
    let at = at.key(name);
    at.key("partitions").within(*partitions, 1..=PARTITIONS_MAX)?;
    at.key("replicas").within(*replicas, 1..=PARTITIONS_MAX)?;
    settings::of_kafka(&at.key("config"), config, Owner::Topic)
}
