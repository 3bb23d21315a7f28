//! What the tests of faults run on: a database of their own in a PostgreSQL that is there, topics and brokers, and the
//! three services as processes that can be killed and started again.

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for anything; a host under load is slow.
const DEADLINE: Duration = Duration::from_secs(120);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// All services.
pub const SERVICES: [&str; 3] = ["inventory", "circulation", "data-import"];
/// One more, which is not started with the others.
pub const SECOND_INVENTORY: &str = "inventory-2";
const TOPICS: [&str; 6] = ["loans", "chunks", "parsed", "stored", "outcomes", "dead-letters"];

/// Numbers databases and topics of one process of tests.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// What kdyno gives a command.
pub fn reported(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: these tests are run by `kdyno run apps/library/tests/faults.yaml`, see README.md")
    })
}

/// A port that is free right now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// Waits until this returns something.
pub async fn wait_for<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "waited too long: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A running library.
pub struct Lab {
    bootstrap_servers: String,
    database_url: String,
    /// A connection for looking, and what keeps it.
    pub database: deadpool_postgres::tokio_postgres::Client,
    suffix: String,
    ports: BTreeMap<&'static str, u16>,
    running: BTreeMap<&'static str, Child>,
    http: reqwest::Client,
}

impl Lab {
    /// All services, on these brokers, ready.
    pub async fn start(bootstrap_servers: &str) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let suffix = format!("{}-{number}", std::process::id());
        let database_url = make_database(&format!("faults_{}_{number}", std::process::id())).await;
        make_topics(bootstrap_servers, &suffix).await;
        let mut lab = Self {
            bootstrap_servers: bootstrap_servers.to_owned(),
            database: connect(&database_url).await,
            database_url,
            suffix,
            ports: SERVICES.into_iter().chain([SECOND_INVENTORY]).map(|name| (name, free_port())).collect(),
            running: BTreeMap::new(),
            http: reqwest::Client::builder().no_proxy().build().expect("a client"),
        };
        for service in SERVICES {
            lab.start_service(service);
            lab.wait_until_ready(service).await;
        }
        lab
    }

    /// The topic of this name.
    pub fn topic(&self, name: &str) -> String {
        format!("{name}-{}", self.suffix)
    }

    /// Starts a service where it was before.
    pub fn start_service(&mut self, service: &'static str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_library"));
        let kind = service.trim_end_matches("-2");
        command.arg(kind).args([
            "--port",
            &self.ports[service].to_string(),
            "--kafka",
            &self.bootstrap_servers,
        ]);
        command.args(["--database", &self.database_url]);
        for topic in TOPICS {
            command.arg(format!("--topic-{topic}")).arg(self.topic(topic));
        }
        match kind {
            "inventory" => command.args(["--items", "200"]),
            "circulation" => {
                let inventory = format!("127.0.0.1:{}", self.ports["inventory"]);
                command.args(["--users", "200", "--inventory", &inventory])
            }
            _ => command.args(["--upload-bytes-max", "20000000"]),
        };
        command.env("LIBRARY_LOG", "warn");
        let child = command.stdin(Stdio::null()).spawn().expect("the service starts");
        self.running.insert(service, child);
    }

    /// Kills a service: it has no time to end anything.
    pub fn kill(&mut self, service: &str) {
        let mut child = self.running.remove(service).expect("it runs");
        child.kill().expect("killed");
        child.wait().expect("ended");
    }

    /// Waits until a service has its partitions.
    pub async fn wait_until_ready(&self, service: &str) {
        wait_for(service, async || {
            let answer = self.http.get(self.url(service, "/health")).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
    }

    fn url(&self, service: &str, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[service])
    }

    /// Asks a service; the status and the document.
    pub async fn get(&self, service: &str, path: &str) -> (u16, Value) {
        answer_to(self.http.get(self.url(service, path))).await
    }

    /// Sends a document.
    pub async fn post(&self, service: &str, path: &str, document: Value) -> (u16, Value) {
        answer_to(self.http.post(self.url(service, path)).json(&document)).await
    }

    /// Sends a document to a service that may be killed meanwhile; whether it answered.
    pub async fn try_post(&self, service: &str, path: &str, document: Value) -> bool {
        self.http.post(self.url(service, path)).json(&document).send().await.is_ok()
    }

    /// Uploads a file.
    pub async fn upload(&self, profile: &str, file: Vec<u8>) -> (u16, Value) {
        answer_to(self.http.post(self.url("data-import", &format!("/imports?profile={profile}"))).body(file))
            .await
    }

    /// Waits until a job is done; its summary.
    pub async fn finished(&self, job: i64) -> Value {
        wait_for("the job's end", async || {
            let answer =
                self.http.get(self.url("data-import", &format!("/imports/{job}"))).send().await.ok()?;
            let summary: Value = answer.json().await.ok()?;
            (summary["status"].as_str()? != "RUNNING").then_some(summary)
        })
        .await
    }

    /// A number from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        self.database.query_one(sql, &[]).await.expect("an answer").get(0)
    }
}

impl Drop for Lab {
    /// Asks all to end, so that they leave their groups: the next ones would wait for them otherwise.
    fn drop(&mut self) {
        for child in self.running.values() {
            // One that has ended needs no more.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
        }
        for child in self.running.values_mut() {
            let asked = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(LOOK_EVERY);
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

async fn answer_to(request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    let text = answer.text().await.expect("its text");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

async fn connect(url: &str) -> deadpool_postgres::tokio_postgres::Client {
    let (client, connection) =
        deadpool_postgres::tokio_postgres::connect(url, deadpool_postgres::tokio_postgres::NoTls)
            .await
            .expect("the database answers");
    // It ends with the client.
    tokio::spawn(connection);
    client
}

/// A database next to the one that is there; its URL.
async fn make_database(name: &str) -> String {
    let url = reported("KDYNO_URL_database");
    connect(&url).await.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
    let (server, _) = url.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{name}")
}

async fn make_topics(bootstrap_servers: &str, suffix: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", bootstrap_servers).create().expect("a client");
    let names = TOPICS.map(|topic| format!("{topic}-{suffix}"));
    let topics = names.each_ref().map(|name| NewTopic::new(name, 2, TopicReplication::Fixed(1)));
    let made = admin.create_topics(&topics, &AdminOptions::new()).await.expect("an answer");
    for topic in made {
        topic.expect("a topic");
    }
}
