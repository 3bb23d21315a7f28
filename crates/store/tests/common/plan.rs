//! The head of the small run: its scenario and its plan of two cases.

#[path = "../../../model/tests/common/clients.rs"]
mod clients;
#[path = "../../../model/tests/common/plans.rs"]
mod plans;

use kdyno_model::metric::Address;
use kdyno_model::plan::{
    Arrivals, CasePlan, ClusterPlan, Compression, ConsumePlan, Fill, KafkaSource, ListedTrial, LoadPlan,
    Mode, ParamValue, Partitioner, Payload, PhasesPlan, Plan, ProducePlan, ProducerSettings, Published,
    PublishedRow, Rate, RatePiece, ReadDepth, Role, Show, StartOffset, Storage, Strategy, SystemPlan,
    WorkerPlan, WorkerShare,
};
use kdyno_model::run::RunHeader;
use std::collections::BTreeMap;

pub fn header() -> RunHeader {
    RunHeader {
        run_id: 0xfeed_beef_0000_0001,
        scenario_text: "kdyno: 1\nid: fixture\n".into(),
        scenario_path: "fixture".into(),
        plan: Plan {
            scenario: "fixture".into(),
            question: "Does it come back?".into(),
            profile: "laptop".into(),
            changed: BTreeMap::from([("size".into(), "128B".into())]),
            seed: 7,
            strategy: Strategy::List((0..2).map(|case| ListedTrial { case, repeat: 1 }).collect()),
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
            ..plans::plan(vec![case(), other_case()])
        },
    }
}

/// The first case with the plan's other words in place of its own.
pub fn other_case() -> CasePlan {
    let mut case = case();
    case.label = "brokers=3".into();
    case.params.insert("brokers".into(), ParamValue::Int(3));
    let SystemPlan::Local(cluster) = &mut case.system else { return case };
    cluster.kafka = KafkaSource::Home("/opt/kafka".into());
    cluster.mode = Mode::KraftControllers { controllers: 3 };
    cluster.storage = Storage::Memory;
    for item in case.load.values_mut() {
        match &mut item.role {
            Role::Consume(plan) => plan.from = StartOffset::Earliest,
            Role::EndToEnd(plan) => plan.consume.from = StartOffset::Earliest,
            Role::Produce(plan) => {
                plan.rate = Rate::Max { fill: Fill::InFlight };
                plan.payload = Payload::Unique;
                plan.records_max = Some(1 << 40);
                plan.client.compression = Compression::Zstd;
                plan.client.partitioner = Partitioner::RoundRobin;
            }
        }
    }
    case
}

pub fn case() -> CasePlan {
    let config = BTreeMap::from([("num.io.threads".into(), "8".into())]);
    let cluster = ClusterPlan { config, ..plans::cluster() };
    let share = |client_first| WorkerShare { item: "writers".into(), client_first, client_count: 1 };
    CasePlan {
        params: BTreeMap::from([
            ("brokers".into(), ParamValue::Int(1)),
            ("share".into(), ParamValue::Float(0.5)),
            ("size".into(), ParamValue::Text("128B".into())),
        ]),
        topics: BTreeMap::from([("perf".into(), plans::topic(2, 1))]),
        load: BTreeMap::from([("readers".into(), readers()), ("writers".into(), writers())]),
        phases: PhasesPlan {
            warmup_ns: 1_000_000_000,
            warmup_auto: None,
            measure_ns: 3_000_000_000,
            drain_ns: 1_000_000_000,
        },
        workers: (0..2u16)
            .map(|worker| WorkerPlan { worker, shares: vec![share(u32::from(worker))] })
            .collect(),
        ..plans::case(SystemPlan::Local(cluster))
    }
}

fn writers() -> LoadPlan {
    let piece = RatePiece { from_per_s: 1000.0, to_per_s: 1000.0, length_ns: 1_000_000_000 };
    let plan = clients::produce(Rate::Open { pieces: vec![piece], arrivals: Arrivals::Poisson });
    let client = ProducerSettings { linger_ns: 5_000_000, ..plan.client };
    let payload = Payload::Pooled { pool_bytes: 8 << 20 };
    plans::item(2, Role::Produce(ProducePlan { value_bytes: 128, payload, client, ..plan }))
}

fn readers() -> LoadPlan {
    // Less far than by default.
    plans::item(
        1,
        Role::Consume(ConsumePlan { read: ReadDepth::Crc, ..clients::consume(StartOffset::Latest) }),
    )
}
