//! The relay: what lies between two zones of a local cluster. A process of its own that passes TCP connections on as a link
//! with a delay, jitter and a bandwidth would ([design](../../../../docs/design/zones.md)).
//!
//! A record's way through it: [`serve`] hears that a socket can be read, [`connection`] reads as much as its link and its pipe
//! take, [`link`] says when that comes out, [`pipe`] keeps it in order until then, and [`tally`] keeps how late it was.

mod connection;
mod link;
mod pipe;
mod serve;
mod spec;
mod tally;
#[cfg(test)]
mod tests;

pub use serve::CONNECTIONS_MAX;
pub use spec::{LinkSpec, RelayPort, RelaySpec};
pub use tally::{RelayTally, read};

use crate::error::TestbedError;
use std::convert::Infallible;
use std::path::Path;

/// Hidden subcommand that becomes a relay: `EXE relay FILE` calls [`main`].
pub const RELAY_COMMAND: &str = "relay";

/// Relays what the spec in the file says, until the process ends.
///
/// # Errors
/// The file holds no spec, a port is taken, or the kernel refuses what a relay needs.
pub fn main(spec: &Path) -> Result<Infallible, TestbedError> {
    // What it passes on may be logins.
    kdyno_credentials::close_memory();
    let text = std::fs::read_to_string(spec).map_err(|e| TestbedError::io("cannot read", spec, e))?;
    let spec: RelaySpec = serde_json::from_str(&text)
        .map_err(|e| TestbedError::Relay(format!("not a spec (only kdyno starts a relay): {e}")))?;
    serve::RelayLoop::new(&spec)?.run()
}
