//! The `zones` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, list_of, scalar};
use crate::yaml::{Node, Typed};

/// The `zones` of a system.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ZonesFile {
    pub brokers: Vec<Typed>,
    pub clients: Vec<Typed>,
    pub delay: Typed,
    pub jitter: Typed,
    pub jitter_law: Typed,
    pub bandwidth: Typed,
    pub between_brokers: Typed,
}

impl ZonesFile {
    /// Every value of the section into which params may be inserted, under its key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Typed)> {
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
pub(super) fn zones(node: &Node) -> Result<ZonesFile, InputError> {
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
