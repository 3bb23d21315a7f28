//! The pods of a run by way of the API server: made, waited for, reached, removed.

mod client;
mod command_pods;
mod strimzi;

pub use command_pods::CommandPods;

use crate::bridge::bridged;
use crate::objects::{self, AGENT_PORT};
use crate::place::{self, PodPlace};
use crate::state::{self, EventWords, PodState};
use crate::{AgentIdentity, PodsError, fit};
use client::{AWAY_MAX, BLIP_MAX, Connection, MANAGER, Patience, Refused, gone, insist, of_uid};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Node, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kdyno_model::generator::GeneratorPods;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
pub use strimzi::{StrimziCluster, existing};

/// How often it is looked how far the pods are.
const LOOK: Duration = Duration::from_millis(300);

/// How long one look may take: an API server that hangs is to be reported before it is given up.
const LOOK_DEADLINE: Duration = Duration::from_secs(10);

/// How long it is waited for the end of pods that were deleted.
const REMOVED_DEADLINE: Duration = Duration::from_secs(20);

/// How long a stream to a pod may take: some attempts fit into the time in which a session may be resumed.
const STREAM_DEADLINE: Duration = Duration::from_secs(5);

/// How long the answer may take why a pod is not reached.
const STATE_DEADLINE: Duration = Duration::from_secs(2);

/// Most pods of the namespace of which it is looked whether they are on nodes of the run.
const NEIGHBOURS_MAX: u32 = 500;

/// The pods of a run; removed when dropped.
pub struct RunningPods {
    connection: Connection,
    run_id: u64,
    count: u16,
    /// Running pods, by their place.
    running: BTreeMap<u16, RunningPod>,
    is_removed: bool,
}

/// How far the pods are.
enum Looked {
    AllRun,
    /// What they are waited for.
    Waiting(String),
    /// One will not run: why.
    Over(String),
}

struct RunningPod {
    name: String,
    node: String,
    place: PodPlace,
}

impl RunningPods {
    /// Makes the pods of a run by its `job` and waits until all of them run. `stop` is looked at meanwhile; `say` gets what they wait
    /// for, one lowercase phrase. Each of `at_once` is what has to fit together at some time of the run.
    ///
    /// # Errors
    /// The cluster refuses them, one will not run, or they do not within their time. Nothing stays of them.
    pub fn start(
        (pods, at_once): (&GeneratorPods, &[Vec<GeneratorPods>]),
        (run_id, job): (u64, Value),
        identity: &AgentIdentity,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, PodsError> {
        let connection = Connection::open(pods)?;
        let (secret, job) = objects_of(pods, (run_id, job), identity)?;
        let nodes = nodes(&connection)?;
        check_fit(&nodes, pods, at_once)?;
        let dry = PostParams { dry_run: true, field_manager: Some(MANAGER.to_owned()) };
        connection.call(connection.api::<Secret>().create(&dry, &secret))?;
        connection.call(connection.api::<Job>().create(&dry, &job))?;
        // From here on all that was made is removed.
        let mut made =
            Self { connection, run_id, count: pods.count, running: BTreeMap::new(), is_removed: false };
        made.make(&secret, &job)?;
        made.wait(pods, stop, say)?;
        made.find_places(&place::zones(&nodes))?;
        Ok(made)
    }

    fn make(&self, secret: &Secret, job: &Job) -> Result<(), PodsError> {
        let connection = &self.connection;
        let create = PostParams { dry_run: false, field_manager: Some(MANAGER.to_owned()) };
        // Its pods wait for the secret. So at no moment is there one that nothing owns, even if this lab is killed.
        let job = connection.call(connection.api::<Job>().create(&create, job))?;
        let owner = OwnerReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: objects::name(self.run_id),
            uid: job.metadata.uid.unwrap_or_default(),
            ..OwnerReference::default()
        };
        let mut secret = secret.clone();
        secret.metadata.owner_references = Some(vec![owner]);
        connection.call(connection.api::<Secret>().create(&create, &secret)).map(drop)
    }

    fn wait(
        &mut self,
        pods: &GeneratorPods,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<(), PodsError> {
        let end = Instant::now() + Duration::from_secs(pods.wait_s);
        let (mut said, mut patience) = (String::new(), Patience::default());
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(PodsError::new("the run was interrupted while pods were waited for"));
            }
            let looked = self.look();
            let waits_for = match patience.bear(looked, Instant::now())? {
                Ok(Looked::AllRun) => return Ok(()),
                Ok(Looked::Over(why)) => return Err(PodsError::new(why)),
                Ok(Looked::Waiting(words)) | Err(words) => words,
            };
            if Instant::now() >= end {
                return Err(PodsError::new(format!(
                    "not all pods ran within {} s: {waits_for}",
                    pods.wait_s
                ))
                .hint("`wait` in the generators gives them more time, `cpu` and `memory` what they need"));
            }
            if said != waits_for {
                say(format!("waiting for pods: {waits_for}"));
                said = waits_for;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn look(&mut self) -> Result<Looked, Refused> {
        let found = self.pods()?;
        let mut waiting = Vec::new();
        self.running.clear();
        for (index, pod) in &found {
            match state::of(pod) {
                PodState::Running => {
                    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    let (name, node) = (word(&pod["metadata"]["name"]), word(&pod["spec"]["nodeName"]));
                    self.running.insert(*index, RunningPod { name, node, place: PodPlace::default() });
                }
                PodState::Waiting(why) => waiting.push((*index, pod, why)),
                PodState::Over(why) => return Ok(Looked::Over(format!("pod {index}: {why}"))),
            }
        }
        if self.running.len() == usize::from(self.count) {
            return Ok(Looked::AllRun);
        }
        let is_unknown =
            found.len() < usize::from(self.count) || waiting.iter().any(|(.., why)| why.is_none());
        let job = objects::name(self.run_id);
        let events = if is_unknown { event_words(&self.connection, &job)? } else { Vec::new() };
        let of_event = |pod: &Value| {
            let name = pod["metadata"]["name"].as_str()?;
            let is_its = |one: &&EventWords| matches!(one, EventWords::Waits(of, _) if of == name);
            events.iter().rev().find(is_its).map(|one| one.why().to_owned())
        };
        let no_pod = || {
            let found = events.iter().rev().find(|one| matches!(one, EventWords::NoPod(_)));
            found.map(|one| format!(", the cluster makes no pod: {}", one.why()))
        };
        let of_pod = waiting
            .into_iter()
            .find_map(|(index, pod, why)| Some(format!(", pod {index}: {}", why.or_else(|| of_event(pod))?)));
        let why = of_pod.or_else(no_pod).unwrap_or_default();
        Ok(Looked::Waiting(format!("{} of {} run{why}", self.running.len(), self.count)))
    }

    /// Finds out where the pods are, and which others are there.
    fn find_places(&mut self, zones: &BTreeMap<String, String>) -> Result<(), PodsError> {
        let some = ListParams::default().limit(NEIGHBOURS_MAX);
        let (connection, until) = (&self.connection, Instant::now() + BLIP_MAX);
        let others = insist(until, || connection.ask(connection.api::<Pod>().list(&some)))?.items;
        let found = insist(until, || self.pods())?;
        let others: Vec<Value> = others.iter().filter_map(|pod| serde_json::to_value(pod).ok()).collect();
        for (index, pod) in found {
            if let Some(running) = self.running.get_mut(&index) {
                running.place = PodPlace::of(&pod, zones, &others);
            }
        }
        Ok(())
    }

    /// The newest pod of each place.
    fn pods(&self) -> Result<BTreeMap<u16, Value>, Refused> {
        let all = ListParams::default().labels(&objects::selector(self.run_id));
        let found = self.connection.ask_within(LOOK_DEADLINE, self.connection.api::<Pod>().list(&all))?;
        let read = found.items.iter().filter_map(|pod| serde_json::to_value(pod).ok());
        Ok(read.filter_map(|pod| Some((state::index(&pod)?, pod))).collect())
    }

    /// What streams to the agent of a pod take.
    ///
    /// # Errors
    /// It does not run.
    pub fn dial(&self, index: u16) -> Result<PodDial, PodsError> {
        let pod = self.running.get(&index).ok_or_else(|| PodsError::new("it does not run"))?;
        let (name, node) = (pod.name.clone(), pod.node.clone());
        Ok(PodDial { connection: self.connection.clone(), pod: name, node })
    }

    /// Where a pod is; `None`: it does not run.
    pub fn place(&self, index: u16) -> Option<&PodPlace> {
        self.running.get(&index).map(|pod| &pod.place)
    }

    /// Removes all that was made for the run, and waits for the end of its pods for a while.
    ///
    /// # Errors
    /// Something may be left.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        let (connection, name) = (&self.connection, objects::name(self.run_id));
        let jobs = connection.api::<Job>();
        let secrets = connection.api::<Secret>();
        let until = Instant::now() + AWAY_MAX;
        let job = insist(until, || connection.ask(jobs.delete(&name, &DeleteParams::foreground())));
        let secret = insist(until, || connection.ask(secrets.delete(&name, &DeleteParams::default())));
        let (job, secret) = (gone(job), gone(secret));
        let end = Instant::now() + REMOVED_DEADLINE;
        while job.is_ok() && insist(end, || connection.ask(jobs.get_opt(&name)))?.is_some() {
            if Instant::now() >= end {
                return Err(PodsError::new(format!(
                    "job {name} is deleted, and its pods have not ended yet"
                )));
            }
            std::thread::sleep(LOOK);
        }
        job.and(secret).map_err(|error| PodsError {
            why: format!("{error}; job and secret {name} may be left"),
            hint: "`kdyno kubernetes clean --yes` removes them",
        })
    }
}

impl Drop for RunningPods {
    fn drop(&mut self) {
        // Whoever wants to know why that failed has called it before.
        let _ = self.remove();
    }
}

/// Opens streams to the agent of a pod, also from another thread.
pub struct PodDial {
    connection: Connection,
    pod: String,
    node: String,
}

impl PodDial {
    /// A stream.
    ///
    /// # Errors
    /// There is none.
    pub fn connect(&self) -> Result<UnixStream, PodsError> {
        let api = self.connection.api::<Pod>();
        let forwarded = async { api.portforward(&self.pod, &[AGENT_PORT]).await.map(bridged) };
        let stream = self.connection.ask_within(STREAM_DEADLINE, forwarded)?;
        stream.map_err(|error| PodsError::new(format!("its stream could not be opened: {error}")))
    }

    /// Why the pod no longer runs, one lowercase clause; `None`: it runs, or that cannot be found out now.
    pub fn over(&self) -> Option<String> {
        let api = self.connection.api::<Pod>();
        let found = self.connection.ask_within(STATE_DEADLINE, api.get_opt(&self.pod)).ok()?;
        let found = found.map(serde_json::to_value).transpose().ok()?;
        state::over(found.as_ref()).map(|why| format!("on node {} {why}", self.node))
    }
}

/// Secret and job as the client sends them.
fn objects_of(
    pods: &GeneratorPods,
    (run_id, job): (u64, Value),
    identity: &AgentIdentity,
) -> Result<(Secret, Job), PodsError> {
    let defect =
        |error: &dyn std::fmt::Display| PodsError::new(format!("an object is not as its type: {error}"));
    let mut files = [""; 3];
    let parts = [identity.certificate.as_slice(), identity.key.expose(), identity.token.expose()];
    for (file, part) in files.iter_mut().zip(parts) {
        *file = std::str::from_utf8(part).map_err(|error| defect(&error))?;
    }
    let secret =
        serde_json::from_value(objects::secret(pods, run_id, files)).map_err(|error| defect(&error))?;
    let job = serde_json::from_value(job).map_err(|error| defect(&error))?;
    Ok((secret, job))
}

/// The nodes; none where they may not be listed.
fn nodes(connection: &Connection) -> Result<Vec<Value>, PodsError> {
    match connection.ask(connection.of_cluster::<Node>().list(&ListParams::default())) {
        Ok(nodes) => Ok(nodes.items.iter().filter_map(|node| serde_json::to_value(node).ok()).collect()),
        Err(Refused::Forbidden(_)) => Ok(Vec::new()),
        Err(refused) => Err(refused.into()),
    }
}

/// What keeps pods of a job waiting, as events say it; those of other pods of the namespace are among them.
fn event_words(connection: &Connection, job: &str) -> Result<Vec<EventWords>, Refused> {
    let warnings = ListParams::default().fields("type=Warning");
    let found = match connection.ask_within(LOOK_DEADLINE, connection.api::<Event>().list(&warnings)) {
        Ok(found) => found.items,
        // Without the right to read events there are none.
        Err(Refused::Forbidden(_)) => return Ok(Vec::new()),
        Err(refused) => return Err(refused),
    };
    let read = found.iter().filter_map(|event| serde_json::to_value(event).ok());
    Ok(read.filter_map(|event| state::of_event(&event, job)).collect())
}

/// Refuses pods that can never run, alone or with others. Where nodes are not known the scheduler will say it, once they wait.
fn check_fit(nodes: &[Value], pods: &GeneratorPods, at_once: &[Vec<GeneratorPods>]) -> Result<(), PodsError> {
    if nodes.is_empty() {
        return Ok(());
    }
    let together = || at_once.iter().find_map(|kinds| fit::why_not_together(kinds, nodes));
    match fit::why_not(pods, nodes).or_else(together) {
        None => Ok(()),
        Some(why) => Err(PodsError::new(why).hint("fewer `pods`, or less `cpu` and `memory` for each")),
    }
}

/// What runs made in a namespace, each with its kind: jobs of pods that carry load, and clusters by Strimzi. With `delete` it is
/// deleted, and so are the pods and secrets.
///
/// # Errors
/// It cannot be listed or deleted.
pub fn clean(context: Option<&str>, namespace: Option<&str>, delete: bool) -> Result<Vec<String>, PodsError> {
    let connection = Connection::open_in(context, namespace)?;
    let jobs = connection.api::<Job>();
    let ours = ListParams::default().labels(&objects::of_any_run());
    let mut all = Vec::new();
    for metadata in connection.call(jobs.list(&ours))?.items.into_iter().map(|job| job.metadata) {
        let Some(name) = metadata.name else { continue };
        if delete {
            let how = of_uid(DeleteParams::foreground(), metadata.uid);
            gone(connection.ask(jobs.delete(&name, &how)))?;
        }
        all.push(format!("job {name}"));
    }
    all.extend(strimzi::clean(&connection, delete)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::Config;
    use serde_json::json;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    /// One pod is waited for, of an API server that gives these answers, one per connection: a status and a body, or none. What came
    /// of it, and what was said meanwhile.
    fn waited(answers: Vec<Option<(u16, Value)>>) -> (Result<(), PodsError>, Vec<String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let served = std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().expect("a connection");
                serve(&stream, answer);
            }
        });
        let config = async { Ok(Config::new(url.parse().expect("an address"))) };
        let connection = Connection::by(config, Some("load")).expect("a connection");
        // Nothing was made.
        let mut pods =
            RunningPods { connection, run_id: 1, count: 1, running: BTreeMap::new(), is_removed: true };
        let planned = GeneratorPods { count: 1, ..objects::tests::pods() };
        let mut said = Vec::new();
        let waited = pods.wait(&planned, &AtomicBool::new(false), &mut |words| said.push(words));
        served.join().expect("all were asked for");
        (waited, said)
    }

    /// Reads a question and answers it.
    fn serve(mut stream: &TcpStream, answer: Option<(u16, Value)>) {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        let Some((status, body)) = answer else { return };
        let body = body.to_string();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n");
        let length = body.len();
        let written = write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}");
        written.expect("it reads");
    }

    fn failure(code: u16, message: &str) -> Option<(u16, Value)> {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "", "code": code,
        });
        Some((code, status))
    }

    fn one_that_runs() -> Option<(u16, Value)> {
        let pod = json!({
            "metadata": {"name": "kdyno-1-0-x", "labels": {objects::INDEX: "0"}},
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"phase": "Running", "containerStatuses": [{
                "name": "agent", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-12-01T10:00:00Z"}},
            }]},
        });
        Some((200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]})))
    }

    #[test]
    fn an_api_server_away_for_a_moment_is_asked_again() {
        // The client itself asks again after a 503.
        let busy = || failure(500, "etcdserver: leader changed");
        let (waited, said) = waited(vec![busy(), None, busy(), one_that_runs()]);
        assert_eq!(waited, Ok(()));
        let words =
            "waiting for pods: the API server refuses it: etcdserver: leader changed; it is asked again";
        assert_eq!((said.len(), said[0].as_str(), said[2].as_str()), (3, words, words), "{said:?}");
        assert!(said[1].starts_with("waiting for pods: the API server is not reached: "), "{said:?}");
    }

    #[test]
    fn a_right_or_a_login_that_lacks_is_not_waited_for() {
        let words = "pods is forbidden: User \"ada\" cannot list resource \"pods\"";
        let mut forbidden = failure(403, words);
        if let Some((_, status)) = &mut forbidden {
            status["reason"] = json!("Forbidden");
        }
        let role = "`kdyno kubernetes role` prints the least rights, with `--strimzi` also those for Strimzi";
        let unknown = (failure(401, "Unauthorized"), "Unauthorized", "does `kubectl get pods` work here?");
        for (answer, words, hint) in [(forbidden, words, role), unknown] {
            let (waited, said) = waited(vec![answer]);
            let error = waited.expect_err("a plain answer");
            let words = format!("the API server refuses it: {words}");
            assert_eq!((error.why, error.hint, said), (words, hint, Vec::new()));
        }
    }
}
