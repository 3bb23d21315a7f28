//! A worker that has no processor left: as fast as it can be, next to programs that never sleep, or held by a limit.

use crate::common::cgroups::Group;
use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, Running, TestFolder};
use crate::fixture::{StoredFigures, command, scenario, used};
use crate::process::worker;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::LimitKind;
use kdyno_model::health::HealthRule;
use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::process::Command;

const FASTEST: &str = "  writers: {produce: perf, rate: max, value: 100B}\n";
/// What costs the generator far more than the broker, which decompresses nothing.
const FASTEST_GZIP: &str =
    "  writers: {produce: perf, rate: max, value: 100B, client: {compression.type: gzip}}\n";

/// Against a broker that does nothing the generator is what is measured. It compresses, so that its thread and not the
/// way of the bytes to the other process is what has no rest.
#[test]
fn a_maximum_that_is_the_generators_own_is_void() {
    let (_turn, place) = (alone(), TestFolder::new());
    let seen = against_the_null_broker(&place, FASTEST_GZIP, |command| command, |_| ());
    let short = seen.caveat(|caveat| matches!(caveat, Caveat::CalibrationShort { .. }));
    assert_eq!(short.severity, Severity::Invalid);
    assert!(seen.finding(1, "writers.acked_per_s").is_invalid());
    seen.caveat(|caveat| matches!(caveat, Caveat::ClosedLoop { .. }));
    assert!(used(seen.limit(1), LimitKind::Generator) > 0.5, "{:?}", seen.limit(1));
    assert_eq!(seen.broken().first(), Some(&HealthRule::GeneratorBusy), "{:?}", seen.broken());
    let has_no_rest = seen.caveats(|caveat| {
        matches!(
            caveat,
            Caveat::ThreadBusy { .. } | Caveat::WorkerBusy { .. } | Caveat::WaitedForProcessor { .. }
        )
    });
    assert!(
        !has_no_rest.is_empty(),
        "its thread ran, or was ready, all the time: {:#?}",
        seen.judgement.caveats
    );
}

/// A worker on one processor with two programs that never sleep.
#[test]
fn a_worker_that_must_wait_for_a_processor_says_so() {
    let (_turn, place) = (alone(), TestFolder::new());
    let mut spinning = Vec::new();
    let seen = against_the_null_broker(
        &place,
        FASTEST,
        |command| command,
        |running| {
            let mut processor = CpuSet::new();
            processor.set(0);
            for _ in 0..2 {
                let mut shell = Command::new("sh");
                shell.args(["-c", "while :; do :; done"]).current_dir(place.path());
                let spinner = place.start(shell);
                pin(&[spinner.pid()], &processor);
                spinning.push(spinner);
            }
            pin(&threads(worker(running)), &processor);
        },
    );
    drop(spinning);
    let waited =
        seen.caveats(|caveat| matches!(caveat, Caveat::WaitedForProcessor { who, .. } if who == "writers"));
    let [found] = waited.as_slice() else { panic!("{:#?}", seen.judgement.caveats) };
    let Caveat::WaitedForProcessor { share, .. } = found.caveat else { panic!() };
    assert!(share > 0.2, "two thirds of the time others ran: {share}");
    assert!(used(seen.limit(1), LimitKind::Generator) > 0.5, "ready is busy: {:?}", seen.limit(1));
}

/// A control group that gives kdyno and its worker a quarter of a processor.
#[test]
fn a_worker_that_is_held_by_a_limit_says_so() {
    let (_turn, place) = (alone(), TestFolder::new());
    let Some(group) = Group::of_hundredths(25) else {
        eprintln!("skipped: a limit on CPU time cannot be set here (needs root)");
        return;
    };
    let seen = against_the_null_broker(&place, FASTEST, |command| group.starts(&command), |_| ());
    seen.caveat(|caveat| matches!(caveat, Caveat::ProcessorLimited { .. }));
    assert_eq!(seen.broken().first(), Some(&HealthRule::GeneratorBusy), "{:?}", seen.broken());
}

/// A `load` as fast as it goes for some seconds, disturbed by `during` before it is measured.
fn against_the_null_broker(
    place: &TestFolder,
    load: &str,
    as_what: impl FnOnce(Command) -> Command,
    during: impl FnOnce(&Running<'_>),
) -> StoredFigures {
    let mut broker = place.start(place.command(&["null-broker", "--port", "0", "--partitions", "2"]));
    let address = broker.wait_for_line();
    let text = scenario("", load, "warmup: 3s, measure: 5s, drain: 5s");
    let command = command(place, "run", &text, (&address, "kdyno-null-broker"), &[]);
    let mut running = place.start(as_what(command));
    running.wait_for("· warmup");
    during(&running);
    let said = running.wait(RUN_DEADLINE);
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
    broker.signal(Signal::TERM);
    assert_eq!(broker.wait(RUN_DEADLINE).code, Some(0));
    StoredFigures::of(place)
}

fn threads(process: u32) -> Vec<u32> {
    let process = procfs::process::Process::new(process.cast_signed()).expect("the worker");
    process.tasks().expect("its threads").flatten().map(|task| task.tid.cast_unsigned()).collect()
}

fn pin(threads: &[u32], processor: &CpuSet) {
    for thread in threads {
        let thread = Pid::from_raw(thread.cast_signed()).expect("a thread");
        sched_setaffinity(Some(thread), processor).expect("a CPU that is there");
    }
}
