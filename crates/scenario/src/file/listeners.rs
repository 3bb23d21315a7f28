//! The `listeners` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Node, Typed};

/// The `listeners` of a system.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ListenersFile {
    pub protocol: Typed,
    pub sasl: Typed,
    pub tls: Typed,
    pub certificates: Typed,
    /// `protocol` of `internal`.
    pub internal: Typed,
    pub authorizer: Typed,
}

/// Reads it; what is left out is `empty`.
pub(super) fn listeners(node: &Node, empty: &Node) -> Result<ListenersFile, InputError> {
    let fields = Fields::of(node, &keys::LISTENERS)?;
    let clients = Fields::of(fields.get("clients").unwrap_or(empty), &keys::CLIENT_LISTENER)?;
    let internal = Fields::of(fields.get("internal").unwrap_or(empty), &keys::INTERNAL_LISTENER)?;
    Ok(ListenersFile {
        protocol: clients.required("protocol")?,
        sasl: clients.required("sasl")?,
        tls: clients.required("tls")?,
        certificates: clients.required("certificates")?,
        internal: internal.required("protocol")?,
        authorizer: fields.required("authorizer")?,
    })
}
