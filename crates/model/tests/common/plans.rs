//! Plans for tests of every crate, with nothing in them but what a test adds.
#![allow(dead_code, reason = "each test program uses its part")]

use kdyno_model::plan::http_load::{HttpTarget, UsersPlan};
use kdyno_model::plan::{
    CasePlan, ClusterPlan, CommandBegins, CommandPlan, ComponentKind, ComponentPlan, Depth, Isolation,
    KafkaSource, LoadPlan, Mode, PhasesPlan, Plan, ReadyWhen, Role, Show, StopSignal, Storage, Strategy,
    SystemPlan, TopicPlan,
};
use std::collections::BTreeMap;

/// One broker of Kafka 4.1.1.
pub fn cluster() -> ClusterPlan {
    ClusterPlan {
        kafka: KafkaSource::Release("4.1.1".to_owned()),
        mode: Mode::KraftCombined,
        brokers: 1,
        heap_bytes: 512 << 20,
        jvm_options: Vec::new(),
        config: BTreeMap::new(),
        ignored: BTreeMap::new(),
        pinned_to: Vec::new(),
        cpu_limit: None,
        racks: Vec::new(),
        storage: Storage::Disk,
        metrics: Default::default(),
        mbeans: Vec::new(),
        listeners: Default::default(),
        quotas: None,
        zones: None,
        is_second: false,
    }
}

/// A case without load, measured for a ns.
pub fn case(system: SystemPlan) -> CasePlan {
    CasePlan {
        label: String::new(),
        params: BTreeMap::new(),
        system,
        topics: BTreeMap::new(),
        load: BTreeMap::new(),
        commands: BTreeMap::new(),
        components: Vec::new(),
        phases: PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 1, drain_ns: 0 },
        workers: Vec::new(),
        generators: Default::default(),
        secrets: BTreeMap::new(),
    }
}

/// A plan of no trials.
pub fn plan(cases: Vec<CasePlan>) -> Plan {
    Plan {
        scenario: "s".to_owned(),
        question: String::new(),
        profile: "p".to_owned(),
        changed: BTreeMap::new(),
        seed: 1,
        cases,
        strategy: Strategy::List(Vec::new()),
        isolation: Isolation::Topic,
        show: Show::default(),
        published: None,
        depth: Depth::Verdict,
        conditioning: None,
        budget_ns: None,
        claims: Vec::new(),
        contrasts: Vec::new(),
        flame: None,
        environment: BTreeMap::new(),
        probe: Vec::new(),
    }
}

pub fn topic(partitions: u32, replicas: u32) -> TopicPlan {
    TopicPlan { partitions, replicas, config: BTreeMap::new() }
}

/// So many clients at a topic `perf`.
pub fn item(clients: u32, role: Role) -> LoadPlan {
    LoadPlan {
        topic: "perf".to_owned(),
        clients,
        more_topics: Vec::new(),
        shared_topics: false,
        zone: None,
        span: Default::default(),
        driver: Default::default(),
        role,
    }
}

/// A command that does nothing, at once.
pub fn command() -> CommandPlan {
    CommandPlan {
        run: vec!["true".to_owned()],
        http: None,
        begins: CommandBegins::At(0),
        timeout_ns: 60_000_000_000,
        ends_measure: false,
        environment: BTreeMap::new(),
        parse: None,
        pods: None,
    }
}

pub fn component(name: &str, kind: ComponentKind) -> ComponentPlan {
    ComponentPlan {
        name: name.to_owned(),
        kind,
        environment: BTreeMap::new(),
        ready: ReadyWhen::Port,
        ready_within_ns: 1,
        stop_signal: StopSignal::Term,
        stop_within_ns: 1,
    }
}

/// A user who does nothing.
pub fn users(address: &str, is_component: bool) -> UsersPlan {
    UsersPlan {
        target: HttpTarget {
            address: address.to_owned(),
            is_component,
            timeout_ns: 1,
            headers: BTreeMap::new(),
            trust: None,
        },
        users: 1,
        per_s: None,
        think_ns: (0, 0),
        ramp_ns: 0,
        warmup_ns: 0,
        chain: "turn".to_owned(),
        steps: Vec::new(),
        data: None,
        seed: 0,
    }
}
