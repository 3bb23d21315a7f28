//! What the limit was: loads that are held by a limit of known size, in simulated time, judged as those of a run are.
//! Each limit is named, and lifting it raises the rate by as much as the use of the next one leaves (the utilisation law): the
//! next limit is real too.
//!
//! A quota is one of the broker's and is provoked on a real one (`crates/kdyno/tests/real_cluster`).

#[path = "../../../model/tests/common/plans.rs"]
mod plans;

use crate::common::{Load, MS, Machine, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, RequestTrace, Service, ServicePer, ServiceTime};
use kdyno_model::conclusion::{Limit, LimitKind, of_kind};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{
    Arrivals, AttachedPlan, CasePlan, ClusterPlan, Fill, JitterLaw, LinkPlan, LoadPlan, PhasesPlan, Role,
    RoleKind, SystemPlan, ZonesPlan,
};
use kdyno_model::run::{Session, StreamInfo, TrialStart, cluster_fact};
use kdyno_model::sample::{Phase, ProbeReading, Sample, StreamId, series};
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use kdyno_model::worker::PhaseSpan;
use std::collections::BTreeMap;

/// What a load runs into.
#[derive(Clone)]
struct LimitFixture {
    load: Load,
    service: Service,
    /// CPU time of the broker, which has a processor of its own, for each record, ns.
    record_cost_ns: u64,
    /// The generator's highest rate, as it was measured against a broker that does nothing.
    generator_max_per_s: Option<f64>,
    /// What a target file declares; the cluster is then one elsewhere.
    declared: Option<(&'static str, &'static str)>,
    /// What the plan declares of the link between the clients' zone and the broker's, bytes/s.
    link_bytes_per_s: Option<u64>,
    /// The delay of that link that the plan declares, each way. The service has it in it.
    link_delay_ns: u64,
    replicas: u32,
}

/// What came of it.
struct Judged {
    per_s: f64,
    limit: Limit,
}

impl Judged {
    fn used(&self, kind: LimitKind) -> f64 {
        let found = self.limit.evidence.iter().find(|one| one.kind == kind).and_then(|one| one.used);
        found.unwrap_or_else(|| panic!("{kind} was not judged: {:?}", self.limit))
    }

    /// How many times as much the next limit would let through, if each record goes on costing what it costs.
    fn times(&self) -> f64 {
        1.0 / self.used(self.limit.runner_up.expect("a runner-up"))
    }

    /// The rate with the limit lifted, by that.
    fn promised_per_s(&self) -> f64 {
        self.per_s * self.times().max(1.0)
    }
}

/// Within so much of each other, as a share.
fn assert_near(found: f64, wanted: f64, share: f64, what: &str) {
    assert!((found / wanted - 1.0).abs() <= share, "{what}: {found}, expected {wanted}");
}

/// One server, records one after the other.
fn server(record_ns: u64) -> Service {
    Service::Queue { per: ServicePer::Record, time: ServiceTime::Constant { time_ns: record_ns } }
}

impl LimitFixture {
    /// As fast as it goes, in values of 1000 bytes, sixteen to a batch.
    fn at_most(fill: Fill, service: Service) -> Self {
        let mut load = Load::max(fill).seconds(5.0).with(|plan| plan.value_bytes = 1_000);
        load.warmup_seconds = 2;
        Self {
            load,
            service,
            record_cost_ns: 0,
            generator_max_per_s: None,
            declared: None,
            link_bytes_per_s: None,
            link_delay_ns: 0,
            replicas: 1,
        }
    }

    fn plan(mut self, change: impl FnOnce(&mut kdyno_model::plan::ProducerSettings)) -> Self {
        change(&mut self.load.plan.client);
        self
    }

    fn judged(&self) -> Judged {
        let config = FakeConfig::new(1).topic(TOPIC, 1).service(self.service.clone()).keep_traces();
        let mut outcome = simulate(&self.load, FakeCluster::new(config));
        outcome.assert_accounted();
        let seconds = self.load.seconds as u32;
        let warmup = self.load.warmup_seconds as u32;
        let in_window = |row: &&kdyno_model::sample::Sample| (warmup..seconds).contains(&row.written_second);
        let acknowledged: u64 =
            outcome.samples.iter().filter(in_window).map(|row| row.counts.acknowledged).sum();
        let evidence = TrialEvidence {
            start: self.start(),
            session: session(),
            phases: self.phases(),
            probes: [self.probes(&outcome.cluster.take_traces()), relayed(&outcome.samples)].concat(),
            samples: outcome.samples,
            totals: vec![outcome.totals],
            events: Vec::new(),
            noise: Vec::new(),
        };
        let conclusions = kdyno_analysis::trial::judge(&evidence).expect("findings").conclusions;
        let mut limits: Vec<Limit> = of_kind(&conclusions).cloned().collect();
        assert_eq!(limits.len(), 1, "{limits:?}");
        Judged { per_s: acknowledged as f64 / f64::from(seconds - warmup), limit: limits.remove(0) }
    }

    fn spans_ns(&self) -> [u64; 3] {
        let load_ns = (self.load.seconds * SECOND as f64) as u64;
        [self.load.warmup_seconds * SECOND, load_ns, load_ns + self.load.drain_seconds * SECOND]
    }

    fn phases(&self) -> Vec<PhaseSpan> {
        let [measure_ns, drain_ns, end_ns] = self.spans_ns();
        vec![
            PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: measure_ns },
            PhaseSpan { phase: Phase::Measure, start_ns: measure_ns, end_ns: drain_ns },
            PhaseSpan { phase: Phase::Drain, start_ns: drain_ns, end_ns },
        ]
    }

    /// The broker's CPU time at each second, by what it had served.
    fn probes(&self, traces: &[RequestTrace]) -> Vec<ProbeReading> {
        let mut probes = Vec::new();
        for second in 0..=self.load.seconds as u64 {
            let served = traces.iter().filter(|trace| trace.completion_ns <= T0 + second * SECOND);
            let used_ns = served.map(|trace| trace.records * self.record_cost_ns).sum::<u64>();
            let at_ns = (second * SECOND).cast_signed();
            for (name, ns) in [(series::CPU_USER_S_TOTAL, used_ns), (series::CPU_SYSTEM_S_TOTAL, 0)] {
                let value = ns as f64 / SECOND as f64;
                probes.push(ProbeReading {
                    at_ns,
                    subject: Subject::Broker(0),
                    series: name.to_owned(),
                    value,
                });
            }
        }
        probes
    }

    fn start(&self) -> TrialStart {
        let [measure_ns, drain_ns, end_ns] = self.spans_ns();
        let role = Role::Produce(self.load.plan.clone());
        let item = LoadPlan {
            topic: TOPIC.to_owned(),
            zone: Some("c".to_owned()),
            ..plans::item(self.load.clients, role)
        };
        let effective = CasePlan {
            topics: BTreeMap::from([(TOPIC.to_owned(), plans::topic(1, self.replicas))]),
            load: BTreeMap::from([("writers".to_owned(), item)]),
            phases: PhasesPlan {
                warmup_ns: measure_ns,
                warmup_auto: None,
                measure_ns: drain_ns - measure_ns,
                drain_ns: end_ns - drain_ns,
            },
            ..plans::case(self.system())
        };
        let mut cluster = BTreeMap::from([("brokers".to_owned(), "1".to_owned())]);
        let fact = |per_s: f64| (cluster_fact::generator_max_per_s("writers"), per_s.to_string());
        cluster.extend(self.generator_max_per_s.map(fact));
        TrialStart {
            trial: Trial {
                id: TrialId(1),
                case: 0,
                variant: None,
                pair: None,
                repeat: 1,
                start: 1,
                label: String::new(),
                reason: TrialReason::Listed { of: 1 },
                seed: 1,
                effective,
            },
            session: 1,
            t0_unix_ns: 0,
            t0_monotonic_ns: T0,
            streams: vec![StreamInfo {
                id: StreamId { worker: 0, stream: 0 },
                name: "writers".to_owned(),
                topic: TOPIC.to_owned(),
                role: RoleKind::Produce,
                clients: self.load.clients,
                value_bytes: self.load.plan.value_bytes,
            }],
            cluster,
            command_lines: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    fn system(&self) -> SystemPlan {
        let Some((fact, text)) = self.declared else {
            return SystemPlan::Local(ClusterPlan {
                pinned_to: vec![vec![0]],
                zones: (self.link_bytes_per_s.is_some() || self.link_delay_ns > 0).then(|| ZonesPlan {
                    brokers: vec!["a".to_owned()],
                    clients: vec!["c".to_owned()],
                    link: LinkPlan {
                        delay_ns: self.link_delay_ns,
                        jitter_ns: 0,
                        jitter_law: JitterLaw::Uniform,
                        bytes_per_s: self.link_bytes_per_s,
                    },
                    between_brokers: false,
                }),
                ..plans::cluster()
            });
        };
        SystemPlan::Attached(AttachedPlan {
            target: "elsewhere".to_owned(),
            prefix: "kdyno-".to_owned(),
            facts: BTreeMap::from([(fact.to_owned(), text.to_owned())]),
            ..AttachedPlan::default()
        })
    }
}

/// What a relay on the way would have passed on at each second.
fn relayed(samples: &[Sample]) -> Vec<ProbeReading> {
    let seconds = samples.iter().map(|row| row.written_second).max().unwrap_or(0);
    let by = |second: u32| {
        let before = samples.iter().filter(move |row| row.written_second < second);
        before.map(|row| row.counts.request_bytes).sum::<u64>() as f64
    };
    let reading = |second: u32| ProbeReading {
        at_ns: i64::from(second) * SECOND.cast_signed(),
        subject: Subject::Relay(0),
        series: format!("{}c>a", series::RELAYED_BYTES_TOTAL_OF),
        value: by(second),
    };
    (0..=seconds).map(reading).collect()
}

fn session() -> Session {
    Session {
        number: 1,
        started_unix_ns: 0,
        kdyno_version: String::new(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: String::new(),
        processors: 2,
        host_facts: BTreeMap::new(),
    }
}

/// A generator that is as fast as its machine reads the clock, and its highest rate against a broker that does nothing.
fn generator(machine: Machine) -> (LimitFixture, f64) {
    let mut scene = LimitFixture::at_most(Fill::Buffer, Service::Fixed { delay_ns: 0 });
    scene.load.machine = machine;
    let per_s = scene.judged().per_s;
    scene.generator_max_per_s = Some(per_s);
    (scene, per_s)
}

const SLOW: Machine = Machine { reading_ns: 400_000, send_window: None, stop: None, cut_off: None };
const FAST: Machine = Machine { reading_ns: 20_000, send_window: None, stop: None, cut_off: None };

#[test]
fn the_schedule_is_the_limit_until_what_is_left_is_used_up() {
    // 50,000/s; 20,000 are offered.
    let offering = |per_s: f64| {
        let mut scene = LimitFixture::at_most(Fill::Buffer, server(20_000));
        scene.record_cost_ns = 20_000;
        let (seconds, warmup_seconds) = (scene.load.seconds, scene.load.warmup_seconds);
        scene.load = Load::open(per_s, Arrivals::Poisson).seconds(seconds);
        scene.load.warmup_seconds = warmup_seconds;
        scene.judged()
    };
    let found = offering(20_000.0);
    assert_eq!(found.limit.named, LimitKind::Schedule);
    assert_eq!(found.limit.runner_up, Some(LimitKind::BrokerProcessors));
    assert_near(found.promised_per_s(), 50_000.0, 0.02, "what the broker carries");
    let below = offering(0.96 * found.promised_per_s());
    assert_eq!(below.limit.named, LimitKind::Schedule, "{:?}", below.limit);
    let above = offering(1.1 * found.promised_per_s());
    assert_eq!(above.limit.named, LimitKind::BrokerProcessors, "{:?}", above.limit);
    assert_near(above.per_s, found.promised_per_s(), 0.02, "and not more than that");
}

#[test]
fn brokers_that_are_faster_leave_the_generator_as_the_limit() {
    let (mut scene, most_per_s) = generator(SLOW);
    scene.record_cost_ns = (3.0 * SECOND as f64 / most_per_s) as u64;
    scene.service = server(scene.record_cost_ns);
    let found = scene.judged();
    assert_eq!(found.limit.named, LimitKind::BrokerProcessors, "{:?}", found.limit);
    assert_eq!(found.limit.runner_up, Some(LimitKind::Generator));
    assert_near(found.times(), 3.0, 0.1, "a third of what it can do");
    scene.record_cost_ns /= 20;
    scene.service = server(scene.record_cost_ns);
    let lifted = scene.judged();
    assert_near(lifted.per_s, found.promised_per_s(), 0.1, "with faster brokers");
    assert_eq!(lifted.limit.named, LimitKind::Generator, "{:?}", lifted.limit);
}

#[test]
fn a_generator_that_is_faster_leaves_the_brokers_as_the_limit() {
    let (mut scene, most_per_s) = generator(SLOW);
    scene.record_cost_ns = (SECOND as f64 / most_per_s / 3.0) as u64;
    scene.service = server(scene.record_cost_ns);
    let found = scene.judged();
    assert_eq!(found.limit.named, LimitKind::Generator, "{:?}", found.limit);
    assert_eq!(found.limit.runner_up, Some(LimitKind::BrokerProcessors));
    scene.load.machine = FAST;
    scene.generator_max_per_s = Some(generator(FAST).1);
    let lifted = scene.judged();
    assert_near(lifted.per_s, found.promised_per_s(), 0.1, "with a faster generator");
    assert_eq!(lifted.limit.named, LimitKind::BrokerProcessors, "{:?}", lifted.limit);
}

#[test]
fn twice_the_requests_in_flight_carry_twice_as_much() {
    let with = |in_flight_max, replicas| {
        let scene = LimitFixture::at_most(Fill::InFlight, Service::Fixed { delay_ns: 10 * MS });
        let mut scene = scene.plan(|client| client.in_flight_max = in_flight_max);
        // The broker uses 15 % of its CPU for each request in flight.
        (scene.record_cost_ns, scene.replicas) = (100_000, replicas);
        scene.judged()
    };
    let (one, two) = (with(1, 1), with(2, 1));
    assert_eq!(
        (one.limit.named, two.limit.named),
        (LimitKind::RequestsInFlight, LimitKind::RequestsInFlight)
    );
    assert_near(one.used(LimitKind::RequestsInFlight), 1.0, 0.02, "Little");
    assert_near(two.per_s, 2.0 * one.per_s, 0.02, "lifted");
    let replicated = with(2, 3);
    assert_eq!(replicated.limit.named, LimitKind::Replication, "brokers are idle and followers waited for");
    assert_near(with(4, 3).per_s, 2.0 * replicated.per_s, 0.02, "lifted");
}

/// A request on its way keeps the broker waiting unless another one is in flight.
#[test]
fn more_requests_in_flight_leave_the_brokers_as_the_limit() {
    // A batch is served in about 1 ms and 0.8 ms on its way.
    let mut scene =
        LimitFixture::at_most(Fill::InFlight, server(66_000)).plan(|client| client.in_flight_max = 1);
    scene.record_cost_ns = 66_000;
    scene.load.machine = Machine { send_window: Some((1 << 20, 50)), ..Machine::default() };
    let found = scene.judged();
    assert_eq!(found.limit.named, LimitKind::RequestsInFlight, "{:?}", found.limit);
    assert_eq!(found.limit.runner_up, Some(LimitKind::BrokerProcessors));
    assert!(found.times() > 1.5, "{:?}", found.limit);
    let lifted = scene.plan(|client| client.in_flight_max = 5).judged();
    assert_near(lifted.per_s, found.promised_per_s(), 0.05, "with five in flight");
    assert_eq!(lifted.limit.named, LimitKind::BrokerProcessors, "{:?}", lifted.limit);
}

#[test]
fn twice_the_buffer_carries_twice_as_much() {
    let with = |batches: u64| {
        let scene = LimitFixture::at_most(Fill::Buffer, Service::Fixed { delay_ns: 10 * MS });
        let mut scene = scene.plan(|client| {
            (client.buffer_bytes, client.in_flight_max) = (batches * u64::from(client.batch_bytes), 20);
        });
        scene.record_cost_ns = 20_000;
        scene.judged()
    };
    let (found, lifted) = (with(3), with(6));
    for one in [&found, &lifted] {
        assert_eq!(one.limit.named, LimitKind::ClientBuffer, "{:?}", one.limit);
    }
    assert_near(lifted.per_s, 2.0 * found.per_s, 0.1, "lifted");
    assert_eq!(with(30).limit.named, LimitKind::RequestsInFlight, "then requests in flight are full");
}

#[test]
fn a_declared_network_is_the_limit_that_its_link_is() {
    let (mut scene, most_per_s) = generator(FAST);
    // The link carries 20 MB/s, which is less than half of what the generator can send.
    assert!(most_per_s > 50_000.0, "{most_per_s}");
    scene.load.machine.send_window = Some((1 << 20, 50));
    scene.declared = Some(("network.limit", "160Mbit/s"));
    let found = scene.judged();
    assert_eq!(found.limit.named, LimitKind::Network, "{:?}", found.limit);
    assert_eq!(found.limit.runner_up, Some(LimitKind::Generator));
    assert_near(found.used(LimitKind::Network), 1.0, 0.05, "all of it");
    scene.load.machine.send_window = None;
    assert_near(scene.judged().per_s, found.promised_per_s(), 0.1, "without it");
}

/// Requests in flight fill up before the link, as many as there may be: with more of them it carries no more.
#[test]
fn a_link_that_the_plan_declares_is_the_limit_that_it_is() {
    let (mut scene, _) = generator(FAST);
    // The link carries 20 MB/s.
    scene.load.machine.send_window = Some((1 << 20, 50));
    scene.link_bytes_per_s = Some(20_000_000);
    let with = |scene: &LimitFixture, in_flight_max| {
        let scene = scene.clone().plan(|client| client.in_flight_max = in_flight_max);
        scene.judged()
    };
    let (few, many) = (with(&scene, 5), with(&scene, 500));
    for found in [&few, &many] {
        assert_eq!(found.limit.named, LimitKind::Link, "{:?}", found.limit);
        assert_eq!(found.limit.runner_up, Some(LimitKind::Generator));
        assert_near(found.used(LimitKind::Link), 1.0, 0.05, "all of it");
    }
    assert!(few.used(LimitKind::RequestsInFlight) > 0.8, "{:?}", few.limit);
    assert_near(many.per_s, few.per_s, 0.02, "a hundred times the requests in flight");
    (scene.load.machine.send_window, scene.link_bytes_per_s) = (Some((1 << 20, 25)), Some(40_000_000));
    assert_near(with(&scene, 5).per_s, 2.0 * few.per_s, 0.05, "twice the link");
    (scene.load.machine.send_window, scene.link_bytes_per_s) = (None, None);
    assert_near(with(&scene, 5).per_s, few.promised_per_s(), 0.1, "without it");
}

/// The broker answers after 2 ms; the link takes 20 ms each way. Without it what is left of a request's time, or the broker's
/// processor, is the limit, as predicted.
#[test]
fn a_delay_that_the_plan_declares_is_the_limit_that_it_is() {
    let with = |delay_ms: u64, record_cost_ns| {
        let service = Service::Fixed { delay_ns: (2 + 2 * delay_ms) * MS };
        let mut scene =
            LimitFixture::at_most(Fill::InFlight, service).plan(|client| client.in_flight_max = 1);
        (scene.link_delay_ns, scene.record_cost_ns) = (delay_ms * MS, record_cost_ns);
        scene.judged()
    };
    let found = with(20, 1_000);
    assert_eq!(found.limit.named, LimitKind::RequestsInFlight, "{:?}", found.limit);
    let delay = found.limit.delay.expect("a declared delay");
    assert!(delay.is_most() && delay.then.is_none(), "{delay:?}");
    assert_near(delay.times.expect("a prediction"), 21.0, 0.02, "42 ms for 2 ms");
    let lifted = with(0, 1_000);
    assert_near(lifted.per_s, found.per_s * delay.times.expect("a prediction"), 0.1, "without the link");
    assert_eq!(lifted.limit.delay, None);
    // A processor that records use for 20 % of the time.
    let costly = with(20, 525_000).limit.delay.expect("a declared delay");
    assert_eq!(costly.then, Some(LimitKind::BrokerProcessors), "{costly:?}");
    assert_near(costly.times.expect("a prediction"), 5.0, 0.02, "no more than the processor");
}

/// The fuller a batch, the longer its request takes: a mean over records is that of the full ones.
#[test]
fn requests_in_flight_are_never_more_than_there_may_be() {
    let mut scene =
        LimitFixture::at_most(Fill::Buffer, server(100_000)).plan(|client| client.in_flight_max = 1);
    let (seconds, warmup_seconds) = (scene.load.seconds, scene.load.warmup_seconds);
    scene.load = Load::open(9_000.0, Arrivals::Poisson).seconds(seconds).with(|plan| {
        (plan.value_bytes, plan.client.in_flight_max, plan.client.linger_ns) = (100, 1, 0);
    });
    scene.load.warmup_seconds = warmup_seconds;
    let found = scene.judged();
    // One request at a time, and the server is busy for 90 % of the time: so is the connection.
    assert_near(found.used(LimitKind::RequestsInFlight), 0.9, 0.03, "the time in which one was in flight");
}

#[test]
fn a_declared_disk_is_the_limit_that_it_is() {
    let (mut scene, _) = generator(FAST);
    // 20,000 records of about 1008 bytes a second.
    (scene.service, scene.declared) = (server(50_000), Some(("disk.limit", "20MB/s")));
    let found = scene.judged();
    assert_eq!(found.limit.named, LimitKind::Disk, "{:?}", found.limit);
    assert_near(found.used(LimitKind::Disk), 1.0, 0.05, "all of it");
    (scene.service, scene.declared) = (server(25_000), Some(("disk.limit", "40MB/s")));
    let twice = scene.judged();
    assert_near(twice.per_s, 2.0 * found.per_s, 0.02, "twice the disk");
    assert_eq!(twice.limit.named, LimitKind::Disk, "{:?}", twice.limit);
    scene.service = Service::Fixed { delay_ns: 0 };
    assert_near(scene.judged().per_s, found.promised_per_s(), 0.1, "without it");
}
