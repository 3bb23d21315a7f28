//! The `zones` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, list_of, scalar};
use crate::yaml::{Scalar, YamlNode};

/// The `zones` of a system.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ZonesFile {
    pub brokers: Vec<Scalar>,
    pub clients: Vec<Scalar>,
    pub delay: Scalar,
    pub jitter: Scalar,
    pub jitter_law: Scalar,
    pub bandwidth: Scalar,
    pub between_brokers: Scalar,
}

impl ZonesFile {
    /// Every value of the section into which params may be inserted, under its key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        let brokers = self.brokers.iter().map(|zone| ("brokers", zone));
        let clients = self.clients.iter().map(|zone| ("clients", zone));
        let link = [
            ("delay", &self.delay),
            ("jitter", &self.jitter),
            ("jitter_law", &self.jitter_law),
            ("bandwidth", &self.bandwidth),
            ("between_brokers", &self.between_brokers),
        ];
        brokers.chain(clients).chain(link)
    }
}

/// Reads it.
pub(super) fn zones(node: &YamlNode) -> Result<ZonesFile, InputError> {
    let fields = Fields::of(node, &keys::ZONES)?;
    let brokers = list_of(&fields, "brokers", |node| scalar(node, "brokers"))?;
    if brokers.is_empty() {
        return Err(
            InputError::at(fields.place, "`brokers` of `zones` is empty").hint("e.g. `[a]`, or `[a, b, c]`")
        );
    }
    Ok(ZonesFile {
        brokers,
        clients: list_of(&fields, "clients", |node| scalar(node, "clients"))?,
        delay: fields.required("delay")?,
        jitter: fields.required("jitter")?,
        jitter_law: fields.required("jitter_law")?,
        bandwidth: fields.required("bandwidth")?,
        between_brokers: fields.required("between_brokers")?,
    })
}
