//! `java-driver`: what kdyno adds to Kafka's own client where it drives that: the processor time of all that carries a record,
//! beside a plain application with the same client, the same settings and rate, on the null broker.
//!
//! Threads that compile and collect garbage are left out on both sides: from round to round they differ by more than what is
//! looked for.

mod program;

use std::process::Command;
use std::time::Duration;

use self::program::{Program, Reading};
use super::process::words;
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::{Series, Table, thousands};

const RELEASE: &str = "4.1.2";
const PARTITIONS: u32 = 4;
const VALUE_BYTES: &str = "256";
const SETTINGS: [&str; 3] = ["acks=all", "linger.ms=5", "batch.size=65536"];
/// One at which the client has nothing to do most of the time, one at which it is busy, and as fast as it goes.
const RATES: [Option<u32>; 3] = [Some(50_000), Some(200_000), None];
/// Records of a load that is ended before: more than any client sends.
const RECORDS: &str = "1000000000";
const SECONDS: &str = "1000";
const PLAIN_PRODUCER: &str = include_str!("PlainProducer.java");

/// Those threads of the driven process by which kdyno feeds and reads it; `java` is the one that runs `main`.
const FEEDING: [&str; 3] = ["java", "kdyno-frames", "kdyno-readings"];

/// How much more threads of client and application may take where kdyno drives them: they are what `client-check` judges.
const CLIENT_RATIO_MAX: f64 = 1.10;

/// From when on threads are read, and until when: compilers are done with most by then.
fn instants(bench: &Setup) -> (Duration, Duration) {
    let seconds = |all: u64| Duration::from_secs(if bench.options.quick { all / 5 } else { all });
    (seconds(20), seconds(35))
}

fn driven(bench: &Setup, bootstrap: &str, rate: Option<u32>) -> Command {
    let mut command = Command::new(&bench.kdyno);
    command.args(["producer-perf-test", "--driver", &format!("java:{RELEASE}")]);
    command.args(["--bootstrap-server", bootstrap, "--topic", "bench", "--num-records", RECORDS]);
    command.args(["--record-size", VALUE_BYTES, "--reporting-interval", "1000"]);
    command.args(["--throughput", &rate.map_or_else(|| "-1".to_owned(), |rate| rate.to_string())]);
    command.arg("--command-property").args(SETTINGS);
    command
}

/// The plain application, with the options and jars of the driven one.
fn plain(bootstrap: &str, rate: Option<u32>, class_path: &str, source: &str) -> Command {
    let mut command = Command::new("java");
    command.args(["-Xmx512M", "-XX:+UseG1GC", "-cp", class_path, source, "bench"]);
    command.args([&rate.map_or_else(|| "max".to_owned(), |rate| rate.to_string()), SECONDS, VALUE_BYTES]);
    command.arg(format!("bootstrap.servers={bootstrap}")).args(SETTINGS);
    command
}

/// What a record took in one round, µs.
struct Cost {
    /// Threads of client and application.
    client: f64,
    /// Threads that feed and read the Java process.
    feeding: f64,
    /// kdyno's worker: schedule, records, histograms.
    worker: f64,
    per_s: f64,
}

impl Cost {
    fn between(begin: &Reading, end: &Reading, is_driven: bool) -> Self {
        let records = (end.records - begin.records) as f64;
        let us = |seconds: f64| seconds * 1e6 / records;
        let java = |is_wanted: &dyn Fn(&str) -> bool| us(end.java_s(is_wanted) - begin.java_s(is_wanted));
        let is_feeding = |name: &str| is_driven && FEEDING.contains(&name);
        Self {
            client: java(&|name| !is_feeding(name)),
            feeding: java(&is_feeding),
            worker: if is_driven { us(end.parent_s - begin.parent_s) } else { 0.0 },
            per_s: records / (end.at - begin.at).as_secs_f64(),
        }
    }
}

/// Figures of one rate over the rounds.
#[derive(Default)]
struct Figures {
    plain: Series,
    client: Series,
    feeding: Series,
    worker: Series,
    client_ratio: Series,
    ratio: Series,
    plain_per_s: Series,
    per_s: Series,
}

impl Figures {
    fn push(&mut self, plain: &Cost, driven: &Cost) {
        self.plain.push(plain.client);
        self.client.push(driven.client);
        self.feeding.push(driven.feeding);
        self.worker.push(driven.worker);
        self.client_ratio.push(driven.client / plain.client);
        self.ratio.push((driven.client + driven.feeding + driven.worker) / plain.client);
        self.plain_per_s.push(plain.per_s);
        self.per_s.push(driven.per_s);
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("PlainProducer.java").display().to_string();
    std::fs::write(&source, PLAIN_PRODUCER)?;
    println!("  driven: {}", words(&driven(bench, "127.0.0.1:PORT", RATES[0])));
    println!(
        "  plain: {}",
        words(&plain("127.0.0.1:PORT", RATES[0], "kafka-clients.jar:…", "PlainProducer.java"))
    );
    let class_path = {
        let broker = null_broker(bench, PARTITIONS)?;
        let mut program = Program::start(&mut driven(bench, &broker.first_line, RATES[0]))?;
        program.reading_after(Duration::ZERO)?;
        program.class_path()?
    };
    let mut figures: [Figures; RATES.len()] = Default::default();
    for round in 0..bench.options.rounds {
        for (rate, figures) in RATES.iter().zip(&mut figures) {
            let measure = |is_driven: bool| -> anyhow::Result<Cost> {
                let broker = null_broker(bench, PARTITIONS)?;
                let mut command = match is_driven {
                    true => driven(bench, &broker.first_line, *rate),
                    false => plain(&broker.first_line, *rate, &class_path, &source),
                };
                let mut program = Program::start(&mut command)?;
                let (begin, end) = instants(bench);
                let (begin, end) = (program.reading_after(begin)?, program.reading_after(end)?);
                Ok(Cost::between(&begin, &end, is_driven))
            };
            let first = measure(round % 2 == 0)?;
            let second = measure(round % 2 == 1)?;
            let (plain, driven) = if round % 2 == 0 { (second, first) } else { (first, second) };
            figures.push(&plain, &driven);
        }
    }
    print!("{}", table(&figures));
    Ok(())
}

fn table(figures: &[Figures]) -> Table {
    let mut table = Table::new(&[
        "µs CPU per record",
        "plain application",
        "/s",
        "client threads, driven",
        "/s",
        "÷ plain",
        "feeding threads",
        "worker",
        "all ÷ plain",
    ]);
    for (rate, figures) in RATES.iter().zip(figures) {
        let mark = if figures.client_ratio.median() > CLIENT_RATIO_MAX { " ✗" } else { "" };
        table.row(vec![
            rate.map_or_else(|| "max".to_owned(), |rate| format!("{}/s", thousands(rate.into()))),
            figures.plain.show(2),
            thousands(figures.plain_per_s.median()),
            figures.client.show(2),
            thousands(figures.per_s.median()),
            format!("{}{mark}", figures.client_ratio.show(2)),
            figures.feeding.show(2),
            figures.worker.show(2),
            figures.ratio.show(2),
        ]);
    }
    table
}
