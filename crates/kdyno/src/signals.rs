//! Ctrl-C and its kin: the first one asks for a clean stop, the second ends the program at once.
//!
//! After the second the evidence written so far opens all the same, workers end because their socket
//! closes, and the guard removes the brokers.

use crate::failure::{Exit, Failure};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Installs the handlers; the flag is set by the first signal.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the shutdown is asked for before this signal itself has set the flag.
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|e| Failure::tool(format!("could not watch for signal {signal}: {e}")))?;
    }
    Ok(stop)
}
