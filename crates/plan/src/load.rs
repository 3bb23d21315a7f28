//! Load items and phases.

use crate::choices::PlanError;
use crate::client;
use crate::consume::consume_plan;
use crate::driver;
use crate::group;
use crate::item_topics;
use crate::phases::PHASE_NS_MAX;
use crate::probe;
use crate::reader::CaseReader;
use crate::records;
use crate::spans;
use crate::system::MIN_INSYNC;
use crate::topics;
use crate::transactions;
use crate::zones;
use kdyno_model::plan::{
    Arrivals, COMPRESSED_RECORDS_MAX, Compression, Fill, LoadPlan, POOL_BATCHES_MIN, POOL_BYTES_MAX, Payload,
    ProducePlan, ProducerSettings, Rate, RatePiece, RecordPlan, Role, SystemPlan, TopicPlan, ValuesPlan,
};
use kdyno_model::units::size;
use kdyno_scenario::file::{
    LoadFile, MeasureFile, PayloadFile, ProduceFile, RateFile, RoleFile, TransactionsFile, ValuesFile,
};
use kdyno_scenario::input::quoted;
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::unknown_topic;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Fastest rate that can be meant, records per second.
pub(crate) const RATE_PER_S_MAX: f64 = 1e9;
/// Most steps of a rate.
pub(crate) const STEPS_MAX: usize = 1_000;
/// What a lone record adds to its value, at most: batch header and the longest record header.
const RECORD_BYTES_EXTRA: u64 = 61 + 21;
/// `message.max.bytes` of a broker where nothing is set.
const MESSAGE_BYTES_MAX: u64 = 1_048_588;
/// `payload: pooled` without a size.
const POOL_BYTES: u64 = 8 << 20;

/// The `load` section.
pub(crate) fn load(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
    topics: &BTreeMap<String, TopicPlan>,
) -> Result<BTreeMap<String, LoadPlan>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, typed) in &reader.scenario.typed().load {
        let addresses = topics::of_item(reader, typed)?;
        let found_topics: Option<Vec<_>> =
            addresses.iter().map(|address| topics.get_key_value(address)).collect();
        let (Some(topics), Some((first, more))) = (found_topics, addresses.split_first()) else {
            return Err(unknown_topic(&typed.topic, reader.scenario.typed()));
        };
        let shared_topics = !typed.topic_list.is_empty() && !more.is_empty();
        let spread = if shared_topics { 1 } else { u32::try_from(addresses.len()).unwrap_or(u32::MAX) };
        let zone = zones::of_item(reader, &typed.zone, system)?;
        let clients = item_topics::clients(reader, typed, spread)?;
        let driver = driver::driver(reader, typed, clients)?;
        item_topics::may_be_several(reader, typed, addresses.len(), &driver)?;
        let target = ItemTarget { system, topics: &topics, spread };
        let role = match &typed.role {
            RoleFile::Produce(produce) => {
                Role::Produce(produce_plan(reader, typed, produce, clients, target)?)
            }
            RoleFile::Consume(consume) => Role::Consume(consume_plan(reader, typed, consume)?),
            RoleFile::EndToEnd { rate, value } => {
                enough_replicas(reader, typed, -1, target)?;
                Role::EndToEnd(probe::probe_plan(reader, rate, value)?)
            }
        };
        let span = spans::span(reader, &name.text, typed)?;
        let (topic, more_topics) = (first.clone(), more.to_vec());
        let item = LoadPlan { topic, clients, more_topics, shared_topics, zone, span, driver, role };
        item_topics::may_be_shared(reader, typed, &item, (system, topics.as_slice()))?;
        found.insert(name.text.clone(), item);
    }
    item_topics::are_all_in_common(reader, &found)?;
    item_topics::can_have_threads(reader, &found)?;
    probe::have_own_topics(reader, &found)?;
    group::check(reader, system, &found)?;
    can_be_carried(reader, system, &found)?;
    Ok(found)
}

/// Refuses what the system cannot carry.
fn can_be_carried(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    for (name, typed) in &reader.scenario.typed().load {
        if let Some((why, hint)) = load.get(&name.text).and_then(|item| system.refuses_role(&item.role)) {
            return Err(reader.wrong(&typed.topic, format!("`{}` {why}", name.text)).hint(hint));
        }
    }
    Ok(())
}

/// Where records go.
#[derive(Clone, Copy)]
struct ItemTarget<'a> {
    system: &'a SystemPlan,
    /// By their addresses.
    topics: &'a [(&'a String, &'a TopicPlan)],
    /// Over how many of them the clients are spread: one where each client has all.
    spread: u32,
}

impl ItemTarget<'_> {
    /// Whether a topic of the scenario is one that is there before the run.
    fn is_existing(self, address: &str) -> bool {
        self.system.existing_topic(address).is_some()
    }

    /// What lets a record through, and its limit, bytes.
    fn record_limits(self, client: &ProducerSettings) -> [(&'static str, u64); 3] {
        let bytes = |text: &String| text.parse().unwrap_or(u64::MAX);
        let of_broker = self
            .system
            .broker_config()
            .map_or(u64::MAX, |config| config.get("message.max.bytes").map_or(MESSAGE_BYTES_MAX, bytes));
        let of_topics = self
            .topics
            .iter()
            .map(|(_, topic)| topic.config.get("max.message.bytes").map_or(of_broker, bytes));
        let message_max = of_topics.min().unwrap_or(of_broker);
        [
            ("the client's `max.request.size`", u64::from(client.request_bytes_max)),
            ("the client's `buffer.memory`", client.buffer_bytes),
            ("the largest message of the topic (`max.message.bytes`)", message_max),
        ]
    }
}

fn produce_plan(
    reader: &CaseReader<'_>,
    item: &LoadFile,
    typed: &ProduceFile,
    clients: u32,
    target: ItemTarget<'_>,
) -> Result<ProducePlan, PlanError> {
    let mut transactions = transactions::transactions(reader, &typed.transactions)?;
    let client = client::producer(reader, &item.client, transactions.is_some())?;
    if let (Some(plan), TransactionsFile::Each { every, .. }) = (&mut transactions, &typed.transactions) {
        transactions::within_timeout(reader, every.as_ref(), plan, &client)?;
    }
    let (mut records, value_bytes) = records::records(reader, typed)?;
    sampled(reader, typed, (&mut records, value_bytes), &client, target)?;
    let payload = payload(reader, &typed.payload, value_bytes.into(), &client, target.spread)?;
    poolable(reader, &typed.payload, payload, &records)?;
    partition_is_there(reader, typed, &records, target)?;
    record_fits(reader, typed, (&records, value_bytes), &client, target)?;
    enough_replicas(reader, item, client.acks, target)?;
    let records_max = match &reader.scenario.typed().phases.measure {
        MeasureFile::Time(_) | MeasureFile::Until { .. } => None,
        MeasureFile::Records { records, .. } => Some(records_max(reader, records, clients)?),
    };
    Ok(ProducePlan {
        rate: rate(reader, typed, clients)?,
        value_bytes,
        payload,
        records,
        records_max,
        synchronous: reader.word(&typed.sending, "sending", &["async", "sync"])? == "sync",
        transactions,
        tool_lines: None,
        client,
    })
}

/// The batches of a pool are sent again and again: their records have neither keys nor sizes of their own.
fn poolable(
    reader: &CaseReader<'_>,
    typed: &PayloadFile,
    payload: Payload,
    records: &RecordPlan,
) -> Result<(), PlanError> {
    let is_plain = RecordPlan { partition: None, ..records.clone() }.is_plain();
    if payload == Payload::Unique || is_plain {
        return Ok(());
    }
    let (PayloadFile::Word(typed) | PayloadFile::Pooled(typed)) = typed;
    let message = "`payload: pooled` sends the same batches again and again: random letters of one size, without keys \
                   and headers";
    Err(reader.wrong(typed, message).hint("leave `payload` out: then each record is built"))
}

/// Values of a topic, which must be there before the run; those that no limit lets through are left out.
fn sampled(
    reader: &CaseReader<'_>,
    typed: &ProduceFile,
    (records, value_bytes): (&mut RecordPlan, u32),
    client: &ProducerSettings,
    target: ItemTarget<'_>,
) -> Result<(), PlanError> {
    let overhead = records.bytes_around_value(value_bytes) + RECORD_BYTES_EXTRA;
    let (ValuesPlan::Sample(sample), ValuesFile::Sample { topic, .. }) =
        (&mut records.values, &typed.value.values)
    else {
        return Ok(());
    };
    let topics = &reader.scenario.typed().topics;
    if !topics.iter().any(|(name, _)| name.text == sample.topic) {
        let topic = Scalar { text: sample.topic.clone(), ..topic.clone() };
        return Err(unknown_topic(&topic, reader.scenario.typed()));
    }
    if !target.is_existing(&sample.topic) {
        let message = format!("topic `{}` is made for the run: there is nothing to sample", sample.topic);
        let hint = "a target says under `topics` which of its topics it is, and allows `existing-topics`";
        return Err(reader.wrong(topic, message).hint(hint));
    }
    let limits = target.record_limits(client).map(|(_, limit)| limit);
    let most = limits.into_iter().min().unwrap_or(u64::MAX).saturating_sub(overhead);
    sample.value_bytes_max = u32::try_from(most).unwrap_or(u32::MAX).min(sample.value_bytes_max);
    Ok(())
}

/// The partition that all records are to go to. How many an existing topic has shows when it is there.
fn partition_is_there(
    reader: &CaseReader<'_>,
    typed: &ProduceFile,
    records: &RecordPlan,
    target: ItemTarget<'_>,
) -> Result<(), PlanError> {
    let (Some(partition), Some(typed)) = (records.partition, &typed.partition) else { return Ok(()) };
    let mut made = target.topics.iter().filter(|(name, _)| !target.is_existing(name));
    let Some((name, topic)) = made.find(|(_, topic)| partition >= topic.partitions) else { return Ok(()) };
    let message = format!("topic `{name}` has no partition {partition}");
    Err(reader.wrong(typed, message).hint(format!("its partitions are 0 to {}", topic.partitions - 1)))
}

/// A record that no limit lets through would only fail, one after the other.
fn record_fits(
    reader: &CaseReader<'_>,
    typed: &ProduceFile,
    (records, value_bytes): (&RecordPlan, u32),
    client: &ProducerSettings,
    target: ItemTarget<'_>,
) -> Result<(), PlanError> {
    let largest = u64::from(records.largest_value_bytes(value_bytes));
    let record = largest + records.bytes_around_value(value_bytes) + RECORD_BYTES_EXTRA;
    let limits = target.record_limits(client);
    let Some((what, limit)) = limits.iter().find(|(_, limit)| record > *limit) else { return Ok(()) };
    let size_typed = match &typed.value.values {
        ValuesFile::Size(size) => size,
        ValuesFile::Uniform { to, .. } => to,
        ValuesFile::Lognormal { p99, max, .. } => max.as_ref().unwrap_or(p99),
        ValuesFile::File(file) => &file.name,
        ValuesFile::Sample { mean, .. } => mean,
        ValuesFile::Avro { schema, .. } => schema,
    };
    let hint = match &typed.value.values {
        ValuesFile::Lognormal { max: None, .. } => {
            "say with `max` where the size is cut off, or raise that limit"
        }
        ValuesFile::Avro { .. } => {
            "say a `length` of arrays, maps and strings in the schema, under `arg.properties`, or raise that limit"
        }
        _ => "make the value smaller or raise that limit",
    };
    let message = format!(
        "a value of {} needs up to {} with its record's overhead; {what} is {}",
        size(largest),
        size(record),
        size(*limit)
    );
    Err(reader.wrong(size_typed, message).hint(hint))
}

/// With acks=all a broker refuses every record when fewer replicas exist than must be in sync.
fn enough_replicas(
    reader: &CaseReader<'_>,
    item: &LoadFile,
    acks: i16,
    target: ItemTarget<'_>,
) -> Result<(), PlanError> {
    let of_broker = target.system.broker_config().and_then(|config| config.get(MIN_INSYNC));
    let refuses = |(_, topic): &&(&String, &TopicPlan)| {
        let least = topic.config.get(MIN_INSYNC).or(of_broker).and_then(|text| text.parse::<u32>().ok());
        least.is_some_and(|least| acks == -1 && least > topic.replicas)
    };
    let Some((name, topic)) = target.topics.iter().find(refuses) else { return Ok(()) };
    let least = topic.config.get(MIN_INSYNC).or(of_broker).map_or("", String::as_str);
    let message = format!(
        "with `acks: all` every record would be refused: `{MIN_INSYNC}` is {least}, but topic `{name}` has {} replica{}",
        topic.replicas,
        if topic.replicas == 1 { "" } else { "s" }
    );
    Err(reader
        .wrong(&item.topic, message)
        .hint(format!("set `{MIN_INSYNC}` in the topic's `config`, or `acks: 1`")))
}

fn payload(
    reader: &CaseReader<'_>,
    typed: &PayloadFile,
    value_bytes: u64,
    client: &ProducerSettings,
    topics: u32,
) -> Result<Payload, PlanError> {
    let (typed, pool_bytes) = match typed {
        PayloadFile::Word(typed) => match reader.word(typed, "payload", &["unique", "pooled"])?.as_str() {
            "pooled" => (typed, POOL_BYTES),
            _ => return Ok(Payload::Unique),
        },
        PayloadFile::Pooled(typed) => (typed, reader.bytes(typed, "pooled", 1..=POOL_BYTES_MAX)?),
    };
    // A record above `batch.size` travels in a batch of its own.
    let uncompressed = u64::from(client.batch_bytes).max(value_bytes + RECORD_BYTES_EXTRA);
    let batch_bytes = match client.compression {
        Compression::None => uncompressed,
        _ => uncompressed * u64::from(COMPRESSED_RECORDS_MAX),
    };
    let batches = pool_bytes.div_ceil(batch_bytes).max(POOL_BATCHES_MIN);
    let needed = batches * batch_bytes;
    if needed > POOL_BYTES_MAX {
        let message = format!(
            "a pool of {batches} batches of up to {} each takes up to {}; at most {} are allowed",
            size(batch_bytes),
            size(needed),
            size(POOL_BYTES_MAX)
        );
        let hint = match batches {
            POOL_BATCHES_MIN => "lower `batch.size` or the value's size, or write `payload: unique`",
            _ => "make the pool smaller by one batch",
        };
        return Err(reader.wrong(typed, message).hint(hint));
    }
    if needed.saturating_mul(u64::from(topics)) > POOL_BYTES_MAX {
        let most = size(POOL_BYTES_MAX);
        let message = format!("each of {topics} topics has a pool of its own: together more than {most}");
        return Err(reader.wrong(typed, message).hint("a smaller pool, or `payload: unique`"));
    }
    Ok(Payload::Pooled { pool_bytes })
}

/// `20M`, or `20M each` per client.
fn records_max(reader: &CaseReader<'_>, typed: &Scalar, clients: u32) -> Result<u64, PlanError> {
    let text = reader.text(typed)?;
    let (amount, times) = each(&text, clients);
    let count = units::whole(amount, Dimension::Plain)
        .map_err(|message| reader.wrong(typed, format!("`records`: {message}")))?;
    match count.checked_mul(times) {
        Some(records) if records > 0 => Ok(records),
        _ => {
            Err(reader
                .wrong(typed, format!("`records`: {} is not a usable number of records", quoted(&text))))
        }
    }
}

/// A text without its `each`, and by how much that multiplies.
fn each(text: &str, clients: u32) -> (&str, u64) {
    match text.trim().strip_suffix(" each") {
        Some(amount) => (amount, u64::from(clients)),
        None => (text, 1),
    }
}

fn per_s(reader: &CaseReader<'_>, typed: &Scalar, clients: u32, least: f64) -> Result<f64, PlanError> {
    let text = reader.text(typed)?;
    let (amount, times) = each(&text, clients);
    let value = units::parse_as(amount, Dimension::PerS);
    let wrong = |message: String| reader.wrong(typed, format!("`rate`: {message}, or `max`")).of_value();
    let value = value.map_err(wrong)?;
    let value = value * times as f64;
    if value >= least && value <= RATE_PER_S_MAX {
        return Ok(value);
    }
    let allowed = if least > 0.0 { "above zero and at most" } else { "at most" };
    let message = format!("`rate`: {} is not {allowed} {RATE_PER_S_MAX}/s", quoted(&text));
    let error = reader.wrong(typed, message).of_value();
    // Cases and sides have the same items.
    let hint =
        "leave the item out of `load`; where other cases or the other side need it, `1/s` is next to no load";
    Err(error.maybe_hint((value == 0.0).then(|| hint.to_owned())))
}

/// Slowest constant rate: one record in an hour.
const RATE_PER_S_MIN: f64 = 1.0 / 3600.0;

fn rate(reader: &CaseReader<'_>, typed: &ProduceFile, clients: u32) -> Result<Rate, PlanError> {
    let flat = |per_s, length_ns| RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns };
    let pieces = match &typed.rate {
        RateFile::Plain(rate) if reader.text(rate)? == "max" => return closed(reader, typed),
        RateFile::Plain(rate) => vec![flat(per_s(reader, rate, clients, RATE_PER_S_MIN)?, PHASE_NS_MAX)],
        RateFile::Ramp { from, to, over } => {
            let to_per_s = per_s(reader, to, clients, RATE_PER_S_MIN)?;
            let from_per_s = per_s(reader, from, clients, 0.0)?;
            let length_ns = reader.ns(over, "over", 1..=PHASE_NS_MAX)?;
            vec![RatePiece { from_per_s, to_per_s, length_ns }, flat(to_per_s, PHASE_NS_MAX)]
        }
        RateFile::Steps(place, steps) => {
            if steps.len() > STEPS_MAX {
                let message = format!("`steps` has {} entries; at most {STEPS_MAX}", steps.len());
                return Err(kdyno_scenario::input::InputError::at(*place, message));
            }
            let one = |(rate, length): &(Scalar, Scalar)| {
                Ok(flat(per_s(reader, rate, clients, 0.0)?, reader.ns(length, "for", 1..=PHASE_NS_MAX)?))
            };
            steps.iter().map(one).collect::<Result<_, PlanError>>()?
        }
    };
    // A `fill` with `$rate` is for the cases in which the param is `max`.
    let inserted = matches!(&typed.rate, RateFile::Plain(rate) if rate.text.contains('$'));
    if let (Some(fill), false) = (&typed.fill, inserted) {
        return Err(reader.wrong(fill, "`fill` has a meaning only with `rate: max`").hint(
            "leave it out: with a rate each record waits for buffer space from its scheduled send time",
        ));
    }
    let arrivals = match &typed.arrivals {
        None => Arrivals::Poisson,
        Some(arrivals) => match reader.word(arrivals, "arrivals", &["poisson", "constant"])?.as_str() {
            "constant" => Arrivals::Constant,
            _ => Arrivals::Poisson,
        },
    };
    Ok(Rate::Open { pieces, arrivals })
}

/// `rate: max`. It may have `arrivals` when the rate comes from a param that another case paces.
fn closed(reader: &CaseReader<'_>, typed: &ProduceFile) -> Result<Rate, PlanError> {
    if let (Some(arrivals), RateFile::Plain(rate)) = (&typed.arrivals, &typed.rate)
        && rate.text == "max"
    {
        return Err(reader
            .wrong(arrivals, "`arrivals` has no meaning with `rate: max`")
            .hint("leave it out: a record is sent the instant buffer space frees"));
    }
    let fill = match &typed.fill {
        None => Fill::Buffer,
        Some(fill) => match reader.word(fill, "fill", &["buffer", "in-flight"])?.as_str() {
            "in-flight" => Fill::InFlight,
            _ => Fill::Buffer,
        },
    };
    Ok(Rate::Max { fill })
}
