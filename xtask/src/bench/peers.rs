//! `peers`: kdyno, librdkafka's tool and Kafka's own against one real broker, alternated: same
//! records, partitions, batch, linger and acks, each on a fresh topic.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::broker::Broker;
use super::librdkafka;
use super::load::Load;
use super::measurement::{Figure, Measurement};
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, Table, thousands};

const PARTITIONS: u32 = 6;

/// Long enough for any machine: the number of records ends the load.
const LOAD_SECONDS_MAX: u32 = 600;

/// Time for the broker to finish what the last client left (deleting its topic's files).
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Client {
    Kdyno,
    Librdkafka,
    Java,
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::Kdyno => "kdyno, unique payloads",
            Client::Librdkafka => "librdkafka rdkafka_performance",
            Client::Java => "Kafka ProducerPerformance",
        }
    }

    /// How many times this client's reported rate kdyno must reach.
    fn ratio_min(self) -> Option<f64> {
        match self {
            Client::Kdyno => None,
            Client::Librdkafka => Some(1.2),
            Client::Java => Some(2.2),
        }
    }
}

/// One client's run.
struct Shot {
    records: f64,
    per_s: f64,
    client_cpu_s: f64,
}

#[derive(Default)]
struct Figures {
    per_s: Series,
    client_us: Series,
    broker_us: Series,
    batch: Series,
}

struct Contest<'a> {
    bench: &'a Setup,
    broker: Broker,
    librdkafka: Option<PathBuf>,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let librdkafka = librdkafka::program(bench);
    let librdkafka = librdkafka.map_err(|error| println!("  librdkafka could not be built: {error:#}")).ok();
    let contest = Contest { bench, broker: Broker::start(bench, "peers")?, librdkafka };
    let mut clients = vec![Client::Kdyno, Client::Librdkafka, Client::Java];
    clients.retain(|client| *client != Client::Librdkafka || contest.librdkafka.is_some());
    for client in &clients {
        println!("  {}", contest.describe(*client));
    }
    let mut figures: Vec<Figures> = clients.iter().map(|_| Figures::default()).collect();
    let mut out = vec![false; clients.len()];
    // The first clients meet a broker whose code is not compiled yet: one unmeasured round.
    for round in 0..=bench.options.rounds {
        for turn in 0..clients.len() {
            // Every round begins with another client, so that none always follows the same one.
            let index = (turn + round) % clients.len();
            if out[index] {
                continue;
            }
            let mut unmeasured = Figures::default();
            let into = if round == 0 { &mut unmeasured } else { &mut figures[index] };
            if let Err(error) = contest.turn(clients[index], round, into) {
                println!("  {} is out: {error:#}", clients[index].name());
                out[index] = true;
            }
        }
    }
    print!("{}", table(&clients, &figures));
    println!(
        "  at least: 1.2 × librdkafka's reported rate, 2.2 × Kafka's; records per batch counted in the log"
    );
    if out[0] { bail!("kdyno itself did not finish") } else { Ok(()) }
}

/// The same load on a real broker of this setup's, each time on a fresh topic.
pub fn measurements(bench: &Setup) -> anyhow::Result<Vec<Measurement<'_>>> {
    let contest = Contest { bench, broker: Broker::start(bench, "peers")?, librdkafka: None };
    // The first client meets a broker whose code is not compiled yet.
    contest.shot(Client::Kdyno, bench, "bench-unmeasured")?;
    let shots = Cell::new(0);
    let run = move |side: &Setup| {
        shots.set(shots.get() + 1);
        let (shot, broker_cpu_s, _) = contest.shot(Client::Kdyno, side, &format!("bench-{}", shots.get()))?;
        Ok(vec![
            Figure::rate("records/s", shot.per_s),
            Figure::cost("client µs/record", shot.client_cpu_s * 1e6 / shot.records),
            Figure::cost("broker µs/record", broker_cpu_s * 1e6 / shot.records),
        ])
    };
    Ok(vec![Measurement { name: "peers, one real broker".to_owned(), run: Box::new(run) }])
}

fn table(clients: &[Client], figures: &[Figures]) -> Table {
    let mut table = Table::new(&[
        "client",
        "records/s reported",
        "lowest–highest",
        "kdyno ÷ it",
        "records/batch",
        "client µs/record",
        "broker µs/record",
    ]);
    for (client, figures_of) in clients.iter().zip(figures) {
        let ratio = figures[0].per_s.over(&figures_of.per_s);
        let missed = client.ratio_min().is_some_and(|least| ratio.median() < least);
        let mark = if missed { " ✗" } else { "" };
        let range = figures_of.per_s.range();
        table.row(vec![
            client.name().to_owned(),
            thousands(figures_of.per_s.median()),
            if figures_of.per_s.is_empty() {
                "–".to_owned()
            } else {
                format!("{}–{}", thousands(range.0), thousands(range.1))
            },
            format!("{}{mark}", ratio.show(2)),
            thousands(figures_of.batch.median()),
            figures_of.client_us.show(3),
            figures_of.broker_us.show(3),
        ]);
    }
    table
}

impl Contest<'_> {
    /// One client's figures on one fresh topic.
    fn turn(&self, client: Client, round: usize, figures: &mut Figures) -> anyhow::Result<()> {
        let topic = format!("bench-{client:?}-{round}").to_lowercase();
        let (shot, broker_cpu_s, batch) = self.shot(client, self.bench, &topic)?;
        figures.batch.push(batch);
        figures.per_s.push(shot.per_s);
        figures.client_us.push(shot.client_cpu_s * 1e6 / shot.records);
        figures.broker_us.push(broker_cpu_s * 1e6 / shot.records);
        Ok(())
    }

    /// One client, kdyno that of `side`, on a topic of this name; with the broker's CPU, s, and records per batch.
    fn shot(&self, client: Client, side: &Setup, topic: &str) -> anyhow::Result<(Shot, f64, f64)> {
        let topic = self.broker.topic(topic, PARTITIONS)?;
        std::thread::sleep(SETTLE);
        let before = self.broker.cpu_s()?;
        let shot = match client {
            Client::Kdyno => self.kdyno(side, &topic),
            Client::Librdkafka => self.librdkafka(&topic),
            Client::Java => self.java(&topic),
        }?;
        let broker_cpu_s = self.broker.cpu_s()? - before;
        let batch = self.broker.records_per_batch(&topic)?;
        self.broker.delete_topic(&topic)?;
        std::thread::sleep(SETTLE);
        Ok((shot, broker_cpu_s, batch))
    }

    /// The same for all: each is busy for seconds even where it is fastest.
    fn records(&self) -> u64 {
        if self.bench.options.quick { 2_000_000 } else { 20_000_000 }
    }

    fn load(&self, topic: &str) -> Load {
        let load = Load::at_max(self.broker.bootstrap(), topic, LOAD_SECONDS_MAX);
        Load { unique: true, records: Some(self.records()), ..load }
    }

    fn kdyno(&self, side: &Setup, topic: &str) -> anyhow::Result<Shot> {
        let outcome = self.load(topic).run(side)?;
        let lost = outcome.number("failed")? + outcome.number("unresolved")?;
        ensure!(lost < 0.5, "{lost} records failed or stayed unresolved");
        let records = outcome.number("acknowledged")?;
        ensure!((records - self.records() as f64).abs() < 0.5, "{records} of {} records", self.records());
        Ok(Shot { records, per_s: outcome.number("acked_per_s")?, client_cpu_s: outcome.cpu_s })
    }

    fn librdkafka_command(&self, topic: &str) -> Command {
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", self.broker.bootstrap(), "-s", "128", "-a", "1"]);
        command.args(["-c", &self.records().to_string()]);
        command.args(["-X", "linger.ms=5", "-X", "batch.size=112000"]);
        command
    }

    fn librdkafka(&self, topic: &str) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.librdkafka_command(topic))?;
        Ok(Shot {
            records: self.records() as f64,
            per_s: librdkafka::reported_per_s(&finished.stdout)?,
            client_cpu_s: finished.cpu_s,
        })
    }

    fn java_command(&self, topic: &str) -> Command {
        let mut command = self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
        command.args(["--topic", topic, "--record-size", "128", "--throughput", "-1"]);
        command.args(["--num-records", &self.records().to_string()]);
        let bootstrap = format!("bootstrap.servers={}", self.broker.bootstrap());
        command.args(["--producer-props", &bootstrap, "acks=1", "linger.ms=5", "batch.size=112000"]);
        command
    }

    fn java(&self, topic: &str) -> anyhow::Result<Shot> {
        let finished = measured(&mut self.java_command(topic))?;
        let records = self.records() as f64;
        let per_s = java_reported_per_s(&finished.stdout, records)?;
        Ok(Shot { records, per_s, client_cpu_s: finished.cpu_s })
    }

    /// The command as one would type it; the class path of 90 jars is shortened.
    fn describe(&self, client: Client) -> String {
        match client {
            Client::Kdyno => words(&self.load("TOPIC").command(self.bench)),
            Client::Librdkafka => words(&self.librdkafka_command("TOPIC")),
            Client::Java => {
                let text = words(&self.java_command("TOPIC"));
                let (before, rest) = text.split_once("-cp ").unwrap_or(("java ", &text));
                let after = rest.split_once(' ').map_or(rest, |(_, after)| after);
                format!("{before}-cp 'kafka-jars/*' {after}")
            }
        }
    }
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
}
