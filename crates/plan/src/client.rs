//! Client settings: typed ones over the defaults of a Kafka version, as in the Java client.

use crate::choices::PlanError;
use crate::driver;
use crate::given::{TypedSetting, read};
use crate::group;
use crate::reader::CaseReader;
use kdyno_model::plan::{Compression, ConsumePlan, IsolationLevel, Partitioner, ProducerSettings};
use kdyno_model::units::size;
use kdyno_model::version::Version;
use kdyno_scenario::client::{
    ClientSetting, ClientSide, DEFAULT_PARTITIONER, FoundJava, OF_GROUPS, Other, ROUND_ROBIN, SettingEffect,
    UNIFORM_STICKY, find, find_java, producer_defaults, removed_in, since,
};
use kdyno_scenario::file::{ItemClientFile, KeyFile, LoadFile, RoleFile, TransactionsFile};
use kdyno_scenario::input::{InputError, TextPosition};
use kdyno_scenario::values::ParamValues;
use kdyno_scenario::yaml::Scalar;

const NS_PER_MS: u64 = 1_000_000;

/// What of a load item's settings has no effect with these values; each a lowercase sentence.
pub(crate) fn without_effect(
    values: &ParamValues,
    item: &str,
    load: &LoadFile,
) -> Result<Vec<String>, PlanError> {
    let side = side(load);
    let is_java = driver::is_java(values, load)?;
    let mut reported = Vec::new();
    for (name, _) in &load.client.settings {
        let name = name.text.as_str();
        let typed = Scalar::assumed(name, TextPosition::default());
        // What has no effect on kdyno's own client has one on Java's, but for what kdyno gives every client itself.
        let is_passed_on = is_java && !matches!(find_java(side, &typed), Ok(FoundJava::Own(_)));
        let why = match find(side, &typed) {
            Ok(ClientSetting::Other(_)) if is_passed_on => None,
            Ok(ClientSetting::Other(Other { rule: SettingEffect::WithoutEffect(why), .. })) => {
                Some((*why).to_owned())
            }
            _ => idle(values, name, load)?,
        };
        reported.extend(why.map(|why| format!("`{name}` of `{item}` has no effect here: {why}")));
    }
    Ok(reported)
}

/// Which of a load item's settings the clients do not know whose defaults are taken; each a lowercase sentence.
pub(crate) fn of_other_versions(
    values: &ParamValues,
    item: &str,
    load: &LoadFile,
) -> Result<Vec<String>, PlanError> {
    let version = match typed(load, "defaults") {
        _ if driver::is_java(values, load)? => match driver::version(values, load)? {
            Some(version) => version,
            None => return Ok(Vec::new()),
        },
        Some(value) => Version::of_client(&values.text(value)?).unwrap_or(Version::newest()),
        None => Version::newest(),
    };
    let of = version.line();
    let reported = load.client.settings.iter().filter_map(|(name, _)| {
        let name = name.text.as_str();
        match (since(name), removed_in(name)) {
            (Some((major, minor)), _) if !version.at_least(major, minor) => Some(format!(
                "`{name}` of `{item}`: Kafka's clients know it from {major}.{minor} on, not those of {of}"
            )),
            (_, Some((major, minor))) if version.at_least(major, minor) => Some(format!(
                "`{name}` of `{item}`: Kafka's clients do not know it any more from {major}.{minor} on"
            )),
            _ => None,
        }
    });
    Ok(reported.collect())
}

fn side(load: &LoadFile) -> ClientSide {
    match load.role {
        // A probe has no settings.
        RoleFile::Produce(_) | RoleFile::EndToEnd { .. } => ClientSide::Produce,
        RoleFile::Consume(_) => ClientSide::Consume,
    }
}

/// The value that is typed for a setting.
fn typed<'a>(load: &'a LoadFile, name: &str) -> Option<&'a Scalar> {
    load.client.settings.iter().find(|(typed, _)| typed.text == name).map(|(_, value)| value)
}

/// Why a setting that is acted on has no effect on an item that does nothing with it.
fn idle(values: &ParamValues, name: &str, load: &LoadFile) -> Result<Option<String>, PlanError> {
    let produce = match &load.role {
        RoleFile::Produce(produce) => produce,
        RoleFile::EndToEnd { .. } => return Ok(None),
        RoleFile::Consume(consume) => {
            let is_idle = consume.group.is_none() && OF_GROUPS.contains(&name);
            return Ok(is_idle.then(|| "it has no `group`".to_owned()));
        }
    };
    let why = match name {
        TRANSACTION_TIMEOUT if matches!(produce.transactions, TransactionsFile::Word(_)) => {
            "it has no `transactions`"
        }
        IGNORE_KEYS if matches!(produce.key, KeyFile::Word(_)) => "it has no `key`",
        _ => return idle_level(values, name, load),
    };
    Ok(Some(why.to_owned()))
}

/// Why a level of compression has no effect: it is of another codec than that of the item.
fn idle_level(values: &ParamValues, name: &str, load: &LoadFile) -> Result<Option<String>, PlanError> {
    let is_its = |codec: &Compression| codec.levels().is_some_and(|levels| levels.setting == name);
    let Some(codec) = CODECS.into_iter().find(is_its) else { return Ok(None) };
    let in_force = match typed(load, COMPRESSION) {
        Some(value) => values.text(value)?.parse().unwrap_or(Compression::None),
        None => Compression::None,
    };
    Ok((in_force != codec).then(|| format!("its `{COMPRESSION}` is not `{}`", codec.name())))
}

const TRANSACTION_TIMEOUT: &str = "transaction.timeout.ms";
const IGNORE_KEYS: &str = "partitioner.ignore.keys";
const COMPRESSION: &str = "compression.type";
/// Codecs that have levels.
const CODECS: [Compression; 3] = [Compression::Gzip, Compression::Lz4, Compression::Zstd];

/// A producer's settings.
pub(crate) fn producer(
    reader: &CaseReader<'_>,
    typed: &ItemClientFile,
    is_transactional: bool,
) -> Result<ProducerSettings, PlanError> {
    let (version, given) = read(reader, ClientSide::Produce, typed)?;
    let mut settings = producer_defaults(&version);
    let (mut delivery, mut backoff_max_ns, mut idempotence, mut of_class) = (None, None, None, None);
    for given in &given {
        let ns = given.ns();
        match given.name {
            "acks" => settings.acks = given.word.parse().unwrap_or(-1),
            // Java's 0 switches batching off; one byte does the same: each record fills its batch.
            "batch.size" => settings.batch_bytes = given.number.max(1) as u32,
            "linger.ms" => settings.linger_ns = ns,
            "buffer.memory" => settings.buffer_bytes = given.number,
            "max.request.size" => settings.request_bytes_max = given.number as u32,
            "max.in.flight.requests.per.connection" => settings.in_flight_max = given.number as u32,
            COMPRESSION => settings.compression = given.word.parse().unwrap_or(Compression::None),
            "max.block.ms" => settings.max_block_ns = ns,
            "request.timeout.ms" => settings.request_timeout_ns = ns,
            "delivery.timeout.ms" => delivery = Some((ns, given.typed)),
            "retry.backoff.ms" => settings.retry_backoff_ns = ns,
            "retry.backoff.max.ms" => backoff_max_ns = Some(ns),
            "metadata.max.age.ms" => settings.metadata_max_age_ns = ns,
            TRANSACTION_TIMEOUT => settings.transaction_timeout_ns = ns,
            "enable.idempotence" => idempotence = Some(given),
            "partitioner.adaptive.partitioning.enable" => {
                settings.adaptive_partitioning = given.word == "true";
            }
            "partitioner.availability.timeout.ms" => settings.availability_timeout_ns = ns,
            IGNORE_KEYS => settings.ignore_keys = given.word == "true",
            "partitioner.class" if given.word == ROUND_ROBIN => {
                settings.partitioner = Partitioner::RoundRobin
            }
            // As in Java a class of its own knows nothing of what came with 3.3.
            "partitioner.class" if [UNIFORM_STICKY, DEFAULT_PARTITIONER].contains(&given.word.as_str()) => {
                of_class = Some(given.word == UNIFORM_STICKY);
            }
            _ => {}
        }
    }
    if let Some(ignores_keys) = of_class {
        (settings.ignore_keys, settings.adaptive_partitioning) = (ignores_keys, false);
    }
    settings.compression_level = level_in_force(settings.compression, &given);
    match is_transactional {
        true => transactional(reader, &mut settings, (idempotence, &given))?,
        false => idempotent(reader, &mut settings, &version, (idempotence, &given))?,
    }
    backoff(&mut settings, backoff_max_ns, &version);
    // As in Java: a delivery timeout that was set must hold both, the default one grows instead.
    let least = settings.linger_ns + settings.request_timeout_ns;
    match delivery {
        Some((ns, typed)) if ns < least => {
            let message = "`delivery.timeout.ms` is less than `linger.ms` plus `request.timeout.ms`";
            return Err(reader.wrong(typed, message).hint(format!("at least {} ms", least / NS_PER_MS)));
        }
        Some((ns, _)) => settings.delivery_timeout_ns = ns,
        None => settings.delivery_timeout_ns = settings.delivery_timeout_ns.max(least),
    }
    if u64::from(settings.batch_bytes) > settings.buffer_bytes {
        let typed = given.iter().find(|given| matches!(given.name, "batch.size" | "buffer.memory"));
        let message = format!(
            "a batch of `batch.size` ({}) does not fit into `buffer.memory` ({})",
            size(settings.batch_bytes.into()),
            size(settings.buffer_bytes)
        );
        return Err(match typed {
            Some(given) => reader.wrong(given.typed, message),
            None => InputError::whole(message),
        });
    }
    Ok(settings)
}

const IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
/// Most requests in flight of an idempotent producer: a broker remembers that many batches of it.
const IDEMPOTENT_IN_FLIGHT_MAX: u32 = 5;

/// As in Java: requested idempotence takes `acks: all` and at most five requests in flight; as a default it is
/// given up where either was set otherwise, by clients before 4.0. Those from 4.0 on refuse more requests in flight, with
/// any `acks`, until idempotence is switched off.
fn idempotent(
    reader: &CaseReader<'_>,
    settings: &mut ProducerSettings,
    version: &Version,
    (typed, given): (Option<&TypedSetting<'_>>, &[TypedSetting<'_>]),
) -> Result<(), PlanError> {
    let named = |name: &str| given.iter().find(|given| given.name == name);
    let is_too_many = settings.in_flight_max > IDEMPOTENT_IN_FLIGHT_MAX;
    let Some(typed) = typed else {
        if let Some(place) = named(IN_FLIGHT).filter(|_| is_too_many && version.at_least(4, 0)) {
            let message =
                format!("clients from 4.0 on are idempotent by default and take `{IN_FLIGHT}` up to 5");
            let hint = "write `enable.idempotence: false` next to it, or `defaults` of an older version";
            return Err(reader.wrong(place.typed, message).hint(hint));
        }
        settings.enable_idempotence &= settings.acks == -1 && !is_too_many;
        return Ok(());
    };
    settings.enable_idempotence = typed.word == "true";
    if !settings.enable_idempotence {
        return Ok(());
    }
    let Some((name, takes, place)) = against_idempotence(settings, given) else { return Ok(()) };
    Err(reader
        .wrong(place.unwrap_or(typed).typed, format!("`enable.idempotence: true` takes {takes}"))
        .hint(format!("leave `{name}` out, or write `enable.idempotence: false`")))
}

/// As in Java: a transactional producer is idempotent, whatever its version's default is.
fn transactional(
    reader: &CaseReader<'_>,
    settings: &mut ProducerSettings,
    (typed, given): (Option<&TypedSetting<'_>>, &[TypedSetting<'_>]),
) -> Result<(), PlanError> {
    settings.enable_idempotence = true;
    if let Some(typed) = typed.filter(|typed| typed.word != "true") {
        let message = "`transactions` take `enable.idempotence: true`";
        return Err(reader.wrong(typed.typed, message).hint("leave it out, or write `transactions: none`"));
    }
    let Some((name, takes, Some(place))) = against_idempotence(settings, given) else { return Ok(()) };
    Err(reader
        .wrong(place.typed, format!("`transactions` take {takes}"))
        .hint(format!("leave `{name}` out, or write `transactions: none`")))
}

/// What an idempotent producer does not do: the setting, what it takes there, and where that is typed. `acks` that are not
/// typed become those it takes.
fn against_idempotence<'g, 't>(
    settings: &mut ProducerSettings,
    given: &'g [TypedSetting<'t>],
) -> Option<(&'static str, &'static str, Option<&'g TypedSetting<'t>>)> {
    let named = |name: &str| given.iter().find(|given| given.name == name);
    if named("acks").is_none() {
        settings.acks = -1;
    }
    let (name, takes) = match (settings.acks, settings.in_flight_max) {
        (-1, ..=IDEMPOTENT_IN_FLIGHT_MAX) => return None,
        (-1, _) => (IN_FLIGHT, "at most 5 requests in flight"),
        _ => ("acks", "`acks: all`"),
    };
    Some((name, takes, named(name)))
}

/// As in Java: a first pause above the longest one is cut to it and does not grow; clients before 3.7 know no longest
/// one.
fn backoff(settings: &mut ProducerSettings, typed_max_ns: Option<u64>, version: &Version) {
    settings.retry_backoff_max_ns = match typed_max_ns {
        Some(max_ns) => max_ns,
        None if version.at_least(3, 7) => settings.retry_backoff_max_ns,
        None => settings.retry_backoff_ns,
    };
    settings.retry_backoff_ns = settings.retry_backoff_ns.min(settings.retry_backoff_max_ns);
}

/// The level that is typed for a codec, or its default.
fn level_in_force(codec: Compression, given: &[TypedSetting<'_>]) -> Option<i32> {
    let levels = codec.levels()?;
    let typed = given.iter().find(|given| given.name == levels.setting);
    Some(typed.map_or(levels.default, |typed| typed.level))
}

/// A consumer's settings, `settings` where nothing is typed; `group` is the name of its group.
pub(crate) fn consumer(
    reader: &CaseReader<'_>,
    mut settings: ConsumePlan,
    typed: &ItemClientFile,
    group: Option<&Scalar>,
) -> Result<ConsumePlan, PlanError> {
    let (version, given) = read(reader, ClientSide::Consume, typed)?;
    settings.group = group.map(|name| group::group(reader, name, &version, &given)).transpose()?;
    for given in &given {
        let ns = given.ns();
        match given.name {
            "fetch.min.bytes" => settings.fetch_bytes_min = given.number as u32,
            "fetch.max.bytes" => settings.fetch_bytes_max = given.number as u32,
            "max.partition.fetch.bytes" => settings.partition_bytes_max = given.number as u32,
            "fetch.max.wait.ms" => settings.fetch_wait_ns = ns,
            "request.timeout.ms" => settings.request_timeout_ns = ns,
            "retry.backoff.ms" => settings.retry_backoff_ns = ns,
            "isolation.level" if given.word == IsolationLevel::ReadCommitted.name() => {
                settings.isolation_level = IsolationLevel::ReadCommitted;
            }
            "max.poll.records" => settings.poll_records_max = given.number as u32,
            "client.rack" => settings.rack.clone_from(&given.word),
            _ => {}
        }
    }
    Ok(settings)
}
