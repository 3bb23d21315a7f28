//! What a run says on a terminal: `script` of util-linux gives its command one.

use crate::common::{RUN_DEADLINE, Running, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files};
use rustix::process::Signal;
use std::process::{Command, Stdio};

/// Columns of the terminal.
const COLUMNS: usize = 100;

/// A run on a terminal of its own.
pub fn run<'a>(place: &'a TestFolder, files: &[String; 3], more: &[&str], no_color: &str) -> Running<'a> {
    let args: Vec<&str> = ["run"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let kdyno = place.command(&[&args[..], &["--share"], more].concat());
    let words = std::iter::once(kdyno.get_program()).chain(kdyno.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().expect("plain words")).collect();
    let line = format!("stty rows 24 cols {COLUMNS}; exec env --default-signal=HUP {}", words.join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.current_dir(place.path()).stdin(Stdio::null());
    script.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").env("NO_COLOR", no_color);
    place.start(script)
}

#[test]
fn on_a_terminal_a_run_is_redrawn_in_place() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let said = run(&place, &files, &["--set", "dur=5s"], "").wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stdout.contains("\x1b[2A\x1b[J"), "three lines were drawn anew: {said:?}");
    assert!(said.stdout.contains("\x1b[1m"), "its result is in colours: {said:?}");
    let drawn: Vec<&str> = said.stdout.split(['\r', '\n']).filter(|line| line.contains('█')).collect();
    let begins = |name: &str| drawn.iter().filter(|line| line.starts_with(name)).count();
    assert!(begins("rate ") > 0 && begins("p99  ") > 0, "{drawn:?}");
    assert!(drawn.iter().all(|line| line.chars().count() <= COLUMNS), "{drawn:?}");
    // Ctrl-C comes as a signal: the view is left behind, and what follows is on lines of its own.
    std::fs::remove_dir_all(place.path().join("kdyno-runs")).expect("the first run's folder");
    let mut running = run(&place, &files, &["--set", "dur=60s"], "1");
    running.wait_for_output("█");
    let [kdyno] = running.processes("small.yaml")[..] else { panic!("one kdyno") };
    crate::signal(kdyno, Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stdout.contains("\nerror: the run was interrupted"), "{said:?}");
    assert!(!said.stdout.contains("\x1b[1m"), "NO_COLOR asks for none: {said:?}");
    broker.stop();
    place.expect_no_processes();
}
