//! The system under test and its topics.

use crate::broker_file;
use crate::choices::PlanError;
use crate::driver;
use crate::kafka::{Owner, settings};
use crate::quotas;
use crate::reader::CaseReader;
use crate::topics;
use crate::zones;
use kdyno_model::mbean;
use kdyno_model::plan::{
    BrokerMetrics, ClientListener, ClusterPlan, KafkaSource, Listeners, Mode, Protocol, Storage, SystemPlan,
    TlsVersion, TopicPlan, java_size,
};
use kdyno_model::units::exact_bytes;
use kdyno_model::version::{NEWEST, Version, VersionCause, VersionError, check_nodes};
use kdyno_scenario::file::{KafkaFile, ListenersFile, ModeFile, StorageFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::keys::{BROKER_METRICS, LOGINS};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most brokers of a local cluster: each is a Java process of this machine.
pub(crate) const BROKERS_MAX: u32 = 64;
/// Most dedicated controllers.
pub(crate) const CONTROLLERS_MAX: u32 = 9;
/// Smallest heap with which a broker starts.
pub(crate) const HEAP_BYTES_MIN: u64 = 64 << 20;
/// Largest heap of a broker.
pub(crate) const HEAP_BYTES_MAX: u64 = 1 << 40;
/// What a broker may be limited to, processors: the kernel's periods are too long for less.
pub(crate) const CPU_LIMITS: std::ops::RangeInclusive<f64> = 0.05..=4096.0;
/// Highest processor number that may be pinned to.
pub(crate) const CPU_MAX: u32 = 4095;
/// Most partitions of a topic, and replicas of a partition.
pub(crate) const PARTITIONS_MAX: u32 = 10_000;

/// The cluster that the `system` section describes.
pub(crate) fn cluster(reader: &CaseReader<'_>) -> Result<ClusterPlan, PlanError> {
    let typed = &reader.scenario.typed().system;
    let (kafka, version) = kafka(reader, &typed.kafka)?;
    let mode = mode(reader, &typed.mode)?;
    let brokers = reader.small(&typed.brokers, "brokers", 1..=BROKERS_MAX)?;
    let fits = match &version {
        Some(version) => version.check_mode(mode, brokers),
        // That of a folder is known once the testbed has looked into it.
        None => check_nodes(mode),
    };
    fits.map_err(|VersionError { message, hint, cause }| {
        let place = match cause {
            VersionCause::Brokers => &typed.brokers,
            VersionCause::Release | VersionCause::Mode => match &typed.mode {
                ModeFile::Word(mode) | ModeFile::Controllers(mode) | ModeFile::Zookeeper(mode) => mode,
            },
        };
        reader.wrong(place, message).hint(hint)
    })?;
    let listeners = listeners(reader, &typed.listeners)?;
    if let Some(version) = &version {
        version
            .check_listeners(mode, &listeners)
            .map_err(|error| reader.wrong(&typed.listeners.protocol, error.message).hint(error.hint))?;
    }
    let pinned_to = typed.pin.iter().map(|list| {
        list.iter().map(|cpu| reader.small(cpu, "pin", 0..=CPU_MAX)).collect::<Result<Vec<u32>, _>>()
    });
    let pinned_to = pinned_to.collect::<Result<Vec<_>, _>>()?;
    let (of_file, ignored) = broker_file::settings(reader, &typed.config, version.as_ref())?;
    let mut config = settings(reader, &typed.config.settings, Owner::Broker)?;
    config.extend(of_file);
    let cpu_limit = typed.cpus.as_ref().map(|cpus| reader.number(cpus, "cpus", CPU_LIMITS));
    Ok(ClusterPlan {
        kafka,
        mode,
        brokers,
        heap_bytes: reader.bytes(&typed.heap, "heap", HEAP_BYTES_MIN..=HEAP_BYTES_MAX)?,
        jvm_options: typed.jvm.iter().map(|option| jvm_option(reader, option)).collect::<Result<_, _>>()?,
        config,
        ignored,
        pinned_to,
        cpu_limit: cpu_limit.transpose()?,
        racks: typed.racks.iter().map(|rack| reader.filled(rack, "racks")).collect::<Result<_, _>>()?,
        storage: storage(reader, &typed.storage)?,
        metrics: match reader.word(&typed.metrics, "metrics", BROKER_METRICS)?.as_str() {
            "none" => BrokerMetrics::None,
            _ => BrokerMetrics::Jmx,
        },
        mbeans: mbeans(reader, &typed.mbeans)?,
        listeners,
        quotas: typed.quotas.as_ref().map(|of| quotas::quotas(reader, of)).transpose()?,
        zones: typed.zones.as_ref().map(|of| zones::zones(reader, of, brokers, &typed.racks)).transpose()?,
        is_second: false,
    })
}

/// Attributes of MBeans that are read in addition.
fn mbeans(reader: &CaseReader<'_>, typed: &[Scalar]) -> Result<Vec<String>, PlanError> {
    let mut found: Vec<String> = Vec::new();
    for one in typed {
        let text = reader.filled(one, "mbeans")?;
        mbean::check(&found, &text).map_err(|why| reader.wrong(one, why).hint(mbean::HINT))?;
        found.push(text);
    }
    Ok(found)
}

/// Options of a JVM that size its heap. `limits.heap` does that for a broker: it is what the check of memory adds up and
/// what reports state.
const HEAP_OPTIONS: [&str; 9] = [
    "-Xmx",
    "-Xms",
    "-XX:MaxHeapSize=",
    "-XX:InitialHeapSize=",
    "-XX:MinHeapSize=",
    "-XX:MaxRAM=",
    "-XX:MaxRAMPercentage=",
    "-XX:InitialRAMPercentage=",
    "-XX:MinRAMPercentage=",
];

fn jvm_option(reader: &CaseReader<'_>, typed: &Scalar) -> Result<String, PlanError> {
    let option = reader.filled(typed, "jvm")?;
    driver::has_size(reader, typed, &option)?;
    let Some(size) = HEAP_OPTIONS.iter().find_map(|name| option.strip_prefix(name)) else {
        return Ok(option);
    };
    // A share of the memory is no size.
    let bytes = java_size(size).filter(|_| !option.contains("Percentage"));
    let heap = bytes.map_or_else(|| "1GiB".to_owned(), |bytes| exact_bytes(bytes as f64));
    let message = format!("`jvm`: {} sizes the heap, which `limits.heap` does", quoted(&option));
    Err(reader
        .wrong(typed, message)
        .hint(format!("write `limits: {{heap: {heap}}}`: minimum and maximum are the same")))
}

pub(crate) fn listeners(reader: &CaseReader<'_>, typed: &ListenersFile) -> Result<Listeners, PlanError> {
    let word = |value: &Scalar, key: &str, words: &[&str]| reader.word(value, key, words);
    let protocol: Protocol = word(&typed.protocol, "protocol", Protocol::NAMES)?.parse().unwrap_or_default();
    let internal = word(&typed.internal, "protocol", &Listeners::INTERNAL)?.parse().unwrap_or_default();
    let mechanism = match word(&typed.sasl, "sasl", &LOGINS)?.as_str() {
        "auto" => protocol.default_mechanism(),
        name => name.parse().ok(),
    };
    let tls = match word(&typed.tls, "tls", &["any", "1.2", "1.3"])?.as_str() {
        _ if !protocol.has_tls() => Vec::new(),
        "1.2" => vec![TlsVersion::Tls12],
        "1.3" => vec![TlsVersion::Tls13],
        _ => protocol.default_tls(),
    };
    let client_certificates = word(&typed.certificates, "certificates", &["none", "required"])? == "required";
    let listeners = Listeners {
        clients: ClientListener { protocol, mechanism, tls, client_certificates },
        internal,
        authorizer: word(&typed.authorizer, "authorizer", &["none", "acls"])? == "acls",
    };
    listeners.check().map_err(|why| reader.wrong(&typed.protocol, format!("`listeners`: {why}")))?;
    Ok(listeners)
}

fn kafka(reader: &CaseReader<'_>, typed: &KafkaFile) -> Result<(KafkaSource, Option<Version>), PlanError> {
    let KafkaFile { key, value: release } = typed;
    let text = reader.filled(release, key)?;
    match key.as_str() {
        "home" => return Ok((KafkaSource::Home(PathBuf::from(text)), None)),
        "source" => return Ok((KafkaSource::Source(PathBuf::from(text)), None)),
        _ => {}
    }
    let version = Version::parse(&text).map_err(|error| {
        let hint = format!("{}; or `{{home: DIR}}`, `{{source: DIR}}`", error.hint);
        reader.wrong(release, format!("`kafka`: {}", error.message)).hint(hint).of_value()
    })?;
    if version.text.contains('-') {
        let message = format!("`kafka`: {} is not a release", quoted(&text));
        return Err(reader
            .wrong(release, message)
            .of_value()
            .hint(format!("write e.g. `{NEWEST}`, or `{{home: DIR}}`, `{{source: DIR}}` for a build")));
    }
    Ok((KafkaSource::Release(version.text.clone()), Some(version)))
}

fn mode(reader: &CaseReader<'_>, typed: &ModeFile) -> Result<Mode, PlanError> {
    Ok(match typed {
        ModeFile::Word(typed) => match reader.word(typed, "mode", &["kraft", "zookeeper"])?.as_str() {
            "zookeeper" => Mode::Zookeeper { nodes: 1 },
            _ => Mode::KraftCombined,
        },
        ModeFile::Controllers(typed) => {
            Mode::KraftControllers { controllers: reader.small(typed, "controllers", 1..=CONTROLLERS_MAX)? }
        }
        ModeFile::Zookeeper(typed) => Mode::Zookeeper { nodes: reader.small(typed, "zookeeper", 1..=3)? },
    })
}

fn storage(reader: &CaseReader<'_>, typed: &StorageFile) -> Result<Storage, PlanError> {
    match typed {
        StorageFile::Word(typed) => Ok(match reader.word(typed, "storage", &["disk", "memory"])?.as_str() {
            "memory" => Storage::Memory,
            _ => Storage::Disk,
        }),
        StorageFile::Dirs(dirs) => {
            let one = |dir| reader.filled(dir, "storage").map(PathBuf::from);
            Ok(Storage::Dirs(dirs.iter().map(one).collect::<Result<_, _>>()?))
        }
    }
}

/// The `topics` section.
pub(crate) fn topics(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
) -> Result<BTreeMap<String, TopicPlan>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, typed) in &reader.scenario.typed().topics {
        let topic = TopicPlan {
            partitions: reader.small(&typed.partitions, "partitions", 1..=PARTITIONS_MAX)?,
            replicas: reader.small(&typed.replicas, "replicas", 1..=PARTITIONS_MAX)?,
            config: settings(reader, &typed.config, Owner::Topic)?,
        };
        if let Some(brokers) = system.brokers().filter(|brokers| topic.replicas > *brokers) {
            let message = format!(
                "topic `{}` wants {} replicas, but the cluster has {brokers} broker{}",
                name.text,
                topic.replicas,
                if brokers == 1 { "" } else { "s" }
            );
            let hint =
                format!("write `replicas: \"= min({}, brokers)\"` with a param `brokers`", topic.replicas);
            return Err(reader.wrong(&typed.replicas, message).hint(hint));
        }
        let typed_min = typed.config.iter().find(|(key, _)| key.text == MIN_INSYNC);
        if let Some((key, _)) = typed_min {
            let least = topic.config.get(MIN_INSYNC).map(String::as_str).unwrap_or_default();
            let Ok(least) = least.parse::<u32>() else {
                return Err(reader.wrong(key, format!("`{MIN_INSYNC}`: {} is not a number", quoted(least))));
            };
            if least > topic.replicas || least == 0 {
                return Err(reader
                    .wrong(
                        key,
                        format!("`{MIN_INSYNC}` is {least}, but there are {} replicas", topic.replicas),
                    )
                    .hint(format!("at least 1, at most {}", topic.replicas)));
            }
        }
        for address in topics::addresses(reader, name, typed)? {
            if found.contains_key(&address) {
                let message = format!("topic `{address}` is there twice: `count` makes one of that name");
                return Err(reader.wrong(name, message).hint("rename one of them"));
            }
            found.insert(address, topic.clone());
        }
    }
    Ok(found)
}

/// The setting's name, for topics and brokers alike.
pub(crate) const MIN_INSYNC: &str = "min.insync.replicas";
