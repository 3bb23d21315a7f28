//! The transactional outbox. A service that wrote to its database and then to Kafka could be killed in between, and the
//! change would never be published. So a message is written to a table in the same transaction as the change, and a
//! task sends what is there and deletes it when it is acknowledged. Killed in between it is sent twice, never not at
//! all.

use crate::fault::Fault;
use crate::kafka::{Kafka, Message};
use deadpool_postgres::tokio_postgres::Error;
use deadpool_postgres::{Pool, Transaction};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Each service has one, in its schema.
pub const TABLE: &str = "CREATE TABLE IF NOT EXISTS outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    key text NOT NULL,
    value bytea NOT NULL);";

/// Messages that are sent and deleted at once: of chunks 32 MiB at most.
const BATCH: i64 = 64;
/// How often to look without being woken: for what a process before left behind.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Wakes the task that sends.
#[derive(Clone, Default)]
pub struct Outbox {
    is_filled: Arc<Notify>,
}

impl Outbox {
    /// Writes a message, as part of a transaction. Call [`Outbox::wake`] after it was committed.
    ///
    /// # Errors
    /// The database does not take it.
    pub async fn put(&self, transaction: &Transaction<'_>, message: &Message) -> Result<(), Error> {
        let insert = "INSERT INTO outbox (topic, key, value) VALUES ($1, $2, $3)";
        let insert = transaction.prepare_cached(insert).await?;
        transaction.execute(&insert, &[&message.topic, &message.key, &message.value]).await?;
        Ok(())
    }

    /// Sends what is there at once.
    pub fn wake(&self) {
        self.is_filled.notify_one();
    }

    /// Sends what is written, in the order of writing, until it is stopped.
    ///
    /// # Errors
    /// The producer cannot go on.
    pub async fn relay(
        self,
        pool: Pool,
        kafka: Kafka,
        mut stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        loop {
            let pause = match send_batch(&pool, &kafka).await {
                // A full batch: there is more.
                Ok(sent) if sent >= BATCH as usize => continue,
                Ok(_) => LOOK_EVERY,
                Err(Fault::Fatal(why)) => anyhow::bail!("the outbox: {why}"),
                Err(Fault::Away(why) | Fault::Refused(why)) => {
                    tracing::warn!("the outbox waits: {why}");
                    PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.is_filled.notified() => {}
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
            }
        }
    }
}

/// Sends and deletes the oldest messages; returns how many.
async fn send_batch(pool: &Pool, kafka: &Kafka) -> Result<usize, Fault> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    // One sender at a time keeps the order of messages with one key: two that change one thing were committed one after the
    // other, since each locks its row, and so have rising ids.
    let lock = "SELECT pg_try_advisory_xact_lock(hashtext(current_schema() || '.outbox'))";
    let lock = transaction.prepare_cached(lock).await?;
    if !transaction.query_one(&lock, &[]).await?.get::<_, bool>(0) {
        return Ok(0);
    }
    let select =
        transaction.prepare_cached("SELECT id, topic, key, value FROM outbox ORDER BY id LIMIT $1").await?;
    let rows = transaction.query(&select, &[&BATCH]).await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let messages: Vec<Message> = rows
        .iter()
        .map(|row| Message { topic: row.get(1), key: row.get(2), value: row.get(3), headers: Vec::new() })
        .collect();
    kafka.send_all(&messages).await?;
    let delete = transaction.prepare_cached("DELETE FROM outbox WHERE id = ANY($1)").await?;
    transaction.execute(&delete, &[&ids]).await?;
    transaction.commit().await?;
    Ok(ids.len())
}
