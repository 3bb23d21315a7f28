//! Fetching clients against a fake cluster in simulated time.

use super::{MS, Machine, Outcome, RUN_ID, SECOND, SimNet, context, drive};
use kdyno_kafka_server::fake_broker::FakeCluster;
use kdyno_load::consume::ConsumeStream;
use kdyno_model::plan::{ConsumePlan, IsolationLevel, LoadSpan, PhasesPlan, Read, StartOffset};
use kdyno_model::worker::StreamRole;

/// Fetching clients, in the words of the tests.
#[derive(Debug, Clone)]
pub struct Fetching {
    pub plan: ConsumePlan,
    pub clients: u32,
    pub seconds: u64,
    pub drain_seconds: u64,
    /// The run that it takes part in, and how its clock differs from that of who sends, ns.
    pub run_id: u64,
    pub wall_offset_ns: i64,
    pub span: LoadSpan,
}

impl Fetching {
    pub fn from(from: StartOffset) -> Self {
        let plan = ConsumePlan {
            from,
            fetch_bytes_max: 50 << 20,
            partition_bytes_max: 1 << 20,
            fetch_bytes_min: 1,
            fetch_wait_ns: 500 * MS,
            request_timeout_ns: 30 * SECOND,
            retry_backoff_ns: 100 * MS,
            isolation_level: IsolationLevel::ReadUncommitted,
            rack: String::new(),
            poll_records_max: 500,
            work: None,
            read: Read::Decode,
            group: None,
            records_max: None,
            idle_ns: None,
        };
        let span = LoadSpan::default();
        Self { plan, clients: 1, seconds: 5, drain_seconds: 200, run_id: RUN_ID, wall_offset_ns: 0, span }
    }

    /// One batch per fetch: what is stored is fetched in many steps.
    pub fn batch_by_batch(mut self) -> Self {
        self.plan.partition_bytes_max = 1;
        self
    }
}

/// Fetches from a cluster as it is at the instant `begin_ns`; T0 is a second later.
pub fn fetch(fetching: &Fetching, cluster: FakeCluster, begin_ns: u64) -> Outcome {
    let (measure_ns, drain_ns) = (fetching.seconds * SECOND, fetching.drain_seconds * SECOND);
    let phases = PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns, drain_ns };
    let role = StreamRole::Consume(fetching.plan.clone());
    let mut context = context("readers", role, phases, &cluster);
    context.has_producers = false;
    (context.run_id, context.wall_offset_ns) = (fetching.run_id, fetching.wall_offset_ns);
    (context.task.client_count, context.task.clients_total) = (fetching.clients, fetching.clients);
    context.task.span = fetching.span;
    let net = SimNet::new(begin_ns, cluster, Machine::default());
    drive(ConsumeStream::new(&fetching.plan, context), net, SECOND, 0)
}
