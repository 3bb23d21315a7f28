//! How each client is started, and what its output says.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use super::terms::{PeerClient, PeerTerms};
use crate::bench::broker::StandingCluster;
use crate::bench::librdkafka;
use crate::bench::load::PARTITIONS;
use crate::bench::process::{measured, own_cpu_s, words};
use crate::bench::replay::{self, Replay};
use crate::bench::setup::Setup;

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

/// One client's run.
pub(super) struct Shot {
    pub per_s: f64,
    /// Average, p50 and p95, where the client prints them.
    pub latencies_ms: Option<[f64; 3]>,
    pub cpu_s: f64,
}

/// The clients of one table: where they send, and what they are asked for.
pub(super) struct Contestants<'a> {
    pub bench: &'a Setup,
    pub broker: StandingCluster,
    pub librdkafka: Option<PathBuf>,
    pub terms: &'static PeerTerms,
}

impl Contestants<'_> {
    fn part(&self, records: u64) -> u64 {
        if self.bench.options.quick { records / 10 } else { records }
    }

    /// The same for all.
    pub(super) fn records(&self) -> u64 {
        self.part(self.terms.records)
    }

    /// kdyno's command, or that of Kafka's tool: the same flags.
    fn tool(&self, client: PeerClient, topic: &str) -> Command {
        let mut command = match client {
            PeerClient::Kdyno => {
                let mut command = Command::new(&self.bench.kdyno);
                command.arg("producer-perf-test");
                command
            }
            _ => self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance"),
        };
        let terms = self.terms;
        command.args(["--topic", topic, "--num-records", &self.records().to_string()]);
        command.args(["--record-size", &terms.record_bytes.to_string(), "--throughput", terms.throughput]);
        command.args(["--bootstrap-server", self.broker.bootstrap()]);
        command.args(["--warmup-records", &self.part(terms.warmup_records).to_string()]);
        if !terms.properties.is_empty() {
            command.arg("--command-property").args(terms.properties);
        }
        command
    }

    fn librdkafka_command(&self, client: PeerClient, topic: &str, records: u64) -> Command {
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", self.broker.bootstrap()]);
        command.args(["-s", &self.terms.record_bytes.to_string(), "-a", &self.terms.acks.to_string()]);
        command.args(["-c", &records.to_string(), "-X", "linger.ms=5"]);
        command.args(["-X", &format!("batch.size={}", self.terms.batch_bytes)]);
        for setting in if client == PeerClient::LibrdkafkaTuned { TUNED } else { ALIKE } {
            command.args(["-X", setting]);
        }
        command
    }

    fn replay<'a>(&'a self, topic: &'a str) -> Replay<'a> {
        Replay {
            bootstrap: self.broker.bootstrap(),
            topic,
            value_bytes: self.terms.record_bytes as usize,
            batch_bytes: self.terms.batch_bytes as usize,
            // One for each partition that a broker leads.
            batches_per_request: (PARTITIONS / self.terms.brokers) as usize,
            acks: self.terms.acks,
            records: self.records(),
        }
    }

    pub(super) fn shot(&self, client: PeerClient, topic: &str) -> anyhow::Result<Shot> {
        match client {
            PeerClient::Kdyno | PeerClient::Java => {
                let folder = tempfile::tempdir()?;
                let finished = measured(self.tool(client, topic).current_dir(folder.path()))?;
                let total = Total::parse(&finished.stdout)?;
                let steady = self.records() - self.part(self.terms.warmup_records);
                ensure!(total.records == steady, "{} of {steady} records were sent", total.records);
                Ok(Shot { per_s: total.per_s, latencies_ms: Some(total.latencies_ms), cpu_s: finished.cpu_s })
            }
            PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned => {
                // Its clock counts connecting and metadata, which take as long for one record.
                let one = measured(&mut self.librdkafka_command(client, topic, 1))?;
                let one_s = librdkafka::reported(&one.stdout)?.seconds;
                let finished = measured(&mut self.librdkafka_command(client, topic, self.records()))?;
                let seconds = librdkafka::reported(&finished.stdout)?.seconds - one_s;
                let per_s = self.records() as f64 / seconds;
                Ok(Shot { per_s, latencies_ms: None, cpu_s: finished.cpu_s })
            }
            PeerClient::Replay => {
                let before_s = own_cpu_s()?;
                let per_s = replay::per_s(&self.replay(topic))?;
                Ok(Shot { per_s, latencies_ms: None, cpu_s: own_cpu_s()? - before_s })
            }
        }
    }

    /// The command as one would type it.
    pub(super) fn describe(&self, client: PeerClient) -> String {
        match client {
            PeerClient::Kdyno => words(&self.tool(client, "TOPIC")),
            PeerClient::Java => self.broker.as_typed(&self.tool(client, "TOPIC")),
            PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned => {
                words(&self.librdkafka_command(client, "TOPIC", self.records()))
            }
            PeerClient::Replay => client.name().to_owned(),
        }
    }
}

/// The figures of a tool's last line.
struct Total {
    records: u64,
    per_s: f64,
    latencies_ms: [f64; 3],
}

impl Total {
    fn parse(stdout: &str) -> anyhow::Result<Total> {
        let line = stdout.lines().rfind(|line| line.contains(" 99.9th")).context("no total line")?;
        let before = |unit: &str| {
            let text = line.split(unit).next().unwrap_or_default();
            let number = text.rsplit([' ', '(']).next().unwrap_or_default();
            number.parse::<f64>().with_context(|| format!("nothing before `{unit}` in: {line}"))
        };
        let records = line.split(' ').next().unwrap_or_default();
        Ok(Total {
            records: records.parse().with_context(|| format!("no number of records in: {line}"))?,
            per_s: before(" records/sec")?,
            latencies_ms: [before(" ms avg")?, before(" ms 50th")?, before(" ms 95th")?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_either_tool_is_read() {
        let total = "1000 records sent, 512.500000 records/sec (0.06 MB/sec), 1.25 ms avg latency, 2.00 ms max \
                     latency, 1 ms 50th, 3 ms 95th, 4 ms 99th, 5 ms 99.9th.\n";
        let read = Total::parse(&format!("10 records sent, 1.0 records/sec\n{total}")).expect("figures");
        assert_eq!((read.records, read.per_s, read.latencies_ms), (1000, 512.5, [1.25, 1.0, 3.0]));
        assert!(Total::parse("10 records sent, 1.0 records/sec (1.0 MB/sec)\n").is_err());
    }
}
