//! What kdyno's own worker promises beyond the messages: its rows survive it, and its own delays are its own.

use super::{Check, Program};
use crate::common::{Load, SECOND, TOPIC};
use crate::lab::{self, Lab, WorkerReport};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, tcp};
use kdyno_model::histogram;
use kdyno_model::plan::Arrivals;
use kdyno_model::sample::{Grain, Phase, Sample, Timing};
use kdyno_model::worker::{FromWorker, StreamRole, ToWorker, WorkerTask};
use rustix::process::{Signal, kill_process};
use std::time::Duration;

/// Checks of kdyno's own worker; they bring brokers of their own.
pub const RULES: &[(&str, Check)] = &[
    ("a_worker_killed_in_a_stall_leaves_what_was_offered", killed_in_a_stall),
    ("a_worker_that_was_stopped_says_so", stopped),
];

const PER_S: u64 = 500;

/// A producing stream at [`PER_S`] on a broker that answers so long after each request.
fn producing(delay_ns: u64, measure_ns: u64) -> (tcp::FakeServer, WorkerTask) {
    let config = FakeConfig::new(1).topic(TOPIC, 3).service(Service::Fixed { delay_ns });
    let server = tcp::spawn(FakeCluster::new(config)).expect("a fake cluster");
    let mut task = lab::task(&server.bootstrap(), measure_ns);
    task.streams.truncate(1);
    let stream = &mut task.streams[0];
    (stream.client_first, stream.client_count, stream.clients_total) = (0, 2, 2);
    let mut plan = Load::open(PER_S as f64, Arrivals::Constant).plan;
    // Full after about a second of it.
    plan.client.buffer_bytes = 64 << 10;
    stream.role = StreamRole::Produce(plan);
    (server, task)
}

/// Whatever is open vanishes with its process; that it was offered is known, second by second, so that open =
/// offered − settled.
fn killed_in_a_stall(program: &Program, _: &[String]) {
    let (_server, task) = producing(3_600 * SECOND, 60 * SECOND);
    let mut lab = Lab::prepare(program, &task);
    lab.say(&ToWorker::Measure { start_ns: 0 });
    lab.start();
    let mut reported: Vec<Sample> = Vec::new();
    // A row that was cut after the fifth second says that the four before it were offered whole, however late the
    // worker was.
    while reported.last().is_none_or(|row| row.written_second < 5) {
        if let FromWorker::Sample(row) = lab.read() {
            reported.push(*row);
        }
    }
    let rest = lab.kill().into_iter().filter_map(|message| match message {
        FromWorker::Sample(row) => Some(*row),
        _ => None,
    });
    reported.extend(rest);
    for second in 0..4 {
        let rows = reported.iter().filter(|row| row.grain == Grain::Second && row.t0_second == second);
        let (mut offered, mut settled) = (0, 0);
        for row in rows {
            let counts = &row.counts;
            offered += counts.offered;
            settled += counts.acknowledged + counts.failed.values().sum::<u64>() + counts.unresolved;
        }
        assert_eq!((offered, settled), (PER_S, 0), "second {second}");
    }
}

/// A worker that is stopped for two of its six seconds: its response says so, and that the cluster is not to blame.
fn stopped(program: &Program, _: &[String]) {
    let (_server, task) = producing(SECOND / 1_000, 6 * SECOND);
    let mut lab = Lab::prepare(program, &task);
    lab.say(&ToWorker::Measure { start_ns: 0 });
    lab.start();
    let mut trial = WorkerReport::default();
    while trial.samples.is_empty() {
        trial.add(lab.read());
    }
    let pid = lab.pid();
    kill_process(pid, Signal::STOP).expect("a child of ours");
    std::thread::sleep(Duration::from_secs(2));
    kill_process(pid, Signal::CONT).expect("a child of ours");
    trial.finish(lab, &task);
    let row = trial.samples.iter().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    let row = row.expect("a row of the phase");
    let p95 = |timing| {
        let histogram = histogram::decode(&row.histograms[&timing]).expect("a histogram");
        histogram.value_at_quantile(0.95)
    };
    let (response_ns, rest_ns) = (p95(Timing::Response), p95(Timing::WithoutGenerator));
    // A third of the records came due in the stop, so the slowest twentieth of all waited most of it.
    assert!(response_ns > SECOND, "{response_ns} ns");
    assert!(rest_ns < response_ns / 4, "{rest_ns} of {response_ns} ns are said to be the cluster's");
    let of = |timing: &Timing| row.sums_ns[timing];
    let parts = of(&Timing::ScheduleDelay) + of(&Timing::WithoutGenerator) + of(&Timing::Callback);
    assert_eq!(parts, of(&Timing::Response), "to the nanosecond");
}
