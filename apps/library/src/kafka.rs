//! Kafka by librdkafka, as any application has it: one producer per service, one consumer per stage.

use crate::fault::Fault;
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::types::RDKafkaErrorCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Most bytes of a message that is sent, in librdkafka's count; brokers take batches of 1 MiB by default.
const MESSAGE_BYTES_MAX: usize = 1_000_000;
/// Bytes of these for what is counted in addition to key and value: lengths, offset and timestamp, some fifty bytes at
/// most.
const MESSAGE_BYTES_ROOM: usize = 512;

/// How long to wait for room in the producer's queue before looking again.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(10);

/// Something to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its topic.
    pub topic: String,
    /// Its key, which says its partition: what has one key stays in order.
    pub key: String,
    /// Its value.
    pub value: Vec<u8>,
    /// Its headers.
    pub headers: Vec<(&'static str, String)>,
}

impl Message {
    /// A value as JSON.
    pub fn json(topic: &str, key: impl Into<String>, value: &impl serde::Serialize) -> Self {
        let value = serde_json::to_vec(value).expect("our own types are JSON");
        Self { topic: topic.to_owned(), key: key.into(), value, headers: Vec::new() }
    }

    /// Whether it is small enough to be sent; of messages without headers.
    pub fn fits(&self) -> bool {
        self.key.len() + self.value.len() <= MESSAGE_BYTES_MAX - MESSAGE_BYTES_ROOM
    }
}

/// The way to a cluster.
#[derive(Clone)]
pub struct Kafka {
    bootstrap_servers: String,
    producer: FutureProducer,
}

impl Kafka {
    /// Makes the producer; connections come later.
    ///
    /// # Errors
    /// librdkafka does not take the settings.
    pub fn new(bootstrap_servers: &str) -> KafkaResult<Self> {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap_servers)
            // With it `acks` is `all`, and a batch that is sent again after a lost answer is not stored twice.
            .set("enable.idempotence", "true")
            .set("linger.ms", "5")
            .set("compression.type", "lz4")
            .set("message.max.bytes", MESSAGE_BYTES_MAX.to_string())
            .create()?;
        Ok(Self { bootstrap_servers: bootstrap_servers.to_owned(), producer })
    }

    /// Sends all of these and waits until each is acknowledged.
    ///
    /// # Errors
    /// One is not acknowledged; others of them may be stored.
    pub async fn send_all(&self, messages: &[Message]) -> Result<(), Fault> {
        let mut deliveries = Vec::with_capacity(messages.len());
        for message in messages {
            loop {
                match self.producer.send_result(record(message)) {
                    Ok(delivery) => {
                        deliveries.push(delivery);
                        break;
                    }
                    Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {}
                    Err((error, _)) => return Err(error.into()),
                }
                tokio::time::sleep(QUEUE_FULL_PAUSE).await;
            }
        }
        for delivery in deliveries {
            let answer = delivery.await.map_err(|_| Fault::Fatal("the producer is gone".to_owned()))?;
            answer.map_err(|(error, _)| error)?;
        }
        Ok(())
    }

    /// A member of this group that reads this topic, from its beginning where the group has committed nothing. It commits each
    /// second what was marked as done, and when it leaves.
    ///
    /// # Errors
    /// librdkafka does not take the settings.
    pub fn consumer(&self, group: &str, topic: &str, assigned: Arc<AtomicBool>) -> KafkaResult<GroupMember> {
        let member: GroupMember = ClientConfig::new()
            .set("bootstrap.servers", &self.bootstrap_servers)
            .set("group.id", group)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "true")
            .set("auto.commit.interval.ms", "1000")
            // Only what was dealt with is to be committed, not what was handed over.
            .set("enable.auto.offset.store", "false")
            // The least that brokers allow: how long the partitions of a member that was killed stay with it.
            .set("session.timeout.ms", "6000")
            .set("heartbeat.interval.ms", "2000")
            // Fetched ahead, per consumer; the default is 64 MiB.
            .set("queued.max.messages.kbytes", "16384")
            .create_with_context(Assigned(assigned))?;
        member.subscribe(&[topic])?;
        Ok(member)
    }
}

fn record(message: &Message) -> FutureRecord<'_, str, [u8]> {
    let record = FutureRecord::to(&message.topic).key(message.key.as_str()).payload(message.value.as_slice());
    if message.headers.is_empty() {
        return record;
    }
    let headers = message.headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
        headers.insert(Header { key, value: Some(value.as_str()) })
    });
    record.headers(headers)
}

/// A consumer of a group.
pub type GroupMember = StreamConsumer<Assigned>;

/// Set when the group has given the member its partitions, were it none.
pub struct Assigned(Arc<AtomicBool>);

impl ClientContext for Assigned {
    fn error(&self, error: KafkaError, reason: &str) {
        // Receiving reports it too.
        tracing::debug!("{error}: {reason}");
    }
}

impl ConsumerContext for Assigned {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if matches!(rebalance, Rebalance::Assign(_)) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The producer looks at sizes before it looks for a broker, and there is none here.
    #[tokio::test]
    async fn the_producer_accepts_what_fits_its_room_and_nothing_larger() {
        let kafka = Kafka::new("127.0.0.1:1").expect("a producer");
        let message = |key: usize, value: usize| Message {
            topic: "parsed".to_owned(),
            key: "k".repeat(key),
            value: vec![b'v'; value],
            headers: Vec::new(),
        };
        let is_taken = |message: &Message| match kafka.producer.send_result(record(message)) {
            Ok(_) => true,
            Err((error, _)) => {
                assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::MessageSizeTooLarge));
                false
            }
        };
        let most = MESSAGE_BYTES_MAX - MESSAGE_BYTES_ROOM;
        for key in [0, 10, 9_999] {
            let largest = message(key, most - key);
            assert!(largest.fits() && is_taken(&largest), "a key of {key} bytes");
            assert!(!message(key, most - key + 1).fits(), "a key of {key} bytes");
        }
        assert!(!is_taken(&message(9_999, MESSAGE_BYTES_MAX - 9_999)), "without any room");
    }
}
