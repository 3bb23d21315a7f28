//! Where Kafka comes from, as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, scalar};
use crate::yaml::{Scalar, YamlNode};

/// Where Kafka comes from.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is the key of the same name in `keys`")]
pub enum KafkaFile {
    Release(Scalar),
    Home(Scalar),
    Source(Scalar),
    NullBroker(Scalar),
}

pub(super) fn kafka(fields: &Fields<'_>) -> Result<KafkaFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("kafka") else {
        return fields.required("kafka").map(KafkaFile::Release);
    };
    let (name, value) = Fields::of(node, &keys::KAFKA)?.single()?;
    let value = scalar(value, name)?;
    Ok(match name {
        "home" => KafkaFile::Home(value),
        "source" => KafkaFile::Source(value),
        _ => KafkaFile::NullBroker(value),
    })
}
