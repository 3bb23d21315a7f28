//! `codecs`: how many records a compressed batch holds, compared with Kafka's own producer: the same values from the
//! same file, the same settings and the same rate, one real broker. What a codec costs and saves hangs on it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::broker::StandingCluster;
use super::contest::{Contest, Shown};
use super::process::measured;
use super::setup::Setup;

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// Records per second: a rate that every codec and both clients sustain next to a broker, fast enough to fill batches.
const RATE: u32 = 30_000;

/// The number at maximum rate: enough that a JVM is warm, and has learnt how well they compress, in the first half of
/// them.
const RECORDS_AT_MAX: u32 = 600_000;

/// What is left out of each partition's records. A producer begins with batches that it expects not to compress, and learns from
/// each that it has sent, 0.005 of the ratio at a time; how many it makes meanwhile is a matter of how fast its JVM gets warm.
const SETTLED_SHARE: f64 = 0.5;

/// How far records per batch may be from those of Kafka's producer, either way.
const RATIO_MAX: f64 = 1.1;

/// The content of the file: its values, and the bytes of each.
const VALUES: u32 = 2_000;
const VALUE_BYTES: usize = 600;

const PACED_PRODUCER: &str = include_str!("PacedProducer.java");

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CodecClient {
    /// The drop-in for Kafka's tool, which sends values of a file with a header and at equal gaps.
    Kdyno,
    /// Kafka's producer, which gets records as kdyno's does.
    Java,
    /// Kafka's own tool, which sends what came due while it slept at once.
    Tool,
}

const CLIENTS: [CodecClient; 3] = [CodecClient::Kdyno, CodecClient::Java, CodecClient::Tool];

/// Values as of an application's events: names and punctuation that come in each, numbers that do not. About 40 % remain
/// of them when gzip or zstd compress them.
fn values() -> String {
    let mut text = String::new();
    let mut state = 1_u64;
    for number in 0..VALUES {
        let mut line = format!("{{\"id\":{number},\"kind\":\"order.created\",\"region\":\"eu-west\"");
        while line.len() < VALUE_BYTES {
            // Knuth's multiplier; its low bits are not used.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Writing into a string cannot fail.
            let _ = write!(line, ",\"f{}\":\"{:012x}\"", line.len() % 7, state >> 16);
        }
        text.push_str(&line);
        text.push_str("}\n");
    }
    text
}

/// One kind of load, by all.
struct CodecTerms<'a> {
    bench: &'a Setup,
    broker: &'a StandingCluster,
    folder: &'a Path,
    codec: &'static str,
    /// `None`: as fast as each client takes records, to one partition: every batch is full, so its records are what the
    /// client's size of a batch lets in. At a rate it is a matter of small times how full batches are, with what lingers in
    /// addition to a full batch.
    rate: Option<u32>,
}

impl CodecTerms<'_> {
    /// What each client sends.
    fn records(&self) -> u32 {
        let seconds = if self.bench.options.quick { 2 } else { 6 };
        self.rate.map_or(RECORDS_AT_MAX, |rate| rate * seconds)
    }

    /// Among several a producer goes on after two batches' worth and leaves one that is not full behind. It is sent as it is
    /// where `linger.ms` is over before its partition's turn comes again, and Java compresses within `send()`, which takes that
    /// long with gzip.
    fn partitions(&self) -> u32 {
        if self.rate.is_some() { 6 } else { 1 }
    }

    fn command(&self, client: CodecClient, topic: &str) -> Command {
        let values = self.folder.join("values.txt");
        let mut command = if client == CodecClient::Java {
            let mut command =
                self.broker.kafka_tool(&self.folder.join("PacedProducer.java").to_string_lossy());
            // As fast as it goes: all are due within the first tick.
            let rate = self.rate.map_or(1e9, f64::from);
            let seconds = f64::from(self.records()) / rate;
            command.args([topic, &rate.to_string(), &seconds.to_string()]).arg(values);
            command
        } else {
            let own = (client == CodecClient::Kdyno).then_some(self.folder);
            let mut command = self.broker.producer_tool(own);
            let throughput = self.rate.map_or_else(|| "-1".to_owned(), |rate| rate.to_string());
            let records = self.records().to_string();
            command.args(["--topic", topic, "--throughput", &throughput, "--num-records", &records]);
            command.arg("--payload-file").arg(values).arg("--producer-props");
            command
        };
        command.arg(format!("bootstrap.servers={}", self.broker.bootstrap()));
        command.arg(format!("compression.type={}", self.codec));
        command.args(["batch.size=16384", "linger.ms=5", "acks=1"]);
        command
    }

    /// Records per batch in the log once a client has sent what it has to.
    fn records_per_batch(&self, client: CodecClient) -> anyhow::Result<f64> {
        let topic = self.broker.topic(&format!("codecs-{client:?}").to_lowercase(), self.partitions(), 1)?;
        measured(&mut self.command(client, &topic))?;
        let records = self.broker.records_per_batch_behind(SETTLED_SHARE, &topic)?;
        self.broker.delete_topic(&topic)?;
        Ok(records)
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    std::fs::write(folder.path().join("values.txt"), values())?;
    std::fs::write(folder.path().join("PacedProducer.java"), PACED_PRODUCER)?;
    let broker = StandingCluster::start(bench, "codecs", 1)?;
    let terms = |codec, rate| CodecTerms { bench, broker: &broker, folder: folder.path(), codec, rate };
    for client in CLIENTS {
        let command = terms("none", Some(RATE)).command(client, "TOPIC");
        println!("  {client:?}: {}", broker.as_typed(&command));
    }
    for (rate, described, java) in [
        (None, "as fast as it goes, one partition".to_owned(), "Java"),
        (Some(RATE), format!("{RATE}/s, six partitions"), "Java, same instants"),
    ] {
        let contest = Contest {
            heading: &format!("records per batch, {described}"),
            sides: CODECS.map(|codec| (codec.to_owned(), 1.0 / RATIO_MAX..=RATIO_MAX)).into(),
            figures: &[
                ("kdyno", Shown::Spread(1)),
                (java, Shown::Spread(1)),
                ("÷", Shown::Judged(3)),
                ("ProducerPerformance", Shown::Spread(1)),
                ("÷", Shown::Spread(3)),
            ],
            group: 1,
            unmeasured: 0,
        };
        contest.run(&bench.options, |side, _| {
            let records = |client| terms(CODECS[side], rate).records_per_batch(client);
            let [kdyno, java, tool] = CLIENTS.map(records);
            let (kdyno, java, tool) = (kdyno?, java?, tool?);
            Ok(vec![kdyno, java, kdyno / java, tool, kdyno / tool])
        })?;
    }
    println!(
        "  {VALUE_BYTES} B, the same file for all; counted in the second half of the log. ProducerPerformance has no header in its records; at a \
         rate it sleeps 2 ms at least, and then sends what is due at once"
    );
    Ok(())
}
