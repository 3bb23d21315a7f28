//! A null broker as the system of a case: `kafka: null-broker`.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::{ClientListener, Listeners, NullBrokerPlan, Protocol};
use kdyno_scenario::file::{KafkaFile, ListenersFile, ModeFile, StorageFile};
use kdyno_scenario::keys::{BROKER_METRICS, LIMITS, NULL_BROKER};
use kdyno_scenario::yaml::Scalar;

/// Largest value that fetches are answered with: of a broker's largest batch.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 20;

/// Reads the `listeners` section.
type ReadListeners<'r> = fn(&CaseReader<'r>, &ListenersFile) -> Result<Listeners, PlanError>;

/// Whether the case's system is one.
pub(crate) fn is_meant(reader: &CaseReader<'_>) -> Result<bool, PlanError> {
    match &reader.scenario.typed().system.kafka {
        KafkaFile::NullBroker(_) => Ok(true),
        KafkaFile::Release(release) => Ok(reader.text(release)? == NULL_BROKER),
        KafkaFile::Home(_) | KafkaFile::Source(_) => Ok(false),
    }
}

/// The `system` section of one. What only brokers of Kafka have is refused, since it would do nothing.
pub(crate) fn null_broker<'r>(
    reader: &CaseReader<'r>,
    listeners: ReadListeners<'r>,
) -> Result<NullBrokerPlan, PlanError> {
    let system = &reader.scenario.typed().system;
    let refused = |typed: &Scalar, what: &str| {
        reader
            .wrong(typed, format!("a null broker has no {what}"))
            .hint("leave it out, or name a release of Kafka")
    };
    if reader.small(&system.brokers, "brokers", 1..=u32::MAX)? != 1 {
        return Err(reader.wrong(&system.brokers, "a null broker is one broker").hint("write `brokers: 1`"));
    }
    match &system.mode {
        ModeFile::Word(mode) if reader.text(mode)? == "kraft" => {}
        ModeFile::Word(mode) | ModeFile::Controllers(mode) | ModeFile::Zookeeper(mode) => {
            return Err(refused(mode, "`mode`"));
        }
    }
    let storage = match &system.storage {
        StorageFile::Word(word) if reader.text(word)? == "disk" => None,
        StorageFile::Word(word) => Some(word),
        StorageFile::Dirs(dirs) => dirs.first(),
    };
    let usual_heap = LIMITS.keys.iter().find(|key| key.name == "heap").and_then(|key| key.default);
    let heap = Some(&system.heap).filter(|heap| Some(heap.text.as_str()) != usual_heap);
    let config = system.config.settings.first().map(|(name, _)| name).or(system.config.file.as_ref());
    let typed = [
        (heap, "heap (`limits.heap`)"),
        (storage, "`storage`"),
        (config, "settings (`config`)"),
        (system.jvm.first(), "Java process (`jvm`)"),
        (system.racks.first(), "rack (`racks`)"),
        (system.zones.as_ref().and_then(|zones| zones.brokers.first()), "zones (`zones`)"),
        (system.cpus.as_ref(), "limit of CPU time (`limits.cpus`)"),
        (system.pin.iter().flatten().next(), "CPUs of its own (`pin`)"),
    ];
    if let Some((typed, what)) = typed.into_iter().find_map(|(typed, what)| Some((typed?, what))) {
        return Err(refused(typed, what));
    }
    // It exposes no metrics, whichever word is there.
    reader.word(&system.metrics, "metrics", BROKER_METRICS)?;
    let listeners = listeners(reader, &system.listeners)?;
    let tls = listeners.clients.tls.clone();
    let known = Listeners {
        clients: ClientListener {
            protocol: if tls.is_empty() { Protocol::Plaintext } else { Protocol::Ssl },
            tls: tls.clone(),
            ..Default::default()
        },
        ..Default::default()
    };
    if listeners != known {
        let message = format!("a null broker does not authenticate: its listener cannot be `{listeners}`");
        let hint = "it speaks PLAINTEXT or SSL, without client certificates";
        return Err(reader.wrong(&system.listeners.protocol, message).hint(hint));
    }
    let fetch_value_bytes = match &system.kafka {
        KafkaFile::NullBroker(size) => Some(reader.bytes(size, "null_broker", 0..=VALUE_BYTES_MAX)? as u32),
        KafkaFile::Release(_) | KafkaFile::Home(_) | KafkaFile::Source(_) => None,
    };
    Ok(NullBrokerPlan { tls, fetch_value_bytes, is_second: false })
}
