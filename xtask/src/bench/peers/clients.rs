//! The clients of the contest: how each is started and what its output says.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::bench::broker::StandingCluster;
use crate::bench::librdkafka;
use crate::bench::load::{BenchLoad, LoadResult};
use crate::bench::process::{measured, words};
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
        let per_s = match client {
            PeerClient::Kdyno | PeerClient::Replay => return Ok(0.0),
            PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned => {
                let finished = measured(&mut self.librdkafka_command(client, topic, 1))?;
                return Ok(librdkafka::reported(&finished.stdout)?.seconds);
            }
            PeerClient::Java => {
                java_reported_per_s(&measured(&mut self.java_command(topic, 1))?.stdout, 1.0)?
            }
        };
        Ok(1.0 / per_s)
    }

    fn load(&self, topic: &str) -> BenchLoad {
        let load = BenchLoad::at_max(self.broker.bootstrap(), topic, LOAD_SECONDS_MAX);
        let records = Some(self.records);
        BenchLoad { unique: true, records, linger_ms: LINGER_MS, acks: self.acks, ..load }
    }

    pub(super) fn kdyno(&self, side: &Setup, topic: &str) -> anyhow::Result<Shot> {
        let load = self.load(topic);
        let outcome = load.run(side)?;
        let lost = outcome.number("failed")? + outcome.number("unresolved")?;
        ensure!(lost < 0.5, "{lost} records failed or stayed unresolved");
        let records = outcome.number("acknowledged")?;
        ensure!((records - self.records as f64).abs() < 0.5, "{records} of {} records", self.records);
        self.batches_per_request.set(batches_per_request(&load, &outcome)?);
        Ok(Shot { records, per_s: outcome.number("acked_per_s")?, client_cpu_s: outcome.cpu_s })
    }

    fn librdkafka_command(&self, client: PeerClient, topic: &str, records: u64) -> Command {
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", self.broker.bootstrap(), "-s", "128", "-a", self.acks]);
        command.args(["-c", &records.to_string()]);
        command.args(["-X", &format!("linger.ms={LINGER_MS}"), "-X", "batch.size=112000"]);
        for setting in if client == PeerClient::LibrdkafkaTuned { TUNED } else { ALIKE } {
            command.args(["-X", setting]);
        }
        command
    }

    pub(super) fn librdkafka(
        &self,
        client: PeerClient,
        topic: &str,
        one_record_s: f64,
    ) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.librdkafka_command(client, topic, self.records))?;
        let (records, seconds) = (self.records as f64, librdkafka::reported(&finished.stdout)?.seconds);
        Ok(Shot { records, per_s: records / (seconds - one_record_s), client_cpu_s: finished.cpu_s })
    }

    fn java_command(&self, topic: &str, records: u64) -> Command {
        let mut command = self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
        command.args(["--topic", topic, "--record-size", "128", "--throughput", "-1"]);
        command.args(["--num-records", &records.to_string(), "--producer-props"]);
        command.arg(format!("bootstrap.servers={}", self.broker.bootstrap()));
        command.arg(format!("acks={}", self.acks));
        command.args([&format!("linger.ms={LINGER_MS}"), "batch.size=112000"]);
        command
    }

    pub(super) fn java(&self, topic: &str, one_record_s: f64) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.java_command(topic, self.records))?;
        let records = self.records as f64;
        let seconds = records / java_reported_per_s(&finished.stdout, records)?;
        Ok(Shot { records, per_s: records / (seconds - one_record_s), client_cpu_s: finished.cpu_s })
    }

    fn replay_command(&self, topic: &str) -> Command {
        let mut command = self.bench.helper("bench-replay");
        command.args(["--bootstrap", self.broker.bootstrap(), "--topic", topic]);
        command.args(["--value", "128", "--batch", "112000", "--acks", self.acks, "--in-flight", "5"]);
        command.args(["--batches-per-request", &self.batches_per_request.get().to_string()]);
        command.args(["--records", &self.records.to_string()]);
        command
    }

    pub(super) fn replay(&self, topic: &str) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.replay_command(topic))?;
        let outcome = LoadResult::parse(&finished.stdout)?;
        let records = outcome.number("acknowledged")?;
        Ok(Shot { records, per_s: outcome.number("acked_per_s")?, client_cpu_s: finished.cpu_s })
    }

    /// The command as one would type it.
    pub(super) fn describe(&self, client: PeerClient) -> String {
        let records = self.records;
        match client {
            PeerClient::Kdyno => words(&self.load("TOPIC").command(self.bench)),
            PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned => {
                words(&self.librdkafka_command(client, "TOPIC", records))
            }
            PeerClient::Java => self.broker.as_typed(&self.java_command("TOPIC", records)),
            PeerClient::Replay => words(&self.replay_command("TOPIC")),
        }
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

/// The rate in `N records sent, R records/sec (…)`, the line that names all records.
fn java_reported_per_s(stdout: &str, records: f64) -> anyhow::Result<f64> {
    let total = format!("{records:.0} records sent, ");
    let line = stdout.lines().rfind(|line| line.starts_with(&total) && line.contains(" 99.9th"));
    let line =
        line.with_context(|| format!("not all records were sent: {}", stdout.lines().last().unwrap_or("")))?;
    let rate = line[total.len()..].split(' ').next().unwrap_or_default();
    rate.parse().with_context(|| format!("no rate in: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javas_total_line_is_read_and_a_partial_one_is_not() {
        let total = "1000 records sent, 512.500000 records/sec (0.06 MB/sec), 1.00 ms avg latency, 2.00 ms max \
                     latency, 1 ms 50th, 1 ms 95th, 2 ms 99th, 2 ms 99.9th.\n";
        let progress =
            "400 records sent, 80.0 records/sec (0.01 MB/sec), 1.0 ms avg latency, 2.0 ms max latency.\n";
        let rate = java_reported_per_s(&format!("{progress}{total}"), 1000.0).expect("a rate");
        assert!((rate - 512.5).abs() < 1e-9);
        assert!(java_reported_per_s(total, 2000.0).is_err());
        assert!(java_reported_per_s(progress, 400.0).is_err());
    }

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
