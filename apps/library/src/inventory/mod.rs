//! Inventory: instances (what a library has) and their items (the copies that are lent). Instances come by imports, over Kafka;
//! the status of items comes from circulation, by HTTP at once and over Kafka for certain.

mod instances;
mod items;
mod statuses;

use crate::service::{Service, ServiceOptions};
use axum::Router;
use axum::routing::{get, put};
use deadpool_postgres::Pool;

/// Options of the service.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    service: ServiceOptions,
    /// How many items there are to be, `I1` to `IN`, each of an instance of its own; those that are there stay.
    #[arg(long, default_value_t = 0)]
    items: i32,
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS instances (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    control_number text NOT NULL UNIQUE,
    title text NOT NULL,
    -- All that is known of it, the title too.
    content jsonb NOT NULL,
    version int NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS items (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    barcode text NOT NULL UNIQUE,
    instance_id bigint NOT NULL REFERENCES instances,
    material text NOT NULL,
    status text NOT NULL DEFAULT 'Available',
    -- Of the event that the status is from.
    status_version bigint NOT NULL DEFAULT 0);
-- What became of each record of an import: a record that comes again becomes nothing else.
CREATE TABLE IF NOT EXISTS imported (
    job bigint NOT NULL,
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
    let mut service = Service::new("inventory", "inventory", TABLES, &options.service).await?;
    items::add(&service.pool, options.items).await?;
    let topics = options.service.topics;
    let (pool, kafka) = (service.pool.clone(), service.kafka.clone());
    service.consume(instances::Instances {
        pool: pool.clone(),
        kafka,
        stored: topics.stored,
        outcomes: topics.outcomes,
    })?;
    service.consume(statuses::Statuses { pool: pool.clone(), loans: topics.loans })?;
    service.serve(routes(pool)).await
}

fn routes(pool: Pool) -> Router {
    Router::new()
        .route("/items/{item}", get(items::show))
        .route("/items/{item}/status", put(items::set_status))
        .route("/instances/{control_number}", get(instances::show))
        .with_state(pool)
}
