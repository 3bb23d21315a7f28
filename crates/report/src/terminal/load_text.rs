//! A load item in words: what its clients do, how fast, with which settings.

use crate::caveats::sentence;
use crate::units::{self, milliseconds, plural};
use kdyno_model::caveat::Caveat;
use kdyno_model::plan::{
    Arrivals, CasePlan, ConsumePlan, Driver, Fill, GroupPlan, JavaDriver, LoadPlan, LoadSpan, Partitioner,
    Payload, ProducePlan, ProducerSettings, Rate, ReadDepth, Role, StartOffset, WorkPlan,
};

/// The settings of its clients.
pub(super) fn client_text(load: &LoadPlan) -> String {
    if let Some(java) = load.driver.as_java() {
        return java_text(&load.driver, java, &load.role);
    }
    match &load.role {
        Role::Produce(produce) => producer_text(&produce.client),
        Role::Consume(consume) => consumer_text(consume),
        Role::EndToEnd(probe) => {
            format!("{}; {}", producer_text(&probe.produce.client), consumer_text(&probe.consume))
        }
    }
}

/// What is passed on to a Java client.
fn java_text(driver: &Driver, java: &JavaDriver, role: &Role) -> String {
    let from = match role.as_consume().map(|consume| consume.from) {
        Some(from) => format!("begins {}; ", from_text(from)),
        None => String::new(),
    };
    let settings: String = java.properties.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let settings = if settings.is_empty() { " no settings".to_owned() } else { settings };
    format!("driver {driver}; {from}given{settings}; everything else as by default in that client")
}

/// Which client carries it, where that is not kdyno's own.
fn driver_text(driver: &Driver) -> String {
    if driver.is_native() { String::new() } else { format!(", driver {driver}") }
}

/// What its clients do.
pub(super) fn load_lines(name: &str, load: &LoadPlan, case: &CasePlan) -> Vec<String> {
    let zone = load.zone.as_ref().map(|zone| format!(" in zone {zone}")).unwrap_or_default();
    let clients = format!("{}{zone}", plural(load.clients, "client"));
    match &load.role {
        Role::Produce(produce) => {
            let what = format!(
                "{name}: produce to {} with {clients}, {}{}{}{}",
                topics_text(load),
                rate_text(produce, load.clients),
                records_text(produce),
                span_text(load.span),
                driver_text(&load.driver)
            );
            let caveat = Caveat::of_compression(name, produce);
            let caveat = caveat.map(|caveat| format!("  caveat: {}", sentence(&caveat)));
            let records = format!("  {}{}", payload_text(produce), sending_text(produce));
            [what, records].into_iter().chain(caveat).collect()
        }
        Role::EndToEnd(probe) => vec![format!(
            "{name}: probe with {}{zone}, {}, values of {} to every partition in turn",
            load.topic,
            rate_text(&probe.produce, 1),
            units::size(probe.produce.value_bytes.into())
        )],
        Role::Consume(consume) => {
            let whose = match &consume.group {
                Some(group) => format!("members of group {}", group.name),
                None => "partitions assigned by kdyno".to_owned(),
            };
            let (topic, span, driver) = (topics_text(load), span_text(load.span), driver_text(&load.driver));
            let what = format!("{name}: consume from {topic} with {clients}, {whose}{span}{driver}");
            let work = consume.work.map(|work| format!("  {}", work_text(work, load, case)));
            std::iter::once(what).chain(work).collect()
        }
    }
}

/// Most topics that are named each.
const NAMED_TOPICS_MAX: usize = 8;

/// Its topics.
fn topics_text(load: &LoadPlan) -> String {
    match load.more_topics.last() {
        None => load.topic.clone(),
        Some(_) if load.shared_topics && load.more_topics.len() < NAMED_TOPICS_MAX => {
            format!("{} (each client has all)", load.topics().collect::<Vec<_>>().join(", "))
        }
        Some(last) if load.shared_topics => {
            format!("{} to {last} (each client has all {})", load.topic, load.topic_count())
        }
        Some(last) => format!("{} to {last}", load.topic),
    }
}

/// How long each record takes its application, and how many that lets through.
fn work_text(work: WorkPlan, load: &LoadPlan, case: &CasePlan) -> String {
    let time = |ns: u64| units::exact_duration(ns as f64);
    let law = match work {
        WorkPlan::Constant { ns } => format!("{} of work on each record", time(ns)),
        WorkPlan::Exponential { mean_ns } => {
            format!("work on each record exponentially distributed, {} in the mean", time(mean_ns))
        }
        WorkPlan::Zipf { least_ns, most_ns, exponent } => format!(
            "work on each record by Zipf's law with s={exponent}, {} to {}, {} in the mean",
            time(least_ns),
            time(most_ns),
            units::duration(work.mean_ns() as u64)
        ),
    };
    let each_per_s = units::count(work.records_per_s(1));
    match (case.keeps_up_to_per_s(load), case.fullest_share(load)) {
        (Some(most_per_s), Some(share)) => format!(
            "{law}, {each_per_s}/s of each client at most: together they keep up with {}/s, because one client has {} of {}",
            units::count(most_per_s),
            share.partitions,
            plural(share.of, "partition")
        ),
        (Some(most_per_s), None) => {
            format!("{law}, {each_per_s}/s of each client at most: {}/s in all", units::count(most_per_s))
        }
        (None, _) => format!("{law}, {each_per_s}/s of each client at most"),
    }
}

/// When a load item comes and goes, where that is in the measure phase.
fn span_text(span: LoadSpan) -> String {
    let reported = |word: &str, ns: Option<u64>| ns.map(|ns| format!(" {word} {}", units::duration(ns)));
    let reported = [reported("from", span.at_ns), reported("until", span.until_ns)];
    let ends: String = reported.into_iter().flatten().collect();
    if ends.is_empty() { ends } else { format!(",{ends} of the measure phase") }
}

fn rate_text(produce: &ProducePlan, clients: u32) -> String {
    match &produce.rate {
        Rate::Max { .. } if produce.synchronous => {
            "rate max (closed loop, one record of each client at a time)".to_owned()
        }
        Rate::Max { fill: Fill::Buffer } => {
            "rate max (closed loop, the client's buffer kept full)".to_owned()
        }
        Rate::Max { fill: Fill::InFlight } => {
            "rate max (closed loop, nothing queued in the client)".to_owned()
        }
        Rate::Open { pieces, arrivals } => {
            let law = match arrivals {
                Arrivals::Poisson => "Poisson arrivals",
                Arrivals::Constant => "equal gaps",
            };
            let each = |per_s: f64| {
                let total = units::count(per_s);
                format!("{total}/s in all = {}/s per client", units::count(per_s / f64::from(clients.max(1))))
            };
            let texts: Vec<String> = pieces
                .iter()
                .enumerate()
                .map(|(index, piece)| {
                    let last = index + 1 == pieces.len();
                    let (course, length) = if piece.from_per_s == piece.to_per_s {
                        (each(piece.from_per_s), "for")
                    } else {
                        (format!("from {} to {}", each(piece.from_per_s), each(piece.to_per_s)), "over")
                    };
                    if last {
                        course
                    } else {
                        format!("{course} {length} {}", units::duration(piece.length_ns))
                    }
                })
                .collect();
            format!("{}, {law}", texts.join(", then "))
        }
    }
}

fn records_text(produce: &ProducePlan) -> String {
    produce
        .records_max
        .map_or_else(String::new, |records| format!(", until {} records", units::count(records as f64)))
}

fn payload_text(produce: &ProducePlan) -> String {
    let how = match produce.payload {
        Payload::Unique => "each record built".to_owned(),
        Payload::Pooled { pool_bytes } => {
            format!("from a pool of {}, encoded once", units::size(pool_bytes))
        }
    };
    let described = produce.records.described(produce.value_bytes);
    let (_, values) = &described[0];
    let rest = described[1..].iter().filter(|(_, text)| text != "none");
    let rest: String = rest.map(|(what, text)| format!("; {what}: {text}")).collect();
    format!("values of {values}, {how}{rest}")
}

/// How records are sent, where it is not one after the other as they come.
fn sending_text(produce: &ProducePlan) -> String {
    let one_by_one =
        if produce.synchronous { "; each client waits for one before it sends the next" } else { "" };
    let Some(transactions) = produce.transactions else { return one_by_one.to_owned() };
    let aborted = match transactions.abort_share {
        0.0 => String::new(),
        share => format!(", {} % of them aborted", units::significant(share * 100.0)),
    };
    let records =
        transactions.records.map(|records| format!("{} records, or ", units::count(records as f64)));
    format!(
        "{one_by_one}; in transactions of {}{} from their first record{aborted} (transaction.timeout.ms={})",
        records.unwrap_or_default(),
        units::exact_duration(transactions.every_ns as f64),
        milliseconds(produce.client.transaction_timeout_ns)
    )
}

fn producer_text(client: &ProducerSettings) -> String {
    let partitioner = match (client.partitioner, client.adaptive_partitioning) {
        (Partitioner::RoundRobin, _) => "round robin".to_owned(),
        (Partitioner::Sticky, false) => "sticky, not adaptive".to_owned(),
        (Partitioner::Sticky, true) => format!(
            "sticky, adaptive, partitioner.availability.timeout.ms={}",
            milliseconds(client.availability_timeout_ns)
        ),
    };
    let keys = if client.ignore_keys { ", partitioner.ignore.keys=true" } else { "" };
    let settings = client.named().into_iter().filter(|(name, _)| !name.starts_with("partitioner."));
    let settings = settings_text(settings);
    format!("defaults of Kafka {};{settings}; partitioner {partitioner}{keys}", client.defaults)
}

fn from_text(from: StartOffset) -> &'static str {
    match from {
        StartOffset::Earliest => "at the first record kept",
        StartOffset::Latest => "behind the last record there",
    }
}

fn consumer_text(consume: &ConsumePlan) -> String {
    let from = from_text(consume.from);
    let read = match consume.read {
        ReadDepth::Header => "the headers of batches alone",
        ReadDepth::Crc => "headers and checksums of batches",
        ReadDepth::Decode => "every record",
    };
    let group = consume.group.iter().flat_map(GroupPlan::settings);
    format!("begins {from}, reads {read};{}", settings_text(consume.written().into_iter().chain(group)))
}

/// Settings as a scenario writes them: sizes have their unit.
fn settings_text(named: impl Iterator<Item = (&'static str, String)>) -> String {
    let is_size = |name: &str| [".bytes", ".memory", ".size"].iter().any(|end| name.ends_with(end));
    named
        .map(|(name, value)| match value.parse() {
            Ok(bytes) if is_size(name) => format!(" {name}={}", units::exact_bytes(bytes)),
            _ => format!(" {name}={value}"),
        })
        .collect()
}
