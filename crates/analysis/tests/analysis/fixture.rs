//! A made-up trial: a warm-up of 2 s, a measure phase of 10 s, a drain; 1000 records/s, each acknowledged 4 ms after its t0.

#[path = "../../../model/tests/common/clients.rs"]
mod clients;
#[path = "../../../model/tests/common/plans.rs"]
pub mod plans;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Mark, Scope, Value};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{
    Arrivals, CasePlan, ClusterPlan, Fill, LoadPlan, PhasesPlan, ProducePlan, ProducerSettings, Rate,
    RatePiece, Role, RoleKind, StartOffset, SystemPlan, WorkerPlan, WorkerShare,
};
use kdyno_model::run::{Session, StreamInfo, TrialStart};
use kdyno_model::sample::{
    ClientTotals, Counts, Grain, LATENCY_NS_MAX, LATENCY_NS_MIN, Phase, ProbeReading, Sample, StreamId,
    StreamTotals, Timing, series,
};
use kdyno_model::trial::{TrialId, TrialReason};
use kdyno_model::worker::PhaseSpan;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

pub const S: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
pub const PER_SECOND: u64 = 1000;
pub const VALUE_BYTES: u32 = 128;

/// The stages of every record, ns, in the order of [`Timing::STAGES`]; they sum to 4 ms.
pub const STAGES_NS: [u64; 7] = [50_000, 0, 1_500_000, 0, 50_000, 2_390_000, 10_000];

/// The streams of worker 0.
pub const READERS: StreamId = StreamId { worker: 0, stream: 0 };
pub const WRITERS: StreamId = StreamId { worker: 0, stream: 1 };

/// Evidence with ways to make and to change it.
#[derive(Clone)]
pub struct TrialFixture(pub TrialEvidence);

impl Deref for TrialFixture {
    type Target = TrialEvidence;

    fn deref(&self) -> &TrialEvidence {
        &self.0
    }
}

impl DerefMut for TrialFixture {
    fn deref_mut(&mut self) -> &mut TrialEvidence {
        &mut self.0
    }
}

impl TrialFixture {
    /// A trial without anything to doubt but that it is a local one.
    pub fn clean() -> Self {
        let start = TrialStart {
            trial: kdyno_model::trial::Trial {
                id: TrialId(1),
                case: 0,
                variant: None,
                pair: None,
                repeat: 1,
                start: 1,
                label: "brokers=2".into(),
                reason: TrialReason::Listed { of: 1 },
                seed: 1,
                effective: case(),
            },
            session: 1,
            t0_unix_ns: 0,
            t0_monotonic_ns: 0,
            streams: vec![
                stream(READERS, "readers", RoleKind::Consume),
                stream(WRITERS, "writers", RoleKind::Produce),
            ],
            cluster: BTreeMap::new(),
            settings: std::collections::BTreeMap::new(),
            command_lines: BTreeMap::new(),
        };
        let mut trial = Self(TrialEvidence {
            start,
            session: session(),
            phases: vec![
                PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: 2 * S },
                PhaseSpan { phase: Phase::Measure, start_ns: 2 * S, end_ns: 12 * S },
                PhaseSpan { phase: Phase::Drain, start_ns: 12 * S, end_ns: 15 * S },
            ],
            samples: Vec::new(),
            probes: probes(),
            totals: Vec::new(),
            events: Vec::new(),
            noise: Vec::new(),
        });
        for second in 0..12 {
            trial.second(second, second);
        }
        trial.phase_rows(Phase::Warmup, 2);
        trial.phase_rows(Phase::Measure, 10);
        trial.take_totals();
        trial
    }

    pub fn push(&mut self, id: StreamId, grain: Grain, phase: Phase, t0: u32, written: u32) -> &mut Sample {
        let sequence = self.samples.len() as u64;
        self.samples.push(Sample {
            id,
            sequence,
            grain,
            phase,
            t0_second: t0,
            written_second: written,
            counts: Counts::default(),
            histograms: BTreeMap::new(),
            sums_ns: BTreeMap::new(),
        });
        self.samples.last_mut().unwrap()
    }

    /// A second's records, written in a second of its own choice.
    pub fn second(&mut self, t0: u32, written: u32) {
        let phase = if t0 < 2 { Phase::Warmup } else { Phase::Measure };
        let row = self.push(WRITERS, Grain::Second, phase, t0, written);
        row.counts = Counts {
            offered: PER_SECOND,
            achieved: PER_SECOND,
            acknowledged: PER_SECOND,
            acknowledged_bytes: PER_SECOND * u64::from(VALUE_BYTES),
            requests: 10,
            request_bytes: 150_000,
            batches: 20,
            record_bytes: PER_SECOND * u64::from(VALUE_BYTES + 8),
            sent_bytes: PER_SECOND * u64::from(VALUE_BYTES + 8),
            in_flight_ns: 10 * STAGES_NS[5],
            buffered_ns: 20 * STAGES_NS[2..].iter().sum::<u64>(),
            ..Counts::default()
        };
        row.histograms.insert(Timing::Response, histogram(&[(4 * MS, PER_SECOND)], 2));
        row.sums_ns.insert(Timing::Response, u128::from(PER_SECOND * 4 * MS));
        let row = self.push(READERS, Grain::Second, phase, t0, written);
        row.counts = Counts {
            fetched: PER_SECOND,
            fetched_bytes: 140_000,
            requests: 5,
            batches: 50,
            request_bytes: 145_000,
            lag_records: Some(0),
            ..Counts::default()
        };
    }

    fn phase_rows(&mut self, phase: Phase, seconds: u64) {
        let end = if phase == Phase::Warmup { 2 } else { 12 };
        let records = PER_SECOND * seconds;
        let row = self.push(WRITERS, Grain::Phase, phase, end, end);
        fill(row, records, &STAGES_NS);
    }

    /// Replaces the stages of every measured record in the phase rows.
    pub fn stages(&mut self, stages_ns: [u64; 7]) {
        for row in self.samples.iter_mut().filter(|row| row.grain == Grain::Phase) {
            let records = if row.phase == Phase::Warmup { 2 } else { 10 } * PER_SECOND;
            fill(row, records, &stages_ns);
        }
        let [_, _, linger, retry, send_wait, request, callback] = stages_ns;
        for row in self.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
            let counts = &mut row.counts;
            counts.in_flight_ns = counts.requests * request;
            counts.buffered_ns = counts.batches * (linger + retry + send_wait + request + callback);
        }
    }

    /// Acknowledgements of records of the window's last second that come in a later one.
    pub fn late_acknowledgements(&mut self, records: u64, written: u32) {
        let row = self.push(WRITERS, Grain::Second, Phase::Measure, 11, written);
        row.counts.acknowledged = records;
    }

    /// Adds readings of the worker's threads, each with its share of a core.
    pub fn threads<const N: usize>(&mut self, shares: [(&str, f64); N]) {
        for (thread, share) in shares {
            let name = format!("{}{thread}", series::THREAD_CPU_S_TOTAL_OF);
            self.counter(Subject::Worker(0), &name, share);
        }
    }

    /// Makes the totals say what the rows say.
    pub fn take_totals(&mut self) {
        let ids: Vec<_> = self.start.streams.iter().map(|stream| stream.id).collect();
        self.totals = ids.into_iter().map(|id| self.totals_of(id)).collect();
        let acknowledged = self.totals.iter().map(|totals| totals.counts.acknowledged).sum();
        self.log_grows(acknowledged);
    }

    /// The end offsets of the topic, read before T0 and after the drain.
    pub fn log_grows(&mut self, records: u64) {
        let topic = Subject::Topic("perf".into());
        self.probes.retain(|reading| reading.subject != topic);
        for (at_ns, value) in [(-S.cast_signed() / 2, 7000), (15 * S.cast_signed(), 7000 + records)] {
            self.probes.push(ProbeReading {
                at_ns,
                subject: topic.clone(),
                series: series::LOG_RECORDS_TOTAL.into(),
                value: value as f64,
            });
        }
    }

    /// Adds a counter that grows by so much each second.
    pub fn counter(&mut self, subject: Subject, name: &str, per_s: f64) {
        for second in -1i64..=15 {
            self.probes.push(ProbeReading {
                at_ns: second * S.cast_signed() + 300_000_000,
                subject: subject.clone(),
                series: name.into(),
                value: per_s * (second + 1) as f64,
            });
        }
    }

    fn totals_of(&self, id: StreamId) -> StreamTotals {
        let mut counts = Counts::default();
        for row in self.samples.iter().filter(|row| row.id == id) {
            counts.add(&row.counts);
        }
        let records = (counts.acknowledged + counts.fetched) / 2;
        let clients = vec![ClientTotals { records, began_ns: Some(0), span_ns: 12 * S, member: None }; 2];
        StreamTotals { id, counts, clients, ..StreamTotals::default() }
    }

    /// Counts of the writers' row of one second.
    pub fn counts(&mut self, second: u32) -> &mut Counts {
        let mut rows = self.samples.iter_mut();
        &mut rows
            .find(|row| row.id == WRITERS && row.grain == Grain::Second && row.t0_second == second)
            .unwrap()
            .counts
    }

    pub fn writers(&mut self) -> &mut ProducePlan {
        match &mut self.start.trial.effective.load.get_mut("writers").unwrap().role {
            Role::Produce(plan) => plan,
            Role::Consume(_) | Role::EndToEnd(_) => panic!("writers produce"),
        }
    }

    pub fn findings(&self) -> Vec<Finding> {
        kdyno_analysis::trial::judge(self).unwrap().findings
    }

    pub fn value(&self, address: &str) -> Value {
        let found: Vec<_> =
            self.findings().into_iter().filter(|finding| finding.of.to_string() == address).collect();
        assert_eq!(found.len(), 1, "{address} is stated {} times", found.len());
        found[0].estimate
    }

    pub fn is(&self, address: &str, wanted: f64) {
        match self.value(address) {
            Value::Is(found) if (found - wanted).abs() <= 1e-9 * wanted.abs() => {}
            other => panic!("{address} is {other:?}, not {wanted}"),
        }
    }

    pub fn judged(&self) -> Judgement {
        kdyno_analysis::trial::judge(self).unwrap()
    }

    /// The caveats without those that every trial of this plan has: local, on two processors, with readers, and with
    /// fewer than 100,000 records.
    pub fn caveats(&self) -> Vec<(Severity, Caveat)> {
        let mut caveats = unscoped(self.judged().caveats);
        let is_usual = |(_, caveat): &(Severity, Caveat)| match caveat {
            Caveat::SharedProcessors { processors } => *processors == 2,
            Caveat::AssignedNotGroup { item } => item == "readers",
            Caveat::FewRecords { item, .. } => item == "writers",
            _ => false,
        };
        assert_eq!(caveats.iter().filter(|one| is_usual(one)).count(), 3, "{caveats:?}");
        caveats.retain(|one| !is_usual(one));
        caveats
    }

    /// The one caveat that a rule gives cause for, with its severity and what it concerns; none: it is not reported.
    pub fn reported(&self, is_one: fn(&Caveat) -> bool) -> Vec<ScopedCaveat> {
        let mut caveats = self.judged().caveats;
        caveats.retain(|found| is_one(&found.caveat));
        caveats
    }

    /// Addresses of the findings with a mark.
    pub fn marked(&self, mark: Mark) -> BTreeSet<String> {
        let marked = self.findings().into_iter().filter(|finding| finding.marks.contains(&mark));
        marked.map(|finding| finding.of.to_string()).collect()
    }
}

pub fn event(kind: EventKind, subject: Subject, detail: &str) -> Event {
    Event { at_unix_ns: 1, at_ns: Some(5), kind, subject, detail: detail.to_owned() }
}

/// The value of a bucket: the largest that is equivalent at three digits.
pub fn at_three_digits(ns: u64) -> f64 {
    let histogram = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 3).unwrap();
    histogram.highest_equivalent(ns) as f64
}

/// Caveats that all concern the one trial.
pub fn unscoped(caveats: Vec<ScopedCaveat>) -> Vec<(Severity, Caveat)> {
    assert!(caveats.iter().all(|caveat| caveat.scope == Scope::Trial(TrialId(1))), "{caveats:?}");
    caveats.into_iter().map(|found| (found.severity, found.caveat)).collect()
}

pub fn histogram(values: &[(u64, u64)], digits: u8) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, digits).unwrap();
    for (value, count) in values {
        histogram.saturating_record_n(*value, *count);
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    bytes
}

fn fill(row: &mut Sample, records: u64, stages_ns: &[u64; 7]) {
    let response: u64 = stages_ns.iter().sum();
    let service = response - stages_ns[0] - stages_ns[1];
    let without_generator = response - stages_ns[0] - stages_ns[6];
    let totals = [
        (Timing::Response, response),
        (Timing::Service, service),
        (Timing::WithoutGenerator, without_generator),
    ];
    for (timing, ns) in Timing::STAGES.into_iter().zip(*stages_ns).chain(totals) {
        row.histograms.insert(timing, histogram(&[(ns, records)], 3));
        row.sums_ns.insert(timing, u128::from(records) * u128::from(ns));
    }
}

fn stream(id: StreamId, name: &str, role: RoleKind) -> StreamInfo {
    let value_bytes = if role == RoleKind::Produce { VALUE_BYTES } else { 0 };
    StreamInfo { id, name: name.into(), topic: "kdyno-perf".into(), role, clients: 2, value_bytes }
}

pub fn session() -> Session {
    Session {
        number: 1,
        started_unix_ns: 0,
        kdyno_version: "0.1.0".into(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: String::new(),
        processors: 2,
        host_facts: BTreeMap::new(),
    }
}

/// Two brokers at 40 and 20 % of a core, a worker at 30 %, a host that is idle otherwise.
fn probes() -> Vec<ProbeReading> {
    let mut probes = Vec::new();
    for second in -1i64..=15 {
        let mut add = |subject: &Subject, name: &str, value: f64| {
            probes.push(ProbeReading {
                at_ns: second * S.cast_signed() + 300_000_000,
                subject: subject.clone(),
                series: name.into(),
                value,
            });
        };
        let t = (second + 1) as f64;
        for (subject, share) in
            [(Subject::Broker(0), 0.4), (Subject::Broker(1), 0.2), (Subject::Worker(0), 0.3)]
        {
            add(&subject, series::CPU_USER_S_TOTAL, 0.75 * share * t);
            add(&subject, series::CPU_SYSTEM_S_TOTAL, 0.25 * share * t);
            add(&subject, series::MEMORY_RSS_BYTES, 1e8 + second as f64);
        }
        add(&Subject::Host, series::CPU_USER_S_TOTAL, 0.7 * t);
        add(&Subject::Host, series::CPU_SYSTEM_S_TOTAL, 0.2 * t);
        add(&Subject::Host, series::CPU_IOWAIT_S_TOTAL, 0.1 * t);
        add(&Subject::Host, series::CPU_STEAL_S_TOTAL, 0.0);
        add(&Subject::Host, series::CPU_IDLE_S_TOTAL, t);
    }
    probes
}

pub fn case() -> CasePlan {
    let cluster = ClusterPlan { brokers: 2, ..plans::cluster() };
    CasePlan {
        label: "brokers=2".into(),
        topics: BTreeMap::from([("perf".into(), plans::topic(4, 2))]),
        load: BTreeMap::from([("readers".into(), readers()), ("writers".into(), writers())]),
        phases: PhasesPlan { warmup_ns: 2 * S, warmup_auto: None, measure_ns: 10 * S, drain_ns: 3 * S },
        workers: vec![WorkerPlan { worker: 0, shares: vec![share("readers"), share("writers")] }],
        ..plans::case(SystemPlan::Local(cluster))
    }
}

fn share(item: &str) -> WorkerShare {
    WorkerShare { item: item.into(), client_first: 0, client_count: 2 }
}

pub fn closed_loop() -> Rate {
    Rate::Max { fill: Fill::Buffer }
}

fn writers() -> LoadPlan {
    let per_s = PER_SECOND as f64;
    let piece = RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: S };
    let plan = clients::produce(Rate::Open { pieces: vec![piece], arrivals: Arrivals::Poisson });
    let client = ProducerSettings { linger_ns: 5 * MS, ..plan.client };
    plans::item(2, Role::Produce(ProducePlan { value_bytes: VALUE_BYTES, client, ..plan }))
}

fn readers() -> LoadPlan {
    plans::item(2, Role::Consume(clients::consume(StartOffset::Latest)))
}
