//! Parsed records to stored ones: the source of each is kept.

use crate::consume::{Record, Stage};
use crate::fault::Fault;
use crate::kafka::{Kafka, Message};
use crate::messages::{Outcome, Parsed, Stored};
use deadpool_postgres::Pool;

/// Parsed records to stored ones.
pub struct Store {
    /// The data import's database.
    pub pool: Pool,
    /// The cluster.
    pub kafka: Kafka,
    /// The topic that is read.
    pub parsed: String,
    /// The topic of records that were stored.
    pub stored: String,
    /// The topic of those that were given up.
    pub outcomes: String,
}

impl Stage for Store {
    const NAME: &'static str = "store";

    fn topic(&self) -> &str {
        &self.parsed
    }

    async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
        let records = batch.iter().map(Record::json).collect::<Result<Vec<Parsed>, Fault>>()?;
        self.keep(&records).await?;
        let message = |record: Parsed| {
            let key = record.instance.control_number.clone();
            let Parsed { id, profile, instance, source: _ } = record;
            Message::json(&self.stored, key, &Stored { id, profile, instance })
        };
        // Not by an outbox: until it is sent the parsed records are not marked as done, and would come again.
        self.kafka.send_all(&records.into_iter().map(message).collect::<Vec<_>>()).await
    }

    async fn give_up(&self, record: &Record, why: &str) -> Result<(), Fault> {
        let Ok(parsed) = record.json::<Parsed>() else { return Ok(()) };
        self.kafka.send_all(&[Outcome::failed(parsed.id, why).message(&self.outcomes)]).await
    }
}

impl Store {
    /// Writes the sources of those that are not there yet.
    async fn keep(&self, records: &[Parsed]) -> Result<(), Fault> {
        let jobs: Vec<i64> = records.iter().map(|record| record.id.job).collect();
        let numbers: Vec<i32> = records.iter().map(|record| record.id.number).collect();
        let control_numbers: Vec<&str> =
            records.iter().map(|record| record.instance.control_number.as_str()).collect();
        let sources: Vec<&str> = records.iter().map(|record| record.source.as_str()).collect();
        let client = self.pool.get().await?;
        let insert = "INSERT INTO sources (job, number, control_number, source)
            SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING";
        let insert = client.prepare_cached(insert).await?;
        client.execute(&insert, &[&jobs, &numbers, &control_numbers, &sources]).await?;
        Ok(())
    }
}
