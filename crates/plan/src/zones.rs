//! Zones of a system, and the zone of a load item.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::{DELAY_NS_MAX, JitterLaw, LinkPlan, SystemPlan, ZonesPlan};
use kdyno_scenario::file::ZonesFile;
use kdyno_scenario::input::{known_hint, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;

/// How an item says that its clients are near every broker.
const NEAR: &str = "same";
/// Longest name of a zone: it is a rack's name too.
const NAME_BYTES_MAX: usize = 64;
/// Slowest link: a produce request of the default size takes minutes below it.
pub(crate) const BYTES_PER_S_MIN: u64 = 1_000;
/// Fastest link that can be meant.
pub(crate) const BYTES_PER_S_MAX: u64 = 1 << 40;

/// The `zones` of a local cluster.
pub(crate) fn zones(
    reader: &CaseReader<'_>,
    typed: &ZonesFile,
    brokers: u32,
    racks: &[Scalar],
) -> Result<ZonesPlan, PlanError> {
    if let Some(rack) = racks.first() {
        let message = "`racks` with `zones`: a broker's rack is its zone";
        return Err(reader.wrong(rack, message).hint("leave `racks` out"));
    }
    let names = |list: &[Scalar], key: &str| -> Result<Vec<String>, PlanError> {
        list.iter().map(|typed| name(reader, typed, key)).collect()
    };
    let of_brokers = names(&typed.brokers, "brokers")?;
    if let Some(beyond) = typed.brokers.get(brokers as usize) {
        let message = format!("`zones` name more zones of brokers than there are brokers ({brokers})");
        let hint = "name them under `clients`, or have more `brokers`";
        return Err(reader.wrong(beyond, message).hint(hint));
    }
    let clients = names(&typed.clients, "clients")?;
    let link = link(reader, typed)?;
    let between_brokers = reader.word(&typed.between_brokers, "between_brokers", &["no", "yes"])? == "yes";
    let zones = ZonesPlan { brokers: of_brokers, clients, link, between_brokers };
    if zones.names().len() < 2 {
        let message = format!("`zones` are one: {}", quoted(zones.of_broker(0)));
        return Err(reader
            .wrong(&typed.delay, message)
            .hint("name another one for brokers, or under `clients`"));
    }
    let mut seen: Vec<&str> = Vec::new();
    for id in (0..brokers).filter(|_| between_brokers) {
        let zone = zones.of_broker(id);
        if seen.contains(&zone) {
            let message = format!("`between_brokers`: two brokers are in zone {}", quoted(zone));
            let hint = "the relay cannot distinguish brokers of one zone: give each a zone of its own";
            return Err(reader.wrong(&typed.between_brokers, message).hint(hint));
        }
        seen.push(zone);
    }
    if between_brokers && brokers < 2 {
        let message = "`between_brokers`: there is one broker";
        return Err(reader
            .wrong(&typed.between_brokers, message)
            .hint("leave it out, or have more `brokers`"));
    }
    Ok(zones)
}

/// Whether a text can be the name of a zone.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text != NEAR && (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(fits)
}

fn name(reader: &CaseReader<'_>, typed: &Scalar, key: &str) -> Result<String, PlanError> {
    let name = reader.filled(typed, key)?;
    if name == NEAR {
        let message = format!("{} is no zone of its own: it means near every broker", quoted(&name));
        return Err(reader.wrong(typed, message).hint("call the zone otherwise, e.g. `a`"));
    }
    if !is_name(&name) {
        let message = format!("{} is no name of a zone", quoted(&name));
        return Err(reader
            .wrong(typed, message)
            .hint("letters, digits, `-` and `_`, at most 64, e.g. `eu-central-1a`"));
    }
    Ok(name)
}

fn link(reader: &CaseReader<'_>, typed: &ZonesFile) -> Result<LinkPlan, PlanError> {
    let delay_ns = reader.ns(&typed.delay, "delay", 0..=DELAY_NS_MAX)?;
    let jitter_ns = reader.ns(&typed.jitter, "jitter", 0..=DELAY_NS_MAX)?;
    if jitter_ns > delay_ns {
        let message = "`jitter` is more than `delay`: nothing arrives before it was sent";
        return Err(reader.wrong(&typed.jitter, message).hint("at most the delay"));
    }
    let jitter_law = reader.word(&typed.jitter_law, "jitter_law", JitterLaw::NAMES)?.parse();
    Ok(LinkPlan {
        delay_ns,
        jitter_ns,
        jitter_law: jitter_law.unwrap_or_default(),
        bytes_per_s: bandwidth(reader, &typed.bandwidth)?,
    })
}

/// `none`, or a size per second.
fn bandwidth(reader: &CaseReader<'_>, typed: &Scalar) -> Result<Option<u64>, PlanError> {
    let text = reader.text(typed)?;
    if text == "none" {
        return Ok(None);
    }
    bytes_per_s(reader, typed, "bandwidth", "e.g. `100MiB/s`, or `none`").map(Some)
}

/// A size per second.
pub(crate) fn bytes_per_s(
    reader: &CaseReader<'_>,
    typed: &Scalar,
    what: &str,
    hint: &str,
) -> Result<u64, PlanError> {
    let text = reader.text(typed)?;
    let bytes = text.trim().strip_suffix("/s").map(|size| units::whole(size, Dimension::Bytes));
    let wrong = |why: &str| {
        let message = format!("`{what}`: {} is {why}", quoted(&text));
        reader.wrong(typed, message).hint(hint)
    };
    match bytes {
        Some(Ok(bytes)) if (BYTES_PER_S_MIN..=BYTES_PER_S_MAX).contains(&bytes) => Ok(bytes),
        Some(Ok(_)) => Err(wrong("outside 1000B/s to 1TiB/s")),
        _ => Err(wrong("not a size per second")),
    }
}

/// The zone of an item's clients; `None`: near every broker.
pub(crate) fn of_item(
    reader: &CaseReader<'_>,
    typed: &Scalar,
    system: &SystemPlan,
) -> Result<Option<String>, PlanError> {
    let name = reader.text(typed)?;
    if name == NEAR {
        return Ok(None);
    }
    let Some(zones) = system.zones() else {
        let message = format!("`zone`: {} is not there: the system has no `zones`", quoted(&name));
        return Err(reader.wrong(typed, message).hint(system.without_zones()));
    };
    let known = zones.names();
    if known.contains(&name.as_str()) {
        return Ok(Some(name));
    }
    let allowed = known.into_iter().chain([NEAR]);
    Err(reader
        .wrong(typed, format!("`zone`: {} is not a zone of the system", quoted(&name)))
        .hint(known_hint(&name, allowed)))
}
