//! A terminal that closes, an ssh session that ends: the run stops cleanly. Under `nohup` it goes on.

use crate::common::{RUN_DEADLINE, Running, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files, terminal};
use kdyno_kafka::admin::Admin;
use rustix::process::Signal;
use std::process::{Command, Stdio};

/// The run was stopped: its evidence is kept and no topic is left on the target.
fn expect_clean_stop(place: &TestFolder, broker: NullBroker<'_>) {
    let document = place.show();
    assert_eq!(document["status"], "interrupted");
    let events = document["events"].as_array().expect("events");
    assert!(events.iter().any(|event| event["kind"] == "cut-short"), "{events:?}");
    let mut admin =
        Admin::connect(std::slice::from_ref(&broker.address), "test", RUN_DEADLINE).expect("a broker");
    let topics = admin.topics(None).expect("its topics");
    assert!(topics.is_empty(), "{topics:?}");
    broker.stop();
    place.expect_no_processes();
}

/// A run by `shell`, which gets its words as arguments.
fn run<'a>(place: &'a TestFolder, files: &[String; 3], shell: &str, duration: &str) -> Running<'a> {
    let args: Vec<&str> = ["run"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let kdyno = place.command(&[&args[..], &["--share", "--set", duration]].concat());
    // The tests themselves may have been started with the signal ignored.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", "sh", "-c", shell, "sh"])
        .arg(kdyno.get_program())
        .args(kdyno.get_args());
    command.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
    place.start({
        command.current_dir(place.path()).stdin(Stdio::null());
        command
    })
}

/// The shell and the kernel both report a terminal that closes.
#[test]
fn a_hangup_stops_a_run_cleanly_however_often_it_comes() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, "exec \"$@\"", "dur=60s");
    running.wait_for("· measure");
    running.signal(Signal::HUP);
    running.signal(Signal::HUP);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stderr.contains("error: the run was interrupted"), "{said:?}");
    expect_clean_stop(&place, broker);
}

#[test]
fn a_terminal_that_closes_stops_its_run_cleanly() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = terminal::run(&place, &files, &["--set", "dur=60s"], "");
    running.wait_for_output("█");
    running.signal(Signal::KILL);
    let end = std::time::Instant::now() + RUN_DEADLINE;
    while !running.processes("small.yaml").is_empty() {
        assert!(std::time::Instant::now() < end, "kdyno goes on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    expect_clean_stop(&place, broker);
}

#[test]
fn under_nohup_a_run_goes_on() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, "trap '' HUP; exec \"$@\"", "dur=3s");
    running.wait_for("· measure");
    running.signal(Signal::HUP);
    ran(&running.wait(RUN_DEADLINE));
    assert_eq!(place.show()["status"], "completed");
    broker.stop();
}
