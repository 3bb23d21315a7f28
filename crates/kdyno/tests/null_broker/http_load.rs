//! Load over HTTP: what users and jobs do is what an application saw, and what they took is what it took.

use crate::common::{ProgramOutput, QUICKLY, TestFolder, ran, signal};
use crate::document::{self, Document};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the application saw.
#[derive(Default)]
struct SeenRequests {
    found: AtomicU64,
    loans: Mutex<Vec<String>>,
    polls: AtomicU64,
    uploaded: AtomicU64,
}

/// A small application: looking up takes 20 ms, every tenth loan is refused, an import is done when it was polled three
/// times.
struct Application {
    address: String,
    seen: Arc<SeenRequests>,
    /// Ends it.
    _stop: tokio::sync::oneshot::Sender<()>,
}

const LOOKED_UP: Duration = Duration::from_millis(20);

async fn find(Path(id): Path<String>, State(seen): State<Arc<SeenRequests>>) -> String {
    seen.found.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(LOOKED_UP).await;
    format!("{{\"id\": \"user {id}\", \"active\": true}}")
}

async fn lend(State(seen): State<Arc<SeenRequests>>, body: String) -> Response {
    let mut loans = seen.loans.lock().expect("no panic");
    loans.push(body);
    if loans.len() % 10 == 0 {
        return (StatusCode::CONFLICT, "it is lent").into_response();
    }
    (StatusCode::CREATED, format!("{{\"loan\": {}}}", loans.len())).into_response()
}

async fn upload(State(seen): State<Arc<SeenRequests>>, body: String) -> String {
    seen.uploaded.fetch_max(body.len() as u64, Ordering::Relaxed);
    "{\"job\": {\"id\": 7}}".to_owned()
}

async fn poll(Path(id): Path<String>, State(seen): State<Arc<SeenRequests>>) -> String {
    let asked = seen.polls.fetch_add(1, Ordering::Relaxed) + 1;
    let status = match (id.as_str(), asked) {
        ("7", 3) => "DONE",
        ("7", _) => "RUNNING",
        _ => "FAILED",
    };
    format!("{{\"status\": \"{status}\"}}")
}

impl Application {
    fn start() -> Self {
        let seen = Arc::new(SeenRequests::default());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        listener.set_nonblocking(true).expect("a socket");
        let routes = axum::Router::new()
            .route("/users/{id}", get(find))
            .route("/loans", post(lend))
            .route("/imports", post(upload))
            .route("/imports/{id}", get(poll))
            .with_state(Arc::clone(&seen));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    _ = axum::serve(listener, routes) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, seen, _stop: stop }
    }
}

const HEAD: &str = "\
kdyno: 1
id: users
question: What do they take?
params: {at: x}
system: {kafka: null-broker}
topics: {events: {partitions: 1}}
";

fn run(place: &TestFolder, application: &Application, scenario: &str) -> ProgramOutput {
    document::run(place, &format!("{HEAD}{}", scenario.replace("ADDRESS", &application.address)), &[])
}

/// Headers may be a login: who sends them keeps its memory to itself, as a worker with secrets does.
#[test]
fn who_sends_over_http_leaves_no_core_dump() {
    let place = TestFolder::new();
    let application = Application::start();
    let target = json!({"address": application.address, "timeout_ns": 1_000_000_000,
        "headers": {"authorization": "Bearer xyzzy"}, "trust": null});
    let step = json!({"name": "look-up", "method": "GET", "url": "/users/1", "body": null, "status": null,
        "holds": {}, "keep": {}});
    let users = json!({"users": {"target": target, "users": 1, "per_s": null, "think_ns": [0, 0], "ramp_ns": 0,
        "warmup_ns": 0, "chain": "turn", "steps": [step], "data": null, "seed": 0}});
    let plan = place.file("http-load.json", &users.to_string());
    let aborted = |line: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("ulimit -c unlimited; {line}")])
            .arg(env!("CARGO_BIN_EXE_kdyno"))
            .arg(&plan);
        let mut child = shell.current_dir(place.path()).stdout(Stdio::null()).spawn().expect("a shell");
        let end = Instant::now() + QUICKLY;
        while application.seen.found.load(Ordering::Relaxed) == 0
            && matches!(child.try_wait(), Ok(None))
            && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(child.id(), Signal::ABORT);
        child.wait().expect("a child of ours")
    };
    // Where the host keeps no core of anything there is none to be seen.
    if aborted("kill -ABRT $$").core_dumped() {
        let ended = aborted("exec \"$0\" http-load \"$1\"");
        assert_eq!(ended.signal(), Some(Signal::ABORT.as_raw()), "{ended:?}");
        assert!(application.seen.found.load(Ordering::Relaxed) > 0, "it had its headers");
        assert!(!ended.core_dumped(), "a core dump would have them");
    }
}

#[test]
fn counts_of_users_and_steps_match_those_of_the_application() {
    let place = TestFolder::new();
    let application = Application::start();
    place.file("readers.csv", "card,name\n1,\"a \"\"b\"\"\"\n2,c\n3,d\n");
    let scenario = "load:
  readers:
    users: 4
    think: 5ms..15ms
    chain: check-out
    address: ADDRESS
    data: readers.csv
    steps:
      - {name: look-up, get: '/users/{{card}}', holds: {/active: 'true'}, keep: {who: /id}}
      - {name: lend, post: /loans, json: '{\"who\": \"{{who}}\", \"name\": \"{{name}}\", \"turn\": {{turn}}}', status: 201}
phases: {warmup: 0s, measure: 4s}
";
    let said = run(&place, &application, scenario);
    ran(&said);
    place.expect_no_processes();
    let document = Document::of(&said);
    let count = |subject: &str, metric: &str| document.figure(subject, metric).expect("a count") as u64;
    assert_eq!(document.figure("readers", "succeeded"), Some(1.0));
    assert_eq!(document.0["trials_complete"], 1);
    let loans = application.seen.loans.lock().expect("no panic");
    let found = application.seen.found.load(Ordering::Relaxed);
    assert!(found > 20, "{found}");
    assert_eq!(count("look-up", "requests"), found);
    assert_eq!(count("lend", "requests"), loans.len() as u64);
    assert_eq!(count("lend", "errors"), loans.len() as u64 / 10);
    assert_eq!(count("check-out", "errors"), count("lend", "errors"));
    assert_eq!(count("check-out", "requests"), found, "each turn begins by looking up");
    assert_eq!(count("readers", "requests"), found + loans.len() as u64, "turns are no requests");
    let mean_ns = |subject: &str| document.figure(subject, "response.mean").expect("a time");
    assert!(mean_ns("look-up") >= LOOKED_UP.as_nanos() as f64);
    assert!(mean_ns("check-out") >= mean_ns("look-up"), "a turn holds its steps");
    let of_first: Value = serde_json::from_str(&loans[0]).expect("JSON");
    assert!(of_first["who"].as_str().is_some_and(|who| who.starts_with("user ")), "{of_first}");
    let bodies: Vec<Value> = loans.iter().map(|loan| serde_json::from_str(loan).expect("JSON")).collect();
    assert!(bodies.iter().any(|body| body["name"] == "a \"b\""), "values are quoted as JSON needs it");
    let logs = place.kdyno(&["show", "latest", "--logs"]);
    assert!(logs.stdout.contains("lend: status 409, not 201: it is lent"), "{logs:?}");
}

/// Turns come whatever became of those before: those for which no user is free wait, and that is part of what they took.
#[test]
fn with_a_rate_what_had_to_wait_is_not_forgotten() {
    let place = TestFolder::new();
    let application = Application::start();
    let scenario = "load:
  readers:
    users: 1
    rate: 100/s
    chain: check-out
    address: ADDRESS
    steps: [{name: look-up, get: /users/1}]
phases: {warmup: 0s, measure: 4s}
";
    let said = run(&place, &application, scenario);
    ran(&said);
    let document = Document::of(&said);
    let value = |subject: &str, metric: &str| document.figure(subject, metric).expect("a figure");
    // One user looks up 50 times a second at most; twice as many turns come.
    assert!(
        value("check-out", "requests") > 1.5 * value("look-up", "requests"),
        "all that were due are told"
    );
    assert!(value("check-out", "errors") > 0.25 * value("check-out", "requests"), "those never begun failed");
    assert!(value("look-up", "response.p50") < 0.5e9, "the application itself is as fast as ever");
    assert!(value("check-out", "response.p50") > 0.5e9, "turns waited a second and more");
}

#[test]
fn a_job_is_started_and_polled_until_it_is_done_or_failed() {
    let place = TestFolder::new();
    let application = Application::start();
    place.file("records.mrc", &"x".repeat(100_000));
    let scenario = "load:
  import:
    address: ADDRESS
    job: {post: /imports, file: records.mrc, keep: {id: /job/id}}
    poll: {get: '/imports/{{id}}'}
    every: 100ms
    done: {/status: DONE}
    failed: {/status: FAILED}
  broken:
    address: ADDRESS
    job: {post: /imports}
    poll: {get: /imports/8}
    done: {/status: DONE}
    failed: {/status: FAILED}
    after: import
phases: {warmup: 0s, measure: {until: broken, within: 1m}}
";
    let said = run(&place, &application, scenario);
    assert_eq!(said.code, Some(6), "one of both failed: {said:?}");
    let document = Document::of(&said);
    assert_eq!(document.figure("import", "succeeded"), Some(1.0));
    let took_ns = document.figure("import", "duration").expect("a time");
    assert!((0.2e9..30e9).contains(&took_ns), "two pauses: {took_ns}");
    assert_eq!(document.figure("import", "requests"), Some(4.0), "started, and asked for three times");
    assert_eq!(application.seen.uploaded.load(Ordering::Relaxed), 100_000);
    assert_ne!(document.figure("broken", "succeeded"), Some(1.0));
    assert!(said.stderr.contains("job: it failed: /status is FAILED"), "{said:?}");
    let gone = run(&place, &application, &scenario.replace("file: records.mrc", "file: gone.mrc"));
    assert!(gone.code != Some(0) && gone.stderr.contains("gone.mrc cannot be read"), "{gone:?}");
}

/// A wrong column would make every request fail, and it would be reported when the trial is over.
#[test]
fn unusable_rows_and_certificates_are_reported_before_the_start() {
    let place = TestFolder::new();
    let application = Application::start();
    let scenario = "load:
  readers:
    users: 1
    chain: check-out
    address: ADDRESS
    data: readers.csv
    steps: [{name: look-up, get: '/users/{{card}}'}]
phases: {warmup: 0s, measure: 4s}
";
    for (rows, words) in [
        (
            "crad,name\n1,a\n",
            "readers: readers.csv: it has no column `card`, which the step `look-up` asks for",
        ),
        ("card,user\n1,a\n", "its column `user` has the name of a value that each turn has"),
        ("card,name\n1\n", "found record with 1 fields"),
    ] {
        place.file("readers.csv", rows);
        let said = run(&place, &application, scenario);
        assert!(said.code != Some(0) && said.stderr.contains(words), "{said:?}");
    }
    place.file("readers.csv", "card\n1\n");
    place.file("authority.pem", "nothing\n");
    let trusting = scenario.replace("data: readers.csv", "data: readers.csv\n    trust: authority.pem");
    let said = run(&place, &application, &trusting);
    assert!(said.stderr.contains("authority.pem has none of an authority"), "{said:?}");
    assert_eq!(application.seen.found.load(Ordering::Relaxed), 0, "nothing was sent");
}
