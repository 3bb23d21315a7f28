//! A null broker as the system of a case: `kafka: null-broker`.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use crate::system::listeners;
use kdyno_model::plan::{ClientListener, Listeners, NullBrokerPlan, Protocol};
use kdyno_scenario::file::{ModeFile, StorageFile};
use kdyno_scenario::keys::{BROKER_METRICS, LIMITS};
use kdyno_scenario::yaml::Scalar;

/// Largest value that fetches are answered with: of a broker's largest batch.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 20;

/// The `system` section of one, `fetched` being the size of values that fetches are answered with. What only brokers of Kafka
/// have is refused, since it would do nothing.
pub(crate) fn null_broker(
    reader: &CaseReader<'_>,
    fetched: Option<&Scalar>,
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
        (system.mbeans.first(), "MBeans (`metrics`)"),
        (system.jvm.first(), "Java process (`jvm`)"),
        (system.racks.first(), "rack (`racks`)"),
        (system.zones.as_ref().and_then(|zones| zones.brokers.first()), "zones (`zones`)"),
        (system.quotas.as_ref().map(|quotas| &quotas.each), "quotas (`quotas`)"),
        (system.strimzi.as_ref().map(|strimzi| &strimzi.listener), "place in Kubernetes (`strimzi`)"),
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
    let bytes = fetched.map(|size| reader.bytes(size, "null_broker", 0..=VALUE_BYTES_MAX)).transpose()?;
    Ok(NullBrokerPlan { tls, fetch_value_bytes: bytes.map(|bytes| bytes as u32), is_second: false })
}
