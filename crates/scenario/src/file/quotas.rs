//! The `quotas` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Scalar, YamlNode};

/// The `quotas` of a system, at least one of them.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct QuotasFile {
    pub each: Scalar,
    pub producer_byte_rate: Option<Scalar>,
    pub consumer_byte_rate: Option<Scalar>,
    pub request_percentage: Option<Scalar>,
}

impl QuotasFile {
    /// Every value of the section into which params may be inserted, under its key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        let limits = [
            ("producer_byte_rate", &self.producer_byte_rate),
            ("consumer_byte_rate", &self.consumer_byte_rate),
            ("request_percentage", &self.request_percentage),
        ];
        let limits = limits.into_iter().filter_map(|(key, typed)| Some((key, typed.as_ref()?)));
        [("each", &self.each)].into_iter().chain(limits)
    }
}

/// Reads it.
pub(super) fn quotas(node: &YamlNode) -> Result<QuotasFile, InputError> {
    let fields = Fields::of(node, &keys::QUOTAS)?;
    let quotas = QuotasFile {
        each: fields.required("each")?,
        producer_byte_rate: fields.scalar("producer_byte_rate")?,
        consumer_byte_rate: fields.scalar("consumer_byte_rate")?,
        request_percentage: fields.scalar("request_percentage")?,
    };
    match quotas.all().count() {
        1 => Err(InputError::at(fields.place, "`quotas` limits nothing")
            .hint("e.g. `quotas: {producer_byte_rate: 10MiB/s}`")),
        _ => Ok(quotas),
    }
}
