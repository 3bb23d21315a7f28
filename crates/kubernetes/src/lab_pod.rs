//! The pod of a lab that runs in the cluster itself (`--in kubernetes`): the job of one pod that carries load, with a folder for
//! the run file, and with the rights of a service account where that lab makes further pods.

use crate::objects;
use kdyno_model::generator::GeneratorPods;
use serde_json::{Value, json};

/// Where the lab keeps its run files.
const RUNS_FOLDER: &str = "/runs";

/// The volume of that folder.
const RUNS_VOLUME: &str = "runs";

/// One pod in place of those that carry load.
pub fn one_of(pods: &GeneratorPods) -> GeneratorPods {
    GeneratorPods { count: 1, ..pods.clone() }
}

/// The job of a lab.
pub fn job(pods: &GeneratorPods, run_id: u64) -> Value {
    let mut job = objects::job(&one_of(pods), run_id);
    let pod = &mut job["spec"]["template"]["spec"];
    if let Some(account) = &pods.service_account {
        pod["serviceAccountName"] = json!(account);
        pod["automountServiceAccountToken"] = json!(true);
    }
    let mut volume = json!({"name": RUNS_VOLUME});
    match &pods.claim {
        Some(claim) => volume["persistentVolumeClaim"] = json!({"claimName": claim}),
        None => volume["emptyDir"] = json!({}),
    }
    push(&mut pod["volumes"], volume);
    let container = &mut pod["containers"][0];
    container["name"] = json!("lab");
    push(&mut container["args"], json!("--lab"));
    push(&mut container["args"], json!(RUNS_FOLDER));
    // Where a lab keeps caches and records.
    push(&mut container["env"], json!({"name": "HOME", "value": "/tmp"}));
    push(&mut container["volumeMounts"], json!({"name": RUNS_VOLUME, "mountPath": RUNS_FOLDER}));
    job
}

fn push(list: &mut Value, item: Value) {
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> GeneratorPods {
        let of_load = objects::tests::pods();
        GeneratorPods {
            memory_bytes: 1 << 30,
            node_selector: Default::default(),
            secrets: Vec::new(),
            ..of_load
        }
    }

    #[test]
    fn a_lab_is_one_pod_with_a_folder_for_its_run_file() {
        let job = job(&pods(), 0xab);
        assert_eq!(
            (&job["spec"]["completions"], &job["spec"]["backoffLimitPerIndex"]),
            (&json!(1), &json!(0))
        );
        let pod = &job["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        let args = json!([
            "agent",
            "--listen",
            "127.0.0.1:7400",
            "--identity",
            "/etc/kdyno-agent",
            "--until-alone",
            "360",
            "--lab",
            "/runs"
        ]);
        assert_eq!(container["args"], args);
        assert_eq!(container["env"][1], json!({"name": "HOME", "value": "/tmp"}));
        assert_eq!(container["volumeMounts"][2], json!({"name": "runs", "mountPath": "/runs"}));
        assert_eq!(pod["volumes"][2], json!({"name": "runs", "emptyDir": {}}));
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert!(pod.get("serviceAccountName").is_none());
    }

    #[test]
    fn a_claim_keeps_the_file_and_an_account_gives_rights() {
        let (claim, service_account) = (Some("runs".to_owned()), Some("kdyno".to_owned()));
        let job = job(&GeneratorPods { claim, service_account, ..pods() }, 1);
        let pod = &job["spec"]["template"]["spec"];
        let volume = json!({"name": "runs", "persistentVolumeClaim": {"claimName": "runs"}});
        assert_eq!(pod["volumes"][2], volume);
        assert_eq!(
            (&pod["serviceAccountName"], &pod["automountServiceAccountToken"]),
            (&json!("kdyno"), &json!(true))
        );
    }
}
