//! The worker as the lab drives it: real sockets and clock, a fake cluster behind them.

use super::common::clients;
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, tcp};
use kdyno_kafka::admin::{Admin, SampleBounds};
use kdyno_load::framing::{read_frame, write_frame, write_given};
use kdyno_load::net::monotonic_ns;
use kdyno_load::worker::{self, WorkerError};
use kdyno_model::plan::{
    Arrivals, Compression, ConsumePlan, GivenFile, GivenSource, PhasesPlan, ProducePlan, ProducerSettings,
    Rate, RatePiece, StartOffset, VALUE_BYTES_MAX, ValuesPlan,
};
use kdyno_model::sample::{Grain, Phase, Sample, StreamTotals};
use kdyno_model::worker::{FromWorker, GivenContent, StreamRole, StreamTask, ToWorker, WorkerTask};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn produce(value_bytes: u32) -> StreamRole {
    let pieces = vec![RatePiece { from_per_s: 5_000.0, to_per_s: 5_000.0, length_ns: 0 }];
    let plan = clients::produce(Rate::Open { pieces, arrivals: Arrivals::Constant });
    let client = ProducerSettings { linger_ns: 5 * MS, ..plan.client };
    StreamRole::Produce(ProducePlan { value_bytes, client, ..plan })
}

fn consume() -> StreamRole {
    let consume = clients::consume(StartOffset::Latest);
    StreamRole::Consume(ConsumePlan { fetch_wait_ns: 100 * MS, ..consume })
}

fn stream(stream: u16, clients: u32, role: StreamRole) -> StreamTask {
    StreamTask {
        stream,
        name: format!("item-{stream}"),
        seed: u64::from(stream),
        topic: "t".to_owned(),
        client_first: 0,
        client_count: clients,
        clients_total: clients,
        more_topics: Vec::new(),
        topic_clients: None,
        bytes_per_s_max: None,
        group_id: None,
        bootstrap: Vec::new(),
        java: None,
        span: Default::default(),
        role,
    }
}

fn task(bootstrap: Vec<String>, streams: Vec<StreamTask>) -> WorkerTask {
    WorkerTask {
        worker: 0,
        run_id: 1,
        wall_offset_ns: 0,
        bootstrap,
        security: Default::default(),
        client_id_prefix: "test-".to_owned(),
        phases: PhasesPlan {
            warmup_ns: SECOND,
            warmup_auto: None,
            measure_ns: 2 * SECOND,
            drain_ns: 30 * SECOND,
        },
        has_producers: true,
        tick_ns: 200_000,
        streams,
    }
}

/// The lab's end of a worker that runs on a thread of the test.
struct Lab {
    socket: UnixStream,
    worker: JoinHandle<Result<(), WorkerError>>,
}

impl Lab {
    fn prepare(task: WorkerTask) -> Self {
        Self::prepare_with(task, None)
    }

    /// A worker that is given keys or values before its task.
    fn prepare_with(task: WorkerTask, given: Option<GivenContent>) -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a socket pair");
        socket.set_read_timeout(Some(PATIENCE)).expect("a deadline");
        let worker = std::thread::spawn(move || worker::main(OwnedFd::from(theirs)));
        let mut lab = Self { socket, worker };
        assert!(matches!(lab.read(), FromWorker::Hello { .. }));
        if let Some(given) = given {
            write_given(&mut lab.socket, &given).expect("written");
        }
        lab.say(&ToWorker::Prepare(Box::new(task)));
        lab
    }

    fn read(&mut self) -> FromWorker {
        read_frame(&mut self.socket).expect("a message in time").expect("a message before the end")
    }

    fn expect_prepared(&mut self) {
        loop {
            match self.read() {
                FromWorker::Prepared => break,
                FromWorker::Event(_) => {}
                other => panic!("expected to be prepared: {other:?}"),
            }
        }
    }

    fn say(&mut self, message: &ToWorker) {
        write_frame(&mut self.socket, message).expect("written");
    }

    /// Starts the load and says when the measure phase begins, if that is known.
    fn start(&mut self, measure_ns: Option<u64>) {
        self.expect_prepared();
        // Before the start, so that no warm-up is too short for a busy machine.
        if let Some(start_ns) = measure_ns {
            self.say(&ToWorker::Measure { start_ns });
        }
        self.say(&ToWorker::Start { t0_monotonic_ns: monotonic_ns() + 50 * MS });
    }

    fn expect_failed(&mut self) -> String {
        loop {
            match self.read() {
                FromWorker::Failed { message } => return message,
                FromWorker::Event(_) => {}
                other => panic!("expected a refusal: {other:?}"),
            }
        }
    }

    fn finish(mut self) -> (Vec<Sample>, Vec<StreamTotals>) {
        let mut samples = Vec::new();
        loop {
            match self.read() {
                FromWorker::Sample(sample) => samples.push(*sample),
                FromWorker::Event(_) => {}
                FromWorker::LoadEnded => self.say(&ToWorker::Drain),
                FromWorker::Done(totals) => {
                    self.worker.join().expect("no panic").expect("a clean end");
                    return (samples, totals);
                }
                other => panic!("expected samples: {other:?}"),
            }
        }
    }
}

fn cluster() -> FakeCluster {
    let service = Service::Fixed { delay_ns: 200_000 };
    FakeCluster::new(FakeConfig::new(3).topic("t", 6).service(service).keep_batches())
}

#[test]
fn what_is_produced_is_acknowledged_and_fetched() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let streams = vec![stream(0, 2, produce(100)), stream(1, 4, consume())];
    let mut lab = Lab::prepare(task(server.bootstrap(), streams));
    lab.start(Some(SECOND));
    let (samples, totals) = lab.finish();
    let (sent, fetched) = (&totals[0].counts, &totals[1].counts);
    assert_eq!(sent.offered, 15_000, "3 s at 5,000/s, whatever the machine does meanwhile");
    assert_eq!(sent.acknowledged, 15_000, "{sent:?}");
    assert_eq!(fetched.fetched, 15_000, "{fetched:?}");
    assert!(sent.records_check() && fetched.fetched_bytes > 15_000 * 100);
    let measured: u64 = samples
        .iter()
        .filter(|sample| {
            sample.id.stream == 0 && sample.grain == Grain::Second && sample.phase == Phase::Measure
        })
        .map(|sample| sample.counts.offered)
        .sum();
    assert_eq!(measured, 10_000, "a record belongs to the phase of its scheduled send time");
    for stream in [0, 1] {
        let of_stream = samples.iter().filter(|sample| sample.id.stream == stream);
        let sequences: Vec<u64> = of_stream.map(|sample| sample.sequence).collect();
        assert!(sequences.iter().copied().eq(0..sequences.len() as u64), "{sequences:?}");
    }
}

trait RecordsCheck {
    fn records_check(&self) -> bool;
}

impl RecordsCheck for kdyno_model::sample::Counts {
    /// Batches and requests were counted too.
    fn records_check(&self) -> bool {
        self.batches > 0
            && self.requests > 0
            && self.batches >= self.requests
            && self.batches < self.acknowledged
    }
}

/// Values come before the task, go out unchanged, and can be sampled from the topic again.
#[test]
fn values_that_are_given_are_what_is_sent() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let file = GivenFile {
        path: "lines.txt".to_owned(),
        delimiter: "|".to_owned(),
        crc: 0,
        pieces: 3,
        piece_bytes_max: 5,
    };
    let mut role = produce(3);
    let StreamRole::Produce(plan) = &mut role else { panic!("it produces") };
    plan.records.values = ValuesPlan::File(file.clone());
    plan.client.compression = Compression::Zstd;
    let mut task = task(server.bootstrap(), vec![stream(0, 1, role)]);
    (task.phases.warmup_ns, task.phases.measure_ns) = (0, SECOND);
    let values = [&b"one"[..], b"two", b"three"];
    let refused = Lab::prepare(task.clone()).expect_failed();
    assert!(refused.contains("what lines.txt holds was not given"), "{refused}");
    let given = GivenContent::new(GivenSource::File(file), values);
    let mut lab = Lab::prepare_with(task, Some(given));
    lab.start(Some(0));
    let (_, totals) = lab.finish();
    let counts = &totals[0].counts;
    assert_eq!((counts.acknowledged, counts.header_trailers), (5_000, 5_000), "{counts:?}");
    let mut admin = Admin::connect(&server.bootstrap(), "test", PATIENCE).expect("connected");
    let sample = |admin: &mut Admin, bytes_max, value_bytes_max| {
        let mut found = admin.sample("t", SampleBounds { bytes_max, value_bytes_max }).expect("a sample");
        let bytes: usize = found.iter().map(Vec::len).sum();
        assert!(bytes <= bytes_max, "{bytes} of {bytes_max}");
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(sample(&mut admin, 1 << 20, 100), [&b"one"[..], b"three", b"two"]);
    assert_eq!(sample(&mut admin, 2_000, 4), [&b"one"[..], b"two"], "the larger one is left out");
    assert!(admin.sample("none", SampleBounds { bytes_max: 9, value_bytes_max: 9 }).is_err());
}

/// A consumer goes on while anybody of the trial produces: beyond the end of its own worker's load, and of what it
/// knows to be the load's, until the lab says that all have ended.
#[test]
fn consumers_run_until_the_producers_of_all_workers_have_ended() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let worker = |number, streams, measure_s| {
        let mut task = task(server.bootstrap(), streams);
        (task.worker, task.phases.warmup_ns, task.phases.measure_ns) = (number, 0, measure_s * SECOND);
        Lab::prepare(task)
    };
    let mut short = worker(0, vec![stream(0, 1, produce(100)), stream(1, 1, consume())], 1);
    let mut reading = worker(1, vec![stream(0, 1, consume())], 1);
    let mut long = worker(2, vec![stream(0, 1, produce(100))], 3);
    for lab in [&mut short, &mut reading, &mut long] {
        lab.start(Some(0));
    }
    while !matches!(short.read(), FromWorker::LoadEnded) {}
    let (_, sent) = long.finish();
    assert_eq!(sent[0].counts.acknowledged, 15_000);
    for lab in [&mut short, &mut reading] {
        lab.say(&ToWorker::Drain);
    }
    let (_, of_short) = short.finish();
    let (_, of_reading) = reading.finish();
    assert_eq!(of_short[0].counts.acknowledged, 5_000);
    for readers in [&of_short[1], &of_reading[0]] {
        assert_eq!(readers.counts.fetched, 20_000, "what all workers sent");
    }
}

#[test]
fn stop_ends_the_load_early_and_keeps_its_totals() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let mut lab = Lab::prepare(task(server.bootstrap(), vec![stream(0, 1, produce(64))]));
    lab.start(Some(SECOND));
    while !matches!(lab.read(), FromWorker::Sample(_)) {}
    lab.say(&ToWorker::Stop);
    let (_, totals) = lab.finish();
    let counts = &totals[0].counts;
    assert!((1..15_000).contains(&counts.offered), "{counts:?}");
    assert_eq!(counts.offered, counts.acknowledged);
}

/// The warm-up goes on until the lab says so, in the middle of it.
#[test]
fn the_measure_phase_begins_when_the_lab_says_so() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let mut lab = Lab::prepare(task(server.bootstrap(), vec![stream(0, 1, produce(64))]));
    lab.start(None);
    let is_of_second = |message: &FromWorker, second: u32| matches!(message, FromWorker::Sample(sample) if sample.grain == Grain::Second && sample.t0_second == second);
    let mut samples = Vec::new();
    while !samples.last().is_some_and(|message| is_of_second(message, 0)) {
        samples.push(lab.read());
    }
    // Far enough ahead for a busy machine.
    let start_s = 6;
    lab.say(&ToWorker::Measure { start_ns: start_s * SECOND });
    let (rest, totals) = lab.finish();
    let reported = samples.into_iter().filter_map(|message| match message {
        FromWorker::Sample(sample) => Some(*sample),
        _ => None,
    });
    let offered = |samples: &[Sample], phase| -> u64 {
        let rows = samples.iter().filter(|sample| sample.grain == Grain::Second && sample.phase == phase);
        rows.map(|sample| sample.counts.offered).sum()
    };
    let samples: Vec<Sample> = reported.chain(rest).collect();
    assert_eq!(offered(&samples, Phase::Warmup), start_s * 5_000);
    assert_eq!(offered(&samples, Phase::Measure), 10_000, "two seconds of it, as planned");
    assert_eq!(totals[0].counts.offered, 10_000 + start_s * 5_000);
}

/// A worker whose reader takes a tenth of a second for each record; `per_s` are produced in the first
/// second; a minute is left to catch up.
fn behind(per_s: f64) -> (tcp::FakeServer, WorkerTask) {
    let config = FakeConfig::new(1).topic("t", 1).control_delay_ns(100 * MS).keep_batches();
    let server = tcp::spawn(FakeCluster::new(config)).expect("a fake cluster");
    let (mut writers, mut readers) = (produce(64), consume());
    if let StreamRole::Produce(plan) = &mut writers {
        let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
        plan.rate = Rate::Open { pieces, arrivals: Arrivals::Constant };
        (plan.client.batch_bytes, plan.client.linger_ns) = (1, 0);
    }
    if let StreamRole::Consume(plan) = &mut readers {
        // Each fetch brings one batch, and each batch is one record.
        (plan.from, plan.partition_bytes_max) = (StartOffset::Earliest, 1);
    }
    let mut task = task(server.bootstrap(), vec![stream(0, 1, writers), stream(1, 1, readers)]);
    task.phases = PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: SECOND, drain_ns: 60 * SECOND };
    (server, task)
}

/// Six seconds behind when the writers end, longer than a stop from outside would leave it.
#[test]
fn a_reader_that_is_behind_has_the_drain_to_catch_up() {
    let (_server, task) = behind(70.0);
    let mut lab = Lab::prepare(task);
    lab.start(Some(0));
    let (_, totals) = lab.finish();
    let (sent, fetched) = (&totals[0].counts, &totals[1].counts);
    assert_eq!((sent.offered, sent.acknowledged), (70, 70));
    assert_eq!(fetched.fetched, 70, "all of it, and no record twice");
}

/// Half a minute behind, and asked to stop.
#[test]
fn a_stop_does_not_wait_for_a_reader_that_is_behind() {
    let (_server, task) = behind(300.0);
    let mut lab = Lab::prepare(task);
    lab.start(Some(0));
    // What it counted in the first second: by then the writers have ended or are about to.
    while !matches!(lab.read(), FromWorker::Sample(sample) if sample.id.stream == 1) {}
    lab.say(&ToWorker::Stop);
    let stopped = Instant::now();
    let (_, totals) = lab.finish();
    let (sent, fetched) = (&totals[0].counts, &totals[1].counts);
    assert!((1..sent.acknowledged).contains(&fetched.fetched), "{fetched:?} of {sent:?}");
    assert!(stopped.elapsed() < Duration::from_secs(20), "{:?}", stopped.elapsed());
}

#[test]
fn a_worker_whose_lab_is_gone_ends() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let mut lab = Lab::prepare(task(server.bootstrap(), vec![stream(0, 1, produce(64))]));
    lab.start(Some(SECOND));
    drop(lab.socket);
    let result = lab.worker.join().expect("no panic");
    assert!(result.is_err(), "its task is not done");
}

/// Brokers that cannot be reached: a worker is not prepared, cannot be started, and can be stopped all the same.
#[test]
fn a_worker_that_is_not_prepared_is_stopped_but_not_started() {
    let nowhere = || task(vec!["127.0.0.1:1".to_owned()], vec![stream(0, 1, produce(64))]);
    let mut lab = Lab::prepare(nowhere());
    lab.say(&ToWorker::Start { t0_monotonic_ns: monotonic_ns() });
    assert!(lab.expect_failed().contains("before this worker was prepared"));
    let mut lab = Lab::prepare(nowhere());
    lab.say(&ToWorker::Stop);
    let (samples, totals) = lab.finish();
    assert_eq!((samples.len(), totals[0].counts.offered, totals[0].clients.len()), (0, 0, 1));
}

/// Where its lab is on another host the announcement may be under way for longer than T0 is ahead.
#[test]
fn a_start_that_comes_behind_t0_is_refused_with_how_late_it_is() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let mut lab = Lab::prepare(task(server.bootstrap(), vec![stream(0, 1, produce(64))]));
    lab.expect_prepared();
    lab.say(&ToWorker::Start { t0_monotonic_ns: monotonic_ns() - 3 * SECOND });
    let message = lab.expect_failed();
    assert!(
        message.starts_with("the start was announced 3") && message.contains(" ms too late"),
        "{message}"
    );
    assert!(lab.worker.join().expect("no panic").is_err());
}

#[test]
fn a_task_that_cannot_be_done_is_refused_with_the_reason() {
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    for (bootstrap, value_bytes, reason) in [
        (server.bootstrap(), VALUE_BYTES_MAX + 1, "above the limit"),
        (vec!["nonsense".to_owned()], 64, "not a host and a port"),
    ] {
        let mut lab = Lab::prepare(task(bootstrap, vec![stream(0, 1, produce(value_bytes))]));
        let message = lab.expect_failed();
        assert!(message.contains(reason), "{message}");
        assert!(lab.worker.join().expect("no panic").is_err());
    }
}
