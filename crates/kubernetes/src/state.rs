//! Why a pod does not run, or no longer does, in the words of the scheduler and of the node.

use crate::objects::INDEX;
use serde_json::Value;

/// Longest text of a cluster that is passed on, in characters.
const WORDS_MAX: usize = 600;

/// What is wrong with a container that will not come right by itself.
const HOPELESS: &[&str] = &[
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// What is said of a pod that somebody deletes.
pub(crate) const DELETED: &str = "it was deleted";

/// How far a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// Its agent runs.
    Running,
    /// It may still come to run; why it does not yet, one lowercase clause where that is known.
    Waiting(Option<String>),
    /// It will not run, or has ended: one lowercase clause.
    Over(String),
}

/// Reads a pod as the API describes it.
pub fn of(pod: &Value) -> PodState {
    let status = &pod["status"];
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return PodState::Over(format!("{DELETED}{}", disruption(status)));
    }
    let container = &status["containerStatuses"][0]["state"];
    let phase = text(&status["phase"]).unwrap_or_default();
    if phase == "Failed" || phase == "Succeeded" || !container["terminated"].is_null() {
        return PodState::Over(ended(status, &container["terminated"]));
    }
    if !container["running"].is_null() {
        return PodState::Running;
    }
    if let Some(reason) = text(&container["waiting"]["reason"]) {
        let why = with(&reason, text(&container["waiting"]["message"]));
        return match HOPELESS.contains(&reason.as_str()) {
            true => PodState::Over(format!("its container does not start: {why}")),
            false if reason == "ContainerCreating" => PodState::Waiting(None),
            false => PodState::Waiting(Some(format!("its container does not start yet: {why}"))),
        };
    }
    let is_unscheduled = |one: &&Value| one["type"] == "PodScheduled" && one["status"] == "False";
    let found = conditions(status).find(is_unscheduled);
    PodState::Waiting(found.and_then(|one| text(&one["message"])).map(|why| format!("it has no node: {why}")))
}

/// What the program of a pod exited with; `None`: it has not ended.
pub fn exit_code(pod: &Value) -> Option<i32> {
    let code = pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_i64()?;
    i32::try_from(code).ok()
}

/// How it ended.
fn ended(status: &Value, terminated: &Value) -> String {
    if let Some(reason) = text(&status["reason"]) {
        // The node's own words: evicted, out of a resource, shut down.
        return format!("it was ended: {}", with(&reason, text(&status["message"])));
    }
    let disrupted = disruption(status);
    if terminated["reason"] == "OOMKilled" {
        return format!("it used more than its `memory` and was killed{disrupted}");
    }
    let code = terminated["exitCode"].as_i64();
    let how = code.map_or("it ended".to_owned(), |code| format!("it ended with exit code {code}"));
    match text(&terminated["message"]) {
        Some(message) => format!("{how}{disrupted}: {message}"),
        None => format!("{how}{disrupted}"),
    }
}

/// Why the cluster ended it, if it did.
fn disruption(status: &Value) -> String {
    let is_one = |one: &&Value| one["type"] == "DisruptionTarget" && one["status"] == "True";
    let message = conditions(status).find(is_one).and_then(|one| text(&one["message"]));
    message.map(|message| format!(" ({message})")).unwrap_or_default()
}

/// Its conditions.
pub(crate) fn conditions(status: &Value) -> impl Iterator<Item = &Value> {
    status["conditions"].as_array().into_iter().flatten()
}

/// A reason and what is said of it.
pub(crate) fn with(reason: &str, message: Option<String>) -> String {
    message.map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}"))
}

/// A text of the cluster in one line.
pub(crate) fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = line.chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect();
    (!shown.is_empty()).then_some(shown)
}

/// Why a pod that ran no longer does, by what is there of it; `None`: it runs.
pub fn over(found: Option<&Value>) -> Option<String> {
    match found.map(of) {
        None => Some(DELETED.to_owned()),
        Some(PodState::Over(why)) => Some(why),
        Some(PodState::Running | PodState::Waiting(_)) => None,
    }
}

/// The place of a pod within its job.
pub fn index(pod: &Value) -> Option<u16> {
    pod["metadata"]["labels"][INDEX].as_str()?.parse().ok()
}

/// What an event says of a pod or of the job that makes it.
pub enum EventWords {
    /// Pods cannot be made at all, such as by a quota.
    NoPod(String),
    /// What keeps the pod of that name waiting.
    Waits(String, String),
}

impl EventWords {
    /// The words of the cluster.
    pub fn why(&self) -> &str {
        match self {
            Self::NoPod(why) | Self::Waits(_, why) => why,
        }
    }
}

/// What keeps the pods of a job from running, of what events say, the newest one last; one lowercase clause.
pub fn why_not_run(events: &[EventWords], job: &str) -> Option<String> {
    events.iter().rev().find_map(|one| match one {
        EventWords::NoPod(why) => Some(format!("the cluster makes no pod: {why}")),
        EventWords::Waits(pod, why) => {
            let is_its = pod.strip_prefix(job).is_some_and(|rest| rest.starts_with('-'));
            is_its.then(|| format!("pod {pod}: {why}"))
        }
    })
}

/// Reads an event as the API describes it; `None`: it says nothing of the kind.
pub fn of_event(event: &Value, job: &str) -> Option<EventWords> {
    let about = &event["involvedObject"];
    let name = about["name"].as_str()?;
    let message = text(&event["message"])?;
    match (event["reason"].as_str()?, about["kind"].as_str()?) {
        ("FailedCreate", "Job") if name == job => Some(EventWords::NoPod(message)),
        ("FailedMount" | "FailedCreatePodSandBox", "Pod") => {
            Some(EventWords::Waits(name.to_owned(), message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn over(pod: &Value) -> String {
        match of(pod) {
            PodState::Over(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn waiting(pod: &Value) -> String {
        match of(pod) {
            PodState::Waiting(Some(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    fn container(state: &Value) -> Value {
        json!({"status": {"phase": "Pending", "containerStatuses": [{"state": state}]}})
    }

    #[test]
    fn the_scheduler_is_quoted() {
        let message = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available.";
        let pod = json!({"status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}],
        }});
        assert_eq!(waiting(&pod), format!("it has no node: {message}"));
        assert_eq!(of(&json!({"status": {"phase": "Pending"}})), PodState::Waiting(None));
    }

    #[test]
    fn a_container_that_cannot_start_is_over_and_one_that_may_waits() {
        let pulled =
            json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling\n image \"x\""}});
        assert_eq!(
            over(&container(&pulled)),
            "its container does not start: ImagePullBackOff: Back-off pulling image \"x\""
        );
        let first = json!({"waiting": {"reason": "ErrImagePull", "message": "no such host"}});
        assert!(waiting(&container(&first)).ends_with("ErrImagePull: no such host"));
        assert_eq!(
            of(&container(&json!({"waiting": {"reason": "ContainerCreating"}}))),
            PodState::Waiting(None)
        );
        let running = json!({"running": {"startedAt": "2026-11-29T10:00:00Z"}});
        assert_eq!(of(&container(&running)), PodState::Running);
    }

    #[test]
    fn an_end_has_its_cause() {
        let killed = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
        assert_eq!(over(&container(&killed)), "it used more than its `memory` and was killed");
        assert_eq!(exit_code(&container(&killed)), Some(137));
        assert_eq!(exit_code(&container(&json!({"running": {}}))), None);
        let failed =
            json!({"terminated": {"reason": "Error", "exitCode": 2, "message": "error: no such folder"}});
        assert_eq!(over(&container(&failed)), "it ended with exit code 2: error: no such folder");
        let evicted = json!({"status": {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: memory.",
        }});
        assert_eq!(over(&evicted), "it was ended: Evicted: The node was low on resource: memory.");
        let deleted = json!({
            "metadata": {"deletionTimestamp": "2026-11-29T10:00:00Z"},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "DisruptionTarget", "status": "True", "message": "Eviction API: evicting"}],
            },
        });
        assert_eq!(over(&deleted), "it was deleted (Eviction API: evicting)");
    }

    #[test]
    fn a_missing_pod_was_deleted_and_a_running_one_is_not_over() {
        let killed = container(&json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}));
        let words = "it used more than its `memory` and was killed";
        assert_eq!(super::over(Some(&killed)).as_deref(), Some(words));
        assert_eq!(super::over(None).as_deref(), Some(DELETED));
        assert_eq!(super::over(Some(&container(&json!({"running": {}})))), None);
    }

    #[test]
    fn events_say_why_there_is_no_pod_at_all() {
        let quota = "pods \"kdyno-ab-0\" is forbidden: exceeded quota: team, requested: cpu=2, used: cpu=7, limited: cpu=8";
        let event = json!({
            "reason": "FailedCreate",
            "message": format!("Error creating: {quota}"),
            "involvedObject": {"kind": "Job", "name": "kdyno-ab"},
        });
        let Some(EventWords::NoPod(why)) = of_event(&event, "kdyno-ab") else { panic!("words") };
        assert!(why.ends_with(quota));
        assert!(of_event(&event, "kdyno-cd").is_none(), "of another run");
        let mount = json!({
            "reason": "FailedMount",
            "message": "secret \"cluster-ca\" not found",
            "involvedObject": {"kind": "Pod", "name": "kdyno-ab-0-xyz"},
        });
        let Some(EventWords::Waits(pod, why)) = of_event(&mount, "kdyno-ab") else { panic!("words") };
        assert_eq!((pod.as_str(), why.as_str()), ("kdyno-ab-0-xyz", "secret \"cluster-ca\" not found"));
        let both =
            [of_event(&event, "kdyno-ab"), of_event(&mount, "kdyno-ab")].map(|one| one.expect("words"));
        let words = why_not_run(&both, "kdyno-ab");
        assert_eq!(words.as_deref(), Some("pod kdyno-ab-0-xyz: secret \"cluster-ca\" not found"));
        assert_eq!(why_not_run(&both[1..], "kdyno-a"), None, "of another job");
        let words = why_not_run(&both[..1], "kdyno-ab").expect("no pod");
        assert!(words.starts_with("the cluster makes no pod: Error creating"), "{words}");
    }
}
