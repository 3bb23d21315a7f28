//! `codecs`: how many records a compressed batch holds, beside Kafka's own producer: kdyno's drop-in with either client, the same
//! values from the same file, the same settings, one real broker. What a codec costs and saves hangs on it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::broker::StandingCluster;
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// Who sends: kdyno's client, Kafka's.
const DRIVERS: [&str; 2] = ["native", "java:4.1.2"];

/// As fast as it goes: enough that a JVM is warm, and has learnt how well they compress, in the first half of them.
const RECORDS: &str = "600000";

/// What is left out of each partition's records. A producer begins with batches that it expects not to compress, and learns from
/// each that it has sent, 0.005 of the ratio at a time; how many it makes meanwhile is a matter of how fast its JVM gets warm.
const SETTLED_SHARE: f64 = 0.5;

/// How far records per batch may be from those of Kafka's producer, either way.
const RATIO_MAX: f64 = 1.1;

/// Of the file: its values, and the bytes of each.
const VALUES: u32 = 2_000;
const VALUE_BYTES: usize = 600;

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

fn command(
    bench: &Setup,
    broker: &StandingCluster,
    folder: &Path,
    codec: &str,
    driver: &str,
    topic: &str,
) -> Command {
    let mut command = Command::new(&bench.kdyno);
    command.current_dir(folder).args(["producer-perf-test", "--driver", driver]);
    command.args(["--bootstrap-server", broker.bootstrap(), "--topic", topic]);
    command.args(["--num-records", RECORDS, "--throughput", "-1"]).arg("--payload-file").arg("values.txt");
    command.args(["--command-property", &format!("compression.type={codec}")]);
    command.args(["batch.size=16384", "linger.ms=5", "acks=1"]);
    command
}

/// The benchmark. To one partition, at full speed, batches wait for requests in flight and are full.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    std::fs::write(folder.join("values.txt"), values())?;
    let broker = StandingCluster::start(bench, "codecs")?;
    println!("  each: {}", words(&command(bench, &broker, folder, "CODEC", "DRIVER", "TOPIC")));
    let mut figures: [[Series; DRIVERS.len()]; CODECS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for (codec, figures) in CODECS.iter().zip(&mut figures) {
            for (driver, series) in DRIVERS.iter().zip(figures) {
                let topic = broker.topic("codecs", 1, 1)?;
                measured(&mut command(bench, &broker, folder, codec, driver, &topic))?;
                series.push(broker.records_per_batch_behind(SETTLED_SHARE, &topic)?);
                broker.delete_topic(&topic)?;
            }
        }
    }
    let mut table = TextTable::new(&["records per batch", "kdyno", "Java", "÷"]);
    for (codec, [kdyno, java]) in CODECS.iter().zip(&figures) {
        let ratio = kdyno.over(java);
        let mark = if (1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio.median()) { "" } else { " ✗" };
        table.row(vec![(*codec).to_owned(), kdyno.show(1), java.show(1), format!("{}{mark}", ratio.show(3))]);
    }
    print!("{table}");
    println!("  {VALUE_BYTES} B, the same file for both; counted in the second half of the log");
    Ok(())
}
