//! A small run to write: one case, two sessions, two trials, a producing stream on each of two workers.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod child;
mod conclusions;
mod plan;

pub use conclusions::conclusions;
pub use plan::{case, header, other_case};

use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Interval, IntervalMethod, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::RoleKind;
use kdyno_model::run::{
    RunStatus, Session, SessionEnd, SettingInForce, SettingOrigin, SettingsInForce, StreamInfo, TrialStart,
};
use kdyno_model::sample::{
    ClientTotals, Counts, Grain, NoiseReading, PartitionTotals, Phase, ProbeReading, Sample, StreamId,
    StreamTotals, Timing, series,
};
use kdyno_model::trial::{PairPlace, Trial, TrialId, TrialReason};
use kdyno_model::worker::PhaseSpan;
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub const TRIAL: TrialId = TrialId(1);
/// A trial of the second session.
pub const LATER_TRIAL: TrialId = TrialId(2);

/// An equal stream number on two workers.
pub const STREAMS: [StreamId; 2] = [StreamId { worker: 0, stream: 0 }, StreamId { worker: 1, stream: 0 }];

pub fn session(number: u32) -> Session {
    Session {
        number,
        started_unix_ns: 1_790_000_000_000_000_000 + 60_000_000_000 * u64::from(number - 1),
        kdyno_version: "0.1.0".into(),
        git_head: (number == 1).then(|| "0b7829f".into()),
        command_line: vec!["kdyno".into(), "run".into(), "fixture".into()],
        boot_id: "5f8c0a52".into(),
        processors: 2,
        host_facts: BTreeMap::from([("governor".into(), "performance".into())]),
    }
}

pub fn trial_start() -> TrialStart {
    let stream = |id| StreamInfo {
        id,
        name: "writers".into(),
        topic: "kdyno-perf".into(),
        role: RoleKind::Produce,
        clients: 1,
        value_bytes: 128,
    };
    let reader = StreamInfo {
        name: "readers".into(),
        role: RoleKind::Consume,
        value_bytes: 0,
        ..stream(StreamId { worker: 1, stream: 1 })
    };
    TrialStart {
        trial: Trial {
            id: TRIAL,
            case: 0,
            variant: None,
            pair: None,
            repeat: 1,
            start: 1,
            label: "#1".into(),
            reason: TrialReason::Listed { of: 2 },
            seed: u64::MAX,
            effective: case(),
        },
        session: 1,
        t0_unix_ns: 1_790_000_001_000_000_000,
        t0_monotonic_ns: 123_456,
        streams: STREAMS.map(stream).into_iter().chain([reader]).collect(),
        cluster: BTreeMap::from([("version".into(), "4.1.1".into())]),
        settings: BTreeMap::from([(Subject::Broker(1), broker_settings())]),
        command_lines: BTreeMap::from([(Subject::Broker(0), vec!["java".into(), "kafka.Kafka".into()])]),
    }
}

fn broker_settings() -> SettingsInForce {
    use SettingOrigin::{Default, Dynamic, Static, Topic, Unknown};
    let set = SettingInForce::new(Static, "9").with_default(Some("3".into()));
    let others = [(Default, "8"), (Dynamic, ""), (Topic, "7"), (Unknown, "10")];
    let others = others.map(|(origin, value)| SettingInForce::new(origin, value));
    let all = [set].into_iter().chain(others);
    all.zip(1..).map(|(setting, number)| (format!("setting.{number}"), setting)).collect()
}

pub fn later_trial() -> TrialStart {
    let mut start = trial_start();
    start.session = 2;
    start.trial.id = LATER_TRIAL;
    start.trial.variant = Some("B".into());
    start.trial.pair = Some(PairPlace { pair: 1, place: 2 });
    start.trial.case = 1;
    start.trial.effective = other_case();
    start
}

/// Phases as a trial has them in the end.
pub fn phases() -> Vec<PhaseSpan> {
    let s = 1_000_000_000;
    vec![
        PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: s },
        PhaseSpan { phase: Phase::Measure, start_ns: s, end_ns: 4 * s },
        PhaseSpan { phase: Phase::Drain, start_ns: 4 * s, end_ns: 5 * s },
    ]
}

/// Phases before it is known when the measure phase begins.
pub fn warmup_without_end() -> Vec<PhaseSpan> {
    vec![PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: u64::MAX }]
}

/// A row of the first worker.
pub fn sample(sequence: u64) -> Sample {
    sample_of(STREAMS[0], sequence)
}

pub fn sample_of(id: StreamId, sequence: u64) -> Sample {
    let second = u32::try_from(sequence).unwrap_or(u32::MAX);
    Sample {
        id,
        sequence,
        grain: Grain::Second,
        phase: if second == 0 { Phase::Warmup } else { Phase::Measure },
        t0_second: second,
        written_second: second + 1,
        counts: Counts {
            offered: 1000 + u64::from(id.worker),
            achieved: 1000,
            acknowledged: 990,
            acknowledged_bytes: 990 * 128,
            failed: BTreeMap::from([("NOT_LEADER_OR_FOLLOWER".into(), 10)]),
            requests: 10,
            request_bytes: 140_000,
            batches: 20,
            // Not known of the first row, and 0 of the second.
            lag_records: sequence.checked_sub(1),
            ..Counts::default()
        },
        histograms: BTreeMap::from([(Timing::Response, vec![sequence as u8; 90])]),
        sums_ns: BTreeMap::from([(Timing::Response, u128::from(u64::MAX) * 3), (Timing::ScheduleDelay, 5)]),
    }
}

/// A row of five seconds, with every timing.
pub fn five_seconds(id: StreamId, sequence: u64) -> Sample {
    let histogram = |timing| (timing, vec![7; 90]);
    let histograms = Timing::ALL.map(histogram).into();
    Sample { grain: Grain::FiveSeconds, histograms, phase: Phase::Drain, ..phase_row(id, sequence) }
}

/// A row of the whole measure phase.
pub fn phase_row(id: StreamId, sequence: u64) -> Sample {
    let row = sample_of(id, sequence);
    Sample { grain: Grain::Phase, counts: Counts::default(), t0_second: 4, written_second: 4, ..row }
}

pub fn readings(second: i64) -> Vec<ProbeReading> {
    let reading = |subject, name: &str, value| ProbeReading {
        at_ns: second * 1_000_000_000,
        subject,
        series: name.into(),
        value,
    };
    vec![
        reading(Subject::Broker(0), series::CPU_USER_S_TOTAL, 0.5 * second as f64),
        reading(Subject::Broker(0), series::MEMORY_RSS_BYTES, 6e8),
        reading(Subject::Host, series::CPU_STEAL_S_TOTAL, 0.0),
    ]
}

pub fn event(detail: &str) -> Event {
    Event {
        at_unix_ns: 1_790_000_002_000_000_000,
        at_ns: Some(-5),
        kind: EventKind::ProcessDied,
        subject: Subject::Item("writers".into()),
        detail: detail.into(),
    }
}

/// One of every kind, and of every subject.
pub fn events() -> Vec<Event> {
    let subjects = [
        Subject::Broker(1),
        Subject::Controller(3000),
        Subject::Zookeeper(0),
        Subject::Worker(1),
        Subject::Brokers,
        Subject::Kdyno,
        Subject::Host,
        Subject::Item("writers".into()),
        Subject::Setting("log.dirs".into()),
    ];
    let kinds = [
        EventKind::ProcessDied,
        EventKind::WorkerEnded,
        EventKind::CutShort,
        EventKind::UnknownSetting,
        EventKind::SettingsUnchecked,
        EventKind::HostShared,
        EventKind::Unreachable,
        EventKind::Disconnected,
        EventKind::MetadataError,
        EventKind::LeaderMoved,
        EventKind::FetchError,
        EventKind::RecordsSkipped,
        EventKind::EventsDropped,
        EventKind::TransactionAborted,
        EventKind::ProducerEnded,
    ];
    let all = kinds.into_iter().zip(subjects.into_iter().cycle());
    all.map(|(kind, subject)| Event { kind, subject, ..event("it was so") }).collect()
}

pub fn event_outside() -> Event {
    Event { at_ns: None, ..event("outside") }
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

pub fn totals() -> Vec<StreamTotals> {
    let totals = |id| StreamTotals {
        id,
        counts: Counts { offered: 3000, acknowledged: 2970, ..sample_of(id, 0).counts },
        clients: vec![
            ClientTotals {
                records: 1485 + u64::from(id.worker),
                began_ns: None,
                span_ns: 4_000_000_000,
                member: None
            };
            2
        ],
        steady: None,
        caught_up: None,
        partitions: vec![PartitionTotals { records: 7, bytes: 700 }; 3],
    };
    STREAMS.map(totals).to_vec()
}

pub fn finding(scope: Scope, metric: &str, unit: Unit, estimate: Value) -> Finding {
    Finding {
        scope,
        of: Address { subject: "writers".into(), metric: metric.into() },
        quantity: Quantity::Value,
        unit,
        estimate,
        n: 1,
        range: None,
        interval: Interval::NotResolvable(NotResolvable::OneTrial),
        marks: BTreeSet::new(),
    }
}

/// One of every scope, and of every unit.
pub fn findings() -> Vec<Finding> {
    let of_trial = Scope::Trial(TRIAL);
    let rate = |scope, value| finding(scope, "acked_per_s", Unit::RecordsPerS, value);
    let none = |scope, unit, why| Finding {
        interval: Interval::NotResolvable(why),
        ..finding(scope, "clients", unit, Value::None)
    };
    // A number of many digits, which must come back to the last one.
    let third = 1000.0 / 3.0;
    vec![
        rate(of_trial, Value::Is(third)),
        finding(of_trial, "response.p99", Unit::Ns, Value::AtLeast(5e6)),
        finding(of_trial, "fetched_per_s", Unit::RecordsPerS, Value::None),
        Finding {
            n: 2,
            range: Some((Value::Is(third), Value::AtLeast(1e300))),
            interval: Interval::Bounds {
                low: third,
                high: 5e-324,
                level: 0.95,
                method: IntervalMethod::OrderStatistics,
            },
            marks: BTreeSet::from([Mark::Invalid, Mark::ShortTerm]),
            ..rate(Scope::Case(0), Value::Is(0.1 + 0.2))
        },
        none(Scope::SideB { case: 0 }, Unit::Count, NotResolvable::NoMethod),
        none(Scope::Pair { case: 0, pair: 1 }, Unit::Count, NotResolvable::NoMethod),
        none(Scope::Comparison { case: 0 }, Unit::MibPerS, NotResolvable::TooFewTrials { needed: 6 }),
        none(Scope::Search { case: 0 }, Unit::PercentOfCore, NotResolvable::Censored),
        none(Scope::Case(1), Unit::CpuUsPerRecord, NotResolvable::NoValue),
        none(Scope::Case(1), Unit::Bytes, NotResolvable::NoValue),
        none(Scope::Case(1), Unit::YesNo, NotResolvable::NoValue),
        Finding {
            quantity: Quantity::RatioToFirstRow,
            unit: Unit::Ratio,
            ..rate(Scope::PublishedRow(0), Value::Is(1.0))
        },
        rate(Scope::Run, Value::None),
    ]
}

/// Everything that was drawn.
pub fn judgement() -> Judgement {
    Judgement { findings: findings(), caveats: caveats(), conclusions: conclusions() }
}

/// What of it speaks of such scopes.
pub fn judgement_where(is_such: impl Fn(Scope) -> bool) -> Judgement {
    let mut found = judgement();
    found.findings.retain(|finding| is_such(finding.scope));
    found.caveats.retain(|caveat| is_such(caveat.scope));
    found.conclusions.retain(|conclusion| is_such(conclusion.scope()));
    found
}

/// One of every kind.
pub fn caveats() -> Vec<ScopedCaveat> {
    let text = str::to_owned;
    let item = || text("writers");
    let third = 1.0 / 3.0;
    let of_trial = [
        Caveat::QueueGrowth { item: item(), start_s: third, growth_s: 5.0, allowed_s: 0.05 },
        Caveat::AccountingBroken { item: item(), difference: -1 },
        Caveat::SamplesMissing { item: item(), count: text("retries"), difference: -1 },
        Caveat::Failures { item: item(), reason: text("delivery-timeout"), records: 1 },
        Caveat::Unresolved { item: item(), records: 1 },
        Caveat::ThreadBusy { thread: item(), cpu_percent: 80.0 },
        Caveat::WorkerBusy { cpu_percent: third, cores: 2 },
        Caveat::GeneratorLate { item: item(), quantile: text("p99.9"), late_ns: u64::MAX, response_ns: 1 },
        Caveat::SharedProcessors { processors: 2 },
        Caveat::OtherLoad { cpu_percent: third },
        Caveat::HostShared { detail: text("another run") },
        Caveat::FetchErrors { item: item(), events: 1, first: text("it failed") },
        Caveat::ProducerEnded { item: item(), first: text("it is fenced") },
        Caveat::RecordsSkipped { item: item(), events: 1, first: text("they were gone") },
        Caveat::MemoryStorage,
        Caveat::ClosedLoop { item: item() },
        Caveat::CutShort { reason: text("a broker died"), measured_s: 7, planned_s: 60, went_on: false },
        Caveat::ProcessDied { subject: Subject::Broker(0) },
        Caveat::UnknownSetting { setting: text("log.dir"), detail: text("it is ignored") },
        Caveat::PooledCompression { item: item() },
        Caveat::CompressionMissed { item: item(), stated: 4.0, reached: third },
        Caveat::AssignedNotGroup { item: item() },
    ];
    let severities = [Severity::Invalid, Severity::Note, Severity::Warning].into_iter().cycle();
    let steal = ScopedCaveat {
        scope: Scope::Run,
        severity: Severity::Note,
        concerns: Concern::Everything,
        caveat: Caveat::Steal { share: third },
    };
    let of_trial = of_trial.into_iter().zip(severities).map(|(caveat, severity)| ScopedCaveat {
        scope: Scope::Trial(TRIAL),
        severity,
        concerns: Concern::Latencies { item: "writers".into() },
        caveat,
    });
    of_trial.chain([steal]).collect()
}

pub fn end() -> SessionEnd {
    SessionEnd {
        status: RunStatus::Completed,
        detail: String::new(),
        ended_unix_ns: 1_790_000_090_000_000_000,
    }
}

pub fn interrupted() -> SessionEnd {
    SessionEnd {
        status: RunStatus::Interrupted,
        detail: "somebody asked it to stop".into(),
        ended_unix_ns: 1_790_000_009_000_000_000,
    }
}

/// Writes all that a session can hold but its end.
pub fn write_session(writer: &RunWriter) -> Result<(), StoreError> {
    writer.noise(TRIAL, noise())?;
    writer.trial_started(&trial_start())?;
    writer.phases(TRIAL, &warmup_without_end())?;
    for second in 0..3 {
        for stream in STREAMS {
            writer.sample(TRIAL, sample_of(stream, second))?;
        }
        writer.probe(TRIAL, readings(second.cast_signed()))?;
    }
    writer.phases(TRIAL, &phases())?;
    for stream in STREAMS {
        writer.sample(TRIAL, five_seconds(stream, 3))?;
        writer.sample(TRIAL, phase_row(stream, 4))?;
    }
    for event in events() {
        writer.event(Some(TRIAL), event)?;
    }
    writer.event(None, event_outside())?;
    writer.totals(TRIAL, totals())?;
    writer.log("broker-0", "java.lang.OutOfMemoryError")?;
    writer.judgement(&judgement())
}

/// What [`write_session`] leaves of its trial; the rows of the whole phase say what those of five seconds said.
pub fn evidence() -> TrialEvidence {
    let rows = |id| (0..3).map(move |second| sample_of(id, second)).chain([phase_row(id, 4)]);
    TrialEvidence {
        start: trial_start(),
        session: session(1),
        phases: phases(),
        samples: STREAMS.into_iter().flat_map(rows).collect(),
        probes: (0..3).flat_map(readings).collect(),
        totals: totals(),
        events: events(),
        noise: vec![noise()],
    }
}

/// A run that was interrupted, and resumed for one more trial.
pub fn write_run(path: &Path) -> Result<(), StoreError> {
    let writer = RunWriter::create(path, &header(), &session(1))?;
    write_session(&writer)?;
    writer.finish(interrupted())?;
    let writer = RunWriter::resume(path, &session(2))?;
    writer.trial_started(&later_trial())?;
    writer.sample(LATER_TRIAL, sample(0))?;
    let of_trial = |scope| matches!(scope, Scope::Trial(_));
    writer.judgement(&judgement_where(|scope| !of_trial(scope)))?;
    writer.finish(end())
}

/// Everything that [`write_session`] writes.
pub fn assert_session(file: &RunFile) -> Result<(), StoreError> {
    assert_evidence(file)?;
    assert_eq!(file.judgement()?, judgement());
    Ok(())
}

/// The file but for what was drawn from it.
pub fn assert_evidence(file: &RunFile) -> Result<(), StoreError> {
    assert_eq!(file.header()?, header());
    assert_eq!(file.sessions()?[0].0, session(1));
    assert_eq!(file.trials()?[0], trial_start());
    assert_eq!(file.evidence(TRIAL)?, evidence());
    let of_trial = events().into_iter().map(|event| (Some(TRIAL), event));
    assert_eq!(file.events()?, of_trial.chain([(None, event_outside())]).collect::<Vec<_>>());
    assert_eq!(file.logs()?, [("broker-0".to_owned(), "java.lang.OutOfMemoryError".to_owned())]);
    Ok(())
}

/// Everything that [`write_run`] writes.
pub fn assert_run(file: &RunFile) -> Result<(), StoreError> {
    assert_session(file)?;
    assert_eq!(file.sessions()?, [(session(1), Some(interrupted())), (session(2), Some(end()))]);
    assert_eq!(file.trials()?, [trial_start(), later_trial()]);
    let later = file.evidence(LATER_TRIAL)?;
    assert_eq!((later.session, later.samples, later.phases), (session(2), vec![sample(0)], Vec::new()));
    Ok(())
}
