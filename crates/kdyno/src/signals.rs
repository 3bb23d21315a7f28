//! Ctrl-C and its kin: the first one asks for a clean stop, the second ends the program at once.
//!
//! After the second the evidence written so far opens all the same, workers end because their socket
//! closes, and the guard removes the brokers. What nobody removes then is told in last words.

use crate::failure::{Exit, Failure};
use crate::out;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What both kinds of end begin with.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Installs the handlers; the flag is set by the first signal, the second ends the program without a word.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // The order matters: the shutdown is asked for before this signal itself has set the flag.
        end_when(&stop, signal)?;
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| unwatched(&e))?;
    }
    Ok(stop)
}

/// The same, but the second signal prints `last_words` on standard error before it ends the program.
pub(crate) fn stop_flag_with(
    last_words: impl FnOnce() -> String + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let speaking = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // A terminal that takes no words must not hold the end up: the third signal waits for nobody.
        end_when(&speaking, signal)?;
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| unwatched(&e))?;
    }
    let mut signals = Signals::new(SIGNALS).map_err(|e| unwatched(&e))?;
    let wait = move || {
        if signals.forever().nth(1).is_some() {
            speaking.store(true, Ordering::Relaxed);
            out::note(&last_words());
            signal_hook::low_level::exit(Exit::Interrupted as i32);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(|e| unwatched(&e))?;
    Ok(stop)
}

/// A signal that comes while the flag is set ends the program at once.
fn end_when(flag: &Arc<AtomicBool>, signal: i32) -> Result<(), Failure> {
    signal_hook::flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(flag))
        .map(drop)
        .map_err(|e| unwatched(&e))
}

fn unwatched(error: &std::io::Error) -> Failure {
    Failure::tool(format!("could not watch for signals: {error}"))
}
