//! A small run, made by hand: two cases of three published rows, two repeats each, all doubts included.

use kdyno_model::finding::{Caveat, Finding, Severity, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::*;
use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, TrialStart};
use kdyno_model::sample::{NoiseReading, Phase};
use kdyno_model::series::*;
use kdyno_model::worker::PhaseSpan;
use kdyno_report::{ReportInput, TrialCaveat, units};
use std::collections::BTreeMap;

pub const SECOND_NS: u64 = 1_000_000_000;

/// Everything a report needs, owned.
pub struct Run {
    pub header: RunHeader,
    pub end: RunEnd,
    pub trials: Vec<TrialStart>,
    pub events: Vec<(Option<TrialRef>, Event)>,
    pub noise: Vec<(TrialRef, NoiseReading)>,
    pub findings: Vec<Finding>,
    pub caveats: Vec<TrialCaveat>,
    pub series: Vec<TrialSeries>,
}

impl Run {
    pub fn input(&self) -> ReportInput<'_> {
        ReportInput {
            header: &self.header,
            end: Some(&self.end),
            trials: &self.trials,
            events: &self.events,
            noise: &self.noise,
            findings: &self.findings,
            caveats: &self.caveats,
            series: &self.series,
        }
    }
}

pub fn trial(case: u32, repeat: u32) -> TrialRef {
    TrialRef { case, repeat }
}

pub fn address(text: &str) -> Address {
    let (subject, metric) = text.split_once('.').expect("SUBJECT.METRIC");
    Address { subject: subject.to_owned(), metric: metric.to_owned() }
}

pub fn finding(of: TrialRef, what: &str, value: Value) -> Finding {
    let of_what = address(what);
    Finding { trial: of, unit: units::of_metric(&of_what.metric), of: of_what, value }
}

fn params(brokers: i64, proxy: &str) -> BTreeMap<String, ParamValue> {
    BTreeMap::from([
        ("brokers".to_owned(), ParamValue::Int(brokers)),
        ("proxy".to_owned(), ParamValue::Text(proxy.to_owned())),
    ])
}

fn producer(acks: i16) -> ProducerSettings {
    ProducerSettings {
        defaults: "3.2".to_owned(),
        acks,
        batch_bytes: 16_384,
        linger_ns: 5_000_000,
        buffer_bytes: 33_554_432,
        request_bytes_max: 1_048_576,
        in_flight_max: 5,
        compression: Compression::None,
        max_block_ns: 60 * SECOND_NS,
        request_timeout_ns: 30 * SECOND_NS,
        delivery_timeout_ns: 120 * SECOND_NS,
        retry_backoff_ns: 100_000_000,
        metadata_max_age_ns: 300 * SECOND_NS,
        partitioner: Partitioner::Sticky,
    }
}

fn consumer() -> ConsumePlan {
    ConsumePlan {
        from: StartOffset::Earliest,
        fetch_bytes_max: 52_428_800,
        partition_bytes_max: 1_048_576,
        fetch_bytes_min: 1,
        fetch_wait_ns: 500_000_000,
        request_timeout_ns: 30 * SECOND_NS,
        retry_backoff_ns: 100_000_000,
    }
}

fn case(brokers: u32) -> CasePlan {
    let writers = ProducePlan {
        rate: Rate::Open {
            pieces: vec![RatePiece { from_per_s: 60_000.0, to_per_s: 60_000.0, length_ns: SECOND_NS }],
            arrivals: Arrivals::Poisson,
        },
        value_bytes: 128,
        payload: Payload::Unique,
        records_max: None,
        client: producer(-1),
    };
    CasePlan {
        label: format!("brokers={brokers}"),
        params: params(i64::from(brokers), "none"),
        system: SystemPlan::Local(ClusterPlan {
            kafka: KafkaSource::Release("3.7.2".to_owned()),
            mode: Mode::Zookeeper { nodes: 3 },
            brokers,
            heap_bytes: 512 << 20,
            jvm_options: vec![],
            config: BTreeMap::from([("num.replica.fetchers".to_owned(), "3".to_owned())]),
            cpus: vec![],
            racks: vec![],
            storage: Storage::Disk,
        }),
        topics: BTreeMap::from([(
            "perf".to_owned(),
            TopicPlan {
                partitions: 2 * brokers,
                replicas: 3,
                config: BTreeMap::from([("min.insync.replicas".to_owned(), "2".to_owned())]),
            },
        )]),
        load: BTreeMap::from([
            (
                "writers".to_owned(),
                LoadPlan { topic: "perf".to_owned(), clients: 2 * brokers, role: Role::Produce(writers) },
            ),
            (
                "readers".to_owned(),
                LoadPlan { topic: "perf".to_owned(), clients: 2 * brokers, role: Role::Consume(consumer()) },
            ),
        ]),
        phases: PhasesPlan { warmup_ns: 5 * SECOND_NS, measure_ns: 30 * SECOND_NS, drain_ns: 20 * SECOND_NS },
    }
}

fn published_row(brokers: i64, proxy: Option<&str>, figure: Option<f64>) -> PublishedRow {
    let mut row = params(brokers, proxy.unwrap_or("none"));
    if proxy.is_none() {
        row.remove("proxy");
    }
    PublishedRow { params: row, values: BTreeMap::from([("writers.acked_per_s".to_owned(), figure)]) }
}

pub fn plan() -> Plan {
    Plan {
        scenario: "fixture".to_owned(),
        question: "What does the cluster carry when every in-sync replica must have each record?".to_owned(),
        profile: "laptop".to_owned(),
        changed: BTreeMap::from([("dur".to_owned(), "30s".to_owned())]),
        seed: 42,
        cases: vec![case(3), case(6)],
        order: vec![trial(0, 0), trial(1, 0), trial(1, 1), trial(0, 1)],
        isolation: Isolation::Topic,
        show: Show {
            rows: vec!["proxy".to_owned(), "brokers".to_owned()],
            columns: [
                "writers.clients",
                "writers.acked_per_s",
                "brokers.cpu_us_per_record",
                "writers.response.p99",
            ]
            .map(address)
            .to_vec(),
        },
        published: Some(Published {
            title: "A performance report".to_owned(),
            date: "2022-10-25".to_owned(),
            hardware: "brokers of 4 CPU".to_owned(),
            definition: "sum of each client's whole-run average".to_owned(),
            rows: vec![
                published_row(3, None, Some(700_000.0)),
                published_row(6, None, Some(1_400_000.0)),
                published_row(9, None, Some(1_700_000.0)),
                published_row(9, Some("relay"), None),
            ],
        }),
    }
}

fn stream_findings(of: TrialRef, rate: f64) -> Vec<Finding> {
    let is = |what: &str, value: f64| finding(of, what, Value::Is(value));
    let late = if of.case == 1 { Value::AtLeast(2.0e9) } else { Value::Is(812.0e6) };
    vec![
        is("writers.clients", if of.case == 0 { 6.0 } else { 12.0 }),
        is("writers.offered_per_s", 60_000.0),
        is("writers.achieved_per_s", rate + 12.0),
        is("writers.acked_per_s", rate),
        is("writers.records_per_batch", 87.25),
        is("writers.bytes_per_request", 13_871.0),
        is("writers.response_over_service", 1.084),
        is("writers.failed", if of.case == 1 { 120.0 } else { 0.0 }),
        is("writers.unresolved", 0.0),
        is("writers.response.p50", 6.1e6),
        is("writers.response.p99", 48.7e6 + f64::from(of.repeat) * 1e6),
        is("writers.response.p99.9", 201.0e6),
        finding(of, "writers.response.p99.99", late),
        finding(of, "writers.response.max", late),
        is("writers.service.p50", 5.9e6),
        is("writers.service.p99", 44.0e6),
        is("readers.fetched_per_s", rate - 3.0),
        is("readers.fetched_mib_per_s", 8.31),
        is("readers.records_per_batch", 87.25),
        is("readers.bytes_per_request", 91_044.0),
        is("brokers.cpu_us_per_record", 6.42),
        is("brokers.cpu_percent", 143.0),
        is("workers.cpu_us_per_record", 0.71),
    ]
}

fn caveats() -> Vec<TrialCaveat> {
    let mut out = Vec::new();
    for of in plan().order {
        out.push((of, Severity::Warning, Caveat::SharedProcessors { processors: 2 }));
        out.push((of, Severity::Note, Caveat::AssignedNotGroup { item: "readers".to_owned() }));
    }
    for of in [trial(1, 0), trial(1, 1)] {
        let item = || "writers".to_owned();
        let reason = "delivery-timeout".to_owned();
        out.push((of, Severity::Warning, Caveat::Failures { item: item(), reason, records: 120 }));
    }
    let lag = Caveat::ScheduleDelayLarge {
        item: "writers".to_owned(),
        schedule_delay_ns_p99: 900_000,
        response_ns_p99: 5_000_000,
    };
    out.push((trial(0, 1), Severity::Warning, lag));
    let late = Caveat::OfferedNotAchieved { item: "writers".to_owned(), share: 0.9167 };
    out.push((trial(1, 1), Severity::Invalid, late));
    out
}

pub fn phases() -> Vec<PhaseSpan> {
    [(Phase::Warmup, 0, 5), (Phase::Measure, 5, 35), (Phase::Drain, 35, 40)]
        .map(|(phase, start, end)| PhaseSpan { phase, start_ns: start * SECOND_NS, end_ns: end * SECOND_NS })
        .to_vec()
}

fn second(second: u32) -> SecondPoint {
    let phase = match second {
        0..5 => Phase::Warmup,
        5..35 => Phase::Measure,
        _ => Phase::Drain,
    };
    // A stall at second 20 and 21, caught up afterwards; a fixed wave stands for noise.
    let wave = f64::from((second * 7) % 5) * 300.0;
    let stalled = (20..22).contains(&second);
    let (offered, acknowledged) = match (phase, stalled) {
        (Phase::Drain, _) => (0, 0),
        (_, true) => (60_000, 4_000),
        (_, false) if second == 22 => (60_000, 171_000),
        _ => (60_000, 59_500 + wave as u64),
    };
    let slow = if stalled { 1.4e9 } else { 30e6 + wave * 20e3 };
    let value = |ns: f64| if phase == Phase::Drain { Value::None } else { Value::Is(ns) };
    SecondPoint {
        second,
        phase,
        offered,
        achieved: offered,
        acknowledged,
        fetched: acknowledged,
        failed: if stalled { 60 } else { 0 },
        response_ns_p50: value(slow / 6.0),
        response_ns_p99: if second == 20 { Value::AtLeast(1.4e9) } else { value(slow) },
        response_ns_max: value(slow * 2.5),
    }
}

fn series(of: TrialRef, label: &str) -> TrialSeries {
    let quantile = |quantile: f64, ns: f64| QuantilePoint { quantile, response_ns: Value::Is(ns) };
    let percentiles = vec![
        quantile(0.0, 1.1e6),
        quantile(0.5, 6.1e6),
        quantile(0.75, 9.4e6),
        quantile(0.9, 17.0e6),
        quantile(0.95, 26.0e6),
        quantile(0.99, 48.7e6),
        quantile(0.999, 201e6),
        QuantilePoint { quantile: 0.9999, response_ns: Value::AtLeast(1.4e9) },
    ];
    let stream = |name: &str, role, percentiles| StreamSeries {
        name: name.to_owned(),
        role,
        seconds: (0..40).map(second).collect(),
        percentiles,
    };
    let cpu = |subject: &str, level: f64| CpuSeries {
        subject: subject.to_owned(),
        points: (-2..40)
            .map(|s: i32| CpuPoint { at_s: f64::from(s), percent: level + f64::from((s * 3).rem_euclid(7)) })
            .collect(),
    };
    TrialSeries {
        trial: of,
        label: label.to_owned(),
        phases: phases(),
        streams: vec![
            stream("readers", SeriesRole::Consume, vec![]),
            stream("writers", SeriesRole::Produce, percentiles),
        ],
        cpu: vec![cpu("broker-0", 60.0), cpu("broker-1", 52.0), cpu("worker-0", 24.0), cpu("host", 150.0)],
    }
}

pub fn run() -> Run {
    let plan = plan();
    let rates =
        [(trial(0, 0), 59_871.0), (trial(1, 0), 55_204.0), (trial(1, 1), 54_998.0), (trial(0, 1), 59_903.0)];
    let trials = (0u32..).zip(&plan.order).map(|(number, of)| TrialStart {
        trial: *of,
        number,
        t0_unix_ns: 1_760_000_000 * SECOND_NS,
        t0_monotonic_ns: 1,
        phases: phases(),
        streams: vec![],
        cluster: BTreeMap::from([("kafka".to_owned(), "3.7.2".to_owned())]),
        command_lines: BTreeMap::from([(
            "broker-0".to_owned(),
            vec!["java".to_owned(), "-Xmx512m".to_owned(), "kafka.Kafka".to_owned()],
        )]),
    });
    let noise = plan.order.iter().map(|of| {
        let reading = NoiseReading {
            spin_per_us: 412.0,
            spin_worst_ratio: 1.3,
            sleep_late_ns_p50: 24_000,
            sleep_late_ns_p99: 61_000,
            loopback_ns_p50: 14_000,
            loopback_ns_p99: 39_000,
            steal_share: 0.002,
        };
        (*of, reading)
    });
    let event = Event {
        at_unix_ns: 1_760_000_020 * SECOND_NS,
        at_ns: Some(20 * SECOND_NS as i64),
        kind: "request-timeout".to_owned(),
        subject: "writers".to_owned(),
        detail: "no answer from broker 1 within 30000 ms".to_owned(),
    };
    Run {
        trials: trials.collect(),
        noise: noise.collect(),
        events: vec![(Some(trial(1, 0)), event)],
        findings: rates.iter().flat_map(|(of, rate)| stream_findings(*of, *rate)).collect(),
        caveats: caveats(),
        series: vec![series(trial(0, 0), "brokers=3"), series(trial(1, 0), "brokers=6")],
        header: RunHeader {
            run_id: 0x0123_4567_89ab_cdef,
            kdyno_version: "0.1.0".to_owned(),
            started_unix_ns: 1_760_000_000 * SECOND_NS,
            scenario_text: "kdyno: 1\nid: fixture\n".to_owned(),
            scenario_path: "fixture.yaml".to_owned(),
            plan,
            host_facts: BTreeMap::from([
                ("processors".to_owned(), "2".to_owned()),
                ("memory".to_owned(), "24 GiB".to_owned()),
            ]),
            command_line: ["kdyno", "run", "fixture", "--set", "dur=30s"].map(str::to_owned).to_vec(),
            git_head: Some("9730c19".to_owned()),
        },
        end: RunEnd {
            status: RunStatus::Completed,
            exit_code: 0,
            detail: String::new(),
            ended_unix_ns: 1_760_000_300 * SECOND_NS,
        },
    }
}
