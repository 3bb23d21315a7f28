//! What is applied for a cluster that Strimzi makes: its nodes, the cluster, and a user where clients log in.

use crate::objects::{self, OURS, Right};
use kdyno_model::plan::{ClientListener, Mechanism, Mode, StrimziPlan};
use serde_json::{Map, Value, json};

/// The API group of Strimzi's resources.
pub const GROUP: &str = "kafka.strimzi.io";

/// Versions of it that are spoken, the one to be taken first.
pub const VERSIONS: [&str; 2] = ["v1", "v1beta2"];

/// A kind of resource: its name, and that in paths of the API.
pub type ResourceKind = (&'static str, &'static str);

/// The cluster.
pub const KAFKA: ResourceKind = ("Kafka", "kafkas");
/// Nodes that are alike.
pub const NODES: ResourceKind = ("KafkaNodePool", "kafkanodepools");
/// Who logs in.
pub const USER: ResourceKind = ("KafkaUser", "kafkausers");

/// All kinds, in the order in which they are deleted.
pub const KINDS: [ResourceKind; 3] = [USER, KAFKA, NODES];

/// The rights that a run with them takes in addition: secrets have the authority's certificate, and what users log in with.
pub const RIGHTS: &[Right] =
    &[(GROUP, USER.1, VERBS), (GROUP, KAFKA.1, VERBS), (GROUP, NODES.1, VERBS), ("", "secrets", &["get"])];

const VERBS: &[&str] = &["create", "delete", "get", "list", "patch"];

/// The label by which Strimzi's resources and their pods find their cluster.
const CLUSTER: &str = "strimzi.io/cluster";

/// The label with the run. Another one than that of pods that carry load, since Strimzi gives it to its pods.
const RUN: &str = "kdyno-cluster-run";

/// The name of the listener of clients.
pub(crate) const LISTENER: &str = "clients";

/// Its port.
const PORT: u16 = 9092;

/// A resource to be applied.
pub struct StrimziResource {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its name.
    pub name: String,
    /// All of it.
    pub body: Value,
}

/// The name of a cluster. There is one for each start, which a trial asked for.
pub fn name(run_id: u64, trial: u32) -> String {
    format!("kdyno-{run_id:016x}-{trial}")
}

/// What selects the pods of a cluster.
pub fn selector(name: &str) -> String {
    format!("{CLUSTER}={name}")
}

/// What selects the resources of all runs.
pub fn of_any_run() -> String {
    objects::made_with(RUN)
}

/// The secret with the certificate that clients trust, and its key there.
pub fn ca_secret(name: &str) -> (String, &'static str) {
    (format!("{name}-cluster-ca-cert"), "ca.crt")
}

/// How users log in, by Strimzi's name of it; `None`: they do not.
pub fn authentication(clients: &ClientListener) -> Option<&'static str> {
    match clients.mechanism {
        Some(Mechanism::ScramSha512) => Some("scram-sha-512"),
        None if clients.client_certificates => Some("tls"),
        // None of these is planned.
        Some(Mechanism::Plain | Mechanism::ScramSha256 | Mechanism::OauthBearer) | None => None,
    }
}

/// All resources of a cluster in this version of the API, in the order in which they are applied.
pub fn resources(plan: &StrimziPlan, run_id: u64, trial: u32, version: &str) -> Vec<StrimziResource> {
    let cluster = name(run_id, trial);
    let api = format!("{GROUP}/{version}");
    let made = |kind: ResourceKind, name: String, base: Value, spec: Value| {
        let mut labels = json!({OURS.0: OURS.1, RUN: format!("{run_id:016x}")});
        if kind != KAFKA {
            labels[CLUSTER] = json!(cluster);
        }
        let mut body = base;
        lay(&mut body, template(plan, kind));
        let metadata = json!({"name": name, "labels": labels});
        lay(&mut body, json!({"apiVersion": api, "kind": kind.0, "metadata": metadata, "spec": spec}));
        StrimziResource { kind, name, body }
    };
    let mut found: Vec<StrimziResource> = pools(plan)
        .into_iter()
        .map(|(suffix, spec)| made(NODES, format!("{cluster}-{suffix}"), json!({}), spec))
        .collect();
    found.push(made(KAFKA, cluster.clone(), defaults(plan, version), kafka(plan)));
    let user = authentication(&plan.cluster.listeners.clients);
    let user = user.map(|kind| json!({"authentication": {"type": kind}}));
    found.extend(user.map(|spec| made(USER, cluster.clone(), json!({}), spec)));
    found
}

/// What the user's own file has of this kind.
fn template(plan: &StrimziPlan, kind: ResourceKind) -> Value {
    let Some(own) = plan.template.iter().find(|one| one["kind"] == kind.0) else { return json!({}) };
    let has = |(key, value): (&str, &Value)| value.is_object().then(|| (key.to_owned(), value.clone()));
    let of = &own["metadata"];
    let metadata =
        [("annotations", &of["annotations"]), ("labels", &of["labels"])].into_iter().filter_map(has);
    let mut kept = json!({"metadata": metadata.collect::<Map<_, _>>()});
    kept.as_object_mut().into_iter().for_each(|kept| kept.extend(has(("spec", &own["spec"]))));
    kept
}

/// Lays values over others: of maps each key, anything else as a whole.
fn lay(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            over.into_iter().for_each(|(key, value)| lay(under.entry(key).or_insert(Value::Null), value));
        }
        (under, over) => *under = over,
    }
}

/// What holds where neither the user's own file nor the scenario says something: what a test cluster of this size needs in place
/// of Kafka's defaults, and the marks without which earlier versions look for ZooKeeper.
fn defaults(plan: &StrimziPlan, version: &str) -> Value {
    let brokers = plan.cluster.brokers;
    let (replicas, in_sync_min) = (brokers.min(3).to_string(), brokers.min(2).to_string());
    let config = json!({
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync_min,
        "transaction.state.log.replication.factor": replicas,
    });
    let annotations = match version == VERSIONS[0] {
        true => json!({}),
        false => json!({"strimzi.io/kraft": "enabled", "strimzi.io/node-pools": "enabled"}),
    };
    json!({"metadata": {"annotations": annotations}, "spec": {"kafka": {"config": config}}})
}

fn kafka(plan: &StrimziPlan) -> Value {
    let clients = &plan.cluster.listeners.clients;
    let mut listener = json!({
        "name": LISTENER,
        "port": PORT,
        "type": plan.listener.to_string(),
        "tls": clients.protocol.has_tls(),
    });
    let authentication = authentication(clients);
    if let Some(kind) = authentication {
        listener["authentication"] = json!({"type": kind});
    }
    let mut spec = json!({"kafka": {"listeners": [listener], "config": plan.cluster.config}});
    if let Some(release) = plan.cluster.kafka.release() {
        spec["kafka"]["version"] = json!(release);
    }
    if authentication.is_some() {
        // No operator of topics: they are made and deleted by Kafka's own requests.
        spec["entityOperator"] = json!({"userOperator": {}});
    }
    spec
}

/// Nodes: the end of the name of a pool, and what is in it.
fn pools(plan: &StrimziPlan) -> Vec<(&'static str, Value)> {
    const BOTH: &[&str] = &["controller", "broker"];
    let brokers = plan.cluster.brokers;
    let (voters, others) = match plan.cluster.mode {
        Mode::KraftCombined => {
            let voters = brokers.min(Mode::COMBINED_VOTERS_MAX);
            (("d", voters, BOTH), brokers - voters)
        }
        // None with ZooKeeper is planned.
        Mode::KraftControllers { controllers: nodes } | Mode::Zookeeper { nodes } => {
            (("c", nodes, &BOTH[..1]), brokers)
        }
    };
    [voters, ("b", others, &BOTH[1..])]
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(suffix, count, roles)| (suffix, pool(plan, count, roles)))
        .collect()
}

fn pool(plan: &StrimziPlan, count: u32, roles: &[&str]) -> Value {
    let mut volume = json!({"id": 0, "kraftMetadata": "shared"});
    match &plan.volume {
        None => volume["type"] = json!("ephemeral"),
        Some(of) => {
            volume["type"] = json!("persistent-claim");
            volume["size"] = json!(of.bytes.to_string());
            // It is of this cluster alone.
            volume["deleteClaim"] = json!(true);
            if let Some(class) = &of.class {
                volume["class"] = json!(class);
            }
        }
    }
    let storage = json!({"type": "jbod", "volumes": [volume]});
    let mut spec = json!({"replicas": count, "roles": roles, "storage": storage});
    if roles.contains(&"broker") {
        let heap = java_size(plan.cluster.heap_bytes);
        spec["jvmOptions"] = json!({"-Xms": heap, "-Xmx": heap});
        resources_of(plan, &mut spec);
    }
    spec
}

/// A size as Strimzi takes it, which knows `m` and no smaller unit but bytes.
fn java_size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes.is_multiple_of(MIB) { format!("{}m", bytes / MIB) } else { bytes.to_string() }
}

/// Memory is reserved and limited alike, so that what is reserved is there.
fn resources_of(plan: &StrimziPlan, spec: &mut Value) {
    let memory = plan.memory_bytes.map(|bytes| json!(bytes.to_string()));
    let cpu = plan.cpu_milli.map(|milli| json!(format!("{milli}m")));
    let limit = plan.cluster.cpu_limit.map(|cpus| json!(format!("{}m", (cpus * 1000.0).round())));
    for (which, cpu) in [("requests", cpu), ("limits", limit)] {
        if let Some(cpu) = cpu {
            spec["resources"][which]["cpu"] = cpu;
        }
        if let Some(memory) = &memory {
            spec["resources"][which]["memory"] = memory.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{
        BrokerMetrics, ClusterPlan, KafkaSource, Listeners, Protocol, Storage, StrimziListener,
        StrimziVolume, TlsVersion,
    };

    fn plan(brokers: u32, clients: ClientListener) -> StrimziPlan {
        let cluster = ClusterPlan {
            kafka: KafkaSource::Release("4.1.1".to_owned()),
            mode: Mode::KraftCombined,
            brokers,
            heap_bytes: 1 << 30,
            jvm_options: Vec::new(),
            config: [("num.io.threads".to_owned(), "4".to_owned())].into(),
            ignored: Default::default(),
            pinned_to: Vec::new(),
            cpu_limit: None,
            racks: Vec::new(),
            storage: Storage::Disk,
            metrics: BrokerMetrics::Jmx,
            mbeans: Vec::new(),
            listeners: Listeners { clients, ..Listeners::default() },
            quotas: None,
            zones: None,
            is_second: false,
        };
        StrimziPlan {
            cluster,
            context: None,
            namespace: None,
            listener: StrimziListener::Internal,
            cpu_milli: None,
            memory_bytes: None,
            volume: None,
            template: Vec::new(),
            wait_s: 600,
        }
    }

    fn tls_with_certificates() -> ClientListener {
        ClientListener {
            protocol: Protocol::Ssl,
            mechanism: None,
            tls: TlsVersion::ALL.to_vec(),
            client_certificates: true,
        }
    }

    const NAME: &str = "kdyno-00000000000000ab-3";

    #[test]
    fn a_plain_cluster_is_a_pool_and_a_kafka_and_no_user() {
        let made = resources(&plan(1, ClientListener::default()), 0xab, 3, "v1");
        let bodies: Vec<&Value> = made.iter().map(|one| &one.body).collect();
        let labels = |mut more: Value| {
            more["app.kubernetes.io/managed-by"] = json!("kdyno");
            more["kdyno-cluster-run"] = json!("00000000000000ab");
            more
        };
        let pool = json!({
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaNodePool",
            "metadata": {
                "name": format!("{NAME}-d"),
                "labels": labels(json!({"strimzi.io/cluster": NAME})),
            },
            "spec": {
                "replicas": 1,
                "roles": ["controller", "broker"],
                "storage": {
                    "type": "jbod",
                    "volumes": [{"id": 0, "kraftMetadata": "shared", "type": "ephemeral"}],
                },
                "jvmOptions": {"-Xms": "1024m", "-Xmx": "1024m"},
            },
        });
        let kafka = json!({
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "Kafka",
            "metadata": {"name": NAME, "labels": labels(json!({})), "annotations": {}},
            "spec": {"kafka": {
                "version": "4.1.1",
                "listeners": [{"name": "clients", "port": 9092, "type": "internal", "tls": false}],
                "config": {
                    "auto.create.topics.enable": "false",
                    "group.initial.rebalance.delay.ms": "0",
                    "num.io.threads": "4",
                    "offsets.topic.replication.factor": "1",
                    "transaction.state.log.min.isr": "1",
                    "transaction.state.log.replication.factor": "1",
                },
            }},
        });
        assert_eq!(bodies, [&pool, &kafka]);
        assert_eq!(
            of_any_run(),
            "app.kubernetes.io/managed-by=kdyno,kdyno-cluster-run",
            "`clean` finds them"
        );
    }

    #[test]
    fn logins_make_a_user_and_its_operator() {
        let made = resources(&plan(5, tls_with_certificates()), 0xab, 3, "v1beta2");
        let kinds: Vec<(&str, &str)> = made.iter().map(|one| (one.kind.0, one.name.as_str())).collect();
        let (voters, others) = (format!("{NAME}-d"), format!("{NAME}-b"));
        let wanted = [
            ("KafkaNodePool", voters.as_str()),
            ("KafkaNodePool", others.as_str()),
            ("Kafka", NAME),
            ("KafkaUser", NAME),
        ];
        assert_eq!(kinds, wanted);
        assert_eq!(
            (&made[0].body["spec"]["replicas"], &made[1].body["spec"]["replicas"]),
            (&json!(3), &json!(2))
        );
        let kafka = &made[2].body;
        assert_eq!(kafka["metadata"]["annotations"]["strimzi.io/kraft"], "enabled");
        assert_eq!(kafka["spec"]["kafka"]["listeners"][0]["authentication"], json!({"type": "tls"}));
        assert_eq!(kafka["spec"]["entityOperator"], json!({"userOperator": {}}));
        let user = &made[3].body;
        assert_eq!(user["spec"], json!({"authentication": {"type": "tls"}}));
        assert_eq!(user["metadata"]["labels"]["strimzi.io/cluster"], NAME);
    }

    #[test]
    fn brokers_get_their_volumes_cpus_and_memory() {
        let mut plan = plan(2, ClientListener::default());
        plan.cluster.mode = Mode::KraftControllers { controllers: 1 };
        plan.cluster.cpu_limit = Some(2.5);
        plan.cpu_milli = Some(1500);
        plan.memory_bytes = Some(4 << 30);
        plan.volume = Some(StrimziVolume { bytes: 10 << 30, class: Some("fast".to_owned()) });
        let made = resources(&plan, 0xab, 3, "v1");
        let (controller, broker) = (&made[0].body["spec"], &made[1].body["spec"]);
        assert_eq!((&controller["roles"], &broker["roles"]), (&json!(["controller"]), &json!(["broker"])));
        assert!(controller.get("resources").is_none() && controller.get("jvmOptions").is_none());
        let memory = "4294967296";
        let wanted = json!({
            "requests": {"cpu": "1500m", "memory": memory},
            "limits": {"cpu": "2500m", "memory": memory},
        });
        assert_eq!(broker["resources"], wanted);
        let volume = json!({
            "id": 0,
            "kraftMetadata": "shared",
            "type": "persistent-claim",
            "size": "10737418240",
            "class": "fast",
            "deleteClaim": true,
        });
        assert_eq!(broker["storage"]["volumes"], json!([volume]));
    }

    #[test]
    fn the_scenario_is_laid_over_the_template() {
        let mut plan = plan(3, ClientListener::default());
        plan.template = vec![json!({
            "apiVersion": "kafka.strimzi.io/v1beta2",
            "kind": "Kafka",
            "metadata": {"name": "theirs", "namespace": "other", "labels": {"team": "a"}},
            "spec": {"kafka": {
                "version": "4.0.0",
                "rack": {"topologyKey": "zone"},
                "config": {"num.io.threads": 8, "offsets.topic.replication.factor": 2},
            }},
            "status": {"clusterId": "old"},
        })];
        let made = resources(&plan, 0xab, 3, "v1");
        let kafka = &made[1].body;
        assert_eq!(kafka["apiVersion"], "kafka.strimzi.io/v1");
        assert_eq!(
            (&kafka["metadata"]["name"], &kafka["metadata"]["labels"]["team"]),
            (&json!(NAME), &json!("a"))
        );
        assert!(kafka["metadata"].get("namespace").is_none() && kafka.get("status").is_none());
        let spec = &kafka["spec"]["kafka"];
        assert_eq!((&spec["version"], &spec["rack"]["topologyKey"]), (&json!("4.1.1"), &json!("zone")));
        let config = &spec["config"];
        assert_eq!(config["num.io.threads"], "4", "the scenario's");
        assert_eq!(config["offsets.topic.replication.factor"], 2, "the template's");
        assert_eq!(config["transaction.state.log.min.isr"], "2", "what fits");
    }
}
