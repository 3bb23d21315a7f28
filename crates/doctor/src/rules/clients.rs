//! Client settings of a scenario's load.

use super::{Reason, advice, source};
use crate::advice::Severity::{High, Low, Medium};
use crate::advice::{Advice, Change};
use crate::observed::Topic;
use kdyno_model::plan::{Compression, LoadPlan, ProducePlan};
use std::collections::BTreeMap;

const MS_NS: u64 = 1_000_000;

/// Holds load items against what is recommended; `topics` are those of the same plan.
pub(crate) fn examine(clients: &BTreeMap<String, LoadPlan>, topics: &[Topic]) -> Vec<Advice> {
    let mut all = Vec::new();
    for (name, item) in clients {
        let of = format!("load {name}");
        if let Some(produce) = item.role.as_produce() {
            all.extend(producers(&of, name, item, produce));
        }
        let topic = topics.iter().find(|topic| topic.name == item.topic);
        if let Some(topic) = topic.filter(|_| item.role.as_consume().is_some()) {
            all.push(consumers(&of, item, topic));
        }
    }
    all
}

fn producers(of: &str, name: &str, item: &LoadPlan, produce: &ProducePlan) -> Vec<Advice> {
    let client = &produce.client;
    let in_scenario = |setting: &str, value: &str| {
        let what = format!("in the scenario: load.{name}.client: {{{setting}: {value}}}");
        move |_: &str| Some(Change::by_hand(what.clone()))
    };
    let batches = Reason {
        severity: Medium,
        why: "larger batches cost brokers and clients less per record; a record waits up to linger.ms for others",
        source: source::INTEL,
    };
    let (linger_ms, batch_bytes) = (client.linger_ns / MS_NS, client.batch_bytes);
    let acks = if client.acks < 0 { "all".to_owned() } else { client.acks.to_string() };
    let mut all = vec![
        advice(
            of,
            "linger.ms",
            (Some(linger_ms.to_string()), Some(linger_ms >= 5)),
            "at least 5".to_owned(),
            batches,
            in_scenario("linger.ms", "5"),
        ),
        advice(
            of,
            "batch.size",
            (Some(batch_bytes.to_string()), Some(batch_bytes >= 114_688)),
            "at least 114688".to_owned(),
            batches,
            in_scenario("batch.size", "114688"),
        ),
        advice(
            of,
            "compression.type",
            (Some(client.compression.name().to_owned()), Some(client.compression == Compression::Zstd)),
            "zstd".to_owned(),
            Reason {
                severity: Low,
                why: "fewer bytes on network and disk, at a price in processor time: of values that shrink",
                source: source::INTEL,
            },
            in_scenario("compression.type", "zstd"),
        ),
        advice(
            of,
            "acks",
            (Some(acks), Some(client.acks < 0)),
            "all".to_owned(),
            Reason {
                severity: if client.acks == 0 { High } else { Medium },
                why: "an acknowledged record survives the loss of its leader only if the replicas in sync have it",
                source: source::KAFKA_PRODUCER,
            },
            in_scenario("acks", "all"),
        ),
    ];
    all.extend(produce.rate.peak_per_s().map(|per_s| idle(of, item, per_s)));
    all.extend(item.driver.as_java().into_iter().flat_map(|java| jvm(of, name, &java.jvm)));
    all
}

/// Options of a Java client's process.
fn jvm(of: &str, name: &str, options: &[String]) -> [Advice; 2] {
    let option = |prefix: &str, recommended: &str, why: &'static str| {
        let now = options.iter().rev().find(|option| option.starts_with(prefix));
        let words = now.map_or("the JVM's default", String::as_str).to_owned();
        let current = (Some(words), Some(now.is_some_and(|now| now == recommended)));
        let reason = Reason { severity: Low, why, source: source::INTEL };
        let change = format!("in the scenario: load.{name}.client: {{jvm: [{recommended}]}}");
        advice(of, prefix, current, recommended.to_owned(), reason, |_| Some(Change::by_hand(change)))
    };
    [
        option("-Xmx", "-Xmx1g", "room for the buffer of a producer at high rates"),
        option(
            "-XX:ParallelGCThreads=",
            "-XX:ParallelGCThreads=5",
            "collections leave processors to the client's threads",
        ),
    ]
}

/// Producers that hardly send: their connections and memory are there, their batches hold one record.
fn idle(of: &str, item: &LoadPlan, per_s: f64) -> Advice {
    let each = per_s / f64::from(item.clients.max(1));
    let reason = Reason {
        severity: Low,
        why: "a producer that sends less than once per second holds connections and fills no batch; threads can share one",
        source: source::KAFKA_JAVADOC,
    };
    let current = (Some(format!("{each:.2} records/s")), Some(each >= 1.0));
    let how = |_: &str| Some(Change::by_hand("fewer clients, which share a producer"));
    advice(of, "each producer", current, "at least 1 record/s".to_owned(), reason, how)
}

/// Beyond one consumer for each partition the others get none.
fn consumers(of: &str, item: &LoadPlan, topic: &Topic) -> Advice {
    let reason = Reason {
        severity: Medium,
        why: "a partition goes to one consumer of a group: those beyond the number of partitions get nothing",
        source: source::KAFKA_CONSUMER,
    };
    let clients = item.clients;
    let fits = usize::try_from(clients).is_ok_and(|clients| clients <= topic.partitions);
    let how = |_: &str| Some(Change::by_hand("fewer consumers, or more partitions"));
    let recommended = format!("at most {} (the partitions of {})", topic.partitions, topic.name);
    advice(of, "consumers", (Some(clients.to_string()), Some(fits)), recommended, reason, how)
}
