//! Client settings of a scenario's load.

use super::{Reason, advice, source};
use crate::advice::AdviceSeverity::{High, Low, Medium};
use crate::advice::{Advice, SettingChange};
use crate::observed::{ObservedTopic, java_bytes};
use kdyno_model::plan::{Compression, GroupProtocol, LoadPlan, ProducePlan};
use std::collections::BTreeMap;

const MS_NS: u64 = 1_000_000;

/// Holds load items against what is recommended; `topics` are those of the same plan, `processors` those that clients run on.
pub(crate) fn examine(
    clients: &BTreeMap<String, LoadPlan>,
    topics: &[ObservedTopic],
    processors: Option<u32>,
) -> Vec<Advice> {
    let mut all = Vec::new();
    for (name, item) in clients {
        let of = format!("load {name}");
        if let Some(produce) = item.role.as_produce() {
            all.extend(producers(&of, name, item, produce));
            let java = item.driver.as_java();
            all.extend(java.into_iter().flat_map(|java| jvm(&of, name, &java.jvm, processors)));
        }
        let topic = topics.iter().find(|topic| topic.name == item.topic);
        // Clients with several topics share out the partitions of all.
        if let Some(topic) = topic.filter(|_| item.role.as_consume().is_some() && !item.shared_topics) {
            all.push(consumers(&of, item, topic));
        }
        all.extend(item.role.group().and_then(|group| heartbeats(&of, name, &group.protocol)));
    }
    all
}

fn producers(of: &str, name: &str, item: &LoadPlan, produce: &ProducePlan) -> Vec<Advice> {
    let client = &produce.client;
    let in_scenario = |setting: &str, value: &str| {
        let what = format!("in the scenario: load.{name}.client: {{{setting}: {value}}}");
        move |_: &str| Some(SettingChange::by_hand(what.clone()))
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
                why: "fewer bytes on network and disk, at a price in CPU time: of values that shrink",
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
    all
}

/// Options of a Java client's process.
fn jvm(of: &str, name: &str, options: &[String], processors: Option<u32>) -> [Advice; 2] {
    const HEAP: &str = "-Xmx";
    const THREADS: &str = "-XX:ParallelGCThreads=";
    const HEAP_BYTES: u64 = 1 << 30;
    let given = |prefix: &str| options.iter().rev().find_map(|option| option.strip_prefix(prefix));
    let in_scenario = |option: &str| {
        Some(SettingChange::by_hand(format!("in the scenario: load.{name}.client: {{jvm: [{option}]}}")))
    };
    let words = |value: Option<&str>| Some(value.unwrap_or("the JVM's default").to_owned());
    let reason = |why| Reason { severity: Low, why, source: source::INTEL };
    let heap = given(HEAP);
    // What the JVM takes by itself depends on the host's memory: it is not what was requested.
    let is_enough = heap.map_or(Some(false), |heap| Some(java_bytes(heap)? >= HEAP_BYTES));
    // With up to eight CPUs a JVM takes as many threads, with more five eighths of those beyond.
    let default = processors.map(|all| if all <= 8 { all } else { 8 + (all - 8) * 5 / 8 });
    let threads = given(THREADS).map_or(default, |count| count.parse().ok());
    let most = processors.map_or(5, |all| all.clamp(1, 5));
    [
        advice(
            of,
            HEAP,
            (words(heap), is_enough),
            "at least 1g".to_owned(),
            reason("room for what the producer keeps until it is acknowledged, at high rates"),
            |_| in_scenario("-Xmx1g"),
        ),
        advice(
            of,
            THREADS,
            (words(given(THREADS)), threads.map(|threads| threads <= most)),
            format!("at most {most}"),
            reason("collections leave CPUs to the client's own threads and to the brokers next to it"),
            |_| in_scenario(&format!("{THREADS}{most}")),
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
    let how = |_: &str| Some(SettingChange::by_hand("fewer clients, which share a producer"));
    advice(of, "each producer", current, "at least 1 record/s".to_owned(), reason, how)
}

/// Beyond one consumer for each partition the others get none.
fn consumers(of: &str, item: &LoadPlan, topic: &ObservedTopic) -> Advice {
    let reason = Reason {
        severity: Medium,
        why: "a partition goes to one consumer of a group: those beyond the number of partitions get nothing",
        source: source::KAFKA_CONSUMER,
    };
    let clients = item.clients;
    let fits = usize::try_from(clients).is_ok_and(|clients| clients <= topic.partitions);
    let how = |_: &str| Some(SettingChange::by_hand("fewer consumers, or more partitions"));
    let recommended = format!("at most {} (the partitions of {})", topic.partitions, topic.name);
    advice(of, "consumers", (Some(clients.to_string()), Some(fits)), recommended, reason, how)
}

/// For a member whose heartbeats are its own setting; those of the newer protocol are the brokers'.
fn heartbeats(of: &str, name: &str, protocol: &GroupProtocol) -> Option<Advice> {
    const NAME: &str = "heartbeat.interval.ms";
    let GroupProtocol::Classic { session_timeout_ns, heartbeat_interval_ns, .. } = protocol else {
        return None;
    };
    let (session_ms, now_ms) = (session_timeout_ns / MS_NS, heartbeat_interval_ns / MS_NS);
    let most_ms = (session_ms / 3).max(1);
    let reason = Reason {
        severity: Medium,
        why: "one heartbeat or two that come late must not end a session: the group would rebalance",
        source: source::KAFKA_CONSUMER_CONFIGS,
    };
    let how = |_: &str| {
        Some(SettingChange::by_hand(format!("in the scenario: load.{name}.client: {{{NAME}: {most_ms}}}")))
    };
    let recommended = format!("at most {most_ms} (a third of session.timeout.ms, {session_ms})");
    let current = (Some(now_ms.to_string()), Some(now_ms <= most_ms));
    Some(advice(of, NAME, current, recommended, reason, how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceStatus::{self, Followed, NotFollowed};

    #[test]
    fn three_heartbeats_fit_into_a_session() {
        let of = |session_ms: u64, heartbeat_ms: u64| {
            let protocol = GroupProtocol::Classic {
                assignors: Vec::new(),
                session_timeout_ns: session_ms * MS_NS,
                heartbeat_interval_ns: heartbeat_ms * MS_NS,
            };
            heartbeats("load readers", "readers", &protocol).expect("a rule")
        };
        assert_eq!(of(45_000, 3_000).verdict, Followed, "Kafka's defaults");
        assert_eq!(of(9_000, 3_000).verdict, Followed);
        let short = of(6_000, 3_000);
        assert_eq!(short.verdict, NotFollowed);
        assert_eq!(short.recommended, "at most 2000 (a third of session.timeout.ms, 6000)");
        let change = short.change.expect("a change").apply;
        assert_eq!(change, "in the scenario: load.readers.client: {heartbeat.interval.ms: 2000}");
        assert_eq!(
            heartbeats("", "", &GroupProtocol::Consumer { assignor: None }),
            None,
            "the brokers' settings"
        );
    }

    fn verdicts(options: &[&str], processors: u32) -> [AdviceStatus; 2] {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        jvm("load writers", "writers", &options, Some(processors)).map(|advice| advice.verdict)
    }

    #[test]
    fn a_larger_heap_is_enough_and_few_cpus_need_few_collectors() {
        assert_eq!(verdicts(&["-Xmx1g"], 2), [Followed, Followed]);
        assert_eq!(verdicts(&["-Xmx4096M", "-XX:ParallelGCThreads=5"], 16), [Followed, Followed]);
        assert_eq!(verdicts(&["-Xmx512m", "-XX:ParallelGCThreads=5"], 2), [NotFollowed, NotFollowed]);
        assert_eq!(verdicts(&["-Xmx1g"], 16), [Followed, NotFollowed], "a JVM takes 13 of 16");
        assert_eq!(verdicts(&["-Xmx512m", "-Xmx2G"], 4), [Followed, Followed], "the last one counts");
        assert_eq!(verdicts(&["-Xmxmuch"], 4)[0], AdviceStatus::Unknown);
    }
}
