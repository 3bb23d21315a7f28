//! What a signal does: the first one ends the command that is being measured, and with it what goes on, which then removes what
//! it made (clusters, programs next to it, sources of another commit); a second one ends this program at once.

use std::process::{Child, Output, exit};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Id of the command that is being measured; 0: none is.
static MEASURED: AtomicI32 = AtomicI32::new(0);
static WATCH: Once = Once::new();

/// From now on signals are waited for.
///
/// # Errors
/// Where the system refuses it.
pub fn watch() -> anyhow::Result<()> {
    let mut result = Ok(());
    WATCH.call_once(|| {
        result = Signals::new([SIGINT, SIGTERM]).map(|mut signals| {
            thread::spawn(move || signals.forever().for_each(received));
        });
    });
    result.context("cannot wait for signals")
}

fn received(signal: i32) {
    if IS_INTERRUPTED.swap(true, Ordering::SeqCst) {
        exit(128 + signal);
    }
    end(MEASURED.load(Ordering::SeqCst));
}

/// Asks a process to end; it may have ended already.
fn end(process: i32) {
    if process > 0 {
        let _ = kill(Pid::from_raw(process), Signal::SIGTERM);
    }
}

/// Whether nothing new is to be begun.
///
/// # Errors
/// Once a signal has come.
pub fn check() -> anyhow::Result<()> {
    ensure!(!IS_INTERRUPTED.load(Ordering::SeqCst), "interrupted");
    Ok(())
}

/// Waits for the end of a command that has just been started; a signal ends it.
pub fn wait(child: Child) -> std::io::Result<Output> {
    let process = i32::try_from(child.id()).unwrap_or(0);
    MEASURED.store(process, Ordering::SeqCst);
    // The signal may have come in between.
    if IS_INTERRUPTED.load(Ordering::SeqCst) {
        end(process);
    }
    let output = child.wait_with_output();
    MEASURED.store(0, Ordering::SeqCst);
    output
}
