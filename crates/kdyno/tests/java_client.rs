//! A worker whose streams are carried by Kafka's own Java client, against a fake cluster in real time: the oldest and the newest
//! client that kdyno drives. They come with Kafka's releases from the cache, or are fetched.

#[path = "../../model/tests/common/clients.rs"]
mod clients;

use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, tcp};
use kdyno_load::framing::{read_frame, write_frame, write_secrets};
use kdyno_load::net::monotonic_ns;
use kdyno_load::worker::{self, WorkerError};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{
    Arrivals, ConsumePlan, Fill, JavaTask, KafkaSource, PhasesPlan, Rate, RatePiece, StartOffset,
};
use kdyno_model::run::{SettingOrigin, SettingsInForce};
use kdyno_model::sample::{Grain, Phase, Sample, StreamTotals, Timing, series};
use kdyno_model::secret::Secret;
use kdyno_model::worker::{
    ClientReading, FromWorker, JAVA_CONNECTION, StreamRole, StreamTask, ToWorker, WorkerEvent, WorkerTask,
};
use kdyno_testbed::{Environment, distribution};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const VERSIONS: [&str; 2] = ["2.7.2", "4.4.0"];
/// Far longer than a Java process takes to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A release's client with kdyno's classes, compiled against it.
struct CompiledClient {
    java: PathBuf,
    classpath: String,
}

impl CompiledClient {
    /// Compiled once for all tests, since that takes as long as most of them.
    fn of(version: &str) -> &'static Self {
        static ALL: [OnceLock<CompiledClient>; VERSIONS.len()] = [const { OnceLock::new() }; VERSIONS.len()];
        let place = VERSIONS.iter().position(|known| *known == version).expect("one of the releases");
        ALL[place].get_or_init(|| Self::compiled(version))
    }

    fn compiled(version: &str) -> Self {
        let environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("an environment");
        let source = KafkaSource::Release(version.to_owned());
        let kafka = distribution::prepare(&environment, &source, &|_| {}).expect("a release of Kafka");
        let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java_client").join(version);
        std::fs::create_dir_all(&classes).expect("a folder for classes");
        let classpath = kafka.classpath_argument();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../java-driver/java/kdyno/driver");
        let sources = std::fs::read_dir(sources).expect("sources").map(|entry| entry.expect("a file").path());
        let shown = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java_client/ShownThreads.java");
        let javac = environment.find_program("javac").expect("javac on PATH");
        let output = Command::new(javac)
            .args(["--release", "11", "-cp", &classpath, "-d"])
            .arg(&classes)
            .args(sources)
            .arg(shown)
            .output()
            .expect("javac");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let classpath = format!("{}:{classpath}", classes.display());
        Self { java: kafka.java.program, classpath }
    }

    fn task(&self, properties: &[(&str, &str)]) -> JavaTask {
        let java = self.java.display().to_string();
        let options =
            ["-Xmx256m", "-XX:+ExitOnOutOfMemoryError", "-cp", &self.classpath, "kdyno.driver.Main"];
        let own = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        JavaTask {
            command: std::iter::once(java).chain(options.map(str::to_owned)).collect(),
            properties: own.collect(),
        }
    }
}

fn produce(rate: Rate) -> StreamRole {
    StreamRole::Produce(clients::produce(rate))
}

fn open(per_s: f64) -> StreamRole {
    let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
    produce(Rate::Open { pieces, arrivals: Arrivals::Constant })
}

fn consume() -> StreamRole {
    let consume = clients::consume(StartOffset::Latest);
    StreamRole::Consume(ConsumePlan { fetch_wait_ns: 100 * MS, ..consume })
}

fn stream(stream: u16, role: StreamRole, java: JavaTask) -> StreamTask {
    StreamTask {
        stream,
        name: format!("item-{stream}"),
        seed: u64::from(stream),
        topic: "t".to_owned(),
        client_first: 0,
        client_count: 2,
        clients_total: 2,
        more_topics: Vec::new(),
        topic_clients: None,
        bytes_per_s_max: None,
        group_id: None,
        bootstrap: Vec::new(),
        java: Some(java),
        span: Default::default(),
        role,
    }
}

/// What the lab heard of a worker.
#[derive(Default)]
struct WorkerMessages {
    samples: Vec<Sample>,
    events: Vec<WorkerEvent>,
    readings: Vec<ClientReading>,
    metrics: BTreeMap<(u16, u32), String>,
    settings: BTreeMap<u16, SettingsInForce>,
    totals: Vec<StreamTotals>,
    failure: Option<String>,
}

/// The lab's end of a worker on a thread of the test.
fn run(bootstrap: Vec<String>, streams: Vec<StreamTask>, warmup_ns: u64) -> WorkerMessages {
    let (mut lab, theirs) = UnixStream::pair().expect("a socket pair");
    lab.set_read_timeout(Some(PATIENCE)).expect("a deadline");
    let worker: JoinHandle<Result<(), WorkerError>> =
        std::thread::spawn(move || worker::main(OwnedFd::from(theirs)));
    let connection = Secret::new(format!("bootstrap.servers={}\n", bootstrap.join(",")).into_bytes());
    write_secrets(&mut lab, &BTreeMap::from([(JAVA_CONNECTION, &connection)])).expect("written");
    let task = WorkerTask {
        worker: 0,
        run_id: 77,
        wall_offset_ns: 5 * SECOND as i64,
        bootstrap,
        security: Default::default(),
        client_id_prefix: "test-".to_owned(),
        phases: PhasesPlan { warmup_ns, warmup_auto: None, measure_ns: 2 * SECOND, drain_ns: 30 * SECOND },
        has_producers: true,
        tick_ns: 200_000,
        streams,
    };
    write_frame(&mut lab, &ToWorker::Prepare(Box::new(task))).expect("written");
    let mut heard = WorkerMessages::default();
    loop {
        match read_frame(&mut lab).expect("a message in time").expect("a message before the end") {
            FromWorker::Hello { .. } => {}
            FromWorker::Prepared => {
                write_frame(&mut lab, &ToWorker::Measure { start_ns: warmup_ns }).expect("written");
                let t0_monotonic_ns = monotonic_ns() + 50 * MS;
                write_frame(&mut lab, &ToWorker::Start { t0_monotonic_ns }).expect("written");
            }
            FromWorker::Sample(sample) => heard.samples.push(*sample),
            FromWorker::Event(event) => heard.events.push(event),
            FromWorker::Readings(readings) => heard.readings.extend(readings),
            FromWorker::ClientSettings(reported) => {
                assert!(heard.settings.insert(reported.stream, reported.settings).is_none(), "once");
            }
            FromWorker::ClientMetrics { stream, client, text } => {
                heard.metrics.insert((stream, client), text);
            }
            FromWorker::LoadEnded => write_frame(&mut lab, &ToWorker::Drain).expect("written"),
            FromWorker::Done(totals) => {
                heard.totals = totals;
                break;
            }
            FromWorker::Failed { message } => {
                heard.failure = Some(message);
                break;
            }
        }
    }
    assert_eq!(worker.join().expect("no panic").is_ok(), heard.failure.is_none());
    heard
}

impl WorkerMessages {
    fn sum_ns(&self, stream: u16, timing: Timing) -> u128 {
        let rows = self.samples.iter().filter(|row| row.id.stream == stream && row.grain == Grain::Phase);
        let rows = rows.filter(|row| row.phase != Phase::Startup);
        rows.filter_map(|row| row.sums_ns.get(&timing)).sum()
    }

    fn last(&self, stream: u16, series: &str) -> f64 {
        let all = self.readings.iter().rfind(|reading| reading.stream == stream && reading.series == series);
        all.unwrap_or_else(|| panic!("no {series} of {stream}")).value
    }
}

fn cluster() -> FakeCluster {
    let service = Service::Fixed { delay_ns: 200_000 };
    FakeCluster::new(FakeConfig::new(3).topic("t", 6).service(service).keep_batches())
}

#[test]
fn records_from_java_to_java_are_all_accounted_for() {
    for version in VERSIONS {
        let client = CompiledClient::of(version);
        let server = tcp::spawn(cluster()).expect("a fake cluster");
        let settings = [("enable.idempotence", "false"), ("acks", "all"), ("linger.ms", "1")];
        let streams =
            vec![stream(0, open(2_000.0), client.task(&settings)), stream(1, consume(), client.task(&[]))];
        let heard = run(server.bootstrap(), streams, SECOND);
        assert_eq!(heard.failure, None, "{version}");
        let (sent, fetched) = (&heard.totals[0].counts, &heard.totals[1].counts);
        assert_eq!((sent.offered, sent.achieved, sent.acknowledged), (6_000, 6_000, 6_000), "{sent:?}");
        assert_eq!((fetched.fetched, fetched.end_to_end), (6_000, 6_000), "{version}: {fetched:?}");
        assert_eq!(fetched.fetched_bytes, 600_000);
        // t0 ≤ t1 ≤ t2 ≤ t6: where two were in another order, their difference would be cut off at 0.
        let of = |timing| heard.sum_ns(0, timing);
        let parts = of(Timing::ScheduleDelay) + of(Timing::Block) + of(Timing::Service);
        assert_eq!(of(Timing::Response), parts, "{version}");
        assert!(of(Timing::Service) > 6_000 * 200_000, "the brokers' time is in it");
        assert!(heard.sum_ns(1, Timing::EndToEnd) > 6_000 * 200_000);
        assert_eq!(heard.sum_ns(1, Timing::EndToEndBelowZero), 0);
        let started = heard.events.iter().filter(|event| event.kind == EventKind::ClientStarted);
        assert!(started.clone().count() == 2 && started.clone().all(|event| event.detail.contains(version)));
        // What the client makes of what it is given, and all that it is not given.
        let of = |stream: u16, name: &str| {
            let setting = &heard.settings[&stream][name];
            (setting.value.as_str(), setting.origin)
        };
        assert_eq!(of(0, "linger.ms"), ("1", SettingOrigin::Client), "{version}");
        assert_eq!(of(0, "buffer.memory"), ("33554432", SettingOrigin::Default), "{version}");
        assert_eq!(of(0, "acks"), ("all", SettingOrigin::Client), "{version}");
        assert_eq!(of(1, "fetch.min.bytes"), ("1", SettingOrigin::Default), "{version}");
        assert!(!heard.settings[&0].keys().any(|name| name.contains("password")), "{version}");
        let metrics: Vec<(u16, u32)> = heard.metrics.keys().copied().collect();
        assert_eq!(metrics, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let text = &heard.metrics[&(0, 0)];
        assert!(
            text.starts_with("Metric Name")
                && text.contains("producer-metrics:record-send-total:{client-id=test-item-0-0}"),
            "{text}"
        );
        for stream in [0, 1] {
            let of_process_s = heard.last(stream, series::JVM_CPU_S_TOTAL);
            assert!(of_process_s > 0.1);
            // What reads frames and what compiles is left out.
            let of_threads_s = heard.last(stream, series::JVM_THREADS_CPU_S_TOTAL);
            assert!(of_threads_s > 0.0 && of_threads_s <= of_process_s, "{of_threads_s} of {of_process_s} s");
            assert!(heard.last(stream, series::JVM_ALLOCATED_BYTES_TOTAL) > 1e6);
            assert!(heard.last(stream, series::JVM_HEAP_USED_BYTES) > 1e5);
        }
        let lags = heard.samples.iter().filter(|row| row.id.stream == 1 && row.counts.lag_records.is_some());
        assert!(lags.count() >= 2, "{version}: each second has its lag");
    }
}

/// All threads of the driver's process by their names: those of Kafka's client and the application's own count, those of Java and
/// those by which kdyno feeds and reads the process do not. One that gets another name, or comes with another Java, shows here.
#[test]
fn threads_of_clients_count_and_those_of_java_and_kdyno_do_not() {
    for version in VERSIONS {
        let client = CompiledClient::of(version);
        let server = tcp::spawn(cluster()).expect("a fake cluster");
        let folder = tempfile::tempdir().expect("a folder");
        let file = |stream: u16| folder.path().join(format!("threads-{stream}"));
        let task = |stream: u16, settings: &[(&str, &str)]| {
            let mut task = client.task(settings);
            task.command.pop();
            task.command.extend(["kdyno.driver.ShownThreads".to_owned(), file(stream).display().to_string()]);
            task
        };
        let settings = [("enable.idempotence", "false"), ("acks", "all")];
        let streams = vec![stream(0, open(200.0), task(0, &settings)), stream(1, consume(), task(1, &[]))];
        assert_eq!(run(server.bootstrap(), streams, 0).failure, None, "{version}");
        let named = |stream: u16, sign: char| -> Vec<String> {
            let text = std::fs::read_to_string(file(stream)).expect("its threads");
            text.lines().filter_map(|line| line.strip_prefix(sign)).map(str::to_owned).collect()
        };
        let own = ["kdyno-client-0", "kdyno-client-1"];
        let network =
            ["0", "1"].map(|client| format!("kafka-producer-network-thread | test-item-0-{client}"));
        let of_producer: Vec<&str> = network.iter().map(String::as_str).chain(own).collect();
        assert_eq!(named(0, '+'), of_producer, "{version}");
        // One that reads without a group fetches on the application's thread.
        assert_eq!(named(1, '+'), own, "{version}");
        for stream in [0, 1] {
            // The one is there from Java 14 on, the other for as long as the clients are closed.
            let mut left_out = named(stream, '-');
            left_out.retain(|name| !["Notification Thread", "kdyno-end"].contains(&name.as_str()));
            let java = ["Common-Cleaner", "Finalizer", "Reference Handler", "Signal Dispatcher"];
            let expected: Vec<&str> =
                java.into_iter().chain(["kdyno-frames", "kdyno-readings", "main"]).collect();
            assert_eq!(left_out, expected, "{version}");
        }
    }
}

#[test]
fn a_closed_loop_goes_as_fast_as_the_client_does() {
    let client = CompiledClient::of(VERSIONS[1]);
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let task = client.task(&[("enable.idempotence", "false"), ("buffer.memory", "1000000")]);
    let heard = run(server.bootstrap(), vec![stream(0, produce(Rate::Max { fill: Fill::Buffer }), task)], 0);
    assert_eq!(heard.failure, None);
    let counts = &heard.totals[0].counts;
    assert_eq!((counts.offered, counts.unresolved), (counts.acknowledged, 0), "{counts:?}");
    assert!(counts.acknowledged > 5_000, "{counts:?}");
    let drained = heard.samples.iter().filter(|row| row.phase == Phase::Drain);
    assert_eq!(drained.map(|row| row.counts.offered).sum::<u64>(), 0, "nothing is sent behind the load");
    assert_eq!(heard.sum_ns(0, Timing::ScheduleDelay), 0);
}

#[test]
fn what_the_client_refuses_and_does_not_know_is_reported() {
    let client = CompiledClient::of(VERSIONS[1]);
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let refused = client.task(&[("acks", "maybe"), ("lingr.ms", "5")]);
    let heard = run(server.bootstrap(), vec![stream(0, open(10.0), refused)], 0);
    let failure = heard.failure.expect("refused");
    assert!(failure.contains("stream item-0: the Java client refuses a setting: "), "{failure}");
    assert!(failure.contains("maybe") && failure.contains("acks"), "{failure}");
    let warning = heard.events.iter().find(|event| event.kind == EventKind::ClientWarning);
    assert_eq!(warning.expect("a warning").detail, "this client does not know lingr.ms");
    let missing = JavaTask { command: vec!["/nowhere/java".to_owned()], properties: BTreeMap::new() };
    let heard = run(server.bootstrap(), vec![stream(0, open(10.0), missing)], 0);
    let failure = heard.failure.expect("no such program");
    assert!(failure.contains("/nowhere/java cannot be started"), "{failure}");
}

/// Values larger than the heap: the process ends with the exit code that its option gives it, and that is said.
#[test]
fn a_process_without_memory_says_so() {
    let client = CompiledClient::of(VERSIONS[1]);
    let server = tcp::spawn(cluster()).expect("a fake cluster");
    let mut task = client.task(&[("buffer.memory", "200000000"), ("max.request.size", "100000000")]);
    task.command.iter_mut().filter(|word| *word == "-Xmx256m").for_each(|word| *word = "-Xmx24m".to_owned());
    let mut role = produce(Rate::Max { fill: Fill::Buffer });
    if let StreamRole::Produce(plan) = &mut role {
        plan.value_bytes = 20 << 20;
    }
    let heard = run(server.bootstrap(), vec![stream(0, role, task)], 0);
    let failure = heard.failure.expect("a failure");
    assert!(failure.contains("out of memory"), "{failure}");
    let offered: u64 = heard.samples.iter().map(|row| row.counts.offered).sum();
    let unresolved: u64 = heard.samples.iter().map(|row| row.counts.unresolved).sum();
    assert_eq!(offered, unresolved, "what was counted until then is told");
}
