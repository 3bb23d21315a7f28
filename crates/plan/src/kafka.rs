//! Settings of brokers and topics: Kafka's names, values in Kafka's own unit.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::managed::instead_of;
use kdyno_scenario::client::kafka_number;
use kdyno_scenario::input::{Mistake, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Broker,
    Topic,
}

/// Reads a map of settings.
pub(crate) fn settings(
    reader: &CaseReader<'_>,
    typed: &[(Scalar, Scalar)],
    owner: Owner,
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, value) in typed {
        name_fits(reader, name, owner)?;
        let text = reader.text(value)?;
        if text.contains(['\n', '\r']) {
            return Err(reader.wrong(value, format!("`{}` holds a line break", name.text)).of_value());
        }
        let text = setting(&name.text, text.trim())
            .map_err(|message| reader.wrong(value, format!("`{}`: {message}", name.text)).of_value())?;
        found.insert(name.text.clone(), text);
    }
    Ok(found)
}

fn name_fits(reader: &CaseReader<'_>, name: &Scalar, owner: Owner) -> Result<(), PlanError> {
    if !is_name(&name.text) {
        let message = format!("{} cannot be the name of a Kafka setting", quoted(&name.text));
        return Err(reader.wrong(name, message).about(Mistake::Key(None)));
    }
    match written_by_kdyno(&name.text, owner) {
        Some(instead) => {
            let error = reader.wrong(name, format!("kdyno writes `{}` itself", name.text));
            Err(error.hint(instead).about(Mistake::Key(None)))
        }
        None => Ok(()),
    }
}

/// Whether a text can be the name of a setting.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// What to do instead of setting this by name; `None`: nothing of the kind, it may be set.
pub(crate) fn written_by_kdyno(name: &str, owner: Owner) -> Option<&'static str> {
    const SECURITY: [&str; 3] = ["ssl.", "sasl.", "listener.name."];
    let managed = instead_of(name).filter(|_| owner == Owner::Broker);
    let is_of_security = SECURITY.iter().any(|beginning| name.starts_with(beginning));
    managed.or(is_of_security.then_some("write `listeners` of the `system`"))
}

/// What a setting's name says of its unit: the dimension and how many base units Kafka's unit is.
fn unit_of(name: &str) -> Option<(Dimension, f64)> {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "bytes" | "size" | "memory" => Some((Dimension::Bytes, 1.0)),
        "ms" => Some((Dimension::Ns, 1e6)),
        "seconds" => Some((Dimension::Ns, 1e9)),
        "minutes" => Some((Dimension::Ns, 60e9)),
        "hours" => Some((Dimension::Ns, 3600e9)),
        _ => None,
    }
}

/// Whether a setting's name says that it is a size or a duration.
pub(crate) fn has_unit(name: &str) -> bool {
    unit_of(name).is_some()
}

/// A value in Kafka's own unit.
///
/// # Errors
/// One sentence: a wrong unit, or one where there is none.
pub(crate) fn setting(name: &str, text: &str) -> Result<String, String> {
    let quantity = units::parse(text);
    let Some((dimension, kafka_unit)) = unit_of(name) else {
        return match quantity {
            Some(quantity) if quantity.dimension != Dimension::Plain => {
                Err(format!("`{text}` has a unit, but the setting is neither a size nor a duration"))
            }
            _ => Ok(text.to_owned()),
        };
    };
    // Bare numbers are Kafka's own business: -1 and other marks have meanings there.
    if text.parse::<i64>().is_ok() {
        return Ok(text.to_owned());
    }
    kafka_number(text, dimension, kafka_unit).map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn values_come_out_in_kafkas_unit() {
        assert_eq!(setting("log.segment.bytes", "16MiB").as_deref(), Ok("16777216"));
        assert_eq!(setting("log.retention.ms", "-1").as_deref(), Ok("-1"));
        assert_eq!(setting("log.retention.ms", "5m").as_deref(), Ok("300000"));
        assert_eq!(setting("log.retention.hours", "2h").as_deref(), Ok("2"));
        assert_eq!(setting("compression.type", "zstd").as_deref(), Ok("zstd"));
        assert!(setting("log.retention.ms", "5MiB").is_err());
        assert!(setting("num.io.threads", "5ms").is_err());
        assert!(setting("log.retention.hours", "90m").is_err());
    }
}
