//! `codecs`: how many records a compressed batch holds, beside Kafka's own tool: the same values from the same file, the same
//! settings, one real broker, both as fast as they can. What a codec costs and saves hangs on it.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::broker::Broker;
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, Table, thousands};

const CODECS: [&str; 4] = ["gzip", "snappy", "lz4", "zstd"];

const PARTITIONS: u32 = 6;

/// `batch.size` in force: how large a batch may be once it is compressed.
const BATCHES: [u32; 2] = [16_384, 112_000];

/// How far records per batch may be from those of Kafka's tool, either way.
const RATIO_MAX: f64 = 1.1;

/// Of the file: its values, and the bytes of each.
const VALUES: u32 = 2_000;
const VALUE_BYTES: usize = 600;

/// Values as of an application's events: names and punctuation that come in each, numbers that do not. About 60 % remain
/// of them when they are compressed.
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

/// One kind of load, by both.
struct Terms<'a> {
    bench: &'a Setup,
    broker: &'a Broker,
    folder: &'a Path,
    codec: &'static str,
    batch_bytes: u32,
}

impl Terms<'_> {
    fn settings(&self) -> [String; 4] {
        let (codec, bytes) = (self.codec, self.batch_bytes);
        [
            format!("compression.type={codec}"),
            format!("batch.size={bytes}"),
            "linger.ms=5".into(),
            "acks=1".into(),
        ]
    }

    fn java(&self, topic: &str) -> Command {
        let mut command = self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
        let records = if self.bench.options.quick { "50000" } else { "500000" };
        command.args(["--topic", topic, "--throughput", "-1", "--num-records", records]);
        command.arg("--payload-file").arg(self.folder.join("values.txt")).arg("--producer-props");
        command.arg(format!("bootstrap.servers={}", self.broker.bootstrap())).args(self.settings());
        command
    }

    fn kdyno(&self, topic: &str) -> anyhow::Result<Command> {
        let target =
            measured(Command::new(&self.bench.kdyno).args(["cluster", "target", self.broker.name()]))?;
        let target = target.stdout.replace("allow: [", "allow: [existing-topics, ");
        let target = format!("{target}topics: {{perf: {topic}}}\n");
        let seconds = if self.bench.options.quick { 3 } else { 10 };
        let client = self.settings().map(|setting| setting.replace('=', ": ")).join(", ");
        let scenario = format!(
            "kdyno: 1\nid: codecs\nquestion: How many records does a compressed batch hold?\n\
             topics: {{perf: {{partitions: {PARTITIONS}, replicas: 1}}}}\nload:\n  \
             writers: {{produce: perf, rate: max, value: {{file: values.txt}}, client: {{{client}}}}}\n\
             phases: {{warmup: 1s, condition: none, measure: {seconds}s, drain: 30s}}\n"
        );
        std::fs::write(self.folder.join("codecs.yaml"), scenario)?;
        let path = self.folder.join("target.yaml");
        std::fs::write(&path, target)?;
        // Target files may hold secrets: others must not read them.
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let mut command = Command::new(&self.bench.kdyno);
        command.current_dir(self.folder).args(["run", "codecs.yaml", "--target", "target.yaml", "--yes"]);
        Ok(command)
    }

    /// Records per batch in the log once a client has sent what it has to.
    fn records_per_batch(&self, is_java: bool) -> anyhow::Result<f64> {
        let topic = self.broker.topic(if is_java { "codecs-java" } else { "codecs-kdyno" }, PARTITIONS, 1)?;
        measured(&mut if is_java { self.java(&topic) } else { self.kdyno(&topic)? })?;
        let records = self.broker.records_per_batch(&topic)?;
        self.broker.delete_topic(&topic)?;
        Ok(records)
    }
}

#[derive(Default)]
struct Figures {
    java: Series,
    kdyno: Series,
    ratio: Series,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    std::fs::write(folder.path().join("values.txt"), values())?;
    let broker = Broker::start(bench, "codecs")?;
    let terms =
        |codec, batch_bytes| Terms { bench, broker: &broker, folder: folder.path(), codec, batch_bytes };
    let first = terms(CODECS[0], BATCHES[0]);
    println!("  each: {}", words(&first.kdyno("TOPIC")?));
    println!("  beside: {}", broker.as_typed(&first.java("TOPIC")));
    let all: Vec<Terms> = BATCHES.iter().flat_map(|&bytes| CODECS.map(|codec| terms(codec, bytes))).collect();
    let mut figures: Vec<Figures> = all.iter().map(|_| Figures::default()).collect();
    for _ in 0..bench.options.rounds {
        for (terms, figures) in all.iter().zip(&mut figures) {
            let (java, kdyno) = (terms.records_per_batch(true)?, terms.records_per_batch(false)?);
            figures.java.push(java);
            figures.kdyno.push(kdyno);
            figures.ratio.push(kdyno / java);
        }
    }
    let mut table =
        Table::new(&["codec, batch.size", "kdyno: records/batch", "ProducerPerformance", "ratio"]);
    for (terms, figures) in all.iter().zip(&figures) {
        let ratio = figures.ratio.median();
        let mark = if (1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio) { "" } else { " ✗" };
        table.row(vec![
            format!("{}, {}", terms.codec, thousands(f64::from(terms.batch_bytes))),
            figures.kdyno.show(1),
            figures.java.show(1),
            format!("{}{mark}", figures.ratio.show(3)),
        ]);
    }
    print!("{table}");
    println!("  records per batch are counted in the log; values of {VALUE_BYTES} B, the same file for both");
    Ok(())
}
