//! The `listeners` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Scalar, YamlNode};

/// The `listeners` of a system.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ListenersFile {
    pub protocol: Scalar,
    pub sasl: Scalar,
    pub tls: Scalar,
    pub certificates: Scalar,
    /// `protocol` of `internal`.
    pub internal: Scalar,
    pub authorizer: Scalar,
}

/// Reads it; what is left out is `empty`.
pub(super) fn listeners(node: &YamlNode, empty: &YamlNode) -> Result<ListenersFile, InputError> {
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
