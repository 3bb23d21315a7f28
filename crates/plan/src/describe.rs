//! A plan in words, for `--dry-run`.

use crate::estimate::{bytes_to_write, expected_seconds};
use kdyno_model::plan::{
    Arrivals, CasePlan, ClusterPlan, Fill, Isolation, KafkaSource, LoadPlan, Mode, Payload, Plan,
    ProducePlan, Rate, Role, StartOffset, Storage, SystemPlan,
};
use kdyno_scenario::units::{Dimension, Quantity};

/// Lines that say what will happen, how long it takes and what it writes.
pub fn describe(plan: &Plan) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", plan.scenario, plan.question)];
    let changed: Vec<String> = plan.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!(", changed: {}", changed.join(", ")) };
    lines.push(format!("profile {}{changed}, seed {}", plan.profile, plan.seed));
    let isolation = match plan.isolation {
        Isolation::Cluster => "a fresh cluster for each",
        Isolation::Topic => "fresh topics for each",
        Isolation::None => "topics are kept",
    };
    let (cases, trials) = (plan.cases.len(), plan.order.len());
    lines.push(format!("{}, {}, {isolation}", counted(cases, "case"), counted(trials, "trial")));
    lines.push(format!(
        "about {}, writes {}",
        duration(expected_seconds(plan)),
        written(bytes_to_write(plan))
    ));
    let mut before = None;
    for case in &plan.cases {
        if before != Some(&case.system) {
            lines.push(system(&case.system));
        }
        before = Some(&case.system);
        case_lines(case, &mut lines);
    }
    lines
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn duration(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

fn written(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => {
            format!("{:.1} MiB to the brokers' disks, replicas included", bytes as f64 / 1_048_576.0)
        }
        None => "as much as `rate: max` can".to_owned(),
    }
}

fn system(system: &SystemPlan) -> String {
    match system {
        SystemPlan::Local(cluster) => local(cluster),
        SystemPlan::Attached(target) => {
            format!(
                "system: target {} ({}), cluster id {}",
                target.target,
                target.bootstrap.join(","),
                target.cluster_id
            )
        }
    }
}

fn local(cluster: &ClusterPlan) -> String {
    let kafka = match &cluster.kafka {
        KafkaSource::Release(release) => format!("Kafka {release}"),
        KafkaSource::Home(dir) => format!("Kafka from {}", dir.display()),
        KafkaSource::Source(dir) => format!("Kafka built in {}", dir.display()),
    };
    let mode = match cluster.mode {
        Mode::KraftCombined => "KRaft combined".to_owned(),
        Mode::KraftControllers { controllers } => {
            format!("KRaft with {}", counted(controllers as usize, "controller"))
        }
        Mode::Zookeeper { nodes } => format!("ZooKeeper with {}", counted(nodes as usize, "node")),
    };
    let storage = match &cluster.storage {
        Storage::Disk => "logs on disk".to_owned(),
        Storage::Memory => "logs in memory".to_owned(),
        Storage::Dirs(dirs) => format!("logs in {}", counted(dirs.len(), "folder")),
    };
    let brokers = counted(cluster.brokers as usize, "broker");
    let heap = Quantity { value: cluster.heap_bytes as f64, dimension: Dimension::Bytes };
    let mut text = format!("system: {kafka}, {mode}, {brokers} with {heap} heap, {storage}");
    if !cluster.cpus.is_empty() {
        text.push_str(", pinned");
    }
    for (name, value) in &cluster.config {
        text.push_str(&format!(", {name}={value}"));
    }
    text
}

fn case_lines(case: &CasePlan, lines: &mut Vec<String>) {
    let name = if case.label.is_empty() { "the case" } else { &case.label };
    let seconds = |ns: u64| ns as f64 / 1e9;
    lines.push(format!(
        "case {name}: warm-up {} s, measure {} s, drain at most {} s",
        seconds(case.phases.warmup_ns),
        seconds(case.phases.measure_ns),
        seconds(case.phases.drain_ns)
    ));
    for (name, topic) in &case.topics {
        let mut text = format!(
            "  topic {name}: {}, {}",
            counted(topic.partitions as usize, "partition"),
            counted(topic.replicas as usize, "replica")
        );
        for (name, value) in &topic.config {
            text.push_str(&format!(", {name}={value}"));
        }
        lines.push(text);
    }
    for (name, item) in &case.load {
        lines.push(format!("  {name}: {}", load(item)));
    }
}

fn load(item: &LoadPlan) -> String {
    let clients = counted(item.clients as usize, "client");
    match &item.role {
        Role::Produce(produce) => {
            format!("{clients} produce to {}, {}", item.topic, sent(produce, item.clients))
        }
        Role::Consume(consume) => {
            let from = match consume.from {
                StartOffset::Earliest => "earliest",
                StartOffset::Latest => "latest",
            };
            format!("{clients} consume {} from {from}", item.topic)
        }
    }
}

fn sent(produce: &ProducePlan, clients: u32) -> String {
    let rate = match &produce.rate {
        Rate::Max { fill: Fill::Buffer } => "as fast as the buffer takes records".to_owned(),
        Rate::Max { fill: Fill::InFlight } => "as fast as requests can be sent".to_owned(),
        Rate::Open { pieces, arrivals } => {
            let law = match arrivals {
                Arrivals::Poisson => "Poisson",
                Arrivals::Constant => "constant",
            };
            let last = pieces.last().map_or(0.0, |piece| piece.to_per_s);
            let course = if pieces.len() > 1 {
                format!(" at the end of {} stretches", pieces.len())
            } else {
                String::new()
            };
            format!("{last}/s in all, {:.1}/s each{course}, {law} arrivals", last / f64::from(clients))
        }
    };
    let payload = match produce.payload {
        Payload::Unique => "unique",
        Payload::Pooled { .. } => "pooled",
    };
    let until = produce.records_max.map(|records| format!(", {records} records")).unwrap_or_default();
    let client = &produce.client;
    let acks = if client.acks == -1 { "all".to_owned() } else { client.acks.to_string() };
    format!(
        "{rate}, {payload} values of {} bytes{until}, acks={acks} batch.size={} linger.ms={} ({} defaults)",
        produce.value_bytes,
        client.batch_bytes,
        client.linger_ns / 1_000_000,
        client.defaults
    )
}
