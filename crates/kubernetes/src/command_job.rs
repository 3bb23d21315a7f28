//! The job of a command that runs in pods: that of a run's agents with another container.

use crate::objects;
use crate::state::{DELETED, PodState};
use kdyno_model::generator::GeneratorPods;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The label of the pods of a command. They have none of the run: its agents are found by that.
const COMMAND: &str = "kdyno-command";

/// Where a program of others may write: all else is read-only.
pub const SCRATCH: &str = "/tmp";

/// A command that pods run, each the whole of it.
pub struct CommandJob {
    /// How many pods, and what they get.
    pub pods: GeneratorPods,
    /// The run.
    pub run_id: u64,
    /// Its trial.
    pub trial: u32,
    /// The place of the command among those of the case.
    pub place: usize,
    /// The program and its arguments.
    pub run: Vec<String>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// It is ended by the cluster when it lasts longer, s.
    pub deadline_s: u64,
}

impl CommandJob {
    /// Its name.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", objects::name(self.run_id), self.trial, self.place)
    }

    /// What selects its pods.
    pub fn selector(&self) -> String {
        format!("{COMMAND}={}", self.name())
    }

    /// What is applied.
    pub fn object(&self) -> Value {
        let mut job = objects::job(&self.pods, self.run_id);
        job["metadata"]["name"] = json!(self.name());
        let spec = &mut job["spec"];
        spec["activeDeadlineSeconds"] = json!(self.deadline_s);
        // A command that fails in one pod has failed: the cluster ends the others.
        spec["backoffLimit"] = json!(0);
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("backoffLimitPerIndex");
        }
        let template = &mut spec["template"];
        if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
            labels.remove(objects::RUN);
            labels.insert(COMMAND.to_owned(), json!(self.name()));
        }
        let pod = &mut template["spec"];
        for spread in pod["topologySpreadConstraints"].as_array_mut().into_iter().flatten() {
            spread["labelSelector"] = json!({"matchLabels": {COMMAND: self.name()}});
        }
        let not_of_agent = |one: &Value| one["name"] != objects::IDENTITY;
        if let Some(volumes) = pod["volumes"].as_array_mut() {
            volumes.retain(not_of_agent);
        }
        let container = &mut pod["containers"][0];
        if let Some(mounts) = container["volumeMounts"].as_array_mut() {
            mounts.retain(not_of_agent);
        }
        if let Some(container) = container.as_object_mut() {
            container.remove("args");
        }
        container["name"] = json!("command");
        container["command"] = json!(self.run);
        container["env"] = self.env();
        job
    }

    fn env(&self) -> Value {
        let mut all = self.environment.clone();
        all.entry("TMPDIR".to_owned()).or_insert_with(|| SCRATCH.to_owned());
        all.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    }
}

/// How far a pod of a command is.
#[derive(Debug, Clone)]
pub struct SeenPod {
    /// Its place within the job.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: PodState,
    /// What its program exited with, once it has.
    pub exit_code: Option<i32>,
}

/// What a pod prints.
pub struct PodLines {
    /// All of it, to its end.
    pub stream: UnixStream,
    /// Whether something of it is missing: it is known once the stream has ended.
    pub is_cut: Arc<AtomicBool>,
}

/// How a command in pods has ended: what the first of them that failed exited with, where that is known, and why, one lowercase
/// clause. `None`: some still run, or are to come.
pub fn ended(seen: &[SeenPod], ran: &BTreeSet<u16>, count: u16) -> Option<Result<(), (Option<i32>, String)>> {
    let is_done = |pod: &SeenPod| pod.exit_code == Some(0);
    let why = |pod: &SeenPod| match &pod.state {
        PodState::Over(why) if !is_done(pod) => Some((pod.exit_code, format!("pod {}: {why}", pod.index))),
        PodState::Over(_) | PodState::Running | PodState::Waiting(_) => None,
    };
    // Where one fails its job deletes the others.
    let is_deleted = |(_, why): &(Option<i32>, String)| why.contains(DELETED);
    if let Some(failed) = seen.iter().filter_map(why).min_by_key(is_deleted) {
        return Some(Err(failed));
    }
    if let Some(index) = ran.iter().find(|index| !seen.iter().any(|pod| pod.index == **index)) {
        return Some(Err((None, format!("pod {index}: {DELETED}"))));
    }
    (seen.iter().filter(|pod| is_done(pod)).count() == usize::from(count)).then_some(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> CommandJob {
        let pods = GeneratorPods {
            image: "r.example/kafka:4.1.0".to_owned(),
            count: 6,
            cpu_milli: 2000,
            memory_bytes: 1 << 30,
            node_selector: [].into(),
            ..objects::tests::pods()
        };
        CommandJob {
            pods,
            run_id: 0xab,
            trial: 3,
            place: 1,
            run: ["/opt/kafka/bin/kafka-producer-perf-test.sh", "--topic", "perf"].map(str::to_owned).into(),
            environment: [("KDYNO_BOOTSTRAP_SERVERS".to_owned(), "b:9092".to_owned())].into(),
            deadline_s: 400,
        }
    }

    #[test]
    fn the_job_of_a_command_is_that_of_agents_with_its_container() {
        let object = job().object();
        let name = "kdyno-00000000000000ab-3-1";
        assert_eq!(object["metadata"]["name"], name);
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels[objects::OURS.0], objects::OURS.1, "`clean` finds it");
        assert_eq!(labels[objects::RUN], "00000000000000ab", "so does it by this");
        let spec = &object["spec"];
        assert_eq!((&spec["completions"], &spec["backoffLimit"]), (&json!(6), &json!(0)));
        assert_eq!(
            (&spec["activeDeadlineSeconds"], &spec["ttlSecondsAfterFinished"]),
            (&json!(400), &json!(300))
        );
        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!((&labels[COMMAND], &labels[objects::RUN]), (&json!(name), &Value::Null));
        let pod = &spec["template"]["spec"];
        let spread = &pod["topologySpreadConstraints"][0]["labelSelector"];
        assert_eq!(spread, &json!({"matchLabels": {COMMAND: name}}));
        assert_eq!(pod["automountServiceAccountToken"], false);
        let volumes = json!([
            {"name": "tmp", "emptyDir": {}},
            {"name": "secret-0", "secret": {"secretName": "cluster-ca", "defaultMode": 0o440}},
        ]);
        assert_eq!(pod["volumes"], volumes);
        let wanted = json!({
            "name": "command",
            "image": "r.example/kafka:4.1.0",
            "imagePullPolicy": "IfNotPresent",
            "command": ["/opt/kafka/bin/kafka-producer-perf-test.sh", "--topic", "perf"],
            "env": [
                {"name": "KDYNO_BOOTSTRAP_SERVERS", "value": "b:9092"},
                {"name": "TMPDIR", "value": "/tmp"},
            ],
            "resources": {
                "requests": {"cpu": "2000m", "memory": "1073741824"},
                "limits": {"memory": "1073741824"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [
                {"name": "tmp", "mountPath": "/tmp"},
                {"name": "secret-0", "mountPath": "/certs", "readOnly": true},
            ],
        });
        assert_eq!(pod["containers"], json!([wanted]));
    }

    fn seen(index: u16, state: PodState, exit_code: Option<i32>) -> SeenPod {
        SeenPod { index, name: format!("pod-{index}"), state, exit_code }
    }

    fn over(index: u16, why: &str, exit_code: Option<i32>) -> SeenPod {
        seen(index, PodState::Over(why.to_owned()), exit_code)
    }

    #[test]
    fn a_command_has_ended_when_all_of_its_pods_have() {
        let done = over(0, "it ended with exit code 0", Some(0));
        let ran = BTreeSet::from([0, 1]);
        let runs = seen(1, PodState::Running, None);
        assert_eq!(ended(&[done.clone(), runs], &ran, 2), None);
        assert_eq!(ended(&[done.clone(), seen(1, PodState::Waiting(None), None)], &ran, 2), None);
        let both = [done.clone(), SeenPod { index: 1, ..done.clone() }];
        assert_eq!(ended(&both, &ran, 2), Some(Ok(())));
        assert_eq!(ended(&both, &ran, 3), None, "one is to come");
        let lost = Some(Err((None, "pod 1: it was deleted".to_owned())));
        assert_eq!(ended(&[done], &ran, 2), lost);
    }

    #[test]
    fn the_pod_that_failed_is_named_and_not_those_deleted_for_it() {
        let ran = BTreeSet::from([0, 1]);
        let both = [over(0, DELETED, Some(143)), over(1, "it ended with exit code 3", Some(3))];
        let failed = (Some(3), "pod 1: it ended with exit code 3".to_owned());
        assert_eq!(ended(&both, &ran, 2), Some(Err(failed)));
        let pulls = over(1, "its container does not start: ImagePullBackOff", None);
        let failed = (None, "pod 1: its container does not start: ImagePullBackOff".to_owned());
        assert_eq!(ended(&[pulls], &BTreeSet::new(), 2), Some(Err(failed)));
    }

    #[test]
    fn variables_of_the_scenario_win() {
        let own = CommandJob { environment: [("TMPDIR".to_owned(), "/logs".to_owned())].into(), ..job() };
        let env = &own.object()["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!(env, &json!([{"name": "TMPDIR", "value": "/logs"}]));
    }
}
