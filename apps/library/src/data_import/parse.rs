//! Chunks to records: each is understood, or has failed. Nothing is kept, so a chunk that comes again gives the same again.

use crate::consume::{Record, Stage};
use crate::fault::Fault;
use crate::kafka::{Kafka, Message};
use crate::marc;
use crate::messages::{ChunkKey, Outcome, Parsed, RecordId};

/// Chunks to parsed records.
pub struct Parse {
    /// The cluster.
    pub kafka: Kafka,
    /// The topic that is read.
    pub chunks: String,
    /// The topic of records that were understood.
    pub parsed: String,
    /// The topic of those that failed.
    pub outcomes: String,
}

impl Stage for Parse {
    const NAME: &'static str = "parse";

    fn topic(&self) -> &str {
        &self.chunks
    }

    async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
        // A chunk at a time: all records of a batch at once would be a copy of the file in memory.
        for chunk in batch {
            self.kafka.send_all(&self.messages(chunk)?).await?;
        }
        Ok(())
    }

    async fn give_up(&self, chunk: &Record, why: &str) -> Result<(), Fault> {
        // Without a valid key, no request waits for it.
        let Ok(records) = records(chunk) else { return Ok(()) };
        let outcomes: Vec<Message> =
            records.map(|(id, _)| Outcome::failed(id, why).message(&self.outcomes)).collect();
        self.kafka.send_all(&outcomes).await
    }
}

impl Parse {
    /// What a chunk's records become.
    fn messages(&self, chunk: &Record) -> Result<Vec<Message>, Fault> {
        let profile = key(chunk)?.profile;
        let message = |(id, bytes): (RecordId, &[u8])| {
            let message = marc::read(bytes).and_then(|(instance, source)| {
                let key = instance.control_number.clone();
                let message = Message::json(&self.parsed, key, &Parsed { id, profile, instance, source });
                // As JSON a record that is full of control characters is six times as long. Found out while it is sent, it would
                // take its chunk with it.
                if message.fits() { Ok(message) } else { Err("it is too large as JSON".to_owned()) }
            });
            message.unwrap_or_else(|why| Outcome::failed(id, why).message(&self.outcomes))
        };
        Ok(records(chunk)?.map(message).collect())
    }
}

fn key(chunk: &Record) -> Result<ChunkKey, Fault> {
    chunk.key.parse().map_err(Fault::Refused)
}

/// The records of a chunk, as the file was cut.
fn records(chunk: &Record) -> Result<impl Iterator<Item = (RecordId, &[u8])>, Fault> {
    let RecordId { job, number } = key(chunk)?.first;
    Ok((number..)
        .zip(marc::split(&chunk.value))
        .map(move |(number, bytes)| (RecordId { job, number }, bytes)))
}
