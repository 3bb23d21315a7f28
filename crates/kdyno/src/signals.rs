//! Ctrl-C and its kin: the first one asks for a clean stop, the second ends the program at once.
//!
//! After the second the evidence written so far opens all the same, workers end because their socket
//! closes, and the guard removes the brokers. What is not removed then is named in last words.
//!
//! A terminal that closes asks for a clean stop too (SIGHUP). Its shell and the kernel may both say so, and a service manager
//! after SIGTERM, so this signal is never the second one. Under `nohup` it means nothing.

use crate::failure::{Exit, Failure};
use crate::out;
use kdyno_testbed::process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What both kinds of end begin with.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Installs the handlers; the flag is set by the first signal, the second ends the program without a word.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // The order matters: the shutdown is requested before this signal itself has set the flag.
        end_when(&stop, signal)?;
    }
    set_by_each(&stop)?;
    Ok(stop)
}

/// The same, but the second signal prints `last_words` on standard error before it ends the program.
pub(crate) fn stop_flag_with(
    last_words: impl FnOnce() -> String + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let speaking = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // A terminal that takes no words must not hold the end up: the third signal waits for nothing.
        end_when(&speaking, signal)?;
    }
    set_by_each(&stop)?;
    let mut signals = Signals::new(asking()).map_err(|e| unwatched(&e))?;
    let wait = move || {
        let mut is_asked = false;
        if signals.forever().any(|signal| std::mem::replace(&mut is_asked, true) && signal != SIGHUP) {
            speaking.store(true, Ordering::Relaxed);
            out::note_over(&last_words());
            signal_hook::low_level::exit(Exit::Interrupted as i32);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(|e| unwatched(&e))?;
    Ok(stop)
}

/// The signals that ask for a clean stop: a closed terminal's only where it is not ignored.
fn asking() -> impl Iterator<Item = i32> {
    SIGNALS.into_iter().chain((!process::ignores(SIGHUP)).then_some(SIGHUP))
}

fn set_by_each(flag: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in asking().collect::<Vec<_>>() {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(|e| unwatched(&e))?;
    }
    Ok(())
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
