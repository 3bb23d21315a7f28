//! The clients of the contest: how each is started and what its output says.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use crate::bench::broker::StandingCluster;
use crate::bench::drop_in::Total;
use crate::bench::librdkafka;
use crate::bench::load::{BenchLoad, LoadResult};
use crate::bench::process::measured;
use crate::bench::setup::Setup;

pub(super) const PARTITIONS: u32 = 6;

/// Long enough for any machine: the number of records ends the load.
const LOAD_SECONDS_MAX: u32 = 600;

const LINGER_MS: u32 = 5;

/// What a record of 128 B takes in a batch in addition to its value, about.
const RECORD_BYTES_EXTRA: f64 = 8.0;

/// The settings of librdkafka that correspond to `buffer.memory=32 MiB` and five requests in flight, as all others
/// have them. The number of messages must not be the limit.
const ALIKE: [&str; 3] = [
    "queue.buffering.max.kbytes=32768",
    "queue.buffering.max.messages=10000000",
    "max.in.flight.requests.per.connection=5",
];

/// What its own documentation recommends for throughput: all the memory it asks for, its own limit of requests.
const TUNED: [&str; 3] = [
    "queue.buffering.max.kbytes=1048576",
    "queue.buffering.max.messages=10000000",
    "batch.num.messages=100000",
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PeerClient {
    Kdyno,
    LibrdkafkaAlike,
    LibrdkafkaTuned,
    Java,
    Replay,
}

impl PeerClient {
    pub(super) const ALL: [PeerClient; 5] = [
        PeerClient::Kdyno,
        PeerClient::LibrdkafkaAlike,
        PeerClient::LibrdkafkaTuned,
        PeerClient::Java,
        PeerClient::Replay,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            PeerClient::Kdyno => "kdyno, unique payloads",
            PeerClient::LibrdkafkaAlike => "librdkafka, limits as kdyno's",
            PeerClient::LibrdkafkaTuned => "librdkafka, tuned",
            PeerClient::Java => "Kafka ProducerPerformance",
            PeerClient::Replay => "bare replay of built requests",
        }
    }

    pub(super) fn is_librdkafka(self) -> bool {
        matches!(self, PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned)
    }
}

/// One client's run.
pub(super) struct Shot {
    pub records: f64,
    /// From the first send to the last acknowledgement.
    pub per_s: f64,
    pub client_cpu_s: f64,
}

/// The clients of one table: where they send, and their task.
pub(super) struct PeerClients<'a> {
    pub bench: &'a Setup,
    pub broker: StandingCluster,
    pub librdkafka: Option<PathBuf>,
    pub acks: &'static str,
    /// The task of all.
    pub records: u64,
    /// Record batches in a request of kdyno's last run, for the replay.
    pub batches_per_request: Cell<u32>,
}

impl PeerClients<'_> {
    /// How long a peer takes for one record: connecting and metadata, which its clock counts and kdyno's does not. 0 of
    /// those whose clock starts with the first send.
    pub(super) fn one_record_s(&self, client: PeerClient, topic: &str) -> anyhow::Result<f64> {
        match client {
            PeerClient::Kdyno | PeerClient::Replay => Ok(0.0),
            _ => Ok(self.peer(client, topic, 1)?.0),
        }
    }

    /// One client's run, kdyno that of `side`; `one_record_s` is left out.
    pub(super) fn shot(
        &self,
        client: PeerClient,
        side: &Setup,
        topic: &str,
        one_record_s: f64,
    ) -> anyhow::Result<Shot> {
        match client {
            PeerClient::Kdyno => self.kdyno(side, topic),
            PeerClient::Replay => self.replay(topic),
            _ => {
                let (seconds, client_cpu_s) = self.peer(client, topic, self.records)?;
                let records = self.records as f64;
                Ok(Shot { records, per_s: records / (seconds - one_record_s), client_cpu_s })
            }
        }
    }

    fn load(&self, topic: &str) -> BenchLoad {
        let load = BenchLoad::at_max(self.broker.bootstrap(), topic, LOAD_SECONDS_MAX);
        let records = Some(self.records);
        BenchLoad { unique: true, records, linger_ms: LINGER_MS, acks: self.acks, ..load }
    }

    fn kdyno(&self, side: &Setup, topic: &str) -> anyhow::Result<Shot> {
        let load = self.load(topic);
        let outcome = load.run(side)?;
        let lost = outcome.number("failed")? + outcome.number("unresolved")?;
        ensure!(lost < 0.5, "{lost} records failed or stayed unresolved");
        let records = outcome.number("acknowledged")?;
        ensure!((records - self.records as f64).abs() < 0.5, "{records} of {} records", self.records);
        self.batches_per_request.set(batches_per_request(&load, &outcome)?);
        Ok(Shot { records, per_s: outcome.number("acked_per_s")?, client_cpu_s: outcome.cpu_s })
    }

    fn replay(&self, topic: &str) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.command(PeerClient::Replay, topic, self.records))?;
        let outcome = LoadResult::parse(&finished.stdout)?;
        let records = outcome.number("acknowledged")?;
        Ok(Shot { records, per_s: outcome.number("acked_per_s")?, client_cpu_s: finished.cpu_s })
    }

    /// Seconds by a peer's own clock, and its CPU.
    fn peer(&self, client: PeerClient, topic: &str, records: u64) -> anyhow::Result<(f64, f64)> {
        let finished = measured(&mut self.command(client, topic, records))?;
        let seconds = match client {
            PeerClient::Java => records as f64 / Total::parse(&finished.stdout, records)?.per_s,
            _ => librdkafka::reported_s(&finished.stdout)?,
        };
        Ok((seconds, finished.cpu_s))
    }

    /// Kdyno and the replay always send all records.
    fn command(&self, client: PeerClient, topic: &str, records: u64) -> Command {
        let (bootstrap, acks, records) = (self.broker.bootstrap(), self.acks, records.to_string());
        let settings = match client {
            PeerClient::Kdyno => return self.load(topic).command(self.bench),
            PeerClient::Replay => {
                return self.load(topic).replay(self.bench, self.batches_per_request.get());
            }
            PeerClient::Java => {
                let mut command = self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
                command.args(["--topic", topic, "--record-size", "128", "--throughput", "-1"]);
                command.args(["--num-records", &records, "--producer-props"]);
                command.args([format!("bootstrap.servers={bootstrap}"), format!("acks={acks}")]);
                command.args([&format!("linger.ms={LINGER_MS}"), "batch.size=112000"]);
                return command;
            }
            PeerClient::LibrdkafkaAlike => ALIKE,
            PeerClient::LibrdkafkaTuned => TUNED,
        };
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", bootstrap, "-s", "128", "-a", acks, "-c", &records]);
        command.args(["-X", &format!("linger.ms={LINGER_MS}"), "-X", "batch.size=112000"]);
        command.args(settings.into_iter().flat_map(|setting| ["-X", setting]));
        command
    }

    /// The command as one would type it.
    pub(super) fn describe(&self, client: PeerClient) -> String {
        self.broker.as_typed(&self.command(client, "TOPIC", self.records))
    }
}

/// Record batches in a request, from the mean size of both; at least 1, at most one for each partition.
fn batches_per_request(load: &BenchLoad, outcome: &LoadResult) -> anyhow::Result<u32> {
    let record_bytes = f64::from(load.value_bytes) + RECORD_BYTES_EXTRA;
    let batch_bytes = outcome.number("records_per_batch")? * record_bytes;
    let batches = (outcome.number("bytes_per_request")? / batch_bytes).round();
    // Bounded just before.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(batches.clamp(1.0, f64::from(PARTITIONS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_request_follow_from_the_mean_sizes() {
        let load = BenchLoad::at_max("localhost:1", "t", 1);
        let outcome = |bytes: f64| {
            let text = format!(
                r#"{{"acknowledged": 1, "seconds": 1, "acked_per_s": 1, "records_per_batch": 800, "bytes_per_request": {bytes}}}"#
            );
            LoadResult::parse(&text).expect("an outcome")
        };
        let of = |bytes| batches_per_request(&load, &outcome(bytes)).expect("a number");
        assert_eq!((of(108_900.0), of(3.2 * 108_800.0), of(10.0), of(1e9)), (1, 3, 1, 6));
    }
}
