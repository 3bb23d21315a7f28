//! What is applied: a secret, the job of a run's pods, and the rights that this takes.

use kdyno_model::generator::GeneratorPods;
use serde_json::{Map, Value, json};

/// The port at which the agent of a pod listens, on the pod's loopback address.
pub const AGENT_PORT: u16 = 7400;

/// Files of the identity that an agent reads, as keys of the secret.
pub const IDENTITY_FILES: [&str; 3] = ["certificate.pem", "key.pem", "token"];

/// The volume of that identity.
pub(crate) const IDENTITY: &str = "identity";

/// Where they are in a pod.
const IDENTITY_FOLDER: &str = "/etc/kdyno-agent";

/// The label of all that is ours.
pub const OURS: (&str, &str) = ("app.kubernetes.io/managed-by", "kdyno");

/// The label with the run.
pub(crate) const RUN: &str = "kdyno-run";

/// The label in which Kubernetes keeps the place of a pod within its job.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The user and group of the image.
const USER: u32 = 65_532;

/// How long a job may last whose lab never came, s: longer than any run.
const DEADLINE_S: u32 = 7 * 24 * 3600;

/// How long an ended job stays that its lab did not delete, s.
const STAYS_S: u32 = 300;

/// How long the lab may take to come once all pods run, s.
const LAB_COMES_S: u64 = 60;

/// How long an agent may take to end its workers, s.
const GRACE_S: u32 = 10;

/// The name of the secret and of the job of a run.
pub fn name(run_id: u64) -> String {
    format!("kdyno-{run_id:016x}")
}

/// What selects the pods of a run.
pub fn selector(run_id: u64) -> String {
    format!("{RUN}={run_id:016x}")
}

/// What selects the jobs of all runs.
pub fn of_any_run() -> String {
    made_with(RUN)
}

/// What selects all that is ours and has a label: the first one alone may be on objects that somebody wrote after ours.
pub(crate) fn made_with(label: &str) -> String {
    format!("{}={},{label}", OURS.0, OURS.1)
}

fn labels(run_id: u64) -> Value {
    json!({"app.kubernetes.io/name": "kdyno", OURS.0: OURS.1, RUN: format!("{run_id:016x}")})
}

fn metadata(pods: &GeneratorPods, run_id: u64) -> Value {
    let mut metadata = json!({"name": name(run_id), "labels": labels(run_id)});
    if let Some(namespace) = &pods.namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

/// The secret of a run, with the files of [`IDENTITY_FILES`] in their order.
pub fn secret(pods: &GeneratorPods, run_id: u64, files: [&str; 3]) -> Value {
    let data = IDENTITY_FILES.iter().zip(files).map(|(name, text)| ((*name).to_owned(), json!(text)));
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(pods, run_id),
        "type": "Opaque",
        "immutable": true,
        "stringData": data.collect::<Map<_, _>>(),
    })
}

/// The job of a run: all of its pods for all of its trials. A pod that ends is not replaced, and the others go on: what becomes
/// of the trial is the lab's to decide.
pub fn job(pods: &GeneratorPods, run_id: u64) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(pods, run_id),
        "spec": {
            "completionMode": "Indexed",
            "completions": pods.count,
            "parallelism": pods.count,
            "backoffLimitPerIndex": 0,
            "activeDeadlineSeconds": DEADLINE_S,
            "ttlSecondsAfterFinished": STAYS_S,
            "template": {
                "metadata": {"labels": pod_labels(run_id), "annotations": annotations()},
                "spec": pod(pods, run_id),
            },
        },
    })
}

fn pod_labels(run_id: u64) -> Value {
    let mut labels = labels(run_id);
    labels["sidecar.istio.io/inject"] = json!("false");
    labels
}

/// Against what would move a pod, or put a process of others next to the load.
fn annotations() -> Value {
    json!({
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "karpenter.sh/do-not-disrupt": "true",
        "linkerd.io/inject": "disabled",
        "sidecar.istio.io/inject": "false",
    })
}

fn pod(pods: &GeneratorPods, run_id: u64) -> Value {
    let spread = |label: &str, otherwise: &str| {
        let of = json!({"matchLabels": {RUN: format!("{run_id:016x}")}});
        json!({"maxSkew": 1, "topologyKey": label, "whenUnsatisfiable": otherwise, "labelSelector": of})
    };
    let mut spec = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            spread(&pods.spread, "DoNotSchedule"),
            spread("topology.kubernetes.io/zone", "ScheduleAnyway"),
        ],
        "containers": [container(pods)],
        "volumes": volumes(pods, run_id),
    });
    if !pods.node_selector.is_empty() {
        spec["nodeSelector"] = json!(pods.node_selector);
    }
    spec
}

/// CPU time is reserved and not limited: a limit would stop the load now and then, which is a latency of our own.
fn container(pods: &GeneratorPods) -> Value {
    let memory = pods.memory_bytes.to_string();
    let listens = format!("127.0.0.1:{AGENT_PORT}");
    // The lab comes when all pods run, or deletes them.
    let alone_s = (pods.wait_s + LAB_COMES_S).to_string();
    json!({
        "name": "agent",
        "image": pods.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["agent", "--listen", listens, "--identity", IDENTITY_FOLDER, "--until-alone", alone_s],
        "env": [{"name": "TMPDIR", "value": "/tmp"}],
        "resources": {
            "requests": {"cpu": format!("{}m", pods.cpu_milli), "memory": memory},
            "limits": {"memory": memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts(pods),
    })
}

fn mounts(pods: &GeneratorPods) -> Value {
    let own = [
        json!({"name": IDENTITY, "mountPath": IDENTITY_FOLDER, "readOnly": true}),
        json!({"name": "tmp", "mountPath": "/tmp"}),
    ];
    let of_user = pods.secrets.iter().enumerate();
    let of_user =
        of_user.map(|(at, one)| json!({"name": volume_name(at), "mountPath": one.at, "readOnly": true}));
    own.into_iter().chain(of_user).collect()
}

/// Only the pod's own group reads what is secret.
fn volumes(pods: &GeneratorPods, run_id: u64) -> Value {
    const OWNER_AND_GROUP: u32 = 0o440;
    let secret = |volume: String, secret: &str| json!({"name": volume, "secret": {"secretName": secret, "defaultMode": OWNER_AND_GROUP}});
    let own = [secret(IDENTITY.to_owned(), &name(run_id)), json!({"name": "tmp", "emptyDir": {}})];
    let of_user = pods.secrets.iter().enumerate().map(|(at, one)| secret(volume_name(at), &one.secret));
    own.into_iter().chain(of_user).collect()
}

fn volume_name(at: usize) -> String {
    format!("secret-{at}")
}

/// What a role allows: the group of the API, resources, verbs.
pub type Right = (&'static str, &'static str, &'static [&'static str]);

/// The least rights that a run with pods takes in their namespace, and `more` of them. Where nodes may be listed too, a right of
/// the whole cluster, pods that do not fit together are refused before anything starts.
pub fn role(namespace: &str, more: &[Right]) -> Value {
    let rule = |group: &str, resources: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resources], "verbs": verbs});
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "kdyno", "namespace": namespace},
        "rules": [
            rule("batch", "jobs", &["create", "delete", "get", "list"]),
            rule("", "secrets", &["create", "delete"]),
            rule("", "pods", &["get", "list"]),
            rule("", "pods/log", &["get"]),
            rule("", "pods/portforward", &["create", "get"]),
            rule("", "events", &["list"]),
        ],
    });
    if let Some(rules) = role["rules"].as_array_mut() {
        rules.extend(more.iter().map(|(group, resources, verbs)| rule(group, resources, verbs)));
    }
    let of_nodes = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kdyno-nodes"},
        "rules": [rule("", "nodes", &["list"])],
    });
    listed(vec![role, of_nodes])
}

/// Several objects as one, which `kubectl apply` takes.
pub fn listed(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kdyno_model::generator::MountedSecret;

    /// Three pods on nodes of a pool, with a secret of the user's.
    pub(crate) fn pods() -> GeneratorPods {
        GeneratorPods {
            context: None,
            namespace: Some("load".to_owned()),
            image: "r.example/kdyno@sha256:ab".to_owned(),
            count: 3,
            cpu_milli: 1500,
            memory_bytes: 8 << 30,
            spread: "kubernetes.io/hostname".to_owned(),
            node_selector: [("pool".to_owned(), "clients".to_owned())].into(),
            secrets: vec![MountedSecret { secret: "cluster-ca".to_owned(), at: "/certs".to_owned() }],
            wait_s: 300,
            service_account: None,
            claim: None,
        }
    }

    #[test]
    fn what_clean_deletes_has_the_label_of_a_run() {
        assert_eq!(of_any_run(), "app.kubernetes.io/managed-by=kdyno,kdyno-run");
        let labels = &job(&pods(), 0xab)["metadata"]["labels"];
        assert_eq!((&labels[OURS.0], &labels[RUN]), (&json!(OURS.1), &json!("00000000000000ab")));
    }

    #[test]
    fn a_job_runs_all_pods_at_once_and_replaces_none() {
        let job = job(&pods(), 0xab);
        assert_eq!(job["metadata"]["name"], "kdyno-00000000000000ab");
        assert_eq!(job["metadata"]["namespace"], "load");
        let spec = &job["spec"];
        assert_eq!((&spec["completions"], &spec["parallelism"]), (&json!(3), &json!(3)));
        assert_eq!((&spec["backoffLimitPerIndex"], &spec["completionMode"]), (&json!(0), &json!("Indexed")));
        assert_eq!(spec["template"]["metadata"]["labels"][RUN], "00000000000000ab");
        let template = &spec["template"]["spec"];
        assert_eq!(template["restartPolicy"], "Never");
        assert_eq!(template["nodeSelector"], json!({"pool": "clients"}));
        let without = GeneratorPods { namespace: None, node_selector: [].into(), ..pods() };
        let without = super::job(&without, 0xab);
        assert!(without["metadata"].get("namespace").is_none());
        assert!(without["spec"]["template"]["spec"].get("nodeSelector").is_none());
    }

    /// What the strictest level of Kubernetes' pod security standards asks for.
    #[test]
    fn a_pod_passes_the_restricted_level() {
        let job = job(&pods(), 1);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(container["readOnlyRootFilesystem"], true);
        assert_eq!(pod["automountServiceAccountToken"], false);
        let kinds = pod["volumes"].as_array().expect("volumes");
        assert!(kinds.iter().all(|one| one.get("secret").is_some() || one.get("emptyDir").is_some()));
    }

    #[test]
    fn cpu_is_reserved_and_only_memory_is_limited() {
        let job = job(&pods(), 1);
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let memory = "8589934592";
        let wanted = json!({"requests": {"cpu": "1500m", "memory": memory}, "limits": {"memory": memory}});
        assert_eq!(container["resources"], wanted);
    }

    #[test]
    fn secrets_of_the_user_are_files_and_those_of_the_run_too() {
        let job = job(&pods(), 0xab);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0]["secret"]["secretName"], "kdyno-00000000000000ab");
        assert_eq!(pod["volumes"][2]["secret"]["secretName"], "cluster-ca");
        let mounts = &pod["containers"][0]["volumeMounts"];
        assert_eq!(mounts[2]["mountPath"], "/certs");
        for (mount, volume) in
            mounts.as_array().expect("mounts").iter().zip(pod["volumes"].as_array().expect("volumes"))
        {
            assert_eq!(mount["name"], volume["name"]);
        }
        let secret = secret(&pods(), 0xab, ["certificate", "key", "token"]);
        assert_eq!(secret["metadata"]["name"], job["metadata"]["name"]);
        assert_eq!(secret["stringData"]["key.pem"], "key");
    }

    #[test]
    fn rights_are_named_verb_by_verb() {
        let role = super::role("load", &[("", "secrets", &["get"])]);
        let rules = role["items"][0]["rules"].to_string();
        for wanted in ["pods/log", "pods/portforward", "\"create\",\"get\"", "\"batch\"", "[\"get\"]"] {
            assert!(rules.contains(wanted), "{wanted}: {rules}");
        }
        assert!(!rules.contains('*') && !rules.contains("exec"), "{rules}");
        assert_eq!(role["items"][0]["metadata"]["namespace"], "load");
    }
}
