//! A stage: reads a topic as a member of a group, deals with what it reads in batches, and commits what was dealt with. A record
//! may come twice (a kill between dealing and committing), so each stage is idempotent. What is refused is tried a few times
//! more by itself, then goes to the dead-letter topic, so that it holds up nothing.

use crate::fault::Fault;
use crate::kafka::{GroupMember, Kafka, Message};
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message as _};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;

/// Most records and bytes of a batch: what is done again when one of it is refused.
const BATCH_RECORDS_MAX: usize = 500;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How long to wait for one more record of a batch.
const GATHER: Duration = Duration::from_millis(2);
/// How often a record that is refused is tried by itself.
const TRIES: u32 = 3;
/// Between two tries; doubled each time while something is away, up to the longest.
const PAUSE_LEAST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(5);

/// A record that was read.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its key; empty where it has none.
    pub key: String,
    /// Its value.
    pub value: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
}

impl Record {
    fn of(message: &BorrowedMessage<'_>) -> Self {
        Self {
            key: String::from_utf8_lossy(message.key().unwrap_or_default()).into_owned(),
            value: message.payload().unwrap_or_default().to_vec(),
            partition: message.partition(),
            offset: message.offset(),
        }
    }

    /// Its value, of JSON.
    ///
    /// # Errors
    /// It is something else.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(&self.value)
            .map_err(|error| Fault::Refused(format!("it is not understood: {error}")))
    }
}

/// What is done with the records of a topic.
pub trait Stage: Send + Sync + 'static {
    /// Its name, and that of its consumer group.
    const NAME: &'static str;

    /// The topic that it reads.
    fn topic(&self) -> &str;

    /// Deals with all of these, or with none. The same ones may come again.
    fn handle(&self, batch: &[Record]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Informs the waiting request that this record was given up.
    fn give_up(&self, record: &Record, why: &str) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// Runs a stage until it is stopped.
///
/// # Errors
/// Consumer or producer cannot go on.
pub async fn run<S: Stage>(
    stage: S,
    member: GroupMember,
    kafka: Kafka,
    dead_letters: String,
    mut stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    loop {
        let batch = tokio::select! {
            batch = next_batch(&member) => batch,
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        let batch = batch.map_err(|error| anyhow::anyhow!("{}: {error}", S::NAME))?;
        // Stopped in the middle, it is left undone: the next one reads it again.
        let done = tokio::select! {
            done = deal_with(&stage, &batch, &kafka, &dead_letters) => done,
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        done.map_err(|why| anyhow::anyhow!("{}: {why}", S::NAME))?;
        mark_done(&member, stage.topic(), &batch);
    }
}

/// The records that are there, one at least.
async fn next_batch(member: &GroupMember) -> Result<Vec<Record>, KafkaError> {
    let mut batch = vec![next(member).await?];
    let mut bytes = batch[0].value.len();
    while batch.len() < BATCH_RECORDS_MAX && bytes < BATCH_BYTES_MAX {
        let Ok(record) = tokio::time::timeout(GATHER, next(member)).await else { break };
        let record = record?;
        bytes += record.value.len();
        batch.push(record);
    }
    Ok(batch)
}

/// The next record. Errors that librdkafka overcomes by itself (a broker is away) are logged and waited out.
async fn next(member: &GroupMember) -> Result<Record, KafkaError> {
    // While a broker is away the same comes ten times a second; each kind is logged once.
    let mut reported = Vec::new();
    loop {
        match member.recv().await {
            Ok(message) => return Ok(Record::of(&message)),
            Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::Fatal) => return Err(error),
            Err(KafkaError::MessageConsumptionFatal(code)) => {
                return Err(KafkaError::MessageConsumptionFatal(code));
            }
            Err(error) => {
                let code = error.rdkafka_error_code();
                if !reported.contains(&code) {
                    tracing::warn!("while consuming: {error}");
                    reported.push(code);
                }
                tokio::time::sleep(PAUSE_LEAST).await;
            }
        }
    }
}

/// Deals with a batch; what is given up goes to the dead-letter topic.
async fn deal_with<S: Stage>(
    stage: &S,
    batch: &[Record],
    kafka: &Kafka,
    dead_letters: &str,
) -> Result<(), String> {
    for (at, why) in settle(stage, batch).await? {
        let record = &batch[at];
        let place = format!("{} {}/{}", stage.topic(), record.partition, record.offset);
        tracing::warn!("{} gives up {place}: {why}", S::NAME);
        let letter = Message {
            topic: dead_letters.to_owned(),
            key: record.key.clone(),
            value: record.value.clone(),
            headers: vec![("reason", why.clone()), ("stage", S::NAME.to_owned()), ("place", place)],
        };
        bury(stage, record, &letter, &why, kafka).await?;
    }
    Ok(())
}

/// Deals with a batch, then with each record by itself where the batch was refused. Yields the places of those that are given
/// up, with the reason.
///
/// # Errors
/// The process cannot go on.
async fn settle<S: Stage>(stage: &S, batch: &[Record]) -> Result<Vec<(usize, String)>, String> {
    if handled(stage, batch).await?.is_ok() {
        return Ok(Vec::new());
    }
    let mut given_up = Vec::new();
    for (at, record) in batch.iter().enumerate() {
        for tried in 1..=TRIES {
            match handled(stage, std::slice::from_ref(record)).await? {
                Ok(()) => break,
                Err(why) if tried == TRIES => given_up.push((at, why)),
                Err(_) => tokio::time::sleep(PAUSE_LEAST * tried).await,
            }
        }
    }
    Ok(given_up)
}

/// Lets the stage handle a batch, however long something that it needs is away. `Ok(Err(why))`: it was refused.
async fn handled<S: Stage>(stage: &S, batch: &[Record]) -> Result<Result<(), String>, String> {
    let mut patience = Patience::of(S::NAME);
    loop {
        if let Some(done) = patience.judge(stage.handle(batch).await).await? {
            return Ok(done);
        }
    }
}

/// Sends a dead letter, then lets the stage report it.
async fn bury<S: Stage>(
    stage: &S,
    record: &Record,
    letter: &Message,
    why: &str,
    kafka: &Kafka,
) -> Result<(), String> {
    let mut patience = Patience::of(S::NAME);
    loop {
        let done = match kafka.send_all(std::slice::from_ref(letter)).await {
            Ok(()) => stage.give_up(record, why).await,
            // Too large with its headers: it is reported all the same, since a record that stops the stage would do so
            // for ever.
            Err(Fault::Refused(refused)) => {
                tracing::error!("a dead letter of {} is lost: {refused}", S::NAME);
                stage.give_up(record, why).await
            }
            fault => fault,
        };
        if let Some(reported) = patience.judge(done).await? {
            return reported.or_else(|refused| {
                tracing::error!("{} could not tell of a dead letter: {refused}", S::NAME);
                Ok(())
            });
        }
    }
}

/// Waits, longer each time, while something is away.
///
/// This may take longer than the group waits for a member that does not ask for more (`max.poll.interval.ms`, 5 minutes). Then
/// another member does the same, which does no harm.
struct Patience {
    name: &'static str,
    pause: Duration,
}

impl Patience {
    fn of(name: &'static str) -> Self {
        Self { name, pause: PAUSE_LEAST }
    }

    /// `None`: it is to be done again, now.
    async fn judge(&mut self, done: Result<(), Fault>) -> Result<Option<Result<(), String>>, String> {
        match done {
            Ok(()) => Ok(Some(Ok(()))),
            Err(Fault::Refused(why)) => Ok(Some(Err(why))),
            Err(Fault::Fatal(why)) => Err(why),
            Err(Fault::Away(why)) => {
                tracing::warn!("{} waits: {why}", self.name);
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(PAUSE_MOST);
                Ok(None)
            }
        }
    }
}

/// These are done: they are committed within a second. Partitions that the group took away meanwhile are somebody else's, who
/// reads them again.
fn mark_done(member: &GroupMember, topic: &str, batch: &[Record]) {
    let mut next: BTreeMap<i32, i64> = BTreeMap::new();
    for record in batch {
        next.insert(record.partition, record.offset + 1);
    }
    let mut offsets = TopicPartitionList::new();
    let added = next.iter().try_for_each(|(partition, offset)| {
        offsets.add_partition_offset(topic, *partition, Offset::Offset(*offset))
    });
    if let Err(error) = added.and_then(|()| member.store_offsets(&offsets)) {
        tracing::info!("offsets of {topic} were not kept: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Takes every value but `bad`; the first `away` times nothing.
    #[derive(Default)]
    struct Fake {
        away: AtomicU32,
        taken: Mutex<Vec<String>>,
        refused: AtomicU32,
    }

    impl Stage for Fake {
        const NAME: &'static str = "fake";

        fn topic(&self) -> &'static str {
            "fakes"
        }

        async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
            if self.away.load(Ordering::Relaxed) > 0 {
                self.away.fetch_sub(1, Ordering::Relaxed);
                return Err(Fault::Away("the database is away".to_owned()));
            }
            let values: Vec<String> =
                batch.iter().map(|record| String::from_utf8_lossy(&record.value).into_owned()).collect();
            if values.iter().any(|value| value == "bad") {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(Fault::Refused("it is bad".to_owned()));
            }
            self.taken.lock().expect("no panic").extend(values);
            Ok(())
        }

        async fn give_up(&self, _: &Record, _: &str) -> Result<(), Fault> {
            Ok(())
        }
    }

    fn batch(values: &[&str]) -> Vec<Record> {
        let record = |(at, value): (usize, &&str)| Record {
            key: String::new(),
            value: value.as_bytes().to_vec(),
            partition: 0,
            offset: at as i64,
        };
        values.iter().enumerate().map(record).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_bad_record_affects_no_other_and_has_limited_retries() {
        let stage = Fake::default();
        let given_up = settle(&stage, &batch(&["a", "bad", "b"])).await.expect("settled");
        assert_eq!(given_up, [(1, "it is bad".to_owned())]);
        assert_eq!(*stage.taken.lock().unwrap(), ["a", "b"]);
        assert_eq!(stage.refused.load(Ordering::Relaxed), 1 + TRIES, "once in the batch, then by itself");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_away_is_waited_for_and_no_record_suffers() {
        let stage = Fake { away: AtomicU32::new(50), ..Fake::default() };
        let began = tokio::time::Instant::now();
        assert_eq!(settle(&stage, &batch(&["a", "b"])).await, Ok(Vec::new()));
        assert_eq!(*stage.taken.lock().unwrap(), ["a", "b"]);
        assert!(began.elapsed() > PAUSE_MOST * 40, "with growing pauses: {:?}", began.elapsed());
    }
}
