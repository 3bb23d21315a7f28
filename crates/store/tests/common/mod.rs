//! A small run to write: one case, one trial, a producing stream.

#![allow(dead_code, reason = "each test program uses a part of it")]

use kdyno_model::finding::{Caveat, Finding, Severity, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{
    Arrivals, CasePlan, ClusterPlan, Compression, ConsumePlan, Isolation, KafkaSource, LoadPlan, Mode,
    ParamValue, Partitioner, Payload, PhasesPlan, Plan, ProducePlan, ProducerSettings, Published,
    PublishedRow, Rate, RatePiece, Role, Show, StartOffset, Storage, SystemPlan, TopicPlan, TrialRef,
};
use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, StreamInfo, TrialStart};
use kdyno_model::sample::{
    ClientTotals, Counts, Grain, NoiseReading, Phase, ProbeReading, Sample, StreamTotals, Timing, series,
};
use kdyno_model::series::SeriesRole;
use kdyno_model::worker::PhaseSpan;
use kdyno_store::{RunWriter, StoreError};
use std::collections::BTreeMap;

pub const TRIAL: TrialRef = TrialRef { case: 0, repeat: 0 };

pub fn header() -> RunHeader {
    let cluster = ClusterPlan {
        kafka: KafkaSource::Release("4.1.1".into()),
        mode: Mode::KraftCombined,
        brokers: 1,
        heap_bytes: 512 << 20,
        jvm_options: Vec::new(),
        config: BTreeMap::from([("num.io.threads".into(), "8".into())]),
        cpus: Vec::new(),
        racks: Vec::new(),
        storage: Storage::Disk,
    };
    let case = CasePlan {
        label: String::new(),
        params: BTreeMap::from([
            ("brokers".into(), ParamValue::Int(1)),
            ("share".into(), ParamValue::Float(0.5)),
            ("size".into(), ParamValue::Text("128B".into())),
        ]),
        system: SystemPlan::Local(cluster),
        topics: BTreeMap::from([(
            "perf".into(),
            TopicPlan { partitions: 2, replicas: 1, config: BTreeMap::new() },
        )]),
        load: BTreeMap::from([("readers".into(), readers()), ("writers".into(), writers())]),
        phases: PhasesPlan { warmup_ns: 1_000_000_000, measure_ns: 3_000_000_000, drain_ns: 1_000_000_000 },
    };
    RunHeader {
        run_id: 0xfeed_beef_0000_0001,
        kdyno_version: "0.1.0".into(),
        started_unix_ns: 1_790_000_000_000_000_000,
        scenario_text: "kdyno: 1\nid: fixture\n".into(),
        scenario_path: "fixture".into(),
        plan: Plan {
            scenario: "fixture".into(),
            question: "Does it come back?".into(),
            profile: "laptop".into(),
            changed: BTreeMap::new(),
            seed: 7,
            cases: vec![case],
            order: vec![TRIAL],
            isolation: Isolation::Topic,
            show: Show {
                rows: vec!["brokers".into()],
                columns: vec![Address { subject: "writers".into(), metric: "acked_per_s".into() }],
            },
            published: Some(Published {
                title: "A report".into(),
                date: "2022".into(),
                hardware: "brokers of 4 CPU".into(),
                definition: String::new(),
                rows: vec![PublishedRow {
                    params: BTreeMap::from([("brokers".into(), ParamValue::Int(1))]),
                    values: BTreeMap::from([("writers.acked_per_s".into(), Some(1.5))]),
                }],
            }),
        },
        host_facts: BTreeMap::from([("processors".into(), "2".into())]),
        command_line: vec!["kdyno".into(), "run".into(), "fixture".into()],
        git_head: None,
    }
}

fn writers() -> LoadPlan {
    let client = ProducerSettings {
        defaults: "4.1".into(),
        acks: -1,
        batch_bytes: 16_384,
        linger_ns: 5_000_000,
        buffer_bytes: 32 << 20,
        request_bytes_max: 1 << 20,
        in_flight_max: 5,
        compression: Compression::None,
        max_block_ns: 60_000_000_000,
        request_timeout_ns: 30_000_000_000,
        delivery_timeout_ns: 120_000_000_000,
        retry_backoff_ns: 100_000_000,
        metadata_max_age_ns: 300_000_000_000,
        partitioner: Partitioner::Sticky,
    };
    let piece = RatePiece { from_per_s: 1000.0, to_per_s: 1000.0, length_ns: 1_000_000_000 };
    let role = Role::Produce(ProducePlan {
        rate: Rate::Open { pieces: vec![piece], arrivals: Arrivals::Poisson },
        value_bytes: 128,
        payload: Payload::Pooled { pool_bytes: 8 << 20 },
        records_max: None,
        client,
    });
    LoadPlan { topic: "perf".into(), clients: 2, role }
}

fn readers() -> LoadPlan {
    let role = Role::Consume(ConsumePlan {
        from: StartOffset::Latest,
        fetch_bytes_max: 52_428_800,
        partition_bytes_max: 1 << 20,
        fetch_bytes_min: 1,
        fetch_wait_ns: 500_000_000,
        request_timeout_ns: 30_000_000_000,
        retry_backoff_ns: 100_000_000,
    });
    LoadPlan { topic: "perf".into(), clients: 1, role }
}

pub fn trial_start() -> TrialStart {
    let s = 1_000_000_000;
    TrialStart {
        trial: TRIAL,
        number: 0,
        t0_unix_ns: 1_790_000_001_000_000_000,
        t0_monotonic_ns: 123_456,
        phases: vec![
            PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: s },
            PhaseSpan { phase: Phase::Measure, start_ns: s, end_ns: 4 * s },
            PhaseSpan { phase: Phase::Drain, start_ns: 4 * s, end_ns: 5 * s },
        ],
        streams: vec![StreamInfo {
            stream: 0,
            name: "writers".into(),
            topic: "kdyno-perf".into(),
            role: SeriesRole::Produce,
            clients: 2,
            value_bytes: 128,
        }],
        cluster: BTreeMap::from([("version".into(), "4.1.1".into())]),
        command_lines: BTreeMap::from([("broker-0".into(), vec!["java".into(), "kafka.Kafka".into()])]),
    }
}

pub fn sample(sequence: u64) -> Sample {
    let second = u32::try_from(sequence).unwrap_or(u32::MAX);
    Sample {
        worker: 0,
        stream: 0,
        sequence,
        grain: Grain::Second,
        phase: if second == 0 { Phase::Warmup } else { Phase::Measure },
        t0_second: second,
        written_second: second + 1,
        counts: Counts {
            offered: 1000,
            achieved: 1000,
            acknowledged: 990,
            acknowledged_bytes: 990 * 128,
            failed: BTreeMap::from([("NOT_LEADER_OR_FOLLOWER".into(), 10)]),
            requests: 10,
            request_bytes: 140_000,
            batches: 20,
            ..Counts::default()
        },
        histograms: BTreeMap::from([(Timing::Response, vec![sequence as u8; 90])]),
        sums_ns: BTreeMap::from([(Timing::Response, u128::from(u64::MAX) * 3), (Timing::ScheduleDelay, 5)]),
    }
}

pub fn readings(second: i64) -> Vec<ProbeReading> {
    let reading = |subject: &str, name: &str, value| ProbeReading {
        at_ns: second * 1_000_000_000,
        subject: subject.into(),
        series: name.into(),
        value,
    };
    vec![
        reading("broker-0", series::CPU_USER_S_TOTAL, 0.5 * second as f64),
        reading("broker-0", series::MEMORY_RSS_BYTES, 6e8),
        reading("host", series::CPU_STEAL_S_TOTAL, 0.0),
    ]
}

pub fn event(detail: &str) -> Event {
    Event {
        at_unix_ns: 1_790_000_002_000_000_000,
        at_ns: Some(-5),
        kind: "process-died".into(),
        subject: "broker-0".into(),
        detail: detail.into(),
    }
}

pub fn noise() -> NoiseReading {
    NoiseReading {
        spin_per_us: 410.5,
        spin_worst_ratio: 1.25,
        sleep_late_ns_p50: 21_000,
        sleep_late_ns_p99: 62_000,
        loopback_ns_p50: 9_000,
        loopback_ns_p99: 30_000,
        steal_share: 0.001,
    }
}

pub fn totals() -> StreamTotals {
    StreamTotals {
        stream: 0,
        counts: Counts { offered: 3000, acknowledged: 2970, ..sample(0).counts },
        clients: vec![ClientTotals { records: 1485, span_ns: 4_000_000_000 }; 2],
    }
}

pub fn findings() -> Vec<Finding> {
    let finding = |metric: &str, unit, value| Finding {
        trial: TRIAL,
        of: Address { subject: "writers".into(), metric: metric.into() },
        unit,
        value,
    };
    vec![
        finding("acked_per_s", Unit::RecordsPerS, Value::Is(990.0)),
        finding("response.p99", Unit::Ns, Value::AtLeast(5e6)),
        finding("fetched_per_s", Unit::RecordsPerS, Value::None),
    ]
}

pub fn caveats() -> Vec<(TrialRef, Severity, Caveat)> {
    vec![
        (TRIAL, Severity::Invalid, Caveat::AccountingBroken { item: "writers".into(), difference: -1 }),
        (TRIAL, Severity::Note, Caveat::ClosedLoop { item: "writers".into() }),
    ]
}

pub fn end() -> RunEnd {
    RunEnd {
        status: RunStatus::Completed,
        exit_code: 0,
        detail: String::new(),
        ended_unix_ns: 1_790_000_009_000_000_000,
    }
}

/// Writes all that a run can hold but its end.
pub fn write_run(writer: &RunWriter) -> Result<(), StoreError> {
    writer.noise(TRIAL, noise())?;
    writer.trial_started(&trial_start())?;
    for second in 0..3 {
        writer.sample(TRIAL, sample(second))?;
        writer.probe(TRIAL, readings(second.cast_signed()))?;
    }
    writer.event(Some(TRIAL), event("it was killed"))?;
    writer.event(None, Event { at_ns: None, ..event("outside") })?;
    writer.totals(TRIAL, vec![totals()])?;
    writer.log("broker-0", "java.lang.OutOfMemoryError")?;
    writer.findings(&findings(), &caveats())
}
