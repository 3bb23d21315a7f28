//! The `config` of a system as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, scalar};
use crate::yaml::{Scalar, YamlNode};

/// The settings of brokers.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the first two fields are the keys of the same names in `keys`")]
pub struct BrokerConfigFile {
    pub file: Option<Scalar>,
    pub service: Option<Scalar>,
    /// Settings under Kafka's own names.
    pub settings: Vec<(Scalar, Scalar)>,
}

impl BrokerConfigFile {
    /// Every value into which params may be inserted, under its key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        let file = self.file.iter().map(|file| ("file", file));
        let service = self.service.iter().map(|service| ("service", service));
        let settings = self.settings.iter().map(|(name, value)| (name.text.as_str(), value));
        file.chain(service).chain(settings)
    }
}

pub(super) fn broker_config(node: &YamlNode) -> Result<BrokerConfigFile, InputError> {
    if let YamlNode::Scalar(typed) = node {
        let error = InputError::at(typed.place, "`config` takes a map, not a single value");
        return Err(error.hint("write `config: {file: server.properties}`").of_value());
    }
    let fields = Fields::of(node, &keys::BROKER_CONFIG)?;
    let settings = fields.others().map(|(name, value)| Ok((name.clone(), scalar(value, &name.text)?)));
    Ok(BrokerConfigFile {
        file: fields.scalar("file")?,
        service: fields.scalar("service")?,
        settings: settings.collect::<Result<_, InputError>>()?,
    })
}
