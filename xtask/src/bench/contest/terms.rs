//! Who takes part in a contest, and what all of them are asked for.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PeerClient {
    Kdyno,
    Java,
    LibrdkafkaAlike,
    LibrdkafkaTuned,
    Replay,
}

impl PeerClient {
    pub(super) const ALL: [PeerClient; 5] = [
        PeerClient::Kdyno,
        PeerClient::Java,
        PeerClient::LibrdkafkaAlike,
        PeerClient::LibrdkafkaTuned,
        PeerClient::Replay,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            PeerClient::Kdyno => "kdyno producer-perf-test",
            PeerClient::Java => "kafka-producer-perf-test",
            PeerClient::LibrdkafkaAlike => "librdkafka, limits as kdyno's",
            PeerClient::LibrdkafkaTuned => "librdkafka, tuned",
            PeerClient::Replay => "bare replay of built requests",
        }
    }

    pub(super) fn is_librdkafka(self) -> bool {
        matches!(self, PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned)
    }
}

/// What all clients of one table are asked for.
pub(super) struct PeerTerms {
    pub name: &'static str,
    pub brokers: u32,
    /// Each is busy for seconds even where it is fastest.
    pub records: u64,
    /// Of these so many are left out of the rates and latencies of kdyno and Kafka's tool: starting Java takes part of them.
    pub warmup_records: u64,
    pub record_bytes: u32,
    /// Records/s, or -1.
    pub throughput: &'static str,
    /// Of kdyno and Kafka's tool.
    pub properties: &'static [&'static str],
    /// `batch.size` and `acks` that are in force by these, for the others.
    pub batch_bytes: u32,
    pub acks: i16,
    /// Rounds before the first one that counts: brokers that have just started run code that is not compiled yet, three
    /// of them on shared processors for longer than one.
    pub unmeasured: usize,
    pub clients: &'static [PeerClient],
    /// How many times a client's rate kdyno's must be at least.
    pub goals: &'static [(PeerClient, f64)],
}

const ALIKE: &[&str] = &["acks=1", "batch.size=112000", "linger.ms=5"];
const OF_KAFKA: &[PeerClient] = &[PeerClient::Kdyno, PeerClient::Java];
const UNTHROTTLED: &[PeerClient] = &[PeerClient::Kdyno, PeerClient::Java, PeerClient::Replay];

const ONE_BROKER: PeerTerms = PeerTerms {
    name: "one broker, 128 B, acks=1, batch.size=112000 linger.ms=5",
    brokers: 1,
    records: 20_000_000,
    warmup_records: 5_000_000,
    record_bytes: 128,
    throughput: "-1",
    properties: ALIKE,
    batch_bytes: 112_000,
    acks: 1,
    unmeasured: 1,
    clients: &PeerClient::ALL,
    goals: &[(PeerClient::LibrdkafkaAlike, 1.2), (PeerClient::Java, 2.2), (PeerClient::Replay, 0.95)],
};

/// `peers`.
pub(super) static PEERS: [PeerTerms; 2] = [
    ONE_BROKER,
    PeerTerms {
        name: "three brokers, replication factor 3, 128 B, acks=all, batch.size=112000 linger.ms=5",
        brokers: 3,
        records: 3_000_000,
        warmup_records: 750_000,
        properties: &["acks=all", "enable.idempotence=false", "batch.size=112000", "linger.ms=5"],
        acks: -1,
        unmeasured: 2,
        goals: &[(PeerClient::LibrdkafkaAlike, 1.5), (PeerClient::Replay, 0.95)],
        ..ONE_BROKER
    },
];

/// `drop-in`.
pub(super) static DROP_IN: [PeerTerms; 3] = [
    PeerTerms {
        records: 8_000_000,
        warmup_records: 2_000_000,
        clients: UNTHROTTLED,
        goals: &[(PeerClient::Java, 2.2)],
        ..ONE_BROKER
    },
    PeerTerms {
        name: "128 B, defaults",
        records: 4_000_000,
        warmup_records: 1_000_000,
        properties: &[],
        batch_bytes: 16_384,
        acks: -1,
        clients: UNTHROTTLED,
        goals: &[(PeerClient::Java, 3.0)],
        ..ONE_BROKER
    },
    PeerTerms {
        name: "1 KiB at 20 000/s",
        records: 400_000,
        // Ten seconds: a Java process that has just started answers late.
        warmup_records: 200_000,
        record_bytes: 1_024,
        throughput: "20000",
        properties: &["acks=1"],
        batch_bytes: 16_384,
        clients: OF_KAFKA,
        goals: &[],
        ..ONE_BROKER
    },
];
