//! How much the load generator itself can do: the same load against a broker that does nothing.
//!
//! A figure that comes near what the generator can do on this host says little about the cluster, so runs that look for
//! a maximum know that limit: of each shape of load, once per host, kept in the user's cache. Where other hosts carry the
//! load each of them is measured ([`elsewhere`]).

pub(crate) mod elsewhere;

use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::generator::{ChildPlace, Place};
use crate::given::GivenContents;
use crate::inbox::{Heard, Inbox, WorkerNews};
use crate::null_broker::NullBroker;
use crate::observer::{MayGoOn, SECOND_NS};
use crate::options::{RunOptions, RunProgress, RunRequest};
use crate::task::{T0_AHEAD_NS, TICK_NS};
use crate::worker::Worker;
use kdyno_model::plan::{
    CasePlan, Fill, LoadPlan, LoadSpan, NullBrokerPlan, PhasesPlan, Plan, ProducePlan, Rate, Role, RoleKind,
    Security, Strategy, TlsVersion, Vary,
};
use kdyno_model::run::{Session, cluster_fact};
use kdyno_model::sample::{Grain, Phase};
use kdyno_model::worker::{FromWorker, StreamRole, StreamTask, ToWorker, WorkerTask};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Load before the measured window: connections are up and pools are in the caches after the first tenths of it.
const WARMUP_NS: u64 = SECOND_NS;

/// The best of these seconds counts: a limit is not lowered by what else the host did in one of them.
const MEASURE_NS: u64 = 3 * SECOND_NS;

/// Longest time for one measurement, from the start of its processes on.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Shapes that are measured for one run at most; of the rest the limit is not known.
const SHAPES_MAX: usize = 12;

/// A search that adds clients is measured with its fewest and its most, and with numbers between them that lie this far
/// apart.
const CLIENTS_FACTOR: u32 = 8;

/// Records/s that the generator can do, by what a load item looks like but for its clients, and by their number. A number
/// of clients that was not measured can do what the next larger one can, or more: more clients cost more.
type OfHost = BTreeMap<String, BTreeMap<u32, f64>>;

/// What the hosts that carry the load can do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    /// The lab's own.
    here: OfHost,
    /// Others, by name.
    elsewhere: BTreeMap<String, OfHost>,
}

/// What a limit depends on, apart from the host and the number of clients: a load item but for its rate, and the
/// partitions it goes to.
#[derive(Serialize)]
struct LoadShape<'a> {
    produce: &'a ProducePlan,
    partitions: u32,
    /// Versions of TLS that brokers may be spoken to in; `None`: they are spoken to without.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Vec<TlsVersion>>,
}

/// A limit as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// All that it was measured with: the file's name is only a digest of it.
    key: String,
    max_per_s: f64,
}

/// Whether the plan asks for a maximum of our own client anywhere: what another client can do is no limit of ours to know.
fn is_wanted(plan: &Plan, item: &LoadPlan) -> bool {
    let is_max = matches!(&item.role, Role::Produce(produce) if matches!(produce.rate, Rate::Max { .. }));
    item.driver.is_native()
        && item.role.kind() == RoleKind::Produce
        && (is_max || !matches!(plan.strategy, Strategy::List(_)))
}

/// What workers are started with: environment variables that they do not inherit, and files that they are given.
type WorkerInputs<'a> = (&'a [String], &'a GivenContents);

/// Measures what is not known yet, before any cluster runs. What cannot be measured is reported and left out.
///
/// # Errors
/// The run is to end.
pub(crate) fn measure(
    request: &RunRequest,
    session: &Session,
    may_go_on: &MayGoOn,
    handed: WorkerInputs<'_>,
    options: &mut RunOptions<'_>,
) -> Result<Limits, LabError> {
    let folder = options.environment.cache_dir.join("calibration");
    let mut here = OfHost::new();
    for Shape { case, item, key, .. } in shapes(&request.plan) {
        if let Some(stop) = may_go_on.must_end() {
            return Err(stop.into());
        }
        let of_host =
            format!("{} {} {} clients {key}", session.kdyno_version, host_of(session), item.clients);
        let path = folder.join(format!("{:016x}.json", digest(&of_host)));
        let known = kept(&path, &of_host);
        let measured = known.map_or_else(
            || {
                (options.progress)(RunProgress::Step(
                    "measuring what the load generator can do …".to_owned(),
                ));
                of_item(case, &item, handed, options)
            },
            Ok,
        );
        match measured {
            Ok(max_per_s) => {
                here.entry(key).or_default().insert(item.clients, max_per_s);
                if known.is_none() {
                    keep(&folder, &path, &Kept { key: of_host, max_per_s });
                }
            }
            Err(why) => {
                (options.progress)(RunProgress::Step(format!(
                    "what the load generator can do is not known: {why}"
                )));
                break;
            }
        }
    }
    Ok(Limits { here, ..Limits::default() })
}

/// What is measured.
struct Shape<'a> {
    case: &'a CasePlan,
    /// With the clients that one host has.
    item: LoadPlan,
    /// What its limit is known by.
    key: String,
    /// The hosts that have such clients; none: the lab's has.
    hosts: Vec<&'a str>,
}

/// What is measured for a plan: each load item, no two that are alike.
fn shapes(plan: &Plan) -> Vec<Shape<'_>> {
    let mut found: Vec<Shape<'_>> = Vec::new();
    for (case, name, item) in
        plan.every_case().flat_map(|case| case.load.iter().map(move |(name, item)| (case, name, item)))
    {
        let Some(key) = key(case, item).filter(|_| is_wanted(plan, item)) else { continue };
        let places = case.generators.places_of(name);
        let hosts: Vec<&str> = places.iter().map(|place| case.generators.hosts[*place].as_str()).collect();
        // Some may have one less.
        let each = |clients: u32| clients.div_ceil(u32::try_from(hosts.len()).unwrap_or(u32::MAX).max(1));
        for clients in client_counts(plan, name, item).into_iter().map(each) {
            let is_it = |one: &Shape<'_>| (one.item.clients, &one.key, &one.hosts) == (clients, &key, &hosts);
            if !found.iter().any(is_it) && found.len() < SHAPES_MAX {
                let item = LoadPlan { clients, ..item.clone() };
                found.push(Shape { case, item, key: key.clone(), hosts: hosts.clone() });
            }
        }
    }
    found
}

/// The numbers of clients with which an item is measured, its own, or from the first to the last that a search may need.
fn client_counts(plan: &Plan, name: &str, item: &LoadPlan) -> Vec<u32> {
    let own = vec![item.clients];
    let Strategy::Find(find) = &plan.strategy else { return own };
    let Vary::Clients { per_client_per_s } = find.vary else { return own };
    if find.item != name {
        return own;
    }
    // A plan's numbers are checked; the conversion saturates.
    let clients = |per_s: f64| (per_s / per_client_per_s).ceil().max(1.0) as u32;
    let (first, last) = (clients(find.from_per_s), clients(find.to_per_s));
    let between = std::iter::successors(Some(first), |clients| clients.checked_mul(CLIENTS_FACTOR));
    between.take_while(|clients| *clients < last).chain([last]).collect()
}

/// The limits of a case's load items, as facts of a trial.
pub(crate) fn facts(limits: &Limits, case: &CasePlan) -> BTreeMap<String, String> {
    // What kdyno's own client can do says nothing of a Java client.
    let native = || case.load.iter().filter(|(_, item)| item.driver.is_native());
    let of = |limits: &OfHost, item: &LoadPlan, clients: u32| {
        let (_, limit) = limits.get(&key(case, item)?)?.range(clients..).next()?;
        Some(format!("{limit:.0}"))
    };
    let here = native().filter_map(|(name, item)| {
        Some((cluster_fact::generator_max_per_s(name), of(&limits.here, item, item.clients)?))
    });
    let elsewhere = case.workers.iter().flat_map(|worker| {
        let host = case.generators.host_of(worker.worker);
        let known = host.and_then(|host| limits.elsewhere.get_key_value(host));
        known.into_iter().flat_map(move |known| worker.shares.iter().map(move |share| (known, share)))
    });
    let elsewhere = elsewhere.filter_map(|((host, limits), share)| {
        let limit = of(limits, case.load.get(&share.item)?, share.client_count)?;
        Some((cluster_fact::generator(host, &cluster_fact::max_per_s(&share.item)), limit))
    });
    here.chain(elsewhere).collect()
}

/// What a limit is known by; `None` for an item that produces nothing, for one whose trial measures just that limit, and for
/// one with several topics: here all clients would share a thread, where each topic has its own, and send to one topic alone.
fn key(case: &CasePlan, item: &LoadPlan) -> Option<String> {
    let Role::Produce(produce) = &item.role else { return None };
    if !case.system.is_kafka() || item.topic_count() > 1 {
        return None;
    }
    let produce = ProducePlan {
        rate: Rate::Max { fill: Fill::InFlight },
        records_max: None,
        tool_lines: None,
        ..produce.clone()
    };
    let partitions = partitions(case, item);
    serde_json::to_string(&LoadShape { produce: &produce, partitions, tls: tls_of(case) }).ok()
}

/// Versions of TLS that a case's brokers may be spoken to in.
fn tls_of(case: &CasePlan) -> Option<Vec<TlsVersion>> {
    Some(case.system.tls().to_vec()).filter(|versions| !versions.is_empty())
}

/// The host as far as a limit depends on it.
fn host_of(session: &Session) -> String {
    let facts = ["cpu_model", "kernel", "cpu_governor", "cgroup_cpu_max", "memory_bytes"];
    let fact = |name: &&str| session.host_facts.get(*name).cloned().unwrap_or_default();
    let facts: Vec<String> = facts.iter().map(fact).collect();
    format!("{} {}", session.processors, facts.join(" "))
}

/// FNV-1a: names a file and protects nothing.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A limit of the cache. A file that cannot be read, or is of something else, is measured again.
fn kept(path: &Path, key: &str) -> Option<f64> {
    let found: Kept = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (found.key == key && found.max_per_s.is_finite() && found.max_per_s > 0.0).then_some(found.max_per_s)
}

/// Without the cache it is measured again the next time, and nothing else is lost.
fn keep(folder: &Path, path: &Path, kept: &Kept) {
    let Ok(text) = serde_json::to_string(kept) else { return };
    let _ = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
}

/// One measurement: a null broker, in TLS where the case's brokers are, and a worker, for four seconds. There is no
/// login: that happens before the load.
fn of_item(
    case: &CasePlan,
    item: &LoadPlan,
    (hidden, given): WorkerInputs<'_>,
    options: &RunOptions<'_>,
) -> Result<f64, String> {
    let plan = NullBrokerPlan { tls: tls_of(case).unwrap_or_default(), ..NullBrokerPlan::default() };
    let broker = NullBroker::start(&options.self_exe, partitions(case, item), &plan, hidden)?;
    let here = ChildPlace { self_exe: &options.self_exe, work_dir: &options.work_dir, hidden };
    let bench = Bench { place: &here, number: 0, t0_ahead_ns: T0_AHEAD_NS };
    against((broker.address(), broker.security()), &bench, (case, item), given)
}

/// Partitions that an item's records go to.
fn partitions(case: &CasePlan, item: &LoadPlan) -> u32 {
    case.topics.get(&item.topic).map_or(1, |topic| topic.partitions)
}

/// Where a worker is measured.
struct Bench<'a> {
    place: &'a dyn Place,
    /// The worker's number.
    number: u16,
    /// From the announcement to T0.
    t0_ahead_ns: u64,
}

/// One measurement against a null broker that runs where the worker does.
fn against(
    broker: (&str, &Security),
    bench: &Bench<'_>,
    (case, item): (&CasePlan, &LoadPlan),
    given: &GivenContents,
) -> Result<f64, String> {
    let inbox = Inbox::default();
    let worker = Worker::spawn(bench.place, bench.number, inbox.sender());
    let mut worker = worker.map_err(|error| error.to_string())?;
    for given in given.of(case, std::iter::once(item)) {
        worker.send_given(given).map_err(|error| error.to_string())?;
    }
    let acknowledged = drive(&mut worker, &inbox, task(item, broker)?, bench.t0_ahead_ns);
    // Its last word has been said, or does not matter.
    worker.finish(acknowledged.is_err());
    let per_s = acknowledged? as f64;
    if per_s > 0.0 { Ok(per_s) } else { Err("nothing was acknowledged".to_owned()) }
}

/// Talks to the worker from its task to its last word; records acknowledged in the best second of the window.
fn drive(worker: &mut Worker, inbox: &Inbox, task: WorkerTask, t0_ahead_ns: u64) -> Result<u64, String> {
    let said = |error: LabError| error.to_string();
    worker.send(&ToWorker::Prepare(Box::new(task))).map_err(said)?;
    let end = Instant::now() + TIME_MAX;
    let window = (WARMUP_NS / SECOND_NS)..((WARMUP_NS + MEASURE_NS) / SECOND_NS);
    let mut acknowledged: BTreeMap<u32, u64> = BTreeMap::new();
    loop {
        let Some(heard) = inbox.hear(end.saturating_duration_since(Instant::now())) else {
            return Err(format!("the worker took longer than {} s", TIME_MAX.as_secs()));
        };
        let Heard::Worker(_, news) = heard else { continue };
        match news {
            WorkerNews::Message(FromWorker::Prepared) => {
                worker.send(&ToWorker::Measure { start_ns: WARMUP_NS }).map_err(said)?;
                let t0_monotonic_ns = monotonic_ns() + t0_ahead_ns;
                worker.send(&ToWorker::Start { t0_monotonic_ns }).map_err(said)?;
            }
            WorkerNews::Message(FromWorker::Sample(sample)) => {
                let is_counted = sample.grain == Grain::Second
                    && sample.phase != Phase::Drain
                    && window.contains(&u64::from(sample.written_second));
                if is_counted {
                    *acknowledged.entry(sample.written_second).or_default() += sample.counts.acknowledged;
                }
            }
            WorkerNews::Message(FromWorker::Event(_)) => {}
            WorkerNews::Message(FromWorker::Done(_)) => {
                return Ok(acknowledged.into_values().max().unwrap_or(0));
            }
            other => return Err(worker.gone(other).to_string()),
        }
    }
}

fn task(item: &LoadPlan, (address, security): (&str, &Security)) -> Result<WorkerTask, String> {
    let Role::Produce(produce) = &item.role else { return Err("it produces nothing".to_owned()) };
    let produce =
        ProducePlan { rate: Rate::Max { fill: Fill::InFlight }, records_max: None, ..produce.clone() };
    Ok(WorkerTask {
        worker: 0,
        run_id: 0,
        wall_offset_ns: crate::clock::wall_offset_ns(),
        bootstrap: vec![address.to_owned()],
        security: security.clone(),
        client_id_prefix: crate::topics::PREFIX.to_owned(),
        phases: PhasesPlan {
            warmup_ns: WARMUP_NS,
            warmup_auto: None,
            measure_ns: MEASURE_NS,
            drain_ns: 2 * SECOND_NS,
        },
        tick_ns: TICK_NS,
        has_producers: true,
        streams: vec![StreamTask {
            stream: 0,
            name: "calibration".to_owned(),
            seed: 0,
            topic: "calibration".to_owned(),
            client_first: 0,
            client_count: item.clients,
            clients_total: item.clients,
            more_topics: Vec::new(),
            topic_clients: None,
            bytes_per_s_max: None,
            group_id: None,
            bootstrap: Vec::new(),
            java: None,
            span: LoadSpan::default(),
            role: StreamRole::Produce(produce),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::generator::GeneratorsPlan;
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;

    fn plan(rate: &str, clients: u32, value: &str) -> Plan {
        let text = format!(
            "kdyno: 1\nid: small\nquestion: How much?\nsystem: {{kafka: 4.1.1}}\n\
             topics: {{perf: {{partitions: 3}}}}\n\
             load: {{writers: {{produce: perf, clients: {clients}, rate: {rate}, value: {value}}}, \
             readers: {{consume: perf}}}}\nphases: {{warmup: 0s, measure: 3s}}\n"
        );
        let scenario = Scenario::parse(&text, "test").expect("a scenario");
        kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan")
    }

    fn key_of(plan: &Plan) -> String {
        key(&plan.cases[0], &plan.cases[0].load["writers"]).expect("it produces")
    }

    fn here(here: OfHost) -> Limits {
        Limits { here, ..Limits::default() }
    }

    #[test]
    fn each_host_is_measured_with_its_own_part_of_the_clients() {
        let mut plan = plan("max", 5, "100B");
        plan.cases[0].load.get_mut("readers").expect("it consumes").clients = 3;
        let hosts = ["one", "two", "three"].map(str::to_owned);
        let shares = BTreeMap::from([("writers".to_owned(), vec!["one".to_owned(), "three".to_owned()])]);
        let generators = GeneratorsPlan { hosts: hosts.into(), shares, ..GeneratorsPlan::default() };
        kdyno_plan::on_generators(&mut plan, &generators).expect("each has something to do");
        let found: Vec<_> = shapes(&plan).into_iter().map(|one| (one.item.clients, one.hosts)).collect();
        assert_eq!(found, [(3, vec!["one", "three"])]);
        let limit = |per_s| OfHost::from([(key_of(&plan), BTreeMap::from([(3, per_s)]))]);
        let elsewhere =
            [("one", 900.0), ("three", 70.0)].map(|(host, per_s)| (host.to_owned(), limit(per_s)));
        let limits = Limits { here: limit(1.0), elsewhere: elsewhere.into() };
        let facts: Vec<_> = facts(&limits, &plan.cases[0]).into_iter().collect();
        let of = |name: &str, per_s: &str| (format!("generator.{name}.max_per_s.writers"), per_s.to_owned());
        assert_eq!(facts, [of("one", "900"), of("three", "70")], "one of them has two clients");
    }

    #[test]
    fn only_where_a_maximum_is_asked_for_the_generator_is_measured() {
        let (max, paced) = (plan("max", 1, "100B"), plan("100/s", 1, "100B"));
        let wanted = |plan: &Plan, item: &str| is_wanted(plan, &plan.cases[0].load[item]);
        assert!(wanted(&max, "writers"));
        assert!(!wanted(&max, "readers"));
        assert!(!wanted(&paced, "writers"));
    }

    #[test]
    fn a_limit_is_of_one_shape_of_load_whatever_its_rate() {
        let max = key_of(&plan("max", 1, "100B"));
        assert_eq!(max, key_of(&plan("100/s", 1, "100B")));
        assert_ne!(max, key_of(&plan("max", 1, "101B")));
        let case = &plan("max", 1, "100B").cases[0];
        assert_eq!(key(case, &case.load["readers"]), None);
        let several =
            LoadPlan { more_topics: vec!["more".to_owned()], clients: 2, ..case.load["writers"].clone() };
        assert_eq!(key(case, &several), None, "each topic has a thread");
        let facts = facts(&here(OfHost::from([(max, BTreeMap::from([(1, 1_234_567.8)]))])), case);
        assert_eq!(facts, BTreeMap::from([("generator_max_per_s.writers".to_owned(), "1234568".to_owned())]));
    }

    #[test]
    fn a_search_that_adds_clients_knows_the_limit_for_each_number() {
        let text = "kdyno: 1\nid: small\nquestion: How much?\nsystem: {kafka: 4.1.1}\n\
             topics: {perf: {partitions: 3}}\nload: {writers: {produce: perf, rate: 1k/s, value: 100B}}\n\
             phases: {warmup: 0s, condition: none, measure: 3s}\n\
             find: {highest: writers.clients, each: 1k/s, to: 100k/s, while: [writers.response.p99 <= 20ms]}\n";
        let scenario = Scenario::parse(text, "test").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
        let counts: Vec<u32> = shapes(&plan).into_iter().map(|shape| shape.item.clients).collect();
        assert_eq!(counts, [1, 8, 64, 100]);
        let measured = BTreeMap::from([(1, 900.0), (8, 800.0), (64, 640.0), (100, 100.0)]);
        let limits = here(OfHost::from([(key_of(&plan), measured)]));
        let with = |clients| {
            let mut case = plan.cases[0].clone();
            case.load.get_mut("writers").expect("it produces").clients = clients;
            facts(&limits, &case).into_values().next()
        };
        let reported = |limit: &str| Some(limit.to_owned());
        assert_eq!(
            (with(1), with(7), with(64), with(65)),
            (reported("900"), reported("800"), reported("640"), reported("100"))
        );
        assert_eq!(with(101), None, "more than the search may use");
    }

    #[test]
    fn stored_calibrations_are_found_again_for_the_same_load_only() {
        let temp = tempfile::tempdir().expect("temp");
        let folder = temp.path().join("not-made-yet");
        let path = folder.join("x.json");
        assert_eq!(kept(&path, "here"), None);
        keep(&folder, &path, &Kept { key: "here".to_owned(), max_per_s: 7.5 });
        assert_eq!(kept(&path, "here"), Some(7.5));
        assert_eq!(kept(&path, "there"), None);
        keep(&folder, &path, &Kept { key: "here".to_owned(), max_per_s: 0.0 });
        assert_eq!(kept(&path, "here"), None, "no limit is 0");
        std::fs::write(&path, "no JSON").expect("write");
        assert_eq!(kept(&path, "here"), None);
    }
}
