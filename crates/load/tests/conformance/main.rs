//! Plays the lab to a worker process and checks every rule of their messages (`kdyno_model::worker`).
//!
//! The workers: kdyno's own, which this same program runs when it is called with `worker`, and one in Java that
//! produces nothing. Any other: `KDYNO_WORKER="python3 my_worker.py" cargo test -p kdyno-load --test conformance`.

#[path = "../common/mod.rs"]
mod common;
mod lab;
mod own;

use common::{SECOND, TOPIC};
use kdyno_fake_broker::{FakeCluster, FakeConfig, tcp};
use kdyno_model::plan::{GivenFile, GivenSource};
use kdyno_model::sample::{Grain, Phase};
use kdyno_model::worker::{FRAME_BYTES_MAX, GivenContent, ToWorker};
use lab::{Lab, SECRET, WorkerReport, task};
use libtest_mimic::{Arguments, Failed};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};

/// Longer than any test lasts.
const FOR_EVER_NS: u64 = 3_600 * SECOND;

/// A command line that starts a worker.
type Program = Vec<String>;

/// Checks one rule of a worker that reaches the brokers at these addresses.
type Check = fn(&Program, &[String]);

const RULES: &[(&str, Check)] = &[
    ("a_trial_is_counted_from_the_first_second_to_the_last", a_trial_is_counted),
    ("a_measure_phase_may_be_known_before_the_start", a_measure_phase_known_before),
    ("a_stop_ends_the_load_in_every_phase", a_stop_ends_the_load),
    ("the_end_of_the_socket_ends_the_process", the_end_of_the_socket),
    ("secrets_come_before_the_task_and_go_nowhere", secrets),
    ("keys_and_values_come_before_the_task", given),
    ("what_is_no_message_is_refused", what_is_no_message),
    ("what_is_out_of_turn_is_refused", what_is_out_of_turn),
];

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        let socket = std::io::stdin().as_fd().try_clone_to_owned().expect("descriptor 0");
        return kdyno_load::worker::main(socket).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let arguments = Arguments::from_args();
    let server = tcp::spawn(FakeCluster::new(FakeConfig::new(2).topic(TOPIC, 3))).expect("a fake cluster");
    let mut trials = Vec::new();
    for (name, program, is_here) in workers() {
        let own: &[(&str, Check)] = if name == "own" { own::RULES } else { &[] };
        for (rule, check) in RULES.iter().chain(own) {
            let (program, bootstrap) = (program.clone(), server.bootstrap());
            let run = move || -> Result<(), Failed> {
                check(&program, &bootstrap);
                Ok(())
            };
            trials
                .push(libtest_mimic::Trial::test(format!("{name}::{rule}"), run).with_ignored_flag(!is_here));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Names and command lines of the workers to check, and whether they can be started here.
fn workers() -> Vec<(&'static str, Program, bool)> {
    if let Ok(command) = std::env::var("KDYNO_WORKER") {
        return vec![("given", command.split_whitespace().map(str::to_owned).collect(), true)];
    }
    let this = std::env::current_exe().expect("a path of its own").display().to_string();
    let tool = |name: &str| match std::env::var("JAVA_HOME") {
        Ok(home) => format!("{home}/bin/{name}"),
        Err(_) => name.to_owned(),
    };
    let mut version = Command::new(tool("java"));
    let has_java = version.arg("-version").stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    let classes = concat!(env!("CARGO_TARGET_TMPDIR"), "/conformance");
    if has_java {
        // Once, for it is started some thirty times.
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/ConformanceWorker.java");
        let compiled = Command::new(tool("javac")).args(["-d", classes, source]).status();
        assert!(compiled.is_ok_and(|status| status.success()), "{source} does not compile");
    }
    // Most of such a short life is compiling.
    let words = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "ConformanceWorker"];
    let java = [tool("java")].into_iter().chain(words.map(str::to_owned)).collect();
    vec![("own", vec![this, "worker".to_owned()], true), ("java", java, has_java)]
}

fn a_trial_is_counted(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, 2 * SECOND);
    let mut lab = Lab::prepare(program, &task);
    let t0_ns = lab.start();
    let mut trial = WorkerReport::default();
    while !trial.samples.iter().any(|sample| sample.grain == Grain::Second) {
        trial.add(lab.read());
    }
    // Seconds ahead: a busy machine may be late.
    let measure_s = 6;
    lab.say(&ToWorker::Measure { start_ns: measure_s * SECOND });
    trial.finish(lab, &task);
    let load_end_s = measure_s + 2;
    assert!(trial.ended_ns >= t0_ns + load_end_s * SECOND, "it ended before the load did");
    for sample in trial.samples.iter().filter(|sample| sample.grain == Grain::Second) {
        let second = u64::from(sample.t0_second);
        let phase = match second {
            _ if second < measure_s => Phase::Warmup,
            _ if second < load_end_s => Phase::Measure,
            _ => Phase::Drain,
        };
        assert_eq!(sample.phase, phase, "{sample:?}");
    }
    let measured = trial.samples.iter().any(|sample| sample.phase == Phase::Measure);
    assert!(measured, "there is a sample of the measure phase");
}

fn a_measure_phase_known_before(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, SECOND);
    let mut lab = Lab::prepare(program, &task);
    lab.say(&ToWorker::Measure { start_ns: 0 });
    lab.start();
    let mut trial = WorkerReport::default();
    trial.finish(lab, &task);
    assert!(trial.samples.iter().all(|sample| sample.phase != Phase::Warmup), "there was no warm-up");
}

fn a_stop_ends_the_load(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, FOR_EVER_NS);
    // Before the start, in the warm-up, and in the measure phase.
    for (is_started, is_measured) in [(false, false), (true, false), (true, true)] {
        let mut lab = Lab::prepare(program, &task);
        let mut trial = WorkerReport::default();
        if is_measured {
            lab.say(&ToWorker::Measure { start_ns: 0 });
        }
        if is_started {
            lab.start();
            while trial.samples.is_empty() {
                trial.add(lab.read());
            }
        }
        lab.say(&ToWorker::Stop);
        trial.finish(lab, &task);
        let phases = [Phase::Warmup, Phase::Measure]
            .map(|phase| trial.samples.iter().any(|sample| sample.phase == phase));
        assert_eq!(phases, [is_started && !is_measured, is_measured]);
    }
}

fn the_end_of_the_socket(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, FOR_EVER_NS);
    assert_ne!(Lab::greet(program).hang_up(), Some(0), "without a task");
    assert_ne!(Lab::prepare(program, &task).hang_up(), Some(0), "before the start");
    let mut lab = Lab::prepare(program, &task);
    lab.start();
    let mut trial = WorkerReport::default();
    while trial.samples.is_empty() {
        trial.add(lab.read());
    }
    assert_ne!(lab.hang_up(), Some(0), "in the load");
}

fn secrets(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, FOR_EVER_NS);
    let mut lab = Lab::greet(program);
    lab.say_secrets();
    lab.give(&task);
    lab.say(&ToWorker::Stop);
    WorkerReport::default().finish(lab, &task);
    let mut lab = Lab::greet(program);
    lab.say_secrets();
    lab.say_secrets();
    lab.expect_refusal("secrets twice");
    let mut lab = Lab::prepare(program, &task);
    // Newer values, of tokens that expire.
    lab.say_secrets();
    lab.say(&ToWorker::Stop);
    WorkerReport::default().finish(lab, &task);
    for text in
        [r#"{"secrets":"SECRET"}"#, r#"{"secrets":{"pw":"SECRET!"}}"#, r#"{"secrets":{"pw":["SECRET"]}}"#]
    {
        let mut lab = Lab::greet(program);
        lab.say_bytes(&frame(&text.replace("SECRET", SECRET)));
        lab.expect_refusal(text);
    }
}

fn given(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, FOR_EVER_NS);
    let file = |path: &str| {
        let (path, delimiter) = (path.to_owned(), "|".to_owned());
        GivenSource::File(GivenFile { path, delimiter, crc: 7, pieces: 3, piece_bytes_max: 3 })
    };
    let pieces = [&b"one"[..], b"", b"two"];
    let [keys, values] = ["keys", "values"].map(|path| GivenContent::new(file(path), pieces));
    let mut lab = Lab::greet(program);
    lab.say_secrets();
    lab.say_given(&keys);
    lab.say_given(&values);
    lab.give(&task);
    lab.say(&ToWorker::Stop);
    WorkerReport::default().finish(lab, &task);
    for (what, lengths) in [("none", vec![]), ("more bytes than there are", vec![3, 4]), ("fewer", vec![3])] {
        let mut lab = Lab::greet(program);
        lab.say_given(&GivenContent { lengths, ..keys.clone() });
        lab.expect_refusal(what);
    }
    let mut lab = Lab::prepare(program, &task);
    lab.say_given(&keys);
    lab.expect_refusal("keys after the task");
}

fn frame(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn what_is_no_message(program: &Program, bootstrap: &[String]) {
    let huge = (FRAME_BYTES_MAX + 1).to_be_bytes().to_vec();
    for bytes in [frame("{]"), frame(r#"{"fly":{}}"#), frame(r#"{"prepare":{"worker":0}}"#), huge.clone()] {
        let mut lab = Lab::greet(program);
        lab.say_bytes(&bytes);
        lab.expect_refusal(&format!("{bytes:?} for a task"));
    }
    for bytes in [frame("nonsense"), frame(r#"{"start":{"t0_monotonic_ns":"now"}}"#), huge] {
        let mut lab = Lab::prepare(program, &task(bootstrap, FOR_EVER_NS));
        lab.say_bytes(&bytes);
        lab.expect_refusal(&format!("{bytes:?} for a start"));
    }
}

fn what_is_out_of_turn(program: &Program, bootstrap: &[String]) {
    let task = task(bootstrap, FOR_EVER_NS);
    let measure = |start_ns| ToWorker::Measure { start_ns };
    let mut lab = Lab::greet(program);
    lab.say(&measure(0));
    lab.expect_refusal("a measure phase without a task");
    for (what, messages) in [
        ("a second task", vec![ToWorker::Prepare(Box::new(task.clone()))]),
        ("half a second", vec![measure(SECOND / 2)]),
        ("two measure phases", vec![measure(7 * SECOND), measure(8 * SECOND)]),
    ] {
        let mut lab = Lab::prepare(program, &task);
        messages.iter().for_each(|message| lab.say(message));
        lab.expect_refusal(what);
    }
    // One that is past, and one that is less than a second ahead.
    for start_s in [0, 1] {
        let mut lab = Lab::prepare(program, &task);
        let t0_ns = lab.start();
        lab::sleep_until(t0_ns + SECOND / 2);
        lab.say(&measure(start_s * SECOND));
        lab.expect_refusal("a measure phase that is announced too late");
    }
    let mut lab = Lab::prepare(program, &task);
    let t0_ns = lab.start();
    lab.say(&ToWorker::Start { t0_monotonic_ns: t0_ns });
    lab.expect_refusal("a second start");
    // Its clients were to begin with those of other workers.
    let mut lab = Lab::prepare(program, &task);
    lab.say(&ToWorker::Start { t0_monotonic_ns: 1 });
    lab.expect_refusal("a start that was long ago");
}
