//! Data import: a MARC 21 file comes over HTTP, is cut into chunks, and each of its records goes through topics until it is
//! created, updated or failed: chunks → parsed → stored → (the inventory makes instances) → outcomes → the job's summary.

mod jobs;
mod outcomes;
mod parse;
mod shared;
mod store;
mod upload;

use crate::service::{Service, ServiceOptions};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use shared::DataImport;
use std::sync::Arc;

/// Options of the service.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    service: ServiceOptions,
    /// The largest file that is taken, in bytes. It lies in memory while it is cut.
    #[arg(long, default_value_t = 64 << 20)]
    upload_bytes_max: usize,
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    profile text NOT NULL,
    records int NOT NULL,
    created int NOT NULL DEFAULT 0,
    updated int NOT NULL DEFAULT 0,
    failed int NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz);
CREATE TABLE IF NOT EXISTS sources (
    job bigint NOT NULL,
    number int NOT NULL,
    control_number text NOT NULL,
    source text NOT NULL,
    PRIMARY KEY (job, number));
-- What became of each record: the first that is heard counts, and nothing else.
CREATE TABLE IF NOT EXISTS outcomes (
    job bigint NOT NULL REFERENCES jobs,
    number int NOT NULL,
    kind text NOT NULL,
    reason text,
    PRIMARY KEY (job, number));
";

/// Runs the service.
///
/// # Errors
/// It cannot be started, or cannot go on.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut service = Service::new("data-import", "data_import", TABLES, &options.service).await?;
    let topics = options.service.topics;
    let (pool, kafka) = (service.pool.clone(), service.kafka.clone());
    service.consume(parse::Parse {
        kafka: kafka.clone(),
        chunks: topics.chunks.clone(),
        parsed: topics.parsed.clone(),
        outcomes: topics.outcomes.clone(),
    })?;
    service.consume(store::Store {
        pool: pool.clone(),
        kafka,
        parsed: topics.parsed,
        stored: topics.stored,
        outcomes: topics.outcomes.clone(),
    })?;
    service.consume(outcomes::Outcomes { pool: pool.clone(), outcomes: topics.outcomes })?;
    let import = DataImport {
        pool,
        outbox: service.outbox(),
        chunks_topic: topics.chunks,
        upload_bytes_max: options.upload_bytes_max,
    };
    let routes = Router::new()
        .route("/imports", post(upload::upload).layer(DefaultBodyLimit::max(options.upload_bytes_max)))
        .route("/imports/{job}", get(jobs::show))
        .route("/imports/{job}/failures", get(jobs::failures))
        .with_state(Arc::new(import));
    service.serve(routes).await
}
