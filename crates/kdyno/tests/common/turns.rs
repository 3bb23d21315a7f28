//! Whose turn it is among the tests that start brokers, of all test programs that run at once.
//!
//! A turn is locks on files, so it ends with its process, however that happens. There is a file for each test that may run
//! beside others, and a gate: who waits for a place holds it, so that nobody overtakes a test that needs them all.

use std::fs::File;
use std::path::PathBuf;

/// Tests that run at once at most: each starts brokers, and then mostly waits.
const PLACES: usize = 2;

/// Held as long as it lives.
pub struct Turn {
    // Closing the files frees the locks.
    _locks: Vec<File>,
}

/// For what loads the machine to its limits, must not wait for a processor, or ends with a run that must be valid.
pub fn alone() -> Turn {
    let gate = locked("gate");
    let places = (0..PLACES).map(|place| locked(&place.to_string()));
    Turn { _locks: std::iter::once(gate).chain(places).collect() }
}

/// For what a busy host delays and does not change: counts, and what happens when something is killed.
pub fn beside_others() -> Turn {
    let gate = locked("gate");
    let free = || (0..PLACES).map(|place| file(&place.to_string())).find(|file| file.try_lock().is_ok());
    let place = loop {
        match free() {
            Some(place) => break place,
            // Whoever holds the gate is next, so looking again now and then overtakes nobody.
            None => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    };
    drop(gate);
    Turn { _locks: vec![place] }
}

fn locked(name: &str) -> File {
    let file = file(name);
    file.lock().expect("a lock on a file of the build's own folder");
    file
}

/// In the build's folder, so that another build's tests have turns of their own.
fn file(name: &str) -> File {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("turns");
    std::fs::create_dir_all(&folder).expect("the build's folder");
    File::options()
        .create(true)
        .append(true)
        .open(folder.join(name))
        .expect("a file of the build's own folder")
}
