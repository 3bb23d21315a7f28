//! A pool of connections to PostgreSQL. Each service has a schema of its own and never looks into another's.

use anyhow::Context;
use deadpool_postgres::tokio_postgres::{Config, NoTls};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use std::time::Duration;

/// Connections of a service. PostgreSQL takes 100 by default, and beyond a few per core more of them only wait for each other.
const CONNECTIONS_MAX: usize = 16;
/// How long a request may wait for a connection before it gets an error.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Connects, and makes the schema and the tables that are not there.
///
/// # Errors
/// The address is none, or the database cannot be reached or used.
pub async fn open(url: &str, schema: &str, tables: &str) -> anyhow::Result<Pool> {
    // Not with the URL: it holds a password.
    let mut config: Config = url.parse().context("the database's address is no `postgresql://` URL")?;
    config.options(format!("-c search_path={schema}"));
    config.application_name(schema);
    let manager =
        Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let pool = Pool::builder(manager)
        .max_size(CONNECTIONS_MAX)
        .wait_timeout(Some(WAIT_MAX))
        .create_timeout(Some(WAIT_MAX))
        .runtime(Runtime::Tokio1)
        .build()?;
    let client = pool.get().await.context("no connection to the database")?;
    // The lock lets two instances start at once: `IF NOT EXISTS` alone does not.
    let outbox = crate::outbox::TABLE;
    let all = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(hashtext('{schema}')); CREATE SCHEMA IF NOT EXISTS {schema}; {outbox} {tables} COMMIT;"
    );
    client.batch_execute(&all).await.with_context(|| format!("the tables of {schema}"))?;
    Ok(pool)
}
