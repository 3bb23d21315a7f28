//! What befalls the worker: it is stopped, or killed.

use crate::common::turns::beside_any;
use crate::common::{Running, TestFolder, signal};
use crate::fixture::{brokers, measured, provoke, scenario};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::finding::Value;
use rustix::process::Signal;
use std::time::Duration;

const PACED: &str = "  writers: {produce: perf, rate: 500/s, value: 100B, client: {linger.ms: 0}}\n";

/// The process of the only worker.
pub fn worker(running: &Running<'_>) -> u32 {
    let workers = running.processes("kdyno worker");
    assert_eq!(workers.len(), 1, "one worker");
    workers[0]
}

/// The stop falls on more than a hundredth of the records, so that p99 shows it and not the cluster.
#[test]
fn a_stopped_worker_is_late_and_states_from_which_quantile_on() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let phases = "warmup: 1s, measure: 9s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(1, 2), &scenario("", PACED, phases), |_, running| {
        measured(running);
        let worker = worker(running);
        signal(worker, Signal::STOP);
        std::thread::sleep(Duration::from_millis(150));
        signal(worker, Signal::CONT);
    });
    let is_invalid = |caveat: &Caveat| matches!(caveat, Caveat::GeneratorLate { .. });
    let late = seen.caveats(is_invalid);
    assert!(late.iter().any(|found| found.severity == Severity::Invalid), "{said:?}");
    assert!(seen.finding(1, "writers.response.p99").is_invalid());
    assert!(!seen.finding(1, "writers.acked_per_s").is_invalid(), "rates stand");
    // Without it the cluster took what it always takes.
    assert!(seen.value(1, "writers.without_generator.p50") < seen.value(1, "writers.response.p99.9"));
}

/// What is open when a worker is killed in a stall of the cluster was not written off.
#[test]
fn records_open_at_a_workers_death_are_above_every_quantile() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let phases = "warmup: 1s, measure: 30s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(1, 1), &scenario("", PACED, phases), |server, running| {
        measured(running);
        let now_ns = server.now_ns();
        server.with(|cluster| {
            cluster.script().at(now_ns).stall(0, 60_000_000_000);
        });
        // Rows are written each second: what they report must be more than what was answered before.
        std::thread::sleep(Duration::from_secs(6));
        signal(worker(running), Signal::KILL);
    });
    assert_eq!(said.code, Some(1), "{said:?}");
    let unresolved = seen.caveat(|caveat| matches!(caveat, Caveat::Unresolved { .. }));
    let Caveat::Unresolved { records, .. } = unresolved.caveat else { panic!() };
    assert!(records > 1_000, "four seconds of load and more: {unresolved:?}");
    let p99 = seen.finding(1, "writers.response.p99").estimate;
    assert!(matches!(p99, Value::AtLeast(ns) if ns > 1e9), "{p99:?}");
    for kind in ["cut short", "log not checked"] {
        let found = seen.caveats(|caveat| match kind {
            "cut short" => matches!(caveat, Caveat::CutShort { .. }),
            _ => matches!(caveat, Caveat::LogNotChecked { .. }),
        });
        assert_eq!(found.len(), 1, "{kind}: {:#?}", seen.judgement.caveats);
    }
}
