//! Fetching clients against a fake cluster in simulated time.

use super::{Load, MS, Machine, Outcome, RUN_ID, SECOND, SimNet, TOPIC, context, drive, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig};
use kdyno_load::consume::ConsumeStream;
use kdyno_model::plan::{Arrivals, ConsumePlan, LoadSpan, PhasesPlan, StartOffset};
use kdyno_model::worker::StreamRole;

/// Fetching clients, in the words of the tests.
#[derive(Debug, Clone)]
pub struct Fetching {
    pub plan: ConsumePlan,
    pub clients: u32,
    /// From connecting to T0.
    pub connect_seconds: u64,
    pub seconds: u64,
    pub drain_seconds: u64,
    /// The run that it takes part in, and how its clock differs from that of who sends, ns.
    pub run_id: u64,
    pub wall_offset_ns: i64,
    pub span: LoadSpan,
    /// Topics that each client has in addition to the one.
    pub more_topics: Vec<String>,
}

impl Fetching {
    pub fn from(from: StartOffset) -> Self {
        let plan = super::clients::consume(from);
        let span = LoadSpan::default();
        Self {
            plan,
            clients: 1,
            connect_seconds: 1,
            seconds: 5,
            drain_seconds: 200,
            run_id: RUN_ID,
            wall_offset_ns: 0,
            span,
            more_topics: Vec::new(),
        }
    }

    /// One batch per fetch: what is stored is fetched in many steps.
    pub fn batch_by_batch(mut self) -> Self {
        self.plan.partition_bytes_max = 1;
        self
    }
}

/// Fetches from a cluster as it is at the instant `begin_ns`; T0 is a second later, unless clients take longer to connect.
pub fn fetch(fetching: &Fetching, cluster: FakeCluster, begin_ns: u64) -> Outcome {
    let (measure_ns, drain_ns) = (fetching.seconds * SECOND, fetching.drain_seconds * SECOND);
    let phases = PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns, drain_ns };
    let role = StreamRole::Consume(fetching.plan.clone());
    let mut context = context("readers", role, phases, &cluster);
    context.has_producers = false;
    (context.run_id, context.wall_offset_ns) = (fetching.run_id, fetching.wall_offset_ns);
    (context.task.client_count, context.task.clients_total) = (fetching.clients, fetching.clients);
    context.task.group_id = fetching.plan.group.as_ref().map(|group| group.name.clone());
    context.task.span = fetching.span;
    context.task.more_topics = fetching.more_topics.clone();
    let net = SimNet::new(begin_ns, cluster, Machine::default());
    drive(ConsumeStream::new(&fetching.plan, context), net, fetching.connect_seconds * SECOND, 0)
}

/// Time that each request but Produce takes.
pub const CONTROL_NS: u64 = 5 * MS;

/// A cluster that holds what a second of load left in it, in a few hundred batches, and the instant at which it
/// is so.
pub fn filled(brokers: u32, partitions: u32) -> (FakeCluster, u64) {
    filled_as(FakeConfig::new(brokers), partitions)
}

pub fn filled_as(config: FakeConfig, partitions: u32) -> (FakeCluster, u64) {
    let config = config.topic(TOPIC, partitions).control_delay_ns(CONTROL_NS).keep_batches();
    let load =
        Load::open(5_000.0, Arrivals::Poisson).seconds(1.0).with(|plan| plan.client.linger_ns = 2 * MS);
    let outcome = simulate(&load, FakeCluster::new(config));
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
    let stored = stored(&outcome.cluster, partitions);
    assert!(stored.0 == outcome.counts().acknowledged && stored.1 > 200, "{stored:?}");
    (outcome.cluster, outcome.ended_ns)
}

/// Records, batches and bytes that a cluster holds.
pub fn stored(cluster: &FakeCluster, partitions: u32) -> (u64, u64, u64) {
    let all = (0..partitions as i32).map(|partition| cluster.stored(TOPIC, partition).expect("a partition"));
    all.fold((0, 0, 0), |sum, of| (sum.0 + of.records, sum.1 + of.batches, sum.2 + of.bytes))
}

pub fn assert_all_fetched(outcome: &Outcome, partitions: u32) {
    let (records, batches, bytes) = stored(&outcome.cluster, partitions);
    let counts = outcome.counts();
    assert_eq!((counts.fetched, counts.batches, counts.fetched_bytes), (records, batches, bytes));
    let by_client: u64 = outcome.totals.clients.iter().map(|client| client.records).sum();
    let in_rows: u64 = outcome.samples.iter().map(|sample| sample.counts.fetched).sum();
    assert_eq!((by_client, in_rows), (records, records));
}
