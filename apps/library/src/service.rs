//! What all three services have: options, database, Kafka, tasks next to the HTTP server, and an end.

use crate::consume::{self, Stage};
use crate::kafka::Kafka;
use crate::outbox::Outbox;
use anyhow::Context;
use axum::Json;
use axum::http::StatusCode;
use axum::routing::get;
use deadpool_postgres::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Options of every service. kdyno gives each of them by its environment.
#[derive(clap::Args)]
pub struct ServiceOptions {
    /// The port of 127.0.0.1 to listen on.
    #[arg(long, env = "KDYNO_PORT")]
    port: u16,
    /// PostgreSQL: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    #[arg(long, env = "KDYNO_URL_database", hide_env_values = true)]
    database: String,
    /// Kafka's brokers: `HOST:PORT,…`.
    #[arg(long, env = "KDYNO_BOOTSTRAP_SERVERS")]
    kafka: String,
    /// Names of the topics.
    #[command(flatten)]
    pub topics: Topics,
}

/// Names of the topics.
#[derive(clap::Args, Clone)]
pub struct Topics {
    /// What was checked out and in, by item.
    #[arg(long = "topic-loans", env = "KDYNO_TOPIC_loans", default_value = "loans")]
    pub loans: String,
    /// Pieces of an uploaded file.
    #[arg(long = "topic-chunks", env = "KDYNO_TOPIC_chunks", default_value = "chunks")]
    pub chunks: String,
    /// Records that were understood, by control number.
    #[arg(long = "topic-parsed", env = "KDYNO_TOPIC_parsed", default_value = "parsed")]
    pub parsed: String,
    /// Records that were stored, by control number.
    #[arg(long = "topic-stored", env = "KDYNO_TOPIC_stored", default_value = "stored")]
    pub stored: String,
    /// What became of each record, by job.
    #[arg(long = "topic-outcomes", env = "KDYNO_TOPIC_outcomes", default_value = "outcomes")]
    pub outcomes: String,
    /// What was given up.
    #[arg(long = "topic-dead-letters", env = "KDYNO_TOPIC_dead_letters", default_value = "dead-letters")]
    pub dead_letters: String,
}

/// A service that is being started, then runs.
pub struct Service {
    name: &'static str,
    port: u16,
    dead_letters: String,
    /// Its database.
    pub pool: Pool,
    /// Its cluster.
    pub kafka: Kafka,
    tasks: JoinSet<anyhow::Result<()>>,
    /// For each stage, whether its group has given it partitions.
    stages: Vec<(&'static str, Arc<AtomicBool>)>,
    stop: watch::Sender<bool>,
}

impl Service {
    /// Connects to the database and makes its tables.
    ///
    /// # Errors
    /// The database cannot be used, or librdkafka not be set up.
    pub async fn new(
        name: &'static str,
        schema: &str,
        tables: &str,
        options: &ServiceOptions,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            name,
            port: options.port,
            dead_letters: options.topics.dead_letters.clone(),
            pool: crate::database::open(&options.database, schema, tables).await?,
            kafka: Kafka::new(&options.kafka)?,
            tasks: JoinSet::new(),
            stages: Vec::new(),
            stop: watch::Sender::new(false),
        })
    }

    /// Runs a stage next to the HTTP server.
    ///
    /// # Errors
    /// librdkafka does not take the consumer's settings.
    pub fn consume<S: Stage>(&mut self, stage: S) -> anyhow::Result<()> {
        let assigned = Arc::new(AtomicBool::new(false));
        let group = format!("library-{}", S::NAME);
        let member = self.kafka.consumer(&group, stage.topic(), Arc::clone(&assigned))?;
        self.stages.push((S::NAME, assigned));
        let (kafka, dead_letters) = (self.kafka.clone(), self.dead_letters.clone());
        self.tasks.spawn(consume::run(stage, member, kafka, dead_letters, self.stop.subscribe()));
        Ok(())
    }

    /// Runs the sender of an outbox next to the HTTP server.
    pub fn outbox(&mut self) -> Outbox {
        let outbox = Outbox::default();
        self.tasks.spawn(outbox.clone().relay(self.pool.clone(), self.kafka.clone(), self.stop.subscribe()));
        outbox
    }

    /// Answers HTTP until SIGTERM or SIGINT. `GET /health` says 200 once every stage has its partitions.
    ///
    /// # Errors
    /// The port is taken, or a task cannot go on.
    pub async fn serve(mut self, routes: axum::Router) -> anyhow::Result<()> {
        let stages = self.stages.clone();
        let routes = routes.route("/health", get(move || std::future::ready(health(&stages))));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", self.port)).await;
        let listener = listener.with_context(|| format!("port {}", self.port))?;
        tracing::info!("{} listens on {}", self.name, listener.local_addr()?);
        let mut stopped = self.stop.subscribe();
        let server = axum::serve(listener, routes).with_graceful_shutdown(async move {
            // An error is a sender that is gone: the end, too.
            let _ = stopped.wait_for(|stop| *stop).await;
        });
        self.tasks.spawn(async move { server.await.context("the HTTP server") });
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let ended = tokio::select! {
            _ = term.recv() => Ok(()),
            _ = int.recv() => Ok(()),
            // Before the end none ends but by an error.
            Some(task) = self.tasks.join_next() => task.context("a task panicked").flatten(),
        };
        tracing::info!("{} ends", self.name);
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
        ended
    }
}

fn health(stages: &[(&'static str, Arc<AtomicBool>)]) -> (StatusCode, Json<serde_json::Value>) {
    let waiting: Vec<_> = stages
        .iter()
        .filter(|(_, assigned)| !assigned.load(Ordering::Relaxed))
        .map(|(name, _)| name)
        .collect();
    let status = if waiting.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(serde_json::json!({"waits_for_partitions": waiting})))
}
