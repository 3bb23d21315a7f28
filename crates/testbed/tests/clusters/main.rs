//! Real clusters: started, looked at, broken, ended.
//!
//! This program is the tests and, called with a hidden word, also the guard and launcher of the clusters they start,
//! as the kdyno binary is. The matrix of versions and modes runs with `KDYNO_MATRIX=full`.

mod failures;
mod groups;
mod holder;
mod kills;
mod matrix;
mod scene;
mod secured;
mod standing;
mod starts;
mod tampered;

use kdyno_testbed::{guard, relay};
use libtest_mimic::{Arguments, Trial};
use std::io::Write;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let served = match words.as_slice() {
        [guard::GUARD_COMMAND] => guard::main().map_err(|e| e.to_string()),
        [guard::EXEC_COMMAND, spec] => guard::exec_main(spec).map_err(|e| e.to_string()),
        [relay::RELAY_COMMAND, spec] => {
            relay::main(spec.as_ref()).map(|never| match never {}).map_err(|e| e.to_string())
        }
        [holder::HOLD, folder] => holder::hold(folder.as_ref()),
        [holder::STAND, folder] => holder::stand(folder.as_ref()),
        _ => return run(),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Into the broker's console file, or to the test that started this.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // How long each cluster takes to start is printed. Without that as many are started at once as a small host has room for:
    // each is several JVMs, and some tests are about memory that is left.
    let at_once = if matrix::is_on() { 1 } else { available_parallelism().map_or(1, NonZero::get).min(3) };
    arguments.test_threads = arguments.test_threads.or(Some(at_once));
    // The longest first, so that no other one waits for it alone.
    let mut trials: Vec<Trial> = groups::trials();
    trials.extend(starts::trials());
    trials.extend(secured::trials());
    trials.extend(failures::trials());
    trials.extend(kills::trials());
    trials.extend(tampered::trials());
    trials.extend(standing::trials());
    trials.extend(matrix::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    matrix::print_table();
    conclusion.exit_code()
}
