//! A stream and a fake cluster in simulated time: the same code as over sockets, exact and repeatable.
#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../../../model/tests/common/clients.rs"]
pub mod clients;
mod fetching;

#[allow(unused_imports, reason = "each test file uses its part")]
pub use fetching::{CONTROL_NS, Fetching, assert_all_fetched, fetch, filled, filled_as, stored};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_fake_broker::{ClusterOutput, ConnId, FakeCluster};
use kdyno_load::event_loop::reported_ns;
use kdyno_load::groups::ReadGroups;
use kdyno_load::net::{ConnectionId, Net};
use kdyno_load::produce::ProduceStream;
use kdyno_load::stream::{Events, SocketReadiness, Stream, StreamContext};
use kdyno_model::plan::{Arrivals, Fill, LoadSpan, Payload, PhasesPlan, ProducePlan, Rate, RatePiece};
use kdyno_model::sample::{Counts, Grain, Phase, Sample, StreamTotals, Timing};
use kdyno_model::worker::{StreamRole, StreamTask};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const TOPIC: &str = "t";
/// When the load begins: the clients have connected by then.
pub const T0: u64 = SECOND;
pub const RUN_ID: u64 = 7;
/// How long before T0 the start is announced.
const START_AHEAD_NS: u64 = 200 * MS;
/// Turns at one instant after which a test says that the loop does not come to rest.
const TURNS_AT_ONCE_MAX: u32 = 10_000;

thread_local! {
    /// Whether it is the stream that works on this thread, and not the cluster, the net or the test.
    static IS_STREAM_AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Whether what happens on this thread is the stream's doing.
pub fn is_stream_at_work() -> bool {
    // A thread that is being torn down runs no stream.
    IS_STREAM_AT_WORK.try_with(Cell::get).unwrap_or(false)
}

fn stream_works<T>(is_stream: bool, work: impl FnOnce() -> T) -> T {
    let before = IS_STREAM_AT_WORK.replace(is_stream);
    let result = work();
    IS_STREAM_AT_WORK.set(before);
    result
}

#[derive(Debug, Default)]
struct Link {
    peer: Option<ConnId>,
    inbox: VecDeque<u8>,
    /// What the socket has taken and not delivered yet, and when that will be.
    outbox: Vec<u8>,
    delivered_ns: u64,
    is_cut_off: bool,
    is_closed: bool,
    is_ready: bool,
}

/// What is not ideal about the net and the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    /// How far the clock moves with each reading, ns.
    pub reading_ns: u64,
    /// Bytes that a socket takes before these are delivered, and how long each byte takes to be, ns. It takes more
    /// when it is empty. `None`: any number, in no time.
    pub send_window: Option<(usize, u64)>,
    /// From this instant on the process is stopped for so long, ns.
    pub stop: Option<(u64, u64)>,
    /// A broker to which no socket connects: what is sent to it is lost.
    pub cut_off: Option<i32>,
}

/// The net between a stream and a fake cluster: by default no delay of its own, unlimited buffers, and a clock that
/// does not move while the stream works.
#[derive(Debug)]
pub struct SimNet {
    now_ns: Cell<u64>,
    pub cluster: FakeCluster,
    links: BTreeMap<ConnectionId, Link>,
    machine: Machine,
    /// When the loop last looked at its sockets, ns.
    looked_ns: u64,
}

impl SimNet {
    fn new(now_ns: u64, cluster: FakeCluster, machine: Machine) -> Self {
        let now_ns = Cell::new(now_ns);
        Self { now_ns, cluster, links: BTreeMap::new(), machine, looked_ns: 0 }
    }

    fn next_deadline(&self) -> Option<u64> {
        let full = self.links.values().filter(|link| !link.outbox.is_empty());
        full.map(|link| link.delivered_ns).chain(self.cluster.next_deadline()).min()
    }

    /// Goes on to an instant; if the process is stopped before it, to the end of that.
    fn advance(&mut self, to_ns: u64) {
        let stop = self.machine.stop.take_if(|(at_ns, _)| *at_ns <= to_ns);
        self.now_ns.set(stop.map_or(to_ns, |(at_ns, length_ns)| to_ns.max(at_ns + length_ns)));
    }

    fn pump(&mut self) {
        let now_ns = self.now_ns.get();
        let delivered = |link: &&mut Link| !link.outbox.is_empty() && link.delivered_ns <= now_ns;
        let mut delivered: Vec<&mut Link> = self.links.values_mut().filter(delivered).collect();
        delivered.sort_by_key(|link| link.delivered_ns);
        for link in delivered {
            let bytes = std::mem::take(&mut link.outbox);
            if let Some(conn) = link.peer {
                self.cluster.receive(conn, &bytes, link.delivered_ns);
            }
            link.is_ready = true;
        }
        for output in self.cluster.poll(now_ns) {
            let conn = match &output {
                ClusterOutput::Bytes { conn, .. } | ClusterOutput::Close { conn } => *conn,
            };
            let Some(link) = self.links.values_mut().find(|link| link.peer == Some(conn)) else { continue };
            link.is_ready = true;
            match output {
                ClusterOutput::Bytes { bytes, .. } => link.inbox.extend(bytes),
                ClusterOutput::Close { .. } => link.is_closed = true,
            }
        }
    }

    fn take_ready(&mut self) -> Vec<ConnectionId> {
        let ready = self.links.iter_mut().filter(|(_, link)| link.is_ready);
        ready
            .map(|(id, link)| {
                link.is_ready = false;
                *id
            })
            .collect()
    }
}

impl Net for SimNet {
    fn now_ns(&self) -> u64 {
        let now_ns = self.now_ns.get();
        self.now_ns.set(now_ns + self.machine.reading_ns);
        now_ns
    }

    fn connect(&mut self, id: ConnectionId, host: &str, port: u16) -> io::Result<()> {
        stream_works(false, || {
            let broker = self.cluster.broker_at(host, port).ok_or(io::ErrorKind::ConnectionRefused)?;
            if self.machine.cut_off == Some(broker) {
                self.links.insert(id, Link { is_cut_off: true, ..Link::default() });
                return Ok(());
            }
            let peer = Some(self.cluster.open(broker, self.now_ns.get()));
            self.links.insert(id, Link { peer, is_ready: true, ..Link::default() });
            Ok(())
        })
    }

    fn finish_connect(&mut self, id: ConnectionId) -> io::Result<bool> {
        let link = self.links.get(&id).ok_or(io::ErrorKind::NotConnected)?;
        Ok(!link.is_cut_off)
    }

    fn write(&mut self, id: ConnectionId, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let link = self.links.get_mut(&id).ok_or(io::ErrorKind::NotConnected)?;
        let conn = link.peer.filter(|_| !link.is_closed).ok_or(io::ErrorKind::BrokenPipe)?;
        let now_ns = self.now_ns.get();
        let Some((window, byte_ns)) = self.machine.send_window else {
            stream_works(false, || slices.iter().for_each(|slice| self.cluster.receive(conn, slice, now_ns)));
            return Ok(slices.iter().map(|slice| slice.len()).sum());
        };
        if !link.outbox.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        link.outbox.extend(slices.iter().flat_map(|slice| slice.iter()).take(window));
        link.delivered_ns = now_ns + link.outbox.len() as u64 * byte_ns;
        Ok(link.outbox.len())
    }

    fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        let link = self.links.get_mut(&id).ok_or(io::ErrorKind::NotConnected)?;
        let count = link.inbox.len().min(into.len());
        for (byte, from) in into.iter_mut().zip(link.inbox.drain(..count)) {
            *byte = from;
        }
        match (count, link.is_closed) {
            (0, false) => Err(io::ErrorKind::WouldBlock.into()),
            _ => {
                // As with a socket's event: what is left, or the end, is reported once more.
                link.is_ready = link.is_closed || !link.inbox.is_empty();
                Ok(count)
            }
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(link) = self.links.remove(&id)
            && let Some(conn) = link.peer
        {
            self.cluster.close(conn, self.now_ns.get());
        }
    }
}

/// A load, in the words of the tests.
#[derive(Debug, Clone)]
pub struct Load {
    pub plan: ProducePlan,
    pub clients: u32,
    /// Clients of the same load item on another worker, which come before these.
    pub clients_elsewhere: u32,
    /// The load's, warm-up included.
    pub seconds: f64,
    pub warmup_seconds: u64,
    /// How long its clients may take to connect; T0 is after that.
    pub connect_seconds: u64,
    /// When it hears that the measure phase begins, seconds from T0.
    pub heard_seconds: u64,
    pub drain_seconds: u64,
    pub tick_ns: u64,
    pub seed: u64,
    pub bytes_per_s_max: Option<u64>,
    pub span: LoadSpan,
    pub machine: Machine,
    /// Topics that each client has in addition to the one.
    pub more_topics: Vec<String>,
}

impl Load {
    pub fn open(per_s: f64, arrivals: Arrivals) -> Self {
        let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
        Self::of(Rate::Open { pieces, arrivals })
    }

    pub fn max(fill: Fill) -> Self {
        Self::of(Rate::Max { fill })
    }

    fn of(rate: Rate) -> Self {
        let payload = Payload::Pooled { pool_bytes: 0 };
        let plan = ProducePlan { payload, ..clients::produce(rate) };
        Self {
            plan,
            clients: 1,
            clients_elsewhere: 0,
            seconds: 10.0,
            warmup_seconds: 0,
            connect_seconds: 1,
            heard_seconds: 0,
            drain_seconds: 200,
            tick_ns: 0,
            seed: 1,
            bytes_per_s_max: None,
            span: LoadSpan::default(),
            machine: Machine::default(),
            more_topics: Vec::new(),
        }
    }

    /// One record per batch and request: what is served is what arrives.
    pub fn single_records(mut self) -> Self {
        self.plan.client.batch_bytes = 1;
        self.plan.client.buffer_bytes = u64::MAX >> 8;
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut ProducePlan)) -> Self {
        change(&mut self.plan);
        self
    }

    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }
}

/// What came of a load.
#[derive(Debug)]
pub struct Outcome {
    pub totals: StreamTotals,
    pub samples: Vec<Sample>,
    pub cluster: FakeCluster,
    pub events: Vec<String>,
    /// When the stream was done, or its time was over, ns.
    pub ended_ns: u64,
    /// Requests to the cluster between the start, as it is announced ahead of T0, and T0.
    pub requests_before_t0: u64,
}

impl Outcome {
    pub fn counts(&self) -> &Counts {
        &self.totals.counts
    }

    pub fn failed(&self) -> u64 {
        self.counts().failed.values().sum()
    }

    pub fn assert_accounted(&self) {
        let counts = self.counts();
        let known = counts.acknowledged + self.failed() + counts.unresolved;
        assert_eq!(counts.offered, known, "offered = acknowledged + failed + unresolved: {counts:?}");
        let mut from_rows = 0;
        for sample in &self.samples {
            from_rows += sample.counts.offered;
        }
        assert_eq!(from_rows, counts.offered, "the rows add up to the total");
    }

    pub fn histogram(&self, timing: Timing) -> Histogram<u64> {
        let rows = self.samples.iter().filter(|s| s.grain == Grain::Phase && s.phase == Phase::Measure);
        let bytes = rows.filter_map(|sample| sample.histograms.get(&timing)).next().expect("a phase row");
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram")
    }

    /// Records offered, by second of their scheduled send times, from T0.
    pub fn offered_by_second(&self) -> BTreeMap<u32, u64> {
        let mut seconds = BTreeMap::new();
        for row in self.samples.iter().filter(|row| row.counts.offered > 0) {
            *seconds.entry(row.t0_second).or_default() += row.counts.offered;
        }
        seconds
    }

    pub fn sum_ns(&self, timing: Timing) -> u128 {
        self.samples
            .iter()
            .filter(|sample| sample.grain == Grain::Phase && sample.phase == Phase::Measure)
            .filter_map(|sample| sample.sums_ns.get(&timing))
            .sum()
    }
}

/// Runs a load against a cluster, from connecting to the last outcome, in simulated time.
pub fn simulate(load: &Load, cluster: FakeCluster) -> Outcome {
    let load_ns = (load.seconds * SECOND as f64) as u64;
    let warmup_ns = load.warmup_seconds * SECOND;
    let drain_ns = load.drain_seconds * SECOND;
    let phases = PhasesPlan { warmup_ns, warmup_auto: None, measure_ns: load_ns - warmup_ns, drain_ns };
    let mut context = context("writers", StreamRole::Produce(load.plan.clone()), phases, &cluster);
    (context.tick_ns, context.seed) = (load.tick_ns, load.seed);
    (context.task.client_first, context.task.client_count) = (load.clients_elsewhere, load.clients);
    context.task.clients_total = load.clients_elsewhere + load.clients;
    context.task.bytes_per_s_max = load.bytes_per_s_max;
    context.task.span = load.span;
    context.task.more_topics = load.more_topics.clone();
    let stream = ProduceStream::new(load.plan.clone(), context).expect("a plan that can run");
    let net = SimNet::new(0, cluster, load.machine);
    drive(stream, net, load.connect_seconds * SECOND, load.heard_seconds * SECOND)
}

/// The task of a stream of one client.
fn context(name: &str, role: StreamRole, phases: PhasesPlan, cluster: &FakeCluster) -> StreamContext {
    StreamContext {
        worker: 0,
        run_id: RUN_ID,
        seed: 1,
        bootstrap: cluster.broker_ids().iter().map(|id| cluster.address(*id)).collect(),
        client_id_prefix: "test-".to_owned(),
        wall_offset_ns: 0,
        tick_ns: 0,
        phases,
        has_producers: true,
        task: StreamTask {
            stream: 0,
            name: name.to_owned(),
            seed: 1,
            topic: TOPIC.to_owned(),
            client_first: 0,
            client_count: 1,
            clients_total: 1,
            more_topics: Vec::new(),
            topic_clients: None,
            bytes_per_s_max: None,
            group_id: None,
            bootstrap: Vec::new(),
            java: None,
            span: Default::default(),
            role,
        },
        given: Default::default(),
        groups: ReadGroups::default(),
        security: Default::default(),
        java_connection: None,
        events: Events::default(),
    }
}

/// Runs a stream from connecting now, through T0 `connect_ns` later, to its end or that of its phases. It hears
/// `heard_ns` after T0 that the measure phase begins.
fn drive(mut stream: impl Stream, mut net: SimNet, connect_ns: u64, heard_ns: u64) -> Outcome {
    let t0_ns = net.now_ns.get() + connect_ns;
    let is_late = stream.context().is_late();
    if !is_late {
        run_until(&mut stream, &mut net, t0_ns, |stream| stream.is_connected() == Ok(true));
        assert_eq!(stream.is_connected(), Ok(true), "connected before T0");
        stream.prepare().expect("prepared");
    }
    if stream.is_ready() == Ok(false) {
        run_until(&mut stream, &mut net, t0_ns, |stream| stream.is_ready() != Ok(false));
    }
    assert_eq!(stream.is_ready(), Ok(true), "ready before T0");
    net.now_ns.set(t0_ns - START_AHEAD_NS);
    let phases = stream.context().phases;
    let requests = |net: &SimNet| net.cluster.counts().produce_requests + net.cluster.counts().other_requests;
    let before = requests(&net);
    stream.start(t0_ns);
    run_until(&mut stream, &mut net, t0_ns, |_| false);
    let requests_before_t0 = requests(&net) - before;
    if heard_ns > 0 {
        run_until(&mut stream, &mut net, t0_ns + heard_ns, |_| false);
        assert!(!stream.is_done(), "a warm-up has no end of its own");
    }
    stream.measure_begins(phases.warmup_ns);
    let end_ns = t0_ns + phases.warmup_ns + phases.measure_ns + phases.drain_ns;
    if is_late {
        run_until(&mut stream, &mut net, end_ns, |stream| stream.is_connected() == Ok(true));
        stream.prepare().expect("prepared");
    }
    run_until(&mut stream, &mut net, end_ns, |stream| stream.is_done());
    let ended_ns = net.now_ns.get();
    let totals = stream.finish(ended_ns);
    let samples = stream.take_samples();
    let events = stream.context().events.take(t0_ns, 0);
    let events = events.into_iter().map(|event| format!("{}: {}", event.kind, event.detail)).collect();
    Outcome { totals, samples, cluster: net.cluster, events, ended_ns, requests_before_t0 }
}

/// Lets stream and cluster act in turns, jumping from one deadline to the next.
fn run_until<S: Stream>(stream: &mut S, net: &mut SimNet, end_ns: u64, is_over: impl Fn(&S) -> bool) {
    let (mut turns_at_once, mut deadline_ns, mut turned_ns) = (0, 0, 0);
    loop {
        net.pump();
        let returned_ns = net.now_ns.get();
        let reported_ns = reported_ns(net.looked_ns, deadline_ns, returned_ns);
        net.looked_ns = returned_ns;
        let (clients, ready) = (stream.client_count(), SocketReadiness { is_writable: true, reported_ns });
        for id in net.take_ready() {
            stream_works(true, || stream.on_ready(id % clients, id / clients, ready, net));
        }
        stream_works(true, || stream.turn(net));
        if is_over(stream) {
            return;
        }
        net.pump();
        let has_ready = net.links.values().any(|link| link.is_ready);
        deadline_ns = stream.next_deadline().unwrap_or(u64::MAX);
        let next_ns = deadline_ns.min(net.next_deadline().unwrap_or(u64::MAX));
        if has_ready || next_ns <= net.now_ns.get() {
            let now_ns = net.now_ns.get();
            // A clock that moves while the stream works brings it on.
            turns_at_once = if now_ns == turned_ns { turns_at_once + 1 } else { 0 };
            turned_ns = now_ns;
            assert!(turns_at_once < TURNS_AT_ONCE_MAX, "the loop does not come to rest at {now_ns} ns");
            continue;
        }
        turns_at_once = 0;
        if next_ns >= end_ns {
            net.now_ns.set(end_ns);
            return;
        }
        net.advance(next_ns);
    }
}
